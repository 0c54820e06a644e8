(** Binary32 as a relation: what an implementation may compute, whatever the order of its sums; and
    one row of softmax attention in it.

    An operation returns the rounded result unless that overflows, and then anything. Sums are
    added up in any order and any grouping. exp is within a relative error of 2^-20, or 2^-120. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith List Bool Permutation.
From Flocq Require Import Core Relative.
From Softhat Require Import Sums Masks.
Import ListNotations.
Open Scope R_scope.

(** * Operations *)

Notation fexp := (FLT_exp (-149) 24).
Notation format := (generic_format radix2 fexp).
Notation fl := (round radix2 fexp ZnearestE).

(* z is what an operation with exact result x may return *)
Definition rounds (x z : R) : Prop := Rabs (fl x) < bpow radix2 128 -> z = fl x.

(* a product in a sum: rounded first, or fused with an addition *)
Definition product (a x y : R) : Prop := y = a * x \/ rounds (a * x) y.

Inductive adds : list R -> R -> Prop :=
  | adds_none : adds [] 0
  | adds_one x : adds [x] x
  | adds_two l a b x y z : Permutation l (a ++ b) -> a <> [] -> b <> [] ->
      adds a x -> adds b y -> rounds (x + y) z -> adds l z.

Definition exponential (t e : R) : Prop :=
  0 <= e /\ Rabs (e - exp t) <= / 1048576 * exp t + bpow radix2 (-120).

(* A row over the keys ks with scores s and values v may return o; without keys it returns 0. *)
Definition attends (ks : list nat) (s v : nat -> R) (o : R) : Prop :=
  match ks with
  | [] => o = 0
  | _ => exists (m d : R) (t e w y : nat -> R),
      (exists k, In k ks /\ m = s k) /\ (forall j, In j ks -> s j <= m) /\
      (forall j, In j ks -> rounds (s j - m) (t j)) /\
      (forall j, In j ks -> exponential (t j) (e j)) /\
      adds (map e ks) d /\
      (forall j, In j ks -> rounds (e j / d) (w j)) /\
      (forall j, In j ks -> product (w j) (v j) (y j)) /\
      adds (map y ks) o
  end.

(** * Rounding *)

Local Instance precise : Prec_gt_0 24 := eq_refl.

Definition u : R := / 16777216.
Definition tiny : R := bpow radix2 (-149).
Lemma u_is : / 2 * bpow radix2 (- 24 + 1) = u.
Proof. unfold u. simpl. lra. Qed.
Lemma tiny_small : 0 < tiny <= / 1267650600228229401496703205376.
Proof.
  unfold tiny. split; [apply bpow_gt_0|].
  apply Rle_trans with (bpow radix2 (-100)); [apply bpow_le; lia|]. simpl. lra.
Qed.

Lemma any_error x : Rabs (fl x - x) <= u * Rabs x + tiny.
Proof.
  destruct (error_N_FLT radix2 (-149) 24 ltac:(lia) (fun z => negb (Z.even z)) x) as
    (eps & eta & H1 & H2 & _ & ->).
  assert (E1 : Rabs eps <= u) by (rewrite <- u_is; exact H1).
  replace (x * (1 + eps) + eta - x) with (x * eps + eta) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. pose proof (Rabs_pos x).
  pose proof (bpow_gt_0 radix2 (-149)). unfold tiny. nra.
Qed.

Lemma fl_le x y : x <= y -> fl x <= fl y.
Proof. intros H. apply round_le; try typeclasses eauto. exact H. Qed.
Lemma fl_zero : fl 0 = 0.
Proof. apply round_0. typeclasses eauto. Qed.
Lemma fl_nonneg x : 0 <= x -> 0 <= fl x.
Proof. intros H. rewrite <- fl_zero. apply fl_le, H. Qed.
Lemma fl_nonpos x : x <= 0 -> fl x <= 0.
Proof. intros H. rewrite <- fl_zero. apply fl_le, H. Qed.

(* nothing overflows that is at most 2^62 *)
Definition huge : R := 4611686018427387904.
Definition large : R := 1152921504606846976.

Lemma no_overflow x z : Rabs x <= huge -> rounds x z -> z = fl x.
Proof.
  intros H Rz. apply Rz. pose proof (any_error x) as E.
  assert (T : Rabs (fl x) <= Rabs x + Rabs (fl x - x)).
  { replace (fl x) with (x + (fl x - x)) at 1 by ring. apply Rabs_triang. }
  pose proof tiny_small. pose proof (Rabs_pos x).
  apply Rlt_le_trans with (bpow radix2 64); [|apply bpow_le; lia].
  replace (bpow radix2 64) with (4 * huge) by (unfold huge; simpl; lra).
  unfold u, huge in *. lra.
Qed.

Lemma rounds_error x z : Rabs x <= huge -> rounds x z -> Rabs (z - x) <= u * Rabs x + tiny.
Proof. intros H Rz. rewrite (no_overflow x z H Rz). apply any_error. Qed.

Lemma product_error a x y : Rabs (a * x) <= huge -> product a x y ->
  Rabs (y - a * x) <= u * Rabs (a * x) + tiny.
Proof.
  intros H [->|Rz]; [|apply rounds_error; assumption].
  rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. pose proof (Rabs_pos (a * x)).
  pose proof tiny_small.
  unfold u. nra.
Qed.

(** * Sums *)

Definition total (l : list R) : R := fold_right Rplus 0 l.
Definition size (l : list R) : R := total (map Rabs l).
Definition deficit (l : list R) : R := total (map (fun x => Rmax 0 (- x)) l).

Lemma total_app a b : total (a ++ b) = total a + total b.
Proof. unfold total. induction a as [|x a IH]; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_perm l l' : Permutation l l' -> total l = total l'.
Proof. unfold total. induction 1; simpl; lra. Qed.
Lemma total_map_le {A} (f g : A -> R) l : (forall a, In a l -> f a <= g a) ->
  total (map f l) <= total (map g l).
Proof.
  induction l as [|a l IH]; intros H; simpl; [lra|]. pose proof (H a (or_introl eq_refl)).
  specialize (IH (fun b I => H b (or_intror I))). unfold total in *. lra.
Qed.
Lemma total_map_plus {A} (f g : A -> R) l :
  total (map (fun a => f a + g a) l) = total (map f l) + total (map g l).
Proof. unfold total. induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_map_scal {A} c (f : A -> R) l : total (map (fun a => c * f a) l) = c * total (map f l).
Proof. unfold total. induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_map_const {A} c (l : list A) : total (map (fun _ => c) l) = INR (length l) * c.
Proof.
  unfold total. induction l as [|a l IH]; [simpl; ring|]. cbn [map fold_right length].
  rewrite IH, S_INR. ring.
Qed.
Lemma total_map_nonneg {A} (f : A -> R) l : (forall a, In a l -> 0 <= f a) -> 0 <= total (map f l).
Proof.
  intros H. replace 0 with (total (map (fun _ : A => 0) l)) by (rewrite total_map_const; ring).
  apply total_map_le, H.
Qed.
Lemma total_map_ext {A} (f g : A -> R) l : (forall a, In a l -> f a = g a) ->
  total (map f l) = total (map g l).
Proof.
  induction l as [|a l IH]; intros H; simpl; [reflexivity|]. rewrite (H a (or_introl eq_refl)).
  f_equal. apply IH. intros b I. apply H. right. exact I.
Qed.
Lemma total_map_in {A} (f : A -> R) l a : In a l -> (forall b, In b l -> 0 <= f b) ->
  f a <= total (map f l).
Proof.
  induction l as [|b l IH]; intros I P; [destruct I|]. cbn.
  assert (0 <= total (map f l)) by (apply total_map_nonneg; intros; apply P; right; assumption).
  pose proof (P b (or_introl eq_refl)). unfold total in *. destruct I as [->|I]; [lra|].
  specialize (IH I (fun c J => P c (or_intror J))). lra.
Qed.
Lemma total_map_abs {A} (f g : A -> R) l :
  Rabs (total (map f l) - total (map g l)) <= total (map (fun a => Rabs (f a - g a)) l).
Proof.
  unfold total. induction l as [|a l IH]; simpl.
  - rewrite Rminus_0_r, Rabs_R0. lra.
  - match goal with |- Rabs (?a + ?b - (?c + ?d)) <= _ => replace (a + b - (c + d))
      with ((a - c) + (b - d)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
Lemma size_app a b : size (a ++ b) = size a + size b.
Proof. unfold size. rewrite map_app. apply total_app. Qed.
Lemma size_perm l l' : Permutation l l' -> size l = size l'.
Proof. intros P. apply total_perm, Permutation_map, P. Qed.
Lemma deficit_app a b : deficit (a ++ b) = deficit a + deficit b.
Proof. unfold deficit. rewrite map_app. apply total_app. Qed.
Lemma deficit_perm l l' : Permutation l l' -> deficit l = deficit l'.
Proof. intros P. apply total_perm, Permutation_map, P. Qed.
Lemma size_nonneg l : 0 <= size l.
Proof. apply total_map_nonneg. intros. apply Rabs_pos. Qed.
Lemma deficit_nonneg l : 0 <= deficit l.
Proof. apply total_map_nonneg. intros. apply Rmax_l. Qed.
Lemma total_size l : Rabs (total l) <= size l.
Proof.
  unfold size, total. induction l as [|x l IH]; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma pow_up k : 1 <= (1 + u) ^ k.
Proof. apply pow_R1_Rle. unfold u. lra. Qed.
Lemma pow_more a b : (a <= b)%nat -> (1 + u) ^ a <= (1 + u) ^ b.
Proof. intros H. apply Rle_pow; [unfold u; lra|exact H]. Qed.

(* (1 + u)^k is 1 + k·u, and a little more *)
Definition u1 : R := u * (1 + / 1000).
Lemma pow_linear k : (Z.of_nat k <= 8300)%Z -> (1 + u) ^ k <= 1 + INR k * u1.
Proof.
  induction k as [|k IH]; intros H; [simpl; lra|]. specialize (IH ltac:(lia)). rewrite S_INR.
  cbn [pow].
  assert (K : INR k <= 8300) by (rewrite INR_IZR_INZ; apply IZR_le; lia). pose proof (pos_INR k).
  pose proof (pow_up k). unfold u1, u in *. nra.
Qed.

(* Whatever the order: how far a sum may be from the exact one, and how far below 0. *)
Theorem any_order l z : adds l z -> size l <= large -> (Z.of_nat (length l) <= 8300)%Z ->
  Rabs (z - total l) <= ((1 + u) ^ (length l - 1) - 1) * size l + 3 * INR (length l - 1) * tiny /\
  - ((1 + u) ^ (length l - 1) * deficit l + 3 * INR (length l - 1) * tiny) <= z.
Proof.
  induction 1 as [|x|l a b x y z P Na Nb Ax IHx Ay IHy Rz]; intros Hs Hl.
  - unfold size, deficit, total. simpl. rewrite Rminus_0_r, Rabs_R0. lra.
  - unfold size, deficit, total. cbn [map fold_right length Nat.sub pow INR].
    replace (x - (x + 0)) with 0 by ring. rewrite Rabs_R0. pose proof (Rmax_r 0 (- x)). split; lra.
  - rewrite (size_perm _ _ P), size_app in *. rewrite (total_perm _ _ P), total_app,
      (deficit_perm _ _ P), deficit_app.
    assert (L : length l = (length a + length b)%nat) by (rewrite (Permutation_length P);
      apply app_length).
    assert (La : (1 <= length a)%nat) by (destruct a; [contradiction|cbn; lia]).
    assert (Lb : (1 <= length b)%nat) by (destruct b; [contradiction|cbn; lia]).
    pose proof (size_nonneg a) as Sa. pose proof (size_nonneg b) as Sb.
    pose proof (deficit_nonneg a) as Da. pose proof (deficit_nonneg b) as Db.
    destruct (IHx ltac:(lra) ltac:(lia)) as [Ea Fa].
    destruct (IHy ltac:(lra) ltac:(lia)) as [Eb Fb].
    set (g := (1 + u) ^ (length l - 2)).
    assert (Ga : (1 + u) ^ (length a - 1) <= g) by (apply pow_more; lia).
    assert (Gb : (1 + u) ^ (length b - 1) <= g) by (apply pow_more; lia).
    assert (Gl : (1 + u) ^ (length l - 1) = (1 + u) * g)
      by (unfold g; replace (length l - 1)%nat with (S (length l - 2)) by lia; reflexivity).
    pose proof (pow_up (length a - 1)) as Pa. pose proof (pow_up (length b - 1)) as Pb.
    assert (G1 : g <= 2).
    { unfold g. eapply Rle_trans; [apply pow_linear; lia|].
      assert (INR (length l - 2) <= 8300) by (rewrite INR_IZR_INZ; apply IZR_le; lia). unfold u1, u.
      lra. }
    pose proof tiny_small as T0.
    assert (N1 : INR (length l - 1) = INR (length a - 1) + INR (length b - 1) + 1)
      by (rewrite <- plus_INR, <- S_INR; f_equal; lia).
    assert (Nl : INR (length l - 1) <= 8300) by (rewrite INR_IZR_INZ; apply IZR_le; lia).
    rewrite N1 in *. rewrite Gl. clear N1 Gl Hl L.
    set (na := INR (length a - 1)) in *. set (nb := INR (length b - 1)) in *.
    assert (A0 : 0 <= na) by apply pos_INR. assert (B0 : 0 <= nb) by apply pos_INR.
    set (t := tiny) in *. set (sa := size a) in *. set (sb := size b) in *.
    set (ga := (1 + u) ^ (length a - 1)) in *. set (gb := (1 + u) ^ (length b - 1)) in *.
    assert (Ea' : Rabs (x - total a) <= (g - 1) * sa + 3 * na * t) by nra.
    assert (Eb' : Rabs (y - total b) <= (g - 1) * sb + 3 * nb * t) by nra.
    pose proof (total_size a) as Ta. pose proof (total_size b) as Tb. fold sa in Ta. fold sb in Tb.
    assert (XY : Rabs (x + y) <= g * (sa + sb) + 3 * (na + nb) * t).
    { replace (x + y) with (total a + total b + (x - total a) + (y - total b)) by ring.
      eapply Rle_trans; [apply Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|]. lra. }
    assert (Tn : 0 <= 3 * (na + nb) * t <= 1).
    { split; [apply Rmult_le_pos; lra|]. apply Rle_trans with (3 * 8300 * t); [|lra].
      apply Rmult_le_compat_r; lra. }
    assert (Gs : 0 <= g * (sa + sb) <= 2 * large).
    { split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat; lra. }
    assert (Fin : Rabs (x + y) <= huge) by (unfold large, huge in *; lra).
    pose proof (no_overflow _ _ Fin Rz) as Z. pose proof (any_error (x + y)) as E.
    rewrite <- Z in E. fold t in E.
    assert (U0 : 0 < u <= / 16777216) by (unfold u; lra).
    assert (Tu : u * (3 * (na + nb) * t) <= t).
    { apply Rle_trans with (/ 16777216 * (3 * 8300 * t)); [|lra].
      apply Rmult_le_compat; try lra. apply Rmult_le_compat_r; lra. }
    split.
    + replace (z - (total a + total b)) with ((z - (x + y)) + (x - total a) + (y - total b))
        by ring.
      eapply Rle_trans; [apply Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      assert (u * Rabs (x + y) <= u * (g * (sa + sb) + 3 * (na + nb) * t))
        by (apply Rmult_le_compat_l; lra).
      lra.
    + set (da := deficit a) in *. set (db := deficit b) in *.
      assert (Low : - (g * (da + db) + 3 * (na + nb) * t) <= x + y) by nra.
      set (low := g * (da + db) + 3 * (na + nb) * t) in *.
      assert (L0 : 0 <= low) by (unfold low; assert (0 <= g * (da + db)) by (apply Rmult_le_pos;
        lra); lra).
      rewrite Z. eapply Rle_trans; [|apply fl_le, Low]. pose proof (any_error (- low)) as El.
      rewrite Rabs_Ropp, (Rabs_pos_eq low L0) in El. apply Rabs_le_inv in El. fold t in El.
      assert (u * low = u * (g * (da + db)) + u * (3 * (na + nb) * t)) by (unfold low; ring).
      unfold low in *. lra.
Qed.

(** * The row *)

Lemma exp_bound x y : x <= y -> y < 1 -> exp x <= / (1 - y).
Proof.
  intros H L. apply Rle_trans with (exp y);
    [destruct H as [H| ->]; [left; apply exp_increasing, H|lra]|].
  rewrite <- (Rinv_inv (exp y)). apply Rinv_le_contravar; [lra|]. rewrite <- exp_Ropp.
  pose proof (exp_ineq1_le (- y)). lra.
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; apply exp_increasing, H|lra]. Qed.

Lemma ratio_near a b c : 0 < b -> 0 <= a -> Rabs (b - a) <= c * a -> c <= / 2 -> 0 < a ->
  Rabs (a / b - 1) <= c * (1 + 2 * c).
Proof.
  intros B A H C A0. assert (C0 : 0 <= c) by (pose proof (Rabs_pos (b - a)); nra).
  assert (L : (1 - c) * a <= b) by (apply Rabs_le_inv in H; lra).
  replace (a / b - 1) with ((a - b) / b) by (field; lra). unfold Rdiv.
  rewrite Rabs_mult, (Rabs_pos_eq (/ b)).
  2: { left. apply Rinv_0_lt_compat, B. }
  rewrite Rabs_minus_sym. apply Rmult_le_reg_r with b; [exact B|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [exact H|].
  apply Rle_trans with (c * (1 + 2 * c) * ((1 - c) * a)); [|apply Rmult_le_compat_l; nra].
  assert (1 <= (1 + 2 * c) * (1 - c)) by nra. assert (0 <= c * a) by nra. nra.
Qed.

(* one key: its weight a, as w, times its value V, as v *)
Lemma key_near a w v V z nu theta : 0 <= a <= 1 -> 0 <= w -> 0 < theta <= / 1000 ->
  Rabs (w - a) <= (102 / 100 * theta + / 8000000) * a + tiny -> V = 0 \/ V = 1 ->
    Rabs (v - V) <= nu -> 0 <= nu <= / 8 ->
  product w v z ->
  Rabs (z - a * V) <= (116 / 100 * theta + / 3000000 + nu) * a + 4 * tiny /\
  Rmax 0 (- z) <= 3 / 2 * nu * a + 4 * tiny.
Proof.
  intros A W0 Th Wd V01 Vd Nu Hz. pose proof tiny_small as T0.
  assert (Ta : 0 <= theta * a <= / 1000 * a)
    by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (Na : 0 <= nu * a <= / 8 * a)
    by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (Nt : 0 <= nu * tiny <= / 8 * tiny)
    by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (Wu : w <= 102 / 100 * a + tiny) by (apply Rabs_le_inv in Wd; lra).
  assert (Nw : 0 <= nu * w <= nu * (102 / 100 * a + tiny))
    by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
  assert (Vb : Rabs v <= 9 / 8).
  { apply Rabs_le_inv in Vd. apply Rabs_le. destruct V01 as [-> | ->]; lra. }
  assert (Pb : Rabs (w * v) <= 9 / 8 * w).
  { rewrite Rabs_mult, (Rabs_pos_eq w) by exact W0. rewrite Rmult_comm.
    apply Rmult_le_compat_r; lra. }
  assert (Big : Rabs (w * v) <= huge) by (unfold huge; lra).
  pose proof (product_error _ _ _ Big Hz) as E.
  assert (E' : Rabs (z - w * v) <= / 14000000 * a + 2 * tiny).
  { assert (u * Rabs (w * v) <= u * (9 / 8 * (102 / 100 * a + tiny))) by (apply Rmult_le_compat_l;
      unfold u; lra).
    unfold u in *. lra. }
  assert (P : Rabs (w * v - a * V) <= 9 / 8 * Rabs (w - a) + nu * a).
  { replace (w * v - a * V) with ((w - a) * v + a * (v - V)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq a) by lra.
    pose proof (Rabs_pos (w - a)).
    assert (Rabs (w - a) * Rabs v <= Rabs (w - a) * (9 / 8)) by (apply Rmult_le_compat_l; lra).
    assert (a * Rabs (v - V) <= a * nu) by (apply Rmult_le_compat_l; lra). lra. }
  split.
  - replace (z - a * V) with ((z - w * v) + (w * v - a * V)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
  - assert (Vn : - nu <= v) by (apply Rabs_le_inv in Vd; destruct V01 as [-> | ->]; lra).
    assert (Pn : - (nu * w) <= w * v).
    { replace (- (nu * w)) with (w * - nu) by ring. apply Rmult_le_compat_l; lra. }
    assert (Lz : - (3 / 2 * nu * a + 4 * tiny) <= z).
    { destruct Hz as [-> |Rz]; [lra|]. rewrite (no_overflow _ _ Big Rz).
      eapply Rle_trans; [|apply fl_le, Pn]. pose proof (any_error (- (nu * w))) as En.
      rewrite Rabs_Ropp, (Rabs_pos_eq (nu * w)) in En by lra. apply Rabs_le_inv in En.
      unfold u in En. lra. }
    apply Rmax_lub; lra.
Qed.

Section Row.
Variables (ks : list nat) (S V s v : nat -> R) (o eta nu M theta y : R).
Hypothesis Some_ : ks <> [].
Hypothesis Few : (Z.of_nat (length ks) <= 8192)%Z.
Hypothesis Theta : INR (length ks) * u1 <= theta <= / 1000.
Hypothesis Scores : forall j, In j ks -> Rabs (S j) <= M /\ Rabs (s j - S j) <= eta.
Hypothesis Size : 0 <= eta <= 1 /\ 0 <= M <= large.
Hypothesis Values : forall j, In j ks -> (V j = 0 \/ V j = 1) /\ Rabs (v j - V j) <= nu.
Hypothesis Nu : 0 <= nu <= / 8.
Hypothesis Y : 2 * (eta + 2 * u * (M + eta)) + / 131072 <= y <= / 2.
Hypothesis Attends : attends ks s v o.

Let share : R := total (map (fun j => exp (S j) * V j) ks) / total (map (fun j => exp (S j)) ks).
Let rho : R := 3 * theta + nu + / 1048576.

Theorem row_near :
  o <= share / (1 - y) + rho /\ 1 - (1 - share) / (1 - y) - rho <= o /\
  - (2 * nu + / large) <= o /\ o <= 1 + rho.
Proof.
  pose proof tiny_small as T0. destruct Size as [Eta Mm]. destruct Y as [Y1 Y2].
  assert (U0 : 0 < u <= / 16777216) by (unfold u; lra).
  assert (Att : exists m d t e w y0, (exists k, In k ks /\ m = s k) /\
    (forall j, In j ks -> s j <= m) /\
      (forall j, In j ks -> rounds (s j - m) (t j)) /\
        (forall j, In j ks -> exponential (t j) (e j)) /\
      adds (map e ks) d /\ (forall j, In j ks -> rounds (e j / d) (w j)) /\
      (forall j, In j ks -> product (w j) (v j) (y0 j)) /\ adds (map y0 ks) o).
  { unfold attends in Attends. destruct ks; [contradiction|exact Attends]. }
  destruct Att as (m & d & t & e & w & z & (k & Hk & Em) & Mx & Ht & He & Hd & Hw & Hz & Ho).
  set (n := INR (length ks)) in *.
  assert (N1 : 1 <= n) by (apply (le_INR 1); destruct ks; [contradiction|cbn; lia]).
  assert (N8 : n <= 8192) by (unfold n; rewrite INR_IZR_INZ; apply IZR_le, Few).
  assert (Th0 : 0 < theta) by (unfold u1 in *; nra).
  assert (Lm : forall f : nat -> R, length (map f ks) = length ks) by (intros; apply map_length).
  assert (Len : forall f : nat -> R, (Z.of_nat (length (map f ks)) <= 8300)%Z)
    by (intros; rewrite Lm; lia).
  assert (Pw : (1 + u) ^ (length ks - 1) - 1 <= theta).
  { assert ((1 + u) ^ (length ks - 1) <= 1 + INR (length ks - 1) * u1) by (apply pow_linear; lia).
    assert (INR (length ks - 1) <= n) by (apply le_INR; lia). pose proof (pos_INR (length ks - 1)).
    unfold u1 in *. nra. }
  pose proof (pow_up (length ks - 1)) as P1.
  set (om := 3 * INR (length ks - 1) * tiny) in *.
  assert (Om : 0 <= om <= / (large * large)).
  { assert (0 <= INR (length ks - 1) <= 8192)
      by (split; [apply pos_INR|rewrite INR_IZR_INZ; apply IZR_le; lia]).
    unfold om. split; [apply Rmult_le_pos; lra|].
    apply Rle_trans with (3 * 8192 * bpow radix2 (-149)); [apply Rmult_le_compat_r; unfold tiny;
      [apply bpow_ge_0|lra]|].
    unfold large. simpl. lra. }
  (* scores, and exp of them *)
  pose (h := eta + 2 * u * (M + eta) + tiny).
  assert (H0 : 0 <= h) by (unfold h; nra).
  assert (Tj : forall j, In j ks -> t j <= 0 /\ Rabs (t j - (S j - m)) <= h).
  { intros j Hj. destruct (Scores j Hj) as [Sb Sd]. destruct (Scores k Hk) as [Kb Kd].
    assert (D : Rabs (s j - m) <= 2 * (M + eta)).
    { rewrite Em. replace (s j - s k) with ((s j - S j) + S j + - ((s k - S k) + S k)) by ring.
      repeat (eapply Rle_trans; [apply Rabs_triang|]). rewrite Rabs_Ropp.
      pose proof (Rabs_triang (s j - S j) (S j)). pose proof (Rabs_triang (s k - S k) (S k)). lra. }
    assert (F : Rabs (s j - m) <= huge) by (unfold huge, large in *; lra).
    pose proof (no_overflow _ _ F (Ht j Hj)) as E.
    split; [rewrite E; apply fl_nonpos; specialize (Mx j Hj); lra|].
    pose proof (any_error (s j - m)) as A. rewrite <- E in A.
    replace (t j - (S j - m)) with ((t j - (s j - m)) + (s j - S j)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. unfold h. nra. }
  set (w1 := bpow radix2 (-120)) in *.
  assert (W1 : 0 < w1 /\ 8192 * w1 <= / (large * 1048576)).
  { split; [apply bpow_gt_0|]. unfold w1, large. simpl. lra. }
  destruct W1 as [W1 W2].
  assert (W3 : w1 <= / 1000) by (unfold large in W2; lra).
  pose (A := fun j => exp (S j - m)). pose (c := exp h * (1 + / 524288)).
  assert (C2 : 1 <= c /\ c * c <= / (1 - y)).
  { assert (1 <= exp h) by (rewrite <- exp_0; apply exp_le, H0). unfold c. split; [nra|].
    replace (exp h * (1 + / 524288) * (exp h * (1 + / 524288)))
      with (exp h * exp h * ((1 + / 524288) * (1 + / 524288))) by ring.
    pose proof (exp_ineq1_le (/ 524288)) as X. set (x := exp (/ 524288)) in *.
    apply Rle_trans with (exp h * exp h * (x * x)).
    - apply Rmult_le_compat_l; [nra|]. apply Rmult_le_compat; lra.
    - unfold x. rewrite <- !exp_plus. apply exp_bound; [|lra]. unfold h. lra. }
  destruct C2 as [C1 C2].
  assert (Inv : / (1 - y) <= 2) by (rewrite <- (Rinv_inv 2); apply Rinv_le_contravar; lra).
  assert (Aj : forall j, In j ks -> 0 < A j /\ 0 <= e j /\ e j <= c * A j + w1 /\
    A j <= c * (e j + w1) /\ e j <= 2).
  { intros j Hj. destruct (Tj j Hj) as [Tn Td]. destruct (He j Hj) as [E0 Ed].
    apply Rabs_le_inv in Ed. apply Rabs_le_inv in Td.
    assert (X1 : exp (t j) <= exp h * A j) by (unfold A; rewrite <- exp_plus; apply exp_le; lra).
    assert (X2 : A j <= exp h * exp (t j)) by (unfold A; rewrite <- exp_plus; apply exp_le; lra).
    assert (X3 : exp (t j) <= 1) by (rewrite <- exp_0; apply exp_le, Tn).
    pose proof (exp_pos (t j)) as Xp. pose proof (exp_pos h) as Hp.
    assert (Ap : 0 < A j) by apply exp_pos.
    split; [exact Ap|]. split; [exact E0|]. fold w1 in Ed. split; [|split].
    - assert ((1 + / 524288) * exp (t j) <= (1 + / 524288) * (exp h * A j))
        by (apply Rmult_le_compat_l; lra).
      unfold c. lra.
    - assert (Lo : exp (t j) <= (1 + / 524288) * (e j + w1)) by lra. unfold c.
      eapply Rle_trans; [exact X2|]. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
    - lra. }
  (* the sums *)
  set (D := total (map e ks)).
  assert (Tk : t k = 0).
  { assert (E : rounds 0 (t k)) by (pose proof (Ht k Hk) as R0; rewrite Em in R0;
      replace (s k - s k) with 0 in R0 by ring; exact R0).
    rewrite (no_overflow 0 (t k)); [apply fl_zero|rewrite Rabs_R0; unfold huge; lra|exact E]. }
  assert (Dl : 99 / 100 <= D).
  { apply Rle_trans with (e k); [|apply (total_map_in e ks k Hk); intros j Hj; apply (Aj j Hj)].
    destruct (He k Hk) as [_ Ed]. rewrite Tk, exp_0 in Ed. apply Rabs_le_inv in Ed. fold w1 in Ed.
    lra. }
  assert (Du : D <= 2 * n).
  { rewrite Rmult_comm. unfold D, n. rewrite <- (total_map_const 2 ks). apply total_map_le.
    intros j Hj. apply (Aj j Hj). }
  assert (Sz : size (map e ks) = D).
  { unfold size, D. rewrite map_map. apply total_map_ext. intros j Hj. apply Rabs_pos_eq, (Aj j Hj).
    }
  destruct (any_order _ _ Hd) as [Bd _]; [rewrite Sz; unfold large; lra|apply Len|].
  rewrite Sz, Lm in Bd. fold D om in Bd.
  assert (Bd' : Rabs (d - D) <= (theta + 2 * om) * D).
  { assert (((1 + u) ^ (length ks - 1) - 1) * D <= theta * D) by (apply Rmult_le_compat_r; lra).
    assert (om * (99 / 100) <= om * D) by (apply Rmult_le_compat_l; lra). lra. }
  pose (th := (theta + 2 * om) * (1 + 2 * (theta + 2 * om))).
  assert (Sm : 2 * om <= / large).
  { unfold large in *. lra. }
  assert (Dp : 0 < d).
  { apply Rabs_le_inv in Bd'. assert (theta + 2 * om <= / 2) by (unfold large in Sm; lra).
    assert ((theta + 2 * om) * D <= / 2 * D) by (apply Rmult_le_compat_r; lra). lra. }
  assert (Rt : Rabs (D / d - 1) <= th).
  { apply (ratio_near D d (theta + 2 * om)); [exact Dp|lra|exact Bd'|unfold large in Sm; lra|lra]. }
  assert (Thb : 0 <= th <= 101 / 100 * theta + / (large / 2)).
  { unfold th. unfold large in *. split; [apply Rmult_le_pos; lra|].
    apply Rle_trans with ((theta + 2 * om) * (1 + 2 * / 500)); [apply Rmult_le_compat_l|]; lra. }
  pose (a := fun j => e j / D).
  assert (A0 : forall j, In j ks -> 0 <= a j).
  { intros j Hj. apply Rmult_le_pos; [apply (Aj j Hj)|left; apply Rinv_0_lt_compat; lra]. }
  assert (A1 : total (map a ks) = 1).
  { rewrite (total_map_ext a (fun j => / D * e j)) by (intros; unfold a, Rdiv; ring).
    rewrite total_map_scal.
    fold D. field. lra. }
  assert (Aone : forall j, In j ks -> a j <= 1) by (intros j Hj; rewrite <- A1; apply total_map_in;
    assumption).
  pose (f := total (map (fun j => a j * V j) ks)).
  (* the share of floats is that of reals, times at most c^2 *)
  assert (Share : forall X, (forall j, In j ks -> X j = 0 \/ X j = 1) ->
     total (map (fun j => a j * X j) ks)
     <= total (map (fun j => exp (S j) * X j) ks) / total (map (fun j => exp (S j)) ks) / (1 - y)
       + / 2097152 /\
     0 <= total (map (fun j => exp (S j) * X j) ks) / total (map (fun j => exp (S j)) ks)).
  { intros X HX.
    set (q := total (map (fun j => exp (S j) * X j) ks)).
    set (all := total (map (fun j => exp (S j)) ks)).
    assert (All : 0 < all).
    { apply Rlt_le_trans with (exp (S k)); [apply exp_pos|].
      apply (total_map_in (fun j => exp (S j))); [exact Hk|].
      intros. left. apply exp_pos. }
    assert (Q0 : 0 <= q).
    { apply total_map_nonneg. intros j Hj. pose proof (exp_pos (S j)).
      destruct (HX j Hj) as [-> | ->]; lra. }
    assert (Qa : q <= all).
    { apply total_map_le. intros j Hj. pose proof (exp_pos (S j)). destruct (HX j Hj) as [-> | ->];
        lra. }
    assert (EA : forall g : nat ->
      R, total (map (fun j => A j * g j) ks)
      = exp (- m) * total (map (fun j => exp (S j) * g j) ks)).
    { intros g. rewrite <- total_map_scal. apply total_map_ext. intros j _. unfold A. unfold Rminus.
      rewrite exp_plus. ring. }
    set (pa := total (map (fun j => A j * X j) ks)). set (aa := total (map A ks)).
    assert (Epa : pa = exp (- m) * q) by apply EA.
    assert (Eaa : aa = exp (- m) * all).
    { unfold aa, all. rewrite <- (total_map_ext (fun j => A j * 1)) by (intros; ring). rewrite EA.
      f_equal.
      apply total_map_ext. intros; ring. }
    pose proof (exp_pos (- m)) as Ex. set (r := q / all).
    assert (R01 : 0 <= r <= 1).
    { unfold r, Rdiv. split; [apply Rmult_le_pos; [exact Q0|left; apply Rinv_0_lt_compat, All]|].
      apply Rmult_le_reg_r with all; [exact All|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    split; [|apply R01].
    assert (Pa : pa = r * aa) by (rewrite Epa, Eaa; unfold r; field; lra).
    assert (Up : total (map (fun j => e j * X j) ks) <= c * pa + n * w1).
    { unfold pa. rewrite <- total_map_scal. unfold n. rewrite <- (total_map_const w1 ks),
        <- total_map_plus. apply total_map_le.
      intros j Hj. destruct (Aj j Hj) as (Ap & E0 & E1 & E2 & _). destruct (HX j Hj) as [-> | ->];
        lra. }
    assert (Lo : aa <= c * (D + n * w1)).
    { unfold D, n. rewrite <- (total_map_const w1 ks), <- total_map_plus, <- total_map_scal.
      apply total_map_le.
      intros j Hj. apply (Aj j Hj). }
    assert (Nw : 0 <= n * w1 <= / (large * 1048576)).
    { split; [apply Rmult_le_pos; lra|]. apply Rle_trans with (8192 * w1);
        [apply Rmult_le_compat_r; lra|exact W2]. }
    assert (Total : total (map (fun j => a j * X j) ks) = total (map (fun j => e j * X j) ks) / D).
    { rewrite (total_map_ext _ (fun j => / D * (e j * X j))) by (intros; unfold a, Rdiv; ring).
      rewrite total_map_scal. unfold Rdiv. ring. }
    rewrite Total. fold r. apply Rmult_le_reg_r with D; [lra|]. unfold Rdiv at 1.
    rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_r. eapply Rle_trans; [exact Up|]. rewrite Pa. unfold Rdiv.
    assert (X1 : c * (r * aa) <= r * / (1 - y) * (D + n * w1)).
    { apply Rle_trans with (r * (c * c) * (D + n * w1));
        [|apply Rmult_le_compat_r; [lra|apply Rmult_le_compat_l; [lra|exact C2]]].
      replace (r * (c * c) * (D + n * w1)) with (c * (r * (c * (D + n * w1)))) by ring.
      apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
    assert (X2 : r * / (1 - y) * (n * w1) <= 1 * 2 * (n * w1)).
    { apply Rmult_le_compat_r; [lra|].
      apply Rmult_le_compat; [lra|left; apply Rinv_0_lt_compat; lra|lra|exact Inv]. }
    unfold large in *. lra. }
  destruct (Share V) as [F1 R0]; [intros j Hj; apply (Values j Hj)|]. fold f share in F1.
  fold share in R0.
  destruct (Share (fun j => 1 - V j)) as [F2 _].
  { intros j Hj. destruct (proj1 (Values j Hj)) as [-> | ->]; [right|left]; ring. }
  assert (All0 : 0 < total (map (fun j => exp (S j)) ks)).
  { apply Rlt_le_trans with (exp (S k)); [apply exp_pos|].
    apply (total_map_in (fun j => exp (S j))); [exact Hk|].
    intros. left. apply exp_pos. }
  rewrite (total_map_ext (fun j => a j * (1 - V j)) (fun j => a j + - 1 * (a j * V j))) in F2
    by (intros; ring).
  rewrite (total_map_ext (fun j => exp (S j) * (1 - V j)) (fun j =>
    exp (S j) + - 1 * (exp (S j) * V j))) in F2 by (intros; ring).
  rewrite !total_map_plus, !total_map_scal, A1 in F2. fold f in F2.
  match type of F2 with _ <= ?q / _ / _ + _ =>
    assert (Eq : q / total (map (fun j => exp (S j)) ks) = 1 - share) by (unfold share; field;
    lra) end.
  rewrite Eq in F2. clear Eq.
  assert (F0 : 0 <= f <= 1).
  { split.
    - apply total_map_nonneg. intros j Hj. pose proof (A0 j Hj).
      destruct (proj1 (Values j Hj)) as [-> | ->]; lra.
    - rewrite <- A1. apply total_map_le. intros j Hj. pose proof (A0 j Hj).
      destruct (proj1 (Values j Hj)) as [-> | ->]; lra. }
  (* what is rounded after that *)
  assert (W : forall j, In j ks -> 0 <= w j /\
    Rabs (w j - a j) <= (102 / 100 * theta + / 8000000) * a j + tiny).
  { intros j Hj. destruct (Aj j Hj) as (_ & E0 & _ & _ & E2).
    assert (Q : e j / d = a j * (D / d)) by (unfold a; field; lra).
    assert (Q0 : 0 <= e j / d) by (apply Rmult_le_pos; [exact E0|left; apply Rinv_0_lt_compat, Dp]).
    pose proof (A0 j Hj) as Aa. pose proof (Aone j Hj) as Ab.
    assert (Qb : Rabs (e j / d - a j) <= th * a j).
    { rewrite Q. replace (a j * (D / d) - a j) with (a j * (D / d - 1)) by ring.
      rewrite Rabs_mult, (Rabs_pos_eq (a j) Aa), Rmult_comm. apply Rmult_le_compat_r; assumption. }
    assert (Q2 : e j / d <= 2 * a j).
    { rewrite Q, Rmult_comm. apply Rmult_le_compat_r; [exact Aa|]. apply Rabs_le_inv in Rt.
      unfold large in Thb. lra. }
    assert (Z : w j = fl (e j / d))
      by (apply no_overflow; [rewrite Rabs_pos_eq by exact Q0; unfold huge; lra|apply Hw, Hj]).
    split; [rewrite Z; apply fl_nonneg, Q0|]. pose proof (any_error (e j / d)) as E.
    rewrite <- Z, (Rabs_pos_eq _ Q0) in E.
    replace (w j - a j) with ((w j - e j / d) + (e j / d - a j)) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    assert (th * a j <= (101 / 100 * theta + / (large / 2)) * a j) by (apply Rmult_le_compat_r;
      lra).
    assert (0 <= theta * a j) by (apply Rmult_le_pos; lra). unfold u, large in *. lra. }
  assert (Zj : forall j, In j ks -> Rabs (z j - a j * V j) <= (116 / 100 * theta + / 3000000 + nu)
    * a j + 4 * tiny /\
                Rmax 0 (- z j) <= 3 / 2 * nu * a j + 4 * tiny).
  { intros j Hj. destruct (W j Hj) as [W0 Wd]. destruct (Values j Hj) as [V01 Vd].
    apply (key_near (a j) (w j) (v j) (V j)); try assumption;
      [split; [apply (A0 j Hj)|apply (Aone j Hj)]|lra|apply (Hz j Hj)]. }
  assert (Zs : Rabs (total (map z ks) - f) <= 116 / 100 * theta + / 3000000 + nu + n * (4 * tiny)).
  { unfold f. eapply Rle_trans; [apply total_map_abs|].
    apply Rle_trans
      with (total (map (fun j => (116 / 100 * theta + / 3000000 + nu) * a j + 4 * tiny) ks)).
    - apply total_map_le. intros j Hj. apply (Zj j Hj).
    - rewrite total_map_plus, total_map_scal, A1, total_map_const. unfold n. lra. }
  assert (Nt : 0 <= n * (4 * tiny) <= / large).
  { split; [apply Rmult_le_pos; lra|]. apply Rle_trans with (8192 * (4 * tiny));
      [apply Rmult_le_compat_r; lra|].
    unfold large. lra. }
  assert (Zb : size (map z ks) <= 3 / 2).
  { unfold size. rewrite map_map.
    apply Rle_trans
      with (total (map (fun j => a j + ((116 / 100 * theta + / 3000000 + nu) * a j + 4 * tiny))
      ks)).
    - apply total_map_le. intros j Hj. destruct (Zj j Hj) as [E _]. pose proof (A0 j Hj) as Aa.
      replace (z j) with ((z j - a j * V j) + a j * V j) by ring.
      eapply Rle_trans; [apply Rabs_triang|].
      assert (Rabs (a j * V j) <= a j) by (destruct (proj1 (Values j Hj)) as [-> | ->];
        rewrite ?Rmult_0_r, ?Rmult_1_r, ?Rabs_R0, ?Rabs_pos_eq; lra).
      lra.
    - rewrite total_map_plus, total_map_plus, total_map_scal, A1, total_map_const. fold n.
      unfold large in *. lra. }
  assert (Zd : deficit (map z ks) <= 3 / 2 * nu + n * (4 * tiny)).
  { unfold deficit. rewrite map_map.
    apply Rle_trans with (total (map (fun j => 3 / 2 * nu * a j + 4 * tiny) ks)).
    - apply total_map_le. intros j Hj. apply (Zj j Hj).
    - rewrite total_map_plus, total_map_scal, A1, total_map_const. fold n. lra. }
  destruct (any_order _ _ Ho) as [Bo Lo]; [unfold large; lra|apply Len|]. rewrite Lm in Bo, Lo.
  fold om in Bo, Lo.
  pose proof (size_nonneg (map z ks)) as Z0. pose proof (deficit_nonneg (map z ks)) as Z1.
  assert (Of : Rabs (o - f) <= 3 * theta + nu + / 2097152).
  { replace (o - f) with ((o - total (map z ks)) + (total (map z ks) - f)) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    assert (((1 + u) ^ (length ks - 1) - 1) * size (map z ks) <= theta * (3 / 2))
      by (apply Rmult_le_compat; lra).
    unfold large in *. lra. }
  apply Rabs_le_inv in Of. unfold rho. split; [lra|]. split; [lra|]. split; [|lra].
  assert ((1 + u) ^ (length ks - 1) * deficit (map z ks)
    <= 1001 / 1000 * (3 / 2 * nu + n * (4 * tiny))) by (apply Rmult_le_compat; lra).
  assert (Nt' : n * (4 * tiny) <= / (4 * large)).
  { apply Rle_trans with (8192 * (4 * tiny)); [apply Rmult_le_compat_r; lra|]. unfold large. lra. }
  unfold large in *. lra.
Qed.
End Row.
