(** A model as a user holds it: the embedding matrix, position features by name, rational weights, a
    mask a head, the read-out. Its logits are computed from these alone. *)
From Coq Require Import Reals Lra Lia Arith ZArith NArith QArith Qreals List Bool
  FunctionalExtensionality.
From Softhat Require Import Sums Gates Masks Formula Program Lowering Lowered Correct Surface.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

(* A position feature: one of those that `Lowering` knows, or a bit that a position knows of itself
   (0 at the sinks). *)
Inductive position_feature := Plain (f : feature) | Known (x : input).

Record model := Model {
  symbols : nat;                                        (* how many, or how many propositions *)
  propositional : bool;                                 (* are words sequences of sets? *)
  scales : bool;
    (* are positions divided by P, scores multiplied? *)
  ends : bool;                                          (* is there an <eos>? *)
  embedding : list form;                                (* a row for each symbol *)
  bos : form;                                           (* the row of <bos> *)
  eos : form;                                           (* the row of <eos> *)
  features : list (position_feature * form);            (* each with its column *)
  layers : list layer;
  readouts : list readout }.

(* P is 1, or any number greater than n *)
Definition scale_ok (m : model) (n : nat) (P : R) : Prop :=
  if scales m then INR n + 1 <= P else P = 1.
(* no colder than it must be, or colder *)
Definition cold_enough (m : model) (n : nat) (P : R) : Prop :=
  if scales m then INR n + 1 <= P else 1 <= P.
Lemma scale_cold m n P : scale_ok m n P -> cold_enough m n P.
Proof. unfold scale_ok, cold_enough. destruct (scales m); lra. Qed.
Lemma cold_pos m n P : cold_enough m n P -> 0 < P.
Proof. unfold cold_enough. destruct (scales m); [pose proof (pos_INR n)|]; lra. Qed.

(* exactly one symbol at each position; or any set of propositions *)
Definition over_alphabet (m : model) (w : nat -> nat -> bool) (n : nat) : Prop :=
  propositional m = false -> forall i, (1 <= i <= n)%nat ->
  exists a, (a < symbols m)%nat /\ forall b, w i b = Nat.eqb a b.

Section Logit.
Variables (m : model) (n : nat) (P : R) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

Definition position_value (f : position_feature) (j : nat) : R :=
  match f with
  | Plain f => feature_value n P f j
  | Known x => b2R (inside n j && known n w q x j)
  end.

(* the sum of the rows of the symbols that hold at j; <bos> stands at 0, <eos> at n + 1 *)
Definition token_value (j c : nat) : R :=
  Transformer.lsum (fun a => b2R (inside n j && w j a) * Transformer.coef
    (real_form (nth a (embedding m) [])) c)
    (seq 0 (symbols m))
  + b2R (Nat.eqb j 0) * Transformer.coef (real_form (bos m)) c
  + b2R (ends m && Nat.eqb j (S n)) * Transformer.coef (real_form (eos m)) c.
Definition embedded : stream := fun j c =>
  token_value j c
  + Transformer.lsum (fun f => position_value (fst f) j * Transformer.coef (real_form (snd f)) c)
      (features m).

(* the k-th output at position i *)
Definition logit (k i : nat) : R :=
  decide (nth k (readouts m) (Readout [] 0))
    (Transformer.softmax_run P (S (last (ends m) n)) (map real_layer (layers m)) embedded i).
End Logit.

(* Every word over the alphabet, of every length, is one that claims about a model are about. *)
Theorem every_word m n (s : nat -> nat) : (forall i, (1 <= i <= n)%nat -> (s i < symbols m)%nat) ->
  (exists P, scale_ok m n P) /\ over_alphabet m (fun i a => Nat.eqb (s i) a) n.
Proof.
  intros S. split.
  - exists (if scales m then INR n + 1 else 1). unfold scale_ok.
    destruct (scales m); [lra|reflexivity].
  - intros _ i Hi. exists (s i). split; [exact (S i Hi)|reflexivity].
Qed.

(** * Is a layout what the embedding holds? *)

Definition entry (f : form) (c : nat) : Q :=
  fold_right (fun e s => if Nat.eqb c (fst e) then (snd e + s)%Q else s) 0%Q f.
Lemma entry_coef f c : Q2R (entry f c) = Transformer.coef (real_form f) c.
Proof.
  induction f as [|[d a] f IH]; [unfold Q2R; cbn; lra|].
  cbn [entry fold_right fst snd real_form map Transformer.coef].
  fold (entry f c). fold (real_form f). destruct (Nat.eqb c d); [rewrite Q2R_plus|]; rewrite IH;
    lra.
Qed.

Definition feature_eq (a b : feature) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition position_feature_eqb (f g : position_feature) : bool :=
  match f, g with
  | Plain a, Plain b => if feature_eq a b then true else false
  | Known x, Known y => input_eqb x y
  | _, _ => false
  end.

Section Layout.
Variables (m : model) (p : program) (inputs : list input).

Definition is (a b : Q) : bool := Qeq_bool a b.
Definition tokens_are (c : nat) (one : nat -> bool) : bool :=
  forallb (fun a => is (entry (nth a (embedding m) []) c) (if one a then 1 else 0))
    (seq 0 (symbols m))
  && is (entry (bos m) c) 0 && (if ends m then is (entry (eos m) c) 0 else true).
Definition no_tokens (c : nat) : bool := tokens_are c (fun _ => false).
Definition no_features (c : nat) : bool := forallb (fun f => is (entry (snd f) c) 0) (features m).
(* exactly one column writes here, and it is this feature's *)
Fixpoint one_feature (g : position_feature) (c : nat) (fs : list (position_feature * form)) :
  bool :=
  match fs with
  | [] => false
  | (f, col) :: fs =>
      if is (entry col c) 0 then one_feature g c fs
      else position_feature_eqb f g && is (entry col c) 1 && forallb (fun f =>
        is (entry (snd f) c) 0) fs
  end.

(* a residue is the same bit whether a shift or the formula asks for it *)
Definition as_feature (c : nat) (f : feature) : bool :=
  no_tokens c &&
  (one_feature (Plain f) c (features m)
   || match f with
      | Residue k r => Nat.ltb 0 k && one_feature (Known (InMod (N.of_nat k) (N.of_nat r))) c
        (features m)
      | _ => false
      end).

Definition coordinate_ok (c : nat) (k : content) : bool :=
  match k with
  | Empty => no_tokens c && no_features c
  | Feature f => as_feature c f
  | Bit s =>
      match nth_error p s with
      | Some (Token set) => negb (propositional m) && no_features c && tokens_are c (fun a =>
        existsb (Nat.eqb a) set)
      | Some (Given k) =>
          match nth_error inputs k with
          | Some (InSymbol a) => Nat.ltb a (symbols m) && no_features c && tokens_are c (Nat.eqb a)
          | Some x => no_tokens c && one_feature (Known x) c (features m)
          | None => false
          end
      | _ => false
      end
  | _ => false
  end.

Definition within (d : nat) (f : form) : bool := forallb (fun e => Nat.ltb (fst e) d) f.
Fixpoint coordinates_ok (c : nat) (l : layout) : bool :=
  match l with [] => true | k :: l => coordinate_ok c k && coordinates_ok (S c) l end.
Definition layout_ok (l : layout) : bool :=
  coordinates_ok 0 l
  && forallb (within (length l)) (embedding m) && within (length l) (bos m) && within (length l)
    (eos m)
  && forallb (fun f => within (length l) (snd f)) (features m).

(** * If it is, the embedding is that of the program's layout *)

Variables (n : nat) (P : R) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

(* the word as the program sees it *)
Definition symbol_at (i : nat) : nat :=
  match find (w i) (seq 0 (symbols m)) with Some a => if propositional m then 0%nat else a
    | None => 0%nat end.
Definition program_word : word := Word symbol_at
  (fun i k => match nth_error inputs k with Some x => known n w q x i | None => false end).

Hypothesis Hw : over_alphabet m w n.

Lemma symbol_at_spec i : propositional m = false -> (1 <= i <= n)%nat ->
  (symbol_at i < symbols m)%nat /\ forall b, w i b = Nat.eqb (symbol_at i) b.
Proof.
  intros Pr Hi. destruct (Hw Pr i Hi) as (a & La & Wa). unfold symbol_at.
  destruct (find (w i) (seq 0 (symbols m))) as [c|] eqn:F.
  - apply find_some in F as [I T]. rewrite Pr. rewrite Wa in T. apply Nat.eqb_eq in T. subst c.
    split; assumption.
  - pose proof (find_none _ _ F a ltac:(apply in_seq; lia)) as N. rewrite Wa, Nat.eqb_refl in N.
    discriminate.
Qed.

Lemma is_real a b : is a b = true -> Q2R a = Q2R b.
Proof. intros H. apply Qeq_eqR, Qeq_bool_iff, H. Qed.
Lemma Q2R_zero : Q2R 0 = 0.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_one : Q2R 1 = 1.
Proof. unfold Q2R. simpl. lra. Qed.

Lemma tokens_value c one : tokens_are c one = true -> forall j,
  token_value m n w j c
  = Transformer.lsum (fun a => b2R (inside n j && w j a && one a)) (seq 0 (symbols m)).
Proof.
  intros H j. unfold tokens_are in H. rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3].
  unfold token_value.
  rewrite <- (entry_coef (bos m)), (is_real _ _ H2), Q2R_zero.
  assert (E : b2R (ends m && Nat.eqb j (S n)) * Transformer.coef (real_form (eos m)) c = 0).
  { destruct (ends m); [|cbn; lra]. rewrite <- entry_coef, (is_real _ _ H3), Q2R_zero. lra. }
  rewrite E, Rmult_0_r, !Rplus_0_r. apply Transformer.lsum_ext. intros a I.
  rewrite forallb_forall in H1. specialize (H1 a I). rewrite <- entry_coef, (is_real _ _ H1).
  destruct (inside n j && w j a), (one a); cbn [b2R andb]; rewrite ?Q2R_zero, ?Q2R_one; lra.
Qed.

Lemma no_tokens_value c : no_tokens c = true -> forall j, token_value m n w j c = 0.
Proof.
  intros H j. rewrite (tokens_value c (fun _ => false) H). apply Transformer.lsum_zero. intros a _.
  rewrite andb_false_r. reflexivity.
Qed.

Lemma no_features_value c fs : forallb (fun f => is (entry (snd f) c) 0) fs = true -> forall j,
  Transformer.lsum (fun f => position_value n P w q (fst f) j * Transformer.coef (real_form (snd f))
    c) fs = 0.
Proof.
  intros H j. apply Transformer.lsum_zero. intros f I. rewrite forallb_forall in H.
  rewrite <- entry_coef, (is_real _ _ (H f I)), Q2R_zero. lra.
Qed.

Lemma one_feature_value g c fs : one_feature g c fs = true -> forall j,
  Transformer.lsum (fun f => position_value n P w q (fst f) j * Transformer.coef (real_form (snd f))
    c) fs
  = position_value n P w q g j.
Proof.
  induction fs as [|[f col] fs IH]; intros H j; [discriminate|]. cbn [one_feature] in H.
  cbn [Transformer.lsum fold_right fst snd].
  fold (Transformer.lsum (fun f => position_value n P w q (fst f) j * Transformer.coef
    (real_form (snd f)) c) fs).
  destruct (is (entry col c) 0) eqn:Z.
  - rewrite <- entry_coef, (is_real _ _ Z), Q2R_zero, IH by exact H. lra.
  - rewrite !andb_true_iff in H. destruct H as [[E O] R]. rewrite no_features_value by exact R.
    rewrite <- entry_coef, (is_real _ _ O), Q2R_one.
    assert (f = g) as ->.
    { destruct f as [a|x], g as [b|y]; cbn in E; try discriminate.
      - destruct (feature_eq a b); [congruence|discriminate].
      - apply input_eqb_eq in E. congruence. }
    lra.
Qed.

Lemma one_of (b : bool) (f : nat -> bool) l : NoDup l -> forall a, In a l ->
  (forall c, In c l -> c <> a -> f c = false) ->
  Transformer.lsum (fun c => b2R (b && f c)) l = b2R (b && f a).
Proof.
  induction 1 as [|x l N D IH]; intros a I Z; [destruct I|]. cbn.
  fold (Transformer.lsum (fun c => b2R (b && f c)) l).
  destruct I as [->|I].
  - rewrite (Transformer.lsum_zero (fun c => b2R (b && f c)) l); [lra|]. intros c Ic.
    rewrite (Z c (or_intror Ic)) by (intros ->; contradiction). rewrite andb_false_r. reflexivity.
  - rewrite (IH a I) by (intros c Ic; apply Z; right; exact Ic).
    rewrite (Z x (or_introl eq_refl)) by (intros ->; contradiction). rewrite andb_false_r. cbn. lra.
Qed.

Lemma coordinate_value l c k : nth_error l c = Some k -> coordinate_ok c k = true ->
  forall j, embedded m n P w q j c = embed p n P program_word l j c.
Proof.
  intros Nc Ok j. unfold embed, embedded. rewrite Nc. destruct k; cbn [coordinate_ok] in Ok;
    try discriminate.
  - apply andb_true_iff in Ok as [T F]. rewrite (no_tokens_value c T), (no_features_value c _ F).
    lra.
  - unfold as_feature in Ok. apply andb_true_iff in Ok as [T F]. rewrite (no_tokens_value c T).
    apply orb_true_iff in F as [F|F].
    + rewrite (one_feature_value _ c _ F). cbn [position_value]. lra.
    + destruct f; try discriminate. apply andb_true_iff in F as [K F]. apply Nat.ltb_lt in K.
      rewrite (one_feature_value _ c _ F). cbn [position_value known feature_value].
      rewrite Rplus_0_l. do 2 f_equal. apply eq_true_iff_eq. rewrite N.eqb_eq, Nat.eqb_eq.
      rewrite <- Nat2N.inj_mod. split; [apply Nat2N.inj|congruence].
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
    + rewrite !andb_true_iff in Ok. destruct Ok as [[Pr F] T]. apply negb_true_iff in Pr.
      rewrite (tokens_value c _ T), (no_features_value c _ F), Rplus_0_r.
      destruct (inside n j) eqn:In_.
      * apply inside_spec in In_. destruct (symbol_at_spec j Pr In_) as [La Wa].
        cbn [symbol program_word andb].
        pose proof (one_of true (fun a => w j a && existsb (Nat.eqb a) symbols0) (seq 0 (symbols m))
          (seq_NoDup _ _) (symbol_at j)) as O. cbn [andb] in O. rewrite O.
        -- rewrite Wa, Nat.eqb_refl. reflexivity.
        -- apply in_seq. lia.
        -- intros b _ Nb. rewrite Wa. destruct (Nat.eqb_spec (symbol_at j) b);
             [congruence|reflexivity].
      * cbn [andb b2R]. apply Transformer.lsum_zero. reflexivity.
    + destruct (nth_error inputs a) as [x|] eqn:Ea; [|discriminate]. cbn [given program_word].
      rewrite Ea.
      assert (Other : no_tokens c && one_feature (Known x) c (features m) = true ->
        token_value m n w j c + Transformer.lsum (fun f => position_value n P w q (fst f) j
          * Transformer.coef (real_form (snd f)) c) (features m)
              = b2R (inside n j && known n w q x j)).
      { intros H. apply andb_true_iff in H as [T F]. rewrite (no_tokens_value c T),
          (one_feature_value _ c _ F).
        cbn [position_value]. lra. }
      destruct x as [b| | | | |]; try (apply Other, Ok). clear Other.
      rewrite !andb_true_iff in Ok. destruct Ok as [[La F] T]. apply Nat.ltb_lt in La.
      rewrite (tokens_value c _ T), (no_features_value c _ F), Rplus_0_r. cbn [known].
      destruct (inside n j); cbn [andb]; [|apply Transformer.lsum_zero; reflexivity].
      pose proof (one_of true (fun a => w j a && Nat.eqb b a) (seq 0 (symbols m)) (seq_NoDup _ _) b)
        as O.
      cbn [andb] in O. rewrite O.
      * rewrite Nat.eqb_refl, andb_true_r. reflexivity.
      * apply in_seq. lia.
      * intros d _ Nd. destruct (Nat.eqb_spec b d); [congruence|]. apply andb_false_r.
Qed.

Lemma coordinates_at l : forall c0, coordinates_ok c0 l = true ->
  forall c k, nth_error l c = Some k -> coordinate_ok (c0 + c) k = true.
Proof.
  induction l as [|k0 l IH]; intros c0 H c k Nc; [destruct c; discriminate|]. cbn in H.
  apply andb_true_iff in H as [H1 H2]. destruct c as [|c].
  - injection Nc as <-. rewrite Nat.add_0_r. exact H1.
  - replace (c0 + S c)%nat with (S c0 + c)%nat by lia. apply IH; assumption.
Qed.

Lemma within_zero d f c : within d f = true -> (d <= c)%nat -> Transformer.coef (real_form f) c = 0.
Proof.
  induction f as [|[e a] f IH]; intros H L; [reflexivity|]. cbn in H.
  apply andb_true_iff in H as [H1 H2].
  apply Nat.ltb_lt in H1. cbn [real_form map Transformer.coef fst snd]. fold (real_form f).
  rewrite (IH H2 L). cbn [fst] in H1. destruct (Nat.eqb_spec c e); [lia|lra].
Qed.

Theorem embedding_right l : layout_ok l = true -> embedded m n P w q = embed p n P program_word l.
Proof.
  intros H. unfold layout_ok in H. rewrite !andb_true_iff in H.
  destruct H as [[[[H1 H2] H3] H4] H5].
  extensionality j. extensionality c. destruct (nth_error l c) as [k|] eqn:Nc.
  - apply (coordinate_value l c k Nc). exact (coordinates_at l 0 H1 c k Nc).
  - unfold embed. rewrite Nc. apply nth_error_None in Nc. unfold embedded, token_value.
    rewrite (within_zero _ _ c H3 Nc), (within_zero _ _ c H4 Nc).
    assert (T : Transformer.lsum (fun a => b2R (inside n j && w j a)
        * Transformer.coef (real_form (nth a (embedding m) [])) c) (seq 0 (symbols m)) = 0).
    { apply Transformer.lsum_zero. intros a _.
      destruct (Nat.lt_ge_cases a (length (embedding m))) as [L|L].
      - rewrite forallb_forall in H2. rewrite (within_zero (length l)); [lra| |exact Nc].
        apply H2, nth_In, L.
      - rewrite nth_overflow by exact L. cbn. lra. }
    rewrite T.
    rewrite Transformer.lsum_zero; [lra|]. intros f I. rewrite forallb_forall in H5.
    rewrite (within_zero _ _ c (H5 f I) Nc). lra.
Qed.
End Layout.
