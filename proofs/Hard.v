(** Hard attention: the same weights, but each head takes the mean of its maxima. A model that
    passes the check is right at every temperature colder than its own, and hard attention is what
    softmax comes to as it gets colder: so it computes the same. *)
From Coq Require Import Reals Lra Lia Arith NArith ZArith QArith Qreals List Bool
  FunctionalExtensionality.
From Softhat Require Import Sums Gates Masks Simulation Formula Program Lowering Lowered Correct
  Surface Evaluated Model Kernel Values Numbers.
From Softhat Require Transformer.
Import ListNotations.
Local Open Scope R_scope.

(* the k-th output at position i: as `Model.logit`, with hard attention *)
Definition hard_logit (m : model) (n : nat) (w : nat -> nat -> bool)
    (q : nat -> nat -> nat -> bool) (k i : nat) : R :=
  decide (nth k (readouts m) (Readout [] 0))
    (Transformer.hard_run (S (last (ends m) n)) (map real_layer (layers m)) (embedded m n 1 w q) i).

(* Positions are not divided, and no head has a temperature of its own: softmax attention with
   these weights has one temperature, that of all heads. *)
Definition undivided (f : position_feature) : bool :=
  match f with
  | Plain (Ordinary d) | Plain (Index d) | Plain (Reverse d) | Plain (Alternating d) => negb d
  | _ => true
  end.
Definition uniform_head (h : head) : bool := Qeq_bool (cold h) 1 && negb (steady h).
Definition uniform (m : model) : bool :=
  negb (scales m) && forallb (fun f => undivided (fst f)) (features m)
  && forallb (fun l => forallb uniform_head (heads l)) (layers m).

Section Limit.
Variables (m : model) (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
Hypothesis U : uniform m = true.

Lemma embedded_same P : embedded m n P w q = embedded m n 1 w q.
Proof.
  unfold uniform in U. rewrite !andb_true_iff in U. destruct U as [[_ Un] _].
  rewrite forallb_forall in Un. extensionality j. extensionality c. unfold embedded. f_equal.
  apply Transformer.lsum_ext. intros f I. f_equal. specialize (Un f I).
  destruct (fst f) as [[]|]; cbn [undivided] in Un; try apply negb_true_iff in Un; subst;
    reflexivity.
Qed.

Lemma softmax_uniform P ls : forallb (fun l => forallb uniform_head (heads l)) ls = true ->
  forall N X, Transformer.softmax_run P N (map real_layer ls) X
    = uniform_run P N (map real_layer ls) X.
Proof.
  intros Ul N. induction ls as [|l ls IH]; intros X; [reflexivity|].
  cbn [forallb] in Ul. apply andb_true_iff in Ul as [Uh Ul].
  unfold Transformer.softmax_run, uniform_run, Transformer.run in *. cbn [map fold_left].
  rewrite (IH Ul). f_equal. unfold Transformer.run_layer. f_equal.
  extensionality i. extensionality c.
  unfold Transformer.attended. f_equal. unfold real_layer. cbn [Transformer.heads].
  rewrite !Transformer.lsum_map. apply Transformer.lsum_ext. intros h I.
  apply Transformer.lsum_ext. intros vo _. f_equal. unfold Transformer.read.
  apply soft_ext; intros j _ _; [|reflexivity].
  rewrite forallb_forall in Uh. specialize (Uh h I). unfold uniform_head in Uh.
  apply andb_true_iff in Uh as [C St]. apply Qeq_bool_iff, Qeq_eqR in C. apply negb_true_iff in St.
  unfold Transformer.heat, real_head. cbn [Transformer.cold Transformer.steady Transformer.rows].
  rewrite St, C, Q2R_1, Rmult_1_r. reflexivity.
Qed.

Lemma logit_close k i : (1 <= i <= n)%nat ->
  close (fun P => logit m n P w q k i) (hard_logit m n w q k i).
Proof.
  intros Hi. pose proof (inside_last (ends m) n i Hi) as Li. unfold logit, hard_logit, decide.
  apply close_plus; [|apply close_const]. apply close_dot. intros c.
  apply close_ext with (g := fun P => uniform_run P (S (last (ends m) n))
    (map real_layer (layers m)) (embedded m n 1 w q) i c).
  - intros P _. rewrite (embedded_same P), softmax_uniform; [reflexivity|].
    unfold uniform in U. rewrite !andb_true_iff in U. apply U.
  - apply simulation_word. lia.
Qed.

(* what holds of all colder softmax transformers holds of the hard one *)
Lemma hard_least k i a : (1 <= i <= n)%nat -> (forall P, 1 <= P -> a <= logit m n P w q k i) ->
  a <= hard_logit m n w q k i.
Proof.
  intros Hi All. apply Rnot_lt_le. intros L. set (h := hard_logit m n w q k i) in *.
  destruct (close_eventually _ _ ((a - h) / 2) ltac:(lra) (logit_close k i Hi)) as (B & _ & Far).
  specialize (Far (Rmax 1 B) (Rmax_r _ _)). specialize (All (Rmax 1 B) (Rmax_l _ _)).
  fold h in Far. revert Far. unfold Rabs. destruct (Rcase_abs _); lra.
Qed.
Lemma hard_most k i a : (1 <= i <= n)%nat -> (forall P, 1 <= P -> logit m n P w q k i <= a) ->
  hard_logit m n w q k i <= a.
Proof.
  intros Hi All. apply Rnot_lt_le. intros L. set (h := hard_logit m n w q k i) in *.
  destruct (close_eventually _ _ ((h - a) / 2) ltac:(lra) (logit_close k i Hi)) as (B & _ & Far).
  specialize (Far (Rmax 1 B) (Rmax_r _ _)). specialize (All (Rmax 1 B) (Rmax_l _ _)).
  fold h in Far. revert Far. unfold Rabs. destruct (Rcase_abs _); lra.
Qed.
Lemma hard_sign k i (b : bool) : (1 <= i <= n)%nat ->
  (forall P, 1 <= P ->
    if b then 1 / 4 <= logit m n P w q k i else logit m n P w q k i <= - 1 / 4) ->
  if b then 1 / 4 <= hard_logit m n w q k i else hard_logit m n w q k i <= - 1 / 4.
Proof. intros Hi All. destruct b; [apply hard_least|apply hard_most]; assumption. Qed.
Lemma hard_near k i x e : (1 <= i <= n)%nat ->
  (forall P, 1 <= P -> Rabs (logit m n P w q k i - x) <= e) ->
  Rabs (hard_logit m n w q k i - x) <= e.
Proof.
  intros Hi All. assert (x - e <= hard_logit m n w q k i <= x + e); [|apply Rabs_le; lra].
  split; [apply hard_least|apply hard_most]; try exact Hi; intros P HP; specialize (All P HP);
    revert All; unfold Rabs; destruct (Rcase_abs _); lra.
Qed.
Lemma cold_from_one P : 1 <= P -> cold_enough m n P.
Proof.
  intros HP. unfold uniform in U. rewrite !andb_true_iff in U. destruct U as [[Sc _] _].
  apply negb_true_iff in Sc. unfold cold_enough. rewrite Sc. exact HP.
Qed.
End Limit.

(* The theorem of models with hard attention. *)
Theorem certified_hard fs m ev : certified fs m ev = true -> uniform m = true ->
  forall n w q, over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, (1 <= i <= n)%nat ->
  if sat n w q f i then 1 / 4 <= hard_logit m n w q k i else hard_logit m n w q k i <= - 1 / 4.
Proof.
  intros C U n w q Hw k f Ef i Hi.
  apply (hard_sign m n w q U k i _ Hi). intros P HP.
  exact (certified_colder fs m ev C n P w q (cold_from_one m n U P HP) Hw k f Ef i Hi).
Qed.

(* Programs with hard attention: on every word up to N, or on those that give the program what it
   asks for. *)
Section Programs.
Variables (outs : list literal) (nums : list number) (most : Q) (ins : list input) (p : program).
Variables (m : model) (e : making) (N : N).

Definition hard_bits (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool) : Prop :=
  forall k x, nth_error outs k = Some x -> forall i, (1 <= i <= n)%nat ->
  if truth ins p m n w q x i then 1 / 4 <= hard_logit m n w q k i
  else hard_logit m n w q k i <= - 1 / 4.
Definition hard_numbers (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool) : Prop :=
  forall k x, nth_error nums k = Some x -> forall i, (1 <= i <= n)%nat ->
  Rabs (hard_logit m n w q (length outs + k) i - number_value p n (meaning ins p m n w q) x i)
    <= Q2R most.

Lemma makes_hard : makes outs ins p m e = true -> uniform m = true ->
  forall n w q, over_alphabet m w n -> readable n (meaning ins p m n w q) p -> hard_bits n w q.
Proof.
  intros C U n w q Hw Hr k x Ex i Hi. apply (hard_sign m n w q U k i _ Hi). intros P HP.
  exact (makes_right outs ins p m e C n P w q (cold_from_one m n U P HP) Hw Hr k x Ex i Hi).
Qed.
Theorem makes_hard_always :
  makes outs ins p m e && forallb (always (program_symbols m) ins p N) p = true ->
  uniform m = true -> forall n w q, over_alphabet m w n -> (N.of_nat n <= N)%N -> hard_bits n w q.
Proof.
  intros C U n w q Hw Hn. apply andb_true_iff in C as [C A]. apply (makes_hard C U n w q Hw).
  apply (always_readable (program_symbols m) ins p N m n w q);
    [|exact Hn|exact (symbol_small m ins n w q Hw)|exact A].
  unfold makes in C. rewrite !andb_true_iff in C. apply C.
Qed.
Theorem makes_hard_fitting : makes outs ins p m e = true -> uniform m = true ->
  forall n w q, over_alphabet m w n -> fits ins p m n w q = true -> hard_bits n w q.
Proof. intros C U n w q Hw F. apply (makes_hard C U n w q Hw), fits_readable, F. Qed.

Lemma numbers_hard : makes_numbers outs nums most ins p m e = true -> uniform m = true ->
  forall n w q, over_alphabet m w n -> readable n (meaning ins p m n w q) p ->
  hard_bits n w q /\ hard_numbers n w q.
Proof.
  intros C U n w q Hw Hr. split; intros k x Ex i Hi.
  - apply (hard_sign m n w q U k i _ Hi). intros P HP.
    exact (bits_right outs nums most ins p m e C n P w q (cold_from_one m n U P HP) Hw Hr
      k x i Ex Hi).
  - apply (hard_near m n w q U _ i _ _ Hi). intros P HP.
    exact (numbers_right outs nums most ins p m e C n P w q (cold_from_one m n U P HP) Hw Hr
      k x i Ex Hi).
Qed.
Theorem numbers_hard_always :
  makes_numbers outs nums most ins p m e && forallb (always (program_symbols m) ins p N) p = true ->
  uniform m = true -> forall n w q, over_alphabet m w n -> (N.of_nat n <= N)%N ->
  hard_bits n w q /\ hard_numbers n w q.
Proof.
  intros C U n w q Hw Hn. apply andb_true_iff in C as [C A]. apply (numbers_hard C U n w q Hw).
  apply (always_readable (program_symbols m) ins p N m n w q);
    [|exact Hn|exact (symbol_small m ins n w q Hw)|exact A].
  unfold makes_numbers, makes in C. rewrite !andb_true_iff in C. apply C.
Qed.
Theorem numbers_hard_fitting : makes_numbers outs nums most ins p m e = true -> uniform m = true ->
  forall n w q, over_alphabet m w n -> fits ins p m n w q = true ->
  hard_bits n w q /\ hard_numbers n w q.
Proof. intros C U n w q Hw F. apply (numbers_hard C U n w q Hw), fits_readable, F. Qed.
End Programs.
