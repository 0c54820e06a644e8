(** Bounds of what binary32 may compute, as rationals that Coq computes: a number that stands for
    x is within E of it, and x is at most M. *)
From Coq Require Import Reals Lra Lia Psatz Arith ZArith QArith Qabs Qround Qreals List Bool.
From Flocq Require Import Core.
From Softhat Require Import Sums Formula Program Lowering Lowered Compare Model FloatRow FloatRun.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

(** * Numbers *)

Definition bound := (Q * Q)%type.
Definition approx (b : bound) (f x : R) : Prop := Rabs x <= Q2R (fst b) /\
  Rabs (f - x) <= Q2R (snd b).

(* rounded up to a multiple of 2^-60, so that fractions stay short *)
Definition grain : positive := 1152921504606846976.
(* z / d, where most of d is a power of two: shifting is cheaper than dividing *)
Fixpoint quotient (z : Z) (d : positive) : Z :=
  match d with xO d => quotient (Z.div2 z) d | xH => z | _ => (z / Zpos d)%Z end.
Lemma quotient_div d : forall z, quotient z d = (z / Zpos d)%Z.
Proof.
  induction d as [d _|d IH|]; intros z; cbn [quotient]; [reflexivity| |symmetry; apply Z.div_1_r].
  rewrite IH, Z.div2_div, Z.div_div by lia. f_equal.
Qed.
Definition ceiling (q : Q) : Z := (- quotient (- Qnum q) (Qden q))%Z.
Lemma ceiling_Q q : ceiling q = Qceiling q.
Proof. unfold ceiling. rewrite quotient_div. destruct q. reflexivity. Qed.
Definition up (q : Q) : Q := (ceiling (q * inject_Z (Zpos grain)) # grain)%Q.
Definition dust : Q := (1 # grain)%Q.
Definition ulp : Q := (1 # 16777216)%Q.
Definition ulp1 : Q := (1001 # 16777216000)%Q.
Definition most : Q := (inject_Z (Zpos grain) / 2)%Q.

Lemma up_above q : Q2R q <= Q2R (up q).
Proof.
  unfold up. rewrite ceiling_Q. set (z := (q * inject_Z (Zpos grain))%Q).
  assert (C : (z <= inject_Z (Qceiling z))%Q) by apply Qle_ceiling.
  apply Qle_Rle in C. unfold z in C at 1. rewrite Q2R_mult, !Q2R_Z in C.
  replace (Q2R (Qceiling z # grain)) with (IZR (Qceiling z) / IZR (Zpos grain)) by reflexivity.
  assert (P : 0 < IZR (Zpos grain)) by (unfold grain; lra).
  apply Rmult_le_reg_r with (IZR (Zpos grain)); [exact P|]. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Lemma Q2R_dust : Q2R dust = / large.
Proof. unfold dust, grain, large, Q2R. simpl. lra. Qed.
Lemma Q2R_ulp : Q2R ulp = u.
Proof. unfold ulp, u, Q2R. simpl. lra. Qed.
Lemma Q2R_ulp1 : Q2R ulp1 = u1.
Proof. unfold ulp1, u1, u, Q2R. simpl. lra. Qed.
Lemma Q2R_most : Q2R most = large / 2.
Proof. unfold most, Q2R, grain, large. simpl. lra. Qed.
Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_abs q : Q2R (Qabs q) = Rabs (Q2R q).
Proof.
  apply (Qabs_case q (fun r => Q2R r = Rabs (Q2R q))); intros H; apply Qle_Rle in H;
    rewrite Q2R_0 in H.
  - rewrite Rabs_pos_eq by exact H. reflexivity.
  - rewrite Q2R_opp, Rabs_left1 by exact H. reflexivity.
Qed.
Lemma Qle_bool_R a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. intros H. apply Qle_Rle, Qle_bool_iff, H. Qed.

Lemma approx_pos b f x : approx b f x -> 0 <= Q2R (fst b) /\ 0 <= Q2R (snd b).
Proof. intros [A B]. pose proof (Rabs_pos x). pose proof (Rabs_pos (f - x)). lra. Qed.
Lemma approx_size b f x : approx b f x -> Rabs f <= Q2R (fst b) + Q2R (snd b).
Proof.
  intros [A B]. replace f with (x + (f - x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Definition fits_in (q : Q) : bool := Qle_bool q most.

(** * Products and sums *)

Definition product_bound (a b : bound) : option bound :=
  let s := ((fst a + snd a) * (fst b + snd b))%Q in
  if fits_in s then
    Some (Qred (fst a * fst b), up (snd a * (fst b + snd b) + fst a * snd b + ulp * s + dust))%Q
  else None.

Lemma approx_product a b r f x g y z : product_bound a b = Some r -> approx a f x -> approx b g y ->
  product f g z -> approx r z (x * y).
Proof.
  unfold product_bound. destruct (fits_in _) eqn:Ok; [|discriminate]. intros E Ha Hb Hz.
  apply (f_equal (fun o => match o with Some s => s | None => r end)) in E. cbn beta iota in E.
  subst r.
  apply Qle_bool_R in Ok. rewrite Q2R_most in Ok.
  pose proof (approx_pos _ _ _ Ha) as [A1 A2]. pose proof (approx_pos _ _ _ Hb) as [B1 B2].
  pose proof (approx_size _ _ _ Ha) as Sa. pose proof (approx_size _ _ _ Hb) as Sb.
  destruct Ha as [Ma Ea], Hb as [Mb Eb]. split; cbn [fst snd].
  - rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_mult, Rabs_mult. pose proof (Rabs_pos x).
    pose proof (Rabs_pos y). apply Rmult_le_compat; lra.
  - eapply Rle_trans; [|apply up_above].
    rewrite Q2R_mult, !Q2R_plus in Ok. rewrite !Q2R_plus, !Q2R_mult, !Q2R_plus, Q2R_ulp, Q2R_dust.
    set (M1 := Q2R (fst a)) in *. set (Ez1 := Q2R (snd a)) in *. set (M2 := Q2R (fst b)) in *.
    set (E2 := Q2R (snd b)) in *.
    assert (P : Rabs (f * g) <= (M1 + Ez1) * (M2 + E2)).
    { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; assumption. }
    assert (Z : Rabs (z - f * g) <= u * Rabs (f * g) + tiny) by (apply product_error;
      [unfold huge, large in *; lra|exact Hz]).
    assert (D : Rabs (f * g - x * y) <= Ez1 * (M2 + E2) + M1 * E2).
    { replace (f * g - x * y) with ((f - x) * g + x * (g - y)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
      apply Rplus_le_compat; apply Rmult_le_compat; try apply Rabs_pos; assumption. }
    replace (z - x * y) with ((z - f * g) + (f * g - x * y)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. pose proof tiny_small.
    assert (tiny <= / large) by (unfold large; lra).
    assert (u * Rabs (f * g) <= u * ((M1 + Ez1) * (M2 + E2))) by (apply Rmult_le_compat_l;
      [unfold u; lra|exact P]).
    lra.
Qed.

Inductive approxes : list bound -> list R -> list R -> Prop :=
  | approxes_nil : approxes [] [] []
  | approxes_cons b f x bs fs xs : approx b f x -> approxes bs fs xs ->
    approxes (b :: bs) (f :: fs) (x :: xs).

Lemma approxes_app bs fs xs bs' fs' xs' : approxes bs fs xs -> approxes bs' fs' xs' ->
  approxes (bs ++ bs') (fs ++ fs') (xs ++ xs').
Proof. intros H H'. induction H; cbn; [exact H'|constructor; assumption]. Qed.

(* Fractions over one denominator keep it: Qplus would multiply denominators, once for each term. *)
Definition fraction_sum (a b : Q) : Q :=
  if Pos.eqb (Qden a) (Qden b) then (Qnum a + Qnum b # Qden a)%Q else Qred (a + b).
Lemma Q2R_sum a b : Q2R (fraction_sum a b) = Q2R a + Q2R b.
Proof.
  rewrite <- Q2R_plus. apply Qeq_eqR. unfold fraction_sum.
  destruct (Pos.eqb_spec (Qden a) (Qden b)) as [E|_]; [|apply Qred_correct].
  destruct a as [x d], b as [y e]. cbn [Qnum Qden] in *. subst e. unfold Qeq. cbn.
  rewrite Pos2Z.inj_mul. ring.
Qed.
Definition add_up (qs : list Q) : Q := fold_right fraction_sum 0%Q qs.
Definition sum_bound (bs : list bound) : option bound :=
  let M := add_up (map fst bs) in
  let E := add_up (map snd bs) in
  if fits_in (M + E) && Z.leb (Z.of_nat (length bs)) 8000 then
    Some (M, up (E + inject_Z (Z.of_nat (length bs) - 1) * ulp1 * (M + E) + dust))%Q
  else None.

Lemma approxes_sums bs fs xs : approxes bs fs xs ->
  length fs = length bs /\ Rabs (total xs) <= Q2R (add_up (map fst bs)) /\
  Rabs (total fs - total xs) <= Q2R (add_up (map snd bs)) /\
  size fs <= Q2R (add_up (map fst bs)) + Q2R (add_up (map snd bs)).
Proof.
  induction 1 as [|b f x bs fs xs H Hs (L & A & B & C)].
  - unfold add_up, size, total. cbn [map fold_right]. rewrite Q2R_0, Rminus_0_r, Rabs_R0.
    repeat split; lra.
  - pose proof (approx_size _ _ _ H) as S. destruct H as [M E]. cbn [map add_up fold_right length].
    fold (add_up (map fst bs)) (add_up (map snd bs)). rewrite !Q2R_sum.
    split; [lia|]. change (total (x :: xs)) with (x + total xs).
    change (total (f :: fs)) with (f + total fs).
    change (size (f :: fs)) with (Rabs f + size fs). split; [|split].
    + eapply Rle_trans; [apply Rabs_triang|]. lra.
    + replace (f + total fs - (x + total xs)) with ((f - x) + (total fs - total xs)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. lra.
    + lra.
Qed.

Lemma approx_sum bs r fs xs z : sum_bound bs = Some r -> approxes bs fs xs -> adds fs z ->
  approx r z (total xs).
Proof.
  unfold sum_bound. destruct (fits_in _ && _) eqn:Ok; [|discriminate]. intros E H Hz.
  injection E as <-.
  apply andb_true_iff in Ok as [Ok Len]. apply Qle_bool_R in Ok. rewrite Q2R_plus, Q2R_most in Ok.
  apply Z.leb_le in Len.
  destruct (approxes_sums _ _ _ H) as (L & A & B & C). set (M := Q2R (add_up (map fst bs))) in *.
  set (E := Q2R (add_up (map snd bs))) in *. split; cbn [fst snd]; [exact A|].
  eapply Rle_trans; [|apply up_above]. rewrite !Q2R_plus, !Q2R_mult, Q2R_plus, Q2R_ulp1, Q2R_dust,
    Q2R_Z. fold M E.
  pose proof (size_nonneg fs) as S0.
  assert (E0 : 0 <= E) by (pose proof (Rabs_pos (total fs - total xs)); lra).
  assert (M0 : 0 <= M) by (pose proof (Rabs_pos (total xs)); lra).
  destruct (any_order _ _ Hz) as [Bz _]; [unfold large in *; lra|rewrite L; lia|].
  replace (z - total xs) with ((z - total fs) + (total fs - total xs)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite L in Bz.
  destruct bs as [|b bs'].
  { inversion H; subst. assert (Mz : M = 0) by apply Q2R_0. assert (Ez : E = 0) by apply Q2R_0.
    rewrite Mz, Ez in *.
    assert (Zz : total [] = 0) by reflexivity. assert (Sz : size [] = 0) by reflexivity.
    rewrite Zz, Sz in *.
    assert (D0 : 0 < / large) by (unfold large; lra). cbn [length Nat.sub pow INR] in Bz. lra. }
  set (k := (length (b :: bs') - 1)%nat) in *.
  replace (Z.of_nat (length (b :: bs')) - 1)%Z with (Z.of_nat k) by (unfold k; cbn [length]; lia).
  rewrite <- INR_IZR_INZ.
  assert (K : (Z.of_nat k <= 8300)%Z) by (unfold k; lia). pose proof (pow_linear k K) as P.
  pose proof (pow_up k) as P1.
  assert (Kr : 0 <= INR k <= 8300) by (split; [apply pos_INR|rewrite INR_IZR_INZ; apply IZR_le, K]).
  assert (X : ((1 + u) ^ k - 1) * size fs <= INR k * u1 * (M + E)) by (apply Rmult_le_compat; lra).
  assert (T : 3 * INR k * tiny <= / large).
  { pose proof tiny_small. apply Rle_trans with (3 * 8300 * tiny); [apply Rmult_le_compat_r; lra|].
    unfold large. lra. }
  lra.
Qed.

(** * Rows of weights *)

Section Dots.
Variables (C : nat -> option bound) (f x : nat -> R).
Hypothesis Coordinates : forall c b, C c = Some b -> approx b (f c) (x c).

Definition entry_bound (e : nat * Q) : option bound := b <- C (fst e);;
  product_bound (Qabs (snd e), 0%Q) b.
Definition dot_bound (l : form) (more : list bound) : option bound :=
  bs <- every entry_bound l;; sum_bound (more ++ bs).

Lemma approx_weight q : approx (Qabs q, 0%Q) (Q2R q) (Q2R q).
Proof.
  split; cbn [fst snd]; [rewrite Q2R_abs; lra|]. rewrite Rminus_diag_eq, Rabs_R0,
    Q2R_0 by reflexivity. lra.
Qed.

Lemma approx_entries l : forall bs ys, every entry_bound l = Some bs ->
  Forall2 (fun e y => product (Q2R (snd e)) (f (fst e)) y) l ys ->
  approxes bs ys (map (fun e => Q2R (snd e) * x (fst e)) l).
Proof.
  induction l as [|e l IH]; intros bs ys E H; inversion H; subst; cbn [every] in E.
  - injection E as <-. constructor.
  - step E b E0. step E l0 Ez1. injection E as <-. unfold entry_bound in E0. step E0 b0 E.
    constructor; [|apply IH; [reflexivity|assumption]].
    eapply approx_product; [exact E0|apply approx_weight|apply Coordinates; exact E|eassumption].
Qed.

Lemma dot_total l : dot (real_form l) x = total (map (fun e => Q2R (snd e) * x (fst e)) l).
Proof. induction l as [|[c a] l IH]; [reflexivity|]. rewrite dot_cons, IH. reflexivity. Qed.

Lemma approx_dots l more r fs xs z : dot_bound l more = Some r -> approxes more fs xs ->
  dots l f fs z ->
  approx r z (total xs + dot (real_form l) x).
Proof.
  unfold dot_bound. intros E H (ys & Hy & Hz).
  destruct (every entry_bound l) as [bs|] eqn:Eb; [|discriminate].
  rewrite dot_total, <- total_app.
  apply (approx_sum (more ++ bs) r (fs ++ ys)); [exact E| |exact Hz].
  apply approxes_app; [exact H|]. apply approx_entries; assumption.
Qed.
End Dots.

(** * Scores *)

Definition row_bound (C D : nat -> option bound) (qk : form * form) : option bound :=
  a <- dot_bound C (fst qk) [];; b <- dot_bound D (snd qk) [];; product_bound a b.
Definition score_bound (C : nat -> option bound) (h : head) : option bound :=
  ts <- every (row_bound C C) (rows h);; s <- sum_bound ts;; product_bound (Qabs (cold h), 0%Q) s.

Lemma approx_score C h r f x g y s : score_bound C h = Some r ->
  (forall c b, C c = Some b -> approx b (f c) (x c)) ->
    (forall c b, C c = Some b -> approx b (g c) (y c)) ->
  scored h f g s -> approx r s (Q2R (cold h) * score (real_rows (rows h)) x y).
Proof.
  unfold score_bound. intros E Hx Hy (ts & s0 & Ht & Hs & Hz).
  destruct (every (row_bound C C) (rows h)) as [bs|] eqn:Eb; [|discriminate].
  destruct (sum_bound bs) as [b|] eqn:Es; [|discriminate].
  eapply approx_product; [exact E|apply approx_weight| |exact Hz].
  assert (T : score (real_rows (rows h)) x y
    = total (map (fun qk => dot (real_form (fst qk)) x * dot (real_form (snd qk)) y) (rows h))).
  { clear. induction (rows h) as [|[q k] rs IH]; [reflexivity|]. rewrite score_cons, IH.
    reflexivity. }
  rewrite T. apply (approx_sum bs b ts); [exact Es| |exact Hs]. clear E Es Hs Hz T. revert bs Eb.
  induction Ht as [|qk t rs ts (a & b0 & Ha & Hb & Hp) Hts IH]; intros bs E; cbn [every] in E.
  - injection E as <-. constructor.
  - step E b1 E0. step E l Ez1. injection E as <-. unfold row_bound in E0. step E0 b2 E.
    step E0 b3 E2.
    constructor; [|apply IH; reflexivity].
    eapply approx_product; [exact E0| | |exact Hp].
    + pose proof (approx_dots C f x Hx _ _ _ _ _ a E approxes_nil Ha) as D. cbn in D.
      rewrite Rplus_0_l in D. exact D.
    + pose proof (approx_dots C g y Hy _ _ _ _ _ b0 E2 approxes_nil Hb) as D. cbn in D.
      rewrite Rplus_0_l in D. exact D.
Qed.
