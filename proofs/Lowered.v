(** Heads of a lowered program return what their signals mean. *)
From Coq Require Import Reals Lra Lia Arith ZArith QArith Qreals List Bool.
From Softhat Require Import Sums Attention Gates Masks Previous Shift Average Formula Program Reads
  Lowering.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

Notation dot := Transformer.dot.
Notation score := Transformer.score.
Notation stream := Transformer.stream.

(** * Rational weights as real ones *)

Definition real_form (l : form) : Transformer.form := map (fun q => (fst q, Q2R (snd q))) l.
Definition real_rows (r : list (form * form)) : list (Transformer.form * Transformer.form) :=
  map (fun q => (real_form (fst q), real_form (snd q))) r.
Definition real_head (h : head) : Transformer.head :=
  Transformer.Head (real_rows (rows h)) (sees (over h))
    (map (fun v => (real_form (fst v), [(snd v, 1)])) (values h)) (Q2R (cold h)) (steady h).
Definition real_unit (u : unit) : Transformer.unit :=
  Transformer.Unit (real_form (input u)) (Q2R (bias u)) (real_form (output u)).
Definition real_layer (l : layer) : Transformer.layer :=
  Transformer.Layer (map real_head (heads l)) (map real_unit (units l)) (real_form (shift l)).

Lemma Q2R_Z z : Q2R (inject_Z z) = IZR z.
Proof. unfold Q2R, inject_Z. simpl. lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_m1 : Q2R (-1) = - 1.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_m2 : Q2R (-2) = - 2.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_4 : Q2R 4 = 4.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_2 : Q2R 2 = 2.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_half : Q2R (1 # 2) = 1 / 2.
Proof. unfold Q2R. simpl. lra. Qed.

Ltac q2r := repeat rewrite ?Q2R_plus, ?Q2R_minus, ?Q2R_mult, ?Q2R_opp, ?Q2R_Z, ?Q2R_1, ?Q2R_m1,
  ?Q2R_m2, ?Q2R_4, ?Q2R_2, ?Q2R_half.
Ltac q2r_in H := repeat rewrite ?Q2R_plus, ?Q2R_minus, ?Q2R_mult, ?Q2R_opp, ?Q2R_Z, ?Q2R_1, ?Q2R_m1,
  ?Q2R_m2, ?Q2R_4, ?Q2R_2, ?Q2R_half in H.

Lemma score_app r r' x y : score (real_rows (r ++ r')) x y = score (real_rows r) x y
  + score (real_rows r') x y.
Proof.
  unfold real_rows. rewrite map_app. induction r as [|q r IH]; simpl; [lra|]. rewrite IH. lra.
Qed.

Lemma score_cons q k r x y :
  score (real_rows ((q, k) :: r)) x y = dot (real_form q) x * dot (real_form k) y
    + score (real_rows r) x y.
Proof. reflexivity. Qed.

(* H says that something is found: c is it, and E says so *)
Ltac step H c E := match type of H with
  | match ?e with Some _ => _ | None => None end = Some _ =>
      destruct e as [c|] eqn:E; [|discriminate H]
  end.

Lemma place_spec k l c : place k l = Some c -> nth_error l c = Some k.
Proof.
  revert c. induction l as [|k' l IH]; intros c H; [discriminate|]. cbn [place] in H.
  destruct (content_eq k k') as [->|]; [injection H as <-; reflexivity|].
  destruct (place k l) as [c'|]; [|discriminate]. injection H as <-. cbn [nth_error]. apply IH.
  reflexivity.
Qed.

Lemma find_mean_spec s l c q : find_mean s l = Some (c, q) -> nth_error l c = Some (Mean s q).
Proof.
  unfold find_mean. enough (Found : forall l c0, (fix go (l : layout) (c : nat) := match l with
      | [] => None | Mean s' q :: l => if Nat.eqb s s' then Some (c, q) else go l (S c)
      | _ :: l => go l (S c) end) l c0 = Some (c, q) -> (c0 <= c)%nat /\
        nth_error l (c - c0) = Some (Mean s q)).
  { intros H. destruct (Found l 0%nat H) as [_ R]. rewrite Nat.sub_0_r in R. exact R. }
  clear. induction l as [|k l IH]; intros c0 H; [discriminate|].
  assert (Next : (fix go (l : layout) (c : nat) := match l with
      | [] => None | Mean s' q :: l => if Nat.eqb s s' then Some (c, q) else go l (S c)
      | _ :: l => go l (S c) end) l (S c0) = Some (c, q) -> (c0 <= c)%nat /\
        nth_error (k :: l) (c - c0) = Some (Mean s q)).
  { intros N. destruct (IH _ N) as [L R]. split; [lia|].
    replace (c - c0)%nat with (S (c - S c0)) by lia. exact R. }
  destruct k as [| | | |s' q'| | | |]; try (apply Next, H).
  destruct (Nat.eqb_spec s s') as [->|]; [|apply Next, H]. injection H as <- <-. split; [lia|].
  rewrite Nat.sub_diag. reflexivity.
Qed.

Lemma every_spec {A B} (f : A -> option B) l bs : every f l = Some bs ->
  Forall2 (fun a b => f a = Some b) l bs.
Proof.
  revert bs. induction l as [|a l IH]; intros bs H; cbn [every] in H.
  - injection H as <-. constructor.
  - step H b E. step H l0 E0. injection H as <-. constructor; auto.
Qed.

Section Lowered.
Variables (p : program) (alphabet : nat) (scaled eos : bool) (sharpness : Q).
Variables (n : nat) (P : R) (w : word) (v : valuation).
Hypothesis Hsharp : 4 <= Q2R sharpness.
Hypothesis HP : 0 < P.
(* where positions are not divided by P, scores may be multiplied by it: colder is as good *)
Hypothesis Hunscaled : scaled = false -> 1 <= P.
Hypothesis Hscaled : scaled = true -> INR n + 1 <= P.
Hypothesis Hv : computes n w v p.
Hypothesis Hw : forall i, (1 <= i <= n)%nat -> (symbol w i < alphabet)%nat.

Notation lit := (lit v).
Notation pos := (pos n).

(* positions 0 .. last; <bos> is 0, <eos>, if there is one, n + 1 *)
Definition last : nat := if eos then S n else n.
Definition inside (i : nat) : bool := Nat.leb 1 i && Nat.leb i n.
Definition per (divided : bool) : R := if divided then P else 1.

Definition feature_value (f : feature) (i : nat) : R :=
  match f with
  | One => 1
  | Ordinary d => b2R (inside i) / per d
  | Index d => (if inside i then INR i else 0) / per d
  | Reverse d => (if inside i then INR (S n - i) else 0) / per d
  | Alternating d => (- 1) ^ i / per d
  | Residue m r => b2R (inside i && Nat.eqb (Nat.modulo i m) r)
  end.

(* how many keys the average of a range sees *)
Definition keys (r : range) (i : nat) : nat :=
  match r with Before => S i | After => S (S n - i) | All => S (S n) end.

Definition sharpness_of (wide : bool) : Q := if wide then (2 * sharpness)%Q else sharpness.

(* from the least value of Σ a·signal to the greatest is at most this *)
Definition spread (ts : list (Z * option nat)) :
  Z := fold_right (fun t s => (Z.abs (fst t) + s)%Z) 0%Z ts.

(* what a coordinate with this content has at each position *)
Definition good (k : content) (x : nat -> R) : Prop :=
  match k with
  | Empty => forall i, (i <= last)%nat -> x i = 0
  | Feature f => forall i, (i <= last)%nat -> x i = feature_value f i
  | Bit s => forall i, (i <= last)%nat -> x i = b2R (inside i && bit v s i)
  | Raw s wide => (forall i, (i <= last)%nat -> 0 <= x i <= 1) /\
      forall i, (1 <= i <= n)%nat -> Rabs (x i - b2R (bit v s i)) <= Q2R (slack wide)
  | Mean s q => forall ts r, nth_error p s = Some (Average ts r) -> forall i, (1 <= i <= n)%nat ->
      x i * IZR (Zpos q) * INR (keys r i) = IZR (sums v s i)
  | Share s => forall ps m N, nth_error p s = Some (Width ps m N) -> forall i, (1 <= i <= n)%nat ->
      exists e, 0 <= e <= 1 / 8 /\
        x i * (IZR (sinks_seen eos m) + IZR (sums v s i) + e) = IZR (sinks_seen eos m)
  | Decoded s => (forall i, (i <= last)%nat -> 0 <= x i <= 1) /\
      forall i, (1 <= i <= n)%nat -> x i = b2R (bit v s i)
  | Whole s => forall i, (1 <= i <= n)%nat -> x i = IZR (sums v s i)
  | Mixed s q => forall ps ts m N, nth_error p s = Some (Blend ps ts m N) ->
      forall i, (1 <= i <= n)%nat ->
      Rabs (x i * IZR (Zpos (scale_in q))
            - IZR (sums v s i) / INR (length (filter (chosen v ps i) (visible n m i))))
      <= 2 * IZR (spread ts) * Q2R (spill (sharpness_in q) N)
  end.
Definition holds (l : layout) (X : stream) : Prop :=
  forall c k, nth_error l c = Some k -> good k (fun i => X i c).

Lemma per_pos d : 0 < per d.
Proof. unfold per. destruct d; lra. Qed.

Lemma inside_spec i : inside i = true <-> (1 <= i <= n)%nat.
Proof. unfold inside. rewrite andb_true_iff, !Nat.leb_le. lia. Qed.
Lemma inside_true i : (1 <= i <= n)%nat -> inside i = true.
Proof. apply inside_spec. Qed.
Lemma inside_false i : ~ (1 <= i <= n)%nat -> inside i = false.
Proof.
  intros H. destruct (inside i) eqn:E; [apply inside_spec in E; contradiction|reflexivity].
Qed.

Lemma inside_last i : (1 <= i <= n)%nat -> (i <= last)%nat.
Proof. unfold last. destruct eos; lia. Qed.

(** * Rows *)

Lemma feat_value l X f c i : holds l X -> feat l f = Some c -> (i <= last)%nat ->
  X i c = feature_value f i.
Proof. intros H E Hi. apply place_spec in E. exact (H c _ E i Hi). Qed.

Lemma bit_value l X s c i : holds l X -> place (Bit s) l = Some c -> (i <= last)%nat ->
  X i c = b2R (inside i && bit v s i).
Proof. intros H E Hi. apply place_spec in E. exact (H c _ E i Hi). Qed.

Lemma bit_row_value l X x r i : holds l X -> bit_row l x = Some r -> (i <= last)%nat ->
  dot (real_form r) (X i) = b2R (inside i && lit x i).
Proof.
  intros H E Hi. unfold bit_row in E. unfold Program.lit.
  destruct (of x) as [s|]; destruct (plain x); cbn [Bool.eqb] in *.
  - step E c Ec. injection E as <-. cbn. rewrite (bit_value l X s c i H Ec Hi). q2r.
    destruct (inside i), (bit v s i); simpl; lra.
  - step E c Ec. step E o Eo. injection E as <-. cbn.
    rewrite (bit_value l X s c i H Ec Hi), (feat_value l X _ _ i H Eo Hi). q2r.
    cbn [feature_value per].
    destruct (inside i), (bit v s i); simpl; lra.
  - step E o Eo. injection E as <-. cbn. rewrite (feat_value l X _ _ i H Eo Hi). q2r.
    cbn [feature_value per].
    destruct (inside i); simpl; lra.
  - injection E as <-. cbn. destruct (inside i); reflexivity.
Qed.

(* cold·weight: with unbounded positions the sharpness is in the weights, else in the temperature *)
Definition cold_of (C : Q) : R := if scaled then Q2R C else 1.
(* how much colder than it must be *)
Definition chill : R := if scaled then 1 else P.

Lemma chill_least : 1 <= chill.
Proof. clear -Hunscaled. unfold chill. destruct scaled; [lra|exact (Hunscaled eq_refl)]. Qed.

Lemma weight_cold C x : 0 < Q2R C ->
  P * cold_of C * Q2R (weight scaled C x) / per scaled = chill * Q2R x.
Proof.
  intros HC. unfold cold_of, weight, per, chill. destruct scaled.
  - assert (~ (C == 0)%Q) by (intros Z; rewrite (Qeq_eqR _ _ Z) in HC; unfold Q2R in HC;
      simpl in HC; lra).
    rewrite Q2R_div by assumption. field. lra.
  - field.
Qed.

(** * Rows of keys, read toward a sink *)

Definition rightward (d : direction) : Prop := d = Future -> eos = true.
Definition mask_of (strict : bool) (d : direction) : mask :=
  match strict, d with
  | false, Past => AtMost | true, Past => Below | false, Future => AtLeast | true, Future => Above
  end.

Lemma soft_toward strict d s u i : (1 <= i <= n)%nat -> rightward d ->
  soft (sees (mask_of strict d) i) s u (S last)
  = attend (fun t => s (pos d t)) (fun t => u (pos d t)) (if strict then pos d i else S (pos d i)).
Proof.
  intros Hi R. destruct d; cbn [Program.pos mask_of].
  - assert ((i <= last)%nat) by (apply inside_last, Hi).
    destruct strict; apply soft_prefix; try lia; intros j; cbn [sees]; reflexivity.
  - assert (L : last = S n) by (unfold last; rewrite (R eq_refl); reflexivity). rewrite L.
    destruct strict.
    + rewrite (soft_suffix _ s u (S i) (S (S n))); [|lia|intros; reflexivity].
      replace (S (S n) - S i)%nat with (S n - i)%nat by lia.
      apply attend_ext; intros j Hj; f_equal; lia.
    + rewrite (soft_suffix _ s u i (S (S n))); [|lia|intros; reflexivity].
      replace (S (S n) - i)%nat with (S (S n - i)) by lia.
      apply attend_ext; intros j Hj; f_equal; lia.
Qed.

Lemma pos_last d t : rightward d -> (t <= n)%nat -> (pos d t <= last)%nat.
Proof.
  intros R Ht. unfold last. destruct d; cbn [Program.pos]; [destruct eos; lia|rewrite (R eq_refl);
    lia].
Qed.

Lemma pos_inside d t : (t <= n)%nat -> inside (pos d t) = Nat.leb 1 t.
Proof.
  intros Ht. destruct d; cbn [Program.pos]; destruct (Nat.leb_spec 1 t).
  - apply inside_true. lia.
  - apply inside_false. lia.
  - apply inside_true. lia.
  - apply inside_false. lia.
Qed.

Lemma pos_range d i : (1 <= i <= n)%nat -> (1 <= pos d i <= n)%nat.
Proof. destruct d; cbn [Program.pos]; lia. Qed.

Lemma pos_pos d i : (i <= S n)%nat -> pos d (pos d i) = i.
Proof. destruct d; cbn [Program.pos]; lia. Qed.

Lemma toward_value d t : (t <= n)%nat -> feature_value (toward scaled d) (pos d t)
  = INR t / per scaled.
Proof.
  intros Ht. pose proof (per_pos scaled) as Pp. destruct d; cbn [toward feature_value].
  - pose proof (pos_inside Past t Ht) as E. cbn [Program.pos] in *. rewrite E.
    destruct t; [simpl; field; lra|reflexivity].
  - pose proof (pos_inside Future t Ht) as E. cbn [Program.pos] in *. rewrite E.
    destruct t; [simpl; field; lra|]. cbn [Nat.leb]. do 2 f_equal. lia.
Qed.

Lemma alternating_pos d t u : (t <= n)%nat -> (u <= n)%nat ->
  (- 1) ^ pos d t * (- 1) ^ pos d u = (- 1) ^ (t + u).
Proof.
  intros Ht Hu. destruct d; cbn [Program.pos]; rewrite <- pow_add; [reflexivity|].
  rewrite !alternating. assert (E : Nat.even (S n - t + (S n - u) + (t + u)) = true).
  { replace (S n - t + (S n - u) + (t + u))%nat with (0 + 2 * S n)%nat by lia.
    rewrite Nat.even_add_mul_2. reflexivity. }
  rewrite Nat.even_add in E. apply eqb_prop in E. rewrite E. reflexivity.
Qed.

(** * Heads *)

(* at the inverse temperature b *)
Definition read (b : R) (sc : list (form * form) * mask) (u : form) (X : stream) (i : nat) : R :=
  soft (sees (snd sc) i) (fun j => b * score (real_rows (fst sc)) (X i) (X j))
       (fun j => dot (real_form u) (X j)) (S last).

Section Head.
Variables (l : layout) (X : stream) (C : Q) (wide : bool).
Hypothesis H : holds l X.
Hypothesis HC : C = sharpness_of wide.

Lemma C_sharp : 4 <= Q2R C.
Proof. rewrite HC. unfold sharpness_of. destruct wide; [q2r; lra|exact Hsharp]. Qed.

(* how sharp the head is in effect *)
Notation coldness := (chill * Q2R C).
Lemma coldness_least : 4 <= Q2R C <= coldness.
Proof. pose proof C_sharp. pose proof chill_least. split; nra. Qed.
Lemma colder_leaks : exp (- coldness) <= exp (- Q2R C).
Proof. apply exp_le. pose proof coldness_least. lra. Qed.

(* Latest and StrictLatest *)
Lemma latest_read strict b x d r u i : (1 <= i <= n)%nat -> rightward d ->
  latest_rows scaled l C b d = Some r -> bit_row l x = Some u ->
  Rabs (read (P * cold_of C) (r, mask_of strict d) u X i
        - b2R (latestb (seen n d (lit b)) (seen n d (lit x)) (if strict then pos d i - 1
            else pos d i)))
  <= exp (- Q2R C).
Proof.
  intros Hi R Er Eu. pose proof coldness_least as Cs.
  eapply Rle_trans; [|exact colder_leaks]. unfold read. cbn [fst snd].
  rewrite soft_toward by assumption. pose proof (pos_range d i Hi) as Ti. set (T := pos d i) in *.
  unfold latest_rows in Er. step Er here Eh. step Er one Eo. step Er bad Eb.
  injection Er as <-.
  pose proof (per_pos scaled) as Pp.
  assert (Xi : pos d T = i) by (apply pos_pos; lia).
  pose proof (toward_value d T ltac:(lia)) as Vq. rewrite Xi in Vq.
  match goal with |- context [if scaled then [(one, (-2)%Q)] else ?e] =>
    remember (if scaled then [(one, (-2)%Q)] else e) as pf eqn:Ep end.
  set (K := - (P * cold_of C * dot (real_form pf) (X i))).
  assert (HK : 2 * coldness * INR T <= K).
  { unfold K. pose proof (feat_value l X _ _ i H Eh (inside_last i Hi)) as Vi.
    rewrite Vq in Vi. rewrite Ep.
    destruct scaled eqn:Sc.
    - cbn. rewrite (feat_value l X One _ i H Eo (inside_last i Hi)). cbn [feature_value]. q2r.
      unfold cold_of, chill. rewrite Sc. assert (INR T <= P).
      { pose proof (Hscaled eq_refl). assert (INR T <= INR n) by (apply le_INR; lia). lra. }
      assert (0 < Q2R C) by lra. nra.
    - cbn. rewrite Vi. unfold per. q2r. unfold cold_of, chill. rewrite Sc. lra. }
  assert (Es : forall t, (t <= T)%nat ->
     P * cold_of C * score (real_rows [(pf, bad); ([(one, weight scaled C C)], [(here, 1%Q)]);
        ([(here, (- weight scaled C C)%Q)], [(one, 1%Q)])]) (X i) (X (pos d t))
     = - (coldness * INR T) + coldness * INR t - K * b2R (real_ (seen n d (lit b)) t)).
  { intros t Ht. pose proof (pos_last d t R ltac:(lia)) as Lt.
    rewrite !score_cons. rewrite (bit_row_value l X b bad (pos d t) H Eb Lt), pos_inside by lia.
    change (Nat.leb 1 t && lit b (pos d t)) with (real_ (seen n d (lit b)) t).
    remember (b2R (real_ (seen n d (lit b)) t)) as bt eqn:Ebt. clear Ebt HK.
    unfold K. remember (dot (real_form pf) (X i)) as pen eqn:Epen. clear Epen.
    cbn. rewrite (feat_value l X One _ _ H Eo (inside_last i Hi)), (feat_value l X One _ _ H Eo Lt),
      (feat_value l X _ _ _ H Eh Lt), (feat_value l X _ _ _ H Eh (inside_last i Hi)), toward_value
        by lia.
    rewrite Vq. cbn [feature_value]. q2r.
    pose proof (weight_cold C C ltac:(lra)) as W. set (c := Q2R (weight scaled C C)) in *.
    rewrite <- W. field. lra. }
  destruct strict.
  - destruct T as [|T']; [lia|]. replace (S T' - 1)%nat with T' by lia.
    apply (latest_attends coldness K (- (coldness * INR (S T'))));
      [lia || lra|rewrite S_INR in HK; nra| |].
    + intros t Ht. apply Es. lia.
    + intros t Ht. rewrite (bit_row_value l X x u _ H Eu (pos_last d t R ltac:(lia))), pos_inside
        by lia. reflexivity.
  - apply (latest_attends coldness K (- (coldness * INR T))); [lra|exact HK|exact Es|].
    intros t Ht. rewrite (bit_row_value l X x u _ H Eu (pos_last d t R ltac:(lia))), pos_inside
      by lia. reflexivity.
Qed.

Lemma previous_read x d r u i : (1 <= i <= n)%nat -> rightward d ->
  previous_rows scaled l C d = Some r -> bit_row l x = Some u ->
  Rabs (read (P * cold_of C) (r, mask_of false d) u X i
        - b2R (Nat.ltb 1 (pos d i) && seen n d (lit x) (pos d i - 1))) <= exp (- Q2R C).
Proof.
  intros Hi R Er Eu. pose proof coldness_least as Cs.
  eapply Rle_trans; [|exact colder_leaks]. unfold read. cbn [fst snd].
  rewrite soft_toward by assumption. pose proof (pos_range d i Hi) as Ti. set (T := pos d i) in *.
  assert (Xi : pos d T = i) by (apply pos_pos; lia).
  pose proof (toward_value d T ltac:(lia)) as Vq. rewrite Xi in Vq.
  pose proof (per_pos scaled) as Pp.
  unfold previous_rows in Er. step Er here Eh. step Er one Eo. step Er k Ek.
  step Er a Ea. step Er a' Ea'. injection Er as <-.
  apply previous_attends; [lra|lia| |].
  - intros t Ht. pose proof (pos_last d t R ltac:(lia)) as Lt. rewrite !score_cons.
    pose proof (inside_last i Hi) as Li. cbn.
    rewrite (feat_value l X One _ _ H Eo Li), (feat_value l X One _ _ H Eo Lt),
      (feat_value l X _ _ _ H Eh Lt), (feat_value l X _ _ _ H Eh Li),
      (feat_value l X _ _ _ H Ek Li), (feat_value l X _ _ _ H Ea Li),
      (feat_value l X _ _ _ H Ea' Lt), toward_value by lia.
    rewrite Vq.
    assert (U : feature_value (if scaled then Ordinary true else One) i = 1 / per scaled).
    { unfold per. destruct scaled; cbn [feature_value per]; [rewrite inside_true by exact Hi; simpl;
        lra|lra]. }
    rewrite U. cbn [feature_value]. q2r. unfold previous_score.
    rewrite <- (alternating_pos d T t) by lia. rewrite Xi.
    pose proof (weight_cold C C ltac:(lra)) as W. set (c := Q2R (weight scaled C C)) in *.
    rewrite <- W. change (per false) with 1. field. lra.
  - intros t Ht. rewrite (bit_row_value l X x u _ H Eu (pos_last d t R ltac:(lia))), pos_inside
      by lia. reflexivity.
Qed.

(** ** Shift *)

Lemma swap_residue a1 b1 a2 b2 m : (0 < m)%nat -> (a1 + b1 = a2 + b2 + m)%nat ->
  Nat.modulo a1 m = Nat.modulo a2 m -> Nat.modulo b1 m = Nat.modulo b2 m.
Proof.
  intros Hm E R. pose proof (Nat.div_mod a1 m ltac:(lia)) as D1.
  pose proof (Nat.div_mod a2 m ltac:(lia)) as D2.
  rewrite <- (Nat.mod_add b1 (a1 / m) m), <- (Nat.mod_add b2 (a2 / m + 1) m) by lia. f_equal. nia.
Qed.

(* the residue of the query decides which row speaks *)
Lemma residue_score pen m back rs i j : (0 < m)%nat -> (1 <= i <= n)%nat -> (j <= last)%nat ->
  residue_rows l pen m back = Some rs ->
  score (real_rows rs) (X i) (X j)
  = - Q2R pen * (b2R (inside j)
    - b2R (inside j && Nat.eqb (Nat.modulo (j + back) m) (Nat.modulo i m))).
Proof.
  intros Hm Hi Hj E. unfold residue_rows in E. step E o Eo. apply every_spec in E.
  pose proof (inside_last i Hi) as Li.
  set (hit := fun r => b2R (Nat.eqb (Nat.modulo i m) (Nat.modulo (r + back) m))).
  assert (S1 : forall k rs, Forall2 (fun r b => (q <- feat l (Residue m (Nat.modulo (r + back) m));;
        k <- feat l (Residue m r);; Some ([(q, (- pen)%Q)], [(o, 1%Q); (k, (-1)%Q)])) = Some b)
          (seq 0 k) rs ->
     score (real_rows rs) (X i) (X j)
     = - Q2R pen * sum (fun r =>
       hit r * (b2R (inside j) - b2R (inside j && Nat.eqb (Nat.modulo j m) r))) k).
  { clear E rs. induction k as [|k IH]; intros rs F.
    - inversion F; subst. cbn. ring.
    - rewrite seq_S in F. apply Forall2_app_inv_l in F as (r1 & r2 & F1 & F2 & ->).
      inversion F2 as [|a b x y Fb Fn]; subst. inversion Fn; subst. cbn [Nat.add] in Fb.
      step Fb q Fq. step Fb key Fk. injection Fb as <-.
      rewrite score_app, (IH r1 F1). cbn [sum].
      rewrite score_cons. cbn [real_rows map Transformer.score real_form Transformer.dot fst snd].
      rewrite (feat_value l X _ _ i H Fq Li), (feat_value l X _ _ j H Eo Hj),
        (feat_value l X _ _ j H Fk Hj).
      cbn [feature_value]. rewrite (inside_true i Hi). change (per false) with 1. q2r. cbn [andb].
      unfold hit. field. }
  rewrite (S1 m rs E). clear S1 E rs. f_equal.
  (* exactly one residue is the query's *)
  set (r0 := Nat.modulo (i + (m - Nat.modulo back m)) m).
  assert (Hr : (r0 < m)%nat) by (apply Nat.mod_upper_bound; lia).
  assert (Hit : Nat.modulo (r0 + back) m = Nat.modulo i m).
  { unfold r0. rewrite Nat.add_mod_idemp_l by lia. pose proof (Nat.div_mod back m ltac:(lia)) as D.
    pose proof (Nat.mod_upper_bound back m ltac:(lia)).
    replace (i + (m - Nat.modulo back m) + back)%nat with (i + (back / m + 1) * m)%nat by nia.
    apply Nat.mod_add. lia. }
  assert (Only : forall r, (r < m)%nat -> Nat.modulo (r + back) m = Nat.modulo i m -> r = r0).
  { intros r L R. rewrite <- Hit in R.
    destruct (Nat.le_gt_cases r0 r) as [C1|C1].
    - destruct (same_residue (r + back) (r0 + back) m Hm ltac:(lia) R) as (k & K). destruct k; nia.
    - destruct (same_residue (r0 + back) (r + back) m Hm ltac:(lia) (eq_sym R)) as (k & K).
      destruct k; nia. }
  rewrite (sum_others r0 _ m Hr). rewrite (others_ext r0 _ (fun _ => 0)).
  - rewrite others_const by exact Hr. unfold hit. rewrite Hit, Nat.eqb_refl. cbn [b2R].
    replace (Nat.eqb (Nat.modulo (j + back) m) (Nat.modulo i m)) with (Nat.eqb (Nat.modulo j m) r0);
      [ring|].
    pose proof (Nat.mod_upper_bound j m ltac:(lia)) as U.
    destruct (Nat.eqb_spec (Nat.modulo j m) r0) as [Ej|Ej],
      (Nat.eqb_spec (Nat.modulo (j + back) m) (Nat.modulo i m)) as [Ei|Ei];
      try reflexivity; exfalso.
    + apply Ei. rewrite <- Hit, <- Ej, Nat.add_mod_idemp_l by lia. reflexivity.
    + apply Ej, Only; [exact U|]. rewrite Nat.add_mod_idemp_l by lia. exact Ei.
  - intros r L N. unfold hit.
    destruct (Nat.eqb_spec (Nat.modulo i m) (Nat.modulo (r + back) m)) as [Er|]; [|cbn; ring].
    exfalso. apply N, Only; [exact L|congruence].
Qed.

Lemma shift_read x c d m r u i : (1 <= i <= n)%nat -> rightward d ->
  shift_rows scaled l C c d m = Some r -> bit_row l x = Some u ->
  Rabs (read (P * cold_of C) (r, mask_of false d) u X i
        - b2R (Nat.ltb c (pos d i) && seen n d (lit x) (pos d i - c)))
  <= exp (- Q2R C) + 3 * (exp (- Q2R C) * exp (- Q2R C)).
Proof.
  intros Hi R Er Eu. pose proof coldness_least as Cs. pose proof colder_leaks as Leak.
  apply Rle_trans with (exp (- coldness) + 3 * (exp (- coldness) * exp (- coldness)));
    [|pose proof (exp_pos (- coldness)) as Pos; revert Leak Pos; generalize (exp (- coldness));
      generalize (exp (- Q2R C)); intros; nra]. unfold read. cbn [fst snd].
  rewrite soft_toward by assumption. pose proof (pos_range d i Hi) as Ti. set (T := pos d i) in *.
  assert (Xi : pos d T = i) by (apply pos_pos; lia).
  pose proof (toward_value d T ltac:(lia)) as Vq. rewrite Xi in Vq.
  pose proof (inside_last i Hi) as Li.
  pose proof (per_pos scaled) as Pp.
  unfold shift_rows in Er. destruct (Nat.leb 1 c && Nat.ltb c m) eqn:Cm; [|discriminate].
  apply andb_true_iff in Cm as [C1 C2]. apply Nat.leb_le in C1. apply Nat.ltb_lt in C2.
  step Er here Eh. step Er one Eo. step Er rs Es. injection Er as <-.
  set (pen := if scaled then 2%Q else _) in *.
  set (back := match d with Past => c | Future => (m - c)%nat end) in *.
  set (A := P * cold_of C * Q2R pen).
  assert (HA : 2 * coldness <= A - coldness * INR (T - (T - c))).
  { assert (L1 : (T - (T - c) <= c)%nat) by lia. assert (L2 : (T - (T - c) <= n)%nat) by lia.
    apply le_INR in L1, L2. unfold A, pen, cold_of, weight, chill. destruct scaled eqn:Sc.
    - pose proof (Hscaled eq_refl). replace (Q2R 2) with 2 by (unfold Q2R; simpl; lra).
      pose proof (pos_INR n). rewrite Rmult_1_l. nra.
    - pose proof (Hunscaled eq_refl). q2r. rewrite plus_IZR, <- INR_IZR_INZ.
      assert (0 < P * Q2R C) by nra. nra. }
  apply (shift_attends coldness A m c); try assumption; try lia; [lra| |].
  - intros t Ht. pose proof (pos_last d t R ltac:(lia)) as Lt. rewrite !score_cons.
    rewrite (residue_score pen m back rs i (pos d t) ltac:(lia) Hi Lt Es).
    cbn [real_form map Transformer.dot fst snd].
    rewrite (feat_value l X One _ _ H Eo Li), (feat_value l X One _ _ H Eo Lt),
      (feat_value l X _ _ _ H Eh Lt), (feat_value l X _ _ _ H Eh Li), toward_value, Vq by lia.
    cbn [feature_value]. q2r. rewrite pos_inside by lia.
    assert (M : b2R (Nat.leb 1 t) - b2R (Nat.leb 1 t && Nat.eqb (Nat.modulo (pos d t + back) m)
      (Nat.modulo i m))
                = if matching m c T t then 0 else 1).
    { unfold matching. destruct t as [|t']; [cbn; lra|]. set (t := S t') in *.
      change (Nat.leb 1 t) with true. change (Nat.eqb t 0) with false. cbn [orb andb].
      replace (Nat.eqb (Nat.modulo (pos d t + back) m) (Nat.modulo i m))
        with (Nat.eqb (Nat.modulo (t + c) m) (Nat.modulo T m)).
      - destruct (Nat.eqb (Nat.modulo (t + c) m) (Nat.modulo T m)); cbn; lra.
      - assert (Iff : Nat.modulo (t + c) m = Nat.modulo T m <->
          Nat.modulo (pos d t + back) m = Nat.modulo i m).
        { unfold back, T. destruct d; cbn [Program.pos]; [reflexivity|].
          assert (S n - i <= n)%nat by lia. fold T in Ht. cbn [Program.pos] in Ht.
          split; apply swap_residue; lia. }
        destruct (Nat.eqb_spec (Nat.modulo (t + c) m) (Nat.modulo T m)) as [Q|Q],
          (Nat.eqb_spec (Nat.modulo (pos d t + back) m) (Nat.modulo i m)) as [Q'|Q'];
            try reflexivity; exfalso; tauto. }
    rewrite M. unfold shift_score, A.
    pose proof (weight_cold C C ltac:(lra)) as W. set (cc := Q2R (weight scaled C C)) in *.
    rewrite <- W. destruct (matching m c T t); field; lra.
  - intros t Ht. rewrite (bit_row_value l X x u _ H Eu (pos_last d t R ltac:(lia))), pos_inside
      by lia. reflexivity.
Qed.

(** ** Average *)

(* Σ a·signal at a position, 0 at the sinks *)
Definition weighed (ts : list (Z * option nat)) (j : nat) : R :=
  if inside j then IZR (weigh v ts j) else 0.

Lemma value_weigh ts r q u j : value_row l (Average ts r) q = Some u -> (j <= last)%nat ->
  dot (real_form u) (X j) = weighed ts j / IZR (Zpos q).
Proof.
  intros E Hj. cbn [value_row] in E. apply every_spec in E. unfold weighed.
  assert (Q0 : 0 < IZR (Zpos q)) by (apply IZR_lt; lia).
  induction E as [|[a x] [c' b] ts u Ez1 E IH]; [cbn; destruct (inside j); unfold Rdiv; ring|].
  cbn [snd fst] in Ez1. step Ez1 c Ec. injection Ez1 as <- <-.
  cbn [real_form map Transformer.dot fst snd]. fold (real_form u). rewrite IH.
  cbn [weigh fold_right fst snd]. fold (weigh v ts j).
  assert (Xc : X j c = if inside j then b2R (lit (Lit x true) j) else 0).
  { destruct x as [s|]; cbn [Program.lit of plain].
    - rewrite (bit_value l X s c j H Ec Hj). unfold Program.lit. cbn [of plain].
      destruct (inside j), (bit v s j); reflexivity.
    - rewrite (feat_value l X _ _ j H Ec Hj). cbn [feature_value per]. destruct (inside j); simpl;
        lra. }
  rewrite Xc. unfold Q2R. cbn [Qnum Qden]. destruct (inside j); [|field; lra].
  rewrite plus_IZR, mult_IZR. destruct (lit (Lit x true) j); cbn [b2R]; field; lra.
Qed.

Lemma sum_over_seq f a k : IZR (sum_over f (seq a k)) = sum (fun j => IZR (f (a + j)%nat)) k.
Proof.
  induction k as [|k IHk]; [reflexivity|]. rewrite seq_S.
  assert (A : forall l x, sum_over f (l ++ [x]) = (sum_over f l + f x)%Z).
  { intros l0 x. induction l0 as [|y l0 IH]; cbn [app sum_over fold_right]; [ring|].
    fold (sum_over f (l0 ++ [x])) (sum_over f l0). rewrite IH. ring. }
  rewrite A, plus_IZR, IHk. reflexivity.
Qed.

Lemma average_read ts r q u i : (1 <= i <= n)%nat -> sighted eos (Average ts r) (over_range r)
  = true ->
  value_row l (Average ts r) q = Some u ->
  read (P * cold_of C) ([], over_range r) u X i * IZR (Zpos q) * INR (keys r i)
    = IZR (sum_over (weigh v ts) (span r n i)).
Proof.
  intros Hi Si Eu. assert (Q0 : 0 < IZR (Zpos q)) by (apply IZR_lt; lia).
  assert (Mean : forall f k, (0 < k)%nat ->
    attend (fun _ => P * cold_of C * 0) f k = sum f k / INR k).
  { intros f k Hk. rewrite (attend_ext _ (fun _ => 0) f f) by (intros; ring). apply average, Hk. }
  assert (Value : forall j, (j <= last)%nat ->
    dot (real_form u) (X j) = weighed ts j / IZR (Zpos q))
    by (intros; apply (value_weigh ts r q u); assumption).
  assert (Sum : forall g k, (forall j, (j < k)%nat -> (g j <= last)%nat) ->
     sum (fun t => dot (real_form u) (X (g t))) k = / IZR (Zpos q) * sum (fun t => weighed ts (g t))
       k).
  { intros g k G. rewrite <- sum_scal. apply sum_ext. intros j Hj. rewrite Value by (apply G, Hj).
    unfold Rdiv. ring. }
  unfold read. cbn [fst snd]. change (score (real_rows []) ) with (fun _ _ : nat -> R => 0).
  cbv beta.
  destruct r; cbn [over_range keys span].
  - rewrite (soft_toward false Past) by (assumption || discriminate). cbn [Program.pos].
    rewrite Mean by lia. rewrite (Sum (fun t => t)) by (intros; pose proof (inside_last i Hi); lia).
    rewrite sum_over_seq, sum_first. unfold weighed at 1. rewrite (inside_false 0) by lia.
    rewrite Rplus_0_l. rewrite (sum_ext _ (fun j => IZR (weigh v ts (1 + j)))).
    + field. split; (lra || (apply not_0_INR; lia)).
    + intros j Hj. unfold weighed. rewrite inside_true by lia. reflexivity.
  - assert (Eo : eos = true) by exact Si.
    assert (L : last = S n) by (unfold last; rewrite Eo; reflexivity).
    rewrite (soft_toward false Future) by (assumption || (intros _; exact Eo)). cbn [Program.pos].
    rewrite Mean by lia. rewrite (Sum (fun t => (S n - t)%nat)) by (intros; lia).
    rewrite sum_over_seq, sum_first. unfold weighed at 1. rewrite (inside_false (S n - 0)) by lia.
    rewrite Rplus_0_l, sum_rev. rewrite (sum_ext _ (fun j => IZR (weigh v ts (i + j)))).
    + field. split; (lra || (apply not_0_INR; lia)).
    + intros j Hj. unfold weighed. rewrite inside_true by lia. do 2 f_equal. lia.
  - assert (Eo : eos = true) by exact Si.
    assert (L : last = S n) by (unfold last; rewrite Eo; reflexivity).
    change (sees Any i) with (fun _ : nat => true). rewrite soft_attend, L.
    rewrite Mean by lia. rewrite (Sum (fun t => t)) by (intros; lia).
    rewrite sum_over_seq, sum_first. unfold weighed at 1. rewrite (inside_false 0) by lia.
    rewrite Rplus_0_l. cbn [sum]. unfold weighed at 2. rewrite (inside_false (S n)) by lia.
    rewrite Rplus_0_r.
    rewrite (sum_ext _ (fun j => IZR (weigh v ts (1 + j)))).
    + field. split; (lra || (apply not_0_INR; lia)).
    + intros j Hj. unfold weighed. rewrite inside_true by lia. reflexivity.
Qed.

(** ** Sign *)

Lemma fold_min x a ls : In x (a :: ls) -> (fold_right Z.min a ls <= x)%Z.
Proof.
  intros I. induction ls as [|b ls IH]; simpl in *; [destruct I as [->|[]]; lia|].
  destruct I as [->|[->|I]]; [|lia|];
    [assert (fold_right Z.min x ls <= x)%Z by (apply IH; left; reflexivity)
                                     |assert (fold_right Z.min a ls <= x)%Z
                                       by (apply IH; right; exact I)]; lia.
Qed.
Lemma fold_max x a ls : In x (a :: ls) -> (x <= fold_right Z.max a ls)%Z.
Proof.
  intros I. induction ls as [|b ls IH]; simpl in *; [destruct I as [->|[]]; lia|].
  destruct I as [->|[->|I]]; [|lia|];
    [assert (x <= fold_right Z.max x ls)%Z by (apply IH; left; reflexivity)
                                     |assert (x <= fold_right Z.max a ls)%Z
                                       by (apply IH; right; exact I)]; lia.
Qed.

Lemma weigh_bounds ts j : (1 <= j <= n)%nat ->
  (low p alphabet ts <= weigh v ts j <= high p alphabet ts)%Z.
Proof.
  intros Hj.
  assert (B : (other_part p (Z.min 0) ts + token_part p ts (symbol w j) <= weigh v ts j
               <= other_part p (Z.max 0) ts + token_part p ts (symbol w j))%Z).
  { induction ts as [|[a x] ts IH]; [cbn; lia|].
    assert (Eo : forall f, other_part p f ((a, x) :: ts) = (match x with
      | Some y => match nth_error p y with Some (Token _) => 0 | _ => f a end
        | None => a end + other_part p f ts)%Z)
      by reflexivity.
    assert (Et : token_part p ((a, x) :: ts) (symbol w j) = (match x with
      | Some y => match nth_error p y with
                  | Some (Token set) => if existsb (Nat.eqb (symbol w j)) set then a else 0
                  | _ => 0 end
      | None => 0 end + token_part p ts (symbol w j))%Z) by reflexivity.
    assert (Ew : weigh v ((a, x) :: ts) j
      = (a * (if lit (Lit x true) j then 1 else 0) + weigh v ts j)%Z) by reflexivity.
    rewrite !Eo, Et, Ew. clear Eo Et Ew.
    generalize dependent (other_part p (Z.min 0) ts).
    generalize dependent (other_part p (Z.max 0) ts).
    intros hi lo IH.
    destruct x as [s|]; [|cbn [Program.lit of plain]; lia].
    assert (Bit : lit (Lit (Some s) true) j = bit v s j) by (unfold Program.lit; cbn;
      destruct (bit v s j); reflexivity).
    rewrite Bit. destruct (nth_error p s) as [g|] eqn:Eg.
    - pose proof (Hv s _ Eg j Hj) as M. destruct g; try (destruct (bit v s j); lia).
      cbn [means] in M. rewrite M. destruct (existsb (Nat.eqb (symbol w j)) symbols); lia.
    - destruct (bit v s j); lia. }
  assert (I : In (token_part p ts (symbol w j)) (tokens p alphabet ts)).
  { unfold tokens. apply in_map. apply in_seq. specialize (Hw j Hj). lia. }
  unfold low, high. destruct (tokens p alphabet ts) as [|a ls]; [destruct I|].
  pose proof (fold_min _ _ _ I) as F1. pose proof (fold_max _ _ _ I) as F2. revert B F1 F2.
  generalize (other_part p (Z.min 0) ts). generalize (other_part p (Z.max 0) ts).
  generalize (fold_right Z.min a ls). generalize (fold_right Z.max a ls). intros. lia.
Qed.

Lemma sum_over_bounds f ls a b : (forall j, In j ls -> (a <= f j <= b)%Z) ->
  (a * Z.of_nat (length ls) <= sum_over f ls <= b * Z.of_nat (length ls))%Z.
Proof.
  induction ls as [|j ls IH]; intros B; [cbn; lia|]. cbn [sum_over fold_right length].
  fold (sum_over f ls). specialize (IH (fun k I => B k (or_intror I))).
  specialize (B j (or_introl eq_refl)). nia.
Qed.

Lemma span_inside r i j : (1 <= i <= n)%nat -> In j (span r n i) -> (1 <= j <= n)%nat.
Proof. intros Hi I. destruct r; cbn [span] in I; apply in_seq in I; lia. Qed.
Lemma span_length r i : (1 <= i <= n)%nat -> (length (span r n i) <= keys r i)%nat.
Proof. intros Hi. destruct r; cbn [span keys]; rewrite seq_length; lia. Qed.

(* the mean that a comparison reads: what it stands for, its bounds, and its row of scores *)
Lemma mean_row_score g a rng ks rw i : (1 <= i <= n)%nat -> ranged p a rng = true ->
  mean_row l g a ks = Some rw ->
  exists m, m * INR (keys rng i) = IZR (sum_of v a i) /\
    - IZR (Z.max 0 (- low p alphabet (terms_of p a))) <= m
        <= IZR (Z.max 0 (high p alphabet (terms_of p a))) /\
    forall j, (j <= last)%nat -> score (real_rows rw) (X i) (X j)
      = Q2R g * m * fold_right (fun f s => feature_value f j + s) 0 ks.
Proof.
  intros Hi R E. assert (K0 : 0 < INR (keys rng i)) by (apply lt_0_INR; destruct rng; cbn [keys];
    lia).
  destruct a as [s|]; cbn [mean_row] in E.
  - destruct (find_mean s l) as [[c q]|] eqn:F; [|discriminate]. step E l0 E0. injection E as <-.
    apply find_mean_spec in F. cbn [ranged] in R. cbn [sum_of terms_of].
    destruct (nth_error p s) as [[]|] eqn:Eg; try discriminate R.
    assert (Er : r = rng) by (destruct rng, r; (discriminate || reflexivity)). subst r.
    pose proof (H c _ F terms rng Eg i Hi) as M. exists (X i c * IZR (Zpos q)). split; [exact M|].
    split.
    + pose proof (Hv s _ Eg i Hi) as V. cbn [means] in V.
      pose proof (sum_over_bounds (weigh v terms) (span rng n i) (low p alphabet terms)
        (high p alphabet terms)) as B.
      specialize (B (fun j I => weigh_bounds terms j (span_inside rng i j Hi I))).
      rewrite <- V in B.
      pose proof (span_length rng i Hi) as L.
      set (lo := low p alphabet terms) in *. set (hi := high p alphabet terms) in *.
      assert (Z1 : (- Z.max 0 (- lo) * Z.of_nat (keys rng i) <= sums v s i)%Z) by nia.
      assert (Z2 : (sums v s i <= Z.max 0 hi * Z.of_nat (keys rng i))%Z) by nia.
      apply IZR_le in Z1, Z2. rewrite mult_IZR, <- INR_IZR_INZ in Z1, Z2. rewrite opp_IZR in Z1.
      split; nra.
    + intros j Hj. cbn [real_rows map fst snd Transformer.score real_form Transformer.dot]. q2r.
      apply every_spec in E0.
      assert (D : dot (real_form (map (fun f => (f, 1%Q)) l0)) (X j) = fold_right (fun f s =>
        feature_value f j + s) 0 ks).
      { clear -E0 H Hj. induction E0 as [|f c ks l0 Ez1 E0 IH]; [reflexivity|].
        cbn [map real_form Transformer.dot fst snd fold_right].
        fold (real_form (map (fun f => (f, 1%Q)) l0)).
        rewrite IH, (feat_value l X f c j H Ez1 Hj). q2r. lra. }
      unfold real_form in D |- *. rewrite D. ring.
  - injection E as <-. exists 0. cbn [sum_of]. repeat split; try lra.
    + assert (0 <= IZR (Z.max 0 (- low p alphabet (terms_of p None)))) by (apply IZR_le; lia). lra.
    + apply IZR_le. lia.
    + intros. cbn. ring.
Qed.

Lemma sign_read past future total a b k D r u i : (1 <= i <= n)%nat ->
  rightward (sign_direction past future total) ->
  ranged p past Before && ranged p future After && ranged p total All
    && Qle_bool (4 * C * inject_Z (opposed p alphabet past future total + 1)) (inject_Z (Zpos D))
      = true ->
  sign_rows scaled l C past future total a b k D = Some r ->
  value_row l (Sign past future total a b k) D = Some u ->
  Rabs (read (P * cold_of C) (r, mask_of false (sign_direction past future total)) u X i
    - b2R (Z.leb k (sum_of v past i + sum_of v future i + sum_of v total i
                    + a * Z.of_nat i + b * Z.of_nat n))) <= exp (- Q2R C).
Proof.
  intros Hi R Ok Er Eu. pose proof coldness_least as Cs. pose proof chill_least as Ch.
  eapply Rle_trans; [|exact colder_leaks]. pose proof (per_pos scaled) as Pp.
  apply andb_true_iff in Ok as [Ok Steep]. apply andb_true_iff in Ok as [Ok Rt].
  apply andb_true_iff in Ok as [Rp Rf].
  apply Qle_bool_iff, Qle_Rle in Steep. q2r_in Steep. rewrite plus_IZR in Steep.
  unfold read. cbn [fst snd]. rewrite soft_toward by assumption.
  set (d := sign_direction past future total) in *.
  pose proof (pos_range d i Hi) as Ti. set (T := pos d i) in *.
  assert (Xi : pos d T = i) by (apply pos_pos; lia).
  pose proof (toward_value d T ltac:(lia)) as Vq. rewrite Xi in Vq.
  pose proof (inside_last i Hi) as Li.
  unfold sign_rows in Er. fold d in Er.
  step Er n0 E. step Er n1 E0. step Er n2 Ez1. step Er n3 E2. step Er l0 E3. step Er l1 E4.
  step Er l2 E5. step Er l3 E6. injection Er as <-.
  destruct (mean_row_score _ _ Before _ _ i Hi Rp E3) as (x & Mx & Bx & Sx).
  destruct (mean_row_score _ _ All _ _ i Hi Rt E4) as (t & Mt & Bt & St).
  destruct (mean_row_score _ _ After _ _ i Hi Rf E5) as (z & Mz & Bz & Sz).
  cbn [fold_right] in Sx, St, Sz.
  set (line := (IZR a + IZR b) * INR i + IZR b * INR (S n - i)).
  assert (Sl : forall j, (j <= last)%nat -> score (real_rows l3) (X i) (X j)
     = Q2R (weight scaled C (4 * C)) * (line / per scaled) * b2R (inside j)).
  { intros j Hj. destruct (Z.eqb a 0 && Z.eqb b 0) eqn:Z0.
    - injection E6 as <-. apply andb_true_iff in Z0 as [A0 B0]. apply Z.eqb_eq in A0, B0.
      unfold line. rewrite A0, B0. cbn. field. lra.
    - step E6 n4 E7. pose proof (feat_value l X _ _ i H E7 Li) as Vi. cbn [feature_value] in Vi.
      rewrite (inside_true i Hi) in Vi.
      pose proof (feat_value l X _ _ j H Ez1 Hj) as Vo. cbn [feature_value] in Vo.
      change (per false) with 1 in Vo.
      destruct (Z.eqb_spec b 0) as [->|Bn].
      + injection E6 as <-. cbn. rewrite Vi, Vo. q2r. unfold line. field. lra.
      + step E6 n5 E8. injection E6 as <-. pose proof (feat_value l X _ _ i H E8 Li) as Vr.
        cbn [feature_value] in Vr.
        rewrite (inside_true i Hi) in Vr.
        cbn [real_rows real_form map Transformer.dot Transformer.score fst snd]. rewrite Vi, Vr, Vo.
        q2r. rewrite plus_IZR.
        unfold line. field. lra. }
  set (rest := [_; _; _]).
  assert (Sr : forall j, (j <= last)%nat -> score (real_rows rest) (X i) (X j)
     = Q2R (weight scaled C (4 * C)) * (- (IZR k + IZR b - 1 / 2) / per scaled) * b2R (inside j)
       + Q2R (weight scaled C (inject_Z (Zpos D))) * (feature_value (toward scaled d) j
           - INR T / per scaled * b2R (inside j))).
  { intros j Hj. unfold rest. rewrite !score_cons.
    cbn [real_rows real_form map Transformer.dot Transformer.score fst snd].
    rewrite (feat_value l X _ _ i H E2 Li), (feat_value l X _ _ j H Ez1 Hj),
      (feat_value l X _ _ i H E0 Li),
      (feat_value l X _ _ j H E Hj), (feat_value l X _ _ i H E Li), Vq.
    unfold unit_feature. cbn [feature_value]. rewrite (inside_true i Hi). change (per false) with 1.
    q2r.
    rewrite plus_IZR. cbn [b2R]. field. lra. }
  clearbody rest.
  pose proof (weight_cold C (4 * C) ltac:(lra)) as W4. q2r_in W4.
  pose proof (weight_cold C (inject_Z (Zpos D)) ltac:(lra)) as WD. q2r_in WD.
  set (g := Q2R (weight scaled C (4 * C))) in *.
  set (e := Q2R (weight scaled C (inject_Z (Zpos D)))) in *.
  set (s := fun t0 => P * cold_of C * score (real_rows (l0 ++ l1 ++ l2 ++ l3 ++ rest)) (X i)
    (X (pos d t0))).
  (* the score as a number *)
  set (bracket := fun j => x * (INR j + 1) + t * (INR n + 2) + z * (INR n + 2 - INR j) + line
    - (IZR k + IZR b - 1 / 2)).
  assert (Sc : forall j, (j <= last)%nat ->
    P * cold_of C * score (real_rows (l0 ++ l1 ++ l2 ++ l3 ++ rest)) (X i) (X j)
     = if inside j then chill * (4 * Q2R C) * bracket j
            + chill * IZR (Zpos D) * (per scaled * feature_value (toward scaled d) j - INR T)
       else chill * IZR (Zpos D) * (per scaled * feature_value (toward scaled d) j)).
  { intros j Hj. rewrite !score_app, (Sx j Hj), (St j Hj), (Sz j Hj), (Sl j Hj), (Sr j Hj).
    rewrite <- W4, <- WD. unfold unit_feature. cbn [feature_value].
    destruct (inside j) eqn:Ij; cbn [b2R].
    - apply inside_spec in Ij. rewrite minus_INR, S_INR by lia. unfold bracket. field. lra.
    - field. lra. }
  assert (Sink : s 0%nat = 0).
  { unfold s. rewrite Sc by (apply pos_last; [assumption|lia]). rewrite pos_inside by lia.
    cbn [Nat.leb].
    rewrite toward_value by lia. simpl. field. lra. }
  (* the line: at the query, the comparison; away from it, at least 4C a step *)
  set (tot := IZR (sum_of v past i + sum_of v future i + sum_of v total i + a * Z.of_nat i
    + b * Z.of_nat n)).
  assert (Sum : bracket i = tot - IZR k + 1 / 2).
  { unfold bracket, tot, line. rewrite !plus_IZR, !mult_IZR, <- !INR_IZR_INZ.
    cbn [keys] in Mx, Mt, Mz. rewrite <- Mx, <- Mt, <- Mz, !S_INR, minus_INR, S_INR by lia. ring. }
  set (slope := match d with Past => 4 * coldness * (x - z) + chill * IZR (Zpos D)
    | Future => 4 * coldness * z + chill * IZR (Zpos D) end).
  assert (St0 : forall t0, (1 <= t0 <= T)%nat ->
    s t0 = 4 * coldness * (tot - IZR k + 1 / 2) + slope * (INR t0 - INR T)).
  { intros t0 Ht0. unfold s. rewrite Sc by (apply pos_last; [assumption|lia]).
    rewrite pos_inside by lia. destruct (Nat.leb_spec 1 t0); [|lia]. rewrite toward_value by lia.
    rewrite <- Sum. unfold bracket, slope.
    replace (per scaled * (INR t0 / per scaled)) with (INR t0) by (field; lra).
    clear Sl Sc. revert T Ti Xi Vq Ht0 Sr Sink. destruct d eqn:Ed; cbn [Program.pos]; intros.
    - ring.
    - (* only future counts *)
      assert (x = 0 /\ t = 0) as [-> ->].
      { unfold d, sign_direction in Ed. destruct past, total, future; try discriminate.
        cbn [sum_of] in Mx, Mt. split.
        - apply (Rmult_eq_reg_r (INR (keys Before i))); [lra|apply not_0_INR; cbn; lia].
        - apply (Rmult_eq_reg_r (INR (keys All i))); [lra|apply not_0_INR; cbn; lia]. }
      rewrite !minus_INR, !S_INR by lia. ring. }
  assert (Slope : 4 * coldness <= slope).
  { unfold slope, opposed in *. fold d in Steep. destruct d eqn:Ed.
    - rewrite plus_IZR in Steep. nra.
    - nra. }
  assert (V0 : dot (real_form u) (X (pos d 0)) = 0 /\ forall t0, (1 <= t0 <= T)%nat ->
    dot (real_form u) (X (pos d t0)) = 1).
  { cbn [value_row] in Eu. step Eu n4 E7. injection Eu as <-.
    assert (Vu : forall t0, (t0 <= T)%nat -> dot (real_form [(n4, 1%Q)]) (X (pos d t0))
      = b2R (Nat.leb 1 t0)).
    { intros t0 Ht0. cbn [real_form map Transformer.dot fst snd].
      rewrite (feat_value l X _ _ _ H E7 (pos_last d t0 R ltac:(lia))).
      cbn [feature_value]. rewrite pos_inside by lia. change (per false) with 1. q2r. field. }
    split; [rewrite Vu by lia; reflexivity|]. intros t0 Ht0. rewrite Vu by lia.
    destruct (Nat.leb_spec 1 t0); [reflexivity|lia]. }
  destruct V0 as [V0 V1].
  apply (sign_attends coldness slope s); try assumption; try lia; [lra| |].
  - intros t0 Ht0. rewrite (St0 t0 Ht0), (St0 T) by lia. ring.
  - rewrite (St0 T) by lia. unfold tot.
    match goal with |- context [Z.leb k ?y] => destruct (Z.leb_spec k y) as [L|L];
      [|assert (L' : (y <= k - 1)%Z) by lia] end.
    + apply IZR_le in L. nra.
    + apply IZR_le in L'. rewrite minus_IZR in L'. nra.
Qed.
End Head.
End Lowered.
