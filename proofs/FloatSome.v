(** Some run in binary32 always exists, so that no claim about all of them is empty: the sums
    from right to left, the products fused, exp exact. *)
From Coq Require Import Reals Lra ZArith QArith Qreals List Bool Arith.
From Flocq Require Import Core.
From Softhat Require Import Gates Program Lowering Lowered Model FloatRow FloatRun.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum_of (l : list R) : R :=
  match l with
  | [] => 0
  | x :: l => match l with [] => x | _ => fl (x + sum_of l) end
  end.
Lemma sum_some l : adds l (sum_of l).
Proof.
  induction l as [|x l IH]; [constructor|]. destruct l as [|x' l]; [constructor|].
  apply (adds_two _ [x] (x' :: l) x (sum_of (x' :: l))); try discriminate;
    [reflexivity|constructor|exact IH|].
  intros _. reflexivity.
Qed.

Lemma each {A B} (P : A -> B -> Prop) f l : (forall a, P a (f a)) -> Forall2 P l (map f l).
Proof. intros H. induction l; constructor; auto. Qed.

Definition dot_of (f : form) (x : nat -> R) (more : list R) : R :=
  sum_of (more ++ map (fun e => Q2R (snd e) * x (fst e)) f).
Lemma dot_some f x more : dots f x more (dot_of f x more).
Proof.
  exists (map (fun e => Q2R (snd e) * x (fst e)) f).
  split; [apply each; intros; left; reflexivity|apply sum_some].
Qed.

Definition score_of (h : head) (x y : nat -> R) : R :=
  Q2R (cold h) * sum_of (map (fun qk => dot_of (fst qk) x [] * dot_of (snd qk) y []) (rows h)).
Lemma score_some h x y : scored h x y (score_of h x y).
Proof.
  eexists _, _. split; [|split; [apply sum_some|left; reflexivity]]. apply each. intros qk.
  exists (dot_of (fst qk) x []), (dot_of (snd qk) y []). repeat split; try apply dot_some. left.
  reflexivity.
Qed.

Fixpoint most_of (s : nat -> R) (k : nat) (ks : list nat) : nat :=
  match ks with [] => k | j :: ks => most_of s (if Rle_dec (s k) (s j) then j else k) ks end.
Lemma most_some s ks : forall k, (In (most_of s k ks) ks \/ most_of s k ks = k) /\
  s k <= s (most_of s k ks) /\
  forall j, In j ks -> s j <= s (most_of s k ks).
Proof.
  induction ks as [|j ks IH]; intros k; cbn [most_of];
    [split; [right; reflexivity|split; [lra|intros ? []]]|].
  destruct (IH (if Rle_dec (s k) (s j) then j else k)) as (A & B & C).
  destruct (Rle_dec (s k) (s j));
    (split; [destruct A as [A|A]; rewrite ?A; cbn; tauto|split; [lra|]]);
    intros i [<-|I]; try lra; apply C, I.
Qed.

Definition row_of (ks : list nat) (s v : nat -> R) : R :=
  match ks with
  | [] => 0
  | k :: _ =>
      let e := fun j => exp (fl (s j - s (most_of s k ks))) in
      sum_of (map (fun j => fl (e j / sum_of (map e ks)) * v j) ks)
  end.
Lemma row_some ks s v : attends ks s v (row_of ks s v).
Proof.
  destruct ks as [|k ks]; [reflexivity|]. unfold attends, row_of.
  destruct (most_some s (k :: ks) k) as (A & _ & C).
  set (m := most_of s k (k :: ks)) in *.
  exists (s m), (sum_of (map (fun j => exp (fl (s j - s m))) (k :: ks))), (fun j => fl (s j - s m)),
    (fun j => exp (fl (s j - s m))),
    (fun j => fl (exp (fl (s j - s m)) / sum_of (map (fun j => exp (fl (s j - s m))) (k :: ks)))),
    (fun j => fl (exp (fl (s j - s m)) / sum_of (map (fun j => exp (fl (s j - s m))) (k :: ks))) * v
      j).
  split; [exists m; split;
    [destruct A as [A|A]; [exact A|rewrite A; left; reflexivity]|reflexivity]|].
  split; [exact C|]. split; [intros j _ _; reflexivity|]. split.
  { intros j _. pose proof (exp_pos (fl (s j - s m))). split; [lra|].
    rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. pose proof (bpow_gt_0 radix2 (-120)). lra. }
  split; [apply sum_some|]. split; [intros j _ _; reflexivity|].
  split; [intros; left; reflexivity|apply sum_some].
Qed.

Section Run.
Variable positions : nat.

Definition return_of (X : stream) (i : nat) (hf : head * form) : R :=
  row_of (keys positions (fst hf) i) (fun j => score_of (fst hf) (X i) (X j)) (fun j =>
    dot_of (snd hf) (X j) []).
Definition attended_of (hs : list head) (X : stream) : stream := fun i c =>
  sum_of (X i c :: map (return_of X i) (writing hs c)).
Definition fed_of (us : list unit) (b : form) (X : stream) : stream := fun i c =>
  sum_of (X i c :: constants b c ++ map (fun x => Q2R (Model.entry (output x) c)
    * relu (dot_of (input x) (X i) [Q2R (bias x)])) (writers us c)).

Lemma attended_some hs X : attended positions hs X (attended_of hs X).
Proof.
  intros i c _. exists (map (return_of X i) (writing hs c)). split; [|apply sum_some]. apply each.
  intros hf.
  eexists _, _. split; [|split; [|apply row_some]]; intros j _; [apply score_some|apply dot_some].
Qed.
Lemma fed_some us b X : fed positions us b X (fed_of us b X).
Proof.
  intros i c _. eexists. split; [|apply sum_some]. apply each. intros x. eexists.
  split; [|left; reflexivity].
  eexists. split; [apply dot_some|reflexivity].
Qed.

Fixpoint run_of (ls : list layer) (X : stream) : stream :=
  match ls with [] => X
    | l :: ls => run_of ls (fed_of (units l) (shift l) (attended_of (heads l) X)) end.
Lemma run_some ls : forall X, runs positions ls X (run_of ls X).
Proof.
  induction ls as [|l ls IH]; intros X; [reflexivity|]. eexists _, _.
  split; [apply attended_some|]. split; [apply fed_some|]. apply IH.
Qed.
End Run.

Theorem some_logit m n w q k i : (k < length (readouts m))%nat ->
  exists z, float_logit m n w q k i z.
Proof.
  intros Hk. destruct (nth_error (readouts m) k) as [o|] eqn:E;
    [|apply nth_error_None in E; exfalso; apply (Nat.lt_irrefl k);
    apply Nat.lt_le_trans with (length (readouts m)); assumption].
  eexists _, _, _, o. split; [exact E|]. split; [|split; [apply run_some|apply dot_some]].
  instantiate (1 := fun j c => sum_of (token_terms m n w j c
    ++ map (fun f => Q2R (Model.entry (snd f) c) * position_value n 1 w q (fst f) j) (features m))).
  intros j c _. eexists. split; [|apply sum_some]. apply each. intros f. left. reflexivity.
Qed.
