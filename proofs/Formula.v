(** Two-way linear temporal logic with counting: Y X S U, #, #>, #*, i, n. Words of length n have
    positions 1..n. A word says for each position which propositions hold there: the symbol (one-hot),
    sets of propositions, and any numerical predicate (mod, first, prime, ...) are all of this kind. *)
From Coq Require Import Reals Lra Lia Arith ZArith List Bool.
From Softhat Require Import Sums Attention Latest.
Import ListNotations.
Open Scope R_scope.

Inductive range := Before | After | All.

Inductive formula :=
  | Atom (a : nat)
  | Not (f : formula)
  | And (f g : formula)
  | Yesterday (f : formula)
  | Tomorrow (f : formula)
  | Since (f g : formula)
  | Until (f g : formula)
  | AtLeast (t : term) (k : Z)
with term :=
  | Zero
  | Count (r : range) (a : Z) (f : formula) (t : term)
  | Position (a : Z) (t : term)
  | Length (a : Z) (t : term).

Scheme formula_mut := Induction for formula Sort Prop
  with term_mut := Induction for term Sort Prop.
Combined Scheme formula_term_ind from formula_mut, term_mut.

Definition sinceb (f g : nat -> bool) (i : nat) : bool :=
  existsb (fun j => g j && forallb f (seq (S j) (i - j))) (seq 1 i).
Definition untilb (n : nat) (f g : nat -> bool) (i : nat) : bool :=
  existsb (fun j => g j && forallb f (seq i (j - i))) (seq i (S n - i)).
Definition span (r : range) (n i : nat) : list nat :=
  match r with Before => seq 1 i | After => seq i (S n - i) | All => seq 1 n end.

Section Meaning.
Variables (n : nat) (w : nat -> nat -> bool).
Fixpoint sat (p : formula) (i : nat) : bool :=
  match p with
  | Atom a => w i a
  | Not f => negb (sat f i)
  | And f g => sat f i && sat g i
  | Yesterday f => Nat.ltb 1 i && sat f (i - 1)
  | Tomorrow f => Nat.ltb i n && sat f (i + 1)
  | Since f g => sinceb (sat f) (sat g) i
  | Until f g => untilb n (sat f) (sat g) i
  | AtLeast t k => Z.leb k (total t i)
  end
with total (t : term) (i : nat) : Z :=
  match t with
  | Zero => 0
  | Count r a f t => a * Z.of_nat (length (filter (sat f) (span r n i))) + total t i
  | Position a t => a * Z.of_nat i + total t i
  | Length a t => a * Z.of_nat n + total t i
  end%Z.
End Meaning.

Fixpoint symbols (p : formula) : nat :=
  match p with
  | Atom a => S a
  | Not f | Yesterday f | Tomorrow f => symbols f
  | And f g | Since f g | Until f g => Nat.max (symbols f) (symbols g)
  | AtLeast t _ => symbols_term t
  end
with symbols_term (t : term) : nat :=
  match t with
  | Zero => O
  | Count _ _ f t => Nat.max (symbols f) (symbols_term t)
  | Position _ t | Length _ t => symbols_term t
  end.

(** * since on Booleans; every formula is false at <bos> = 0 *)

Definition ordinary (f : nat -> bool) (i : nat) : bool := negb (Nat.eqb i 0) && f i.

Lemma ordinary_pos f i : (1 <= i)%nat -> ordinary f i = f i.
Proof. intros H. unfold ordinary. destruct (Nat.eqb_spec i 0); [lia|reflexivity]. Qed.

Lemma sinceb_spec f g i :
  ordinary (sinceb f g) i = true
  <-> since (fun j => ordinary f j = true) (fun j => ordinary g j = true) i.
Proof.
  unfold sinceb, since. split.
  - intros H. unfold ordinary in H at 1. apply andb_true_iff in H as [_ H].
    apply existsb_exists in H as (j & Hj & H). apply in_seq in Hj.
    apply andb_true_iff in H as [G F]. rewrite forallb_forall in F.
    exists j. split; [lia|]. split; [rewrite ordinary_pos by lia; exact G|].
    intros k Hk. rewrite ordinary_pos by lia. apply F. apply in_seq. lia.
  - intros (j & Hj & G & F). unfold ordinary in G.
    apply andb_true_iff in G as [J G]. apply negb_true_iff, Nat.eqb_neq in J.
    rewrite ordinary_pos by lia. apply existsb_exists. exists j.
    split; [apply in_seq; lia|]. rewrite G. simpl. apply forallb_forall.
    intros k Hk. apply in_seq in Hk. specialize (F k ltac:(lia)).
    rewrite ordinary_pos in F by lia. exact F.
Qed.

(** * The future is the past, mirrored *)

Lemma until_mirror n f g i : (1 <= i <= n)%nat ->
  untilb n f g i = sinceb (fun t => f (S n - t)%nat) (fun t => g (S n - t)%nat) (S n - i).
Proof.
  intros Hi. apply eq_true_iff_eq. unfold untilb, sinceb. rewrite !existsb_exists. split.
  - intros (j & Hj & H). apply in_seq in Hj. apply andb_true_iff in H as [G F].
    rewrite forallb_forall in F. exists (S n - j)%nat. split; [apply in_seq; lia|].
    replace (S n - (S n - j))%nat with j by lia. rewrite G. apply forallb_forall.
    intros k Hk. apply in_seq in Hk. apply F, in_seq. lia.
  - intros (j & Hj & H). apply in_seq in Hj. apply andb_true_iff in H as [G F].
    rewrite forallb_forall in F. exists (S n - j)%nat. split; [apply in_seq; lia|].
    rewrite G. apply forallb_forall. intros k Hk. apply in_seq in Hk.
    replace k with (S n - (S n - k))%nat by lia. apply F, in_seq. lia.
Qed.

Lemma filter_sum f a k : INR (length (filter f (seq a k))) = sum (fun j => b2R (f (a + j)%nat)) k.
Proof.
  induction k; [reflexivity|]. rewrite seq_S, filter_app, app_length, plus_INR, IHk.
  cbn [sum]. f_equal. simpl. destruct (f (a + k)%nat); reflexivity.
Qed.
