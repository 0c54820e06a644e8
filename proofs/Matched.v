(** A program that matches a formula computes it. *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Sums Formula Program Lowering Evaluated Surface Matching.
Import ListNotations.
Open Scope nat_scope.

(** * Since and Latest *)

Lemma sinceb_range f f' g g' i :
  (forall j, 1 <= j <= i -> f j = f' j) -> (forall j, 1 <= j <= i -> g j = g' j) ->
  sinceb f g i = sinceb f' g' i.
Proof.
  intros F G. unfold sinceb. apply eq_true_iff_eq. rewrite !existsb_exists.
  split; intros (j & Hj & H); exists j; (split; [exact Hj|]); apply in_seq in Hj;
    apply andb_true_iff in H as [H1 H2]; apply andb_true_iff; rewrite forallb_forall in *;
    (split; [rewrite <- H1; (apply G || (symmetry; apply G)); lia|]); intros k Hk;
    rewrite <- (H2 k Hk); apply in_seq in Hk; (apply F || (symmetry; apply F)); lia.
Qed.

Lemma sinceb_step f g i : sinceb f g (S i) = g (S i) || (f (S i) && sinceb f g i).
Proof.
  unfold sinceb. apply eq_true_iff_eq. rewrite orb_true_iff, andb_true_iff, !existsb_exists. split.
  - intros (j & Hj & H). apply in_seq in Hj. apply andb_true_iff in H as [G F].
    rewrite forallb_forall in F. destruct (Nat.eq_dec j (S i)) as [->|N]; [left; exact G|].
    right. split; [apply F, in_seq; lia|]. exists j. split; [apply in_seq; lia|]. rewrite G.
    apply forallb_forall. intros k Hk. apply in_seq in Hk. apply F, in_seq. lia.
  - intros [G|[Fi (j & Hj & H)]].
    + exists (S i). split; [apply in_seq; lia|]. rewrite G. rewrite Nat.sub_diag. reflexivity.
    + apply in_seq in Hj. apply andb_true_iff in H as [G F]. rewrite forallb_forall in F.
      exists j. split; [apply in_seq; lia|]. rewrite G. apply forallb_forall. intros k Hk.
      apply in_seq in Hk. destruct (Nat.eq_dec k (S i)) as [->|]; [exact Fi|]. apply F, in_seq. lia.
Qed.

(* f S g where neither decides is bad *)
Lemma since_latest_bits f g (b u : nat -> bool) t :
  (forall j, 1 <= j <= t -> g j = negb (b j) && u j) ->
  (forall j, 1 <= j <= t -> f j && negb (g j) = b j) ->
  sinceb f g t = latestb b u t.
Proof.
  induction t as [|t IH]; intros G B; [reflexivity|]. rewrite sinceb_step. cbn [latestb].
  rewrite IH by (intros; (apply G || apply B); lia).
  pose proof (G (S t) ltac:(lia)) as Gt. pose proof (B (S t) ltac:(lia)) as Bt.
  destruct (f (S t)), (g (S t)), (b (S t)), (u (S t)); cbn in *; (reflexivity || discriminate).
Qed.

Lemma since_here f g i : 1 <= i -> (forall j, 1 <= j <= i -> f j && negb (g j) = false) ->
  sinceb f g i = g i.
Proof.
  destruct i as [|i]; [lia|]. intros _. induction i as [|i IH]; intros H.
  - cbn. destruct (g 1); reflexivity.
  - rewrite sinceb_step, IH by (intros; apply H; lia).
    pose proof (H (S (S i)) ltac:(lia)) as X.
    destruct (f (S (S i))), (g (S (S i))), (g (S i)); cbn in *; (reflexivity || discriminate).
Qed.

Lemma since_never f g i : (forall j, 1 <= j <= i -> g j = false) -> sinceb f g i = false.
Proof.
  induction i as [|i IH]; intros H; [reflexivity|].
  rewrite sinceb_step, IH by (intros; apply H; lia).
  rewrite H by lia. apply andb_false_r.
Qed.

Section Matched.
Variables (p : program) (alphabet : nat) (inputs : list input) (facts : list expression).
Variable propositional : bool.
Variables (n : nat) (w : word) (v : valuation).
(* the word and the numerical predicates as the formula sees them *)
Variables (W : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

Fixpoint holds (x : expression) (i : nat) : bool :=
  match x with
  | Yes => true
  | Sym a => Nat.eqb (symbol w i) a
  | Sig s => bit v s i
  | Neg x => negb (holds x i)
  | Both x y => holds x i && holds y i
  | Differ x y => xorb (holds x i) (holds y i)
  end.

Hypothesis Hv : computes n w v p.
Hypothesis Hw : forall i, 1 <= i <= n -> symbol w i < alphabet.
Hypothesis Hfacts : forall x, In x facts -> forall i, 1 <= i <= n -> holds x i = true.
Hypothesis Hsymbols : propositional = false -> forall i c, 1 <= i <= n ->
  W i c = Nat.eqb (symbol w i) c.
Hypothesis Hinputs : forall k x i, nth_error inputs k = Some x -> 1 <= i <= n ->
  given w i k = known n W q x i.

Notation sat := (Surface.sat n W q).

Lemma literal_holds x i : holds (literal_expression x) i = lit v x i.
Proof.
  unfold literal_expression, lit. destruct (of x) as [s|], (plain x); cbn; try reflexivity;
    destruct (bit v s i); reflexivity.
Qed.

(** * Cases *)

Definition true_of (i : nat) (a : option nat) (e : knowledge) : Prop :=
  (forall c, a = Some c -> c = symbol w i) /\
  (forall s b, Lowering.known e s = Some b -> bit v s i = b).

Lemma and3_sound a b x y r : (forall c, a = Some c -> x = c) -> (forall c, b = Some c -> y = c) ->
  and3 a b = Some r -> x && y = r.
Proof.
  intros Ha Hb E. destruct a as [[]|], b as [[]|]; cbn in E; try discriminate;
    injection E as <-;
    try rewrite (Ha _ eq_refl); try rewrite (Hb _ eq_refl); try reflexivity; apply andb_false_r.
Qed.

Lemma signal3_sound a i e : 1 <= i <= n -> true_of i a e ->
  forall fuel s b, signal3 p a fuel e s = Some b -> bit v s i = b.
Proof.
  intros Hi [Ta Te]. induction fuel as [|fuel IH]; intros s b H; cbn [signal3] in H;
    destruct (Lowering.known e s) as [c|] eqn:K; try (injection H as <-; apply Te, K);
      try discriminate.
  destruct (nth_error p s) as [g|] eqn:E; [|discriminate]. pose proof (Hv s g E i Hi) as M.
  destruct g; try discriminate; cbn [means] in M; rewrite M.
  - destruct a as [c|]; [|discriminate]. injection H as <-. rewrite (Ta c eq_refl). reflexivity.
  - clear M E. revert b H. induction ls as [|x ls IHl]; intros b H; cbn [fold_right forallb] in *.
    + congruence.
    + eapply and3_sound; [| |exact H].
      * intros c Hc. unfold lit3 in Hc. unfold lit. destruct (of x) as [t|]; [|congruence].
        destruct (signal3 p a fuel e t) as [d|] eqn:Ed; [|discriminate]. rewrite (IH t d Ed).
        congruence.
      * exact IHl.
  - unfold xor3 in H. destruct (signal3 p a fuel e l) as [x|] eqn:El; [|discriminate].
    destruct (signal3 p a fuel e r) as [y|] eqn:Er; [|discriminate].
    rewrite (IH _ _ El), (IH _ _ Er). congruence.
Qed.

Lemma expression3_sound a i e : 1 <= i <= n -> true_of i a e ->
  forall x b, expression3 p a e x = Some b -> holds x i = b.
Proof.
  intros Hi T. induction x as [|t|s|x IH|x IHx y IHy|x IHx y IHy]; intros r H;
    cbn [expression3 holds] in *.
  - congruence.
  - destruct a as [c|]; [|discriminate]. rewrite <- (proj1 T c eq_refl). congruence.
  - apply (signal3_sound a i e Hi T (length p)), H.
  - destruct (expression3 p a e x) as [c|]; [|discriminate]. cbn in H. rewrite (IH c eq_refl).
    congruence.
  - eapply and3_sound; [| |exact H]; assumption.
  - unfold xor3 in H. destruct (expression3 p a e x) as [c|]; [|discriminate].
    destruct (expression3 p a e y) as [d|]; [|discriminate].
    rewrite (IHx c eq_refl), (IHy d eq_refl). congruence.
Qed.

Lemma excluded_sound a i e : 1 <= i <= n -> true_of i a e -> excluded p facts a e = true -> False.
Proof.
  intros Hi T H. unfold excluded in H. apply existsb_exists in H as (x & Ix & H).
  destruct (expression3 p a e x) as [[]|] eqn:E; try discriminate.
  apply (expression3_sound a i e Hi T) in E. rewrite (Hfacts x Ix i Hi) in E. discriminate.
Qed.

Lemma same_sound a i : 1 <= i <= n -> forall vars e x y, true_of i a e ->
  same p facts a vars e x y = true -> holds x i = holds y i.
Proof.
  intros Hi. induction vars as [|s vars IH]; intros e x y T H; cbn [same] in H.
  - destruct (expression3 p a e x) as [b|] eqn:Ex; [destruct (expression3 p a e y) as [c|] eqn:Ey|].
    + rewrite (expression3_sound a i e Hi T x b Ex), (expression3_sound a i e Hi T y c Ey).
      destruct (Bool.eqb b c) eqn:Q; [apply eqb_prop, Q|]. destruct (no_facts facts);
        [discriminate|].
      destruct (excluded p facts a e) eqn:X; [|discriminate].
      destruct (excluded_sound a i e Hi T X).
    + destruct (excluded p facts a e) eqn:X; [|discriminate].
      destruct (excluded_sound a i e Hi T X).
    + destruct (excluded p facts a e) eqn:X; [|discriminate].
      destruct (excluded_sound a i e Hi T X).
  - assert (Split : same p facts a vars ((s, true) :: e) x y && same p facts a vars
      ((s, false) :: e) x y = true ->
                    holds x i = holds y i).
    { intros H'. apply andb_true_iff in H' as [H1 H2]. destruct (bit v s i) eqn:Bs.
      - apply (IH ((s, true) :: e)); [|exact H1]. split; [apply T|]. intros t d K. cbn in K.
        destruct (Nat.eqb_spec t s) as [->|]; [congruence|apply T, K].
      - apply (IH ((s, false) :: e)); [|exact H2]. split; [apply T|]. intros t d K. cbn in K.
        destruct (Nat.eqb_spec t s) as [->|]; [congruence|apply T, K]. }
    destruct (expression3 p a e x) as [b|] eqn:Ex; [destruct (expression3 p a e y) as [c|] eqn:Ey|].
    + destruct (Bool.eqb b c) eqn:Q.
      * rewrite (expression3_sound a i e Hi T x b Ex), (expression3_sound a i e Hi T y c Ey).
        apply eqb_prop, Q.
      * destruct (no_facts facts); [discriminate|].
        destruct (excluded p facts a e) eqn:X; [destruct (excluded_sound a i e Hi T X)|apply Split,
          H].
    + destruct (excluded p facts a e) eqn:X; [destruct (excluded_sound a i e Hi T X)|apply Split,
        H].
    + destruct (excluded p facts a e) eqn:X; [destruct (excluded_sound a i e Hi T X)|apply Split,
        H].
Qed.

Lemma equal_sound x y : equal p alphabet facts x y = true ->
  forall i, 1 <= i <= n -> holds x i = holds y i.
Proof.
  intros H i Hi. unfold equal in H.
  destruct (same p facts None _ [] x y) eqn:S0.
  - apply (same_sound None i Hi _ [] x y) in S0; [exact S0|].
    split; [discriminate|cbn; discriminate].
  - rewrite forallb_forall in H. specialize (H (symbol w i)).
    apply (same_sound (Some (symbol w i)) i Hi _ [] x y) in H; [exact H| |].
    + split; [congruence|cbn; discriminate].
    + apply in_seq. pose proof (Hw i Hi). lia.
Qed.

(** * Temporal operators *)

Lemma pos_range d t i : 1 <= i <= n -> 1 <= t <= pos n d i -> 1 <= pos n d t <= n.
Proof. destruct d; unfold pos; lia. Qed.
Lemma pos_in d i : 1 <= i <= n -> 1 <= pos n d i <= n.
Proof. destruct d; unfold pos; lia. Qed.
Lemma pos_pos d i : 1 <= i <= n -> pos n d (pos n d i) = i.
Proof. destruct d; unfold pos; lia. Qed.

Lemma direction_eq d e : direction_eqb d e = true -> e = d.
Proof. destruct d, e; cbn; congruence. Qed.

Lemma since_matched d x y h e F G :
  match_since p alphabet facts d x y h = Some e ->
  (forall i, 1 <= i <= n -> holds x i = F i) -> (forall i, 1 <= i <= n -> holds y i = G i) ->
  forall i, 1 <= i <= n -> holds e i = sinceb (seen n d F) (seen n d G) (pos n d i).
Proof.
  intros E HF HG i Hi. destruct h as [|s| | | | | | |]; cbn [match_since] in E; try discriminate.
  - destruct (nth_error p s) as [[| | | |b u d'| | | | | | | | | | | |]|] eqn:Es;
      try discriminate.
    match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite !andb_true_iff in C. destruct C as [[Cd Cg] Cb].
    apply direction_eq in Cd. subst d'. pose proof (Hv s _ Es i Hi) as M. cbn [means] in M.
    cbn [holds]. rewrite M. symmetry. apply since_latest_bits; intros j Hj; unfold seen;
      pose proof (pos_range d j i Hi Hj) as Pj; rewrite <- ?HF, <- ?HG by exact Pj.
    + rewrite (equal_sound _ _ Cg _ Pj). cbn [holds]. rewrite !literal_holds. reflexivity.
    + pose proof (equal_sound _ _ Cb _ Pj) as Q. cbn [holds] in Q. rewrite literal_holds in Q.
      exact Q.
  - match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite since_here.
    + unfold seen. rewrite pos_pos by exact Hi. apply HG, Hi.
    + pose proof (pos_in d i Hi). lia.
    + intros j Hj. unfold seen. pose proof (pos_range d j i Hi Hj) as Pj.
      rewrite <- HF, <- HG by exact Pj. exact (equal_sound _ _ C _ Pj).
  - match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. symmetry. apply since_never. intros j Hj. unfold seen.
    pose proof (pos_range d j i Hi Hj) as Pj. rewrite <- HG by exact Pj.
    exact (equal_sound _ _ C _ Pj).
Qed.

Lemma literal_eq x y : literal_eqb x y = true -> y = x.
Proof.
  unfold literal_eqb. destruct x as [s a], y as [t b]. cbn [of plain]. intros H.
  apply andb_true_iff in H as [H P]. apply eqb_prop in P as ->.
  destruct s as [s|], t as [t|]; try discriminate; [|reflexivity]. apply Nat.eqb_eq in H as ->.
  reflexivity.
Qed.

(* the value of f one step further *)
Definition stepped (d : direction) (f : nat -> bool) (i : nat) : bool :=
  Nat.ltb 1 (pos n d i) && seen n d f (pos n d i - 1).

Lemma beyond_sound s t d : is_beyond p s t d = true ->
  forall i, 1 <= i <= n -> bit v s i = stepped d (bit v t) i.
Proof.
  intros B i Hi. unfold is_beyond in B. destruct (nth_error p t) as [g|] eqn:Et; [|discriminate].
  unfold stepped. destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L].
  - assert (Pj : 1 <= pos n d (pos n d i - 1) <= n) by (apply (pos_range d _ i Hi); lia).
    unfold seen at 1. cbn [andb].
    destruct g; destruct (nth_error p s) as [[]|] eqn:Es; try discriminate;
      rewrite ?andb_true_iff in B; repeat match goal with H : _ /\ _ = true |- _ => destruct H end;
      repeat match goal with
      | H : literal_eqb _ _ = true |- _ => apply literal_eq in H
      | H : direction_eqb _ _ = true |- _ => apply direction_eq in H
      | H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H
      end; subst;
      pose proof (Hv t _ Et _ Pj) as Mt; pose proof (Hv s _ Es i Hi) as Ms; cbn [means] in Mt, Ms;
      rewrite Ms, Mt.
    + replace (pos n d (pos n d (pos n d i - 1))) with (pos n d i - 1); [reflexivity|].
      destruct d; unfold pos in *; lia.
    + replace (pos n d (pos n d (pos n d i - 1))) with (pos n d i - 1)
        by (destruct d; unfold pos in *; lia).
      replace (pos n d i - 1 - 1) with (pos n d i - 2) by lia.
      destruct (Nat.ltb_spec 2 (pos n d i)), (Nat.ltb_spec 1 (pos n d i - 1)); (reflexivity || lia).
    + replace (pos n d (pos n d (pos n d i - 1))) with (pos n d i - 1)
        by (destruct d; unfold pos in *; lia).
      replace (pos n d i - 1 - c) with (pos n d i - S c) by lia.
      destruct (Nat.ltb_spec (S c) (pos n d i)), (Nat.ltb_spec c (pos n d i - 1));
        (reflexivity || lia).
  - cbn [andb]. assert (P1 : pos n d i = 1) by (pose proof (pos_in d i Hi); lia).
    destruct g; destruct (nth_error p s) as [[]|] eqn:Es; try discriminate;
      rewrite ?andb_true_iff in B; repeat match goal with H : _ /\ _ = true |- _ => destruct H end;
      repeat match goal with
      | H : literal_eqb _ _ = true |- _ => apply literal_eq in H
      | H : direction_eqb _ _ = true |- _ => apply direction_eq in H
      | H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H
      end; subst; pose proof (Hv s _ Es i Hi) as Ms; cbn [means] in Ms; rewrite Ms, P1; reflexivity.
Qed.

Lemma input_sound c x : is_input p inputs c x = true ->
  forall i, 1 <= i <= n -> bit v c i = known n W q x i.
Proof.
  intros I i Hi. unfold is_input in I. destruct (nth_error p c) as [[]|] eqn:Ec; try discriminate.
  destruct (nth_error inputs a) as [y|] eqn:Ea; [|discriminate]. apply input_eqb_eq in I. subst y.
  pose proof (Hv c _ Ec i Hi) as M. cbn [means] in M. rewrite M. exact (Hinputs a _ i Ea Hi).
Qed.

Lemma edge_sound c d : is_input p inputs c (edge_of d) = true ->
  forall i, 1 <= i <= n -> bit v c i = negb (Nat.ltb 1 (pos n d i)).
Proof.
  intros I i Hi. rewrite (input_sound c _ I i Hi). destruct d; unfold edge_of, pos, known.
  - destruct (Nat.eqb_spec i 1), (Nat.ltb_spec 1 i); cbn; (reflexivity || lia).
  - destruct (Nat.eqb_spec i n), (Nat.ltb_spec 1 (S n - i)); cbn; (reflexivity || lia).
Qed.

Lemma step_matched d x h e F : match_step p alphabet inputs facts d x h = Some e ->
  (forall i, 1 <= i <= n -> holds x i = F i) ->
  forall i, 1 <= i <= n -> holds e i = stepped d F i.
Proof.
  intros E HF i Hi.
  assert (Seen : forall G, (forall j, 1 <= j <= n -> G j = F j) -> stepped d G i = stepped d F i).
  { intros G EG. unfold stepped. destruct (Nat.ltb_spec 1 (pos n d i)); [|reflexivity]. cbn.
    unfold seen.
    apply EG, (pos_range d _ i Hi). lia. }
  destruct h as [|s|s t plain c| | |c| | |]; cbn [match_step] in E; try discriminate.
  - destruct (nth_error p s) as [[| | | | | |u d'| | | | | | | | | |]|] eqn:Es;
      try discriminate.
    match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite !andb_true_iff in C. destruct C as [Cd Cu].
    apply direction_eq in Cd. subst d'. pose proof (Hv s _ Es i Hi) as M. cbn [means] in M.
    cbn [holds]. rewrite M. change (stepped d (lit v u) i = stepped d F i). apply Seen.
    intros j Hj. rewrite <- HF, (equal_sound _ _ Cu j Hj), literal_holds by exact Hj. reflexivity.
  - destruct plain;
      (match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end);
      injection E as <-; rewrite !andb_true_iff in C.
    + destruct C as [Cb Cu]. cbn [holds]. rewrite (beyond_sound s t d Cb i Hi). apply Seen.
      intros j Hj. rewrite <- HF, (equal_sound _ _ Cu j Hj) by exact Hj. reflexivity.
    + destruct C as [[Cb Cu] Ce]. cbn [holds]. rewrite (beyond_sound s t d Cb i Hi),
        (edge_sound _ _ Ce i Hi).
      unfold stepped. destruct (Nat.ltb_spec 1 (pos n d i)); [|reflexivity]. cbn. unfold seen.
      rewrite <- HF, (equal_sound _ _ Cu) by (apply (pos_range d _ i Hi); lia). reflexivity.
  - match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. unfold stepped. destruct (Nat.ltb_spec 1 (pos n d i)); [|reflexivity]. cbn.
    unfold seen.
    rewrite <- HF, (equal_sound _ _ C) by (apply (pos_range d _ i Hi); lia). reflexivity.
  - match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite !andb_true_iff in C. destruct C as [Cu Ce]. cbn [holds].
    rewrite (edge_sound _ _ Ce i Hi), negb_involutive. unfold stepped.
    destruct (Nat.ltb_spec 1 (pos n d i)); [|reflexivity]. cbn. unfold seen.
    rewrite <- HF, (equal_sound _ _ Cu) by (apply (pos_range d _ i Hi); lia). reflexivity.
Qed.

(** * Comparisons *)

Definition number (r : range) (f : nat -> bool) (i : nat) : Z :=
  Z.of_nat (length (filter f (span r n i))).
Definition counted_sum (l : list (range * nat * Z)) (i : nat) : Z :=
  fold_right (fun c a => (snd c * number (fst (fst c)) (bit v (snd (fst c))) i + a)%Z) 0%Z l.
Definition linear_value (l : linear) (i : nat) : Z :=
  (counted_sum (counts l) i + at_i l * Z.of_nat i + at_n l * Z.of_nat n + add l)%Z.

Lemma sum_app l m i : counted_sum (l ++ m) i = (counted_sum l i + counted_sum m i)%Z.
Proof.
  induction l as [|c l IH]; [reflexivity|]. cbn [app counted_sum fold_right].
  fold (counted_sum (l ++ m) i). rewrite IH. unfold counted_sum. lia.
Qed.

Lemma value_plus l m i : linear_value (plus l m) i = (linear_value l i + linear_value m i)%Z.
Proof. unfold linear_value, plus. cbn [counts at_i at_n add]. rewrite sum_app. lia. Qed.

Lemma value_times d l i : linear_value (times d l) i = (d * linear_value l i)%Z.
Proof.
  unfold linear_value, times. cbn [counts at_i at_n add].
  assert (E : counted_sum (map (fun c => (fst c, (d * snd c)%Z)) (counts l)) i
              = (d * counted_sum (counts l) i)%Z).
  { induction (counts l) as [|c m IH]; [cbn; lia|]. cbn [map counted_sum fold_right fst snd].
    fold (counted_sum (map (fun c => (fst c, (d * snd c)%Z)) m) i). fold (counted_sum m i).
    rewrite IH. lia. }
  rewrite E. lia.
Qed.

Lemma span_size r i : 1 <= i <= n -> Z.of_nat (length (span r n i)) =
  match r with Before => Z.of_nat i | After => Z.of_nat n - Z.of_nat i + 1
    | All => Z.of_nat n end%Z.
Proof. intros Hi. destruct r; unfold span; rewrite seq_length; lia. Qed.

Lemma size_value r a i : 1 <= i <= n ->
  linear_value (size_of r a) i = (a * Z.of_nat (length (span r n i)))%Z.
Proof.
  intros Hi. rewrite span_size by exact Hi. destruct r; unfold linear_value;
    cbn [size_of counts at_i at_n add counted_sum fold_right]; lia.
Qed.

Lemma filter_negb (f : nat -> bool) l :
  Z.of_nat (length (filter (fun j => negb (f j)) l))
  = (Z.of_nat (length l) - Z.of_nat (length (filter f l)))%Z.
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn [filter length]. destruct (f a); cbn [negb length];
    lia.
Qed.

Lemma counted_value r a x i : 1 <= i <= n ->
  linear_value (counted r a x) i = (a * number r (lit v x) i)%Z.
Proof.
  intros Hi. unfold counted, number.
  assert (All_ : forall l : list nat, filter (fun _ => true) l = l)
    by (induction l as [|b l IH]; [reflexivity|cbn; rewrite IH; reflexivity]).
  assert (None_ : forall l : list nat, filter (fun _ => false) l = [])
    by (induction l as [|b l IH]; [reflexivity|exact IH]).
  destruct x as [[s|] []]; cbn [of plain].
  - unfold linear_value. cbn [counts at_i at_n add counted_sum fold_right fst snd]. unfold number.
    rewrite (filter_ext' (lit v {| of := Some s; plain := true |}) (bit v s)); [lia|].
    intros j. unfold lit. cbn. destruct (bit v s j); reflexivity.
  - rewrite value_plus, size_value by exact Hi.
    unfold linear_value. cbn [counts at_i at_n add counted_sum fold_right fst snd]. unfold number.
    rewrite (filter_ext' (lit v {| of := Some s; plain := false |}) (fun j => negb (bit v s j)));
      [rewrite filter_negb; lia|].
    intros j. unfold lit. cbn. destruct (bit v s j); reflexivity.
  - rewrite size_value by exact Hi. rewrite (filter_ext' _ (fun _ => true)), All_; reflexivity.
  - rewrite (filter_ext' _ (fun _ => false)), None_; [|reflexivity]. unfold linear_value. cbn. lia.
Qed.

Lemma range_eq r s : range_eqb r s = true -> s = r.
Proof. destruct r, s; cbn; congruence. Qed.

Lemma merge_value r s a l i :
  counted_sum (merge r s a l) i = (a * number r (bit v s) i + counted_sum l i)%Z.
Proof.
  induction l as [|[[r' s'] b] l IH]; [reflexivity|]. cbn [merge].
  destruct (range_eqb r r' && Nat.eqb s s') eqn:E.
  - apply andb_true_iff in E as [E1 E2]. apply range_eq in E1. apply Nat.eqb_eq in E2. subst.
    cbn [counted_sum fold_right fst snd]. lia.
  - cbn [counted_sum fold_right fst snd]. fold (counted_sum (merge r s a l) i).
    fold (counted_sum l i). lia.
Qed.

Lemma merged_value l i : counted_sum (merged l) i = counted_sum l i.
Proof.
  induction l as [|[[r s] a] l IH]; [reflexivity|]. cbn [merged fold_right fst snd].
  fold (merged l).
  rewrite merge_value, IH. reflexivity.
Qed.

Lemma vanishes_value l i : vanishes l = true -> linear_value l i = add l.
Proof.
  intros H. unfold vanishes in H. rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3].
  apply Z.eqb_eq in H2, H3. unfold linear_value. rewrite H2, H3, <- merged_value.
  rewrite forallb_forall in H1. induction (merged (counts l)) as [|c m IH]; [cbn; lia|].
  cbn [counted_sum fold_right]. fold (counted_sum m i).
  pose proof (H1 c (or_introl eq_refl)) as C. apply Z.eqb_eq in C. rewrite C.
  specialize (IH (fun x I => H1 x (or_intror I))). lia.
Qed.

Lemma sum_terms ts l :
  sum_over (weigh v ts) l
  = fold_right (fun t a => (fst t * Z.of_nat (length (filter (lit v (Lit (snd t) true)) l)) + a)%Z)
    0%Z ts.
Proof.
  induction ts as [|t ts IH].
  - induction l as [|j l IHl]; [reflexivity|]. exact IHl.
  - cbn [fold_right]. rewrite <- IH. clear IH. induction l as [|j l IHl]; [cbn; lia|].
    change (sum_over (weigh v (t :: ts)) (j :: l))
      with (weigh v (t :: ts) j + sum_over (weigh v (t :: ts)) l)%Z.
    change (sum_over (weigh v ts) (j :: l)) with (weigh v ts j + sum_over (weigh v ts) l)%Z.
    change (weigh v (t :: ts) j)
      with (fst t * (if lit v (Lit (snd t) true) j then 1 else 0) + weigh v ts j)%Z.
    rewrite IHl. cbn [filter]. destruct (lit v (Lit (snd t) true) j); cbn [length]; lia.
Qed.

Lemma mean_value a i : averaged p a = true -> 1 <= i <= n ->
  linear_value (mean_of p a) i = sum_of v a i.
Proof.
  intros Ha Hi. destruct a as [s|]; [|reflexivity]. cbn [averaged mean_of sum_of] in *.
  destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
  pose proof (Hv s _ Es i Hi) as M. cbn [means] in M. rewrite M, sum_terms. clear M Es.
  induction terms as [|t ts IH]; [reflexivity|]. cbn [fold_right].
  rewrite value_plus, counted_value by exact Hi. unfold number. rewrite IH. reflexivity.
Qed.

Lemma number_nonneg r f i : (0 <= number r f i)%Z.
Proof. unfold number. lia. Qed.

Lemma extreme_counts g l : counts (extreme g l) = [].
Proof.
  unfold extreme. induction (merged (counts l)) as [|c m IH]; [reflexivity|]. cbn [fold_right].
  set (rest := fold_right _ _ m) in *. clearbody rest. destruct (if g then _ else _); [|exact IH].
  destruct (fst (fst c)); exact IH.
Qed.

Lemma extreme_value (g : bool) l i : 1 <= i <= n ->
  if g then (linear_value l i <= linear_value (extreme g l) i)%Z
  else (linear_value (extreme g l) i <= linear_value l i)%Z.
Proof.
  intros Hi.
  assert (V : linear_value l i
    = (counted_sum (merged (counts l)) i + linear_value (Linear [] (at_i l) (at_n l) (add l)) i)%Z).
  { unfold linear_value. cbn [counts at_i at_n add counted_sum fold_right]. rewrite merged_value.
    lia. }
  rewrite V. clear V. unfold extreme. generalize (Linear [] (at_i l) (at_n l) (add l)). intros z.
  assert (B : forall r f, (0 <= number r f i <= Z.of_nat (length (span r n i)))%Z).
  { intros r f. unfold number. enough (length (filter f (span r n i)) <= length (span r n i))
      by lia.
    induction (span r n i) as [|a m IHm]; [reflexivity|]. cbn. destruct (f a); cbn; lia. }
  induction (merged (counts l)) as [|c m IH]; [destruct g; cbn [counted_sum fold_right]; lia|].
  cbn [counted_sum fold_right]. fold (counted_sum m i).
  specialize (B (fst (fst c)) (bit v (snd (fst c)))).
  set (x := number _ _ i) in *. set (t := Z.of_nat (length (span (fst (fst c)) n i))) in *.
  destruct g; cbn iota in *.
  - destruct (Z.ltb_spec 0 (snd c)) as [L|L].
    + rewrite value_plus, size_value by exact Hi. fold t.
      pose proof (Z.mul_le_mono_nonneg_l x t (snd c) ltac:(lia) (proj2 B)). lia.
    + pose proof (Z.mul_nonpos_nonneg (snd c) x L (proj1 B)). lia.
  - destruct (Z.ltb_spec (snd c) 0) as [L|L].
    + rewrite value_plus, size_value by exact Hi. fold t.
      pose proof (Z.mul_le_mono_nonpos_l x t (snd c) ltac:(lia) (proj2 B)). lia.
    + pose proof (Z.mul_nonneg_nonneg (snd c) x L (proj1 B)). lia.
Qed.

Lemma comparison_matched l k h e : match_comparison p l k h = Some e ->
  forall i, 1 <= i <= n -> holds e i = Z.leb k (linear_value l i).
Proof.
  intros E i Hi. destruct h; cbn [match_comparison] in E; try discriminate.
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
    set (m := plus (mean_of p past) (plus (mean_of p future) (plus (mean_of p total)
      (Linear [] position length 0)))) in *.
    destruct (Z.ltb 0 d && averaged p past && averaged p future && averaged p total) eqn:Ok;
      [|discriminate].
    rewrite !andb_true_iff in Ok. destruct Ok as [[[D A1] A2] A3]. apply Z.ltb_lt in D.
    assert (V : linear_value m i = (sum_of v past i + sum_of v future i + sum_of v total i
                                    + position * Z.of_nat i + length * Z.of_nat n)%Z).
    { unfold m. rewrite !value_plus, !mean_value by assumption. unfold linear_value. cbn. lia. }
    pose proof (Hv s _ Es i Hi) as M. cbn [means] in M. rewrite <- V in M.
    destruct turned.
    + match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
      injection E as <-. apply andb_true_iff in C as [C1 C2]. apply Z.eqb_eq in C2.
      pose proof (vanishes_value _ i C1) as Z0. rewrite value_plus, value_times in Z0.
      cbn [plus times add] in Z0. cbn [holds]. rewrite M.
      pose proof (Z.div_mod (add l - k) d ltac:(lia)) as DM.
      pose proof (Z.mod_pos_bound (add l - k) d D) as MB.
      set (u := ((add l - k) / d)%Z) in *.
      assert (T : threshold = (u + 1 + add m)%Z) by lia.
      assert (X : linear_value l i = (add l - d * (linear_value m i - add m))%Z) by lia.
      rewrite X, T. clear -DM MB D.
      destruct (Z.leb_spec (u + 1 + add m) (linear_value m i)),
        (Z.leb_spec k (add l - d * (linear_value m i - add m))); cbn; try reflexivity; nia.
    + match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
      injection E as <-. apply andb_true_iff in C as [C1 C2]. apply Z.eqb_eq in C2.
      pose proof (vanishes_value _ i C1) as Z0. rewrite value_plus, value_times in Z0.
      cbn [plus times add] in Z0. cbn [holds]. rewrite M.
      pose proof (Z.div_mod (add l - k) d ltac:(lia)) as DM.
      pose proof (Z.mod_pos_bound (add l - k) d D) as MB.
      set (u := ((add l - k) / d)%Z) in *.
      assert (T : threshold = (- u + add m)%Z) by lia.
      assert (X : linear_value l i = (add l + d * (linear_value m i - add m))%Z) by lia.
      rewrite X, T. clear -DM MB D.
      destruct (Z.leb_spec (- u + add m) (linear_value m i)),
        (Z.leb_spec k (add l + d * (linear_value m i - add m))); cbn; try reflexivity; nia.
  - destruct b;
      (match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end);
      injection E as <-; unfold always, never in C; cbv zeta in C; rewrite !andb_true_iff in C;
      destruct C as [[C1 C2] C3]; cbn [holds negb]; symmetry.
    + apply Z.leb_le in C1, C2, C3. apply Z.leb_le. pose proof (extreme_value false l i Hi) as X.
      cbn iota in X. revert X C1 C2 C3. unfold linear_value at 1. rewrite extreme_counts.
      cbn [counted_sum fold_right]. generalize (extreme false l). intros m X C1 C2 C3.
      assert (0 <= (at_i m + at_n m) * (Z.of_nat i - 1) + at_n m * (Z.of_nat n - Z.of_nat i))%Z
        by nia. lia.
    + apply Z.leb_le in C1, C2. apply Z.ltb_lt in C3. apply Z.leb_gt.
      pose proof (extreme_value true l i Hi) as X.
      cbn iota in X. revert X C1 C2 C3. unfold linear_value at 2. rewrite extreme_counts.
      cbn [counted_sum fold_right]. generalize (extreme true l). intros m X C1 C2 C3.
      assert ((at_i m + at_n m) * (Z.of_nat i - 1) + at_n m * (Z.of_nat n - Z.of_nat i) <= 0)%Z
        by nia. lia.
Qed.

(** * The walk *)

Notation translate := (translate p alphabet inputs facts propositional).
Notation translate_term := (translate_term p alphabet inputs facts propositional).

Lemma next_spec {X} hs (f : hint -> option X) x hs' : next hs f = Some (x, hs') ->
  exists h, f h = Some x.
Proof.
  unfold next. destruct hs as [|h hs]; [discriminate|]. destruct (f h) as [y|] eqn:E;
    [|discriminate].
  intros H. exists h. congruence.
Qed.

Lemma filter_range (f g : nat -> bool) r i : 1 <= i <= n ->
  (forall j, 1 <= j <= n -> f j = g j) -> filter f (span r n i) = filter g (span r n i).
Proof.
  intros Hi H. apply filter_ext_in. intros j I. apply H. destruct r; unfold span in I;
    apply in_seq in I; lia.
Qed.

Lemma input_matched hs x e hs' : next hs (match_input p inputs x) = Some (e, hs') ->
  forall i, 1 <= i <= n -> holds e i = known n W q x i.
Proof.
  intros E i Hi. apply next_spec in E as (h & E). destruct h; cbn in E; try discriminate.
  destruct (is_input p inputs s x) eqn:I; [|discriminate]. injection E as <-.
  exact (input_sound s x I i Hi).
Qed.

Lemma step_next d hs x e hs' F : next hs (match_step p alphabet inputs facts d x) = Some (e, hs') ->
  (forall i, 1 <= i <= n -> holds x i = F i) ->
  forall i, 1 <= i <= n -> holds e i =
    match d with Past => Nat.ltb 1 i && F (i - 1) | Future => Nat.ltb i n && F (i + 1) end.
Proof.
  intros E HF i Hi. apply next_spec in E as (h & E). rewrite (step_matched d x h e F E HF i Hi).
  unfold stepped, seen, pos. destruct d; [reflexivity|].
  replace (S n - (S n - i - 1)) with (i + 1) by lia.
  destruct (Nat.ltb_spec 1 (S n - i)), (Nat.ltb_spec i n); (reflexivity || lia).
Qed.

Lemma since_next d hs x y e hs' F G :
  next hs (match_since p alphabet facts d x y) = Some (e, hs') ->
  (forall i, 1 <= i <= n -> holds x i = F i) -> (forall i, 1 <= i <= n -> holds y i = G i) ->
  forall i, 1 <= i <= n -> holds e i =
    match d with Past => sinceb F G i | Future => untilb n F G i end.
Proof.
  intros E HF HG i Hi. apply next_spec in E as (h & E).
  rewrite (since_matched d x y h e F G E HF HG i Hi). destruct d; [reflexivity|].
  rewrite until_mirror by exact Hi. reflexivity.
Qed.

Lemma comparison_next hs l k e hs' : next hs (match_comparison p l k) = Some (e, hs') ->
  forall i, 1 <= i <= n -> holds e i = Z.leb k (linear_value l i).
Proof. intros E. apply next_spec in E as (h & E). exact (comparison_matched l k h e E). Qed.

Lemma count_next r hs x l hs' F : next hs (match_count p alphabet facts r x) = Some (l, hs') ->
  (forall i, 1 <= i <= n -> holds x i = F i) ->
  forall i, 1 <= i <= n -> linear_value l i = count F (span r n i).
Proof.
  intros E HF i Hi. apply next_spec in E as (h & E). destruct h as [| | | | | |y| |]; cbn in E;
    try discriminate.
  destruct (equal p alphabet facts x (literal_expression y)) eqn:Q; [|discriminate].
  injection E as <-.
  rewrite counted_value by exact Hi. unfold number, count. rewrite (filter_range (lit v y) F);
    [lia|exact Hi|].
  intros j Hj. rewrite <- HF, (equal_sound _ _ Q j Hj), literal_holds by exact Hj. reflexivity.
Qed.

(* one step of the walk: what came before is some pair, or there is no match *)
Ltac walk E := match type of E with
  | match ?t with Some _ => _ | None => None end = Some _ =>
      let x := fresh "x" in let h := fresh "h" in let D := fresh "D" in
      destruct t as [[x h]|] eqn:D; [|discriminate E]
  end.

Lemma compare_equations t r u hs : translate (Compare t r u) hs =
  match translate_term t hs with
  | Some (l, hs) =>
      match translate_term u hs with
      | Some (m, hs) =>
          let up hs k := next hs (match_comparison p (plus l (times (-1) m)) k) in
          match r with
          | GreaterEqual => up hs 0%Z
          | Greater => up hs 1%Z
          | Less => match up hs 0%Z with Some (x, hs) => Some (Neg x, hs) | None => None end
          | LessEqual => match up hs 1%Z with Some (x, hs) => Some (Neg x, hs) | None => None end
          | Equal =>
              match up hs 0%Z with
              | Some (x, hs) =>
                  match up hs 1%Z with Some (y, hs) => Some (Both x (Neg y), hs) | None => None end
              | None => None
              end
          | NotEqual =>
              match up hs 0%Z with
              | Some (x, hs) =>
                  match up hs 1%Z with
                  | Some (y, hs) => Some (Neg (Both x (Neg y)), hs)
                  | None => None
                  end
              | None => None
              end
          end
      | None => None
      end
  | None => None
  end.
Proof. reflexivity. Qed.

Theorem translate_sound :
  (forall f hs x hs', translate f hs = Some (x, hs') ->
     forall i, 1 <= i <= n -> holds x i = sat f i) /\
  (forall t hs l hs', translate_term t hs = Some (l, hs') ->
     forall i, 1 <= i <= n -> linear_value l i = value n W q t i).
Proof.
  apply surface_term_ind.
  - intros c hs x hs' E i Hi. cbn [Matching.translate] in E. destruct propositional eqn:Pr.
    + exact (input_matched _ _ _ _ E i Hi).
    + injection E as <- <-. cbn [holds]. symmetry. apply Hsymbols; [reflexivity|exact Hi].
  - intros b hs x hs' E i Hi. cbn [Matching.translate] in E. injection E as <- <-.
    destruct b; reflexivity.
  - intros hs x hs' E i Hi. exact (input_matched _ _ _ _ E i Hi).
  - intros hs x hs' E i Hi. exact (input_matched _ _ _ _ E i Hi).
  - intros m r hs x hs' E i Hi. cbn [Matching.translate] in E. destruct (N.eqb_spec m 1) as [->|].
    + injection E as <- <-. cbn [Surface.sat]. rewrite N.mod_1_r, (N.eqb_sym 0).
      destruct (N.eqb r 0); reflexivity.
    + exact (input_matched _ _ _ _ E i Hi).
  - intros c hs x hs' E i Hi. exact (input_matched _ _ _ _ E i Hi).
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (IHf _ _ _ D i Hi). reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (IHf _ _ _ D i Hi), (IHg _ _ _ D0 i Hi). reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat either]. rewrite (IHf _ _ _ D i Hi), (IHg _ _ _ D0 i Hi).
    destruct (sat f i), (sat g i); reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (IHf _ _ _ D i Hi), (IHg _ _ _ D0 i Hi). reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (IHf _ _ _ D i Hi), (IHg _ _ _ D0 i Hi).
    destruct (sat f i), (sat g i); reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (IHf _ _ _ D i Hi), (IHg _ _ _ D0 i Hi).
    destruct (sat f i), (sat g i); reflexivity.
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E.
    exact (step_next Past _ _ _ _ (sat f) E (IHf _ _ _ D) i Hi).
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (step_next Past _ _ _ _ (fun j => negb (sat f j)) D0);
      [|..|exact Hi].
    + rewrite negb_andb, negb_involutive, <- Nat.leb_antisym. reflexivity.
    + intros j Hj. cbn [holds]. rewrite (IHf _ _ _ D j Hj). reflexivity.
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E.
    exact (step_next Future _ _ _ _ (sat f) E (IHf _ _ _ D) i Hi).
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite (step_next Future _ _ _ _ (fun j => negb (sat f j)) D0);
      [|..|exact Hi].
    + rewrite negb_andb, negb_involutive, <- Nat.leb_antisym. reflexivity.
    + intros j Hj. cbn [holds]. rewrite (IHf _ _ _ D j Hj). reflexivity.
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. cbn [Surface.sat].
    rewrite <- once_sat.
    exact (since_next Past _ _ _ _ _ (fun _ => true) (sat f) E (fun j _ => eq_refl) (IHf _ _ _ D) i
      Hi).
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite <- not_existsb, <- once_sat. f_equal.
    refine (since_next Past _ _ _ _ _ (fun _ => true) (fun j => negb (sat f j)) D0 (fun j _ =>
      eq_refl) _ i Hi).
    intros j Hj. cbn [holds]. rewrite (IHf _ _ _ D j Hj). reflexivity.
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. cbn [Surface.sat].
    rewrite <- eventually_sat.
    exact (since_next Future _ _ _ _ _ (fun _ => true) (sat f) E (fun j _ => eq_refl) (IHf _ _ _ D)
      i Hi).
  - intros f IHf hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite <- not_existsb, <- eventually_sat. f_equal.
    refine (since_next Future _ _ _ _ _ (fun _ => true) (fun j => negb (sat f j)) D0 (fun j _ =>
      eq_refl) _ i Hi).
    intros j Hj. cbn [holds]. rewrite (IHf _ _ _ D j Hj). reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    exact (since_next Past _ _ _ _ _ (sat f) (sat g) E (IHf _ _ _ D) (IHg _ _ _ D0) i Hi).
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. f_equal.
    refine (since_next Past _ _ _ _ _ (fun j => negb (sat f j)) (fun j => negb (sat g j)) D1 _ _ i
      Hi);
      intros j Hj; cbn [holds]; rewrite ?(IHf _ _ _ D j Hj), ?(IHg _ _ _ D0 j Hj); reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    exact (since_next Future _ _ _ _ _ (sat f) (sat g) E (IHf _ _ _ D) (IHg _ _ _ D0) i Hi).
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. f_equal.
    refine (since_next Future _ _ _ _ _ (fun j => negb (sat f j)) (fun j => negb (sat g j)) D1 _ _ i
      Hi);
      intros j Hj; cbn [holds]; rewrite ?(IHf _ _ _ D j Hj), ?(IHg _ _ _ D0 j Hj); reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E. walk E.
    injection E as <- <-.
    cbn [holds Surface.sat]. rewrite weak_until. f_equal.
    refine (since_next Future _ _ _ _ _ (fun j => negb (sat g j)) (fun j =>
      negb (sat f j) && negb (sat g j)) D1 _ _ i Hi);
      intros j Hj; cbn [holds]; rewrite ?(IHf _ _ _ D j Hj), ?(IHg _ _ _ D0 j Hj); reflexivity.
  - intros f IHf g IHg hs x hs' E i Hi. cbn [Matching.translate] in E. walk E. walk E.
    refine (since_next Future _ _ _ _ _ (sat g) (fun j => sat f j && sat g j) E (IHg _ _ _ D0) _ i
      Hi).
    intros j Hj. cbn [holds]. rewrite (IHf _ _ _ D j Hj), (IHg _ _ _ D0 j Hj). reflexivity.
  - intros t IHt r u IHu hs x hs' E i Hi. rewrite compare_equations in E. walk E. walk E.
    cbv zeta in E.
    change (sat (Compare t r u) i) with (compare r (value n W q t i) (value n W q u i)).
    rewrite <- (IHt _ _ _ D i Hi), <- (IHu _ _ _ D0 i Hi).
    assert (V : linear_value (plus x0 (times (-1) x1)) i
      = (linear_value x0 i - linear_value x1 i)%Z)
      by (rewrite value_plus, value_times; lia).
    generalize dependent (linear_value x0 i). generalize dependent (linear_value x1 i).
    intros b a V.
    destruct r; cbn [compare]; repeat walk E; try (injection E as <- <-); cbn [holds];
      repeat match goal with H : next _ _ = Some _ |- _ => apply comparison_next with (i := i) in H;
        [|exact Hi] end;
      repeat match goal with H : holds _ i = _ |- _ => rewrite H; clear H end; rewrite ?V.
    + destruct (Z.leb_spec 0 (a - b)), (Z.ltb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 1 (a - b)), (Z.leb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)), (Z.leb_spec 1 (a - b)), (Z.eqb_spec a b);
        (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)), (Z.leb_spec 1 (a - b)), (Z.eqb_spec a b);
        (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)), (Z.leb_spec b a); (reflexivity || lia).
    + destruct (Z.leb_spec 1 (a - b)), (Z.ltb_spec b a); (reflexivity || lia).
  - intros k hs l hs' E i Hi. cbn [Matching.translate_term] in E. injection E as <- <-. reflexivity.
  - intros hs l hs' E i Hi. cbn [Matching.translate_term] in E. injection E as <- <-.
    unfold linear_value. cbn [counts at_i at_n add counted_sum fold_right value]. lia.
  - intros hs l hs' E i Hi. cbn [Matching.translate_term] in E. injection E as <- <-.
    unfold linear_value. cbn [counts at_i at_n add counted_sum fold_right value]. lia.
  - intros f IHf hs l hs' E i Hi.
    assert (C : exists y h, translate f hs = Some (y, h) /\
      next h (match_count p alphabet facts Before y) = Some (l, hs')).
    { change (match translate f hs with Some (y, h) =>
        next h (match_count p alphabet facts Before y)
              | None => None end = Some (l, hs')) in E.
      destruct (translate f hs) as [[y h]|]; [eauto|discriminate]. }
    destruct C as (y & h & D & E'). exact (count_next Before _ _ _ _ (sat f) E' (IHf _ _ _ D) i Hi).
  - intros f IHf hs l hs' E i Hi.
    assert (C : exists y h, translate f hs = Some (y, h) /\
      next h (match_count p alphabet facts After y) = Some (l, hs')).
    { change (match translate f hs with Some (y, h) => next h (match_count p alphabet facts After y)
              | None => None end = Some (l, hs')) in E.
      destruct (translate f hs) as [[y h]|]; [eauto|discriminate]. }
    destruct C as (y & h & D & E'). exact (count_next After _ _ _ _ (sat f) E' (IHf _ _ _ D) i Hi).
  - intros f IHf hs l hs' E i Hi.
    assert (C : exists y h, translate f hs = Some (y, h) /\
      next h (match_count p alphabet facts All y) = Some (l, hs')).
    { change (match translate f hs with Some (y, h) => next h (match_count p alphabet facts All y)
              | None => None end = Some (l, hs')) in E.
      destruct (translate f hs) as [[y h]|]; [eauto|discriminate]. }
    destruct C as (y & h & D & E'). exact (count_next All _ _ _ _ (sat f) E' (IHf _ _ _ D) i Hi).
  - intros k t IHt hs l hs' E i Hi. cbn [Matching.translate_term] in E. walk E.
    injection E as <- <-.
    rewrite value_times, (IHt _ _ _ D i Hi). reflexivity.
  - intros t IHt u IHu hs l hs' E i Hi. cbn [Matching.translate_term] in E. walk E. walk E.
    injection E as <- <-.
    rewrite value_plus, (IHt _ _ _ D i Hi), (IHu _ _ _ D0 i Hi). reflexivity.
  - intros t IHt u IHu hs l hs' E i Hi. cbn [Matching.translate_term] in E. walk E. walk E.
    injection E as <- <-.
    rewrite value_plus, value_times, (IHt _ _ _ D i Hi), (IHu _ _ _ D0 i Hi). cbn [value]. lia.
Qed.
End Matched.
