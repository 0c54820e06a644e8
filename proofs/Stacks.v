(** Stack programs, run as Turing machines with three tapes (the input, the stack, the output): what
    that machine puts out is what the program does.

    `rows` is the table that src/softhat/frontends/machines/stack.py writes; a test computes that
    they are the same. Labels and symbols have the Turing machine's numbers; symbol 0 is the
    blank. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Histories Tape Gray StepTapes.
Import ListNotations.

(* cases: a symbol, or None for the end of the input or the empty stack; and where to go on *)
Definition cases : Type := list (option nat * nat).
Inductive instruction :=
  | Read (c : cases)
  | Push (s next : nat)
  | Pop (down : nat) (c : cases)                 (* down: the state between the two steps of a pop
  *)
  | Write (s next : nat)
  | Halt.
Definition program : Type := list (nat * instruction).

(** * The program *)

(* the label, the rest of the input, and the stack, its top first *)
Definition memory : Type := nat * list nat * list nat.
Definition case_of (c : cases) (seen : option nat) : option nat :=
  option_map snd (find (fun x => same_option (fst x) seen) c).
Definition instruction_at (p : program) (l : nat) : instruction :=
  match find (fun x => fst x =? l) p with Some x => snd x | None => Halt end.
(* One instruction: what it puts out, and what is so then; nothing if the program halts. *)
Definition step (p : program) (x : memory) : option (list nat * memory) :=
  let '(l, rest, stack) := x in
  match instruction_at p l with
  | Read c => option_map (fun n => ([], (n, tl rest, stack))) (case_of c (hd_error rest))
  | Push s n => Some ([], (n, rest, s :: stack))
  | Pop _ c => option_map (fun n => ([], (n, rest, tl stack))) (case_of c (hd_error stack))
  | Write s n => Some ([s], (n, rest, stack))
  | Halt => None
  end.
Definition stops (p : program) (l : nat) : bool := match instruction_at p l with Halt => true
  | _ => false end.
(* At most so many instructions: what they put out, and whether the program has halted. None if
   the stack does not fit in so many cells. *)
Fixpoint exec (p : program) (cells : Z) (most : nat) (x : memory) : option (list nat * bool) :=
  match step p x with
  | None => Some ([], true)
  | Some (o, y) =>
      match most with
      | 0 => Some ([], false)
      | S most =>
          if stops p (fst (fst y)) || (Z.of_nat (length (snd y)) <? cells)%Z
          then option_map (fun r => (o ++ fst r, snd r)) (exec p cells most y) else None
      end
  end.

(** * Its Turing machine *)

Definition nothing : list (option nat) := [None; None; None].
Definition cell_of (s : option nat) : nat := match s with Some s => s | None => 0 end.
Definition rows_of (x : nat * instruction) : list entry :=
  let (l, i) := x in
  match i with
  | Read c => map (fun y => Entry l [Some (cell_of (fst y)); None; None] (Action (snd y) nothing
      [match fst y with Some _ => Right | None => Stay end; Stay; Stay])) c
  | Push s n => [Entry l nothing (Action n [None; Some s; None] [Stay; Right; Stay])]
  | Pop d c => Entry l nothing (Action d nothing [Stay; Left; Stay]) ::
      map (fun y => Entry d [None; Some (cell_of (fst y));
        None] (Action (snd y) [None; Some 0; None]
        [Stay; match fst y with Some _ => Stay | None => Right end; Stay])) c
  | Write s n => [Entry l nothing (Action n [None; None; Some s] [Stay; Stay; Stay])]
  | Halt => []
  end.
Definition rows (p : program) : list entry := flat_map rows_of p.
Definition ends_of (p : program) :
  list nat := map fst (filter (fun x => match snd x with Halt => true | _ =>
  false end) p).
Definition first_of (p : program) : nat := match p with x :: _ => fst x | [] => 0 end.
Definition machine_of (p : program) (states symbols bits : nat) : machine :=
  Machine states symbols (first_of p) (ends_of p) (rows p) 3 bits false.

(* what a token puts out *)
Definition put_out (t : token) : list nat :=
  match t with Act a => match nth 2 (puts a) None with Some s => [s] | None => [] end | _ => [] end.

(* Labels, and the states between the steps of pops, are different; no symbol is the blank. *)
Definition own_states (x : nat * instruction) : list nat := fst x :: match snd x with Pop d _ => [d]
  | _ => [] end.
Definition some_cell (s : option nat) : bool := match s with Some s => negb (s =? 0)
  | None => true end.
Definition instruction_fits (i : instruction) : bool :=
  match i with
  | Read c | Pop _ c => forallb (fun y => some_cell (fst y)) c
  | Push s _ => negb (s =? 0)
  | _ => true
  end.
Fixpoint all_different (l : list nat) : bool :=
  match l with [] => true | x :: l => negb (existsb (Nat.eqb x) l) && all_different l end.
Definition targets (i : instruction) : list nat :=
  match i with Read c | Pop _ c => map snd c | Push _ n | Write _ n => [n] | Halt => [] end.
Definition program_fits (p : program) : bool :=
  all_different (flat_map own_states p)
  && forallb (fun x => instruction_fits (snd x) && forallb (fun l =>
    existsb (Nat.eqb l) (map fst p)) (targets
    (snd x))) p
  && negb (length p =? 0).
Definition word_fits (w : list nat) : bool := forallb (fun s => negb (s =? 0)) w.

Lemma all_different_spec l : all_different l = true -> NoDup l.
Proof.
  induction l as [|x l IH]; intros H; [constructor|]. cbn in H. apply andb_true_iff in H as [N H].
  constructor; [|auto]. intros I. apply negb_true_iff, not_true_iff_false in N.
  apply N, existsb_exists.
  exists x. split; [exact I|apply Nat.eqb_refl].
Qed.
Lemma same_part {A} (f : A -> list nat) l x y q : NoDup (flat_map f l) -> In x l -> In y l ->
  In q (f x) -> In q
  (f y) ->
  x = y.
Proof.
  induction l as [|z l IH]; intros N X Y Qx Qy; [contradiction|]. cbn in N.
  assert (D : NoDup (flat_map f l) /\ forall q, In q (f z) -> ~ In q (flat_map f l)).
  { clear - N. induction (f z) as [|a fz IH]; cbn in *; [split; [exact N|easy]|].
    inversion N as [|? ? Na N'];
      subst.
    destruct (IH N') as [D E]. split; [exact D|]. intros q [->|Q]; [|auto]. intros I.
    apply Na, in_or_app.
    now right. }
  destruct D as [D E]. destruct X as [->|X], Y as [->|Y]; auto.
  - exfalso. apply (E q Qx), in_flat_map. eauto.
  - exfalso. apply (E q Qy), in_flat_map. eauto.
Qed.

Section Run.
Variables (p : program) (n k b : nat).
Notation m := (machine_of p n k b).
Hypotheses (P : program_fits p = true) (W : well_formed m = true).
Notation go := (run (next m) (after m)).

Lemma instruction_in l : instruction_at p l <> Halt -> In (l, instruction_at p l) p.
Proof.
  unfold instruction_at. destruct (find _ p) as [[l' i]|] eqn:E; [|easy].
  apply find_some in E as [I E].
  cbn in *. apply Nat.eqb_eq in E. now subst.
Qed.
Lemma fits_at l : instruction_fits (instruction_at p l) = true.
Proof.
  unfold instruction_at. destruct (find _ p) as [x|] eqn:E; [|reflexivity].
  apply find_some in E as [I _].
  unfold program_fits in P. rewrite !andb_true_iff, forallb_forall in P. destruct P as [[_ F] _].
  specialize (F x I). now apply andb_true_iff in F as [F _].
Qed.
Lemma target_in l q : In q (targets (instruction_at p l)) -> In q (map fst p).
Proof.
  unfold instruction_at. destruct (find _ p) as [x|] eqn:E; [|contradiction].
  apply find_some in E as [I _].
  intros Q.
  unfold program_fits in P. rewrite !andb_true_iff, forallb_forall in P. destruct P as [[_ F] _].
  specialize (F x I). apply andb_true_iff in F as [_ F]. rewrite forallb_forall in F.
  specialize (F q Q).
  apply existsb_exists in F as (y & Y & F). apply Nat.eqb_eq in F. now subst.
Qed.
Lemma label_unique l i : In (l, i) p -> instruction_at p l = i.
Proof.
  intros I. unfold instruction_at. destruct (find _ p) as [[l' j]|] eqn:E.
  - apply find_some in E as [J E]. cbn in E. apply Nat.eqb_eq in E. subst l'. cbn.
    unfold program_fits in P. rewrite !andb_true_iff in P. destruct P as [[D _] _].
    apply all_different_spec in D.
    assert (X : (l, j) = (l, i)) by (apply (same_part own_states p _ _ l D J I); now left).
    congruence.
  - pose proof (find_none _ _ E (l, i) I) as N. cbn in N. now rewrite Nat.eqb_refl in N.
Qed.
Lemma halts_stops l : In l (map fst p) -> halts m l = stops p l.
Proof.
  intros K. unfold halts, stops. cbn [halting machine_of]. unfold ends_of. apply eq_true_iff_eq.
  rewrite existsb_exists. split.
  - intros (q & I & E). apply Nat.eqb_eq in E. subst q. apply in_map_iff in I as ([l' i] & E & I).
    cbn in E.
    subst l'.
    apply filter_In in I as [I H]. rewrite (label_unique l i I). now destruct i.
  - intros H. destruct (instruction_at p l) eqn:E; try discriminate.
    exists l. split; [|apply Nat.eqb_refl]. apply in_map_iff in K as ([l' i] & El & I). cbn in El.
    subst l'.
    rewrite (label_unique l i I) in E. subst i. apply in_map_iff. exists (l, Halt).
    split; [reflexivity|].
    apply filter_In. now split.
Qed.

(* rows of a state belong to its instruction *)
Lemma row_of e x : In x p -> In (state_of e) (own_states x) -> In e (rows p) -> In e (rows_of x).
Proof.
  intros X S I. unfold rows in I. apply in_flat_map in I as (y & Y & I).
  assert (Z : In (state_of e) (own_states y)).
  { destruct y as [l i]. destruct i; cbn in I; unfold own_states; cbn.
    - apply in_map_iff in I as (z & <- & _). now left.
    - destruct I as [<-|[]]. now left.
    - destruct I as [<-|I]; [now left|]. apply in_map_iff in I as (z & <- & _). right. now left.
    - destruct I as [<-|[]]. now left.
    - contradiction. }
  unfold program_fits in P. rewrite !andb_true_iff in P. destruct P as [[D _] _].
  apply all_different_spec in D.
  now rewrite (same_part own_states p x y (state_of e) D X Y S Z).
Qed.
Lemma has_entry x e (tape : nat -> Z -> nat) (head : nat -> Z) : In x p -> In e (rows_of x) ->
  matches (state_of e) (fun t => tape t (head t)) e = true ->
  entry_at m (state_of e) (fun t => tape t (head t)) = Some (act_of e).
Proof.
  intros X E M. apply (entry_only m W). exists e. split; [|auto]. cbn. apply in_flat_map. eauto.
Qed.
Lemma no_entry q x (tape : nat -> Z -> nat) (head : nat -> Z) : In x p -> In q (own_states x) ->
  (forall e, In e (rows_of x) -> state_of e = q ->
    matches q (fun t => tape t (head t)) e = false) ->
  entry_at m q (fun t => tape t (head t)) = None.
Proof.
  intros X Q N. destruct (entry_at m q (fun t => tape t (head t))) as [a|] eqn:E; [|reflexivity].
  exfalso.
  apply (entry_only m W) in E as (e & I & _ & M).
  assert (S : state_of e = q) by (unfold matches in M; apply andb_true_iff in M as [M _];
    now apply Nat.eqb_eq).
  rewrite N in M; [discriminate| |exact S]. apply row_of; [exact X|now rewrite S|exact I].
Qed.
Lemma row_goes_on x e : In x p -> In e (rows_of x) -> halts m (state_of e) = false.
Proof.
  intros X E. assert (I : In e (table m)) by (apply in_flat_map; eauto). apply (entry_in m W) in I.
  unfold entry_fits in I. rewrite !andb_true_iff, negb_true_iff in I. tauto.
Qed.

Lemma act_run q tape head a most : entry_at m q (fun t => tape t (head t)) = Some a ->
  go (S most) (At q [] tape head)
  = Act a :: go most (if halts m (to a) then Stopped
    else At (to a) (moves_from m a head 0) (write_all a tape
    head) head).
Proof. intros E. cbn [run next after]. now rewrite E. Qed.
Lemma move_run q t r todo tape head most : inside b (moved r (head t)) = true ->
  go (S most) (At q ((t, r) :: todo) tape head)
  = flip_to m t (head t) (moved r (head t)) :: go most
    (At q todo tape (set_head head t (moved r (head t)))).
Proof. intros I. cbn [run next after]. change (bits m) with b. now rewrite I. Qed.
Lemma flip_silent t c d : put_out (flip_to m t c d) = [].
Proof. unfold flip_to. now destruct (flipped _ _ _). Qed.
Lemma stopped most : go most Stopped = [].
Proof. now destruct most. Qed.

(* The tapes show the memory. *)
Definition shows (rest stack : list nat) (tape : nat -> Z -> nat) (head : nat -> Z) : Prop :=
  (0 <= head 0%nat)%Z /\ (head 0%nat + Z.of_nat (length rest) < half b)%Z
  /\ (forall j, tape 0 (head 0%nat + Z.of_nat j)%Z = nth j rest 0)
  /\ head 1 = Z.of_nat (length stack) /\ (Z.of_nat (length stack) < half b)%Z
  /\ (forall j, j < length stack -> tape 1 (Z.of_nat (length stack) - 1 - Z.of_nat j)%Z
    = nth j stack 0)
  /\ (forall c, (c < 0 \/ Z.of_nat (length stack) <= c)%Z -> tape 1 c = 0)
  /\ Forall (fun s => s <> 0) rest /\ Forall (fun s => s <> 0) stack.

(* From t the machine comes to t', having put out o. *)
Definition comes (t : config) (o : list nat) (t' : config) : Prop :=
  exists size told, flat_map put_out told = o /\
    forall most, go (size + most) t = told ++ go most t'.
Lemma comes_self t : comes t [] t.
Proof. exists 0, []. now split. Qed.
Lemma comes_on t o t' o' t'' : comes t o t' -> comes t' o' t'' -> comes t (o ++ o') t''.
Proof.
  intros (i & a & A & G) (j & c & C & H). exists (i + j), (a ++ c). rewrite flat_map_app, A, C.
  split;
    [reflexivity|].
  intros most. rewrite <- Nat.add_assoc, G, H. apply app_assoc.
Qed.
Lemma comes_act q tape head a : entry_at m q (fun t => tape t (head t)) = Some a ->
  comes (At q [] tape head) (put_out (Act a))
    (if halts m (to a) then Stopped
      else At (to a) (moves_from m a head 0) (write_all a tape head) head).
Proof.
  intros E. exists 1, [Act a]. cbn [flat_map]. rewrite app_nil_r. split; [reflexivity|].
  intros most.
  now apply act_run.
Qed.
Lemma comes_move q t r todo tape head : inside b (moved r (head t)) = true ->
  comes (At q ((t, r) :: todo) tape head) [] (At q todo tape (set_head head t (moved r (head t)))).
Proof.
  intros I. exists 1, [flip_to m t (head t) (moved r (head t))]. cbn [flat_map].
  rewrite flip_silent. split;
    [reflexivity|].
  intros most. now apply move_run.
Qed.
Lemma case_in (c : cases) seen l : case_of c seen = Some l -> In (seen, l) c.
Proof.
  unfold case_of. destruct (find _ c) as [[s l']|] eqn:E; [|discriminate]. cbn. intros X.
  inversion X. subst l'.
  apply find_some in E as [I E]. cbn in E. apply same_option_spec in E. now subst.
Qed.
Lemma no_case (c : cases) seen s l : case_of c seen = None -> In (s, l) c -> s <> seen.
Proof.
  unfold case_of. destruct (find _ c) as [x|] eqn:E; [discriminate|]. intros _ I ->.
  pose proof (find_none _ _ E _ I) as N. cbn in N.
  rewrite (proj2 (same_option_spec seen seen) eq_refl) in N.
  discriminate.
Qed.
Lemma seen_first (rest : list nat) : Forall (fun s => s <> 0) rest ->
  nth 0 rest 0 = cell_of (hd_error rest).
Proof. now destruct rest. Qed.
Lemma cell_same (c : cases) s l seen : forallb (fun y => some_cell (fst y)) c = true ->
  In (s, l) c ->
  (forall x, seen = Some x -> x <> 0) -> cell_of s = cell_of seen -> s = seen.
Proof.
  intros F I N E. rewrite forallb_forall in F. specialize (F _ I). cbn in F.
  destruct s as [s|], seen as [x|]; cbn in *; try congruence.
  - subst s. discriminate.
  - exfalso. apply (N x eq_refl). congruence.
Qed.
Lemma seen_nonzero (l : list nat) x : Forall (fun s => s <> 0) l -> hd_error l = Some x -> x <> 0.
Proof. intros F E. destruct l; [discriminate|]. inversion F. cbn in E. congruence. Qed.

Lemma on_stack rest stack tape head : shows rest stack tape head ->
  tape 1 (Z.of_nat (length stack) - 1)%Z = cell_of (hd_error stack).
Proof.
  intros (_ & _ & _ & _ & _ & St & Bl & _). destruct stack as [|s stack].
  - apply Bl. left. cbn. lia.
  - specialize (St 0 ltac:(cbn; lia)). cbn [nth] in St. cbn [hd_error cell_of].
    etransitivity; [|exact St].
    f_equal. lia.
Qed.
Lemma on_input rest stack tape head : shows rest stack tape head ->
  tape 0 (head 0) = cell_of (hd_error rest).
Proof.
  intros (_ & _ & In & _ & _ & _ & _ & Nz & _). rewrite <- seen_first by exact Nz. rewrite <- In.
  f_equal. lia.
Qed.
Lemma half_1 : (1 < half b)%Z.
Proof.
  destruct (two_digits m W) as (b' & B). change (bits m) with b in B. rewrite B, half_step.
  pose proof (half_pos b'). lia.
Qed.
Lemma inside_is c : (- half b <= c < half b)%Z -> inside b c = true.
Proof. intros C. unfold inside. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. Qed.

Definition arrives (l : nat) (rest stack : list nat) (t : config) : Prop :=
  if stops p l then t = Stopped
  else exists tape head, t = At l [] tape head /\ shows rest stack tape head.

Lemma shows_ext rest stack tape tape' head head' : (forall c, tape 0 c = tape' 0 c) ->
  (forall c, tape 1 c =
  tape' 1 c) ->
  head 0 = head' 0 -> head 1 = head' 1 -> shows rest stack tape head ->
    shows rest stack tape' head'.
Proof.
  intros T0 T1 H0 H1 (I0 & Il & Ir & S1 & Sl & Sr & Sb & Nz & Ns). unfold shows.
  rewrite <- H0, <- H1.
  repeat split; auto; intros; rewrite <- ?T0, <- ?T1; auto.
Qed.

Lemma acts_and q a l todo rest' stack' tape head :
  entry_at m q (fun t => tape t (head t)) = Some a -> to a = l ->
  In l (map fst p) -> moves_from m a head 0 = todo ->
  (stops p l = false -> exists tape' head', comes (At l todo (write_all a tape head) head) []
    (At l [] tape' head')
     /\ shows rest' stack' tape' head') ->
  exists t, comes (At q [] tape head) (put_out (Act a)) t /\ arrives l rest' stack' t.
Proof.
  intros E T L M S. pose proof (comes_act _ _ _ _ E) as G.
  rewrite T, M, halts_stops in G by exact L.
  unfold arrives.
  destruct (stops p l); [eauto|]. destruct (S eq_refl) as (tape' & head' & C & Sh). eexists.
  split; [|eauto].
  rewrite <- (app_nil_r (put_out (Act a))). eapply comes_on; eassumption.
Qed.

Lemma down_goes_on l d c : In (l, Pop d c) p -> halts m d = false /\ d <> l.
Proof.
  intros X. unfold program_fits in P. rewrite !andb_true_iff in P. destruct P as [[D _] _].
  apply all_different_spec in D.
  split.
  - apply not_true_iff_false. unfold halts. cbn [halting machine_of]. intros H.
    apply existsb_exists in H as (q & I & E). apply Nat.eqb_eq in E. subst q. unfold ends_of in I.
    apply in_map_iff in I as ([l' i] & E & I). cbn in E. subst l'. apply filter_In in I as [I Hi].
    cbn in Hi.
    assert (Y : (l, Pop d c) = (d, i)) by (apply (same_part own_states p _ _ d D X I); cbn; auto).
    inversion Y. subst i. discriminate.
  - intros ->. apply in_split in X as (u & v & E). rewrite E, flat_map_app in D.
    apply NoDup_remove_2 in D.
    apply D. apply in_or_app. right. cbn. auto.
Qed.

(* The first step of a pop. *)
Lemma goes_down l d c rest stack tape head : In (l, Pop d c) p -> shows rest stack tape head ->
  exists tape' head', comes (At l [] tape head) [] (At d [] tape' head') /\
    head' 1 = (Z.of_nat (length stack) -
    1)%Z
    /\ head' 0 = head 0 /\ (forall x, tape' 0 x = tape 0 x) /\ forall x, tape' 1 x = tape 1 x.
Proof.
  intros X (I0 & Il & Ir & S1 & Sl & _). pose proof half_1.
  pose proof (has_entry (l, Pop d c) (Entry l nothing (Action d nothing [Stay; Left; Stay])) tape
    head X
    ltac:(now left) ltac:(unfold matches; cbn; now rewrite Nat.eqb_refl)) as He.
  pose proof (comes_act _ _ _ _ He) as G. cbn [to state_of act_of] in G.
  rewrite (proj1 (down_goes_on l d c X)) in G.
  change (moves_from m (Action d nothing [Stay; Left; Stay]) head 0) with [(1, false)] in G.
  eexists _, _. split.
  - change (@nil nat) with (@nil nat ++ []). eapply comes_on; [exact G|]. apply comes_move.
    apply inside_is. unfold moved. lia.
  - unfold set_head, moved. cbn. rewrite S1. auto.
Qed.

Lemma step_sim l rest stack o l' rest' stack' tape head : shows rest stack tape head ->
  step p (l, rest, stack) = Some (o, (l', rest', stack')) ->
  stops p l' = true \/ (Z.of_nat (length stack') < half b)%Z ->
  In l' (map fst p) /\ exists t, comes (At l [] tape head) o t /\ arrives l' rest' stack' t.
Proof.
  intros Sh E Room. pose proof (fits_at l) as Fi. pose proof (target_in l) as Ta. unfold step in E.
  assert (X : instruction_at p l <> Halt) by (intros H; rewrite H in E; discriminate).
  apply instruction_in in X. pose proof half_1 as H1. pose proof (on_input _ _ _ _ Sh) as OnI.
  pose proof (on_stack _ _ _ _ Sh) as OnS.
  pose proof Sh as (I0 & Il & Ir & S1 & Sl & Sr & Sb & Nz & Ns).
  destruct (instruction_at p l) as [c|s q|d c|s q|] eqn:Ei; [| | | |discriminate].
  - destruct (case_of c (hd_error rest)) as [q|] eqn:C; [|discriminate]. inversion E.
    subst o l' rest' stack'.
    clear E.
    apply case_in in C. assert (L : In q (map fst p)) by (apply Ta; cbn; apply in_map_iff;
      now exists (hd_error rest, q)).
    split; [exact L|].
    pose proof (has_entry (l, Read c) (Entry l [Some (cell_of (hd_error rest)); None;
      None] (Action q nothing
      [match hd_error rest with Some _ => Right | None => Stay end; Stay; Stay])) tape head X) as
        He.
      cbn [state_of act_of] in He.
    specialize (He ltac:(cbn; apply in_map_iff; exists (hd_error rest, q); now split)
      ltac:(unfold matches; cbn; now rewrite OnI, !Nat.eqb_refl)).
    destruct rest as [|s rest]; cbn [hd_error tl] in *.
    + apply (acts_and l _ q [] [] stack tape head He eq_refl L eq_refl). intros _. eexists _, _.
      split;
        [apply comes_self|].
      now apply (shows_ext _ _ tape _ head head).
    + apply (acts_and l _ q [(0, true)] rest stack tape head He eq_refl L eq_refl). intros _.
      cbn [length] in Il.
      eexists _, _. split; [apply comes_move, inside_is; unfold moved; lia|].
      unfold shows, set_head, moved. cbn [Nat.eqb write_all puts nothing nth]. inversion Nz; subst.
      repeat split; auto; try lia.
      intros j. specialize (Ir (S j)). cbn [nth] in Ir. rewrite <- Ir. f_equal. lia.
  - inversion E. subst o l' rest' stack'. clear E.
    assert (L : In q (map fst p)) by (apply Ta; now left). split;
      [exact L|].
    pose proof (has_entry (l,
      Push s q) (Entry l nothing (Action q [None; Some s; None] [Stay; Right;
      Stay])) tape head X
      ltac:(now left) ltac:(unfold matches; cbn; now rewrite Nat.eqb_refl)) as He.
      cbn [state_of act_of] in He.
    apply (acts_and l _ q [(1, true)] rest (s :: stack) tape head He eq_refl L eq_refl). intros St.
    destruct Room as [Room|Room]; [congruence|]. cbn [length] in Room.
    eexists _, _. split; [apply comes_move, inside_is; unfold moved; rewrite S1; lia|].
    unfold shows, set_head, moved. cbn [Nat.eqb write_all puts nth length]. rewrite S1. unfold set.
    repeat split; auto; try lia.
    + intros [|j] J; cbn [nth].
      * replace (Z.of_nat (S (length stack)) - 1 - Z.of_nat 0)%Z with (Z.of_nat (length stack))
          by lia.
        now rewrite Z.eqb_refl.
      * replace (Z.of_nat (S (length stack)) - 1 - Z.of_nat (S j))%Z
          with (Z.of_nat (length stack) - 1 - Z.of_nat
          j)%Z by lia.
        destruct (Z.eqb_spec (Z.of_nat (length stack) - 1 - Z.of_nat j) (Z.of_nat (length stack)));
          [lia|].
        apply Sr. lia.
    + intros x Hx. destruct (Z.eqb_spec x (Z.of_nat (length stack))); [lia|]. apply Sb. lia.
    + constructor; [|exact Ns]. cbn in Fi. now apply negb_true_iff, Nat.eqb_neq in Fi.
  - destruct (case_of c (hd_error stack)) as [q|] eqn:C; [|discriminate]. inversion E.
    subst o l' rest' stack'.
    clear E.
    apply case_in in C. assert (L : In q (map fst p)) by (apply Ta; cbn; apply in_map_iff;
      now exists (hd_error stack, q)).
    split; [exact L|].
    destruct (goes_down l d c rest stack tape head X Sh) as (tp & hd & G & D1 & D0 & T0 & T1).
    pose proof (has_entry (l, Pop d c) (Entry d [None; Some (cell_of (hd_error stack));
      None] (Action q [None;
      Some 0; None]
      [Stay; match hd_error stack with Some _ => Stay | None => Right end; Stay])) tp hd X) as He.
      cbn [state_of act_of] in He.
    specialize (He ltac:(right; apply in_map_iff; exists (hd_error stack, q); now split)
      ltac:(unfold matches; cbn; now rewrite D1, T1, OnS, !Nat.eqb_refl)).
    assert (K : exists t, comes (At d [] tp hd) [] t /\ arrives q rest (tl stack) t).
    { destruct stack as [|s stack]; cbn [hd_error tl] in *.
      - apply (acts_and d _ q [(1, true)] rest [] tp hd He eq_refl L eq_refl). intros _. cbn in D1.
        eexists _, _. split; [apply comes_move, inside_is; unfold moved; rewrite D1; lia|].
        unfold shows, set_head, moved. cbn [Nat.eqb write_all puts nth length]. rewrite D0, D1.
        unfold set.
        repeat split; auto; try lia.
        + intros j. now rewrite T0.
        + intros x Hx. destruct (x =? -1)%Z; [reflexivity|]. rewrite T1. now apply Sb.
      - apply (acts_and d _ q [] rest stack tp hd He eq_refl L eq_refl). intros _.
        cbn [length] in *.
        eexists _, _. split; [apply comes_self|].
        unfold shows. cbn [write_all puts nth]. rewrite D0, D1. unfold set. inversion Ns; subst.
        repeat split; auto; try lia.
        + intros j. now rewrite T0.
        + intros j J. destruct (Z.eqb_spec (Z.of_nat (length stack) - 1 - Z.of_nat j)
            (Z.of_nat (S (length
            stack)) - 1)); [lia|].
          rewrite T1. specialize (Sr (S j) ltac:(lia)). cbn [nth] in Sr. rewrite <- Sr. f_equal.
          lia.
        + intros x Hx. destruct (Z.eqb_spec x (Z.of_nat (S (length stack)) - 1)); [reflexivity|].
          rewrite T1.
          apply Sb. lia. }
    destruct K as (t & K & Ar). exists t. split; [|exact Ar].
    change (@nil nat) with (@nil nat ++ []).
    eapply comes_on; eassumption.
  - inversion E. subst o l' rest' stack'. clear E.
    assert (L : In q (map fst p)) by (apply Ta; now left). split;
      [exact L|].
    pose proof (has_entry (l,
      Write s q) (Entry l nothing (Action q [None; None; Some s] [Stay; Stay;
      Stay])) tape head X
      ltac:(now left) ltac:(unfold matches; cbn; now rewrite Nat.eqb_refl)) as He.
      cbn [state_of act_of] in He.
    apply (acts_and l _ q [] rest stack tape head He eq_refl L eq_refl). intros _. eexists _, _.
    split;
      [apply comes_self|].
    now apply (shows_ext _ _ tape _ head head).
Qed.

Lemma nothing_next q (tape : nat -> Z -> nat) (head : nat -> Z) :
  entry_at m q (fun t => tape t (head t)) = None ->
  forall most, go most (At q [] tape head) = [].
Proof. intros E [|most]; [reflexivity|]. cbn [run next]. now rewrite E. Qed.

Lemma stuck_sim l rest stack tape head : shows rest stack tape head -> In l (map fst p) ->
  step p (l, rest, stack) = None -> exists t, comes (At l [] tape head) [] t /\
    forall most, go most t = [].
Proof.
  intros Sh L E. pose proof (fits_at l) as Fi. unfold step in E.
  pose proof (on_input _ _ _ _ Sh) as OnI. pose proof (on_stack _ _ _ _ Sh) as OnS.
  pose proof Sh as (_ & _ & _ & _ & _ & _ & _ & Nz & Ns).
  assert (X : In (l, instruction_at p l) p).
  { apply in_map_iff in L as ([l' i] & El & I). cbn in El. subst l'.
    now rewrite (label_unique l i I). }
  destruct (instruction_at p l) as [c|s q|d c|s q|] eqn:Ei; [|discriminate| |discriminate|].
  - destruct (case_of c (hd_error rest)) as [q|] eqn:C; [discriminate|]. exists (At l [] tape head).
    split;
      [apply comes_self|].
    apply nothing_next, (no_entry l (l, Read c)); [exact X|now left|]. intros e I _. cbn in I.
    apply in_map_iff in I as ([s q] & <- & I). unfold matches. cbn.
    rewrite Nat.eqb_refl, !andb_true_r. cbn [andb].
    apply Nat.eqb_neq. rewrite OnI. intros Y. apply (no_case c (hd_error rest) s q C I).
    apply (cell_same c s q); [exact Fi|exact I|intros x; now apply seen_nonzero|exact Y].
  - destruct (case_of c (hd_error stack)) as [q|] eqn:C; [discriminate|].
    destruct (goes_down l d c rest stack tape head X Sh) as (tp & hd & G & D1 & D0 & T0 & T1).
    exists (At d [] tp hd). split; [exact G|]. apply nothing_next, (no_entry d (l, Pop d c));
      [exact X|cbn; auto|].
    intros e I Se. destruct I as [<-|I]; [cbn in Se; exfalso; now apply (down_goes_on l d c X)|].
    apply in_map_iff in I as ([s q] & <- & I). unfold matches. cbn.
    rewrite Nat.eqb_refl, !andb_true_r. cbn [andb].
    apply Nat.eqb_neq. rewrite D1, T1, OnS. intros Y. apply (no_case c (hd_error stack) s q C I).
    apply (cell_same c s q); [exact Fi|exact I|intros x; now apply seen_nonzero|exact Y].
  - exists (At l [] tape head). split; [apply comes_self|].
    apply nothing_next, (no_entry l (l, Halt));
      [exact X|now left|].
    contradiction.
Qed.

Lemma exec_sim most : forall l rest stack tape head o halted, shows rest stack tape head ->
  In l (map fst p) ->
  exec p (half b) most (l, rest, stack) = Some (o, halted) ->
  exists t, comes (At l [] tape head) o t /\ (halted = true -> forall more, go more t = []).
Proof.
  induction most as [|most IH]; intros l rest stack tape head o halted Sh L E; cbn [exec] in E;
    destruct (step p (l, rest, stack)) as [[o1 [[l' rest'] stack']]|] eqn:St.
  - inversion E. exists (At l [] tape head). split; [apply comes_self|discriminate].
  - inversion E. destruct (stuck_sim l rest stack tape head Sh L St) as (t & C & N). eauto.
  - cbn [fst snd] in E. destruct (stops p l' || _) eqn:R; [|discriminate].
    assert (Room : stops p l' = true \/ (Z.of_nat (length stack') < half b)%Z).
    { apply orb_true_iff in R as [R|R]; [now left|right; now apply Z.ltb_lt]. }
    destruct (step_sim l rest stack o1 l' rest' stack' tape head Sh St Room) as (L' & t & C & Ar).
    destruct (exec p (half b) most (l', rest', stack')) as [[o2 h2]|] eqn:E2; [|discriminate].
    cbn in E.
    inversion E.
    subst o halted. unfold arrives in Ar. destruct (stops p l') eqn:Sp.
    + subst t. exists Stopped. assert (N : step p (l', rest', stack') = None).
      { unfold stops in Sp. unfold step. destruct (instruction_at p l');
          (discriminate || reflexivity). }
      destruct most; cbn [exec] in E2; rewrite N in E2; inversion E2; subst; rewrite app_nil_r;
        (split; [exact C|intros _; apply stopped]).
    + destruct Ar as (tape' & head' & -> & Sh').
      destruct (IH l' rest' stack' tape' head' o2 h2 Sh' L' E2) as (t & C2 & N).
      exists t. split; [|exact N]. eapply comes_on; eassumption.
  - inversion E. destruct (stuck_sim l rest stack tape head Sh L St) as (t & C & N). eauto.
Qed.
End Run.

(** Whatever the program puts out in so many instructions is put out by greedy generation by the
    formulas of the Turing machine in some number of tokens; if the program has halted then
    nothing comes after them. *)
Theorem stack_run p n k b w most o halted : program_fits p = true -> word_fits w = true ->
  well_formed (machine_of p n k b) = true -> input_fits (machine_of p n k b) w = true ->
  exec p (half b) most (first_of p, w, []) = Some (o, halted) ->
  exists size,
    let generated := fun size => greedy same (tokens (machine_of p n k b))
      (formula (machine_of p n k b))
      (ends (machine_of p n k b)) size (rev (prompt (machine_of p n k b) w)) in
    flat_map put_out (generated size) = o
    /\ (halted = true -> forall more, generated (size + more) = generated size).
Proof.
  intros P Wf W I E. pose proof I as I'. unfold input_fits in I'.
  apply andb_true_iff in I' as [L _].
  apply Z.ltb_lt in L.
  change (bits (machine_of p n k b)) with b in L. unfold word_fits in Wf.
  rewrite forallb_forall in Wf.
  destruct (exec_sim p n k b P W most (first_of p) w [] (fun t => if t =? 0 then tape_of w
    else fun _ => 0) (fun
    _ => 0%Z) o halted)
    as (t & (size & told & O & G) & N); [| |exact E|].
  - unfold shows. cbn [Nat.eqb length]. pose proof (half_1 p n k b W).
    repeat split; try lia; try (constructor;
      fail).
    + intros j. unfold tape_of. destruct (Z.ltb_spec (0 + Z.of_nat j) 0); [lia|]. f_equal. lia.
    + apply Forall_forall. intros s S. specialize (Wf s S).
      now apply negb_true_iff, Nat.eqb_neq in Wf.
  - unfold program_fits in P. rewrite !andb_true_iff, negb_true_iff, Nat.eqb_neq in P.
    destruct p as [|x p']; [cbn in P; lia|]. now left.
  - exists size. cbv beta zeta. pose proof (G 0) as G0. rewrite Nat.add_0_r in G0. cbn [run] in G0.
    rewrite app_nil_r in G0.
    rewrite !tapes_run by assumption. unfold begun.
    change (start (machine_of p n k b)) with (first_of p).
    rewrite G0.
    split; [exact O|]. intros H more. rewrite tapes_run by assumption. unfold begun.
    change (start (machine_of p n k b)) with (first_of p). rewrite G, (N H). apply app_nil_r.
Qed.
