(** Outputs that are numbers: weighted sums of means, counts and bits. In the reals the logit is
    the number itself, but for what a head that selects puts elsewhere. A model may have outputs
    that are bits, and after them outputs that are numbers. *)
From Coq Require Import Reals Lra Lia Arith NArith ZArith QArith Qreals Qabs List Bool.
From Softhat Require Import Sums Masks Formula Program Lowering Lowered Correct Surface Evaluated
  Compare
  Model Kernel Values.
From Softhat Require Transformer.
Import ListNotations.
Open Scope nat_scope.

(* Σ a·signal + rest *)
Record number := Number { parts : list (Q * nat); rest : Q }.

(** * What a number is *)

Section Number.
Variables (p : program) (n : nat) (v : valuation).

(* An average is a mean over the positions that its head sees, sinks among them: one for a sum
   over the past or the future, two for a sum over everything. A blend is the mean over what is
   selected. *)
Definition seen_by (r : range) (i : nat) : nat :=
  match r with Before => S i | After => S (S n - i) | All => S (S n) end.
Definition amount (s i : nat) : R :=
  match nth_error p s with
  | Some (Average _ r) => IZR (sums v s i) / INR (seen_by r i)
  | Some (Blend ps _ m _) =>
      IZR (sums v s i) / INR (length (filter (chosen v ps i) (visible n m i)))
  | Some (Total _ _) => IZR (sums v s i)
  | _ => b2R (bit v s i)
  end.
Definition number_value (x : number) (i : nat) : R :=
  fold_right (fun t y => Q2R (fst t) * amount (snd t) i + y)%R (Q2R (rest x)) (parts x).
End Number.

(** * Reading it *)

Section Read.
Variable p : program.

Fixpoint find_mixed (s : nat) (l : layout) (c : nat) : option (nat * positive) :=
  match l with
  | [] => None
  | Mixed s' q :: l => if Nat.eqb s s' then Some (c, q) else find_mixed s l (S c)
  | _ :: l => find_mixed s l (S c)
  end.
Lemma find_mixed_spec s l : forall c0 c q, find_mixed s l c0 = Some (c, q) ->
  c0 <= c /\ nth_error l (c - c0) = Some (Mixed s q).
Proof.
  induction l as [|k l IH]; intros c0 c q E; [discriminate|].
  assert (Next : find_mixed s l (S c0) = Some (c, q) ->
    c0 <= c /\ nth_error (k :: l) (c - c0) = Some (Mixed s q)).
  { intros F. destruct (IH _ _ _ F) as [L N]. split; [lia|].
    replace (c - c0) with (S (c - S c0)) by lia.
    exact N. }
  destruct k as [| | | | | | | |s' q']; cbn [find_mixed] in E; try exact (Next E).
  destruct (Nat.eqb_spec s s') as [<-|]; [|exact (Next E)]. injection E as <- <-.
  rewrite Nat.sub_diag. split; [lia|reflexivity].
Qed.

(* An entry of the read-out, and how far the coordinate may be off. Means are stored divided by
   their scale. *)
Definition lower_part (l : layout) (t : Q * nat) : option (nat * Q * Q) :=
  match nth_error p (snd t) with
  | Some (Average _ _) => '(c, q) <- find_mean (snd t) l;;
    Some (c, (fst t * inject_Z (Zpos q))%Q, 0%Q)
  | Some (Blend _ ts _ N) =>
      '(c, q) <- find_mixed (snd t) l 0;;
      Some (c, (fst t * inject_Z (Zpos (scale_in q)))%Q,
            (Qabs (fst t) * (2 * inject_Z (spread ts) * spill (sharpness_in q) N))%Q)
  | Some (Total _ _) => c <- place (Whole (snd t)) l;; Some (c, fst t, 0%Q)
  | Some _ =>
      match place (Bit (snd t)) l with
      | Some c => Some (c, fst t, 0%Q)
      | None => c <- place (Decoded (snd t)) l;; Some (c, fst t, 0%Q)
      end
  | None => None
  end.
Definition lower_number (l : layout) (x : number) : option (readout * Q) :=
  es <- every (lower_part l) (parts x);;
  Some (Readout (map fst es) (rest x), fold_right (fun e s => (snd e + s)%Q) 0%Q es).

Variables (eos : bool) (n : nat) (P : R) (v : valuation) (l : layout) (X : stream).
Hypothesis H : holds p eos n P v l X.

Lemma part_right t c a e i : 1 <= i <= n -> lower_part l t = Some (c, a, e) ->
  (Rabs (Q2R a * X i c - Q2R (fst t) * amount p n v (snd t) i) <= Q2R e)%R.
Proof.
  intros Hi E. unfold lower_part in E. unfold amount.
  assert (Exact : forall x y, x = y -> (Rabs (x - y) <= Q2R 0)%R).
  { intros x y ->. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. unfold Q2R. simpl. lra. }
  assert (Bits : match place (Bit (snd t)) l with
      | Some c => Some (c, fst t, 0%Q)
      | None => c <- place (Decoded (snd t)) l;; Some (c, fst t, 0%Q)
      end = Some (c, a, e) ->
        (Rabs (Q2R a * X i c - Q2R (fst t) * b2R (bit v (snd t) i)) <= Q2R e)%R).
  { intros B. destruct (place (Bit (snd t)) l) as [c'|] eqn:N.
    - injection B as <- <- <-. apply place_spec in N. apply Exact.
      rewrite (H _ _ N i (inside_last eos n i Hi)).
      rewrite (inside_true n i Hi). reflexivity.
    - destruct (place (Decoded (snd t)) l) as [c'|] eqn:D; [|discriminate]. injection B as <- <- <-.
      apply place_spec in D. apply Exact. rewrite (proj2 (H _ _ D) i Hi). reflexivity. }
  destruct (nth_error p (snd t)) as [g|] eqn:G; [|discriminate].
  destruct g; try exact (Bits E).
  - destruct (find_mean (snd t) l) as [[c' q]|] eqn:F; [|discriminate]. injection E as <- <- <-.
    apply find_mean_spec in F. pose proof (H _ _ F _ _ G i Hi) as M. cbn beta in M. apply Exact.
    rewrite Q2R_mult, Q2R_Z. change (keys n r i) with (seen_by n r i) in M.
    assert (K : (0 < INR (seen_by n r i))%R) by (apply lt_0_INR; destruct r; cbn; lia).
    rewrite <- M. field. lra.
  - destruct (place (Whole (snd t)) l) as [c'|] eqn:F; [|discriminate]. injection E as <- <- <-.
    apply place_spec in F. apply Exact. rewrite (H _ _ F i Hi). reflexivity.
  - destruct (find_mixed (snd t) l 0) as [[c' q]|] eqn:F; [|discriminate]. injection E as <- <- <-.
    apply find_mixed_spec in F as [_ F]. rewrite Nat.sub_0_r in F.
    pose proof (H _ _ F _ _ _ _ G i Hi) as M. cbn beta in M.
    rewrite !Q2R_mult, !Q2R_Z, Q2R_2. set (c := IZR (Zpos (scale_in q))) in *.
    set (z := (IZR (sums v (snd t) i) / _)%R) in *.
    replace (Q2R (fst t) * c * X i c' - Q2R (fst t) * z)%R with (Q2R (fst t) * (X i c' * c - z))%R
      by ring.
    rewrite Rabs_mult.
    assert (A : Q2R (Qabs (fst t)) = Rabs (Q2R (fst t))).
    { apply Qabs_case; intros L; apply Qle_Rle in L; replace (Q2R 0) with 0%R in L
        by (unfold Q2R; simpl; lra).
      - rewrite Rabs_pos_eq by lra. reflexivity.
      - rewrite Q2R_opp, Rabs_left1 by lra. reflexivity. }
    rewrite A. apply Rmult_le_compat_l; [apply Rabs_pos|exact M].
Qed.

Lemma number_right x o e i : 1 <= i <= n -> lower_number l x = Some (o, e) ->
  (Rabs (decide o (X i) - number_value p n v x i) <= Q2R e)%R.
Proof.
  intros Hi E. unfold lower_number in E. destruct (every _ _) as [es|] eqn:R; [|discriminate].
  injection E as <- <-. apply every_spec in R. unfold decide, number_value.
  cbn [Lowering.row Lowering.offset].
  induction R as [|t [[c a] e] ts es Et Ets IH];
    cbn [map real_form Transformer.dot fold_right fst snd].
  - replace (0 + Q2R (rest x) - Q2R (rest x))%R with 0%R by ring. rewrite Rabs_R0. unfold Q2R.
    simpl. lra.
  - rewrite Q2R_plus. pose proof (part_right t c a e i Hi Et) as B. cbn [snd fst] in B.
    fold (real_form (map fst es)). set (y := dot (real_form (map fst es)) (X i)) in *.
    set (z := fold_right _ _ _) in *. set (f := Q2R (fold_right _ _ _)) in *.
    set (g := (Q2R (fst t) * _)%R) in *.
    replace (Q2R a * X i c + y + Q2R (rest x) - (g + z))%R
      with ((Q2R a * X i c - g) + (y + Q2R (rest x) - z))%R by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
End Read.

(** * A model with such outputs *)

(* its first k outputs only *)
Definition with_outputs (k : nat) (m : model) : model :=
  Model (symbols m) (propositional m) (scales m) (ends m) (embedding m) (bos m) (eos m) (features m)
    (layers m) (firstn k (readouts m)).
Definition same_layers (a b : list layer) : bool :=
  if list_eq_dec layer_eq (map normal_layer a) (map normal_layer b) then true else false.
Definition same_readouts (a b : list readout) : bool :=
  if list_eq_dec readout_eq (map normal_readout a) (map normal_readout b) then true else false.

(* The outputs of m are the literals `outs` of the program p, and then the numbers `nums`, but for
   errors of at most `most`. *)
Definition makes_numbers (outs : list literal) (nums : list number) (most : Q) (ins : list input)
  (p : program)
    (m : model) (e : making) : bool :=
  makes outs ins p (with_outputs (length outs) m) e && Nat.leb (length outs) (length (readouts m))
  && match lower_layers p (program_symbols m) (scales m) (ends m) 4 (layout_of e) (plans_of e) with
     | Some (ls, l) =>
         same_layers ls (layers m) && forallb (embeddable p) (layout_of e)
         && match every (lower_number p l) nums with
            | Some os => same_readouts (map fst os) (skipn (length outs) (readouts m))
                         && forallb (fun o => Qle_bool (snd o) most) os
            | None => false
            end
     | None => false
     end.

Section Made.
Variables (outs : list literal) (nums : list number) (most : Q) (ins : list input) (p : program)
  (m : model) (e : making).
Hypothesis Ok : makes_numbers outs nums most ins p m e = true.
Variables (n : nat) (P : R) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
Hypothesis Hs : cold_enough m n P.
Hypothesis Hw : over_alphabet m w n.
Hypothesis Hr : readable n (meaning ins p m n w q) p.

(* nothing but the outputs differs *)
Lemma same_logit k i : k < length outs -> logit (with_outputs (length outs) m) n P w q k i
  = logit m n P w q k i.
Proof.
  intros Hk. unfold logit. cbn [readouts with_outputs layers ends].
  replace (nth k (firstn (length outs) (readouts m)) (Readout [] 0%Q))
    with (nth k (readouts m) (Readout [] 0%Q));
    [reflexivity|].
  rewrite <- (firstn_skipn (length outs) (readouts m)) at 1. apply app_nth1. rewrite firstn_length.
  unfold makes_numbers in Ok. rewrite !andb_true_iff in Ok. destruct Ok as [[_ L] _].
  apply Nat.leb_le in L. lia.
Qed.

Theorem bits_right k x i : nth_error outs k = Some x -> 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros Ex Hi. assert (Hk : k < length outs) by (apply nth_error_Some; congruence).
  rewrite <- (same_logit k i Hk). pose proof Ok as O. unfold makes_numbers in O.
  rewrite !andb_true_iff in O.
  exact (makes_right outs ins p (with_outputs (length outs) m) e (proj1 (proj1 O)) n P w q Hs Hw Hr
    k x Ex i Hi).
Qed.

Theorem numbers_right k x i : nth_error nums k = Some x -> 1 <= i <= n ->
  (Rabs (logit m n P w q (length outs + k) i - number_value p n (meaning ins p m n w q) x i)
    <= Q2R most)%R.
Proof.
  intros Ex Hi. pose proof Ok as O. unfold makes_numbers in O. rewrite !andb_true_iff in O.
  destruct O as [[Mk Len] Num]. apply Nat.leb_le in Len. unfold makes in Mk.
  rewrite !andb_true_iff in Mk.
  destruct Mk as [[[_ La] Or] _].
  destruct (lower_layers _ _ _ _ 4 _ _) as [[ls l]|] eqn:E; [|discriminate].
  rewrite !andb_true_iff in Num. destruct Num as [[Sl Emb] Sr].
  destruct (every (lower_number p l) nums) as [os|] eqn:Eo; [|discriminate].
  unfold same_layers in Sl. destruct (list_eq_dec layer_eq _ _) as [El|]; [|discriminate].
  apply andb_true_iff in Sr as [Sr Le]. unfold same_readouts in Sr.
  destruct (list_eq_dec readout_eq _ _) as [Er|]; [|discriminate].
  apply every_spec in Eo.
  assert (Hm : exists o, nth_error os k = Some o /\ lower_number p l x = Some o).
  { clear -Eo Ex. revert k Ex. induction Eo as [|a b ns os Ea Es IH]; intros [|k] Ex;
      try discriminate.
    - injection Ex as <-. exists b. split; [reflexivity|exact Ea].
    - exact (IH k Ex). }
  destruct Hm as ([o e'] & No & Lo).
  rewrite forallb_forall in Le. pose proof (Le _ (nth_error_In _ _ No)) as L.
  apply Qle_bool_iff, Qle_Rle in L. cbn [snd] in L.
  assert (Ho : exists o', nth_error (readouts m) (length outs + k) = Some o' /\
    normal_readout o = normal_readout o').
  { assert (M : nth_error (map normal_readout (skipn (length outs) (readouts m))) k
      = Some (normal_readout o))
      by (rewrite <- Er; apply map_nth_error, (map_nth_error fst k os No)).
    rewrite nth_error_map in M. destruct (nth_error (skipn (length outs) (readouts m)) k) as [o'|]
      eqn:S; [|discriminate].
    exists o'. split; [|cbn [option_map] in M; congruence].
    rewrite <- (firstn_skipn (length outs) (readouts m)), nth_error_app2 by (rewrite firstn_length;
      lia).
    rewrite firstn_length. replace (length outs + k - _) with k by lia. exact S. }
  destruct Ho as (o' & No' & Same). set (pw := program_word m ins n w q).
  pose proof (symbol_small m ins n w q Hw) as Hsym. fold pw in Hsym.
  pose proof (cold_pos m n P Hs) as HP.
  pose proof (values_compute n pw p Or) as V.
  unfold logit. rewrite (nth_error_nth _ _ _ No'), <- (decide_same _ _ _ Same).
  rewrite (embedding_right (with_outputs (length outs) m) p ins n P w q Hw (layout_of e) La :
    embedded m n P w q = _), <- (runs_same P _ _ _ El).
  eapply Rle_trans; [|exact L].
  apply (number_right p (ends m) n P (meaning ins p m n w q) l); [|exact Hi|exact Lo].
  apply (layers_hold p (program_symbols m) (scales m) (ends m) 4 n P pw (meaning ins p m n w q)
    ltac:(unfold Q2R; simpl; lra) HP) with (ps := plans_of e) (l := layout_of e); try assumption.
  - intros F. unfold cold_enough in Hs. rewrite F in Hs. exact Hs.
  - intros F. unfold cold_enough in Hs. rewrite F in Hs. exact Hs.
  - apply (embed_holds p (ends m) n P pw (meaning ins p m n w q) V), Emb.
Qed.
End Made.

(** * On every word up to N, or on those that give the program what it asks for *)

(* the outputs that are bits, and those that are numbers *)
Definition outputs_right (outs : list literal) (nums : list number) (most : Q) (ins : list input)
    (p : program) (m : model) (n : nat) (P : R) (w : nat -> nat -> bool) (q : nat -> nat -> nat ->
      bool) : Prop :=
  (forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
    (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
      else logit m n P w q k i <= - 1 / 4)%R)
  /\ (forall k x, nth_error nums k = Some x -> forall i, 1 <= i <= n ->
    (Rabs (logit m n P w q (length outs + k) i - number_value p n (meaning ins p m n w q) x i)
     <= Q2R most)%R).

Theorem numbers_always outs nums most ins p m e N :
  makes_numbers outs nums most ins p m e && forallb (always (program_symbols m) ins p N) p = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> (N.of_nat n <= N)%N ->
  outputs_right outs nums most ins p m n P w q.
Proof.
  intros C n P w q Hs%scale_cold Hw Hn. apply andb_true_iff in C as [C A].
  assert (R : readable n (meaning ins p m n w q) p).
  { apply (always_readable (program_symbols m) ins p N m n w q);
      [|exact Hn|exact (symbol_small m ins n w q Hw)|exact A].
    unfold makes_numbers, makes in C. rewrite !andb_true_iff in C. apply C. }
  split; intros k x Ex i Hi;
    [apply (bits_right outs nums most ins p m e C)|apply (numbers_right outs nums most ins p m e
      C)]; assumption.
Qed.

Theorem numbers_fitting outs nums most ins p m e : makes_numbers outs nums most ins p m e = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> fits ins p m n w q = true ->
  outputs_right outs nums most ins p m n P w q.
Proof.
  intros C n P w q Hs%scale_cold Hw F. pose proof (fits_readable ins p m n w q F) as R.
  split; intros k x Ex i Hi;
    [apply (bits_right outs nums most ins p m e C)|apply (numbers_right outs nums most ins p m e
      C)]; assumption.
Qed.
