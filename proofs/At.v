(** At: the value at the positions whose code is mine. Codes are B bits, scores (C/2)·⟨q, k⟩ on ±1
    digits, so a code that differs in d digits loses C·d; sinks lose C/2 and are read where no
    position has my code. So the levels of `Match` are C and C/2; where all codes differ the leak
    depends on B, the logarithm of n, not on n. *)
From Coq Require Import Reals Lra Lia Arith List Bool.
From Softhat Require Import Sums Attention Masks Match Transformer.
Import ListNotations.
Open Scope R_scope.

Definition digit (b : bool) : R := if b then 1 else - 1.
Fixpoint inner (q k : list bool) : R :=
  match q, k with a :: q, b :: k => digit a * digit b + inner q k | _, _ => 0 end.
Fixpoint distance (q k : list bool) : nat :=
  match q, k with a :: q, b :: k => (if Bool.eqb a b then 0 else 1) + distance q k | _, _ => 0 end.

Lemma inner_distance q k : length q = length k ->
  inner q k = INR (length q) - 2 * INR (distance q k).
Proof.
  revert k. induction q as [|a q IH]; intros [|b k] L; try discriminate; [simpl; lra|].
  cbn [inner distance length]. rewrite plus_INR, S_INR, IH by (simpl in L; lia).
  destruct a, b; simpl; lra.
Qed.

Lemma distance_0 q k : length q = length k -> distance q k = 0%nat -> q = k.
Proof.
  revert k. induction q as [|a q IH]; intros [|b k] L D; try discriminate; [reflexivity|].
  cbn [distance] in D. destruct (Bool.eqb a b) eqn:E; [|discriminate].
  apply eqb_prop in E as ->. f_equal. apply IH; [simpl in L; lia|exact D].
Qed.

Lemma distance_same q : distance q q = 0%nat.
Proof. induction q as [|a q IH]; [reflexivity|]. cbn [distance]. rewrite eqb_reflx. exact IH. Qed.

(* Under any mask, with any number of sinks: the rows are rows of three levels. *)
Section Levels.
Variables (C : R) (q : list bool) (code : nat -> list bool) (n : nat) (m sink : nat -> bool).
Hypothesis HC : 0 < C.
Hypothesis Lengths : forall j, sink j = false -> length (code j) = length q.

Definition code_eq (a b : list bool) : bool := if list_eq_dec Bool.bool_dec a b then true
  else false.
Definition has_code (j : nat) : bool := negb (sink j) && code_eq (code j) q.
Definition code_score (j : nat) : R :=
  if sink j then C / 2 * (INR (length q) - 1) else C / 2 * inner q (code j).

Lemma code_levels j :
  (has_code j = true -> code_score j = C / 2 * INR (length q)) /\
  (has_code j = false -> sink j = true -> code_score j = C / 2 * INR (length q) - C / 2) /\
  (has_code j = false -> sink j = false -> code_score j <= C / 2 * INR (length q) - C).
Proof.
  unfold has_code, code_score, code_eq. destruct (sink j) eqn:Sk; cbn [negb andb].
  - split; [discriminate|]. split; [intros; lra|discriminate].
  - rewrite inner_distance by (symmetry; apply Lengths, Sk).
    destruct (list_eq_dec Bool.bool_dec (code j) q) as [->|N].
    + rewrite distance_same. split; [intros; simpl; lra|]. split; discriminate.
    + split; [discriminate|]. split; [discriminate|]. intros _ _.
      assert (1 <= INR (distance q (code j))); [|nra]. apply (le_INR 1).
      destruct (distance q (code j)) eqn:D; [|lia]. exfalso. apply N. symmetry.
      apply distance_0; [symmetry; apply Lengths, Sk|exact D].
Qed.

Theorem code_found v lo hi : 1 <= hits n m has_code ->
  (forall j, (j < n)%nat -> m j = true -> lo <= v j <= hi) ->
  Rabs (soft m code_score v n - mean n m has_code v)
  <= (hi - lo)
    * ((others_ n m has_code sink * exp (- C) + sinks n m has_code sink * exp (- (C / 2)))
                  / hits n m has_code).
Proof.
  apply (selected_found n m has_code sink code_score (C / 2 * INR (length q)));
    intros j _ _; destruct (code_levels j) as (A & B & D); assumption.
Qed.

Theorem code_none v : hits n m has_code = 0 -> 1 <= sinks n m has_code sink ->
  (forall j, (j < n)%nat -> m j = true -> 0 <= v j <= 1) ->
  (forall j, (j < n)%nat -> m j = true -> sink j = true -> v j = 0) ->
  0 <= soft m code_score v n <= others_ n m has_code sink * exp (- (C / 2)) / sinks n m has_code
    sink.
Proof.
  intros F K B V. replace (- (C / 2)) with (- (C - C / 2)) by lra.
  apply (selected_none n m has_code sink code_score (C / 2 * INR (length q))); try assumption;
    intros j _ _; destruct (code_levels j) as (A & Q & D); assumption.
Qed.
End Levels.

(** * Distinct codes, one sink *)

(* all codes of B digits *)
Fixpoint codes (B : nat) : list (list bool) :=
  match B with O => [[]] | S B => map (cons true) (codes B) ++ map (cons false) (codes B) end.

Lemma codes_complete k : In k (codes (length k)).
Proof.
  induction k as [|b k IH]; [left; reflexivity|]. cbn [length codes]. apply in_or_app.
  destruct b; [left|right]; apply in_map, IH.
Qed.

(* Σ over all codes of y^distance = (1 + y)^B *)
Lemma code_sum y q : lsum (fun k => y ^ distance q k) (codes (length q)) = (1 + y) ^ length q.
Proof.
  induction q as [|a q IH]; [simpl; lra|]. cbn [length codes]. rewrite lsum_app, !lsum_map.
  cbn [distance]. destruct a; cbn [Bool.eqb]; rewrite <- tech_pow_Rmult, <- IH;
    rewrite (lsum_ext (fun k => y ^ (1 + distance q k)) (fun k => y * y ^ distance q k))
      by reflexivity;
    rewrite (lsum_ext (fun k => y ^ (0 + distance q k)) (fun k => y ^ distance q k)) by reflexivity;
    rewrite lsum_scal; lra.
Qed.

(* a sum over distinct elements is at most the sum over all *)
Lemma lsum_incl {A} (f : A -> R) l l' : (forall a, 0 <= f a) -> NoDup l -> incl l l' ->
  lsum f l <= lsum f l'.
Proof.
  intros F. revert l'. induction l as [|a l IH]; intros l' N I.
  - apply lsum_nonneg. auto.
  - inversion N as [|? ? Na Nl]; subst. destruct (in_split a l') as (u & v & ->);
      [apply I; left; reflexivity|].
    rewrite lsum_app. simpl.
    assert (L : lsum f l <= lsum f (u ++ v)); [|rewrite lsum_app in L; lra]. apply IH; [exact Nl|].
    intros b Hb. pose proof (I b (or_intror Hb)) as Ib. apply in_app_or in Ib as [Ib|[->|Ib]];
      [apply in_or_app; left; exact Ib|contradiction|apply in_or_app; right; exact Ib].
Qed.

Lemma sum_lsum f n : sum f n = lsum f (seq 0 n).
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite seq_S, lsum_app, <- IH. simpl. lra.
Qed.

Section At.
Variables (C : R) (q : list bool) (code : nat -> list bool) (n : nat).   (* position 0 is <bos> *)
Hypothesis HC : 0 < C.
Hypothesis Lengths : forall j, (1 <= j <= n)%nat -> length (code j) = length q.
Hypothesis Distinct : forall j k, (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> code j = code k ->
  j = k.

Definition at_score (j : nat) : R :=
  if Nat.eqb j 0 then C / 2 * (INR (length q) - 1) else C / 2 * inner q (code j).

Lemma at_position j : (1 <= j <= n)%nat ->
  at_score j = C / 2 * INR (length q) - C * INR (distance q (code j)).
Proof.
  intros Hj. unfold at_score. destruct (Nat.eqb_spec j 0); [lia|].
  rewrite inner_distance by (symmetry; apply Lengths, Hj). field.
Qed.

Let y := exp (- C).

Lemma power_distance j : (1 <= j <= n)%nat ->
  exp (- (C / 2 * INR (length q) - at_score j)) = y ^ distance q (code j).
Proof.
  intros Hj. rewrite (at_position j Hj). unfold y. rewrite <- exp_pow. f_equal. lra.
Qed.

(* all positions but those at distance 0 *)
Lemma positions_sum (p : nat -> bool) :
  (forall j, (1 <= j <= n)%nat -> p j = true -> code j <> q) ->
  sum (fun j => if p (S j) then y ^ distance q (code (S j)) else 0) n <= (1 + y) ^ length q - 1.
Proof.
  intros P. assert (Y0 : 0 < y) by apply exp_pos. rewrite <- code_sum, sum_lsum.
  set (f := fun k => y ^ distance q k).
  assert (F : forall k, 0 <= f k) by (intros; left; apply pow_lt, Y0).
  set (l := filter (fun j => p (S j)) (seq 0 n)).
  replace (lsum (fun j => if p (S j) then y ^ distance q (code (S j)) else 0) (seq 0 n))
    with (lsum f (map (fun j => code (S j)) l)).
  2: { rewrite lsum_map. unfold l. induction (seq 0 n) as [|a s IH]; simpl; [reflexivity|].
       destruct (p (S a)); simpl; rewrite IH; unfold f; lra. }
  assert (Q : f q = 1).
  { unfold f. replace (distance q q) with 0%nat; [reflexivity|].
    clear. induction q as [|a t IH]; [reflexivity|]. cbn [distance]. rewrite eqb_reflx, <- IH.
    reflexivity. }
  assert (L : lsum f (q :: map (fun j => code (S j)) l) <= lsum f (codes (length q)));
    [|simpl in L; lra].
  apply lsum_incl; [exact F| |].
  - constructor.
    + intros I. apply in_map_iff in I as (j & E & I). apply filter_In in I as [I Pj].
      apply in_seq in I.
      apply (P (S j)); [lia|exact Pj|exact E].
    + assert (N : NoDup l) by (apply NoDup_filter, seq_NoDup).
      assert (R : forall j, In j l -> (j < n)%nat) by (intros j I; apply filter_In in I as [I _];
        apply in_seq in I; lia).
      clear -N R Distinct. induction l as [|a l IH]; [constructor|]. inversion N; subst. simpl.
      constructor.
      * intros I. apply in_map_iff in I as (j & E & I). apply Distinct in E.
        -- replace j with a in I by lia. contradiction.
        -- pose proof (R j (or_intror I)). lia.
        -- pose proof (R a (or_introl eq_refl)). lia.
      * apply IH; [assumption|]. intros j I. apply R. right. exact I.
  - intros k [<-|I]; [apply codes_complete|]. apply in_map_iff in I as (j & <- & I).
    apply filter_In in I as [I _]. apply in_seq in I. rewrite <- (Lengths (S j)) by lia.
    apply codes_complete.
Qed.

(* A position has my code. *)
Theorem at_found p : (1 <= p <= n)%nat -> code p = q ->
  leak at_score (S n) p <= (1 + exp (- C)) ^ length q - 1 + exp (- (C / 2)).
Proof.
  intros Hp E. fold y. eapply Rle_trans; [apply leak_le_tail; lia|].
  assert (D : distance q (code p) = 0%nat).
  { rewrite E. clear. induction q as [|a t IH]; [reflexivity|]. cbn [distance].
    rewrite eqb_reflx, IH. reflexivity. }
  assert (Sp : at_score p = C / 2 * INR (length q)) by (rewrite at_position, D by assumption; simpl;
    lra).
  unfold tail, others. rewrite sum_first. destruct (Nat.eqb_spec 0 p); [lia|].
  rewrite Rplus_comm. apply Rplus_le_compat.
  - eapply Rle_trans; [|apply (positions_sum (fun j => negb (Nat.eqb j p)))].
    + apply sum_le. intros j Hj. destruct (Nat.eqb_spec (S j) p) as [|N]; cbn [negb]; [lra|].
      rewrite Sp, <- power_distance by lia. lra.
    + intros j Hj N Q. apply negb_true_iff, Nat.eqb_neq in N.
      apply N, Distinct; congruence || assumption.
  - rewrite Sp. unfold at_score. cbn [Nat.eqb]. apply exp_le. lra.
Qed.

(* No position has my code: <bos> is read. *)
Theorem at_none : (forall j, (1 <= j <= n)%nat -> code j <> q) ->
  leak at_score (S n) 0 <= exp (C / 2) * ((1 + exp (- C)) ^ length q - 1).
Proof.
  intros N. fold y. eapply Rle_trans; [apply leak_le_tail; lia|].
  unfold tail, others. rewrite sum_first. cbn [Nat.eqb]. rewrite Rplus_0_l.
  apply Rle_trans with (exp (C / 2) * sum (fun j => y ^ distance q (code (S j))) n).
  - rewrite <- sum_scal. apply sum_le. intros j Hj. rewrite <- power_distance by lia.
    rewrite <- exp_plus. right. f_equal. unfold at_score at 1. cbn [Nat.eqb]. lra.
  - apply Rmult_le_compat_l; [left; apply exp_pos|].
    apply (positions_sum (fun _ => true)). intros. apply N. assumption.
Qed.
End At.
