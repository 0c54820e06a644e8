(** Match: the mean over the positions whose category matches mine, or the sinks if there is none.
    A match scores β, a sink β/2, anything else 0. First for rows of three levels, under any mask
    and with any number of sinks: hits at S, sinks at S - h, the others at most at S - c. *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Softhat Require Import Sums Attention Masks Ties.
Open Scope R_scope.

Section Levels.
Variables (n : nat) (m hit sink : nat -> bool) (s : nat -> R) (S c h : R).
Hypothesis Hits : forall j, (j < n)%nat -> m j = true -> hit j = true -> s j = S.
Hypothesis Sinks : forall j, (j < n)%nat -> m j = true -> hit j = false -> sink j = true ->
  s j = S - h.
Hypothesis Others : forall j, (j < n)%nat -> m j = true -> hit j = false -> sink j = false ->
  s j <= S - c.

Definition counted (f : nat -> bool) : R := sum (fun j => if m j && f j then 1 else 0) n.
Definition hits : R := counted hit.
Definition sinks : R := counted (fun j => negb (hit j) && sink j).
Definition others_ : R := counted (fun j => negb (hit j) && negb (sink j)).

(* the mean over the hits *)
Definition mean (v : nat -> R) : R := sum (fun j => if m j && hit j then v j else 0) n / hits.

Let z := sum (fun j => if m j then exp (s j) else 0) n.

Lemma counted_nonneg f : 0 <= counted f.
Proof. apply sum_nonneg. intros j _. destruct (m j && f j); lra. Qed.

Lemma z_hits : hits * exp S <= z.
Proof.
  unfold hits, counted, z. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros j Hj.
  destruct (m j) eqn:M; cbn [andb]; [|lra]. destruct (hit j) eqn:H.
  - rewrite (Hits j Hj M H). lra.
  - pose proof (exp_pos (s j)). lra.
Qed.

(* At least one hit: all but (others·e^-c + sinks·e^-h)/hits is spread evenly over the hits. *)
Theorem selected_found v lo hi : 1 <= hits ->
  (forall j, (j < n)%nat -> m j = true -> lo <= v j <= hi) ->
  Rabs (soft m s v n - mean v) <= (hi - lo) * ((others_ * exp (- c) + sinks * exp (- h)) / hits).
Proof.
  intros F B. pose proof z_hits as Z. pose proof (exp_pos S) as E. assert (Zpos : 0 < z) by nra.
  set (w := fun j => if m j then exp (s j) / z else 0).
  set (q := fun j => if m j && hit j then / hits else 0).
  assert (Q1 : sum q n = 1).
  { unfold q. rewrite (sum_ext _ (fun j => / hits * (if m j && hit j then 1 else 0))).
    - rewrite sum_scal. fold (counted hit). fold hits. field. lra.
    - intros j _. destruct (m j && hit j); ring. }
  assert (W1 : sum w n = 1).
  { unfold w. rewrite (sum_ext _ (fun j => / z * (if m j then exp (s j) else 0)))
      by (intros j _; destruct (m j); unfold Rdiv; ring).
    rewrite sum_scal. fold z. field. lra. }
  assert (M : mean v = sum (fun j => q j * v j) n).
  { unfold mean, Rdiv. rewrite Rmult_comm, <- sum_scal. apply sum_ext. intros j _. unfold q.
    destruct (m j && hit j); ring. }
  assert (W : soft m s v n = sum (fun j => w j * v j) n).
  { unfold soft, Rdiv. fold z. rewrite Rmult_comm, <- sum_scal. apply sum_ext. intros j _. unfold w.
    destruct (m j); unfold Rdiv; ring. }
  assert (Some : exists j, (j < n)%nat /\ m j = true).
  { destruct (winner m s n) as [(j & Hj & Mj & _)|None]; [exists j; auto|exfalso].
    assert (hits = 0); [|lra]. unfold hits, counted.
    rewrite (sum_ext _ (fun _ => 0)) by (intros j Hj; rewrite None by assumption; reflexivity).
    rewrite sum_const. lra. }
  destruct Some as (j0 & Hj0 & Mj0). rewrite M, W.
  eapply Rle_trans; [apply (mean_difference w q v n lo hi)|].
  { rewrite W1, Q1. reflexivity. }
  { intros j Hj N. destruct (m j) eqn:Mj; [apply B; assumption|]. exfalso. apply N. unfold w, q.
    rewrite Mj. reflexivity. }
  apply Rmult_le_compat_l; [pose proof (B j0 Hj0 Mj0); lra|].
  pose proof (exp_pos (- c)) as Ec. pose proof (exp_pos (- h)) as Eh.
  assert (Share : forall a, a * exp S / z <= Rmax 0 a / hits).
  { intros a. apply Rmult_le_reg_r with (z * hits); [nra|].
    replace (a * exp S / z * (z * hits)) with (a * (hits * exp S)) by (field; lra).
    replace (Rmax 0 a / hits * (z * hits)) with (Rmax 0 a * z) by (field; lra).
    assert (0 < hits * exp S) by (apply Rmult_lt_0_compat; lra).
    unfold Rmax. destruct (Rle_dec 0 a); [apply Rmult_le_compat_l; assumption|nra]. }
  assert (Over : forall j, (j < n)%nat -> Rmax 0 (w j - q j)
     <= / hits * (exp (- c) * (if m j && (negb (hit j) && negb (sink j)) then 1 else 0)
        + exp (- h) * (if m j && (negb (hit j) && sink j) then 1 else 0))).
  { intros j Hj. assert (0 < / hits) by (apply Rinv_0_lt_compat; lra).
    unfold w, q. destruct (m j) eqn:Mj; cbn [andb]; [|rewrite Rmax_left; lra].
    destruct (hit j) eqn:Hh; cbn [andb negb].
    - rewrite (Hits j Hj Mj Hh). apply Rmax_lub; [lra|].
      pose proof (Share 1) as S1. rewrite Rmax_right in S1 by lra. unfold Rdiv in S1 |- *. lra.
    - destruct (sink j) eqn:Sk; cbn [andb negb].
      + rewrite (Sinks j Hj Mj Hh Sk), Rminus_0_r. apply Rmax_lub; [nra|].
        replace (exp (S - h)) with (exp (- h) * exp S) by (rewrite <- exp_plus; f_equal; lra).
        pose proof (Share (exp (- h))) as S1. rewrite Rmax_right in S1 by lra.
        unfold Rdiv in S1 |- *. lra.
      + rewrite Rminus_0_r. apply Rmax_lub; [nra|].
        apply Rle_trans with (exp (- c) * exp S / z).
        * unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
          rewrite <- exp_plus. apply exp_le. pose proof (Others j Hj Mj Hh Sk). lra.
        * pose proof (Share (exp (- c))) as S1. rewrite Rmax_right in S1 by lra.
          unfold Rdiv in S1 |- *. lra. }
  eapply Rle_trans; [apply sum_le, Over|]. rewrite sum_scal, sum_plus, !sum_scal.
  fold (counted (fun j => negb (hit j) && negb (sink j)))
    (counted (fun j => negb (hit j) && sink j)).
  fold others_ sinks. right. unfold Rdiv. ring.
Qed.

(* No hit: all but others·e^-(c-h)/sinks is on the sinks, whose value is 0. *)
Theorem selected_none v : hits = 0 -> 1 <= sinks ->
  (forall j, (j < n)%nat -> m j = true -> 0 <= v j <= 1) ->
  (forall j, (j < n)%nat -> m j = true -> sink j = true -> v j = 0) ->
  0 <= soft m s v n <= others_ * exp (- (c - h)) / sinks.
Proof.
  intros F K B V.
  assert (No : forall j, (j < n)%nat -> m j = true -> hit j = false).
  { intros j Hj Mj. destruct (hit j) eqn:Hh; [exfalso|reflexivity].
    unfold hits, counted in F. rewrite (sum_others j _ n Hj), Mj, Hh in F. cbn [andb] in F.
    assert (0 <= others j (fun j => if m j && hit j then 1 else 0) n); [|lra].
    apply others_nonneg. intros i _ _. destruct (m i && hit i); lra. }
  pose proof (exp_pos (S - h)) as E. pose proof (exp_pos (- (c - h))) as Ec.
  assert (Z : sinks * exp (S - h) <= z).
  { unfold sinks, counted, z. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros j Hj.
    destruct (m j) eqn:M; cbn [andb]; [|lra]. rewrite (No j Hj M). cbn [negb andb].
    destruct (sink j) eqn:Sk; [rewrite (Sinks j Hj M (No j Hj M) Sk);
      lra|pose proof (exp_pos (s j)); lra]. }
  assert (Zpos : 0 < z) by nra.
  assert (U : sum (fun j => if m j then exp (s j) * v j else 0) n <= others_ * exp (- (c - h)) * exp
    (S - h)).
  { unfold others_, counted. rewrite Rmult_assoc, Rmult_comm, <- sum_scal. apply sum_le.
    intros j Hj.
    destruct (m j) eqn:M; cbn [andb]; [|lra]. rewrite (No j Hj M). cbn [negb andb].
    destruct (sink j) eqn:Sk; cbn [negb]; [rewrite (V j Hj M Sk); lra|].
    pose proof (B j Hj M). pose proof (exp_pos (s j)). rewrite Rmult_1_r.
    apply Rle_trans with (exp (s j)); [nra|]. rewrite <- exp_plus. apply exp_le.
    pose proof (Others j Hj M (No j Hj M) Sk). lra. }
  assert (U0 : 0 <= sum (fun j => if m j then exp (s j) * v j else 0) n).
  { apply sum_nonneg. intros j Hj. destruct (m j) eqn:M; [|lra]. pose proof (B j Hj M).
    pose proof (exp_pos (s j)). nra. }
  unfold soft. fold z. split; [apply Rmult_le_pos; [exact U0|left; apply Rinv_0_lt_compat, Zpos]|].
  apply Rmult_le_reg_r with (z * sinks); [nra|].
  replace (sum (fun j => if m j then exp (s j) * v j else 0) n / z * (z * sinks))
    with (sum (fun j => if m j then exp (s j) * v j else 0) n * sinks) by (field; lra).
  replace (others_ * exp (- (c - h)) / sinks * (z * sinks)) with (others_ * exp (- (c - h)) * z)
    by (field; lra).
  pose proof (counted_nonneg (fun j => negb (hit j) && negb (sink j))) as O0. fold others_ in O0.
  apply Rle_trans with (others_ * exp (- (c - h)) * exp (S - h) * sinks);
    [apply Rmult_le_compat_r; lra|].
  apply Rle_trans with (others_ * exp (- (c - h)) * (sinks * exp (S - h))); [right; ring|].
  apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact Z].
Qed.
End Levels.

(** * Match *)

Section Match.
Variables (beta : R) (n : nat) (m matches sink : nat -> bool).
Hypothesis Hbeta : 0 <= beta.
Hypothesis Apart : forall j, sink j = true -> matches j = false.

Definition match_score (j : nat) : R := if sink j then beta / 2 else if matches j then beta else 0.

Theorem match_found v lo hi : 1 <= hits n m matches ->
  (forall j, (j < n)%nat -> m j = true -> lo <= v j <= hi) ->
  Rabs (soft m match_score v n - mean n m matches v)
  <= (hi - lo)
    * ((others_ n m matches sink * exp (- beta) + sinks n m matches sink * exp (- (beta / 2)))
                  / hits n m matches).
Proof.
  apply (selected_found n m matches sink match_score beta); unfold match_score; intros j Hj M H.
  - destruct (sink j) eqn:Sk; [rewrite (Apart j Sk) in H; discriminate|]. rewrite H. reflexivity.
  - intros Sk. rewrite Sk. lra.
  - intros Sk. rewrite Sk, H. lra.
Qed.

Theorem match_none v : hits n m matches = 0 -> 1 <= sinks n m matches sink ->
  (forall j, (j < n)%nat -> m j = true -> 0 <= v j <= 1) ->
  (forall j, (j < n)%nat -> m j = true -> sink j = true -> v j = 0) ->
  0 <= soft m match_score v n <= others_ n m matches sink * exp (- (beta / 2)) / sinks n m matches
    sink.
Proof.
  intros F K B V. replace (- (beta / 2)) with (- (beta - beta / 2)) by lra.
  apply (selected_none n m matches sink match_score beta); try assumption; unfold match_score;
    intros j Hj M H Sk.
  - rewrite Sk. lra.
  - rewrite Sk, H. lra.
Qed.
End Match.

(* β >= 2 ln(64N) keeps both small, for at most N positions and two sinks. *)
Theorem match_law beta N others sinks : 1 <= N -> 2 * ln (64 * N) <= beta -> 0 <= others <= N ->
  sinks <= 2 ->
  others * exp (- beta) + sinks * exp (- (beta / 2)) <= 1 / 31 /\
    others * exp (- (beta / 2)) <= 1 / 64.
Proof.
  intros HN Hb O K. set (u := exp (- (beta / 2))). assert (U0 : 0 < u) by apply exp_pos.
  assert (U : u <= / (64 * N)).
  { unfold u. rewrite <- (exp_ln (64 * N)) by lra. rewrite <- exp_Ropp. apply exp_le. lra. }
  assert (UN : u * N <= 1 / 64).
  { apply Rmult_le_compat_r with (r := N) in U; [|lra].
    replace (/ (64 * N) * N) with (1 / 64) in U by (field; lra). exact U. }
  assert (U1 : u <= 1 / 64) by nra.
  replace (exp (- beta)) with (u * u) by (unfold u; rewrite <- exp_plus; f_equal; lra).
  split; nra.
Qed.
