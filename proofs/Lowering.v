(** From a scheduled attention program to weights. A plan says which heads and gates stand in
    which layer, in which coordinates they write and which coordinates are cleared; a layout says
    what each coordinate of the residual stream holds. Lowering a plan gives rational weights, or
    nothing where the plan reads what is not there, overwrites what is still in use, or stores a
    gate under the wrong name: so it checks any scheduler's work. `Lowered` proves the weights
    right. *)
From Coq Require Import QArith NArith ZArith Arith List Bool Lia.
From Softhat Require Import Formula Program.
Import ListNotations.
Open Scope nat_scope.

(** * What a coordinate may hold *)

(* position features, divided by P or not *)
Inductive feature :=
  | One | Ordinary (divided : bool) | Index (divided : bool) | Reverse (divided : bool)
  | Alternating (divided : bool)
  | Residue (modulus residue : nat).        (* 1 where i has the residue, 0 at the sinks *)

Inductive content :=
  | Empty                                 (* 0 everywhere *)
  | Feature (f : feature)
  | Bit (s : nat)                         (* the signal's bit, exactly, 0 at the sinks *)
  | Raw (s : nat) (wide : bool)           (* what a head returned for it, in [0, 1] *)
  | Mean (s : nat) (scale : positive)     (* an average, divided by a power of two *)
  | Share (s : nat)                       (* what a Width returned: σ/(σ + count + ε), σ sinks *)
  | Decoded (s : nat)                     (* the signal's bit, exactly; at the sinks in [0, 1] *)
  | Whole (s : nat)                       (* a Total, exactly; anything at the sinks *)
  | Mixed (s : nat) (q : positive).       (* what a Blend returned, divided by its scale *)
Definition layout := list content.

(* a number that says how sharp a Blend is, and by which power of two it is divided *)
Definition sharpness_in (q : positive) : positive := Z.to_pos (Zpos q mod 1024).
Definition scale_in (q : positive) : positive := Z.to_pos (2 ^ (Zpos q / 1024)).

Definition content_eq (a b : content) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

Fixpoint place (k : content) (l : layout) : option nat :=
  match l with
  | [] => None
  | k' :: l => if content_eq k k' then Some 0 else option_map S (place k l)
  end.
Fixpoint set (l : layout) (c : nat) (k : content) : layout :=
  match l, c with
  | [], _ => []
  | _ :: l, O => k :: l
  | k' :: l, S c => k' :: set l c k
  end.
Definition find_mean (s : nat) (l : layout) : option (nat * positive) :=
  let fix go (l : layout) (c : nat) :=
    match l with
    | [] => None
    | Mean s' q :: l => if Nat.eqb s s' then Some (c, q) else go l (S c)
    | _ :: l => go l (S c)
    end in go l 0.

(** * Weights *)

Definition form := list (nat * Q).
Record head := Head {
  rows : list (form * form); over : mask; values : list (form * nat); cold : Q; steady : bool }.
Record unit := Unit { input : form; bias : Q; output : form }.
Record layer := Layer { heads : list head; units : list unit; shift : form }.
Record readout := Readout { row : form; offset : Q }.

Notation "x <- e ;; f" := (match e with Some x => f | None => None end)
  (at level 61, e at next level, right associativity).
Notation "' p <- e ;; f" := (match e with Some p => f | None => None end)
  (at level 61, p pattern, e at next level, right associativity).

Fixpoint every {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with [] => Some [] | a :: l => b <- f a;; bs <- every f l;; Some (b :: bs) end.

(** * Plans *)

(* a signal of a head, where it is written, and a number: the scale of an Average, the steepness
   of a Sign, the modulus of a Shift, the sharpness of a head that selects (of a Blend its scale,
   too) *)
Record member := Member { signal_of : nat; target : nat; number : positive }.
Record group := Group { members : list member; wide : bool }.
(* a literal, and the coordinate it is read from *)
Definition term := list (literal * nat).
Record gate := Gate { stored : nat; at_ : nat; terms : list term; complement : bool }.
(* A step of a count: 1 if the signal `counted` is at least `least`, else 0. It rises between low
   and high, and is written, times a weight, to some coordinates. *)
Record step := Step {
  counted : nat; least : nat; low_end : Q; high_end : Q; outs : list (nat * Z) }.
(* steps add up to these signals, each with its coordinate *)
Record plan := Plan {
  groups : list group; gates : list gate; steps : list step; decoded : list (nat * nat);
  clears : list nat }.
Record result := Result { literal_of : literal; reads : term }.

Section Lower.
Variables (p : program) (alphabet : nat) (scaled eos : bool) (sharpness : Q).

Definition unit_feature := Ordinary scaled.
Definition toward (d : direction) := match d with Past => Index scaled
  | Future => Reverse scaled end.
(* a weight that is divided by C where the temperature carries it *)
Definition weight (C x : Q) : Q := if scaled then (x / C)%Q else x.

(** ** Rows *)

Section Rows.
Variable l : layout.

Definition feat (f : feature) : option nat := place (Feature f) l.

(* a stored bit or its negation, 0 at the sinks *)
Definition bit_row (x : literal) : option form :=
  match of x, plain x with
  | None, true => o <- feat (Ordinary false);; Some [(o, 1%Q)]
  | None, false => Some []
  | Some s, true => c <- place (Bit s) l;; Some [(c, 1%Q)]
  | Some s, false => c <- place (Bit s) l;; o <- feat (Ordinary false);;
    Some [(c, (-1)%Q); (o, 1%Q)]
  end.

Definition latest_rows (C : Q) (bad : literal) (d : direction) : option (list (form * form)) :=
  here <- feat (toward d);; one <- feat One;; b <- bit_row bad;;
  let c := weight C C in
  Some [((if scaled then [(one, (-2)%Q)] else [(here, (-2 * c)%Q)]), b);
        ([(one, c)], [(here, 1%Q)]); ([(here, (- c)%Q)], [(one, 1%Q)])].

Definition previous_rows (C : Q) (d : direction) : option (list (form * form)) :=
  here <- feat (toward d);; one <- feat One;; u <- feat (if scaled then Ordinary true else One);;
  a <- feat (Alternating false);; a' <- feat (Alternating scaled);;
  let c := weight C C in
  Some [([(one, c)], [(here, 1%Q)]); ([(here, (- c)%Q); (u, (-2 * c)%Q)], [(one, 1%Q)]);
        ([(a, (-2 * c)%Q)], [(a', 1%Q)])].

(* j loses the penalty unless it has the residue of i - c (of i + c) *)
Definition residue_rows (pen : Q) (m back : nat) : option (list (form * form)) :=
  o <- feat (Ordinary false);;
  every (fun r => q <- feat (Residue m (Nat.modulo (r + back) m));; k <- feat (Residue m r);;
                  Some ([(q, (- pen)%Q)], [(o, 1%Q); (k, (-1)%Q)])) (seq 0 m).
Definition shift_rows (C : Q) (c : nat) (d : direction) (m : nat) : option (list (form * form)) :=
  if Nat.leb 1 c && Nat.ltb c m then
    here <- feat (toward d);; one <- feat One;;
    let w := weight C C in
    let pen := if scaled then 2%Q else (w * inject_Z (Z.of_nat c + 3))%Q in
    rs <- residue_rows pen m (match d with Past => c | Future => m - c end);;
    Some (([(one, w)], [(here, 1%Q)]) :: ([(here, (- w)%Q)], [(one, 1%Q)]) :: rs)
  else None.

(* 1 where the literal holds, -1 where it does not, 0 at the sinks *)
Definition digit_row (x : literal) : option form :=
  o <- feat (Ordinary false);;
  let sign := if plain x then 1%Q else (-1)%Q in
  match of x with
  | None => Some [(o, sign)]
  | Some s => c <- place (Bit s) l;; Some [(c, (2 * sign)%Q); (o, (- sign)%Q)]
  end.
(* 1 at the sinks, 0 elsewhere *)
Definition sink_row : option form :=
  one <- feat One;; o <- feat (Ordinary false);; Some [(one, 1%Q); (o, (-1)%Q)].
Definition times_row (a : Q) (f : form) : form := map (fun e => (fst e, (a * snd e)%Q)) f.
(* scores a·(how many pairs match), and b at the sinks *)
Definition pair_rows (a b : Q) (ps : list (literal * literal)) : option (list (form * form)) :=
  rs <- every (fun qk => q <- bit_row (fst qk);; k <- bit_row (snd qk);; Some (times_row a q, k))
    ps;;
  one <- feat One;; s <- sink_row;; Some (([(one, b)], s) :: rs).
(* scores a·(digits that agree less digits that do not), a·(their number - 1) at the sinks *)
Definition code_rows (a : Q) (ds : list (literal * literal)) : option (list (form * form)) :=
  rs <- every (fun qk => q <- digit_row (fst qk);; k <- digit_row (snd qk);;
    Some (times_row a q, k)) ds;;
  one <- feat One;; s <- sink_row;;
  Some (([(one, (a * inject_Z (Z.of_nat (length ds) - 1))%Q)], s) :: rs).

Definition mean_row (g : Q) (a : option nat) (key : list feature) : option (list (form * form)) :=
  match a with
  | None => Some []
  | Some s =>
      '(c, q) <- find_mean s l;; k <- every feat key;;
      Some [([(c, (g * inject_Z (Zpos q))%Q)], map (fun f => (f, 1%Q)) k)]
  end.

(* only future counts: read from the right *)
Definition sign_direction (past future total : option nat) : direction :=
  match past, total, future with None, None, Some _ => Future | _, _, _ => Past end.

Definition sign_rows (C : Q) (past future total : option nat) (position length threshold : Z)
    (steep : positive) : option (list (form * form)) :=
  let d := sign_direction past future total in
  here <- feat (toward d);; one <- feat One;; o <- feat (Ordinary false);; u <- feat unit_feature;;
  let g := weight C (4 * C)%Q in
  let D := weight C (inject_Z (Zpos steep)) in
  x <- mean_row g past [Index scaled; unit_feature];;
  t <- mean_row g total [Index scaled; Reverse scaled; unit_feature];;
  z <- mean_row g future [Reverse scaled; unit_feature];;
  line <- (if Z.eqb position 0 && Z.eqb length 0 then Some [] else
             i <- feat (Index scaled);;
             if Z.eqb length 0 then Some [([(i, inject_Z position)], [(o, g)])] else
             r <- feat (Reverse scaled);;
             Some [([(i, inject_Z (position + length)); (r, inject_Z length)], [(o, g)])]);;
  Some (x ++ t ++ z ++ line
        ++ [([(u, (- (inject_Z (threshold + length) - (1 # 2)))%Q)], [(o, g)]);
            ([(one, D)], [(here, 1%Q)]); ([(here, (-1)%Q)], [(o, D)])]).

(** ** Heads *)

(* the least and the greatest value of Σ a·signal: exact for token bits, safe for the others *)
Definition token_part (ts : list (Z * option nat)) (k : nat) : Z :=
  fold_right (fun t s => (match snd t with
    | Some x => match nth_error p x with
                | Some (Token set) => if existsb (Nat.eqb k) set then fst t else 0
                | _ => 0 end
    | None => 0 end + s)%Z) 0%Z ts.
Definition other_part (f : Z -> Z) (ts : list (Z * option nat)) : Z :=
  fold_right (fun t s => (match snd t with
    | Some x => match nth_error p x with Some (Token _) => 0 | _ => f (fst t) end
    | None => fst t end + s)%Z) 0%Z ts.
Definition tokens (ts : list (Z * option nat)) : list Z := map (token_part ts) (seq 0 alphabet).
Definition low (ts : list (Z * option nat)) : Z :=
  (other_part (Z.min 0) ts + match tokens ts with [] => 0 | a :: l => fold_right Z.min a l end)%Z.
Definition high (ts : list (Z * option nat)) : Z :=
  (other_part (Z.max 0) ts + match tokens ts with [] => 0 | a :: l => fold_right Z.max a l end)%Z.
Definition terms_of (a : option nat) : list (Z * option nat) :=
  match a with Some s => match nth_error p s with Some (Average ts _) => ts | _ => [] end
    | None => [] end.
(* how much a step away from i can gain *)
Definition opposed (past future total : option nat) : Z :=
  match sign_direction past future total with
  | Past => Z.max 0 (- low (terms_of past)) + Z.max 0 (high (terms_of future))
  | Future => Z.max 0 (- low (terms_of future))
  end%Z.

Definition over_range (r : range) : mask := match r with Before => AtMost | After => AtLeast
  | All => Any end.
Definition ranged (a : option nat) (r : range) : bool :=
  match a with
  | None => true
  | Some s => match nth_error p s with
              | Some (Average _ r') => match r, r' with Before, Before | After, After | All,
                All => true | _, _ => false end
              | _ => false end
  end.

(* Is K sharp enough for words up to N? With u = (10/27)^K >= e^-K: N·u² + 2u and N·u are what a
   head that selects puts elsewhere. *)
Definition sharp_enough (K : positive) (N : N) (most : Q) : bool :=
  let u := Qpower (10 # 27) (Zpos K) in
  let n := inject_Z (Z.of_N N) in
  Qle_bool (n * u * u + 2 * u)%Q most && Qle_bool (n * u)%Q most && N.leb 1 N.
(* what a head of this sharpness puts elsewhere if it selects anything *)
Definition spill (K : positive) (N : N) : Q :=
  let u := Qpower (10 # 27) (Zpos K) in (inject_Z (Z.of_N N) * u * u + 2 * u)%Q.
(* how far a head may be from its signal's bit: e^-C and a little more for C >= 4, and twice that
   C *)
Definition slack (w : bool) : Q := if w then (1 # 2304) else (1 # 48).

(* Where temperatures are scaled, the sharpness of a head is its share of the inverse temperature;
   heads that select have one of their own, whatever the length. Else it is all in the weights. *)
Definition own_heat (g : signal) (q : positive) : option Q :=
  match g with
  | Match _ _ _ _ | At _ _ _ _ => Some (2 * inject_Z (Zpos q))%Q
  | Width _ _ _ => Some (inject_Z (Zpos q))
  | Blend _ _ _ _ => Some (2 * inject_Z (Zpos (sharpness_in q)))%Q
  | _ => None
  end.
Definition heat (C : Q) (g : signal) (q : positive) : Q * bool :=
  if scaled then match own_heat g q with Some b => (b, true) | None => (C, false) end
  else (1%Q, false).

(* the scores of a head that computes g, and its value *)
Definition scores (C : Q) (wide : bool) (g : signal) (q : positive) :
  option (list (form * form) * mask) :=
  match g with
  | Latest b _ d => r <- latest_rows C b d;; Some (r, match d with Past => AtMost
    | Future => AtLeast end)
  | StrictLatest b _ d => r <- latest_rows C b d;; Some (r, match d with Past => Below
    | Future => Above end)
  | Previous _ d => r <- previous_rows C d;; Some (r, match d with Past => AtMost
    | Future => AtLeast end)
  | Shift _ c d =>
      r <- shift_rows C c d (Pos.to_nat q);; Some (r, match d with Past => AtMost
        | Future => AtLeast end)
  | Average _ r => Some ([], over_range r)
  | Sign x z t a b k =>
      if ranged x Before && ranged z After && ranged t All
         && Qle_bool (4 * C * inject_Z (opposed x z t + 1)) (inject_Z (Zpos q))
      then r <- sign_rows C x z t a b k q;;
           Some (r, match sign_direction x z t with Past => AtMost | Future => AtLeast end)
      else None
  | Match ps _ m N =>
      let K := inject_Z (Zpos q) in
      if sharp_enough q N (slack wide) then
        r <- pair_rows (weight (2 * K) (2 * K)) (weight (2 * K) K) ps;; Some (r, m)
      else None
  | At ds _ m N =>
      let K := inject_Z (Zpos q) in
      if sharp_enough q N (slack wide) then
        r <- code_rows (weight (2 * K) K) ds;; Some (r, m)
      else None
  | Width ps m N =>
      let K := inject_Z (Zpos q) in
      if sharp_enough q N (1 # 8) then
        r <- pair_rows (weight K K) (weight K K) ps;; Some (r, m)
      else None
  | Blend ps _ m _ =>
      let K := inject_Z (Zpos (sharpness_in q)) in
      r <- pair_rows (weight (2 * K) (2 * K)) (weight (2 * K) K) ps;; Some (r, m)
  | _ => None
  end.
Definition value_row (g : signal) (q : positive) : option form :=
  match g with
  | Latest _ u _ | StrictLatest _ u _ | Previous u _ | Shift u _ _ => bit_row u
  | Match _ u _ _ | At _ u _ _ => bit_row u
  | Width _ _ _ => sink_row
  | Average ts _ =>
      every (fun t => c <- match snd t with Some s => place (Bit s) l
        | None => feat (Ordinary false) end;;
                      Some (c, fst t # q)) ts
  | Blend _ ts _ _ =>
      every (fun t => c <- match snd t with Some s => place (Bit s) l
        | None => feat (Ordinary false) end;;
                      Some (c, fst t # scale_in q)) ts
  | Sign _ _ _ _ _ _ => o <- feat (Ordinary false);; Some [(o, 1%Q)]
  | _ => None
  end.
Definition written (g : signal) (s : nat) (q : positive) (wide : bool) : content :=
  match g with
  | Average _ _ => Mean s q
  | Width _ _ _ => Share s
  | Blend _ _ _ _ => Mixed s q
  | _ => Raw s wide
  end.
(* a head that looks to the right needs <eos>, and so does an average over everything *)
Definition sighted (g : signal) (m : mask) : bool :=
  match m, g with
  | AtMost, _ | Below, _ => true
  | Any, Match _ _ _ _ | Any, At _ _ _ _ | Any, Width _ _ _ | Any, Blend _ _ _ _ => true
  | _, _ => eos
  end.
End Rows.

Definition form_eq (a b : form) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition mask_eq (a b : mask) : {a = b} + {a <> b}.
Proof. decide equality. Defined.
Definition scores_eq (a b : list (form * form) * mask) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition heat_eq (a b : Q * bool) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

Definition write (l : layout) (c : nat) (k : content) : option layout :=
  match nth_error l c with Some Empty => Some (set l c k) | _ => None end.

(* one member: what it reads of the layout before the layer, what it leaves *)
Definition lower_member (l : layout) (C : Q) (w : bool) (sc : list (form * form) * mask)
    (t : Q * bool) (m : member) (l' : layout) : option (form * nat * layout) :=
  g <- nth_error p (signal_of m);;
  sc' <- scores l C w g (number m);;
  v <- value_row l g (number m);;
  l'' <- write l' (target m) (written g (signal_of m) (number m) w);;
  if scores_eq sc sc' then
    if heat_eq t (heat C g (number m)) then
      if sighted g (snd sc) then Some (v, target m, l'') else None
    else None
  else None.

Fixpoint lower_members (l : layout) (C : Q) (w : bool) (sc : list (form * form) * mask)
    (t : Q * bool) (ms : list member) (l' : layout) : option (list (form * nat) * layout) :=
  match ms with
  | [] => Some ([], l')
  | m :: ms =>
      '(v, c, l1) <- lower_member l C w sc t m l';;
      '(vs, l2) <- lower_members l C w sc t ms l1;;
      Some ((v, c) :: vs, l2)
  end.

Definition lower_group (l : layout) (gr : group) (l' : layout) : option (head * layout) :=
  let C := if wide gr then (2 * sharpness)%Q else sharpness in
  match members gr with
  | [] => None
  | m :: _ =>
      g <- nth_error p (signal_of m);;
      sc <- scores l C (wide gr) g (number m);;
      let t := heat C g (number m) in
      '(vs, l1) <- lower_members l C (wide gr) sc t (members gr) l';;
      Some (Head (fst sc) (snd sc) vs (fst t) (snd t), l1)
  end.

Fixpoint lower_groups (l : layout) (gs : list group) (l' : layout) : option (list head * layout) :=
  match gs with
  | [] => Some ([], l')
  | g :: gs =>
      '(h, l1) <- lower_group l g l';;
      '(hs, l2) <- lower_groups l gs l1;;
      Some (h :: hs, l2)
  end.

(** ** Gates *)

(* what is known of signals: some, by assumption; gates, from their definition *)
Definition knowledge := list (nat * bool).
Fixpoint known (e : knowledge) (s : nat) : option bool :=
  match e with [] => None | (s', b) :: e => if Nat.eqb s s' then Some b else known e s end.
Definition and3 (a b : option bool) : option bool :=
  match a, b with
  | Some false, _ | _, Some false => Some false
  | Some true, Some true => Some true
  | _, _ => None
  end.
Definition or3 (a b : option bool) : option bool :=
  match a, b with
  | Some true, _ | _, Some true => Some true
  | Some false, Some false => Some false
  | _, _ => None
  end.
Definition xor3 (a b : option bool) : option bool :=
  match a, b with Some a, Some b => Some (xorb a b) | _, _ => None end.
Definition lit3 (f : nat -> option bool) (x : literal) : option bool :=
  match of x with
  | None => Some (plain x)
  | Some s => match f s with Some b => Some (Bool.eqb (plain x) b) | None => None end
  end.
Fixpoint value3 (fuel : nat) (e : knowledge) (s : nat) : option bool :=
  match known e s with
  | Some b => Some b
  | None =>
      match fuel with
      | O => None
      | S fuel =>
          match nth_error p s with
          | Some (And ls) => fold_right (fun x a => and3 (lit3 (value3 fuel e) x) a) (Some true) ls
          | Some (Xor a b) => xor3 (value3 fuel e a) (value3 fuel e b)
          | Some (Table rows) =>
              fold_right (fun r a =>
                or3 (fold_right (fun x a => and3 (lit3 (value3 fuel e) x) a) (Some true) r) a)
                (Some false) rows
          | _ => None
          end
      end
  end.
Definition term3 (e : knowledge) (t : term) : option bool :=
  fold_right (fun x a => and3 (lit3 (known e) (fst x)) a) (Some true) t.

(* What cannot be, because comparisons are ordered and a position has one symbol: at least k' but
   not at least k <= k'; two disjoint sets of symbols. *)
Definition option_eqb (a b : option nat) : bool :=
  match a, b with Some s, Some t => Nat.eqb s t | None, None => true | _, _ => false end.
Definition excludes (a b : nat * bool) : bool :=
  match nth_error p (fst a), nth_error p (fst b) with
  | Some (Sign x z t i k c), Some (Sign x' z' t' i' k' c') =>
      negb (snd a) && snd b && option_eqb x x' && option_eqb z z' && option_eqb t t'
      && Z.eqb i i' && Z.eqb k k' && Z.leb c c'
  | Some (Token set), Some (Token set') =>
      snd a && snd b && forallb (fun c => negb (existsb (Nat.eqb c) set')) set
  | _, _ => false
  end.
Definition refuted (e : knowledge) (a : nat * bool) : bool :=
  existsb (fun b => match known e (fst b) with
    | Some c => excludes a (fst b, c) || excludes (fst b, c) a
    | None => false
    end) e.

(* Whatever the leaves are, exactly one term holds if the signal does (does not, for a complement),
   and none otherwise. By cases, only as far as needed. *)
Fixpoint agree (vars : list nat) (e : knowledge) (s : nat) (ts : list term) (complement : bool) :
  bool :=
  match value3 (length p) e s, every (term3 e) ts with
  | Some b, Some bs => Nat.eqb (count_occ Bool.bool_dec bs true) (if xorb b complement then 1
    else 0)
  | _, _ =>
      match vars with
      | [] => false
      | x :: vars =>
          (refuted e (x, true) || agree vars ((x, true) :: e) s ts complement)
          && (refuted e (x, false) || agree vars ((x, false) :: e) s ts complement)
      end
  end.
Definition leaves (ts : list term) : list nat :=
  nodup Nat.eq_dec (flat_map (fun t => flat_map (fun x => match of (fst x) with Some s => [s]
    | None => [] end) t) ts).

Definition literal_slack (l : layout) (x : literal * nat) : option Q :=
  match of (fst x), nth_error l (snd x) with
  | Some s, Some (Bit s') => if Nat.eqb s s' then Some 0%Q else None
  | Some s, Some (Decoded s') => if Nat.eqb s s' then Some 0%Q else None
  | Some s, Some (Raw s' w) => if Nat.eqb s s' then Some (slack w) else None
  | _, _ => None
  end.
(* the errors of a conjunction's literals together *)
Definition term_slack (l : layout) (t : term) : option Q :=
  qs <- every (literal_slack l) t;; Some (fold_right Qplus 0%Q qs).

Definition sign_of (x : literal) : Q := if plain x then 1%Q else (-1)%Q.
Definition positives (t : term) : nat := length (filter (fun x => plain (fst x)) t).

(* ordinary + Σ (x - 1 for a positive literal x) - Σ (x for a negated one) *)
Definition term_row (l : layout) (t : term) : option form :=
  o <- feat l (Ordinary false);; one <- feat l One;; q <- term_slack l t;;
  if Qle_bool q (5 # 8) then
    Some ((o, 1%Q) :: (if Nat.eqb (positives t) 0 then []
      else [(one, (- inject_Z (Z.of_nat (positives t)))%Q)])
          ++ map (fun x => (snd x, sign_of (fst x))) t)
  else None.

(* 8(ReLU(s - 1/4) - ReLU(s - 3/8)) for each term *)
Definition term_units (l : layout) (g : gate) (t : term) : option (list unit) :=
  r <- term_row l t;;
  let w := if complement g then (-8)%Q else 8%Q in
  Some [Unit r (- (1 # 4))%Q [(at_ g, w)]; Unit r (- (3 # 8))%Q [(at_ g, (- w)%Q)]].

(* The signals under a gate that are no gates: a gate may rest on how they are ordered. Few, or the
   cases would be too many. *)
Fixpoint cone (fuel : nat) (s : nat) : list nat :=
  match fuel with
  | O => []
  | S fuel =>
      match nth_error p s with
      | Some (And ls) => flat_map (fun x => match of x with Some s => cone fuel s
        | None => [] end) ls
      | Some (Xor a b) => cone fuel a ++ cone fuel b
      | _ => [s]
      end
  end.
Definition more_leaves (s : nat) (ts : list term) : list nat :=
  let few := leaves ts in
  let others := nodup Nat.eq_dec (filter (fun x => negb (existsb (Nat.eqb x) few))
    (cone (length p) s)) in
  few ++ (if Nat.leb (length others) 8 then others else []).

(* a table, whose rows are the terms as they are: at most one holds, as it was promised *)
Definition literal_eq (a b : literal) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition tabled (g : gate) : bool :=
  match nth_error p (stored g) with
  | Some (Table rows) =>
      negb (complement g)
      && (if list_eq_dec (list_eq_dec literal_eq) (map (map fst) (terms g)) rows then true
        else false)
  | _ => false
  end.

Definition gate_units (l : layout) (g : gate) : option (list unit) :=
  us <- every (term_units l g) (terms g);;
  if tabled g || agree (leaves (terms g)) [] (stored g) (terms g) (complement g)
     || agree (more_leaves (stored g) (terms g)) [] (stored g) (terms g) (complement g)
  then Some (concat us) else None.

Fixpoint write_gates (l : layout) (gs : list gate) : option layout :=
  match gs with
  | [] => Some l
  | g :: gs => l' <- write l (at_ g) (Bit (stored g));; write_gates l' gs
  end.

(** ** Counts *)

(* how many sinks a query of the word sees *)
Definition sinks_seen (m : mask) : Z := match m with Any => if eos then 2 else 1 | _ => 1 end%Z.

(* Between which values of the coordinate the step rises: σ/(σ + k) <= low and
   high <= σ/(σ + k - 1 + 1/8) for a share, k - 1 <= low and high <= k for a whole number. *)
Definition step_units (l : layout) (s : step) : option (list unit) :=
  let k := inject_Z (Z.of_nat (least s)) in
  let gain := (/ (high_end s - low_end s))%Q in
  let out (a : Q) := map (fun o => (fst o, (a * inject_Z (snd o))%Q)) (outs s) in
  if Nat.leb 1 (least s) && negb (Qle_bool (high_end s) (low_end s)) then
    match nth_error p (counted s) with
    | Some (Width _ m _) =>
        c <- place (Share (counted s)) l;;
        let sinks := inject_Z (sinks_seen m) in
        if Qle_bool sinks (low_end s * (sinks + k))
           && Qle_bool (high_end s * (sinks + k - 1 + (1 # 8))) sinks
        then Some [Unit [(c, (-1)%Q)] (high_end s) (out gain);
                   Unit [(c, (-1)%Q)] (low_end s) (out (- gain)%Q)]
        else None
    | Some (Total _ _) =>
        c <- place (Whole (counted s)) l;;
        if Qle_bool (k - 1) (low_end s) && Qle_bool (high_end s) k
        then Some [Unit [(c, 1%Q)] (- low_end s)%Q (out gain);
                   Unit [(c, 1%Q)] (- high_end s)%Q (out (- gain)%Q)]
        else None
    | _ => None
    end
  else None.

(* the steps that are written to a coordinate, in order: of which count, at which k, how often *)
Definition weight_at (c : nat) (os : list (nat * Z)) : Z :=
  fold_right (fun o z => ((if Nat.eqb c (fst o) then snd o else 0) + z)%Z) 0%Z os.
Definition entry := (nat * nat * Z)%type.
Definition entry_of (sw : step * Z) : entry := (counted (fst sw), least (fst sw), snd sw).
Definition before (a b : entry) : bool :=
  Nat.ltb (fst (fst a)) (fst (fst b))
  || (Nat.eqb (fst (fst a)) (fst (fst b)) && Nat.leb (snd (fst a)) (snd (fst b))).
Fixpoint sift {A} (f : A -> entry) (a : A) (es : list A) : list A :=
  match es with [] => [a] | b :: es' => if before (f a) (f b) then a :: es
    else b :: sift f a es' end.
Definition sorted {A} (f : A -> entry) (es : list A) : list A := fold_right (sift f) [] es.
Definition counts_ {A} (f : A -> entry) (a : A) : bool := negb (Z.eqb (snd (f a)) 0).
Definition written_to (c : nat) (ss : list step) : list (step * Z) :=
  sorted entry_of (filter (counts_ entry_of) (map (fun s => (s, weight_at c (outs s))) ss)).
Fixpoint alternate (c : nat) (sign : Z) (ks : list nat) : list entry :=
  match ks with [] => [] | k :: ks => (c, k, sign) :: alternate c (- sign) ks end.
Fixpoint ascending (k : nat) (ks : list nat) : bool :=
  match ks with [] => true | k' :: ks => Nat.ltb k k' && ascending k' ks end.
Definition entry_eq (a b : entry) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition same_entries (a b : list entry) : bool := if list_eq_dec entry_eq a b then true
  else false.
(* each count of a total up to its greatest value *)
Definition covers_count (most : nat) (t : Z * nat) : bool :=
  match nth_error p (snd t) with Some (Width _ _ N) => N.leb N (N.of_nat most) | _ => false end.

Definition all_counts (most : nat) (counts : list (Z * nat)) : list entry :=
  flat_map (fun t => map (fun k => (snd t, k, fst t)) (seq 1 most)) counts.

(* what the steps add up to at a coordinate is the signal *)
Definition decodes (ss : list step) (sc : nat * nat) : option content :=
  let es := map entry_of (written_to (snd sc) ss) in
  match nth_error p (fst sc) with
  | Some (Steps count turns) =>
      if ascending 0 turns && same_entries es (alternate count 1 turns)
      then Some (Decoded (fst sc)) else None
  | Some (Total counts most) =>
      if forallb (covers_count most) counts
         && same_entries es (sorted id (filter (counts_ id) (all_counts most counts)))
      then Some (Whole (fst sc)) else None
  | _ => None
  end.
Fixpoint write_decoded (l : layout) (ss : list step) (ds : list (nat * nat)) : option layout :=
  match ds with
  | [] => Some l
  | d :: ds => k <- decodes ss d;; l' <- write l (snd d) k;; write_decoded l' ss ds
  end.
(* steps are written only where something is decoded *)
Definition aimed (ss : list step) (ds : list (nat * nat)) : bool :=
  forallb (fun s => forallb (fun o => existsb (fun d => Nat.eqb (fst o) (snd d)) ds) (outs s)) ss.

(* one minus a sum is 1 at the sinks: take it off there *)
Definition off_units (l : layout) (gs : list gate) : option (list unit) :=
  match filter complement gs with
  | [] => Some []
  | off => o <- feat l (Ordinary false);;
           Some [Unit [(o, (-1)%Q)] 1%Q (map (fun g => (at_ g, (-1)%Q)) off)]
  end.

(* take off what dead coordinates hold: ReLU(x), and ReLU(-x) where x may be negative *)
Definition clear_units (l : layout) (c : nat) : option (list unit) :=
  match nth_error l c with
  | Some (Bit _) | Some (Raw _ _) => Some [Unit [(c, 1%Q)] 0%Q [(c, (-1)%Q)]]
  | Some (Mean _ _) | Some (Share _) | Some (Decoded _) | Some (Whole _) | Some (Mixed _ _) =>
      Some [Unit [(c, 1%Q)] 0%Q [(c, (-1)%Q)]; Unit [(c, (-1)%Q)] 0%Q [(c, 1%Q)]]
  | _ => None
  end.
Fixpoint clear (l : layout) (cs : list nat) : option layout :=
  match cs with
  | [] => Some l
  | c :: cs => match nth_error l c with
               | Some Empty | Some (Feature _) | None => None
               | Some _ => clear (set l c Empty) cs
               end
  end.

(** ** Layers *)

Definition lower_layer (l : layout) (pl : plan) : option (layer * layout) :=
  '(hs, l1) <- lower_groups l (groups pl) l;;
  gu <- every (gate_units l1) (gates pl);;
  ou <- off_units l1 (gates pl);;
  su <- every (step_units l1) (steps pl);;
  cu <- every (clear_units l1) (clears pl);;
  l2 <- clear l1 (clears pl);;
  l3 <- write_gates l2 (gates pl);;
  l4 <- write_decoded l3 (steps pl) (decoded pl);;
  if aimed (steps pl) (decoded pl) then
    Some (Layer hs (concat gu ++ ou ++ concat su ++ concat cu)
            (map (fun g => (at_ g, 1%Q)) (filter complement (gates pl))), l4)
  else None.

Fixpoint lower_layers (l : layout) (ps : list plan) : option (list layer * layout) :=
  match ps with
  | [] => Some ([], l)
  | pl :: ps =>
      '(a, l1) <- lower_layer l pl;;
      '(ls, l2) <- lower_layers l1 ps;;
      Some (a :: ls, l2)
  end.

(* The And of literals minus 1/2, or the negation of that: true where row + offset > 0. *)
Definition lower_result (l : layout) (r : result) : option readout :=
  q <- term_slack l (reads r);;
  let x := literal_of r in
  if Qle_bool q (1 # 4)
     && match of x with
        | None => match reads r with [] => true | _ => false end
        | Some s => agree (leaves [reads r]) [] s [reads r] false
        end
  then
    let row := map (fun x => (snd x, sign_of (fst x))) (reads r) in
    let offset := ((1 # 2) - inject_Z (Z.of_nat (positives (reads r))))%Q in
    Some (if plain x then Readout row offset
          else Readout (map (fun e => (fst e, (- snd e)%Q)) row) (- offset)%Q)
  else None.

(* what the embedding may hold *)
Definition embeddable (k : content) : bool :=
  match k with
  | Empty | Feature _ => true
  | Bit s => match nth_error p s with Some (Token _) | Some (Given _) => true | _ => false end
  | _ => false
  end.

Definition lower (l : layout) (ps : list plan) (rs : list result) :
  option (list layer * list readout) :=
  if forallb embeddable l then
    '(ls, l') <- lower_layers l ps;; outs <- every (lower_result l') rs;; Some (ls, outs)
  else None.
End Lower.
