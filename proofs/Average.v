(** Average: equal scores, so the mean of the values. *)
From Coq Require Import Reals Lra Lia Arith.
From Softhat Require Import Sums Attention.
Open Scope R_scope.

Theorem average v n : (0 < n)%nat -> attend (fun _ => 0) v n = sum v n / INR n.
Proof.
  intros H. assert (INR n <> 0) by (apply not_0_INR; lia).
  unfold attend, weight. rewrite (sum_ext _ (fun j => / INR n * v j)).
  - rewrite sum_scal. unfold Rdiv. ring.
  - intros j _. rewrite exp_0, sum_const. field. assumption.
Qed.
