(** Heads that select, in a transformer: what Match, At and Width return for a lowered program, on
    words up to the length that they are made for, if the positions that they read agree. *)
From Coq Require Import Reals Lra Lia Arith NArith ZArith QArith Qreals Qpower List Bool.
From Softhat Require Import Sums Attention Gates Masks Match Width At Euler Formula Program Reads
  Lowering Lowered.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

Lemma exp_power K : exp (- IZR (Zpos K)) <= Q2R (Qpower (10 # 27) (Zpos K)).
Proof.
  assert (Q : Q2R (Qpower (10 # 27) (Zpos K)) = (10 / 27) ^ Pos.to_nat K).
  { cbn [Qpower]. rewrite <- (Pos2Nat.id K) at 1. generalize (Pos2Nat.is_pos K).
    generalize (Pos.to_nat K).
    intros k Hk. destruct k as [|k]; [lia|]. clear Hk.
    rewrite <- (Qeq_eqR (Qpower (10 # 27) (Z.of_nat (S k)))).
    2: { rewrite <- Pos.of_nat_succ. reflexivity. }
    induction k as [|k IH]; [unfold Q2R; cbn; lra|].
    rewrite Nat2Z.inj_succ. unfold Z.succ.
    rewrite (Qeq_eqR _ _ (Qpower_plus (10 # 27) (Z.of_nat (S k)) 1 ltac:(discriminate))), Q2R_mult,
      IH.
    cbn [pow]. unfold Q2R at 1. cbn. lra. }
  rewrite Q. pose proof e_large as E.
  replace (- IZR (Zpos K)) with (- (1 * INR (Pos.to_nat K)))
    by (rewrite INR_IZR_INZ, positive_nat_Z; lra).
  rewrite exp_pow, exp_Ropp. apply pow_incr. split; [left; apply Rinv_0_lt_compat, exp_pos|].
  replace (10 / 27) with (/ (27 / 10)) by field. apply Rinv_le_contravar; lra.
Qed.

(* what `sharp_enough` computes, for a head that is as sharp or sharper *)
Lemma sharp_enough_spec K N most n deep : sharp_enough K N most = true -> (N.of_nat n <= N)%N ->
  IZR (Zpos K) <= deep -> let u := exp (- deep) in
  0 < u /\ INR n * (u * u) + 2 * u <= Q2R most /\ INR n * u <= Q2R most.
Proof.
  intros Sh Hn Deep u. assert (U0 : 0 < u) by apply exp_pos. split; [exact U0|].
  unfold sharp_enough in Sh. rewrite !andb_true_iff in Sh. destruct Sh as [[S1 S2] _].
  apply Qle_bool_iff, Qle_Rle in S1, S2. q2r_in S1. q2r_in S2.
  pose proof (exp_power K) as E. set (y := Q2R (Qpower (10 # 27) (Zpos K))) in *.
  assert (u <= exp (- IZR (Zpos K))) by (apply exp_le; lra).
  assert (L : 0 <= INR n <= IZR (Z.of_N N)).
  { split; [apply pos_INR|]. rewrite INR_IZR_INZ. apply IZR_le. lia. }
  assert (INR n * u <= IZR (Z.of_N N) * y) by (apply Rmult_le_compat; lra).
  assert (0 <= INR n * u) by (apply Rmult_le_pos; lra).
  assert (INR n * u * u <= IZR (Z.of_N N) * y * y) by (apply Rmult_le_compat; lra).
  split; lra.
Qed.

Lemma spill_spec K N n deep : (N.of_nat n <= N)%N -> IZR (Zpos K) <= deep ->
  INR n * (exp (- deep) * exp (- deep)) + 2 * exp (- deep) <= Q2R (spill K N).
Proof.
  intros Hn Deep. unfold spill. q2r. pose proof (exp_power K) as E.
  pose proof (exp_pos (- deep)) as U.
  assert (exp (- deep) <= exp (- IZR (Zpos K))) by (apply exp_le; lra).
  set (u := exp (- deep)) in *. set (y := Q2R (Qpower (10 # 27) (Zpos K))) in *.
  assert (L : 0 <= INR n <= IZR (Z.of_N N)).
  { split; [apply pos_INR|]. rewrite INR_IZR_INZ. apply IZR_le. lia. }
  assert (A : INR n * u <= IZR (Z.of_N N) * y) by (apply Rmult_le_compat; lra).
  assert (0 <= INR n * u) by (apply Rmult_le_pos; lra).
  assert (INR n * u * u <= IZR (Z.of_N N) * y * y) by (apply Rmult_le_compat; lra).
  lra.
Qed.

Section Selected.
Variables (p : program) (eos : bool) (n : nat) (P : R) (v : valuation).
Notation lit := (lit v).
Notation last := (last eos n).
Notation inside := (inside n).
Notation holds := (Lowered.holds p eos n P v).
Notation read := (Lowered.read eos n).

(** * Positions and sinks *)

Definition outside (j : nat) : bool := negb (inside j).

Lemma sum_inside : sum (fun j => b2R (inside j)) (S last) = INR n.
Proof.
  assert (E : forall k, sum (fun j => b2R (inside j)) (S k) = INR (Nat.min k n)).
  { induction k as [|k IH].
    - cbn [sum]. rewrite (inside_false n 0) by lia. rewrite Nat.min_0_l. cbn [b2R INR]. lra.
    - cbn [sum] in *. rewrite IH. destruct (Nat.le_gt_cases (S k) n) as [L|L].
      + rewrite inside_true by lia. rewrite !Nat.min_l by lia. rewrite S_INR. cbn [b2R]. lra.
      + rewrite inside_false by lia. rewrite !Nat.min_r by lia. cbn [b2R]. lra. }
  rewrite E. f_equal. unfold Lowered.last. destruct eos; lia.
Qed.

Lemma sum_outside : 0 <= sum (fun j => b2R (outside j)) (S last) <= 2.
Proof.
  split; [apply sum_nonneg; intros; apply b2R_range|].
  rewrite (sum_ext _ (fun j => 1 + -1 * b2R (inside j)))
    by (intros j _; unfold outside; destruct (inside j); cbn; lra).
  rewrite sum_plus, sum_scal, sum_inside.
  assert (C : sum (fun _ => 1) (S last) <= INR n + 2).
  { assert (E : forall k, sum (fun _ => 1) k = INR k)
      by (induction k as [|k IH]; [reflexivity|]; cbn [sum]; rewrite IH, S_INR; lra).
    rewrite E. unfold Lowered.last. destruct eos; rewrite !S_INR; lra. }
  lra.
Qed.

(* every query of the word sees a sink *)
Definition sighted_mask (m : mask) : Prop :=
  match m with AtMost | Below | Any => True | AtLeast | Above => eos = true end.
Lemma sink_seen m i : (1 <= i <= n)%nat -> sighted_mask m ->
  exists j, (j < S last)%nat /\ sees m i j = true /\ outside j = true.
Proof.
  intros Hi Si. unfold outside. destruct m; cbn [sighted_mask] in Si.
  - exists 0%nat. rewrite inside_false by lia. split; [lia|split; [|reflexivity]]. apply Nat.leb_le.
    lia.
  - exists 0%nat. rewrite inside_false by lia. split; [lia|split; [|reflexivity]]. apply Nat.ltb_lt.
    lia.
  - exists (S n). unfold Lowered.last. rewrite Si, inside_false by lia.
    split; [lia|split; [|reflexivity]].
    apply Nat.leb_le. lia.
  - exists (S n). unfold Lowered.last. rewrite Si, inside_false by lia.
    split; [lia|split; [|reflexivity]].
    apply Nat.ltb_lt. lia.
  - exists 0%nat. rewrite inside_false by lia. split; [lia|split; reflexivity].
Qed.

Lemma in_visible m i j : In j (visible n m i) <-> (1 <= j <= n)%nat /\ sees m i j = true.
Proof. unfold visible. rewrite filter_In, in_seq. intuition lia. Qed.

(** * A row of three levels reads the bit on which the selected positions agree *)

Section Row.
Variables (m : mask) (i : nat) (hit : nat -> bool).
Hypothesis Hi : (1 <= i <= n)%nat.
Hypothesis Si : sighted_mask m.
Let hit_in (j : nat) : bool := inside j && hit j.

Lemma hits_nonneg : 0 <= hits (S last) (sees m i) hit_in.
Proof. apply counted_nonneg. Qed.

Lemma others_few : others_ (S last) (sees m i) hit_in outside <= INR n.
Proof.
  rewrite <- sum_inside. unfold others_, Match.counted. apply sum_le. intros j _.
  unfold hit_in, outside.
  destruct (sees m i j), (inside j), (hit j); cbn; lra.
Qed.

Lemma sinks_few : 1 <= sinks (S last) (sees m i) hit_in outside <= 2.
Proof.
  unfold sinks, Match.counted. split.
  - destruct (sink_seen m i Hi Si) as (j & Hj & Sj & Oj). rewrite (sum_others j _ (S last) Hj).
    unfold hit_in. rewrite Sj, Oj. unfold outside in Oj. apply negb_true_iff in Oj. rewrite Oj.
    cbn [andb negb].
    pose proof (others_nonneg j (fun j0 =>
      if sees m i j0 && (negb (inside j0 && hit j0) && outside j0) then 1 else 0)
      (S last)) as O. assert (0 <= others j (fun j0 => if sees m i j0
        && (negb (inside j0 && hit j0) && outside j0) then 1 else 0) (S last)); [|lra].
    apply O. intros k _ _. destruct (sees m i k && (negb (inside k && hit k) && outside k)); lra.
  - eapply Rle_trans; [|apply sum_outside]. apply sum_le. intros j _. unfold hit_in, outside.
    destruct (sees m i j), (inside j), (hit j); cbn; lra.
Qed.

Lemma hits_some : (exists j, In j (visible n m i) /\ hit j = true) ->
  1 <= hits (S last) (sees m i) hit_in.
Proof.
  intros (j & Vj & Hj). apply in_visible in Vj as [Ij Sj].
  assert (Lj : (j < S last)%nat) by (pose proof (inside_last eos n j Ij); lia).
  unfold hits, Match.counted. rewrite (sum_others j _ (S last) Lj). unfold hit_in at 1.
  rewrite Sj, Hj, (inside_true n j Ij). cbn [andb].
  assert (0 <= others j (fun j0 => if sees m i j0 && hit_in j0 then 1 else 0) (S last)); [|lra].
  apply others_nonneg. intros k _ _. destruct (sees m i k && hit_in k); lra.
Qed.

Lemma hits_none : (forall j, In j (visible n m i) -> hit j = false) ->
  hits (S last) (sees m i) hit_in = 0.
Proof.
  intros No. unfold hits, Match.counted. rewrite (sum_ext _ (fun _ => 0)).
  - rewrite sum_const. ring.
  - intros j _. unfold hit_in. destruct (sees m i j) eqn:Sj; [|reflexivity].
    destruct (inside j) eqn:Ij; [|reflexivity]. apply inside_spec in Ij.
    rewrite (No j) by (apply in_visible; auto). reflexivity.
Qed.

Lemma mean_of_hits (x : nat -> R) (b : bool) :
  (exists j, In j (visible n m i) /\ hit j = true) ->
  (forall j, In j (visible n m i) -> hit j = true -> x j = b2R b) ->
  mean (S last) (sees m i) hit_in x = b2R b.
Proof.
  intros So X. pose proof (hits_some So) as H1. unfold mean.
  rewrite (sum_ext _ (fun j => b2R b * (if sees m i j && hit_in j then 1 else 0))).
  - rewrite sum_scal. fold (Match.counted (S last) (sees m i) hit_in).
    fold (hits (S last) (sees m i) hit_in). field. lra.
  - intros j _. destruct (sees m i j) eqn:Sj; cbn [andb]; [|ring]. unfold hit_in.
    destruct (inside j) eqn:Ij; cbn [andb]; [|ring]. destruct (hit j) eqn:Hj; [|ring].
    apply inside_spec in Ij. rewrite (X j) by (auto; apply in_visible; auto). ring.
Qed.

Variables (deep top : R) (s x : nat -> R).
Hypothesis Hits : forall j, In j (visible n m i) -> hit j = true -> s j = top.
Hypothesis Misses : forall j, In j (visible n m i) -> hit j = false ->
  s j <= top - 2 * deep.
Hypothesis Sinks : forall j, (j <= last)%nat -> inside j = false -> s j = top - deep.
Let y : R := exp (- deep).

Lemma hit_level j : (j < S last)%nat -> sees m i j = true -> hit_in j = true -> s j = top.
Proof.
  intros Hj Sj Hh. unfold hit_in in Hh. apply andb_true_iff in Hh as [Ij Hh].
  apply Hits; [|exact Hh]. apply in_visible. apply inside_spec in Ij. auto.
Qed.

Lemma sink_level j : (j < S last)%nat -> sees m i j = true -> hit_in j = false ->
  outside j = true ->
  s j = top - deep.
Proof.
  intros Hj _ _ Oj. apply Sinks; [lia|]. unfold outside in Oj. apply negb_true_iff in Oj. exact Oj.
Qed.

Lemma miss_level j : (j < S last)%nat -> sees m i j = true -> hit_in j = false ->
  outside j = false ->
  s j <= top - 2 * deep.
Proof.
  intros Hj Sj Hh Oj. unfold outside in Oj. apply negb_false_iff in Oj. unfold hit_in in Hh.
  rewrite Oj in Hh. apply Misses; [|exact Hh]. apply in_visible. apply inside_spec in Oj. auto.
Qed.

(* whatever is selected, the row returns its mean *)
Theorem mixes lo hi : (exists j, In j (visible n m i) /\ hit j = true) ->
  (forall j, (j <= last)%nat -> lo <= x j <= hi) ->
  Rabs (soft (sees m i) s x (S last) - mean (S last) (sees m i) hit_in x)
  <= (hi - lo) * (INR n * (y * y) + 2 * y).
Proof.
  intros So B. pose proof (hits_some So) as H1. pose proof others_few as O1.
  pose proof sinks_few as K1.
  pose proof (counted_nonneg (S last) (sees m i) (fun j => negb (hit_in j) && negb (outside j))) as
    O0.
  fold (others_ (S last) (sees m i) hit_in outside) in O0.
  pose proof (selected_found (S last) (sees m i) hit_in outside s top (2 * deep)
    (deep)
    hit_level sink_level miss_level x lo hi H1 (fun j Hj _ => B j ltac:(lia))) as F.
  eapply Rle_trans; [exact F|]. pose proof (B 0%nat ltac:(lia)) as B0.
  apply Rmult_le_compat_l; [lra|]. assert (U0 : 0 < y) by apply exp_pos.
  replace (exp (- (2 * deep))) with (y * y) by (unfold y; rewrite <- exp_plus; f_equal;
    lra).
  fold y. set (o := others_ _ _ _ _) in *. set (k := sinks _ _ _ _) in *.
  set (h := hits _ _ _) in *.
  apply Rmult_le_reg_r with h; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (Y2 : 0 < y * y) by nra.
  assert (A1 : o * (y * y) <= INR n * (y * y)) by (apply Rmult_le_compat_r; lra).
  assert (A2 : k * y <= 2 * y) by (apply Rmult_le_compat_r; lra).
  assert (A3 : 0 <= o * (y * y)) by (apply Rmult_le_pos; lra).
  assert (A4 : 0 <= k * y) by (apply Rmult_le_pos; lra).
  assert ((INR n * (y * y) + 2 * y) * 1 <= (INR n * (y * y) + 2 * y) * h)
    by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Variables (K : BinNums.positive) (N : BinNums.N) (most : Q) (u : Program.literal).
Hypothesis Deep : IZR (Zpos K) <= deep.
Hypothesis Sharp : sharp_enough K N most = true.
Hypothesis Short : (N.of_nat n <= N)%N.
Hypothesis Values : forall j, (j <= last)%nat -> x j = b2R (inside j && lit u j).
Hypothesis Agree : agreeing v hit u (visible n m i) = true.

Theorem selects : Rabs (soft (sees m i) s x (S last) - b2R (some_chosen v hit u (visible n m i)))
  <= Q2R most.
Proof.
  destruct (sharp_enough_spec K N most n deep Sharp Short Deep) as (U0 & F1 & F2).
  fold y in U0, F1, F2.
  assert (B : forall j, (j <= last)%nat -> 0 <= x j <= 1).
  { intros j Hj. rewrite Values by exact Hj. apply b2R_range. }
  pose proof others_few as O1. pose proof sinks_few as K1.
  pose proof (counted_nonneg (S last) (sees m i) (fun j => negb (hit_in j) && negb (outside j))) as
    O0.
  fold (others_ (S last) (sees m i) hit_in outside) in O0.
  destruct (existsb hit (visible n m i)) eqn:Ex.
  - apply existsb_exists in Ex. destruct Ex as (j0 & V0 & H0).
    pose proof (mixes 0 1 (ex_intro _ j0 (conj V0 H0)) B) as F.
    assert (M : mean (S last) (sees m i) hit_in x = b2R (some_chosen v hit u (visible n m i))).
    { apply mean_of_hits; [exists j0; auto|]. intros j Vj Hj.
      pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
      rewrite Values by (apply inside_last, Ij). rewrite (inside_true n j Ij). cbn [andb]. f_equal.
      unfold agreeing in Agree. apply orb_true_iff in Agree as [A|A]; rewrite forallb_forall in A.
      - pose proof (A j Vj) as Aj. rewrite Hj in Aj. cbn in Aj. rewrite Aj. symmetry.
        apply existsb_exists. exists j. rewrite Hj, Aj. auto.
      - pose proof (A j Vj) as Aj. rewrite Hj in Aj. cbn in Aj. apply negb_true_iff in Aj.
        rewrite Aj.
        symmetry.
        apply not_true_is_false. intros T. apply existsb_exists in T. destruct T as (k & Vk & Tk).
        apply andb_true_iff in Tk as [Hk Uk]. pose proof (A k Vk) as Ak. rewrite Hk, Uk in Ak.
        discriminate. }
    rewrite M in F. lra.
  - assert (No : forall j, In j (visible n m i) -> hit j = false).
    { intros j Vj. destruct (hit j) eqn:Hj; [|reflexivity].
      assert (existsb hit (visible n m i) = true) by (apply existsb_exists; exists j; auto).
      congruence. }
    assert (V : forall j, (j < S last)%nat -> sees m i j = true -> outside j = true -> x j = 0).
    { intros j Hj _ Oj. rewrite Values by lia. unfold outside in Oj. apply negb_true_iff in Oj.
      rewrite Oj.
      reflexivity. }
    pose proof (selected_none (S last) (sees m i) hit_in outside s top (2 * deep)
      (deep)
      sink_level miss_level x (hits_none No) (proj1 K1) (fun j Hj _ => B j ltac:(lia)) V) as [F0 F].
    assert (E : some_chosen v hit u (visible n m i) = false).
    { apply not_true_is_false. intros T. apply existsb_exists in T. destruct T as (k & Vk & Tk).
      rewrite (No k Vk) in Tk. discriminate. }
    rewrite E. cbn [b2R]. rewrite Rminus_0_r, Rabs_pos_eq by exact F0. eapply Rle_trans; [exact F|].
    replace (exp (- (2 * deep - deep))) with y by (unfold y; f_equal; lra).
    set (o := others_ _ _ _ _) in *. set (k := sinks _ _ _ _) in *.
    apply Rmult_le_reg_r with k; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    assert (A1 : o * y <= INR n * y) by (apply Rmult_le_compat_r; lra).
    assert (A2 : 0 <= o * y) by (apply Rmult_le_pos; lra).
    assert (Q2R most * 1 <= Q2R most * k) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Row.

(** * Scores *)

Section Scores.
Variables (l : layout) (X : stream).
Hypothesis H : holds l X.

Lemma times_row_value a f x : dot (real_form (times_row a f)) x = Q2R a * dot (real_form f) x.
Proof.
  induction f as [|[c b] f IH]; [cbn; ring|].
  change (dot (real_form (times_row a ((c, b) :: f))) x)
    with (Q2R (a * b) * x c + dot (real_form (times_row a f)) x).
  change (dot (real_form ((c, b) :: f)) x) with (Q2R b * x c + dot (real_form f) x).
  rewrite IH, Q2R_mult. ring.
Qed.

Lemma sink_row_value r j : sink_row l = Some r -> (j <= last)%nat ->
  dot (real_form r) (X j) = b2R (outside j).
Proof.
  intros E Hj. unfold sink_row in E. step E n0 E0. step E n1 Ez1. injection E as <-.
  cbn [real_form map Transformer.dot fst snd].
  rewrite (feat_value p eos n P v l X One _ j H E0 Hj), (feat_value p eos n P v l X _ _ j H Ez1 Hj).
  cbn [feature_value per]. q2r. unfold outside. destruct (inside j); cbn; lra.
Qed.

Lemma digit_row_value x r j : digit_row l x = Some r -> (j <= last)%nat ->
  dot (real_form r) (X j) = if inside j then digit (lit x j) else 0.
Proof.
  intros E Hj. unfold digit_row in E. step E n0 E0.
  pose proof (feat_value p eos n P v l X _ _ j H E0 Hj) as O.
  cbn [feature_value per] in O. unfold Program.lit. destruct (of x) as [s|].
  - step E n1 Ez1. injection E as <-. pose proof (bit_value p eos n P v l X s _ j H Ez1 Hj) as B.
    cbn [real_form map Transformer.dot fst snd]. rewrite O, B.
    destruct (plain x); q2r; destruct (inside j), (bit v s j); cbn; lra.
  - injection E as <-. cbn [real_form map Transformer.dot fst snd]. rewrite O.
    destruct (plain x); q2r; destruct (inside j); cbn; lra.
Qed.

Lemma pair_score a b ps r i j : (1 <= i <= n)%nat -> (j <= last)%nat ->
  pair_rows l a b ps = Some r ->
  score (real_rows r) (X i) (X j)
  = if inside j then Q2R a * INR (length (filter (paired v i j) ps)) else Q2R b.
Proof.
  intros Hi Hj E. pose proof (inside_last eos n i Hi) as Li. unfold pair_rows in E.
  destruct (every _ ps) as [rows|] eqn:E0; [|discriminate E]. step E n0 Ez1. step E sink E2.
  injection E as <-. rewrite score_cons. cbn [real_form map Transformer.dot fst snd].
  rewrite (feat_value p eos n P v l X One _ i H Ez1 Li), (sink_row_value _ j E2 Hj).
  cbn [feature_value].
  apply every_spec in E0.
  assert (S0 : score (real_rows rows) (X i) (X j)
    = if inside j then Q2R a * INR (length (filter (paired v i j) ps)) else 0).
  { clear Ez1 E2. induction E0 as [|[q k] rk ps rs Er Es IH]; [cbn; destruct (inside j); ring|].
    cbn [fst snd] in Er. step Er f0 E. step Er f1 E0. injection Er as <-.
    rewrite score_cons, IH, times_row_value.
    rewrite (bit_row_value p eos n P v l X q _ i H E Li),
      (bit_row_value p eos n P v l X k _ j H E0 Hj).
    rewrite (inside_true n i Hi). cbn [filter]. unfold paired at 2. cbn [fst snd].
    destruct (inside j); cbn [andb b2R]; [|ring].
    destruct (lit q i), (lit k j); cbn [andb b2R length]; rewrite ?S_INR; ring. }
  rewrite S0. unfold outside. destruct (inside j); cbn [negb b2R]; ring.
Qed.

Lemma code_row_score a ds r i j : (1 <= i <= n)%nat -> (j <= last)%nat ->
  code_rows l a ds = Some r ->
  score (real_rows r) (X i) (X j)
  = if inside j
    then Q2R a * inner (map (fun qk => lit (fst qk) i) ds) (map (fun qk => lit (snd qk) j) ds)
    else Q2R a * (INR (length ds) - 1).
Proof.
  intros Hi Hj E. pose proof (inside_last eos n i Hi) as Li. unfold code_rows in E.
  destruct (every _ ds) as [rows|] eqn:E0; [|discriminate E]. step E n0 Ez1. step E sink E2.
  injection E as <-. rewrite score_cons. cbn [real_form map Transformer.dot fst snd].
  rewrite (feat_value p eos n P v l X One _ i H Ez1 Li), (sink_row_value _ j E2 Hj).
  cbn [feature_value].
  apply every_spec in E0.
  assert (S0 : score (real_rows rows) (X i) (X j)
    = if inside j
      then Q2R a * inner (map (fun qk => lit (fst qk) i) ds) (map (fun qk => lit (snd qk) j) ds)
        else 0).
  { clear Ez1 E2. induction E0 as [|[q k] rk ds rs Er Es IH]; [cbn; destruct (inside j); ring|].
    cbn [fst snd] in Er. step Er f0 E. step Er f1 E0. injection Er as <-.
    rewrite score_cons, IH, times_row_value.
    rewrite (digit_row_value q _ i E Li), (digit_row_value k _ j E0 Hj).
    rewrite (inside_true n i Hi). cbn [map inner fst snd]. destruct (inside j); ring. }
  rewrite S0. q2r. rewrite minus_IZR, <- INR_IZR_INZ. unfold outside.
  destruct (inside j); cbn [negb b2R]; ring.
Qed.

(* the code of a query against that of a key *)
Lemma codes_distance ds i j :
  let q := map (fun qk => lit (fst qk) i) ds in
  let k := map (fun qk => lit (snd qk) j) ds in
  (coded v ds i j = true -> inner q k = INR (length ds)) /\
  (coded v ds i j = false -> inner q k <= INR (length ds) - 2).
Proof.
  cbv zeta. induction ds as [|[q k] ds [A B]]; [split; [reflexivity|discriminate]|].
  unfold coded in *. cbn [forallb map inner length fst snd]. rewrite S_INR.
  assert (Up : inner (map (fun qk => lit (fst qk) i) ds) (map (fun qk => lit (snd qk) j) ds)
    <= INR (length ds)).
  { destruct (forallb _ ds); [rewrite A by reflexivity; lra|]. specialize (B eq_refl). lra. }
  destruct (lit q i), (lit k j); cbn [Bool.eqb andb digit]; split; intros E; try discriminate;
    try (specialize (A E)); try (specialize (B E)); lra.
Qed.

(** * Heads *)

Variables (m : mask) (i : nat).
Hypothesis Hi : (1 <= i <= n)%nat.
Hypothesis Si : sighted_mask m.

Lemma once_chosen ps j : In j (visible n m i) -> once v ps i (visible n m i) = true ->
  INR (length (filter (paired v i j) ps)) = b2R (chosen v ps i j).
Proof.
  intros Vj O. unfold once in O. rewrite forallb_forall in O. specialize (O j Vj).
  apply Nat.leb_le in O.
  unfold chosen. destruct (existsb (paired v i j) ps) eqn:E.
  - apply existsb_exists in E. destruct E as (qk & I & T).
    assert (In qk (filter (paired v i j) ps)) as I' by (apply filter_In; auto).
    destruct (filter (paired v i j) ps) as [|a [|b f]]; [destruct I'|reflexivity|cbn in O; lia].
  - destruct (filter (paired v i j) ps) as [|a f] eqn:F; [reflexivity|].
    assert (I : In a (filter (paired v i j) ps)) by (rewrite F; left; reflexivity).
    apply filter_In in I as [I T]. assert (existsb (paired v i j) ps = true)
      by (apply existsb_exists; eauto).
    congruence.
Qed.

(* The inverse temperature, and what the weights have beside it: together 2K for a pair that
   matches and K for a sink, or more. *)
Variables (b deep : R) (gain rest : Q) (K : BinNums.positive).
Hypothesis Deep : IZR (Zpos K) <= deep.

Theorem match_read ps x N most r u : sharp_enough K N most = true ->
  b * Q2R gain = 2 * deep -> b * Q2R rest = deep ->
  pair_rows l gain rest ps = Some r -> bit_row l x = Some u ->
  well_read n v (Match ps x m N) i = true ->
  Rabs (read b (r, m) u X i - b2R (some_chosen v (chosen v ps i) x (visible n m i))) <= Q2R most.
Proof.
  intros Sh Ha Hb Er Eu W. cbn [well_read] in W. rewrite !andb_true_iff in W.
  destruct W as [[W1 W2] W3]. apply N.leb_le in W1. unfold Lowered.read. cbn [fst snd].
  apply (selects m i (chosen v ps i) Hi Si deep (2 * deep)) with (K := K) (N := N); try assumption.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (pair_score _ _ ps r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    rewrite (once_chosen ps j Vj W2), Hj. cbn [b2R]. lra.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (pair_score _ _ ps r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    rewrite (once_chosen ps j Vj W2), Hj. cbn [b2R]. lra.
  - intros j Lj Oj. rewrite (pair_score _ _ ps r i j Hi Lj Er), Oj. lra.
  - intros j Lj. apply (bit_row_value p eos n P v l X x u j H Eu Lj).
Qed.

Theorem at_read ds x N most r u : sharp_enough K N most = true ->
  b * Q2R gain = deep -> code_rows l gain ds = Some r -> bit_row l x = Some u ->
  well_read n v (At ds x m N) i = true ->
  Rabs (read b (r, m) u X i - b2R (some_chosen v (coded v ds i) x (visible n m i))) <= Q2R most.
Proof.
  intros Sh Ha Er Eu W. cbn [well_read] in W. rewrite andb_true_iff in W. destruct W as [W1 W2].
  apply N.leb_le in W1. unfold Lowered.read. cbn [fst snd].
  assert (K0 : 0 < IZR (Zpos K)) by (apply IZR_lt; lia).
  apply (selects m i (coded v ds i) Hi Si deep (deep * INR (length ds))) with (K := K) (N := N);
    try assumption.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (code_row_score _ ds r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    rewrite (proj1 (codes_distance ds i j) Hj), <- Rmult_assoc, Ha. reflexivity.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (code_row_score _ ds r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    pose proof (proj2 (codes_distance ds i j) Hj). rewrite <- Rmult_assoc, Ha. nra.
  - intros j Lj Oj. rewrite (code_row_score _ ds r i j Hi Lj Er), Oj, <- Rmult_assoc, Ha. lra.
  - intros j Lj. apply (bit_row_value p eos n P v l X x u j H Eu Lj).
Qed.

(* how many sinks are seen *)
Lemma sinks_are hit :
  sinks (S last) (sees m i) (fun j => inside j && hit j) outside = IZR (sinks_seen eos m).
Proof.
  assert (E : forall k, (k <= n)%nat ->
    sum (fun j => if sees m i j && (negb (inside j && hit j) && outside j) then 1 else 0) (S k)
    = b2R (sees m i 0)).
  { induction k as [|k IH]; intros Hk.
    - cbn [sum]. unfold outside. rewrite (inside_false n 0) by lia. cbn [andb negb].
      destruct (sees m i 0); cbn; lra.
    - cbn [sum] in *. rewrite IH by lia. unfold outside at 1. rewrite (inside_true n (S k)) by lia.
      cbn [negb]. rewrite !andb_false_r. lra. }
  unfold sinks, Match.counted. unfold Lowered.last. unfold sinks_seen. destruct eos eqn:Eo.
  - cbn [sum] in *. rewrite (E n (Nat.le_refl n)). unfold outside.
    rewrite (inside_false n (S n)) by lia.
    cbn [andb negb].
    destruct m; cbn [sees]; rewrite ?andb_true_r;
      repeat match goal with
        | |- context [Nat.leb ?a ?b] => destruct (Nat.leb_spec a b); try lia
        | |- context [Nat.ltb ?a ?b] => destruct (Nat.ltb_spec a b); try lia
        end; cbn [b2R]; try lra.
  - rewrite (E n (Nat.le_refl n)). destruct m; cbn [sees sighted_mask] in *; try congruence;
      repeat match goal with
        | |- context [Nat.leb ?a ?b] => destruct (Nat.leb_spec a b); try lia
        | |- context [Nat.ltb ?a ?b] => destruct (Nat.ltb_spec a b); try lia
        end; cbn [b2R]; lra.
Qed.

(* how many positions are selected *)
Lemma hits_are hit :
  hits (S last) (sees m i) (fun j => inside j && hit j) = INR (length (filter hit (visible n m i))).
Proof.
  assert (E : forall k, (k <= n)%nat ->
    sum (fun j => if sees m i j && (inside j && hit j) then 1 else 0) (S k)
    = INR (length (filter hit (filter (sees m i) (seq 1 k))))).
  { induction k as [|k IH]; intros Hk.
    - cbn [sum]. rewrite (inside_false n 0) by lia. cbn [andb]. rewrite andb_false_r. cbn. lra.
    - cbn [sum] in *. rewrite IH by lia. rewrite seq_S, !filter_app, app_length, plus_INR.
      rewrite (inside_true n (S k)) by lia. cbn [filter andb Nat.add].
      destruct (sees m i (S k)); cbn [andb filter]; [|cbn; lra]. destruct (hit (S k)); cbn; lra. }
  unfold hits, Match.counted. unfold Lowered.last. destruct eos.
  - cbn [sum] in *. rewrite (E n (Nat.le_refl n)), (inside_false n (S n)) by lia. cbn [andb].
    rewrite andb_false_r. unfold visible. lra.
  - apply (E n), Nat.le_refl.
Qed.

(* the sum over the positions that are selected *)
Lemma sum_hits hit (f : nat -> R) (g : nat -> Z) :
  (forall j, (1 <= j <= n)%nat -> f j = IZR (g j)) ->
  sum (fun j => if sees m i j && (inside j && hit j) then f j else 0) (S last)
  = IZR (sum_over g (filter hit (visible n m i))).
Proof.
  intros F. assert (E : forall k, (k <= n)%nat ->
    sum (fun j => if sees m i j && (inside j && hit j) then f j else 0) (S k)
    = IZR (sum_over g (filter hit (filter (sees m i) (seq 1 k))))).
  { induction k as [|k IH]; intros Hk.
    - cbn [sum]. rewrite (inside_false n 0) by lia. cbn [andb]. rewrite andb_false_r. cbn. lra.
    - cbn [sum] in *. rewrite IH by lia. rewrite seq_S, !filter_app. unfold sum_over.
      rewrite fold_right_app.
      rewrite (inside_true n (S k)) by lia. cbn [filter andb Nat.add].
      assert (A : forall js z, fold_right (fun j s => (g j + s)%Z) z js
        = (fold_right (fun j s => (g j + s)%Z) 0 js + z)%Z).
      { induction js as [|a js IHl]; intros z; cbn [fold_right]; [lia|]. rewrite IHl. lia. }
      destruct (sees m i (S k)); cbn [andb filter fold_right]; [|lra].
      destruct (hit (S k)); cbn [fold_right]; [|lra]. rewrite (A _ (g (S k) + 0)%Z), plus_IZR,
        Z.add_0_r.
      rewrite (F (S k)) by lia. reflexivity. }
  unfold Lowered.last. destruct eos.
  - cbn [sum] in *. rewrite (E n (Nat.le_refl n)), (inside_false n (S n)) by lia. cbn [andb].
    rewrite andb_false_r. unfold visible. lra.
  - apply (E n), Nat.le_refl.
Qed.

Lemma weigh_spread ts j : (- spread ts <= weigh v ts j <= spread ts)%Z.
Proof.
  induction ts as [|t ts IH]; [cbn; lia|].
  change (weigh v (t :: ts) j)
    with (fst t * (if lit (Lit (snd t) true) j then 1 else 0) + weigh v ts j)%Z.
  cbn [spread fold_right]. fold (spread ts). destruct (lit (Lit (snd t) true) j); lia.
Qed.

Theorem blend_read ps ts N q r u g : K = sharpness_in q ->
  b * Q2R gain = 2 * deep -> b * Q2R rest = deep ->
  pair_rows l gain rest ps = Some r ->
  value_row l (Blend ps ts m N) q = Some u -> well_read n v (Blend ps ts m N) i = true ->
  sums v g i = sum_over (weigh v ts) (filter (chosen v ps i) (visible n m i)) ->
  Rabs (read b (r, m) u X i * IZR (Zpos (scale_in q))
        - IZR (sums v g i) / INR (length (filter (chosen v ps i) (visible n m i))))
  <= 2 * IZR (spread ts) * Q2R (spill (sharpness_in q) N).
Proof.
  intros HK Ha Hb Er Eu W M. cbn [well_read] in W. rewrite !andb_true_iff in W.
  destruct W as [[W1 W2] W3]. apply N.leb_le in W1. unfold Lowered.read. cbn [fst snd].
  set (c := IZR (Zpos (scale_in q))).
  assert (C0 : 0 < c) by (apply IZR_lt; lia).
  assert (So : exists j, In j (visible n m i) /\ chosen v ps i j = true)
    by (apply existsb_exists, W3).
  pose proof (hits_some m i (chosen v ps i) Hi So) as H1.
  assert (V : forall j, (j <= last)%nat ->
    dot (real_form u) (X j) = (if inside j then IZR (weigh v ts j) else 0) / c).
  { intros j Lj. exact (value_weigh p eos n P v l X H ts All (scale_in q) u j Eu Lj). }
  assert (B : forall j, (j <= last)%nat ->
    - IZR (spread ts) / c <= dot (real_form u) (X j) <= IZR (spread ts) / c).
  { intros j Lj. rewrite V by exact Lj. pose proof (weigh_spread ts j) as [S1 S2].
    assert (S : (0 <= spread ts)%Z) by lia. apply IZR_le in S1, S2, S. rewrite opp_IZR in S1.
    split; apply Rmult_le_compat_r; try (left; apply Rinv_0_lt_compat, C0); destruct (inside j);
      lra. }
  pose proof (mixes m i (chosen v ps i) Hi Si deep (2 * deep)
    (fun j => b * score (real_rows r) (X i) (X j)) (fun j => dot (real_form u) (X j))) as F.
  match type of F with ?a -> ?b -> ?d -> _ => assert (F1 : a);
    [|assert (F2 : b); [|assert (F3 : d)]] end.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (pair_score _ _ ps r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    rewrite (once_chosen ps j Vj W2), Hj. cbn [b2R]. lra.
  - intros j Vj Hj. pose proof (proj1 (in_visible m i j) Vj) as [Ij _].
    rewrite (pair_score _ _ ps r i j Hi (inside_last eos n j Ij) Er), (inside_true n j Ij).
    rewrite (once_chosen ps j Vj W2), Hj. cbn [b2R]. lra.
  - intros j Lj Oj. rewrite (pair_score _ _ ps r i j Hi Lj Er), Oj. lra.
  - specialize (F F1 F2 F3 _ _ So B). clear F1 F2 F3.
    assert (E : mean (S last) (sees m i) (fun j => inside j && chosen v ps i j) (fun j =>
      dot (real_form u) (X j))
      = IZR (sums v g i) / INR (length (filter (chosen v ps i) (visible n m i))) / c).
    { unfold mean. rewrite <- (hits_are (chosen v ps i)), M.
      rewrite <- (sum_hits (chosen v ps i) (fun j => IZR (weigh v ts j)) (weigh v ts))
        by reflexivity.
      fold (Match.counted (S last) (sees m i) (fun j => inside j && chosen v ps i j)).
      fold (hits (S last) (sees m i) (fun j => inside j && chosen v ps i j)).
      rewrite (sum_ext _ (fun j => / c * (if sees m i j && (inside j && chosen v ps i j)
        then IZR (weigh v ts j) else 0))).
      - rewrite sum_scal. field. split; lra.
      - intros j Lj. destruct (sees m i j && (inside j && chosen v ps i j)) eqn:Sj; [|ring].
        rewrite V by lia. rewrite !andb_true_iff in Sj. rewrite (proj1 (proj2 Sj)). field. lra. }
    rewrite E in F. set (y := soft _ _ _ _) in *. set (z := IZR (sums v g i) / _) in *.
    pose proof (spill_spec K N n deep W1 Deep) as Sp. rewrite <- HK. set (e := INR n * _ + _) in *.
    replace (y * c - z) with ((y - z / c) * c) by (field; lra).
    rewrite Rabs_mult, (Rabs_pos_eq c) by lra.
    apply Rmult_le_compat_r with (r := c) in F; [|lra]. eapply Rle_trans; [exact F|].
    replace ((IZR (spread ts) / c - - IZR (spread ts) / c) * e * c) with (2 * IZR (spread ts) * e)
      by (field; lra).
    apply Rmult_le_compat_l; [|exact Sp]. pose proof (weigh_spread ts 0) as [S1 S2].
    assert (S : (0 <= spread ts)%Z) by lia. apply IZR_le in S. lra.
Qed.

Theorem width_read ps N r u g : sharp_enough K N (1 # 8) = true ->
  b * Q2R gain = deep ->
  pair_rows l gain gain ps = Some r -> sink_row l = Some u ->
  well_read n v (Width ps m N) i = true ->
  sums v g i = Z.of_nat (length (filter (chosen v ps i) (visible n m i))) ->
  exists e, 0 <= e <= 1 / 8 /\
    read b (r, m) u X i * (IZR (sinks_seen eos m) + IZR (sums v g i) + e) = IZR (sinks_seen eos m).
Proof.
  intros Sh Ha Er Eu W M. cbn [well_read] in W. rewrite andb_true_iff in W. destruct W as [W1 W2].
  apply N.leb_le in W1. unfold Lowered.read. cbn [fst snd].
  set (hit := fun j => inside j && chosen v ps i j).
  assert (Apart : forall j, outside j = true -> hit j = false).
  { intros j Oj. unfold outside in Oj. apply negb_true_iff in Oj. unfold hit. rewrite Oj.
    reflexivity. }
  rewrite (soft_ext _ _ (width_score deep hit outside) _ (fun j => b2R (outside j))).
  - pose proof (sinks_are (chosen v ps i)) as S1. fold hit in S1.
    pose proof (hits_are (chosen v ps i)) as H1. fold hit in H1.
    pose proof (sinks_few m i (chosen v ps i) Hi Si) as K1. fold hit in K1.
    pose proof (others_few m i (chosen v ps i)) as O1. fold hit in O1.
    rewrite (width_reads _ _ _ _ _ Apart) by lra. rewrite S1, H1. rewrite S1 in K1.
    exists (excess deep (S last) (sees m i) hit outside).
    destruct (sharp_enough_spec K N (1 # 8) n deep Sh W1 Deep) as (U0 & _ & F).
    replace (Q2R (1 # 8)) with (1 / 8) in F by (unfold Q2R; simpl; lra).
    pose proof (counted_nonneg (S last) (sees m i) (fun j => negb (hit j) && negb (outside j))) as
      O0.
    fold (others_ (S last) (sees m i) hit outside) in O0.
    assert (B : 0 <= excess deep (S last) (sees m i) hit outside <= 1 / 8).
    { unfold excess. split; [apply Rmult_le_pos; lra|]. eapply Rle_trans; [|exact F].
      apply Rmult_le_compat_r; lra. }
    split; [exact B|]. rewrite M, <- INR_IZR_INZ.
    pose proof (pos_INR (length (filter (chosen v ps i) (visible n m i)))). field. lra.
  - intros j Lj Sj. rewrite (pair_score _ _ ps r i j Hi ltac:(lia) Er).
    unfold width_score, hit, outside.
    destruct (inside j) eqn:Ij; cbn [andb orb negb]; [|exact Ha]. apply inside_spec in Ij.
    rewrite (once_chosen ps j) by (auto; apply in_visible; auto). rewrite <- Rmult_assoc, Ha.
    destruct (chosen v ps i j); cbn [b2R orb]; lra.
  - intros j Lj _. apply sink_row_value; [exact Eu|lia].
Qed.
End Scores.
End Selected.
