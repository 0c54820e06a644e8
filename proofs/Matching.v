(** Does a program compute a formula? The formula is walked once; each of its temporal operators and
    comparisons is matched with a signal that a hint names, and everything else is Boolean: two
    Boolean expressions over signals are compared by cases. Hints may be wrong, then there is no
    match; if there is one, the program computes the formula (`translate_sound`). *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Sums Formula Program Lowering Evaluated Surface.
Import ListNotations.
Open Scope nat_scope.

(** * Boolean expressions over signals *)

Inductive expression :=
  | Yes
  | Sym (a : nat)                       (* the symbol is the a-th *)
  | Sig (s : nat)
  | Neg (e : expression)
  | Both (e f : expression)
  | Differ (e f : expression).

Definition literal_expression (x : literal) : expression :=
  let e := match of x with Some s => Sig s | None => Yes end in if plain x then e else Neg e.

Section Matching.
Variables (p : program) (alphabet : nat) (inputs : list input) (facts : list expression).

Section Cases.
(* what is known: the symbol, perhaps, and some signals *)
Variable a : option nat.

Fixpoint signal3 (fuel : nat) (e : knowledge) (s : nat) : option bool :=
  match Lowering.known e s with
  | Some b => Some b
  | None =>
      match fuel with
      | O => None
      | S fuel =>
          match nth_error p s with
          | Some (Token l) => match a with Some a => Some (existsb (Nat.eqb a) l) | None => None end
          | Some (Program.And ls) =>
              fold_right (fun x r => and3 (lit3 (signal3 fuel e) x) r) (Some true) ls
          | Some (Program.Xor l r) => xor3 (signal3 fuel e l) (signal3 fuel e r)
          | _ => None
          end
      end
  end.

Fixpoint expression3 (e : knowledge) (x : expression) : option bool :=
  match x with
  | Yes => Some true
  | Sym c => match a with Some a => Some (Nat.eqb a c) | None => None end
  | Sig s => signal3 (length p) e s
  | Neg x => option_map negb (expression3 e x)
  | Both x y => and3 (expression3 e x) (expression3 e y)
  | Differ x y => xor3 (expression3 e x) (expression3 e y)
  end.

Definition excluded (e : knowledge) : bool :=
  existsb (fun x => match expression3 e x with Some false => true | _ => false end) facts.

Definition no_facts : bool := match facts with [] => true | _ => false end.
(* x and y are the same in all cases, split only as far as needed *)
Fixpoint same (vars : list nat) (e : knowledge) (x y : expression) : bool :=
  match expression3 e x, expression3 e y with
  | Some b, Some c =>
      if Bool.eqb b c then true
      else if no_facts then false
      else if excluded e then true
      else match vars with
           | [] => false
           | s :: vars => same vars ((s, true) :: e) x y && same vars ((s, false) :: e) x y
           end
  | _, _ =>
      if excluded e then true
      else match vars with
           | [] => false
           | s :: vars => same vars ((s, true) :: e) x y && same vars ((s, false) :: e) x y
           end
  end.
End Cases.

(* the signals on which an expression rests: those that are not gates *)
Fixpoint leaves_of (fuel : nat) (s : nat) : list nat :=
  match fuel with
  | O => [s]
  | S fuel =>
      match nth_error p s with
      | Some (Token _) => []
      | Some (Program.And ls) => flat_map (fun x => flat_map (leaves_of fuel) (read_literal x)) ls
      | Some (Program.Xor l r) => leaves_of fuel l ++ leaves_of fuel r
      | _ => [s]
      end
  end.
Fixpoint rests_on (x : expression) : list nat :=
  match x with
  | Yes | Sym _ => []
  | Sig s => leaves_of (length p) s
  | Neg x => rests_on x
  | Both x y | Differ x y => rests_on x ++ rests_on y
  end.

Definition equal (x y : expression) : bool :=
  let vars := nodup Nat.eq_dec (rests_on x ++ rests_on y ++ flat_map rests_on facts) in
  if same None vars [] x y then true
  else forallb (fun a => same (Some a) vars [] x y) (seq 0 alphabet).

(** * Linear forms over counts of signals *)

Record linear := Linear { counts : list (range * nat * Z); at_i : Z; at_n : Z; add : Z }.

Definition plus (l m : linear) : linear :=
  Linear (counts l ++ counts m) (at_i l + at_i m) (at_n l + at_n m) (add l + add m).
Definition times (d : Z) (l : linear) : linear :=
  Linear (map (fun c => (fst c, d * snd c)%Z) (counts l)) (d * at_i l) (d * at_n l) (d * add l).
Definition nothing : linear := Linear [] 0 0 0.
(* a times the number of positions of a range *)
Definition size_of (r : range) (a : Z) : linear :=
  match r with Before => Linear [] a 0 0 | After => Linear [] (- a) a a
    | All => Linear [] 0 a 0 end.
(* a times the number of those at which a literal holds *)
Definition counted (r : range) (a : Z) (x : literal) : linear :=
  match of x, plain x with
  | None, true => size_of r a
  | None, false => nothing
  | Some s, true => Linear [(r, s, a)] 0 0 0
  | Some s, false => plus (size_of r a) (Linear [(r, s, (- a)%Z)] 0 0 0)
  end.

Definition range_eqb (r s : range) : bool :=
  match r, s with Before, Before | After, After | All, All => true | _, _ => false end.
Fixpoint merge (r : range) (s : nat) (a : Z) (l : list (range * nat * Z)) :
  list (range * nat * Z) :=
  match l with
  | [] => [(r, s, a)]
  | (r', s', b) :: l =>
      if range_eqb r r' && Nat.eqb s s' then (r, s, (a + b)%Z) :: l
        else (r', s', b) :: merge r s a l
  end.
Definition merged (l : list (range * nat * Z)) : list (range * nat * Z) :=
  fold_right (fun c l => merge (fst (fst c)) (snd (fst c)) (snd c) l) [] l.
Definition vanishes (l : linear) : bool :=
  forallb (fun c => Z.eqb (snd c) 0) (merged (counts l)) && Z.eqb (at_i l) 0 && Z.eqb (at_n l) 0.

(* the sum that a Sign compares *)
Definition mean_of (a : option nat) : linear :=
  match a with
  | None => nothing
  | Some s => match nth_error p s with
              | Some (Average ts r) =>
                  fold_right (fun t l => plus (counted r (fst t) (Lit (snd t) true)) l) nothing ts
              | _ => nothing
              end
  end.
Definition averaged (a : option nat) : bool :=
  match a with
  | None => true
  | Some s => match nth_error p s with Some (Average _ _) => true | _ => false end
  end.

(** * Hints *)

Inductive hint :=
  | Input (s : nat)                    (* an atom: this signal *)
  | Through (s : nat)                  (* a temporal operator: this head *)
  | Beyond (s t : nat) (plain : bool) (edge : nat)
      (* Y or X: this head, a step beyond t; of the negation of t, where there is such a position *)
  | Here                               (* f S g where f implies g: g *)
  | Never                              (* Y f, g S f where f never holds *)
  | Edge (s : nat)                     (* Y of what always holds: not the first position *)
  | Of (x : literal)                   (* what is counted: this literal *)
  | Compared (s : nat) (d : Z) (turned : bool)    (* the comparison: this Sign, times d *)
  | Decided (b : bool).                (* the comparison holds always, or never *)

Definition edge_of (d : direction) : input := match d with Past => InFirst | Future => InLast end.
Definition is_input (s : nat) (x : input) : bool :=
  match nth_error p s with
  | Some (Given k) => match nth_error inputs k with Some y => input_eqb y x | None => false end
  | _ => false
  end.

Definition literal_eqb (x y : literal) : bool :=
  (match of x, of y with
   | Some s, Some t => Nat.eqb s t
   | None, None => true
   | _, _ => false
   end) && Bool.eqb (plain x) (plain y).
Definition direction_eqb (d e : direction) : bool :=
  match d, e with Past, Past | Future, Future => true | _, _ => false end.

(* s is t, seen from the next position *)
Definition is_beyond (s t : nat) (d : direction) : bool :=
  match nth_error p t, nth_error p s with
  | Some (Latest b u e), Some (StrictLatest b' u' e') =>
      literal_eqb b b' && literal_eqb u u' && direction_eqb d e && direction_eqb d e'
  | Some (Previous u e), Some (Shift u' c e') =>
      literal_eqb u u' && Nat.eqb c 2 && direction_eqb d e && direction_eqb d e'
  | Some (Shift u c e), Some (Shift u' c' e') =>
      literal_eqb u u' && Nat.eqb c' (S c) && direction_eqb d e && direction_eqb d e'
  | _, _ => false
  end.

Definition match_since (d : direction) (f g : expression) (h : hint) : option expression :=
  match h with
  | Here => if equal (Both f (Neg g)) (Neg Yes) then Some g else None
  | Never => if equal g (Neg Yes) then Some (Neg Yes) else None
  | Through s =>
      match nth_error p s with
      | Some (Latest b u e) =>
          let b := literal_expression b in
          let u := literal_expression u in
          if direction_eqb d e && equal g (Both (Neg b) u) && equal (Both f (Neg g)) b
          then Some (Sig s) else None
      | _ => None
      end
  | _ => None
  end.

Definition match_step (d : direction) (f : expression) (h : hint) : option expression :=
  match h with
  | Through s =>
      match nth_error p s with
      | Some (Previous u e) =>
          if direction_eqb d e && equal f (literal_expression u) then Some (Sig s) else None
      | _ => None
      end
  | Beyond s t true _ =>
      if is_beyond s t d && equal f (Sig t) then Some (Sig s) else None
  | Beyond s t false c =>
      if is_beyond s t d && equal f (Neg (Sig t)) && is_input c (edge_of d)
      then Some (Both (Neg (Sig c)) (Neg (Sig s))) else None
  | Never => if equal f (Neg Yes) then Some (Neg Yes) else None
  | Edge c => if equal f Yes && is_input c (edge_of d) then Some (Neg (Sig c)) else None
  | _ => None
  end.

(* Counts lie between 0 and the size of their range: so a form lies between two that count
   nothing. *)
Definition extreme (greatest : bool) (l : linear) : linear :=
  fold_right (fun c m => if (if greatest then Z.ltb 0 (snd c) else Z.ltb (snd c) 0)
                         then plus (size_of (fst (fst c)) (snd c)) m else m)
    (Linear [] (at_i l) (at_n l) (add l)) (merged (counts l)).
(* at_i·i + at_n·n = (at_i + at_n)·i + at_n·(n - i), and 1 <= i <= n *)
Definition always (l : linear) (k : Z) : bool :=
  let m := extreme false l in
  Z.leb 0 (at_i m + at_n m) && Z.leb 0 (at_n m) && Z.leb k (at_i m + at_n m + add m).
Definition never (l : linear) (k : Z) : bool :=
  let m := extreme true l in
  Z.leb (at_i m + at_n m) 0 && Z.leb (at_n m) 0 && Z.ltb (at_i m + at_n m + add m) k.

Definition match_comparison (l : linear) (k : Z) (h : hint) : option expression :=
  match h with
  | Compared s d turned =>
      match nth_error p s with
      | Some (Sign x z t a b threshold) =>
          let m := plus (mean_of x) (plus (mean_of z) (plus (mean_of t) (Linear [] a b 0))) in
          if Z.ltb 0 d && averaged x && averaged z && averaged t then
            if turned then
              if vanishes (plus l (times d m)) && Z.eqb (threshold - add m) ((add l - k) / d + 1)
              then Some (Neg (Sig s)) else None
            else
              if vanishes (plus l (times (- d) m)) && Z.eqb (threshold - add m)
                (- ((add l - k) / d))
              then Some (Sig s) else None
          else None
      | _ => None
      end
  | Decided true => if always l k then Some Yes else None
  | Decided false => if never l k then Some (Neg Yes) else None
  | _ => None
  end.

Definition match_count (r : range) (x : expression) (h : hint) : option linear :=
  match h with
  | Of y => if equal x (literal_expression y) then Some (counted r 1 y) else None
  | _ => None
  end.

(** * The walk *)

Variable propositional : bool.

Definition next {X} (hs : list hint) (f : hint -> option X) : option (X * list hint) :=
  match hs with [] => None | h :: hs => match f h with Some x => Some (x, hs)
    | None => None end end.
Definition match_input (x : input) (h : hint) : option expression :=
  match h with Input s => if is_input s x then Some (Sig s) else None | _ => None end.
Definition either (x y : expression) : expression := Neg (Both (Neg x) (Neg y)).

(* A formula to an expression over signals, and the hints that are left. *)
Fixpoint translate (f : surface) (hs : list hint) : option (expression * list hint) :=
  match f with
  | Symbol c => if propositional then next hs (match_input (InSymbol c)) else Some (Sym c, hs)
  | Constant b => Some (if b then Yes else Neg Yes, hs)
  | First => next hs (match_input InFirst)
  | Last => next hs (match_input InLast)
  | Mod m r =>
      if N.eqb m 1 then Some (if N.eqb r 0 then Yes else Neg Yes, hs)
      else next hs (match_input (InMod m r))
  | At c => next hs (match_input (InAt c))
  | Not f => '(x, hs) <- translate f hs;; Some (Neg x, hs)
  | And f g => '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; Some (Both x y, hs)
  | Or f g => '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; Some (either x y, hs)
  | Xor f g => '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; Some (Differ x y, hs)
  | Implies f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; Some (Neg (Both x (Neg y)), hs)
  | Iff f g => '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; Some (Neg (Differ x y), hs)
  | Yesterday f => '(x, hs) <- translate f hs;; next hs (match_step Past x)
  | WeakYesterday f =>
      '(x, hs) <- translate f hs;; '(y, hs) <- next hs (match_step Past (Neg x));; Some (Neg y, hs)
  | Tomorrow f => '(x, hs) <- translate f hs;; next hs (match_step Future x)
  | WeakTomorrow f =>
      '(x, hs) <- translate f hs;; '(y, hs) <- next hs (match_step Future (Neg x));;
        Some (Neg y, hs)
  | Once f => '(x, hs) <- translate f hs;; next hs (match_since Past Yes x)
  | Historically f =>
      '(x, hs) <- translate f hs;; '(y, hs) <- next hs (match_since Past Yes (Neg x));;
        Some (Neg y, hs)
  | Eventually f => '(x, hs) <- translate f hs;; next hs (match_since Future Yes x)
  | Always f =>
      '(x, hs) <- translate f hs;; '(y, hs) <- next hs (match_since Future Yes (Neg x));;
      Some (Neg y, hs)
  | Since f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; next hs (match_since Past x y)
  | Triggered f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;;
      '(z, hs) <- next hs (match_since Past (Neg x) (Neg y));; Some (Neg z, hs)
  | Until f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;; next hs (match_since Future x y)
  | Release f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;;
      '(z, hs) <- next hs (match_since Future (Neg x) (Neg y));; Some (Neg z, hs)
  | WeakUntil f g =>           (* f W g = g R (f or g) *)
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;;
      '(z, hs) <- next hs (match_since Future (Neg y) (Both (Neg x) (Neg y)));; Some (Neg z, hs)
  | StrongRelease f g =>
      '(x, hs) <- translate f hs;; '(y, hs) <- translate g hs;;
      next hs (match_since Future y (Both x y))
  | Compare t r u =>
      '(l, hs) <- translate_term t hs;; '(m, hs) <- translate_term u hs;;
      let up hs k := next hs (match_comparison (plus l (times (-1) m)) k) in
      match r with
      | GreaterEqual => up hs 0%Z
      | Greater => up hs 1%Z
      | Less => '(x, hs) <- up hs 0%Z;; Some (Neg x, hs)
      | LessEqual => '(x, hs) <- up hs 1%Z;; Some (Neg x, hs)
      | Equal => '(x, hs) <- up hs 0%Z;; '(y, hs) <- up hs 1%Z;; Some (Both x (Neg y), hs)
      | NotEqual => '(x, hs) <- up hs 0%Z;; '(y, hs) <- up hs 1%Z;; Some (Neg (Both x (Neg y)), hs)
      end
  end
with translate_term (t : Surface.term) (hs : list hint) : option (linear * list hint) :=
  match t with
  | Integer k => Some (Linear [] 0 0 k, hs)
  | Position => Some (Linear [] 1 0 0, hs)
  | Length => Some (Linear [] 0 1 0, hs)
  | Count f => '(x, hs) <- translate f hs;; next hs (match_count Before x)
  | CountFuture f => '(x, hs) <- translate f hs;; next hs (match_count After x)
  | CountAll f => '(x, hs) <- translate f hs;; next hs (match_count All x)
  | Scale k t => '(l, hs) <- translate_term t hs;; Some (times k l, hs)
  | Sum t u => '(l, hs) <- translate_term t hs;; '(m, hs) <- translate_term u hs;;
    Some (plus l m, hs)
  | Difference t u =>
      '(l, hs) <- translate_term t hs;; '(m, hs) <- translate_term u hs;;
        Some (plus l (times (-1) m), hs)
  end.
End Matching.
