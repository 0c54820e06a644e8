(** Latest, the head of `since`: the value at the last position that is not bad. *)
From Coq Require Import Reals Lra Lia Arith.
From Softhat Require Import Sums Attention.
Open Scope R_scope.

(** * f S g is a Latest *)

(* f S g at i over positions lo..i, from its definition. *)
Definition since (f g : nat -> Prop) (i : nat) : Prop :=
  exists j, (j <= i)%nat /\ g j /\ forall k, (j < k <= i)%nat -> f k.

Definition bad (f g : nat -> Prop) (j : nat) : Prop := f j /\ ~ g j.

Definition last_good (b : nat -> Prop) (i p : nat) : Prop :=
  (p <= i)%nat /\ ~ b p /\ forall k, (p < k <= i)%nat -> b k.

(* the last position, or none *)
Lemma last_good_dec (b : nat -> Prop) i : (forall j, (j <= i)%nat -> {b j} + {~ b j}) ->
  {p | last_good b i p} + {forall j, (j <= i)%nat -> b j}.
Proof.
  induction i as [|i IH]; intros D.
  - destruct (D 0%nat ltac:(lia)) as [B|B].
    + right. intros j Hj. replace j with 0%nat by lia. exact B.
    + left. exists 0%nat. split; [lia|split; [exact B|intros; lia]].
  - destruct (D (S i) ltac:(lia)) as [B|B].
    + destruct IH as [[p (H1 & H2 & H3)]|A].
      * intros j Hj. apply D. lia.
      * left. exists p. split; [lia|split; [exact H2|]]. intros k Hk.
        destruct (Nat.eq_dec k (S i)) as [->|]; [exact B|apply H3; lia].
      * right. intros j Hj. destruct (Nat.eq_dec j (S i)) as [->|]; [exact B|apply A; lia].
    + left. exists (S i). split; [lia|split; [exact B|intros; lia]].
Qed.

(* T5 *)
Theorem since_latest f g i p : (forall j, (j <= i)%nat -> {g j} + {~ g j}) ->
  last_good (bad f g) i p -> (since f g i <-> g p).
Proof.
  intros D (Hp & Good & Bad). split.
  - intros (j & Hj & Gj & F). destruct (D p Hp) as [G|G]; [exact G|exfalso].
    destruct (lt_eq_lt_dec j p) as [[L|E]|L].
    + apply Good. split; [apply F; lia|exact G].
    + subst. contradiction.
    + destruct (Bad j ltac:(lia)) as [_ N]. contradiction.
  - intros G. exists p. repeat split; [exact Hp|exact G|].
    intros k Hk. exact (proj1 (Bad k Hk)).
Qed.

Theorem since_none f g i : (forall j, (j <= i)%nat -> bad f g j) -> ~ since f g i.
Proof. intros B (j & Hj & Gj & _). exact (proj2 (B j Hj) Gj). Qed.

(* the recursion, by induction on positions *)
Theorem since_step f g i : since f g (S i) <-> g (S i) \/ (f (S i) /\ since f g i).
Proof.
  split.
  - intros (j & Hj & Gj & F). destruct (Nat.eq_dec j (S i)) as [->|N]; [left; exact Gj|].
    right. split; [apply F; lia|]. exists j. repeat split; [lia|exact Gj|].
    intros k Hk. apply F. lia.
  - intros [G|[Fi (j & Hj & Gj & F)]].
    + exists (S i). repeat split; [lia|exact G|intros; lia].
    + exists j. repeat split; [lia|exact Gj|]. intros k Hk.
      destruct (Nat.eq_dec k (S i)) as [->|]; [exact Fi|apply F; lia].
Qed.

(** * The leak *)

(* T2. Latest: all that is used of the scores is how far the losers are below the winner,
   so the theorem serves unbounded positions and temperature scaling alike. *)
Theorem latest_leak C s i p : 0 < C -> (p <= i)%nat ->
  (forall j, (j < p)%nat -> C * (INR p - INR j) <= s p - s j) ->
  (forall j, (p < j <= i)%nat -> C * (INR p + 1 + (INR i - INR j)) <= s p - s j) ->
  leak s (S i) p <= exp (- C).
Proof.
  intros HC Hp Before After. set (x := exp (- C)).
  assert (X0 : 0 < x) by apply exp_pos.
  assert (X1 : x < 1) by (unfold x; rewrite <- exp_0; apply exp_increasing; lra).
  rewrite leak_eq by lia. apply fraction_iff; [apply tail_nonneg|assumption|].
  set (b := (i - p)%nat). replace (S i) with (p + S b)%nat by lia.
  unfold tail. rewrite others_split.
  assert (L : sum (fun j => exp (- (s p - s j))) p <= x * sum (pow x) p).
  { rewrite sum_rev, <- sum_scal. apply sum_le. intros k Hk.
    replace (x * x ^ k) with (x ^ S k) by reflexivity.
    unfold x. rewrite <- exp_pow. apply exp_le, Ropp_le_contravar.
    eapply Rle_trans; [|apply Before; lia]. apply Rmult_le_compat_l; [lra|].
    rewrite <- minus_INR by lia. apply le_INR. lia. }
  assert (U : sum (fun j => exp (- (s p - s (p + S j)%nat))) b
              <= x * x ^ p * sum (pow x) b).
  { rewrite sum_rev, <- sum_scal. apply sum_le. intros k Hk.
    replace (x * x ^ p * x ^ k) with (x ^ (S p + k)) by (rewrite pow_add; simpl; ring).
    unfold x. rewrite <- exp_pow. apply exp_le, Ropp_le_contravar.
    eapply Rle_trans; [|apply After; lia]. apply Rmult_le_compat_l; [lra|].
    rewrite plus_INR, S_INR, <- minus_INR by lia.
    apply Rplus_le_compat_l, le_INR. lia. }
  apply Rmult_le_reg_r with (1 - x); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r.
  pose proof (sum_geometric x p) as Gp. pose proof (sum_geometric x b) as Gb.
  pose proof (pow_lt x p X0) as Pp. pose proof (pow_lt x b X0) as Pb.
  apply Rle_trans with ((x * sum (pow x) p + x * x ^ p * sum (pow x) b) * (1 - x)).
  { apply Rmult_le_compat_r; lra. }
  replace ((x * sum (pow x) p + x * x ^ p * sum (pow x) b) * (1 - x))
    with (x * ((1 - x) * sum (pow x) p) + x * x ^ p * ((1 - x) * sum (pow x) b)) by ring.
  rewrite Gp, Gb.
  assert (0 <= x * (x ^ p * x ^ b)).
  { apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; lra. }
  lra.
Qed.

(* The score of heads.py, unbounded positions. bad is 0 or 1. *)
Definition latest_score (C : R) (bad : nat -> R) (i j : nat) : R :=
  C * (INR j - INR i - 2 * INR i * bad j).

Theorem latest_unbounded C bad i p : 0 < C -> (p <= i)%nat ->
  (forall j, (j <= i)%nat -> 0 <= bad j) ->
  bad p = 0 -> (forall j, (p < j <= i)%nat -> bad j = 1) ->
  leak (latest_score C bad i) (S i) p <= exp (- C).
Proof.
  intros HC Hp B B0 B1. apply latest_leak; try assumption; unfold latest_score.
  - intros j Hj. rewrite B0. rewrite <- Rmult_minus_distr_l.
    apply Rmult_le_compat_l; [lra|].
    assert (0 <= INR i * bad j)
      by (apply Rmult_le_pos; [apply pos_INR|apply B; lia]).
    lra.
  - intros j Hj. rewrite B0, (B1 j) by lia. rewrite <- Rmult_minus_distr_l.
    apply Rmult_le_compat_l; [lra|].
    assert (1 <= INR i) by (apply (le_INR 1); lia). lra.
Qed.

(* Temperature scaling: positions j/P, inverse temperature C·P, P >= i (and >= 1). *)
Definition latest_scaled (P : R) (bad : nat -> R) (i j : nat) : R :=
  - 2 * bad j + (INR j / P - INR i / P).

Theorem latest_temperature C P bad i p : 0 < C -> 0 < P -> INR i <= P -> (p <= i)%nat ->
  (forall j, (j <= i)%nat -> 0 <= bad j) ->
  bad p = 0 -> (forall j, (p < j <= i)%nat -> bad j = 1) ->
  leak (fun j => C * P * latest_scaled P bad i j) (S i) p <= exp (- C).
Proof.
  intros HC HP Hi Hp B B0 B1.
  assert (E : forall j, C * P * latest_scaled P bad i j
                        = C * (INR j - INR i - 2 * P * bad j)).
  { intros j. unfold latest_scaled. field. lra. }
  apply latest_leak; try assumption; intros j Hj; rewrite !E, B0;
    rewrite <- Rmult_minus_distr_l; apply Rmult_le_compat_l; try lra.
  - assert (0 <= P * bad j) by (apply Rmult_le_pos; [lra|apply B; lia]). lra.
  - rewrite (B1 j) by lia. assert (1 <= INR i) by (apply (le_INR 1); lia). lra.
Qed.
