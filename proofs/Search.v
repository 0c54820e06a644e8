(** Proof by cases, in an order that the evidence gives. After each case some facts are looked
    at: if one of them is false there, the case cannot occur. A bad order proves nothing; no
    order proves what is false. *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Program Matching Matched.
Import ListNotations.
Open Scope nat_scope.

(** * What is known of signals, in a binary tree *)

Inductive tree := Bare | Fork (l : tree) (x : option bool) (r : tree).
Fixpoint get (s : positive) (t : tree) : option bool :=
  match t with
  | Bare => None
  | Fork l x r => match s with xH => x | xO s => get s l | xI s => get s r end
  end.
Fixpoint put (s : positive) (b : bool) (t : tree) : tree :=
  match s, t with
  | xH, Bare => Fork Bare (Some b) Bare
  | xH, Fork l _ r => Fork l (Some b) r
  | xO s, Bare => Fork (put s b Bare) None Bare
  | xO s, Fork l x r => Fork (put s b l) x r
  | xI s, Bare => Fork Bare None (put s b Bare)
  | xI s, Fork l x r => Fork l x (put s b r)
  end.

Lemma get_put s : forall b t s', get s' (put s b t) = if Pos.eqb s' s then Some b else get s' t.
Proof.
  induction s as [s IH|s IH|]; intros b [|l x r] [s'|s'|]; cbn; rewrite ?IH; cbn; try reflexivity;
    try (destruct s'; reflexivity); destruct (Pos.eqb s' s); reflexivity.
Qed.

(** * Conditions: expressions whose signals are keys of the tree *)

Inductive condition :=
  | CYes | CSym (a : nat) | CSig (s : positive) | CNeg (x : condition)
  | CBoth (x y : condition) | CDiffer (x y : condition).

Definition key (s : nat) : positive := Pos.of_succ_nat s.
Fixpoint condition_of (x : expression) : condition :=
  match x with
  | Yes => CYes
  | Sym a => CSym a
  | Sig s => CSig (key s)
  | Neg x => CNeg (condition_of x)
  | Both x y => CBoth (condition_of x) (condition_of y)
  | Differ x y => CDiffer (condition_of x) (condition_of y)
  end.

(* the second part is looked at only where the first does not decide *)
Fixpoint value3 (a : option nat) (e : tree) (x : condition) : option bool :=
  match x with
  | CYes => Some true
  | CSym c => match a with Some a => Some (Nat.eqb a c) | None => None end
  | CSig s => get s e
  | CNeg x => match value3 a e x with Some b => Some (negb b) | None => None end
  | CBoth x y =>
      match value3 a e x with
      | Some false => Some false
      | Some true => value3 a e y
      | None => match value3 a e y with Some false => Some false | _ => None end
      end
  | CDiffer x y =>
      match value3 a e x with
      | None => None
      | Some b => match value3 a e y with None => None | Some c => Some (xorb b c) end
      end
  end.

(** * The search *)

(* Which case next: the symbol, or a signal. Then the facts to look at, by their numbers. *)
Inductive case := Letter (watch : list nat) | On (s : nat) (watch : list nat).

Definition step := (option positive * list condition)%type.
Definition watched (facts : list expression) (watch : list nat) : list condition :=
  flat_map (fun k => match nth_error facts k with Some x => [condition_of x]
    | None => [] end) watch.
Definition step_of (facts : list expression) (c : case) : step :=
  match c with
  | Letter watch => (None, watched facts watch)
  | On s watch => (Some (key s), watched facts watch)
  end.

Definition impossible (a : option nat) (e : tree) (watch : list condition) : bool :=
  existsb (fun x => match value3 a e x with Some false => true | _ => false end) watch.

Section Search.
Variables (alphabet : nat) (goal : option nat -> tree -> bool).

Fixpoint search (order : list step) (a : option nat) (e : tree) : bool :=
  match order with
  | [] => goal a e
  | (None, watch) :: order =>
      forallb (fun c => if impossible (Some c) e watch then true else search order (Some c) e)
        (seq 0 alphabet)
  | (Some s, watch) :: order =>
      let try b := let e := put s b e in if impossible a e watch then true else search order a e in
      if try true then try false else false
  end.
End Search.

(* x follows from the facts *)
Definition entails (alphabet : nat) (facts : list expression) (order : list case) (x : expression) :
  bool :=
  let c := condition_of x in
  search alphabet (fun a e => match value3 a e c with Some true => true | _ => false end)
    (map (step_of facts) order) None Bare.

Section Sound.
Variables (alphabet : nat) (w : word) (v : valuation) (i : nat).
Hypothesis Hw : symbol w i < alphabet.
Notation holds x := (Matched.holds w v x i).

Definition agrees (a : option nat) (e : tree) : Prop :=
  (forall c, a = Some c -> c = symbol w i) /\ (forall s b, get (key s) e = Some b -> bit v s i = b).

Lemma value3_sound a e : agrees a e -> forall x b, value3 a e (condition_of x) = Some b ->
  holds x = b.
Proof.
  intros [A E] x. induction x as [| | |x IHx|x IHx y IHy|x IHx y IHy]; intros r H;
    cbn [condition_of value3 Matched.holds] in *.
  - congruence.
  - destruct a as [c|]; [|discriminate]. rewrite <- (A c eq_refl). congruence.
  - apply E, H.
  - destruct (value3 a e (condition_of x)) as [c|]; [|discriminate]. rewrite (IHx c eq_refl).
    congruence.
  - destruct (value3 a e (condition_of x)) as [[]|].
    + rewrite (IHx true eq_refl), (IHy r H). reflexivity.
    + rewrite (IHx false eq_refl). injection H as <-. reflexivity.
    + destruct (value3 a e (condition_of y)) as [[]|]; try discriminate.
      rewrite (IHy false eq_refl), andb_false_r. congruence.
  - destruct (value3 a e (condition_of x)) as [c|]; [|discriminate].
    destruct (value3 a e (condition_of y)) as [d|]; [|discriminate].
    rewrite (IHx c eq_refl), (IHy d eq_refl). congruence.
Qed.

Variable facts : list expression.
Hypothesis Hfacts : forall x, In x facts -> holds x = true.

Lemma possible a e watch : agrees a e -> impossible a e (watched facts watch) = false.
Proof.
  intros A. destruct (impossible a e (watched facts watch)) eqn:I; [|reflexivity].
  apply existsb_exists in I as (c & Ic & F). apply in_flat_map in Ic as (k & _ & Ic).
  destruct (nth_error facts k) as [x|] eqn:Ex; [|destruct Ic]. destruct Ic as [<-|[]].
  destruct (value3 a e (condition_of x)) as [[]|] eqn:V; try discriminate.
  apply (value3_sound a e A) in V. rewrite (Hfacts x (nth_error_In _ _ Ex)) in V. discriminate.
Qed.

Lemma agrees_put a e s : agrees a e -> agrees a (put (key s) (bit v s i) e).
Proof.
  intros [A E]. split; [exact A|]. intros t b G. rewrite get_put in G.
  destruct (Pos.eqb_spec (key t) (key s)) as [K|K]; [|apply E, G].
  apply SuccNat2Pos.inj in K as ->. congruence.
Qed.

Lemma search_sound goal order : forall a e, agrees a e ->
  search alphabet goal (map (step_of facts) order) a e = true ->
  exists a' e', agrees a' e' /\ goal a' e' = true.
Proof.
  induction order as [|c order IH]; intros a e A H; cbn [map search] in H; [eauto|].
  destruct c as [watch|s watch]; cbn [step_of] in H.
  - rewrite forallb_forall in H. specialize (H (symbol w i) ltac:(apply in_seq; lia)).
    assert (A' : agrees (Some (symbol w i)) e) by (split; [congruence|apply A]).
    rewrite (possible _ _ watch A') in H. exact (IH _ _ A' H).
  - cbv zeta in H. pose proof (agrees_put a e s A) as A'. pose proof (possible _ _ watch A') as P.
    destruct (bit v s i); rewrite P in H.
    + destruct (search _ goal _ a (put (key s) true e)) eqn:T; [|discriminate]. exact (IH _ _ A' T).
    + destruct (if impossible a (put (key s) true e) _ then true else _); [|discriminate].
      exact (IH _ _ A' H).
Qed.

Lemma entails_sound order x : entails alphabet facts order x = true -> holds x = true.
Proof.
  intros H. unfold entails in H. apply search_sound in H as (a & e & A & G);
    [|split; [discriminate|intros s b G; destruct (key s); discriminate G]].
  destruct (value3 a e (condition_of x)) as [[]|] eqn:V; try discriminate.
  exact (value3_sound a e A x true V).
Qed.
End Sound.
