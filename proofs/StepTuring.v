(** Turing machines of one tape whose steps are one token: the token that the formulas allow is the
    machine's next step.

    `formula` and `ends` are what src/softhat/frontends/machines/one_token.py builds; a test
    computes that they are the same trees. States and symbols are numbers here: places in their
    lists. Symbol 0 is the blank. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Histories Tape Gray Reading.
Import ListNotations.

Record action := Action { to : nat; put : nat; goes : move }.
Record entry := Entry { state_of : nat; read_of : nat; act_of : action }.
Record machine := Machine {
  states : nat; symbols : nat; start : nat; halting : list nat; table : list entry; bits : nat }.

Definition same_action (a b : action) : bool :=
  (to a =? to b) && (put a =? put b) && same_move (goes a) (goes b).
Lemma same_action_spec a b : same_action a b = true <-> a = b.
Proof.
  destruct a as [t p g], b as [t' p' g']. unfold same_action. cbn.
  rewrite !andb_true_iff, !Nat.eqb_eq, same_move_spec.
  split; [intros [[-> ->] ->]|intros H; inversion H]; auto.
Qed.

Definition actions (m : machine) : list action := distinct same_action (map act_of (table m)).
Definition halts (m : machine) (q : nat) : bool := existsb (Nat.eqb q) (halting m).

Definition entry_fits (m : machine) (e : entry) : bool :=
  (state_of e <? states m) && (read_of e <? symbols m) && negb (halts m (state_of e))
  && (to (act_of e) <? states m) && (put (act_of e) <? symbols m).
Definition matches (q s : nat) (e : entry) : bool := (state_of e =? q) && (read_of e =? s).
Fixpoint deterministic (l : list entry) : bool :=
  match l with
  | [] => true
  | e :: l => negb (existsb (matches (state_of e) (read_of e)) l) && deterministic l
  end.
Definition well_formed (m : machine) : bool :=
  (2 <=? bits m) && (start m <? states m) && (0 <? symbols m)
  && forallb (entry_fits m) (table m) && deterministic (table m).

(** * The machine *)

(* the state, the tape and the head's cell; or a head that was to leave the window *)
Inductive config := At (q : nat) (tape : Z -> nat) (head : Z) | Outside.

Definition entry_at (m : machine) (q s : nat) : option action :=
  if halts m q then None else option_map act_of (find (matches q s) (table m)).
Definition target (a : action) (c : Z) : Z :=
  match goes a with Left => c - 1 | Stay => c | Right => c + 1 end%Z.

Inductive token :=
  | Input (s b : nat) (v : bool)                 (* s is written; digit b of the address is now v *)
  | Go
  | Step (a : action) (b : nat) (v : bool)
  | Stays (a : action)                           (* a step that does not move the head *)
  | Full.

(* The token of the next step; none if the machine has halted, or was outside. *)
Definition next (m : machine) (s : config) : option token :=
  match s with
  | Outside => None
  | At q tape head =>
      match entry_at m q (tape head) with
      | None => None
      | Some a =>
          if same_move (goes a) Stay then Some (Stays a) else
          if inside (bits m) (target a head) then
            let (b, v) := flipped (bits m) head (target a head) in Some (Step a b v)
          else Some Full
      end
  end.
Definition after (m : machine) (s : config) : config :=
  match s with
  | Outside => Outside
  | At q tape head =>
      match entry_at m q (tape head) with
      | None => s
      | Some a =>
          if inside (bits m) (target a head) then At (to a) (set tape head (put a)) (target a head)
          else Outside
      end
  end.

(** * Its formulas *)

Definition same (s t : token) : bool :=
  match s, t with
  | Input x b v, Input y c w => (x =? y) && (b =? c) && eqb v w
  | Step x b v, Step y c w => same_action x y && (b =? c) && eqb v w
  | Stays x, Stays y => same_action x y
  | Go, Go | Full, Full => true
  | _, _ => false
  end.
Lemma same_spec s t : same s t = true <-> s = t.
Proof.
  destruct s, t; cbn; rewrite ?andb_true_iff, ?Nat.eqb_eq, ?same_action_spec, ?eqb_true_iff; split;
    intros H;
    try discriminate; try reflexivity; try congruence; try (inversion H; auto; fail);
    destruct H as [[? ?] ?]; congruence.
Qed.

Definition spellings (m : machine) (t : nat -> bool -> token) : list token :=
  flat_map (fun b => [t b false; t b true]) (seq 0 (bits m)).
Definition steps (m : machine) (a : action) : list token :=
  if same_move (goes a) Stay then [Stays a] else spellings m (Step a).
Definition tokens (m : machine) : list token :=
  flat_map (fun s => spellings m (Input s)) (seq 0 (symbols m))
  ++ Go :: flat_map (steps m) (actions m) ++ [Full].

Definition touches (b : nat) (t : token) : bool :=
  match t with Input _ d _ | Step _ d _ => d =? b | _ => false end.
Definition sets (b : nat) (t : token) : bool :=
  match t with Input _ d v | Step _ d v => (d =? b) && v | _ => false end.
Definition is_go (t : token) : bool := match t with Go => true | _ => false end.
Definition acts (t : token) : bool := match t with Input _ _ _ | Step _ _ _ | Stays _ => true
  | _ => false end.
Definition written (t : token) : nat :=
  match t with Input s _ _ => s | Step a _ _ | Stays a => put a | _ => 0 end.
Definition writes (s : nat) (t : token) : bool := acts t && (written t =? s).
Definition moves (t : token) : bool := match t with Step _ _ _ => true | _ => false end.
Definition moves_or_goes (t : token) : bool := moves t || is_go t.
Definition odd_after (t : token) : bool :=
  match t with Step a b _ => eqb (same_move (goes a) Right) (b =? 0) | _ => false end.
Definition leads (m : machine) (q : nat) (t : token) : bool :=
  match t with Step a _ _ | Stays a => to a =? q | Go => start m =? q | _ => false end.
Definition unfinished (t : token) : bool := match t with Input _ _ _ | Full => true
  | _ => false end.

Section Formulas.
Variable m : machine.
Notation k := (bits m).
Notation told := (one_of (tokens m)).

Definition digit (b : nat) : form token :=
  Since (Not (Or (told (touches b)) (told is_go))) (told (sets b)).
(* the flip undone *)
Definition key (b : nat) : form token := Xor (digit b) (told (touches b)).
Definition some_stay : bool := existsb (fun a => same_move (goes a) Stay) (actions m).
Definition odd : form token :=
  if some_stay then Since (Not (told moves_or_goes)) (told odd_after) else told odd_after.
Definition code : list (form token * form token) :=
  (told acts, Constant true) :: map (fun b => (key b, digit b)) (seq 0 (bits m)).
Definition read_bit (b : nat) : form token :=
  Recall (any_of
    (map (fun s => told (writes s)) (filter (fun s => Nat.testbit s b) (seq 0 (symbols m))))) code.
Definition reads (s : nat) : form token := reading (symbols m) read_bit s.
Definition running (q : nat) : form token := told (leads m q).
Definition does (a : action) : form token :=
  any_of (map (fun e => And (running (state_of e)) (reads (read_of e)))
    (filter (fun e => same_action (act_of e) a) (table m))).
Definition near_form (g : move) : form token := match g with Left => odd | _ => Not odd end.
Definition leaving (g : move) : form token :=
  all_of [any_of (map does (filter (fun a => same_move (goes a) g) (actions m)));
          Not (near_form g); leaves_form k digit].

Definition formula (t : token) : form token :=
  match t with
  | Input _ _ _ | Go => Constant false
  | Stays a => does a
  | Step a b v =>
      all_of [does a;
              if b =? 0 then near_form (goes a)
                else And (Not (near_form (goes a))) (far_form k digit b);
              if v then Not (digit b) else digit b]
  | Full => any_of [leaving Left; leaving Right]
  end.
Definition missing : list (form token) :=
  flat_map (fun q => if halts m q then [] else
    map (fun s => And (running q) (reads s))
      (filter (fun s => negb (existsb (matches q s) (table m))) (seq 0 (symbols m))))
        (seq 0 (states m)).
Definition ends : form token :=
  any_of (map running (halting m) ++ missing ++ [told unfinished; Not (Once (Constant true))]).
End Formulas.

(* The prompt: the input's symbols, as if written by steps to the right, then go. *)
Fixpoint input (m : machine) (c : Z) (w : list nat) : list token :=
  match w with
  | [] => []
  | s :: w => let (b, v) := flipped (bits m) c (c + 1) in Input s b v :: input m (c + 1) w
  end.
Definition prompt (m : machine) (w : list nat) : list token := input m 0 w ++ [Go].
Definition begun (m : machine) (w : list nat) : config := At (start m) (tape_of w) 0.
Definition input_fits (m : machine) (w : list nat) : bool :=
  (Z.of_nat (length w) <? half (bits m))%Z && forallb (fun s => s <? symbols m) w.

(** * What the formulas say of a history *)

Section Step.
Variable m : machine.
Hypothesis W : well_formed m = true.
Notation told := (told (tokens m)).
Notation k := (bits m).

Definition dig (b : nat) (h : list token) :
  bool := since (fun t => negb (touches b t || is_go t)) (sets b) h.
Definition address (h : list token) : list bool := map (fun b => dig b h) (seq 0 k).
Definition oddness (h : list token) : bool :=
  if some_stay m then since (fun t => negb (moves_or_goes t)) odd_after h
  else match h with t :: _ => odd_after t | [] => false end.
(* the symbol of the latest token whose cell has the code q; blank without one *)
Fixpoint recalled (q : nat -> bool) (h : list token) : nat :=
  match h with
  | [] => 0
  | t :: past =>
      if acts t && forallb (fun b => eqb (xorb (dig b h) (touches b t)) (q b)) (seq 0 k)
        then written t
      else recalled q past
  end.

Lemma digit_holds b h : told h -> holds same (digit m b) h = dig b h.
Proof.
  intros T. unfold digit, dig. cbn. induction T as [|t h I T IH]; [reflexivity|]. cbn [pasts since].
  rewrite !(one_of_holds same same_spec) by assumption. rewrite IH. reflexivity.
Qed.
Lemma odd_holds h : told h -> holds same (odd m) h = oddness h.
Proof.
  intros T. unfold odd, oddness. destruct (some_stay m).
  - apply (since_one_of same same_spec), T.
  - destruct T as [|t h I T]; [apply (one_of_none same)|]. now apply (one_of_holds same same_spec).
Qed.

Lemma written_bit b t : In t (tokens m) -> acts t = true -> forall h,
  holds same (any_of (map (fun s => one_of (tokens m) (writes s))
    (filter (fun s => Nat.testbit s b) (seq 0 (symbols m))))) (t :: h)
  = (written t <? symbols m) && Nat.testbit (written t) b.
Proof.
  intros I A h. rewrite any_of_holds. apply eq_true_iff_eq.
  rewrite existsb_exists, andb_true_iff, Nat.ltb_lt. split.
  - intros (f & F & H). apply in_map_iff in F as (s & <- & S). apply filter_In in S as [S B].
    rewrite (one_of_holds same same_spec) in H by exact I. unfold writes in H. rewrite A in H.
    cbn in H.
    apply Nat.eqb_eq in H. apply in_seq in S. subst s. split; [lia|exact B].
  - intros [L B]. exists (one_of (tokens m) (writes (written t))). split.
    + apply in_map_iff. exists (written t). split; [reflexivity|]. apply filter_In.
      split; [apply in_seq;
        lia|exact B].
    + rewrite (one_of_holds same same_spec) by exact I. unfold writes. now rewrite A, Nat.eqb_refl.
Qed.

Lemma spelled_is t x : In x (spellings m t) -> exists b v, x = t b v /\ b < k.
Proof.
  unfold spellings. rewrite in_flat_map. intros (b & B & [<-|[<-|[]]]); apply in_seq in B;
    eexists b, _; (split; [reflexivity|lia]).
Qed.
Lemma spelled_in t b v : b < k -> In (t b v) (spellings m t).
Proof.
  intros B. unfold spellings. apply in_flat_map. exists b. split; [apply in_seq; lia|].
  destruct v; cbn; auto.
Qed.

(* What the tokens are. *)
Definition known (t : token) : Prop :=
  match t with
  | Input s b _ => s < symbols m /\ b < k
  | Step a b _ => In a (actions m) /\ goes a <> Stay /\ b < k
  | Stays a => In a (actions m) /\ goes a = Stay
  | Go | Full => True
  end.
Lemma known_in t : In t (tokens m) <-> known t.
Proof.
  unfold tokens. rewrite in_app_iff. cbn [In]. rewrite in_app_iff, !in_flat_map. split.
  - intros [(s & S & I)|[<-|[(a & A & I)|[<-|[]]]]]; try exact Logic.I.
    + apply spelled_is in I as (b & v & -> & B). apply in_seq in S. cbn. lia.
    + unfold steps in I. destruct (same_move (goes a) Stay) eqn:E.
      * destruct I as [<-|[]]. cbn. apply same_move_spec in E. auto.
      * apply spelled_is in I as (b & v & -> & B). cbn. repeat split; auto. intros F.
        apply same_move_spec in F. congruence.
  - destruct t as [s b v| |a b v|a|]; cbn.
    + intros [S B]. left. exists s. split; [apply in_seq; lia|now apply spelled_in].
    + auto.
    + intros (A & G & B). right. right. left. exists a. split; [exact A|]. unfold steps.
      destruct (same_move (goes a) Stay) eqn:E; [apply same_move_spec in E; contradiction|].
      now apply spelled_in.
    + intros (A & G). right. right. left. exists a. split; [exact A|]. unfold steps. rewrite G.
      now left.
    + intros _. right. right. right. now left.
Qed.

Lemma entry_in e : In e (table m) -> entry_fits m e = true.
Proof.
  intros I. unfold well_formed in W. rewrite !andb_true_iff, forallb_forall in W. apply W, I.
Qed.
Lemma action_in a : In a (actions m) -> to a < states m /\ put a < symbols m.
Proof.
  intros I. unfold actions in I. rewrite (distinct_in _ same_action_spec) in I.
  apply in_map_iff in I as (e & <- & I).
  apply entry_in in I.
  unfold entry_fits in I. rewrite !andb_true_iff, !Nat.ltb_lt in I. tauto.
Qed.
Lemma some_symbol : 0 < symbols m.
Proof. unfold well_formed in W. rewrite !andb_true_iff, !Nat.ltb_lt in W. tauto. Qed.
Lemma written_known t : In t (tokens m) -> written t < symbols m.
Proof.
  intros I. apply known_in in I. pose proof some_symbol. destruct t; cbn in *; try lia;
    apply action_in; tauto.
Qed.
Lemma recalled_known q h : told h -> recalled q h < symbols m.
Proof.
  intros T. induction T as [|t h I T IH]; [apply some_symbol|]. cbn [recalled].
  destruct (acts t && _); [|exact IH].
  now apply written_known.
Qed.

Lemma read_bit_holds b h :
  told h -> holds same (read_bit m b) h = Nat.testbit (recalled (fun d => dig d h) h) b.
Proof.
  intros T. unfold read_bit. cbn [holds].
  assert (Q : forall past, told past -> latest
    (fun past => forallb (fun d => eqb (holds same (fst d) past) (holds same (snd d) h)) (code m))
    (holds same (any_of (map (fun s => one_of (tokens m) (writes s))
      (filter (fun s => Nat.testbit s b) (seq 0 (symbols m)))))) (pasts past)
    = Nat.testbit (recalled (fun d => dig d h) past) b).
  { induction past as [|t past IH]; intros P; [cbn; now rewrite Nat.bits_0|].
    inversion P as [|? ? I P']; subst. cbn [pasts latest recalled].
    assert (E : forallb (fun d => eqb (holds same (fst d) (t :: past)) (holds same (snd d) h))
      (code m)
      = acts t && forallb (fun c => eqb (xorb (dig c (t :: past)) (touches c t)) (dig c h))
        (seq 0 k)).
    { unfold code. cbn [forallb fst snd]. rewrite (one_of_holds same same_spec) by exact I.
      cbn [holds].
      f_equal; [now destruct (acts t)|]. induction (seq 0 k) as [|c l IHl]; [reflexivity|].
      cbn [map forallb fst snd]. rewrite IHl. f_equal. unfold key. cbn [holds].
      rewrite (one_of_holds same same_spec) by exact I. f_equal; [f_equal|]; now apply digit_holds.
      }
    rewrite E. destruct (acts t && _) eqn:M; [|now apply IH].
    apply andb_true_iff in M as [A _]. rewrite written_bit by assumption.
    pose proof (written_known t I) as Lt. apply Nat.ltb_lt in Lt. rewrite Lt. reflexivity. }
  now apply Q.
Qed.

Lemma reads_holds s h : told h -> s < symbols m ->
  holds same (reads m s) h = (s =? recalled (fun d => dig d h) h).
Proof.
  intros T S. unfold reads. apply reading_holds; [exact S|now apply recalled_known|].
  intros b _. now apply read_bit_holds.
Qed.

(** * A step is right *)

Lemma digits_of_address : exists k', k = S (S k').
Proof.
  unfold well_formed in W. rewrite !andb_true_iff, Nat.leb_le in W. exists (k - 2). lia.
Qed.

(* The digits are those of the head's cell; what the latest token with a cell's code wrote is
   there. *)
Definition written_so (h : list token) (tape : Z -> nat) (head : Z) : Prop :=
  told h /\ inside k head = true /\ address h = digits k head
  /\ forall c, inside k c = true -> recalled (fun b => nth b (digits k c) false) h = tape c.

Lemma recalled_ext q q' h : (forall b, b < k -> q b = q' b) -> recalled q h = recalled q' h.
Proof.
  intros E. induction h as [|t h IH]; [reflexivity|]. cbn [recalled]. rewrite IH.
  replace (forallb _ (seq 0 k))
    with (forallb (fun b => eqb (xorb (dig b (t :: h)) (touches b t)) (q' b)) (seq 0
    k)); [reflexivity|].
  apply eq_true_iff_eq. rewrite !forallb_forall. split; intros F b B; specialize (F b B);
    apply in_seq in B;
    [rewrite E by lia|rewrite <- E by lia]; exact F.
Qed.

Lemma code_is c d : inside k c = true -> inside k d = true ->
  forallb (fun b => eqb (nth b (digits k c) false) (nth b (digits k d) false)) (seq 0 k)
    = (c =? d)%Z.
Proof. destruct digits_of_address as (k' & K). rewrite K. apply same_code. Qed.

Lemma dig_of h tape head b : written_so h tape head -> b < k ->
  dig b h = nth b (digits k head) false.
Proof. intros (_ & _ & A & _) B. rewrite <- A. unfold address. now rewrite nth_map_seq. Qed.

Lemma reads_so h tape head s : written_so h tape head -> s < symbols m ->
  holds same (reads m s) h = (s =? tape head).
Proof.
  intros F S. rewrite reads_holds by (exact S || apply F). f_equal.
  pose proof F as (_ & I & _ & R). rewrite <- (R head I). apply recalled_ext. intros b B.
  now apply (dig_of h tape).
Qed.

Lemma act_so h tape head t head' : written_so h tape head -> In t (tokens m) -> acts t = true ->
  (forall b, b < k -> xorb (dig b (t :: h)) (touches b t) = dig b h) ->
  inside k head' = true -> address (t :: h) = digits k head' ->
  written_so (t :: h) (set tape head (written t)) head'.
Proof.
  intros F I A X I' E. pose proof F as (T & In & _ & R). split; [now constructor|].
  split; [exact I'|].
  split; [exact E|]. intros c C. cbn [recalled]. rewrite A. cbn [andb].
  replace (forallb _ (seq 0 k)) with (head =? c)%Z.
  - unfold set. rewrite (Z.eqb_sym c head). destruct (head =? c)%Z; [reflexivity|]. now apply R.
  - rewrite <- code_is by assumption. apply eq_true_iff_eq. rewrite !forallb_forall.
    split; intros G b B; specialize (G b B); apply in_seq in B;
      rewrite X, (dig_of h tape head) in * by (assumption || lia);
      exact G.
Qed.

(* a token that flips a digit *)
Definition turns (t : token) (d : nat) (v : bool) : Prop :=
  acts t = true /\ is_go t = false /\ (forall b, touches b t = (d =? b)) /\
    (forall b, sets b t = (d =? b) && v).

Lemma moved_is right c : inside k c = true -> inside k (moved right c) = true ->
  exists d, d < k /\ digits k (moved right c) = flip d (digits k c)
    /\ flipped k c (moved right c) = (d, negb (nth d (digits k c) false))
    /\ (forall b, b < k -> flips right c (digits k c) b = (b =? d)) /\ (d =? 0) = is_near right c.
Proof. destruct digits_of_address as (k' & K). rewrite K. apply flipped_is. Qed.

Lemma turn_so h tape head right t d v : written_so h tape head -> In t (tokens m) -> turns t d v ->
  inside k (moved right head) = true -> flipped k head (moved right head) = (d, v) ->
  written_so (t :: h) (set tape head (written t)) (moved right head).
Proof.
  intros F I (A & G & T & S) In E. pose proof F as (_ & In0 & Ad & _).
  destruct (moved_is right head In0 In) as (d' & D & C & E' & _). rewrite E in E'. inversion E'.
  subst d' v.
  clear E'.
  assert (U : forall b, b < k -> dig b (t :: h) = if d =? b then negb (dig b h) else dig b h).
  { intros b B. unfold dig at 1. cbn [since]. fold (dig b h). rewrite S, T, G, orb_false_r.
    destruct (Nat.eqb_spec d b) as [->|]; [|reflexivity]. cbn. rewrite orb_false_r.
    now rewrite (dig_of h tape head). }
  apply act_so; try assumption.
  - intros b B. rewrite U, T by exact B. destruct (d =? b), (dig b h); reflexivity.
  - pose proof (flip_map (fun b => dig b h) d 0 k ltac:(lia)) as M. rewrite Nat.sub_0_r in M.
    rewrite C, <- Ad. unfold address. rewrite <- M. apply map_ext_in. intros b B. apply in_seq in B.
    apply U. lia.
Qed.

(* The last token leads to the state, and says with the others whether the head's cell is odd. *)
Definition fits (h : list token) (s : config) : Prop :=
  match s with
  | At q tape head => written_so h tape head /\ q < states m /\ oddness h = Z.odd head
      /\ exists t past, h = t :: past /\ unfinished t = false /\ forall p, leads m p t = (q =? p)
  | Outside => told h /\ exists past, h = Full :: past
  end.

Lemma find_only_entry q s e : In e (table m) -> matches q s e = true ->
  find (matches q s) (table m) = Some e.
Proof.
  assert (D : deterministic (table m) = true) by (unfold well_formed in W;
    rewrite !andb_true_iff in W; tauto).
  intros I M. induction (table m) as [|e' l IH]; [contradiction|]. cbn in *.
  apply andb_true_iff in D as [D D'].
  destruct I as [->|I]; [now rewrite M|]. destruct (matches q s e') eqn:M'; [|auto].
  apply negb_true_iff, not_true_iff_false in D. exfalso. apply D, existsb_exists. exists e.
  split; [exact I|].
  unfold matches in *. rewrite andb_true_iff, !Nat.eqb_eq in *. intuition congruence.
Qed.

Section Fitting.
Variables (h : list token) (q : nat) (tape : Z -> nat) (head : Z).
Hypothesis F : fits h (At q tape head).

Lemma running_fits p : holds same (running m p) h = (q =? p).
Proof.
  destruct F as ((T & _) & _ & _ & t & past & -> & _ & L). unfold running.
  rewrite (one_of_holds same same_spec); [apply L|]. now inversion T.
Qed.

Lemma does_fits a : holds same (does m a) h = true <-> entry_at m q (tape head) = Some a.
Proof.
  unfold does, entry_at. rewrite any_of_holds, existsb_exists. split.
  - intros (f & I & H). apply in_map_iff in I as (e & <- & I). apply filter_In in I as [I A].
    apply same_action_spec in A. cbn [holds] in H. rewrite running_fits in H.
    pose proof (entry_in e I) as E.
    unfold entry_fits in E. rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff in E.
    rewrite (reads_so h tape head) in H by (apply F || tauto).
    rewrite andb_true_iff, !Nat.eqb_eq in H. destruct H as [Q R]. subst q.
    destruct E as [[[[_ _] ->] _] _]. rewrite (find_only_entry _ _ e I); [cbn; congruence|].
    unfold matches. now rewrite R, !Nat.eqb_refl.
  - destruct (halts m q); [discriminate|]. destruct (find _ _) as [e|] eqn:E; [|discriminate]. cbn.
    intros A.
    inversion A as [A']. apply find_some in E as [I M]. unfold matches in M.
    rewrite andb_true_iff, !Nat.eqb_eq in M. destruct M as [Q R].
    exists (And (running m (state_of e)) (reads m (read_of e))). split.
    + apply in_map_iff. exists e. split; [reflexivity|]. apply filter_In. split; [exact I|].
      now apply same_action_spec.
    + cbn [holds]. apply entry_in in I. unfold entry_fits in I.
      rewrite !andb_true_iff, !Nat.ltb_lt in I.
      rewrite running_fits, (reads_so h tape head) by (apply F || tauto).
      now rewrite Q, R, !Nat.eqb_refl.
Qed.

Lemma near_fits g : g <> Stay -> holds same (near_form m g) h = is_near (same_move g Right) head.
Proof.
  destruct F as ((T & _) & _ & O & _). intros G. unfold near_form, is_near.
  destruct g; cbn [holds same_move]; rewrite ?odd_holds, ?O by exact T;
    (reflexivity || contradiction).
Qed.

Lemma digits_fit : map (fun b => holds same (digit m b) h) (seq 0 k) = digits k head.
Proof.
  destruct F as ((T & _ & A & _) & _). rewrite <- A. apply map_ext. intros b. now apply digit_holds.
Qed.

Lemma flips_fit g b : g <> Stay -> b < k -> holds same
    (if b =? 0 then near_form m g else And (Not (near_form m g)) (far_form k (digit m) b)) h
  = flips (same_move g Right) head (digits k head) b.
Proof.
  intros G B. unfold flips. destruct (Nat.eqb_spec b 0) as [->|N]; [now apply near_fits|].
  cbn [holds].
  rewrite near_fits by exact G. f_equal. apply (far_form_holds same); [exact digits_fit|lia].
Qed.

Lemma leaves_fits : holds same (leaves_form k (digit m)) h = far_leaves (digits k head).
Proof.
  apply (leaves_form_holds same); [exact digits_fit|]. destruct digits_of_address as (k' & K). lia.
Qed.

Lemma target_moved a : goes a <> Stay -> target a head = moved (same_move (goes a) Right) head.
Proof. unfold target. now destruct (goes a). Qed.

Lemma leaving_fits g : g <> Stay -> holds same (leaving m g) h = true <->
  exists a, entry_at m q (tape head) = Some a /\ goes a = g /\ inside k (target a head) = false.
Proof.
  intros G. unfold leaving. rewrite all_of_holds. cbn [forallb holds].
  rewrite near_fits, leaves_fits, andb_true_r, andb_true_iff, any_of_holds, existsb_exists
    by exact G.
  assert (In0 : inside k head = true) by apply F.
  assert (L : inside k (moved (same_move g Right) head)
    = negb (negb (is_near (same_move g Right) head) && far_leaves (digits k head))).
  { destruct digits_of_address as (k' & K). rewrite K in *. now apply move_leaves. }
  split.
  - intros [(f & I & H) N]. apply in_map_iff in I as (a & <- & I). apply filter_In in I as [_ A].
    apply same_move_spec in A. exists a. rewrite <- does_fits. split; [exact H|]. split; [exact A|].
    rewrite target_moved, A, L, N by congruence. reflexivity.
  - intros (a & E & A & O). subst g. rewrite target_moved, L, negb_false_iff in O by exact G.
    split; [|exact O].
    exists (does m a). rewrite does_fits. split; [|exact E]. apply in_map, filter_In. split.
    + unfold entry_at in E. destruct (halts m q); [discriminate|].
      destruct (find _ _) as [e|] eqn:X; [|discriminate]. apply find_some in X as [X _].
      inversion E.
      unfold actions. rewrite (distinct_in _ same_action_spec). now apply in_map.
    + now apply same_move_spec.
Qed.

Lemma ends_fits : holds same (ends m) h = true <-> entry_at m q (tape head) = None.
Proof.
  pose proof F as (WS & Q & _ & t & past & E & U & _). pose proof WS as (T & _).
  unfold ends. rewrite any_of_holds, !existsb_app, !orb_true_iff. cbn [existsb holds].
  replace (holds same (one_of (tokens m) unfinished) h) with false.
  2:{ rewrite E in *. rewrite (one_of_holds same same_spec); [easy|]. now inversion T. }
  replace (negb (existsb (fun _ => true) (pasts h))) with false by (now rewrite E).
  assert (M : existsb (fun f => holds same f h) (map (running m) (halting m)) = halts m q).
  { unfold halts. induction (halting m) as [|p l IH]; [reflexivity|]. cbn.
    now rewrite running_fits, IH. }
  rewrite M. unfold entry_at. destruct (halts m q) eqn:H; [tauto|]. rewrite orb_false_r. split.
  - intros [D|[D|D]]; try discriminate. apply existsb_exists in D as (f & I & D).
    unfold missing in I. apply in_flat_map in I as (p & _ & I).
    destruct (halts m p); [contradiction|].
    apply in_map_iff in I as (s & <- & I). apply filter_In in I as [S N]. apply in_seq in S.
    cbn [holds] in D.
    rewrite running_fits, (reads_so h tape head) in D by (exact WS || lia).
    rewrite andb_true_iff, !Nat.eqb_eq in D. destruct D as [-> ->].
    destruct (find _ _) as [e|] eqn:X; [|reflexivity]. apply find_some in X.
    apply negb_true_iff, not_true_iff_false in N. exfalso. apply N, existsb_exists. eauto.
  - intros D. right. left. apply existsb_exists. exists (And (running m q) (reads m (tape head))).
    assert (S : tape head < symbols m).
    { destruct WS as (_ & I & _ & R). rewrite <- (R head I). now apply recalled_known. }
    split; [|cbn [holds]; now rewrite running_fits, (reads_so h tape head), !Nat.eqb_refl
      by assumption].
    unfold missing. apply in_flat_map. exists q. split; [apply in_seq; lia|]. rewrite H.
    apply in_map_iff. exists (tape head). split; [reflexivity|]. apply filter_In.
    split; [apply in_seq; lia|].
    apply negb_true_iff, not_true_iff_false. intros X. apply existsb_exists in X as (e & I & X).
    rewrite (find_only_entry _ _ e I X) in D. discriminate.
Qed.

Lemma entry_action a : entry_at m q (tape head) = Some a -> In a (actions m).
Proof.
  unfold entry_at. destruct (halts m q); [discriminate|].
  destruct (find _ _) as [e|] eqn:X; [|discriminate]. apply find_some in X as [X _]. intros E.
  inversion E.
  unfold actions. rewrite (distinct_in _ same_action_spec). now apply in_map.
Qed.
End Fitting.

Lemma stays_or a : {goes a = Stay} + {goes a <> Stay}.
Proof. destruct (goes a); (now left) || (right; discriminate). Qed.

Lemma next_at q tape head a : inside k head = true -> entry_at m q (tape head) = Some a ->
  (goes a = Stay /\ next m (At q tape head) = Some (Stays a))
  \/ (goes a <> Stay /\ inside k (target a head) = false /\ next m (At q tape head) = Some Full)
  \/ (goes a <> Stay /\ inside k (target a head) = true
      /\ exists d, d < k /\ flipped k head (target a head) = (d, negb (nth d (digits k head) false))
         /\ next m (At q tape head) = Some (Step a d (negb (nth d (digits k head) false)))
         /\ (d =? 0) = is_near (same_move (goes a) Right) head
         /\ forall b, b < k -> flips (same_move (goes a) Right) head (digits k head) b = (b =? d)).
Proof.
  intros In0 E. cbn [next]. rewrite E. destruct (stays_or a) as [G|G];
    [left; rewrite G; auto|right].
  destruct (same_move (goes a) Stay) eqn:G'; [apply same_move_spec in G'; contradiction|].
  rewrite (target_moved head a G). destruct (inside k (moved (same_move (goes a) Right) head))
    eqn:I;
    [right|left; auto]. split; [exact G|]. split; [reflexivity|].
  destruct (moved_is _ head In0 I) as (d & D & _ & X & U & N). exists d. rewrite X. auto.
Qed.

Lemma step_known h s t : fits h s -> next m s = Some t -> In t (tokens m).
Proof.
  destruct s as [q tape head|]; [|discriminate]. intros F N. apply known_in.
  destruct (entry_at m q (tape head)) as [a|] eqn:E; [|cbn in N; rewrite E in N; discriminate].
  pose proof (entry_action q tape head a E) as A.
  destruct (next_at q tape head a (proj1 (proj2 (proj1 F))) E) as
    [(G & X)|[(G & _ & X)|(G & _ & d & D & _ & X &
    _)]];
    rewrite X in N; inversion N; cbn; auto.
Qed.

Lemma at_decides h q tape head t : fits h (At q tape head) -> known t ->
  holds same (formula m t) h = true <-> next m (At q tape head) = Some t.
Proof.
  intros F K. pose proof (does_fits h q tape head F) as D.
  pose proof (proj1 (proj2 (proj1 F))) as In0.
  destruct (entry_at m q (tape head)) as [a|] eqn:E.
  2:{ cbn [next]. rewrite E. split; [|discriminate]. intros H. exfalso.
      destruct t as [x b v| |a b v|a|]; cbn [formula] in H; try discriminate.
      - rewrite all_of_holds in H. cbn [forallb] in H. rewrite !andb_true_iff in H.
        apply proj1, D in H.
        discriminate.
      - apply D in H. discriminate.
      - rewrite any_of_holds in H. cbn [existsb] in H. rewrite !orb_true_iff in H.
        destruct H as [H|[H|H]]; [| |discriminate]; apply (leaving_fits h q tape head F) in H;
          try discriminate;
          destruct H as (a & H & _); congruence. }
  destruct t as [x b v| |b' b v|b'|]; cbn [formula].
  - split; [discriminate|]. intros N.
    destruct (next_at q tape head a In0 E) as [(_ & X)|[(_ & _ & X)|(_ & _ & d & _ & _ & X & _)]];
      congruence.
  - split; [discriminate|]. intros N.
    destruct (next_at q tape head a In0 E) as [(_ & X)|[(_ & _ & X)|(_ & _ & d & _ & _ & X & _)]];
      congruence.
  - destruct K as (A & G & B). rewrite all_of_holds. cbn [forallb].
    rewrite andb_true_r, !andb_true_iff, D.
    rewrite (flips_fit h q tape head F) by assumption.
    assert (V : holds same (if v then Not (digit m b) else digit m b) h = true
      <-> v = negb (nth b (digits k head) false)).
    { pose proof (digit_told same k (digit m) h head (digits_fit h q tape head F) b B) as X.
      destruct v; cbn [holds]; rewrite X; destruct (nth b _ _); cbn; split; congruence. }
    rewrite V. split.
    + intros (Y & N & ->). inversion Y. subst b'. clear Y.
      destruct (next_at q tape head a In0 E) as
        [(G' & _)|[(_ & I & X)|(_ & _ & d & _ & _ & X & _ & U)]].
      * contradiction.
      * destruct digits_of_address as (k' & K'). rewrite K' in *.
        rewrite move_stuck in N; try assumption;
          [discriminate|].
        now rewrite <- (target_moved head a G).
      * rewrite U in N by exact B. apply Nat.eqb_eq in N. subst d. exact X.
    + intros N. destruct (next_at q tape head a In0 E) as
        [(_ & X)|[(_ & _ & X)|(_ & _ & d & _ & _ & X & _ & U)]];
        rewrite X in N; inversion N. subst b' d. rewrite U, Nat.eqb_refl by exact B. auto.
  - destruct K as [A G]. rewrite D. split.
    + intros Y. inversion Y. subst b'.
      destruct (next_at q tape head a In0 E) as [(_ & X)|[(G' & _)|(G' & _)]];
        [exact X|contradiction..].
    + intros N. destruct (next_at q tape head a In0 E) as
        [(_ & X)|[(_ & _ & X)|(_ & _ & d & _ & _ & X & _)]];
        congruence.
  - rewrite any_of_holds. cbn [existsb]. rewrite orb_false_r, orb_true_iff.
    rewrite !(leaving_fits h q tape head F) by discriminate. rewrite E. split.
    + assert (O : forall g, g <> Stay -> (exists b, Some a = Some b /\ goes b = g /\
        inside k (target b head) =
        false) ->
        next m (At q tape head) = Some Full).
      { intros g G (b & Y & Z & O). inversion Y. subst b.
        destruct (next_at q tape head a In0 E) as [(G' & _)|[(_ & _ & X)|(_ & I & _)]];
          [congruence|exact X|congruence]. }
      intros [H|H]; [apply (O Left)|apply (O Right)]; (discriminate || exact H).
    + intros N. destruct (next_at q tape head a In0 E) as
        [(_ & X)|[(G & I & _)|(_ & _ & d & _ & _ & X & _)]];
        [congruence| |congruence].
      destruct (goes a) eqn:Y; [left|contradiction|right]; exists a; auto.
Qed.

Lemma step_decides h s : fits h s -> decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros F. destruct s as [q tape head|].
  - split; [|split; [|intros t N; now apply (step_known h (At q tape head))]].
    + intros t K. apply at_decides; [exact F|now apply known_in].
    + rewrite (ends_fits h q tape head F). cbn [next]. destruct (entry_at m q (tape head)) as [a|];
        [|tauto].
      split; [discriminate|]. destruct (same_move _ _); [discriminate|].
      destruct (inside _ _), (flipped k head (target a head)); discriminate.
  - destruct F as (T & past & ->). inversion T as [|? ? I _]; subst.
    assert (R : forall q, holds same (running m q) (Full :: past) = false).
    { intros q. unfold running. now rewrite (one_of_holds same same_spec) by exact I. }
    assert (D : forall a, holds same (does m a) (Full :: past) = false).
    { intros a. unfold does. rewrite any_of_holds. apply not_true_iff_false. intros X.
      apply existsb_exists in X as (f & J & X). apply in_map_iff in J as (e & <- & _).
      cbn [holds] in X.
      rewrite R in X. discriminate. }
    split; [|split; [|discriminate]].
    + intros t K. split; [|discriminate]. intros H. exfalso. destruct t; cbn [formula] in H;
        try discriminate.
      * rewrite all_of_holds in H. cbn [forallb] in H. rewrite D in H. discriminate.
      * rewrite D in H. discriminate.
      * rewrite any_of_holds in H. cbn [existsb] in H. unfold leaving in H.
        rewrite !all_of_holds in H.
        cbn [forallb] in H. rewrite !any_of_holds in H.
        assert (N : forall l, existsb (fun f => holds same f (Full :: past)) (map (does m) l)
          = false).
        { induction l as [|a l IH]; [reflexivity|]. cbn [map existsb]. now rewrite D. }
        rewrite !N in H. discriminate.
    + split; [reflexivity|]. intros _. unfold ends. rewrite any_of_holds, !existsb_app.
      cbn [existsb].
      rewrite (one_of_holds same same_spec _ _ Full) by exact I. cbn. now rewrite !orb_true_r.
Qed.

Lemma oddness_step t h q tape head a d v : fits h (At q tape head) -> In a (actions m) ->
  t = Stays a /\ goes a = Stay
  \/ t = Step a d v /\ goes a <> Stay /\ (d =? 0) = is_near (same_move (goes a) Right) head ->
  oddness (t :: h) = Z.odd (target a head).
Proof.
  intros (_ & _ & O & _) A [(-> & G)|(-> & G & N)].
  - unfold target. rewrite G, <- O. unfold oddness.
    assert (S : some_stay m = true).
    { unfold some_stay. apply existsb_exists. exists a. split; [exact A|]. now apply same_move_spec.
      }
    rewrite S. reflexivity.
  - rewrite target_moved, odd_moved by exact G.
    assert (E : odd_after (Step a d v) = negb (Z.odd head)).
    { cbn. rewrite N. unfold is_near. destruct (goes a); [| contradiction |]; cbn;
        now destruct (Z.odd head). }
    unfold oddness. destruct (some_stay m); [|exact E]. cbn [since]. rewrite E. cbn.
    now rewrite orb_false_r.
Qed.

Lemma step_fits h s t : fits h s -> next m s = Some t -> fits (t :: h) (after m s).
Proof.
  intros F N. pose proof (step_known h s t F N) as I. destruct s as [q tape head|]; [|discriminate].
  pose proof (proj1 (proj2 (proj1 F))) as In0. cbn [after].
  destruct (entry_at m q (tape head)) as [a|] eqn:E; [|cbn in N; rewrite E in N; discriminate].
  pose proof (entry_action q tape head a E) as A. destruct (action_in a A) as [Q _].
  destruct (next_at q tape head a In0 E) as
    [(G & X)|[(G & O & X)|(G & O & d & D & Fl & X & Z & _)]];
    rewrite X in N; inversion N; subst t; clear N.
  - assert (T : target a head = head) by (unfold target; now rewrite G). rewrite T, In0. cbn [fits].
    split; [|split; [exact Q|split]].
    + change (put a) with (written (Stays a)). destruct F as (WS & _).
      pose proof WS as (_ & _ & Ad & _).
      apply act_so; try assumption; try reflexivity. intros b _. cbn. now rewrite xorb_false_r.
    + rewrite <- T at 1. apply (oddness_step _ h q tape head a 0 false F A). auto.
    + exists (Stays a), h. repeat split.
  - rewrite O. cbn [fits]. split; [constructor; [exact I|apply F]|]. now exists h.
  - rewrite O. cbn [fits]. split; [|split; [exact Q|split]].
    + change (put a) with (written (Step a d (negb (nth d (digits k head) false)))).
      rewrite (target_moved head a G) in *.
      apply (turn_so h tape head _ _ d (negb (nth d (digits k head) false))); try assumption;
        [apply F|].
      repeat split.
    + apply (oddness_step _ h q tape head a d (negb (nth d (digits k head) false)) F A). auto.
    + eexists _, h. repeat split.
Qed.

(** * The prompt *)

Lemma input_so w : forall h tape c, written_so h tape c -> (0 <= c)%Z ->
  (c + Z.of_nat (length w) < half k)%Z -> Forall (fun s => s < symbols m) w ->
  written_so (rev (input m c w) ++ h) (put_on tape c w) (c + Z.of_nat (length w)).
Proof.
  induction w as [|s w IH]; intros h tape c F C L V; [cbn; now rewrite Z.add_0_r|].
  cbn [length] in *. cbn [input put_on]. inversion V as [|? ? S0 S']; subst.
  assert (I : inside k (moved true c) = true).
  { unfold inside, moved. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
  destruct (moved_is true c (proj1 (proj2 F)) I) as (d & D & _ & X & _). cbn [moved] in *.
  rewrite X.
  cbn [rev]. rewrite <- app_assoc. cbn [app].
  replace (c + Z.of_nat (S (length w)))%Z with (c + 1 + Z.of_nat (length w))%Z by lia.
  apply IH; [|lia|lia|exact S'].
  apply (turn_so h tape c true (Input s d _) d (negb (nth d (digits k c) false))); try assumption.
  - apply known_in. now split.
  - repeat split.
Qed.

Lemma prompt_fits w : input_fits m w = true -> fits (rev (prompt m w)) (begun m w).
Proof.
  intros Fit. unfold input_fits in Fit. apply andb_true_iff in Fit as [L V]. apply Z.ltb_lt in L.
  assert (S' : Forall (fun s => s < symbols m) w).
  { apply Forall_forall. intros s I. rewrite forallb_forall in V. now apply Nat.ltb_lt, V. }
  assert (I0 : inside k 0 = true).
  { destruct digits_of_address as (k' & ->). pose proof (half_pos (S k')). unfold inside.
    apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
  assert (F0 : written_so [] (fun _ => 0) 0).
  { split; [constructor|]. split; [exact I0|]. split; [|reflexivity]. rewrite zero_digits.
    unfold address, dig. cbn.
    clear. generalize 0. induction k as [|n IH]; intros from; [reflexivity|]. cbn. now rewrite IH. }
  destruct (input_so w [] _ 0 F0 ltac:(lia) ltac:(lia) S') as (T & _ & _ & R).
  rewrite app_nil_r in *.
  unfold prompt. rewrite rev_app_distr. cbn [rev app]. unfold begun. cbn [fits].
  assert (G : In Go (tokens m)) by (now apply known_in).
  split; [|split; [|split]].
  - split; [now constructor|]. split; [exact I0|]. split.
    + rewrite zero_digits. unfold address, dig. cbn [since touches is_go sets orb andb negb].
      clear. generalize 0. induction k as [|n IH]; intros from; [reflexivity|]. cbn. now rewrite IH.
    + intros c C. cbn [recalled acts andb]. rewrite (R c C), put_on_at. unfold tape_of.
      rewrite Z.sub_0_r. destruct (Z.ltb_spec c 0), (Z.leb_spec 0 c); try lia; cbn [andb];
        [reflexivity|].
      destruct (Z.ltb_spec c (0 + Z.of_nat (length w))); [reflexivity|].
      rewrite nth_overflow by lia. reflexivity.
  - unfold well_formed in W. rewrite !andb_true_iff, !Nat.ltb_lt in W. tauto.
  - unfold oddness. destruct (some_stay m); reflexivity.
  - eexists Go, _. repeat split.
Qed.
End Step.

(** After the prompt and any number of steps, exactly one token is allowed: that of the next
    step, `Full` if it leaves the window, or the end where the machine halts or was to leave. So
    greedy generation is the run. *)
Inductive history (m : machine) (w : list nat) : list token -> config -> Prop :=
  | Begun : history m w (rev (prompt m w)) (begun m w)
  | Done h s t : history m w h s -> next m s = Some t -> history m w (t :: h) (after m s).

Theorem turing_step m w h s : well_formed m = true -> input_fits m w = true -> history m w h s ->
  decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros W I H. apply (step_decides m W). induction H; [now apply prompt_fits|now apply step_fits].
Qed.

Theorem turing_run m w most : well_formed m = true -> input_fits m w = true ->
  greedy same (tokens m) (formula m) (ends m) most (rev (prompt m w)) = run (next m) (after m) most
    (begun m w).
Proof.
  intros W I. apply (greedy_runs same (tokens m) (next m) (after m) _ _ (fits m)).
  - apply (step_decides m W).
  - apply (step_fits m W).
  - now apply prompt_fits.
Qed.
