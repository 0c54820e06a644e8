(** StrictLatest: the value at the last position before i that is not bad, `Y(f S g)` in one head.
    The scores of Latest, over j < i. *)
From Coq Require Import Reals Lra Lia Arith.
From Softhat Require Import Sums Attention Latest.
Open Scope R_scope.

Theorem strict_latest_leak C bad i p : 0 < C -> (p < i)%nat ->
  (forall j, (j < i)%nat -> 0 <= bad j) ->
  bad p = 0 -> (forall j, (p < j < i)%nat -> bad j = 1) ->
  leak (latest_score C bad i) i p <= exp (- C).
Proof.
  intros HC Hp B B0 B1. destruct i as [|i]; [lia|].
  apply latest_leak; [assumption|lia| |]; unfold latest_score; intros j Hj.
  - rewrite B0. rewrite <- Rmult_minus_distr_l. apply Rmult_le_compat_l; [lra|].
    assert (0 <= INR (S i) * bad j) by (apply Rmult_le_pos; [apply pos_INR|apply B; lia]). lra.
  - rewrite B0, (B1 j) by lia. rewrite <- Rmult_minus_distr_l. apply Rmult_le_compat_l; [lra|].
    rewrite S_INR. pose proof (pos_INR i). lra.
Qed.

(* Temperature scaling: positions j/P, inverse temperature C·P, P >= i. *)
Theorem strict_latest_temperature C P bad i p : 0 < C -> 0 < P -> INR i <= P -> (p < i)%nat ->
  (forall j, (j < i)%nat -> 0 <= bad j) ->
  bad p = 0 -> (forall j, (p < j < i)%nat -> bad j = 1) ->
  leak (fun j => C * P * latest_scaled P bad i j) i p <= exp (- C).
Proof.
  intros HC HP Hi Hp B B0 B1. destruct i as [|i]; [lia|].
  assert (E : forall j, C * P * latest_scaled P bad (S i) j
                        = C * (INR j - INR (S i) - 2 * P * bad j)).
  { intros j. unfold latest_scaled. field. lra. }
  apply latest_leak; [assumption|lia| |]; intros j Hj; rewrite !E, B0, <- Rmult_minus_distr_l;
    apply Rmult_le_compat_l; try lra.
  - assert (0 <= P * bad j) by (apply Rmult_le_pos; [lra|apply B; lia]). lra.
  - rewrite (B1 j) by lia. rewrite S_INR in *. pose proof (pos_INR i). lra.
Qed.

(* What it computes: Y(f S g). The last good position before i says what f S g is at i - 1. *)
Definition yesterday (f : nat -> Prop) (i : nat) : Prop := (1 <= i)%nat /\ f (i - 1)%nat.
Definition last_good_before (b : nat -> Prop) (i p : nat) : Prop :=
  (p < i)%nat /\ ~ b p /\ forall k, (p < k < i)%nat -> b k.

Theorem strict_since f g i p : (forall j, (j < i)%nat -> {g j} + {~ g j}) ->
  last_good_before (bad f g) i p -> (yesterday (since f g) i <-> g p).
Proof.
  intros D (Hp & Good & Bad). destruct i as [|i]; [lia|].
  assert (L : last_good (bad f g) i p).
  { split; [lia|]. split; [exact Good|]. intros k Hk. apply Bad. lia. }
  pose proof (since_latest f g i p (fun j Hj => D j (proj2 (Nat.lt_succ_r j i) Hj)) L) as E.
  unfold yesterday. replace (S i - 1)%nat with i by lia. split.
  - intros [_ H]. apply E, H.
  - intros G. split; [lia|]. apply E, G.
Qed.

Theorem strict_since_none f g i : (forall j, (j < i)%nat -> bad f g j) -> ~ yesterday (since f g) i.
Proof.
  intros B [Hi H]. apply (since_none f g (i - 1)); [|exact H]. intros j Hj. apply B. lia.
Qed.
