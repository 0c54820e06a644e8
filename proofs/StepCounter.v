(** Counter machines: the token that the formulas allow is the machine's next step.

    `formula` and `ends` are what src/softhat/frontends/machines/counter.py builds; a test
    computes that they are the same trees. Labels and counters are numbers here: places in the
    list of instructions, and in the order in which counters occur. *)
From Coq Require Import Arith List Bool Lia.
From Softhat Require Import Histories.
Import ListNotations.

Inductive instruction :=
  | Inc (c next : nat)
  | Dec (c next otherwise : nat)                 (* otherwise: c is 0 *)
  | Halt.

Record machine := Machine { counters : nat; program : list instruction }.

Definition at_label (m : machine) (l : nat) : instruction := nth l (program m) Halt.
Definition labels (m : machine) : list nat := seq 0 (length (program m)).
Definition fits_in (m : machine) (i : instruction) : bool :=
  match i with
  | Inc c next => (c <? counters m) && (next <? length (program m))
  | Dec c next otherwise =>
      (c <? counters m) && (next <? length (program m)) && (otherwise <? length (program m))
  | Halt => true
  end.
Definition well_formed (m : machine) : bool :=
  (0 <? length (program m)) && forallb (fits_in m) (program m).

(** * The machine *)

(* the instruction that comes next, and the counters *)
Definition state : Type := nat * (nat -> nat).
Definition set (v : nat -> nat) (c x : nat) : nat -> nat := fun d => if d =? c then x else v d.

Inductive token := Unit (c : nat) | Go | Added (l : nat) | Took (l : nat) | WasZero (l : nat).

(* The token of the next step; none if the machine has halted. *)
Definition next (m : machine) (s : state) : option token :=
  let (l, v) := s in
  match at_label m l with
  | Inc _ _ => Some (Added l)
  | Dec c _ _ => Some (if v c =? 0 then WasZero l else Took l)
  | Halt => None
  end.
Definition after (m : machine) (s : state) : state :=
  let (l, v) := s in
  match at_label m l with
  | Inc c to => (to, set v c (S (v c)))
  | Dec c to otherwise => if v c =? 0 then (otherwise, v) else (to, set v c (v c - 1))
  | Halt => s
  end.

(** * Its formulas *)

Definition same (s t : token) : bool :=
  match s, t with
  | Unit a, Unit b | Added a, Added b | Took a, Took b | WasZero a, WasZero b => a =? b
  | Go, Go => true
  | _, _ => false
  end.
Lemma same_spec s t : same s t = true <-> s = t.
Proof.
  destruct s, t; cbn; try rewrite Nat.eqb_eq; split; intros H; try discriminate; congruence.
Qed.

Definition outcomes (m : machine) (l : nat) : list token :=
  match at_label m l with Inc _ _ => [Added l] | Dec _ _ _ => [Took l; WasZero l] | Halt => [] end.
Definition tokens (m : machine) : list token :=
  map Unit (seq 0 (counters m)) ++ Go :: flat_map (outcomes m) (labels m).

(* Does the token lead to label l? *)
Definition leads (m : machine) (l : nat) (t : token) : bool :=
  match t with
  | Unit _ => false
  | Go => l =? 0
  | Added k => match at_label m k with Inc _ to => to =? l | _ => false end
  | Took k => match at_label m k with Dec _ to _ => to =? l | _ => false end
  | WasZero k => match at_label m k with Dec _ _ to => to =? l | _ => false end
  end.
Definition adds (m : machine) (c : nat) (t : token) : bool :=
  match t with
  | Unit d => d =? c
  | Added k => match at_label m k with Inc d _ => d =? c | _ => false end
  | _ => false
  end.
Definition takes (m : machine) (c : nat) (t : token) : bool :=
  match t with Took k => match at_label m k with Dec d _ _ => d =? c | _ => false end
    | _ => false end.
Definition is_unit (t : token) : bool := match t with Unit _ => true | _ => false end.

Definition at_ (m : machine) (l : nat) : form token := one_of (tokens m) (leads m l).
Definition is_zero (m : machine) (c : nat) : form token :=
  AtMost (one_of (tokens m) (adds m c)) (one_of (tokens m) (takes m c)).

Definition formula (m : machine) (t : token) : form token :=
  match t with
  | Unit _ | Go => Constant false
  | Added l => at_ m l
  | Took l => match at_label m l with Dec c _ _ => And (at_ m l) (Not (is_zero m c))
    | _ => Constant false end
  | WasZero l => match at_label m l with Dec c _ _ => And (at_ m l) (is_zero m c)
    | _ => Constant false end
  end.
Definition halts (m : machine) (l : nat) : bool := match at_label m l with Halt => true
  | _ => false end.
Definition ends (m : machine) : form token :=
  any_of (map (at_ m) (filter (halts m) (labels m))
          ++ [one_of (tokens m) is_unit; Not (Once (Constant true))]).

(* The prompt: a token for each unit of each counter, then go. *)
Definition prompt (m : machine) (v : nat -> nat) : list token :=
  flat_map (fun c => repeat (Unit c) (v c)) (seq 0 (counters m)) ++ [Go].

(** * A step is right *)

Section Step.
Variable m : machine.
Hypothesis W : well_formed m = true.
Notation told := (told (tokens m)).

Lemma instruction_in l : l < length (program m) -> fits_in m (at_label m l) = true.
Proof.
  intros L. unfold well_formed in W. apply andb_true_iff in W as [_ F]. rewrite forallb_forall in F.
  apply F, nth_In, L.
Qed.

Lemma outcome_told l t : l < length (program m) -> In t (outcomes m l) -> In t (tokens m).
Proof.
  intros L I. unfold tokens. apply in_or_app. right. right. apply in_flat_map. exists l.
  split; [apply in_seq; lia|exact I].
Qed.

Definition number (p : token -> bool) (h : list token) : nat := length (filter p h).

(* The last token leads to the label; a counter is what was added less what was taken. *)
Definition fits (h : list token) (s : state) : Prop :=
  told h /\ fst s < length (program m)
  /\ (exists t past, h = t :: past /\ is_unit t = false /\ forall l, leads m l t = (l =? fst s))
  /\ forall c, c < counters m -> snd s c + number (takes m c) h = number (adds m c) h.

Lemma at_fits h s l : fits h s -> holds same (at_ m l) h = (l =? fst s).
Proof.
  intros (T & _ & (t & past & -> & _ & L) & _). unfold at_.
  rewrite (one_of_holds same same_spec); [apply L|]. inversion T; assumption.
Qed.

Lemma zero_fits h s c : fits h s -> c < counters m -> holds same (is_zero m c) h = (snd s c =? 0).
Proof.
  intros (T & _ & _ & N) C. specialize (N c C). unfold is_zero. cbn.
  rewrite !(count_one_of same same_spec) by exact T. unfold number in N.
  destruct (Nat.eqb_spec (snd s c) 0), (Nat.leb_spec (length (filter (adds m c) h))
    (length (filter (takes m c) h))); (reflexivity || lia).
Qed.

Lemma step_decides h s : fits h s ->
  decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros F. pose proof F as (T & L & (t0 & past & E0 & U & _) & _). destruct s as [l v].
  cbn [fst] in L.
  pose proof (instruction_in l L) as I.
  assert (A : forall k, holds same (at_ m k) h = (k =? l))
    by (intros k; apply (at_fits h (l, v) k F)).
  assert (Z : forall c, c < counters m -> holds same (is_zero m c) h = (v c =? 0))
    by (intros c C; apply (zero_fits h (l, v) c F C)).
  assert (E : holds same (ends m) h = halts m l).
  { unfold ends. rewrite any_of_holds, existsb_app. cbn [existsb].
    replace (holds same (one_of (tokens m) is_unit) h) with false.
    2:{ rewrite E0. rewrite (one_of_holds same same_spec); [easy|]. subst h. inversion T;
      assumption. }
    replace (holds same (Not (Once (Constant true))) h) with false by (rewrite E0; reflexivity).
    rewrite !orb_false_r. apply eq_true_iff_eq. rewrite existsb_exists. split.
    - intros (f & M & H). apply in_map_iff in M as (k & <- & K). apply filter_In in K as [_ K].
      rewrite A in H. apply Nat.eqb_eq in H. subst. exact K.
    - intros H. exists (at_ m l). split; [|rewrite A; apply Nat.eqb_refl].
      apply in_map, filter_In. split; [apply in_seq; lia|exact H]. }
  unfold decides, next. split; [|split].
  - intros t K. split; intros H.
    + destruct t as [c| |k|k|k]; cbn [formula] in H; try discriminate.
      * rewrite A in H. apply Nat.eqb_eq in H. subst k.
        apply in_app_or in K as [K|[K|K]];
          [apply in_map_iff in K as (? & ? & _); discriminate|discriminate|].
        apply in_flat_map in K as (k & _ & K). unfold outcomes in K.
        destruct (at_label m k) eqn:E1; cbn in K; intuition; try discriminate.
        match goal with G : Added _ = Added _ |- _ => inversion G; subst end.
        rewrite E1. reflexivity.
      * destruct (at_label m k) eqn:E1; try discriminate. cbn [holds] in H.
        apply andb_true_iff in H as [H1 H2]. rewrite A in H1. apply Nat.eqb_eq in H1. subst k.
        rewrite E1 in *. cbn [fits_in] in I. rewrite !andb_true_iff, !Nat.ltb_lt in I.
        rewrite Z in H2 by tauto. destruct (v c =? 0); [discriminate|reflexivity].
      * destruct (at_label m k) eqn:E1; try discriminate. cbn [holds] in H.
        apply andb_true_iff in H as [H1 H2]. rewrite A in H1. apply Nat.eqb_eq in H1. subst k.
        rewrite E1 in *. cbn [fits_in] in I. rewrite !andb_true_iff, !Nat.ltb_lt in I.
        rewrite Z in H2 by tauto. rewrite H2. reflexivity.
    + destruct (at_label m l) eqn:E1; inversion H; subst t.
      * cbn [formula]. rewrite A. apply Nat.eqb_refl.
      * cbn [fits_in] in I. rewrite !andb_true_iff, !Nat.ltb_lt in I.
        destruct (v c =? 0) eqn:V; cbn [formula]; rewrite E1; cbn [holds]; rewrite A, Z by tauto;
          rewrite V, Nat.eqb_refl; reflexivity.
  - rewrite E. unfold halts. destruct (at_label m l); split; congruence.
  - intros t H. apply (outcome_told l t L). unfold outcomes.
    destruct (at_label m l); inversion H; [now left|].
    destruct (v c =? 0); [right; left|left]; reflexivity.
Qed.

Lemma step_fits h s t : fits h s -> next m s = Some t -> fits (t :: h) (after m s).
Proof.
  intros F N. pose proof (step_decides h s F) as (_ & _ & Known). specialize (Known t N).
  destruct F as (T & L & _ & C). destruct s as [l v]. cbn [fst snd] in *.
  pose proof (instruction_in l L) as I. unfold next in N. unfold fits, after.
  destruct (at_label m l) as [c to|c to otherwise|] eqn:E; [| |discriminate].
  - inversion N. subst t. cbn [fits_in] in I. rewrite andb_true_iff, !Nat.ltb_lt in I.
    split; [constructor; assumption|]. cbn [fst snd]. split; [tauto|]. split.
    + exists (Added l), h. repeat split. intros k. cbn. rewrite E. apply Nat.eqb_sym.
    + intros d D. specialize (C d D). unfold number in *. cbn. rewrite E. unfold set.
      rewrite (Nat.eqb_sym c d). destruct (Nat.eqb_spec d c); subst; cbn; lia.
  - cbn [fits_in] in I. rewrite !andb_true_iff, !Nat.ltb_lt in I.
    destruct (Nat.eqb_spec (v c) 0) as [V|V];
      inversion N; subst t; (split; [constructor; assumption|]); cbn [fst snd]; (split; [tauto|]);
        split.
    + exists (WasZero l), h. repeat split. intros k. cbn. rewrite E. apply Nat.eqb_sym.
    + intros d D. specialize (C d D). unfold number in *. cbn. exact C.
    + exists (Took l), h. repeat split. intros k. cbn. rewrite E. apply Nat.eqb_sym.
    + intros d D. specialize (C d D). unfold number in *. cbn. rewrite E. unfold set.
      rewrite (Nat.eqb_sym c d). destruct (Nat.eqb_spec d c); subst; cbn; lia.
Qed.

Lemma filter_repeat p c k : filter p (repeat (Unit c) k) = if p (Unit c) then repeat (Unit c) k
  else [].
Proof. induction k as [|k IH]; cbn; [now destruct (p _)|]. rewrite IH. now destruct (p _). Qed.

Lemma units c v k : length (filter (adds m c) (flat_map (fun d => repeat (Unit d) (v d)) k))
  = list_sum (map (fun d => if d =? c then v d else 0) k).
Proof.
  induction k as [|d k IH]; [reflexivity|]. cbn. rewrite filter_app, app_length, IH, filter_repeat.
  cbn.
  destruct (d =? c); [rewrite repeat_length|]; reflexivity.
Qed.
Lemma units_taken c v k : filter (takes m c) (flat_map (fun d => repeat (Unit d) (v d)) k) = [].
Proof.
  induction k as [|d k IH]; [reflexivity|]. cbn. rewrite filter_app, IH, filter_repeat. reflexivity.
Qed.

Lemma one_summand c v : forall k from, from <= c < from + k ->
  list_sum (map (fun d => if d =? c then v d else 0) (seq from k)) = v c.
Proof.
  induction k as [|k IH]; intros from H; [lia|]. cbn. destruct (Nat.eqb_spec from c) as [->|N].
  - replace (list_sum _) with 0; [lia|]. symmetry. clear. assert (K : forall k from, c < from ->
      list_sum (map (fun d => if d =? c then v d else 0) (seq from k)) = 0).
    { induction k0 as [|k0 IH]; intros from F; [reflexivity|]. cbn.
      destruct (Nat.eqb_spec from c); [lia|]. apply IH. lia. }
    apply K. lia.
  - apply IH. lia.
Qed.

Lemma number_rev p h : number p (rev h) = number p h.
Proof.
  unfold number. induction h as [|t h IH]; [reflexivity|]. cbn. rewrite filter_app, app_length, IH.
  cbn.
  destruct (p t); cbn; lia.
Qed.

Lemma prompt_fits v : fits (rev (prompt m v)) (0, v).
Proof.
  pose proof W as W'. unfold well_formed in W'. apply andb_true_iff in W' as [L _].
  apply Nat.ltb_lt in L.
  unfold fits. cbn [fst snd]. split; [|split; [exact L|split]].
  - apply Forall_rev. unfold prompt. apply Forall_app. split.
    + apply Forall_forall. intros t H. apply in_flat_map in H as (c & C & H).
      apply repeat_spec in H as ->.
      apply in_or_app. left. now apply in_map.
    + constructor; [|constructor]. apply in_or_app. right. now left.
  - unfold prompt. rewrite rev_app_distr. cbn. eexists Go, _. repeat split.
  - intros c C. rewrite !number_rev. unfold prompt, number. rewrite !filter_app, !app_length,
      units_taken, units.
    cbn. rewrite one_summand by lia. lia.
Qed.
End Step.

(** After the prompt and any number of steps, exactly one token is allowed: that of the next
    step, or the end where the machine halts. So greedy generation is the run. *)
Inductive history (m : machine) (v : nat -> nat) : list token -> state -> Prop :=
  | Begun : history m v (rev (prompt m v)) (0, v)
  | Done h s t : history m v h s -> next m s = Some t -> history m v (t :: h) (after m s).

Theorem counter_step m v h s : well_formed m = true -> history m v h s ->
  decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros W H. apply (step_decides m W). induction H; [apply prompt_fits, W|now apply step_fits].
Qed.

Theorem counter_run m v most : well_formed m = true ->
  greedy same (tokens m) (formula m) (ends m) most (rev (prompt m v)) = run (next m) (after m) most
    (0, v).
Proof.
  intros W. apply (greedy_runs same (tokens m) (next m) (after m) _ _ (fits m)).
  - apply (step_decides m W).
  - apply (step_fits m W).
  - apply (prompt_fits m W).
Qed.
