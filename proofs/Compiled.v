(** The plainest schedule can always be lowered, so every formula has its transformer. *)
From Coq Require Import Reals Lra Lia Arith ZArith QArith Qreals List Bool.
From Softhat Require Import Sums Formula Program Lowering Lowered Correct Compile.
From Softhat Require Transformer.
Import ListNotations.
Open Scope nat_scope.

(** * Lookups *)

Lemma place_in k l : In k l -> exists c, place k l = Some c.
Proof.
  induction l as [|k' l IH]; intros I; [destruct I|]. cbn [place].
  destruct (content_eq k k') as [|N]; [exists 0; reflexivity|].
  destruct I as [->|I]; [congruence|]. destruct (IH I) as (c & ->). exists (S c). reflexivity.
Qed.

Lemma find_mean_in s q l : In (Mean s q) l -> exists c q', find_mean s l = Some (c, q').
Proof.
  unfold find_mean. generalize 0. induction l as [|k l IH]; intros c0 I; [destruct I|].
  destruct I as [->|I]; [rewrite Nat.eqb_refl; eauto|].
  destruct k as [| | | |s' q'| | | |]; try (apply IH, I).
  destruct (Nat.eqb s s'); [eauto|apply IH, I].
Qed.

Lemma set_length l c k : length (set l c k) = length l.
Proof. revert c. induction l as [|k' l IH]; intros [|c]; cbn [set length]; congruence. Qed.

Lemma in_set k l c k' : In k l -> k <> Empty -> nth_error l c = Some Empty -> In k (set l c k').
Proof.
  intros I N E. apply In_nth_error in I as (j & Ej). apply nth_error_In with (n := j).
  rewrite nth_set. destruct (Nat.eqb_spec j c) as [->|]; [congruence|exact Ej].
Qed.

Section Lowers.
Variables (p : program) (scaled : bool) (N : nat).
Notation lower_layer := (lower_layer p 1 scaled true 4).
Notation lower_layers := (lower_layers p 1 scaled true 4).

(* the features are there, and from d on there is room *)
Definition ready (l : layout) (d : nat) : Prop :=
  incl fixed l /\ length l = N /\ forall c, d <= c < N -> nth_error l c = Some Empty.

Lemma ready_set l d k : ready l d -> d < N -> ready (set l d k) (S d).
Proof.
  intros (F & L & E) H. split; [|split; [rewrite set_length; exact L|]].
  - intros f I. apply in_set; [apply F, I| |apply E; lia].
    intros ->. unfold fixed in I. apply in_map_iff in I as (g & G & _). discriminate.
  - intros c Hc. rewrite nth_set. destruct (Nat.eqb_spec c d); [lia|]. apply E. lia.
Qed.

Lemma feat_ok l d f : ready l d -> In (Feature f) fixed -> exists c, feat l f = Some c.
Proof. intros (F & _) I. apply place_in, F, I. Qed.

Ltac feature R f := let c := fresh "c" in let E := fresh "F" in
  destruct (feat_ok _ _ f R) as (c & E); [cbn; tauto|].

Lemma bit_row_ok l d x b c : ready l d -> nth_error l c = Some (Bit x) ->
  exists r, bit_row l (Lit (Some x) b) = Some r.
Proof.
  intros R E. destruct (place_in (Bit x) l (nth_error_In _ _ E)) as (c' & Ec).
  feature R (Ordinary false). unfold bit_row. cbn [of plain]. destruct b; rewrite Ec, ?F; eauto.
Qed.

(** * Gates *)

Lemma value3_known fuel e s b : known e s = Some b -> value3 p fuel e s = Some b.
Proof. intros E. destruct fuel; cbn [value3]; rewrite E; reflexivity. Qed.

Lemma value3_and e s ls : nth_error p s = Some (Program.And ls) -> known e s = None ->
  value3 p (length p) e s
  = fold_right (fun x a => and3 (lit3 (value3 p (pred (length p)) e) x) a) (Some true) ls.
Proof.
  intros E K. destruct p as [|g p'] eqn:Ep; [destruct s; discriminate|]. rewrite <- Ep in *.
  replace (length p) with (S (pred (length p))) at 1 by (rewrite Ep; reflexivity).
  cbn [value3]. rewrite K, E. reflexivity.
Qed.

Lemma agree_split x vars e s ts c : every (term3 e) ts = None ->
  agree p vars ((x, true) :: e) s ts c = true -> agree p vars ((x, false) :: e) s ts c = true ->
  agree p (x :: vars) e s ts c = true.
Proof.
  intros H A B. cbn [agree]. rewrite H, A, B, !orb_true_r. destruct (value3 p (length p) e s);
    reflexivity.
Qed.

Lemma agree_self s c : agree p (leaves [[(yes s, c)]]) [] s [[(yes s, c)]] false = true.
Proof.
  change (leaves [[(yes s, c)]]) with [s].
  assert (L : forall b, agree p [] [(s, b)] s [[(yes s, c)]] false = true).
  { intros b. cbn [agree].
    rewrite (value3_known _ _ s b) by (cbn; rewrite Nat.eqb_refl; reflexivity).
    cbn. rewrite Nat.eqb_refl. destruct b; reflexivity. }
  apply agree_split; [reflexivity|apply L|apply L].
Qed.

Lemma agree_one s x b c : nth_error p s = Some (Program.And [Lit (Some x) b]) -> x <> s ->
  agree p (leaves [[(Lit (Some x) b, c)]]) [] s [[(Lit (Some x) b, c)]] false = true.
Proof.
  intros E Nx. change (leaves [[(Lit (Some x) b, c)]]) with [x].
  assert (L : forall u, agree p [] [(x, u)] s [[(Lit (Some x) b, c)]] false = true).
  { intros u. cbn [agree]. rewrite (value3_and _ s _ E) by (cbn; destruct (Nat.eqb_spec s x);
      congruence).
    cbn [fold_right]. unfold lit3 at 1. cbn [of plain].
    rewrite (value3_known _ _ x u) by (cbn; rewrite Nat.eqb_refl; reflexivity).
    cbn. rewrite Nat.eqb_refl. destruct b, u; reflexivity. }
  apply agree_split; [reflexivity|apply L|apply L].
Qed.

Lemma agree_two s x y b u c d :
  nth_error p s = Some (Program.And [Lit (Some x) b; Lit (Some y) u]) -> x <> s -> y <> s ->
  let t : Lowering.term := [(Lit (Some x) b, c); (Lit (Some y) u, d)] in
    agree p (leaves [t]) [] s [t] false = true.
Proof.
  intros E Nx Ny t.
  assert (Both : forall e i j, known e x = Some i -> known e y = Some j -> known e s = None ->
    forall vars,
    agree p vars e s [t] false = true).
  { intros e i j Kx Ky Ks vars.
    assert (V : value3 p (length p) e s = Some (Bool.eqb b i && Bool.eqb u j)).
    { rewrite (value3_and _ s _ E Ks). cbn [fold_right]. unfold lit3. cbn [of plain].
      rewrite (value3_known _ _ x i Kx), (value3_known _ _ y j Ky).
      destruct (Bool.eqb b i), (Bool.eqb u j); reflexivity. }
    assert (T : every (term3 e) [t] = Some [Bool.eqb b i && Bool.eqb u j]).
    { unfold t. cbn [every term3 fold_right fst]. unfold lit3. cbn [of plain]. rewrite Kx, Ky.
      destruct (Bool.eqb b i), (Bool.eqb u j); reflexivity. }
    destruct vars; cbn [agree]; rewrite V, T; destruct (Bool.eqb b i && Bool.eqb u j); reflexivity.
    }
  assert (Start : forall vars, agree p vars [(x, true)] s [t] false = true ->
    agree p vars [(x, false)] s [t] false = true -> agree p (x :: vars) [] s [t] false = true)
    by (intros; apply agree_split; [reflexivity|assumption|assumption]).
  assert (Ks : forall i, known [(x, i)] s = None) by (intros; cbn; destruct (Nat.eqb_spec s x);
    congruence).
  assert (Kx : forall i, known [(x, i)] x = Some i) by (intros; cbn; rewrite Nat.eqb_refl;
    reflexivity).
  destruct (Nat.eq_dec x y) as [->|Nxy].
  - replace (leaves [t]) with [y].
    2: { unfold leaves, t. cbn [flat_map fst of app nodup]. destruct (in_dec Nat.eq_dec y [y]) as
      [|A]; [|exfalso; apply A; left; reflexivity].
         destruct (in_dec Nat.eq_dec y []) as [[]|]. reflexivity. }
    apply Start; apply (Both _ _ _ (Kx _) (Kx _) (Ks _)).
  - replace (leaves [t]) with [x; y].
    2: { unfold leaves, t. cbn [flat_map fst of app nodup]. destruct (in_dec Nat.eq_dec x [y]) as
      [[A|[]]|]; [congruence|].
         destruct (in_dec Nat.eq_dec y []) as [[]|]. reflexivity. }
    assert (Next : forall i, agree p [y] [(x, i)] s [t] false = true).
    { intros i.
      assert (Ky : known [(x, i)] y = None) by (cbn; destruct (Nat.eqb_spec y x); congruence).
      destruct (Bool.eqb b i) eqn:B.
      - (* undecided: look at y *)
        assert (T : every (term3 [(x, i)]) [t] = None).
        { unfold t. cbn [every term3 fold_right fst]. unfold lit3. cbn [of plain].
          rewrite (Kx i), Ky, B. reflexivity. }
        assert (K2 : forall j, known [(y, j); (x, i)] x = Some i /\
          known [(y, j); (x, i)] y = Some j /\ known [(y, j); (x, i)] s = None).
        { intros j. cbn. rewrite !Nat.eqb_refl. destruct (Nat.eqb_spec x y), (Nat.eqb_spec s y),
            (Nat.eqb_spec s x); try congruence. auto. }
        destruct (K2 true) as (A1 & A2 & A3), (K2 false) as (B1 & B2 & B3).
        apply agree_split; [exact T|apply (Both _ _ _ A1 A2 A3 [])|apply (Both _ _ _ B1 B2 B3 [])].
      - (* x decides *)
        assert (T : every (term3 [(x, i)]) [t] = Some [false]).
        { unfold t. cbn [every term3 fold_right fst]. unfold lit3. cbn [of plain].
          rewrite (Kx i), Ky, B. reflexivity. }
        assert (V : value3 p (length p) [(x, i)] s = Some false).
        { rewrite (value3_and _ s _ E (Ks i)). cbn [fold_right]. unfold lit3 at 1. cbn [of plain].
          rewrite (value3_known _ _ x i (Kx i)), B. reflexivity. }
        cbn [agree]. rewrite V, T. reflexivity. }
    apply Start; apply Next.
Qed.

(* a gate of one or two stored bits *)
Definition stored_at (l : layout) (a : literal * nat) : Prop :=
  exists x, of (fst a) = Some x /\ nth_error l (snd a) = Some (Bit x).

Lemma store_lowers l d s (t : Lowering.term) : ready l d -> d < N ->
  (exists a, t = [a]) \/ (exists a b, t = [a; b]) ->
  Forall (stored_at l) t -> agree p (leaves [t]) [] s [t] false = true ->
  exists a, lower_layer l (store s d t) = Some (a, set l d (Bit s)).
Proof.
  intros R H T B A. feature R (Ordinary false). feature R One.
  assert (Ed : nth_error l d = Some Empty) by (apply R; lia).
  assert (Sl : forall a, stored_at l a -> literal_slack l a = Some 0%Q).
  { intros a (x & Ox & Ex). unfold literal_slack. rewrite Ox, Ex, Nat.eqb_refl. reflexivity. }
  assert (Row : exists r, term_row l t = Some r).
  { unfold term_row, term_slack. rewrite F, F0.
    destruct T as [(a & ->)|(a & b & ->)]; inversion B as [|? ? Ba B']; subst;
      [|inversion B'; subst];
      cbn [every]; rewrite ?Sl by assumption; cbn; eauto. }
  destruct Row as (r & Er).
  unfold Lowering.lower_layer, store. cbn [groups gates clears lower_groups every].
  unfold gate_units. cbn [Lowering.terms every]. unfold term_units. rewrite Er.
  cbn [complement stored at_].
  rewrite A, orb_true_r. cbn [orb].
  cbn [off_units filter complement clear write_gates every at_ stored steps decoded write_decoded].
  unfold write. rewrite Ed. cbn. eauto.
Qed.

(* a head, and its bit beside it *)
Lemma attend_lowers l d s q g sc u : ready l d -> S d < N -> nth_error p s = Some g ->
  scores p 1 scaled l 4 false g q = Some sc -> value_row l g q = Some u ->
  written g s q false = Raw s false ->
  exists a, lower_layer l (attend_store s d q) = Some (a,
    set (set l d (Raw s false)) (S d) (Bit s)).
Proof.
  intros R H G Es Eu W.
  assert (Ed : nth_error l d = Some Empty) by (apply R; lia).
  pose proof (ready_set l d (Raw s false) R ltac:(lia)) as R1.
  assert (Ed1 : nth_error (set l d (Raw s false)) (S d) = Some Empty) by (apply R1; lia).
  assert (Er : nth_error (set l d (Raw s false)) d = Some (Raw s false)).
  { rewrite nth_set, Nat.eqb_refl. destruct R as (_ & L & _). destruct (Nat.ltb_spec d (length l));
      [reflexivity|lia]. }
  feature R1 (Ordinary false). feature R1 One.
  assert (Si : sighted true g (snd sc) = true) by (destruct (snd sc), g; reflexivity).
  unfold Lowering.lower_layer, attend_store. cbn [groups gates clears lower_groups every].
  unfold lower_group. cbn [members wide signal_of number]. rewrite G, Es.
  cbn [lower_members]. unfold lower_member. cbn [signal_of number target]. rewrite G, Es, Eu, W.
  unfold write at 1. rewrite Ed. destruct (scores_eq sc sc) as [_|X]; [|congruence].
  destruct (heat_eq _ _) as [_|X]; [|congruence]. rewrite Si.
  unfold gate_units. cbn [Lowering.terms every]. unfold term_units, term_row, term_slack.
  rewrite F, F0. cbn [every].
  unfold literal_slack. cbn [fst snd yes of]. rewrite Er, Nat.eqb_refl.
  change (Qle_bool (fold_right Qplus 0%Q [slack false]) (5 # 8)) with true.
  cbn [complement stored at_].
  rewrite agree_self, orb_true_r. cbn [orb].
  cbn [off_units filter complement clear write_gates every at_ stored steps decoded write_decoded].
  unfold write. rewrite Ed1. cbn. eauto.
Qed.

(** * Counting *)

Fixpoint weight_of (ts : list (Z * option nat)) : Z :=
  match ts with [] => 0 | q :: ts => Z.abs (fst q) + weight_of ts end%Z.

Lemma weight_nonneg ts : (0 <= weight_of ts)%Z.
Proof. induction ts as [|[z o] ts IH]; cbn [weight_of fst]; lia. Qed.

Lemma part_bounds ts : (forall k, - weight_of ts <= token_part p ts k <= weight_of ts)%Z /\
  (- weight_of ts <= other_part p (Z.min 0) ts)%Z /\ (other_part p (Z.max 0) ts <= weight_of ts)%Z.
Proof.
  induction ts as [|[a x] ts (IH1 & IH2 & IH3)]; [cbn; split; [intros; lia|split; lia]|].
  assert (Eo : forall f, other_part p f ((a, x) :: ts) = (match x with
      | Some y => match nth_error p y with Some (Token _) => 0 | _ => f a end
        | None => a end + other_part p f ts)%Z) by reflexivity.
  assert (Et : forall k, token_part p ((a, x) :: ts) k = (match x with
      | Some y => match nth_error p y with
                  | Some (Token set) => if existsb (Nat.eqb k) set then a else 0 | _ => 0 end
      | None => 0 end + token_part p ts k)%Z) by reflexivity.
  assert (Ew : weight_of ((a, x) :: ts) = (Z.abs a + weight_of ts)%Z) by reflexivity.
  rewrite !Eo, Ew. split; [intros k; rewrite Et; specialize (IH1 k)|].
  - destruct x as [y|]; [|lia]. destruct (nth_error p y) as [[]|]; try lia.
    destruct (existsb (Nat.eqb k) symbols); lia.
  - revert IH2 IH3. generalize (other_part p (Z.min 0) ts). generalize (other_part p (Z.max 0) ts).
    intros hi lo IH2 IH3.
    destruct x as [y|]; [|split; lia]. destruct (nth_error p y) as [[]|]; split; lia.
Qed.

Lemma bounds_weight ts : (- (2 * weight_of ts) <= low p 1 ts)%Z /\
  (high p 1 ts <= 2 * weight_of ts)%Z.
Proof.
  destruct (part_bounds ts) as (T & L & H). specialize (T 0).
  unfold low, high, tokens. cbn [seq map fold_right]. revert L H T.
  generalize (other_part p (Z.min 0) ts). generalize (other_part p (Z.max 0) ts). intros. lia.
Qed.

Definition available (l : layout) (ts : list (Z * option nat)) : Prop :=
  Forall (fun q => exists x, snd q = Some x /\ In (Bit x) l) ts.

Lemma average_value l ts r q : available l ts -> exists u, value_row l (Average ts r) q = Some u.
Proof.
  intros A. cbn [value_row]. induction A as [|[a o] ts (x & Ex & Ix) A (u & Eu)];
    [exists []; reflexivity|].
  cbn [snd] in Ex. subst o. destruct (place_in _ _ Ix) as (c & Ec). cbn [every snd fst].
  rewrite Ec, Eu. eauto.
Qed.

Lemma averages_lower l d s b a u : ready l d -> S (S d) < N ->
  nth_error p s = Some (Average b Before) -> nth_error p (S s) = Some (Average a After) ->
  nth_error p (S (S s)) = Some (Average u All) -> available l b -> available l a -> available l u ->
  exists q, lower_layer l (averages s d)
    = Some (q, set (set (set l d (Mean s 1)) (S d) (Mean (S s) 1)) (S (S d)) (Mean (S (S s)) 1)).
Proof.
  intros R H Eb Ea Eu Ab Aa Au.
  destruct (average_value l b Before 1 Ab) as (vb & Vb).
  destruct (average_value l a After 1 Aa) as (va & Va).
  destruct (average_value l u All 1 Au) as (vu & Vu).
  assert (E0 : nth_error l d = Some Empty) by (apply R; lia).
  pose proof (ready_set l d (Mean s 1) R ltac:(lia)) as R1.
  assert (E1 : nth_error (set l d (Mean s 1)) (S d) = Some Empty) by (apply R1; lia).
  pose proof (ready_set _ (S d) (Mean (S s) 1) R1 ltac:(lia)) as R2.
  assert (E2 : nth_error (set (set l d (Mean s 1)) (S d) (Mean (S s) 1)) (S (S d)) = Some Empty)
    by (apply R2; lia).
  assert (One : forall t c g ts r v l', nth_error p t = Some g -> g = Average ts r ->
    value_row l g 1 = Some v ->
    nth_error l' c = Some Empty ->
    exists h, lower_group p 1 scaled true 4 l (Group [Member t c 1] false) l' = Some (h,
      set l' c (Mean t 1))).
  { intros t c g ts r v l' G -> V E. unfold lower_group. cbn [members wide signal_of number].
    rewrite G. cbn [scores].
    cbn [lower_members]. unfold lower_member. cbn [signal_of number target]. rewrite G.
    cbn [scores]. rewrite V.
    unfold write. rewrite E. cbn [written]. destruct (scores_eq _ _) as [_|X]; [|congruence].
    destruct (heat_eq _ _) as [_|X]; [|congruence]. cbn [snd].
    destruct r; cbn [over_range sighted]; eauto. }
  destruct (One s d _ _ _ _ l Eb eq_refl Vb E0) as (h0 & G0).
  destruct (One (S s) (S d) _ _ _ _ _ Ea eq_refl Va E1) as (h1 & G1).
  destruct (One (S (S s)) (S (S d)) _ _ _ _ _ Eu eq_refl Vu E2) as (h2 & G2).
  unfold Lowering.lower_layer, averages. cbn [groups gates clears lower_groups every].
  rewrite G0, G1, G2. cbn. eauto.
Qed.

Lemma sign_scores l d x z t b a u i k n0 q : ready l d ->
  nth_error p x = Some (Average b Before) -> nth_error p z = Some (Average a After) ->
    nth_error p t = Some (Average u All) ->
  (exists q1, In (Mean x q1) l) -> (exists q2, In (Mean z q2) l) -> (exists q3, In (Mean t q3) l) ->
  (16 * (2 * weight_of b + 2 * weight_of a + 1) <= Zpos q)%Z ->
  exists sc, scores p 1 scaled l 4 false (Sign (Some x) (Some z) (Some t) i k n0) q = Some sc.
Proof.
  intros R Ex Ez Et (q1 & I1) (q2 & I2) (q3 & I3) St.
  destruct (find_mean_in _ _ _ I1) as (c1 & r1 & M1).
  destruct (find_mean_in _ _ _ I2) as (c2 & r2 & M2).
  destruct (find_mean_in _ _ _ I3) as (c3 & r3 & M3).
  cbn [scores]. unfold ranged. rewrite Ex, Ez, Et. cbn [andb].
  assert (Le : Qle_bool (4 * 4 * inject_Z (opposed p 1 (Some x) (Some z) (Some t) + 1))
    (inject_Z (Zpos q)) = true).
  { apply Qle_bool_iff. unfold opposed, sign_direction, terms_of. rewrite Ex, Ez.
    destruct (bounds_weight b) as [Lb _]. destruct (bounds_weight a) as [_ Ha].
    pose proof (weight_nonneg b). pose proof (weight_nonneg a). revert Lb Ha.
    generalize (low p 1 b). generalize (high p 1 a). intros hi lo Lb Ha.
    unfold Qle, Qmult, inject_Z. cbn [Qnum Qden]. change (Z.pos (1 * 1 * 1)) with 1%Z.
    change (Z.pos 1) with 1%Z. lia. }
  rewrite Le. unfold sign_rows. cbn [sign_direction].
  destruct (feat_ok _ _ (toward scaled Past) R) as (f1 & F1); [destruct scaled; cbn; tauto|].
  destruct (feat_ok _ _ One R) as (f2 & F2); [cbn; tauto|].
  destruct (feat_ok _ _ (Ordinary false) R) as (f3 & F3); [cbn; tauto|].
  destruct (feat_ok _ _ (unit_feature scaled) R) as (f4 & F4); [destruct scaled; cbn; tauto|].
  destruct (feat_ok _ _ (Index scaled) R) as (f5 & F5); [destruct scaled; cbn; tauto|].
  destruct (feat_ok _ _ (Reverse scaled) R) as (f6 & F6); [destruct scaled; cbn; tauto|].
  rewrite F1, F2, F3, F4. cbn [mean_row every]. rewrite M1, M2, M3. cbn [every]. rewrite F4, F5, F6.
  destruct (Z.eqb i 0 && Z.eqb k 0); [eauto|]. destruct (Z.eqb k 0); eauto.
Qed.

(** * Formulas *)

Lemma lower_layers_app l a b ls l1 ls' l2 : lower_layers l a = Some (ls, l1) ->
  lower_layers l1 b = Some (ls', l2) ->
  lower_layers l (a ++ b) = Some (ls ++ ls', l2).
Proof.
  revert l ls. induction a as [|q a IH]; intros l ls Ea Eb; cbn [Lowering.lower_layers app] in *.
  - injection Ea as <- <-. exact Eb.
  - destruct (lower_layer l q) as [[x y]|]; [|discriminate].
    destruct (lower_layers y a) as [[xs z]|] eqn:E; [|discriminate]. injection Ea as <- <-.
    rewrite (IH y xs E Eb). reflexivity.
Qed.

Lemma lower_one l q a l' : lower_layer l q = Some (a, l') -> lower_layers l [q] = Some ([a], l').
Proof. intros E. cbn [Lowering.lower_layers]. rewrite E. reflexivity. Qed.

Variable m : nat.

(* what is there before, the answer's bit, and room *)
Definition after (l l' : layout) (d e : nat) : Prop :=
  ready l' e /\ d <= e /\ forall c, c < d -> nth_error l' c = nth_error l c.

Lemma after_trans l l1 l2 d e f : after l l1 d e -> after l1 l2 e f -> after l l2 d f.
Proof.
  intros (R & L & K) (R' & L' & K'). split; [exact R'|]. split; [lia|]. intros c Hc.
  rewrite K' by lia. apply K, Hc.
Qed.

Lemma after_set l d k : ready l d -> d < N -> after l (set l d k) d (S d) /\
  nth_error (set l d k) d = Some k.
Proof.
  intros R H. split; [split; [apply ready_set; assumption|split; [lia|]]|].
  - intros c Hc. rewrite nth_set. destruct (Nat.eqb_spec c d); [lia|reflexivity].
  - rewrite nth_set, Nat.eqb_refl. destruct R as (_ & L & _). destruct (Nat.ltb_spec d (length l));
      [reflexivity|lia].
Qed.

Definition inputs (l : layout) : Prop := forall a, a < m -> nth_error l (9 + a) = Some (Bit a).

Lemma inputs_after l l' d e : inputs l -> 9 + m <= d -> after l l' d e -> inputs l'.
Proof. intros I H (_ & _ & K) a Ha. rewrite K by lia. apply I, Ha. Qed.

Lemma grows : (forall f s d, d <= snd (compile f s d)) /\
  (forall t s d, d <= snd (compile_term t s d)).
Proof.
  apply formula_term_ind.
  - intros. cbn. lia.
  - intros f IH s d. cbn [compile]. specialize (IH s d).
    destruct (compile f s d) as [[[[? ?] ?] ?] ?]. cbn [snd] in *. lia.
  - intros f IHf g IHg s d. cbn [compile]. specialize (IHf s d).
    destruct (compile f s d) as [[[[q ?] ?] ?] e].
    specialize (IHg (s + length q) e). destruct (compile g (s + length q) e) as [[[[? ?] ?] ?] ?].
    cbn [snd] in *. lia.
  - intros f IH s d. cbn [compile]. specialize (IH s d).
    destruct (compile f s d) as [[[[? ?] ?] ?] ?]. cbn [snd] in *. lia.
  - intros f IH s d. cbn [compile]. specialize (IH s d).
    destruct (compile f s d) as [[[[? ?] ?] ?] ?]. cbn [snd] in *. lia.
  - intros f IHf g IHg s d. cbn [compile]. specialize (IHf s d).
    destruct (compile f s d) as [[[[q ?] ?] ?] e].
    specialize (IHg (s + length q) e). destruct (compile g (s + length q) e) as [[[[? ?] ?] ?] ?].
    cbn [snd] in *. lia.
  - intros f IHf g IHg s d. cbn [compile]. specialize (IHf s d).
    destruct (compile f s d) as [[[[q ?] ?] ?] e].
    specialize (IHg (s + length q) e). destruct (compile g (s + length q) e) as [[[[? ?] ?] ?] ?].
    cbn [snd] in *. lia.
  - intros t IH k s d. rewrite compile_at_least. specialize (IH s d).
    destruct (compile_term t s d) as [[[? ?] [[? ?] ?]] ?]. cbn [snd] in *. lia.
  - intros. cbn. lia.
  - intros r a f IHf t IHt s d. rewrite compile_count. specialize (IHf s d).
    destruct (compile f s d) as [[[[q ?] ?] ?] e].
    specialize (IHt (s + length q) e). destruct (compile_term t (s + length q) e) as [[[? ?] ?] ?].
    cbn [snd] in *. lia.
  - intros a t IH. exact IH.
  - intros a t IH. exact IH.
Qed.

Definition formula_lowers (f : formula) : Prop := forall s d l, symbols f <= m -> m <= s ->
  9 + m <= d ->
  let '(q, pl, x, c, e) := compile f s d in
  stands p s q -> ready l d -> inputs l -> e <= N ->
  exists ls l', lower_layers l pl = Some (ls, l') /\ after l l' d e /\
    nth_error l' c = Some (Bit x) /\ c < e /\ x < s + length q.
Definition term_lowers (t : Formula.term) : Prop := forall s d l, symbols_term t <= m -> m <= s ->
  9 + m <= d ->
  let '(q, pl, (b, a, u), e) := compile_term t s d in
  stands p s q -> ready l d -> inputs l -> e <= N ->
  exists ls l', lower_layers l pl = Some (ls, l') /\ after l l' d e /\
    (forall l'', (forall c, c < e -> nth_error l'' c = nth_error l' c) -> available l'' b /\
      available l'' a /\ available l'' u) /\
    (weight_of b + weight_of a <= size t)%Z.

Lemma head_lowers l d s g x u : ready l d -> S d < N -> nth_error p s = Some g ->
  (exists sc, scores p 1 scaled l 4 false g x = Some sc) -> value_row l g x = Some u ->
  written g s x false = Raw s false ->
  exists a l', lower_layers l [attend_store s d x] = Some ([a], l') /\ after l l' d (S (S d)) /\
    nth_error l' (S d) = Some (Bit s).
Proof.
  intros R H G (sc & Es) Eu Na. destruct (attend_lowers l d s x g sc u R H G Es Eu Na) as (a & Ea).
  destruct (after_set l d (Raw s false) R ltac:(lia)) as [A1 _]. pose proof A1 as (R1 & _).
  destruct (after_set _ (S d) (Bit s) R1 ltac:(lia)) as [A2 E2].
  exists a, (set (set l d (Raw s false)) (S d) (Bit s)). split; [apply lower_one, Ea|].
  split; [|exact E2].
  apply (after_trans _ _ _ _ _ _ A1 A2).
Qed.

Lemma previous_scores l d dir c x : ready l d -> nth_error l c = Some (Bit x) ->
  (exists sc, scores p 1 scaled l 4 false (Previous (yes x) dir) 1 = Some sc) /\
    exists u, value_row l (Previous (yes x) dir) 1 = Some u.
Proof.
  intros R E. split; [|apply (bit_row_ok l d x true c R E)]. cbn [scores]. unfold previous_rows.
  destruct (feat_ok _ _ (toward scaled dir) R) as (f1 & F1); [destruct scaled, dir; cbn; tauto|].
  destruct (feat_ok _ _ One R) as (f2 & F2); [cbn; tauto|].
  destruct (feat_ok _ _ (if scaled then Ordinary true else One) R) as (f3 & F3);
    [destruct scaled; cbn; tauto|].
  destruct (feat_ok _ _ (Alternating false) R) as (f4 & F4); [cbn; tauto|].
  destruct (feat_ok _ _ (Alternating scaled) R) as (f5 & F5); [destruct scaled; cbn; tauto|].
  rewrite F1, F2, F3, F4, F5. eauto.
Qed.

Lemma latest_scores l d dir c x c' y : ready l d -> nth_error l c = Some (Bit x) ->
  nth_error l c' = Some (Bit y) ->
  (exists sc, scores p 1 scaled l 4 false (Latest (yes x) (yes y) dir) 1 = Some sc) /\
  exists u, value_row l (Latest (yes x) (yes y) dir) 1 = Some u.
Proof.
  intros R E E'. split; [|apply (bit_row_ok l d y true c' R E')]. cbn [scores]. unfold latest_rows.
  destruct (feat_ok _ _ (toward scaled dir) R) as (f1 & F1); [destruct scaled, dir; cbn; tauto|].
  destruct (feat_ok _ _ One R) as (f2 & F2); [cbn; tauto|].
  destruct (bit_row_ok l d x true c R E) as (r & Er). unfold yes at 1. rewrite F1, F2, Er. eauto.
Qed.

Lemma unary_lowers f dir (F : formula) : formula_lowers f -> symbols F = symbols f ->
  (forall s d, compile F s d = let '(q, l, x, c, e) := compile f s d in
     (q ++ [Previous (yes x) dir], l ++ [attend_store (s + length q) e 1], s + length q, S e,
       S (S e))) ->
  formula_lowers F.
Proof.
  intros IH Sy Co s d l Hs Hm Hd. rewrite Co. rewrite Sy in Hs. specialize (IH s d l Hs Hm Hd).
  destruct (compile f s d) as [[[[q pl] x] c] e] eqn:Ec. intros St R I He.
  apply stands_app in St as [S1 S2].
  destruct (IH S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & B1 & Hc & Hx). pose proof A1 as (R1 & _).
  pose proof (S2 0 _ eq_refl) as G. rewrite Nat.add_0_r in G.
  destruct (previous_scores l1 e dir c x R1 B1) as [Sc (u & Eu)].
  destruct (head_lowers l1 e (s + length q) _ 1 u R1 ltac:(lia) G Sc Eu eq_refl) as
    (a & l2 & E2 & A2 & B2).
  exists (ls ++ [a]), l2. split; [apply (lower_layers_app _ _ _ _ _ _ _ E1 E2)|].
  split; [apply (after_trans _ _ _ _ _ _ A1 A2)|].
  split; [exact B2|]. split; [lia|]. rewrite app_length. cbn [length]. lia.
Qed.

Lemma binary_lowers f g dir (F : formula) : formula_lowers f -> formula_lowers g ->
  symbols F = Nat.max (symbols f) (symbols g) ->
  (forall s d, compile F s d =
     let '(q, l, x, c, e) := compile f s d in
     let '(q', l', y, c', e') := compile g (s + length q) e in
     let s' := s + length q + length q' in
     (q ++ q' ++ [Program.And [yes x; no y]; Latest (yes s') (yes y) dir],
      l ++ l' ++ [store s' e' [(yes x, c); (no y, c')]; attend_store (S s') (S e') 1],
      S s', S (S e'), S (S (S e')))) ->
  formula_lowers F.
Proof.
  intros IHf IHg Sy Co s d l Hs Hm Hd. rewrite Co. rewrite Sy in Hs.
  specialize (IHf s d l ltac:(lia) Hm Hd).
  pose proof (proj1 grows f s d) as Gd.
  destruct (compile f s d) as [[[[q pl] x] c] e]. cbn [snd] in Gd.
  pose proof (proj1 grows g (s + length q) e) as Ge.
  destruct (compile g (s + length q) e) as [[[[q' pl'] y] c'] e'] eqn:Ec. cbn [snd] in Ge. cbv zeta.
  intros St R I He. apply stands_app in St as [S1 S2]. apply stands_app in S2 as [S2 S3].
  destruct (IHf S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & B1 & Hc & Hx). pose proof A1 as (R1 & _).
  specialize (IHg (s + length q) e l1 ltac:(lia) ltac:(lia) ltac:(lia)). rewrite Ec in IHg.
  destruct (IHg S2 R1 (inputs_after _ _ _ _ I Hd A1) ltac:(lia)) as
    (ls' & l2 & E2 & A2 & B2 & Hc' & Hy). pose proof A2 as (R2 & _ & K2).
  set (s' := s + length q + length q') in *.
  pose proof (S3 0 _ eq_refl) as G1. rewrite Nat.add_0_r in G1. pose proof (S3 1 _ eq_refl) as G2.
  replace (s' + 1) with (S s') in G2 by lia.
  assert (B1' : nth_error l2 c = Some (Bit x)) by (rewrite K2 by exact Hc; exact B1).
  destruct (store_lowers l2 e' s' [(yes x, c); (no y, c')] R2 ltac:(lia)) as (a & Ea).
  { right. eauto. }
  { repeat constructor; [exists x|exists y]; split; (reflexivity || assumption). }
  { apply agree_two; [exact G1|unfold s'; lia|unfold s'; lia]. }
  destruct (after_set l2 e' (Bit s') R2 ltac:(lia)) as [A3 B3]. pose proof A3 as (R3 & _ & K3).
  assert (B2' : nth_error (set l2 e' (Bit s')) c' = Some (Bit y)) by (rewrite K3 by exact Hc';
    exact B2).
  destruct (latest_scores _ (S e') dir e' s' c' y R3 B3 B2') as [Sc (u & Eu)].
  destruct (head_lowers _ (S e') (S s') _ 1 u R3 ltac:(lia) G2 Sc Eu eq_refl) as
    (a' & l4 & E4 & A4 & B4).
  exists (ls ++ ls' ++ [a; a']), l4. split.
  { apply (lower_layers_app _ _ _ _ _ _ _ E1). apply (lower_layers_app _ _ _ _ _ _ _ E2).
    apply (lower_layers_app _ [_] [_] [a] _ [a'] _ (lower_one _ _ _ _ Ea) E4). }
  split; [apply (after_trans _ _ _ _ _ _ A1), (after_trans _ _ _ _ _ _ A2),
    (after_trans _ _ _ _ _ _ A3 A4)|].
  split; [exact B4|]. split; [lia|]. rewrite !app_length. cbn [length]. unfold s'. lia.
Qed.

Theorem compile_lowers : (forall f, formula_lowers f) /\ (forall t, term_lowers t).
Proof.
  apply formula_term_ind.
  - intros a s d l Ha Hm Hd. cbn [compile symbols] in *. intros _ R I He. exists [], l.
    split; [reflexivity|]. split; [split; [exact R|split; [lia|reflexivity]]|].
    split; [apply I; lia|]. split; lia.
  - intros f IH s d l Hs Hm Hd. cbn [compile symbols] in *. specialize (IH s d l Hs Hm Hd).
    destruct (compile f s d) as [[[[q pl] x] c] e]. intros St R I He.
    apply stands_app in St as [S1 S2].
    destruct (IH S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & B1 & Hc & Hx).
    pose proof A1 as (R1 & _).
    pose proof (S2 0 _ eq_refl) as G. rewrite Nat.add_0_r in G.
    destruct (store_lowers l1 e (s + length q) [(no x, c)] R1 ltac:(lia)) as (a & Ea).
    { left. eauto. } { repeat constructor. exists x. split; [reflexivity|exact B1]. }
    { apply agree_one; [exact G|lia]. }
    destruct (after_set l1 e (Bit (s + length q)) R1 ltac:(lia)) as [A2 B2].
    exists (ls ++ [a]), (set l1 e (Bit (s + length q))).
    split; [apply (lower_layers_app _ _ _ _ _ _ _ E1 (lower_one _ _ _ _ Ea))|].
    split; [apply (after_trans _ _ _ _ _ _ A1 A2)|]. split; [exact B2|]. split; [lia|].
    rewrite app_length. cbn [length]. lia.
  - intros f IHf g IHg s d l Hs Hm Hd. cbn [compile symbols] in *.
    specialize (IHf s d l ltac:(lia) Hm Hd).
    pose proof (proj1 grows f s d) as Gd. destruct (compile f s d) as [[[[q pl] x] c] e].
    cbn [snd] in Gd.
    pose proof (proj1 grows g (s + length q) e) as Ge.
    destruct (compile g (s + length q) e) as [[[[q' pl'] y] c'] e'] eqn:Ec. cbn [snd] in Ge.
    intros St R I He. apply stands_app in St as [S1 S2]. apply stands_app in S2 as [S2 S3].
    destruct (IHf S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & B1 & Hc & Hx).
    pose proof A1 as (R1 & _).
    specialize (IHg (s + length q) e l1 ltac:(lia) ltac:(lia) ltac:(lia)). rewrite Ec in IHg.
    destruct (IHg S2 R1 (inputs_after _ _ _ _ I Hd A1) ltac:(lia)) as
      (ls' & l2 & E2 & A2 & B2 & Hc' & Hy). pose proof A2 as (R2 & _ & K2).
    set (s' := s + length q + length q') in *. pose proof (S3 0 _ eq_refl) as G1.
    rewrite Nat.add_0_r in G1.
    assert (B1' : nth_error l2 c = Some (Bit x)) by (rewrite K2 by exact Hc; exact B1).
    destruct (store_lowers l2 e' s' [(yes x, c); (yes y, c')] R2 ltac:(lia)) as (a & Ea).
    { right. eauto. } { repeat constructor; [exists x|exists y]; split; (reflexivity || assumption).
      }
    { apply agree_two; [exact G1|unfold s'; lia|unfold s'; lia]. }
    destruct (after_set l2 e' (Bit s') R2 ltac:(lia)) as [A3 B3].
    exists (ls ++ ls' ++ [a]), (set l2 e' (Bit s')). split.
    { apply (lower_layers_app _ _ _ _ _ _ _ E1). apply (lower_layers_app _ _ _ _ _ _ _ E2).
      apply lower_one, Ea. }
    split; [apply (after_trans _ _ _ _ _ _ A1), (after_trans _ _ _ _ _ _ A2 A3)|].
    split; [exact B3|]. split; [lia|]. rewrite !app_length. cbn [length]. unfold s'. lia.
  - intros f IH. apply (unary_lowers f Past); [exact IH|reflexivity|reflexivity].
  - intros f IH. apply (unary_lowers f Future); [exact IH|reflexivity|reflexivity].
  - intros f IHf g IHg. apply (binary_lowers f g Past);
      [exact IHf|exact IHg|reflexivity|reflexivity].
  - intros f IHf g IHg. apply (binary_lowers f g Future);
      [exact IHf|exact IHg|reflexivity|reflexivity].
  - intros t IH k s d l Hs Hm Hd. specialize (IH s d l Hs Hm Hd). rewrite compile_at_least.
    destruct (compile_term t s d) as [[[q pl] [[b a] u]] e]. cbv zeta. intros St R I He.
    apply stands_app in St as [S1 S2].
    destruct (IH S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & Av & Wt). pose proof A1 as (R1 & _).
    set (s' := s + length q) in *.
    pose proof (S2 0 _ eq_refl) as G0. pose proof (S2 1 _ eq_refl) as G1.
    pose proof (S2 2 _ eq_refl) as G2. pose proof (S2 3 _ eq_refl) as G3.
    rewrite Nat.add_0_r in G0. rewrite (Nat.add_comm s' 1) in G1. rewrite (Nat.add_comm s' 2) in G2.
    rewrite (Nat.add_comm s' 3) in G3.
    cbn [Nat.add] in G1, G2, G3 |- *.
    destruct (Av l1 ltac:(reflexivity)) as (Ab & Aa & Au).
    destruct (averages_lower l1 e s' b a u R1 ltac:(lia) G0 G1 G2 Ab Aa Au) as (h & Eh).
    destruct (after_set l1 e (Mean s' 1) R1 ltac:(lia)) as [B1 C1]. pose proof B1 as (R2 & _).
    destruct (after_set _ (S e) (Mean (S s') 1) R2 ltac:(lia)) as [B2 C2].
    pose proof B2 as (R3 & _ & K2).
    destruct (after_set _ (S (S e)) (Mean (S (S s')) 1) R3 ltac:(lia)) as [B3 C3].
    pose proof B3 as (R4 & _ & K3).
    set (l4 := set (set (set l1 e (Mean s' 1)) (S e) (Mean (S s') 1)) (S (S e)) (Mean (S (S s')) 1))
      in *.
    assert (M0 : nth_error l4 e = Some (Mean s' 1)) by (rewrite K3, K2 by lia; exact C1).
    assert (M1 : nth_error l4 (S e) = Some (Mean (S s') 1)) by (rewrite K3 by lia; exact C2).
    destruct (sign_scores l4 (S (S (S e))) s' (S s') (S (S s')) b a u (positions t) (lengths t) k
      (steep t) R4 G0 G1 G2) as (sc & Es).
    { exists 1%positive. apply (nth_error_In _ _ M0). } { exists 1%positive.
      apply (nth_error_In _ _ M1). }
    { exists 1%positive. apply (nth_error_In _ _ C3). }
    { pose proof (weight_nonneg b). pose proof (weight_nonneg a). unfold steep.
      rewrite Z2Pos.id by lia. lia. }
    destruct (feat_ok _ _ (Ordinary false) R4) as (o & Fo); [cbn; tauto|].
    assert (Eu : value_row l4 (Sign (Some s') (Some (S s')) (Some (S (S s'))) (positions t)
      (lengths t) k) (steep t) = Some [(o, 1%Q)])
      by (cbn [value_row]; rewrite Fo; reflexivity).
    destruct (head_lowers l4 (S (S (S e))) (S (S (S s'))) _ (steep t) _ R4 ltac:(lia) G3
      (ex_intro _ sc Es) Eu eq_refl)
      as (h' & l5 & E5 & A5 & B5).
    exists (ls ++ [h; h']), l5. split.
    { apply (lower_layers_app _ _ _ _ _ _ _ E1).
      apply (lower_layers_app _ [_] [_] [h] _ [h'] _ (lower_one _ _ _ _ Eh) E5). }
    split; [apply (after_trans _ _ _ _ _ _ A1), (after_trans _ _ _ _ _ _ B1),
      (after_trans _ _ _ _ _ _ B2), (after_trans _ _ _ _ _ _ B3 A5)|].
    split; [exact B5|]. split; [lia|]. rewrite app_length. cbn [length]. unfold s'. lia.
  - intros s d l _ _ _. cbn [compile_term]. intros _ R I He. exists [], l. split; [reflexivity|].
    split; [split; [exact R|split; [lia|reflexivity]]|]. split; [|cbn; lia]. intros.
    repeat split; constructor.
  - intros r a f IHf t IHt s d l Hs Hm Hd.
    change (symbols_term (Count r a f t)) with (Nat.max (symbols f) (symbols_term t)) in Hs.
    rewrite compile_count. specialize (IHf s d l ltac:(lia) Hm Hd).
    pose proof (proj1 grows f s d) as Gd. destruct (compile f s d) as [[[[q pl] x] c] e].
    cbn [snd] in Gd.
    pose proof (proj2 grows t (s + length q) e) as Ge.
    destruct (compile_term t (s + length q) e) as [[[q' pl'] [[b a'] u]] e'] eqn:Ec.
    cbn [snd] in Ge.
    assert (Main : stands p s (q ++ q') -> ready l d -> inputs l -> e' <= N ->
      exists ls l', lower_layers l (pl ++ pl') = Some (ls, l') /\ after l l' d e' /\
        (forall l'', (forall c, c < e' -> nth_error l'' c = nth_error l' c) ->
           In (Bit x) l'' /\ available l'' b /\ available l'' a' /\ available l'' u) /\
        (weight_of b + weight_of a' <= size t)%Z).
    { intros St R I He. apply stands_app in St as [S1 S2].
      destruct (IHf S1 R I ltac:(lia)) as (ls & l1 & E1 & A1 & B1 & Hc & Hx).
      pose proof A1 as (R1 & _).
      specialize (IHt (s + length q) e l1 ltac:(lia) ltac:(lia) ltac:(lia)). rewrite Ec in IHt.
      destruct (IHt S2 R1 (inputs_after _ _ _ _ I Hd A1) ltac:(lia)) as
        (ls' & l2 & E2 & A2 & Av & Wt). pose proof A2 as (R2 & _ & K2).
      exists (ls ++ ls'), l2. split; [apply (lower_layers_app _ _ _ _ _ _ _ E1 E2)|].
      split; [apply (after_trans _ _ _ _ _ _ A1 A2)|]. split; [|exact Wt]. intros l'' Same.
      split; [|apply Av, Same].
      apply nth_error_In with (n := c). rewrite Same by lia. rewrite K2 by lia. exact B1. }
    destruct r; cbn [add]; intros St R I He;
      destruct (Main St R I He) as (ls & l' & E & A & Av & Wt); exists ls, l';
      (split; [exact E|]); (split; [exact A|]); (split; [|cbn [weight_of fst size]; lia]);
      intros l'' Same; destruct (Av l'' Same) as (Ix & X1 & X2 & X3); repeat split; try assumption;
      (constructor; [exists x; split; [reflexivity|exact Ix]|assumption]).
  - intros a t IH. exact IH.
  - intros a t IH. exact IH.
Qed.
End Lowers.

(** * The theorems *)

(* The weights depend on the formula and the target only. *)
Theorem formula_transformer (scaled : bool) (f : formula) :
  exists (p : program) (l : layout) (ls : list layer) (o : readout),
  forall n P (g : nat -> nat -> bool), (0 < P)%R -> (if scaled then INR n + 1 <= P else P = 1)%R ->
  forall i, 1 <= i <= n ->
  let x := Transformer.softmax_run P (S (S n)) (map real_layer ls)
    (embed p n P (Word (fun _ => 0) g) l) i in
  (if sat n g f i then 1 / 4 <= decide o x else decide o x <= - 1 / 4)%R.
Proof.
  set (m := symbols f). destruct (compile f m (9 + m)) as [[[[q pl] x] c] e] eqn:Ec.
  pose proof (proj1 grows f m (9 + m)) as Ge. rewrite Ec in Ge. cbn [snd] in Ge.
  set (p := map Given (seq 0 m) ++ q).
  set (l := fixed ++ map Bit (seq 0 m) ++ repeat Empty (e - (9 + m))).
  assert (Pin : forall a, a < m -> nth_error p a = Some (Given a)).
  { intros a Ha. unfold p. rewrite nth_error_app1 by (rewrite map_length, seq_length; exact Ha).
    rewrite nth_error_map, nth_error_nth' with (d := 0) by (rewrite seq_length; exact Ha).
    rewrite seq_nth by exact Ha. reflexivity. }
  assert (St : stands p m q).
  { intros k g E. unfold p. rewrite nth_error_app2 by (rewrite map_length, seq_length; lia).
    rewrite map_length, seq_length. replace (m + k - m) with k by lia. exact E. }
  assert (Ll : length l = e) by (unfold l; rewrite !app_length, map_length, seq_length,
    repeat_length; cbn; lia).
  assert (R : ready e l (9 + m)).
  { split; [|split; [exact Ll|]].
    - intros k I. unfold l. apply in_or_app. left. exact I.
    - intros k Hk. unfold l. rewrite nth_error_app2 by (cbn; lia).
      rewrite nth_error_app2 by (rewrite map_length, seq_length; cbn; lia).
      apply nth_error_repeat. rewrite map_length, seq_length. cbn. lia. }
  assert (In_ : inputs m l).
  { intros a Ha. unfold l. rewrite nth_error_app2 by (cbn; lia).
    replace (9 + a - length fixed) with a by (cbn; lia).
    rewrite nth_error_app1 by (rewrite map_length, seq_length; exact Ha).
    rewrite nth_error_map, nth_error_nth' with (d := 0) by (rewrite seq_length; exact Ha).
    rewrite seq_nth by exact Ha. reflexivity. }
  pose proof (proj1 (compile_lowers p scaled e m) f m (9 + m) l (le_n _) (le_n _) (le_n _)) as Lo.
  rewrite Ec in Lo.
  destruct (Lo St R In_ (le_n _)) as (ls & l' & El & _ & B & _ & _).
  assert (Emb : forallb (embeddable p) l = true).
  { apply forallb_forall. intros k I. unfold l in I. apply in_app_or in I as [I|I].
    - unfold fixed in I. apply in_map_iff in I as (ft & <- & _). reflexivity.
    - apply in_app_or in I as [I|I]; [|apply repeat_spec in I as ->; reflexivity].
      apply in_map_iff in I as (a & <- & Ia). apply in_seq in Ia. cbn [embeddable].
      rewrite Pin by lia. reflexivity. }
  set (r := Result (yes x) [(yes x, c)]).
  assert (Er : exists o, lower_result p l' r = Some o).
  { unfold lower_result, term_slack, r. cbn [reads every literal_of]. unfold literal_slack.
    cbn [fst snd yes of]. rewrite B, Nat.eqb_refl.
    cbn [fold_right]. rewrite agree_self. cbn. eauto. }
  destruct Er as (o & Eo).
  assert (Low : lower p 1 scaled true 4 l pl [r] = Some (ls, [o])).
  { unfold lower. rewrite Emb, El. cbn [every]. rewrite Eo. reflexivity. }
  exists p, l, ls, o. intros n P g HP Hs i Hi.
  set (w := Word (fun _ => 0) g).
  set (V := map (fun a => bits (fun i => g i a)) (seq 0 m) ++ meanings n g f).
  assert (Vin : forall a, a < m -> nth_error p a = Some (Given a) /\
    nth_error V a = Some (bits (fun i => given w i a))).
  { intros a Ha. split; [apply Pin, Ha|]. unfold V.
    rewrite nth_error_app1 by (rewrite map_length, seq_length; exact Ha).
    rewrite nth_error_map, nth_error_nth' with (d := 0) by (rewrite seq_length; exact Ha).
    rewrite seq_nth by exact Ha. reflexivity. }
  assert (Sv : stands V m (meanings n (given w) f)).
  { intros k h E. unfold V. rewrite nth_error_app2 by (rewrite map_length, seq_length; lia).
    rewrite map_length, seq_length. replace (m + k - m) with k by lia. exact E. }
  pose proof (proj1 (compile_right n m w p V Vin) f m (9 + m) (le_n _)) as Ri. rewrite Ec in Ri.
  destruct (Ri Sv) as (_ & Rq & K).
  assert (Co : computes n w (valuation_ V) p).
  { intros s h E j Hj. unfold p in E. destruct (Nat.lt_ge_cases s m) as [L|L].
    - destruct (Vin s L) as [E' Ev]. unfold p in E'. rewrite E' in E. injection E as <-.
      cbn [means].
      rewrite (proj1 (value_of V s _ Ev)). reflexivity.
    - rewrite nth_error_app2 in E by (rewrite map_length, seq_length; exact L).
      rewrite map_length, seq_length in E.
      replace s with (m + (s - m)) by lia. apply (Rq _ _ E j Hj). }
  pose proof (lowered p 1 scaled true 4 n P w (valuation_ V)) as T.
  assert (Q4 : (4 <= Q2R 4)%R) by (unfold Q2R; simpl; lra).
  assert (Rd : readable n (valuation_ V) p).
  { apply undemanding_readable. unfold p. rewrite forallb_app, andb_true_iff. split.
    - apply forallb_forall. intros h I. apply in_map_iff in I as (a & <- & _). reflexivity.
    - pose proof (proj1 compile_undemanding f m (9 + m)) as U. rewrite Ec in U. exact U. }
  specialize (T Q4 HP). destruct scaled.
  - specialize (T ltac:(discriminate) ltac:(intros _; exact Hs) Co Rd ltac:(intros; cbn;
      lia) l pl [r] ls [o] Low i 0 r o Hi eq_refl eq_refl).
    cbv zeta in T. cbn [literal_of r] in T. rewrite (lit_yes n V x (sat n g f) i K Hi) in T.
    exact T.
  - specialize (T ltac:(intros _; rewrite Hs; apply Rle_refl) ltac:(discriminate) Co Rd
      ltac:(intros; cbn; lia) l pl [r] ls [o] Low i 0 r o Hi eq_refl eq_refl).
    cbv zeta in T. cbn [literal_of r] in T. rewrite (lit_yes n V x (sat n g f) i K Hi) in T.
    exact T.
Qed.

(* Unbounded positions, temperature 1. *)
Corollary unbounded f : exists p l ls o, forall n (g : nat -> nat -> bool) i, 1 <= i <= n ->
  let x := Transformer.softmax_run 1 (S (S n)) (map real_layer ls)
    (embed p n 1 (Word (fun _ => 0) g) l) i in
  (if sat n g f i then 1 / 4 <= decide o x else decide o x <= - 1 / 4)%R.
Proof.
  destruct (formula_transformer false f) as (p & l & ls & o & H). exists p, l, ls, o.
  intros n g i Hi. apply H; [lra|reflexivity|exact Hi].
Qed.

(* Temperature scaling: positions divided by any P > n, inverse temperature C·P. *)
Corollary temperature f : exists p l ls o, forall n P (g : nat -> nat -> bool) i,
  (INR n + 1 <= P)%R -> 1 <= i <= n ->
  let x := Transformer.softmax_run P (S (S n)) (map real_layer ls)
    (embed p n P (Word (fun _ => 0) g) l) i in
  (if sat n g f i then 1 / 4 <= decide o x else decide o x <= - 1 / 4)%R.
Proof.
  destruct (formula_transformer true f) as (p & l & ls & o & H). exists p, l, ls, o.
  intros n P g i Hn Hi.
  apply H; [pose proof (pos_INR n); lra|exact Hn|exact Hi].
Qed.
