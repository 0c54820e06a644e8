(** Tapes: moves by one cell, what is written, and actions of a table each once. *)
From Coq Require Import ZArith Arith List Bool Lia.
Import ListNotations.

Inductive move := Left | Stay | Right.
Definition same_move (a b : move) : bool :=
  match a, b with Left, Left | Stay, Stay | Right, Right => true | _, _ => false end.
Lemma same_move_spec a b : same_move a b = true <-> a = b.
Proof. destruct a, b; cbn; split; congruence. Qed.

(* A tape has a symbol in each cell. *)
Definition set (tape : Z -> nat) (c : Z) (s : nat) : Z -> nat := fun d => if (d =? c)%Z then s
  else tape d.
(* a word from cell 0 on, blanks elsewhere *)
Definition tape_of (w : list nat) : Z -> nat := fun c => if (c <? 0)%Z then 0
  else nth (Z.to_nat c) w 0.

(* a word from cell c on, over what is there *)
Fixpoint put_on (tape : Z -> nat) (c : Z) (w : list nat) : Z -> nat :=
  match w with [] => tape | s :: w => put_on (set tape c s) (c + 1) w end.
Lemma put_on_at w : forall tape c d, put_on tape c w d
  = if ((c <=? d) && (d <? c + Z.of_nat (length w)))%Z then nth (Z.to_nat (d - c)) w 0 else tape d.
Proof.
  induction w as [|s w IH]; intros tape c d.
  - cbn. destruct (Z.leb_spec c d), (Z.ltb_spec d (c + 0)); try reflexivity; lia.
  - cbn [put_on]. rewrite IH. cbn [length]. unfold set.
    destruct (Z.leb_spec (c + 1) d), (Z.ltb_spec d (c + 1 + Z.of_nat (length w))), (Z.leb_spec c d),
      (Z.ltb_spec d (c + Z.of_nat (S (length w)))), (Z.eqb_spec d c); cbn; try lia; try reflexivity.
    + replace (Z.to_nat (d - c)) with (S (Z.to_nat (d - (c + 1)))) by lia. reflexivity.
    + subst d. now rewrite Z.sub_diag.
Qed.

(* each once, in the order in which they come *)
Fixpoint distinct {A} (same : A -> A -> bool) (l : list A) : list A :=
  match l with [] => [] | a :: l => a :: filter (fun b => negb (same a b)) (distinct same l) end.
Lemma distinct_in {A} (same : A -> A -> bool) : (forall a b, same a b = true <-> a = b) ->
  forall a l, In a (distinct same l) <-> In a l.
Proof.
  intros S a. induction l as [|b l IH]; [reflexivity|]. cbn. rewrite filter_In, IH, negb_true_iff.
  split.
  - tauto.
  - intros [->|I]; [now left|]. destruct (same b a) eqn:E; [left; now apply S|tauto].
Qed.
