(** Heads that read by rank: of two positions with the same code one has counted all that the other
    has, and the other too, so their counts differ, and the count is in the code. That is seen by
    cases of what may be at a position. *)
From Coq Require Import Arith NArith ZArith List Bool Lia.
From Softhat Require Import Formula Program Lowering Covers.
Import ListNotations.
Open Scope nat_scope.

(** * What may be at a position *)

Section Cases.
Variables (p : program) (alphabet : nat).

Definition value (e : knowledge) (x : literal) : option bool := lit3 (value3 p (length p) e) x.
(* the signals under literals that are no gates *)
Definition leaves_of (xs : list literal) : list nat :=
  nodup Nat.eq_dec
    (flat_map (fun x => match of x with Some s => cone p (length p) s | None => [] end) xs).

Definition same_direction (d d' : direction) : bool :=
  match d, d' with Past, Past | Future, Future => true | _, _ => false end.
(* what excludes another at the position before is not there at once *)
Definition excludes_before (a b : nat * bool) : bool :=
  match nth_error p (fst a), nth_error p (fst b) with
  | Some (Previous x d), Some (Previous y d') =>
      match of x, of y with
      | Some s, Some t =>
          same_direction d d' && snd a && snd b
          && (excludes p (s, plain x) (t, plain y)
              || (Nat.eqb s t && xorb (plain x) (plain y)))
      | _, _ => false
      end
  | _, _ => false
  end.
Definition impossible (e : knowledge) (a : nat * bool) : bool :=
  refuted p e a || existsb (fun b => excludes_before a b || excludes_before b a) e.
(* every symbol is one of those that are not there *)
Definition without_symbol (e : knowledge) : bool :=
  forallb (fun a => existsb (fun sb => negb (snd sb) && match nth_error p (fst sb) with
    | Some (Token set) => existsb (Nat.eqb a) set
    | _ => false
    end) e) (seq 0 alphabet).
Fixpoint cases (xs : list nat) (e : knowledge) : list knowledge :=
  match xs with
  | [] => if without_symbol e then [] else [e]
  | x :: xs =>
      match known e x with
      | Some _ => cases xs e
      | None =>
          (if impossible e (x, true) then [] else cases xs ((x, true) :: e))
          ++ (if impossible e (x, false) then [] else cases xs ((x, false) :: e))
      end
  end.

(* few enough for all cases; of symbols a position has one only *)
Definition few (xs : list nat) : bool :=
  Nat.leb (length xs) 40
  && Nat.leb (length (filter (fun s =>
       match nth_error p s with Some (Token _) => false | _ => true end) xs)) 12.

(* two literals that never hold together *)
Definition never_both (a b : literal) : bool :=
  let xs := leaves_of [a; b] in
  if few xs then
    forallb (fun e => match and3 (value e a) (value e b) with Some false => true | _ => false end)
      (cases xs [])
  else false.

Variables (n : nat) (w : word) (v : valuation).
Hypothesis Hv : computes n w v p.
Hypothesis Hw : forall i, 1 <= i <= n -> symbol w i < alphabet.

Section Position.
Variable i : nat.
Hypothesis Hi : 1 <= i <= n.

Definition meets (e : knowledge) : Prop := forall s b, In (s, b) e -> bit v s i = b.

Lemma meets_consistent e : meets e -> consistent v i e.
Proof.
  intros M s b. induction e as [|[s' b'] e IH]; intros K; [discriminate|]. cbn [known] in K.
  destruct (Nat.eqb_spec s s') as [->|].
  - injection K as <-. apply M. left. reflexivity.
  - apply IH; [|exact K]. intros t c I. apply M. right. exact I.
Qed.

Lemma value_sound e x b : meets e -> value e x = Some b -> lit v x i = b.
Proof.
  intros M. apply lit3_sound. intros s c.
  apply (value3_sound p n w v Hv i Hi), meets_consistent, M.
Qed.

Lemma literal_bit x s : of x = Some s -> lit v x i = true -> bit v s i = plain x.
Proof. intros O L. unfold lit in L. rewrite O in L. symmetry. apply eqb_prop, L. Qed.
End Position.

Lemma excludes_before_sound i a b : 1 <= i <= n -> bit v (fst a) i = snd a ->
  bit v (fst b) i = snd b -> excludes_before a b = false.
Proof.
  intros Hi A B. unfold excludes_before.
  destruct (nth_error p (fst a)) as [ga|] eqn:Ga; [|reflexivity].
  destruct (nth_error p (fst b)) as [gb|] eqn:Gb; [|destruct ga; reflexivity].
  pose proof (Hv _ _ Ga i Hi) as Ma. pose proof (Hv _ _ Gb i Hi) as Mb.
  destruct ga as [| | | | | |x d| | | | | | | | | |]; try reflexivity.
  destruct gb as [| | | | | |y d'| | | | | | | | | |]; try reflexivity.
  destruct (of x) as [s|] eqn:Ox; [|reflexivity]. destruct (of y) as [t|] eqn:Oy; [|reflexivity].
  cbn [means] in Ma, Mb. apply not_true_is_false. intros E. rewrite !andb_true_iff in E.
  destruct E as [[[D Sa] Sb] E].
  assert (d = d') as <- by (destruct d, d'; (reflexivity || discriminate)).
  rewrite A, Sa in Ma. rewrite B, Sb in Mb. symmetry in Ma, Mb.
  apply andb_true_iff in Ma as [L Ma]. apply andb_true_iff in Mb as [_ Mb].
  apply Nat.ltb_lt in L. unfold seen in Ma, Mb. set (j := pos n d (pos n d i - 1)) in *.
  assert (Hj : 1 <= j <= n) by (unfold j, pos in *; destruct d; lia).
  pose proof (literal_bit j x s Ox Ma) as Bx. pose proof (literal_bit j y t Oy Mb) as By.
  apply orb_true_iff in E as [E|E].
  - rewrite (excludes_sound p n w v Hv j Hj (s, plain x) (t, plain y) Bx By) in E. discriminate.
  - apply andb_true_iff in E as [T E]. apply Nat.eqb_eq in T. subst t. rewrite <- Bx, By in E.
    rewrite xorb_nilpotent in E. discriminate.
Qed.

Lemma impossible_sound i e a : 1 <= i <= n -> meets i e -> impossible e a = true ->
  bit v (fst a) i <> snd a.
Proof.
  intros Hi M R A. unfold impossible in R. apply orb_true_iff in R as [R|R].
  - exact (refuted_sound p n w v Hv i Hi e a (meets_consistent i e M) R A).
  - apply existsb_exists in R as ([s b] & I & R). specialize (M s b I).
    rewrite (excludes_before_sound i a (s, b) Hi A M) in R.
    rewrite (excludes_before_sound i (s, b) a Hi M A) in R. discriminate.
Qed.

Lemma symbol_there i e : 1 <= i <= n -> meets i e -> without_symbol e = false.
Proof.
  intros Hi M. apply not_true_is_false. intros S. unfold without_symbol in S.
  rewrite forallb_forall in S.
  specialize (S (symbol w i) ltac:(apply in_seq; pose proof (Hw i Hi); lia)).
  apply existsb_exists in S as ([s b] & I & S). cbn [fst snd] in S.
  apply andb_true_iff in S as [B S]. apply negb_true_iff in B. subst b.
  destruct (nth_error p s) as [[]|] eqn:G; try discriminate.
  pose proof (Hv _ _ G i Hi) as E. cbn [means] in E. rewrite (M s false I), S in E. discriminate.
Qed.

Lemma cases_complete i xs : 1 <= i <= n -> forall e, meets i e ->
  exists e', In e' (cases xs e) /\ meets i e'.
Proof.
  intros Hi. induction xs as [|x xs IH]; intros e M; cbn [cases].
  - rewrite (symbol_there i e Hi M). exists e. split; [left; reflexivity|exact M].
  - destruct (known e x); [exact (IH e M)|].
    assert (M' : meets i ((x, bit v x i) :: e)).
    { intros s b [E|I]; [injection E as <- <-; reflexivity|apply M, I]. }
    destruct (IH _ M') as (e' & I & Me). exists e'. split; [|exact Me].
    assert (Q : impossible e (x, bit v x i) = false).
    { apply not_true_is_false. intros Q. exact (impossible_sound i e _ Hi M Q eq_refl). }
    apply in_or_app. destruct (bit v x i); [left|right]; rewrite Q; exact I.
Qed.

Lemma never_both_sound a b i : 1 <= i <= n -> never_both a b = true ->
  lit v a i = true -> lit v b i = false.
Proof.
  intros Hi N A. unfold never_both in N. destruct (few _); [|discriminate].
  destruct (cases_complete i (leaves_of [a; b]) Hi []) as (e & I & M); [intros ? ? []|].
  rewrite forallb_forall in N. specialize (N e I).
  destruct (and3 (value e a) (value e b)) as [[]|] eqn:E; try discriminate.
  pose proof (and3_sound (value e a) (value e b) (lit v a i) (lit v b i)) as S.
  rewrite <- (S (fun c => value_sound i Hi e a c M) (fun c => value_sound i Hi e b c M) _ E), A.
  reflexivity.
Qed.

(** * Counts *)

(* what a head of a count pairs, and which positions it sees *)
Definition rule := (literal * literal * mask)%type.
Definition rules_in (ps : list (literal * literal)) (m : mask) : list rule :=
  map (fun qk => (qk, m)) ps.
Definition complementary (a b : mask) : bool :=
  match a, b with
  | Below, Program.AtLeast | Program.AtLeast, Below | AtMost, Above | Above, AtMost => true
  | _, _ => false
  end.
(* the rules of a count of positions, each counted once *)
Definition rules_of (s : nat) : option (list rule) :=
  match nth_error p s with
  | Some (Width ps m _) => Some (rules_in ps m)
  | Some (Total [(1%Z, a); (1%Z, b)] _) =>
      match nth_error p a, nth_error p b with
      | Some (Width ps m _), Some (Width ps' m' _) =>
          if complementary m m' then Some (rules_in ps m ++ rules_in ps' m') else None
      | _, _ => None
      end
  | _ => None
  end.
Definition follows (r : rule) (k j : nat) : bool :=
  sees (snd r) k j && (lit v (fst (fst r)) k && lit v (snd (fst r)) j).
Definition counted (rs : list rule) (k j : nat) : bool := existsb (fun r => follows r k j) rs.

Lemma counted_in ps m k j : counted (rules_in ps m) k j = sees m k j && chosen v ps k j.
Proof.
  unfold counted, chosen, rules_in. induction ps as [|[q x] ps IH]; cbn.
  - rewrite andb_false_r. reflexivity.
  - cbn in IH. rewrite IH. unfold follows, paired. cbn [fst snd].
    destruct (sees m k j); reflexivity.
Qed.

Lemma filter_both {A} (f g : A -> bool) l : filter f (filter g l) = filter (fun a => g a && f a) l.
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn. destruct (g a); cbn; [|exact IH].
  destruct (f a); cbn; rewrite IH; reflexivity.
Qed.

Lemma filter_split {A} (f g : A -> bool) l : (forall a, f a && g a = false) ->
  length (filter f l) + length (filter g l) = length (filter (fun a => f a || g a) l).
Proof.
  intros D. induction l as [|a l IH]; [reflexivity|]. cbn [filter]. specialize (D a).
  destruct (f a), (g a); cbn [orb andb length] in *; (discriminate || lia).
Qed.

Lemma complementary_apart m m' k j : complementary m m' = true ->
  sees m k j && sees m' k j = false.
Proof.
  destruct m, m'; cbn [complementary sees]; try discriminate; intros _;
    repeat match goal with
      | |- context [Nat.leb ?a ?b] => destruct (Nat.leb_spec a b)
      | |- context [Nat.ltb ?a ?b] => destruct (Nat.ltb_spec a b)
      end; (reflexivity || lia).
Qed.

Lemma width_counts s ps m M k : nth_error p s = Some (Width ps m M) -> 1 <= k <= n ->
  sums v s k = Z.of_nat (length (filter (counted (rules_in ps m) k) (seq 1 n))).
Proof.
  intros G Hk. pose proof (Hv _ _ G k Hk) as E. cbn [means] in E. rewrite E. unfold visible.
  rewrite filter_both. do 2 f_equal. apply filter_ext. intros j. rewrite counted_in. reflexivity.
Qed.

Lemma rules_count s rs k : rules_of s = Some rs -> 1 <= k <= n ->
  sums v s k = Z.of_nat (length (filter (counted rs k) (seq 1 n))).
Proof.
  intros R Hk. unfold rules_of in R. destruct (nth_error p s) as [g|] eqn:G; [|discriminate].
  destruct g as [| | | | | | | | | | | | |ps m M|cs most| |]; try discriminate.
  - injection R as <-. exact (width_counts s ps m M k G Hk).
  - destruct cs as [|[[|[| |]|] a] [|[[|[| |]|] b] [|]]]; try discriminate.
    destruct (nth_error p a) as [ga|] eqn:Ga; [|discriminate].
    destruct ga as [| | | | | | | | | | | | |ps m M| | |]; try discriminate.
    destruct (nth_error p b) as [gb|] eqn:Gb; [|discriminate].
    destruct gb as [| | | | | | | | | | | | |ps' m' M'| | |]; try discriminate.
    destruct (complementary m m') eqn:C; [|discriminate]. injection R as <-.
    pose proof (Hv _ _ G k Hk) as E. cbn [means total_count fold_right fst snd] in E. rewrite E.
    rewrite (width_counts a ps m M k Ga Hk), (width_counts b ps' m' M' k Gb Hk).
    rewrite !Z.mul_1_l, Z.add_0_r, <- Nat2Z.inj_add. f_equal. rewrite filter_split.
    + f_equal. apply filter_ext. intros j. unfold counted. rewrite existsb_app. reflexivity.
    + intros j. rewrite !counted_in. pose proof (complementary_apart m m' k j C) as D.
      destruct (sees m k j), (sees m' k j); try discriminate D; cbn [andb];
        rewrite ?andb_false_r; reflexivity.
Qed.

Lemma filter_few {A} (f : A -> bool) l : length (filter f l) <= length l.
Proof. induction l as [|a l IH]; cbn; [lia|]. destruct (f a); cbn; lia. Qed.

(* one that counts all that another does, and one more *)
Lemma filter_more {A} (f g : A -> bool) l x : (forall a, In a l -> f a = true -> g a = true) ->
  In x l -> f x = false -> g x = true -> length (filter f l) < length (filter g l).
Proof.
  intros S. assert (Le : forall l, (forall a, In a l -> f a = true -> g a = true) ->
    length (filter f l) <= length (filter g l)).
  { clear. induction l as [|a l IH]; intros S; cbn; [lia|].
    specialize (IH (fun b I => S b (or_intror I))). specialize (S a (or_introl eq_refl)).
    destruct (f a), (g a); cbn; (lia || discriminate (S eq_refl)). }
  induction l as [|a l IH]; intros I Fx Gx; [destruct I|]. cbn.
  pose proof (Le l (fun b J => S b (or_intror J))) as L. destruct I as [->|I].
  - rewrite Fx, Gx. cbn. lia.
  - specialize (IH (fun b J => S b (or_intror J)) I Fx Gx).
    specialize (S a (or_introl eq_refl)).
    destruct (f a), (g a); cbn; (lia || discriminate (S eq_refl)).
Qed.

(** * What is seen of a position *)

Definition view := list (option bool).
Definition look (xs : list literal) (e : knowledge) : view := map (value e) xs.
Definition tells (o : view) (xs : list literal) (i : nat) : Prop :=
  Forall2 (fun o x => forall b, o = Some b -> lit v x i = b) o xs.

Lemma look_tells xs e i : 1 <= i <= n -> meets i e -> tells (look xs e) xs i.
Proof.
  intros Hi M. unfold tells, look. induction xs as [|x xs IH]; constructor; [|exact IH].
  intros b. apply value_sound; assumption.
Qed.

(* what it has in the code, and what it is as one that counts and as one that is counted *)
Definition sight := (view * view * view)%type.
Definition view_eq (a b : view) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition sight_eq (a b : sight) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition sights (e0 : knowledge) (cs qs ks : list literal) : list sight :=
  nodup sight_eq (map (fun e => (look cs e, look qs e, look ks e))
    (cases (leaves_of (cs ++ qs ++ ks)) e0)).
Definition views (e0 : knowledge) (xs : list literal) : list view :=
  nodup view_eq (map (look xs) (cases (leaves_of xs) e0)).

Lemma sights_complete e0 cs qs ks i : 1 <= i <= n -> meets i e0 ->
  exists c q k, In (c, q, k) (sights e0 cs qs ks)
  /\ tells c cs i /\ tells q qs i /\ tells k ks i.
Proof.
  intros Hi M0. destruct (cases_complete i (leaves_of (cs ++ qs ++ ks)) Hi e0 M0) as (e & I & M).
  exists (look cs e), (look qs e), (look ks e).
  split; [|repeat split; apply look_tells; assumption].
  apply nodup_In. apply in_map_iff. exists e. auto.
Qed.
Lemma views_complete e0 xs i : 1 <= i <= n -> meets i e0 ->
  exists o, In o (views e0 xs) /\ tells o xs i.
Proof.
  intros Hi M0. destruct (cases_complete i (leaves_of xs) Hi e0 M0) as (e & I & M).
  exists (look xs e). split; [|apply look_tells; assumption].
  apply nodup_In. apply in_map_iff. exists e. auto.
Qed.

(* two views of codes that cannot be the same code *)
Fixpoint unlike (a b : view) : bool :=
  match a, b with
  | Some x :: a, Some y :: b => if xorb x y then true else unlike a b
  | _ :: a, _ :: b => unlike a b
  | _, _ => false
  end.
Lemma unlike_sound a b xs ys i j : tells a xs i -> tells b ys j ->
  Forall2 (fun x y => lit v x i = lit v y j) xs ys -> unlike a b = false.
Proof.
  intros A. revert b ys. induction A as [|o x a xs Ox A IH]; intros b ys B E.
  - destruct B; reflexivity.
  - destruct B as [|o' y b ys Oy B]; [destruct o; reflexivity|].
    inversion E as [|? ? ? ? Exy E']; subst.
    cbn [unlike]. destruct o as [c|]; [|exact (IH b ys B E')].
    destruct o' as [c'|]; [|exact (IH b ys B E')].
    rewrite (Ox c eq_refl), (Oy c' eq_refl) in Exy. subst c'. rewrite xorb_nilpotent.
    exact (IH b ys B E').
Qed.

(* is j counted by k? by their order, and what is seen of both *)
Definition sees_as (m : mask) (order : comparison) : bool :=
  match m, order with
  | AtMost, Gt | Below, (Gt | Eq) | Program.AtLeast, Lt | Above, (Lt | Eq) => false
  | _, _ => true
  end.
Fixpoint counted3 (ms : list mask) (order : comparison) (q k : view) : option bool :=
  match ms, q, k with
  | m :: ms, a :: q, b :: k =>
      or3 (if sees_as m order then and3 a b else Some false) (counted3 ms order q k)
  | _, _, _ => Some false
  end.
Definition queries (rs : list rule) : list literal := map (fun r => fst (fst r)) rs.
Definition keys (rs : list rule) : list literal := map (fun r => snd (fst r)) rs.

Lemma sees_order m k j : sees m k j = sees_as m (Nat.compare j k).
Proof.
  destruct (Nat.compare_spec j k); destruct m; cbn [sees sees_as];
    repeat match goal with
      | |- context [Nat.leb ?a ?b] => destruct (Nat.leb_spec a b)
      | |- context [Nat.ltb ?a ?b] => destruct (Nat.ltb_spec a b)
      end; (reflexivity || lia).
Qed.

Lemma counted3_sound rs k j : forall q x, tells q (queries rs) k -> tells x (keys rs) j ->
  forall c, counted3 (map snd rs) (Nat.compare j k) q x = Some c -> counted rs k j = c.
Proof.
  unfold counted.
  induction rs as [|r rs IH]; intros q x Q X c E; inversion Q; subst; inversion X; subst.
  - cbn in E. injection E as <-. reflexivity.
  - cbn [map counted3] in E. cbn [existsb]. revert c E. apply or3_sound; [|apply IH; assumption].
    intros c E. unfold follows. rewrite sees_order.
    destruct (sees_as (snd r) (Nat.compare j k)); [|injection E as <-; reflexivity].
    cbn [andb]. revert c E. apply and3_sound; assumption.
Qed.

(* every position chooses itself *)
Definition is3 (a : option bool) (b : bool) : bool :=
  match a with Some c => Bool.eqb c b | None => false end.
Definition chooses_itself (ps : list (literal * literal)) (m : mask) : bool :=
  let rs := rules_in ps m in
  if few (leaves_of (queries rs ++ keys rs)) then
    forallb (fun s => is3 (counted3 (map snd rs) Eq (snd (fst s)) (snd s)) true)
      (sights [] [] (queries rs) (keys rs))
  else false.

Lemma is3_sound a b x : is3 a b = true -> (forall c, a = Some c -> x = c) -> x = b.
Proof.
  intros I A. destruct a as [c|]; [|discriminate]. apply eqb_prop in I. subst.
  apply A, eq_refl.
Qed.

Lemma chooses_itself_sound ps m i : chooses_itself ps m = true -> 1 <= i <= n ->
  In i (visible n m i) /\ chosen v ps i i = true.
Proof.
  intros C Hi. unfold chooses_itself in C. destruct (few _); [|discriminate].
  destruct (sights_complete [] [] (queries (rules_in ps m)) (keys (rules_in ps m)) i Hi)
    as (c & q & k & I & _ & Tq & Tk); [intros ? ? []|].
  rewrite forallb_forall in C. specialize (C _ I). cbn [fst snd] in C.
  assert (F : counted (rules_in ps m) i i = true).
  { apply (is3_sound _ _ _ C). intros b. rewrite <- (Nat.compare_refl i).
    apply counted3_sound; assumption. }
  rewrite counted_in in F. apply andb_true_iff in F as [S Ch]. split; [|exact Ch].
  unfold visible. apply filter_In. split; [apply in_seq; lia|exact S].
Qed.

Definition implies3 (a b : option bool) : bool :=
  match a, b with Some false, _ | _, Some true => true | _, _ => false end.

(* all that j counts k counts too, and one of j and k besides: j stands before k; what else there
   is stands before, between or after them *)
Definition counts_more (ms : list mask) (j k : sight) (others : list view) : bool :=
  let '(_, qj, kj) := j in let '(_, qk, kk) := k in
  let by_j o x := counted3 ms o qj x in let by_k o x := counted3 ms o qk x in
  (is3 (by_j Eq kj) false && is3 (by_k Lt kj) true && implies3 (by_j Gt kk) (by_k Eq kk)
   && forallb (fun x => implies3 (by_j Lt x) (by_k Lt x) && implies3 (by_j Gt x) (by_k Lt x)
                        && implies3 (by_j Gt x) (by_k Gt x)) others)
  || (is3 (by_k Eq kk) false && is3 (by_j Gt kk) true && implies3 (by_k Lt kj) (by_j Eq kj)
   && forallb (fun x => implies3 (by_k Lt x) (by_j Lt x) && implies3 (by_k Lt x) (by_j Gt x)
                        && implies3 (by_k Gt x) (by_j Gt x)) others).

Lemma implies3_sound a b x y : implies3 a b = true -> (forall c, a = Some c -> x = c) ->
  (forall c, b = Some c -> y = c) -> x = true -> y = true.
Proof.
  intros I A B X. destruct a as [[]|]; cbn in I.
  - destruct b as [[]|]; try discriminate. apply B, eq_refl.
  - specialize (A false eq_refl). congruence.
  - destruct b as [[]|]; try discriminate. apply B, eq_refl.
Qed.
Lemma counts_more_sound e0 rs j k sj sk : (forall a, 1 <= a <= n -> meets a e0) ->
  1 <= j <= n -> 1 <= k <= n -> j < k ->
  tells (snd (fst sj)) (queries rs) j -> tells (snd sj) (keys rs) j ->
  tells (snd (fst sk)) (queries rs) k -> tells (snd sk) (keys rs) k ->
  counts_more (map snd rs) sj sk (views e0 (keys rs)) = true ->
  length (filter (counted rs j) (seq 1 n)) <> length (filter (counted rs k) (seq 1 n)).
Proof.
  intros M0 Hj Hk L Qj Kj Qk Kk C. destruct sj as [[cj qj] kj], sk as [[ck qk] kk].
  cbn [fst snd] in *. unfold counts_more in C.
  assert (By : forall i a q x o, tells q (queries rs) i -> tells x (keys rs) a ->
    Nat.compare a i = o -> forall c, counted3 (map snd rs) o q x = Some c -> counted rs i a = c).
  { intros i a q x o Q X <- c. apply counted3_sound; assumption. }
  assert (Under : forall a i, a < i -> Nat.compare a i = Lt)
    by (intros; apply Nat.compare_lt_iff; lia).
  assert (Over : forall a i, i < a -> Nat.compare a i = Gt)
    by (intros; apply Nat.compare_gt_iff; lia).
  assert (Here : forall a, Nat.compare a a = Eq) by apply Nat.compare_refl.
  apply orb_true_iff in C as [C|C]; rewrite !andb_true_iff in C;
    destruct C as [[[C1 C2] C3] C4]; rewrite forallb_forall in C4.
  - enough (length (filter (counted rs j) (seq 1 n)) < length (filter (counted rs k) (seq 1 n)))
      by lia.
    apply filter_more with (x := j).
    + intros a Ia J. apply in_seq in Ia.
      destruct (views_complete e0 (keys rs) a ltac:(lia) (M0 a ltac:(lia))) as (x & Ix & Tx).
      specialize (C4 x Ix).
      rewrite !andb_true_iff in C4. destruct C4 as [[C5 C6] C7].
      destruct (Nat.lt_total a j) as [A|[->|A]].
      * exact (implies3_sound _ _ _ _ C5 (By j a qj x Lt Qj Tx (Under a j A))
          (By k a qk x Lt Qk Tx (Under a k ltac:(lia))) J).
      * rewrite (is3_sound _ _ _ C1 (By j j qj kj Eq Qj Kj (Here j))) in J. discriminate.
      * destruct (Nat.lt_total a k) as [B|[->|B]].
        -- exact (implies3_sound _ _ _ _ C6 (By j a qj x Gt Qj Tx (Over a j A))
             (By k a qk x Lt Qk Tx (Under a k B)) J).
        -- exact (implies3_sound _ _ _ _ C3 (By j k qj kk Gt Qj Kk (Over k j L))
             (By k k qk kk Eq Qk Kk (Here k)) J).
        -- exact (implies3_sound _ _ _ _ C7 (By j a qj x Gt Qj Tx (Over a j A))
             (By k a qk x Gt Qk Tx (Over a k B)) J).
    + apply in_seq. lia.
    + exact (is3_sound _ _ _ C1 (By j j qj kj Eq Qj Kj (Here j))).
    + exact (is3_sound _ _ _ C2 (By k j qk kj Lt Qk Kj (Under j k L))).
  - enough (length (filter (counted rs k) (seq 1 n)) < length (filter (counted rs j) (seq 1 n)))
      by lia.
    apply filter_more with (x := k).
    + intros a Ia J. apply in_seq in Ia.
      destruct (views_complete e0 (keys rs) a ltac:(lia) (M0 a ltac:(lia))) as (x & Ix & Tx).
      specialize (C4 x Ix).
      rewrite !andb_true_iff in C4. destruct C4 as [[C5 C6] C7].
      destruct (Nat.lt_total a j) as [A|[->|A]].
      * exact (implies3_sound _ _ _ _ C5 (By k a qk x Lt Qk Tx (Under a k ltac:(lia)))
          (By j a qj x Lt Qj Tx (Under a j A)) J).
      * exact (implies3_sound _ _ _ _ C3 (By k j qk kj Lt Qk Kj (Under j k L))
          (By j j qj kj Eq Qj Kj (Here j)) J).
      * destruct (Nat.lt_total a k) as [B|[->|B]].
        -- exact (implies3_sound _ _ _ _ C6 (By k a qk x Lt Qk Tx (Under a k B))
             (By j a qj x Gt Qj Tx (Over a j A)) J).
        -- rewrite (is3_sound _ _ _ C1 (By k k qk kk Eq Qk Kk (Here k))) in J. discriminate.
        -- exact (implies3_sound _ _ _ _ C7 (By k a qk x Gt Qk Tx (Over a k B))
             (By j a qj x Gt Qj Tx (Over a j A)) J).
    + apply in_seq. lia.
    + exact (is3_sound _ _ _ C1 (By k k qk kk Eq Qk Kk (Here k))).
    + exact (is3_sound _ _ _ C2 (By j k qj kk Gt Qj Kk (Over k j L))).
Qed.

(** * Codes that hold a count *)

Definition digit_of_count (x : literal) : option (nat * list nat) :=
  match of x with
  | Some s => if plain x then match nth_error p s with
      | Some (Steps c turns) => Some (c, turns)
      | _ => None
      end else None
  | None => None
  end.
(* the count whose digits are among the keys, and these digits *)
Fixpoint count_in (ds : list (literal * literal)) : option nat :=
  match ds with
  | [] => None
  | qk :: ds => match digit_of_count (snd qk) with Some (c, _) => Some c | None => count_in ds end
  end.
Fixpoint digits_in (c : nat) (ds : list (literal * literal)) : list (list nat) :=
  match ds with
  | [] => []
  | qk :: ds => match digit_of_count (snd qk) with
      | Some (c', turns) => if Nat.eqb c c' then turns :: digits_in c ds else digits_in c ds
      | None => digits_in c ds
      end
  end.
Fixpoint code_in (ds : list (literal * literal)) : list (literal * literal) :=
  match ds with
  | [] => []
  | qk :: ds =>
      match digit_of_count (snd qk) with Some _ => code_in ds | None => qk :: code_in ds end
  end.
Fixpoint distinct (l : list (list bool)) : bool :=
  match l with
  | [] => true
  | a :: l =>
      forallb (fun b => if list_eq_dec Bool.bool_dec a b then false else true) l && distinct l
  end.
Definition as_digits (ts : list (list nat)) (t : nat) : list bool :=
  map (fun turns => turned turns (Z.of_nat t)) ts.

Lemma distinct_values (f : nat -> list bool) l a b : distinct (map f l) = true ->
  In a l -> In b l -> f a = f b -> a = b.
Proof.
  induction l as [|x l IH]; intros D Ia Ib E; [destruct Ia|]. cbn [map distinct] in D.
  apply andb_true_iff in D as [D1 D2]. rewrite forallb_forall in D1.
  assert (Q : forall y, In y l -> f x <> f y).
  { intros y Iy Exy. specialize (D1 (f y) (in_map f l y Iy)).
    destruct (list_eq_dec _ _ _); [discriminate|contradiction]. }
  destruct Ia as [->|Ia], Ib as [->|Ib]; try reflexivity.
  - destruct (Q b Ib E).
  - destruct (Q a Ia (eq_sym E)).
  - apply IH; assumption.
Qed.

(** ** What is the same everywhere: comparisons of counts over the whole word *)

(* the terms of a comparison that is the same at every position, and its threshold *)
Definition whole (s : nat) : option (list (Z * option nat) * Z) :=
  match nth_error p s with
  | Some (Sign None None (Some t) 0%Z 0%Z c) =>
      match nth_error p t with Some (Average ts All) => Some (ts, c) | _ => None end
  | _ => None
  end.
Definition everywhere (s : nat) : bool := match whole s with Some _ => true | None => false end.
Definition total (ts : list (Z * option nat)) : Z := sum_over (weigh v ts) (seq 1 n).

Lemma whole_bit s ts c i : whole s = Some (ts, c) -> 1 <= i <= n ->
  bit v s i = Z.leb c (total ts).
Proof.
  intros W Hi. unfold whole in W. destruct (nth_error p s) as [g|] eqn:G; [|discriminate].
  destruct g as [| | | | | | | | |x z t a b k| | | | | | |]; try discriminate.
  destruct x; [discriminate|]. destruct z; [discriminate|]. destruct t as [t|]; [|discriminate].
  destruct a; try discriminate. destruct b; try discriminate.
  destruct (nth_error p t) as [h|] eqn:H; [|discriminate].
  destruct h as [| | | | | | | |us r| | | | | | | |]; try discriminate.
  destruct r; try discriminate. injection W as -> ->.
  pose proof (Hv _ _ G i Hi) as M. pose proof (Hv _ _ H i Hi) as N. cbn [means sum_of] in M, N.
  rewrite M, N. unfold total, span. f_equal. lia.
Qed.

Lemma everywhere_same s i j : everywhere s = true -> 1 <= i <= n -> 1 <= j <= n ->
  bit v s i = bit v s j.
Proof.
  intros E Hi Hj. unfold everywhere in E. destruct (whole s) as [[ts c]|] eqn:W; [|discriminate].
  rewrite (whole_bit s ts c i W Hi), (whole_bit s ts c j W Hj). reflexivity.
Qed.

(* a sum of terms, and a number: together at least 0 *)
Definition bound := (list (Z * option nat) * Z)%type.
Definition negated (ts : list (Z * option nat)) : list (Z * option nat) :=
  map (fun t => (- fst t, snd t)%Z) ts.
Definition bound_of (a : nat * bool) : list bound :=
  match whole (fst a) with
  | Some (ts, c) => [if snd a then (ts, - c)%Z else (negated ts, c - 1)%Z]
  | None => []
  end.
Definition least (b : bound) : Prop := (0 <= total (fst b) + snd b)%Z.

Lemma weigh_cons t ts j :
  weigh v (t :: ts) j = (fst t * (if lit v (Lit (snd t) true) j then 1 else 0) + weigh v ts j)%Z.
Proof. reflexivity. Qed.
Lemma weigh_app ts us j : weigh v (ts ++ us) j = (weigh v ts j + weigh v us j)%Z.
Proof. induction ts as [|t ts IH]; [reflexivity|]. cbn [app]. rewrite !weigh_cons, IH. lia. Qed.
Lemma weigh_negated ts j : weigh v (negated ts) j = (- weigh v ts j)%Z.
Proof.
  induction ts as [|t ts IH]; [reflexivity|]. cbn [negated map]. fold (negated ts).
  rewrite !weigh_cons, IH. cbn [fst snd]. lia.
Qed.
Lemma sum_over_plus f g h l : (forall j, h j = f j + g j)%Z ->
  (sum_over h l = sum_over f l + sum_over g l)%Z.
Proof.
  intros E. induction l as [|j l IH]; [reflexivity|]. unfold sum_over in *. cbn [fold_right].
  rewrite IH, E. lia.
Qed.
Lemma total_app ts us : (total (ts ++ us) = total ts + total us)%Z.
Proof. apply sum_over_plus. intros j. apply weigh_app. Qed.
Lemma total_negated ts : (total (negated ts) = - total ts)%Z.
Proof.
  enough (total ts + total (negated ts) = 0)%Z by lia. unfold total.
  rewrite <- (sum_over_plus (weigh v ts) (weigh v (negated ts)) (fun _ => 0%Z)).
  - induction (seq 1 n) as [|j l IH]; [reflexivity|]. unfold sum_over in *. cbn. exact IH.
  - intros j. rewrite weigh_negated. lia.
Qed.

Lemma bound_of_least a b i : 1 <= i <= n -> bit v (fst a) i = snd a -> In b (bound_of a) -> least b.
Proof.
  intros Hi A I. unfold bound_of in I. destruct (whole (fst a)) as [[ts c]|] eqn:W; [|destruct I].
  destruct I as [<-|[]]. rewrite (whole_bit _ ts c i W Hi) in A. unfold least.
  destruct (snd a); cbn [fst snd].
  - apply Z.leb_le in A. lia.
  - apply Z.leb_gt in A. rewrite total_negated. lia.
Qed.

(* terms that add up to 0, whatever their signals are *)
Definition coefficient (x : option nat) (ts : list (Z * option nat)) : Z :=
  fold_right (fun t s => if option_eqb x (snd t) then (fst t + s)%Z else s) 0%Z ts.
Definition others_than (x : option nat) (ts : list (Z * option nat)) : list (Z * option nat) :=
  filter (fun t => negb (option_eqb x (snd t))) ts.
Fixpoint cancels (fuel : nat) (ts : list (Z * option nat)) : bool :=
  match ts, fuel with
  | [], _ => true
  | t :: _, S fuel => Z.eqb (coefficient (snd t) ts) 0 && cancels fuel (others_than (snd t) ts)
  | _, O => false
  end.

Lemma option_eqb_eq a b : option_eqb a b = true -> a = b.
Proof.
  destruct a, b; cbn; intros E; try discriminate; [apply Nat.eqb_eq in E; congruence|reflexivity].
Qed.
Lemma weigh_split x ts j : weigh v ts j
  = (coefficient x ts * (if lit v (Lit x true) j then 1 else 0) + weigh v (others_than x ts) j)%Z.
Proof.
  induction ts as [|t ts IH]; [reflexivity|]. cbn [coefficient fold_right others_than filter].
  fold (coefficient x ts) (others_than x ts). rewrite weigh_cons, IH.
  destruct (option_eqb x (snd t)) eqn:E; cbn [negb].
  - apply option_eqb_eq in E. subst x. lia.
  - rewrite weigh_cons. lia.
Qed.
Lemma cancels_zero fuel : forall ts, cancels fuel ts = true -> forall j, weigh v ts j = 0%Z.
Proof.
  induction fuel as [|fuel IH]; intros [|t ts] C j; try reflexivity; [discriminate|].
  cbn [cancels] in C. apply andb_true_iff in C as [C1 C2]. apply Z.eqb_eq in C1.
  rewrite (weigh_split (snd t)), C1, (IH _ C2 j). reflexivity.
Qed.
Definition absurd_ (b : bound) : bool :=
  Z.ltb (snd b) 0 && cancels (length (fst b)) (fst b).
Lemma absurd_sound b : least b -> absurd_ b = false.
Proof.
  intros L. apply not_true_is_false. intros A. unfold absurd_ in A.
  apply andb_true_iff in A as [A1 A2]. apply Z.ltb_lt in A1.
  assert (Z0 : total (fst b) = 0%Z).
  { unfold total. pose proof (cancels_zero _ _ A2) as C.
    induction (seq 1 n) as [|j l IH]; [reflexivity|]. unfold sum_over in *. cbn [fold_right].
    rewrite (C j), IH. reflexivity. }
  unfold least in L. lia.
Qed.
Definition both (a b : bound) : bound := (fst a ++ fst b, snd a + snd b)%Z.
Lemma both_least a b : least a -> least b -> least (both a b).
Proof. unfold least, both. cbn [fst snd]. rewrite total_app. lia. Qed.
(* three comparisons that contradict each other *)
Definition contradictory (e : knowledge) : bool :=
  let bs := flat_map bound_of e in
  existsb (fun a => existsb (fun b => let ab := both a b in
    existsb (fun c => absurd_ (both ab c)) bs) bs) bs.

(* what may be everywhere *)
Definition worlds (xs : list nat) : list knowledge :=
  filter (fun e => negb (contradictory e)) (cases (filter everywhere xs) []).

Lemma cases_of xs : forall e0 e, In e (cases xs e0) ->
  forall s b, In (s, b) e -> In (s, b) e0 \/ In s xs.
Proof.
  induction xs as [|x xs IH]; intros e0 e I s b B; cbn [cases] in I.
  - destruct (without_symbol e0); [destruct I|]. destruct I as [<-|[]]. left. exact B.
  - destruct (known e0 x).
    + destruct (IH _ _ I s b B); [left; assumption|right; right; assumption].
    + assert (Go : forall c, In e (cases xs ((x, c) :: e0)) -> In (s, b) e0 \/ In s (x :: xs)).
      { intros c J. destruct (IH _ _ J s b B) as [[E|K]|K].
        - injection E as -> _. right. left. reflexivity.
        - left. exact K.
        - right. right. exact K. }
      apply in_app_or in I as [I|I].
      * destruct (impossible e0 (x, true)); [destruct I|exact (Go true I)].
      * destruct (impossible e0 (x, false)); [destruct I|exact (Go false I)].
Qed.

Lemma worlds_complete xs i : 1 <= i <= n ->
  exists e, In e (worlds xs) /\ forall j, 1 <= j <= n -> meets j e.
Proof.
  intros Hi. destruct (cases_complete i (filter everywhere xs) Hi []) as (e & I & M);
    [intros ? ? []|].
  exists e. split.
  - apply filter_In. split; [exact I|]. apply negb_true_iff, not_true_is_false. intros C.
    unfold contradictory in C.
    assert (L : forall b, In b (flat_map bound_of e) -> least b).
    { intros b Ib. apply in_flat_map in Ib as (a & Ia & Ib).
      destruct a as [s c]. exact (bound_of_least (s, c) b i Hi (M s c Ia) Ib). }
    apply existsb_exists in C as (a & Ia & C). apply existsb_exists in C as (b & Ib & C).
    apply existsb_exists in C as (c & Ic & C).
    rewrite absurd_sound in C; [discriminate|].
    apply both_least; [apply both_least|]; apply L; assumption.
  - intros j Hj s b B. rewrite <- (M s b B). apply everywhere_same; try assumption.
    destruct (cases_of _ _ _ I s b B) as [[]|K]. apply filter_In in K. apply K.
Qed.

(* Positions that have the same code are one: their counts are the same, so neither counts more. *)
Definition own_rank (top : nat) (ds : list (literal * literal)) : bool :=
  match count_in ds with
  | Some c =>
      match rules_of c with
      | Some rs =>
          if distinct (map (as_digits (digits_in c ds)) (seq 0 (S top))) then
            let code := code_in ds in
            let asked := leaves_of (map fst code) in
            let held := leaves_of (map snd code ++ queries rs ++ keys rs) in
            if few asked && few held then
              forallb (fun e0 =>
                let ss := sights e0 (map snd code) (queries rs) (keys rs) in
                let others := views e0 (keys rs) in
                forallb (fun o => forallb (fun sj => if unlike o (fst (fst sj)) then true else
                  forallb (fun sk =>
                    if unlike o (fst (fst sk)) then true
                    else if unlike (fst (fst sj)) (fst (fst sk)) then true
                    else counts_more (map snd rs) sj sk others) ss) ss)
                  (views e0 (map fst code))) (worlds (asked ++ held))
            else false
          else false
      | None => false
      end
  | None => false
  end.

Lemma code_agrees ds i j : coded v ds i j = true ->
  Forall2 (fun x y => lit v x i = lit v y j) (map fst (code_in ds)) (map snd (code_in ds)).
Proof.
  unfold coded. induction ds as [|qk ds IH]; intros C; [constructor|].
  cbn [forallb] in C. apply andb_true_iff in C as [E C]. apply eqb_prop in E. cbn [code_in].
  destruct (digit_of_count (snd qk)); [exact (IH C)|]. constructor; [exact E|exact (IH C)].
Qed.

Lemma same_digits ds c i j k : coded v ds i j = true -> coded v ds i k = true ->
  1 <= j <= n -> 1 <= k <= n ->
  map (fun turns => turned turns (sums v c j)) (digits_in c ds)
  = map (fun turns => turned turns (sums v c k)) (digits_in c ds).
Proof.
  unfold coded. intros Cj Ck Hj Hk. induction ds as [|qk ds IH]; [reflexivity|].
  cbn [forallb] in Cj, Ck. apply andb_true_iff in Cj as [Ej Cj].
  apply andb_true_iff in Ck as [Ek Ck].
  apply eqb_prop in Ej, Ek. specialize (IH Cj Ck). cbn [digits_in].
  destruct (digit_of_count (snd qk)) as [[c' turns]|] eqn:D; [|exact IH].
  destruct (Nat.eqb_spec c c') as [<-|]; [|exact IH]. cbn [map]. rewrite IH. f_equal.
  unfold digit_of_count in D. destruct (of (snd qk)) as [s|] eqn:O; [|discriminate].
  destruct (plain (snd qk)) eqn:Pl; [|discriminate].
  destruct (nth_error p s) as [g|] eqn:G; [|discriminate].
  destruct g as [| | | | | | | | | | | | | | |cn ks|]; try discriminate. injection D as -> ->.
  pose proof (Hv _ _ G j Hj) as Mj. pose proof (Hv _ _ G k Hk) as Mk. cbn [means] in Mj, Mk.
  rewrite <- Mj, <- Mk. rewrite Ej in Ek. unfold lit in Ek. rewrite O, Pl in Ek.
  destruct (bit v s j), (bit v s k); cbn in Ek; congruence.
Qed.

Theorem own_rank_one top ds i j k : own_rank top ds = true -> n <= top ->
  1 <= i <= n -> 1 <= j <= n -> 1 <= k <= n ->
  coded v ds i j = true -> coded v ds i k = true -> j = k.
Proof.
  intros R T Hi Hj Hk Cj Ck. unfold own_rank in R.
  destruct (count_in ds) as [c|]; [|discriminate].
  destruct (rules_of c) as [rs|] eqn:Rs; [|discriminate].
  destruct (distinct _) eqn:D; [|discriminate].
  destruct (few _ && few _); [|discriminate]. cbv zeta in R.
  set (xs := leaves_of _ ++ leaves_of _) in R.
  destruct (worlds_complete xs i Hi) as (e0 & I0 & M0). rewrite forallb_forall in R.
  specialize (R e0 I0). cbv beta in R. rewrite forallb_forall in R.
  assert (Few : forall t, length (filter (counted rs t) (seq 1 n)) <= top).
  { intros t. pose proof (filter_few (counted rs t) (seq 1 n)) as F. rewrite seq_length in F.
    lia. }
  assert (Same : length (filter (counted rs j) (seq 1 n))
    = length (filter (counted rs k) (seq 1 n))).
  { apply (distinct_values (as_digits (digits_in c ds)) (seq 0 (S top))); [exact D| | |].
    - apply in_seq. specialize (Few j). lia.
    - apply in_seq. specialize (Few k). lia.
    - unfold as_digits. rewrite <- (rules_count c rs j Rs Hj), <- (rules_count c rs k Rs Hk).
      apply (same_digits ds c i); assumption. }
  destruct (views_complete e0 (map fst (code_in ds)) i Hi (M0 i Hi)) as (o & Io & To).
  specialize (R o Io).
  rewrite forallb_forall in R.
  assert (Apart : forall a b, 1 <= a <= n -> 1 <= b <= n -> a < b -> coded v ds i a = true ->
    coded v ds i b = true ->
    length (filter (counted rs a) (seq 1 n)) <> length (filter (counted rs b) (seq 1 n))).
  { intros a b Ha Hb L Ca Cb. pose proof (code_agrees ds i a Ca) as Aa.
    pose proof (code_agrees ds i b Cb) as Ab.
    destruct (sights_complete e0 (map snd (code_in ds)) (queries rs) (keys rs) a Ha (M0 a Ha))
      as (ca & qa & ka & Ia & Tca & Tqa & Tka).
    destruct (sights_complete e0 (map snd (code_in ds)) (queries rs) (keys rs) b Hb (M0 b Hb))
      as (cb & qb & kb & Ib & Tcb & Tqb & Tkb).
    specialize (R _ Ia). cbn [fst snd] in R. rewrite (unlike_sound o ca _ _ i a To Tca Aa) in R.
    rewrite forallb_forall in R. specialize (R _ Ib). cbn [fst snd] in R.
    rewrite (unlike_sound o cb _ _ i b To Tcb Ab) in R.
    rewrite (unlike_sound ca cb _ _ a b Tca Tcb) in R.
    - exact (counts_more_sound e0 rs a b (ca, qa, ka) (cb, qb, kb) M0 Ha Hb L Tqa Tka Tqb Tkb R).
    - clear -Aa Ab. revert Aa Ab. generalize (map fst (code_in ds)).
      generalize (map snd (code_in ds)).
      intros ys xs A. induction A as [|x y xs ys E A IH]; intros B; inversion B; subst; constructor;
        [congruence|apply IH; assumption]. }
  destruct (Nat.lt_total j k) as [L|[E|L]]; [|exact E|].
  - destruct (Apart j k Hj Hk L Cj Ck Same).
  - destruct (Apart k j Hk Hj L Ck Cj (eq_sym Same)).
Qed.
End Cases.
