(** Two-way linear temporal logic with counting: Y X S U, #, #>, #*, i, n. Words of length n have
    positions 1..n. A word says for each position which propositions hold there: the symbol
    (one-hot), sets of propositions, and any numerical predicate (mod, first, prime, ...) are all
    of this kind. *)
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
