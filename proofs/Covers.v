(** The check of gates is sound: a disjoint sum of conjunctions that `agree` accepts has the value of
    the signal at every position. *)
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

Lemma lit3_sound f x : (forall s c, f s = Some c -> bit v s i = c) ->
  forall c, lit3 f x = Some c -> lit x i = c.
Proof.
  intros F c E. unfold lit3 in E. unfold Program.lit. destruct (of x) as [s|]; [|injection E as <-; reflexivity].
  destruct (f s) as [b|] eqn:Fs; [|discriminate]. injection E as <-. rewrite (F s b Fs). reflexivity.
Qed.

Lemma value3_sound fuel e : consistent e -> forall s b, value3 p fuel e s = Some b -> bit v s i = b.
Proof.
  intros K. induction fuel as [|fuel IH]; intros s b E; cbn [value3] in E.
  - destruct (known e s) eqn:Ks; [injection E as <-; apply K, Ks|discriminate].
  - destruct (known e s) eqn:Ks; [injection E as <-; apply K, Ks|].
    destruct (nth_error p s) as [g|] eqn:G; [|discriminate].
    destruct g as [| |ls|a b'| | | | | |]; try discriminate; pose proof (Hv s _ G i Hi) as M; cbn [means] in M; rewrite M.
    + clear M G. revert b E. induction ls as [|x ls IHl]; intros b E; cbn [fold_right] in E; [injection E as <-; reflexivity|].
      cbn [forallb]. revert E. apply and3_sound.
      * intros c. apply lit3_sound. exact IH.
      * exact IHl.
    + unfold xor3 in E. destruct (value3 p fuel e a) eqn:Ea; [|discriminate].
      destruct (value3 p fuel e b') eqn:Eb; [|discriminate]. injection E as <-.
      rewrite (IH _ _ Ea), (IH _ _ Eb). reflexivity.
Qed.

Definition term_holds (t : term) : bool := forallb (fun x => lit (fst x) i) t.

Lemma term3_sound e t : consistent e -> forall b, term3 e t = Some b -> term_holds t = b.
Proof.
  intros K. induction t as [|x t IH]; intros b E; cbn [term3 fold_right] in E; [injection E as <-; reflexivity|].
  cbn [term_holds forallb]. revert E. apply and3_sound; [|exact IH].
  intros c. apply lit3_sound. intros s b'. apply K.
Qed.

Lemma consistent_cons e s b : consistent e -> bit v s i = b -> consistent ((s, b) :: e).
Proof.
  intros K E s' b' H. cbn [known] in H. destruct (Nat.eqb_spec s' s) as [->|]; [injection H as <-; exact E|apply K, H].
Qed.

Lemma every_terms e ts bs : consistent e -> every (term3 e) ts = Some bs -> map term_holds ts = bs.
Proof.
  intros K. revert bs. induction ts as [|t ts IH]; intros bs E; cbn [every] in E; [injection E as <-; reflexivity|].
  destruct (term3 e t) as [b|] eqn:Et; [|discriminate]. destruct (every (term3 e) ts) as [bs'|]; [|discriminate].
  injection E as <-. cbn [map]. rewrite (term3_sound e t K b Et), (IH bs' eq_refl). reflexivity.
Qed.

Theorem agree_sound vars : forall e s ts c, consistent e -> agree p vars e s ts c = true ->
  count_occ Bool.bool_dec (map term_holds ts) true = if xorb (bit v s i) c then 1 else 0.
Proof.
  induction vars as [|x vars IH]; intros e s ts c K A; cbn [agree] in A.
  - destruct (value3 p (length p) e s) as [b|] eqn:Ev; [|discriminate].
    destruct (every (term3 e) ts) as [bs|] eqn:Et; [|discriminate].
    apply Nat.eqb_eq in A. rewrite (every_terms e ts bs K Et), (value3_sound _ e K s b Ev). exact A.
  - assert (Split : agree p vars ((x, true) :: e) s ts c && agree p vars ((x, false) :: e) s ts c = true ->
      count_occ Bool.bool_dec (map term_holds ts) true = if xorb (bit v s i) c then 1 else 0).
    { intros B. apply andb_true_iff in B as [B1 B2]. destruct (bit v x i) eqn:Bx.
      - apply (IH ((x, true) :: e)); [apply consistent_cons|]; assumption.
      - apply (IH ((x, false) :: e)); [apply consistent_cons|]; assumption. }
    destruct (value3 p (length p) e s) as [b|] eqn:Ev; [|apply Split, A].
    destruct (every (term3 e) ts) as [bs|] eqn:Et; [|apply Split, A].
    apply Nat.eqb_eq in A. rewrite (every_terms e ts bs K Et), (value3_sound _ e K s b Ev). exact A.
Qed.

Lemma nothing_known : consistent [].
Proof. intros s b E. discriminate. Qed.
End Covers.
