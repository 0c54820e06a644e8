(** Simulations: for every hard-attention transformer with rational weights, average-hard with ties,
    and every length a temperature law at which softmax is within ε of it, on every word. The law is
    computed from the weights alone:

    D_0 = d·n^8·L,  D_(l+1) = d^4·L·D_l        every exact value before layer l is over D_l
    γ_l = 1/(d·D_l)^2                          so every gap is at least this
    M_0 = s·(n+1)^2, M_(l+1) = s^3·(1 + M_l)   and every value is at most M_l

    with d a common denominator of the weights, L = lcm(1..N), N positions (sinks included) and s the
    sum of all absolute weights, plus 2. No evidence is needed: the walk is the proof. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith NArith QArith Qreals List Bool.
From Softhat Require Import Sums Attention Gates Masks Ties Transformer Errors Unique EveryLength Gaps.
Import ListNotations.
Open Scope R_scope.

(** * Every value over one denominator *)

Definition all_over (D : Z) (n : nat) (x : stream) : Prop := forall i c, (i < n)%nat -> over D (x i c).
Definition form_over (d : Z) (l : form) : Prop := forall c a, In (c, a) l -> over d a.

Record layer_over (d : Z) (l : layer) : Prop := {
  o_rows : forall h qk, In h (heads l) -> In qk (rows h) -> form_over d (fst qk) /\ form_over d (snd qk);
  o_values : forall h vo, In h (heads l) -> In vo (values h) -> form_over d (fst vo) /\ form_over d (snd vo);
  o_units : forall u, In u (units l) -> form_over d (input u) /\ form_over d (output u) /\ over d (bias u);
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
  - left. intros v. unfold hard. replace (sum (fun j => if top m s n j then v j else 0) n) with 0; [lra|].
    assert (X : forall q, (q <= n)%nat -> sum (fun j => if top m s n j then v j else 0) q = 0).
    { induction q as [|q IH]; intros L; [reflexivity|]. simpl. rewrite IH by lia. rewrite (Z0 K q) by lia. lra. }
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

Theorem layer_over_step d D n l x : (0 < n)%nat -> layer_over d l -> all_over D n x ->
  all_over (d * d * d * d * lcm_to n * D) n (run_layer (fun _ => hard) n x l).
Proof.
  intros Hn [Or Ov Ou Os] H.
  assert (A : all_over (d * d * lcm_to n * D) n (attended (fun _ => hard) n (heads l) x)).
  { intros i c Hi. unfold attended. apply over_plus.
    - eapply over_divide; [apply H, Hi|]. exists (d * d * lcm_to n)%Z. ring.
    - apply over_lsum. intros h Ih. apply over_lsum. intros vo Iv. destruct (Ov h vo Ih Iv) as [V O].
      replace (d * d * lcm_to n * D)%Z with (d * D * lcm_to n * d)%Z by ring.
      apply over_mult; [|apply coef_over', O]. unfold read. apply hard_over; [exact Hn|].
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
  intros Hd HD F H Hi Hj Hp L. rewrite <- (Rabs_pos_eq (_ - _)) by lra. apply denominators; [nia| |lra].
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
  intros Hn HM H. destruct (tops_count m s n Hn) as [Z0|(k & B & E)]; [rewrite Z0, Rabs_R0; exact HM|].
  unfold hard. rewrite E. assert (K : 1 <= IZR k) by (apply IZR_le; lia).
  assert (S : forall q, (q <= n)%nat -> Rabs (sum (fun j => if top m s n j then v j else 0) q)
              <= M * sum (fun j => if top m s n j then 1 else 0) q).
  { induction q as [|q IH]; intros L; [simpl; rewrite Rabs_R0; lra|]. simpl.
    eapply Rle_trans; [apply Rabs_triang|]. specialize (IH ltac:(lia)). specialize (H q ltac:(lia)).
    destruct (top m s n q); [lra|rewrite Rabs_R0; lra]. }
  specialize (S n (le_n n)). rewrite E in S. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (IZR k)) by lra.
  apply Rmult_le_reg_r with (IZR k); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(* what a layer can do with values of size M *)
Definition copies (l : layer) : R :=
  lsum (fun h => lsum (fun vo => norm (fst vo) * norm (snd vo)) (values h)) (heads l).
Definition stretches (l : layer) : R := 1 + lsum (fun u => norm (input u) * norm (output u)) (units l).
Definition biases (l : layer) : R := norm (shift l) + lsum (fun u => Rabs (bias u) * norm (output u)) (units l).
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
  intros HM. apply lsum_nonneg. intros qk _. pose proof (norm_nonneg (fst qk)). pose proof (norm_nonneg (snd qk)).
  assert (0 <= norm (fst qk) * norm (snd qk)) by (apply Rmult_le_pos; assumption). nra.
Qed.
Lemma after_nonneg M l : 0 <= M -> 0 <= after M l.
Proof.
  intros HM. unfold after. pose proof (copies_nonneg l). pose proof (stretches_one l). pose proof (biases_nonneg l).
  assert (0 <= M * (1 + copies l)) by (apply Rmult_le_pos; lra).
  assert (0 <= M * (1 + copies l) * stretches l) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma relu_bound x : Rabs (relu x) <= Rabs x.
Proof. unfold relu, Rmax. destruct (Rle_dec 0 x); [lra|rewrite Rabs_R0; apply Rabs_pos]. Qed.

Theorem layer_bound M n l x : (0 < n)%nat -> 0 <= M -> all_within M n x ->
  all_within (after M l) n (run_layer (fun _ => hard) n x l).
Proof.
  intros Hn HM H. pose proof (copies_nonneg l) as Cn.
  assert (A : all_within (M * (1 + copies l)) n (attended (fun _ => hard) n (heads l) x)).
  { intros i c Hi. unfold attended. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rmult_plus_distr_l, Rmult_1_r. apply Rplus_le_compat; [apply H, Hi|].
    eapply Rle_trans; [apply lsum_abs|]. unfold copies. rewrite <- lsum_scal. apply lsum_le. intros h _.
    eapply Rle_trans; [apply lsum_abs|]. rewrite <- lsum_scal. apply lsum_le. intros vo _. rewrite Rabs_mult.
    assert (R : Rabs (read (fun _ => hard) n h (fst vo) x i) <= norm (fst vo) * M).
    { unfold read. apply hard_bound; [exact Hn| |].
      - apply Rmult_le_pos; [apply norm_nonneg|exact HM].
      - intros j Hj. apply dot_bound. intros e. apply H, Hj. }
    pose proof (coef_bound (snd vo) c). pose proof (Rabs_pos (coef (snd vo) c)).
    pose proof (Rabs_pos (read (fun _ => hard) n h (fst vo) x i)).
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
  assert (B : Rabs (dot (input u) (attended (fun _ => hard) n (heads l) x i) + bias u)
              <= norm (input u) * M1 + Rabs (bias u)).
  { eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r, dot_bound. intros e. apply A, Hi. }
  pose proof (relu_bound (dot (input u) (attended (fun _ => hard) n (heads l) x i) + bias u)).
  apply Rmult_le_compat; try apply Rabs_pos; [lra|apply coef_bound].
Qed.

(** * The law *)

Definition cooled (beta : R) (l : layer) : layer :=
  Layer (map (fun h => Head (rows h) (sees h) (values h) beta) (heads l)) (units l) (shift l).

Definition constants_of (d D : Z) (M : R) (l : layer) : constants :=
  Constants (1 / IZR (d * D * (d * D))) (1 + lsum (sees_of M) (heads l)) (copies l)
    (1 + copies l * (2 * M)) (stretches l).
Definition facts_of (n : nat) (d D : Z) (M beta : R) : facts :=
  Facts (fun q => norm q * M) (fun k => norm k * (2 * M))
    (fun _ => mean_misplaced n beta (1 / IZR (d * D * (d * D))) true).
Definition deeper (n : nat) (d D : Z) : Z := (d * d * d * d * lcm_to n * D)%Z.

(* each layer's temperature allows what the layers after it need *)
Fixpoint stages (n : nat) (d : Z) (ls : list layer) (D : Z) (M eps : R) : list stage :=
  match ls with
  | [] => []
  | l :: ls =>
      let rest := stages n d ls (deeper n d D) (after M l) eps in
      let k := constants_of d D M l in
      let beta := beta_law n k (tolerance rest eps) in
      Stage (cooled beta l) (facts_of n d D M beta) k beta :: rest
  end.

Notation plainly := (softly (fun _ => None) (fun _ => 0)).

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
  bounded (facts_of n d D M beta) (cooled beta l) (constants_of d D M l).
Proof.
  intros Hd HD HM. split; cbn [constants_of facts_of cooled heads units shift gap seen copied spread stretch size range misplaced].
  - intros h Ih. apply in_map_iff in Ih as (h0 & <- & I0). cbn [rows].
    pose proof (lsum_in (sees_of M) (heads l) h0 (fun b _ => sees_nonneg M b HM) I0). unfold sees_of in *. lra.
  - intros h qk _ _. pose proof (norm_nonneg (fst qk)). pose proof (norm_nonneg (snd qk)).
    split; [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra].
  - intros h vo _ _. pose proof (norm_nonneg (fst vo)). apply Rmult_le_pos; lra.
  - intros c. rewrite lsum_map. cbn [values]. apply lsum_le. intros h _. apply lsum_le. intros vo _.
    apply Rmult_le_compat_l; [apply norm_nonneg|apply coef_bound].
  - intros c. rewrite lsum_map. cbn [values].
    apply Rle_trans with (2 * M * copies l); [|lra].
    unfold copies. rewrite <- lsum_scal. apply lsum_le. intros h _. rewrite <- lsum_scal. apply lsum_le. intros vo _.
    pose proof (norm_nonneg (fst vo)). pose proof (coef_bound (snd vo) c). pose proof (Rabs_pos (coef (snd vo) c)).
    assert (0 <= norm (fst vo) * (2 * M)) by (apply Rmult_le_pos; lra).
    apply Rle_trans with (norm (fst vo) * (2 * M) * norm (snd vo)); [|lra]. apply Rmult_le_compat_l; assumption.
  - intros c. unfold stretches. apply Rplus_le_compat_l, lsum_le. intros u _.
    apply Rmult_le_compat_l; [apply norm_nonneg|apply coef_bound].
Qed.

Lemma stages_lawful n d ls : (0 < n)%nat -> (0 < d)%Z -> forall D M eps, (0 < D)%Z -> 0 <= M -> 0 < eps ->
  lawful (stages n d ls D M eps) eps.
Proof.
  intros Hn Hd. induction ls as [|l ls IH]; intros D M eps HD HM He; [exact I|]. cbn [stages lawful].
  assert (HD' : (0 < deeper n d D)%Z) by (unfold deeper; pose proof (lcm_to_pos n); nia).
  pose proof (IH (deeper n d D) (after M l) eps HD' (after_nonneg M l HM) He) as L.
  pose proof (tolerance_pos _ eps He L) as T. pose proof (constants_ok d D M l Hd HD HM) as O.
  destruct (beta_law_cold n (constants_of d D M l) _ Hn O T) as [B1 B2].
  cbn [constant fact weights inverse]. split; [exact O|]. split; [apply layer_bounded; assumption|].
  split; [exact B1|]. split; [|exact L]. intros h _. cbn [facts_of misplaced].
  apply mean_cold; try assumption. apply Rle_refl.
Qed.

Lemma stages_truthful n d ls : (0 < n)%nat -> (0 < d)%Z -> (forall l, In l ls -> layer_over d l) ->
  forall D M eps x, (0 < D)%Z -> 0 <= M -> 0 < eps -> all_over D n x -> all_within M n x ->
  truthful (fun _ => None) (fun _ => 0) n (stages n d ls D M eps) x.
Proof.
  intros Hn Hd. induction ls as [|l ls IH]; intros Ol D M eps x HD HM He Ho Hw; [exact I|].
  cbn [stages truthful weights fact]. set (rest := stages n d ls (deeper n d D) (after M l) eps).
  assert (HD' : (0 < deeper n d D)%Z) by (unfold deeper; pose proof (lcm_to_pos n); nia).
  pose proof (stages_lawful n d ls Hn Hd (deeper n d D) (after M l) eps HD' (after_nonneg M l HM) He) as L.
  pose proof (tolerance_pos _ eps He L) as T. fold rest in T. pose proof (constants_ok d D M l Hd HD HM) as O.
  destruct (beta_law_cold n (constants_of d D M l) _ Hn O T) as [B1 _].
  set (beta := beta_law n (constants_of d D M l) (tolerance rest eps)) in *.
  pose proof (Ol l (or_introl eq_refl)) as Wl. split.
  - intros h Ih. cbn [cooled heads] in Ih. apply in_map_iff in Ih as (h0 & <- & I0).
    apply (hard_head (fun _ => None) (fun _ => 0) n _ x _ (1 / IZR (d * D * (d * D))) true);
      cbn [rows sees values cold facts_of size range misplaced].
    + exact Hn.
    + lra.
    + discriminate.
    + intros qk i _ Hi. apply dot_bound. intros c. apply Hw, Hi.
    + intros qk i j k _ Hi Hj Hk _ _. replace (norm (snd qk) * (2 * M)) with (norm (snd qk) * M + norm (snd qk) * M) by ring.
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
    + unfold misplaces. reflexivity.
  - assert (Same : forall X, run_layer (hardly (fun _ => None)) n X (cooled beta l) = run_layer (fun _ => hard) n X l).
    { intros X. unfold run_layer. cbn [cooled heads units shift]. f_equal.
      unfold attended. cbn [hardly]. apply FunctionalExtensionality.functional_extensionality. intros i.
      apply FunctionalExtensionality.functional_extensionality. intros c. rewrite lsum_map. reflexivity. }
    rewrite Same. apply IH; try assumption.
    + intros l' I'. apply Ol. right. exact I'.
    + apply after_nonneg, HM.
    + apply layer_over_step; assumption.
    + apply layer_bound; assumption.
Qed.

Lemma stages_hard n d ls : forall D M eps x,
  run (hardly (fun _ => None)) n (map weights (stages n d ls D M eps)) x = run (fun _ => hard) n ls x.
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
  induction ls as [|l ls IH]; intros D M eps; [reflexivity|]. cbn [stages map weights law at_law combine inverse].
  unfold at_law, law in IH. cbn [map fst snd]. rewrite IH. reflexivity.
Qed.

(* The exact walk as a theorem: softmax at the law is within eps of average-hard attention. *)
Theorem simulated n d ls D M eps x : (0 < n)%nat -> (0 < d)%Z -> (0 < D)%Z -> 0 <= M -> 0 < eps ->
  (forall l, In l ls -> layer_over d l) -> all_over D n x -> all_within M n x ->
  forall i c, (i < n)%nat ->
  Rabs (softmax_run 1 n (at_law (law n d ls D M eps) ls) x i c - hard_run n ls x i c) <= eps.
Proof.
  intros Hn Hd HD HM He Ol Ho Hw i c Hi.
  pose proof (same_input (fun _ => None) (fun _ => 0) n (stages n d ls D M eps) eps x He
    (stages_lawful n d ls Hn Hd D M eps HD HM He)
    (stages_truthful n d ls Hn Hd Ol D M eps x HD HM He Ho Hw) i c Hi) as T.
  rewrite stages_hard, stages_soft in T.
  assert (E : forall ls X, run (softly (fun _ => None) (fun _ => 0)) n ls X = softmax_run 1 n ls X).
  { intros ls' X. unfold softmax_run. f_equal.
    apply FunctionalExtensionality.functional_extensionality. intros h.
    apply FunctionalExtensionality.functional_extensionality. intros m.
    apply FunctionalExtensionality.functional_extensionality. intros s.
    apply FunctionalExtensionality.functional_extensionality. intros v.
    apply FunctionalExtensionality.functional_extensionality. intros k. unfold softly.
    f_equal. apply FunctionalExtensionality.functional_extensionality. intros j. ring. }
  rewrite E in T. exact T.
Qed.
