(** Counts that steps decode: the bits and whole numbers that the feed-forward layer writes. *)
From Coq Require Import Reals Lra Lia Arith NArith ZArith QArith Qreals List Bool.
From Softhat Require Import Sums Gates Masks Formula Program Lowering Lowered.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

Notation lsum := Transformer.lsum.
Notation coef := Transformer.coef.

Lemma lsum_cons {A} (f : A -> R) a ls : lsum f (a :: ls) = f a + lsum f ls.
Proof. reflexivity. Qed.

(* what a hidden unit adds to coordinate c at position i *)
Definition unit_adds (X : stream) (i c : nat) (u : unit) : R :=
  relu (dot (real_form (input u)) (X i) + Q2R (bias u)) * coef (real_form (output u)) c.

(** * A step between two thresholds *)

Definition rise (lo hi x : R) : R := (relu (x - lo) - relu (x - hi)) / (hi - lo).

Lemma rise_range lo hi x : lo < hi -> 0 <= rise lo hi x <= 1.
Proof.
  intros L. unfold rise. assert (I : 0 < / (hi - lo)) by (apply Rinv_0_lt_compat; lra).
  assert (B : 0 <= relu (x - lo) - relu (x - hi) <= hi - lo).
  { unfold relu, Rmax. repeat destruct Rle_dec; lra. }
  unfold Rdiv. split; [apply Rmult_le_pos; lra|].
  apply Rmult_le_reg_r with (hi - lo); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Lemma rise_low lo hi x : lo < hi -> x <= lo -> rise lo hi x = 0.
Proof.
  intros L H. unfold rise. replace (relu (x - lo) - relu (x - hi)) with 0; [unfold Rdiv; ring|].
  unfold relu, Rmax. repeat destruct Rle_dec; lra.
Qed.
Lemma rise_high lo hi x : lo < hi -> hi <= x -> rise lo hi x = 1.
Proof.
  intros L H. unfold rise. replace (relu (x - lo) - relu (x - hi)) with (hi - lo); [field; lra|].
  unfold relu, Rmax. repeat destruct Rle_dec; lra.
Qed.

(** * Sums over sorted steps *)

Lemma lsum_sift {A} (g : A -> R) f a es : lsum g (sift f a es) = g a + lsum g es.
Proof.
  induction es as [|b es IH]; [reflexivity|]. cbn [sift]. destruct (before (f a) (f b));
    [reflexivity|].
  rewrite !lsum_cons, IH. lra.
Qed.
Lemma lsum_sorted {A} (g : A -> R) f es : lsum g (sorted f es) = lsum g es.
Proof.
  unfold sorted. induction es as [|a es IH]; [reflexivity|]. cbn [fold_right].
  rewrite lsum_sift, IH.
  reflexivity.
Qed.
Lemma in_sift {A} f (a b : A) es : In b (sift f a es) -> b = a \/ In b es.
Proof.
  induction es as [|x es IH]; cbn [sift]; [intros [->|[]]; auto|].
  destruct (before (f a) (f x)); intros [->|I]; auto; [right; left; reflexivity|].
  destruct (IH I); auto. right. right. assumption.
Qed.
Lemma in_sorted {A} f (b : A) es : In b (sorted f es) -> In b es.
Proof.
  unfold sorted. induction es as [|a es IH]; [intros []|]. cbn [fold_right]. intros I.
  apply in_sift in I as [->|I]; [left; reflexivity|right; apply IH, I].
Qed.
Lemma lsum_filter {A} (g : A -> R) (f : A -> bool) es : (forall a, f a = false -> g a = 0) ->
  lsum g (filter f es) = lsum g es.
Proof.
  intros Z. induction es as [|a es IH]; [reflexivity|]. cbn [filter].
  destruct (f a) eqn:Fa; rewrite ?lsum_cons, IH; [lra|]. rewrite (Z a Fa). lra.
Qed.

(* the steps that are written to c, each times its weight *)
Lemma lsum_written (g : step -> R) c ss :
  lsum (fun sw => g (fst sw) * IZR (snd sw)) (written_to c ss)
  = lsum (fun s => g s * IZR (weight_at c (outs s))) ss.
Proof.
  unfold written_to. rewrite lsum_sorted, lsum_filter.
  - rewrite Transformer.lsum_map. reflexivity.
  - intros [s z] Z. unfold counts_, entry_of in Z. cbn [snd] in *.
    apply negb_false_iff, Z.eqb_eq in Z.
    rewrite Z. lra.
Qed.
Lemma in_written s z c ss : In (s, z) (written_to c ss) -> In s ss.
Proof.
  intros I. unfold written_to in I. apply in_sorted, filter_In in I as [I _]. apply in_map_iff in I.
  destruct I as (s' & E & I). injection E as -> _. exact I.
Qed.

(** * Steps with alternating signs are a bit *)

Section Alternating.
Variables (c : nat) (g : step -> R).

(* each next step is 0 unless the one before it is 1 *)
Lemma alternating_range ks : forall k0 sws, ascending k0 ks = true ->
  map entry_of sws = alternate c 1 ks ->
  (forall s z, In (s, z) sws -> 0 <= g s <= 1) ->
  (forall s z s' z', In (s, z) sws -> In (s', z') sws -> (least s < least s')%nat -> g s' <= g s) ->
  0 <= lsum (fun sw => g (fst sw) * IZR (snd sw)) sws <= 1 /\
  match sws with [] => True | (s, _) :: _ => lsum (fun sw => g (fst sw) * IZR (snd sw)) sws
    <= g s end.
Proof.
  assert (G : forall ks (sign : Z) k0 sws, (sign = 1 \/ sign = -1)%Z -> ascending k0 ks = true ->
    map entry_of sws = alternate c sign ks ->
    (forall s z, In (s, z) sws -> 0 <= g s <= 1) ->
    (forall s z s' z', In (s, z) sws -> In (s', z') sws -> (least s < least s')%nat ->
      g s' <= g s) ->
    let t := IZR sign * lsum (fun sw => g (fst sw) * IZR (snd sw)) sws in
    0 <= t <= 1 /\ match sws with [] => True | (s, _) :: _ => t <= g s end).
  { clear ks. induction ks as [|k ks IH]; intros sign k0 sws Sg As E B O; cbn [alternate] in E.
    - destruct sws; [|discriminate]. cbn. split; [lra|exact I].
    - destruct sws as [|[s z] sws]; [discriminate|]. cbn [map] in E. injection E as Ec Ek Ez E.
      cbn [ascending] in As. apply andb_true_iff in As as [A1 A2].
      destruct (IH (- sign)%Z k sws ltac:(lia) A2 E) as [R1 R2].
      + intros s' z' I. apply (B s' z'). right. exact I.
      + intros s' z' s'' z'' I I'. apply (O s' z' s'' z''); right; assumption.
      + cbv zeta in *. rewrite lsum_cons. cbn [fst snd]. rewrite Ez. rewrite opp_IZR in R1, R2.
        set (rest := lsum (fun sw => g (fst sw) * IZR (snd sw)) sws) in *.
        pose proof (B s z (or_introl eq_refl)) as Bs.
        assert (Sq : IZR sign * IZR sign = 1).
        { rewrite <- mult_IZR. destruct Sg as [->| ->]; reflexivity. }
        replace (IZR sign * (g s * IZR sign + rest))
          with (g s * (IZR sign * IZR sign) - - IZR sign * rest) by ring.
        rewrite Sq. destruct sws as [|[s' z'] sws'].
        * cbn in R1. subst rest. cbn in *. split; [lra|]. lra.
        * assert (g s' <= g s).
          { apply (O s z s' z'); [left; reflexivity|right; left; reflexivity|].
            destruct ks as [|k' ks]; [discriminate|]. cbn [alternate map] in E.
            injection E as _ Ek' _ _.
            cbn [ascending] in A2. apply andb_true_iff in A2 as [A2 _]. apply Nat.ltb_lt in A2.
            cbn in *.
            lia. }
          split; [lra|]. lra. }
  intros k0 sws As E B O. destruct (G ks 1%Z k0 sws (or_introl eq_refl) As E B O) as [R1 R2].
  cbv zeta in *. rewrite Rmult_1_l in R1, R2. split; assumption.
Qed.

Lemma alternating_bit (count : Z) ks : forall k0 sws, ascending k0 ks = true ->
  map entry_of sws = alternate c 1 ks ->
  (forall s z, In (s, z) sws -> g s = b2R (Z.leb (Z.of_nat (least s)) count)) ->
  lsum (fun sw => g (fst sw) * IZR (snd sw)) sws = b2R (turned ks count).
Proof.
  assert (G : forall ks (sign : Z) k0 sws, (sign = 1 \/ sign = -1)%Z -> ascending k0 ks = true ->
    map entry_of sws = alternate c sign ks ->
    (forall s z, In (s, z) sws -> g s = b2R (Z.leb (Z.of_nat (least s)) count)) ->
    IZR sign * lsum (fun sw => g (fst sw) * IZR (snd sw)) sws = b2R (turned ks count)).
  { clear ks. induction ks as [|k ks IH]; intros sign k0 sws Sg As E B; cbn [alternate] in E.
    - destruct sws; [|discriminate]. cbn. lra.
    - destruct sws as [|[s z] sws]; [discriminate|]. cbn [map] in E. injection E as Ec Ek Ez E.
      cbn [ascending] in As. apply andb_true_iff in As as [A1 A2].
      pose proof (IH (- sign)%Z k sws ltac:(lia) A2 E (fun s' z' I => B s' z' (or_intror I))) as R.
      rewrite opp_IZR in R. rewrite lsum_cons. cbn [fst snd].
      rewrite Ez, (B s z (or_introl eq_refl)).
      set (rest := lsum (fun sw => g (fst sw) * IZR (snd sw)) sws) in *.
      assert (Sq : IZR sign * IZR sign = 1).
      { rewrite <- mult_IZR. destruct Sg as [->| ->]; reflexivity. }
      replace (least s) with k by (cbn in Ek; congruence).
      replace (IZR sign * (b2R (Z.leb (Z.of_nat k) count) * IZR sign + rest))
        with (b2R (Z.leb (Z.of_nat k) count) * (IZR sign * IZR sign) - - IZR sign * rest) by ring.
      rewrite Sq, R. unfold turned. cbn [filter].
      destruct (Z.leb_spec (Z.of_nat k) count) as [Lk|Lk].
      + cbn [length]. rewrite Nat.odd_succ, <- Nat.negb_odd. destruct (Nat.odd _); cbn; lra.
      + assert (F : filter (fun k' => Z.leb (Z.of_nat k') count) ks = []).
        { clear -A2 Lk. revert k A2 Lk. induction ks as [|k' ks IH]; intros k A2 Lk; [reflexivity|].
          cbn [ascending] in A2. apply andb_true_iff in A2 as [A3 A4]. apply Nat.ltb_lt in A3.
          cbn [filter]. destruct (Z.leb_spec (Z.of_nat k') count); [lia|].
          apply (IH k'); [exact A4|lia]. }
        rewrite F. cbn. lra. }
  intros k0 sws As E B. pose proof (G ks 1%Z k0 sws (or_introl eq_refl) As E B) as R.
  rewrite Rmult_1_l in R. exact R.
Qed.
End Alternating.

(** * All steps of a count are the count *)

Lemma filter_shorter {A} (f : A -> bool) es : (length (filter f es) <= length es)%nat.
Proof.
  induction es as [|a es IH]; [apply Nat.le_refl|]. cbn [filter]. destruct (f a); cbn [length]; lia.
Qed.

Lemma seq_count (z : Z) most : (0 <= z <= Z.of_nat most)%Z ->
  lsum (fun k => b2R (Z.leb (Z.of_nat k) z)) (seq 1 most) = IZR z.
Proof.
  intros Hz.
  assert (E : forall m, lsum (fun k => b2R (Z.leb (Z.of_nat k) z)) (seq 1 m)
    = IZR (Z.min z (Z.of_nat m))).
  { induction m as [|m IH]; [cbn; rewrite Z.min_r by lia; reflexivity|].
    rewrite seq_S, Transformer.lsum_app, IH. cbn [Transformer.lsum fold_right Nat.add].
    destruct (Z.leb_spec (Z.of_nat (S m)) z).
    - rewrite !Z.min_r by lia. rewrite Nat2Z.inj_succ, succ_IZR. cbn [b2R]. lra.
    - rewrite !Z.min_l by lia. cbn [b2R]. lra. }
  rewrite E, Z.min_l by lia. reflexivity.
Qed.

Section Decoded.
Variables (p : program) (eos : bool) (n : nat) (P : R) (w : word) (v : valuation).
Hypothesis Hv : computes n w v p.
Hypothesis Hr : readable n v p.
Notation last := (last eos n).
Notation holds := (Lowered.holds p eos n P v).
Variables (l : layout) (X : stream).
Hypothesis H : holds l X.

Definition step_value (s : step) (i : nat) : R :=
  match nth_error p (counted s) with
  | Some (Width _ _ _) =>
      match place (Share (counted s)) l with
      | Some c => rise (- Q2R (high_end s)) (- Q2R (low_end s)) (- X i c)
      | None => 0
      end
  | _ =>
      match place (Whole (counted s)) l with
      | Some c => rise (Q2R (low_end s)) (Q2R (high_end s)) (X i c)
      | None => 0
      end
  end.

Lemma ends_apart s us : step_units p eos l s = Some us -> Q2R (low_end s) < Q2R (high_end s) /\
  (1 <= least s)%nat.
Proof.
  intros E. unfold step_units in E. destruct (Nat.leb 1 (least s) && _) eqn:A; [|discriminate].
  apply andb_true_iff in A as [A1 A2]. apply Nat.leb_le in A1. apply negb_true_iff in A2.
  split; [|exact A1].
  apply Qlt_Rlt. apply Qnot_le_lt. intros L. apply Qle_bool_iff in L. congruence.
Qed.

Lemma out_coef a os c : coef (real_form (map (fun o => (fst o, (a * inject_Z (snd o))%Q)) os)) c
  = Q2R a * IZR (weight_at c os).
Proof.
  induction os as [|[t z] os IH]; [cbn; ring|].
  change (coef (real_form (map (fun o => (fst o, (a * inject_Z (snd o))%Q)) ((t, z) :: os))) c)
    with ((if Nat.eqb c t then Q2R (a * inject_Z z) else 0)
          + coef (real_form (map (fun o => (fst o, (a * inject_Z (snd o))%Q)) os)) c).
  rewrite IH. unfold weight_at. cbn [fold_right fst snd]. fold (weight_at c os). rewrite plus_IZR.
  destruct (Nat.eqb c t); q2r; ring.
Qed.

Lemma step_adds s us i c : step_units p eos l s = Some us ->
  lsum (unit_adds X i c) us = step_value s i * IZR (weight_at c (outs s)).
Proof.
  intros E. pose proof (ends_apart s us E) as [L _]. unfold step_units in E. unfold step_value.
  destruct (Nat.leb 1 (least s) && _); [|discriminate].
  assert (G : Q2R (/ (high_end s - low_end s)) = / (Q2R (high_end s) - Q2R (low_end s))).
  { rewrite Q2R_inv, Q2R_minus; [reflexivity|]. intros Z. apply Qeq_eqR in Z.
    rewrite Q2R_minus in Z.
    unfold Q2R at 3 in Z. cbn in Z. lra. }
  destruct (nth_error p (counted s)) as [[]|]; try discriminate.
  - step E n0 E0. destruct (Qle_bool _ _ && Qle_bool _ _); [|discriminate]. injection E as <-.
    cbn [Transformer.lsum fold_right]. unfold unit_adds. cbn [input bias output]. rewrite !out_coef.
    cbn [real_form map Transformer.dot fst snd]. q2r. rewrite G. unfold rise.
    replace (-1 * X i n0 + 0 + Q2R (high_end s)) with (- X i n0 - - Q2R (high_end s)) by ring.
    replace (-1 * X i n0 + 0 + Q2R (low_end s)) with (- X i n0 - - Q2R (low_end s)) by ring. field.
    lra.
  - step E n0 E0. destruct (Qle_bool _ _ && Qle_bool _ _); [|discriminate]. injection E as <-.
    cbn [Transformer.lsum fold_right]. unfold unit_adds. cbn [input bias output]. rewrite !out_coef.
    cbn [real_form map Transformer.dot fst snd]. q2r. rewrite G. unfold rise.
    replace (1 * X i n0 + 0 + - Q2R (low_end s)) with (X i n0 - Q2R (low_end s)) by ring.
    replace (1 * X i n0 + 0 + - Q2R (high_end s)) with (X i n0 - Q2R (high_end s)) by ring. field.
    lra.
Qed.

Lemma step_range s us i : step_units p eos l s = Some us -> 0 <= step_value s i <= 1.
Proof.
  intros E. pose proof (ends_apart s us E) as [L _]. unfold step_value.
  assert (Zero : 0 <= 0 <= 1) by lra.
  destruct (nth_error p (counted s)) as [[]|];
    repeat match goal with |- context [place ?k l] => destruct (place k l) end;
    try exact Zero; apply rise_range; lra.
Qed.

(* what the check of the ends says, in the reals *)
Lemma share_ends s us ps m N c : step_units p eos l s = Some us ->
  nth_error p (counted s) = Some (Width ps m N) -> place (Share (counted s)) l = Some c ->
  let sg := IZR (sinks_seen eos m) in
  sg <= Q2R (low_end s) * (sg + INR (least s)) /\
    Q2R (high_end s) * (sg + INR (least s) - 1 + 1 / 8) <= sg.
Proof.
  intros E Ew Ep sg. unfold step_units in E. rewrite Ew, Ep in E.
  destruct (Nat.leb 1 (least s) && _); [|discriminate].
  match type of E with (if ?b then _ else _) = _ => destruct b eqn:Ok; [|discriminate] end.
  apply andb_true_iff in Ok as [O1 O2]. apply Qle_bool_iff, Qle_Rle in O1, O2. q2r_in O1. q2r_in O2.
  rewrite <- INR_IZR_INZ in O1, O2.
  replace (Q2R (1 # 8)) with (1 / 8) in O2 by (unfold Q2R; simpl; lra).
  unfold sg. split; [exact O1|exact O2].
Qed.
Lemma whole_ends s us cs most c : step_units p eos l s = Some us ->
  nth_error p (counted s) = Some (Total cs most) -> place (Whole (counted s)) l = Some c ->
  INR (least s) - 1 <= Q2R (low_end s) /\ Q2R (high_end s) <= INR (least s).
Proof.
  intros E Ew Ep. unfold step_units in E. rewrite Ew, Ep in E.
  destruct (Nat.leb 1 (least s) && _); [|discriminate].
  match type of E with (if ?b then _ else _) = _ => destruct b eqn:Ok; [|discriminate] end.
  apply andb_true_iff in Ok as [O1 O2]. apply Qle_bool_iff, Qle_Rle in O1, O2. q2r_in O1. q2r_in O2.
  rewrite <- INR_IZR_INZ in O1, O2. split; assumption.
Qed.

Lemma sinks_positive m : 1 <= IZR (sinks_seen eos m).
Proof. apply IZR_le. unfold sinks_seen. destruct m, eos; lia. Qed.

Lemma step_right s us i : step_units p eos l s = Some us -> (1 <= i <= n)%nat ->
  step_value s i = b2R (Z.leb (Z.of_nat (least s)) (sums v (counted s) i)).
Proof.
  intros E Hi. pose proof (ends_apart s us E) as [L K1]. unfold step_value.
  destruct (nth_error p (counted s)) as [[]|] eqn:Eg;
    try (unfold step_units in E; rewrite Eg in E; destruct (Nat.leb 1 (least s) && _);
      discriminate).
  - destruct (place (Share (counted s)) l) as [c|] eqn:Ec.
    2: { unfold step_units in E. rewrite Eg, Ec in E. destruct (Nat.leb 1 (least s) && _);
      discriminate. }
    destruct (share_ends s us _ _ _ c E Eg Ec) as [B1 B2]. pose proof (place_spec _ _ _ Ec) as Nc.
    destruct (H c _ Nc _ _ _ Eg i Hi) as (e & Be & Ex). cbn beta in Ex.
    pose proof (sinks_positive m) as Sp. set (sg := IZR (sinks_seen eos m)) in *.
    pose proof (Hv (counted s) _ Eg i Hi) as M. cbn [means] in M.
    assert (Z0 : 0 <= IZR (sums v (counted s) i)) by (rewrite M; apply IZR_le; lia).
    assert (K0 : 1 <= INR (least s)) by (apply (le_INR 1), K1).
    set (x := X i c) in *. set (z := sums v (counted s) i) in *.
    destruct (Z.leb_spec (Z.of_nat (least s)) z) as [Lz|Lz]; cbn [b2R].
    + apply rise_high; [lra|]. apply IZR_le in Lz. rewrite <- INR_IZR_INZ in Lz.
      assert (x * (sg + INR (least s)) <= Q2R (low_end s) * (sg + INR (least s))).
      { assert (0 <= x) by nra. nra. }
      apply Ropp_le_contravar. apply Rmult_le_reg_r with (sg + INR (least s)); lra.
    + apply rise_low; [lra|]. assert (Lz' : (z <= Z.of_nat (least s) - 1)%Z) by lia.
      apply IZR_le in Lz'.
      rewrite minus_IZR, <- INR_IZR_INZ in Lz'. apply Ropp_le_contravar.
      apply Rmult_le_reg_r with (sg + INR (least s) - 1 + 1 / 8); [lra|].
      assert (0 <= x) by nra. nra.
  - destruct (place (Whole (counted s)) l) as [c|] eqn:Ec.
    2: { unfold step_units in E. rewrite Eg, Ec in E. destruct (Nat.leb 1 (least s) && _);
      discriminate. }
    destruct (whole_ends s us _ _ c E Eg Ec) as [B1 B2]. pose proof (place_spec _ _ _ Ec) as Nc.
    pose proof (H c _ Nc i Hi) as Ex. cbn beta in Ex. rewrite Ex.
    set (z := sums v (counted s) i) in *.
    destruct (Z.leb_spec (Z.of_nat (least s)) z) as [Lz|Lz]; cbn [b2R].
    + apply rise_high; [lra|]. apply IZR_le in Lz. rewrite <- INR_IZR_INZ in Lz. lra.
    + apply rise_low; [lra|]. assert (Lz' : (z <= Z.of_nat (least s) - 1)%Z) by lia.
      apply IZR_le in Lz'.
      rewrite minus_IZR, <- INR_IZR_INZ in Lz'. lra.
Qed.

(* later steps of one count are below earlier ones, at the sinks too *)
Lemma step_order s us s' us' i : step_units p eos l s = Some us ->
  step_units p eos l s' = Some us' ->
  counted s = counted s' -> (least s < least s')%nat -> step_value s' i <= step_value s i.
Proof.
  intros E E' Ec Lk. pose proof (ends_apart s us E) as [L K1].
  pose proof (ends_apart s' us' E') as [L' _].
  pose proof (step_range s us i E) as R. pose proof (step_range s' us' i E') as R'.
  assert (K0 : 1 <= INR (least s)) by (apply (le_INR 1), K1).
  assert (Kk : INR (least s) + 1 <= INR (least s')) by (rewrite <- S_INR; apply le_INR; lia).
  unfold step_value in *. rewrite <- Ec in *.
  destruct (nth_error p (counted s)) as [[]|] eqn:Eg;
    try (unfold step_units in E; rewrite Eg in E; destruct (Nat.leb 1 (least s) && _);
      discriminate).
  - destruct (place (Share (counted s)) l) as [c|] eqn:Ep; [|lra].
    destruct (share_ends s us _ _ _ c E Eg Ep) as [B1 B2].
    destruct (share_ends s' us' pairs m longest c E') as [B1' B2']; [congruence|congruence|].
    pose proof (sinks_positive m) as Sp. set (sg := IZR (sinks_seen eos m)) in *.
    assert (Q : Q2R (high_end s') <= Q2R (low_end s)).
    { assert (A1 : Q2R (high_end s') * (sg + INR (least s)) <= sg).
      { assert (0 <= Q2R (high_end s') \/ Q2R (high_end s') < 0) as [P0|P0] by lra; nra. }
      apply Rmult_le_reg_r with (sg + INR (least s)); [lra|]. lra. }
    destruct (Rle_lt_dec (- X i c) (- Q2R (high_end s'))) as [A|A].
    + rewrite (rise_low (- Q2R (high_end s')) (- Q2R (low_end s')) (- X i c)) by lra. lra.
    + destruct (Rle_lt_dec (- Q2R (low_end s)) (- X i c)) as [A2|A2]; [|lra].
      rewrite (rise_high (- Q2R (high_end s)) (- Q2R (low_end s)) (- X i c)) by lra. lra.
  - destruct (place (Whole (counted s)) l) as [c|] eqn:Ep; [|lra].
    destruct (whole_ends s us _ _ c E Eg Ep) as [B1 B2].
    destruct (whole_ends s' us' counts most c E') as [B1' B2']; [congruence|congruence|].
    destruct (Rle_lt_dec (X i c) (Q2R (low_end s'))) as [A|A].
    + rewrite (rise_low (Q2R (low_end s')) (Q2R (high_end s')) (X i c)) by lra. lra.
    + rewrite (rise_high (Q2R (low_end s)) (Q2R (high_end s)) (X i c)) by lra. lra.
Qed.

(** * What is decoded *)

Definition steps_total (i c : nat) (ss : list step) : R :=
  lsum (fun s => step_value s i * IZR (weight_at c (outs s))) ss.

Lemma steps_add ss su i c : every (step_units p eos l) ss = Some su ->
  lsum (unit_adds X i c) (concat su) = steps_total i c ss.
Proof.
  intros E. apply every_spec in E. unfold steps_total. induction E as [|s us ss su Es E IH];
    [reflexivity|].
  cbn [concat]. rewrite Transformer.lsum_app, IH, (step_adds s us i c Es), lsum_cons. reflexivity.
Qed.

Lemma every_in ss su s : every (step_units p eos l) ss = Some su -> In s ss ->
  exists us, step_units p eos l s = Some us.
Proof.
  intros E I. apply every_spec in E. induction E as [|s' us ss su Es E IH]; [destruct I|].
  destruct I as [->|I]; [eauto|apply IH, I].
Qed.

Lemma entries_sum i c ss su es : every (step_units p eos l) ss = Some su -> (1 <= i <= n)%nat ->
  map entry_of (written_to c ss) = es ->
  steps_total i c ss
  = lsum (fun e => b2R (Z.leb (Z.of_nat (snd (fst e))) (sums v (fst (fst e)) i)) * IZR (snd e)) es.
Proof.
  intros E Hi <-. unfold steps_total.
  rewrite <- (lsum_written (fun s => step_value s i)), Transformer.lsum_map.
  apply Transformer.lsum_ext. intros [s z] I. cbn [fst snd entry_of]. apply in_written in I.
  destruct (every_in ss su s E I) as (us & Eu). rewrite (step_right s us i Eu Hi). reflexivity.
Qed.

Theorem decodes_good ss su sc k : every (step_units p eos l) ss = Some su ->
  decodes p ss sc = Some k ->
  good p eos n P v k (fun i => steps_total i (snd sc) ss).
Proof.
  intros E D. unfold decodes in D. destruct (nth_error p (fst sc)) as [[]|] eqn:Eg;
    try discriminate.
  - destruct (forallb (covers_count p most) counts && same_entries _ _) eqn:Ok; [|discriminate].
    injection D as <-. apply andb_true_iff in Ok as [Cv Sm]. unfold same_entries in Sm.
    destruct (list_eq_dec entry_eq _ _) as [Es|]; [|discriminate]. intros i Hi.
    rewrite (entries_sum i (snd sc) ss su _ E Hi Es), lsum_sorted, lsum_filter.
    2: { intros e Z. unfold counts_, id in Z. apply negb_false_iff, Z.eqb_eq in Z.
    change (snd e = 0%Z) in Z. rewrite Z. lra. }
    pose proof (Hv (fst sc) _ Eg i Hi) as M. cbn [means] in M. rewrite M. clear M Es Eg.
    unfold total_count, all_counts. induction counts as [|[a c] counts IH]; [reflexivity|].
    cbn [forallb] in Cv. apply andb_true_iff in Cv as [C1 C2]. cbn [flat_map fold_right fst snd].
    rewrite Transformer.lsum_app, (IH C2), plus_IZR, mult_IZR. f_equal.
    rewrite Transformer.lsum_map. cbn [fst snd]. unfold covers_count in C1. cbn [snd] in C1.
    destruct (nth_error p c) as [[]|] eqn:Ec; try discriminate. apply N.leb_le in C1.
    pose proof (Hv c _ Ec i Hi) as Mc. cbn [means] in Mc. pose proof (Hr c _ Ec i Hi) as Wc.
    cbn [well_read] in Wc.
    apply andb_true_iff in Wc as [Wc _]. apply N.leb_le in Wc.
    assert (Len : (length (filter (chosen v pairs i) (visible n m i)) <= n)%nat).
    { unfold visible. rewrite <- (seq_length n 1) at 2.
      eapply Nat.le_trans; apply filter_shorter. }
    rewrite (Transformer.lsum_ext _ (fun k => IZR a * b2R (Z.leb (Z.of_nat k) (sums v c i))))
      by (intros; ring).
    rewrite Transformer.lsum_scal, seq_count; [reflexivity|]. rewrite Mc. lia.
  - destruct (ascending 0 turns && same_entries _ _) eqn:Ok; [|discriminate].
    injection D as <-. apply andb_true_iff in Ok as [As Sm]. unfold same_entries in Sm.
    destruct (list_eq_dec entry_eq _ _) as [Es|]; [|discriminate].
    assert (Of : forall s z, In (s, z) (written_to (snd sc) ss) ->
      (exists us, step_units p eos l s = Some us) /\ counted s = count).
    { intros s z I. split; [apply (every_in ss su s E), (in_written s z _ _ I)|].
      assert (I' : In (entry_of (s, z)) (alternate count 1 turns)) by (rewrite <- Es; apply in_map,
        I).
      clear -I'. revert I'. generalize 1%Z. induction turns as [|k ks IH]; intros sg I';
        [destruct I'|].
      destruct I' as [Q|I']; [injection Q as Q _ _; symmetry; exact Q|apply (IH _ I')]. }
    split.
    + intros i _. unfold steps_total. rewrite <- (lsum_written (fun s => step_value s i)).
      apply (alternating_range count (fun s => step_value s i) turns 0%nat _ As Es).
      * intros s z I. destruct (Of s z I) as [(us & Eu) _]. apply (step_range s us i Eu).
      * intros s z s' z' I I' Lk. destruct (Of s z I) as [(us & Eu) Cs].
        destruct (Of s' z' I') as [(us' & Eu') Cs'].
        apply (step_order s us s' us' i Eu Eu'); [congruence|exact Lk].
    + intros i Hi. unfold steps_total. rewrite <- (lsum_written (fun s => step_value s i)).
      pose proof (Hv (fst sc) _ Eg i Hi) as M. cbn [means] in M. rewrite M.
      apply (alternating_bit count (fun s => step_value s i) (sums v count i) turns 0%nat _ As Es).
      intros s z I. destruct (Of s z I) as [(us & Eu) Cs]. rewrite (step_right s us i Eu Hi), Cs.
      reflexivity.
Qed.

(* nothing is written to other coordinates *)
Lemma steps_aimed i c ss ds : aimed ss ds = true -> (forall d, In d ds -> snd d <> c) ->
  steps_total i c ss = 0.
Proof.
  intros A N. unfold steps_total. apply Transformer.lsum_zero. intros s I. unfold aimed in A.
  rewrite forallb_forall in A. specialize (A s I). rewrite forallb_forall in A.
  assert (Z : weight_at c (outs s) = 0%Z); [|rewrite Z; lra].
  unfold weight_at. induction (outs s) as [|o os IH]; [reflexivity|]. cbn [fold_right].
  rewrite IH by (intros o' I'; apply A; right; exact I').
  destruct (Nat.eqb_spec c (fst o)) as [->|]; [|reflexivity].
  specialize (A o (or_introl eq_refl)). apply existsb_exists in A. destruct A as (d & Id & Ed).
  apply Nat.eqb_eq in Ed. exfalso. apply (N d Id). congruence.
Qed.
End Decoded.
