(** Finite automata and transducers, run as Turing machines whose head only goes right: the steps of
    that machine are the automaton's walk over the input.

    `rows` is the table that src/softhat/frontends/machines/automaton.py writes; a test computes
    that they are the same. States and symbols have the Turing machine's numbers; symbol 0 is the
    blank, which stands behind the input, and for no output. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Histories Tape Gray.
From Softhat Require StepTuring StepTapes.
Import ListNotations.

(* a state, the symbol read, the next state, and what is put out *)
Record edge := Edge { from_state : nat; symbol : nat; to_state : nat; out : nat }.
Record automaton := Automaton {
  alphabet : list nat; states : list nat; start : nat; accepting : list nat; edges : list edge;
  final : list (nat * nat);
    (* what a transducer puts out at the end, by state *)
  accept : nat; reject : nat; puts_out : bool }.

Definition member (q : nat) (l : list nat) : bool := existsb (Nat.eqb q) l.
Lemma member_in q l : member q l = true <-> In q l.
Proof.
  unfold member. rewrite existsb_exists.
  split; [intros (p & I & E); apply Nat.eqb_eq in E; now subst|].
  intros I. exists q. split; [exact I|apply Nat.eqb_refl].
Qed.

(** * The automaton *)

Definition edge_of (a : automaton) (q s : nat) : option edge :=
  find (fun e => (from_state e =? q) && (symbol e =? s)) (edges a).
(* the next state, and what is written over the symbol *)
Definition step (a : automaton) (q s : nat) : nat * nat :=
  match edge_of a q s with
  | Some e => (to_state e, if puts_out a then out e else s)
  | None => (reject a, if puts_out a then 0 else s)
  end.
Definition last_out (a : automaton) (q : nat) : nat :=
  match find (fun p => fst p =? q) (final a) with Some p => snd p | None => 0 end.
Definition finish (a : automaton) (q : nat) : nat * nat :=
  (if puts_out a || member q (accepting a) then accept a else reject a, last_out a q).
(* The steps over a word: without an edge it is rejected. *)
Fixpoint walk (a : automaton) (q : nat) (w : list nat) : list (nat * nat) :=
  match w with
  | [] => [finish a q]
  | s :: w =>
      let (p, o) := step a q s in (p, o) :: if p =? reject a then [] else walk a p w
  end.

Fixpoint accepted (a : automaton) (q : nat) (w : list nat) : bool :=
  match w with
  | [] => member q (accepting a)
  | s :: w => match edge_of a q s with Some e => accepted a (to_state e) w | None => false end
  end.

Definition well_formed (a : automaton) : bool :=
  member (start a) (states a) && forallb (fun e => member (to_state e) (states a)) (edges a)
  && negb (member (accept a) (states a)) && negb (member (reject a) (states a))
  && negb (accept a =? reject a).
Definition word_fits (a : automaton) (w : list nat) :
  bool := forallb (fun s => member s (alphabet a)) w.

Section Walk.
Variable a : automaton.
Hypothesis W : well_formed a = true.

Lemma ends_apart : member (accept a) (states a) = false /\ member (reject a) (states a) = false
  /\ accept a <> reject a /\ member (start a) (states a) = true.
Proof.
  unfold well_formed in W. rewrite !andb_true_iff, !negb_true_iff, Nat.eqb_neq in W. tauto.
Qed.
Lemma step_in q s : fst (step a q s) = reject a \/ member (fst (step a q s)) (states a) = true.
Proof.
  unfold step. destruct (edge_of a q s) as [e|] eqn:E; [right|now left].
  apply find_some in E as [E _].
  unfold well_formed in W. rewrite !andb_true_iff, forallb_forall in W. cbn. now apply W.
Qed.

(** The last step of the walk says whether the word is in the language. *)
Theorem walk_accepts q w : puts_out a = false ->
  fst (List.last (walk a q w) (reject a, 0)) = if accepted a q w then accept a else reject a.
Proof.
  intros P. revert q. induction w as [|s w IH]; intros q; cbn [walk accepted].
  - cbn. now rewrite P.
  - pose proof (step_in q s) as I. destruct ends_apart as (_ & R & _). unfold step in *.
    destruct (edge_of a q s) as [e|] eqn:E; cbn [fst] in *.
    + destruct (Nat.eqb_spec (to_state e) (reject a)) as [X|_].
      * exfalso. apply find_some in E as [E _]. unfold well_formed in W.
        rewrite !andb_true_iff, forallb_forall in W.
        destruct W as [[[[_ M] _] _] _]. specialize (M e E). rewrite X in M. congruence.
      * rewrite <- IH. destruct (walk a (to_state e) w) eqn:Y; [|reflexivity]. destruct w; cbn in Y;
          [discriminate|].
        destruct (step a (to_state e) n). discriminate.
    + now rewrite Nat.eqb_refl.
Qed.
End Walk.

(** * As one token a step *)

Module OneToken.
Import StepTuring.

Definition rows (a : automaton) : list entry :=
  flat_map (fun q =>
    map (fun s => let (p, o) := step a q s in
           Entry q s (Action p o (if p =? reject a then Stay else Right))) (alphabet a)
    ++ [let (p, o) := finish a q in Entry q 0 (Action p o Stay)]) (Automata.states a).
Definition machine_of (a : automaton) (states symbols bits : nat) : machine :=
  Machine states symbols (Automata.start a) [accept a; reject a] (rows a) bits.

Definition did (t : token) : list (nat * nat) :=
  match t with Step x _ _ | Stays x => [(to x, put x)] | _ => [] end.

Section Run.
Variables (a : automaton) (n k b : nat).
Let m := machine_of a n k b.
Hypotheses (A : Automata.well_formed a = true) (W : well_formed m = true).

Lemma row_in q s : In q (Automata.states a) -> In s (alphabet a) -> entry_at m q s
  = let (p, o) := step a q s in Some (Action p o (if p =? reject a then Stay else Right)).
Proof.
  intros Q S. destruct (step a q s) as [p o] eqn:E.
  assert (I : In (Entry q s (Action p o (if p =? reject a then Stay else Right))) (table m)).
  { cbn. apply in_flat_map. exists q. split; [exact Q|]. apply in_or_app. left. apply in_map_iff.
    exists s.
    split; [now rewrite E|exact S]. }
  pose proof (entry_in m W _ I) as F. unfold entry_fits in F. cbn [state_of] in F.
  rewrite !andb_true_iff, negb_true_iff in F.
  unfold entry_at. destruct F as [[[[_ _] ->] _] _].
  rewrite (find_only_entry m W q s _ I) by (unfold matches; cbn; now rewrite !Nat.eqb_refl).
  reflexivity.
Qed.
Lemma last_row_in q : In q (Automata.states a) ->
  entry_at m q 0 = let (p, o) := finish a q in Some (Action p o Stay).
Proof.
  intros Q. destruct (finish a q) as [p o] eqn:E.
  assert (I : In (Entry q 0 (Action p o Stay)) (table m)).
  { cbn. apply in_flat_map. exists q. split; [exact Q|]. apply in_or_app. right. left.
    now rewrite E. }
  pose proof (entry_in m W _ I) as F. unfold entry_fits in F. cbn [state_of] in F.
  rewrite !andb_true_iff, negb_true_iff in F.
  unfold entry_at. destruct F as [[[[_ _] ->] _] _].
  rewrite (find_only_entry m W q 0 _ I) by (unfold matches; cbn; now rewrite !Nat.eqb_refl).
  reflexivity.
Qed.
Lemma ended p most tape head : p = accept a \/ p = reject a ->
  run (next m) (after m) most (At p tape head) = [].
Proof.
  intros P. destruct most as [|most]; [reflexivity|]. cbn [run]. unfold next, entry_at.
  replace (halts m p) with true; [reflexivity|]. symmetry. unfold halts, m. cbn.
  destruct P as [->| ->]; rewrite Nat.eqb_refl, ?orb_true_r; reflexivity.
Qed.

Lemma walked w : forall q tape i most, In q (Automata.states a) -> word_fits a w = true ->
  (0 <= i)%Z ->
  (i + Z.of_nat (length w) < half b)%Z -> (forall j, tape (i + Z.of_nat j)%Z = nth j w 0) ->
  flat_map did (run (next m) (after m) most (At q tape i)) = firstn most (walk a q w).
Proof.
  induction w as [|s w IH]; intros q tape i [|most] Q F I L T; try reflexivity.
  - cbn [run]. unfold next, after. specialize (T 0). rewrite Z.add_0_r in T. cbn in T.
    rewrite T, last_row_in by exact Q.
    destruct (finish a q) as [p o] eqn:E. cbn [goes same_move flat_map did app to put].
    assert (In0 : inside (bits m) (target (Action p o Stay) i) = true).
    { unfold target. cbn. unfold inside. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt.
      cbn in L. rewrite Z.add_0_r in L. lia. }
    rewrite In0, ended; [|unfold finish in E; inversion E; destruct (_ || _); auto].
    cbn [walk]. rewrite E. cbn. now rewrite firstn_nil.
  - cbn [word_fits forallb] in F. apply andb_true_iff in F as [Sa F]. apply member_in in Sa.
    cbn [run]. unfold next, after. pose proof (T 0) as T0. rewrite Z.add_0_r in T0. cbn in T0.
    rewrite T0, row_in by assumption. cbn [walk]. pose proof (step_in a A q s) as P.
    destruct (step a q s) as [p o] eqn:E. cbn [fst] in P. cbn [length] in L.
    destruct (Nat.eqb_spec p (reject a)) as [->|N].
    + assert (In0 : inside (bits m) (target (Action (reject a) o Stay) i) = true).
      { unfold target. cbn. unfold inside. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
      cbn [goes same_move flat_map did app to put]. rewrite In0, ended by auto. cbn.
      now rewrite firstn_nil.
    + destruct P as [P|P]; [contradiction|].
      assert (In0 : inside (bits m) (target (Action p o Right) i) = true).
      { unfold target. cbn. unfold inside. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
      cbn [goes same_move]. rewrite In0. destruct (flipped _ _ _) as [d v].
      cbn [flat_map did app to put firstn].
      f_equal. unfold target. cbn [goes]. apply IH; [now apply member_in|exact F|lia|lia|].
      intros j. unfold set. destruct (Z.eqb_spec (i + 1 + Z.of_nat j) i); [lia|].
      specialize (T (S j)). cbn [nth] in T. rewrite <- T. f_equal. lia.
Qed.
End Run.

(** What greedy generation by the formulas of the Turing machine does, step by step, is the walk. *)
Theorem automaton_run a n k b w most : Automata.well_formed a = true -> word_fits a w = true ->
  well_formed (machine_of a n k b) = true -> input_fits (machine_of a n k b) w = true ->
  flat_map did (greedy same (tokens (machine_of a n k b)) (formula (machine_of a n k b))
    (ends (machine_of a n k b)) most (rev (prompt (machine_of a n k b) w)))
  = firstn most (walk a (Automata.start a) w).
Proof.
  intros A F W I. rewrite turing_run by assumption. unfold begun. apply walked; try assumption.
  - apply member_in. now apply ends_apart.
  - lia.
  - unfold input_fits in I. apply andb_true_iff in I as [I _]. apply Z.ltb_lt in I. exact I.
  - intros j. unfold tape_of. destruct (Z.ltb_spec (0 + Z.of_nat j) 0); [lia|]. f_equal. lia.
Qed.
End OneToken.

(** * As several tokens a step *)

Module SeveralTokens.
Import StepTapes.

Definition rows (a : automaton) : list entry :=
  flat_map (fun q =>
    map (fun s => let (p, o) := step a q s in
           Entry q [Some s] (Action p [Some o] [if p =? reject a then Stay else Right]))
             (alphabet a)
    ++ [let (p, o) := finish a q in Entry q [Some 0] (Action p [Some o] [Stay])])
         (Automata.states a).
Definition machine_of (a : automaton) (states symbols bits : nat) : machine :=
  Machine states symbols (Automata.start a) [accept a; reject a] (rows a) 1 bits false.

Definition did (t : token) : list (nat * nat) :=
  match t with Act x => [(to x, match nth 0 (puts x) None with Some o => o | None => 0 end)]
    | _ => [] end.

Section Run.
Variables (a : automaton) (n k b : nat).
Let m := machine_of a n k b.
Hypotheses (A : Automata.well_formed a = true) (W : well_formed m = true).

Lemma row_in q s (tape : nat -> Z -> nat) (head : nat -> Z) : In q (Automata.states a) ->
  In s (alphabet a) ->
  tape 0 (head 0) = s ->
  entry_at m q (fun t => tape t (head t))
  = let (p, o) := step a q s in Some (Action p [Some o] [if p =? reject a then Stay else Right]).
Proof.
  intros Q Sa T. destruct (step a q s) as [p o] eqn:E. apply (entry_only m W).
  exists (Entry q [Some s] (Action p [Some o] [if p =? reject a then Stay else Right])).
  split; [|split; [reflexivity|unfold matches; cbn; now rewrite T, !Nat.eqb_refl]].
  cbn. apply in_flat_map. exists q. split; [exact Q|]. apply in_or_app. left. apply in_map_iff.
  exists s.
  split; [now rewrite E|exact Sa].
Qed.
Lemma last_row_in q (tape : nat -> Z -> nat) (head : nat -> Z) : In q (Automata.states a) ->
  tape 0 (head 0) = 0 ->
  entry_at m q (fun t => tape t (head t)) = let (p, o) := finish a q in
    Some (Action p [Some o] [Stay]).
Proof.
  intros Q T. destruct (finish a q) as [p o] eqn:E. apply (entry_only m W).
  exists (Entry q [Some 0] (Action p [Some o] [Stay])).
  split; [|split; [reflexivity|unfold matches; cbn; now rewrite T, !Nat.eqb_refl]].
  cbn. apply in_flat_map. exists q. split; [exact Q|]. apply in_or_app. right. left. now rewrite E.
Qed.
Lemma ends_halt p : p = accept a \/ p = reject a -> halts m p = true.
Proof. intros [->| ->]; unfold halts; cbn; now rewrite Nat.eqb_refl, ?orb_true_r. Qed.
Lemma states_go_on p : member p (Automata.states a) = true -> halts m p = false.
Proof.
  intros P. destruct (ends_apart a A) as (N & R & _). unfold halts. cbn.
  destruct (Nat.eqb_spec p (accept a)); [congruence|]. destruct (Nat.eqb_spec p (reject a));
    [congruence|reflexivity].
Qed.
Lemma stopped most : run (next m) (after m) most Stopped = [].
Proof. now destruct most. Qed.

Lemma walked w : forall q (tape : nat -> Z -> nat) (head : nat -> Z) most,
  In q (Automata.states a) -> word_fits
  a w = true -> (0 <= head 0%nat)%Z ->
  (head 0%nat + Z.of_nat (length w) < half b)%Z ->
    (forall j, tape 0 (head 0%nat + Z.of_nat j)%Z = nth j w 0) ->
  flat_map did (run (next m) (after m) most (At q [] tape head)) = firstn (Nat.div2 (S most))
    (walk a q w).
Proof.
  induction w as [|s w IH]; intros q tape head [|most] Q F I L T; try reflexivity;
    pose proof (T 0) as T0; rewrite Z.add_0_r in T0; cbn [nth] in T0.
  - cbn [run next after]. rewrite (last_row_in q tape head Q T0). cbn [walk].
    destruct (finish a q) as [p o] eqn:E.
    cbn [option_map flat_map did app to puts nth]. rewrite ends_halt, stopped.
    + cbn [flat_map app Nat.div2 firstn]. now rewrite firstn_nil.
    + unfold finish in E. inversion E. destruct (_ || _); auto.
  - cbn [word_fits forallb] in F. apply andb_true_iff in F as [Sa F]. apply member_in in Sa.
    cbn [length] in L.
    cbn [run next after]. rewrite (row_in q s tape head Q Sa T0). cbn [walk].
    pose proof (step_in a A q s) as P.
    destruct (step a q s) as [p o] eqn:E. cbn [fst] in P.
    cbn [option_map flat_map did app to puts nth].
    destruct (Nat.eqb_spec p (reject a)) as [->|N].
    + rewrite ends_halt, stopped by auto. cbn [flat_map app Nat.div2 firstn].
      now rewrite firstn_nil.
    + destruct P as [P|P]; [contradiction|]. rewrite states_go_on by exact P. cbn [Nat.div2 firstn].
      f_equal.
      assert (M : moves_from m (Action p [Some o] [Right]) head 0 = [(0, true)]) by reflexivity.
      rewrite M.
      destruct most as [|most]; [reflexivity|]. cbn [run next after].
      assert (In0 : inside (bits m) (moved true (head 0)) = true).
      { unfold inside, moved. cbn. apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. lia. }
      rewrite In0. unfold flip_to. destruct (flipped _ _ _) as [d v]. cbn [flat_map did app].
      rewrite IH; [reflexivity|now apply member_in|exact F| | |]; unfold set_head, moved;
        cbn [Nat.eqb]; [lia|lia|].
      intros j. unfold write_all. cbn [puts nth]. unfold set.
      destruct (Z.eqb_spec (head 0%nat + 1 + Z.of_nat j) (head 0%nat)); [lia|].
      specialize (T (S j)). cbn [nth] in T. rewrite <- T. f_equal. lia.
Qed.
End Run.

Theorem automaton_run a n k b w most : Automata.well_formed a = true -> word_fits a w = true ->
  well_formed (machine_of a n k b) = true -> input_fits (machine_of a n k b) w = true ->
  flat_map did (greedy same (tokens (machine_of a n k b)) (formula (machine_of a n k b))
    (ends (machine_of a n k b)) most (rev (prompt (machine_of a n k b) w)))
  = firstn (Nat.div2 (S most)) (walk a (Automata.start a) w).
Proof.
  intros A F W I. rewrite tapes_run by assumption. unfold begun. apply walked; try assumption.
  - apply member_in. now apply ends_apart.
  - cbn. lia.
  - unfold input_fits in I. apply andb_true_iff in I as [I _]. apply Z.ltb_lt in I. exact I.
  - intros j. cbn. unfold tape_of. destruct (Z.ltb_spec (Z.of_nat j) 0); [lia|]. f_equal. lia.
Qed.
End SeveralTokens.
