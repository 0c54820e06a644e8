(** The kernel: a check of a model against formulas that computes, and what it means when it says
    yes. The model is its weights; the formulas are as they were written. All the rest is
    evidence, which may be wrong: then the check says no. *)
From Coq Require Import Reals Lra Lia Arith ZArith QArith Qreals List Bool.
From Softhat Require Import Sums Gates Masks Formula Program Lowering Lowered Correct Compare
  Surface
  Evaluated Matching Matched Facts Model.
From Softhat Require Transformer.
Import ListNotations.
Open Scope nat_scope.

(* How the model was made, and how its formulas are found again in it. *)
Record evidence := Evidence {
  inputs : list input;               (* what the signals `Given 0`, `Given 1`, … are *)
  signals : program;                 (* the attention program that the weights compute *)
  helpers : program;
    (* more signals, which no weight computes: for the proof alone *)
  start : layout;                    (* what each coordinate of the embedding holds *)
  plans : list plan;                 (* which layer computes which signal where *)
  results : list result;             (* which signal each output reads *)
  reasons : list reason;             (* what holds of the signals at every position, and why *)
  hints : list (list hint) }.        (* for each formula, the signals of its operators *)

(* Propositions are inputs of the program, symbols are its tokens. *)
Definition program_symbols (m : model) : nat := if propositional m then 1 else symbols m.

Lemma symbol_small m ins n w q : over_alphabet m w n ->
  forall j, 1 <= j <= n -> symbol (program_word m ins n w q) j < program_symbols m.
Proof.
  intros Hw j Hj. unfold program_symbols. cbn [symbol program_word].
  destruct (propositional m) eqn:Pr.
  - unfold symbol_at. rewrite Pr. destruct (find _ _); lia.
  - apply (symbol_at_spec m n w Hw j Pr Hj).
Qed.

Definition claim_of (m : model) (ev : evidence) : claim :=
  Claim (signals ev) (program_symbols m) (scales m) (ends m) (start ev)
    (plans ev) (results ev) (layers m) (readouts m).

Definition whole (ev : evidence) : program := signals ev ++ helpers ev.

(* an output computes its formula *)
Definition answers (m : model) (ev : evidence) (known : list expression) (f : surface) (r : result)
    (hs : list hint) : bool :=
  match translate (whole ev) (program_symbols m) (inputs ev) known (propositional m) f hs with
  | Some (x, []) => equal (whole ev) (program_symbols m) known x (literal_expression (literal_of r))
  | _ => false
  end.

Fixpoint all_answer (m : model) (ev : evidence) (known : list expression) (fs : list surface)
  (rs : list result)
    (hs : list (list hint)) : bool :=
  match fs, rs, hs with
  | [], [], [] => true
  | f :: fs, r :: rs, h :: hs => answers m ev known f r h && all_answer m ev known fs rs hs
  | _, _, _ => false
  end.

Definition certified (fs : list surface) (m : model) (ev : evidence) : bool :=
  checked (claim_of m ev) && layout_ok m (signals ev) (inputs ev) (start ev) && ordered (whole ev)
  && forallb undemanding (signals ev)
  && match facts_of (whole ev) (program_symbols m) (inputs ev) (reasons ev) [] with
     | Some known => all_answer m ev known fs (results ev) (hints ev)
     | None => false
     end.

(* as many read-outs as results *)
Lemma checked_readouts c : checked c = true ->
  length (Compare.readouts c) = length (Compare.results c).
Proof.
  intros C. unfold checked in C. destruct (lower _ _ _ _ 4 _ _ _) as [[ls os]|] eqn:E;
    [|discriminate].
  destruct (list_eq_dec layer_eq _ _); [|discriminate].
  destruct (list_eq_dec readout_eq _ _) as [Eo|]; [|discriminate].
  assert (L1 : length os = length (Compare.readouts c))
    by (rewrite <- (map_length normal_readout os), Eo; apply map_length).
  rewrite <- L1. unfold lower in E. destruct (forallb _ _); [|discriminate].
  destruct (lower_layers _ _ _ _ _ _ _) as [[a b]|]; [|discriminate].
  destruct (every _ (Compare.results c)) as [outs|] eqn:Ev; [|discriminate]. injection E as _ <-.
  apply every_spec in Ev. clear -Ev. induction Ev; [reflexivity|]. cbn. f_equal. assumption.
Qed.

(* Whatever the evidence, if the check says yes then output k reads a signal that is the formula. *)
Lemma certified_signal fs m ev : certified fs m ev = true -> forall n w q, over_alphabet m w n ->
  let pw := program_word m (inputs ev) n w q in
  let v := values n pw (whole ev) in
  (computes n pw v (signals ev) /\ readable n v (signals ev) /\
   forall j, 1 <= j <= n -> symbol pw j < program_symbols m) /\
  forall k f, nth_error fs k = Some f -> forall i, 1 <= i <= n ->
  exists r, nth_error (results ev) k = Some r /\ lit v (literal_of r) i = sat n w q f i.
Proof.
  intros C n w q Hw pw v. unfold certified in C. rewrite !andb_true_iff in C.
  destruct C as [[[[Ch La] Or] Un] An].
  destruct (facts_of _ _ _ _ _) as [known|] eqn:Fa; [|discriminate].
  pose proof (values_compute n pw (whole ev) Or) as Hv.
  assert (Hv' : computes n pw v (signals ev)).
  { intros s g E. apply (Hv s g). unfold whole. rewrite nth_error_app1; [exact E|].
    apply nth_error_Some. congruence. }
  pose proof (symbol_small m (inputs ev) n w q Hw) as Hsym. fold pw in Hsym.
  assert (Hgiven : forall k x j, nth_error (inputs ev) k = Some x -> 1 <= j <= n ->
    given pw j k = Surface.known n w q x j).
  { intros d y j Ed Hj. cbn [given pw program_word]. rewrite Ed. reflexivity. }
  assert (Nf : forall y, In y known -> forall j, 1 <= j <= n -> holds pw v y j = true).
  { refine (facts_sound (whole ev) (program_symbols m) (inputs ev) n pw v w q Hv Hsym Hgiven
      (reasons ev) [] known _ Fa). intros y []. }
  split; [split; [exact Hv'|split; [apply undemanding_readable, Un|exact Hsym]]|].
  intros k f Ef i Hi. clear Ch La. revert An. generalize (hints ev). generalize (results ev).
  revert k Ef.
    induction fs as [|g fs IH]; intros k Ef rs hs An; [destruct k; discriminate|].
    destruct rs as [|r rs], hs as [|h hs]; try discriminate. cbn [all_answer] in An.
    apply andb_true_iff in An as [A1 A2]. destruct k as [|k].
    - injection Ef as <-. exists r. split; [reflexivity|]. unfold answers in A1.
      destruct (translate _ _ _ _ _ _ _) as [[x [|]]|] eqn:Et; try discriminate.
      pose proof (equal_sound (whole ev) (program_symbols m) known n pw v Hv Hsym Nf _ _ A1 i Hi) as
        Q.
      rewrite literal_holds in Q. rewrite <- Q.
      refine (proj1 (translate_sound (whole ev) (program_symbols m) (inputs ev) known
        (propositional m) n
        pw v w q Hv Hsym Nf _ _) _ _ _ _ Et i Hi).
      + intros Pr j c Hj. apply (symbol_at_spec m n w Hw j Pr Hj).
      + exact Hgiven.
    - apply (IH k Ef rs hs A2).
Qed.

(* At its temperature, and at every colder one. *)
Theorem certified_colder fs m ev : certified fs m ev = true ->
  forall n P w q, cold_enough m n P -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f ->
  forall i, 1 <= i <= n ->
  (if sat n w q f i then 1 / 4 <= logit m n P w q k i else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros C n P w q Hs Hw k f Ef i Hi.
  destruct (certified_signal fs m ev C n w q Hw) as [(Hv' & Hr & Hsym) R].
  destruct (R k f Ef i Hi) as (r & Er & Lr).
  set (pw := program_word m (inputs ev) n w q) in *. set (v := values n pw (whole ev)) in *.
  unfold certified in C. rewrite !andb_true_iff in C. destruct C as [[[[Ch La] Or] Un] An].
  assert (Eo : exists o, nth_error (readouts m) k = Some o).
  { pose proof (checked_readouts _ Ch) as L. cbn in L.
    destruct (nth_error (readouts m) k) as [o|] eqn:E; [eauto|]. apply nth_error_None in E.
    assert (k < length (results ev)) by (apply nth_error_Some; congruence). lia. }
  destruct Eo as (o & Eo).
  pose proof (checked_right (claim_of m ev) Ch n P pw v (cold_pos m n P Hs) Hs Hv' Hr Hsym
    i k r o Hi Er Eo) as T.
  cbv zeta in T. rewrite Lr in T. unfold logit.
  rewrite (embedding_right m (signals ev) (inputs ev) n P w q Hw (start ev) La).
  rewrite (nth_error_nth _ _ _ Eo). exact T.
Qed.

(* The theorem. Whatever the evidence, a model that passes computes its formulas: at every
   position of every word of every length, its logit is at least 1/4 where the formula holds, at
   most -1/4 where it does not. *)
Theorem certified_right fs m ev : certified fs m ev = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f ->
  forall i, 1 <= i <= n ->
  (if sat n w q f i then 1 / 4 <= logit m n P w q k i else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros C n P w q Hs. exact (certified_colder fs m ev C n P w q (scale_cold m n P Hs)).
Qed.
