(** A hard-attention transformer as a user holds it, with exact rational weights, and the theorem
    that softmax attention at an explicit temperature law simulates it, at every length. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith NArith QArith Qreals List Bool.
From Softhat Require Import Sums Masks Lowering Lowered Model EveryLength Gaps Ahat.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

(** * The model *)

(* Position features. p is the place: 0 at <bos>, 1..n in the word, n + 1 at <eos>. *)
Inductive ahat_feature :=
  | One_ | Inside | Place_ | FromEnd | Length_       (* 1, ordinary, i, n + 1 - i, n; 0 at the sinks
  but for 1, n *)
  | Share (k : nat)                                  (* i/n^k, 0 at the sinks *)
  | PlaceShare (k : nat)                             (* p/n^k *)
  | Inverse | Square | Alternate                     (* 1/i, i^2, (-1)^p *)
  | IsFirst | IsLast
  | Modulo (m r : N) (sinks : bool)
  | Table (l : list Q)                               (* an entry for each place, from the first on
  *)
  | Numerical (c : nat).                             (* a numerical predicate holds *)

Record ahat := AHAT {
  letters : nat;
  starts : bool;                                     (* is there a <bos>? *)
  stops : bool;                                      (* is there an <eos>? *)
  vectors : list form;                               (* a row for each symbol *)
  start_vector : form;
  stop_vector : form;
  columns : list (ahat_feature * form);
  hard_layers : list layer;
  output_row : form;
  output_bias : Q }.

Section Values.
Variables (A : ahat) (n : nat) (w : nat -> nat) (q : nat -> nat -> nat -> bool).

Definition places : nat := (n + (if starts A then 1 else 0) + (if stops A then 1 else 0))%nat.
Definition place_of (j : nat) : nat := if starts A then j else S j.
Definition stream_of (i : nat) : nat := if starts A then i else (i - 1)%nat.
(* of a position of the word *)

Definition ahat_value (f : ahat_feature) (j : nat) : R :=
  let p := place_of j in
  let i := if inside n p then p else 0%nat in
  match f with
  | One_ => 1
  | Inside => b2R (inside n p)
  | Place_ => INR i
  | FromEnd => if inside n p then INR (S n - p) else 0
  | Length_ => INR n
  | Share k => INR i / INR n ^ k
  | PlaceShare k => INR p / INR n ^ k
  | Inverse => if inside n p then 1 / INR p else 0
  | Square => INR i * INR i
  | Alternate => (-1) ^ p
  | IsFirst => b2R (Nat.eqb p 1)
  | IsLast => b2R (inside n p && Nat.eqb p n)
  | Modulo m r sinks => b2R ((sinks || inside n p) && N.eqb (N.modulo (N.of_nat p) m) r)
  | Table l => if Nat.leb p n then Q2R (nth j l 0%Q) else 0
  | Numerical c => b2R (inside n p && q c n p)
  end.

Definition ahat_row (p : nat) : form :=
  if inside n p then nth (w p) (vectors A) []
  else if Nat.eqb p 0 then start_vector A else stop_vector A.

Definition ahat_input : Transformer.stream := fun j c =>
  Transformer.coef (real_form (ahat_row (place_of j))) c
  + Transformer.lsum (fun f => ahat_value (fst f) j * Transformer.coef (real_form (snd f)) c)
      (columns A).

Definition read_out (x : Transformer.stream) (i : nat) : R :=
  Transformer.dot (real_form (output_row A)) (x (stream_of i)) + Q2R (output_bias A).

(* The value of hard attention at position i, and of softmax with the same weights, the scores of
   layer l multiplied by the l-th of betas. A head with a row ([], []), which scores nothing,
   takes the leftmost of its maxima, one with two such rows the rightmost; their softmax leans to
   that side by ln β a position (`Ahat.ties_of`, `Ahat.slope_of`). All others take the mean of
   their maxima. *)
Definition hard_value (i : nat) : R :=
  read_out (Transformer.run (EveryLength.hardly ties_of) places (map real_layer (hard_layers A))
    ahat_input) i.
Definition soft_value (betas : list R) (i : nat) : R :=
  read_out (Transformer.run (EveryLength.softly ties_of slope_of) places
    (at_law betas (map real_layer (hard_layers A))) ahat_input) i.
End Values.

(** * The check: d is a common denominator of all weights, tables too *)

Definition shares (d : Z) (a : Q) : bool := Z.eqb (d mod Zpos (Qden a)) 0.
Definition form_shares (d : Z) (f : form) : bool := forallb (fun e => shares d (snd e)) f.
Definition head_shares (d : Z) (h : head) : bool :=
  forallb (fun qk => form_shares d (fst qk) && form_shares d (snd qk)) (rows h)
  && forallb (fun vo => form_shares d (fst vo)) (values h).
Definition unit_shares (d : Z) (u : unit) : bool :=
  form_shares d (input u) && form_shares d (output u) && shares d (bias u).
Definition layer_shares (d : Z) (l : layer) : bool :=
  forallb (head_shares d) (heads l) && forallb (unit_shares d) (units l) && form_shares d (shift l).
Definition feature_shares (d : Z) (f : ahat_feature) : bool :=
  match f with
  | Share k | PlaceShare k => Nat.leb k 8
  | Table l => forallb (shares d) l
  | _ => true
  end.
Definition checked_ahat (A : ahat) (d : Z) : bool :=
  Z.ltb 0 d && forallb (form_shares d) (vectors A) && form_shares d (start_vector A)
  && form_shares d (stop_vector A) && forallb (fun f => feature_shares d (fst f)
    && form_shares d (snd f)) (columns A)
  && forallb (layer_shares d) (hard_layers A).

(** * The law *)

Definition table_size (f : ahat_feature) : R :=
  match f with Table l => Transformer.lsum (fun a => Rabs (Q2R a)) l | _ => 0 end.
Definition input_denominator (A : ahat) (n : nat) (d : Z) : Z :=
  (d * (d * Z.of_nat n ^ 8 * lcm_to (places A n)))%Z.
Definition input_size (A : ahat) (n : nat) : R :=
  Transformer.lsum (fun v => norm (real_form v)) (vectors A) + norm (real_form (start_vector A))
  + norm (real_form (stop_vector A))
  + Transformer.lsum (fun f => ((INR n + 1) * (INR n + 1) + table_size (fst f)) * norm
      (real_form (snd f)))
      (columns A).
Definition laws (A : ahat) (d : Z) (n : nat) (eps : R) : list R :=
  law (places A n) d (map real_layer (hard_layers A)) (input_denominator A n d) (input_size A n)
    (eps / (1 + norm (real_form (output_row A)))).

(** * Soundness of the check *)

Lemma shares_over d a : shares d a = true -> over d (Q2R a).
Proof.
  intros H. unfold shares in H. apply Z.eqb_eq, Z.mod_divide in H as [k ->]; [|discriminate].
  exists (k * Qnum a)%Z. unfold Q2R. rewrite !mult_IZR. field. apply not_0_IZR. discriminate.
Qed.

Lemma form_shares_over d f : form_shares d f = true -> form_over d (real_form f).
Proof.
  intros H c a I. unfold real_form in I. apply in_map_iff in I as ([e b] & E & I).
  injection E as <- <-.
  unfold form_shares in H. rewrite forallb_forall in H. exact (shares_over d b (H _ I)).
Qed.

Lemma over_1 d : over d 1.
Proof. exists d. lra. Qed.
Lemma over_Z d z : over d (IZR z).
Proof. exists (z * d)%Z. rewrite mult_IZR. reflexivity. Qed.
Lemma over_nat d k : over d (INR k).
Proof. rewrite INR_IZR_INZ. apply over_Z. Qed.
Lemma over_bool d b : over d (b2R b).
Proof. destruct b; [apply over_1|apply over_0]. Qed.

Lemma layer_shares_over d l : layer_shares d l = true -> layer_over d (real_layer l).
Proof.
  intros H. unfold layer_shares in H. rewrite !andb_true_iff in H. destruct H as [[Hh Hu] Hs].
  rewrite forallb_forall in Hh, Hu.
  split; cbn [real_layer Transformer.heads Transformer.units Transformer.shift].
  - intros h qk Ih Iq. apply in_map_iff in Ih as (h0 & <- & I0). specialize (Hh h0 I0).
    unfold head_shares in Hh. apply andb_true_iff in Hh as [Hr _]. rewrite forallb_forall in Hr.
    cbn [real_head Transformer.rows] in Iq. unfold real_rows in Iq.
    apply in_map_iff in Iq as (qk0 & <- & J0).
    specialize (Hr qk0 J0). apply andb_true_iff in Hr as [A B]. cbn [fst snd].
    split; apply form_shares_over; assumption.
  - intros h vo Ih Iv. apply in_map_iff in Ih as (h0 & <- & I0). specialize (Hh h0 I0).
    unfold head_shares in Hh. apply andb_true_iff in Hh as [_ Hv]. rewrite forallb_forall in Hv.
    cbn [real_head Transformer.values] in Iv. apply in_map_iff in Iv as (vo0 & <- & J0).
    cbn [fst snd].
    split; [apply form_shares_over, (Hv vo0 J0)|]. intros c a [E|[]]. injection E as <- <-.
    apply over_1.
  - intros u Iu. apply in_map_iff in Iu as (u0 & <- & I0). specialize (Hu u0 I0).
    unfold unit_shares in Hu.
    rewrite !andb_true_iff in Hu. destruct Hu as [[A B] C].
    cbn [real_unit Transformer.input Transformer.output Transformer.bias].
    split; [apply form_shares_over, A|]. split; [apply form_shares_over, B|apply shares_over, C].
  - apply form_shares_over, Hs.
Qed.

Section Sound.
Variables (A : ahat) (d : Z) (n : nat) (w : nat -> nat) (q : nat -> nat -> nat -> bool).
Hypothesis Ok : checked_ahat A d = true.
Hypothesis Hn : (1 <= n)%nat.

Let E := (d * Z.of_nat n ^ 8 * lcm_to (places A n))%Z.

Lemma d_pos : (0 < d)%Z.
Proof. unfold checked_ahat in Ok. rewrite !andb_true_iff in Ok. apply Z.ltb_lt. tauto. Qed.

Lemma n_pow_over k z : (k <= 8)%nat -> over E (INR z / INR n ^ k).
Proof.
  intros Hk. eapply over_divide with (D := (Z.of_nat n ^ Z.of_nat k)%Z).
  - exists (Z.of_nat z). rewrite INR_IZR_INZ, (INR_IZR_INZ n), pow_IZR. field. apply not_0_IZR.
    apply Z.pow_nonzero; lia.
  - exists (d * Z.of_nat n ^ (8 - Z.of_nat k) * lcm_to (places A n))%Z. unfold E.
    replace 8%Z with (8 - Z.of_nat k + Z.of_nat k)%Z at 1 by lia. rewrite Z.pow_add_r by lia. ring.
Qed.

Lemma feature_over f j : feature_shares d f = true -> (j < places A n)%nat ->
  over E (ahat_value A n q f j).
Proof.
  intros Hf Hj.
  destruct f as [| | | | |k|k| | | | | |m r sinks|l|c]; cbn [ahat_value feature_shares] in *.
  - apply over_1.
  - apply over_bool.
  - apply over_nat.
  - destruct (inside n _); [apply over_nat|apply over_0].
  - apply over_nat.
  - apply n_pow_over. apply Nat.leb_le, Hf.
  - apply n_pow_over. apply Nat.leb_le, Hf.
  - destruct (inside n (place_of A j)) eqn:I; [|apply over_0]. apply inside_spec in I.
    apply over_divide with (D := Z.of_nat (place_of A j)).
    + exists 1%Z. rewrite INR_IZR_INZ. field. apply not_0_IZR. lia.
    + destruct (lcm_to_divide (Z.of_nat (place_of A j)) (places A n)) as [k Hk];
        [unfold places; lia|].
      exists (d * Z.of_nat n ^ 8 * k)%Z. unfold E. rewrite Hk. ring.
  - rewrite <- mult_INR. apply over_nat.
  - induction (place_of A j) as [|p IH]; [apply over_1|]. destruct IH as [z Hz]. exists (- z)%Z.
    rewrite opp_IZR, <- Hz. simpl. ring.
  - apply over_bool.
  - apply over_bool.
  - apply over_bool.
  - destruct (Nat.leb _ n); [|apply over_0]. apply over_divide with (D := d).
    + destruct (Nat.lt_ge_cases j (length l)) as [L|L].
      * rewrite forallb_forall in Hf. apply shares_over, Hf, nth_In, L.
      * rewrite nth_overflow by exact L. replace (Q2R 0) with 0 by (unfold Q2R; simpl; lra).
        apply over_0.
    + exists (Z.of_nat n ^ 8 * lcm_to (places A n))%Z. unfold E. ring.
  - apply over_bool.
Qed.

Lemma feature_bound f j : (j < places A n)%nat ->
  Rabs (ahat_value A n q f j) <= (INR n + 1) * (INR n + 1) + table_size f.
Proof.
  intros Hj. pose proof (le_INR 1 n Hn) as N1. simpl in N1.
  assert (P : (place_of A j <= S n)%nat).
  { unfold place_of, places in *. destruct (starts A), (stops A); lia. }
  assert (Pr : 0 <= INR (place_of A j) <= INR n + 1).
  { split; [apply pos_INR|]. rewrite <- S_INR. apply le_INR, P. }
  assert (Pow : forall k, 1 <= INR n ^ k) by (intros k; apply pow_R1_Rle, N1).
  assert (Big : 1 <= (INR n + 1) * (INR n + 1) /\ INR n + 1 <= (INR n + 1) * (INR n + 1)) by nra.
  assert (Sm : forall b : bool, Rabs (b2R b) <= 1).
  { intros []; cbn; [rewrite Rabs_R1|rewrite Rabs_R0]; lra. }
  assert (Div : forall z k, 0 <= z <= INR n + 1 -> Rabs (z / INR n ^ k) <= INR n + 1).
  { intros z k Hz. specialize (Pow k). unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq z),
      (Rabs_pos_eq (INR n ^ k)) by lra.
    apply Rmult_le_reg_r with (INR n ^ k); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  destruct f as [| | | | |k|k| | | | | |m r sinks|l|c]; cbn [ahat_value table_size];
    rewrite ?Rplus_0_r.
  - rewrite Rabs_R1. lra.
  - specialize (Sm (inside n (place_of A j))). lra.
  - destruct (inside n _); rewrite Rabs_pos_eq by apply pos_INR; [lra|simpl; lra].
  - destruct (inside n _); [|rewrite Rabs_R0; lra]. rewrite Rabs_pos_eq by apply pos_INR.
    assert (INR (S n - place_of A j) <= INR n + 1) by (rewrite <- S_INR; apply le_INR; lia). lra.
  - rewrite Rabs_pos_eq by apply pos_INR. lra.
  - assert (Pi : 0 <= INR (if inside n (place_of A j) then place_of A j else 0%nat) <= INR n + 1).
    { destruct (inside n _); [lra|simpl; lra]. }
    specialize (Div _ k Pi). lra.
  - specialize (Div _ k Pr). lra.
  - destruct (inside n (place_of A j)) eqn:I; [|rewrite Rabs_R0; lra]. apply inside_spec in I.
    assert (1 <= INR (place_of A j)) by (apply (le_INR 1); lia).
    assert (0 < / INR (place_of A j) <= 1).
    { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    unfold Rdiv. rewrite Rmult_1_l, Rabs_pos_eq by lra. lra.
  - destruct (inside n _); [|simpl; rewrite Rmult_0_l, Rabs_R0; lra].
    rewrite Rabs_pos_eq by nra. apply Rmult_le_compat; lra.
  - rewrite pow_1_abs. lra.
  - specialize (Sm (Nat.eqb (place_of A j) 1)). lra.
  - specialize (Sm (inside n (place_of A j) && Nat.eqb (place_of A j) n)). lra.
  - specialize (Sm ((sinks || inside n (place_of A j))
      && N.eqb (N.modulo (N.of_nat (place_of A j)) m) r)). lra.
  - assert (T : 0 <= Transformer.lsum (fun a => Rabs (Q2R a)) l)
      by (apply Transformer.lsum_nonneg; intros; apply Rabs_pos).
    destruct (Nat.leb _ n); [|rewrite Rabs_R0; lra].
    destruct (Nat.lt_ge_cases j (length l)) as [L|L].
    + pose proof (lsum_in (fun a => Rabs (Q2R a)) l (nth j l 0%Q) (fun b _ => Rabs_pos _)
        (nth_In l 0%Q L)). lra.
    + rewrite nth_overflow by exact L. replace (Q2R 0) with 0 by (unfold Q2R; simpl; lra).
      rewrite Rabs_R0. lra.
  - specialize (Sm (inside n (place_of A j) && q c n (place_of A j))). lra.
Qed.

Lemma row_over p : form_over d (real_form (ahat_row A n w p)).
Proof.
  pose proof Ok as C. unfold checked_ahat in C. rewrite !andb_true_iff in C.
  destruct C as [[[[[_ V] B] S] _] _].
  rewrite forallb_forall in V. unfold ahat_row. destruct (inside n p); [|destruct (Nat.eqb p 0)].
  - destruct (Nat.lt_ge_cases (w p) (length (vectors A))) as [L|L].
    + apply form_shares_over, V, nth_In, L.
    + rewrite nth_overflow by exact L. intros c a [].
  - apply form_shares_over, B.
  - apply form_shares_over, S.
Qed.

Lemma input_over : all_over (input_denominator A n d) (places A n) (ahat_input A n w q).
Proof.
  intros j c Hj. unfold ahat_input, input_denominator. fold E. apply over_plus.
  - eapply over_divide; [apply coef_over', row_over|]. exists E. ring.
  - apply Gaps.over_lsum. intros f If. pose proof Ok as C. unfold checked_ahat in C.
    rewrite !andb_true_iff in C.
    destruct C as [[[[[_ _] _] _] F] _]. rewrite forallb_forall in F. specialize (F f If).
    apply andb_true_iff in F as [F1 F2]. replace (d * E)%Z with (E * d)%Z by ring.
    apply over_mult; [apply feature_over; assumption|apply coef_over', form_shares_over, F2].
Qed.

Lemma norms_in {X} (g : X -> Lowering.form) l a : In a l ->
  norm (real_form (g a)) <= Transformer.lsum (fun v => norm (real_form (g v))) l.
Proof.
  intros I. apply (lsum_in (fun v => norm (real_form (g v)))); [intros; apply norm_nonneg|exact I].
Qed.

Lemma input_within : all_within (input_size A n) (places A n) (ahat_input A n w q).
Proof.
  intros j c Hj. unfold ahat_input, input_size. eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat.
  - eapply Rle_trans; [apply coef_bound|].
    pose proof (norm_nonneg (real_form (start_vector A))).
    pose proof (norm_nonneg (real_form (stop_vector A))).
    assert (0 <= Transformer.lsum (fun v => norm (real_form v)) (vectors A))
      by (apply Transformer.lsum_nonneg; intros; apply norm_nonneg).
    unfold ahat_row. destruct (inside n _); [|destruct (Nat.eqb _ 0); lra].
    destruct (Nat.lt_ge_cases (w (place_of A j)) (length (vectors A))) as [L|L].
    + pose proof (norms_in (fun v => v) (vectors A) _ (nth_In (vectors A) [] L)). cbv beta in *.
      lra.
    + rewrite nth_overflow by exact L. unfold norm at 1. cbn. lra.
  - eapply Rle_trans; [apply Transformer.lsum_abs|]. apply Transformer.lsum_le. intros f _.
    rewrite Rabs_mult.
    apply Rmult_le_compat; try apply Rabs_pos; [apply feature_bound, Hj|apply coef_bound].
Qed.

Lemma input_size_nonneg : 0 <= input_size A n.
Proof.
  pose proof (input_within 0%nat 0%nat) as H.
  assert (0 < places A n)%nat by (unfold places; lia). specialize (H ltac:(assumption)).
  eapply Rle_trans; [apply Rabs_pos|exact H].
Qed.

Theorem ahat_right eps : 0 < eps -> forall i, (1 <= i <= n)%nat ->
  Rabs (soft_value A n w q (laws A d n eps) i - hard_value A n w q i) <= eps.
Proof.
  intros He i Hi. pose proof d_pos as Hd. pose proof (norm_nonneg (real_form (output_row A))) as No.
  assert (Np : (0 < places A n)%nat) by (unfold places; lia).
  assert (De : (0 < input_denominator A n d)%Z).
  { unfold input_denominator. pose proof (lcm_to_pos (places A n)).
    pose proof (Z.pow_pos_nonneg (Z.of_nat n) 8 ltac:(lia) ltac:(lia)). nia. }
  set (eps' := eps / (1 + norm (real_form (output_row A)))).
  assert (He' : 0 < eps') by (apply Rdiv_lt_0_compat; lra).
  assert (Lo : forall l, In l (map real_layer (hard_layers A)) -> layer_over d l).
  { intros l I. apply in_map_iff in I as (l0 & <- & I0). apply layer_shares_over.
    unfold checked_ahat in Ok. rewrite !andb_true_iff in Ok. destruct Ok as [_ F].
    rewrite forallb_forall in F. exact (F l0 I0). }
  assert (Hs : (stream_of A i < places A n)%nat).
  { unfold stream_of, places. destruct (starts A), (stops A); lia. }
  pose proof (simulated (places A n) d _ (input_denominator A n d) (input_size A n) eps'
    (ahat_input A n w q)
    Np Hd De input_size_nonneg He' Lo input_over input_within) as T.
  unfold soft_value, hard_value, read_out. fold (laws A d n eps).
  set (X := Transformer.run (EveryLength.softly _ _) _ _ _).
  set (Y := Transformer.run (EveryLength.hardly _) _ _ _).
  assert (B : forall c, Rabs (X (stream_of A i) c - Y (stream_of A i) c) <= eps').
  { intros c. unfold X, Y, laws. apply T, Hs. }
  replace (Transformer.dot (real_form (output_row A)) (X (stream_of A i)) + Q2R (output_bias A)
           - (Transformer.dot (real_form (output_row A)) (Y (stream_of A i)) + Q2R (output_bias A)))
    with (Transformer.dot (real_form (output_row A)) (fun c => X (stream_of A i) c
      - Y (stream_of A i) c)).
  - eapply Rle_trans; [apply dot_bound, B|]. unfold eps'.
    apply Rle_trans
      with ((1 + norm (real_form (output_row A))) * (eps / (1 + norm (real_form (output_row A)))));
      [apply Rmult_le_compat_r; [fold eps'; lra|lra]|right; field; lra].
  - generalize (real_form (output_row A)). intros f. induction f as [|[c a] f IH]; [cbn; lra|].
    cbn [Transformer.dot].
    rewrite IH. lra.
Qed.
End Sound.

(* The theorem: for the model whose weights pass the check, at every length, on every word. *)
Theorem checked_ahat_right A d : checked_ahat A d = true ->
  forall n w q eps, (1 <= n)%nat -> 0 < eps -> forall i, (1 <= i <= n)%nat ->
  Rabs (soft_value A n w q (laws A d n eps) i - hard_value A n w q i) <= eps.
Proof. intros Ok n w q eps Hn He i Hi. exact (ahat_right A d n w q Ok Hn eps He i Hi). Qed.
