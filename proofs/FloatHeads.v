(** Latest and Previous as heads in binary32, from the bits that they read to what they return: scores,
    softmax and the sum of the values are all rounded, in any order, up to 8,192 keys. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith List Bool.
From Flocq Require Import Core.
From Softhat Require Import Sums Attention Latest Previous Floats FloatRow.
From Softhat Require Reads.
Open Scope R_scope.

Notation latest_scores := (rounded_score 24 (-149) ZnearestE 2).
Notation previous_scores := (rounded_previous 24 (-149) ZnearestE 2).

Local Instance precise : Prec_gt_0 24 := eq_refl.

Lemma four : bpow radix2 2 = 4.
Proof. simpl. lra. Qed.

(* multiples of 4 are floats *)
Lemma multiple_format m : (Z.abs m <= 2 ^ 24)%Z -> generic_format radix2 (FLT_exp (-149) 24) (4 * IZR m).
Proof.
  intros H. rewrite <- four, Rmult_comm. apply integer_format; [exact eq_refl|lia|exact H].
Qed.

(* no score is large, whatever is rounded *)
Lemma small_round k x : (0 <= k)%Z -> Rabs x <= bpow radix2 k ->
  Rabs (round radix2 (FLT_exp (-149) 24) ZnearestE x) <= bpow radix2 k.
Proof.
  intros Hk H. apply abs_round_le_generic; try typeclasses eauto; [|exact H].
  apply generic_format_FLT_bpow; [typeclasses eauto|lia].
Qed.

Lemma exp_4 : 0 < exp (- 4) <= 1 / 52.
Proof. exact (Reads.sharper 4 ltac:(lra)). Qed.
Lemma geometric_4 x : 0 <= x <= 1 / 52 -> x / (1 - x) <= 1 / 50.
Proof.
  intros H. apply Rmult_le_reg_r with (1 - x); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** * Latest *)

Lemma latest_scores_small bad i j : (Z.of_nat i <= 8191)%Z -> (j <= i)%nat -> bad j = 0 \/ bad j = 1 ->
  Rabs (latest_scores bad i j) <= bpow radix2 60.
Proof.
  intros Hi Hj B. unfold rounded_score. rewrite four.
  assert (I : 0 <= INR i <= 8191) by (split; [apply pos_INR|rewrite INR_IZR_INZ; apply IZR_le, Hi]).
  assert (J : 0 <= INR j <= INR i) by (split; [apply pos_INR|apply le_INR, Hj]).
  set (a := round _ _ _ (- 2 * 4 * INR i * bad j)). set (b := round _ _ _ (4 * INR j)). set (c := round _ _ _ (4 * INR i)).
  assert (A : Rabs a <= bpow radix2 20) by (apply small_round; [lia|]; apply Rabs_le; simpl; destruct B as [-> | ->]; lra).
  assert (Bb : Rabs b <= bpow radix2 20) by (apply small_round; [lia|]; apply Rabs_le; simpl; lra).
  assert (Cc : Rabs c <= bpow radix2 20) by (apply small_round; [lia|]; apply Rabs_le; simpl; lra).
  apply Rabs_le_inv in A, Bb, Cc. set (ab := round _ _ _ (a + b)).
  assert (AB : Rabs ab <= bpow radix2 30) by (apply small_round; [lia|]; apply Rabs_le; simpl in *; lra).
  apply Rabs_le_inv in AB.
  assert (Z : Rabs (round radix2 (FLT_exp (-149) 24) ZnearestE (ab - c)) <= bpow radix2 40)
    by (apply small_round; [lia|]; apply Rabs_le; simpl in *; lra).
  eapply Rle_trans; [exact Z|]. apply bpow_le. lia.
Qed.

(* The head Latest with C = 4 over the keys 0..i: it returns the bit of the last good one, to 1/16. *)
Theorem latest_head_binary32 bad v i p o : (Z.of_nat i <= 8191)%Z -> (p <= i)%nat ->
  (forall j, (j <= i)%nat -> bad j = 0 \/ bad j = 1) -> (forall j, (j <= i)%nat -> v j = 0 \/ v j = 1) ->
  bad p = 0 -> (forall j, (p < j <= i)%nat -> bad j = 1) ->
  attends (S i) (latest_scores bad i) v o -> Rabs (o - v p) <= 1 / 16.
Proof.
  intros Hi Hp B V B0 B1 A.
  assert (Hf : (Z.of_nat i <= 2 ^ 24)%Z) by lia.
  destruct (@latest_gaps 24 (-149) ZnearestE _ _ 2 ltac:(lia) bad i p Hf Hp B B0 B1) as [Before After].
  rewrite four in Before, After.
  set (g := fun j => if Nat.ltb j p then 4 * IZR (Z.of_nat j - Z.of_nat p)
                     else if Nat.ltb p j then 4 * IZR (Z.of_nat j - Z.of_nat i - 1 - Z.of_nat p) else 0).
  assert (G : forall j, (j <= i)%nat -> j <> p ->
    generic_format radix2 (FLT_exp (-149) 24) (g j) /\
    latest_scores bad i j - latest_scores bad i p <= g j /\ g j <= 0).
  { intros j Hj N. unfold g. destruct (Nat.ltb_spec j p) as [L|L]; [|destruct (Nat.ltb_spec p j) as [L'|L']; [|lia]].
    - split; [apply multiple_format; lia|]. specialize (Before j L). rewrite !INR_IZR_INZ in Before.
      rewrite minus_IZR. split; [lra|]. apply lt_INR in L. rewrite !INR_IZR_INZ in L. lra.
    - split; [apply multiple_format; lia|]. specialize (After j ltac:(lia)). rewrite !INR_IZR_INZ in After.
      rewrite !minus_IZR. split; [lra|]. apply le_INR in Hj. rewrite !INR_IZR_INZ in Hj.
      pose proof (pos_INR p) as P0. rewrite INR_IZR_INZ in P0. lra. }
  apply (row_binary32 (S i) (latest_scores bad i) v o p g); try assumption.
  - lia.
  - lia.
  - intros j Hj. apply V. lia.
  - intros j Hj. apply latest_scores_small; [exact Hi|lia|apply B; lia].
  - intros j Hj. destruct (Nat.eq_dec j p) as [->|N]; [lra|]. destruct (G j ltac:(lia) N) as (_ & L & L0). lra.
  - intros j Hj N. destruct (G j ltac:(lia) N) as (F & L & _). split; assumption.
  - (* the gaps are those of scores 4(j - p), and so is the leak *)
    assert (Lk : leak g (S i) p <= exp (- 4)).
    { apply (latest_leak 4); [lra|exact Hp| |].
      - intros j Hj. unfold g. rewrite !Nat.ltb_irrefl. destruct (Nat.ltb_spec j p); [|lia].
        rewrite minus_IZR, !INR_IZR_INZ. lra.
      - intros j Hj. unfold g. rewrite !Nat.ltb_irrefl. destruct (Nat.ltb_spec j p); [lia|].
        destruct (Nat.ltb_spec p j); [|lia]. rewrite !minus_IZR, !INR_IZR_INZ. lra. }
    pose proof exp_4 as E4.
    assert (Gp : g p = 0) by (unfold g; rewrite !Nat.ltb_irrefl; reflexivity).
    pose proof (proj1 (leak_iff 1 g (fun j => g p - g j) (S i) p (exp (- 4)) ltac:(lia) ltac:(lra)
      (fun j _ => eq_refl))) as Q.
    eapply Rle_trans; [|apply (geometric_4 (exp (- 4))); lra].
    assert (Same : others p (fun j => exp (g j)) (S i) = others p (fun j => exp (- (1 * (g p - g j)))) (S i)).
    { apply others_ext. intros j _ _. f_equal. rewrite Gp. ring. }
    rewrite Same. apply Q. eapply Rle_trans; [|exact Lk]. right. unfold leak. apply others_ext. intros j Hj _.
    apply weight_ext; [|exact Hj]. intros k _. ring.
Qed.

(** * Previous *)

(* the score, as a multiple of 4 *)
Definition previous_number (i j : nat) : Z :=
  (Z.of_nat j - Z.of_nat i - (if Nat.even (i + j) then 4 else 0))%Z.

Lemma previous_multiple i j : previous_score 4 i j = 4 * IZR (previous_number i j).
Proof.
  unfold previous_score, previous_number. rewrite alternating, !minus_IZR, <- !INR_IZR_INZ.
  destruct (Nat.even (i + j)); ring.
Qed.

Lemma previous_wins p : previous_number (S p) p = (- 1)%Z.
Proof.
  unfold previous_number. replace (S p + p)%nat with (1 + 2 * p)%nat by lia.
  rewrite Nat.even_add_mul_2. cbn [Nat.even]. lia.
Qed.

Lemma previous_loses p j : (j < S (S p))%nat -> (- Z.of_nat p - 5 <= previous_number (S p) j <= - 1)%Z.
Proof.
  intros Hj. unfold previous_number. destruct (Nat.even (S p + j)) eqn:E; [lia|].
  assert (j <> S p).
  { intros ->. replace (S p + S p)%nat with (0 + 2 * S p)%nat in E by lia.
    rewrite Nat.even_add_mul_2 in E. discriminate. }
  lia.
Qed.

(* The head Previous with C = 4 at position p + 1: it returns the bit of position p, to 1/16. *)
Theorem previous_head_binary32 v p o : (Z.of_nat p <= 8190)%Z ->
  (forall j, (j <= S p)%nat -> v j = 0 \/ v j = 1) ->
  attends (S (S p)) (previous_scores (S p)) v o -> Rabs (o - v p) <= 1 / 16.
Proof.
  intros Hp V A.
  assert (E : forall j, (j < S (S p))%nat -> previous_scores (S p) j = 4 * IZR (previous_number (S p) j)).
  { intros j Hj. rewrite <- previous_multiple, <- four.
    apply (@previous_exact 24 (-149) ZnearestE _ _ 2); [lia|lia|exact Hj]. }
  set (g := fun j => 4 * IZR (previous_number (S p) j + 1)).
  assert (D : forall j, (j < S (S p))%nat -> previous_scores (S p) j - previous_scores (S p) p = g j).
  { intros j Hj. rewrite (E j Hj), (E p) by lia. rewrite previous_wins. unfold g. rewrite plus_IZR. ring. }
  assert (Top : forall j, (j < S (S p))%nat -> g j <= 0).
  { intros j Hj. pose proof (proj2 (previous_loses p j Hj)) as L. apply IZR_le in L. unfold g.
    rewrite plus_IZR. lra. }
  apply (row_binary32 (S (S p)) (previous_scores (S p)) v o p g); try assumption.
  - lia.
  - lia.
  - intros j Hj. apply V. lia.
  - intros j Hj. rewrite (E j Hj). destruct (previous_loses p j Hj) as [L1 L2]. apply Rabs_le.
    assert (B : IZR (- 8195) <= IZR (previous_number (S p) j) <= IZR (- 1)) by (split; apply IZR_le; lia).
    assert (bpow radix2 20 <= bpow radix2 60) by (apply bpow_le; lia). simpl (bpow radix2 20) in *. lra.
  - intros j Hj. pose proof (D j Hj). pose proof (Top j Hj). lra.
  - intros j Hj N. split; [apply multiple_format|right; apply (D j Hj)].
    pose proof (previous_loses p j Hj). lia.
  - (* the sum is that of the reals *)
    pose proof (previous_leak 4 p ltac:(lra)) as Lk. rewrite leak_eq in Lk by lia.
    pose proof (tail_nonneg (previous_score 4 (S p)) (S (S p)) p) as T0.
    assert (Same : others p (fun j => exp (g j)) (S (S p)) = tail (previous_score 4 (S p)) (S (S p)) p).
    { unfold tail. apply others_ext. intros j Hj _. f_equal. rewrite !previous_multiple, previous_wins.
      unfold g. rewrite plus_IZR. ring. }
    rewrite Same. set (t := tail _ _ _) in *. pose proof exp_4 as E4.
    assert (E8 : exp (- (2 * 4)) = exp (- 4) * exp (- 4)) by (rewrite <- exp_plus; f_equal; lra).
    assert (E12 : exp (- (3 * 4)) = exp (- 4) * exp (- 4) * exp (- 4)) by (rewrite <- !exp_plus; f_equal; lra).
    rewrite E8, E12 in Lk. set (x := exp (- 4)) in *.
    assert (X2 : 0 < x * x <= 1 / 2704) by nra. assert (X3 : 0 < x * x * x <= 1 / 2704) by nra.
    assert (L : (x * x + x * x * x) / (1 - x * x) <= 1 / 52).
    { apply Rmult_le_reg_r with (1 - x * x); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (T : t / (1 + t) <= 1 / 52) by lra.
    apply (fraction_iff t (1 / 52) T0 ltac:(lra)) in T. lra.
Qed.
