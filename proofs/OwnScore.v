(** A head that returns the score that it looks for: each value is λ times its own score, plus what
    is the same for all keys. Softmax is near the greatest score whatever the gaps are. *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Softhat Require Import Sums Attention Masks Errors Euler.
Open Scope R_scope.

(* x·e^-x is at most e^-1, and so is (x - c)·e^-x at most e^-(1 + c) *)
Lemma bump c x : (x - c) * exp (- x) <= exp (- (1 + c)).
Proof.
  replace (exp (- x)) with (exp (- (1 + c)) * / exp (x - c - 1))
    by (rewrite <- exp_Ropp, <- exp_plus; f_equal; lra).
  pose proof (exp_pos (- (1 + c))) as Scale. pose proof (exp_pos (x - c - 1)) as Away.
  pose proof (exp_ineq1_le (x - c - 1)) as Tangent.
  apply Rmult_le_reg_r with (exp (x - c - 1)); [exact Away|].
  replace ((x - c) * (exp (- (1 + c)) * / exp (x - c - 1)) * exp (x - c - 1))
    with (exp (- (1 + c)) * (x - c)) by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

(* from 1 on it falls *)
Lemma bump_falls g x : 1 <= g -> g <= x -> x * exp (- x) <= g * exp (- g).
Proof.
  intros Late Order. pose proof (exp_ineq1_le (x - g)) as Tangent.
  replace (exp (- g)) with (exp (- x) * exp (x - g)) by (rewrite <- exp_plus; f_equal; lra).
  pose proof (exp_pos (- x)) as Scale.
  replace (g * (exp (- x) * exp (x - g))) with (exp (- x) * (g * exp (x - g))) by ring.
  rewrite Rmult_comm. apply Rmult_le_compat_l; nra.
Qed.

Section Row.
Variables (m : nat -> bool) (s : nat -> R) (n p : nat) (beta : R).
Hypothesis Hp : (p < n)%nat.
Hypothesis Mp : m p = true.
Hypothesis Max : forall j, (j < n)%nat -> m j = true -> s j <= s p.
Hypothesis Hbeta : 0 < beta.

Lemma weights_positive : 0 < sum (fun j => if m j then exp (beta * s j) else 0) n.
Proof.
  rewrite (sum_others p _ n Hp), Mp. pose proof (exp_pos (beta * s p)) as Winner.
  assert (Rest : 0 <= others p (fun j => if m j then exp (beta * s j) else 0) n); [|lra].
  apply others_nonneg. intros j _ _. destruct (m j); [left; apply exp_pos|lra].
Qed.

(* A mean of softmax is at most c/β below the greatest score, if what each of the other keys adds
   to Σ e^-x·(x - c) is at most a share of c: x is β times how far a key is below. *)
Lemma mean_near c : 0 <= c ->
  (forall j, (j < n)%nat -> j <> p -> m j = true ->
    (INR n - 1) * ((beta * (s p - s j) - c) * exp (- (beta * (s p - s j)))) <= c) ->
  s p - c / beta <= soft m (fun j => beta * s j) s n <= s p.
Proof.
  intros Hc Share. pose proof weights_positive as Z. unfold soft.
  set (z := sum (fun j => if m j then exp (beta * s j) else 0) n) in *.
  assert (Shift : forall t,
    sum (fun j => if m j then exp (beta * s j) * s j else 0) n / z - t
    = sum (fun j => if m j then exp (beta * s j) * (s j - t) else 0) n / z).
  { intros t. rewrite (sum_ext (fun j => if m j then exp (beta * s j) * (s j - t) else 0)
      (fun j => (if m j then exp (beta * s j) * s j else 0)
                + - t * (if m j then exp (beta * s j) else 0)))
      by (intros j _; destruct (m j); ring).
    rewrite sum_plus, sum_scal. fold z. field. lra. }
  split.
  - apply Rminus_le. replace (s p - c / beta
      - sum (fun j => if m j then exp (beta * s j) * s j else 0) n / z)
      with (- (sum (fun j => if m j then exp (beta * s j) * s j else 0) n / z
               - (s p - c / beta))) by ring.
    rewrite Shift. apply Ropp_le_cancel. rewrite Ropp_0, Ropp_involutive.
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; exact Z].
    rewrite (sum_others p _ n Hp), Mp.
    replace (s p - (s p - c / beta)) with (c / beta) by ring.
    destruct (Nat.eq_dec n 1) as [One|Many].
    { assert (None : others p (fun j => if m j
        then exp (beta * s j) * (s j - (s p - c / beta)) else 0) n = 0).
      { unfold others. rewrite One. simpl. replace p with 0%nat by lia. simpl. lra. }
      rewrite None, Rplus_0_r. apply Rmult_le_pos; [left; apply exp_pos|].
      apply Rmult_le_pos; [exact Hc|]. left. apply Rinv_0_lt_compat, Hbeta. }
    assert (Two : 2 <= INR n).
    { replace 2 with (INR 2) by (simpl; lra). apply le_INR. lia. }
    assert (Others : (INR n - 1) * (- (exp (beta * s p) * (c / beta) / (INR n - 1)))
      <= others p (fun j => if m j then exp (beta * s j) * (s j - (s p - c / beta)) else 0) n).
    { rewrite <- (others_const p _ n Hp). apply others_le. intros j Hj Hjp.
      pose proof (exp_pos (beta * s p)) as Winner.
      destruct (m j) eqn:Mj.
      - specialize (Share j Hj Hjp Mj).
        replace (exp (beta * s j))
          with (exp (beta * s p) * exp (- (beta * (s p - s j))))
          by (rewrite <- exp_plus; f_equal; ring).
        set (E := exp (- (beta * (s p - s j)))) in *.
        replace (exp (beta * s p) * E * (s j - (s p - c / beta)))
          with (- (exp (beta * s p) * / beta * ((beta * (s p - s j) - c) * E)))
          by (field; lra).
        apply Ropp_le_contravar. unfold Rdiv.
        replace (exp (beta * s p) * (c * / beta) * / (INR n - 1))
          with (exp (beta * s p) * / beta * (c * / (INR n - 1))) by ring.
        apply Rmult_le_compat_l.
        + apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat, Hbeta.
        + apply Rmult_le_reg_l with (INR n - 1); [lra|].
          replace ((INR n - 1) * (c * / (INR n - 1))) with c by (field; lra). exact Share.
      - apply Ropp_le_cancel. rewrite Ropp_0, Ropp_involutive. unfold Rdiv.
        repeat apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; lra. }
    replace ((INR n - 1) * (- (exp (beta * s p) * (c / beta) / (INR n - 1))))
      with (- (exp (beta * s p) * (c / beta))) in Others by (field; lra).
    lra.
  - apply Rminus_le. rewrite Shift. apply Ropp_le_cancel. rewrite Ropp_0.
    replace (- (sum (fun j => if m j then exp (beta * s j) * (s j - s p) else 0) n / z))
      with (sum (fun j => - 1 * (if m j then exp (beta * s j) * (s j - s p) else 0)) n / z)
      by (rewrite sum_scal; field; lra).
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; exact Z].
    apply sum_nonneg. intros j Hj. destruct (m j) eqn:Mj; [|lra].
    pose proof (Max j Hj Mj). pose proof (exp_pos (beta * s j)). nra.
Qed.

(* whatever the gaps are *)
Theorem greatest_near M : 0 <= M -> INR n - 1 <= M * exp (1 + M) ->
  s p - M / beta <= soft m (fun j => beta * s j) s n <= s p.
Proof.
  intros HM Enough. apply mean_near; [exact HM|]. intros j Hj _ _.
  assert (Keys : 1 <= INR n).
  { replace 1 with (INR 1) by (simpl; lra). apply le_INR. lia. }
  apply Rle_trans with ((INR n - 1) * exp (- (1 + M))).
  - apply Rmult_le_compat_l; [lra|]. apply bump.
  - pose proof (exp_pos (1 + M)) as Scale. rewrite exp_Ropp.
    apply Rmult_le_reg_r with (exp (1 + M)); [exact Scale|].
    rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(* and nearer where the others are a gap below: of the keys that share the maximum, each adds
   nothing that is positive *)
Theorem greatest_nearer gamma : 1 <= beta * gamma ->
  (forall j, (j < n)%nat -> m j = true -> s j < s p -> gamma <= s p - s j) ->
  s p - gamma * ((INR n - 1) * exp (- (beta * gamma)))
  <= soft m (fun j => beta * s j) s n <= s p.
Proof.
  intros Late Gap. set (g := beta * gamma) in *.
  assert (Keys : 1 <= INR n).
  { replace 1 with (INR 1) by (simpl; lra). apply le_INR. lia. }
  replace (gamma * ((INR n - 1) * exp (- g)))
    with ((INR n - 1) * (g * exp (- g)) / beta) by (unfold g; field; lra).
  pose proof (exp_pos (- g)) as Scale.
  assert (Positive : 0 <= (INR n - 1) * (g * exp (- g))).
  { apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; lra. }
  apply mean_near; [exact Positive|]. intros j Hj _ Mj.
  apply Rmult_le_compat_l; [lra|]. set (c := (INR n - 1) * (g * exp (- g))) in *.
  pose proof (exp_pos (- (beta * (s p - s j)))) as Weight.
  destruct (Req_dec (s j) (s p)) as [Tied|Below].
  - rewrite Tied. replace (beta * (s p - s p)) with 0 by ring. rewrite Ropp_0, exp_0. nra.
  - assert (Far : g <= beta * (s p - s j)).
    { unfold g. apply Rmult_le_compat_l; [lra|]. apply Gap; try assumption.
      pose proof (Max j Hj Mj). lra. }
    apply Rle_trans with (beta * (s p - s j) * exp (- (beta * (s p - s j)))); [nra|].
    apply bump_falls; assumption.
Qed.

End Row.

(* M = ln((T + 19)/8) is enough for T keys *)
Theorem enough T : 1 <= T ->
  0 <= ln ((T + 19) / 8) /\ T - 1 <= ln ((T + 19) / 8) * exp (1 + ln ((T + 19) / 8)).
Proof.
  intros HT. set (y := (T + 19) / 8). assert (Large : 5 / 2 <= y) by (unfold y; lra).
  pose proof e_large as Low. pose proof e_small as High. set (e := exp 1) in *.
  (* the tangent of the logarithm at e² *)
  assert (Tangent : 3 - e * e / y <= ln y).
  { pose proof (exp_ineq1_le (2 - ln y)) as I.
    replace (exp (2 - ln y)) with (e * e / y) in I; [lra|].
    unfold Rminus. rewrite exp_plus, exp_Ropp, exp_ln by lra.
    replace 2 with (1 + 1) by ring. rewrite exp_plus. reflexivity. }
  assert (Product : 3 * y - e * e <= ln y * y).
  { replace (3 * y - e * e) with ((3 - e * e / y) * y) by (field; lra).
    apply Rmult_le_compat_r; lra. }
  assert (Nonnegative : 0 <= ln y).
  { rewrite <- ln_1. left. apply ln_increasing; lra. }
  split; [exact Nonnegative|]. rewrite exp_plus, exp_ln by lra. fold e.
  replace T with (8 * y - 19) by (unfold y; field).
  assert (Cube : e * (e * e) <= 109 / 40 * (109 / 40 * (109 / 40))).
  { apply Rmult_le_compat; nra. }
  replace (ln y * (e * y)) with (e * (ln y * y)) by ring.
  apply Rle_trans with (e * (3 * y - e * e)); [nra|].
  apply Rmult_le_compat_l; lra.
Qed.

Section Head.
Variables (m : nat -> bool) (s S v V : nat -> R) (n p : nat) (beta lambda b e r : R).
Hypothesis Hp : (p < n)%nat.
Hypothesis Mp : m p = true.
Hypothesis Max : forall j, (j < n)%nat -> m j = true -> s j <= s p.
Hypothesis Hbeta : 0 < beta.
Hypothesis Own : forall j, (j < n)%nat -> m j = true -> v j = lambda * s j + b.
(* what softmax sees: scores that err, and values that err with them, and by r besides *)
Hypothesis Err : forall j, (j < n)%nat -> m j = true -> Rabs (S j - s j) <= e.
Hypothesis Beside : forall j, (j < n)%nat -> m j = true -> Rabs (V j - (lambda * S j + b)) <= r.

Lemma soft_affine q k c : (q < n)%nat -> m q = true ->
  soft m (fun j => beta * S j) (fun j => k * S j + c) n
  = k * soft m (fun j => beta * S j) S n + c.
Proof.
  intros Hq Mq. pose proof (weights_positive m S n q beta Hq Mq) as Z. unfold soft.
  rewrite (sum_ext (fun j => if m j then exp (beta * S j) * (k * S j + c) else 0)
    (fun j => k * (if m j then exp (beta * S j) * S j else 0)
              + c * (if m j then exp (beta * S j) else 0)))
    by (intros j _; destruct (m j); ring).
  rewrite sum_plus, !sum_scal. field. lra.
Qed.

Lemma hard_own : hard m s v n = lambda * s p + b.
Proof.
  assert (Top : forall j, (j < n)%nat -> top m s n j = true -> m j = true /\ s j = s p).
  { intros j Hj T. apply top_spec in T as [Mj Above]. split; [exact Mj|].
    pose proof (Max j Hj Mj). pose proof (Above p Hp Mp). lra. }
  assert (Some : 1 <= sum (fun j => if top m s n j then 1 else 0) n).
  { rewrite (sum_others p _ n Hp). replace (top m s n p) with true
      by (symmetry; apply top_spec; auto).
    assert (Rest : 0 <= others p (fun j => if top m s n j then 1 else 0) n); [|lra].
    apply others_nonneg. intros j _ _. destruct (top m s n j); lra. }
  unfold hard. rewrite (sum_ext (fun j => if top m s n j then v j else 0)
    (fun j => (lambda * s p + b) * (if top m s n j then 1 else 0))).
  - rewrite sum_scal. field. lra.
  - intros j Hj. destruct (top m s n j) eqn:T; [|lra]. destruct (Top j Hj T) as [Mj Tied].
    rewrite (Own j Hj Mj), Tied. ring.
Qed.

(* What errs passes through as if one key were read. *)
Theorem own_score_near M : 0 <= M -> INR n - 1 <= M * exp (1 + M) ->
  Rabs (soft m (fun j => beta * S j) V n - hard m s v n)
  <= Rabs lambda * (M / beta + e) + r.
Proof.
  intros HM Enough. rewrite hard_own.
  assert (Hr : 0 <= r) by (eapply Rle_trans; [apply Rabs_pos|apply (Beside p Hp Mp)]).
  destruct (winner m S n) as [(q & Hq & Mq & Best)|None].
  2: { rewrite None in Mp by exact Hp. discriminate Mp. }
  pose proof (greatest_near m S n q beta Hq Mq Best Hbeta M HM Enough) as Mean.
  pose proof (soft_values m (fun j => beta * S j) V (fun j => lambda * S j + b) n r Hr Beside)
    as Values.
  rewrite (soft_affine q lambda b Hq Mq) in Values.
  set (mean := soft m (fun j => beta * S j) S n) in *.
  assert (Moved : Rabs (S q - s p) <= e).
  { pose proof (Err p Hp Mp) as Ep. pose proof (Err q Hq Mq) as Eq.
    pose proof (Max q Hq Mq). pose proof (Best p Hp Mp).
    apply Rabs_le. unfold Rabs in Ep, Eq. destruct Rcase_abs in Ep; destruct Rcase_abs in Eq; lra. }
  assert (Far : Rabs (mean - s p) <= M / beta + e).
  { apply Rabs_le. unfold Rabs in Moved. destruct Rcase_abs in Moved; lra. }
  replace (soft m (fun j => beta * S j) V n - (lambda * s p + b))
    with ((soft m (fun j => beta * S j) V n - (lambda * mean + b)) + lambda * (mean - s p)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  pose proof (Rmult_le_compat_l (Rabs lambda) _ _ (Rabs_pos lambda) Far). lra.
Qed.

(* Scores that do not err, and a gap: nearer. *)
Theorem own_score_nearer gamma : (forall j, (j < n)%nat -> m j = true -> S j = s j) ->
  1 <= beta * gamma ->
  (forall j, (j < n)%nat -> m j = true -> s j < s p -> gamma <= s p - s j) ->
  Rabs (soft m (fun j => beta * S j) V n - hard m s v n)
  <= Rabs lambda * (gamma * ((INR n - 1) * exp (- (beta * gamma)))) + r.
Proof.
  intros Exact Late Gap. rewrite hard_own.
  assert (Hr : 0 <= r) by (eapply Rle_trans; [apply Rabs_pos|apply (Beside p Hp Mp)]).
  pose proof (greatest_nearer m s n p beta Hp Mp Max Hbeta gamma Late Gap) as Mean.
  pose proof (soft_values m (fun j => beta * S j) V (fun j => lambda * S j + b) n r Hr Beside)
    as Values.
  rewrite (soft_affine p lambda b Hp Mp) in Values.
  rewrite <- (soft_ext m (fun j => beta * S j) (fun j => beta * s j) S s n) in Mean
    by (intros j Hj Mj; rewrite (Exact j Hj Mj); reflexivity).
  set (mean := soft m (fun j => beta * S j) S n) in *.
  assert (Far : Rabs (mean - s p) <= gamma * ((INR n - 1) * exp (- (beta * gamma))))
    by (apply Rabs_le; lra).
  replace (soft m (fun j => beta * S j) V n - (lambda * s p + b))
    with ((soft m (fun j => beta * S j) V n - (lambda * mean + b)) + lambda * (mean - s p)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  pose proof (Rmult_le_compat_l (Rabs lambda) _ _ (Rabs_pos lambda) Far). lra.
Qed.

End Head.
