(** One row of softmax attention in binary32, every operation rounded, sums in any order.

    The semantics is a relation: whatever an implementation computes that keeps to it, the theorem
    holds. An operation returns the rounded result unless that overflows, and then anything. Sums are
    added up in any order and any grouping. exp is within a relative error of 2^-20, or 2^-120. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith List Bool Permutation.
From Flocq Require Import Core Relative.
From Softhat Require Import Sums.
Import ListNotations.
Open Scope R_scope.

(** * Operations *)

Notation fexp := (FLT_exp (-149) 24).
Notation format := (generic_format radix2 fexp).
Notation fl := (round radix2 fexp ZnearestE).

(* z is what an operation with exact result x may return *)
Definition rounds (x z : R) : Prop := Rabs (fl x) < bpow radix2 128 -> z = fl x.

Inductive adds : list R -> R -> Prop :=
  | adds_none : adds [] 0
  | adds_one x : adds [x] x
  | adds_two l a b x y z : Permutation l (a ++ b) -> a <> [] -> b <> [] ->
      adds a x -> adds b y -> rounds (x + y) z -> adds l z.

Definition exponential (t e : R) : Prop :=
  format e /\ 0 <= e /\ Rabs (e - exp t) <= / 1048576 * exp t + bpow radix2 (-120).

(* a row of n keys with scores s and values v may return o *)
Definition attends (n : nat) (s v : nat -> R) (o : R) : Prop :=
  exists (m d : R) (t e w y : nat -> R),
    (exists k, (k < n)%nat /\ m = s k) /\ (forall j, (j < n)%nat -> s j <= m) /\
    (forall j, (j < n)%nat -> rounds (s j - m) (t j)) /\
    (forall j, (j < n)%nat -> exponential (t j) (e j)) /\
    adds (map e (seq 0 n)) d /\
    (forall j, (j < n)%nat -> rounds (e j / d) (w j)) /\
    (forall j, (j < n)%nat -> rounds (w j * v j) (y j)) /\
    adds (map y (seq 0 n)) o.

(** * Rounding *)

Local Instance precise : Prec_gt_0 24 := eq_refl.

Definition u : R := / 16777216.
Lemma u_is : / 2 * bpow radix2 (- 24 + 1) = u.
Proof. unfold u. simpl. lra. Qed.

(* a sum of two floats has a relative error, subnormal numbers too *)
Lemma add_error x y : format x -> format y -> Rabs (fl (x + y) - (x + y)) <= u * Rabs (x + y).
Proof.
  intros Fx Fy.
  assert (M : forall z, format z -> exists k, z = IZR k * bpow radix2 (-149)).
  { intros z Fz. apply generic_format_FIX_FLT in Fz. apply FIX_format_generic in Fz.
    destruct Fz as [f E X]. exists (Fnum f). rewrite E. unfold F2R. rewrite X. reflexivity. }
  destruct (M x Fx) as (a & Ea). destruct (M y Fy) as (b & Eb).
  replace (x + y) with (F2R (Float radix2 (a + b) (-149)))
    by (unfold F2R; cbn [Fnum Fexp]; rewrite plus_IZR, Ea, Eb; ring).
  rewrite <- u_is.
  exact (relative_error_N_FLT_F2R_emin radix2 (-149) 24 ltac:(lia) _ (a + b)).
Qed.

Lemma any_error x : Rabs (fl x - x) <= u * Rabs x + bpow radix2 (-149).
Proof.
  destruct (error_N_FLT radix2 (-149) 24 ltac:(lia) (fun z => negb (Z.even z)) x) as (eps & eta & H1 & H2 & _ & ->).
  assert (E1 : Rabs eps <= u) by (rewrite <- u_is; exact H1).
  replace (x * (1 + eps) + eta - x) with (x * eps + eta) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. pose proof (Rabs_pos x).
  pose proof (bpow_gt_0 radix2 (-149)). nra.
Qed.

Lemma fl_nonneg x : 0 <= x -> 0 <= fl x.
Proof. intros H. rewrite <- (round_0 radix2 fexp ZnearestE). apply round_le; try typeclasses eauto. exact H. Qed.

(** * Sums *)

Definition total (l : list R) : R := fold_right Rplus 0 l.
Lemma total_app a b : total (a ++ b) = total a + total b.
Proof. unfold total. induction a as [|x a IH]; simpl; [ring|]. rewrite IH. ring. Qed.
Lemma total_perm l l' : Permutation l l' -> total l = total l'.
Proof. unfold total. induction 1; simpl; lra. Qed.
Lemma total_nonneg l : (forall x, In x l -> 0 <= x) -> 0 <= total l.
Proof.
  unfold total. induction l as [|x l IH]; intros H; simpl; [lra|].
  pose proof (H x (or_introl eq_refl)). specialize (IH (fun y I => H y (or_intror I))). lra.
Qed.

Lemma pow_up k : 1 <= (1 + u) ^ k.
Proof. apply pow_R1_Rle. unfold u. lra. Qed.
Lemma pow_down k : 0 < (1 - u) ^ k <= 1.
Proof.
  split; [apply pow_lt; unfold u; lra|].
  apply Rle_trans with (1 ^ k); [apply pow_incr; unfold u; split; lra|rewrite pow1; lra].
Qed.
Lemma pow_more a b : (a <= b)%nat -> (1 + u) ^ a <= (1 + u) ^ b /\ (1 - u) ^ b <= (1 - u) ^ a.
Proof.
  intros H. split; [apply Rle_pow; [unfold u; lra|exact H]|].
  replace b with (a + (b - a))%nat by lia. rewrite pow_add. pose proof (pow_down a). pose proof (pow_down (b - a)). nra.
Qed.

Theorem any_order l z : adds l z -> (forall x, In x l -> format x /\ 0 <= x) ->
  total l * (1 + u) ^ length l < bpow radix2 128 ->
  format z /\ total l * (1 - u) ^ length l <= z <= total l * (1 + u) ^ length l.
Proof.
  induction 1 as [|x|l a b x y z P Na Nb Ax IHx Ay IHy Rz]; intros F O.
  - cbn. split; [apply generic_format_0|lra].
  - cbn. destruct (F x (or_introl eq_refl)) as [Fx Px]. split; [exact Fx|]. unfold u. lra.
  - assert (Fa : forall q, In q a -> format q /\ 0 <= q).
    { intros q I. apply F. apply (Permutation_in q (Permutation_sym P)), in_or_app. left. exact I. }
    assert (Fb : forall q, In q b -> format q /\ 0 <= q).
    { intros q I. apply F. apply (Permutation_in q (Permutation_sym P)), in_or_app. right. exact I. }
    pose proof (total_nonneg a (fun q I => proj2 (Fa q I))) as Ta.
    pose proof (total_nonneg b (fun q I => proj2 (Fb q I))) as Tb.
    assert (T : total l = total a + total b) by (rewrite (total_perm _ _ P); apply total_app).
    assert (L : length l = (length a + length b)%nat) by (rewrite (Permutation_length P); apply app_length).
    assert (La : (length a <= length l - 1)%nat) by (destruct b; [contradiction|cbn in L; lia]).
    assert (Lb : (length b <= length l - 1)%nat) by (destruct a; [contradiction|cbn in L; lia]).
    assert (Ll : (1 <= length l)%nat) by (destruct a; [contradiction|cbn in L; lia]).
    destruct (pow_more _ _ La) as [Ua Da]. destruct (pow_more _ _ Lb) as [Ub Db].
    destruct (pow_more (length l - 1) (length l) ltac:(lia)) as [Ul Dl].
    pose proof (pow_up (length a)). pose proof (pow_up (length b)). pose proof (pow_up (length l - 1)).
    pose proof (pow_down (length a)). pose proof (pow_down (length b)). pose proof (pow_down (length l - 1)).
    assert (Ul' : (1 + u) ^ length l = (1 + u) * (1 + u) ^ (length l - 1))
      by (replace (length l) with (S (length l - 1)) at 1 by lia; reflexivity).
    assert (Dl' : (1 - u) ^ length l = (1 - u) * (1 - u) ^ (length l - 1))
      by (replace (length l) with (S (length l - 1)) at 1 by lia; reflexivity).
    assert (U0 : 0 < u < 1) by (unfold u; lra).
    destruct (IHx Fa) as [Gx Bx]; [nra|]. destruct (IHy Fb) as [Gy By]; [nra|].
    assert (X0 : 0 <= x) by nra. assert (Y0 : 0 <= y) by nra.
    pose proof (add_error x y Gx Gy) as E. rewrite (Rabs_pos_eq (x + y)) in E by lra.
    apply Rabs_le_inv in E. assert (Up : x + y <= total l * (1 + u) ^ (length l - 1)) by (rewrite T; nra).
    assert (Lo : total l * (1 - u) ^ (length l - 1) <= x + y) by (rewrite T; nra).
    assert (N : 0 <= fl (x + y)) by (apply fl_nonneg; lra).
    assert (Z : z = fl (x + y)).
    { apply Rz. rewrite Rabs_pos_eq by exact N. rewrite Ul' in O. nra. }
    subst z. split; [apply generic_format_round; typeclasses eauto|]. rewrite Ul', Dl'. split; nra.
Qed.

Lemma total_seq f n : total (map f (seq 0 n)) = sum f n.
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite seq_S, map_app, total_app, IH. cbn. unfold total. simpl. lra.
Qed.

Lemma bernoulli k : 1 - INR k * u <= (1 - u) ^ k.
Proof.
  induction k as [|k IH]; [simpl; lra|]. rewrite S_INR. cbn [pow]. pose proof (pow_down k). pose proof (pos_INR k).
  assert (0 < u < 1) by (unfold u; lra). nra.
Qed.

Lemma powers_near k : (Z.of_nat k <= 8192)%Z -> 2047 / 2048 <= (1 - u) ^ k /\ (1 + u) ^ k <= 1025 / 1024.
Proof.
  intros Hk. assert (K : INR k <= 8192) by (rewrite INR_IZR_INZ; apply IZR_le, Hk).
  pose proof (bernoulli k) as B. pose proof (pos_INR k).
  assert (D : 2047 / 2048 <= (1 - u) ^ k).
  { eapply Rle_trans; [|exact B]. unfold u. lra. }
  split; [exact D|].
  assert (P : (1 + u) ^ k * (1 - u) ^ k <= 1).
  { rewrite <- Rpow_mult_distr. apply Rle_trans with (1 ^ k); [apply pow_incr; unfold u; split; lra|rewrite pow1; lra]. }
  pose proof (pow_up k). nra.
Qed.

(** * The row *)

Lemma others_plus p f g n : others p (fun j => f j + g j) n = others p f n + others p g n.
Proof.
  unfold others. rewrite <- sum_plus. apply sum_ext. intros j _. destruct (Nat.eqb j p); lra.
Qed.
Lemma others_in p f n j : (j < n)%nat -> j <> p -> (forall i, (i < n)%nat -> i <> p -> 0 <= f i) ->
  f j <= others p f n.
Proof.
  induction n as [|n IH]; intros Hj N P; [lia|].
  change (others p f (S n)) with (others p f n + (if Nat.eqb n p then 0 else f n)).
  assert (0 <= others p f n) by (apply others_nonneg; intros i Hi Ni; apply P; [lia|exact Ni]).
  destruct (Nat.eq_dec j n) as [->|D].
  - destruct (Nat.eqb_spec n p); [contradiction|lra].
  - specialize (IH ltac:(lia) N (fun i Hi Ni => P i ltac:(lia) Ni)).
    destruct (Nat.eqb_spec n p) as [|Np]; [lra|]. pose proof (P n ltac:(lia) Np). lra.
Qed.

Lemma no_overflow x : Rabs x <= bpow radix2 100 -> Rabs (fl x) < bpow radix2 128.
Proof.
  intros H. pose proof (any_error x) as E.
  assert (T : Rabs (fl x) <= Rabs x + Rabs (fl x - x)).
  { replace (fl x) with (x + (fl x - x)) at 1 by ring. apply Rabs_triang. }
  assert (P1 : 1 <= bpow radix2 100) by (apply (bpow_le radix2 0 100); lia).
  assert (P2 : bpow radix2 (-149) <= 1) by (apply (bpow_le radix2 (-149) 0); lia).
  assert (P3 : bpow radix2 100 * 4 <= bpow radix2 128).
  { replace 4 with (bpow radix2 2) by (simpl; lra). rewrite <- bpow_plus. apply bpow_le. lia. }
  pose proof (Rabs_pos x). unfold u in E. nra.
Qed.

(* p wins the row: every other key is at most e^g of it, and these add up to 1/50 *)
Theorem row_binary32 n s v o p g : (p < n)%nat -> (Z.of_nat n <= 8192)%Z ->
  (forall j, (j < n)%nat -> v j = 0 \/ v j = 1) ->
  (forall j, (j < n)%nat -> Rabs (s j) <= bpow radix2 60) -> (forall j, (j < n)%nat -> s j <= s p) ->
  (forall j, (j < n)%nat -> j <> p -> format (g j) /\ s j - s p <= g j) ->
  others p (fun j => exp (g j)) n <= 1 / 50 ->
  attends n s v o -> Rabs (o - v p) <= 1 / 16.
Proof.
  intros Hp Hn V Sb Top Gap Small (m & d & t & e & w & y & (k & Hk & Em) & Mx & Ht & He & Hd & Hw & Hy & Ho).
  assert (M : m = s p) by (pose proof (Mx p Hp); pose proof (Top k Hk); subst m; lra). subst m. rewrite M in *.
  clear M Mx k Hk.
  assert (Big : bpow radix2 60 * 2 <= bpow radix2 100).
  { replace 2 with (bpow radix2 1) by (simpl; lra). rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (One : 10 <= bpow radix2 100).
  { apply Rle_trans with (bpow radix2 4); [simpl; lra|apply bpow_le; lia]. }
  assert (Om : 0 < bpow radix2 (-120) <= / 1048576).
  { split; [apply bpow_gt_0|]. apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]. }
  assert (Nr : INR n <= 8192) by (rewrite INR_IZR_INZ; apply IZR_le, Hn).
  assert (N1 : 1 <= INR n) by (apply (le_INR 1); lia).
  assert (NO : INR n * bpow radix2 (-120) <= / 1048576).
  { apply Rle_trans with (bpow radix2 13 * bpow radix2 (-120)).
    - apply Rmult_le_compat_r; [lra|]. simpl. lra.
    - rewrite <- bpow_plus. apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]. }
  assert (NE : 0 < bpow radix2 (-149) <= bpow radix2 (-120)) by (split; [apply bpow_gt_0|apply bpow_le; lia]).
  (* what exp returns *)
  assert (T : forall j, (j < n)%nat -> t j = fl (s j - s p)).
  { intros j Hj. apply (Ht j Hj), no_overflow. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
    pose proof (Sb j Hj). pose proof (Sb p Hp). lra. }
  assert (Ep : 1 - 2 * / 1048576 <= e p <= 1 + 2 * / 1048576).
  { destruct (He p Hp) as (_ & _ & B). rewrite (T p Hp) in B.
    replace (s p - s p) with 0 in B by ring. rewrite round_0, exp_0 in B by typeclasses eauto.
    apply Rabs_le_inv in B. lra. }
  assert (Ej : forall j, (j < n)%nat -> j <> p -> e j <= (1 + / 1048576) * exp (g j) + bpow radix2 (-120)).
  { intros j Hj N. destruct (He j Hj) as (_ & _ & B). apply Rabs_le_inv in B. destruct (Gap j Hj N) as [Fg Lg].
    assert (L : t j <= g j).
    { rewrite (T j Hj), <- (round_generic radix2 fexp ZnearestE (g j) Fg). apply round_le; try typeclasses eauto. exact Lg. }
    assert (X : exp (t j) <= exp (g j)) by (destruct L as [L|L]; [left; apply exp_increasing, L|rewrite L; lra]).
    pose proof (exp_pos (t j)). lra. }
  set (Rest := others p e n).
  assert (R0 : 0 <= Rest) by (apply others_nonneg; intros j Hj _; apply (He j Hj)).
  assert (R1 : Rest <= 1 / 49).
  { unfold Rest. eapply Rle_trans; [apply others_le; intros j Hj N; apply (Ej j Hj N)|].
    rewrite others_plus, others_scal, others_const by exact Hp. pose proof (others_nonneg p (fun j => exp (g j)) n
      (fun j _ _ => Rlt_le _ _ (exp_pos _))). nra. }
  assert (Sum : total (map e (seq 0 n)) = e p + Rest) by (rewrite total_seq; apply sum_others, Hp).
  destruct (powers_near n Hn) as [Dn Un].
  assert (Fe : forall x, In x (map e (seq 0 n)) -> format x /\ 0 <= x).
  { intros x I. apply in_map_iff in I as (j & <- & I). apply in_seq in I. destruct (He j ltac:(lia)) as (F & P & _).
    split; assumption. }
  assert (Len : forall f : nat -> R, length (map f (seq 0 n)) = n) by (intros; rewrite map_length, seq_length; reflexivity).
  destruct (any_order _ _ Hd Fe) as [_ Bd].
  { rewrite Sum, Len. apply Rle_lt_trans with 9; [pose proof (pow_up n); nra|].
    apply Rlt_le_trans with (bpow radix2 100); [lra|apply bpow_le; lia]. }
  rewrite Sum, Len in Bd.
  assert (Dd : 998 / 1000 <= d <= (e p + Rest) * (1025 / 1024)) by nra.
  assert (Dl : (e p + Rest) * (2047 / 2048) <= d) by nra.
  (* what a division returns *)
  assert (W : forall j, (j < n)%nat -> format (w j) /\ 0 <= w j /\
            Rabs (w j - e j / d) <= u * (e j / d) + bpow radix2 (-149)).
  { intros j Hj. assert (E0 : 0 <= e j) by apply (He j Hj).
    assert (E2 : e j <= 2).
    { destruct (Nat.eq_dec j p) as [->|N]; [lra|].
      assert (e j <= Rest); [|lra]. unfold Rest. apply others_in; [exact Hj|exact N|]. intros i Hi _. apply (He i Hi). }
    assert (Q0 : 0 <= e j / d) by (apply Rmult_le_pos; [exact E0|left; apply Rinv_0_lt_compat; lra]).
    assert (Q1 : e j / d <= 3).
    { apply Rmult_le_reg_r with d; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (Z : w j = fl (e j / d)) by (apply (Hw j Hj), no_overflow; rewrite Rabs_pos_eq; lra).
    rewrite Z. split; [apply generic_format_round; typeclasses eauto|]. split; [apply fl_nonneg, Q0|].
    pose proof (any_error (e j / d)) as A. rewrite (Rabs_pos_eq (e j / d)) in A by exact Q0. exact A. }
  assert (Y : forall j, (j < n)%nat -> y j = w j * v j).
  { intros j Hj. destruct (W j Hj) as (Fw & W0 & Wb). assert (Fy : format (w j * v j)).
    { destruct (V j Hj) as [-> | ->]; [rewrite Rmult_0_r; apply generic_format_0|rewrite Rmult_1_r; exact Fw]. }
    rewrite (Hy j Hj); [apply round_generic; [typeclasses eauto|exact Fy]|].
    rewrite round_generic; [|typeclasses eauto|exact Fy].
    apply Rabs_le_inv in Wb.
    assert (E2 : e j <= 2).
    { destruct (Nat.eq_dec j p) as [->|N]; [lra|].
      assert (e j <= Rest); [|lra]. unfold Rest. apply others_in; [exact Hj|exact N|]. intros i Hi _. apply (He i Hi). }
    assert (Q1 : e j / d <= 3).
    { apply Rmult_le_reg_r with d; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (w j <= 5) by (unfold u in Wb; lra).
    apply Rle_lt_trans with 5; [destruct (V j Hj) as [-> | ->]; rewrite Rabs_pos_eq; lra|].
    apply Rlt_le_trans with (bpow radix2 100); [lra|apply bpow_le; lia]. }
  set (c := (1 + u) / d).
  assert (C0 : 0 <= c <= 1003 / 1000).
  { unfold c. split; [apply Rmult_le_pos; [unfold u; lra|left; apply Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with d; [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. unfold u. lra. }
  assert (Wu : forall j, (j < n)%nat -> w j <= c * e j + bpow radix2 (-149)).
  { intros j Hj. destruct (W j Hj) as (_ & _ & Wb). apply Rabs_le_inv in Wb.
    replace (c * e j) with (e j / d + u * (e j / d)) by (unfold c; field; lra). lra. }
  assert (Wrest : others p w n <= 1 / 48).
  { eapply Rle_trans; [apply others_le; intros j Hj _; apply (Wu j Hj)|].
    rewrite others_plus, others_scal, others_const by exact Hp. fold Rest. nra. }
  assert (Wr0 : 0 <= others p w n) by (apply others_nonneg; intros j Hj _; apply (W j Hj)).
  assert (Wp : 97 / 100 <= w p <= 1005 / 1000).
  { destruct (W p Hp) as (_ & _ & Wb). apply Rabs_le_inv in Wb.
    assert (L : 975 / 1000 <= e p / d <= 1001 / 1000).
    { split; apply Rmult_le_reg_r with d; try lra; unfold Rdiv at 2; rewrite ?Rmult_assoc; unfold Rdiv;
        rewrite ?Rmult_assoc, ?Rinv_l by lra; nra. }
    unfold u in Wb. lra. }
  assert (Fy : forall x, In x (map y (seq 0 n)) -> format x /\ 0 <= x).
  { intros x I. apply in_map_iff in I as (j & <- & I). apply in_seq in I. destruct (W j ltac:(lia)) as (F & P & _).
    rewrite (Y j ltac:(lia)). destruct (V j ltac:(lia)) as [-> | ->].
    - rewrite Rmult_0_r. split; [apply generic_format_0|lra].
    - rewrite Rmult_1_r. split; assumption. }
  assert (SumY : total (map y (seq 0 n)) = y p + others p y n) by (rewrite total_seq; apply sum_others, Hp).
  assert (Yr : 0 <= others p y n <= 1 / 48).
  { split; [apply others_nonneg; intros j Hj _|eapply Rle_trans; [|exact Wrest]; apply others_le; intros j Hj _];
      rewrite (Y j Hj); destruct (W j Hj) as (_ & W0 & _); destruct (V j Hj) as [-> | ->]; lra. }
  assert (Yp : y p = w p * v p) by (apply Y, Hp).
  assert (B : 0 <= y p <= 1005 / 1000) by (rewrite Yp; destruct (V p Hp) as [-> | ->]; lra).
  destruct (any_order _ _ Ho Fy) as [_ Bo].
  { rewrite SumY, Len. apply Rle_lt_trans with 9; [pose proof (pow_up n); nra|].
    apply Rlt_le_trans with (bpow radix2 100); [lra|apply bpow_le; lia]. }
  rewrite SumY, Len in Bo. pose proof (pow_up n). pose proof (pow_down n).
  apply Rabs_le. rewrite Yp in *. destruct (V p Hp) as [Vp|Vp]; rewrite Vp in *; split; nra.
Qed.
