(** Formulas of histories are formulas of the language: `holds`, by which the theorems about
    machines are stated, is `Surface.sat` at the last position of a word. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Formula Surface Histories.
From Softhat Require Compile.
Import ListNotations.

Section Spelled.
Context {token : Type} (same : token -> token -> bool) (number : token -> nat).
Hypothesis numbered : forall s t, same s t = (number s =? number t).

(* `last[v | k1 = q1, …]` by its definition: for each code that the queries may be, v at the
   latest position whose keys are that code. `found` says that the keys before are. *)
Fixpoint recalled (v : surface) (code : list (surface * surface)) (found : surface) : surface :=
  match code with
  | [] => Surface.Since (Surface.Not found) (Surface.And found v)
  | (k, q) :: code =>
      Surface.Or (Surface.And q (recalled v code (Surface.And found k)))
        (Surface.And (Surface.Not q) (recalled v code (Surface.And found (Surface.Not k))))
  end.

(* The formula in the language. *)
Fixpoint spelled (f : form token) : surface :=
  match f with
  | Token a => Symbol (number a)
  | Histories.Constant b => Surface.Constant b
  | Histories.Not f => Surface.Not (spelled f)
  | Histories.And f g => Surface.And (spelled f) (spelled g)
  | Histories.Or f g => Surface.Or (spelled f) (spelled g)
  | Histories.Xor f g => Surface.Xor (spelled f) (spelled g)
  | Histories.Yesterday f => Surface.Yesterday (spelled f)
  | Histories.Once f => Surface.Once (spelled f)
  | Histories.Since f g => Surface.Since (spelled f) (spelled g)
  | AtMost f g => Compare (Count (spelled f)) LessEqual (Count (spelled g))
  | Recall v code => recalled (spelled v) (map (fun d => (spelled (fst d), spelled (snd d))) code)
    (Surface.Constant true)
  end.

(* a word: symbols by their numbers *)
Definition symbols_of (w : list token) (i a : nat) : bool :=
  match nth_error w (i - 1) with Some t => number t =? a | None => false end.
Definition history (w : list token) (i : nat) : list token := rev (firstn i w).

Lemma history_step w i : i < length w ->
  exists t, nth_error w i = Some t /\ history w (S i) = t :: history w i.
Proof.
  intros L. destruct (nth_error w i) as [t|] eqn:E; [|apply nth_error_None in E; lia].
  exists t. split; [reflexivity|]. unfold history.
  change (t :: rev (firstn i w)) with (rev [t] ++ rev (firstn i w)).
  rewrite <- rev_app_distr. f_equal. clear L. revert w E.
  induction i as [|i IH]; intros [|x w] E; try discriminate.
  - cbn in *. congruence.
  - cbn [firstn app]. rewrite <- (IH w E). reflexivity.
Qed.

Lemma existsb_last {A} (p : A -> bool) l x : existsb p (l ++ [x]) = p x || existsb p l.
Proof. rewrite existsb_app. cbn. rewrite orb_false_r. apply orb_comm. Qed.

Section Word.
Variables (w : list token) (q : nat -> nat -> nat -> bool).
Notation truth := (sat (length w) (symbols_of w) q).
Definition agree (p : nat -> bool) (p' : list token -> bool) : Prop :=
  forall i, 1 <= i <= length w -> p i = p' (history w i).

Lemma since_agree f g f' g' : agree f f' -> agree g g' -> forall i, i <= length w ->
  sinceb f g i = since f' g' (pasts (history w i)).
Proof.
  intros F G. induction i as [|i IH]; intros I; [reflexivity|].
  destruct (history_step w i ltac:(lia)) as (t & _ & E). rewrite Compile.sinceb_step, E.
  cbn [pasts since].
  rewrite <- E, <- F, <- G, <- IH by lia. reflexivity.
Qed.
Lemma once_agree f f' : agree f f' -> forall i, i <= length w ->
  existsb f (seq 1 i) = existsb f' (pasts (history w i)).
Proof.
  intros F. induction i as [|i IH]; intros I; [reflexivity|].
  destruct (history_step w i ltac:(lia)) as (t & _ & E). rewrite seq_S, existsb_last, E.
  cbn [pasts existsb]. rewrite <- E, <- IH by lia. f_equal. apply F. lia.
Qed.
Lemma count_agree f f' : agree f f' -> forall i, i <= length w ->
  length (filter f (seq 1 i)) = length (filter f' (pasts (history w i))).
Proof.
  intros F. induction i as [|i IH]; intros I; [reflexivity|].
  destruct (history_step w i ltac:(lia)) as (t & _ & E). rewrite seq_S, filter_app, app_length, E.
  cbn [pasts filter]. rewrite <- E, (IH ltac:(lia)). cbn [Nat.add]. rewrite (F (S i)) by lia.
  destruct (f' (history w (S i))); cbn; lia.
Qed.

Lemma since_latest {A} (p v : A -> bool) l :
  since (fun x => negb (p x)) (fun x => p x && v x) l = latest p v l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn. rewrite IH. destruct (p x); cbn;
  [apply orb_false_r|reflexivity]. Qed.
Lemma latest_ext {A} (p p' v : A -> bool) l : (forall x, p x = p' x) ->
  latest p v l = latest p' v l.
Proof. intros E. induction l as [|x l IH]; [reflexivity|]. cbn. now rewrite E, IH. Qed.

Lemma recalled_holds v v' code : agree (truth v) (holds same v') ->
  (forall d, In d code -> agree (truth (spelled (fst d))) (holds same (fst d)) /\
                          agree (truth (spelled (snd d))) (holds same (snd d))) ->
  forall found found', agree (truth found) found' -> forall i, 1 <= i <= length w ->
  truth (recalled v (map (fun d => (spelled (fst d), spelled (snd d))) code) found) i
  = latest (fun past => found' past
      && forallb (fun d => eqb (holds same (fst d) past) (holds same (snd d) (history w i))) code)
      (holds same v') (pasts (history w i)).
Proof.
  intros V. induction code as [|[k r] code IH]; intros C found found' F i I.
  - cbn [map recalled sat].
    rewrite (since_agree _ _ (fun h => negb (found' h)) (fun h => found' h && holds same
      v' h)); [| | |lia].
    + rewrite since_latest. apply latest_ext. intros h. now rewrite andb_true_r.
    + intros j J. cbn [sat]. now rewrite F.
    + intros j J. cbn [sat]. now rewrite F, V.
  - destruct (C (k, r) (or_introl eq_refl)) as [K Q]. cbn [fst snd] in K, Q.
    cbn [map recalled fst snd sat forallb].
    rewrite (IH (fun d D => C d (or_intror D)) _ (fun h => found' h && holds same k h));
      [|intros j J; cbn [sat]; now rewrite F, K|exact I].
    rewrite (IH (fun d D => C d (or_intror D)) _ (fun h => found' h && negb (holds same k h)));
      [|intros j J; cbn [sat]; now rewrite F, K|exact I].
    rewrite (Q i I). destruct (holds same r (history w i)); cbn [andb negb orb];
      rewrite ?orb_false_r;
      apply latest_ext;
      intros h; destruct (holds same k h); cbn; rewrite ?andb_true_r, ?andb_false_r; reflexivity.
Qed.

Theorem spelled_holds : forall f i, 1 <= i <= length w ->
  truth (spelled f) i = holds same f (history w i).
Proof.
  fix IH 1. intros f i I. destruct f as [a|a|f|f g|f g|f g|f|f|f g|f g|v code]; cbn [spelled].
  - destruct i as [|i]; [lia|]. destruct (history_step w i ltac:(lia)) as (t & T & ->).
    cbn. unfold symbols_of. cbn. rewrite Nat.sub_0_r, T, numbered. reflexivity.
  - reflexivity.
  - cbn. rewrite (IH f) by lia. reflexivity.
  - cbn. rewrite (IH f), (IH g) by lia. reflexivity.
  - cbn. rewrite (IH f), (IH g) by lia. reflexivity.
  - cbn. rewrite (IH f), (IH g) by lia. reflexivity.
  - destruct i as [|[|i]]; [lia| |].
    + destruct (history_step w 0 ltac:(lia)) as (t & _ & ->). reflexivity.
    + destruct (history_step w (S i) ltac:(lia)) as (t & _ & ->). cbn [sat holds].
      destruct (history_step w i ltac:(lia)) as (t' & _ & E').
      replace (S (S i) - 1) with (S i) by lia.
      rewrite (IH f) by lia. rewrite E'. reflexivity.
  - cbn [sat holds]. apply once_agree; [|lia]. intros j J. apply (IH f), J.
  - cbn [sat holds]. apply since_agree; [| |lia]; intros j J; [apply (IH f)|apply (IH g)]; exact J.
  - cbn [sat value holds compare]. unfold count, before.
    rewrite (count_agree _ _ (IH f)), (count_agree _ _ (IH g)) by lia. apply eq_true_iff_eq.
    rewrite Z.leb_le, Nat.leb_le. lia.
  - cbn [holds]. rewrite (recalled_holds (spelled v) v code (IH v)) with (found' := fun _ => true);
      [reflexivity| |easy|exact I].
    clear I. revert code. fix all 1. intros [|[k r] code] d D; [contradiction|].
    destruct D as [<-|D].
    + split; [exact (IH k)|exact (IH r)].
    + exact (all code d D).
Qed.
End Word.
End Spelled.
