(** Digits as formulas: which number they say, and which digit of a Gray code a move flips. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Histories Gray.
Import ListNotations.

Lemma equal_bits k x y : x < 2 ^ k -> y < 2 ^ k ->
  (forall b, b < k -> Nat.testbit x b = Nat.testbit y b) -> x = y.
Proof.
  intros X Y E. rewrite <- (Nat.mod_small x (2 ^ k)), <- (Nat.mod_small y (2 ^ k)) by assumption.
  apply Nat.bits_inj. intros b. destruct (Nat.lt_ge_cases b k) as [L|L].
  - rewrite !Nat.mod_pow2_bits_low by exact L. auto.
  - rewrite !Nat.mod_pow2_bits_high by exact L. reflexivity.
Qed.

Section Reading.
Context {token : Type} (same : token -> token -> bool).

(** A number below n: each is one conjunction of digits, and exactly one holds. A number without
    a rival that has the top digit set does not look at that digit. *)
Definition width (n : nat) : nat := Nat.log2_up n.
Definition looks (n s : nat) : nat :=
  let top := 2 ^ (width n - 1) in if (n - top <=? s) && (s <? top) then width n - 1 else width n.
(* digit b of what is read is the formula bit b *)
Definition reading (n : nat) (bit : nat -> form token) (s : nat) : form token :=
  all_of (map (fun b => if Nat.testbit s b then bit b else Not (bit b)) (seq 0 (looks n s))).

Lemma width_covers n : 0 < n -> n <= 2 ^ width n.
Proof.
  intros N. unfold width. destruct n as [|[|n]]; [lia|cbn; lia|]. apply Nat.log2_up_spec. lia.
Qed.

Lemma reading_holds n bit s x h : s < n -> x < n ->
  (forall b, b < width n -> holds same (bit b) h = Nat.testbit x b) ->
  holds same (reading n bit s) h = (s =? x).
Proof.
  intros S X B. unfold reading. rewrite all_of_holds. pose proof (width_covers n ltac:(lia)) as W.
  assert (Le : looks n s <= width n) by (unfold looks; destruct (_ && _); lia).
  apply eq_true_iff_eq. rewrite forallb_forall, Nat.eqb_eq. split.
  - intros H.
    assert (E : forall b, b < looks n s -> Nat.testbit s b = Nat.testbit x b).
    { intros b L. rewrite <- (B b) by lia.
      specialize (H (if Nat.testbit s b then bit b else Not (bit b))
        ltac:(apply in_map_iff; exists b; split; [reflexivity|apply in_seq; lia])).
      destruct (Nat.testbit s b); [now rewrite H|]. cbn in H. now apply negb_true_iff in H. }
    unfold looks in E. destruct ((n - 2 ^ (width n - 1) <=? s) && (s <? 2 ^ (width n - 1))) eqn:T.
    + apply andb_true_iff in T as [T1 T2]. apply Nat.leb_le in T1. apply Nat.ltb_lt in T2.
      set (top := 2 ^ (width n - 1)) in *.
      assert (M : s = x mod top).
      { apply (equal_bits (width n - 1)); [exact T2|apply Nat.mod_upper_bound; unfold top;
          apply Nat.pow_nonzero; lia|]. intros b L. unfold top. rewrite Nat.mod_pow2_bits_low
            by exact L. auto. }
      pose proof (Nat.div_mod x top ltac:(lia)) as D. rewrite <- M in D.
      assert (x / top = 0) as Z by (destruct (x / top); [reflexivity|nia]). rewrite Z in D. lia.
    + apply (equal_bits (width n)); (lia || auto).
  - intros <- f F. apply in_map_iff in F as (b & <- & I). apply in_seq in I.
    specialize (B b ltac:(lia)). destruct (Nat.testbit s b); cbn; now rewrite B.
Qed.

(** The digits of a cell, as formulas. *)
Variables (k : nat) (digit : nat -> form token).

Definition far_form (b : nat) : form token :=
  all_of (map (fun d => Not (digit d)) (seq 0 (b - 1))
    ++ [if b <? k - 1 then digit (b - 1) else Not (digit (b - 1))]).
Definition leaves_form : form token :=
  all_of (map (fun d => Not (digit d)) (seq 0 (k - 2)) ++ [digit (k - 2)]).

Lemma firstn_seq n : forall from size, n <= size -> firstn n (seq from size) = seq from n.
Proof.
  induction n as [|n IH]; intros from [|size] L; try lia; [reflexivity..|]. cbn. rewrite IH by lia.
  reflexivity.
Qed.
Lemma nth_map_seq {A} (f : nat -> A) d b : b < k -> nth b (map f (seq 0 k)) d = f b.
Proof.
  intros B. rewrite (nth_indep _ d (f 0)) by (rewrite map_length, seq_length; exact B).
  rewrite map_nth, seq_nth by exact B. reflexivity.
Qed.

Variables (h : list token) (c : Z).
Hypothesis told_digits : map (fun b => holds same (digit b) h) (seq 0 k) = digits k c.

Lemma digit_told b : b < k -> holds same (digit b) h = nth b (digits k c) false.
Proof. intros B. rewrite <- told_digits. now rewrite nth_map_seq. Qed.
Lemma none_set n : n <= k ->
  forallb (fun f => holds same f h) (map (fun d => Not (digit d)) (seq 0 n))
    = forallb negb (firstn n (digits k c)).
Proof.
  intros N. rewrite <- told_digits, firstn_map, firstn_seq by exact N.
  induction (seq 0 n) as [|d l IH]; [reflexivity|]. cbn. now rewrite IH.
Qed.
Lemma far_form_holds b : 0 < b < k -> holds same (far_form b) h = far_flips (digits k c) b.
Proof.
  intros B. unfold far_form, far_flips. rewrite all_of_holds, forallb_app, none_set, digits_length
    by lia.
  f_equal. destruct (b <? k - 1); cbn [forallb holds]; rewrite andb_true_r, digit_told by lia;
    reflexivity.
Qed.
Lemma leaves_form_holds : 2 <= k -> holds same leaves_form h = far_leaves (digits k c).
Proof.
  intros B. unfold leaves_form, far_leaves. rewrite all_of_holds, forallb_app, none_set,
    digits_length by lia.
  f_equal. cbn [forallb]. rewrite andb_true_r. apply digit_told. lia.
Qed.
End Reading.
