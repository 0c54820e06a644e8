(** The laws that softhat's own checker relies on (`softhat.proof.operators`): for any formulas f
    and g both sides are true at the same positions of every word. The table has the names, the
    order and the sides of the Python one, and a test compares both. *)
From Coq Require Import Arith ZArith NArith List Bool Lia String.
From Softhat Require Import Sums Formula Surface Matching Matched.
Import ListNotations.
Open Scope string_scope.

Record law := Law { name : string; left : surface; right : surface }.

Section Laws.
Variables f g : surface.

Definition laws : list law := [
  Law "implies" (Implies f g) (Or (Not f) g);
  Law "iff" (Iff f g) (Not (Xor f g));
  Law "weak_yesterday" (WeakYesterday f) (Not (Yesterday (Not f)));
  Law "weak_tomorrow" (WeakTomorrow f) (Not (Tomorrow (Not f)));
  Law "once" (Once f) (Since (Constant true) f);
  Law "historically" (Historically f) (Not (Since (Constant true) (Not f)));
  Law "triggered" (Triggered f g) (Not (Since (Not f) (Not g)));
  Law "eventually" (Eventually f) (Until (Constant true) f);
  Law "always" (Always f) (Not (Until (Constant true) (Not f)));
  Law "release" (Release f g) (Not (Until (Not f) (Not g)));
  Law "weak_until" (WeakUntil f g) (Not (Until (Not g) (And (Not f) (Not g))));
  Law "strong_release" (StrongRelease f g) (Until g (And f g));
  Law "since_apart" (Since f g) (Since (And f (Not g)) g);
  Law "until_apart" (Until f g) (Until (And f (Not g)) g);
  Law "yesterday_not" (Yesterday (Not f)) (And (Not First) (Not (Yesterday f)));
  Law "tomorrow_not" (Tomorrow (Not f)) (And (Not Last) (Not (Tomorrow f)));
  Law "yesterday_true" (Yesterday (Constant true)) (Not First);
  Law "tomorrow_true" (Tomorrow (Constant true)) (Not Last);
  Law "since_step" (Since f g) (Or g (And f (Yesterday (Since f g))));
  Law "until_step" (Until f g) (Or g (And f (Tomorrow (Until f g))))].

Open Scope nat_scope.
Variables (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
Notation sat := (sat n w q).

Definition holds_at (i : nat) (x : law) : Prop := sat (left x) i = sat (right x) i.

Lemma since_step_at i : 1 <= i ->
  sinceb (sat f) (sat g) i = sat g i
    || (sat f i && (Nat.ltb 1 i && sinceb (sat f) (sat g) (i - 1))).
Proof.
  destruct i as [|i]; [lia|]. intros _. rewrite sinceb_step. replace (S i - 1) with i by lia.
  destruct (Nat.ltb_spec 1 (S i)); [reflexivity|]. replace i with 0 by lia. reflexivity.
Qed.

Lemma since_apart_at i :
  sinceb (sat f) (sat g) i = sinceb (fun j => sat f j && negb (sat g j)) (sat g) i.
Proof.
  induction i as [|i IH]; [reflexivity|]. rewrite !sinceb_step, <- IH.
  destruct (sat g (S i)), (sat f (S i)); reflexivity.
Qed.

(* the future is the past of the reversed word *)
Lemma until_step_at i : 1 <= i <= n ->
  untilb n (sat f) (sat g) i = sat g i
    || (sat f i && (Nat.ltb i n && untilb n (sat f) (sat g) (i + 1))).
Proof.
  intros Hi. rewrite (until_mirror n (sat f) (sat g) i Hi).
  replace (S n - i) with (S (n - i)) by lia. rewrite sinceb_step.
  replace (S n - S (n - i)) with i by lia. f_equal. f_equal.
  destruct (Nat.ltb_spec i n) as [L|L].
  - rewrite (until_mirror n (sat f) (sat g) (i + 1)) by lia.
    replace (S n - (i + 1)) with (n - i) by lia. reflexivity.
  - replace (n - i) with 0 by lia. reflexivity.
Qed.

Lemma until_apart_at i : 1 <= i <= n ->
  untilb n (sat f) (sat g) i = untilb n (fun j => sat f j && negb (sat g j)) (sat g) i.
Proof.
  intros Hi. rewrite !until_mirror by exact Hi. generalize (S n - i). intros t.
  induction t as [|t IH]; [reflexivity|].
  rewrite !sinceb_step, <- IH. destruct (sat g (S n - S t)), (sat f (S n - S t)); reflexivity.
Qed.

Theorem every_law : forall i, 1 <= i <= n -> Forall (holds_at i) laws.
Proof.
  intros i Hi. unfold laws, holds_at. repeat apply Forall_cons; [..|apply Forall_nil];
    cbn [left right Surface.sat].
  - destruct (sat f i); reflexivity.
  - destruct (sat f i), (sat g i); reflexivity.
  - rewrite negb_andb, negb_involutive, <- Nat.leb_antisym. reflexivity.
  - rewrite negb_andb, negb_involutive, <- Nat.leb_antisym. reflexivity.
  - symmetry. apply once_sat.
  - rewrite <- not_existsb, <- once_sat. reflexivity.
  - reflexivity.
  - symmetry. apply eventually_sat.
  - rewrite <- not_existsb, <- eventually_sat. reflexivity.
  - reflexivity.
  - apply weak_until.
  - reflexivity.
  - apply since_apart_at.
  - apply until_apart_at, Hi.
  - destruct (Nat.ltb_spec 1 i), (Nat.eqb_spec i 1); try lia; cbn; reflexivity.
  - destruct (Nat.ltb_spec i n), (Nat.eqb_spec i n); try lia; cbn; reflexivity.
  - destruct (Nat.ltb_spec 1 i), (Nat.eqb_spec i 1); try lia; reflexivity.
  - destruct (Nat.ltb_spec i n), (Nat.eqb_spec i n); try lia; reflexivity.
  - apply since_step_at. lia.
  - apply until_step_at, Hi.
Qed.
End Laws.
