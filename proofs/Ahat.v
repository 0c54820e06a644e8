(** Simulations: for every hard-attention transformer with rational weights, average-hard with ties,
    leftmost or rightmost, and every length a temperature law at which softmax is within ε of it, on
    every word. The law is computed from the weights alone:

    D_0 = d·n^8·L,  D_(l+1) = d^4·L·D_l        every exact value before layer l is over D_l
    γ_l = 1/(d·D_l)^2                          so every gap is at least this
    M_0 = s·(n+1)^2, M_(l+1) = s^3·(1 + M_l)   and every value is at most M_l

    with d a common denominator of the weights, L = lcm(1..N), N positions (sinks included) and s
    the sum of all absolute weights, plus 2. No evidence is needed: the walk is the proof. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith NArith QArith Qreals List Bool.
From Softhat Require Import Sums Attention Gates Masks Ties Transformer Errors Unique EveryLength
  Gaps.
Import ListNotations.
Open Scope R_scope.

(** * How a head breaks ties *)

(* A row whose query and key are empty adds 0 to every score. A head without one takes the mean
   of all maxima; with one the leftmost of them, with more the rightmost. *)
Definition blank (qk : form * form) : bool := match qk with ([], []) => true | _ => false end.
Definition ties_of (h : head) : option side :=
  match filter blank (rows h) with [] => None | [_] => Some Leftmost | _ => Some Rightmost end.
(* Leftmost and rightmost heads: softmax of β·s_j ± ln(β)·j. *)
Definition slope_of (h : head) : R := ln (cold h).
Notation hardly := (hardly ties_of).
Notation softly := (softly ties_of slope_of).

(** * Every value over one denominator *)

Definition all_over (D : Z) (n : nat) (x : stream) : Prop := forall i c, (i < n)%nat ->
  over D (x i c).
Definition form_over (d : Z) (l : form) : Prop := forall c a, In (c, a) l -> over d a.

Record layer_over (d : Z) (l : layer) : Prop := {
  o_rows : forall h qk, In h (heads l) -> In qk (rows h) -> form_over d (fst qk) /\
    form_over d (snd qk);
  o_values : forall h vo, In h (heads l) -> In vo (values h) -> form_over d (fst vo) /\
    form_over d (snd vo);
  o_units : forall u, In u (units l) -> form_over d (input u) /\ form_over d (output u) /\
    over d (bias u);
  o_shift : form_over d (shift l) }.

Lemma dot_over d D l x : form_over d l -> (forall c, over D (x c)) -> over (d * D) (dot l x).
Proof.
  induction l as [|[c a] l IH]; intros F X; simpl; [apply over_0|].
  apply over_plus; [|apply IH; [intros e b I; apply (F e b); right; exact I|exact X]].
  apply over_mult; [apply (F c a); left; reflexivity|apply X].
Qed.

Lemma coef_over' d l c : form_over d l -> over d (coef l c).
Proof.
  induction l as [|[e a] l IH]; intros F; simpl; [apply over_0|].
  apply over_plus; [|apply IH; intros e' b I; apply (F e' b); right; exact I].
  destruct (Nat.eqb c e); [apply (F e a); left; reflexivity|apply over_0].
Qed.

Lemma tops_count m s n : (0 < n)%nat ->
  (forall v, hard m s v n = 0) \/
  exists k, (1 <= k <= Z.of_nat n)%Z /\ sum (fun j => if top m s n j then 1 else 0) n = IZR k.
Proof.
  intros Hn.
  assert (C : forall q, exists k, (0 <= k <= Z.of_nat q)%Z /\
    sum (fun j => if top m s n j then 1 else 0) q = IZR k /\
    (k = 0%Z -> forall j, (j < q)%nat -> top m s n j = false)).
  { induction q as [|q (k & B & E & Z0)]; [exists 0%Z; repeat split; try lia; reflexivity|].
    simpl. rewrite E. destruct (top m s n q) eqn:T.
    - exists (k + 1)%Z. rewrite plus_IZR. repeat split; try lia; lra.
    - exists k. repeat split; try lia; [lra|]. intros K j Hj.
      destruct (Nat.eq_dec j q) as [->|]; [exact T|apply Z0; [exact K|lia]]. }
  destruct (C n) as (k & B & E & Z0). destruct (Z.eq_dec k 0) as [K|K].
  - left. intros v. unfold hard. replace (sum (fun j => if top m s n j then v j else 0) n) with 0;
      [lra|].
    assert (X : forall q, (q <= n)%nat -> sum (fun j => if top m s n j then v j else 0) q = 0).
    { induction q as [|q IH]; intros L; [reflexivity|]. simpl. rewrite IH by lia.
      rewrite (Z0 K q) by lia. lra. }
    symmetry. apply X. lia.
  - right. exists k. split; [lia|exact E].
Qed.

Lemma hard_over D n m s v : (0 < n)%nat -> (forall j, (j < n)%nat -> over D (v j)) ->
  over (D * lcm_to n) (hard m s v n).
Proof.
  intros Hn H. destruct (tops_count m s n Hn) as [Z0|(k & B & E)]; [rewrite Z0; apply over_0|].
  eapply over_divide; [apply (mean_over n m s v D k ltac:(lia) H E)|].
  destruct (lcm_to_divide k n ltac:(lia)) as [y ->]. exists y. ring.
Qed.

(* a leftmost or rightmost head returns one value, or nothing *)
Lemma unique_cases t m s n :
  (forall v, unique t m s v n = 0) \/ exists p, (p < n)%nat /\ forall v, unique t m s v n = v p.
Proof.
  destruct (first_of t (top m s n) n) as [(p & Hp & T & A)|N].
  - right. exists p. split; [exact Hp|]. intros v. apply unique_value; [exact Hp|].
    apply chosen_spec. split; assumption.
  - left. intros v. unfold unique. rewrite (sum_ext _ (fun _ => 0)); [rewrite sum_const; lra|].
    intros j Hj. unfold chosen. rewrite (N j Hj). reflexivity.
Qed.

Lemma hardly_over D n h m s v : (0 < n)%nat -> (forall j, (j < n)%nat -> over D (v j)) ->
  over (D * lcm_to n) (hardly h m s v n).
Proof.
  intros Hn H. unfold EveryLength.hardly. destruct (ties_of h) as [t|];
    [|apply hard_over; assumption].
  destruct (unique_cases t m s n) as [Z0|(p & Hp & E)]; [rewrite Z0; apply over_0|]. rewrite E.
  eapply over_divide; [apply H, Hp|]. exists (lcm_to n). ring.
Qed.

Theorem layer_over_step d D n l x : (0 < n)%nat -> layer_over d l -> all_over D n x ->
  all_over (d * d * d * d * lcm_to n * D) n (run_layer hardly n x l).
Proof.
  intros Hn [Or Ov Ou Os] H.
  assert (A : all_over (d * d * lcm_to n * D) n (attended hardly n (heads l) x)).
  { intros i c Hi. unfold attended. apply over_plus.
    - eapply over_divide; [apply H, Hi|]. exists (d * d * lcm_to n)%Z. ring.
    - apply over_lsum. intros h Ih. apply over_lsum. intros vo Iv.
      destruct (Ov h vo Ih Iv) as [V O].
      replace (d * d * lcm_to n * D)%Z with (d * D * lcm_to n * d)%Z by ring.
      apply over_mult; [|apply coef_over', O]. unfold read. apply hardly_over; [exact Hn|].
      intros j Hj. apply dot_over; [exact V|]. intros e. apply H, Hj. }
  intros i c Hi. unfold run_layer, fed. apply over_plus.
  - eapply over_divide; [apply A, Hi|]. exists (d * d)%Z. ring.
  - apply over_plus.
    + eapply over_divide; [apply coef_over', Os|]. exists (d * d * d * lcm_to n * D)%Z. ring.
    + apply over_lsum. intros u Iu. destruct (Ou u Iu) as (Oi & Oo & Ob).
      replace (d * d * d * d * lcm_to n * D)%Z with (d * (d * d * lcm_to n * D) * d)%Z by ring.
      apply over_mult; [|apply coef_over', Oo]. apply over_relu, over_plus.
      * apply dot_over; [exact Oi|]. intros e. apply A, Hi.
      * eapply over_divide; [exact Ob|]. exists (d * d * lcm_to n * D)%Z. ring.
Qed.

Lemma score_over d D r x y : (forall qk, In qk r -> form_over d (fst qk) /\ form_over d (snd qk)) ->
  (forall c, over D (x c)) -> (forall c, over D (y c)) -> over (d * D * (d * D)) (score r x y).
Proof.
  intros F X Y. induction r as [|[q k] r IH]; simpl; [apply over_0|].
  destruct (F (q, k) (or_introl eq_refl)) as [Fq Fk]. apply over_plus.
  - apply over_mult; apply dot_over; assumption.
  - apply IH. intros qk I. apply F. right. exact I.
Qed.

Theorem gap_over d D n h x i j p : (0 < d)%Z -> (0 < D)%Z ->
  (forall qk, In qk (rows h) -> form_over d (fst qk) /\ form_over d (snd qk)) ->
  all_over D n x -> (i < n)%nat -> (j < n)%nat -> (p < n)%nat ->
  score (rows h) (x i) (x j) < score (rows h) (x i) (x p) ->
  1 / IZR (d * D * (d * D)) <= score (rows h) (x i) (x p) - score (rows h) (x i) (x j).
Proof.
  intros Hd HD F H Hi Hj Hp L. rewrite <- (Rabs_pos_eq (_ - _)) by lra.
  apply denominators; [nia| |lra].
  apply over_minus; apply score_over; try exact F; intros c; apply H; assumption.
Qed.

(** * Every value bounded *)

Definition all_within (M : R) (n : nat) (x : stream) : Prop :=
  forall i c, (i < n)%nat -> Rabs (x i c) <= M.

Lemma dot_bound l x M : (forall c, Rabs (x c) <= M) -> Rabs (dot l x) <= norm l * M.
Proof.
  intros H. induction l as [|[c a] l IH]; [cbn; rewrite Rabs_R0; lra|].
  cbn [dot]. unfold norm in *. cbn [lsum fold_right snd].
  fold (lsum (fun q : nat * R => Rabs (snd q)) l).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  pose proof (Rmult_le_compat_l (Rabs a) _ _ (Rabs_pos a) (H c)). lra.
Qed.

Lemma coef_bound l c : Rabs (coef l c) <= norm l.
Proof.
  induction l as [|[e a] l IH]; [cbn; rewrite Rabs_R0; lra|]. cbn [coef].
  unfold norm in *. cbn [lsum fold_right snd]. fold (lsum (fun q : nat * R => Rabs (snd q)) l).
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_pos a).
  destruct (Nat.eqb c e); [lra|rewrite Rabs_R0; lra].
Qed.

Lemma hard_bound m s v n M : (0 < n)%nat -> 0 <= M -> (forall j, (j < n)%nat -> Rabs (v j) <= M) ->
  Rabs (hard m s v n) <= M.
Proof.
  intros Hn HM H. destruct (tops_count m s n Hn) as [Z0|(k & B & E)];
    [rewrite Z0, Rabs_R0; exact HM|].
  unfold hard. rewrite E. assert (K : 1 <= IZR k) by (apply IZR_le; lia).
  assert (S : forall q, (q <= n)%nat -> Rabs (sum (fun j => if top m s n j then v j else 0) q)
              <= M * sum (fun j => if top m s n j then 1 else 0) q).
  { induction q as [|q IH]; intros L; [simpl; rewrite Rabs_R0; lra|]. simpl.
    eapply Rle_trans; [apply Rabs_triang|]. specialize (IH ltac:(lia)). specialize (H q ltac:(lia)).
    destruct (top m s n q); [lra|rewrite Rabs_R0; lra]. }
  specialize (S n (le_n n)). rewrite E in S. unfold Rdiv.
  rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (IZR k)) by lra.
  apply Rmult_le_reg_r with (IZR k); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma hardly_bound h m s v n M : (0 < n)%nat -> 0 <= M ->
  (forall j, (j < n)%nat -> Rabs (v j) <= M) ->
  Rabs (hardly h m s v n) <= M.
Proof.
  intros Hn HM H. unfold EveryLength.hardly. destruct (ties_of h) as [t|];
    [|apply hard_bound; assumption].
  destruct (unique_cases t m s n) as [Z0|(p & Hp & E)]; [rewrite Z0, Rabs_R0; exact HM|].
  rewrite E. apply H, Hp.
Qed.

(* what a layer can do with values of size M *)
Definition copies (l : layer) : R :=
  lsum (fun h => lsum (fun vo => norm (fst vo) * norm (snd vo)) (values h)) (heads l).
Definition stretches (l : layer) :
  R := 1 + lsum (fun u => norm (input u) * norm (output u)) (units l).
Definition biases (l : layer) :
  R := norm (shift l) + lsum (fun u => Rabs (bias u) * norm (output u)) (units l).
Definition sees_of (M : R) (h : head) : R :=
  lsum (fun qk => norm (fst qk) * (norm (snd qk) * (2 * M))
                  + (norm (fst qk) * M + norm (fst qk)) * (2 * norm (snd qk))) (rows h).
Definition after (M : R) (l : layer) : R := M * (1 + copies l) * stretches l + biases l.

Lemma copies_nonneg l : 0 <= copies l.
Proof.
  apply lsum_nonneg. intros h _. apply lsum_nonneg. intros vo _.
  apply Rmult_le_pos; apply norm_nonneg.
Qed.
Lemma stretches_one l : 1 <= stretches l.
Proof.
  unfold stretches. pose proof (lsum_nonneg (fun u => norm (input u) * norm (output u)) (units l)
    (fun u _ => Rmult_le_pos _ _ (norm_nonneg _) (norm_nonneg _))). lra.
Qed.
Lemma biases_nonneg l : 0 <= biases l.
Proof.
  unfold biases. pose proof (norm_nonneg (shift l)).
  pose proof (lsum_nonneg (fun u => Rabs (bias u) * norm (output u)) (units l)
    (fun u _ => Rmult_le_pos _ _ (Rabs_pos _) (norm_nonneg _))). lra.
Qed.
Lemma sees_nonneg M h : 0 <= M -> 0 <= sees_of M h.
Proof.
  intros HM. apply lsum_nonneg. intros qk _. pose proof (norm_nonneg (fst qk)).
  pose proof (norm_nonneg (snd qk)).
  assert (0 <= norm (fst qk) * norm (snd qk)) by (apply Rmult_le_pos; assumption). nra.
Qed.
Lemma after_nonneg M l : 0 <= M -> 0 <= after M l.
Proof.
  intros HM. unfold after. pose proof (copies_nonneg l). pose proof (stretches_one l).
  pose proof (biases_nonneg l).
  assert (0 <= M * (1 + copies l)) by (apply Rmult_le_pos; lra).
  assert (0 <= M * (1 + copies l) * stretches l) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma relu_bound x : Rabs (relu x) <= Rabs x.
Proof. unfold relu, Rmax. destruct (Rle_dec 0 x); [lra|rewrite Rabs_R0; apply Rabs_pos]. Qed.

Theorem layer_bound M n l x : (0 < n)%nat -> 0 <= M -> all_within M n x ->
  all_within (after M l) n (run_layer hardly n x l).
Proof.
  intros Hn HM H. pose proof (copies_nonneg l) as Cn.
  assert (A : all_within (M * (1 + copies l)) n (attended hardly n (heads l) x)).
  { intros i c Hi. unfold attended. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rmult_plus_distr_l, Rmult_1_r. apply Rplus_le_compat; [apply H, Hi|].
    eapply Rle_trans; [apply lsum_abs|]. unfold copies. rewrite <- lsum_scal. apply lsum_le.
    intros h _.
    eapply Rle_trans; [apply lsum_abs|]. rewrite <- lsum_scal. apply lsum_le. intros vo _.
    rewrite Rabs_mult.
    assert (R : Rabs (read hardly n h (fst vo) x i) <= norm (fst vo) * M).
    { unfold read. apply hardly_bound; [exact Hn| |].
      - apply Rmult_le_pos; [apply norm_nonneg|exact HM].
      - intros j Hj. apply dot_bound. intros e. apply H, Hj. }
    pose proof (coef_bound (snd vo) c). pose proof (Rabs_pos (coef (snd vo) c)).
    pose proof (Rabs_pos (read hardly n h (fst vo) x i)).
    apply Rle_trans with (norm (fst vo) * M * norm (snd vo)); [|lra].
    apply Rmult_le_compat; assumption. }
  set (M1 := M * (1 + copies l)) in *. assert (H1 : 0 <= M1) by (apply Rmult_le_pos; lra).
  intros i c Hi. unfold run_layer, fed. eapply Rle_trans; [apply Rabs_triang|].
  assert (E : after M l = M1 + (norm (shift l)
    + lsum (fun u => (norm (input u) * M1 + Rabs (bias u)) * norm (output u)) (units l))).
  { unfold after, stretches, biases. fold M1.
    replace (lsum (fun u => (norm (input u) * M1 + Rabs (bias u)) * norm (output u)) (units l))
      with (M1 * lsum (fun u => norm (input u) * norm (output u)) (units l)
            + lsum (fun u => Rabs (bias u) * norm (output u)) (units l)); [ring|].
    rewrite <- lsum_scal, lsum_plus. apply lsum_ext. intros u _. ring. }
  rewrite E. apply Rplus_le_compat; [apply A, Hi|].
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [apply coef_bound|].
  eapply Rle_trans; [apply lsum_abs|]. apply lsum_le. intros u _. rewrite Rabs_mult.
  assert (B : Rabs (dot (input u) (attended hardly n (heads l) x i) + bias u)
              <= norm (input u) * M1 + Rabs (bias u)).
  { eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r, dot_bound. intros e.
    apply A, Hi. }
  pose proof (relu_bound (dot (input u) (attended hardly n (heads l) x i) + bias u)).
  apply Rmult_le_compat; try apply Rabs_pos; [lra|apply coef_bound].
Qed.

(** * The law *)

Definition cooled (beta : R) (l : layer) : layer :=
  Layer (map (fun h => Head (rows h) (sees h) (values h) beta false) (heads l)) (units l) (shift l).

Definition constants_of (d D : Z) (M : R) (l : layer) : constants :=
  Constants (1 / IZR (d * D * (d * D))) (1 + lsum (sees_of M) (heads l)) (copies l)
    (1 + copies l * (2 * M)) (stretches l).
Definition facts_of (n : nat) (d D : Z) (M : R) : facts :=
  Facts (fun q => norm q * M) (fun k => norm k * (2 * M))
    (fun h => misplaces ties_of slope_of n h (1 / IZR (d * D * (d * D))) true).
Definition deeper (n : nat) (d D : Z) : Z := (d * d * d * d * lcm_to n * D)%Z.

(* a closed form that is cold enough for leftmost and rightmost heads, too *)
Definition root_law (n : nat) (k : constants) (tau : R) : R :=
  (2 * INR n + 2 + ln (1 + 2 * stretch k * spread k * INR n / tau)
   + 4 * exp 1 * (stretch k * spread k) / tau) / Rmin 1 (gap k).
Definition unique_law (n : nat) (k : constants) (tau : R) :
  R := root_law n k tau * root_law n k tau.
Definition averages (l : layer) : bool :=
  forallb (fun h => match ties_of h with None => true | Some _ => false end) (heads l).
Definition layer_law (n : nat) (l : layer) (k : constants) (tau : R) : R :=
  if averages l then beta_law n k tau else unique_law n k tau.

Lemma root_law_large n k tau : (0 < n)%nat -> ok k -> 0 < tau ->
  let L := ln (1 + 2 * stretch k * spread k * INR n / tau) in
  let X := 4 * exp 1 * (stretch k * spread k) / tau in
  0 < L /\ 0 < X /\ 2 * INR n + 2 + L + X <= root_law n k tau /\
  2 * INR n + 2 + L + X <= root_law n k tau * gap k.
Proof.
  intros Hn (G & K & V & W & F) Ht L X. unfold root_law. fold L X.
  assert (Pn : 1 <= INR n) by (apply (le_INR 1); lia). pose proof (exp_pos 1) as E1.
  assert (FW : 0 < stretch k * spread k) by nra.
  assert (HX : 0 < X) by (unfold X; apply Rdiv_lt_0_compat; nra).
  assert (HL : 0 < L).
  { unfold L. rewrite <- ln_1. apply ln_increasing; [lra|].
    assert (0 < 2 * stretch k * spread k * INR n / tau) by (apply Rdiv_lt_0_compat; nra). lra. }
  set (S := 2 * INR n + 2 + L + X). assert (HS : 0 < S) by (unfold S; lra).
  assert (Gm : 0 < Rmin 1 (gap k)) by (apply Rmin_glb_lt; lra).
  pose proof (Rmin_l 1 (gap k)). pose proof (Rmin_r 1 (gap k)).
  assert (Q : S / Rmin 1 (gap k) * Rmin 1 (gap k) = S) by (field; lra).
  assert (Q0 : 0 < S / Rmin 1 (gap k)) by (apply Rdiv_lt_0_compat; lra).
  repeat split; try assumption; nra.
Qed.

Lemma unique_law_cold n k tau : (0 < n)%nat -> ok k -> 0 < tau ->
  let beta := unique_law n k tau in
  1 < beta /\ stretch k * spread k * exp 1 * (exp (- ln beta) / (1 - exp (- ln beta))) <= tau / 4 /\
  1 + ln beta * INR n + ln (2 * stretch k * spread k * INR n / tau) <= beta * gap k.
Proof.
  intros Hn O Ht beta. destruct (root_law_large n k tau Hn O Ht) as (HL & HX & R1 & R2).
  destruct O as (G & K & V & W & F). unfold unique_law in beta.
  set (r := root_law n k tau) in *. set (L := ln (1 + 2 * stretch k * spread k * INR n / tau)) in *.
  set (X := 4 * exp 1 * (stretch k * spread k) / tau) in *.
  assert (Pn : 1 <= INR n) by (apply (le_INR 1); lia).
  assert (FW : 0 < stretch k * spread k) by nra.
  pose proof (exp_pos 1) as E1. assert (B : 1 + X < beta) by (unfold beta; nra).
  split; [lra|]. split.
  - rewrite exp_Ropp, exp_ln by lra.
    replace (/ beta / (1 - / beta)) with (/ (beta - 1)) by (field; lra).
    assert (/ (beta - 1) <= / X) by (apply Rinv_le_contravar; lra).
    apply Rle_trans with (stretch k * spread k * exp 1 * / X); [apply Rmult_le_compat_l; nra|].
    unfold X. right. field. repeat split; lra.
  - assert (Lr : ln beta <= 2 * r).
    { unfold beta. rewrite ln_mult by lra. pose proof (exp_ineq1_le (ln r)) as E.
      rewrite exp_ln in E by lra. lra. }
    assert (La : ln (2 * stretch k * spread k * INR n / tau) <= L).
    { unfold L. assert (0 < 2 * stretch k * spread k * INR n / tau) by (apply Rdiv_lt_0_compat;
        nra).
      left. apply ln_increasing; lra. }
    unfold beta in *. nra.
Qed.

Lemma layer_law_cold n l k tau : (0 < n)%nat -> ok k -> 0 < tau ->
  let beta := layer_law n l k tau in
  0 < beta /\ 1 + ln (2 * stretch k * spread k * INR n / tau) <= beta * gap k /\
  forall h t, In h (heads l) -> ties_of h = Some t ->
    0 < ln beta /\ stretch k * spread k * exp 1 * (exp (- ln beta) / (1 - exp (- ln beta)))
      <= tau / 4 /\
    1 + ln beta * INR n + ln (2 * stretch k * spread k * INR n / tau) <= beta * gap k.
Proof.
  intros Hn O Ht beta. unfold layer_law in beta. destruct (averages l) eqn:A.
  - destruct (beta_law_cold n k tau Hn O Ht) as [B1 B2]. split; [exact B1|]. split; [exact B2|].
    intros h t Ih T. unfold averages in A. rewrite forallb_forall in A. specialize (A h Ih).
    rewrite T in A. discriminate.
  - destruct (unique_law_cold n k tau Hn O Ht) as (B1 & B2 & B3). fold beta in B1, B2, B3.
    assert (P : 0 < ln beta) by (rewrite <- ln_1; apply ln_increasing; lra).
    assert (Pn : 1 <= INR n) by (apply (le_INR 1); lia).
    split; [lra|]. split; [nra|]. intros h t _ _. repeat split; assumption.
Qed.

(* each layer's temperature allows what the layers after it need *)
Fixpoint stages (n : nat) (d : Z) (ls : list layer) (D : Z) (M eps : R) : list stage :=
  match ls with
  | [] => []
  | l :: ls =>
      let rest := stages n d ls (deeper n d D) (after M l) eps in
      let k := constants_of d D M l in
      let beta := layer_law n l k (tolerance rest eps) in
      Stage (cooled beta l) (facts_of n d D M) k beta :: rest
  end.

Lemma lsum_in {A} (f : A -> R) l a : (forall b, In b l -> 0 <= f b) -> In a l -> f a <= lsum f l.
Proof.
  induction l as [|b l IH]; intros P I; [destruct I|]. simpl.
  pose proof (lsum_nonneg f l (fun c J => P c (or_intror J))).
  destruct I as [->|I]; [lra|]. pose proof (P b (or_introl eq_refl)).
  specialize (IH (fun c J => P c (or_intror J)) I). lra.
Qed.

Lemma constants_ok d D M l : (0 < d)%Z -> (0 < D)%Z -> 0 <= M -> ok (constants_of d D M l).
Proof.
  intros Hd HD HM. unfold ok, constants_of. cbn [gap seen copied spread stretch].
  assert (0 < IZR (d * D * (d * D))) by (apply IZR_lt; nia).
  pose proof (copies_nonneg l). pose proof (stretches_one l).
  pose proof (lsum_nonneg (sees_of M) (heads l) (fun h _ => sees_nonneg M h HM)).
  assert (0 <= copies l * (2 * M)) by (apply Rmult_le_pos; lra).
  repeat split; try lra. apply Rdiv_lt_0_compat; lra.
Qed.

Lemma layer_bounded n d D M beta l : (0 < d)%Z -> (0 < D)%Z -> 0 <= M ->
  bounded (facts_of n d D M) (cooled beta l) (constants_of d D M l).
Proof.
  intros Hd HD HM.
  split; cbn [constants_of facts_of cooled heads units shift gap seen copied spread stretch size
    range misplaced].
  - intros h Ih. apply in_map_iff in Ih as (h0 & <- & I0). cbn [rows].
    pose proof (lsum_in (sees_of M) (heads l) h0 (fun b _ => sees_nonneg M b HM) I0).
    unfold sees_of in *. lra.
  - intros h qk _ _. pose proof (norm_nonneg (fst qk)). pose proof (norm_nonneg (snd qk)).
    split; [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra].
  - intros h vo _ _. pose proof (norm_nonneg (fst vo)). apply Rmult_le_pos; lra.
  - intros c. rewrite lsum_map. cbn [values]. apply lsum_le. intros h _. apply lsum_le. intros vo _.
    apply Rmult_le_compat_l; [apply norm_nonneg|apply coef_bound].
  - intros c. rewrite lsum_map. cbn [values].
    apply Rle_trans with (2 * M * copies l); [|lra].
    unfold copies. rewrite <- lsum_scal. apply lsum_le. intros h _. rewrite <- lsum_scal.
    apply lsum_le. intros vo _.
    pose proof (norm_nonneg (fst vo)). pose proof (coef_bound (snd vo) c).
    pose proof (Rabs_pos (coef (snd vo) c)).
    assert (0 <= norm (fst vo) * (2 * M)) by (apply Rmult_le_pos; lra).
    apply Rle_trans with (norm (fst vo) * (2 * M) * norm (snd vo)); [|lra].
    apply Rmult_le_compat_l; assumption.
  - intros c. unfold stretches. apply Rplus_le_compat_l, lsum_le. intros u _.
    apply Rmult_le_compat_l; [apply norm_nonneg|apply coef_bound].
Qed.

Lemma stages_lawful n d ls : (0 < n)%nat -> (0 < d)%Z -> forall D M eps, (0 < D)%Z -> 0 <= M ->
  0 < eps ->
  lawful (stages n d ls D M eps) eps.
Proof.
  intros Hn Hd. induction ls as [|l ls IH]; intros D M eps HD HM He; [exact I|].
  cbn [stages lawful].
  assert (HD' : (0 < deeper n d D)%Z) by (unfold deeper; pose proof (lcm_to_pos n); nia).
  pose proof (IH (deeper n d D) (after M l) eps HD' (after_nonneg M l HM) He) as L.
  pose proof (tolerance_pos _ eps He L) as T. pose proof (constants_ok d D M l Hd HD HM) as O.
  destruct (layer_law_cold n l (constants_of d D M l) _ Hn O T) as (B1 & B2 & B3).
  cbn [constant fact weights inverse]. split; [exact O|]. split; [apply layer_bounded; assumption|].
  split; [exact B1|]. split; [|exact L]. intros h Ih. cbn [facts_of misplaced].
  cbn [cooled heads] in Ih. apply in_map_iff in Ih as (h0 & <- & I0). unfold misplaces, slope_of.
  change (ties_of (Head (rows h0) (sees h0) (values h0) ?b ?t)) with (ties_of h0).
  cbn [cold]. destruct (ties_of h0) as [t|] eqn:Ti.
  - destruct (B3 h0 t I0 Ti) as (C1 & C2 & C3). apply unique_cold; try assumption. apply Rle_refl.
  - apply mean_cold; try assumption. apply Rle_refl.
Qed.

Lemma stages_truthful n d ls : (0 < n)%nat -> (0 < d)%Z -> (forall l, In l ls -> layer_over d l) ->
  forall D M eps x, (0 < D)%Z -> 0 <= M -> 0 < eps -> all_over D n x -> all_within M n x ->
  truthful ties_of slope_of n (stages n d ls D M eps) x.
Proof.
  intros Hn Hd. induction ls as [|l ls IH]; intros Ol D M eps x HD HM He Ho Hw; [exact I|].
  cbn [stages truthful weights fact]. set (rest := stages n d ls (deeper n d D) (after M l) eps).
  assert (HD' : (0 < deeper n d D)%Z) by (unfold deeper; pose proof (lcm_to_pos n); nia).
  pose proof (stages_lawful n d ls Hn Hd (deeper n d D) (after M l) eps HD' (after_nonneg M l HM)
    He) as L.
  pose proof (tolerance_pos _ eps He L) as T. fold rest in T.
  pose proof (constants_ok d D M l Hd HD HM) as O.
  destruct (layer_law_cold n l (constants_of d D M l) _ Hn O T) as (B1 & _ & B3).
  set (beta := layer_law n l (constants_of d D M l) (tolerance rest eps)) in *.
  pose proof (Ol l (or_introl eq_refl)) as Wl. split.
  - intros h Ih. cbn [cooled heads] in Ih. apply in_map_iff in Ih as (h0 & <- & I0).
    apply (hard_head ties_of slope_of n _ x _ (1 / IZR (d * D * (d * D))) true);
      cbn [rows sees values cold facts_of size range misplaced].
    + exact Hn.
    + lra.
    + intros t Ti. exact (proj1 (B3 h0 t I0 Ti)).
    + intros qk i _ Hi. apply dot_bound. intros c. apply Hw, Hi.
    + intros qk i j k _ Hi Hj Hk _ _.
      replace (norm (snd qk) * (2 * M)) with (norm (snd qk) * M + norm (snd qk) * M) by ring.
      unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
      apply Rplus_le_compat; apply dot_bound; intros c; apply Hw; assumption.
    + intros qk _. pose proof (norm_nonneg (fst qk)). pose proof (norm_nonneg (snd qk)).
      split; apply Rmult_le_pos; lra.
    + intros vo i j k _ Hi Hj Hk _ _.
      pose proof (dot_bound (fst vo) (x j) M (fun c => Hw j c Hj)) as Bj.
      pose proof (dot_bound (fst vo) (x k) M (fun c => Hw k c Hk)) as Bk.
      pose proof (Rle_abs (dot (fst vo) (x j))). pose proof (Rle_abs (- dot (fst vo) (x k))) as X.
      rewrite Rabs_Ropp in X. lra.
    + intros vo _. pose proof (norm_nonneg (fst vo)). apply Rmult_le_pos; lra.
    + intros i j p Hi Hj Hp _ Tp Ls. apply (gap_over d D n h0 x i j p Hd HD); try assumption.
      intros qk Iq. apply (o_rows d l Wl h0 qk I0 Iq).
    + discriminate.
    + reflexivity.
  - assert (Same : forall X, run_layer hardly n X (cooled beta l) = run_layer hardly n X l).
    { intros X. unfold run_layer. cbn [cooled heads units shift]. f_equal.
      unfold attended. apply FunctionalExtensionality.functional_extensionality. intros i.
      apply FunctionalExtensionality.functional_extensionality. intros c. rewrite lsum_map.
      reflexivity. }
    rewrite Same. apply IH; try assumption.
    + intros l' I'. apply Ol. right. exact I'.
    + apply after_nonneg, HM.
    + apply layer_over_step; assumption.
    + apply layer_bound; assumption.
Qed.

Lemma stages_hard n d ls : forall D M eps x,
  run hardly n (map weights (stages n d ls D M eps)) x = run hardly n ls x.
Proof.
  induction ls as [|l ls IH]; intros D M eps x; [reflexivity|]. cbn [stages map weights].
  unfold run in *. cbn [fold_left]. rewrite <- (IH (deeper n d D) (after M l) eps). f_equal.
  unfold run_layer. cbn [cooled heads units shift]. f_equal.
  unfold attended. apply FunctionalExtensionality.functional_extensionality. intros i.
  apply FunctionalExtensionality.functional_extensionality. intros c. rewrite lsum_map. reflexivity.
Qed.

(* inverse temperatures, layer by layer *)
Definition law (n : nat) (d : Z) (ls : list layer) (D : Z) (M eps : R) : list R :=
  map inverse (stages n d ls D M eps).
Definition at_law (betas : list R) (ls : list layer) : list layer :=
  map (fun bl => cooled (fst bl) (snd bl)) (combine betas ls).

Lemma stages_soft n d ls : forall D M eps,
  map weights (stages n d ls D M eps) = at_law (law n d ls D M eps) ls.
Proof.
  induction ls as [|l ls IH]; intros D M eps; [reflexivity|].
  cbn [stages map weights law at_law combine inverse].
  unfold at_law, law in IH. cbn [map fst snd]. rewrite IH. reflexivity.
Qed.

(* The exact walk as a theorem: softmax at the law is within eps of hard attention. *)
Theorem simulated n d ls D M eps x : (0 < n)%nat -> (0 < d)%Z -> (0 < D)%Z -> 0 <= M -> 0 < eps ->
  (forall l, In l ls -> layer_over d l) -> all_over D n x -> all_within M n x ->
  forall i c, (i < n)%nat ->
  Rabs (run softly n (at_law (law n d ls D M eps) ls) x i c - run hardly n ls x i c) <= eps.
Proof.
  intros Hn Hd HD HM He Ol Ho Hw i c Hi.
  pose proof (same_input ties_of slope_of n (stages n d ls D M eps) eps x He
    (stages_lawful n d ls Hn Hd D M eps HD HM He)
    (stages_truthful n d ls Hn Hd Ol D M eps x HD HM He Ho Hw) i c Hi) as T.
  rewrite stages_hard, stages_soft in T. exact T.
Qed.
