(** Formulas of histories are formulas of the language: `holds`, by which the theorems about machines
    are stated, is `Surface.sat` at the last position of a word. *)
From Coq Require Import ZArith Arith List Bool Lia.
From Softhat Require Import Formula Surface Histories.
From Softhat Require Compile.
Import ListNotations.

Section Spelled.
Context {token : Type} (same : token -> token -> bool) (number : token -> nat).
Hypothesis numbered : forall s t, same s t = (number s =? number t).

Definition both (join : surface -> surface -> surface) (f g : option surface) : option surface :=
  match f, g with Some f, Some g => Some (join f g) | _, _ => None end.

(* The formula in the language; a Recall has none here. *)
Fixpoint spelled (f : form token) : option surface :=
  match f with
  | Token a => Some (Symbol (number a))
  | Histories.Constant b => Some (Surface.Constant b)
  | Histories.Not f => option_map Surface.Not (spelled f)
  | Histories.And f g => both Surface.And (spelled f) (spelled g)
  | Histories.Or f g => both Surface.Or (spelled f) (spelled g)
  | Histories.Xor f g => both Surface.Xor (spelled f) (spelled g)
  | Histories.Yesterday f => option_map Surface.Yesterday (spelled f)
  | Histories.Once f => option_map Surface.Once (spelled f)
  | Histories.Since f g => both Surface.Since (spelled f) (spelled g)
  | AtMost f g => both (fun f g => Compare (Count f) LessEqual (Count g)) (spelled f) (spelled g)
  | Recall _ _ => None
  end.

(* a word: symbols by their numbers *)
Definition symbols_of (w : list token) (i a : nat) : bool :=
  match nth_error w (i - 1) with Some t => number t =? a | None => false end.
Definition history (w : list token) (i : nat) : list token := rev (firstn i w).

Lemma history_step w i : i < length w ->
  exists t, nth_error w i = Some t /\ history w (S i) = t :: history w i.
Proof.
  intros L. destruct (nth_error w i) as [t|] eqn:E; [|apply nth_error_None in E; lia].
  exists t. split; [reflexivity|]. unfold history. change (t :: rev (firstn i w)) with (rev [t] ++ rev (firstn i w)).
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
  destruct (history_step w i ltac:(lia)) as (t & _ & E). rewrite Compile.sinceb_step, E. cbn [pasts since].
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

Theorem spelled_holds f : forall s, spelled f = Some s -> forall i, 1 <= i <= length w ->
  truth s i = holds same f (history w i).
Proof.
  assert (two : forall join (x y : option surface) s, both join x y = Some s ->
    exists a b, x = Some a /\ y = Some b /\ s = join a b).
  { intros join [a|] [b|] s H; inversion H. eauto. }
  assert (one : forall (change : surface -> surface) x s, option_map change x = Some s ->
    exists a, x = Some a /\ s = change a).
  { intros change [a|] s H; inversion H. eauto. }
  induction f; intros s E i I; cbn in E;
    repeat match goal with
    | H : both _ _ _ = Some _ |- _ => apply two in H as (s1 & s2 & E1 & E2 & ->)
    | H : option_map _ _ = Some _ |- _ => apply one in H as (s1 & E1 & ->)
    end; try discriminate;
    repeat match goal with
    | IH : forall s, spelled ?f = Some s -> _, E : spelled ?f = Some ?x |- _ => specialize (IH x E)
    end.
  - inversion E. destruct i as [|i]; [lia|]. destruct (history_step w i ltac:(lia)) as (t & T & ->).
    cbn. unfold symbols_of. cbn. rewrite Nat.sub_0_r, T, numbered. reflexivity.
  - inversion E. reflexivity.
  - cbn. rewrite IHf by lia. reflexivity.
  - cbn. rewrite IHf1, IHf2 by lia. reflexivity.
  - cbn. rewrite IHf1, IHf2 by lia. reflexivity.
  - cbn. rewrite IHf1, IHf2 by lia. reflexivity.
  - destruct i as [|[|i]]; [lia| |].
    + destruct (history_step w 0 ltac:(lia)) as (t & _ & ->). reflexivity.
    + destruct (history_step w (S i) ltac:(lia)) as (t & _ & ->). cbn [sat holds].
      destruct (history_step w i ltac:(lia)) as (t' & _ & E'). replace (S (S i) - 1) with (S i) by lia.
      rewrite IHf by lia. rewrite E'. reflexivity.
  - cbn [sat holds]. apply once_agree; [|lia]. intros j J. apply IHf, J.
  - cbn [sat holds]. apply since_agree; [| |lia]; intros j J; auto.
  - cbn [sat value holds compare]. unfold count, before.
    rewrite (count_agree _ _ IHf1), (count_agree _ _ IHf2) by lia. apply eq_true_iff_eq.
    rewrite Z.leb_le, Nat.leb_le. lia.
Qed.
End Word.
End Spelled.
