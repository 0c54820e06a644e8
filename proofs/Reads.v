(** What each head of a program returns, given its scores: within e^-C of the bit it stands for. The
    row is read toward its sink: position t is the t-th from it, the query is T. *)
From Coq Require Import Reals Lra Lia Arith List Bool ZArith.
From Softhat Require Import Sums Attention Masks Latest Previous Shift Average Sign Formula Program.
Open Scope R_scope.

(* e^-C <= 1/52 for C >= 4: (1 + 1/64)^256 > 52 *)
Lemma sharper C : 4 <= C -> 0 < exp (- C) <= 1 / 52.
Proof.
  intros HC. split; [apply exp_pos|]. rewrite exp_Ropp. replace (1 / 52) with (/ 52) by lra.
  apply Rinv_le_contravar; [lra|].
  apply Rle_trans with (exp 4); [|apply exp_le, HC].
  assert (E : exp 4 = exp (/ 64) ^ 256).
  { replace 4 with (- (- / 64 * IZR 256)) by lra. rewrite <- (INR_IZR_INZ 256 : INR 256 = IZR 256),
      exp_pow.
    f_equal. f_equal. lra. }
  rewrite E. apply Rle_trans with ((1 + / 64) ^ 256).
  - replace (1 + / 64) with (65 * / 64) by lra. rewrite Rpow_mult_distr, pow_inv.
    apply Rmult_le_reg_r with (64 ^ 256); [apply pow_lt; lra|].
    rewrite Rmult_assoc, Rinv_l by (apply pow_nonzero; lra). rewrite Rmult_1_r.
    replace 64 with (IZR 64) by reflexivity. replace 65 with (IZR 65) by reflexivity.
    rewrite !pow_IZR, <- mult_IZR. apply IZR_le. vm_compute. discriminate.
  - apply pow_incr. split; [lra|]. apply exp_ineq1_le.
Qed.

Lemma sharp C : 4 <= C -> 0 < exp (- C) <= 1 / 48.
Proof. intros HC. pose proof (sharper C HC). lra. Qed.

(* false at the sink *)
Definition real_ (f : nat -> bool) (t : nat) : bool := Nat.leb 1 t && f t.

Lemma last_ok bad value T : exists p, (p <= T)%nat /\ real_ bad p = false /\
  (forall t, (p < t <= T)%nat -> bad t = true) /\ latestb bad value T = real_ value p.
Proof.
  induction T as [|T (p & Hp & Gp & Bp & Lp)].
  - exists 0%nat. repeat split; [lia|intros; lia].
  - cbn [latestb]. destruct (bad (S T)) eqn:E.
    + exists p. repeat split; [lia|exact Gp| |exact Lp]. intros t Ht.
      destruct (Nat.eq_dec t (S T)) as [->|]; [exact E|apply Bp; lia].
    + exists (S T). repeat split; [lia|unfold real_; rewrite E; reflexivity|intros; lia].
Qed.

Theorem latest_attends C K a s v bad value T : 0 < C -> 2 * C * INR T <= K ->
  (forall t, (t <= T)%nat -> s t = a + C * INR t - K * b2R (real_ bad t)) ->
  (forall t, (t <= T)%nat -> v t = b2R (real_ value t)) ->
  Rabs (attend s v (S T) - b2R (latestb bad value T)) <= exp (- C).
Proof.
  intros HC HK Es Ev. destruct (last_ok bad value T) as (p & Hp & Gp & Bp & ->).
  eapply Rle_trans; [apply attend_bits with (f := real_ value); [lia|intros; apply Ev; lia]|].
  pose proof (pos_INR T) as PT. assert (K0 : 0 <= K) by nra.
  apply latest_leak; [exact HC|lia| |]; intros j Hj; rewrite !Es, Gp by lia; cbn [b2R].
  - pose proof (b2R_range (real_ bad j)). nra.
  - assert (real_ bad j = true) as ->.
    { unfold real_. rewrite Bp by lia. destruct (Nat.leb_spec 1 j); [reflexivity|lia]. }
    cbn [b2R]. assert (1 <= INR T) by (apply (le_INR 1); lia). nra.
Qed.

Theorem previous_attends C s v value T : 4 <= C -> (1 <= T)%nat ->
  (forall t, (t <= T)%nat -> s t = previous_score C T t) ->
  (forall t, (t <= T)%nat -> v t = b2R (real_ value t)) ->
  Rabs (attend s v (S T) - b2R (Nat.ltb 1 T && value (T - 1)%nat)) <= exp (- C).
Proof.
  intros HC HT Es Ev. destruct T as [|p]; [lia|]. replace (S p - 1)%nat with p by lia.
  replace (Nat.ltb 1 (S p) && value p) with (real_ value p) by reflexivity.
  eapply Rle_trans; [apply attend_bits with (f := real_ value); [lia|intros; apply Ev; lia]|].
  replace (leak s (S (S p)) p) with (leak (previous_score C (S p)) (S (S p)) p).
  2: { unfold leak. apply others_ext. intros j Hj _. apply weight_ext; [|assumption].
       intros k Hk. symmetry. apply Es. lia. }
  eapply Rle_trans; [apply previous_leak; lra|].
  pose proof (sharp C HC) as X. set (z := exp (- C)) in *.
  replace (exp (- (2 * C))) with (z * z) by (unfold z; rewrite <- exp_plus; f_equal; lra).
  replace (exp (- (3 * C))) with (z * z * z) by (unfold z; rewrite <- !exp_plus; f_equal; lra).
  assert (z * z <= 1 / 48 * z) by nra.
  apply Rmult_le_reg_r with (1 - z * z); [nra|].
  unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by nra. nra.
Qed.

Theorem shift_attends C A m c s v value T : 4 <= C -> (1 <= c < m)%nat -> (1 <= T)%nat ->
  2 * C <= A - C * INR (T - (T - c)) ->
  (forall t, (t <= T)%nat -> s t = shift_score C A m c T t) ->
  (forall t, (t <= T)%nat -> v t = b2R (real_ value t)) ->
  Rabs (attend s v (S T) - b2R (Nat.ltb c T && value (T - c)%nat)) <= exp (- C)
    + 3 * (exp (- C) * exp (- C)).
Proof.
  intros HC Hc HT HA Es Ev. set (p := (T - c)%nat) in *.
  replace (Nat.ltb c T && value p) with (real_ value p).
  2: { unfold real_. f_equal. destruct (Nat.leb_spec 1 p), (Nat.ltb_spec c T);
    (reflexivity || (unfold p in *; lia)). }
  eapply Rle_trans; [apply attend_bits with (f := real_ value);
    [unfold p; lia|intros; apply Ev; lia]|].
  replace (leak s (S T) p) with (leak (shift_score C A m c T) (S T) p).
  2: { unfold leak. apply others_ext. intros j Hj _. apply weight_ext; [|assumption].
       intros k Hk. symmetry. apply Es. lia. }
  eapply Rle_trans; [apply (shift_leak C A (2 * C)); (lra || lia || exact HA)|].
  rewrite exp_pow. pose proof (sharper C HC) as X. set (z := exp (- C)) in *.
  replace (exp (- (2 * C))) with (z * z) by (unfold z; rewrite <- exp_plus; f_equal; lra).
  assert (Z2 : 0 < z * z <= 1 / 52 * (1 / 52)) by (split; nra).
  assert (Zm : 0 < z ^ m <= z * z).
  { split; [apply pow_lt; lra|]. replace m with (2 + (m - 2))%nat by lia. rewrite pow_add.
    pose proof (pow_incr z 1 (m - 2) ltac:(lra)) as Q. rewrite pow1 in Q.
    pose proof (pow_lt z (m - 2) ltac:(lra)). simpl. nra. }
  assert (Q1 : z * z / (1 - z) <= 2 * (z * z) * (3 / 4)).
  { apply Rmult_le_reg_r with (1 - z); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra.
    nra. }
  assert (Q2 : z ^ m / (1 - z ^ m) <= 2 * (z * z) * (3 / 4)).
  { apply Rmult_le_reg_r with (1 - z ^ m); [lra|]. unfold Rdiv at 1.
    rewrite Rmult_assoc, Rinv_l by lra. nra. }
  lra.
Qed.

(* The scores of the ordinary positions lie on a line of slope a >= 4C, which is at most -2C or at
   least 2C at the query; the sink scores 0. *)
Theorem sign_attends C a s v (b : bool) T : 4 <= C -> (1 <= T)%nat -> 4 * C <= a ->
  s 0%nat = 0 -> (forall t, (1 <= t <= T)%nat -> s t = s T + a * (INR t - INR T)) ->
  (if b then 2 * C <= s T else s T <= - (2 * C)) ->
  v 0%nat = 0 -> (forall t, (1 <= t <= T)%nat -> v t = 1) ->
  Rabs (attend s v (S T) - b2R b) <= exp (- C).
Proof.
  intros HC HT Ha S0 Line Far V0 V1. pose proof (sharp C HC) as X. set (z := exp (- C)) in *.
  assert (Z2 : exp (- (2 * C)) = z * z) by (unfold z; rewrite <- exp_plus; f_equal; lra).
  assert (Z4 : exp (- (4 * C)) = z * z * (z * z)) by (unfold z; rewrite <- !exp_plus; f_equal; lra).
  assert (z * z <= 1 / 48 * z) by nra.
  destruct b; cbn [b2R].
  - eapply Rle_trans; [apply (sign_positive s v T (2 * C)); assumption|]. rewrite Z2. lra.
  - eapply Rle_trans; [apply (sign_negative s v T (2 * C) (4 * C)); try assumption; [lra|]|].
    + intros j Hj. rewrite (Line j Hj). assert (INR j <= INR T) by (apply le_INR; lia). nra.
    + rewrite Z2, Z4. assert (0 < z * z) by nra. assert (z * z * (z * z) <= 1 / 48) by nra.
      apply Rmult_le_reg_r with (1 - z * z * (z * z)); [lra|].
      unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

(* Softmax lies between its values, also where there is nothing to attend to. *)
Lemma soft_range m s v n : (forall j, (j < n)%nat -> m j = true -> 0 <= v j <= 1) ->
  0 <= soft m s v n <= 1.
Proof.
  intros H. unfold soft. set (z := sum (fun j => if m j then exp (s j) else 0) n).
  assert (Z : 0 <= z) by (apply sum_nonneg; intros; destruct (m j); [left; apply exp_pos|lra]).
  assert (U : 0 <= sum (fun j => if m j then exp (s j) * v j else 0) n <= z).
  { split; [apply sum_nonneg|apply sum_le]; intros j Hj; destruct (m j) eqn:Mj; try lra;
      pose proof (H j Hj Mj); pose proof (exp_pos (s j)); nra. }
  destruct (Req_dec z 0) as [E|N].
  - rewrite E. unfold Rdiv. rewrite Rinv_0. lra.
  - split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with z; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
