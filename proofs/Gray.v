(** Cells of a tape as Gray codes: a move by one cell flips exactly one digit.

    The window of k digits has the cells from -2^(k-1) to 2^(k-1) - 1. The near neighbour of a
    cell is the one whose code differs in digit 0; the other one is the far neighbour. *)
From Coq Require Import ZArith Arith List Bool Lia.
Import ListNotations.
Local Open Scope Z_scope.

(* Lowest first: digit b is the sum of bits b and b + 1 of the cell, the top digit is its top
   bit. *)
Fixpoint digits (k : nat) (c : Z) : list bool :=
  match k with
  | O => []
  | S O => [Z.odd c]
  | S k => xorb (Z.odd c) (Z.odd (Z.div2 c)) :: digits k (Z.div2 c)
  end.

Definition half (k : nat) : Z := 2 ^ (Z.of_nat k - 1).
Definition inside (k : nat) (c : Z) : bool := (- half k <=? c) && (c <? half k).
Definition near (c : Z) : Z := if Z.odd c then c - 1 else c + 1.
Definition far (c : Z) : Z := if Z.odd c then c + 1 else c - 1.

(* The list with digit b flipped. *)
Fixpoint flip (b : nat) (l : list bool) : list bool :=
  match l, b with
  | [], _ => []
  | x :: l, O => negb x :: l
  | x :: l, S b => x :: flip b l
  end.

(* Would a far move flip digit b, b > 0, and stay in the window? Would it leave? *)
Definition far_flips (l : list bool) (b : nat) : bool :=
  forallb negb (firstn (b - 1) l)
  && (if (b <? length l - 1)%nat then nth (b - 1) l false else negb (nth (b - 1) l false)).
Definition far_leaves (l : list bool) : bool :=
  forallb negb (firstn (length l - 2) l) && nth (length l - 2) l false.

Lemma digits_length k : forall c, length (digits k c) = k.
Proof. induction k as [|[|k] IH]; intros c; [reflexivity..|]. cbn in *. now rewrite IH. Qed.
Lemma flip_length b : forall l, length (flip b l) = length l.
Proof. induction b as [|b IH]; intros [|x l]; cbn; auto. Qed.

Lemma halves c : c = 2 * Z.div2 c + Z.b2z (Z.odd c).
Proof. apply Z.div2_odd. Qed.
Lemma half_step k : half (S (S k)) = 2 * half (S k).
Proof. unfold half. rewrite <- Z.pow_succ_r by lia. f_equal. lia. Qed.
Lemma half_pos k : 0 < half (S k).
Proof. unfold half. apply Z.pow_pos_nonneg; lia. Qed.
Lemma inside_step k c : inside (S (S k)) c = inside (S k) (Z.div2 c).
Proof.
  unfold inside. rewrite half_step. pose proof (halves c). destruct (Z.odd c); cbn [Z.b2z] in *;
    apply eq_true_iff_eq; rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt; lia.
Qed.

Lemma odd_next c : Z.odd (c + 1) = negb (Z.odd c).
Proof. rewrite Z.odd_add. now destruct (Z.odd c). Qed.
Lemma odd_back c : Z.odd (c - 1) = negb (Z.odd c).
Proof. rewrite Z.odd_sub. now destruct (Z.odd c). Qed.
Lemma odd_near c : Z.odd (near c) = negb (Z.odd c).
Proof.
  unfold near. destruct (Z.odd c) eqn:E; [rewrite odd_back|rewrite odd_next]; now rewrite E.
Qed.
Lemma odd_far c : Z.odd (far c) = negb (Z.odd c).
Proof.
  unfold far. destruct (Z.odd c) eqn:E; [rewrite odd_next|rewrite odd_back]; now rewrite E.
Qed.

Lemma div2_unique c h (p : bool) : c = 2 * h + Z.b2z p -> Z.div2 c = h /\ Z.odd c = p.
Proof.
  intros E. pose proof (halves c). destruct p, (Z.odd c); cbn [Z.b2z] in *; split;
    (reflexivity || lia).
Qed.

Lemma div2_near c : Z.div2 (near c) = Z.div2 c.
Proof.
  apply (div2_unique _ _ (negb (Z.odd c))). pose proof (halves c). unfold near.
  destruct (Z.odd c); cbn [Z.b2z negb] in *; lia.
Qed.
Lemma div2_far c : Z.div2 (far c)
  = (if xorb (Z.odd c) (Z.odd (Z.div2 c)) then near else far) (Z.div2 c).
Proof.
  apply (div2_unique _ _ (negb (Z.odd c))). pose proof (halves c) as H. unfold far, near.
  destruct (Z.odd c), (Z.odd (Z.div2 c)) eqn:E; cbn [Z.b2z negb xorb] in *; rewrite ?E; lia.
Qed.

(** Two cells of the window have different codes. *)
Lemma digits_inj k : forall c d, inside (S k) c = true -> inside (S k) d = true ->
  digits (S k) c = digits (S k) d -> c = d.
Proof.
  induction k as [|k IH]; intros c d C D E.
  - unfold inside in *. change (half 1) with 1 in *.
    rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in C, D. cbn in E. inversion E as [E'].
    assert (c = -1 \/ c = 0) as [-> | ->] by lia; assert (d = -1 \/ d = 0) as [-> | ->] by lia;
      cbn in *; congruence.
  - rewrite inside_step in C, D. change (digits (S (S k)) c)
      with (xorb (Z.odd c) (Z.odd (Z.div2 c)) :: digits (S k) (Z.div2 c)) in E.
    change (digits (S (S k)) d) with (xorb (Z.odd d) (Z.odd (Z.div2 d)) :: digits (S k) (Z.div2 d))
      in E.
    inversion E as [[E0 E']]. specialize (IH _ _ C D E'). rewrite (halves c), (halves d).
    rewrite IH in *.
    destruct (Z.odd c), (Z.odd d), (Z.odd (Z.div2 d)); cbn in *; congruence.
Qed.

Lemma digits_near k c : digits (S (S k)) (near c) = flip 0 (digits (S (S k)) c).
Proof.
  change (xorb (Z.odd (near c)) (Z.odd (Z.div2 (near c))) :: digits (S k) (Z.div2 (near c))
    = negb (xorb (Z.odd c) (Z.odd (Z.div2 c))) :: digits (S k) (Z.div2 c)).
  rewrite div2_near, odd_near. f_equal. now destruct (Z.odd c), (Z.odd (Z.div2 c)).
Qed.
Lemma inside_near k c : inside (S (S k)) (near c) = inside (S (S k)) c.
Proof. now rewrite !inside_step, div2_near. Qed.

Lemma far_flips_step x y z l b : far_flips (x :: y :: z :: l) (S (S b))
  = negb x && far_flips (y :: z :: l) (S b).
Proof.
  unfold far_flips. cbn -[Nat.ltb]. rewrite Nat.sub_0_r, andb_assoc. f_equal.
Qed.
Lemma far_leaves_step x y z l : far_leaves (x :: y :: z :: l) = negb x && far_leaves (y :: z :: l).
Proof. unfold far_leaves. cbn. rewrite Nat.sub_0_r. apply eq_sym, andb_assoc. Qed.

(** A far move leaves the window, and then flips nothing; or it flips one digit. *)
Lemma digits_far k : forall c, inside (S (S k)) c = true ->
  far_leaves (digits (S (S k)) c) = negb (inside (S (S k)) (far c)) /\
  (inside (S (S k)) (far c) = false -> forall b, (0 < b < S (S k))%nat ->
     far_flips (digits (S (S k)) c) b = false) /\
  (inside (S (S k)) (far c) = true -> exists d, (0 < d < S (S k))%nat /\
     digits (S (S k)) (far c) = flip d (digits (S (S k)) c) /\
     forall b, (0 < b < S (S k))%nat -> far_flips (digits (S (S k)) c) b = (b =? d)%nat).
Proof.
  induction k as [|k IH]; intros c C.
  - unfold inside in C. change (half 2) with 2 in C. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in C.
    assert (c = -2 \/ c = -1 \/ c = 0 \/ c = 1) as [-> | [-> | [-> | ->]]] by lia;
      (split; [reflexivity|split; intros I; cbn in I; try discriminate]).
    1,4: intros b B; assert (b = 1%nat) as -> by lia; reflexivity.
    all: exists 1%nat; split; [lia|split; [reflexivity|]]; intros b B; assert (b = 1%nat) as ->
      by lia;
      reflexivity.
  - remember (Z.div2 c) as h.
    assert (H : inside (S (S k)) h = true) by (subst h; now rewrite <- inside_step).
    specialize (IH h H). set (x := xorb (Z.odd c) (Z.odd h)).
    assert (D : digits (S (S (S k))) c = x :: digits (S (S k)) h) by (subst h; reflexivity).
    assert (F : Z.div2 (far c) = (if x then near else far) h) by (subst h x; apply div2_far).
    assert (D' : digits (S (S (S k))) (far c) = x :: digits (S (S k)) ((if x then near
      else far) h)).
    { rewrite <- F. change (digits (S (S (S k))) (far c)) with
        (xorb (Z.odd (far c)) (Z.odd (Z.div2 (far c))) :: digits (S (S k)) (Z.div2 (far c))).
      f_equal. rewrite F, odd_far. unfold x. destruct (Z.odd c) eqn:O, (Z.odd h) eqn:O'; cbn;
        rewrite ?odd_near, ?odd_far, O'; reflexivity. }
    rewrite inside_step, F, D, D'.
    assert (L : exists y z l, digits (S (S k)) h = y :: z :: l).
    { pose proof (digits_length (S (S k)) h). destruct (digits (S (S k)) h) as [|y [|z l]];
        try discriminate.
      eauto. }
    destruct L as (y & z & l & L). destruct x; rewrite L in *; rewrite far_leaves_step.
    + rewrite inside_near, H. split; [reflexivity|]. split; [discriminate|]. intros _. exists 1%nat.
      split; [lia|]. split.
      * rewrite digits_near, L. reflexivity.
      * intros [|[|b]] B; [lia|reflexivity|]. rewrite far_flips_step. reflexivity.
    + destruct IH as (IH1 & IH2 & IH3). split; [exact IH1|]. split.
      * intros I [|[|b]] B; [lia|reflexivity|]. rewrite far_flips_step. apply IH2; [exact I|lia].
      * intros I. destruct (IH3 I) as (d & Hd & Ed & Fd). exists (S d). split; [lia|]. split.
        -- cbn [flip]. now rewrite <- Ed.
        -- intros [|[|b]] B; [lia| |].
           ++ cbn. destruct d; [lia|reflexivity].
           ++ rewrite far_flips_step. cbn [negb andb Nat.eqb]. rewrite Fd by lia. reflexivity.
Qed.

(** A move by one cell, to the right or to the left. *)
Definition moved (right : bool) (c : Z) : Z := if right then c + 1 else c - 1.
Definition is_near (right : bool) (c : Z) : bool := if right then negb (Z.odd c) else Z.odd c.
Definition flips (right : bool) (c : Z) (l : list bool) (b : nat) : bool :=
  if (b =? 0)%nat then is_near right c else negb (is_near right c) && far_flips l b.
(* where two codes differ first *)
Fixpoint changed (l l' : list bool) : nat :=
  match l, l' with x :: l, y :: l' => if eqb x y then S (changed l l') else O | _, _ => O end.

Lemma changed_flip d : forall l, (d < length l)%nat -> changed l (flip d l) = d.
Proof.
  induction d as [|d IH]; intros [|x l] H; cbn in *; try lia; [now destruct x|].
  rewrite eqb_reflx, IH by lia. reflexivity.
Qed.
Lemma nth_flip d l : (d < length l)%nat -> nth d (flip d l) false = negb (nth d l false).
Proof. revert l. induction d as [|d IH]; intros [|x l] H; cbn in *; try lia; auto with arith. Qed.

Lemma odd_moved right c : Z.odd (moved right c) = negb (Z.odd c).
Proof. destruct right; [apply odd_next|apply odd_back]. Qed.
Lemma moved_near right c : moved right c = (if is_near right c then near else far) c.
Proof.
  unfold moved, is_near, near, far. destruct right, (Z.odd c) eqn:E; cbn; rewrite ?E; reflexivity.
Qed.

Lemma move_leaves k c right : inside (S (S k)) c = true -> inside (S (S k)) (moved right c)
  = negb (negb (is_near right c) && far_leaves (digits (S (S k)) c)).
Proof.
  intros C. rewrite moved_near. destruct (is_near right c); [now rewrite inside_near|].
  destruct (digits_far k c C) as (-> & _). cbn. now rewrite negb_involutive.
Qed.
Lemma move_stuck k c right b : inside (S (S k)) c = true ->
  inside (S (S k)) (moved right c) = false ->
  (b < S (S k))%nat -> flips right c (digits (S (S k)) c) b = false.
Proof.
  intros C. rewrite moved_near. unfold flips.
  destruct (is_near right c); [rewrite inside_near, C; discriminate|]. intros I B.
  destruct (digits_far k c C) as (_ & F & _). destruct b as [|b]; [reflexivity|]. cbn.
  apply F; [exact I|lia].
Qed.
Lemma move_digits k c right : inside (S (S k)) c = true ->
  inside (S (S k)) (moved right c) = true ->
  exists d, (d < S (S k))%nat /\ digits (S (S k)) (moved right c) = flip d (digits (S (S k)) c)
    /\ (forall b, (b < S (S k))%nat -> flips right c (digits (S (S k)) c) b = (b =? d)%nat)
    /\ (d =? 0)%nat = is_near right c.
Proof.
  intros C. rewrite moved_near. unfold flips. destruct (is_near right c).
  - intros _. exists 0%nat. split; [lia|]. split; [apply digits_near|]. split; [|reflexivity].
    intros [|b] _; reflexivity.
  - intros I. destruct (digits_far k c C) as (_ & _ & F). destruct (F I) as (d & D & E & U).
    exists d. split; [lia|]. split; [exact E|]. split.
    + intros [|b] B; [cbn; destruct d; [lia|reflexivity]|]. cbn. apply U. lia.
    + destruct d; [lia|reflexivity].
Qed.

(** Codes of cells that are told by their digits. *)
Lemma same_code k c d : inside (S k) c = true -> inside (S k) d = true ->
  forallb (fun b => eqb (nth b (digits (S k) c) false) (nth b (digits (S k) d) false)) (seq 0 (S k))
    = (c =? d).
Proof.
  intros C D. apply eq_true_iff_eq. rewrite forallb_forall, Z.eqb_eq. split.
  - intros F. apply (digits_inj k); try assumption.
    apply (nth_ext _ _ false false); [now rewrite !digits_length|]. rewrite digits_length.
    intros b B.
    apply eqb_true_iff, F, in_seq. lia.
  - intros <- b _. apply eqb_reflx.
Qed.

Lemma flip_map f d : forall from size, (from <= d)%nat ->
  map (fun b => if (d =? b)%nat then negb (f b) else f b) (seq from size)
  = flip (d - from) (map f (seq from size)).
Proof.
  intros from size. revert from. induction size as [|size IH]; intros from L;
    [now destruct (d - from)%nat|].
  cbn [seq map]. destruct (Nat.eqb_spec d from) as [->|N].
  - rewrite Nat.sub_diag. cbn. f_equal. apply map_ext_in. intros b B. apply in_seq in B.
    destruct (Nat.eqb_spec from b); [lia|reflexivity].
  - replace (d - from)%nat with (S (d - S from)) by lia. cbn. f_equal. apply IH. lia.
Qed.

Lemma zero_digits n : digits n 0 = repeat false n.
Proof. induction n as [|[|n] IH]; [reflexivity..|]. cbn in *. now rewrite IH. Qed.

(* The digit in which two cells differ, and what it is in the second one. *)
Definition flipped (k : nat) (c d : Z) : nat * bool :=
  let b := changed (digits k c) (digits k d) in (b, nth b (digits k d) false).

Lemma flipped_is k right c : inside (S (S k)) c = true -> inside (S (S k)) (moved right c) = true ->
  exists d, (d < S (S k))%nat /\ digits (S (S k)) (moved right c) = flip d (digits (S (S k)) c)
    /\ flipped (S (S k)) c (moved right c) = (d, negb (nth d (digits (S (S k)) c) false))
    /\ (forall b, (b < S (S k))%nat -> flips right c (digits (S (S k)) c) b = (b =? d)%nat)
    /\ (d =? 0)%nat = is_near right c.
Proof.
  intros C I. destruct (move_digits k c right C I) as (d & D & E & F & Z). exists d.
  split; [exact D|].
  split; [exact E|]. split; [|split; assumption]. unfold flipped. cbv zeta.
  rewrite E, changed_flip, nth_flip by (now rewrite digits_length). reflexivity.
Qed.
