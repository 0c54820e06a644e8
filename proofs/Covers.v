(** The check of gates is sound: a disjoint sum of conjunctions that `agree` accepts has the
    value of the signal at every position. *)
From Coq Require Import Arith ZArith List Bool Lia.
From Softhat Require Import Formula Program Lowering.
Import ListNotations.
Open Scope nat_scope.

Section Covers.
Variables (p : program) (n : nat) (w : word) (v : valuation).
Hypothesis Hv : computes n w v p.
Variable i : nat.
Hypothesis Hi : 1 <= i <= n.

Notation lit := (lit v).
Definition consistent (e : knowledge) : Prop := forall s b, known e s = Some b -> bit v s i = b.

Lemma and3_sound a b x y : (forall c, a = Some c -> x = c) -> (forall c, b = Some c -> y = c) ->
  forall c, and3 a b = Some c -> x && y = c.
Proof.
  intros A B c E. destruct a as [[]|], b as [[]|]; cbn in E; try discriminate; injection E as <-;
    rewrite ?(A _ eq_refl), ?(B _ eq_refl), ?andb_false_r; reflexivity.
Qed.

Lemma or3_sound a b x y : (forall c, a = Some c -> x = c) -> (forall c, b = Some c -> y = c) ->
  forall c, or3 a b = Some c -> x || y = c.
Proof.
  intros A B c E. destruct a as [[]|], b as [[]|]; cbn in E; try discriminate; injection E as <-;
    rewrite ?(A _ eq_refl), ?(B _ eq_refl), ?orb_true_r; reflexivity.
Qed.

Lemma lit3_sound f x : (forall s c, f s = Some c -> bit v s i = c) ->
  forall c, lit3 f x = Some c -> lit x i = c.
Proof.
  intros F c E. unfold lit3 in E. unfold Program.lit.
  destruct (of x) as [s|]; [|injection E as <-; reflexivity].
  destruct (f s) as [b|] eqn:Fs; [|discriminate]. injection E as <-. rewrite (F s b Fs).
  reflexivity.
Qed.

Lemma and_list_sound f ls : (forall s c, f s = Some c -> bit v s i = c) ->
  forall b, fold_right (fun x a => and3 (lit3 f x) a) (Some true) ls = Some b ->
  forallb (fun l => lit l i) ls = b.
Proof.
  intros F. induction ls as [|x ls IH]; intros b E; cbn [fold_right] in E;
    [injection E as <-; reflexivity|].
  cbn [forallb]. revert E. apply and3_sound; [|exact IH]. intros c. apply lit3_sound, F.
Qed.

Lemma value3_sound fuel e : consistent e -> forall s b, value3 p fuel e s = Some b -> bit v s i = b.
Proof.
  intros K. induction fuel as [|fuel IH]; intros s b E; cbn [value3] in E.
  - destruct (known e s) eqn:Ks; [injection E as <-; apply K, Ks|discriminate].
  - destruct (known e s) eqn:Ks; [injection E as <-; apply K, Ks|].
    destruct (nth_error p s) as [g|] eqn:G; [|discriminate]. pose proof (Hv s _ G i Hi) as M.
    destruct g; try discriminate; cbn [means] in M; rewrite M.
    + apply (and_list_sound (value3 p fuel e)); [exact IH|exact E].
    + unfold xor3 in E. destruct (value3 p fuel e l) eqn:Ea; [|discriminate].
      destruct (value3 p fuel e r) eqn:Eb; [|discriminate]. injection E as <-.
      rewrite (IH _ _ Ea), (IH _ _ Eb). reflexivity.
    + clear M G. revert b E. induction rows as [|r rows IHr]; intros b E; cbn [fold_right] in E;
        [injection E as <-; reflexivity|].
      cbn [existsb]. revert E. apply or3_sound; [|exact IHr].
      intros c. apply and_list_sound. exact IH.
Qed.

Definition term_holds (t : term) : bool := forallb (fun x => lit (fst x) i) t.

Lemma term3_sound e t : consistent e -> forall b, term3 e t = Some b -> term_holds t = b.
Proof.
  intros K. induction t as [|x t IH]; intros b E; cbn [term3 fold_right] in E;
    [injection E as <-; reflexivity|].
  cbn [term_holds forallb]. revert E. apply and3_sound; [|exact IH].
  intros c. apply lit3_sound. intros s b'. apply K.
Qed.

Lemma consistent_cons e s b : consistent e -> bit v s i = b -> consistent ((s, b) :: e).
Proof.
  intros K E s' b' H. cbn [known] in H. destruct (Nat.eqb_spec s' s) as [->|];
    [injection H as <-; exact E|apply K, H].
Qed.

Lemma every_terms e ts bs : consistent e -> every (term3 e) ts = Some bs -> map term_holds ts = bs.
Proof.
  intros K. revert bs. induction ts as [|t ts IH]; intros bs E; cbn [every] in E;
    [injection E as <-; reflexivity|].
  destruct (term3 e t) as [b|] eqn:Et; [|discriminate]. destruct (every (term3 e) ts) as [bs'|];
    [|discriminate].
  injection E as <-. cbn [map]. rewrite (term3_sound e t K b Et), (IH bs' eq_refl). reflexivity.
Qed.

Lemma excludes_sound a b : bit v (fst a) i = snd a -> bit v (fst b) i = snd b ->
  excludes p a b = false.
Proof.
  intros A B. unfold excludes. destruct (nth_error p (fst a)) as [ga|] eqn:Ga; [|reflexivity].
  destruct (nth_error p (fst b)) as [gb|] eqn:Gb; [|destruct ga; reflexivity].
  pose proof (Hv _ _ Ga i Hi) as Ma. pose proof (Hv _ _ Gb i Hi) as Mb.
  destruct ga; try reflexivity; destruct gb; try reflexivity; cbn [means] in Ma, Mb;
    rewrite A in Ma; rewrite B in Mb; apply not_true_is_false; intros E;
      rewrite !andb_true_iff in E.
  - destruct E as [[Sa Sb] D]. rewrite Sa in Ma. rewrite Sb in Mb. symmetry in Ma, Mb.
    apply existsb_exists in Ma as (c & Ic & Ec). apply Nat.eqb_eq in Ec.
    rewrite forallb_forall in D.
    specialize (D c Ic). rewrite <- Ec, Mb in D. discriminate.
  - destruct E as [[[[[[[Sa Sb] X] Z] T] I] K] C]. apply negb_true_iff in Sa. rewrite Sa in Ma.
    rewrite Sb in Mb.
    apply Z.eqb_eq in I, K. apply Z.leb_le in C.
    assert (Same : forall o o', option_eqb o o' = true -> o = o').
    { intros [s|] [s'|]; cbn; intros Q; try discriminate;
        [apply Nat.eqb_eq in Q; congruence|reflexivity]. }
    apply Same in X, Z, T. subst. symmetry in Ma, Mb. apply Z.leb_gt in Ma. apply Z.leb_le in Mb.
    lia.
Qed.

Lemma refuted_sound e a : consistent e -> refuted p e a = true -> bit v (fst a) i <> snd a.
Proof.
  intros K R A. unfold refuted in R. apply existsb_exists in R as (b & _ & R).
  destruct (known e (fst b)) as [c|] eqn:Kb; [|discriminate]. apply K in Kb.
  rewrite (excludes_sound a (fst b, c) A Kb), (excludes_sound (fst b, c) a Kb A) in R. discriminate.
Qed.

Theorem agree_sound vars : forall e s ts c, consistent e -> agree p vars e s ts c = true ->
  count_occ Bool.bool_dec (map term_holds ts) true = if xorb (bit v s i) c then 1 else 0.
Proof.
  induction vars as [|x vars IH]; intros e s ts c K A; cbn [agree] in A.
  - destruct (value3 p (length p) e s) as [b|] eqn:Ev; [|discriminate].
    destruct (every (term3 e) ts) as [bs|] eqn:Et; [|discriminate].
    apply Nat.eqb_eq in A. rewrite (every_terms e ts bs K Et), (value3_sound _ e K s b Ev). exact A.
  - assert (Split : (refuted p e (x, true) || agree p vars ((x, true) :: e) s ts c)
                    && (refuted p e (x, false) || agree p vars ((x, false) :: e) s ts c) = true ->
      count_occ Bool.bool_dec (map term_holds ts) true = if xorb (bit v s i) c then 1 else 0).
    { intros B. apply andb_true_iff in B as [B1 B2]. destruct (bit v x i) eqn:Bx.
      - apply orb_true_iff in B1 as [B1|B1]; [destruct (refuted_sound e _ K B1 Bx)|].
        apply (IH ((x, true) :: e)); [apply consistent_cons|]; assumption.
      - apply orb_true_iff in B2 as [B2|B2]; [destruct (refuted_sound e _ K B2 Bx)|].
        apply (IH ((x, false) :: e)); [apply consistent_cons|]; assumption. }
    destruct (value3 p (length p) e s) as [b|] eqn:Ev; [|apply Split, A].
    destruct (every (term3 e) ts) as [bs|] eqn:Et; [|apply Split, A].
    apply Nat.eqb_eq in A. rewrite (every_terms e ts bs K Et), (value3_sound _ e K s b Ev). exact A.
Qed.

(* a table whose rows are the terms *)
Theorem tabled_sound g : tabled p g = true -> readable n v p ->
  count_occ Bool.bool_dec (map term_holds (terms g)) true
  = if xorb (bit v (stored g) i) (complement g) then 1 else 0.
Proof.
  intros T Hr. unfold tabled in T. destruct (nth_error p (stored g)) as [[]|] eqn:G;
    try discriminate.
  apply andb_true_iff in T as [C T]. apply negb_true_iff in C. rewrite C, xorb_false_r.
  destruct (list_eq_dec _ _ _) as [E|]; [|discriminate].
  pose proof (Hv _ _ G i Hi) as M. cbn [means] in M. pose proof (Hr _ _ G i Hi) as R.
  cbn [well_read] in R.
  apply Nat.leb_le in R. rewrite M, <- E in *. clear M E G.
  assert (S : map term_holds (terms g) = map (forallb (fun l => lit l i))
    (map (map fst) (terms g))).
  { rewrite map_map. apply map_ext. intros t. unfold term_holds. induction t as [|x t IH];
      [reflexivity|].
    cbn. rewrite IH. reflexivity. }
  rewrite S. clear S. generalize dependent (map (map fst) (terms g)). intros rs R.
  assert (Q : count_occ Bool.bool_dec (map (forallb (fun l => lit l i)) rs) true
              = length (filter (forallb (fun l => lit l i)) rs)).
  { clear R. induction rs as [|r rs IH]; [reflexivity|]. cbn [map count_occ filter].
    destruct (forallb (fun l => lit l i) r); cbn [length]; [|exact IH].
    destruct (Bool.bool_dec true true); [|congruence]. rewrite IH. reflexivity. }
  rewrite Q. destruct (existsb _ rs) eqn:X.
  - apply existsb_exists in X as (r & I & Tr).
    assert (In r (filter (forallb (fun l => lit l i)) rs)) as I' by (apply filter_In; auto).
    destruct (filter (forallb (fun l => lit l i)) rs) as [|a [|b f]];
      [destruct I'|reflexivity|cbn in R; lia].
  - destruct (filter (forallb (fun l => lit l i)) rs) as [|r f] eqn:F; [reflexivity|].
    assert (I : In r (filter (forallb (fun l => lit l i)) rs)) by (rewrite F; left; reflexivity).
    apply filter_In in I as [I Tr].
    assert (existsb (forallb (fun l => lit l i)) rs = true) by (apply existsb_exists; eauto).
    congruence.
Qed.

Lemma nothing_known : consistent [].
Proof. intros s b E. discriminate. Qed.
End Covers.
