(** Shift: the value at i - c. The score of j falls with the distance from i, and positions that are
    not i - c modulo m > c lose A more; `<bos>` never does, so that it is read where i - c is no
    position. *)
From Coq Require Import Reals Lra Lia Arith.
From Softhat Require Import Sums Attention.
Open Scope R_scope.

(* j and i - c agree modulo m, or j is <bos> *)
Definition matching (m c i j : nat) : bool :=
  Nat.eqb j 0 || Nat.eqb (Nat.modulo (j + c) m) (Nat.modulo i m).
Definition shift_score (B A : R) (m c i j : nat) : R :=
  B * (INR j - INR i) - (if matching m c i j then 0 else A).

Lemma same_residue a b m : (0 < m)%nat -> (b <= a)%nat -> Nat.modulo a m = Nat.modulo b m ->
  exists k, (a - b = m * k)%nat.
Proof.
  intros Hm L E. pose proof (Nat.div_mod a m ltac:(lia)). pose proof (Nat.div_mod b m ltac:(lia)).
  exists (a / m - b / m)%nat. rewrite Nat.mul_sub_distr_l. lia.
Qed.

Lemma matching_winner m c i : matching m c i (i - c) = true.
Proof.
  unfold matching. destruct (Nat.eqb_spec (i - c) 0); [reflexivity|]. cbn [orb].
  apply Nat.eqb_eq. f_equal. lia.
Qed.

(* no other position from i - c on matches *)
Lemma matching_near m c i j : (c < m)%nat -> (i - c < j <= i)%nat -> matching m c i j = false.
Proof.
  intros Hm H. unfold matching. destruct (Nat.eqb_spec j 0); [lia|]. cbn [orb].
  apply Nat.eqb_neq. intros E.
  destruct (same_residue (j + c) i m ltac:(lia) ltac:(lia) E) as (k & K).
  destruct k; nia.
Qed.

(* those below are multiples of m away *)
Lemma matching_below m c i j : (0 < m)%nat -> (1 <= j < i - c)%nat -> matching m c i j = true ->
  Nat.modulo (i - c - j) m = 0%nat.
Proof.
  intros Hm H M. unfold matching in M. destruct (Nat.eqb_spec j 0); [lia|]. cbn [orb] in M.
  apply Nat.eqb_eq in M. destruct (same_residue i (j + c) m Hm ltac:(lia) (eq_sym M)) as (k & K).
  replace (i - c - j)%nat with (k * m)%nat by lia. apply Nat.mod_mul. lia.
Qed.

Lemma geometric_bound y n : 0 < y < 1 -> sum (pow y) n <= / (1 - y).
Proof.
  intros Y. pose proof (sum_geometric y n) as G. pose proof (pow_lt y n (proj1 Y)).
  apply Rmult_le_reg_l with (1 - y); [lra|]. rewrite G, Rinv_r by lra. lra.
Qed.

Lemma multiples_sum y m p : 0 < y < 1 -> (0 < m)%nat ->
  sum (fun d => if Nat.eqb (Nat.modulo (S d) m) 0 then y ^ S d else 0) p <= y ^ m / (1 - y ^ m).
Proof.
  intros Y Hm.
  assert (E : sum (fun d => if Nat.eqb (Nat.modulo (S d) m) 0 then y ^ S d else 0) p
              = y ^ m * sum (pow (y ^ m)) (p / m)).
  { induction p as [|p IH]; [rewrite Nat.div_0_l by lia; simpl; lra|].
    cbn [sum]. rewrite IH. pose proof (Nat.div_mod (S p) m ltac:(lia)) as D.
    pose proof (Nat.mod_upper_bound (S p) m ltac:(lia)) as U. set (a := (S p / m)%nat) in *.
    destruct (Nat.eqb_spec (Nat.modulo (S p) m) 0) as [Z|Z].
    - destruct a as [|b]; [lia|].
      replace (p / m)%nat with b by (apply (Nat.div_unique p m b (m - 1)); lia).
      cbn [sum]. rewrite Rmult_plus_distr_l. f_equal. rewrite <- pow_mult, <- pow_add. f_equal. lia.
    - replace (p / m)%nat with a by (apply (Nat.div_unique p m a (S p mod m - 1)); lia). lra. }
  rewrite E. assert (0 < y ^ m) by (apply pow_lt; lra).
  assert (y ^ m < 1).
  { destruct m as [|k]; [lia|]. simpl. pose proof (pow_incr y 1 k ltac:(lra)) as Q.
    rewrite pow1 in Q.
    pose proof (pow_lt y k (proj1 Y)). nra. }
  unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply geometric_bound. lra.
Qed.

(* over j <= i: at most e^-B on <bos>, e^-g/(1 - e^-B) on other residues and e^-mB/(1 - e^-mB) on
   the winner's, where A leaves g after the winner's own distance *)
Theorem shift_leak B A g m c i : 0 < B -> (c < m)%nat -> g <= A - B * INR (i - (i - c)) ->
  leak (shift_score B A m c i) (S i) (i - c)
  <= exp (- B) + exp (- g) / (1 - exp (- B)) + exp (- (B * INR m)) / (1 - exp (- (B * INR m))).
Proof.
  intros HB Hc Hg. set (y := exp (- B)). set (p := (i - c)%nat) in *. rewrite exp_pow. fold y.
  assert (Y0 : 0 < y) by apply exp_pos.
  assert (Y1 : y < 1) by (unfold y; rewrite <- exp_0; apply exp_increasing; lra).
  pose proof (exp_pos (- g)) as G0.
  eapply Rle_trans; [apply leak_le_tail; lia|]. unfold tail.
  (* <bos>, the other residues, and the matching positions below p *)
  apply Rle_trans with (sum (fun j => (if Nat.eqb j 0 then y else 0) + (exp (- g) * y ^ (i - j)
      + (if Nat.ltb j p then (if Nat.eqb (Nat.modulo (p - j) m) 0 then y ^ (p - j) else 0) else 0)))
          (S i)).
  - apply sum_le. intros j Hj.
    assert (P1 : 0 < exp (- g) * y ^ (i - j)) by (apply Rmult_lt_0_compat;
      [assumption|apply pow_lt, Y0]).
    assert (P2 : 0 <= if Nat.ltb j p then (if Nat.eqb (Nat.modulo (p - j) m) 0 then y ^ (p - j)
      else 0) else 0).
    { destruct (Nat.ltb j p), (Nat.eqb (Nat.modulo (p - j) m) 0); try lra. left. apply pow_lt, Y0. }
    assert (P3 : 0 <= if Nat.eqb j 0 then y else 0) by (destruct (Nat.eqb j 0); lra).
    destruct (Nat.eqb_spec j p) as [|N]; [lra|].
    unfold shift_score. unfold p at 1 2. rewrite matching_winner. fold p.
    destruct (matching m c i j) eqn:M.
    + destruct (Nat.eqb_spec j 0) as [->|J0].
      * (* <bos>: at least one position below the winner *)
        assert (exp (- (B * (INR p - INR i) - 0 - (B * (INR 0 - INR i) - 0))) <= y); [|lra].
        unfold y. apply exp_le. assert (1 <= INR p) by (apply (le_INR 1); lia). simpl. nra.
      * (* a match below the winner *)
        assert (L : (j < p)%nat).
        { destruct (Nat.lt_ge_cases j p); [assumption|].
          rewrite (matching_near m c i j Hc) in M; [discriminate|unfold p in *; lia]. }
        assert (Z : Nat.modulo (p - j) m = 0%nat) by (apply (matching_below m c i j);
          [lia|unfold p in *; lia|exact M]).
        destruct (Nat.ltb_spec j p); [|lia]. rewrite Z in *. cbn [Nat.eqb].
        assert (exp (- (B * (INR p - INR i) - 0 - (B * (INR j - INR i) - 0))) = y ^ (p - j));
          [|lra].
        unfold y. rewrite <- exp_pow. f_equal. rewrite minus_INR by lia. lra.
    + (* another residue *)
      assert (exp (- (B * (INR p - INR i) - 0 - (B * (INR j - INR i) - A)))
        <= exp (- g) * y ^ (i - j)); [|lra].
      unfold y. rewrite <- exp_pow, <- exp_plus. apply exp_le.
      rewrite minus_INR in Hg by (unfold p; lia). rewrite minus_INR by lia. nra.
  - rewrite !sum_plus.
    assert (S1 : sum (fun j => if Nat.eqb j 0 then y else 0) (S i) = y).
    { rewrite sum_first. cbn [Nat.eqb]. rewrite sum_const. lra. }
    assert (S2 : sum (fun j => exp (- g) * y ^ (i - j)) (S i) <= exp (- g) * / (1 - y)).
    { rewrite sum_scal. apply Rmult_le_compat_l; [lra|]. rewrite sum_rev.
      rewrite (sum_ext _ (pow y)) by (intros k Hk; f_equal; lia). apply geometric_bound. lra. }
    assert (S3 : sum (fun j => if Nat.ltb j p then
        (if Nat.eqb (Nat.modulo (p - j) m) 0 then y ^ (p - j) else 0) else 0) (S i)
          <= y ^ m / (1 - y ^ m)).
    { replace (S i) with (p + (S i - p))%nat by (unfold p; lia). rewrite sum_app.
      rewrite (sum_ext (fun j => if Nat.ltb (p + j) p then _ else 0) (fun _ => 0)).
      2: { intros j _. destruct (Nat.ltb_spec (p + j) p); [lia|reflexivity]. }
      rewrite sum_const, Rmult_0_r, Rplus_0_r, sum_rev.
      rewrite (sum_ext _ (fun d => if Nat.eqb (Nat.modulo (S d) m) 0 then y ^ S d else 0)).
      2: { intros d Hd. destruct (Nat.ltb_spec (p - 1 - d) p); [|lia].
           replace (p - (p - 1 - d))%nat with (S d) by lia. reflexivity. }
      apply multiples_sum; [lra|lia]. }
    rewrite S1. unfold Rdiv at 1. lra.
Qed.
