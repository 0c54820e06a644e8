(** Comparisons of counts by what each position adds to them. A comparison follows from another
    one, at the same position or one beside it, if no position takes off more than another adds:
    what a position adds is bounded by cases over the signals that are counted. *)
From Coq Require Import Arith ZArith NArith List Bool Lia.
From Softhat Require Import Sums Formula Program Lowering Evaluated Surface Matching Matched Search.
Import ListNotations.
Open Scope nat_scope.

(** * What a position adds to a linear form *)

Record share := Share { parts : list (nat * Z); each : Z }.
Definition less (x y : share) : share :=
  Share (parts x ++ map (fun c => (fst c, (- snd c)%Z)) (parts y)) (each x - each y).

Definition parts_of (keep : range -> bool) (l : linear) : list (nat * Z) :=
  flat_map (fun c => if keep (fst (fst c)) then [(snd (fst c), snd c)] else []) (counts l).
Definition behind (l : linear) : share :=
  Share (parts_of (fun r => match r with After => false | _ => true end) l) (at_i l + at_n l).
Definition here (l : linear) : share := Share (parts_of (fun _ => true) l) (at_i l + at_n l).
Definition ahead (l : linear) : share :=
  Share (parts_of (fun r => match r with Before => false | _ => true end) l) (at_n l).

(* the least that it can be, given what is known of the signals *)
Definition least (e : tree) (x : list (positive * Z)) (each : Z) : Z :=
  fold_right (fun c a => match get (fst c) e with
                         | Some true => snd c + a
                         | Some false => a
                         | None => Z.min 0 (snd c) + a
                         end)%Z each x.
Definition at_least (alphabet : nat) (facts : list expression) (order : list case) (x : share)
  (c : Z) : bool :=
  let keyed := map (fun c => (key (fst c), snd c)) (parts x) in
  search alphabet (fun _ e => Z.leb c (least e keyed (each x))) (map (step_of facts) order) None
    Bare.

Section Amount.
Variable v : valuation.
Definition amount (x : share) (j : nat) : Z :=
  fold_right (fun c a => (snd c * (if bit v (fst c) j then 1 else 0) + a)%Z) (each x) (parts x).

Lemma amount_less x y j : amount (less x y) j = (amount x j - amount y j)%Z.
Proof.
  destruct x as [xs a], y as [ys b]. unfold amount, less. cbn [parts each]. rewrite fold_right_app.
  assert (Y : fold_right (fun c s => (snd c * (if bit v (fst c) j then 1 else 0) + s)%Z) (a - b)%Z
                (map (fun c => (fst c, (- snd c)%Z)) ys)
              = (a - fold_right (fun c s => (snd c * (if bit v (fst c) j then 1 else 0) + s)%Z) b
                ys)%Z).
  { induction ys as [|c ys IH]; [reflexivity|]. cbn [map fold_right fst snd]. rewrite IH.
    destruct (bit v (fst c) j); lia. }
  rewrite Y. generalize (fold_right (fun c s => (snd c * (if bit v (fst c) j then 1 else 0) + s)%Z)
    b ys).
  intros z. induction xs as [|c xs IH]; [reflexivity|]. cbn [fold_right]. rewrite IH.
  destruct (bit v (fst c) j); lia.
Qed.

Lemma least_sound w i a e xs each : agrees w v i a e ->
  (least e (map (fun c => (key (fst c), snd c)) xs) each <= amount (Share xs each) i)%Z.
Proof.
  intros [_ A]. unfold least, amount. cbn [parts Tallies.each].
  induction xs as [|[s c] xs IH]; [reflexivity|]. cbn [map fold_right fst snd].
  destruct (get (key s) e) as [b|] eqn:G.
  - rewrite (A s b G). destruct b; lia.
  - destruct (bit v s i); lia.
Qed.

Lemma at_least_sound alphabet w facts order x c i : symbol w i < alphabet ->
  (forall y, In y facts -> holds w v y i = true) ->
  at_least alphabet facts order x c = true -> (c <= amount x i)%Z.
Proof.
  intros Hw Hf H. unfold at_least in H.
  apply (search_sound alphabet w v i Hw facts Hf) in H as (a & e & A & G);
    [|split; [discriminate|intros s b G; destruct (key s); discriminate G]].
  apply Z.leb_le in G. pose proof (least_sound w i a e (parts x) (each x) A). destruct x. cbn in *.
  lia.
Qed.
End Amount.

(** * A linear form is a sum over positions *)

Section Sum.
Variables (n : nat) (v : valuation).
Notation linear_value := (linear_value n v).

Definition contribution (l : linear) (i j : nat) : Z :=
  amount v (match Nat.compare j i with Lt => behind l | Eq => here l | Gt => ahead l end) j.

Lemma sum_over_app f l m : sum_over f (l ++ m) = (sum_over f l + sum_over f m)%Z.
Proof.
  induction l as [|j l IH]; [reflexivity|]. cbn. fold (sum_over f (l ++ m)). rewrite IH.
  unfold sum_over. lia.
Qed.
Lemma sum_over_plus f g l : sum_over (fun j => (f j + g j)%Z) l = (sum_over f l + sum_over g l)%Z.
Proof.
  induction l as [|j l IH]; [reflexivity|]. cbn. fold (sum_over (fun j => (f j + g j)%Z) l).
  rewrite IH. unfold sum_over. lia.
Qed.
Lemma sum_over_ext f g l : (forall j, In j l -> f j = g j) -> sum_over f l = sum_over g l.
Proof.
  intros E. induction l as [|j l IH]; [reflexivity|]. cbn. rewrite (E j (or_introl eq_refl)).
  f_equal.
  apply IH. intros k Ik. apply E. right. exact Ik.
Qed.
Lemma sum_over_le f g l : (forall j, In j l -> (f j <= g j)%Z) -> (sum_over f l <= sum_over g l)%Z.
Proof.
  intros E. induction l as [|j l IH]; [reflexivity|]. cbn. fold (sum_over f l). fold (sum_over g l).
  pose proof (E j (or_introl eq_refl)). specialize (IH (fun k Ik => E k (or_intror Ik))). lia.
Qed.
Lemma sum_over_constant c l : sum_over (fun _ => c) l = (c * Z.of_nat (length l))%Z.
Proof.
  induction l as [|j l IH]; [cbn; lia|]. cbn [sum_over fold_right length].
  fold (sum_over (fun _ => c) l). lia.
Qed.

Lemma split_at i : 1 <= i <= n -> seq 1 n = seq 1 (i - 1) ++ [i] ++ seq (S i) (n - i).
Proof.
  intros Hi. replace n with ((i - 1) + (1 + (n - i))) at 1 by lia. rewrite !seq_app. cbn [seq].
  replace (1 + (i - 1)) with i by lia. replace (i + 1) with (S i) by lia. reflexivity.
Qed.

(* which positions a range counts *)
Definition counts_at (r : range) (i j : nat) : bool :=
  match r, Nat.compare j i with Before, Gt | After, Lt => false | _, _ => true end.

Lemma number_sum r f i : 1 <= i <= n ->
  number n r f i = sum_over (fun j => if counts_at r i j && f j then 1%Z else 0%Z) (seq 1 n).
Proof.
  intros Hi.
  assert (F : forall l, Z.of_nat (length (filter f l)) = sum_over (fun j => if f j then 1%Z
    else 0%Z) l).
  { induction l as [|j l IH]; [reflexivity|]. cbn [filter sum_over fold_right].
    fold (sum_over (fun j => if f j then 1%Z else 0%Z) l). rewrite <- IH.
    destruct (f j); cbn [length]; lia. }
  assert (Zero : forall g l, (forall j, In j l -> g j = 0%Z) -> sum_over g l = 0%Z).
  { intros g l E. rewrite (sum_over_ext g (fun _ => 0%Z) l E), sum_over_constant. lia. }
  unfold number. rewrite F.
  assert (S1 : forall g, sum_over g [i] = g i) by (intros g; cbn; lia).
  destruct r; unfold span, counts_at.
  - rewrite (split_at i Hi), !sum_over_app, !S1, Nat.compare_refl.
    rewrite (Zero _ (seq (S i) (n - i))).
    + replace i with ((i - 1) + 1) at 1 by lia. rewrite seq_app, sum_over_app. cbn [seq].
      replace (1 + (i - 1)) with i by lia. rewrite S1. cbn [andb].
      rewrite (sum_over_ext (fun j => if f j then 1%Z else 0%Z)
                 (fun j => if (match Nat.compare j i with Gt => false | _ => true end) && f j
                   then 1%Z else 0%Z)
                 (seq 1 (i - 1))); [lia|].
      intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia. reflexivity.
    + intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia. reflexivity.
  - rewrite (split_at i Hi), !sum_over_app, !S1, Nat.compare_refl.
    rewrite (Zero _ (seq 1 (i - 1))).
    + replace (S n - i) with (1 + (n - i)) by lia. rewrite seq_app, sum_over_app. cbn [seq].
      replace (i + 1) with (S i) by lia. rewrite S1. cbn [andb].
      rewrite (sum_over_ext (fun j => if f j then 1%Z else 0%Z)
                 (fun j => if (match Nat.compare j i with Lt => false | _ => true end) && f j
                   then 1%Z else 0%Z)
                 (seq (S i) (n - i))); [lia|].
      intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia. reflexivity.
    + intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia. reflexivity.
  - reflexivity.
Qed.

Lemma contribution_cons c cs a b k i j : contribution (Linear (c :: cs) a b k) i j
  = ((snd c * (if counts_at (fst (fst c)) i j && bit v (snd (fst c)) j then 1 else 0))
     + contribution (Linear cs a b k) i j)%Z.
Proof.
  unfold contribution, counts_at. destruct c as [[r s] x]. cbn [fst snd].
  destruct (Nat.compare j i), r;
    cbn [behind here ahead parts_of flat_map counts at_i at_n app fst snd amount fold_right parts
      each andb];
    unfold amount; cbn [parts each behind here ahead app fold_right fst snd]; destruct (bit v s j);
      lia.
Qed.

Lemma sum_over_times c f l : sum_over (fun j => (c * f j)%Z) l = (c * sum_over f l)%Z.
Proof.
  induction l as [|j l IH]; [cbn; lia|]. cbn. fold (sum_over f l).
  fold (sum_over (fun j => (c * f j)%Z) l). lia.
Qed.

Lemma linear_contributions l i : 1 <= i <= n ->
  linear_value l i = (sum_over (contribution l i) (seq 1 n) + add l)%Z.
Proof.
  intros Hi. destruct l as [cs a b k]. unfold Matched.linear_value. cbn [counts at_i at_n add].
  induction cs as [|c cs IH].
  - assert (C : forall j, contribution (Linear [] a b k) i j
                  = (match Nat.compare j i with Gt => b | _ => a + b end)%Z)
      by (intros j; unfold contribution; destruct (Nat.compare j i); reflexivity).
    rewrite (sum_over_ext _ _ (seq 1 n) (fun j _ => C j)), (split_at i Hi), !sum_over_app.
    rewrite (sum_over_ext _ (fun _ => (a + b)%Z) (seq 1 (i - 1))),
      (sum_over_ext _ (fun _ => b) (seq (S i) (n - i))).
    + rewrite !sum_over_constant, !seq_length. cbn [sum_over fold_right counted_sum].
      rewrite Nat.compare_refl, !Nat2Z.inj_sub by lia. ring.
    + intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia; reflexivity.
    + intros j Ij. apply in_seq in Ij. destruct (Nat.compare_spec j i); try lia; reflexivity.
  - rewrite (sum_over_ext _ _ (seq 1 n) (fun j _ => contribution_cons c cs a b k i j)),
      sum_over_plus,
      sum_over_times, <- number_sum by exact Hi.
    cbn [counted_sum fold_right]. fold (counted_sum n v cs i). lia.
Qed.
End Sum.

(** * One comparison from another *)

(* Where the assumed comparison is made: at the same position, or one before along a direction. *)
Inductive apart := Together | OneBefore (d : direction).

Record tally := Tally {
  assumed : option (nat * bool);         (* a comparison and its value *)
  distance : apart;
  concluded : nat * bool;                (* another, and the value that follows *)
  guard : expression;                    (* where *)
  at_first : bool;                       (* at the first position only *)
  at_last : bool;                        (* at the last position only *)
  near_adds : Z;                         (* what the position of the first one adds *)
  here_adds : Z;                         (* what the position of the second one adds *)
  far_behind : list case; far_ahead : list case; near_order : list case; here_order : list case }.

Section Tally.
Variables (p : program) (alphabet : nat) (known : list expression).

(* a form that is at least 0 exactly where the comparison has that value *)
Definition half (c : nat * bool) : option linear :=
  match nth_error p (fst c) with
  | Some (Sign x z t a b k) =>
      if averaged p x && averaged p z && averaged p t then
        let m := plus (mean_of p x) (plus (mean_of p z) (plus (mean_of p t) (Linear [] a b 0))) in
        Some (if snd c then plus m (Linear [] 0 0 (- k))
          else plus (times (-1) m) (Linear [] 0 0 (k - 1)))
      else None
  | _ => None
  end.

Definition weighs (t : tally) : bool :=
  match half (concluded t), match assumed t with Some a => half a | None => Some nothing end with
  | Some c, Some a =>
      let near := match distance t with
                  | Together => None
                  | OneBefore Past => Some (less (behind c) (here a))
                  | OneBefore Future => Some (less (ahead c) (here a))
                  end in
      let there := match distance t with
                   | Together => here a | OneBefore Past => ahead a | OneBefore Future => behind a
                   end in
      (at_first t || at_least alphabet known (far_behind t) (less (behind c) (behind a)) 0)
      && (at_last t || at_least alphabet known (far_ahead t) (less (ahead c) (ahead a)) 0)
      && match near with
         | None => Z.eqb (near_adds t) 0
         | Some x => at_least alphabet known (near_order t) x (near_adds t)
         end
      && at_least alphabet (guard t :: known) (here_order t) (less (here c) there) (here_adds t)
      && Z.leb 0 (add c - add a + near_adds t + here_adds t)
  | _, _ => false
  end.

Variables (n : nat) (w : word) (v : valuation).
Hypothesis Hv : computes n w v p.
Hypothesis Hw : forall i, 1 <= i <= n -> symbol w i < alphabet.
Hypothesis Hknown : forall x, In x known -> forall i, 1 <= i <= n -> holds w v x i = true.

Lemma half_sound c l : half c = Some l -> forall i, 1 <= i <= n ->
  Bool.eqb (bit v (fst c) i) (snd c) = Z.leb 0 (linear_value n v l i).
Proof.
  intros E i Hi. unfold half in E. destruct (nth_error p (fst c)) as [[]|] eqn:Es; try discriminate.
  destruct (averaged p past && averaged p future && averaged p total) eqn:A; [|discriminate].
  rewrite !andb_true_iff in A. destruct A as [[A1 A2] A3]. injection E as <-.
  set (m := plus (mean_of p past) (plus (mean_of p future) (plus (mean_of p total)
      (Linear [] position length 0)))).
  assert (V : linear_value n v m i = (sum_of v past i + sum_of v future i + sum_of v total i
                                  + position * Z.of_nat i + length * Z.of_nat n)%Z).
  { unfold m. rewrite !value_plus, !(mean_value p n w v Hv) by assumption. unfold linear_value. cbn.
    lia. }
  pose proof (Hv _ _ Es i Hi) as M. cbn [means] in M. rewrite <- V in M. rewrite M.
  assert (K : forall k, linear_value n v (Linear [] 0 0 k) i = k) by (intros k; unfold linear_value;
    cbn; lia).
  destruct (snd c); rewrite value_plus, K; [|rewrite value_times];
    destruct (Z.leb_spec threshold (linear_value n v m i)); cbn [Bool.eqb]; symmetry;
    (apply Z.leb_le || apply Z.leb_gt); lia.
Qed.

(* where the assumed comparison is made, seen from i *)
Definition there (t : tally) (i : nat) : nat :=
  match distance t with Together => i | OneBefore d => pos n d (pos n d i - 1) end.

Lemma weighs_sound t i : weighs t = true -> 1 <= i <= n -> 1 <= there t i <= n ->
  (forall d, distance t = OneBefore d -> 1 < pos n d i) ->
  (at_first t = true -> i = 1) -> (at_last t = true -> i = n) -> holds w v (guard t) i = true ->
  (forall a, assumed t = Some a -> bit v (fst a) (there t i) = snd a) ->
  bit v (fst (concluded t)) i = snd (concluded t).
Proof.
  intros H Hi Ht Hd Hf Hl Hg Ha. unfold weighs in H. destruct (half (concluded t)) as [c|] eqn:Ec;
    [|discriminate].
  destruct (match assumed t with Some a => half a | None => Some nothing end) as [a|] eqn:Ea;
    [|discriminate].
  rewrite !andb_true_iff in H. destruct H as [[[[Hb Hah] Hn] Hh] Hk]. apply Z.leb_le in Hk.
  assert (A : (0 <= linear_value n v a (there t i))%Z).
  { destruct (assumed t) as [s|] eqn:Es.
    - pose proof (half_sound s a Ea _ Ht) as X. rewrite (Ha s eq_refl), eqb_reflx in X.
      symmetry in X.
      apply Z.leb_le, X.
    - injection Ea as <-. unfold linear_value. cbn. lia. }
  enough (C : (0 <= linear_value n v c i)%Z).
  { pose proof (half_sound _ c Ec i Hi) as X. apply Z.leb_le in C. rewrite C in X.
    apply eqb_prop, X. }
  rewrite (linear_contributions n v c i Hi). rewrite (linear_contributions n v a _ Ht) in A.
  assert (Far : forall facts order x k j, (forall y, In y facts -> In y known) -> 1 <= j <= n ->
    at_least alphabet facts order x k = true -> (k <= amount v x j)%Z).
  { intros facts order x k j If Hj X.
    apply (at_least_sound v alphabet w facts order x k j (Hw j Hj)); [|exact X].
    intros y Iy. apply Hknown; [apply If, Iy|exact Hj]. }
  apply (at_least_sound v alphabet w _ _ _ _ i (Hw i Hi)) in Hh;
    [|intros y [<-|Iy]; [exact Hg|exact (Hknown y Iy i Hi)]].
  assert (Behind : forall j, 1 <= j <= n -> j < i ->
    (amount v (behind a) j <= amount v (behind c) j)%Z).
  { intros j Hj L. apply orb_true_iff in Hb as [Hb|Hb]; [rewrite (Hf Hb) in L; lia|].
    apply (Far known _ _ _ j (fun y I => I) Hj) in Hb. rewrite amount_less in Hb. lia. }
  assert (Ahead : forall j, 1 <= j <= n -> i < j ->
    (amount v (ahead a) j <= amount v (ahead c) j)%Z).
  { intros j Hj L. apply orb_true_iff in Hah as [Hb'|Hb']; [rewrite (Hl Hb') in L; lia|].
    apply (Far known _ _ _ j (fun y I => I) Hj) in Hb'. rewrite amount_less in Hb'. lia. }
  set (near := match distance t with Together => 0%Z | _ => near_adds t end).
  assert (Point : forall j, 1 <= j <= n ->
    (contribution v a (there t i) j + (if Nat.eqb j i then here_adds t else 0)
       + (if Nat.eqb j (there t i) then near else 0) <= contribution v c i j)%Z).
  { intros j Hj. unfold contribution, near, there. rewrite amount_less in Hh.
    destruct (distance t) as [|[]] eqn:D; cbn [pos].
    - destruct (Nat.eqb_spec j i), (Nat.compare_spec j i); try lia; subst; try lia.
      + pose proof (Behind j Hj ltac:(lia)). lia.
      + pose proof (Ahead j Hj ltac:(lia)). lia.
    - specialize (Hd Past eq_refl). cbn [pos] in Hd.
      destruct (Nat.compare_spec j i), (Nat.compare_spec j (i - 1)), (Nat.eqb_spec j i),
        (Nat.eqb_spec j (i - 1)); try lia; subst; try lia.
      + apply (Far known _ _ _ (i - 1) (fun y I => I) Hj) in Hn. rewrite amount_less in Hn. lia.
      + pose proof (Behind j Hj ltac:(lia)). lia.
      + pose proof (Ahead j Hj ltac:(lia)). lia.
    - specialize (Hd Future eq_refl). cbn [pos] in Hd.
      replace (S n - (S n - i - 1)) with (S i) by lia.
      destruct (Nat.compare_spec j i), (Nat.compare_spec j (S i)), (Nat.eqb_spec j i),
        (Nat.eqb_spec j (S i)); try lia; subst; try lia.
      + pose proof (Behind j Hj ltac:(lia)). lia.
      + apply (Far known _ _ _ (S i) (fun y I => I) Hj) in Hn. rewrite amount_less in Hn. lia.
      + pose proof (Ahead j Hj ltac:(lia)). lia. }
  assert (One : forall k x, 1 <= k <= n -> sum_over (fun j => if Nat.eqb j k then x
    else 0%Z) (seq 1 n) = x).
  { intros k x Hk'. rewrite (split_at n k Hk'), !sum_over_app.
    rewrite (sum_over_ext _ (fun _ => 0%Z) (seq 1 (k - 1))),
      (sum_over_ext _ (fun _ => 0%Z) (seq (S k) (n - k))).
    - rewrite !sum_over_constant. cbn [sum_over fold_right]. rewrite Nat.eqb_refl. lia.
    - intros j Ij. apply in_seq in Ij. destruct (Nat.eqb_spec j k); [lia|reflexivity].
    - intros j Ij. apply in_seq in Ij. destruct (Nat.eqb_spec j k); [lia|reflexivity]. }
  assert (Total : (sum_over (contribution v a (there t i)) (seq 1 n) + here_adds t + near
                   <= sum_over (contribution v c i) (seq 1 n))%Z).
  { rewrite <- (One i (here_adds t) Hi) at 1. rewrite <- (One (there t i) near Ht).
    rewrite <- !sum_over_plus. apply sum_over_le. intros j Ij. apply in_seq in Ij. apply Point. lia.
    }
  assert (near = near_adds t).
  { unfold near. destruct (distance t); [|reflexivity]. apply Z.eqb_eq in Hn. lia. }
  lia.
Qed.
End Tally.
