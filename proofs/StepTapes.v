(** Turing machines of any number of tapes, whose steps are several tokens: what is done, then for
    each head that moves the digit of its address that the move flips. The tokens that the formulas
    allow are those of the machine's run.

    `formula` and `ends` are what src/softhat/frontends/machines/several_tokens.py builds; a test
    computes that they are the same trees. States and symbols are numbers here: places in their
    lists. Symbol 0 is the blank. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Histories Tape Gray Reading.
Import ListNotations.

(* for each tape: what is written (None: what is there stays), and where its head goes *)
Record action := Action { to : nat; puts : list (option nat); moves_of : list move }.
(* for each tape: what is read (None: anything) *)
Record entry := Entry { state_of : nat; reads_of : list (option nat); act_of : action }.
Record machine := Machine {
  states : nat; symbols : nat; start : nat; halting : list nat; table : list entry;
  tapes : nat; bits : nat; one_sided : bool }.

Definition same_option (a b : option nat) : bool :=
  match a, b with Some a, Some b => a =? b | None, None => true | _, _ => false end.
Fixpoint same_list {A} (same : A -> A -> bool) (l l' : list A) : bool :=
  match l, l' with
  | [], [] => true
  | a :: l, b :: l' => same a b && same_list same l l'
  | _, _ => false
  end.
Definition same_action (a b : action) : bool :=
  (to a =? to b) && same_list same_option (puts a) (puts b) && same_list same_move (moves_of a)
    (moves_of b).
Lemma same_option_spec a b : same_option a b = true <-> a = b.
Proof. destruct a, b; cbn; rewrite ?Nat.eqb_eq; split; congruence. Qed.
Lemma same_list_spec {A} (same : A -> A -> bool) : (forall a b, same a b = true <-> a = b) ->
  forall l l', same_list same l l' = true <-> l = l'.
Proof.
  intros S. induction l as [|a l IH]; intros [|b l']; cbn; try (split; congruence).
  rewrite andb_true_iff, S, IH. split; [intros [-> ->]; reflexivity|intros H; inversion H; auto].
Qed.
Lemma same_action_spec a b : same_action a b = true <-> a = b.
Proof.
  destruct a as [t p g], b as [t' p' g']. unfold same_action. cbn.
  rewrite !andb_true_iff, Nat.eqb_eq, (same_list_spec _ same_option_spec),
    (same_list_spec _ same_move_spec).
  split; [intros [[-> ->] ->]; reflexivity|intros H; inversion H; auto].
Qed.

Definition actions (m : machine) : list action := distinct same_action (map act_of (table m)).
Definition halts (m : machine) (q : nat) : bool := existsb (Nat.eqb q) (halting m).

Definition reads_symbol (a : option nat) (s : nat) : bool := match a with Some x => x =? s
  | None => true end.
Definition meet (a b : option nat) : bool := match a, b with Some x, Some y => x =? y | _,
  _ => true end.
Definition below (n : nat) (a : option nat) : bool := match a with Some x => x <? n
  | None => true end.
Definition entry_fits (m : machine) (e : entry) : bool :=
  (state_of e <? states m) && negb (halts m (state_of e)) && (to (act_of e) <? states m)
  && (length (reads_of e) =? tapes m) && forallb (below (symbols m)) (reads_of e)
  && forallb (below (symbols m)) (puts (act_of e)).
(* entries that may both be read have one action *)
Definition agree (e f : entry) : bool :=
  negb (state_of e =? state_of f)
  || negb (forallb (fun t => meet (nth t (reads_of e) None) (nth t (reads_of f) None))
    (seq 0 (length (reads_of
    e))))
  || same_action (act_of e) (act_of f).
Definition deterministic (l : list entry) : bool := forallb (fun e => forallb (agree e) l) l.
Definition well_formed (m : machine) : bool :=
  (2 <=? bits m) && (start m <? states m) && (0 <? symbols m) && (0 <? tapes m)
  && forallb (entry_fits m) (table m) && deterministic (table m).

(** * The machine *)

(* the state, the moves that are still to be told (a tape, and whether to the right), the tapes
   and the heads' cells; or nothing is to come *)
Inductive config :=
  | At (q : nat) (todo : list (nat * bool)) (tape : nat -> Z -> nat) (head : nat -> Z)
  | Stopped.

Definition matches (q : nat) (read : nat -> nat) (e : entry) : bool :=
  (state_of e =? q) && forallb (fun t => reads_symbol (nth t (reads_of e) None) (read t))
    (seq 0 (length
    (reads_of e))).
Definition entry_at (m : machine) (q : nat) (read : nat -> nat) : option action :=
  option_map act_of (find (matches q read) (table m)).
Definition goes (a : action) (t : nat) : move := nth t (moves_of a) Stay.
Definition goes_right (a : action) (t : nat) : bool := same_move (goes a t) Right.
(* does the head move? at the left end of a tape with one side it stays *)
Definition moving (m : machine) (a : action) (head : nat -> Z) (t : nat) : bool :=
  negb (same_move (goes a t) Stay) && (negb (one_sided m) || goes_right a t
    || negb (head t =? 0)%Z).
Definition moves_from (m : machine) (a : action) (head : nat -> Z) (i : nat) : list (nat * bool) :=
  map (fun t => (t, goes_right a t)) (filter (moving m a head) (seq i (tapes m - i))).
Definition write_all (a : action) (tape : nat -> Z -> nat) (head : nat -> Z) : nat -> Z -> nat :=
  fun t => match nth t (puts a) None with Some s => set (tape t) (head t) s | None => tape t end.
Definition set_head (head : nat -> Z) (t : nat) (c : Z) : nat -> Z := fun u => if u =? t then c
  else head u.

Inductive token :=
  | Input (s : nat)                              (* s is written on the first tape, whose head goes
  right *)
  | Act (a : action)
  | Go
  | Flip (t b : nat) (v odd : bool)              (* digit b of head t is now v; its cell is odd *)
  | Full.

Definition flip_to (m : machine) (t : nat) (c d : Z) : token :=
  let (b, v) := flipped (bits m) c d in Flip t b v (Z.odd d).
(* The next token; none if the machine has halted, or a head was to leave the window. *)
Definition next (m : machine) (s : config) : option token :=
  match s with
  | Stopped => None
  | At q [] tape head => option_map Act (entry_at m q (fun t => tape t (head t)))
  | At q ((t, r) :: _) _ head =>
      let c := moved r (head t) in Some (if inside (bits m) c then flip_to m t (head t) c else Full)
  end.
Definition after (m : machine) (s : config) : config :=
  match s with
  | Stopped => Stopped
  | At q [] tape head =>
      match entry_at m q (fun t => tape t (head t)) with
      | None => s
      | Some a =>
          if halts m (to a) then Stopped
          else At (to a) (moves_from m a head 0) (write_all a tape head) head
      end
  | At q ((t, r) :: todo) tape head =>
      let c := moved r (head t) in
      if inside (bits m) c then At q todo tape (set_head head t c) else Stopped
  end.

(** * Its formulas *)

Definition same (s t : token) : bool :=
  match s, t with
  | Input x, Input y => x =? y
  | Act a, Act b => same_action a b
  | Go, Go | Full, Full => true
  | Flip t b v o, Flip t' b' v' o' => (t =? t') && (b =? b') && eqb v v' && eqb o o'
  | _, _ => false
  end.
Lemma same_spec s t : same s t = true <-> s = t.
Proof.
  destruct s, t; cbn; rewrite ?andb_true_iff, ?Nat.eqb_eq, ?same_action_spec, ?eqb_true_iff; split;
    intros H;
    try discriminate; try reflexivity; try congruence; try (inversion H; auto; fail);
    destruct H as [[[? ?] ?] ?]; congruence.
Qed.

Definition has_flips (m : machine) (t : nat) : bool :=
  (t =? 0) || existsb (fun a => negb (same_move (goes a t) Stay)) (actions m).
Definition flips_of (m : machine) (t : nat) : list token :=
  flat_map (fun b => [Flip t b false false; Flip t b false true; Flip t b true false;
    Flip t b true true])
    (seq 0 (bits m)).
Definition tokens (m : machine) : list token :=
  map Input (seq 0 (symbols m)) ++ map Act (actions m)
  ++ Go :: flat_map (flips_of m) (filter (has_flips m) (seq 0 (tapes m))) ++ [Full].

Definition is_go (t : token) : bool := match t with Go => true | _ => false end.
Definition is_full (t : token) : bool := match t with Full => true | _ => false end.
Definition is_input (t : token) : bool := match t with Input _ => true | _ => false end.
Definition acts (t : token) : bool := match t with Input _ | Act _ => true | _ => false end.
Definition going_on (m : machine) (t : token) : bool :=
  match t with Input _ => true | Act a => negb (halts m (to a)) | _ => false end.
Definition ending (m : machine) (t : token) : bool := match t with Act a => halts m (to a)
  | _ => false end.
Definition flips_tape (u : nat) (t : token) : bool := match t with Flip x _ _ _ => x =? u
  | _ => false end.
Definition touches (u b : nat) (t : token) : bool :=
  match t with Go => true | Flip x d _ _ => (x =? u) && (d =? b) | _ => false end.
Definition sets (u b : nat) (t : token) : bool :=
  match t with Flip x d v _ => (x =? u) && (d =? b) && v | _ => false end.
Definition moves_tape (u : nat) (t : token) : bool := is_go t || flips_tape u t.
Definition odd_on (u : nat) (t : token) : bool := match t with Flip x _ _ o => (x =? u) && o
  | _ => false end.
Definition written (u : nat) (t : token) : option nat :=
  match t with
  | Input s => if u =? 0 then Some s else None
  | Act a => nth u (puts a) None
  | _ => None
  end.
Definition writes (u : nat) (t : token) : bool := match written u t with Some _ => true
  | None => false end.
Definition writes_bit (u b : nat) (t : token) : bool :=
  match written u t with Some s => Nat.testbit s b | None => false end.
Definition goes_on (m : machine) (u : nat) (p : move -> bool) (t : token) : bool :=
  match t with
  | Input _ => (u =? 0) && p Right
  | Act a => negb (halts m (to a)) && p (goes a u)
  | _ => false
  end.

(* The states in which something may come next, the start first: their places are their numbers. *)
Definition listed (m : machine) : list nat :=
  start m :: filter (fun q => negb (q =? start m) && negb (halts m q)) (seq 0 (states m)).
Fixpoint place (q : nat) (l : list nat) : nat :=
  match l with [] => 0 | p :: l => if q =? p then 0 else S (place q l) end.
Definition leads_bit (m : machine) (b : nat) (t : token) : bool :=
  match t with
  | Act a => existsb (Nat.eqb (to a)) (listed m) && Nat.testbit (place (to a) (listed m)) b
  | _ => false
  end.

Section Formulas.
Variable m : machine.
Notation k := (bits m).
Notation told := (one_of (tokens m)).

Definition digit (u b : nat) : form token := Since (Not (told (touches u b))) (told (sets u b)).
Definition odd (u : nat) : form token := Since (Not (told (moves_tape u))) (told (odd_on u)).
Definition code (u : nat) : list (form token * form token) :=
  (told (writes u), Constant true) :: map (fun b => (digit u b, digit u b)) (seq 0 k).
Definition read_bit (u b : nat) : form token := Recall (told (writes_bit u b)) (code u).
Definition reads (u s : nat) : form token := reading (symbols m) (read_bit u) s.
(* did this hold of the last token that acted? *)
Definition last (p : token -> bool) :
  form token := Since (Not (Or (told acts) (told is_go))) (told p).
Definition running (q : nat) : form token :=
  reading (length (listed m)) (fun b => last (leads_bit m b)) (place q (listed m)).
Definition writing_input : form token := last is_input.
Definition rightward (u : nat) : form token := last (goes_on m u (fun g => same_move g Right)).
Definition moves (u : nat) : form token :=
  let asked := last (goes_on m u (fun g => negb (same_move g Stay))) in
  if one_sided m then
    And asked (Or (rightward u) (Not (all_of (map (fun b => Not (digit u b)) (seq 0 k)))))
  else asked.
Definition spot (i : nat) : form token :=
  match i with 0 => told (going_on m) | S u => told (flips_tape u) end.
(* the heads from i on stay, up to n *)
Definition passed (n i : nat) :
  form token := all_of (spot i :: map (fun u => Not (moves u)) (seq i (n - i))).
Definition due (u : nat) : form token := And (moves u) (any_of (map (passed u) (seq 0 (S u)))).
Definition any_turn :
  form token := any_of (told is_go :: map (passed (tapes m)) (seq 0 (S (tapes m)))).
Definition turn : form token := And any_turn (Not writing_input).

Definition looks_of (l : list (option nat)) : list (form token) :=
  flat_map (fun u => match nth u l None with Some s => [reads u s]
    | None => [] end) (seq 0 (length l)).
Definition case (e : entry) : form token := all_of (running (state_of e) :: looks_of (reads_of e)).
Definition does (a : action) : form token :=
  And turn (any_of (map case (filter (fun e => same_action (act_of e) a) (table m)))).
Definition leaving (u : nat) : form token :=
  all_of [due u; Or (And (rightward u) (odd u)) (And (Not (rightward u)) (Not (odd u)));
    leaves_form k (digit u)].

Definition formula (t : token) : form token :=
  match t with
  | Input _ | Go => Constant false
  | Act a => does a
  | Flip u b v o =>
      all_of ([due u; if eqb (b =? 0) o then rightward u else Not (rightward u);
        if o then Not (odd u) else odd u]
        ++ (if b =? 0 then [] else [far_form k (digit u) b])
        ++ [if v then Not (digit u b) else digit u b])
  | Full => any_of (map leaving (filter (has_flips m) (seq 0 (tapes m))))
  end.
Definition ends : form token :=
  any_of [told (ending m); And turn (Not (any_of (map does (actions m))));
    And any_turn writing_input;
          told is_full; Not (Once (Constant true))].
End Formulas.

(* The prompt: the input's symbols, as if written by steps to the right, then go. *)
Fixpoint input (m : machine) (c : Z) (w : list nat) : list token :=
  match w with [] => [] | s :: w => Input s :: flip_to m 0 c (c + 1) :: input m (c + 1) w end.
Definition prompt (m : machine) (w : list nat) : list token := input m 0 w ++ [Go].
Definition begun (m : machine) (w : list nat) : config :=
  At (start m) [] (fun t => if t =? 0 then tape_of w else fun _ => 0) (fun _ => 0%Z).
Definition input_fits (m : machine) (w : list nat) : bool :=
  (Z.of_nat (length w) <? half (bits m))%Z && forallb (fun s => s <? symbols m) w.

(** * What the formulas say of a history *)

Section Step.
Variable m : machine.
Hypothesis W : well_formed m = true.
Notation told := (told (tokens m)).
Notation k := (bits m).

Definition dig (u b : nat) (h : list token) :
  bool := since (fun t => negb (touches u b t)) (sets u b) h.
Definition parity (u : nat) (h : list token) :
  bool := since (fun t => negb (moves_tape u t)) (odd_on u) h.
(* the symbol of the latest token that wrote where the code was q; blank without one *)
Fixpoint recalled (u : nat) (q : nat -> bool) (h : list token) : nat :=
  match h with
  | [] => 0
  | t :: past =>
      if writes u t && forallb (fun b => eqb (dig u b h) (q b)) (seq 0 k)
      then match written u t with Some s => s | None => 0 end else recalled u q past
  end.
Fixpoint last_act (h : list token) : option token :=
  match h with [] => None | t :: past => if acts t || is_go t then Some t else last_act past end.

Lemma digit_holds u b h : told h -> holds same (digit m u b) h = dig u b h.
Proof. apply (since_one_of same same_spec). Qed.
Lemma odd_holds u h : told h -> holds same (odd m u) h = parity u h.
Proof. apply (since_one_of same same_spec). Qed.
Lemma last_holds p h : (forall t, p t = true -> acts t = true) -> told h ->
  holds same (last m p) h = match last_act h with Some t => p t | None => false end.
Proof.
  intros P T. unfold last. cbn [holds]. induction T as [|t h I T IH]; [reflexivity|].
  cbn [pasts since last_act holds].
  rewrite !(one_of_holds same same_spec) by assumption. cbn [holds] in IH. rewrite IH.
  specialize (P t).
  destruct (p t) eqn:E, (acts t), (is_go t); try (discriminate (P eq_refl)); cbn; rewrite ?E;
    reflexivity.
Qed.

(* What the tokens are. *)
Definition known (t : token) : Prop :=
  match t with
  | Input s => s < symbols m
  | Act a => In a (actions m)
  | Flip u b _ _ => u < tapes m /\ has_flips m u = true /\ b < k
  | Go | Full => True
  end.
Lemma known_in t : In t (tokens m) <-> known t.
Proof.
  unfold tokens. rewrite !in_app_iff. cbn [In]. rewrite in_app_iff, in_flat_map, !in_map_iff. split.
  - intros [(s & <- & I)|[(a & <- & I)|[<-|[(u & U & I)|[<-|[]]]]]]; try exact Logic.I.
    + apply in_seq in I. cbn. lia.
    + exact I.
    + apply filter_In in U as [U F]. apply in_seq in U. unfold flips_of in I.
      apply in_flat_map in I as (b & B & I).
      apply in_seq in B. cbn in I. destruct I as [<-|[<-|[<-|[<-|[]]]]]; cbn; repeat split;
        (assumption || lia).
  - destruct t as [s|a| |u b v o|]; cbn.
    + intros S. left. exists s. split; [reflexivity|apply in_seq; lia].
    + intros A. right. left. eauto.
    + auto.
    + intros (U & F & B). right. right. right. left. exists u.
      split; [apply filter_In; split; [apply in_seq;
        lia|exact F]|].
      unfold flips_of. apply in_flat_map. exists b. split; [apply in_seq; lia|].
      destruct v, o; cbn; auto.
    + intros _. right. right. right. right. now left.
Qed.

Lemma entry_in e : In e (table m) -> entry_fits m e = true.
Proof.
  intros I. unfold well_formed in W. rewrite !andb_true_iff, forallb_forall in W. apply W, I.
Qed.
Lemma action_in a : In a (actions m) -> to a < states m /\
  forallb (below (symbols m)) (puts a) = true.
Proof.
  intros I. unfold actions in I. rewrite (distinct_in _ same_action_spec) in I.
  apply in_map_iff in I as (e & <- & I).
  apply entry_in in I.
  unfold entry_fits in I. rewrite !andb_true_iff, !Nat.ltb_lt in I. tauto.
Qed.
Lemma some_symbol : 0 < symbols m.
Proof. unfold well_formed in W. rewrite !andb_true_iff, !Nat.ltb_lt in W. tauto. Qed.
Lemma some_tape : 0 < tapes m.
Proof. unfold well_formed in W. rewrite !andb_true_iff, !Nat.ltb_lt in W. tauto. Qed.
Lemma start_in : start m < states m.
Proof. unfold well_formed in W. rewrite !andb_true_iff, !Nat.ltb_lt in W. tauto. Qed.
Lemma written_known u t s : In t (tokens m) -> written u t = Some s -> s < symbols m.
Proof.
  intros I. apply known_in in I. destruct t as [x|a| |? ? ? ?|]; cbn in *; try discriminate.
  - destruct (u =? 0); [|discriminate]. congruence.
  - intros E. apply action_in in I as [_ I]. rewrite forallb_forall in I. specialize (I (Some s)).
    cbn in I.
    apply Nat.ltb_lt, I. rewrite <- E. destruct (Nat.lt_ge_cases u (length (puts a))) as [L|L];
      [now apply nth_In|].
    rewrite nth_overflow in E by exact L. discriminate.
Qed.
Lemma recalled_known u q h : told h -> recalled u q h < symbols m.
Proof.
  intros T. induction T as [|t h I T IH]; [apply some_symbol|]. cbn [recalled].
  destruct (writes u t && _);
    [|exact IH].
  destruct (written u t) eqn:E; [now apply (written_known u t)|apply some_symbol].
Qed.

Lemma read_bit_holds u b h : told h ->
  holds same (read_bit m u b) h = Nat.testbit (recalled u (fun d => dig u d h) h) b.
Proof.
  intros T. unfold read_bit. cbn [holds].
  assert (Q : forall past, told past -> latest
    (fun past => forallb (fun d => eqb (holds same (fst d) past) (holds same (snd d) h)) (code m u))
    (holds same (one_of (tokens m) (writes_bit u b))) (pasts past)
    = Nat.testbit (recalled u (fun d => dig u d h) past) b).
  { induction past as [|t past IH]; intros P; [cbn; now rewrite Nat.bits_0|].
    inversion P as [|? ? I P']; subst. cbn [pasts latest recalled].
    assert (E : forallb (fun d => eqb (holds same (fst d) (t :: past)) (holds same (snd d) h))
      (code m u)
      = writes u t && forallb (fun c => eqb (dig u c (t :: past)) (dig u c h)) (seq 0 k)).
    { unfold code. cbn [forallb fst snd]. rewrite (one_of_holds same same_spec) by exact I.
      cbn [holds].
      f_equal; [now destruct (writes u t)|]. induction (seq 0 k) as [|c l IHl]; [reflexivity|].
      cbn [map forallb fst snd]. rewrite IHl. f_equal. f_equal; now apply digit_holds. }
    rewrite E. destruct (writes u t && _) eqn:M; [|now apply IH].
    rewrite (one_of_holds same same_spec) by exact I. unfold writes_bit.
    destruct (written u t); [reflexivity|]. now rewrite Nat.bits_0. }
  now apply Q.
Qed.

(** * Tapes and heads *)

Lemma two_digits : exists k', k = S (S k').
Proof. unfold well_formed in W. rewrite !andb_true_iff, Nat.leb_le in W. exists (k - 2). lia. Qed.
Lemma code_is c d : inside k c = true -> inside k d = true ->
  forallb (fun b => eqb (nth b (digits k c) false) (nth b (digits k d) false)) (seq 0 k)
    = (c =? d)%Z.
Proof. destruct two_digits as (k' & K). rewrite K. apply same_code. Qed.
Lemma moved_is r c : inside k c = true -> inside k (moved r c) = true ->
  exists d, d < k /\ digits k (moved r c) = flip d (digits k c)
    /\ flipped k c (moved r c) = (d, negb (nth d (digits k c) false))
    /\ (forall b, b < k -> flips r c (digits k c) b = (b =? d)) /\ (d =? 0) = is_near r c.
Proof. destruct two_digits as (k' & K). rewrite K. apply flipped_is. Qed.

(* Digits and parity are those of the head's cell; what the latest token with a cell's code wrote
   is there. *)
Definition tape_so (h : list token) (tape : nat -> Z -> nat) (head : nat -> Z) (u : nat) : Prop :=
  inside k (head u) = true /\ (forall b, b < k -> dig u b h = nth b (digits k (head u)) false)
  /\ parity u h = Z.odd (head u)
  /\ forall c, inside k c = true -> recalled u (fun b => nth b (digits k c) false) h = tape u c.
Definition written_so (h : list token) (tape : nat -> Z -> nat) (head : nat -> Z) : Prop :=
  told h /\ forall u, u < tapes m -> tape_so h tape head u.

Lemma recalled_ext u q q' h : (forall b, b < k -> q b = q' b) -> recalled u q h = recalled u q' h.
Proof.
  intros E. induction h as [|t h IH]; [reflexivity|]. cbn [recalled]. rewrite IH.
  replace (forallb _ (seq 0 k)) with (forallb (fun b => eqb (dig u b (t :: h)) (q' b)) (seq 0 k));
    [reflexivity|].
  apply eq_true_iff_eq. rewrite !forallb_forall. split; intros F b B; specialize (F b B);
    apply in_seq in B;
    [rewrite E by lia|rewrite <- E by lia]; exact F.
Qed.

Lemma reads_so h tape head u s : written_so h tape head -> u < tapes m -> s < symbols m ->
  holds same (reads m u s) h = (s =? tape u (head u)).
Proof.
  intros (T & F) U S. destruct (F u U) as (I & D & _ & R). rewrite <- (R (head u) I).
  rewrite (recalled_ext u _ (fun d => dig u d h)) by (intros b B; now rewrite D).
  unfold reads. apply reading_holds; [exact S|now apply recalled_known|]. intros b _.
  now apply read_bit_holds.
Qed.
Lemma digits_so h tape head u : written_so h tape head -> u < tapes m ->
  map (fun b => holds same (digit m u b) h) (seq 0 k) = digits k (head u).
Proof.
  intros (T & F) U. destruct (F u U) as (_ & D & _). apply (nth_ext _ _ false false).
  - now rewrite map_length, seq_length, digits_length.
  - rewrite map_length, seq_length. intros b B. rewrite nth_map_seq by exact B.
    rewrite digit_holds by exact T.
    now apply D.
Qed.
Lemma inside_0 : inside k 0 = true.
Proof.
  destruct two_digits as (k' & ->). pose proof (half_pos (S k')). unfold inside.
  apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia.
Qed.
Lemma at_0_so h tape head u : written_so h tape head -> u < tapes m ->
  holds same (all_of (map (fun b => Not (digit m u b)) (seq 0 k))) h = (head u =? 0)%Z.
Proof.
  intros (T & F) U. destruct (F u U) as (I & D & _).
  rewrite all_of_holds, <- code_is by (exact I || apply inside_0).
  rewrite zero_digits. apply eq_true_iff_eq. rewrite !forallb_forall. split.
  - intros H b B. specialize (H (Not (digit m u b)) ltac:(now apply in_map_iff; exists b)).
    cbn [holds] in H.
    apply in_seq in B. rewrite digit_holds, D in H by (exact T || lia). rewrite nth_repeat.
    now apply negb_true_iff in H as ->.
  - intros H f B. apply in_map_iff in B as (b & <- & B). specialize (H b B). apply in_seq in B.
    cbn [holds].
    rewrite digit_holds, D by (exact T || lia). rewrite nth_repeat in H.
    now apply eqb_prop in H as ->.
Qed.

Lemma acts_so h tape head t : written_so h tape head -> In t (tokens m) -> acts t = true ->
  written_so (t :: h) (fun u => match written u t with Some s => set (tape u) (head u) s
    | None => tape u end) head.
Proof.
  intros (T & F) I A. split; [now constructor|]. intros u U. destruct (F u U) as (In & D & P & R).
  assert (D' : forall b, dig u b (t :: h) = dig u b h) by (intros b; unfold dig; cbn [since];
    now destruct t).
  split; [exact In|]. split; [intros b B; rewrite D'; now apply D|].
  split; [rewrite <- P; unfold parity;
    cbn [since]; now destruct t|].
  intros c C. cbn [recalled]. unfold writes. destruct (written u t) as [s|]; [|now apply R].
  cbn [andb].
  replace (forallb _ (seq 0 k)) with (head u =? c)%Z.
  - unfold set. rewrite (Z.eqb_sym c). destruct (head u =? c)%Z; [reflexivity|]. now apply R.
  - rewrite <- code_is by assumption. apply eq_true_iff_eq. rewrite !forallb_forall.
    split; intros G b B; specialize (G b B); apply in_seq in B; rewrite D', D in * by lia; exact G.
Qed.

Lemma flip_so h tape head t r : written_so h tape head -> t < tapes m -> has_flips m t = true ->
  inside k (moved r (head t)) = true ->
  let x := flip_to m t (head t) (moved r (head t)) in
  In x (tokens m) /\ written_so (x :: h) tape (set_head head t (moved r (head t))).
Proof.
  intros (T & F) L Fl I x. destruct (F t L) as (I0 & D0 & P0 & _).
  destruct (moved_is r (head t) I0 I) as (d & D & C & E & _ & _).
  assert (Ex : x = Flip t d (negb (nth d (digits k (head t)) false)) (Z.odd (moved r (head t)))).
  { unfold x, flip_to. now rewrite E. }
  clearbody x. subst x.
  match goal with |- In ?x _ /\ _ => assert (X : In x (tokens m)) by (apply known_in; cbn;
    auto) end.
  split; [exact X|]. split; [now constructor|]. intros u U. destruct (F u U) as (In & Du & P & R).
  unfold tape_so, set_head. destruct (Nat.eqb_spec u t) as [->|N].
  - split; [exact I|]. split; [|split].
    + intros b B. unfold dig. cbn [since touches sets]. rewrite Nat.eqb_refl. cbn [andb].
      fold (dig t b h).
      rewrite C. destruct (Nat.eqb_spec d b) as [->|Nb].
      * cbn. rewrite orb_false_r. rewrite nth_flip by (now rewrite digits_length). reflexivity.
      * cbn. rewrite D0 by exact B. clear - Nb. generalize (digits k (head t)) as l. revert b Nb.
        induction d as [|d IH]; intros [|b] N [|y l]; cbn; try reflexivity; try contradiction.
        apply IH. congruence.
    + unfold parity. cbn [since moves_tape is_go flips_tape odd_on orb]. rewrite Nat.eqb_refl. cbn.
      apply orb_false_r.
    + intros c Cc. cbn [recalled]. now apply R.
  - assert (N' : (t =? u) = false) by (apply Nat.eqb_neq; congruence).
    split; [exact In|]. split; [|split].
    + intros b B. unfold dig. cbn [since touches sets]. rewrite N'. cbn [andb negb orb].
      now apply Du.
    + unfold parity. cbn [since moves_tape is_go flips_tape odd_on orb]. rewrite N'. exact P.
    + intros c Cc. cbn [recalled]. now apply R.
Qed.

Lemma go_so h tape head : written_so h tape head -> written_so (Go :: h) tape (fun _ => 0%Z).
Proof.
  intros (T & F). split; [constructor; [now apply known_in|exact T]|]. intros u U.
  destruct (F u U) as (_ & _ & _ & R).
  split; [apply inside_0|]. split; [|split; [reflexivity|intros c C; cbn [recalled]; now apply R]].
  intros b B. rewrite zero_digits, nth_repeat. reflexivity.
Qed.

(** * What comes next *)

Definition spot_of (i : nat) (t : token) : bool := match i with 0 => going_on m t
  | S u => flips_tape u t end.
(* After go; or the last token that acted was a, and i says which heads have been told of since. *)
Definition fits (h : list token) (s : config) : Prop :=
  match s with
  | At q todo tape head => written_so h tape head /\ exists t past, h = t :: past /\
      (t = Go /\ todo = [] /\ q = start m
       \/ exists a i, last_act h = Some (Act a) /\ In a (actions m) /\ halts m (to a) = false /\
         q = to a
          /\ i <= tapes m /\ (forall j, spot_of j t = (j =? i)) /\ todo = moves_from m a head i
          /\ is_go t = false /\ is_full t = false /\ ending m t = false)
  | Stopped => told h /\ exists t past, h = t :: past /\
    (t = Full \/ exists a, t = Act a /\ halts m (to a) = true)
  end.

Lemma filter_none (p : nat -> bool) i n : forallb (fun t => negb (p t)) (seq i n) = true <->
  filter p (seq i n) =
  [].
Proof.
  revert i. induction n as [|n IH]; intros i; [easy|]. cbn. destruct (p i); cbn; [easy|]. apply IH.
Qed.
Lemma filter_first (p : nat -> bool) n : forall i t rest, filter p (seq i n) = t :: rest ->
  i <= t < i + n /\ p t = true /\ rest = filter p (seq (S t) (i + n - S t))
  /\ forallb (fun t => negb (p t)) (seq i (t - i)) = true.
Proof.
  induction n as [|n IH]; intros i t rest E; [discriminate|]. cbn in E. destruct (p i) eqn:P.
  - inversion E. subst t. rewrite Nat.sub_diag. replace (i + S n - S i) with n by lia.
    repeat split; (lia || auto).
  - apply IH in E as (L & P' & R & N). split; [lia|]. split; [exact P'|]. split.
    + rewrite R. do 2 f_equal. lia.
    + replace (t - i) with (S (t - S i)) by lia. cbn. now rewrite P, N.
Qed.

Lemma place_in q l : In q l -> place q l < length l /\ nth (place q l) l 0 = q.
Proof.
  induction l as [|p l IH]; [contradiction|]. cbn. destruct (Nat.eqb_spec q p) as [->|N].
  - intros _. split; [lia|reflexivity].
  - intros [->|I]; [contradiction|]. apply IH in I. cbn. split; [lia|tauto].
Qed.
Lemma listed_in q : q < states m -> halts m q = false -> In q (listed m).
Proof.
  intros Q H. unfold listed. cbn. destruct (Nat.eqb_spec q (start m)) as [->|N]; [now left|]. right.
  apply filter_In. split; [apply in_seq; lia|]. apply Nat.eqb_neq in N. now rewrite N, H.
Qed.

Section Fitting.
Variables (h : list token) (q : nat) (todo : list (nat * bool)) (tape : nat -> Z ->
  nat) (head : nat -> Z).
Hypothesis F : fits h (At q todo tape head).
Let T : told h := proj1 (proj1 F).
Let so : written_so h tape head := proj1 F.

Lemma not_input : holds same (writing_input m) h = false.
Proof.
  unfold writing_input. rewrite last_holds by (exact T || now intros []).
  pose proof F as (_ & t & past & E & [(-> & _)|(a & i & L & _)]); [now rewrite E|now rewrite L].
Qed.

Lemma running_fits p : p < states m -> halts m p = false -> holds same (running m p) h = (p =? q).
Proof.
  intros P H. pose proof (place_in p _ (listed_in p P H)) as [Pl Pn].
  assert (Q : In q (listed m) /\ forall b, holds same (last m (leads_bit m b)) h
    = Nat.testbit (place q (listed
    m)) b).
  { pose proof F as (_ & t & past & E & [(-> & _ & Eq)|(a & i & L & A & N & Eq & _)]); rewrite Eq.
    - split; [now left|]. intros b. rewrite last_holds by (exact T || (intros []; cbn; congruence)).
      rewrite E. cbn.
      now rewrite Nat.eqb_refl, Nat.bits_0.
    - pose proof (listed_in (to a) (proj1 (action_in a A)) N) as I. split; [exact I|]. intros b.
      rewrite last_holds by (exact T || (intros []; cbn; congruence)). rewrite L. cbn [leads_bit].
      replace (existsb (Nat.eqb (to a)) (listed m)) with true; [reflexivity|]. symmetry.
      apply existsb_exists.
      exists (to a). split; [exact I|apply Nat.eqb_refl]. }
  destruct Q as [I B]. pose proof (place_in q _ I) as [Ql Qn]. unfold running.
  rewrite (reading_holds same _ _ _ (place q (listed m))) by (assumption || (intros; apply B)).
  apply eq_true_iff_eq. rewrite !Nat.eqb_eq. split; [congruence|now intros ->].
Qed.

Lemma case_fits e : In e (table m) -> holds same (case m e) h = matches q (fun t => tape t (head t))
  e.
Proof.
  intros I. apply entry_in in I. unfold entry_fits in I.
  rewrite !andb_true_iff, negb_true_iff, !Nat.ltb_lt, Nat.eqb_eq in I.
  destruct I as [[[[[Q H] _] L] S] _]. unfold case, matches. rewrite all_of_holds. cbn [forallb].
  rewrite running_fits by assumption. f_equal. unfold looks_of. rewrite L.
  assert (B : forall u, u < tapes m -> u < tapes m) by auto. revert B.
  assert (K : forall l, (forall u, In u l -> u < tapes m) ->
    forallb (fun f => holds same f h) (flat_map (fun u => match nth u (reads_of e) None
      with Some s => [reads m u
      s] | None => [] end) l)
    = forallb (fun t => reads_symbol (nth t (reads_of e) None) (tape t (head t))) l).
  { induction l as [|u l IH]; intros Lt; [reflexivity|]. cbn [flat_map forallb].
    rewrite forallb_app, IH by (intros; apply Lt; now right).
    f_equal. destruct (nth u (reads_of e) None) as [s|] eqn:E; [|reflexivity]. cbn.
    rewrite andb_true_r.
    apply (reads_so h tape head); [exact so|apply Lt; now left|].
    rewrite forallb_forall in S. specialize (S (Some s)). cbn in S. apply Nat.ltb_lt, S.
    rewrite <- E. apply nth_In.
    rewrite L. apply Lt. now left. }
  intros _. apply K. intros u U. apply in_seq in U. lia.
Qed.

Lemma entry_only a :
  (exists e, In e (table m) /\ act_of e = a /\ matches q (fun t => tape t (head t)) e = true)
  <-> entry_at m q (fun t => tape t (head t)) = Some a.
Proof.
  unfold entry_at. split.
  - intros (e & I & A & M). destruct (find _ _) as [f|] eqn:X.
    + cbn. f_equal. apply find_some in X as [I' M']. rewrite <- A.
      assert (D : agree e f = true).
      { unfold well_formed in W. rewrite !andb_true_iff in W. destruct W as [_ D].
        unfold deterministic in D.
        rewrite forallb_forall in D. specialize (D e I). rewrite forallb_forall in D. now apply D. }
      unfold matches in M, M'. rewrite andb_true_iff, Nat.eqb_eq, forallb_forall in M, M'.
      destruct M as [Q M], M' as [Q' M'].
      unfold agree in D. rewrite Q, Q', Nat.eqb_refl in D. cbn [negb orb] in D.
      apply orb_true_iff in D as [D|D].
      * exfalso. apply negb_true_iff, not_true_iff_false in D. apply D, forallb_forall. intros u U.
        specialize (M u U).
        assert (U' : In u (seq 0 (length (reads_of f)))).
        { apply entry_in in I, I'. unfold entry_fits in I, I'.
          rewrite !andb_true_iff, !Nat.eqb_eq in I, I'.
          replace (length (reads_of f)) with (length (reads_of e)); [exact U|].
          intuition congruence. }
        specialize (M' u U'). unfold meet, reads_symbol in *.
        destruct (nth u (reads_of e) None), (nth u (reads_of f) None); try reflexivity.
        rewrite Nat.eqb_eq in *. congruence.
      * symmetry. now apply same_action_spec.
    + exfalso. pose proof (find_none _ _ X e I) as N. congruence.
  - destruct (find _ _) as [e|] eqn:X; [|discriminate]. cbn. intros A. inversion A.
    apply find_some in X.
    exists e. tauto.
Qed.

Lemma some_case a :
  existsb (fun f => holds same f h) (map (case m) (filter (fun e => same_action (act_of e) a)
  (table m))) = true
  <-> entry_at m q (fun t => tape t (head t)) = Some a.
Proof.
  rewrite <- entry_only, existsb_exists. split.
  - intros (f & I & H). apply in_map_iff in I as (e & <- & I). apply filter_In in I as [I A].
    apply same_action_spec in A. rewrite case_fits in H by exact I. eauto.
  - intros (e & I & A & M). exists (case m e). rewrite case_fits by exact I. split; [|exact M].
    apply in_map, filter_In. split; [exact I|now apply same_action_spec].
Qed.

(* The heads' moves: the first that is to be told. *)
Section Acting.
Variables (t : token) (past : list token) (a : action) (i : nat).
Hypotheses (E : h = t :: past) (L : last_act h = Some (Act a)) (N : halts m (to a) = false)
  (S_ : forall j, spot_of j t = (j =? i)).

Lemma right_acting u : holds same (rightward m u) h = goes_right a u.
Proof.
  unfold rightward. rewrite last_holds by (exact T || (intros []; cbn; congruence)). rewrite L. cbn.
  now rewrite N.
Qed.
Lemma moves_acting u : u < tapes m -> holds same (moves m u) h = moving m a head u.
Proof.
  intros U. unfold moves, moving.
  assert (M : holds same (last m (goes_on m u (fun g => negb (same_move g Stay)))) h
    = negb (same_move (goes a u)
    Stay)).
  { rewrite last_holds by (exact T || (intros []; cbn; congruence)). rewrite L. cbn. now rewrite N.
    }
  destruct (one_sided m); [|now rewrite M, andb_true_r]. cbn [holds negb orb].
  now rewrite M, right_acting, (at_0_so h tape head) by (exact so || exact U).
Qed.
Lemma passed_acting n j : n <= tapes m -> holds same (passed m n j) h
  = (j =? i) && forallb (fun x => negb (moving m a head x)) (seq j (n - j)).
Proof.
  intros Le. unfold passed. rewrite all_of_holds. cbn [forallb]. f_equal.
  - rewrite <- S_. assert (I : In t (tokens m)) by (pose proof T as T'; rewrite E in T';
      now inversion T').
    rewrite E. destruct j; now apply (one_of_holds same same_spec).
  - apply eq_true_iff_eq. rewrite !forallb_forall. split.
    + intros H x X. specialize (H (Not (moves m x)) ltac:(now apply in_map_iff; exists x)).
      cbn [holds] in H.
      apply in_seq in X. now rewrite moves_acting in H by lia.
    + intros H f X. apply in_map_iff in X as (x & <- & X). specialize (H x X). apply in_seq in X.
      cbn [holds].
      now rewrite moves_acting by lia.
Qed.
Lemma any_passed n : n <= tapes m ->
  existsb (fun f => holds same f h) (map (passed m n) (seq 0 (S n)))
  = (i <=? n) && forallb (fun x => negb (moving m a head x)) (seq i (n - i)).
Proof.
  intros Le. apply eq_true_iff_eq. rewrite existsb_exists, andb_true_iff, Nat.leb_le. split.
  - intros (f & J & H). apply in_map_iff in J as (j & <- & J). apply in_seq in J.
    rewrite passed_acting in H by exact Le.
    apply andb_true_iff in H as [Ej H]. apply Nat.eqb_eq in Ej. subst j. split; [lia|exact H].
  - intros [Li H]. exists (passed m n i). rewrite passed_acting, Nat.eqb_refl by exact Le.
    split; [|exact H].
    apply in_map, in_seq. lia.
Qed.
Lemma due_acting u : u < tapes m -> todo = moves_from m a head i ->
  holds same (due m u) h = match todo with (t, _) :: _ => u =? t | [] => false end.
Proof.
  intros U Et. rewrite Et. unfold due. cbn [holds]. rewrite any_of_holds, any_passed, moves_acting
    by lia.
  unfold moves_from.
  destruct (filter (moving m a head) (seq i (tapes m - i))) as [|x rest] eqn:X.
  - cbn. apply filter_none in X. rewrite forallb_forall in X.
    destruct (moving m a head u) eqn:M; [|reflexivity]. destruct (Nat.leb_spec i u); [|reflexivity].
    specialize (X u ltac:(apply in_seq; lia)). rewrite M in X. discriminate.
  - cbn [map]. apply filter_first in X as (B & M & _ & Y). rewrite forallb_forall in Y.
    destruct (Nat.lt_trichotomy u x) as [Lt|[->|Lt]].
    + rewrite (proj2 (Nat.eqb_neq u x)) by lia. destruct (Nat.leb_spec i u); [|apply andb_false_r].
      specialize (Y u ltac:(apply in_seq; lia)). apply negb_true_iff in Y. now rewrite Y.
    + rewrite Nat.eqb_refl, M. cbn [andb]. apply andb_true_iff. rewrite Nat.leb_le. split; [lia|].
      now apply forallb_forall.
    + rewrite (proj2 (Nat.eqb_neq u x)) by lia. apply not_true_iff_false.
      rewrite !andb_true_iff, forallb_forall.
      intros (_ & _ & Z). specialize (Z x ltac:(apply in_seq; lia)). rewrite M in Z. discriminate.
Qed.
Lemma turn_acting : todo = moves_from m a head i -> i <= tapes m -> is_go t = false ->
  holds same (any_turn m) h = match todo with [] => true | _ => false end.
Proof.
  intros Et Li G. rewrite Et. unfold any_turn. rewrite any_of_holds. cbn [existsb].
  rewrite any_passed by lia.
  rewrite (proj2 (Nat.leb_le i (tapes m)) Li). cbn [andb].
  replace (holds same (one_of (tokens m) is_go) h) with false.
  - cbn [orb]. unfold moves_from.
    destruct (filter (moving m a head) (seq i (tapes m - i))) as [|x rest] eqn:X;
      [now apply filter_none|].
    apply not_true_iff_false. intros Y. apply filter_none in Y. congruence.
  - pose proof T as T'. rewrite E in *. rewrite (one_of_holds same same_spec); [easy|].
    now inversion T'.
Qed.
End Acting.

Lemma due_fits u : u < tapes m -> holds same (due m u) h = match todo with (t, _) :: _ => u =? t
  | [] => false end.
Proof.
  intros U. pose proof F as
    (_ & t & past & E & [(-> & Et & _)|(a & i & L & A & N & _ & I & S & Et & _)]).
  - rewrite Et. unfold due. cbn [holds]. rewrite any_of_holds.
    replace (existsb _ _) with false; [apply andb_false_r|]. symmetry. apply not_true_iff_false.
    intros X.
    apply existsb_exists in X as (f & J & X). apply in_map_iff in J as (j & <- & _).
    unfold passed in X.
    rewrite all_of_holds in X. cbn [forallb] in X. apply andb_true_iff in X as [X _].
    destruct j; unfold spot in X; rewrite E in X;
      rewrite (one_of_holds same same_spec) in X by (now apply known_in); discriminate.
  - now apply (due_acting t past a i).
Qed.
Lemma turn_fits : holds same (any_turn m) h = match todo with [] => true | _ => false end.
Proof.
  pose proof F as (_ & t & past & E & [(-> & Et & _)|(a & i & L & A & N & _ & I & S & Et & G & _)]).
  - rewrite Et. unfold any_turn. rewrite any_of_holds, E. cbn [existsb].
    now rewrite (one_of_holds same same_spec) by (now apply known_in).
  - now apply (turn_acting t past a i).
Qed.
Lemma does_fits a : holds same (does m a) h = true
  <-> todo = [] /\ entry_at m q (fun t => tape t (head t)) = Some a.
Proof.
  unfold does, turn. cbn [holds]. rewrite any_of_holds, turn_fits, not_input, !andb_true_iff,
    some_case.
  destruct todo; cbn; intuition congruence.
Qed.
Lemma todo_fits t r rest : todo = (t, r) :: rest -> t < tapes m /\ has_flips m t = true
  /\ holds same (rightward m t) h = r.
Proof.
  intros Et. pose proof F as
    (_ & t0 & past & E & [(_ & En & _)|(a & i & L & A & N & _ & I & S & Em & _)]);
    [congruence|].
  rewrite Em in Et. unfold moves_from in Et.
  destruct (filter (moving m a head) (seq i (tapes m - i))) as [|x rest'] eqn:X; [discriminate|].
  inversion Et.
  subst x.
  apply filter_first in X as (B & M & _ & _). split; [lia|]. split; [|now apply (right_acting a)].
  unfold has_flips. apply orb_true_iff. right. apply existsb_exists. exists a. split; [exact A|].
  unfold moving in M. now apply andb_true_iff in M as [M _].
Qed.
Lemma ends_fits : holds same (ends m) h = true
  <-> todo = [] /\ entry_at m q (fun t => tape t (head t)) = None.
Proof.
  unfold ends, turn. rewrite any_of_holds. cbn [existsb holds].
  rewrite any_of_holds, not_input, andb_false_r, !orb_false_r.
  assert (O : holds same (one_of (tokens m) (ending m)) h = false /\
    holds same (one_of (tokens m) is_full) h =
    false
    /\ negb (existsb (fun _ => true) (pasts h)) = false).
  { pose proof F as ((T' & _) & t & past & E & C). rewrite E in *. inversion T' as [|? ? I _];
      subst.
    rewrite !(one_of_holds same same_spec) by exact I.
    destruct C as [(-> & _)|(a & i & _ & _ & _ & _ & _ & _ & _ & _ & Fu & En)];
      [repeat split|repeat split; assumption]. }
  destruct O as (-> & -> & ->). rewrite !orb_false_r. cbn [orb]. rewrite turn_fits.
  assert (D : existsb (fun f => holds same f h) (map (does m) (actions m)) = true
    <-> todo = [] /\ exists a, entry_at m q (fun t => tape t (head t)) = Some a).
  { rewrite existsb_exists. split.
    - intros (f & I & H). apply in_map_iff in I as (a & <- & _). apply does_fits in H as [Et H].
      eauto.
    - intros (Et & a & H). exists (does m a). rewrite does_fits. split; [|auto]. apply in_map.
      apply entry_only in H as (e & I & A & _). unfold actions.
      rewrite (distinct_in _ same_action_spec), <- A.
      now apply in_map. }
  cbn [negb]. rewrite andb_true_r, andb_true_iff, negb_true_iff, <- not_true_iff_false, D.
  destruct todo as [|x rest]; [|split; [intros [H _]|intros [H _]]; discriminate]. split.
  - intros [_ H]. split; [reflexivity|]. destruct (entry_at _ _ _) as [a|]; [|reflexivity]. exfalso.
    eauto.
  - intros [_ H]. split; [reflexivity|]. intros (_ & a & H'). congruence.
Qed.
End Fitting.

Lemma step_known h s t : fits h s -> next m s = Some t -> In t (tokens m).
Proof.
  destruct s as [q [|[u r] todo] tape head|]; [| |discriminate]; intros F N.
  - cbn [next] in N. destruct (entry_at _ _ _) as [a|] eqn:E; [|discriminate]. inversion N.
    apply known_in. cbn.
    apply (entry_only q tape head) in E as (e & I & <- & _). unfold actions.
    rewrite (distinct_in _ same_action_spec). now apply in_map.
  - destruct (todo_fits h q _ tape head F u r todo eq_refl) as (U & Fl & _). cbn [next] in N.
    destruct (inside k (moved r (head u))) eqn:I; [|inversion N; now apply known_in]. inversion N.
    now apply (flip_so h tape head u r (proj1 F)).
Qed.

Lemma flip_rule h q tape head u r todo b v o : fits h (At q ((u, r) :: todo) tape head) -> b < k ->
  holds same (formula m (Flip u b v o)) h = true
  <-> o = negb (Z.odd (head u)) /\ flips r (head u) (digits k (head u)) b = true
      /\ v = negb (nth b (digits k (head u)) false).
Proof.
  intros F B. destruct (todo_fits h q _ tape head F u r todo eq_refl) as (U & Fl & R).
  pose proof (proj1 F) as so. pose proof so as (T & So). destruct (So u U) as (_ & D & P & _).
  cbn [formula]. rewrite all_of_holds, forallb_app. cbn [forallb]. rewrite forallb_app.
  rewrite (due_fits h q _ tape head F u U), Nat.eqb_refl. cbn [andb forallb]. rewrite !andb_true_r.
  assert (O : holds same (odd m u) h = Z.odd (head u)) by (rewrite odd_holds by exact T; exact P).
  assert (V : holds same (if v then Not (digit m u b) else digit m u b) h = true
      <-> v = negb (nth b (digits k (head u)) false)).
  { rewrite <- D, <- digit_holds by (exact T || exact B).
    destruct v; cbn [holds]; destruct (holds same (digit m u b) h); cbn; split; congruence. }
  assert (O' : holds same (if o then Not (odd m u) else odd m u) h = true <->
    o = negb (Z.odd (head u))).
  { destruct o; cbn [holds]; rewrite O; destruct (Z.odd (head u)); cbn; split; congruence. }
  assert (R' : holds same (if eqb (b =? 0) o then rightward m u else Not (rightward m u)) h
    = eqb (eqb (b =? 0)
    o) r).
  { destruct (eqb (b =? 0) o); cbn [holds]; rewrite R; now destruct r. }
  rewrite !andb_true_iff, V, O', R'. unfold flips, is_near. destruct (Nat.eqb_spec b 0) as [->|Nb].
  - cbn [forallb]. destruct r, o, (Z.odd (head u)); cbn; intuition congruence.
  - cbn [forallb].
    rewrite andb_true_r, (far_form_holds same k (digit m u) h (head u) (digits_so h tape head u so
      U)) by lia.
    destruct r, o, (Z.odd (head u)); cbn; intuition congruence.
Qed.
Lemma leaving_rule h q tape head u r todo : fits h (At q ((u, r) :: todo) tape head) ->
  holds same (formula m Full) h = negb (inside k (moved r (head u))).
Proof.
  intros F. destruct (todo_fits h q _ tape head F u r todo eq_refl) as (U & Fl & R).
  pose proof (proj1 F) as so. pose proof so as (T & So). destruct (So u U) as (In0 & _ & P & _).
  assert (Lv : forall x, x < tapes m ->
    holds same (leaving m x) h = (x =? u) && negb (inside k (moved r (head
    u)))).
  { intros x X. unfold leaving. rewrite all_of_holds. cbn [forallb].
    rewrite (due_fits h q _ tape head F x X).
    destruct (Nat.eqb_spec x u) as [->|]; [|reflexivity]. cbn [andb holds].
    rewrite andb_true_r, R, odd_holds, P by exact T.
    rewrite (leaves_form_holds same k (digit m u) h (head u) (digits_so h tape head u so U))
      by (destruct
      two_digits as (? & ->); lia).
    destruct two_digits as (k' & K). rewrite K in *.
    rewrite move_leaves, negb_involutive by exact In0. f_equal.
    unfold is_near. now destruct r, (Z.odd (head u)). }
  cbn [formula]. rewrite any_of_holds. apply eq_true_iff_eq. rewrite existsb_exists. split.
  - intros (f & I & H). apply in_map_iff in I as (x & <- & I). apply filter_In in I as [I _].
    apply in_seq in I.
    rewrite Lv in H by lia. now apply andb_true_iff in H.
  - intros H. exists (leaving m u). rewrite Lv, Nat.eqb_refl by exact U. split; [|exact H].
    apply in_map, filter_In. split; [apply in_seq; lia|exact Fl].
Qed.

Lemma at_decides h q todo tape head t : fits h (At q todo tape head) -> known t ->
  holds same (formula m t) h = true <-> next m (At q todo tape head) = Some t.
Proof.
  intros F K. destruct todo as [|[u r] todo].
  - cbn [next]. destruct t as [s|a| |x b v o|].
    + split; [discriminate|]. destruct (entry_at _ _ _); discriminate.
    + cbn [formula]. rewrite (does_fits h q [] tape head F). destruct (entry_at _ _ _); cbn;
        intuition congruence.
    + split; [discriminate|]. destruct (entry_at _ _ _); discriminate.
    + destruct K as (U & _ & B). split; [|destruct (entry_at _ _ _); discriminate]. intros H.
      cbn [formula] in H.
      rewrite all_of_holds, forallb_app in H. cbn [forallb] in H.
      rewrite (due_fits h q _ tape head F x U) in H.
      discriminate.
    + split; [|destruct (entry_at _ _ _); discriminate]. intros H. cbn [formula] in H.
      rewrite any_of_holds in H.
      apply existsb_exists in H as (f & I & H). apply in_map_iff in I as (x & <- & I).
      apply filter_In in I as [I _].
      apply in_seq in I. unfold leaving in H. rewrite all_of_holds in H. cbn [forallb] in H.
      rewrite (due_fits h q _ tape head F x) in H by lia. discriminate.
  - destruct (todo_fits h q _ tape head F u r todo eq_refl) as (U & Fl & _). cbn [next].
    pose proof (proj1 (proj2 (proj1 F) u U)) as In0.
    assert (C : inside k (moved r (head u)) = true -> exists d,
      flip_to m u (head u) (moved r (head u)) = Flip u d (negb (nth d (digits k (head u)) false))
        (negb (Z.odd
        (head u)))
      /\ (forall b, b < k -> flips r (head u) (digits k (head u)) b = (b =? d))).
    { intros I. destruct (moved_is r (head u) In0 I) as (d & _ & _ & X & Y & _). exists d.
      split; [|exact Y].
      unfold flip_to. now rewrite X, odd_moved. }
    destruct t as [s|a| |x b v o|].
    + split; [discriminate|]. destruct (inside k (moved r (head u))); [|discriminate].
      destruct (C eq_refl) as (d & -> & _). discriminate.
    + cbn [formula]. rewrite (does_fits h q _ tape head F). split; [intros [H _]; discriminate|].
      destruct (inside k (moved r (head u))); [|discriminate]. destruct (C eq_refl) as (d & -> & _).
      discriminate.
    + split; [discriminate|]. destruct (inside k (moved r (head u))); [|discriminate].
      destruct (C eq_refl) as (d & -> & _). discriminate.
    + destruct K as (X & _ & B). destruct (Nat.eq_dec x u) as [->|Nx].
      * rewrite (flip_rule h q tape head u r todo b v o F B).
        destruct (inside k (moved r (head u))) eqn:I.
        -- destruct (C eq_refl) as (d & -> & Y). rewrite (Y b B), Nat.eqb_eq. split.
           ++ intros (-> & -> & ->). reflexivity.
           ++ intros H. inversion H. subst. auto.
        -- destruct two_digits as (k' & K'). rewrite K' in *. rewrite move_stuck by assumption.
           split; [intros (_ & H & _)|]; discriminate.
      * split.
        -- intros H. exfalso. cbn [formula] in H. rewrite all_of_holds, forallb_app in H.
           cbn [forallb] in H.
           rewrite (due_fits h q _ tape head F x X), (proj2 (Nat.eqb_neq x u) Nx) in H.
           discriminate.
        -- destruct (inside k (moved r (head u))); [|discriminate].
           destruct (C eq_refl) as (d & -> & _). intros H.
           inversion H. congruence.
    + rewrite (leaving_rule h q tape head u r todo F). destruct (inside k (moved r (head u)));
        cbn [negb]; [|tauto].
      destruct (C eq_refl) as (d & -> & _). split; discriminate.
Qed.

Lemma step_decides h s : fits h s -> decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros F. destruct s as [q todo tape head|].
  - split; [|split; [|intros t N; now apply (step_known h (At q todo tape head))]].
    + intros t K. apply at_decides; [exact F|now apply known_in].
    + rewrite (ends_fits h q todo tape head F). cbn [next].
      destruct todo as [|[u r] todo]; [destruct (entry_at _ _ _); cbn; intuition congruence|].
      split; [intros [H _]|]; discriminate.
  - destruct F as (T & t & past & -> & C). inversion T as [|? ? I _]; subst.
    assert (S : forall j, holds same (spot m j) (t :: past) = false).
    { intros j. destruct C as [->|(a & -> & H)]; destruct j; cbn [spot];
        rewrite (one_of_holds same same_spec) by exact I; cbn; now rewrite ?H. }
    assert (Ps : forall n j, holds same (passed m n j) (t :: past) = false).
    { intros n j. unfold passed. rewrite all_of_holds. cbn [forallb]. now rewrite S. }
    assert (Ex : forall n l, existsb (fun f => holds same f (t :: past)) (map (passed m n) l)
      = false).
    { intros n l. induction l as [|j l IH]; [reflexivity|]. cbn [map existsb]. now rewrite Ps. }
    assert (Du : forall u, holds same (due m u) (t :: past) = false).
    { intros u. unfold due. cbn [holds]. rewrite any_of_holds, Ex. apply andb_false_r. }
    assert (Tu : holds same (any_turn m) (t :: past) = false).
    { unfold any_turn. rewrite any_of_holds. cbn [existsb].
      rewrite Ex, orb_false_r, (one_of_holds same same_spec) by exact I.
      now destruct C as [->|(a & -> & _)]. }
    split; [|split; [|discriminate]].
    + intros x K. split; [|discriminate]. intros H. exfalso. destruct x; cbn [formula] in H;
        try discriminate.
      * unfold does, turn in H. cbn [holds] in H. rewrite Tu in H. discriminate.
      * rewrite all_of_holds, forallb_app in H. cbn [forallb] in H. rewrite Du in H. discriminate.
      * rewrite any_of_holds in H. apply existsb_exists in H as (f & J & H).
        apply in_map_iff in J as (x & <- & _).
        unfold leaving in H. rewrite all_of_holds in H. cbn [forallb] in H. rewrite Du in H.
        discriminate.
    + split; [reflexivity|]. intros _. unfold ends. rewrite any_of_holds. cbn [existsb].
      rewrite !(one_of_holds same same_spec) by exact I. destruct C as [->|(a & -> & H)]; cbn;
        rewrite ?H, ?orb_true_r; reflexivity.
Qed.

Lemma step_fits h s t : fits h s -> next m s = Some t -> fits (t :: h) (after m s).
Proof.
  intros F N. pose proof (step_known h s t F N) as I. destruct s as [q [|[u r] todo] tape head|];
    [| |discriminate].
  - cbn [next] in N. cbn [after]. destruct (entry_at _ _ _) as [a|] eqn:E; [|discriminate].
    inversion N. subst t.
    clear N.
    apply known_in in I as A. cbn in A. destruct (halts m (to a)) eqn:H.
    + split; [constructor; [exact I|apply F]|]. eexists _, _. split; [reflexivity|]. right. eauto.
    + split; [apply (acts_so h tape head (Act a) (proj1 F) I eq_refl)|]. eexists _, _.
      split; [reflexivity|]. right.
      exists a, 0. repeat split; auto; [lia|]. intros [|j]; cbn; now rewrite ?H.
  - destruct (todo_fits h q _ tape head F u r todo eq_refl) as (U & Fl & _). cbn [next] in N.
    cbn [after].
    destruct (inside k (moved r (head u))) eqn:In; inversion N; subst t; clear N.
    + pose proof (flip_so h tape head u r (proj1 F) U Fl In) as [_ So]. split; [exact So|].
      assert (X : exists b v o, flip_to m u (head u) (moved r (head u)) = Flip u b v o).
      { unfold flip_to. destruct (flipped _ _ _). eauto. }
      destruct X as (b & v & o & X). rewrite X in *. eexists _, _. split; [reflexivity|]. right.
      destruct F as (_ & t0 & past & E & [(_ & D & _)|(a & i & L & A & H & Q & Li & _ & D & _)]);
        [discriminate|].
      exists a, (S u). cbn [last_act acts is_go orb]. repeat split; auto.
      * intros [|j]; [reflexivity|]. cbn. apply Nat.eqb_sym.
      * unfold moves_from in D.
        destruct (filter (moving m a head) (seq i (tapes m - i))) as [|x rest] eqn:Y;
          [discriminate|].
        inversion D. subst x. apply filter_first in Y as (B & _ & Y & _). subst rest.
        unfold moves_from.
        replace (i + (tapes m - i) - S u) with (tapes m - S u) by lia. f_equal. apply filter_ext_in.
        intros x Xs.
        apply in_seq in Xs. unfold moving, set_head. now rewrite (proj2 (Nat.eqb_neq x u)) by lia.
    + split; [constructor; [exact I|apply F]|]. eexists _, _. split; [reflexivity|]. now left.
Qed.

(** * The prompt *)

Lemma written_ext h tape tape' head head' : (forall u c, u < tapes m -> tape u c = tape' u c) ->
  (forall u, u < tapes m -> head u = head' u) -> written_so h tape head -> written_so h tape' head'.
Proof.
  intros Et Eh (T & F). split; [exact T|]. intros u U. destruct (F u U) as (I & D & P & R).
  unfold tape_so.
  rewrite <- Eh by exact U. repeat split; auto. intros c C. rewrite <- Et by exact U. auto.
Qed.

Definition first_tape (f : Z -> nat) : nat -> Z -> nat := fun u => if u =? 0 then f else fun _ => 0.
Definition first_head (c : Z) : nat -> Z := fun u => if u =? 0 then c else 0%Z.

Lemma input_so w : forall h f c, written_so h (first_tape f) (first_head c) -> (0 <= c)%Z ->
  (c + Z.of_nat (length w) < half k)%Z -> Forall (fun s => s < symbols m) w ->
  exists d, written_so (rev (input m c w) ++ h) (first_tape (put_on f c w)) (first_head d).
Proof.
  induction w as [|s w IH]; intros h f c F C L V; [exists c; exact F|].
  cbn [length] in *. cbn [input put_on rev]. inversion V as [|? ? S0 S']; subst.
  assert (I : inside k (moved true (first_head c 0)) = true).
  { cbn. unfold inside, moved. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
  assert (I1 : In (Input s) (tokens m)) by (now apply known_in).
  pose proof (acts_so _ _ _ _ F I1 eq_refl) as F1.
  pose proof (flip_so _ _ _ 0 true F1 some_tape eq_refl I) as [_ F2]. cbn in F2.
  rewrite <- !app_assoc. cbn [app]. apply IH; [|lia|lia|exact S'].
  eapply written_ext; [| |exact F2].
  - intros u x _. unfold first_tape, first_head. destruct (u =? 0); reflexivity.
  - intros u _. unfold set_head, first_head. destruct (u =? 0); reflexivity.
Qed.

Lemma prompt_fits w : input_fits m w = true -> fits (rev (prompt m w)) (begun m w).
Proof.
  intros Fit. unfold input_fits in Fit. apply andb_true_iff in Fit as [L V]. apply Z.ltb_lt in L.
  assert (S' : Forall (fun s => s < symbols m) w).
  { apply Forall_forall. intros s I. rewrite forallb_forall in V. now apply Nat.ltb_lt, V. }
  assert (F0 : written_so [] (first_tape (fun _ => 0)) (first_head 0)).
  { split; [constructor|]. intros u U. unfold first_head, tape_so. destruct (u =? 0) eqn:Eu.
    all: split; [apply inside_0|]; split; [intros b B; now rewrite zero_digits, nth_repeat|];
      split; [reflexivity|]; intros c C; unfold first_tape; now rewrite Eu. }
  destruct (input_so w [] _ 0 F0 ltac:(lia) ltac:(lia) S') as (d & F). rewrite app_nil_r in F.
  apply go_so in F.
  unfold prompt. rewrite rev_app_distr. cbn [rev app]. unfold begun. split.
  - eapply written_ext; [| |exact F]; [|reflexivity]. intros u c _. unfold first_tape.
    destruct (u =? 0);
      [|reflexivity].
    rewrite put_on_at. unfold tape_of. rewrite Z.sub_0_r.
    destruct (Z.ltb_spec c 0), (Z.leb_spec 0 c); try lia; cbn [andb]; [reflexivity|].
    destruct (Z.ltb_spec c (0 + Z.of_nat (length w))); [reflexivity|]. rewrite nth_overflow by lia.
    reflexivity.
  - eexists Go, _. split; [reflexivity|]. now left.
Qed.
End Step.

(** After the prompt and any number of tokens, exactly one token is allowed: that of the
    machine's run, which is `Full` where a head would leave the window, or the end where the
    machine halts or was to leave. So greedy generation is the run. *)
Inductive history (m : machine) (w : list nat) : list token -> config -> Prop :=
  | Begun : history m w (rev (prompt m w)) (begun m w)
  | Done h s t : history m w h s -> next m s = Some t -> history m w (t :: h) (after m s).

Theorem tapes_step m w h s : well_formed m = true -> input_fits m w = true -> history m w h s ->
  decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros W I H. apply (step_decides m W). induction H; [now apply prompt_fits|now apply step_fits].
Qed.

Theorem tapes_run m w most : well_formed m = true -> input_fits m w = true ->
  greedy same (tokens m) (formula m) (ends m) most (rev (prompt m w)) = run (next m) (after m) most
    (begun m w).
Proof.
  intros W I. apply (greedy_runs same (tokens m) (next m) (after m) _ _ (fits m)).
  - apply (step_decides m W).
  - apply (step_fits m W).
  - now apply prompt_fits.
Qed.
