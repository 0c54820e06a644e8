(** What formulas say of a history: the tokens so far, the latest first. The formulas of machines
    look back only, so a history is all that they need. `pasts` are the histories that a history
    has had, itself first; the empty one, before the first token, is not among them. *)
From Coq Require Import Arith List Bool Lia.
Import ListNotations.

Section Histories.
Context {token : Type} (same : token -> token -> bool).

Inductive form :=
  | Token (a : token)
  | Constant (b : bool)
  | Not (f : form)
  | And (f g : form) | Or (f g : form) | Xor (f g : form)
  | Yesterday (f : form)
  | Once (f : form)
  | Since (f g : form)
  | AtMost (f g : form)                          (* #(f) <= #(g) *)
  | Recall (v : form) (code : list (form * form)).   (* last[v | k1 = q1, …] *)

Fixpoint pasts (h : list token) : list (list token) :=
  match h with [] => [] | _ :: past => h :: pasts past end.

(* g held, and f ever since: of values from the latest on *)
Fixpoint since {A} (f g : A -> bool) (l : list A) : bool :=
  match l with [] => false | x :: l => g x || f x && since f g l end.

(* v at the latest that has p; false if none has *)
Fixpoint latest {A} (p v : A -> bool) (l : list A) : bool :=
  match l with [] => false | x :: l => if p x then v x else latest p v l end.

Fixpoint holds (f : form) (h : list token) : bool :=
  match f with
  | Token a => match h with [] => false | t :: _ => same t a end
  | Constant b => b
  | Not f => negb (holds f h)
  | And f g => holds f h && holds g h
  | Or f g => holds f h || holds g h
  | Xor f g => xorb (holds f h) (holds g h)
  | Yesterday f => match h with [] | [_] => false | _ :: past => holds f past end
  | Once f => existsb (holds f) (pasts h)
  | Since f g => since (holds f) (holds g) (pasts h)
  | AtMost f g => length (filter (holds f) (pasts h)) <=? length (filter (holds g) (pasts h))
  | Recall v code =>
      latest (fun past => forallb (fun d => eqb (holds (fst d) past) (holds (snd d) h)) code)
        (holds v) (pasts h)
  end.

(** * Or and And of many, as balanced trees *)

Fixpoint pairs (join : form -> form -> form) (l : list form) : list form :=
  match l with f :: g :: l => join f g :: pairs join l | _ => l end.

Fixpoint tree (join : form -> form -> form) (none : form) (fuel : nat) (l : list form) : form :=
  match l, fuel with
  | [f], _ => f
  | _, 0 => fold_right join none l
  | _, S fuel => tree join none fuel (pairs join l)
  end.

Definition any_of (l : list form) : form :=
  match l with [] => Constant false | _ => tree Or (Constant false) (length l) l end.
Definition all_of (l : list form) : form :=
  match l with [] => Constant true | _ => tree And (Constant true) (length l) l end.

Lemma pairs_ind (P : list form -> Prop) : P [] -> (forall f, P [f]) ->
  (forall f g l, P l -> P (f :: g :: l)) -> forall l, P l.
Proof.
  intros H0 H1 H2. assert (K : forall l, P l /\ forall f, P (f :: l)).
  { induction l as [|f l [IH IH']]; split; auto. }
  intros l. apply K.
Qed.

Lemma or_pairs l h : existsb (fun f => holds f h) (pairs Or l) = existsb (fun f => holds f h) l.
Proof.
  induction l as [|f|f g l IH] using pairs_ind; cbn; auto. rewrite IH. apply eq_sym, orb_assoc.
Qed.
Lemma and_pairs l h : forallb (fun f => holds f h) (pairs And l) = forallb (fun f => holds f h) l.
Proof.
  induction l as [|f|f g l IH] using pairs_ind; cbn; auto. rewrite IH. apply eq_sym, andb_assoc.
Qed.

Lemma or_fold l h : holds (fold_right Or (Constant false) l) h = existsb (fun f => holds f h) l.
Proof. induction l as [|f l IH]; cbn; [reflexivity|]. rewrite IH. reflexivity. Qed.
Lemma and_fold l h : holds (fold_right And (Constant true) l) h = forallb (fun f => holds f h) l.
Proof. induction l as [|f l IH]; cbn; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma or_tree fuel : forall l h,
  holds (tree Or (Constant false) fuel l) h = existsb (fun f => holds f h) l.
Proof.
  induction fuel as [|fuel IH]; intros [|f [|g l]] h; try (cbn; rewrite ?orb_false_r; reflexivity).
  - apply or_fold.
  - cbn [tree pairs]. rewrite IH. reflexivity.
  - cbn [tree]. rewrite IH. apply or_pairs.
Qed.
Lemma and_tree fuel : forall l h,
  holds (tree And (Constant true) fuel l) h = forallb (fun f => holds f h) l.
Proof.
  induction fuel as [|fuel IH]; intros [|f [|g l]] h; try (cbn; rewrite ?andb_true_r; reflexivity).
  - apply and_fold.
  - cbn [tree pairs]. rewrite IH. reflexivity.
  - cbn [tree]. rewrite IH. apply and_pairs.
Qed.

Lemma any_of_holds l h : holds (any_of l) h = existsb (fun f => holds f h) l.
Proof. destruct l; [reflexivity|]. apply or_tree. Qed.
Lemma all_of_holds l h : holds (all_of l) h = forallb (fun f => holds f h) l.
Proof. destruct l; [reflexivity|]. apply and_tree. Qed.

(** * Sets of tokens *)

Hypothesis same_spec : forall s t, same s t = true <-> s = t.
Variable tokens : list token.

Definition one_of (p : token -> bool) : form := any_of (map Token (filter p tokens)).

Lemma one_of_none p : holds (one_of p) [] = false.
Proof.
  unfold one_of. rewrite any_of_holds. induction (filter p tokens); [reflexivity|assumption].
Qed.

Lemma one_of_holds p t h : In t tokens -> holds (one_of p) (t :: h) = p t.
Proof.
  intros I. unfold one_of. rewrite any_of_holds. apply eq_true_iff_eq. rewrite existsb_exists.
  split.
  - intros (f & F & H). apply in_map_iff in F as (s & <- & S). apply filter_In in S as [_ S].
    cbn in H. apply same_spec in H. subst. exact S.
  - intros H. exists (Token t). split; [|now apply same_spec].
    apply in_map, filter_In. split; assumption.
Qed.

Definition told (h : list token) : Prop := Forall (fun t => In t tokens) h.

Lemma count_one_of p h : told h ->
  length (filter (holds (one_of p)) (pasts h)) = length (filter p h).
Proof.
  intros T. induction T as [|t h I T IH]; [reflexivity|]. cbn [pasts filter].
  rewrite (one_of_holds p t h I). destruct (p t); cbn; congruence.
Qed.

Lemma since_ext {A} (f f' g g' : A -> bool) l : (forall x, In x l -> f x = f' x) ->
  (forall x, In x l -> g x = g' x) -> since f g l = since f' g' l.
Proof.
  induction l as [|x l IH]; intros F G; [reflexivity|]. cbn.
  rewrite F, G, IH by (cbn in *; auto). reflexivity.
Qed.

Lemma pasts_told h past : told h -> In past (pasts h) ->
  exists t rest, past = t :: rest /\ In t tokens /\ told past.
Proof.
  intros T. induction T as [|t h I T IH]; [contradiction|]. intros [<-|P]; [|auto].
  exists t, h. repeat split; [assumption|]. constructor; assumption.
Qed.

(* A Since of sets of tokens asks the latest token that ends the waiting. *)
Lemma since_one_of p q h : told h ->
  holds (Since (Not (one_of p)) (one_of q)) h = since (fun t => negb (p t)) q h.
Proof.
  intros T. cbn. induction T as [|t h I T IH]; [reflexivity|]. cbn.
  rewrite !one_of_holds by assumption. rewrite IH. reflexivity.
Qed.

(** * Equal formulas, computed *)

Fixpoint same_form (f g : form) : bool :=
  match f, g with
  | Token a, Token b => same a b
  | Constant a, Constant b => eqb a b
  | Not f, Not g | Yesterday f, Yesterday g | Once f, Once g => same_form f g
  | And f f', And g g' | Or f f', Or g g' | Xor f f', Xor g g' | Since f f', Since g g'
  | AtMost f f', AtMost g g' => same_form f g && same_form f' g'
  | Recall f l, Recall g l' =>
      same_form f g
      && (fix all (l l' : list (form * form)) : bool :=
            match l, l' with
            | [], [] => true
            | (k, q) :: l, (k', q') :: l' => same_form k k' && same_form q q' && all l l'
            | _, _ => false
            end) l l'
  | _, _ => false
  end.

Lemma same_form_equal : forall f g, same_form f g = true -> f = g.
Proof.
  fix IH 1. intros f g. destruct f as [a|a|f|f f'|f f'|f f'|f|f|f f'|f f'|f l],
    g as [b|b|g|g g'|g g'|g g'|g|g|g g'|g g'|g l']; cbn; intros H; try discriminate H.
  - f_equal. now apply same_spec.
  - f_equal. now apply eqb_prop.
  - f_equal. apply IH, H.
  - apply andb_true_iff in H as [H H']. f_equal; apply IH; assumption.
  - apply andb_true_iff in H as [H H']. f_equal; apply IH; assumption.
  - apply andb_true_iff in H as [H H']. f_equal; apply IH; assumption.
  - f_equal. apply IH, H.
  - f_equal. apply IH, H.
  - apply andb_true_iff in H as [H H']. f_equal; apply IH; assumption.
  - apply andb_true_iff in H as [H H']. f_equal; apply IH; assumption.
  - apply andb_true_iff in H as [H H']. f_equal; [apply IH, H|]. clear H. revert l l' H'. fix all 1.
    intros l l' H. destruct l as [|[k q] l], l' as [|[k' q'] l']; try discriminate H;
      [reflexivity|].
    apply andb_true_iff in H as [H H']. apply andb_true_iff in H as [K Q].
    f_equal; [f_equal; apply IH; assumption|]. apply all, H'.
Qed.

Fixpoint same_forms (l l' : list form) : bool :=
  match l, l' with
  | [], [] => true
  | f :: l, g :: l' => same_form f g && same_forms l l'
  | _, _ => false
  end.
Lemma same_forms_equal l : forall l', same_forms l l' = true -> l = l'.
Proof.
  induction l as [|f l IH]; intros [|g l'] H; try discriminate; [reflexivity|]. cbn in H.
  apply andb_true_iff in H as [F H]. f_equal; [now apply same_form_equal|now apply IH].
Qed.

(** * Greedy generation *)

(* At most so many tokens, in order, each the first that is allowed, until the end is. *)
Fixpoint greedy (allowed : token -> form) (ends : form) (most : nat) (h : list token) :
  list token :=
  match most with
  | 0 => []
  | S most =>
      if holds ends h then [] else
      match find (fun t => holds (allowed t) h) tokens with
      | Some t => t :: greedy allowed ends most (t :: h)
      | None => []
      end
  end.

(* The formulas allow exactly what is to come: that token, or the end. *)
Definition decides (allowed : token -> form) (ends : form) (h : list token) (next : option token) :
  Prop :=
  (forall t, In t tokens -> holds (allowed t) h = true <-> next = Some t)
  /\ (holds ends h = true <-> next = None)
  /\ (forall t, next = Some t -> In t tokens).

Section Runs.
(* A machine: what it is in, which token it writes next, and what it is in then. *)
Context {state : Type} (next : state -> option token) (after : state -> state).
Variables (allowed : token -> form) (ends : form).

Fixpoint run (most : nat) (s : state) : list token :=
  match most with
  | 0 => []
  | S most => match next s with Some t => t :: run most (after s) | None => [] end
  end.

Lemma find_only (p : token -> bool) t l : In t l -> p t = true ->
  (forall s, In s l -> p s = true -> s = t) -> find p l = Some t.
Proof.
  intros I P U. induction l as [|s l IH]; [contradiction|]. cbn. destruct (p s) eqn:E.
  - f_equal. apply U; [now left|exact E].
  - destruct I as [->|I]; [congruence|]. apply IH; [exact I|]. intros x X. apply U. now right.
Qed.

(* If histories that fit a state are decided, and go on to fit, greedy generation is the run. *)
Theorem greedy_runs (fits : list token -> state -> Prop) :
  (forall h s, fits h s -> decides allowed ends h (next s)) ->
  (forall h s t, fits h s -> next s = Some t -> fits (t :: h) (after s)) ->
  forall most h s, fits h s -> greedy allowed ends most h = run most s.
Proof.
  intros D G. induction most as [|most IH]; intros h s F; [reflexivity|]. cbn.
  destruct (D h s F) as (A & E & I). destruct (next s) as [t|] eqn:N.
  - destruct (holds ends h); [destruct E as [E _]; discriminate (E eq_refl)|].
    rewrite (find_only _ t); [|now apply I|now apply A; [apply I|]|].
    + f_equal. apply IH. now apply G.
    + intros s' S' H. apply A in H; [|exact S']. congruence.
  - destruct E as [_ E]. rewrite (E eq_refl). reflexivity.
Qed.
End Runs.
End Histories.
Arguments form : clear implicits.
