(** Width: how many positions match. Matches and sinks score β, the others 0: the sinks together get
    s/(s + w + ε), and a fixed step tells w >= k from w < k at every n. *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Softhat Require Import Sums Attention Masks Gates Match.
Open Scope R_scope.

Section Width.
Variables (beta : R) (n : nat) (m matches sink : nat -> bool).
Hypothesis Apart : forall j, sink j = true -> matches j = false.

Definition width_score (j : nat) : R := if matches j || sink j then beta else 0.
Notation width := (hits n m matches).
Notation sinks := (sinks n m matches sink).
Definition excess : R := others_ n m matches sink * exp (- beta).

(* an equality *)
Theorem width_reads : 1 <= sinks ->
  soft m width_score (fun j => b2R (sink j)) n = sinks / (sinks + width + excess).
Proof.
  intros K. pose proof (exp_pos beta) as E. pose proof (exp_pos (- beta)) as E'.
  pose proof (counted_nonneg n m matches) as W0. fold width in W0.
  pose proof (counted_nonneg n m (fun j => negb (matches j) && negb (sink j))) as O0.
  fold (others_ n m matches sink) in O0.
  assert (X : 0 <= excess) by (apply Rmult_le_pos; lra).
  assert (U : sum (fun j => if m j then exp (width_score j) * b2R (sink j) else 0) n
    = exp beta * sinks).
  { unfold Match.sinks, counted. rewrite <- sum_scal. apply sum_ext. intros j _. unfold width_score.
    destruct (m j); cbn [andb]; [|ring]. destruct (sink j) eqn:Sk; [rewrite (Apart j Sk)|];
      cbn [orb negb andb b2R];
      rewrite ?andb_false_r; ring. }
  assert (Z : sum (fun j => if m j then exp (width_score j) else 0) n
    = exp beta * (sinks + width + excess)).
  { unfold excess. rewrite Rmult_plus_distr_l, Rmult_plus_distr_l.
    replace (exp beta * (others_ n m matches sink * exp (- beta))) with (others_ n m matches sink).
    2: { replace (exp beta * (others_ n m matches sink * exp (- beta)))
           with (others_ n m matches sink * (exp beta * exp (- beta))) by ring.
         rewrite <- exp_plus, Rplus_opp_r, exp_0. ring. }
    unfold Match.sinks, hits, others_, counted. rewrite <- !sum_scal, <- !sum_plus. apply sum_ext.
    intros j _.
    unfold width_score. destruct (m j); cbn [andb]; [|ring].
    destruct (sink j) eqn:Sk; [rewrite (Apart j Sk)|destruct (matches j)]; cbn [orb negb andb];
      rewrite ?exp_0; ring. }
  unfold soft. rewrite U, Z. field. split; [nra|lra].
Qed.

(* β >= ln(64N): ε <= 1/64 *)
Theorem width_law N : 1 <= N -> ln (64 * N) <= beta -> others_ n m matches sink <= N ->
  0 <= excess <= 1 / 64.
Proof.
  intros HN Hb O.
  pose proof (counted_nonneg n m (fun j => negb (matches j) && negb (sink j))) as O0.
  fold (others_ n m matches sink) in O0. unfold excess. pose proof (exp_pos (- beta)) as E.
  assert (U : exp (- beta) <= / (64 * N)).
  { rewrite <- (exp_ln (64 * N)) by lra. rewrite <- exp_Ropp. apply exp_le. lra. }
  assert (UN : exp (- beta) * N <= 1 / 64).
  { apply Rmult_le_compat_r with (r := N) in U; [|lra].
    replace (/ (64 * N) * N) with (1 / 64) in U by (field; lra). exact U. }
  split; nra.
Qed.
End Width.

(* One step of the staircase, between s/(s + k) and s/(s + k - 1 + 1/64). *)
Theorem width_decode s w e k : 1 <= s -> (1 <= k)%nat -> 0 <= e <= 1 / 64 ->
  s / (s + INR k) < s / (s + INR k - 1 + 1 / 64) /\
  if Nat.leb k w then s / (s + INR w + e) <= s / (s + INR k)
  else s / (s + INR k - 1 + 1 / 64) <= s / (s + INR w + e).
Proof.
  intros Hs Hk E. assert (K : 1 <= INR k) by (apply (le_INR 1); lia). pose proof (pos_INR w) as W.
  unfold Rdiv. split.
  - apply Rmult_lt_compat_l; [lra|]. apply Rinv_lt_contravar; [|lra]. apply Rmult_lt_0_compat; lra.
  - destruct (Nat.leb_spec k w) as [L|L]; (apply Rmult_le_compat_l; [lra|]).
    + apply le_INR in L. apply Rinv_le_contravar; lra.
    + assert (INR w + 1 <= INR k) by (rewrite <- S_INR; apply le_INR; lia).
      apply Rinv_le_contravar; lra.
Qed.
