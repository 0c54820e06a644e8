(** Facts about a program that hold at every position of every word, beyond those of one
    position: how a head follows from the position before, and what holds by induction along the
    word. So the kernel follows an optimiser that used laws of temporal logic: it need not know
    them, it proves each use. *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Sums Formula Program Lowering Evaluated Surface Matching Matched Search
  Tallies.
Import ListNotations.
Open Scope nat_scope.

(* (s, y): the signal y is s, one position before; false at the first *)
Definition before_list := list (nat * nat).

(* "Before" is along a direction of the word; e is the signal of its first position. *)
Inductive reason :=
  | Reads (s : nat)                          (* a set of symbols: one of them is there *)
  | Joins (s : nat)                          (* a gate: what it is of its literals *)
  | Unfold (s y : nat)                       (* Latest: here, or where it was decided before *)
  | StepBeyond (s t y : nat)                 (* a head that looks beyond t is t, one before *)
  | Inside (y e : nat)                       (* before the first position is nothing *)
  | Ends (y : nat)                           (* the last position is before none *)
  | Opposite (y z e : nat)                   (* what does not hold before, against what does *)
  | Return (z y s e : nat)                   (* one step back and one forth *)
  | Turn (y t e : nat)                       (* residues change by one at each step *)
  | Begins (t e : nat)                       (* the residue of the first position *)
  | Weighs (t : tally) (y e first last : nat)    (* a comparison from another one *)
  | Earlier (d : direction) (x : nat) (e : nat) (b : before_list)
      (* what holds everywhere holds before; the x-th of the facts *)
  | Follows (x : expression) (order : list case)
  | Induction (d : direction) (x : expression) (e : nat) (b : before_list) (first next : list case)
      (* x at the first position, and from each to the next *)
  | Only (ks : list nat).                    (* forget all facts but these *)

Definition opposite (d : direction) : direction := match d with Past => Future | Future => Past end.
Definition residue (x : input) : option (N * N) := match x with InMod m r => Some (m, r)
  | _ => None end.

Section Facts.
Variables (p : program) (alphabet : nat) (inputs : list input).

Definition direction_of (y : nat) : option (literal * direction) :=
  match nth_error p y with Some (Previous x d) => Some (x, d) | _ => None end.
Definition is_before (d : direction) (s y : nat) : bool :=
  match direction_of y with
  | Some (x, e) => literal_eqb x (Lit (Some s) true) && direction_eqb d e
  | None => false
  end.
Definition input_at (s : nat) : option input :=
  match nth_error p s with Some (Given k) => nth_error inputs k | _ => None end.

Fixpoint moved (d : direction) (b : before_list) (x : expression) : option expression :=
  match x with
  | Yes => Some Yes
  | Sym _ => None
  | Sig s =>
      match find (fun sy => Nat.eqb s (fst sy)) b with
      | Some (_, y) => if is_before d s y then Some (Sig y) else None
      | None => None
      end
  | Neg x => option_map Neg (moved d b x)
  | Both x y =>
      match moved d b x, moved d b y with Some x, Some y => Some (Both x y) | _, _ => None end
  | Differ x y =>
      match moved d b x, moved d b y with Some x, Some y => Some (Differ x y) | _, _ => None end
  end.

Definition same_as (x y : expression) : expression := Neg (Differ x y).
Definition implies (x y : expression) : expression := Neg (Both x (Neg y)).
Definition any_of (xs : list expression) : expression :=
  Neg (fold_right (fun x y => Both (Neg x) y) Yes xs).
(* if s then x else y *)
Definition pick (s : nat) (x y : expression) : expression :=
  either (Both (Sig s) x) (Both (Neg (Sig s)) y).
Definition all_of (xs : list expression) : expression := fold_right Both Yes xs.

(* the residue of one position, and that of the next *)
Definition follows_residue (d : direction) (before here : input) : bool :=
  match residue before, residue here with
  | Some (m, r), Some (m', r') =>
      let '(r, r') := match d with Past => (r, r') | Future => (r', r) end in
      N.eqb m m' && N.ltb r m && N.ltb r' m && N.eqb (N.modulo (r + 1) m) r'
  | _, _ => false
  end.

(* a signal, or its negation *)
Definition valued (s : nat) (b : bool) : expression := if b then Sig s else Neg (Sig s).
Definition at_edge (d : direction) (wanted : bool) (e : nat) : option expression :=
  if wanted then if is_input p inputs e (edge_of d) then Some (Sig e) else None else Some Yes.
(* what a tally assumes, at the position of its conclusion; y is the comparison one before *)
Definition assumption (t : tally) (y e : nat) : option expression :=
  match assumed t, distance t with
  | None, Together => Some Yes
  | Some (s, b), Together => Some (valued s b)
  | Some (s, b), OneBefore d =>
      if is_before d s y && is_input p inputs e (edge_of d)
      then Some (Both (Neg (Sig e)) (valued y b)) else None
  | _, _ => None
  end.

Definition fact (known : list expression) (r : reason) : option expression :=
  match r with
  | Reads s =>
      match nth_error p s with
      | Some (Token l) => Some (same_as (Sig s) (any_of (map Sym l)))
      | _ => None
      end
  | Joins s =>
      match nth_error p s with
      | Some (Program.And ls) => Some (same_as (Sig s) (all_of (map literal_expression ls)))
      | Some (Program.Xor l r) => Some (same_as (Sig s) (Differ (Sig l) (Sig r)))
      | _ => None
      end
  | Unfold s y =>
      match nth_error p s with
      | Some (Latest b u d) =>
          let b := literal_expression b in
          let u := literal_expression u in
          if is_before d s y
          then Some (same_as (Sig s) (either (Both b (Sig y)) (Both (Neg b) u))) else None
      | _ => None
      end
  | StepBeyond s t y =>
      match direction_of y with
      | Some (_, d) =>
          if is_before d t y && is_beyond p s t d then Some (same_as (Sig s) (Sig y)) else None
      | None => None
      end
  | Inside y e =>
      match direction_of y with
      | Some (_, d) =>
          if is_input p inputs e (edge_of d) then Some (implies (Sig y) (Neg (Sig e))) else None
      | None => None
      end
  | Ends y =>
      match direction_of y with
      | Some (Lit (Some s) true, d) =>
          if is_input p inputs s (edge_of (opposite d)) then Some (Neg (Sig y)) else None
      | _ => None
      end
  | Opposite y z e =>
      match direction_of y with
      | Some (Lit (Some s) false, d) =>
          if is_before d s z && is_input p inputs e (edge_of d)
          then Some (same_as (Sig y) (Both (Neg (Sig e)) (Neg (Sig z)))) else None
      | _ => None
      end
  | Return z y s e =>
      match direction_of z with
      | Some (_, d) =>
          if is_before d y z && is_before (opposite d) s y && is_input p inputs e (edge_of d)
          then Some (same_as (Sig z) (Both (Neg (Sig e)) (Sig s))) else None
      | None => None
      end
  | Turn y t e =>
      match direction_of y with
      | Some (Lit (Some s) true, d) =>
          match input_at s, input_at t with
          | Some a, Some c =>
              if follows_residue d a c && is_input p inputs e (edge_of d)
              then Some (same_as (Sig y) (Both (Neg (Sig e)) (Sig t))) else None
          | _, _ => None
          end
      | _ => None
      end
  | Begins t e =>
      match input_at t with
      | Some (InMod m r) =>
          if is_input p inputs e InFirst then
            Some (implies (Sig e) (if N.eqb (N.modulo 1 m) r then Sig t else Neg (Sig t))) else None
      | _ => None
      end
  | Weighs t y e first last =>
      match at_edge Past (at_first t) first, at_edge Future (at_last t) last, assumption t y e with
      | Some f, Some l, Some a =>
          if weighs p alphabet known t
          then Some (implies (Both (guard t) (Both f (Both l a)))
            (valued (fst (concluded t)) (snd (concluded t))))
          else None
      | _, _, _ => None
      end
  | Earlier d x e b =>
      match nth_error known x with
      | Some x =>
          match moved d b x with
          | Some m => if is_input p inputs e (edge_of d) then Some (either (Sig e) m) else None
          | None => None
          end
      | None => None
      end
  | Follows x order => if entails alphabet known order x then Some x else None
  | Induction d x e b first next =>
      match moved d b x with
      | Some m =>
          if is_input p inputs e (edge_of d)
             && entails alphabet (Sig e :: known) first x
             && entails alphabet (m :: Neg (Sig e) :: known) next x
          then Some x else None
      | None => None
      end
  | Only _ => None
  end.

Definition chosen (known : list expression) (ks : list nat) : list expression :=
  flat_map (fun k => match nth_error known k with Some x => [x] | None => [] end) ks.

(* each from those before it; the newest stands first *)
Fixpoint facts_of (rs : list reason) (known : list expression) : option (list expression) :=
  match rs with
  | [] => Some known
  | Only ks :: rs => facts_of rs (chosen known ks)
  | r :: rs => match fact known r with Some x => facts_of rs (x :: known) | None => None end
  end.

Variables (n : nat) (w : word) (v : valuation).
Variables (W : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
Hypothesis Hv : computes n w v p.
Hypothesis Hw : forall i, 1 <= i <= n -> symbol w i < alphabet.
Hypothesis Hinputs : forall k x i, nth_error inputs k = Some x -> 1 <= i <= n ->
  given w i k = Surface.known n W q x i.

Notation holds := (holds w v).
Definition true_facts (known : list expression) : Prop :=
  forall x, In x known -> forall i, 1 <= i <= n -> holds x i = true.

(* the position before, in a direction *)
Definition one_before (d : direction) (i : nat) : nat := pos n d (pos n d i - 1).

Lemma one_before_in d i : 1 <= i <= n -> 1 < pos n d i -> 1 <= one_before d i <= n.
Proof. intros Hi L. apply (pos_range n d _ i Hi). lia. Qed.

Lemma direction_sound y x d : direction_of y = Some (x, d) -> forall i, 1 <= i <= n ->
  bit v y i = Nat.ltb 1 (pos n d i) && lit v x (one_before d i).
Proof.
  intros E i Hi. unfold direction_of in E. destruct (nth_error p y) as [[]|] eqn:Ey;
    try discriminate.
  injection E as -> ->. exact (Hv y _ Ey i Hi).
Qed.

Lemma before_direction d s y : is_before d s y = true ->
  direction_of y = Some (Lit (Some s) true, d).
Proof.
  unfold is_before. destruct (direction_of y) as [[x e]|]; [|discriminate]. intros B.
  apply andb_true_iff in B as [B1 B2]. apply literal_eq in B1. apply direction_eq in B2. subst.
  reflexivity.
Qed.

Lemma before_sound d s y : is_before d s y = true -> forall i, 1 <= i <= n ->
  bit v y i = Nat.ltb 1 (pos n d i) && bit v s (one_before d i).
Proof.
  intros B i Hi. rewrite (direction_sound y _ d (before_direction d s y B) i Hi).
  unfold lit. cbn [of plain]. destruct (bit v s (one_before d i)); reflexivity.
Qed.

Lemma moved_sound d b x : forall m, moved d b x = Some m -> forall i, 1 <= i <= n ->
  1 < pos n d i ->
  holds m i = holds x (one_before d i).
Proof.
  induction x as [| |s|x IHx|x1 IHx1 x2 IHx2|x1 IHx1 x2 IHx2]; intros m E i Hi L; cbn [moved] in E;
    try discriminate.
  - injection E as <-. reflexivity.
  - destruct (find _ b) as [[a y]|] eqn:F; [|discriminate]. destruct (is_before d s y) eqn:B;
      [|discriminate].
    injection E as <-. cbn [Matched.holds]. rewrite (before_sound d s y B i Hi).
    apply Nat.ltb_lt in L. rewrite L. reflexivity.
  - destruct (moved d b x) as [y|]; [|discriminate]. injection E as <-. cbn [Matched.holds].
    rewrite (IHx y eq_refl i Hi L). reflexivity.
  - destruct (moved d b x1) as [y|]; [|discriminate]. destruct (moved d b x2) as [z|];
      [|discriminate].
    injection E as <-. cbn [Matched.holds].
    rewrite (IHx1 y eq_refl i Hi L), (IHx2 z eq_refl i Hi L). reflexivity.
  - destruct (moved d b x1) as [y|]; [|discriminate]. destruct (moved d b x2) as [z|];
      [|discriminate].
    injection E as <-. cbn [Matched.holds].
    rewrite (IHx1 y eq_refl i Hi L), (IHx2 z eq_refl i Hi L). reflexivity.
Qed.

Lemma edge_bit e d : is_input p inputs e (edge_of d) = true -> forall i, 1 <= i <= n ->
  bit v e i = negb (Nat.ltb 1 (pos n d i)).
Proof. intros E i Hi. exact (edge_sound p inputs n w v W q Hv Hinputs e d E i Hi). Qed.

Lemma input_at_sound s x : input_at s = Some x -> forall i, 1 <= i <= n ->
  bit v s i = Surface.known n W q x i.
Proof.
  intros E i Hi. unfold input_at in E. destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
  pose proof (Hv s _ Es i Hi) as M. cbn [means] in M. rewrite M. exact (Hinputs a x i E Hi).
Qed.

(** * The facts *)

Lemma same_holds x y i : holds x i = holds y i -> holds (same_as x y) i = true.
Proof. intros E. unfold same_as. cbn [Matched.holds]. rewrite E, xorb_nilpotent. reflexivity. Qed.
Lemma implies_holds x y i : (holds x i = true -> holds y i = true) -> holds (implies x y) i = true.
Proof.
  intros E. unfold implies. cbn [Matched.holds]. destruct (holds x i); [|reflexivity].
  rewrite E; reflexivity.
Qed.
Lemma either_holds x y i : holds (either x y) i = holds x i || holds y i.
Proof. unfold either. cbn [Matched.holds]. destruct (holds x i), (holds y i); reflexivity. Qed.
Lemma any_holds l i : holds (any_of (map Sym l)) i = existsb (Nat.eqb (symbol w i)) l.
Proof.
  unfold any_of. cbn [Matched.holds]. induction l as [|a l IH]; [reflexivity|].
  cbn [map fold_right Matched.holds existsb]. rewrite negb_andb, IH, negb_involutive. reflexivity.
Qed.
Lemma all_holds ls i : holds (all_of (map literal_expression ls)) i = forallb (fun x => lit v x i)
  ls.
Proof.
  induction ls as [|x ls IH]; [reflexivity|]. cbn. rewrite literal_holds.
  unfold all_of in IH. rewrite IH. reflexivity.
Qed.

Lemma reads_sound s l i : nth_error p s = Some (Token l) -> 1 <= i <= n ->
  holds (same_as (Sig s) (any_of (map Sym l))) i = true.
Proof. intros E Hi. apply same_holds. rewrite any_holds. exact (Hv s _ E i Hi). Qed.

Lemma unfold_sound s y bad value d i : nth_error p s = Some (Latest bad value d) ->
  is_before d s y = true -> 1 <= i <= n ->
  holds (same_as (Sig s) (either (Both (literal_expression bad) (Sig y))
    (Both (Neg (literal_expression bad)) (literal_expression value)))) i = true.
Proof.
  intros Es B Hi. apply same_holds. rewrite either_holds. cbn [Matched.holds].
  rewrite !literal_holds, (before_sound d s y B i Hi).
  pose proof (Hv s _ Es i Hi) as M. cbn [means] in M. rewrite M.
  assert (Prev : Nat.ltb 1 (pos n d i) && bit v s (one_before d i)
                 = latestb (seen n d (lit v bad)) (seen n d (lit v value)) (pos n d i - 1)).
  { destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L].
    - pose proof (Hv s _ Es _ (one_before_in d i Hi L)) as M'. cbn [means] in M'. rewrite M'.
      unfold one_before.
      replace (pos n d (pos n d (pos n d i - 1))) with (pos n d i - 1); [reflexivity|].
      pose proof (pos_in n d i Hi). destruct d; unfold pos in *; lia.
    - replace (pos n d i - 1) with 0 by lia. reflexivity. }
  rewrite Prev. pose proof (pos_in n d i Hi) as Pi. pose proof (pos_pos n d i Hi) as PP.
  destruct (pos n d i) as [|t] eqn:Et; [lia|]. cbn [latestb]. replace (S t - 1) with t by lia.
  assert (S1 : forall f, seen n d f (S t) = f i) by (intros f; unfold seen; rewrite PP;
    reflexivity).
  rewrite !S1. destruct (lit v bad i), (lit v value i), (latestb _ _ t); reflexivity.
Qed.

(* one step along a direction, and one step back *)
Lemma back_and_forth d i : 1 <= i <= n -> 1 < pos n d i ->
  1 < pos n (opposite d) (one_before d i) /\ one_before (opposite d) (one_before d i) = i.
Proof. intros Hi L. unfold one_before. destruct d; cbn [opposite pos] in *; lia. Qed.

Lemma residue_next m r r' k : (r < m)%N -> (r' < m)%N -> N.modulo (r + 1) m = r' ->
  N.eqb (N.modulo (N.of_nat k) m) r = N.eqb (N.modulo (N.of_nat (S k)) m) r'.
Proof.
  intros R R' E. assert (Hm : (m <> 0)%N) by lia. replace (N.of_nat (S k)) with (N.of_nat k + 1)%N
    by lia.
  rewrite <- (N.add_mod_idemp_l _ 1 m Hm). pose proof (N.mod_upper_bound (N.of_nat k) m Hm) as B.
  set (a := N.modulo (N.of_nat k) m) in *. apply eq_true_iff_eq. rewrite !N.eqb_eq.
  assert (F : forall x, (x < m)%N -> N.modulo (x + 1) m = if N.eqb (x + 1) m then 0%N
    else (x + 1)%N).
  { intros x X. destruct (N.eqb_spec (x + 1) m) as [->|Ne];
      [apply N.mod_same; lia|apply N.mod_small; lia]. }
  rewrite (F a B) in *. rewrite (F r R) in E. subst r'.
  destruct (N.eqb_spec (a + 1) m), (N.eqb_spec (r + 1) m); lia.
Qed.

Lemma turn_sound d a c i : follows_residue d a c = true -> 1 <= i <= n -> 1 < pos n d i ->
  Surface.known n W q a (one_before d i) = Surface.known n W q c i.
Proof.
  intros F Hi L. unfold follows_residue in F. destruct a as [| | |m r| |], c as [| | |m' r'| |];
    try discriminate.
  cbn [residue] in F. unfold one_before. destruct d; cbn [pos] in *;
    rewrite !andb_true_iff, N.eqb_eq, !N.ltb_lt, N.eqb_eq in F; destruct F as [[[<- R] R'] E];
    cbn [Surface.known].
  - replace i with (S (i - 1)) at 2 by lia. apply residue_next; assumption.
  - replace (S n - (S n - i - 1)) with (S i) by lia. symmetry. apply residue_next; assumption.
Qed.

Lemma valued_holds s b i : holds (valued s b) i = true <-> bit v s i = b.
Proof. destruct b; cbn; destruct (bit v s i); cbn; split; congruence. Qed.

Lemma at_edge_sound d wanted e x : at_edge d wanted e = Some x -> forall i, 1 <= i <= n ->
  holds x i = true -> wanted = true -> pos n d i = 1.
Proof.
  intros E i Hi H ->. unfold at_edge in E. destruct (is_input p inputs e (edge_of d)) eqn:I;
    [|discriminate].
  injection E as <-. cbn [Matched.holds] in H. rewrite (edge_bit e d I i Hi) in H.
  pose proof (pos_in n d i Hi). destruct (Nat.ltb_spec 1 (pos n d i)); [discriminate|lia].
Qed.

Lemma assumption_sound t y e x i : assumption t y e = Some x -> 1 <= i <= n -> holds x i = true ->
  1 <= there n t i <= n /\ (forall d, distance t = OneBefore d -> 1 < pos n d i) /\
  (forall a, assumed t = Some a -> bit v (fst a) (there n t i) = snd a).
Proof.
  intros E Hi H. unfold assumption in E. unfold there.
  destruct (assumed t) as [[s b]|], (distance t) as [|d] eqn:D; try discriminate.
  - injection E as <-. split; [exact Hi|]. split; [discriminate|]. intros a A. injection A as <-.
    apply valued_holds, H.
  - destruct (is_before d s y && is_input p inputs e (edge_of d)) eqn:B; [|discriminate].
    injection E as <-.
    apply andb_true_iff in B as [B1 B2]. cbn [Matched.holds] in H.
    apply andb_true_iff in H as [H1 H2].
    rewrite (edge_bit e d B2 i Hi), negb_involutive in H1. pose proof H1 as L.
    apply Nat.ltb_lt in L.
    split; [exact (one_before_in d i Hi L)|]. split; [intros d' Ed; injection Ed as <-; exact L|].
    intros a A. injection A as <-. cbn [fst snd]. apply valued_holds in H2.
    rewrite (before_sound d s y B1 i Hi), H1 in H2. exact H2.
  - split; [exact Hi|]. split; discriminate.
Qed.

Lemma fact_sound known r x : true_facts known -> fact known r = Some x ->
  forall i, 1 <= i <= n -> holds x i = true.
Proof.
  intros K E i Hi.
  destruct r as [s|s|s y|s t y|y e|y|y z e|z y s e|y t e|t e|t y e f l|d k e b|x0 order|d x0 e b
    first next|];
    cbn [fact] in E.
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate. injection E as <-.
    exact (reads_sound s _ i Es Hi).
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate; injection E as <-; apply same_holds.
    + rewrite all_holds. exact (Hv s _ Es i Hi).
    + exact (Hv s _ Es i Hi).
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
    destruct (is_before d s y) eqn:B; [|discriminate]. injection E as <-.
    exact (unfold_sound s y bad value d i Es B Hi).
  - destruct (direction_of y) as [[l d]|]; [|discriminate].
    destruct (is_before d t y && is_beyond p s t d) eqn:B; [|discriminate]. injection E as <-.
    apply andb_true_iff in B as [B1 B2]. apply same_holds. cbn [Matched.holds].
    rewrite (before_sound d t y B1 i Hi), (beyond_sound p n w v Hv s t d B2 i Hi). reflexivity.
  - destruct (direction_of y) as [[l d]|] eqn:Ey; [|discriminate].
    destruct (is_input p inputs e (edge_of d)) eqn:Ee; [|discriminate]. injection E as <-.
    apply implies_holds. cbn [Matched.holds].
    rewrite (direction_sound y l d Ey i Hi), (edge_bit e d Ee i Hi), negb_involutive. intros H.
    apply andb_true_iff in H as [H _]. exact H.
  - destruct (direction_of y) as [[[[s|] []] d]|] eqn:Ey; try discriminate.
    destruct (is_input p inputs s (edge_of (opposite d))) eqn:Ee; [|discriminate].
    injection E as <-.
    cbn [Matched.holds]. rewrite (direction_sound y _ d Ey i Hi). unfold lit. cbn [of plain].
    destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L]; [|reflexivity]. cbn [andb].
    rewrite (edge_bit s (opposite d) Ee _ (one_before_in d i Hi L)).
    destruct (back_and_forth d i Hi L) as [L' _]. apply Nat.ltb_lt in L'. rewrite L'. reflexivity.
  - destruct (direction_of y) as [[[[s|] []] d]|] eqn:Ey; try discriminate.
    destruct (is_before d s z && is_input p inputs e (edge_of d)) eqn:B; [|discriminate].
    injection E as <-.
    apply andb_true_iff in B as [B1 B2]. apply same_holds. cbn [Matched.holds].
    rewrite (direction_sound y _ d Ey i Hi), (before_sound d s z B1 i Hi), (edge_bit e d B2 i Hi),
      negb_involutive.
    unfold lit. cbn [of plain]. destruct (Nat.ltb 1 (pos n d i)), (bit v s (one_before d i));
      reflexivity.
  - destruct (direction_of z) as [[l d]|]; [|discriminate].
    destruct (is_before d y z && is_before (opposite d) s y && is_input p inputs e (edge_of d))
      eqn:B;
      [|discriminate]. injection E as <-. rewrite !andb_true_iff in B. destruct B as [[B1 B2] B3].
    apply same_holds. cbn [Matched.holds].
    rewrite (before_sound d y z B1 i Hi), (edge_bit e d B3 i Hi), negb_involutive.
    destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L]; [|reflexivity]. cbn [andb].
    destruct (back_and_forth d i Hi L) as [L' R].
    rewrite (before_sound (opposite d) s y B2 _ (one_before_in d i Hi L)), R.
    apply Nat.ltb_lt in L'. rewrite L'. reflexivity.
  - destruct (direction_of y) as [[[[s|] []] d]|] eqn:Ey; try discriminate.
    destruct (input_at s) as [a|] eqn:Es; [|discriminate]. destruct (input_at t) as [c|] eqn:Et;
      [|discriminate].
    destruct (follows_residue d a c && is_input p inputs e (edge_of d)) eqn:B; [|discriminate].
    injection E as <-. apply andb_true_iff in B as [B1 B2]. apply same_holds. cbn [Matched.holds].
    rewrite (direction_sound y _ d Ey i Hi), (edge_bit e d B2 i Hi), negb_involutive.
    destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L]; [|reflexivity]. cbn [andb]. unfold lit.
    cbn [of plain].
    rewrite (input_at_sound s a Es _ (one_before_in d i Hi L)), (input_at_sound t c Et i Hi).
    rewrite (turn_sound d a c i B1 Hi L). destruct (Surface.known n W q c i); reflexivity.
  - destruct (input_at t) as [[]|] eqn:Et; try discriminate.
    destruct (is_input p inputs e InFirst) eqn:Ee; [|discriminate]. injection E as <-.
    apply implies_holds. cbn [Matched.holds].
    rewrite (input_sound p inputs n w v W q Hv Hinputs e _ Ee i Hi).
    cbn [Surface.known]. intros F. apply Nat.eqb_eq in F as ->.
    pose proof (input_at_sound t _ Et 1 Hi) as T. cbn [Surface.known] in T.
    change (N.of_nat 1) with 1%N in T.
    destruct (N.eqb (N.modulo 1 m) r); cbn [Matched.holds]; rewrite T; reflexivity.
  - destruct (at_edge Past (at_first t) f) as [xf|] eqn:Ef; [|discriminate].
    destruct (at_edge Future (at_last t) l) as [xl|] eqn:El; [|discriminate].
    destruct (assumption t y e) as [a|] eqn:Ea; [|discriminate].
    destruct (weighs p alphabet known t) eqn:Ww; [|discriminate]. injection E as <-.
    apply implies_holds. cbn [Matched.holds]. rewrite !andb_true_iff. intros (Hg & Hf & Hl & Ha).
    destruct (assumption_sound t y e a i Ea Hi Ha) as (T1 & T2 & T3). apply valued_holds.
    refine (weighs_sound p alphabet known n w v Hv Hw K t i Ww Hi T1 T2 _ _ Hg T3).
    + intros F. exact (at_edge_sound Past _ f xf Ef i Hi Hf F).
    + intros F. pose proof (at_edge_sound Future _ l xl El i Hi Hl F) as Q. cbn [pos] in Q. lia.
  - destruct (nth_error known k) as [y|] eqn:Ek; [|discriminate].
    destruct (moved d b y) as [m|] eqn:Em; [|discriminate].
    destruct (is_input p inputs e (edge_of d)) eqn:Ee; [|discriminate]. injection E as <-.
    rewrite either_holds. cbn [Matched.holds]. rewrite (edge_bit e d Ee i Hi).
    destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L]; [|reflexivity]. cbn [negb orb].
    rewrite (moved_sound d b y m Em i Hi L). apply (K y (nth_error_In _ _ Ek)), one_before_in;
      assumption.
  - destruct (entails alphabet known order x0) eqn:En; [|discriminate]. injection E as <-.
    apply (entails_sound alphabet w v i (Hw i Hi) known) in En; [exact En|]. intros y Iy.
    apply (K y Iy i Hi).
  - destruct (moved d b x0) as [m|] eqn:Em; [|discriminate].
    match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite !andb_true_iff in C. destruct C as [[Ce Base] Next].
    assert (All : forall t, 1 <= t <= n -> holds x0 (pos n d t) = true).
    { induction t as [|t IH]; intros Ht; [lia|].
      pose proof (pos_in n d (S t) Ht) as Pi. pose proof (pos_pos n d (S t) Ht) as PP.
      pose proof (edge_bit e d Ce (pos n d (S t)) Pi) as Eb. rewrite PP in Eb.
      destruct t as [|t].
      - apply (entails_sound alphabet w v _ (Hw _ Pi) (Sig e :: known)) in Base; [exact Base|].
        intros y [<-|Iy]; [exact Eb|exact (K y Iy _ Pi)].
      - specialize (IH ltac:(lia)).
        apply (entails_sound alphabet w v _ (Hw _ Pi) (m :: Neg (Sig e) :: known)) in Next;
          [exact Next|].
        intros y [<-|[<-|Iy]]; [| |exact (K y Iy _ Pi)].
        + rewrite (moved_sound d b x0 m Em _ Pi ltac:(rewrite PP; lia)). unfold one_before.
          rewrite PP.
          replace (S (S t) - 1) with (S t) by lia. exact IH.
        + cbn [Matched.holds]. rewrite Eb. reflexivity. }
    rewrite <- (pos_pos n d i Hi). apply All, pos_in, Hi.
  - discriminate.
Qed.

Theorem facts_sound rs : forall known fs, true_facts known -> facts_of rs known = Some fs ->
  true_facts fs.
Proof.
  induction rs as [|r rs IH]; intros known fs K E; cbn [facts_of] in E;
    [injection E as <-; exact K|].
  assert (Forward : forall x, fact known r = Some x -> true_facts (x :: known)).
  { intros x F y [<-|I] i Hi; [exact (fact_sound known r x K F i Hi)|exact (K y I i Hi)]. }
  assert (Chosen : forall ks, true_facts (chosen known ks)).
  { intros ks y I. apply in_flat_map in I as (k & _ & I).
    destruct (nth_error known k) as [z|] eqn:N;
      [|destruct I]. destruct I as [<-|[]]. exact (K z (nth_error_In _ _ N)). }
  destruct r; try (apply (IH _ fs (Chosen ks) E));
    (destruct (fact known _) as [x0|] eqn:F in E; [|discriminate];
      exact (IH _ fs (Forward x0 F) E)).
Qed.
End Facts.
