(** Shift(c): the value at i - c. The score of j falls with the distance from i, and positions that
    are not i - c modulo c + 1 lose c + 2 more; `<bos>` counts as one of them, so that it is read
    where i - c is no position. *)
From Coq Require Import Reals Lra Lia Arith.
From Softhat Require Import Sums Attention.
Open Scope R_scope.

(* j and i - c agree modulo c + 1, or j is <bos> *)
Definition matching (c i j : nat) : bool :=
  Nat.eqb j 0 || Nat.eqb (Nat.modulo (j + c) (S c)) (Nat.modulo i (S c)).
Definition shift_score (C : R) (c i j : nat) : R :=
  C * (INR j - INR i - (if matching c i j then 0 else INR c + 2)).

Lemma matching_winner c i : matching c i (i - c) = true.
Proof.
  unfold matching. destruct (Nat.eqb_spec (i - c) 0); [reflexivity|]. cbn [orb].
  apply Nat.eqb_eq. f_equal. lia.
Qed.

(* no other position from i - c on matches *)
Lemma matching_near c i j : (i - c < j <= i)%nat -> (1 <= j)%nat -> matching c i j = false.
Proof.
  intros H H1. unfold matching. destruct (Nat.eqb_spec j 0); [lia|]. cbn [orb].
  apply Nat.eqb_neq. intros E.
  (* j + c = i + k with 1 <= k <= c (j + c = i + 1 + k' if i < c): a proper residue away *)
  pose proof (Nat.div_mod (j + c) (S c) ltac:(lia)) as D1.
  pose proof (Nat.div_mod i (S c) ltac:(lia)) as D2. rewrite E in D1.
  set (a := ((j + c) / S c)%nat) in *. set (b := (i / S c)%nat) in *.
  set (r := (i mod S c)%nat) in *.
  assert (K : (j + c = i + (j + c - i) /\ 1 <= j + c - i <= c)%nat) by lia.
  assert (b < a)%nat by nia. assert (S c * S b <= S c * a)%nat by (apply Nat.mul_le_mono_l; lia). nia.
Qed.

Lemma geometric_bound y n : 0 < y < 1 -> sum (pow y) n <= / (1 - y).
Proof.
  intros Y. pose proof (sum_geometric y n) as G. pose proof (pow_lt y n (proj1 Y)).
  apply Rmult_le_reg_l with (1 - y); [lra|]. rewrite G, Rinv_r by lra. lra.
Qed.

(* over j <= i: all but e^-C + 2e^-2C/(1 - e^-C) on i - c *)
Theorem shift_leak C c i : 0 < C -> (1 <= c)%nat ->
  leak (shift_score C c i) (S i) (i - c)
  <= exp (- C) + 2 * (exp (- C) * exp (- C)) / (1 - exp (- C)).
Proof.
  intros HC Hc. set (y := exp (- C)). set (p := (i - c)%nat).
  assert (Y0 : 0 < y) by apply exp_pos.
  assert (Y1 : y < 1) by (unfold y; rewrite <- exp_0; apply exp_increasing; lra).
  assert (YY : forall k, 0 < y * y * y ^ k).
  { intros k. apply Rmult_lt_0_compat; [nra|apply pow_lt, Y0]. }
  eapply Rle_trans; [apply leak_le_tail; lia|]. unfold tail.
  (* <bos>, the matching positions below p, and the others *)
  apply Rle_trans with (sum (fun j => (if Nat.eqb j 0 then y else 0)
      + ((if Nat.ltb (S j) p then y * y * y ^ (p - 2 - j) else 0) + y * y * y ^ (i - j))) (S i)).
  - apply sum_le. intros j Hj.
    assert (P1 : 0 < y * y * y ^ (i - j)) by apply YY.
    assert (P2 : 0 <= if Nat.ltb (S j) p then y * y * y ^ (p - 2 - j) else 0).
    { destruct (Nat.ltb (S j) p); [left; apply YY|lra]. }
    assert (P3 : 0 <= if Nat.eqb j 0 then y else 0) by (destruct (Nat.eqb j 0); lra).
    assert (Power : forall k, y * y * y ^ k = exp (- (C * (INR k + 2)))).
    { intros k. unfold y. rewrite <- exp_pow, <- !exp_plus. f_equal. lra. }
    destruct (Nat.eqb_spec j p) as [|N]; [lra|].
    unfold shift_score. unfold p at 1 2. rewrite matching_winner. fold p.
    destruct (matching c i j) eqn:M.
    + destruct (Nat.eqb_spec j 0) as [->|J0].
      * (* <bos>: at least one position below the winner *)
        assert (exp (- (C * (INR p - INR i - 0) - C * (INR 0 - INR i - 0))) <= y); [|lra].
        unfold y. apply exp_le. assert (1 <= INR p) by (apply (le_INR 1); lia). simpl. nra.
      * (* a match below the winner: at least c + 1 >= 2 positions *)
        assert (L : (j < p)%nat).
        { destruct (Nat.lt_ge_cases j p); [assumption|].
          rewrite (matching_near c i j) in M; [discriminate|unfold p in *; lia|lia]. }
        assert (L2 : (S j < p)%nat).
        { destruct (Nat.eq_dec p (S j)) as [E|]; [exfalso|lia].
          unfold matching in M. destruct (Nat.eqb_spec j 0); [contradiction|]. cbn [orb] in M.
          apply Nat.eqb_eq in M. replace i with (S (j + c)) in M by (unfold p in E; lia).
          pose proof (Nat.div_mod (j + c) (S c) ltac:(lia)) as D1.
          pose proof (Nat.div_mod (S (j + c)) (S c) ltac:(lia)) as D2. rewrite <- M in D2.
          set (a := ((j + c) / S c)%nat) in *. set (b := (S (j + c) / S c)%nat) in *.
          assert (a < b)%nat by nia.
          assert (S c * S a <= S c * b)%nat by (apply Nat.mul_le_mono_l; lia). nia. }
        destruct (Nat.ltb_spec (S j) p); [|lia].
        assert (exp (- (C * (INR p - INR i - 0) - C * (INR j - INR i - 0)))
                <= y * y * y ^ (p - 2 - j)); [|lra].
        rewrite Power. apply exp_le. rewrite !minus_INR by lia. simpl (INR 2). lra.
    + (* the others lose c + 2 *)
      assert (exp (- (C * (INR p - INR i - 0) - C * (INR j - INR i - (INR c + 2))))
              <= y * y * y ^ (i - j)); [|lra].
      rewrite Power. apply exp_le. rewrite minus_INR by lia.
      assert (INR i - INR c <= INR p).
      { destruct (Nat.le_gt_cases c i) as [Q|Q]; [unfold p; rewrite minus_INR by lia; lra|].
        pose proof (pos_INR p). apply lt_INR in Q. lra. }
      nra.
  - rewrite !sum_plus.
    assert (S1 : sum (fun j => if Nat.eqb j 0 then y else 0) (S i) = y).
    { rewrite sum_first. cbn [Nat.eqb]. rewrite sum_const. lra. }
    assert (S2 : sum (fun j => if Nat.ltb (S j) p then y * y * y ^ (p - 2 - j) else 0) (S i)
                 <= y * y * / (1 - y)).
    { replace (S i) with ((p - 1) + (S i - (p - 1)))%nat by (unfold p; lia). rewrite sum_app.
      rewrite (sum_ext (fun j => if Nat.ltb (S (p - 1 + j)) p then _ else 0) (fun _ => 0)).
      2: { intros j _. destruct (Nat.ltb_spec (S (p - 1 + j)) p); [lia|reflexivity]. }
      rewrite sum_const, Rmult_0_r, Rplus_0_r, sum_rev.
      rewrite (sum_ext _ (fun k => y * y * y ^ k)).
      2: { intros k Hk. destruct (Nat.ltb_spec (S (p - 1 - 1 - k)) p); [|lia]. do 2 f_equal. lia. }
      rewrite sum_scal. apply Rmult_le_compat_l; [nra|apply geometric_bound; lra]. }
    assert (S3 : sum (fun j => y * y * y ^ (i - j)) (S i) <= y * y * / (1 - y)).
    { rewrite sum_rev, (sum_ext _ (fun k => y * y * y ^ k)).
      2: { intros k Hk. do 2 f_equal. lia. }
      rewrite sum_scal. apply Rmult_le_compat_l; [nra|apply geometric_bound; lra]. }
    rewrite S1. unfold Rdiv. lra.
Qed.
