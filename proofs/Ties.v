(** One row under softmax against average-hard attention, with scores that are slightly wrong:
    the leak outside the argmax set, and the tilt inside it.

    total variation <= (n-1)·e^-β(γ-η) + tanh(βη/4), the second term only where the values of
    tied keys differ. *)
From Coq Require Import Reals Lra Lia Arith List Bool.
From Softhat Require Import Sums Attention Masks.
Open Scope R_scope.

(* tanh(u/4), for u = βη *)
Definition tilt (u : R) : R := (exp (u / 2) - 1) / (exp (u / 2) + 1).

Lemma tilt_bounds u : 0 <= u -> 0 <= tilt u <= u / 4.
Proof.
  intros H. unfold tilt. pose proof (exp_pos (u / 2)) as E. set (r := exp (u / 2)) in *.
  assert (R1 : 1 <= r) by (unfold r; rewrite <- exp_0; apply exp_le; lra).
  split.
  - apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  - (* tanh x <= x: the difference of both sides grows *)
    assert (D : forall x, 0 <= x -> exp x - 1 <= x / 2 * (exp x + 1)).
    { intros x Hx. set (f := fun x => x / 2 * (exp x + 1) - exp x).
      assert (P : forall y, derivable_pt_lim f y ((exp y + 1) / 2 + y / 2 * exp y - exp y)).
      { intros y. unfold f. replace ((exp y + 1) / 2 + y / 2 * exp y - exp y)
          with ((/ 2 * (exp y + 1) + y / 2 * (exp y + 0)) - exp y) by lra.
        apply derivable_pt_lim_minus; [|apply derivable_pt_lim_exp].
        apply (derivable_pt_lim_mult (fun y => y / 2) (fun y => exp y + 1)).
        - replace (/ 2) with (1 * / 2 + y * 0) by lra.
          apply (derivable_pt_lim_mult id (fun _ => / 2));
            [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
        - apply derivable_pt_lim_plus; [apply derivable_pt_lim_exp|apply derivable_pt_lim_const]. }
      assert (Pos : forall y, 0 <= y -> 0 <= (exp y + 1) / 2 + y / 2 * exp y - exp y).
      { intros y Hy. pose proof (exp_ineq1_le (- y)) as I. rewrite exp_Ropp in I.
        pose proof (exp_pos y). apply Rmult_le_compat_r with (r := exp y) in I; [|lra].
        rewrite Rinv_l in I by lra. nra. }
      destruct (Req_dec x 0) as [->|N]; [rewrite exp_0; lra|].
      assert (L : f 0 <= f x).
      { destruct (MVT_cor2 f (fun y => (exp y + 1) / 2 + y / 2 * exp y - exp y) 0 x) as
          (z & Hz & Iz);
          [lra|intros; apply P|]. pose proof (Pos z ltac:(lra)). nra. }
      unfold f in L. rewrite exp_0 in L. lra. }
    apply Rmult_le_reg_r with (r + 1); [lra|].
    unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra.
    pose proof (D (u / 2) ltac:(lra)). fold r in H0. lra.
Qed.

(* Two distributions: their means differ by at most the range of the values times what one has
   more than the other. *)
Lemma mean_difference (w q v : nat -> R) n lo hi :
  sum w n = sum q n -> (forall j, (j < n)%nat -> w j <> q j -> lo <= v j <= hi) ->
  Rabs (sum (fun j => w j * v j) n - sum (fun j => q j * v j) n)
  <= (hi - lo) * sum (fun j => Rmax 0 (w j - q j)) n.
Proof.
  intros E B.
  assert (D : sum (fun j => w j * v j) n - sum (fun j => q j * v j) n
              = sum (fun j => (w j - q j) * (v j - lo)) n).
  { rewrite (sum_ext (fun j => (w j - q j) * (v j - lo))
      (fun j => w j * v j + (- 1 * (q j * v j) + (- lo * w j + lo * q j)))) by (intros; ring).
    rewrite !sum_plus, !sum_scal, E. lra. }
  assert (D' : sum (fun j => w j * v j) n - sum (fun j => q j * v j) n
              = sum (fun j => (w j - q j) * (v j - hi)) n).
  { rewrite (sum_ext (fun j => (w j - q j) * (v j - hi))
      (fun j => w j * v j + (- 1 * (q j * v j) + (- hi * w j + hi * q j)))) by (intros; ring).
    rewrite !sum_plus, !sum_scal, E. lra. }
  rewrite <- sum_scal. apply Rabs_le. split.
  - rewrite D'.
    assert (sum (fun j => - 1 * ((hi - lo) * Rmax 0 (w j - q j))) n
            <= sum (fun j => (w j - q j) * (v j - hi)) n); [|rewrite sum_scal in H; lra].
    apply sum_le. intros j Hj. destruct (Req_dec (w j) (q j)) as [->|N].
    { rewrite Rmax_left by lra. lra. }
    specialize (B j Hj N). unfold Rmax. destruct (Rle_dec 0 (w j - q j)); nra.
  - rewrite D. apply sum_le. intros j Hj. destruct (Req_dec (w j) (q j)) as [->|N].
    { rewrite Rmax_left by lra. lra. }
    specialize (B j Hj N). unfold Rmax. destruct (Rle_dec 0 (w j - q j)); nra.
Qed.

(* β = γ^-1·ln(Te^θ/δ) leaves at most δ outside the argmax set where βη <= θ; the tilt is at most
   βη/4. *)
Theorem misplaced_law T beta gamma eta theta delta : 1 <= T -> 0 < delta -> beta * eta <= theta ->
  ln (T * exp theta / delta) <= beta * gamma ->
  (T - 1) * exp (- (beta * (gamma - eta))) <= delta.
Proof.
  intros HT Hd He L. pose proof (exp_pos theta) as E. set (A := T * exp theta / delta) in *.
  assert (HA : 0 < A) by (unfold A; apply Rdiv_lt_0_compat; nra).
  apply Rle_trans with (T * (exp theta * / A)).
  - assert (X : exp (- (beta * (gamma - eta))) <= exp theta * / A).
    { rewrite <- (exp_ln A) by exact HA. rewrite <- exp_Ropp, <- exp_plus. apply exp_le. lra. }
    pose proof (exp_pos (- (beta * (gamma - eta)))). nra.
  - right. unfold A. field. repeat split; lra.
Qed.

Section Row.
Variables (m : nat -> bool) (s S v : nat -> R) (n p : nat) (beta gamma eta lo hi : R).
Hypothesis Hp : (p < n)%nat.
Hypothesis Mp : m p = true.
Hypothesis Max : forall j, (j < n)%nat -> m j = true -> s j <= s p.
Hypothesis Gap : forall j, (j < n)%nat -> m j = true -> s j < s p -> gamma <= s p - s j.
Hypothesis Err : forall j k, (j < n)%nat -> (k < n)%nat -> m j = true -> m k = true ->
  Rabs (S j - S k - (s j - s k)) <= eta.
Hypothesis Hbeta : 0 <= beta.
Hypothesis Range : forall j, (j < n)%nat -> m j = true -> lo <= v j <= hi.

Let z := sum (fun j => if m j then exp (beta * S j) else 0) n.
Let w j := if m j then exp (beta * S j) / z else 0.
Let a := top m s n.
Let k := sum (fun j => if a j then 1 else 0) n.
Let q j := if a j then / k else 0.

Lemma eta_nonneg : 0 <= eta.
Proof. pose proof (Err p p Hp Hp Mp Mp). pose proof (Rabs_pos (S p - S p - (s p - s p))). lra. Qed.

Lemma a_spec j : (j < n)%nat -> (a j = true <-> m j = true /\ s j = s p).
Proof.
  intros Hj. unfold a. rewrite top_spec. split; intros [Mj H]; split; try assumption.
  - pose proof (Max j Hj Mj). pose proof (H p Hp Mp). lra.
  - intros i Hi Mi. rewrite H. apply Max; assumption.
Qed.

Lemma a_p : a p = true.
Proof. apply a_spec; auto. Qed.

Lemma z_ge j : (j < n)%nat -> m j = true -> exp (beta * S j) <= z.
Proof.
  intros Hj Mj. unfold z. rewrite (sum_others j _ n Hj), Mj.
  assert (0 <= others j (fun j => if m j then exp (beta * S j) else 0) n); [|lra].
  apply others_nonneg. intros i _ _. destruct (m i); [left; apply exp_pos|lra].
Qed.

Lemma z_pos : 0 < z.
Proof. pose proof (z_ge p Hp Mp). pose proof (exp_pos (beta * S p)). lra. Qed.

Lemma k_pos : 1 <= k.
Proof.
  unfold k. rewrite (sum_others p _ n Hp), a_p.
  assert (0 <= others p (fun j => if a j then 1 else 0) n); [|lra].
  apply others_nonneg. intros i _ _. destruct (a i); lra.
Qed.

Lemma soft_sum : soft m (fun j => beta * S j) v n = sum (fun j => w j * v j) n.
Proof.
  pose proof z_pos. unfold soft. fold z. unfold Rdiv. rewrite Rmult_comm, <- sum_scal.
  apply sum_ext. intros j _. unfold w. destruct (m j); unfold Rdiv; ring.
Qed.

Lemma hard_sum : hard m s v n = sum (fun j => q j * v j) n.
Proof.
  pose proof k_pos. unfold hard. fold a. fold k. unfold Rdiv. rewrite Rmult_comm, <- sum_scal.
  apply sum_ext. intros j _. unfold q. destruct (a j); ring.
Qed.

Lemma w_one : sum w n = 1.
Proof.
  pose proof z_pos. unfold w.
  rewrite (sum_ext _ (fun j => / z * (if m j then exp (beta * S j) else 0))).
  - rewrite sum_scal. fold z. field. lra.
  - intros j _. destruct (m j); unfold Rdiv; ring.
Qed.

Lemma q_one : sum q n = 1.
Proof.
  pose proof k_pos. unfold q. rewrite (sum_ext _ (fun j => / k * (if a j then 1 else 0))).
  - rewrite sum_scal. fold k. field. lra.
  - intros j _. destruct (a j); ring.
Qed.

(* the leak: what lies outside the argmax set *)
Lemma leak_outside :
  sum (fun j => if a j then 0 else w j) n <= (INR n - 1) * exp (- (beta * (gamma - eta))).
Proof.
  rewrite (sum_others p _ n Hp), a_p, Rplus_0_l. rewrite <- (others_const p _ n Hp).
  apply others_le. intros j Hj _. pose proof (exp_pos (- (beta * (gamma - eta)))) as E.
  destruct (a j) eqn:Aj; [lra|]. unfold w. destruct (m j) eqn:Mj; [|lra].
  assert (L : s j < s p).
  { pose proof (Max j Hj Mj). destruct (Req_dec (s j) (s p)) as [Q|]; [|lra].
    assert (a j = true) by (apply a_spec; auto). congruence. }
  pose proof (Gap j Hj Mj L) as G. pose proof (Err j p Hj Hp Mj Mp) as D.
  pose proof z_pos. pose proof (z_ge p Hp Mp) as Zp.
  apply Rle_trans with (exp (beta * S j) / exp (beta * S p)).
  - unfold Rdiv. apply Rmult_le_compat_l; [left; apply exp_pos|].
    apply Rinv_le_contravar; [apply exp_pos|exact Zp].
  - unfold Rdiv. rewrite <- exp_Ropp, <- exp_plus. apply exp_le.
    assert (S j - S p <= - (gamma - eta)); [|nra].
    unfold Rabs in D. destruct Rcase_abs; lra.
Qed.

(* the tilt: how uneven the weights are inside it *)
Lemma tilt_inside : sum (fun j => if a j then Rmax 0 (w j - q j) else 0) n <= tilt (beta * eta).
Proof.
  pose proof eta_nonneg as He. pose proof k_pos as K. pose proof z_pos as Z.
  pose proof (tilt_bounds (beta * eta) ltac:(nra)) as [T0 _].
  (* the smallest exponential inside *)
  destruct (winner a (fun j => - S j) n) as [(b & Hb & Ab & Min)|None].
  2: { pose proof a_p as A. rewrite None in A by assumption. discriminate A. }
  set (e := fun j => exp (beta * S j)). set (lowest := e b).
  set (r := exp (beta * eta / 2)).
  assert (R1 : 1 <= r) by (unfold r; rewrite <- exp_0; apply exp_le; nra).
  assert (Low : 0 < lowest) by apply exp_pos.
  assert (Mb : m b = true) by (apply a_spec in Ab; tauto).
  assert (In : forall j, (j < n)%nat -> a j = true -> lowest <= e j <= lowest * (r * r)).
  { intros j Hj Aj. specialize (Min j Hj Aj). pose proof (proj1 (a_spec j Hj) Aj) as [Mj Ej].
    pose proof (proj1 (a_spec b Hb) Ab) as [_ Eb]. pose proof (Err j b Hj Hb Mj Mb) as D.
    unfold lowest, e, r. rewrite <- !exp_plus.
    split; apply exp_le; [nra|]. rewrite Ej, Eb in D.
    assert (S j - S b <= eta) by (unfold Rabs in D; destruct Rcase_abs; lra). nra. }
  set (za := sum (fun j => if a j then e j else 0) n).
  assert (Za : lowest * k <= za <= lowest * (r * r) * k).
  { unfold za, k. rewrite <- !sum_scal. split; apply sum_le; intros j Hj;
      destruct (a j) eqn:Aj; try lra; pose proof (In j Hj Aj); lra. }
  assert (Zle : za <= z).
  { apply sum_le. intros j Hj. destruct (a j) eqn:Aj.
    - apply a_spec in Aj as [-> _]; [unfold e; lra|assumption].
    - destruct (m j); [left; apply exp_pos|lra]. }
  set (mu := za / k). assert (Kmu : mu * k = za) by (unfold mu; field; lra).
  assert (Mu : lowest <= mu <= lowest * (r * r)).
  { split; apply Rmult_le_reg_r with k; lra. }
  assert (Zpos : 0 < za) by nra.
  (* the chord of the convex function (e - mu)+ between its ends *)
  assert (Chord : forall j, (j < n)%nat ->
    (if a j then Rmax 0 (w j - q j) else 0) * (za * (lowest * (r * r) - lowest))
    <= (if a j then (e j - lowest) * (lowest * (r * r) - mu) else 0)).
  { intros j Hj. destruct (a j) eqn:Aj; [|lra]. pose proof (In j Hj Aj) as [I1 I2].
    pose proof (proj1 (a_spec j Hj) Aj) as [Mj _]. unfold w, q. rewrite Mj, Aj. fold (e j).
    assert (W : e j / z - / k <= (e j - mu) / za).
    { replace ((e j - mu) / za) with (e j / za - / k) by (rewrite <- Kmu; field; split; nra).
      assert (/ z <= / za) by (apply Rinv_le_contravar; assumption).
      assert (0 < e j) by apply exp_pos. unfold Rdiv. nra. }
    assert (X : Rmax 0 (e j / z - / k) * za <= Rmax 0 (e j - mu)).
    { unfold Rmax at 1. destruct (Rle_dec 0 (e j / z - / k)).
      - apply Rle_trans with (e j - mu); [|apply Rmax_r].
        apply Rmult_le_compat_r with (r := za) in W; [|lra].
        unfold Rdiv at 2 in W. rewrite Rmult_assoc, Rinv_l in W by lra. lra.
      - rewrite Rmult_0_l. apply Rmax_l. }
    apply Rle_trans with (Rmax 0 (e j - mu) * (lowest * (r * r) - lowest)).
    - rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [nra|exact X].
    - unfold Rmax. destruct (Rle_dec 0 (e j - mu)); nra. }
  set (t := sum (fun j => if a j then Rmax 0 (w j - q j) else 0) n).
  assert (Sum : t * (za * (lowest * (r * r) - lowest)) <= (za - lowest * k) * (lowest * (r * r)
    - mu)).
  { unfold t. rewrite (Rmult_comm (sum _ n)), <- sum_scal.
    replace ((za - lowest * k) * (lowest * (r * r) - mu))
      with (sum (fun j => if a j then (e j - lowest) * (lowest * (r * r) - mu) else 0) n).
    - apply sum_le. intros j Hj. pose proof (Chord j Hj). lra.
    - unfold za, k. rewrite (sum_ext _ (fun j => (lowest * (r * r) - mu) *
         ((if a j then e j else 0) + - lowest * (if a j then 1 else 0))))
        by (intros j _; destruct (a j); ring).
      rewrite sum_scal, sum_plus, sum_scal. ring. }
  unfold tilt. fold r. replace (exp (beta * eta / 2)) with r by reflexivity.
  destruct (Req_dec r 1) as [R|R].
  - (* no error at all: equal weights *)
    assert (t <= 0); [|rewrite R in *; unfold Rdiv; lra].
    apply Rle_trans with (sum (fun _ => 0) n); [|rewrite sum_const; lra].
    apply sum_le. intros j Hj.
    destruct (a j) eqn:Aj; [|lra]. pose proof (In j Hj Aj) as I. rewrite R in I, Za.
    assert (Ej : e j = lowest) by lra. assert (Ez : za = lowest * k) by lra.
    pose proof (proj1 (a_spec j Hj) Aj) as [Mj _]. unfold w, q. rewrite Mj, Aj. fold (e j).
    rewrite Ej. apply Rmax_lub; [lra|].
    assert (lowest / z <= / k); [|lra].
    apply Rle_trans with (lowest / za).
    + unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; assumption.
    + rewrite Ez. right. field. lra.
  - assert (Wide : 0 < lowest * (r * r) - lowest).
    { replace (lowest * (r * r) - lowest) with (lowest * ((r - 1) * (r + 1))) by ring.
      apply Rmult_lt_0_compat; [assumption|]. apply Rmult_lt_0_compat; lra. }
    assert (Area : 0 < za * (lowest * (r * r) - lowest)) by (apply Rmult_lt_0_compat; assumption).
    apply Rmult_le_reg_r with (za * (lowest * (r * r) - lowest) * (r + 1));
      [apply Rmult_lt_0_compat; lra|].
    replace ((r - 1) / (r + 1) * (za * (lowest * (r * r) - lowest) * (r + 1)))
      with ((r - 1) * (za * (lowest * (r * r) - lowest))) by (field; lra).
    apply Rle_trans with ((za - lowest * k) * (lowest * (r * r) - mu) * (r + 1)); [nra|].
    rewrite <- Kmu.
    replace ((mu * k - lowest * k) * (lowest * (r * r) - mu) * (r + 1))
      with (k * (r + 1) * ((mu - lowest) * (lowest * (r * r) - mu))) by ring.
    replace ((r - 1) * (mu * k * (lowest * (r * r) - lowest)))
      with (k * (r + 1) * ((r - 1) * (r - 1) * mu * lowest)) by ring.
    apply Rmult_le_compat_l; [nra|].
    pose proof (Rle_0_sqr (mu - r * lowest)) as Q. unfold Rsqr in Q. nra.
Qed.

Lemma positive_part : sum (fun j => Rmax 0 (w j - q j)) n
  = sum (fun j => if a j then 0 else w j) n + sum (fun j => if a j then Rmax 0 (w j - q j)
    else 0) n.
Proof.
  rewrite <- sum_plus. apply sum_ext. intros j Hj. destruct (a j) eqn:Aj; [lra|].
  unfold q. rewrite Aj, Rminus_0_r, Rplus_0_r. apply Rmax_right.
  unfold w. pose proof z_pos. destruct (m j); [|lra].
  left. apply Rdiv_lt_0_compat; [apply exp_pos|assumption].
Qed.

Lemma in_range j : (j < n)%nat -> w j <> q j -> lo <= v j <= hi.
Proof.
  intros Hj N. apply Range; [assumption|]. destruct (m j) eqn:Mj; [reflexivity|].
  exfalso. apply N. unfold w, q. rewrite Mj. destruct (a j) eqn:Aj; [|reflexivity].
  apply a_spec in Aj as [M _]; congruence.
Qed.

(* Every row, dangerous ties included. *)
Theorem row_error :
  Rabs (soft m (fun j => beta * S j) v n - hard m s v n)
  <= (hi - lo) * ((INR n - 1) * exp (- (beta * (gamma - eta))) + tilt (beta * eta)).
Proof.
  rewrite soft_sum, hard_sum.
  eapply Rle_trans; [apply (mean_difference w q v n lo hi)|].
  - rewrite w_one, q_one. reflexivity.
  - apply in_range.
  - apply Rmult_le_compat_l; [pose proof (Range p Hp Mp); lra|]. rewrite positive_part.
    apply Rplus_le_compat; [apply leak_outside|apply tilt_inside].
Qed.

(* One maximum, or equal values on the argmax set: no tilt. *)
Theorem row_error_benign : (forall j, (j < n)%nat -> m j = true -> s j = s p -> v j = v p) ->
  Rabs (soft m (fun j => beta * S j) v n - hard m s v n)
  <= (hi - lo) * ((INR n - 1) * exp (- (beta * (gamma - eta)))).
Proof.
  intros Const. rewrite soft_sum, hard_sum.
  assert (H : sum (fun j => q j * v j) n = v p).
  { rewrite (sum_ext _ (fun j => v p * q j)); [rewrite sum_scal, q_one; lra|].
    intros j Hj. unfold q. destruct (a j) eqn:Aj; [|lra].
    apply a_spec in Aj as [Mj E]; [|assumption]. rewrite (Const j Hj Mj E). lra. }
  rewrite H.
  assert (E : sum (fun j => w j * v j) n - v p
              = sum (fun j => (if a j then 0 else w j) * (v j - v p)) n).
  { rewrite (sum_ext (fun j => (if a j then 0 else w j) * (v j - v p))
               (fun j => w j * v j + - v p * w j)).
    - rewrite sum_plus, sum_scal, w_one. lra.
    - intros j Hj. destruct (a j) eqn:Aj; [|ring].
      apply a_spec in Aj as [Mj E]; [|assumption]. rewrite (Const j Hj Mj E). ring. }
  rewrite E. eapply Rle_trans; [apply sum_abs|].
  apply Rle_trans with ((hi - lo) * sum (fun j => if a j then 0 else w j) n).
  - rewrite <- sum_scal. apply sum_le. intros j Hj.
    destruct (a j) eqn:Aj; [rewrite Rmult_0_l, Rabs_R0; lra|].
    rewrite Rabs_mult, Rmult_comm. pose proof z_pos. unfold w. destruct (m j) eqn:Mj.
    + assert (0 < exp (beta * S j) / z) by (apply Rdiv_lt_0_compat; [apply exp_pos|assumption]).
      rewrite (Rabs_pos_eq (exp (beta * S j) / z)) by lra. apply Rmult_le_compat_r; [lra|].
      pose proof (Range j Hj Mj). pose proof (Range p Hp Mp). apply Rabs_le. lra.
    + rewrite Rabs_R0. lra.
  - apply Rmult_le_compat_l; [pose proof (Range p Hp Mp); lra|apply leak_outside].
Qed.
End Row.
