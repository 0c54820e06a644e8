(** Weights as they are given, by Python or by anyone, against those of `Lowering`: equal up to the
    order of entries, entries that are 0 and the rows among which a head shares out its scores. If
    they are, the theorems hold for the given weights. *)
From Coq Require Import Reals Lra Lia Arith ZArith QArith Qreals Qreduction List Bool
  FunctionalExtensionality.
From Softhat Require Import Sums Gates Masks Formula Program Lowering Lowered Counted Correct.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

(** * Normal forms *)

Fixpoint insert (c : nat) (a : Q) (f : form) : form :=
  match f with
  | [] => [(c, a)]
  | (d, b) :: f' =>
      if Nat.eqb c d then (c, (a + b)%Q) :: f'
      else if Nat.ltb c d then (c, a) :: f else (d, b) :: insert c a f'
  end.
Definition normal (f : form) : form :=
  map (fun e => (fst e, Qred (snd e)))
    (filter (fun e => negb (Qeq_bool (snd e) 0)) (fold_right (fun e s => insert (fst e) (snd e) s)
      [] f)).

Lemma dot_cons c a f x : dot (real_form ((c, a) :: f)) x = Q2R a * x c + dot (real_form f) x.
Proof. reflexivity. Qed.

Lemma dot_insert c a f x : dot (real_form (insert c a f)) x = Q2R a * x c + dot (real_form f) x.
Proof.
  induction f as [|[d b] f IH]; [reflexivity|]. cbn [insert].
  destruct (Nat.eqb_spec c d) as [->|]; [rewrite !dot_cons, Q2R_plus; ring|].
  destruct (Nat.ltb c d); rewrite !dot_cons, ?IH; ring.
Qed.

Lemma dot_normal f x : dot (real_form (normal f)) x = dot (real_form f) x.
Proof.
  unfold normal.
  transitivity (dot (real_form (fold_right (fun e s => insert (fst e) (snd e) s) [] f)) x).
  - generalize (fold_right (fun e s => insert (fst e) (snd e) s) [] f). intros g.
    induction g as [|[c a] g IH]; [reflexivity|]. cbn [filter snd].
    destruct (Qeq_bool a 0) eqn:Z; cbn [negb].
    + rewrite IH, dot_cons. apply Qeq_bool_iff, Qeq_eqR in Z. rewrite Z.
      replace (Q2R 0) with 0 by (unfold Q2R; simpl; lra). ring.
    + cbn [map fst snd]. rewrite !dot_cons, IH, (Qeq_eqR _ _ (Qred_correct a)). reflexivity.
  - induction f as [|[c a] f IH]; [reflexivity|]. cbn [fold_right fst snd].
    rewrite dot_insert, dot_cons, IH. reflexivity.
Qed.

Lemma coef_dot f c : coef f c = dot f (fun d => if Nat.eqb c d then 1 else 0).
Proof.
  induction f as [|[d a] f IH]; [reflexivity|]. cbn [Transformer.coef Transformer.dot]. rewrite IH.
  destruct (Nat.eqb c d); lra.
Qed.

Lemma coef_normal f c : coef (real_form (normal f)) c = coef (real_form f) c.
Proof. rewrite !coef_dot. apply dot_normal. Qed.

(* Scores are one bilinear form, however a query and a key share it out among rows: what each
   coordinate of the query is multiplied with. *)
Definition times (a : Q) (k : form) : form := map (fun e => (fst e, (a * snd e)%Q)) k.
Fixpoint meet (c : nat) (k : form) (m : list (nat * form)) : list (nat * form) :=
  match m with
  | [] => [(c, k)]
  | (d, k') :: m' =>
      if Nat.eqb c d then (c, k ++ k') :: m'
      else if Nat.ltb c d then (c, k) :: m else (d, k') :: meet c k m'
  end.
Definition meetings (r : list (form * form)) : list (nat * form) :=
  fold_right (fun qk m => fold_right (fun e m => meet (fst e) (times (snd e) (snd qk)) m) m
    (fst qk)) [] r.
Definition normal_rows (r : list (form * form)) : list (form * form) :=
  filter (fun qk => match qk with (_, []) => false | _ => true end)
    (map (fun ck => ([(fst ck, 1%Q)], normal (snd ck))) (meetings r)).

Fixpoint paired (m : list (nat * form)) (x y : nat -> R) : R :=
  match m with [] => 0 | (c, k) :: m => x c * dot (real_form k) y + paired m x y end.

Lemma dot_times a k y : dot (real_form (times a k)) y = Q2R a * dot (real_form k) y.
Proof.
  induction k as [|[c b] k IH]; [cbn; ring|]. cbn [times map fst snd]. fold (times a k).
  rewrite !dot_cons, IH, Q2R_mult. ring.
Qed.

Lemma dot_app k k' y : dot (real_form (k ++ k')) y = dot (real_form k) y + dot (real_form k') y.
Proof.
  induction k as [|[c b] k IH]; [symmetry; apply Rplus_0_l|]. cbn [app]. rewrite !dot_cons, IH.
  ring.
Qed.

Lemma paired_meet c k m x y : paired (meet c k m) x y = x c * dot (real_form k) y + paired m x y.
Proof.
  induction m as [|[d k'] m IH]; [reflexivity|]. cbn [meet].
  destruct (Nat.eqb_spec c d) as [->|]; [cbn [paired]; rewrite dot_app; ring|].
  destruct (Nat.ltb c d); cbn [paired]; rewrite ?IH; ring.
Qed.

Lemma paired_meetings r x y : paired (meetings r) x y = score (real_rows r) x y.
Proof.
  induction r as [|[q k] r IH]; [reflexivity|]. rewrite (score_cons q k), <- IH.
  cbn [meetings fold_right fst snd]. fold (meetings r). generalize (meetings r). intros m.
  induction q as [|[c a] q IHq].
  { cbn [fold_right real_form map Transformer.dot]. ring. }
  cbn [fold_right fst snd].
  rewrite paired_meet, dot_times, dot_cons, IHq. ring.
Qed.

Lemma score_normal r x y : score (real_rows (normal_rows r)) x y = score (real_rows r) x y.
Proof.
  rewrite <- (paired_meetings r). unfold normal_rows. induction (meetings r) as [|[c k] m IH];
    [reflexivity|].
  cbn [map fst snd filter paired]. rewrite <- (dot_normal k), <- IH.
  destruct (normal k) as [|e k'].
  { cbn [real_form map Transformer.dot]. ring. }
  rewrite score_cons, dot_cons, RMicromega.Q2R_1. cbn [real_form map Transformer.dot]. ring.
Qed.

Definition normal_head (h : head) : head :=
  Head (normal_rows (rows h)) (over h) (map (fun u => (normal (fst u), snd u)) (values h))
    (Qred (cold h)) (steady h).
Definition normal_unit (u : unit) :
  unit := Unit (normal (input u)) (Qred (bias u)) (normal (output u)).
Definition normal_layer (l : layer) : layer :=
  Layer (map normal_head (heads l)) (map normal_unit (units l)) (normal (shift l)).
Definition normal_readout (r : readout) : readout := Readout (normal (row r)) (Qred (offset r)).

Definition softly (P : R) (h : Transformer.head) (m : nat -> bool) (s u : nat -> R) (k : nat) : R :=
  soft m (fun j => Transformer.heat P h * s j) u k.

Lemma run_normal P N l X :
  Transformer.run_layer (softly P) N X (real_layer (normal_layer l)) = Transformer.run_layer
    (softly P) N X (real_layer l).
Proof.
  assert (A : Transformer.attended (softly P) N (map real_head (map normal_head (heads l))) X
              = Transformer.attended (softly P) N (map real_head (heads l)) X).
  { extensionality i. extensionality c. unfold Transformer.attended. f_equal.
    rewrite map_map, !Transformer.lsum_map. apply Transformer.lsum_ext. intros h _.
    unfold real_head, normal_head. cbn [Transformer.values rows over values cold].
    rewrite map_map, !Transformer.lsum_map. apply Transformer.lsum_ext. intros [u t] _.
    cbn [fst snd]. f_equal.
    unfold Transformer.read, softly, Transformer.heat.
    cbn [Transformer.sees Transformer.rows Transformer.cold Transformer.steady].
    apply soft_ext; intros j _ _.
    - rewrite score_normal, (Qeq_eqR _ _ (Qred_correct (cold h))). reflexivity.
    - apply dot_normal. }
  unfold Transformer.run_layer, real_layer, normal_layer.
  cbn [Transformer.heads Transformer.units Transformer.shift heads units shift].
  rewrite A. extensionality i. extensionality c. unfold Transformer.fed. f_equal.
  f_equal; [apply coef_normal|].
  rewrite map_map, !Transformer.lsum_map. apply Transformer.lsum_ext. intros u _.
  unfold real_unit, normal_unit.
  cbn [Transformer.input Transformer.bias Transformer.output input bias output].
  rewrite dot_normal, coef_normal, (Qeq_eqR _ _ (Qred_correct (bias u))). reflexivity.
Qed.

Lemma runs_same P N ls ls' : map normal_layer ls = map normal_layer ls' -> forall X,
  Transformer.softmax_run P N (map real_layer ls) X = Transformer.softmax_run P N
    (map real_layer ls') X.
Proof.
  revert ls'. induction ls as [|l ls IH]; intros [|l' ls'] E X; try discriminate; [reflexivity|].
  cbn [map] in E.
  assert (E1 : normal_layer l = normal_layer l') by congruence.
  assert (E2 : map normal_layer ls = map normal_layer ls') by congruence.
  pose proof (run_normal P N l X) as R. rewrite E1, run_normal in R.
  unfold Transformer.softmax_run, Transformer.run. cbn [map fold_left]. fold (softly P).
  change (fold_left (Transformer.run_layer (softly P) N) (map real_layer ls)
    (Transformer.run_layer (softly P) N X (real_layer l))
    = fold_left (Transformer.run_layer (softly P) N) (map real_layer ls')
      (Transformer.run_layer (softly P) N X (real_layer l'))).
  rewrite R. exact (IH ls' E2 _).
Qed.

Lemma decide_same o o' x : normal_readout o = normal_readout o' -> decide o x = decide o' x.
Proof.
  intros E. injection E as Er Eo. unfold decide.
  rewrite <- (dot_normal (row o)), <- (dot_normal (row o')), Er.
  rewrite <- (Qeq_eqR _ _ (Qred_correct (offset o))), <- (Qeq_eqR _ _ (Qred_correct (offset o'))),
    Eo. reflexivity.
Qed.

(** * The check *)

Definition layer_eq (a b : layer) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition readout_eq (a b : readout) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

(* A scheduled program, and a model that claims to be its weights. *)
Record claim := Claim {
  signals : program; symbols : nat; scales : bool; ends : bool; start : layout; plans : list plan;
  results : list result; layers : list layer; readouts : list readout }.

Definition checked (m : claim) : bool :=
  match lower (signals m) (symbols m) (scales m) (ends m) 4 (start m) (plans m) (results m) with
  | Some (ls, os) =>
      (if list_eq_dec layer_eq (map normal_layer ls) (map normal_layer (layers m)) then true
        else false)
      && (if list_eq_dec readout_eq (map normal_readout os) (map normal_readout (readouts m))
        then true else false)
  | None => false
  end.

(* A model that passes decides every output rightly, with margin 1/4, at every position of every
   word: unbounded positions with P = 1 or any colder, temperature scaling with any P > n. *)
Theorem checked_right m : checked m = true ->
  forall n P w v, 0 < P -> (if scales m then INR n + 1 <= P else 1 <= P) ->
    computes n w v (signals m) ->
  readable n v (signals m) -> (forall i, (1 <= i <= n)%nat -> (symbol w i < symbols m)%nat) ->
  forall i k r o, (1 <= i <= n)%nat -> nth_error (results m) k = Some r ->
    nth_error (readouts m) k = Some o ->
  let x := Transformer.softmax_run P (S (last (ends m) n)) (map real_layer (layers m))
    (embed (signals m) n P w (start m)) i in
  if lit v (literal_of r) i then 1 / 4 <= decide o x else decide o x <= - 1 / 4.
Proof.
  intros Ok n P w v HP Hn Hv Hr Hw i k r o Hi Nr No. unfold checked in Ok.
  destruct (lower _ _ _ _ 4 _ _ _) as [[ls os]|] eqn:E; [|discriminate].
  destruct (list_eq_dec layer_eq _ _) as [El|]; [|discriminate].
  destruct (list_eq_dec readout_eq _ _) as [Eo|]; [|discriminate].
  assert (So : exists o', nth_error os k = Some o' /\ normal_readout o' = normal_readout o).
  { assert (M : nth_error (map normal_readout os) k = Some (normal_readout o))
      by (rewrite Eo; apply map_nth_error, No).
    rewrite nth_error_map in M. destruct (nth_error os k) as [o'|]; [|discriminate]. exists o'.
    split; [reflexivity|]. unfold normal_readout in *. cbn [option_map] in M. congruence. }
  destruct So as (o' & No' & Eo'). rewrite <- (runs_same P _ _ _ El). cbv zeta.
  rewrite <- (decide_same _ _ _ Eo').
  apply (lowered (signals m) (symbols m) (scales m) (ends m) 4 n P w v)
    with (ps := plans m) (rs := results m) (outs := os) (k := k);
    try assumption.
  - unfold Q2R. simpl. lra.
  - intros F. rewrite F in Hn. exact Hn.
  - intros F. rewrite F in Hn. exact Hn.
Qed.
