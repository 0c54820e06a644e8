(** Attention programs: signals with a value at every position, each computed from earlier ones by a
    gate or by hard attention. This file says what they mean; `Lowering` makes weights of them. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Softhat Require Import Formula.
Import ListNotations.

Inductive direction := Past | Future.

(* A signal or its negation; no signal is the constant true. *)
Record literal := Lit { of : option nat; plain : bool }.

Inductive signal :=
  | Token (symbols : list nat)                    (* the symbol is one of these *)
  | Given (a : nat)                               (* a proposition or numerical predicate holds *)
  | And (ls : list literal)
  | Xor (l r : nat)
  | Latest (bad value : literal) (d : direction)  (* value at the last j <= i without bad, else false *)
  | StrictLatest (bad value : literal) (d : direction)              (* the same for j < i *)
  | Previous (value : literal) (d : direction)
  | Shift (value : literal) (c : nat) (d : direction)               (* value c positions back *)
  | Average (terms : list (Z * option nat)) (r : range)             (* Σ a·signal over a range *)
  | Sign (past future total : option nat) (position length threshold : Z).

Definition program := list signal.

(* The symbol at each position, and which propositions and predicates hold there. *)
Record word := Word { symbol : nat -> nat; given : nat -> nat -> bool }.

(* The values of signals: bits, and for averages the sums that they are the means of. *)
Record valuation := Valuation { bit : nat -> nat -> bool; sums : nat -> nat -> Z }.

(* walk back to the last position that is not bad *)
Fixpoint latestb (bad value : nat -> bool) (t : nat) : bool :=
  match t with
  | O => false
  | S t' => if bad t then latestb bad value t' else value t
  end.

Section Meaning.
Variables (n : nat) (w : word) (v : valuation).

Definition lit (l : literal) (i : nat) : bool :=
  match of l with None => plain l | Some s => Bool.eqb (plain l) (bit v s i) end.

(* The future is the past of the reversed word: position i is the i-th from the start, or from the end. *)
Definition pos (d : direction) (i : nat) : nat := match d with Past => i | Future => S n - i end.
Definition seen (d : direction) (f : nat -> bool) : nat -> bool := fun t => f (pos d t).

Definition weigh (terms : list (Z * option nat)) (j : nat) : Z :=
  fold_right (fun t s => (fst t * (if lit (Lit (snd t) true) j then 1 else 0) + s)%Z) 0%Z terms.
Definition sum_over (f : nat -> Z) (l : list nat) : Z := fold_right (fun j s => (f j + s)%Z) 0%Z l.
Definition sum_of (a : option nat) (i : nat) : Z := match a with None => 0%Z | Some s => sums v s i end.

Definition means (s : nat) (g : signal) (i : nat) : Prop :=
  match g with
  | Token l => bit v s i = existsb (Nat.eqb (symbol w i)) l
  | Given a => bit v s i = given w i a
  | And ls => bit v s i = forallb (fun l => lit l i) ls
  | Xor l r => bit v s i = xorb (bit v l i) (bit v r i)
  | Latest b u d => bit v s i = latestb (seen d (lit b)) (seen d (lit u)) (pos d i)
  | StrictLatest b u d => bit v s i = latestb (seen d (lit b)) (seen d (lit u)) (pos d i - 1)
  | Previous u d => bit v s i = Nat.ltb 1 (pos d i) && seen d (lit u) (pos d i - 1)
  | Shift u c d => bit v s i = Nat.ltb c (pos d i) && seen d (lit u) (pos d i - c)
  | Average ts r => sums v s i = sum_over (weigh ts) (span r n i)
  | Sign p f t a b k =>
      bit v s i = Z.leb k (sum_of p i + sum_of f i + sum_of t i + a * Z.of_nat i + b * Z.of_nat n)
  end.

(* v is what the program computes on the word w of length n *)
Definition computes (p : program) : Prop :=
  forall s g, nth_error p s = Some g -> forall i, 1 <= i <= n -> means s g i.
End Meaning.
