(** Facts about a program that hold at every position of every word, beyond those of one position: how
    a head follows from the position before, and what holds by induction along the word. So the kernel
    follows an optimiser that used laws of temporal logic: it need not know them, it proves each use. *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Sums Formula Program Lowering Evaluated Surface Matching Matched.
Import ListNotations.
Open Scope nat_scope.

(* (s, y): the signal y is s, one position before; false at the first *)
Definition before_list := list (nat * nat).

Inductive reason :=
  | Unfold (s y : nat)                       (* Latest: here, or where it was decided before *)
  | StepBeyond (s t y : nat)                 (* a head that looks beyond t is t, one before *)
  | Spread (y : nat) (x : expression) (e : nat) (b : before_list)
      (* y is x, one before: so it is x of what its signals were before *)
  | Induction (d : direction) (x : expression) (e : nat) (b : before_list).
      (* x at the first position, and from each to the next *)

Section Facts.
Variables (p : program) (alphabet : nat) (inputs : list input).

Definition direction_of (y : nat) : option (literal * direction) :=
  match nth_error p y with Some (Previous x d) => Some (x, d) | _ => None end.
Definition is_before (d : direction) (s y : nat) : bool :=
  match direction_of y with
  | Some (x, e) => literal_eqb x (Lit (Some s) true) && direction_eqb d e
  | None => false
  end.

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

Definition fact (known : list expression) (r : reason) : option expression :=
  match r with
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
      | Some (_, d) => if is_before d t y && is_beyond p s t d then Some (same_as (Sig s) (Sig y)) else None
      | None => None
      end
  | Spread y x e b =>
      match direction_of y with
      | Some (l, d) =>
          if equal p alphabet known x (literal_expression l) && is_input p inputs e (edge_of d) then
            match moved d b x with
            | Some m => Some (same_as (Sig y) (Both (Neg (Sig e)) m))
            | None => None
            end
          else None
      | None => None
      end
  | Induction d x e b =>
      match moved d b x with
      | Some m =>
          if is_input p inputs e (edge_of d)
             && equal p alphabet known (Both (Sig e) (Neg x)) (Neg Yes)
             && equal p alphabet known (Both (Both (Neg (Sig e)) m) (Neg x)) (Neg Yes)
          then Some x else None
      | None => None
      end
  end.

(* each from those before it *)
Fixpoint facts_of (rs : list reason) (known : list expression) : option (list expression) :=
  match rs with
  | [] => Some known
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

Lemma before_sound d s y : is_before d s y = true -> forall i, 1 <= i <= n ->
  bit v y i = Nat.ltb 1 (pos n d i) && bit v s (one_before d i).
Proof.
  intros B i Hi. unfold is_before, direction_of in B.
  destruct (nth_error p y) as [[]|] eqn:E; try discriminate. apply andb_true_iff in B as [B1 B2].
  apply literal_eq in B1. apply direction_eq in B2. subst. pose proof (Hv y _ E i Hi) as M. cbn [means] in M.
  rewrite M. unfold seen, lit, one_before. cbn [of plain]. destruct (bit v s _); reflexivity.
Qed.

Lemma moved_sound d b x : forall m, moved d b x = Some m -> forall i, 1 <= i <= n -> 1 < pos n d i ->
  holds m i = holds x (one_before d i).
Proof.
  induction x; intros m E i Hi L; cbn [moved] in E; try discriminate.
  - injection E as <-. reflexivity.
  - destruct (find _ b) as [[a y]|] eqn:F; [|discriminate]. destruct (is_before d s y) eqn:B; [|discriminate].
    injection E as <-. cbn [Matched.holds]. rewrite (before_sound d s y B i Hi).
    apply Nat.ltb_lt in L. rewrite L. reflexivity.
  - destruct (moved d b x) as [y|]; [|discriminate]. injection E as <-. cbn [Matched.holds].
    rewrite (IHx y eq_refl i Hi L). reflexivity.
  - destruct (moved d b x1) as [y|]; [|discriminate]. destruct (moved d b x2) as [z|]; [|discriminate].
    injection E as <-. cbn [Matched.holds]. rewrite (IHx1 y eq_refl i Hi L), (IHx2 z eq_refl i Hi L). reflexivity.
  - destruct (moved d b x1) as [y|]; [|discriminate]. destruct (moved d b x2) as [z|]; [|discriminate].
    injection E as <-. cbn [Matched.holds]. rewrite (IHx1 y eq_refl i Hi L), (IHx2 z eq_refl i Hi L). reflexivity.
Qed.

Lemma edge_bit e d : is_input p inputs e (edge_of d) = true -> forall i, 1 <= i <= n ->
  bit v e i = negb (Nat.ltb 1 (pos n d i)).
Proof. intros E i Hi. exact (edge_sound p inputs n w v W q Hv Hinputs e d E i Hi). Qed.

Lemma fact_sound known r x : true_facts known -> fact known r = Some x ->
  forall i, 1 <= i <= n -> holds x i = true.
Proof.
  intros K E i Hi. destruct r; cbn [fact] in E.
  - destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
    destruct (is_before d s y) eqn:B; [|discriminate]. injection E as <-.
    unfold same_as. cbn [Matched.holds either]. rewrite !literal_holds, (before_sound d s y B i Hi).
    pose proof (Hv s _ Es i Hi) as M. cbn [means] in M. rewrite M.
    assert (Prev : Nat.ltb 1 (pos n d i) && bit v s (one_before d i)
                   = latestb (seen n d (lit v bad)) (seen n d (lit v value)) (pos n d i - 1)).
    { destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L].
      - assert (Pj : 1 <= one_before d i <= n) by (apply (pos_range n d _ i Hi); lia).
        pose proof (Hv s _ Es _ Pj) as M'. cbn [means] in M'. rewrite M'. unfold one_before.
        replace (pos n d (pos n d (pos n d i - 1))) with (pos n d i - 1); [reflexivity|].
        pose proof (pos_in n d i Hi). destruct d; unfold pos in *; lia.
      - replace (pos n d i - 1) with 0 by lia. reflexivity. }
    rewrite Prev. pose proof (pos_in n d i Hi) as Pi. pose proof (pos_pos n d i Hi) as PP.
    destruct (pos n d i) as [|t] eqn:Et; [lia|]. cbn [latestb]. replace (S t - 1) with t by lia.
    assert (S1 : forall f, seen n d f (S t) = f i) by (intros f; unfold seen; rewrite PP; reflexivity).
    rewrite !S1. destruct (lit v bad i), (lit v value i), (latestb _ _ t); reflexivity.
  - destruct (direction_of y) as [[l d]|] eqn:Ey; [|discriminate].
    destruct (is_before d t y && is_beyond p s t d) eqn:B; [|discriminate]. injection E as <-.
    apply andb_true_iff in B as [B1 B2]. unfold same_as. cbn [Matched.holds].
    rewrite (before_sound d t y B1 i Hi), (beyond_sound p n w v Hv s t d B2 i Hi). unfold stepped, seen, one_before.
    rewrite xorb_nilpotent. reflexivity.
  - destruct (direction_of y) as [[l d]|] eqn:Ey; [|discriminate].
    match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    apply andb_true_iff in C as [C1 C2]. destruct (moved d b x0) as [m|] eqn:Em; [|discriminate].
    injection E as <-. unfold same_as. cbn [Matched.holds].
    unfold direction_of in Ey. destruct (nth_error p y) as [[]|] eqn:En; try discriminate. injection Ey as -> ->.
    pose proof (Hv y _ En i Hi) as M. cbn [means] in M. rewrite M, (edge_bit e d C2 i Hi), negb_involutive.
    destruct (Nat.ltb_spec 1 (pos n d i)) as [L|L]; [|reflexivity]. cbn [andb].
    rewrite (moved_sound d b x0 m Em i Hi L). unfold seen. fold (one_before d i).
    assert (Pj : 1 <= one_before d i <= n) by (apply (pos_range n d _ i Hi); lia).
    rewrite (equal_sound p alphabet known n w v Hv Hw K _ _ C1 _ Pj), literal_holds, xorb_nilpotent. reflexivity.
  - destruct (moved d b x0) as [m|] eqn:Em; [|discriminate].
    match type of E with (if ?c then _ else _) = _ => destruct c eqn:C; [|discriminate] end.
    injection E as <-. rewrite !andb_true_iff in C. destruct C as [[Ce Base] Next].
    assert (All : forall t, 1 <= t <= n -> holds x0 (pos n d t) = true).
    { induction t as [|t IH]; intros Ht; [lia|].
      pose proof (pos_in n d (S t) Ht) as Pi. pose proof (pos_pos n d (S t) Ht) as PP.
      pose proof (edge_bit e d Ce (pos n d (S t)) Pi) as Eb. rewrite PP in Eb.
      destruct t as [|t].
      - pose proof (equal_sound p alphabet known n w v Hv Hw K _ _ Base _ Pi) as Q. cbn [Matched.holds] in Q.
        rewrite Eb in Q. cbn in Q. destruct (holds x0 (pos n d 1)); [reflexivity|discriminate].
      - specialize (IH ltac:(lia)).
        pose proof (equal_sound p alphabet known n w v Hv Hw K _ _ Next _ Pi) as Q. cbn [Matched.holds] in Q.
        rewrite Eb in Q.
        rewrite (moved_sound d b x0 m Em (pos n d (S (S t))) Pi ltac:(rewrite PP; lia)) in Q.
        unfold one_before in Q. rewrite PP in Q. replace (S (S t) - 1) with (S t) in Q by lia.
        rewrite IH in Q. cbn in Q. destruct (holds x0 (pos n d (S (S t)))); [reflexivity|discriminate]. }
    rewrite <- (pos_pos n d i Hi). apply All, pos_in, Hi.
Qed.

Theorem facts_sound rs : forall known fs, true_facts known -> facts_of rs known = Some fs -> true_facts fs.
Proof.
  induction rs as [|r rs IH]; intros known fs K E; cbn [facts_of] in E; [injection E as <-; exact K|].
  destruct (fact known r) as [x|] eqn:F; [|discriminate]. apply (IH (x :: known)); [|exact E].
  intros y [<-|I] i Hi; [exact (fact_sound known r x K F i Hi)|exact (K y I i Hi)].
Qed.
End Facts.
