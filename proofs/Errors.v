(** How far a softmax transformer strays from the hard one: errors of coordinates, propagated
    forward through heads and ReLU units along what is read. *)
From Coq Require Import Reals Lra Lia Arith List Bool.
From Softhat Require Import Sums Attention Gates Masks Ties Transformer.
Import ListNotations.
Open Scope R_scope.

(** * Linear forms and scores *)

(* the error of a linear form whose coordinates have errors e *)
Definition err (l : form) (e : nat -> R) : R := lsum (fun q => Rabs (snd q) * e (fst q)) l.

Lemma err_nonneg l e : (forall c, 0 <= e c) -> 0 <= err l e.
Proof.
  intros H. apply lsum_nonneg. intros [c a] _. apply Rmult_le_pos; [apply Rabs_pos|apply H].
Qed.

Lemma dot_error l X x e : (forall c, Rabs (X c - x c) <= e c) ->
  Rabs (dot l X - dot l x) <= err l e.
Proof.
  intros H. unfold err. induction l as [|[c a] l IH]; simpl.
  - rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - replace (a * X c + dot l X - (a * x c + dot l x)) with (a * (X c - x c) + (dot l X - dot l x))
      by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Rabs a * Rabs (X c - x c) <= Rabs a * e c)
      by (apply Rmult_le_compat_l; [apply Rabs_pos|apply H]). lra.
Qed.

(* What is known of the exact run: how large queries are, how far keys and values lie apart, and
   how much weight a head may misplace when its score differences are wrong by eta. *)
Record facts := Facts { size : form -> R; range : form -> R; misplaced : head -> R -> R }.

(* the error of score differences: Σ err(q)·range(k) + (|q| + err(q))·2·err(k) *)
Definition score_error (f : facts) (h : head) (e : nat -> R) : R :=
  lsum (fun qk => err (fst qk) e * range f (snd qk)
                  + (size f (fst qk) + err (fst qk) e) * (2 * err (snd qk) e)) (rows h).

Lemma score_difference f (r : list (form * form)) (X x : nat -> R) (Y y Z z : nat -> R) e :
  (forall c, Rabs (X c - x c) <= e c) -> (forall c, Rabs (Y c - y c) <= e c) ->
  (forall c, Rabs (Z c - z c) <= e c) ->
  (forall qk, In qk r -> Rabs (dot (fst qk) x) <= size f (fst qk) /\
                         Rabs (dot (snd qk) y - dot (snd qk) z) <= range f (snd qk)) ->
  Rabs (score r X Y - score r X Z - (score r x y - score r x z))
  <= lsum (fun qk => err (fst qk) e * range f (snd qk)
                    + (size f (fst qk) + err (fst qk) e) * (2 * err (snd qk) e)) r.
Proof.
  intros HX HY HZ. induction r as [|[q k] r IH]; intros H; simpl.
  - rewrite !Rminus_0_r, Rabs_R0. lra.
  - destruct (H (q, k) (or_introl eq_refl)) as [Q K]. cbn [fst snd] in *.
    specialize (IH (fun qk I => H qk (or_intror I))).
    pose proof (dot_error q X x e HX) as EQ. pose proof (dot_error k Y y e HY) as EY.
    pose proof (dot_error k Z z e HZ) as EZ.
    set (a := dot q X) in *. set (a0 := dot q x) in *. set (b := dot k Y) in *.
    set (b0 := dot k y) in *.
    set (c := dot k Z) in *. set (c0 := dot k z) in *.
    replace (a * b + score r X Y - (a * c + score r X Z)
      - (a0 * b0 + score r x y - (a0 * c0 + score r x z)))
      with ((a - a0) * (b0 - c0) + (a0 + (a - a0)) * ((b - b0) - (c - c0))
            + (score r X Y - score r X Z - (score r x y - score r x z))) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|exact IH].
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. apply Rplus_le_compat.
    + apply Rmult_le_compat; (apply Rabs_pos || assumption).
    + apply Rmult_le_compat; try apply Rabs_pos.
      * eapply Rle_trans; [apply Rabs_triang|]. lra.
      * eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

(** * Layers *)

Section Layers.
Variables hardly softly : head -> (nat -> bool) -> (nat -> R) -> (nat -> R) -> nat -> R.
Variable n : nat.

(* What must be known of a head on the exact stream x. *)
Record known (f : facts) (x : stream) (h : head) : Prop := {
  queries_small : forall qk i, In qk (rows h) -> (i < n)%nat ->
    Rabs (dot (fst qk) (x i)) <= size f (fst qk);
  keys_close : forall qk i j k, In qk (rows h) -> (i < n)%nat -> (j < n)%nat -> (k < n)%nat ->
    sees h i j = true -> sees h i k = true ->
    Rabs (dot (snd qk) (x j) - dot (snd qk) (x k)) <= range f (snd qk);
  head_error : forall vo i S V eta d, In vo (values h) -> (i < n)%nat -> 0 <= eta -> 0 <= d ->
    (forall j k, (j < n)%nat -> (k < n)%nat -> sees h i j = true -> sees h i k = true ->
       Rabs (S j - S k - (score (rows h) (x i) (x j) - score (rows h) (x i) (x k))) <= eta) ->
    (forall j, (j < n)%nat -> sees h i j = true -> Rabs (V j - dot (fst vo) (x j)) <= d) ->
    Rabs (softly h (sees h i) S V n
          - hardly h (sees h i) (fun j => score (rows h) (x i) (x j)) (fun j => dot (fst vo) (x j))
              n)
    <= d + range f (fst vo) * misplaced f h eta;
  sizes : forall qk, In qk (rows h) -> 0 <= size f (fst qk) /\ 0 <= range f (snd qk)
}.

Definition attention_error (f : facts) (hs : list head) (e : nat -> R) : nat -> R := fun c =>
  e c + lsum (fun h => lsum (fun vo =>
    (err (fst vo) e + range f (fst vo) * misplaced f h (score_error f h e)) * Rabs
      (coef (snd vo) c))
    (values h)) hs.
Definition feed_forward_error (us : list unit) (e : nat -> R) : nat -> R := fun c =>
  e c + lsum (fun u => err (input u) e * Rabs (coef (output u) c)) us.
Definition layer_error (f : facts) (l : layer) (e : nat -> R) : nat -> R :=
  feed_forward_error (units l) (attention_error f (heads l) e).

Definition within (X x : stream) (e : nat -> R) : Prop :=
  forall i c, (i < n)%nat -> Rabs (X i c - x i c) <= e c.

Lemma score_error_nonneg f h e : (forall c, 0 <= e c) ->
  (forall qk, In qk (rows h) -> 0 <= size f (fst qk) /\ 0 <= range f (snd qk)) ->
  0 <= score_error f h e.
Proof.
  intros He Hs. apply lsum_nonneg. intros qk I. destruct (Hs qk I).
  pose proof (err_nonneg (fst qk) e He). pose proof (err_nonneg (snd qk) e He).
  assert (0 <= err (fst qk) e * range f (snd qk)) by (apply Rmult_le_pos; lra).
  assert (0 <= (size f (fst qk) + err (fst qk) e) * (2 * err (snd qk) e)) by (apply Rmult_le_pos;
    lra).
  lra.
Qed.

Theorem attention_within f hs X x e : (forall c, 0 <= e c) -> within X x e ->
  (forall h, In h hs -> known f x h) ->
  within (attended softly n hs X) (attended hardly n hs x) (attention_error f hs e).
Proof.
  intros He W K i c Hi. unfold attended, attention_error.
  replace (X i c + lsum (fun h => lsum (fun vo => read softly n h (fst vo) X i * coef (snd vo) c)
    (values h)) hs
           - (x i c + lsum (fun h => lsum (fun vo => read hardly n h (fst vo) x i * coef (snd vo) c)
               (values h)) hs))
    with ((X i c - x i c) + lsum (fun h => lsum (fun vo =>
            (read softly n h (fst vo) X i - read hardly n h (fst vo) x i) * coef (snd vo) c)
              (values h)) hs).
  2: { rewrite (lsum_ext _ (fun h =>
        lsum (fun vo => read softly n h (fst vo) X i * coef (snd vo) c) (values h)
        - lsum (fun vo => read hardly n h (fst vo) x i * coef (snd vo) c) (values h))).
       - rewrite <- lsum_minus. lra.
       - intros h _. rewrite lsum_minus. apply lsum_ext. intros. ring. }
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [apply W, Hi|].
  eapply Rle_trans; [apply lsum_abs|]. apply lsum_le. intros h Ih.
  eapply Rle_trans; [apply lsum_abs|]. apply lsum_le. intros [v o] Iv. cbn [fst snd].
  rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  pose proof (K h Ih) as Kh. unfold read.
  apply (head_error f x h Kh (v, o)); try assumption.
  - apply score_error_nonneg; [assumption|apply (sizes f x h Kh)].
  - apply err_nonneg, He.
  - intros j k Hj Hk Sj Sk. apply score_difference; try (intros; apply W; assumption).
    intros qk I. split; [apply (queries_small f x h Kh); assumption|].
    apply (keys_close f x h Kh qk i); assumption.
  - intros j Hj Sj. apply dot_error. intros. apply W, Hj.
Qed.

Theorem feed_forward_within us b X x e : within X x e ->
  within (fed us b X) (fed us b x) (feed_forward_error us e).
Proof.
  intros W i c Hi. unfold fed, feed_forward_error.
  replace (X i c
    + (coef b c + lsum (fun u => relu (dot (input u) (X i) + bias u) * coef (output u) c) us)
           - (x i c + (coef b c + lsum (fun u => relu (dot (input u) (x i) + bias u) * coef
               (output u) c) us)))
    with ((X i c - x i c) + lsum (fun u =>
       (relu (dot (input u) (X i) + bias u) - relu (dot (input u) (x i) + bias u)) * coef (output u)
         c) us).
  2: { rewrite (lsum_ext _ (fun u => relu (dot (input u) (X i) + bias u) * coef (output u) c
         - relu (dot (input u) (x i) + bias u) * coef (output u) c)) by (intros; ring).
       rewrite <- lsum_minus. lra. }
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [apply W, Hi|].
  eapply Rle_trans; [apply lsum_abs|]. apply lsum_le. intros u _.
  rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  eapply Rle_trans; [apply relu_lipschitz|].
  replace (dot (input u) (X i) + bias u - (dot (input u) (x i) + bias u))
    with (dot (input u) (X i) - dot (input u) (x i)) by ring.
  apply dot_error. intros. apply W, Hi.
Qed.

Theorem layer_within f l X x e : (forall c, 0 <= e c) -> within X x e ->
  (forall h, In h (heads l) -> known f x h) ->
  within (run_layer softly n X l) (run_layer hardly n x l) (layer_error f l e).
Proof. intros. apply feed_forward_within, attention_within; assumption. Qed.
End Layers.

(** * Softmax attention *)

(* values that are wrong by at most d *)
Lemma soft_values m s V v n d : 0 <= d ->
  (forall j, (j < n)%nat -> m j = true -> Rabs (V j - v j) <= d) ->
  Rabs (soft m s V n - soft m s v n) <= d.
Proof.
  intros Hd H. unfold soft. set (z := sum (fun j => if m j then exp (s j) else 0) n).
  assert (Z0 : 0 <= z) by (apply sum_nonneg; intros; destruct (m j); [left; apply exp_pos|lra]).
  replace (_ / z - _ / z) with
    (sum (fun j => (if m j then exp (s j) else 0) * (V j - v j)) n / z).
  2: { unfold Rdiv. rewrite <- Rmult_minus_distr_r. f_equal.
       rewrite (sum_ext (fun j => (if m j then exp (s j) else 0) * (V j - v j))
          (fun j => (if m j then exp (s j) * V j else 0) + - 1 * (if m j then exp (s j) * v j
            else 0)))
         by (intros; destruct (m j); ring).
       rewrite sum_plus, sum_scal. lra. }
  destruct (Req_dec z 0) as [->|N].
  - unfold Rdiv. rewrite Rinv_0, Rmult_0_r, Rabs_R0. lra.
  - unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ z)) by (left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_reg_r with z; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [apply sum_abs|]. unfold z. rewrite <- sum_scal. apply sum_le. intros j Hj.
    rewrite Rabs_mult. destruct (m j) eqn:Mj; [|rewrite Rabs_R0; lra].
    rewrite (Rabs_pos_eq (exp (s j))) by (left; apply exp_pos).
    pose proof (exp_pos (s j)). pose proof (H j Hj Mj). nra.
Qed.

Lemma soft_nothing m s v n : (forall k, (k < n)%nat -> m k = false) -> soft m s v n = 0.
Proof.
  intros H. unfold soft. rewrite (sum_ext _ (fun _ => 0)) by (intros; rewrite H by assumption;
    reflexivity).
  rewrite sum_const, Rmult_0_r. unfold Rdiv. apply Rmult_0_l.
Qed.

Lemma hard_nothing m s v n : (forall k, (k < n)%nat -> m k = false) -> hard m s v n = 0.
Proof.
  intros H. unfold hard. rewrite (sum_ext _ (fun _ => 0) n).
  - rewrite sum_const, Rmult_0_r. unfold Rdiv. apply Rmult_0_l.
  - intros j Hj. unfold top. rewrite H by assumption. reflexivity.
Qed.

(* the law of one head with gap gamma: leak, and tilt where ties are dangerous *)
Definition mean_misplaced (n : nat) (beta gamma : R) (dangerous : bool) (eta : R) : R :=
  (INR n - 1) * exp (- (beta * (gamma - eta))) + (if dangerous then tilt (beta * eta) else 0).

Theorem mean_row m s v n beta gamma dangerous width S V eta d :
  (0 < n)%nat -> 0 <= beta -> 0 <= width -> 0 <= eta -> 0 <= d ->
  (forall j k, (j < n)%nat -> (k < n)%nat -> m j = true -> m k = true -> v j - v k <= width) ->
  (forall j p, (j < n)%nat -> (p < n)%nat -> m j = true -> top m s n p = true ->
     s j < s p -> gamma <= s p - s j) ->
  (dangerous = false -> forall j k, (j < n)%nat -> (k < n)%nat ->
     top m s n j = true -> top m s n k = true -> v j = v k) ->
  (forall j k, (j < n)%nat -> (k < n)%nat -> m j = true -> m k = true ->
     Rabs (S j - S k - (s j - s k)) <= eta) ->
  (forall j, (j < n)%nat -> m j = true -> Rabs (V j - v j) <= d) ->
  Rabs (soft m (fun j => beta * S j) V n - hard m s v n)
  <= d + width * mean_misplaced n beta gamma dangerous eta.
Proof.
  intros Hn Hb Hw He Hd W G Benign E D. unfold mean_misplaced.
  pose proof (tilt_bounds (beta * eta) ltac:(nra)) as [T _].
  destruct (winner m s n) as [(p & Hp & Mp & Max)|None].
  2: { rewrite soft_nothing, hard_nothing by assumption. rewrite Rminus_diag_eq,
    Rabs_R0 by reflexivity.
       assert (0 <= (INR n - 1) * exp (- (beta * (gamma - eta)))).
       { apply Rmult_le_pos; [|left; apply exp_pos]. apply (le_INR 1) in Hn. simpl in Hn. lra. }
       assert (0 <= width * ((INR n - 1) * exp (- (beta * (gamma - eta)))
                 + (if dangerous then tilt (beta * eta) else 0)))
         by (apply Rmult_le_pos; [assumption|destruct dangerous; lra]).
       lra. }
  assert (Tp : top m s n p = true) by (apply top_spec; auto).
  destruct (winner m (fun j => - v j) n) as [(q & Hq & Mq & Min)|None];
    [|rewrite None in Mp by assumption; discriminate].
  assert (B : forall j, (j < n)%nat -> m j = true -> v q <= v j <= v q + width).
  { intros j Hj Mj. specialize (Min j Hj Mj). pose proof (W j q Hj Hq Mj Mq). lra. }
  replace (soft m (fun j => beta * S j) V n - hard m s v n) with
    ((soft m (fun j => beta * S j) V n - soft m (fun j => beta * S j) v n)
     + (soft m (fun j => beta * S j) v n - hard m s v n)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat; [apply soft_values; assumption|].
  replace width with (v q + width - v q) at 1 by ring.
  destruct dangerous.
  - apply (row_error m s S v n p); try assumption. intros j Hj Mj L. apply G; assumption.
  - rewrite Rplus_0_r. apply (row_error_benign m s S v n p); try assumption.
    + intros j Hj Mj L. apply G; assumption.
    + intros j Hj Mj Es. apply Benign; try assumption; [reflexivity|].
      apply top_spec. split; [assumption|]. intros. rewrite Es. apply Max; assumption.
Qed.
