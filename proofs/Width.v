(** Width: how many positions match. The scores of Match with `<bos>` at β too, whose own weight is
    then 1/(1 + w + ε): a fixed staircase decodes it at every n. *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Softhat Require Import Sums Attention Gates.
Open Scope R_scope.

Section Width.
Variables (beta : R) (matches : nat -> bool) (n : nat).     (* position 0 is <bos> *)

Definition width_score (j : nat) : R := if Nat.eqb j 0 || matches j then beta else 0.
Definition is_bos (j : nat) : R := if Nat.eqb j 0 then 1 else 0.
Definition width : R := sum (fun j => if matches (S j) then 1 else 0) n.
Definition excess : R := (INR n - width) * exp (- beta).

Lemma width_range : 0 <= width <= INR n.
Proof.
  split; [apply sum_nonneg; intros; destruct (matches (S j)); lra|].
  unfold width. rewrite <- (Rmult_1_r (INR n)), <- sum_const. apply sum_le.
  intros. destruct (matches (S j)); lra.
Qed.

Lemma excess_range : 0 <= excess <= INR n * exp (- beta).
Proof.
  pose proof width_range. pose proof (exp_pos (- beta)). unfold excess. split; nra.
Qed.

(* an equality *)
Theorem width_reads : attend width_score is_bos (S n) = / (1 + width + excess).
Proof.
  unfold attend. rewrite sum_first. rewrite (sum_ext _ (fun _ => 0)) by (intros; unfold is_bos; simpl; lra).
  rewrite sum_const, Rmult_0_r, Rplus_0_r. unfold weight, is_bos, width_score at 1. cbn [Nat.eqb orb].
  rewrite sum_first. unfold width_score at 1. cbn [Nat.eqb orb].
  rewrite (sum_ext _ (fun j => (exp beta - 1) * (if matches (S j) then 1 else 0) + 1)).
  - rewrite sum_plus, sum_scal, sum_const. fold width.
    pose proof (exp_pos beta) as E. pose proof width_range. pose proof excess_range.
    assert (X : excess * exp beta = INR n - width).
    { unfold excess. rewrite Rmult_assoc, <- exp_plus. replace (- beta + beta) with 0 by lra. rewrite exp_0. lra. }
    replace (exp beta + ((exp beta - 1) * width + INR n * 1)) with (exp beta * (1 + width + excess)) by nra.
    field. split; lra.
  - intros j _. unfold width_score. cbn [Nat.eqb orb]. destruct (matches (S j)); [lra|rewrite exp_0; lra].
Qed.

(* β = ln(8n): ε <= 1/8 *)
Theorem width_law : (1 <= n)%nat -> beta = ln (8 * INR n) -> 0 <= excess <= 1 / 8.
Proof.
  intros Hn B. pose proof excess_range as [E0 E1]. split; [exact E0|]. eapply Rle_trans; [exact E1|].
  assert (1 <= INR n) by (apply (le_INR 1); lia).
  rewrite B, exp_Ropp, exp_ln by lra. right. field. lra.
Qed.
End Width.

(* One step of the staircase: a ramp from 1/(k + 3/4) to 1/(k + 3/8) tells "fewer than k" exactly. *)
Definition step (k : R) (o : R) : R :=
  (relu (o - / (k + 3 / 4)) - relu (o - / (k + 3 / 8))) / (/ (k + 3 / 8) - / (k + 3 / 4)).

Theorem width_decode w e k : (1 <= k)%nat -> 0 <= e <= 1 / 8 ->
  step (INR k) (/ (1 + INR w + e)) = if Nat.ltb w k then 1 else 0.
Proof.
  intros Hk E. assert (K : 1 <= INR k) by (apply (le_INR 1); lia). pose proof (pos_INR w) as W.
  assert (Order : / (INR k + 3 / 4) < / (INR k + 3 / 8)).
  { apply Rinv_lt_contravar; [nra|lra]. }
  unfold step. destruct (Nat.ltb_spec w k) as [L|L].
  - assert (INR w + 1 <= INR k) by (rewrite <- S_INR; apply le_INR; lia).
    assert (/ (INR k + 3 / 8) <= / (1 + INR w + e)) by (apply Rinv_le_contravar; lra).
    rewrite !relu_pos by lra. field. lra.
  - apply le_INR in L.
    assert (/ (1 + INR w + e) <= / (INR k + 3 / 4)) by (apply Rinv_le_contravar; lra).
    rewrite !relu_neg by lra. unfold Rdiv. rewrite Rminus_diag_eq by reflexivity. apply Rmult_0_l.
Qed.
