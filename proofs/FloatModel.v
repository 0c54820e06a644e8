(** A model that passes the check of `FloatCheck` is right in binary32, up to the length that was
    checked: whatever its runtime chooses, its logits have the sign that the formula says. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith NArith QArith Qabs Qreals List Bool
  FunctionalExtensionality.
From Flocq Require Import Core.
From Softhat Require Import Sums Masks Formula Program Lowering Lowered Covers Counted Correct
  Compare Surface Model Kernel
  FloatRow FloatRun FloatBounds FloatCheck.
From Softhat Require Gates Transformer Evaluated Floats.
Import ListNotations.
Open Scope R_scope.

Notation relu := Gates.relu.
Notation lsum := Transformer.lsum.
Notation coef := Transformer.coef.
Notation stream := Transformer.stream.

(** * Small facts *)

Lemma soft_keys m s u N : let ks := filter m (seq 0 N) in
  soft m s u N = total (map (fun j => exp (s j) * u j) ks) / total (map (fun j => exp (s j)) ks).
Proof.
  assert (K : forall f, sum (fun j => if m j then f j else 0) N
    = total (map f (filter m (seq 0 N)))).
  { intros f. induction N as [|N IH]; [reflexivity|]. rewrite seq_S, filter_app, map_app, total_app,
      <- IH.
    cbn [sum filter Nat.add]. destruct (m N); unfold total; cbn [map fold_right]; lra. }
  cbv zeta. unfold soft. rewrite !K. reflexivity.
Qed.

Lemma adds_one_inv x z : adds [x] z -> z = x.
Proof.
  intros H. inversion H as [|y E|l a b y y' z' P Na Nb _ _ _ E]; subst; [reflexivity|].
  apply Permutation.Permutation_length in P. rewrite app_length in P.
  destruct a, b; try contradiction. cbn in P. lia.
Qed.

Lemma every_nth {A} (f : nat -> option A) k l d : every f (seq 0 k) = Some l -> length l = k /\
  forall c, (c < k)%nat -> f c = Some (nth c l d).
Proof.
  intros E. apply every_spec in E.
  assert (G : forall a, Forall2 (fun c b => f c = Some b) (seq a k) l ->
    length l = k /\ forall c, (c < k)%nat -> f (a + c)%nat = Some (nth c l d)).
  { clear E. revert l. induction k as [|k IH]; intros l a H;
      inversion H as [|c b cs bs Eb Hs]; subst;
      [split; [reflexivity|intros; lia]|].
    destruct (IH _ _ Hs) as [L N]. split; [cbn; lia|].
    intros [|c] Hc; [rewrite Nat.add_0_r; assumption|].
    replace (a + S c)%nat with (S a + c)%nat by lia. apply N. lia. }
  exact (G 0%nat E).
Qed.

Lemma every_forall {A B} (f : A -> option B) l bs : every f l = Some bs ->
  Forall2 (fun a b => f a = Some b) l bs.
Proof. apply every_spec. Qed.

Lemma fed_normal us b X :
  Transformer.fed (map real_unit (map normal_unit us)) (real_form (normal b)) X
  = Transformer.fed (map real_unit us) (real_form b) X.
Proof.
  extensionality i. extensionality c. unfold Transformer.fed. f_equal.
  f_equal; [apply coef_normal|].
  rewrite map_map, !Transformer.lsum_map. apply Transformer.lsum_ext. intros x _.
  unfold real_unit, normal_unit.
  cbn [Transformer.input Transformer.bias Transformer.output Lowering.input bias output].
  rewrite dot_normal, coef_normal, (Qeq_eqR _ _ (Qred_correct (bias x))). reflexivity.
Qed.

Lemma in_writing hs c h f : In (h, f) (writing hs c) -> In h hs /\ In (f, c) (values h).
Proof.
  unfold writing. rewrite in_flat_map. intros (h' & Ih & I).
  apply in_map_iff in I as ([f' c'] & E & I).
  injection E as <- <-. apply filter_In in I as [I Q]. cbn in Q. apply Nat.eqb_eq in Q. subst c'.
  split; assumption.
Qed.

Lemma write_spec l c k l' : write l c k = Some l' -> nth_error l' c = Some k /\
  (forall c' k', nth_error l c' = Some k' -> k' <> Empty -> nth_error l' c' = Some k').
Proof.
  unfold write. destruct (nth_error l c) as [[]|] eqn:N; try discriminate. intros E.
  injection E as <-.
  assert (L : (c < length l)%nat) by (apply nth_error_Some; congruence). split.
  - rewrite nth_set, Nat.eqb_refl. destruct (Nat.ltb_spec c (length l)); [reflexivity|lia].
  - intros c' k' N' Ne. rewrite nth_set. destruct (Nat.eqb_spec c' c) as [->|];
      [congruence|exact N'].
Qed.

(** * Streams of floats, and what their coordinates stand for *)

Section Float.
Variables (p : program) (alphabet : nat) (eos : bool) (longest : N).
Variables (n : nat) (w : word) (v : valuation).
Hypothesis Hv : computes n w v p.
Hypothesis Hr : readable n v p.
Hypothesis Hw : forall i, (1 <= i <= n)%nat -> (symbol w i < alphabet)%nat.
Hypothesis Hn : (N.of_nat n <= longest)%N.
Hypothesis Hl : (longest <= 8190)%N.

Notation lit := (Program.lit v).
Notation last := (last eos n).
Notation inside := (inside n).
Notation holds := (holds p eos n 1 v).
Notation at_ := FloatCheck.at_.
Notation ideal_bound := (FloatCheck.ideal_bound longest).
Notation actual_bound := (FloatCheck.actual_bound longest).
Notation range_of := (FloatCheck.range_of longest).

Definition close (k : content) (b : bound) (x : nat -> R) : Prop :=
  match k with
  | Empty => forall i, (i <= last)%nat -> Rabs (x i) <= Q2R (fst b)
  | Feature f => forall i, (i <= last)%nat -> x i = feature_value n 1 f i
  | Bit s => forall i, (i <= last)%nat -> Rabs (x i - b2R (inside i && bit v s i)) <= Q2R (fst b)
  | Raw s _ => (forall i, (i <= last)%nat -> - Q2R (snd b) <= x i <= 1 + Q2R (fst b)) /\
      forall i, (1 <= i <= n)%nat -> Rabs (x i - b2R (bit v s i)) <= Q2R (fst b)
  | _ => False
  end.
Definition close_to (l : layout) (b : slacks) (X : stream) : Prop :=
  forall c k, nth_error l c = Some k -> close k (at_slack b c) (fun i => X i c).

(* the bits themselves *)
Definition ideal (l : layout) : stream := fun i c =>
  match nth_error l c with
  | Some (Feature f) => feature_value n 1 f i
  | Some (Bit s) | Some (Raw s _) => b2R (inside i && bit v s i)
  | _ => 0
  end.

Lemma slack_pos wide : 0 <= Q2R (slack wide).
Proof. destruct wide; unfold Q2R; simpl; lra. Qed.

Lemma ideal_holds l b X : close_to l b X -> holds l (ideal l).
Proof.
  intros H c k N. specialize (H c k N). unfold ideal. destruct k; cbn [close Lowered.good] in *;
    try destruct H; rewrite N; try reflexivity.
  split; intros i Hi; [apply b2R_range|]. rewrite inside_true by exact Hi. cbn [andb].
  rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. apply slack_pos.
Qed.

(** * Ranges *)

Lemma per_1 d : per 1 d = 1.
Proof. unfold per. destruct d; reflexivity. Qed.
Lemma len_n : INR n <= Q2R (len longest).
Proof.
  unfold len. rewrite Q2R_Z, INR_IZR_INZ. apply IZR_le. rewrite <- nat_N_Z. apply N2Z.inj_le, Hn.
Qed.
Lemma Q2R_one : Q2R 1 = 1.
Proof. unfold Q2R. simpl. lra. Qed.

Lemma feature_in f i : (i <= last)%nat ->
  Q2R (fst (feature_range longest f)) <= feature_value n 1 f i
  <= Q2R (snd (feature_range longest f)).
Proof.
  intros Hi. pose proof len_n as L. pose proof (pos_INR n) as N0.
  assert (P : -1 <= (-1) ^ i <= 1) by (rewrite Previous.alternating || idtac;
    pose proof (Previous.alternating i); destruct (Nat.even i); lra).
  destruct f; cbn [feature_range feature_value fst snd]; rewrite ?per_1, ?Q2R_0, ?Q2R_opp, ?Q2R_one;
    unfold Rdiv; rewrite ?Rinv_1, ?Rmult_1_r.
  - lra.
  - apply b2R_range.
  - destruct (inside i) eqn:E; [|lra]. apply inside_spec in E. pose proof (pos_INR i).
    assert (INR i <= INR n) by (apply le_INR; lia). lra.
  - destruct (inside i) eqn:E; [|lra]. apply inside_spec in E. pose proof (pos_INR (S n - i)).
    assert (INR (S n - i) <= INR n) by (apply le_INR; lia). lra.
  - exact P.
  - apply b2R_range.
Qed.

Lemma range_in l b X c r i : close_to l b X -> (i <= last)%nat -> at_ l b range_of c = Some r ->
  Q2R (fst r) <= X i c <= Q2R (snd r).
Proof.
  intros H Hi E. unfold FloatCheck.at_ in E. destruct (nth_error l c) as [k|] eqn:N;
    [|discriminate].
  specialize (H c k N).
  destruct k as [|f|s|s wide| | | | |]; cbn [FloatCheck.range_of close] in *; try discriminate;
    injection E as <-; cbn [fst snd];
    rewrite ?Q2R_opp, ?Q2R_plus, ?Q2R_one.
  - apply Rabs_le_inv, H, Hi.
  - rewrite (H i Hi). apply feature_in, Hi.
  - specialize (H i Hi). apply Rabs_le_inv in H. pose proof (b2R_range (inside i && bit v s i)).
    lra.
  - apply (proj1 H i Hi).
Qed.

Lemma magnitude_in r x : Q2R (fst r) <= x <= Q2R (snd r) -> Rabs x <= Q2R (magnitude r).
Proof.
  intros H. unfold magnitude. destruct (Qle_bool (- fst r) (snd r)) eqn:E.
  - apply Qle_bool_R in E. rewrite Q2R_opp in E. apply Rabs_le. lra.
  - assert (N : (snd r <= - fst r)%Q).
    { destruct (Qlt_le_dec (snd r) (- fst r)) as [L|L]; [apply Qlt_le_weak, L|].
      apply Qle_bool_iff in L. congruence. }
    apply Qle_Rle in N. rewrite Q2R_opp in *. apply Rabs_le. lra.
Qed.

Lemma ideal_approx l b X i : close_to l b X -> (i <= last)%nat ->
  forall c d, at_ l b ideal_bound c = Some d -> approx d (X i c) (ideal l i c).
Proof.
  intros H Hi c d E. unfold FloatCheck.at_ in E. destruct (nth_error l c) as [k|] eqn:N;
    [|discriminate].
  specialize (H c k N). unfold ideal. rewrite N.
  destruct k as [|f|s|s wide| | | | |]; cbn [FloatCheck.ideal_bound close] in *; try discriminate;
    injection E as <-; split; cbn [fst snd];
    rewrite ?Q2R_0, ?Q2R_one.
  - rewrite Rabs_R0. lra.
  - rewrite Rminus_0_r. apply H, Hi.
  - apply magnitude_in, feature_in, Hi.
  - rewrite (H i Hi), Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - pose proof (b2R_range (inside i && bit v s i)). rewrite Rabs_pos_eq; lra.
  - apply H, Hi.
Qed.

Lemma actual_approx l b X i : close_to l b X -> (i <= last)%nat ->
  forall c d, at_ l b actual_bound c = Some d -> approx d (X i c) (X i c).
Proof.
  intros H Hi c d E. unfold FloatCheck.at_ in E. destruct (nth_error l c) as [k|] eqn:N;
    [|discriminate].
  unfold FloatCheck.actual_bound in E. destruct (range_of k (at_slack b c)) as [r|] eqn:R;
    [|discriminate].
  injection E as <-. split; cbn [fst snd]; [|rewrite Rminus_diag_eq, Rabs_R0, Q2R_0 by reflexivity;
    lra].
  apply magnitude_in, (range_in l b X c r i H Hi). unfold FloatCheck.at_. rewrite N. exact R.
Qed.

(** * Heads *)

Lemma members_facts l C wide sc t ms : forall l' vs l'',
  lower_members p alphabet false eos l C wide sc t ms l' = Some (vs, l'') ->
  (forall c k, nth_error l' c = Some k -> k <> Empty -> nth_error l'' c = Some k) /\
  forall f c, In (f, c) vs -> exists s g q, nth_error p s = Some g /\
    scores p alphabet false l C wide g q = Some sc /\ value_row l g q = Some f /\
    sighted eos g (snd sc) = true /\ nth_error l'' c = Some (written g s q wide).
Proof.
  induction ms as [|m ms IH]; intros l' vs l'' E; cbn [lower_members] in E.
  - injection E as <- <-. split; [auto|intros f c []].
  - destruct (lower_member p alphabet false eos l C wide sc t m l') as [[[f0 c0] l1]|] eqn:Em;
      [|discriminate].
    destruct (lower_members p alphabet false eos l C wide sc t ms l1) as [[vs' l2]|] eqn:Ems;
      [|discriminate].
    injection E as <- <-. unfold lower_member in Em.
    destruct (nth_error p (signal_of m)) as [g|] eqn:Eg; [|discriminate].
    destruct (scores p alphabet false l C wide g (number m)) as [sc'|] eqn:Es; [|discriminate].
    destruct (value_row l g (number m)) as [f|] eqn:Ef; [|discriminate].
    destruct (write l' _ _) as [l3|] eqn:Ew; [|discriminate].
    destruct (scores_eq sc sc') as [<-|]; [|discriminate].
    destruct (heat_eq _ _) as [_|]; [|discriminate].
    destruct (sighted eos g (snd sc)) eqn:Si; [|discriminate]. injection Em as <- <- <-.
    destruct (write_spec _ _ _ _ Ew) as [W1 W2]. destruct (IH _ _ _ Ems) as [K F]. split.
    + intros c k N Ne. apply K; [apply W2; assumption|exact Ne].
    + intros f1 c [Q|I]; [|apply F, I]. injection Q as <- <-. exists (signal_of m), g, (number m).
      repeat split; try assumption. apply K; [exact W1|]. destruct g; discriminate.
Qed.

Lemma groups_facts l gs : forall l' hs l'', lower_groups p alphabet false eos 4 l gs l' = Some (hs,
  l'') ->
  (forall c k, nth_error l' c = Some k -> k <> Empty -> nth_error l'' c = Some k) /\
  forall h f c, In h hs -> In (f, c) (values h) -> exists s g q wide, nth_error p s = Some g /\
    scores p alphabet false l (sharpness_of 4 wide) wide g q = Some (rows h, over h) /\
    value_row l g q = Some f /\ sighted eos g (over h) = true /\ cold h = 1%Q /\
    nth_error l'' c = Some (written g s q wide).
Proof.
  induction gs as [|g gs IH]; intros l' hs l'' E; cbn [lower_groups] in E.
  - injection E as <- <-. split; [auto|intros h f c []].
  - destruct (lower_group p alphabet false eos 4 l g l') as [[h l1]|] eqn:Eg; [|discriminate].
    destruct (lower_groups p alphabet false eos 4 l gs l1) as [[hs' l2]|] eqn:Egs; [|discriminate].
    injection E as <- <-. unfold lower_group in Eg. destruct (members g) as [|m ms] eqn:Em;
      [discriminate|].
    step Eg s E. destruct (scores _ _ _ _ _ _ _ _) as [sc|] eqn:Es; [|discriminate].
    rewrite <- Em in Eg.
    change (if wide g then (2 * 4)%Q else 4%Q) with (sharpness_of 4 (wide g)) in *.
    cbv zeta in Eg.
    match type of Eg with context [lower_members _ _ _ _ _ _ _ _ ?e] => set (t := e) in * end.
    destruct (lower_members p alphabet false eos l (sharpness_of 4 (wide g)) (wide g) sc t
      (members g) l') as [[vs l3]|] eqn:Ems; [|discriminate].
    injection Eg as <- <-. destruct (members_facts _ _ _ _ _ _ _ _ _ Ems) as [K1 F1].
    destruct (IH _ _ _ Egs) as [K2 F2].
    split; [intros c k N Ne; apply K2; [apply K1; assumption|exact Ne]|].
    intros h f c [<-|I] Iv; [|apply (F2 h f c I Iv)]. cbn [values rows over cold] in *.
    destruct (F1 f c Iv) as (s' & g' & q & A & B & D & F & G). exists s', g', q, (wide g).
    destruct sc as [r0 m0]. repeat split; try assumption. apply K2; [exact G|].
    destruct g'; discriminate.
Qed.

(* values are bits *)
Lemma value_bit l X g s q wide s' wide' f j : holds l X -> value_row l g q = Some f ->
  written g s q wide = Raw s' wide' ->
  (j <= last)%nat -> dot (real_form f) (X j) = 0 \/ dot (real_form f) (X j) = 1.
Proof.
  intros H E W Hj.
  assert (B : forall x, bit_row l x = Some f ->
    dot (real_form f) (X j) = 0 \/ dot (real_form f) (X j) = 1).
  { intros x Ex. rewrite (bit_row_value p eos n 1 v l X x f j H Ex Hj).
    destruct (inside j && lit x j); [right|left]; reflexivity. }
  destruct g; cbn [value_row written] in *; try discriminate; try (eapply B; exact E).
  step E n0 E0. injection E as <-. cbn [real_form map Transformer.dot fst snd].
  rewrite (feat_value p eos n 1 v l X _ _ j H E0 Hj). cbn [feature_value per]. rewrite Q2R_1.
  destruct (inside j); [right|left]; cbn; lra.
Qed.

Lemma keys_few h i : (Z.of_nat (length (keys (S last) h i)) <= Z.of_N longest + 2)%Z.
Proof.
  assert (L : (length (keys (S last) h i) <= S last)%nat).
  { unfold keys. rewrite <- (seq_length (S last) 0) at 2. apply filter_shorter. }
  assert (last <= S n)%nat by (unfold Lowered.last; destruct eos; lia). lia.
Qed.

Section Head.
Variables (l l1 : layout) (b : slacks) (X : stream) (gs : list group) (hs : list head).
Hypothesis H : close_to l b X.
Hypothesis El : lower_groups p alphabet false eos 4 l gs l = Some (hs, l1).

(* a head of the given model, whose weights are those of a lowered one *)
Lemma head_close h0 h f0 f c s wide i o d empty : In h0 hs -> In (f0, c) (values h0) ->
  normal_head h0 = normal_head h -> normal f0 = normal f -> nth_error l1 c = Some (Raw s wide) ->
  head_bound longest l b h f wide empty = Some d -> 0 <= Q2R empty -> (i <= last)%nat ->
  returns (S last) h f X i o ->
  forall x z, Rabs x <= Q2R empty -> adds [x; o] z ->
  - Q2R (snd d) <= z <= 1 + Q2R (fst d) /\
  ((1 <= i <= n)%nat -> Rabs (z - b2R (bit v s i)) <= Q2R (fst d)).
Proof.
  intros Ih If Nh Nf Nc E Em0 Hi (sc & vs & Hs & Hvs & Ha) x z Hx Hz.
  destruct (groups_facts l gs _ _ _ El) as [_ F].
  destruct (F h0 f0 c Ih If) as (s' & g & q & wide' & Gp & Es & Ev & Si & Co & Nc').
  rewrite Nc in Nc'. injection Nc' as W. assert (W' : written g s' q wide' = Raw s wide)
    by congruence.
  assert (s' = s /\ wide' = wide) as [-> ->] by (destruct g; cbn in W'; try discriminate;
    injection W' as -> ->; split; reflexivity).
  set (I := ideal l). pose proof (ideal_holds l b X H) as HI. fold I in HI.
  pose proof (member_good p alphabet false eos 4 n 1 w v ltac:(unfold Q2R; simpl;
    lra) ltac:(lra) (fun _ => Rle_refl 1)
    ltac:(discriminate) Hv Hr Hw l I HI (sharpness_of 4 wide) wide g s q (rows h0,
      over h0) f0 eq_refl Gp Es Ev Si) as Good.
  set (hot := heated 1 (heat false (sharpness_of 4 wide) g q)) in *.
  rewrite W' in Good. cbn [Lowered.good] in Good. destruct Good as [GoodAll GoodIn].
  unfold normal_head in Nh. injection Nh as Nrows Nover _ Ncold.
  (* what is real *)
  set (ks := keys (S last) h i) in *.
  pose (S0 := fun j => Q2R (cold h) * score (real_rows (rows h)) (I i) (I j)).
  pose (V0 := fun j => dot (real_form f) (I j)).
  assert (Cold : Q2R (cold h) = 1).
  { rewrite <- (Qeq_eqR _ _ (Qred_correct (cold h))), <- Ncold, Co. unfold Q2R. simpl. lra. }
  assert (Rd : forall k, read eos n hot (rows h0, over h0) f0 I k
     = soft (sees (over h) k) (fun j => Q2R (cold h) * score (real_rows (rows h)) (I k) (I j)) V0
       (S last)).
  { intros k. unfold read. cbn [fst snd]. rewrite Nover. apply soft_ext; intros j _ _.
    - unfold hot, heated, heat. cbn [fst snd].
      rewrite Q2R_1, Cold, <- (score_normal (rows h0)), <- (score_normal (rows h)), Nrows.
      ring.
    - unfold V0. rewrite <- (dot_normal f0), <- (dot_normal f), Nf. reflexivity. }
  pose proof (soft_keys (sees (over h) i) S0 V0 (S last)) as Sk. cbv zeta in Sk.
  change (filter _ _) with ks in Sk.
  assert (Sh : soft (sees (over h) i) S0 V0 (S last) = read eos n hot (rows h0, over h0) f0 I i)
    by (rewrite Rd; reflexivity).
  rewrite Sh in Sk.
  set (share := read eos n hot (rows h0, over h0) f0 I i) in *.
  (* what is computed *)
  unfold head_bound in E. destruct (score_bound _ h) as [bs|] eqn:Ebs; [|discriminate].
  destruct (dot_bound _ f []) as [bv|] eqn:Ebv; [|discriminate].
  match type of E with (if ?t then _ else _) = _ => destruct t eqn:Ok; [|discriminate] end.
  injection E as <-. rewrite !andb_true_iff in Ok. destruct Ok as [[[[[[O1 O2] O3] O4] O5] O6] O7].
  cbn [forallb] in O7. rewrite !andb_true_iff in O7. destruct O7 as (P1 & P2 & P3 & P4 & _).
  apply Qle_bool_R in O1, O2, O3, O4, O5, O6, P1, P2, P3, P4. rewrite Q2R_most in O3.
  rewrite Q2R_0 in P1, P2, P3, P4.
  rewrite Q2R_one in O2, O6.
  replace (Q2R (1 # 2)) with (/ 2) in O1 by (unfold Q2R; simpl; lra).
  replace (Q2R (1 # 8)) with (/ 8) in O4 by (unfold Q2R; simpl; lra).
  assert (Two : Q2R 2 = 2) by (unfold Q2R; simpl; lra).
  assert (Three : Q2R 3 = 3) by (unfold Q2R; simpl; lra).
  set (eta := Q2R (snd bs)) in *. set (M := Q2R (fst bs)) in *. set (nu := Q2R (snd bv)) in *.
  set (y := (2 * (snd bs + 2 * ulp * (fst bs + snd bs)) + (1 # 131072))%Q) in *.
  assert (Ey : Q2R y = 2 * (eta + 2 * u * (M + eta)) + / 131072).
  { unfold y. rewrite !Q2R_plus, !Q2R_mult, !Q2R_plus, !Q2R_mult, !Q2R_plus, Q2R_ulp, Two.
    replace (Q2R (1 # 131072)) with (/ 131072) by (unfold Q2R; simpl; lra). reflexivity. }
  set (theta := ((len longest + 2) * ulp1)%Q) in *.
  assert (Et : Q2R theta = (IZR (Z.of_N longest) + 2) * u1).
  { unfold theta, len. rewrite Q2R_mult, Q2R_plus, Q2R_Z, Q2R_ulp1, Two. reflexivity. }
  assert (Lr : IZR (Z.of_N longest) <= 8190) by (apply IZR_le; lia).
  assert (Lr0 : 0 <= IZR (Z.of_N longest)) by (apply IZR_le; lia).
  assert (Th : 0 < Q2R theta <= / 1000) by (rewrite Et; unfold u1, u; lra).
  set (rho := (3 * theta + snd bv + (1 # 1048576))%Q) in *.
  assert (Er : Q2R rho = 3 * Q2R theta + nu + / 1048576).
  { unfold rho. rewrite !Q2R_plus, Q2R_mult, Three. replace (Q2R (1 # 1048576)) with (/ 1048576)
      by (unfold Q2R; simpl; lra). reflexivity. }
  set (off := (slack wide / (1 - y) + rho)%Q) in *. set (low := (2 * snd bv + dust)%Q) in *.
  assert (Elow : Q2R low = 2 * nu + / large) by (unfold low; rewrite Q2R_plus, Q2R_mult, Two,
    Q2R_dust; reflexivity).
  assert (Ny : ~ ((1 - y) == 0)%Q).
  { intros Z. apply Qeq_eqR in Z. rewrite Q2R_minus, Q2R_one, Q2R_0 in Z. rewrite Ey in Z. lra. }
  assert (Eoff : Q2R off = Q2R (slack wide) / (1 - Q2R y) + Q2R rho).
  { unfold off. rewrite Q2R_plus, Q2R_div, Q2R_minus, Q2R_one by exact Ny. reflexivity. }
  clearbody y theta rho off low.
  assert (Av : forall j, In j ks -> approx bv (vs j) (V0 j)).
  { intros j Ij. assert (Hj : (j <= last)%nat) by (apply filter_In in Ij as [Ij _];
      apply in_seq in Ij; lia).
    pose proof (approx_dots _ _ _ (ideal_approx l b X j H Hj) _ _ _ _ _ (vs j) Ebv approxes_nil
      (Hvs j Ij)) as A.
    unfold total in A. cbn [fold_right] in A. rewrite Rplus_0_l in A. exact A. }
  assert (As : forall j, In j ks -> approx bs (sc j) (S0 j)).
  { intros j Ij. assert (Hj : (j <= last)%nat) by (apply filter_In in Ij as [Ij _];
      apply in_seq in Ij; lia).
    exact (approx_score _ h bs _ _ _ _ (sc j) Ebs (ideal_approx l b X i H Hi)
      (ideal_approx l b X j H Hj) (Hs j Ij)). }
  assert (Slk : 0 <= Q2R (slack wide)) by apply slack_pos.
  assert (U0 : 0 < u) by (unfold u; lra).
  assert (Y0 : 0 <= Q2R y <= / 2)
    by (split; [rewrite Ey; assert (0 <= 2 * u * (M + eta)) by (apply Rmult_le_pos; lra);
    lra|exact O1]).
  assert (Inv : 1 <= / (1 - Q2R y)) by (rewrite <- Rinv_1 at 1; apply Rinv_le_contravar; lra).
  assert (Oo : - Q2R low <= o <= 1 + Q2R rho /\
    ((1 <= i <= n)%nat -> Rabs (o - b2R (bit v s i)) <= Q2R off)).
  { assert (Lg : 0 < / large) by (unfold large; lra).
    destruct (list_eq_dec Nat.eq_dec ks []) as [K0|Kn].
    - rewrite K0 in Ha. cbn [attends] in Ha. subst o. split; [rewrite Elow, Er; lra|]. intros In_.
      assert (Z : share = 0) by (rewrite Sk, K0; unfold total; cbn [map fold_right]; unfold Rdiv;
        ring).
      pose proof (GoodIn i In_) as G. cbn beta in G. fold share in G. rewrite Z in G.
      assert (Q2R (slack wide) * 1 <= Q2R (slack wide) * / (1 - Q2R y)) by (apply Rmult_le_compat_l;
        lra).
      rewrite Eoff, Er. unfold Rdiv. lra.
    - assert (Kl : (Z.of_nat (length ks) <= 8192)%Z) by (pose proof (keys_few h i) as K;
        fold ks in K; lia).
      assert (Kt : INR (length ks) * u1 <= Q2R theta).
      { rewrite Et. apply Rmult_le_compat_r; [unfold u1, u; lra|]. rewrite INR_IZR_INZ, <- plus_IZR.
        apply IZR_le.
        pose proof (keys_few h i) as K. fold ks in K. exact K. }
      pose proof (row_near ks S0 V0 sc vs o eta nu M (Q2R theta) (Q2R y) Kn Kl (conj Kt (proj2 Th)))
        as Row.
      destruct Row as (R1 & R2 & R3 & R4).
      + intros j Ij. exact (As j Ij).
      + unfold large in *. lra.
      + intros j Ij. split; [|apply (Av j Ij)].
        assert (Hj : (j <= last)%nat) by (apply filter_In in Ij as [Ij _]; apply in_seq in Ij; lia).
        unfold V0. rewrite <- (dot_normal f), <- Nf, dot_normal.
        apply (value_bit l I g s q wide s wide f0 j HI Ev W' Hj).
      + lra.
      + rewrite <- Ey. lra.
      + exact Ha.
      + rewrite <- Sk in R1, R2. rewrite <- Er in R1, R2, R4. rewrite <- Elow in R3.
        split; [split; assumption|].
        intros In_. pose proof (GoodIn i In_) as G. pose proof (GoodAll i Hi) as G2.
        cbn beta in G, G2. fold share in G, G2.
        rewrite Eoff. apply Rabs_le_inv in G. unfold Rdiv in *.
        set (k := / (1 - Q2R y)) in *.
        assert (Rlow : Q2R low <= Q2R (slack wide) * k + Q2R rho) by (rewrite Eoff in O5; exact O5).
        assert (0 <= Q2R (slack wide) * k) by (apply Rmult_le_pos; lra).
        apply Rabs_le. destruct (bit v s i); cbn [b2R] in *.
        * assert ((1 - share) * k <= Q2R (slack wide) * k) by (apply Rmult_le_compat_r; lra). lra.
        * assert (share * k <= Q2R (slack wide) * k) by (apply Rmult_le_compat_r; lra). lra. }
  destruct Oo as [[Ol Ou] Oi]. cbn [fst snd].
  assert (Rho1 : Q2R rho <= 1 / 2) by (rewrite Er; lra).
  assert (Low1 : 0 <= Q2R low) by (rewrite Elow; assert (0 < / large) by (unfold large; lra); lra).
  assert (Low2 : Q2R low <= 1 / 2) by (rewrite Elow; unfold large; lra).
  assert (Sz : size [x; o] <= Q2R empty + 2).
  { unfold size, total. cbn [map fold_right]. assert (Rabs o <= 2) by (apply Rabs_le; lra). lra. }
  assert (Df : deficit [x; o] <= Q2R empty + Q2R low).
  { unfold deficit, total. cbn [map fold_right]. apply Rabs_le_inv in Hx.
    assert (Rmax 0 (- x) <= Q2R empty) by (apply Rmax_lub; lra).
    assert (Rmax 0 (- o) <= Q2R low) by (apply Rmax_lub; lra). lra. }
  destruct (any_order _ _ Hz) as [Bz Lz]; [unfold large; lra|cbn; lia|].
  cbn [length Nat.sub pow INR] in Bz, Lz. unfold total in Bz. cbn [fold_right] in Bz.
  pose proof tiny_small as T0. assert (Tl : 3 * tiny <= / large) by (unfold large; lra).
  pose proof (size_nonneg [x; o]) as Z0. pose proof (deficit_nonneg [x; o]) as Z1.
  assert (U1 : u <= u1) by (unfold u1, u; lra).
  assert (Bz' : Rabs (z - (x + (o + 0))) <= u1 * (Q2R empty + 2) + / large).
  { eapply Rle_trans; [exact Bz|]. assert (u * size [x; o] <= u1 * (Q2R empty + 2))
      by (apply Rmult_le_compat; lra). lra. }
  assert (Up1 : Q2R empty + Q2R off + u1 * (Q2R empty + 2) + / large
    <= Q2R (up (empty + off + ulp1 * (empty + 2) + dust))).
  { eapply Rle_trans; [|apply up_above]. rewrite !Q2R_plus, Q2R_mult, Q2R_plus, Q2R_ulp1, Q2R_dust,
      Two. lra. }
  assert (Up2 : (1 + u1) * (Q2R empty + Q2R low) + / large
    <= Q2R (up ((1 + ulp1) * (empty + low) + dust))).
  { eapply Rle_trans; [|apply up_above]. rewrite Q2R_plus, Q2R_mult, !Q2R_plus, Q2R_ulp1, Q2R_dust,
      Q2R_one. lra. }
  assert (Or_ : Q2R rho <= Q2R off).
  { rewrite Eoff. unfold Rdiv. assert (0 <= Q2R (slack wide) * / (1 - Q2R y))
      by (apply Rmult_le_pos; lra). lra. }
  apply Rabs_le_inv in Hx. apply Rabs_le_inv in Bz'. split; [split|].
  - assert ((1 + u) * deficit [x; o] <= (1 + u1) * (Q2R empty + Q2R low)) by (apply Rmult_le_compat;
      lra). lra.
  - lra.
  - intros In_. specialize (Oi In_). apply Rabs_le_inv in Oi. apply Rabs_le. lra.
Qed.
End Head.

(** * Heads, all of a layer *)

Lemma heads_close l l1 b b1 X Y pl hs gs : close_to l b X ->
  lower_groups p alphabet false eos 4 l (groups pl) l = Some (hs, l1) ->
  map normal_head hs = map normal_head gs ->
  every (heads_bound longest l l1 b gs) (seq 0 (length l1)) = Some b1 ->
  attended (S last) gs X Y -> close_to l1 b1 Y.
Proof.
  intros H El Nh E At c k1 N1.
  destruct (every_nth _ _ _ (0%Q, 0%Q) E) as [Lb Eb].
  assert (Lc : (c < length l1)%nat) by (apply nth_error_Some; congruence).
  specialize (Eb c Lc). fold (at_slack b1 c) in Eb. unfold heads_bound in Eb. rewrite N1 in Eb.
  destruct (writing gs c) as [|[h f] [|]] eqn:W.
  - destruct (nth_error l c) as [k|] eqn:N; [|discriminate]. destruct (content_eq k k1) as [<-|];
      [|discriminate].
    assert (Eb' : at_slack b c = at_slack b1 c) by (injection Eb as Eb; exact Eb). rewrite <- Eb'.
    assert (Same : forall i, (i <= last)%nat -> Y i c = X i c).
    { intros i Hi. destruct (At i c ltac:(lia)) as (os & F & A). rewrite W in F. inversion F; subst.
      apply adds_one_inv, A. }
    specialize (H c k N). destruct k; cbn [close] in *; try destruct H as [H1 H2]; try exact H;
      try (intros i Hi; rewrite Same by assumption; apply H; assumption).
    split; intros i Hi; rewrite Same; auto. apply inside_last, Hi.
  - destruct (nth_error l c) as [[]|] eqn:N; try discriminate.
    destruct k1 as [| | |s wide| | | | |]; try discriminate.
    assert (I : In (h, f) (writing gs c)) by (rewrite W; left; reflexivity).
    apply in_writing in I as [Ih If].
    assert (I0 : In (normal_head h) (map normal_head hs)) by (rewrite Nh; apply in_map, Ih).
    apply in_map_iff in I0 as (h0 & Eh & Ih0).
    assert (J0 : In (normal f, c) (map (fun t => (normal (fst t), snd t)) (values h0))).
    { assert (Q : map (fun t => (normal (fst t), snd t)) (values h0)
        = map (fun t => (normal (fst t), snd t)) (values h))
        by (unfold normal_head in Eh; congruence).
      rewrite Q. apply in_map_iff. exists (f, c). split; [reflexivity|exact If]. }
    apply in_map_iff in J0 as ([f0 c0] & Ef & If0). cbn [fst snd] in Ef. injection Ef as Ef ->.
    assert (Em : forall i, (i <= last)%nat -> Rabs (X i c) <= Q2R (fst (at_slack b c)))
      by (intros i Hi; apply (H c _ N i Hi)).
    assert (E0 : 0 <= Q2R (fst (at_slack b c))) by (pose proof (Em 0%nat ltac:(lia));
      pose proof (Rabs_pos (X 0%nat c)); lra).
    assert (G : forall i, (i <= last)%nat -> - Q2R (snd (at_slack b1 c)) <= Y i c <= 1
      + Q2R (fst (at_slack b1 c)) /\
       ((1 <= i <= n)%nat -> Rabs (Y i c - b2R (bit v s i)) <= Q2R (fst (at_slack b1 c)))).
    { intros i Hi. destruct (At i c ltac:(lia)) as (os & F & A). rewrite W in F.
      inversion F as [|? o ? ? Ro F']; subst. inversion F'; subst.
      exact (head_close l l1 b X (groups pl) hs H El h0 h f0 f c s wide i o _ _ Ih0 If0 Eh Ef N1 Eb
        E0 Hi Ro (X i c) (Y i c) (Em i Hi) A). }
    cbn [close]. split; intros i Hi; apply G; try assumption. apply inside_last, Hi.
  - discriminate.
Qed.

(** * Gates *)

(* ordinary + Σ (x - 1) - Σ x, up to what the literals are off *)
Lemma literals_close l b X i t qs : close_to l b X -> (i <= last)%nat ->
  every (literal_slack l) t = Some qs ->
  let d := dot (real_form (map (fun x => (snd x, sign_of (fst x))) t)) (X i) - INR (positives t) in
  d <= Q2R (term_off l b t) /\
  ((1 <= i <= n)%nat -> if term_holds v i t then - Q2R (term_off l b t) <= d
    else d <= - 1 + Q2R (term_off l b t)).
Proof.
  intros H Hi E. apply every_spec in E. cbv zeta.
  induction E as [|x q t qs Ex Et [IH1 IH2]].
  - unfold term_off. cbn. rewrite Q2R_0. split; [lra|]. intros _. lra.
  - assert (L : exists e, Q2R (literal_off l b x) = e /\
       (if plain (fst x) then X i (snd x) - 1 <= e else - X i (snd x) <= e) /\
       ((1 <= i <= n)%nat ->
         Rabs (X i (snd x) - (if plain (fst x) then b2R (lit (fst x) i)
         else 1 - b2R (lit (fst x) i))) <= e)).
    { exists (Q2R (literal_off l b x)). split; [reflexivity|].
      unfold literal_off, literal_slack in *.
      destruct (of (fst x)) as [s|] eqn:O; [|discriminate].
      destruct (nth_error l (snd x)) as [k|] eqn:N; [|discriminate]. specialize (H _ _ N).
      set (d := at_slack b (snd x)) in *.
      assert (B : (1 <= i <= n)%nat -> (if plain (fst x) then b2R (lit (fst x) i)
        else 1 - b2R (lit (fst x) i)) = b2R (bit v s i)).
      { intros In_. unfold Program.lit. rewrite O. destruct (plain (fst x)), (bit v s i); cbn; lra.
        }
      assert (Fold : forall lo, Q2R (fst d) <= Q2R (if Qle_bool (fst d) lo then lo else fst d) /\
                                Q2R lo <= Q2R (if Qle_bool (fst d) lo then lo else fst d)).
      { intros lo. destruct (Qle_bool (fst d) lo) eqn:Q; [apply Qle_bool_R in Q; lra|].
        assert (lo <= fst d)%Q as Le.
        { destruct (Qlt_le_dec lo (fst d)) as [L|L]; [apply Qlt_le_weak, L|].
        apply Qle_bool_iff in L. congruence. }
        apply Qle_Rle in Le. lra. }
      destruct (Fold (below k d)) as [F1 F2]. set (e := Q2R (if Qle_bool _ _ then _ else _)) in *.
      destruct k as [| |s'|s' wd| | |s'| |]; try discriminate;
        destruct (Nat.eqb_spec s s') as [<-|]; try discriminate; cbn [close below] in *.
      - pose proof (H i Hi) as B0. cbn beta in B0. pose proof (b2R_range (inside i && bit v s i)).
        split.
        + apply Rabs_le_inv in B0. destruct (plain (fst x)); lra.
        + intros In_. rewrite (B In_). rewrite inside_true in B0 by exact In_. cbn [andb] in B0.
          lra.
      - destruct H as [H1 H2]. pose proof (H1 i Hi) as B0. cbn beta in B0.
        split; [destruct (plain (fst x)); lra|]. intros In_. rewrite (B In_). specialize (H2 i In_).
        cbn beta in H2. lra.
      - destruct H. }
    destruct L as (e & Ee & Ez1 & E2). unfold term_off in *. cbn [map add_up fold_right].
    fold (add_up (map (literal_off l b) t)).
    rewrite Q2R_sum, Ee. cbn [map real_form fst snd].
    fold (real_form (map (fun x => (snd x, sign_of (fst x))) t)).
    cbn [Transformer.dot].
    set (D := dot (real_form (map (fun x => (snd x, sign_of (fst x))) t)) (X i)) in *.
    set (S := Q2R (add_up (map (literal_off l b) t))) in *.
    assert (Pos : Q2R (sign_of (fst x)) * X i (snd x) - INR (positives (x :: t))
                  = (if plain (fst x) then X i (snd x) - 1 else - X i (snd x)) - INR (positives t)).
    { unfold positives, sign_of. cbn [filter]. destruct (plain (fst x)); cbn [length];
        rewrite ?S_INR, ?Q2R_1, ?Q2R_m1; lra. }
    split; [destruct (plain (fst x)); lra|]. intros In_. specialize (E2 In_). specialize (IH2 In_).
    apply Rabs_le_inv in E2.
    cbn [term_holds forallb]. fold (term_holds v i t).
    destruct (plain (fst x)), (lit (fst x) i), (term_holds v i t); cbn [b2R andb] in *; lra.
Qed.

Lemma terms_clip l b X gs g : close_to l b X -> gates_clip l b gs = true -> In g gs ->
  clips eos n v l X (terms g).
Proof.
  intros H Ok Ig t r i It Hi E. unfold gates_clip in Ok. rewrite forallb_forall in Ok.
  specialize (Ok g Ig).
  rewrite forallb_forall in Ok. specialize (Ok t It). apply Qle_bool_R in Ok.
  replace (Q2R (1 # 4)) with (1 / 4) in Ok by (unfold Q2R; simpl; lra).
  unfold term_row in E.
  destruct (feat l (Ordinary false)) as [o|] eqn:Eo; [|discriminate].
  destruct (feat l One) as [one|] eqn:En; [|discriminate].
  destruct (term_slack l t) as [q|] eqn:Eq; [|discriminate].
  destruct (Qle_bool q (5 # 8)); [|discriminate]. injection E as <-.
  unfold term_slack in Eq. destruct (every _ t) as [qs|] eqn:Es; [|discriminate].
  destruct (literals_close l b X i t _ H Hi Es) as [L1 L2].
  set (row := map (fun x => (snd x, sign_of (fst x))) t) in *.
  apply place_spec in Eo, En. pose proof (H _ _ Eo i Hi) as Vo. pose proof (H _ _ En i Hi) as Vi.
  cbn beta in Vo, Vi.
  cbn [feature_value] in Vo, Vi. rewrite per_1 in Vo. unfold Rdiv in Vo.
  rewrite Rinv_1, Rmult_1_r in Vo.
  assert (D : dot (real_form ((o, 1%Q) :: (if Nat.eqb (positives t) 0 then [] else
       [(one, (- inject_Z (Z.of_nat (positives t)))%Q)]) ++ row)) (X i) = b2R (inside i)
         + (dot (real_form row) (X i) - INR (positives t))).
  { rewrite dot_cons, dot_app, Q2R_1, Vo. destruct (Nat.eqb_spec (positives t) 0) as [->|Np].
    - cbn. lra.
    - rewrite dot_cons, Vi, Q2R_opp, Q2R_Z, <- INR_IZR_INZ. cbn. lra. }
  rewrite D. destruct (inside i) eqn:Ii; cbn [andb b2R].
  - apply inside_spec in Ii. specialize (L2 Ii). destruct (term_holds v i t); cbn [b2R];
      [apply Gates.clip8_high|apply Gates.clip8_low]; lra.
  - apply Gates.clip8_low. lra.
Qed.

(** * What a layer does in the reals, to numbers that stand for bits *)

Definition cleared (X : stream) (i c : nat) (cs : list nat) : R :=
  lsum (fun c' => if Nat.eqb c c' then - relu (X i c') else 0) cs.

Lemma clears_relu l b X cs cu i c : close_to l b X -> every (clear_units l) cs = Some cu ->
  lsum (unit_adds X i c) (concat cu) = cleared X i c cs.
Proof.
  intros H E. apply every_spec in E. rewrite lsum_concat. unfold cleared.
  induction E as [|c' us cs cu E Es IH]; [reflexivity|]. rewrite !lsum_cons, IH. f_equal.
  clear IH Es.
  assert (One : us = [Unit [(c', 1%Q)] 0%Q [(c', (-1)%Q)]]).
  { unfold clear_units in E. destruct (nth_error l c') as [k|] eqn:N; [|discriminate].
    specialize (H _ _ N).
    destruct k; cbn [close] in H; try discriminate; try (destruct H; fail); injection E as <-;
      reflexivity. }
  rewrite One. cbn [Transformer.lsum fold_right]. unfold unit_adds.
  cbn [Lowering.input bias output real_form map Transformer.dot Transformer.coef fst snd].
  rewrite Q2R_0, Q2R_1, Q2R_m1. destruct (Nat.eqb c c'); [|ring].
  replace (1 * X i c' + 0 + 0) with (X i c') by ring. ring.
Qed.

Lemma clear_spec X i cs : forall l l5, clear l cs = Some l5 -> forall c,
  if existsb (Nat.eqb c) cs
  then (exists k, nth_error l c = Some k /\ k <> Empty /\ forall f, k <> Feature f) /\
    nth_error l5 c = Some Empty /\ cleared X i c cs = - relu (X i c)
  else nth_error l5 c = nth_error l c /\ cleared X i c cs = 0.
Proof.
  induction cs as [|c0 cs IH]; intros l l5 E c; cbn [clear existsb] in *;
    [injection E as <-; split; reflexivity|].
  assert (Go : clear (set l c0 Empty) cs = Some l5 /\ exists k, nth_error l c0 = Some k /\
    k <> Empty /\ forall f, k <> Feature f).
  { destruct (nth_error l c0) as [[]|] eqn:N; try discriminate;
      (split; [exact E|eexists; split; [reflexivity|split; discriminate]]). }
  destruct Go as [E' (k & N & Ne & Nf)].
  assert (L : (c0 < length l)%nat) by (apply nth_error_Some; congruence).
  specialize (IH _ _ E' c). unfold cleared in *. rewrite lsum_cons. rewrite nth_set in IH.
  destruct (Nat.eqb_spec c c0) as [Ec|Nc]; [subst c|]; cbn [orb].
  - destruct (Nat.ltb_spec c0 (length l)); [|lia]. destruct (existsb (Nat.eqb c0) cs).
    + destruct IH as [(k' & N' & Ne' & _) _]. injection N' as <-. congruence.
    + destruct IH as [A B]. split; [exists k; auto|]. split; [exact A|]. rewrite B. ring.
  - destruct (existsb (Nat.eqb c) cs).
    + destruct IH as (A & B & D). split; [exact A|]. split; [exact B|]. rewrite D. ring.
    + destruct IH as [A B]. split; [exact A|]. rewrite B. ring.
Qed.

Notation gate_total := (gate_total n v).

Lemma gates_spec gs : forall l l6, write_gates l gs = Some l6 -> forall c,
  (exists s, nth_error l c = Some Empty /\ nth_error l6 c = Some (Bit s) /\
     forall i, gate_total i c gs = b2R (inside i && bit v s i)) \/
  (nth_error l6 c = nth_error l c /\ forall i, gate_total i c gs = 0).
Proof.
  induction gs as [|g gs IH]; intros l l6 E c; cbn [write_gates] in E.
  - injection E as <-. right. split; reflexivity.
  - destruct (write l _ _) as [l'|] eqn:Ew; [|discriminate].
    specialize (IH _ _ E c). pose proof (proj1 (write_spec _ _ _ _ Ew)) as W.
    assert (Em : nth_error l (Lowering.at_ g) = Some Empty)
      by (unfold write in Ew; destruct (nth_error l (Lowering.at_ g)) as [[]|]; try discriminate;
        reflexivity).
    assert (Q : forall i, gate_total i c (g :: gs)
      = (if Nat.eqb c (Lowering.at_ g) then b2R (inside i && bit v (stored g) i) else 0)
        + gate_total i c gs)
      by (intros i; unfold Correct.gate_total; apply lsum_cons).
    destruct (Nat.eqb_spec c (Lowering.at_ g)) as [->|Nc].
    + left. exists (stored g). destruct IH as [(s & A & _)|[A B]]; [congruence|].
      split; [exact Em|].
      split; [congruence|]. intros i. rewrite Q, B. ring.
    + assert (Same : nth_error l' c = nth_error l c).
      { unfold write in Ew. rewrite Em in Ew. injection Ew as <-. rewrite nth_set.
        destruct (Nat.eqb_spec c (Lowering.at_ g)); [congruence|reflexivity]. }
      rewrite Same in IH. destruct IH as [(s & A & B & D)|[A B]]; [left; exists s|right].
      * split; [exact A|]. split; [exact B|]. intros i. rewrite Q, D. ring.
      * split; [exact A|]. intros i. rewrite Q, B. ring.
Qed.

Lemma fed_lowered l l1 hs pl a l2 b1 X :
  lower_groups p alphabet false eos 4 l (groups pl) l = Some (hs, l1) ->
  lower_layer p alphabet false eos 4 l pl = Some (a, l2) -> steps pl = [] -> decoded pl = [] ->
  close_to l1 b1 X -> gates_clip l1 b1 (gates pl) = true ->
  exists l5, heads a = hs /\ clear l1 (clears pl) = Some l5 /\
    write_gates l5 (gates pl) = Some l2 /\
  forall i c, (i <= last)%nat -> Transformer.fed (map real_unit (units a)) (real_form (shift a)) X i
    c
    = X i c + cleared X i c (clears pl) + gate_total i c (gates pl).
Proof.
  intros Eg E Es Ed H Ok. unfold lower_layer in E. rewrite Eg in E. step E l0 E0. step E l3 Ez1.
  step E l4 E2. step E l5 E3. step E l6 E4. step E l7 E5. step E l8 E6.
  destruct (aimed (steps pl) (decoded pl)); [|discriminate]. injection E as <- <-.
  rewrite Es in E2. injection E2 as <-. rewrite Ed in E6. injection E6 as <-.
  eexists. split; [reflexivity|]. split; [reflexivity|]. split; [first [exact E5|reflexivity]|].
  intros i c Hi. unfold Transformer.fed. cbn [units shift].
  assert (U : forall us, lsum (fun u => relu (dot (Transformer.input u) (X i) + Transformer.bias u)
    * coef (Transformer.output u) c)
                (map real_unit us) = lsum (unit_adds X i c) us).
  { intros us. rewrite Transformer.lsum_map. reflexivity. }
  rewrite U, !Transformer.lsum_app. rewrite (clears_relu l1 b1 X (clears pl) _ i c H E3).
  assert (Here : ordinary eos n l1 X).
  { intros o j Hj Eo. apply place_spec in Eo. rewrite (H _ _ Eo j Hj). cbn [feature_value per]. lra.
    }
  rewrite <- (gates_add p eos n w v Hv Hr l1 X Here (gates pl) _ _ i c
    (fun g Ig => terms_clip l1 b1 X (gates pl) g H Ok Ig) Hi E0 Ez1).
  cbn [concat Transformer.lsum fold_right]. ring.
Qed.

(** * What it does in floats *)

Lemma high_above l b X f hi i : close_to l b X -> (i <= last)%nat ->
  high_of longest l b f = Some hi ->
  dot (real_form f) (X i) <= Q2R hi.
Proof.
  intros H Hi E. unfold high_of in E. step E l0 E0. injection E as <-. apply every_spec in E0.
  induction E0 as [|e q f qs Ee Es IH]; [cbn; rewrite Q2R_0; lra|].
  destruct (at_ l b range_of (fst e)) as [r|] eqn:Er; [|discriminate]. injection Ee as <-.
  destruct e as [c a]. cbn [fst snd] in *. rewrite dot_cons.
  cbn [add_up fold_right]. fold (add_up qs). rewrite Q2R_sum.
  pose proof (range_in l b X c r i H Hi Er) as R. apply Rplus_le_compat; [|exact IH].
  destruct (Qle_bool 0 a) eqn:S; rewrite Q2R_mult.
  - apply Qle_bool_R in S. rewrite Q2R_0 in S. apply Rmult_le_compat_l; lra.
  - assert (a <= 0)%Q as Le.
    { destruct (Qlt_le_dec a 0) as [L|L]; [apply Qlt_le_weak, L|]. apply Qle_bool_iff in L.
      congruence. }
    apply Qle_Rle in Le. rewrite Q2R_0 in Le.
    assert (Q2R a * (X i c - Q2R (fst r)) <= 0); [|lra].
    rewrite <- (Rmult_0_l (X i c - Q2R (fst r))).
    apply Rmult_le_compat_r; lra.
Qed.

Lemma approx_unit l b X x d i r : close_to l b X -> (i <= last)%nat ->
  unit_bound longest l b x = Some d ->
  activated x (X i) r ->
    approx d r (relu (dot (real_form (Lowering.input x)) (X i) + Q2R (bias x))).
Proof.
  intros H Hi E (z & Hz & ->). unfold unit_bound in E. step E b0 E0.
  destruct (high_of longest l b _) as [hi|] eqn:Eh; [|discriminate]. injection E as <-.
  pose proof (approx_dots _ _ _ (actual_approx l b X i H Hi) _ _ _ _ _ z E0
    (approxes_cons _ _ _ _ _ _ (approx_weight (bias x)) approxes_nil) Hz) as [_ A].
  unfold total in A. cbn [fold_right snd] in A. rewrite Rplus_0_r in A.
  pose proof (high_above l b X _ _ i H Hi Eh) as Hh.
  set (D := dot (real_form (Lowering.input x)) (X i)) in *.
  split; cbn [fst snd].
  - rewrite Rabs_pos_eq by apply Rmax_l. destruct (Qle_bool 0 (hi + bias x)) eqn:S.
    + apply Qle_bool_R in S. rewrite Q2R_0, Q2R_plus in S. rewrite Q2R_plus. apply Rmax_lub; lra.
    + assert (hi + bias x <= 0)%Q as Le.
      { destruct (Qlt_le_dec (hi + bias x) 0) as [L|L]; [apply Qlt_le_weak, L|].
        apply Qle_bool_iff in L. congruence. }
      apply Qle_Rle in Le. rewrite Q2R_0, Q2R_plus in Le. rewrite Q2R_0. apply Rmax_lub; lra.
  - eapply Rle_trans; [apply Gates.relu_lipschitz|]. rewrite (Rplus_comm D). exact A.
Qed.

Lemma entry_zero f c : Qeq_bool (Model.entry f c) 0 = true -> coef (real_form f) c = 0.
Proof. intros E. apply Qeq_bool_iff, Qeq_eqR in E. rewrite entry_coef, Q2R_0 in E. exact E. Qed.

Lemma approx_fed l b X Y g c r i : close_to l b X -> written_bound longest l b g c = Some r ->
  fed (S last) (units g) (shift g) X Y -> (i <= last)%nat ->
  Rabs (Y i c - Transformer.fed (map real_unit (units g)) (real_form (shift g)) X i c)
    <= Q2R (snd r).
Proof.
  intros H E F Hi. destruct (F i c ltac:(lia)) as (ts & Ft & A). unfold written_bound in E.
  destruct (at_ l b actual_bound c) as [d|] eqn:Ed; [|discriminate].
  destruct (every _ _) as [bs|] eqn:Eb; [|discriminate].
  pose (val := fun x =>
    Q2R (Model.entry (output x) c) * relu (dot (real_form (Lowering.input x)) (X i)
    + Q2R (bias x))).
  assert (Ap : approx r (Y i c)
    (total (X i c :: constants (shift g) c ++ map val (writers (units g) c)))).
  { refine (approx_sum _ _ (X i c :: constants (shift g) c ++ ts) _ (Y i c) E _ A).
    constructor; [exact (actual_approx l b X i H Hi c _ Ed)|].
    apply approxes_app.
    - unfold constant_at, constants. destruct (Qeq_bool _ 0); constructor;
        [apply approx_weight|constructor].
    - clear E A. revert bs Eb. induction Ft as [|x t xs ts (rr & Ha & Hp) Hts IH]; intros bs E;
        cbn [every] in E.
      + injection E as <-. constructor.
      + step E b0 E0. step E l0 Ez1. injection E as <-. step E0 b1 E.
        constructor; [|apply IH; reflexivity].
        eapply approx_product;
          [exact E0|apply approx_weight|exact (approx_unit l b X x _ i rr H Hi E Ha)|exact Hp]. }
  destruct Ap as [_ Ap].
  assert (T : total (X i c :: constants (shift g) c ++ map val (writers (units g) c))
    = Transformer.fed (map real_unit (units g)) (real_form (shift g)) X i c).
  { change (total (X i c :: ?t)) with (X i c + total t). unfold Transformer.fed. f_equal.
    rewrite total_app. f_equal.
    - unfold constants. destruct (Qeq_bool _ 0) eqn:Z; [symmetry; apply entry_zero, Z|].
      unfold total. cbn [fold_right]. rewrite entry_coef. ring.
    - rewrite Transformer.lsum_map. clear. induction (units g) as [|x us IH]; [reflexivity|].
      cbn [Transformer.lsum fold_right writers filter].
      fold (lsum (fun a => relu (dot (Transformer.input (real_unit a)) (X i)
        + Transformer.bias (real_unit a)) * coef (Transformer.output (real_unit a)) c) us). fold
            (writers us c). rewrite <- IH.
      destruct (Qeq_bool (Model.entry (output x) c) 0) eqn:Z; cbn [negb map].
      + unfold real_unit at 3. cbn [Transformer.output]. rewrite (entry_zero _ _ Z). ring.
      + change (total (val x :: ?t)) with (val x + total t). unfold val at 1. rewrite entry_coef.
        unfold real_unit at 1 2 3. cbn [Transformer.output Transformer.input Transformer.bias].
        ring. }
  rewrite T in Ap. exact Ap.
Qed.

Lemma fed_close l l1 l2 hs pl a g b1 b2 X Y :
  lower_groups p alphabet false eos 4 l (groups pl) l = Some (hs, l1) ->
  lower_layer p alphabet false eos 4 l pl = Some (a, l2) -> normal_layer a = normal_layer g ->
  steps pl = [] -> decoded pl = [] -> close_to l1 b1 X -> gates_clip l1 b1 (gates pl) = true ->
  every (fed_bound longest l1 l2 b1 g (clears pl)) (seq 0 (length l2)) = Some b2 ->
  fed (S last) (units g) (shift g) X Y -> close_to l2 b2 Y.
Proof.
  intros Eg Ea Na Es Ed H Ok E F c k2 N2.
  destruct (fed_lowered l l1 hs pl a l2 b1 X Eg Ea Es Ed H Ok) as (l5 & _ & Ec & Ew & Z).
  assert (Same : Transformer.fed (map real_unit (units a)) (real_form (shift a)) X
                 = Transformer.fed (map real_unit (units g)) (real_form (shift g)) X).
  { rewrite <- (fed_normal (units a)), <- (fed_normal (units g)). unfold normal_layer in Na.
    congruence. }
  destruct (every_nth _ _ _ (0%Q, 0%Q) E) as [_ Eb].
  assert (Lc : (c < length l2)%nat) by (apply nth_error_Some; congruence).
  specialize (Eb c Lc). change (nth c b2 (0%Q, 0%Q)) with (at_slack b2 c) in Eb.
  unfold fed_bound in Eb. destruct (nth_error l1 c) as [k1|] eqn:N1; [|discriminate].
  rewrite N2 in Eb.
  pose proof (H c k1 N1) as Hc. set (d := at_slack b1 c) in *.
  destruct (untouched g c) eqn:Un.
  - destruct (existsb (Nat.eqb c) (clears pl)); [discriminate|].
    destruct (content_eq k1 k2) as [<-|]; [|discriminate].
    assert (Eb' : d = at_slack b2 c) by (injection Eb as Eb; exact Eb). rewrite <- Eb'.
    assert (Sm : forall i, (i <= last)%nat -> Y i c = X i c).
    { intros i Hi. destruct (F i c ltac:(lia)) as (ts & Ft & A).
      unfold untouched, constant_at in Un. unfold constants in A.
      destruct (writers (units g) c); [|discriminate]. inversion Ft; subst.
      destruct (Qeq_bool (Model.entry (shift g) c) 0); [|discriminate]. apply adds_one_inv, A. }
    destruct k1; cbn [close] in *; try exact Hc; try (intros i Hi; rewrite Sm by assumption;
      apply Hc; assumption).
    destruct Hc as [H1 H2]. split; intros i Hi; rewrite Sm; auto. apply inside_last, Hi.
  - set (base := if existsb (Nat.eqb c) (clears pl) then below k1 d else fst d) in *.
    pose (t := fun i => match k2 with Bit s => b2R (inside i && bit v s i) | _ => 0 end).
    assert (Kind : k2 = Empty \/ exists s, k2 = Bit s) by (destruct k2; try discriminate; eauto).
    assert (B0 : Qle_bool 0 base = true) by (destruct (Qle_bool 0 base);
      [reflexivity|destruct k2; discriminate]).
    rewrite B0 in Eb. apply Qle_bool_R in B0. rewrite Q2R_0 in B0.
    assert (Near : forall i, (i <= last)%nat ->
      Rabs (Transformer.fed (map real_unit (units g)) (real_form (shift g)) X i c - t i)
      <= Q2R base).
    { intros i Hi. rewrite <- Same, (Z i c Hi).
      pose proof (clear_spec X i (clears pl) l1 l5 Ec c) as Cs.
      pose proof (gates_spec (gates pl) l5 l2 Ew c) as Gs. unfold t. unfold base in *. clear base.
      destruct (existsb (Nat.eqb c) (clears pl)).
      - destruct Cs as ((k & Nk & Ne & Nf) & N5 & ->). rewrite N1 in Nk. injection Nk as <-.
        assert (Low : - Q2R (below k1 d) <= X i c).
        { destruct k1 as [|f|s|s wide| | | | |]; cbn [close below] in *;
            try (destruct Hc; fail); try congruence; try (exfalso; eapply Nf; reflexivity).
          - specialize (Hc i Hi). apply Rabs_le_inv in Hc.
            pose proof (b2R_range (inside i && bit v s i)). lra.
          - apply (proj1 Hc i Hi). }
        assert (Lo : Rabs (X i c + - relu (X i c)) <= Q2R (below k1 d)).
        { unfold Gates.relu, Rmax. destruct (Rle_dec 0 (X i c)); apply Rabs_le; [|lra].
          lra. }
        destruct Gs as [(s & _ & N6 & G)|[N6 G]]; rewrite G.
        + assert (k2 = Bit s) as -> by congruence.
          replace (X i c + - relu (X i c) + b2R (inside i && bit v s i)
            - b2R (inside i && bit v s i)) with (X i c + - relu (X i c)) by ring.
          exact Lo.
        + assert (k2 = Empty) as -> by congruence. rewrite Rplus_0_r, Rminus_0_r. exact Lo.
      - destruct Cs as [N5 ->]. rewrite Rplus_0_r. destruct Gs as [(s & N5' & N6 & G)|[N6 G]];
          rewrite G.
        + assert (k2 = Bit s) as -> by congruence. assert (k1 = Empty) as -> by congruence.
          replace (X i c + b2R (inside i && bit v s i) - b2R (inside i && bit v s i)) with (X i c)
            by ring. apply Hc, Hi.
        + assert (k2 = k1) as -> by congruence. rewrite Rplus_0_r.
          destruct Kind as [-> |(s & ->)]; cbn [close] in Hc; [rewrite Rminus_0_r|]; apply Hc, Hi. }
    assert (Done : forall i, (i <= last)%nat -> Rabs (Y i c - t i) <= Q2R (fst (at_slack b2 c))).
    { intros i Hi. assert (W : exists r, written_bound longest l1 b1 g c = Some r /\
        fst (at_slack b2 c) = up (base + snd r)).
      { destruct Kind as [-> |(s & ->)]; (destruct (written_bound longest l1 b1 g c) as [r|];
          [|discriminate]); exists r;
          (split; [reflexivity|]); injection Eb as Eb; rewrite <- Eb; reflexivity. }
      destruct W as (r & Er & ->). eapply Rle_trans; [|apply up_above]. rewrite Q2R_plus.
      pose proof (approx_fed l1 b1 X Y g c r i H Er F Hi) as A. pose proof (Near i Hi) as B.
      replace (Y i c - t i)
        with ((Y i c - Transformer.fed (map real_unit (units g)) (real_form (shift g)) X i c)
        + (Transformer.fed (map real_unit (units g)) (real_form (shift g)) X i c - t i)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. lra. }
    destruct Kind as [-> |(s & ->)]; cbn [close]; intros i Hi; specialize (Done i Hi);
      unfold t in Done; [rewrite Rminus_0_r in Done|]; exact Done.
Qed.

(** * Layers and outputs *)

Lemma layer_close l b pl g l2 b2 X Y Z :
  float_layer p alphabet eos longest l b pl g = Some (l2, b2) -> close_to l b X ->
  attended (S last) (heads g) X Y -> fed (S last) (units g) (shift g) Y Z -> close_to l2 b2 Z.
Proof.
  intros E H A F. unfold float_layer in E.
  destruct (lower_groups p alphabet false eos 4 l (groups pl) l) as [[hs l1]|] eqn:Eg;
    [|discriminate].
  destruct (lower_layer p alphabet false eos 4 l pl) as [[a l2']|] eqn:Ea; [|discriminate].
  destruct (layer_eq _ _) as [Na|]; [|discriminate]. cbn [andb] in E.
  destruct (is_nil (steps pl)) eqn:Es; [|discriminate]. destruct (is_nil (decoded pl)) eqn:Ed;
    [|discriminate]. cbn [andb] in E.
  destruct (every (heads_bound longest l l1 b (heads g)) (seq 0 (length l1))) as [b1|] eqn:E0;
    [|discriminate].
  destruct (gates_clip l1 b1 (gates pl)) eqn:Ok; [|discriminate].
  destruct (every (fed_bound longest l1 l2' b1 g (clears pl)) (seq 0 (length l2')))
    as [b3|] eqn:Ez1;
    [|discriminate].
  injection E as <- <-.
  assert (Es' : steps pl = []) by (destruct (steps pl); [reflexivity|discriminate]).
  assert (Ed' : decoded pl = []) by (destruct (decoded pl); [reflexivity|discriminate]).
  assert (Nh : map normal_head hs = map normal_head (heads g)).
  { assert (heads a = hs) as <-.
    { unfold lower_layer in Ea. rewrite Eg in Ea. step Ea l0 E. step Ea l2 E2. step Ea l3 E3.
      step Ea l4 E4. step Ea l5 E5. step Ea l6 E6. step Ea l7 E7.
      destruct (aimed _ _); [|discriminate]. injection Ea as <- <-. reflexivity. }
    unfold normal_layer in Na. congruence. }
  pose proof (heads_close l l1 b b1 X Y pl hs (heads g) H Eg Nh E0 A) as H1.
  exact (fed_close l l1 l2' hs pl a g b1 b3 Y Z Eg Ea Na Es' Ed' H1 Ok Ez1 F).
Qed.

Lemma layers_close ps : forall l b gs l' b' X Y, float_layers p alphabet eos longest l b ps gs
  = Some (l', b') ->
  close_to l b X -> runs (S last) gs X Y -> close_to l' b' Y.
Proof.
  induction ps as [|pl ps IH]; intros l b gs l' b' X Y E H R; destruct gs as [|g gs];
    try discriminate; cbn [float_layers] in E.
  - injection E as <- <-. cbn [runs] in R. subst Y. exact H.
  - destruct (float_layer p alphabet eos longest l b pl g) as [[l1 b1]|] eqn:El; [|discriminate].
    destruct R as (A & B & Ra & Rf & R). apply (IH l1 b1 gs l' b' B Y E); [|exact R].
    exact (layer_close l b pl g l1 b1 X A B El H Ra Rf).
Qed.

Lemma readout_close l b X r o i z : close_to l b X -> (1 <= i <= n)%nat ->
  readout_near p longest l b r o = true ->
  dots (row o) (X i) [Q2R (offset o)] z -> if lit (literal_of r) i then 1 / 8 <= z
    else z <= - 1 / 8.
Proof.
  intros H Hi E Hz. pose proof (inside_last eos n i Hi) as Li. unfold readout_near in E.
  destruct (lower_result p l r) as [o'|] eqn:Eo; [|discriminate].
  destruct (dot_bound _ (row o) _) as [d|] eqn:Eb; [|discriminate].
  destruct (readout_eq _ _) as [No|]; [|discriminate]. cbn [andb] in E. apply Qle_bool_R in E.
  rewrite Q2R_plus in E.
  replace (Q2R (3 # 8)) with (3 / 8) in E by (unfold Q2R; simpl; lra).
  pose proof (approx_dots _ _ _ (actual_approx l b X i H Li) _ _ _ _ _ z Eb
    (approxes_cons _ _ _ _ _ _ (approx_weight (offset o)) approxes_nil) Hz) as [_ A].
  unfold total in A. cbn [fold_right] in A. rewrite Rplus_0_r in A.
  assert (D : Q2R (offset o) + dot (real_form (row o)) (X i) = decide o' (X i)).
  { rewrite (decide_same _ _ _ No). unfold decide. ring. }
  rewrite D in A. apply Rabs_le_inv in A.
  unfold lower_result in Eo. step Eo q E0.
  match type of Eo with (if ?t then _ else _) = _ => destruct t
    eqn:Ok; [|discriminate] end.
  apply andb_true_iff in Ok as [_ Ok]. unfold term_slack in E0. step E0 l0 Ez1. rename Ez1 into Et.
  destruct (literals_close l b X i (reads r) _ H Li Et) as [_ L]. specialize (L Hi).
  set (off := Q2R (term_off l b (reads r))) in *.
  set (row0 := map (fun x => (snd x, sign_of (fst x))) (reads r)) in *.
  assert (T : (if plain (literal_of r) then term_holds v i (reads r)
    else negb (term_holds v i (reads r))) = lit (literal_of r) i).
  { unfold Program.lit. destruct (of (literal_of r)) as [s|].
    - pose proof (agree_sound p n w v Hv i Hi _ [] _ _ _ (nothing_known v i) Ok) as Co.
      cbn [map] in Co.
      rewrite xorb_false_r in Co. cbn [count_occ] in Co.
      destruct (term_holds v i (reads r)), (bit v s i), (plain (literal_of r)); cbn in Co;
        (reflexivity || discriminate).
    - destruct (reads r); [|discriminate]. destruct (plain (literal_of r)); reflexivity. }
  assert (V : dot (real_form row0) (X i) + Q2R ((1 # 2) - inject_Z (Z.of_nat (positives (reads r))))
              = (dot (real_form row0) (X i) - INR (positives (reads r))) + 1 / 2).
  { rewrite Q2R_minus, Q2R_Z, Q2R_half, <- INR_IZR_INZ. lra. }
  assert (Neg : forall f x, dot (real_form (map (fun e => (fst e, (- snd e)%Q)) f)) x
    = - dot (real_form f) x).
  { intros f x. induction f as [|[c q0] f IH]; [cbn; lra|]. cbn [map fst snd].
    rewrite !dot_cons, IH, Q2R_opp. lra. }
  set (D0 := dot (real_form row0) (X i) - INR (positives (reads r))) in *. injection Eo as <-.
  unfold decide in A. rewrite <- T.
  destruct (plain (literal_of r)); cbn [row offset Lowering.row Lowering.offset] in A; rewrite ?Neg,
    ?Q2R_opp in A.
  - rewrite V in A. destruct (term_holds v i (reads r)); lra.
  - assert (V' : - dot (real_form row0) (X i)
      + - Q2R ((1 # 2) - inject_Z (Z.of_nat (positives (reads r)))) = - (D0 + 1 / 2))
      by (rewrite <- V; ring).
    rewrite V' in A. destruct (term_holds v i (reads r)); cbn [negb]; lra.
Qed.
End Float.

(** * The embedding: sums of whole numbers up to 2^24 are exact *)

Definition whole (x : R) : Prop := exists k, x = IZR k.

Lemma whole_exact x : whole x -> Rabs x <= 16777216 -> fl x = x.
Proof.
  intros (k & ->) H. apply round_generic; [typeclasses eauto|].
  replace (IZR k) with (IZR k * bpow radix2 0) by (simpl; ring).
  apply (@Floats.integer_format 24 (-149) eq_refl); [lia|]. rewrite <- abs_IZR in H.
  apply le_IZR in H. lia.
Qed.

Lemma whole_product a x y : whole a -> whole x -> Rabs (a * x) <= 16777216 -> product a x y ->
  y = a * x.
Proof.
  intros (j & ->) (k & ->) H [->|Rz]; [reflexivity|].
  assert (H' : Rabs (IZR j * IZR k) <= huge) by (unfold huge; lra). rewrite (no_overflow _ _ H' Rz).
  apply whole_exact; [|exact H]. exists (j * k)%Z. rewrite mult_IZR. reflexivity.
Qed.

Lemma whole_sum l z : adds l z -> Forall whole l -> size l <= 16777216 -> z = total l /\ whole z.
Proof.
  induction 1 as [|x|l a b x y z P Na Nb Ax IHx Ay IHy Rz]; intros F S.
  - split; [reflexivity|exists 0%Z; reflexivity].
  - unfold total. cbn. split; [ring|]. inversion F; assumption.
  - rewrite (size_perm _ _ P), size_app in S. rewrite (total_perm _ _ P), total_app.
    assert (Fa : Forall whole a /\ Forall whole b)
      by (apply Forall_app, (Permutation.Permutation_Forall P), F).
    destruct Fa as [Fa Fb]. pose proof (size_nonneg a). pose proof (size_nonneg b).
    destruct (IHx Fa ltac:(lra)) as [-> (j & Ej)]. destruct (IHy Fb ltac:(lra)) as [-> (k & Ek)].
    assert (W : whole (total a + total b)) by (exists (j + k)%Z; rewrite plus_IZR, Ej, Ek;
      reflexivity).
    assert (B : Rabs (total a + total b) <= 16777216).
    { eapply Rle_trans; [apply Rabs_triang|]. pose proof (total_size a). pose proof (total_size b).
      lra. }
    assert (B' : Rabs (total a + total b) <= huge) by (unfold huge; lra).
    rewrite (no_overflow _ _ B' Rz), (whole_exact _ W B). split; [reflexivity|exact W].
Qed.

Lemma whole_number_whole q : whole_number q = true -> whole (Q2R q).
Proof.
  unfold whole_number. intros E. apply Qeq_bool_iff, Qeq_eqR in E. rewrite Q2R_Z in E.
  exists (Qnum (Qred q)). congruence.
Qed.

Lemma whole_bit b : whole (b2R b).
Proof. destruct b; [exists 1%Z|exists 0%Z]; reflexivity. Qed.

Lemma add_up_nonneg qs : 0 <= Q2R (add_up (map Qabs qs)).
Proof.
  induction qs as [|q qs IH]; [cbn; rewrite Q2R_0; lra|]. cbn [map add_up fold_right].
  fold (add_up (map Qabs qs)). rewrite Q2R_sum, Q2R_abs. pose proof (Rabs_pos (Q2R q)). lra.
Qed.

Section Embedding.
Variables (m : model) (longest : N) (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat ->
  bool).
Hypothesis Hn : (N.of_nat n <= longest)%N.
Hypothesis Hl : (longest <= 8190)%N.

Lemma position_whole f j : (j <= last (ends m) n)%nat ->
  whole (position_value n 1 w q f j) /\ Rabs (position_value n 1 w q f j) <= Q2R (len longest) + 1.
Proof.
  intros Hj. assert (L0 : 0 <= Q2R (len longest)) by (pose proof (len_n longest n Hn);
    pose proof (pos_INR n); lra).
  destruct f as [f|x]; cbn [position_value].
  - split.
    + destruct f; cbn [feature_value]; rewrite ?per_1; unfold Rdiv; rewrite ?Rinv_1, ?Rmult_1_r;
        try apply whole_bit.
      * exists 1%Z. reflexivity.
      * destruct (inside n j); [exists (Z.of_nat j); apply INR_IZR_INZ|exists 0%Z; reflexivity].
      * destruct (inside n j); [exists (Z.of_nat (S n - j)); apply INR_IZR_INZ|exists 0%Z;
          reflexivity].
      * pose proof (Previous.alternating j) as A. destruct (Nat.even j); rewrite A;
          [exists 1%Z|exists (-1)%Z]; reflexivity.
    + pose proof (feature_in (ends m) longest n Hn Hl f j Hj) as [A B].
      destruct f; cbn [feature_range fst snd] in A, B; rewrite ?Q2R_0, ?Q2R_opp, ?Q2R_one in A;
        rewrite ?Q2R_0, ?Q2R_opp, ?Q2R_one in B; apply Rabs_le; lra.
  - split; [apply whole_bit|]. pose proof (b2R_range (inside n j && known n w q x j)).
    rewrite Rabs_pos_eq; lra.
Qed.

Lemma token_total j c : total (token_terms m n w j c) = token_value m n w j c.
Proof.
  unfold token_terms, token_value. rewrite !total_app, <- Rplus_assoc. f_equal; [f_equal|].
  - induction (seq 0 (symbols m)) as [|a l IH]; [reflexivity|].
    cbn [filter Transformer.lsum fold_right].
    fold (lsum (fun a => b2R (inside n j && w j a) * coef (real_form (nth a (embedding m) [])) c)
      l).
    destruct (inside n j && w j a); cbn [b2R map].
    + change (total (?x :: ?t)) with (x + total t). rewrite IH, entry_coef. ring.
    + rewrite IH. ring.
  - destruct (Nat.eqb j 0); unfold total; cbn [fold_right b2R]; rewrite ?entry_coef; ring.
  - destruct (ends m && Nat.eqb j (S n)); unfold total; cbn [fold_right b2R]; rewrite ?entry_coef;
      ring.
Qed.

Lemma embeds_exact X c : embedding_whole m longest c = true -> embeds m n w q X ->
  forall j, (j <= last (ends m) n)%nat -> X j c = embedded m n 1 w q j c.
Proof.
  intros Ok E j Hj. unfold embedding_whole in Ok. apply andb_true_iff in Ok as [W B].
  rewrite forallb_app in W. apply andb_true_iff in W as [Wt Wc]. rewrite forallb_app in Wt.
  apply andb_true_iff in Wt as [Ws We].
  rewrite forallb_forall in Ws, We, Wc. apply Qle_bool_R in B. rewrite Q2R_plus, Q2R_mult, Q2R_plus,
    Q2R_Z, Q2R_one in B.
  set (toks := map (fun a => Model.entry (nth a (embedding m) []) c) (seq 0 (symbols m))
    ++ [Model.entry (bos m) c; Model.entry (eos m) c]) in *.
  set (cols := map (fun f => Model.entry (snd f) c) (features m)) in *.
  assert (L0 : 0 <= Q2R (len longest)) by (pose proof (len_n longest n Hn); pose proof (pos_INR n);
    lra).
  pose proof (add_up_nonneg toks) as T0. pose proof (add_up_nonneg cols) as C0.
  assert (Wb : whole_number (Model.entry (bos m) c) = true) by (apply We; left; reflexivity).
  assert (Wf : whole_number (Model.entry (eos m) c) = true) by (apply We; right; left; reflexivity).
  destruct (E j c Hj) as (ts & Ft & A).
  (* products *)
  assert (P : Forall2 (fun f t => t = Q2R (Model.entry (snd f) c) * position_value n 1 w q (fst f)
    j) (features m) ts /\
              Forall whole ts /\ size ts <= (Q2R (len longest) + 1) * Q2R (add_up (map Qabs cols))).
  { assert (Big : (Q2R (len longest) + 1) * Q2R (add_up (map Qabs cols)) <= 16777216) by lra.
    clear A E Ws We B T0 toks Wb Wf. subst cols. induction Ft as [|f t fs ts Hp Hts IH];
      cbn [map add_up fold_right] in *.
    - rewrite Q2R_0. unfold size, total. cbn. repeat split; try constructor; lra.
    - fold (add_up (map Qabs (map (fun f => Model.entry (snd f) c) fs))) in *.
      rewrite Q2R_sum, Q2R_abs in *.
      set (rest := Q2R (add_up (map Qabs (map (fun f => Model.entry (snd f) c) fs)))) in *.
      assert (R0 : 0 <= rest) by apply add_up_nonneg.
      pose proof (Rabs_pos (Q2R (Model.entry (snd f) c))) as E0.
      set (L := Q2R (len longest) + 1) in *. set (e := Rabs (Q2R (Model.entry (snd f) c))) in *.
      assert (Le : 0 <= L * e) by (apply Rmult_le_pos; unfold L; lra).
      assert (Lr : 0 <= L * rest) by (apply Rmult_le_pos; unfold L; lra).
      destruct IH as (I1 & I2 & I3); [intros x I; apply Wc; right; exact I|lra|lra|].
      destruct (position_whole (fst f) j Hj) as [Pw Pb]. fold L in Pb.
      assert (Ew : whole (Q2R (Model.entry (snd f) c))) by (apply whole_number_whole, Wc; left;
        reflexivity).
      assert (Ps : Rabs (Q2R (Model.entry (snd f) c) * position_value n 1 w q (fst f) j) <= L * e).
      { rewrite Rabs_mult. fold e. rewrite Rmult_comm. apply Rmult_le_compat_r; assumption. }
      assert (Et : t = Q2R (Model.entry (snd f) c) * position_value n 1 w q (fst f) j)
        by (apply (whole_product _ _ _ Ew Pw); [lra|exact Hp]).
      split; [constructor; assumption|]. split.
      + constructor; [|exact I2]. destruct Ew as (a & Ea), Pw as (d & Ed). exists (a * d)%Z.
        rewrite Et, Ea, Ed, mult_IZR. reflexivity.
      + change (size (t :: ts)) with (Rabs t + size ts). rewrite Et. lra. }
  destruct P as (P1 & P2 & P3).
  (* tokens *)
  assert (Tw : Forall whole (token_terms m n w j c) /\
    size (token_terms m n w j c) <= Q2R (add_up (map Qabs toks))).
  { unfold token_terms. rewrite !size_app.
    assert (App : forall a b, Q2R (add_up (map Qabs (a ++ b))) = Q2R (add_up (map Qabs a))
      + Q2R (add_up (map Qabs b))).
    { intros a b. unfold add_up. induction a as [|x a IH]; cbn [app map fold_right].
      - rewrite Q2R_0. ring.
      - rewrite !Q2R_sum, IH. ring. }
    unfold toks. rewrite App.
    assert (End : Q2R (add_up (map Qabs [Model.entry (bos m) c; Model.entry (eos m) c]))
      = Rabs (Q2R (Model.entry (bos m) c)) + Rabs (Q2R (Model.entry (eos m) c))).
    { unfold add_up. cbn [map fold_right]. rewrite !Q2R_sum, !Q2R_abs, Q2R_0. ring. }
    rewrite End. split.
    - apply Forall_app. split; [|apply Forall_app; split].
      + apply Forall_forall. intros x I. apply in_map_iff in I as (a & <- & I).
        apply filter_In in I as [I _].
        apply whole_number_whole, Ws, in_map_iff. exists a. auto.
      + destruct (Nat.eqb j 0); constructor; [apply whole_number_whole, Wb|constructor].
      + destruct (ends m && Nat.eqb j (S n)); constructor;
          [apply whole_number_whole, Wf|constructor].
    - pose proof (Rabs_pos (Q2R (Model.entry (bos m) c))).
      pose proof (Rabs_pos (Q2R (Model.entry (eos m) c))).
      assert (S1 : size (if Nat.eqb j 0 then [Q2R (Model.entry (bos m) c)] else [])
        <= Rabs (Q2R (Model.entry (bos m) c)))
        by (destruct (Nat.eqb j 0); unfold size, total; cbn [map fold_right]; lra).
      assert (S2 : size (if ends m && Nat.eqb j (S n) then [Q2R (Model.entry (eos m) c)] else [])
        <= Rabs (Q2R (Model.entry (eos m) c)))
        by (destruct (ends m && Nat.eqb j (S n)); unfold size, total; cbn [map fold_right]; lra).
      assert (S3 : forall l, size (map (fun a => Q2R (Model.entry (nth a (embedding m) []) c))
        (filter (fun a => inside n j && w j a) l))
                   <= Q2R (add_up
                     (map Qabs (map (fun a => Model.entry (nth a (embedding m) []) c) l)))).
      { intros l. induction l as [|a l IH];
          [unfold size, total, add_up; cbn [map filter fold_right]; rewrite Q2R_0; lra|].
        cbn [map filter add_up fold_right].
        fold (add_up (map Qabs (map (fun a => Model.entry (nth a (embedding m) []) c) l))).
        rewrite Q2R_sum, Q2R_abs.
        pose proof (Rabs_pos (Q2R (Model.entry (nth a (embedding m) []) c))).
        destruct (inside n j && w j a); [|lra]. cbn [map].
        change (size (?x :: ?t)) with (Rabs x + size t). lra. }
      specialize (S3 (seq 0 (symbols m))). lra. }
  destruct Tw as [Tw Ts].
  destruct (whole_sum _ _ A) as [Z _]; [apply Forall_app; split; assumption|rewrite size_app; lra|].
  rewrite Z, total_app, token_total. unfold embedded. f_equal.
  clear -P1. induction P1 as [|f t fs ts Et Ets IH]; [reflexivity|].
  cbn [Transformer.lsum fold_right].
  fold (lsum (fun f => position_value n 1 w q (fst f) j * coef (real_form (snd f)) c) fs).
  change (total (t :: ts)) with (t + total ts). rewrite IH, Et, entry_coef. ring.
Qed.
End Embedding.

(** * The theorem *)

(* Whatever the evidence, and whatever a runtime chooses: a model that passes both checks has
   logits in binary32 of at least 1/8 where the formula holds, and of at most -1/8 where it does
   not, at every position of every word up to the length. *)
Theorem certified_binary32 fs m ev longest : certified fs m ev = true ->
  near_binary32 m ev longest = true ->
  forall n w q, (N.of_nat n <= longest)%N -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, (1 <= i <= n)%nat ->
  forall z, float_logit m n w q k i z -> if sat n w q f i then 1 / 8 <= z else z <= - 1 / 8.
Proof.
  intros C B n w q Hn Hw k f Ef i Hi z (X & Y & o & Eo & Em & Ru & Hz).
  destruct (certified_signal fs m ev C n w q Hw) as [(Hv & Hr & Hsym) R].
  destruct (R k f Ef i Hi) as (r & Er & <-).
  set (pw := program_word m (inputs ev) n w q) in *.
  set (v := Evaluated.values n pw (Kernel.whole ev)) in *.
  unfold certified in C. rewrite !andb_true_iff in C. destruct C as [[[[Ch La] _] _] _].
  unfold near_binary32 in B. rewrite !andb_true_iff in B. destruct B as [[[Sc Lg] Ee] B].
  apply N.leb_le in Lg. rewrite forallb_forall in Ee.
  destruct (float_layers _ _ _ _ _ _ _ _) as [[l b]|] eqn:El; [|discriminate].
  assert (Emb : forallb (embeddable (signals ev)) (start ev) = true).
  { unfold checked, claim_of in Ch. cbn in Ch. unfold lower in Ch. destruct (forallb _ (start ev));
      [reflexivity|discriminate]. }
  pose proof (embed_holds (signals ev) (ends m) n 1 pw v Hv (start ev) Emb) as G.
  assert (Start : close_to (ends m) n v (start ev) [] X).
  { intros c kk Nc. assert (Lc : (c < length (start ev))%nat) by (apply nth_error_Some; congruence).
    pose proof (embeds_exact m longest n w q Hn Lg X c (Ee c ltac:(apply in_seq; lia)) Em) as Ex.
    rewrite (embedding_right m (signals ev) (inputs ev) n 1 w q Hw (start ev) La) in Ex.
    specialize (G c kk Nc). rewrite forallb_forall in Emb.
    specialize (Emb kk (nth_error_In _ _ Nc)).
    replace (at_slack [] c) with (0%Q, 0%Q) by (destruct c; reflexivity).
    destruct kk; cbn [close Lowered.good embeddable fst] in *; try discriminate; intros j Hj;
      rewrite Ex by exact Hj; fold pw.
    - rewrite (G j Hj), Rabs_R0, Q2R_0. lra.
    - apply (G j Hj).
    - rewrite (G j Hj), Rminus_diag_eq, Rabs_R0, Q2R_0 by reflexivity. lra. }
  pose proof (layers_close (signals ev) (program_symbols m) (ends m) longest n pw v Hv Hr Hsym Hn Lg
    (plans ev) (start ev) [] (layers m) l b X Y El Start Ru) as End.
  assert (Rn : readout_near (signals ev) longest l b r o = true).
  { clear -B Er Eo. revert B. generalize (results ev) (readouts m) Er Eo. clear. intros rs os.
    revert os k.
    induction rs as [|r0 rs IH]; intros os k Er Eo B; [destruct k; discriminate|].
    destruct os as [|o0 os]; [discriminate|].
    cbn [readouts_near] in B. apply andb_true_iff in B as [B1 B2]. destruct k as [|k].
    - injection Er as ->. injection Eo as ->. exact B1.
    - apply (IH os k Er Eo B2). }
  exact (readout_close (signals ev) (ends m) longest n pw v Hv Hn Lg l b Y r o i z End Hi Rn Hz).
Qed.

(* the same for the length that Coq computes *)
Corollary binary32_right fs m ev : certified fs m ev = true ->
  forall n w q, (N.of_nat n <= binary32_length m ev)%N -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, (1 <= i <= n)%nat ->
  forall z, float_logit m n w q k i z -> if sat n w q f i then 1 / 8 <= z else z <= - 1 / 8.
Proof.
  intros C n w q Hn Hw k f Ef i Hi. unfold binary32_length in Hn.
  destruct (find _ _) as [longest|] eqn:F; [|lia]. apply find_some in F as [_ B].
  exact (certified_binary32 fs m ev longest C B n w q Hn Hw k f Ef i Hi).
Qed.
