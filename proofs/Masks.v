(** Rows with a mask: softmax attention and average-hard attention over the keys that it lets
    through. *)
From Coq Require Import Reals Lra Lia Arith List Bool.
From Softhat Require Import Sums Attention.
Import ListNotations.
Open Scope R_scope.

Definition soft (m : nat -> bool) (s v : nat -> R) (n : nat) : R :=
  sum (fun j => if m j then exp (s j) * v j else 0) n
  / sum (fun j => if m j then exp (s j) else 0) n.

Definition top (m : nat -> bool) (s : nat -> R) (n j : nat) : bool :=
  m j && forallb (fun k => negb (m k) || (if Rle_dec (s k) (s j) then true else false)) (seq 0 n).

(* the mean over all keys with the greatest score *)
Definition hard (m : nat -> bool) (s v : nat -> R) (n : nat) : R :=
  sum (fun j => if top m s n j then v j else 0) n
  / sum (fun j => if top m s n j then 1 else 0) n.

Lemma top_spec m s n j : top m s n j = true <->
  m j = true /\ forall k, (k < n)%nat -> m k = true -> s k <= s j.
Proof.
  unfold top. rewrite andb_true_iff, forallb_forall. split.
  - intros [Mj H]. split; [exact Mj|]. intros k Hk Mk. specialize (H k).
    rewrite in_seq, Mk in H. specialize (H ltac:(lia)). simpl in H.
    destruct (Rle_dec (s k) (s j)); [assumption|discriminate].
  - intros [Mj H]. split; [exact Mj|]. intros k Hk. apply in_seq in Hk.
    destruct (m k) eqn:Mk; [|reflexivity]. simpl.
    destruct (Rle_dec (s k) (s j)) as [|L]; [reflexivity|]. exfalso. apply L, H; [lia|assumption].
Qed.

Lemma winner m s n : (exists p, (p < n)%nat /\ m p = true /\
                        forall k, (k < n)%nat -> m k = true -> s k <= s p)
                     \/ (forall k, (k < n)%nat -> m k = false).
Proof.
  induction n as [|n IH]; [right; intros; lia|].
  destruct (m n) eqn:Mn.
  - left. destruct IH as [(p & Hp & Mp & H)|H].
    + destruct (Rle_dec (s n) (s p)) as [L|L].
      * exists p. repeat split; [lia|assumption|]. intros k Hk Mk.
        destruct (Nat.eq_dec k n) as [->|]; [assumption|apply H; [lia|assumption]].
      * exists n. repeat split; [lia|assumption|]. intros k Hk Mk.
        destruct (Nat.eq_dec k n) as [->|]; [lra|].
        assert (s k <= s p) by (apply H; [lia|assumption]). lra.
    + exists n. repeat split; [lia|assumption|]. intros k Hk Mk.
      destruct (Nat.eq_dec k n) as [->|]; [lra|].
      rewrite H in Mk by lia. discriminate.
  - destruct IH as [(p & Hp & Mp & H)|H]; [left|right].
    + exists p. repeat split; [lia|assumption|]. intros k Hk Mk.
      destruct (Nat.eq_dec k n) as [->|]; [congruence|apply H; [lia|assumption]].
    + intros k Hk. destruct (Nat.eq_dec k n) as [->|]; [assumption|apply H; lia].
Qed.

Lemma soft_ext m s s' v v' n : (forall j, (j < n)%nat -> m j = true -> s j = s' j) ->
  (forall j, (j < n)%nat -> m j = true -> v j = v' j) -> soft m s v n = soft m s' v' n.
Proof.
  intros Hs Hv. unfold soft.
  rewrite (sum_ext (fun j => if m j then exp (s j) * v j else 0)
                   (fun j => if m j then exp (s' j) * v' j else 0));
    [rewrite (sum_ext (fun j => if m j then exp (s j) else 0)
                      (fun j => if m j then exp (s' j) else 0)); [reflexivity|]|];
    intros j Hj; specialize (Hs j Hj); specialize (Hv j Hj); destruct (m j); try reflexivity;
    rewrite ?Hs, ?Hv by reflexivity; reflexivity.
Qed.

(* Rows of consecutive keys, first to last: attention without a mask. *)
Lemma soft_attend s v n : soft (fun _ => true) s v n = attend s v n.
Proof.
  unfold soft, attend, weight, Rdiv at 1. rewrite Rmult_comm, <- sum_scal.
  apply sum_ext. intros. unfold Rdiv. ring.
Qed.

Lemma sum_prefix m f a n : (a <= n)%nat -> (forall j, m j = Nat.ltb j a) ->
  sum (fun j => if m j then f j else 0) n = sum f a.
Proof.
  intros H M. replace n with (a + (n - a))%nat by lia. rewrite sum_app.
  rewrite (sum_ext (fun j => if m (a + j)%nat then f (a + j)%nat else 0) (fun _ => 0)).
  2: { intros j _. rewrite M. destruct (Nat.ltb_spec (a + j) a); [lia|reflexivity]. }
  rewrite sum_const, Rmult_0_r, Rplus_0_r. apply sum_ext. intros j Hj. rewrite M.
  destruct (Nat.ltb_spec j a); [reflexivity|lia].
Qed.

Lemma sum_suffix m f a n : (a <= n)%nat -> (forall j, m j = Nat.leb a j) ->
  sum (fun j => if m j then f j else 0) n = sum (fun t => f (n - 1 - t)%nat) (n - a).
Proof.
  intros H M. rewrite sum_rev.
  rewrite (sum_ext _ (fun t => if Nat.ltb t (n - a) then f (n - 1 - t)%nat else 0)).
  - apply (sum_prefix (fun t => Nat.ltb t (n - a)) (fun t => f (n - 1 - t)%nat)); [lia|reflexivity].
  - intros t Ht. rewrite M. destruct (Nat.leb_spec a (n - 1 - t)), (Nat.ltb_spec t (n - a));
      (reflexivity || lia).
Qed.

(* the first a keys *)
Lemma soft_prefix m s v a n : (a <= n)%nat -> (forall j, m j = Nat.ltb j a) ->
  soft m s v n = attend s v a.
Proof.
  intros H M. rewrite <- soft_attend. unfold soft.
  rewrite !(sum_prefix m _ a n H M). reflexivity.
Qed.

(* the keys from a on, last to first *)
Lemma soft_suffix m s v a n : (a <= n)%nat -> (forall j, m j = Nat.leb a j) ->
  soft m s v n = attend (fun t => s (n - 1 - t)%nat) (fun t => v (n - 1 - t)%nat) (n - a).
Proof.
  intros H M. rewrite <- soft_attend. unfold soft.
  rewrite !(sum_suffix m _ a n H M). reflexivity.
Qed.
