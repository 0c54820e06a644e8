(** Match: the mean over the positions whose category matches mine, or `<bos>` if there is none.
    A match scores β, `<bos>` β/2, anything else 0. *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Softhat Require Import Sums Attention Ties.
Open Scope R_scope.

Section Match.
Variables (beta : R) (matches : nat -> bool) (n : nat).     (* position 0 is <bos> *)
Hypothesis Hbeta : 0 <= beta.

Definition match_score (j : nat) : R :=
  if Nat.eqb j 0 then beta / 2 else if matches j then beta else 0.
(* how many positions match *)
Definition found : R := sum (fun j => if negb (Nat.eqb j 0) && matches j then 1 else 0) (S n).

Definition selected (j : nat) : bool := negb (Nat.eqb j 0) && matches j.
Definition mean (v : nat -> R) : R := sum (fun j => if selected j then v j else 0) (S n) / found.

Lemma found_nonneg : 0 <= found.
Proof. apply sum_nonneg. intros. destruct (_ && _); lra. Qed.

Lemma found_le : found <= INR n.
Proof.
  unfold found. rewrite sum_first. cbn [Nat.eqb negb andb]. rewrite Rplus_0_l.
  rewrite <- (Rmult_1_r (INR n)), <- sum_const. apply sum_le. intros. destruct (matches (S j)); lra.
Qed.

Lemma match_partition : sum (fun j => exp (match_score j)) (S n)
  = found * exp beta + (INR n - found) + exp (beta / 2).
Proof.
  unfold found. rewrite !sum_first. change (match_score 0) with (beta / 2). cbn [Nat.eqb negb andb].
  rewrite (sum_ext (fun j => exp (match_score (S j)))
             (fun j => (exp beta - 1) * (if matches (S j) then 1 else 0) + 1)).
  - rewrite sum_plus, sum_const, sum_scal. ring.
  - intros j _. unfold match_score. cbn [Nat.eqb]. destruct (matches (S j)); [lra|rewrite exp_0; lra].
Qed.

(* At least one match: all but (n-w)·e^-β + e^-β/2 of the weight is spread evenly over the matches. *)
Theorem match_found v lo hi : 1 <= found ->
  (forall j, (j < S n)%nat -> lo <= v j <= hi) ->
  Rabs (attend match_score v (S n) - mean v)
  <= (hi - lo) * ((INR n - found) * exp (- beta) + exp (- (beta / 2))).
Proof.
  intros F B. pose proof found_le as Fn. set (z := sum (fun j => exp (match_score j)) (S n)).
  pose proof match_partition as Z. fold z in Z.
  pose proof (exp_pos beta) as E. pose proof (exp_pos (beta / 2)) as E2.
  assert (Zpos : exp beta <= z) by nra.
  set (w := fun j => exp (match_score j) / z).
  set (q := fun j => if selected j then / found else 0).
  assert (Q1 : sum q (S n) = 1).
  { unfold q. rewrite (sum_ext _ (fun j => / found * (if selected j then 1 else 0))).
    - rewrite sum_scal. unfold selected. fold found. field. lra.
    - intros j _. destruct (selected j); ring. }
  assert (W1 : sum w (S n) = 1).
  { unfold w, Rdiv. rewrite (sum_ext _ (fun j => / z * exp (match_score j))) by (intros; ring).
    rewrite sum_scal. fold z. field. lra. }
  assert (M : mean v = sum (fun j => q j * v j) (S n)).
  { unfold mean, Rdiv. rewrite Rmult_comm, <- sum_scal. apply sum_ext. intros j _. unfold q.
    destruct (selected j); ring. }
  rewrite M. change (attend match_score v (S n)) with (sum (fun j => w j * v j) (S n)).
  eapply Rle_trans; [apply (mean_difference w q v (S n) lo hi)|].
  { rewrite W1, Q1. reflexivity. } { intros j Hj _. apply B, Hj. }
  apply Rmult_le_compat_l; [pose proof (B 0%nat ltac:(lia)); lra|].
  (* what the others get *)
  assert (Small : exp (- beta) * exp beta = 1) by (rewrite <- exp_plus; replace (- beta + beta) with 0 by lra; apply exp_0).
  assert (Half : exp (- (beta / 2)) * exp beta = exp (beta / 2)) by (rewrite <- exp_plus; f_equal; lra).
  assert (Over : forall j, (j < S n)%nat -> Rmax 0 (w j - q j)
     <= exp (- beta) * (if selected j then 0 else if Nat.eqb j 0 then 0 else 1)
        + (if Nat.eqb j 0 then exp (- (beta / 2)) else 0)).
  { intros j Hj. pose proof (exp_pos (- beta)). pose proof (exp_pos (- (beta / 2))).
    assert (Wz : forall a, 0 <= a -> a * exp beta / z <= a).
    { intros a Ha. apply Rmult_le_reg_r with z; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    unfold w, q, selected, match_score. destruct (Nat.eqb_spec j 0) as [->|J]; cbn [negb andb].
    - rewrite Rminus_0_r, Rmult_0_r, Rplus_0_l. apply Rmax_lub; [lra|]. rewrite <- Half. apply Wz. lra.
    - destruct (matches j).
      + rewrite Rmult_0_r, Rplus_0_l. apply Rmax_lub; [lra|].
        assert (exp beta / z <= / found); [|lra].
        apply Rmult_le_reg_r with (z * found); [nra|].
        replace (exp beta / z * (z * found)) with (found * exp beta) by (field; lra).
        replace (/ found * (z * found)) with z by (field; lra). rewrite Z. lra.
      + rewrite Rminus_0_r, exp_0, Rmult_1_r, Rplus_0_r. apply Rmax_lub; [lra|].
        rewrite <- Small at 1. apply Wz. lra. }
  eapply Rle_trans; [apply sum_le, Over|]. rewrite sum_plus, sum_scal. right. f_equal.
  - rewrite Rmult_comm. f_equal. unfold found. rewrite !sum_first. unfold selected. cbn [Nat.eqb negb andb].
    rewrite (sum_ext (fun j => if matches (S j) then 0 else 1)
               (fun j => 1 + - 1 * (if matches (S j) then 1 else 0)))
      by (intros j _; destruct (matches (S j)); lra).
    rewrite sum_plus, sum_scal, sum_const. lra.
  - rewrite sum_first. cbn [Nat.eqb]. rewrite sum_const. lra.
Qed.

(* No match: all but n·e^-β/2 on <bos>, whose value is 0. *)
Theorem match_none : found = 0 -> leak match_score (S n) 0 <= INR n * exp (- (beta / 2)).
Proof.
  intros F. eapply Rle_trans; [apply leak_le_tail; lia|]. unfold tail.
  apply Rle_trans with (others 0 (fun _ => exp (- (beta / 2))) (S n)).
  - apply others_le. intros j Hj J. apply exp_le. unfold match_score.
    destruct (Nat.eqb_spec j 0); [contradiction|]. cbn [Nat.eqb].
    assert (matches j = false) as ->; [|lra].
    destruct (matches j) eqn:Mj; [exfalso|reflexivity].
    unfold found in F. rewrite (sum_others j _ (S n) Hj) in F.
    destruct (Nat.eqb_spec j 0) in F; [contradiction|]. rewrite Mj in F. cbn [negb andb] in F.
    assert (0 <= others j (fun j => if negb (Nat.eqb j 0) && matches j then 1 else 0) (S n)); [|lra].
    apply others_nonneg. intros. destruct (_ && _); lra.
  - rewrite others_const by lia. rewrite S_INR. lra.
Qed.

(* β = 2 ln(16n) suffices for 1/8 in both cases. *)
Theorem match_law : (1 <= n)%nat -> beta = 2 * ln (16 * INR n) ->
  (INR n - 1) * exp (- beta) + exp (- (beta / 2)) <= 1 / 8 /\ INR n * exp (- (beta / 2)) <= 1 / 8.
Proof.
  intros Hn B. rewrite B. assert (N1 : 1 <= INR n) by (apply (le_INR 1); lia).
  assert (H : exp (- (2 * ln (16 * INR n) / 2)) = / (16 * INR n)).
  { replace (- (2 * ln (16 * INR n) / 2)) with (- ln (16 * INR n)) by field.
    rewrite exp_Ropp, exp_ln by lra. reflexivity. }
  assert (H2 : exp (- (2 * ln (16 * INR n))) = / (16 * INR n) * / (16 * INR n)).
  { rewrite <- H, <- exp_plus. f_equal. field. }
  rewrite H, H2. set (u := / (16 * INR n)).
  assert (U : u * INR n = 1 / 16) by (unfold u; field; lra).
  assert (U0 : 0 < u) by (unfold u; apply Rinv_0_lt_compat; lra).
  split; nra.
Qed.
End Match.
