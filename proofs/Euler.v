(** Bounds of e, by (1 + 1/k)^k <= e <= 1/(1 - 1/k)^k. *)
From Coq Require Import Reals Lra ZArith.
From Softhat Require Import Sums.
Open Scope R_scope.

Lemma exp_of_pow x k : exp (x * INR k) = exp x ^ k.
Proof.
  induction k as [|k IH]; [simpl; rewrite Rmult_0_r; apply exp_0|].
  rewrite S_INR, Rmult_plus_distr_l, Rmult_1_r, exp_plus, IH. simpl. ring.
Qed.

(* e >= 27/10: (1 + 1/128)^128 > 2.7 *)
Lemma e_large : 27 / 10 <= exp 1.
Proof.
  replace 1 with (/ 128 * INR 128) by (rewrite INR_IZR_INZ; simpl; lra).
  rewrite exp_of_pow. apply Rle_trans with ((1 + / 128) ^ 128).
  - replace (1 + / 128) with (129 * / 128) by lra. rewrite Rpow_mult_distr, pow_inv.
    apply Rmult_le_reg_r with (128 ^ 128); [apply pow_lt; lra|].
    rewrite Rmult_assoc, Rinv_l by (apply pow_nonzero; lra). rewrite Rmult_1_r.
    replace 128 with (IZR 128) by reflexivity. replace 129 with (IZR 129) by reflexivity.
    rewrite !pow_IZR. apply Rmult_le_reg_l with 10; [lra|].
    replace (10 * (27 / 10 * IZR (128 ^ Z.of_nat 128))) with (27 * IZR (128 ^ Z.of_nat 128))
      by field.
    rewrite <- !mult_IZR. apply IZR_le. vm_compute. discriminate.
  - apply pow_incr. split; [lra|]. apply exp_ineq1_le.
Qed.

(* e <= 109/40 = 2.725: (1 - 1/256)^256 >= 40/109 *)
Lemma e_small : exp 1 <= 109 / 40.
Proof.
  assert (Inverse : 40 / 109 <= / exp 1).
  { rewrite <- exp_Ropp.
    replace (Ropp 1) with (- / 256 * INR 256) by (rewrite INR_IZR_INZ; simpl; lra).
    rewrite exp_of_pow. apply Rle_trans with ((1 + - / 256) ^ 256).
    - replace (1 + - / 256) with (255 * / 256) by lra. rewrite Rpow_mult_distr, pow_inv.
      apply Rmult_le_reg_r with (256 ^ 256); [apply pow_lt; lra|].
      rewrite Rmult_assoc, Rinv_l by (apply pow_nonzero; lra). rewrite Rmult_1_r.
      replace 256 with (IZR 256) by reflexivity. replace 255 with (IZR 255) by reflexivity.
      rewrite !pow_IZR. apply Rmult_le_reg_l with 109; [lra|].
      replace (109 * (40 / 109 * IZR (256 ^ Z.of_nat 256))) with (40 * IZR (256 ^ Z.of_nat 256))
        by field.
      rewrite <- !mult_IZR. apply IZR_le. vm_compute. discriminate.
    - apply pow_incr. split; [lra|]. apply exp_ineq1_le. }
  pose proof (exp_pos 1) as Positive.
  apply Rmult_le_compat_r with (r := exp 1) in Inverse; [|lra].
  rewrite Rinv_l in Inverse by lra. lra.
Qed.
