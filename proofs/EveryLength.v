(** The temperature law of hard attention, at every length: average-hard with ties, leftmost or
    rightmost. With τ_L = ε and

    β_l(n) γ_l(n) >= 1 + ln(2 F_l W_l n / τ_l)                          (average)
    β_l(n) γ_l(n) >= 1 + Cn + ln(2 F_l W_l n / τ_l)                     (leftmost, rightmost)
    τ_(l-1) = min(1, 1/(β_l K_l), τ_l/(F_l W_l β_l K_l), τ_l/(4 F_l (1 + V_l)))

    the softmax transformer is within ε of the hard one on every word. γ is the gap, W the range of
    the values, V how much heads copy of an error, K how much of it scores see, F how much the ReLU
    layer stretches it, e^-C/(1 - e^-C) <= τ/(4eFW). All may depend on n. *)
From Coq Require Import Reals Lra Lia Arith List Bool.
From Softhat Require Import Sums Attention Gates Masks Ties Transformer Errors Unique.
Import ListNotations.
Open Scope R_scope.

(** * Heads *)

Section Ties.
Variable ties : head -> option side.      (* None: the mean of all maxima *)
Variable slope : head -> R.               (* C of leftmost and rightmost heads *)

Definition softly (h : head) (m : nat -> bool) (s v : nat -> R) (n : nat) : R :=
  match ties h with
  | None => soft m (fun j => cold h * s j) v n
  | Some t => soft m (fun j => cold h * s j + lean t (slope h) j) v n
  end.
Definition hardly (h : head) : (nat -> bool) -> (nat -> R) -> (nat -> R) -> nat -> R :=
  match ties h with None => hard | Some t => unique t end.

(* how much weight a head with gap gamma misplaces *)
Definition misplaces (n : nat) (h : head) (gamma : R) (dangerous : bool) : R -> R :=
  match ties h with
  | None => mean_misplaced n (cold h) gamma dangerous
  | Some _ => unique_misplaced n (cold h) gamma (slope h)
  end.

(* What is known of a hard head is what the layers' theorem needs. *)
Theorem hard_head n f x h gamma dangerous : (0 < n)%nat -> 0 <= cold h ->
  (forall t, ties h = Some t -> 0 < slope h) ->
  (forall qk i, In qk (rows h) -> (i < n)%nat -> Rabs (dot (fst qk) (x i)) <= size f (fst qk)) ->
  (forall qk i j k, In qk (rows h) -> (i < n)%nat -> (j < n)%nat -> (k < n)%nat ->
     sees h i j = true -> sees h i k = true ->
     Rabs (dot (snd qk) (x j) - dot (snd qk) (x k)) <= range f (snd qk)) ->
  (forall qk, In qk (rows h) -> 0 <= size f (fst qk) /\ 0 <= range f (snd qk)) ->
  (forall vo i j k, In vo (values h) -> (i < n)%nat -> (j < n)%nat -> (k < n)%nat ->
     sees h i j = true -> sees h i k = true ->
     dot (fst vo) (x j) - dot (fst vo) (x k) <= range f (fst vo)) ->
  (forall vo, In vo (values h) -> 0 <= range f (fst vo)) ->
  (* the gap *)
  (forall i j p, (i < n)%nat -> (j < n)%nat -> (p < n)%nat -> sees h i j = true ->
     let s := fun j => score (rows h) (x i) (x j) in
     top (sees h i) s n p = true -> s j < s p -> gamma <= s p - s j) ->
  (* ties are harmless: one maximum, or equal values *)
  (ties h = None -> dangerous = false -> forall vo i j k, In vo (values h) -> (i < n)%nat ->
    (j < n)%nat -> (k < n)%nat ->
     let s := fun j => score (rows h) (x i) (x j) in
     top (sees h i) s n j = true -> top (sees h i) s n k = true ->
     dot (fst vo) (x j) = dot (fst vo) (x k)) ->
  misplaced f h = misplaces n h gamma dangerous ->
  known hardly softly n f x h.
Proof.
  intros Hn Hb Hs Q K Sz W Wp G B M. split; try assumption.
  intros vo i S V eta d Iv Hi He Hd ES EV. rewrite M. unfold softly, hardly, misplaces.
  destruct (ties h) as [t|] eqn:Th.
  - apply unique_row; try assumption.
    + apply (Hs t eq_refl).
    + apply Wp, Iv.
    + intros j k Hj Hk Sj Sk. apply (W vo i); assumption.
    + intros j p Hj Hp Sj Tp L. apply (G i); assumption.
  - apply mean_row; try assumption.
    + apply Wp, Iv.
    + intros j k Hj Hk Sj Sk. apply (W vo i); assumption.
    + intros j p Hj Hp Sj Tp L. apply (G i); assumption.
    + intros D j k Hj Hk Tj Tk. apply (B eq_refl D vo i); assumption.
Qed.

(** * One layer *)

Lemma le_quotient a b d : 0 < d -> a <= b / d -> a * d <= b.
Proof.
  intros Hd H. apply Rmult_le_compat_r with (r := d) in H; [|lra].
  replace (b / d * d) with b in H by (field; lra). exact H.
Qed.

Record constants := Constants {
  gap : R;          (* γ *)
  seen : R;         (* K: scores are wrong by at most K times the error *)
  copied : R;       (* V: heads copy at most V times the error *)
  spread : R;       (* W: the range of the values, through the outputs *)
  stretch : R       (* F: the ReLU layer's Lipschitz constant *)
}.

Definition ok (k : constants) : Prop :=
  0 < gap k /\ 0 < seen k /\ 0 <= copied k /\ 0 < spread k /\ 1 <= stretch k.

(* the error allowed before a layer at inverse temperature beta, for tau after it *)
Definition before (k : constants) (beta tau : R) : R :=
  Rmin (Rmin 1 (1 / (beta * seen k)))
       (Rmin (tau / (stretch k * spread k * beta * seen k))
         (tau / (4 * stretch k * (1 + copied k)))).

Lemma before_pos k beta tau : ok k -> 0 < beta -> 0 < tau -> 0 < before k beta tau.
Proof.
  intros (G & K & V & W & F) Hb Ht. unfold before.
  assert (0 < beta * seen k) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < stretch k * spread k) by nra.
  assert (0 < stretch k * spread k * beta * seen k) by nra.
  repeat apply Rmin_glb_lt; try (apply Rdiv_lt_0_compat); nra.
Qed.

(* A head is cold enough for tau: what it misplaces costs at most 3τ/4. *)
Definition cold_enough (k : constants) (beta tau : R) (mis : R -> R) : Prop :=
  forall eta, 0 <= eta -> beta * eta <= 1 -> stretch k * spread k * beta * eta <= tau ->
  0 <= mis eta /\ stretch k * spread k * mis eta <= 3 / 4 * tau.

(* average-hard heads, ties included *)
Theorem mean_cold n k beta gamma dangerous tau : (0 < n)%nat -> ok k -> 0 < tau -> 0 < beta ->
  gap k <= gamma -> 1 + ln (2 * stretch k * spread k * INR n / tau) <= beta * gap k ->
  cold_enough k beta tau (mean_misplaced n beta gamma dangerous).
Proof.
  intros Hn (G & K & V & W & F) Ht Hb Gg C eta E0 E1 E2. unfold mean_misplaced.
  assert (FW : 0 < stretch k * spread k) by nra.
  assert (N1 : 1 <= INR n) by (apply (le_INR 1); lia).
  pose proof (exp_pos (- (beta * (gamma - eta)))) as X.
  pose proof (tilt_bounds (beta * eta) ltac:(nra)) as T.
  assert (L : stretch k * spread k * (INR n * exp (- (beta * (gamma - eta)))) <= tau / 2).
  { set (A := 2 * stretch k * spread k * INR n / tau) in *.
    assert (HA : 0 < A) by (unfold A; apply Rdiv_lt_0_compat; nra).
    assert (exp (- (beta * (gamma - eta))) <= / A).
    { rewrite <- (exp_ln A) by assumption. rewrite <- exp_Ropp. apply exp_le. nra. }
    apply Rle_trans with (stretch k * spread k * (INR n * / A)).
    - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra.
    - unfold A. right. field. repeat split; lra. }
  assert (D : 0 <= (if dangerous then tilt (beta * eta) else 0) <= beta * eta / 4)
    by (destruct dangerous; nra).
  assert (stretch k * spread k * (if dangerous then tilt (beta * eta) else 0) <= tau / 4).
  { apply Rle_trans with (stretch k * spread k * (beta * eta / 4)); [|lra].
    apply Rmult_le_compat_l; lra. }
  split; nra.
Qed.

(* leftmost and rightmost heads *)
Theorem unique_cold n k beta gamma C tau : (0 < n)%nat -> ok k -> 0 < tau -> 0 < beta -> 0 < C ->
  gap k <= gamma ->
  stretch k * spread k * exp 1 * (exp (- C) / (1 - exp (- C))) <= tau / 4 ->
  1 + C * INR n + ln (2 * stretch k * spread k * INR n / tau) <= beta * gap k ->
  cold_enough k beta tau (unique_misplaced n beta gamma C).
Proof.
  intros Hn (G & K & V & W & F) Ht Hb HC Gg Tied Far eta E0 E1 E2. unfold unique_misplaced.
  assert (FW : 0 < stretch k * spread k) by nra.
  assert (N1 : 1 <= INR n) by (apply (le_INR 1); lia).
  set (y := exp (- C)) in *. assert (Y0 : 0 < y) by apply exp_pos.
  assert (Y1 : y < 1) by (unfold y; rewrite <- exp_0; apply exp_increasing; lra).
  assert (Q : 0 < y / (1 - y)) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_pos (beta * eta)) as X. pose proof (exp_le (beta * eta) 1 E1) as X1.
  pose proof (exp_pos (- (beta * (gamma - eta) - C * INR n))) as Z.
  assert (L : stretch k * spread k * (INR n * exp (- (beta * (gamma - eta) - C * INR n)))
    <= tau / 2).
  { set (A := 2 * stretch k * spread k * INR n / tau) in *.
    assert (HA : 0 < A) by (unfold A; apply Rdiv_lt_0_compat; nra).
    assert (exp (- (beta * (gamma - eta) - C * INR n)) <= / A).
    { rewrite <- (exp_ln A) by assumption. rewrite <- exp_Ropp. apply exp_le. nra. }
    apply Rle_trans with (stretch k * spread k * (INR n * / A)).
    - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra.
    - unfold A. right. field. repeat split; lra. }
  assert (stretch k * spread k * (exp (beta * eta) * (y / (1 - y))) <= tau / 4).
  { apply Rle_trans with (stretch k * spread k * (exp 1 * (y / (1 - y)))); [|lra].
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra. }
  split; nra.
Qed.

(* a closed form that is cold enough *)
Definition beta_law (n : nat) (k : constants) (tau : R) : R :=
  (1 + ln (1 + 2 * stretch k * spread k * INR n / tau)) / gap k.

Theorem beta_law_cold n k tau : (0 < n)%nat -> ok k -> 0 < tau ->
  0 < beta_law n k tau /\
  1 + ln (2 * stretch k * spread k * INR n / tau) <= beta_law n k tau * gap k.
Proof.
  intros Hn (G & K & V & W & F) Ht. unfold beta_law.
  assert (Pn : 0 < INR n) by (apply lt_0_INR; assumption).
  set (A := 2 * stretch k * spread k * INR n / tau).
  assert (HA : 0 < A).
  { unfold A. apply Rdiv_lt_0_compat; [|assumption]. assert (0 < stretch k * spread k) by nra. nra.
    }
  assert (0 < ln (1 + A)) by (rewrite <- ln_1; apply ln_increasing; lra).
  split; [apply Rdiv_lt_0_compat; lra|].
  replace ((1 + ln (1 + A)) / gap k * gap k) with (1 + ln (1 + A)) by (field; lra).
  assert (ln A < ln (1 + A)) by (apply ln_increasing; lra). lra.
Qed.

(** * Many layers *)

Definition norm (l : form) : R := lsum (fun q => Rabs (snd q)) l.

Lemma err_const l e : err l (fun _ => e) = norm l * e.
Proof. unfold err, norm. rewrite Rmult_comm, <- lsum_scal. apply lsum_ext. intros. ring. Qed.

Lemma norm_nonneg l : 0 <= norm l.
Proof. apply lsum_nonneg. intros. apply Rabs_pos. Qed.

(* The constants k bound the layer l. *)
Record bounded (f : facts) (l : layer) (k : constants) : Prop := {
  b_scores : forall h, In h (heads l) ->
    lsum (fun qk => norm (fst qk) * range f (snd qk)
                    + (size f (fst qk) + norm (fst qk)) * (2 * norm (snd qk))) (rows h) <= seen k;
  b_sizes : forall h qk, In h (heads l) -> In qk (rows h) -> 0 <= size f (fst qk) /\
    0 <= range f (snd qk);
  b_ranges : forall h vo, In h (heads l) -> In vo (values h) -> 0 <= range f (fst vo);
  b_copied : forall c, lsum (fun h => lsum (fun vo => norm (fst vo) * Rabs (coef (snd vo) c))
    (values h)) (heads l)
    <= copied k;
  b_spread : forall c, lsum (fun h => lsum (fun vo => range f (fst vo) * Rabs (coef (snd vo) c))
    (values h)) (heads l)
    <= spread k;
  b_stretch : forall c, 1 + lsum (fun u => norm (input u) * Rabs (coef (output u) c)) (units l)
    <= stretch k
}.

Lemma lsum_plus {A} (u v : A -> R) ls : lsum u ls + lsum v ls = lsum (fun q => u q + v q) ls.
Proof. induction ls as [|q ls IH]; simpl; [lra|]. rewrite <- IH. lra. Qed.

Theorem one_layer f l k beta tau e : ok k -> 0 < tau -> 0 < beta -> bounded f l k ->
  (forall h, In h (heads l) -> cold_enough k beta tau (misplaced f h)) ->
  0 <= e <= before k beta tau -> forall c, layer_error f l (fun _ => e) c <= tau.
Proof.
  intros (G & K & V & W & F) Ht Hb B C [E0 E] c. unfold before in E.
  assert (BK : 0 < beta * seen k) by (apply Rmult_lt_0_compat; assumption).
  assert (FW : 0 < stretch k * spread k) by nra.
  assert (E1 : e <= 1) by (eapply Rle_trans; [exact E|]; eapply Rle_trans; [apply Rmin_l|];
    apply Rmin_l).
  assert (E2 : e * (beta * seen k) <= 1).
  { apply le_quotient; [assumption|]. eapply Rle_trans; [exact E|].
    eapply Rle_trans; [apply Rmin_l|]. apply Rmin_r. }
  assert (E3 : e * (stretch k * spread k * beta * seen k) <= tau).
  { apply le_quotient; [nra|]. eapply Rle_trans; [exact E|].
    eapply Rle_trans; [apply Rmin_r|]. apply Rmin_l. }
  assert (E4 : e * (4 * stretch k * (1 + copied k)) <= tau).
  { apply le_quotient; [nra|]. eapply Rle_trans; [exact E|].
    eapply Rle_trans; [apply Rmin_r|]. apply Rmin_r. }
  set (mis := 3 / 4 * tau / (stretch k * spread k)).
  assert (M0 : 0 < mis) by (unfold mis; apply Rdiv_lt_0_compat; lra).
  set (a := (1 + copied k) * e + spread k * mis).
  assert (Att : forall c, attention_error f (heads l) (fun _ => e) c <= a).
  { intros c'. unfold attention_error.
    assert (lsum (fun h => lsum (fun vo =>
        (err (fst vo) (fun _ => e) + range f (fst vo) * misplaced f h
          (score_error f h (fun _ => e)))
          * Rabs (coef (snd vo) c')) (values h)) (heads l)
      <= copied k * e + spread k * mis); [|unfold a; lra].
    apply Rle_trans with
      (e * lsum (fun h => lsum (fun vo => norm (fst vo) * Rabs (coef (snd vo) c')) (values h))
        (heads l)
       + mis * lsum (fun h => lsum (fun vo => range f (fst vo) * Rabs (coef (snd vo) c'))
           (values h)) (heads l)).
    - rewrite <- !lsum_scal, lsum_plus. apply lsum_le. intros h Ih.
      rewrite <- !lsum_scal, lsum_plus. apply lsum_le. intros vo Iv.
      rewrite err_const. pose proof (Rabs_pos (coef (snd vo) c')) as Rc.
      pose proof (b_ranges f l k B h vo Ih Iv) as Rr.
      assert (S0 : 0 <= score_error f h (fun _ => e)).
      { apply score_error_nonneg; [intros; lra|]. intros. apply (b_sizes f l k B h); assumption. }
      assert (S1 : score_error f h (fun _ => e) <= seen k * e).
      { apply Rle_trans with (e * lsum (fun qk => norm (fst qk) * range f (snd qk)
            + (size f (fst qk) + norm (fst qk)) * (2 * norm (snd qk))) (rows h)).
        - unfold score_error. rewrite <- lsum_scal. apply lsum_le. intros qk Iq. rewrite !err_const.
          destruct (b_sizes f l k B h qk Ih Iq).
          pose proof (norm_nonneg (fst qk)). pose proof (norm_nonneg (snd qk)).
          assert (norm (fst qk) * e <= norm (fst qk)) by nra.
          assert (0 <= 2 * (norm (snd qk) * e)) by nra.
          assert ((size f (fst qk) + norm (fst qk) * e) * (2 * (norm (snd qk) * e))
                  <= (size f (fst qk) + norm (fst qk)) * (2 * (norm (snd qk) * e)))
            by (apply Rmult_le_compat_r; lra).
          nra.
        - rewrite Rmult_comm. apply Rmult_le_compat_r; [lra|]. apply (b_scores f l k B h Ih). }
      set (eta := score_error f h (fun _ => e)) in *.
      destruct (C h Ih eta S0) as [_ Mb].
      { apply Rle_trans with (e * (beta * seen k)); [|assumption].
        replace (e * (beta * seen k)) with (beta * (seen k * e)) by ring.
        apply Rmult_le_compat_l; lra. }
      { apply Rle_trans with (e * (stretch k * spread k * beta * seen k)); [|assumption].
        replace (e * (stretch k * spread k * beta * seen k))
          with (stretch k * spread k * beta * (seen k * e)) by ring.
        apply Rmult_le_compat_l; [nra|assumption]. }
      assert (misplaced f h eta <= mis).
      { unfold mis. apply Rmult_le_reg_l with (stretch k * spread k); [assumption|].
        replace (stretch k * spread k * (3 / 4 * tau / (stretch k * spread k))) with (3 / 4 * tau)
          by (field; lra). exact Mb. }
      apply Rle_trans with ((norm (fst vo) * e + range f (fst vo) * mis) * Rabs (coef (snd vo) c'));
        [|lra].
      apply Rmult_le_compat_r; [assumption|]. apply Rplus_le_compat_l.
      apply Rmult_le_compat_l; assumption.
    - pose proof (b_copied f l k B c'). pose proof (b_spread f l k B c'). nra. }
  assert (A0 : 0 <= a) by (unfold a; nra).
  assert (A1 : stretch k * a <= tau).
  { unfold a. replace (stretch k * ((1 + copied k) * e + spread k * mis))
      with (e * (4 * stretch k * (1 + copied k)) / 4 + stretch k * spread k * mis) by field.
    replace (stretch k * spread k * mis) with (3 / 4 * tau) by (unfold mis; field; lra). lra. }
  unfold layer_error, feed_forward_error.
  apply Rle_trans
    with (a + lsum (fun u => a * (norm (input u) * Rabs (coef (output u) c))) (units l)).
  - apply Rplus_le_compat; [apply Att|]. apply lsum_le. intros u _.
    assert (err (input u) (attention_error f (heads l) (fun _ => e)) <= norm (input u) * a).
    { rewrite <- err_const. unfold err. apply lsum_le. intros q _.
      apply Rmult_le_compat_l; [apply Rabs_pos|apply Att]. }
    pose proof (Rabs_pos (coef (output u) c)). nra.
  - rewrite lsum_scal. pose proof (b_stretch f l k B c). nra.
Qed.

(* A model's layers, with what is known of each at length n. *)
Record stage := Stage { weights : layer; fact : facts; constant : constants; inverse : R }.

Fixpoint tolerance (ls : list stage) (eps : R) : R :=
  match ls with
  | [] => eps
  | l :: ls => before (constant l) (inverse l) (tolerance ls eps)
  end.

Fixpoint lawful (ls : list stage) (eps : R) : Prop :=
  match ls with
  | [] => True
  | l :: ls => ok (constant l) /\ bounded (fact l) (weights l) (constant l) /\ 0 < inverse l
               /\ (forall h, In h (heads (weights l)) ->
                    cold_enough (constant l) (inverse l) (tolerance ls eps) (misplaced (fact l) h))
               /\ lawful ls eps
  end.

(* everything that is claimed to be known of the exact run from x holds *)
Fixpoint truthful (n : nat) (ls : list stage) (x : stream) : Prop :=
  match ls with
  | [] => True
  | l :: ls => (forall h, In h (heads (weights l)) -> known hardly softly n (fact l) x h)
               /\ truthful n ls (run_layer hardly n x (weights l))
  end.

Lemma tolerance_pos ls eps : 0 < eps -> lawful ls eps -> 0 < tolerance ls eps.
Proof.
  intros He. induction ls as [|l ls IH]; intros L; [exact He|]. destruct L as (O & _ & Hb & _ & L).
  apply before_pos; auto.
Qed.

Theorem every_length n ls eps : 0 < eps -> lawful ls eps ->
  forall X x e, truthful n ls x -> 0 <= e <= tolerance ls eps -> within n X x (fun _ => e) ->
  within n (run softly n (map weights ls) X) (run hardly n (map weights ls) x) (fun _ => eps).
Proof.
  intros He. induction ls as [|l ls IH]; intros L X x e T E W.
  - intros i c Hi. simpl in E. eapply Rle_trans; [apply W, Hi|lra].
  - destruct L as (O & B & Hb & C & L). destruct T as (K & T).
    pose proof (tolerance_pos ls eps He L) as Tp. cbn [tolerance] in E.
    apply (IH L (run_layer softly n X (weights l)) _ (tolerance ls eps) T); [lra|].
    intros i c Hi. eapply Rle_trans.
    + apply (layer_within hardly softly n (fact l) (weights l) X x (fun _ => e)); auto. intros; lra.
    + apply (one_layer (fact l) (weights l) (constant l) (inverse l)); auto.
Qed.

(* From the same embeddings. *)
Corollary same_input n ls eps x : 0 < eps -> lawful ls eps -> truthful n ls x ->
  forall i c, (i < n)%nat ->
  Rabs (run softly n (map weights ls) x i c - run hardly n (map weights ls) x i c) <= eps.
Proof.
  intros He L T i c Hi. pose proof (tolerance_pos ls eps He L).
  apply (every_length n ls eps He L x x 0); try assumption; [lra|].
  intros j d _. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
Qed.
End Ties.
