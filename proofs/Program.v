(** Attention programs: signals with a value at every position, each computed from earlier ones by a
    gate or by hard attention. This file says what they mean; `Lowering` makes weights of them. *)
From Coq Require Import Arith NArith ZArith List Bool Lia.
From Softhat Require Import Formula.
Import ListNotations.

Inductive direction := Past | Future.
(* which keys j a query i sees: j <= i, j < i, j >= i, j > i, all *)
Inductive mask := AtMost | Below | AtLeast | Above | Any.
Definition sees (m : mask) (i j : nat) : bool :=
  match m with
  | AtMost => Nat.leb j i | Below => Nat.ltb j i | AtLeast => Nat.leb i j | Above => Nat.ltb i j
  | Any => true
  end.

(* A signal or its negation; no signal is the constant true. *)
Record literal := Lit { of : option nat; plain : bool }.

Inductive signal :=
  | Token (symbols : list nat)                    (* the symbol is one of these *)
  | Given (a : nat)                               (* a proposition or numerical predicate holds *)
  | And (ls : list literal)
  | Xor (l r : nat)
  | Latest (bad value : literal) (d : direction)  (* value at the last j <= i without bad, else
  false *)
  | StrictLatest (bad value : literal) (d : direction)              (* the same for j < i *)
  | Previous (value : literal) (d : direction)
  | Shift (value : literal) (c : nat) (d : direction)               (* value c positions back *)
  | Average (terms : list (Z * option nat)) (r : range)             (* Σ a·signal over a range *)
  | Sign (past future total : option nat) (position length threshold : Z)
  | Table (rows : list (list literal))            (* one of several conjunctions *)
  (* Heads that select: i selects the visible j at which, for some pair (q, k), q holds at i and
     k at j; by code: at which every k is what its q is at i. For words up to `longest`. *)
  | Match (pairs : list (literal * literal)) (value : literal) (m : mask) (longest : N)
  | At (digits : list (literal * literal)) (value : literal) (m : mask) (longest : N)
  | Width (pairs : list (literal * literal)) (m : mask) (longest : N)   (* how many are selected *)
  | Total (counts : list (Z * nat)) (most : nat)                    (* Σ a·count *)
  | Steps (count : nat) (turns : list nat)                 (* a bit that turns where the count does
  *)
  | Blend (pairs : list (literal * literal)) (terms : list (Z * option nat)) (m : mask)
    (longest : N).
                                           (* Σ a·signal over what is selected: its mean is
                                              returned *)

Definition program := list signal.

(* The symbol at each position, and which propositions and predicates hold there. *)
Record word := Word { symbol : nat -> nat; given : nat -> nat -> bool }.

(* The values of signals: bits, and for averages and blends the sums that they are the means of. *)
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

(* The future is the past of the reversed word: position i is the i-th from the start, or from
   the end. *)
Definition pos (d : direction) (i : nat) : nat := match d with Past => i | Future => S n - i end.
Definition seen (d : direction) (f : nat -> bool) : nat -> bool := fun t => f (pos d t).

Definition weigh (terms : list (Z * option nat)) (j : nat) : Z :=
  fold_right (fun t s => (fst t * (if lit (Lit (snd t) true) j then 1 else 0) + s)%Z) 0%Z terms.
Definition sum_over (f : nat -> Z) (l : list nat) : Z := fold_right (fun j s => (f j + s)%Z) 0%Z l.
Definition sum_of (a : option nat) (i : nat) : Z := match a with None => 0%Z
  | Some s => sums v s i end.

(* the ordinary positions that i sees; those that it selects *)
Definition visible (m : mask) (i : nat) : list nat := filter (sees m i) (seq 1 n).
Definition paired (i j : nat) (qk : literal * literal) : bool := lit (fst qk) i && lit (snd qk) j.
Definition chosen (pairs : list (literal * literal)) (i j : nat) :
  bool := existsb (paired i j) pairs.
Definition coded (digits : list (literal * literal)) (i j : nat) : bool :=
  forallb (fun qk => Bool.eqb (lit (fst qk) i) (lit (snd qk) j)) digits.
Definition some_chosen (choose : nat -> bool) (u : literal) (js : list nat) : bool :=
  existsb (fun j => choose j && lit u j) js.
Definition total_count (counts : list (Z * nat)) (i : nat) : Z :=
  fold_right (fun t s => (fst t * sums v (snd t) i + s)%Z) 0%Z counts.
Definition turned (turns : list nat) (count : Z) : bool :=
  Nat.odd (length (filter (fun k => Z.leb (Z.of_nat k) count) turns)).

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
  | Table rows => bit v s i = existsb (forallb (fun l => lit l i)) rows
  | Match ps u m _ => bit v s i = some_chosen (chosen ps i) u (visible m i)
  | At ds u m _ => bit v s i = some_chosen (coded ds i) u (visible m i)
  | Width ps m _ => sums v s i = Z.of_nat (length (filter (chosen ps i) (visible m i)))
  | Total cs _ => sums v s i = total_count cs i
  | Steps c ks => bit v s i = turned ks (sums v c i)
  | Blend ps ts m _ => sums v s i = sum_over (weigh ts) (filter (chosen ps i) (visible m i))
  end.

(* v is what the program computes on the word w of length n *)
Definition computes (p : program) : Prop :=
  forall s g, nth_error p s = Some g -> forall i, 1 <= i <= n -> means s g i.

(* What a program asks of a word, so that attention can compute it: the word is no longer than its
   heads are made for; the positions that a head reads agree on the value; no two pairs match at
   once; of a table at most one row holds; a mean is of at least one position. *)
Definition agreeing (choose : nat -> bool) (u : literal) (js : list nat) : bool :=
  forallb (fun j => negb (choose j) || lit u j) js || forallb (fun j =>
    negb (choose j) || negb (lit u j)) js.
Definition once (pairs : list (literal * literal)) (i : nat) (js : list nat) : bool :=
  forallb (fun j => Nat.leb (length (filter (paired i j) pairs)) 1) js.
Definition well_read (g : signal) (i : nat) : bool :=
  match g with
  | Match ps u m N =>
      N.leb (N.of_nat n) N && once ps i (visible m i) && agreeing (chosen ps i) u (visible m i)
  | At ds u m N => N.leb (N.of_nat n) N && agreeing (coded ds i) u (visible m i)
  | Width ps m N => N.leb (N.of_nat n) N && once ps i (visible m i)
  | Blend ps _ m N =>
      N.leb (N.of_nat n) N && once ps i (visible m i) && existsb (chosen ps i) (visible m i)
  | Table rows => Nat.leb (length (filter (forallb (fun l => lit l i)) rows)) 1
  | _ => true
  end.
Definition readable (p : program) : Prop :=
  forall s g, nth_error p s = Some g -> forall i, 1 <= i <= n -> well_read g i = true.
End Meaning.

(* Programs without heads that select and without tables ask nothing of a word. *)
Definition undemanding (g : signal) : bool :=
  match g with
  | Match _ _ _ _ | At _ _ _ _ | Width _ _ _ | Table _ | Blend _ _ _ _ => false
  | _ => true
  end.
Lemma undemanding_readable n v p : forallb undemanding p = true -> readable n v p.
Proof.
  intros U s g G i Hi. rewrite forallb_forall in U. specialize (U g (nth_error_In _ _ G)).
  destruct g; (reflexivity || discriminate).
Qed.
