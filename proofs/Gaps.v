(** Gaps from denominators: a nonzero difference of rationals is at least one over their common
    denominator. *)
From Coq Require Import Reals Lra Lia Arith ZArith.
From Softhat Require Import Sums Attention.
Open Scope R_scope.

Theorem denominators (a b p q : Z) : (0 < p)%Z -> (0 < q)%Z ->
  IZR a / IZR p <> IZR b / IZR q ->
  1 / (IZR p * IZR q) <= Rabs (IZR a / IZR p - IZR b / IZR q).
Proof.
  intros Hp Hq N. apply IZR_lt in Hp as Rp. apply IZR_lt in Hq as Rq.
  assert (PQ : 0 < IZR p * IZR q) by (apply Rmult_lt_0_compat; assumption).
  assert (E : IZR a / IZR p - IZR b / IZR q = IZR (a * q - b * p) / (IZR p * IZR q)).
  { rewrite minus_IZR, !mult_IZR. field. lra. }
  rewrite E. unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ _))
    by (left; apply Rinv_0_lt_compat, PQ).
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, PQ|].
  rewrite <- abs_IZR. apply IZR_le.
  assert ((a * q - b * p)%Z <> 0%Z); [|lia].
  intros Z0. apply N. rewrite Z0 in E. unfold Rdiv at 3 in E. rewrite Rmult_0_l in E. lra.
Qed.

(* Scores with a common denominator D, one maximum: beta = D·ln(2V(n-1)/eps) suffices. *)
Theorem rational_law (a : nat -> Z) (D : Z) beta v n p V eps : (p < n)%nat -> (0 < D)%Z ->
  0 < eps -> 0 < V -> (2 <= n)%nat -> 0 <= beta ->
  IZR D * ln (2 * V * (INR n - 1) / eps) <= beta ->
  (forall j, (j < n)%nat -> - V <= v j <= V) ->
  (forall j, (j < n)%nat -> j <> p -> (a j < a p)%Z) ->
  Rabs (attend (fun j => beta * (IZR (a j) / IZR D)) v n - v p) <= eps.
Proof.
  intros Hp HD He HV Hn Hb L B G. apply IZR_lt in HD.
  assert (0 < / IZR D) by (apply Rinv_0_lt_compat; assumption).
  apply (temperature_suffices beta (fun j => IZR (a j) / IZR D) v n p V (/ IZR D) eps);
    try assumption.
  - unfold Rdiv at 1. rewrite Rinv_inv. lra.
  - intros j Hj N. specialize (G j Hj N). assert (G' : (1 <= a p - a j)%Z) by lia.
    apply IZR_le in G'. rewrite minus_IZR in G'. unfold Rdiv. nra.
Qed.
