(** The gap law. Every exact value of a hard-attention transformer with rational weights is
    rational, and a nonzero rational is at least one over its denominator. So each coordinate gets a
    monomial that its denominator divides,

    C · n^k · (local integers <= n) · L^e,     L = lcm(1..n),

    by one walk over the weights, and every nonzero difference of scores is at least 1/(C · n^k ·
    L^e). *)
From Coq Require Import Reals Lra Lia Arith ZArith List Bool.
From Softhat Require Import Sums Attention Gates Masks Transformer.
Import ListNotations.
Open Scope R_scope.

(** * Denominators *)

(* D·x is an integer *)
Definition over (D : Z) (x : R) : Prop := exists z, x * IZR D = IZR z.

Lemma over_divide D E x : over D x -> (D | E)%Z -> over E x.
Proof.
  intros [z H] [q ->]. exists (q * z)%Z. rewrite !mult_IZR, <- H. ring.
Qed.

Lemma over_0 D : over D 0.
Proof. exists 0%Z. ring. Qed.

Lemma over_plus D x y : over D x -> over D y -> over D (x + y).
Proof. intros [a Ha] [b Hb]. exists (a + b)%Z. rewrite plus_IZR, <- Ha, <- Hb. ring. Qed.

Lemma over_minus D x y : over D x -> over D y -> over D (x - y).
Proof. intros [a Ha] [b Hb]. exists (a - b)%Z. rewrite minus_IZR, <- Ha, <- Hb. ring. Qed.

Lemma over_mult D E x y : over D x -> over E y -> over (D * E) (x * y).
Proof. intros [a Ha] [b Hb]. exists (a * b)%Z. rewrite !mult_IZR, <- Ha, <- Hb. ring. Qed.

Lemma over_relu D x : over D x -> over D (relu x).
Proof.
  intros H. unfold relu, Rmax. destruct (Rle_dec 0 x); [exact H|apply over_0].
Qed.

Lemma over_sum D f n : (forall j, (j < n)%nat -> over D (f j)) -> over D (sum f n).
Proof.
  induction n as [|n IH]; intros H; simpl; [apply over_0|].
  apply over_plus; [apply IH; intros; apply H; lia|apply H; lia].
Qed.

Lemma over_lsum {A} D (f : A -> R) l : (forall a, In a l -> over D (f a)) -> over D (lsum f l).
Proof.
  induction l as [|a l IH]; intros H; simpl; [apply over_0|].
  apply over_plus; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption].
Qed.

Theorem denominators D x : (0 < D)%Z -> over D x -> x <> 0 -> 1 / IZR D <= Rabs x.
Proof.
  intros HD [z H] N. apply IZR_lt in HD as PD.
  assert (z <> 0%Z).
  { intros ->. apply N. apply Rmult_eq_reg_r with (IZR D); lra. }
  assert (E : Rabs x * IZR D = Rabs (IZR z)).
  { rewrite <- H, Rabs_mult, (Rabs_pos_eq (IZR D)) by lra. reflexivity. }
  apply Rmult_le_reg_r with (IZR D); [assumption|]. rewrite E.
  unfold Rdiv. rewrite Rmult_1_l, Rinv_l by lra. rewrite <- abs_IZR. apply IZR_le. lia.
Qed.

(** * lcm(1..n) *)

Fixpoint lcm_to (n : nat) : Z :=
  match n with O => 1 | S m => Z.lcm (Z.of_nat (S m)) (lcm_to m) end.

Lemma lcm_to_pos n : (0 < lcm_to n)%Z.
Proof.
  induction n as [|n IH]; [reflexivity|]. cbn [lcm_to].
  pose proof (Z.lcm_nonneg (Z.of_nat (S n)) (lcm_to n)).
  assert (Z.lcm (Z.of_nat (S n)) (lcm_to n) <> 0%Z); [|lia].
  intros E. apply Z.lcm_eq_0 in E. lia.
Qed.

Lemma lcm_to_divide a n : (1 <= a <= Z.of_nat n)%Z -> (a | lcm_to n)%Z.
Proof.
  induction n as [|n IH]; intros H; [lia|]. cbn [lcm_to].
  destruct (Z.eq_dec a (Z.of_nat (S n))) as [->|N]; [apply Z.divide_lcm_l|].
  eapply Z.divide_trans; [apply IH; lia|apply Z.divide_lcm_r].
Qed.

(** * Monomials *)

Record monomial := Monomial {
  constant : Z; power : nat;      (* C·n^power *)
  locals : list nat;              (* names of integers that differ from position to position *)
  lcms : nat                      (* L^lcms *)
}.

Section Law.
Variables (n : nat) (local : nat -> nat -> Z).     (* name, position *)
Hypothesis Hn : (0 < n)%nat.
Hypothesis local_range : forall a i, (i < n)%nat -> (1 <= local a i <= Z.of_nat n)%Z.

Definition product (l : list nat) (i : nat) : Z := fold_right (fun a p => local a i * p)%Z 1%Z l.
(* the part that all positions share *)
Definition base (m : monomial) : Z :=
  (constant m * Z.of_nat n ^ Z.of_nat (power m) * lcm_to n ^ Z.of_nat (lcms m))%Z.
Definition value (m : monomial) (i : nat) : Z := (base m * product (locals m) i)%Z.

Definition one : monomial := Monomial 1 0 [] 0.
Definition scaled (C : Z) (m : monomial) : monomial :=
  Monomial (C * constant m) (power m) (locals m) (lcms m).

Fixpoint remove1 (a : nat) (l : list nat) : list nat :=
  match l with [] => [] | b :: l => if Nat.eqb a b then l else b :: remove1 a l end.
(* the least common multiple of two products of names *)
Fixpoint union (l l' : list nat) : list nat :=
  match l' with
  | [] => l
  | a :: l' => a :: union (if existsb (Nat.eqb a) l then remove1 a l else l) l'
  end.
Definition join (m m' : monomial) : monomial :=
  Monomial (Z.lcm (constant m) (constant m')) (Nat.max (power m) (power m'))
           (union (locals m) (locals m')) (Nat.max (lcms m) (lcms m')).
Definition joined {A} (f : A -> monomial) (l : list A) : monomial :=
  fold_right (fun a m => join (f a) m) one l.

Lemma product_remove a l i : existsb (Nat.eqb a) l = true ->
  product l i = (local a i * product (remove1 a l) i)%Z.
Proof.
  induction l as [|b l IH]; intros H; [discriminate|].
  cbn [remove1 product fold_right existsb] in *.
  fold (product l i). destruct (Nat.eqb_spec a b) as [->|N]; [reflexivity|].
  cbn [product fold_right]. fold (product (remove1 a l) i). rewrite IH by exact H. ring.
Qed.

Lemma union_divide l l' i :
  (product l i | product (union l l') i)%Z /\ (product l' i | product (union l l') i)%Z.
Proof.
  revert l. induction l' as [|a l' IH]; intros l; cbn [union].
  - split; [apply Z.divide_refl|apply Z.divide_1_l].
  - cbn [product fold_right].
    fold (product (union (if existsb (Nat.eqb a) l then remove1 a l else l) l') i).
    fold (product l' i).
    destruct (IH (if existsb (Nat.eqb a) l then remove1 a l else l)) as [H1 H2]. split.
    + destruct (existsb (Nat.eqb a) l) eqn:E.
      * rewrite (product_remove a l i E). apply Z.mul_divide_mono_l, H1.
      * apply Z.divide_mul_r, H1.
    + apply Z.mul_divide_mono_l, H2.
Qed.

Lemma pow_divide a j k : (j <= k)%nat -> (a ^ Z.of_nat j | a ^ Z.of_nat k)%Z.
Proof.
  intros H. replace (Z.of_nat k) with (Z.of_nat j + Z.of_nat (k - j))%Z by lia.
  rewrite Z.pow_add_r by lia. apply Z.divide_factor_l.
Qed.

Lemma divide3 a a' b b' c c' : (a | a')%Z -> (b | b')%Z -> (c | c')%Z ->
  (a * b * c | a' * b' * c')%Z.
Proof. intros [x ->] [y ->] [z ->]. exists (x * y * z)%Z. ring. Qed.

Lemma value_join m m' i : (value m i | value (join m m') i)%Z /\
  (value m' i | value (join m m') i)%Z.
Proof.
  unfold value, base, join. cbn [constant power locals lcms].
  destruct (union_divide (locals m) (locals m') i) as [U U'].
  split;
    (match goal with |- (?a * ?b | ?c * ?d)%Z =>
       apply Z.divide_trans with (c * b)%Z; [apply Z.mul_divide_mono_r|apply Z.mul_divide_mono_l;
         assumption] end);
    apply divide3; try (apply pow_divide; lia); [apply Z.divide_lcm_l|apply Z.divide_lcm_r].
Qed.

Lemma value_joined {A} (f : A -> monomial) l a i :
  In a l -> (value (f a) i | value (joined f l) i)%Z.
Proof.
  induction l as [|b l IH]; intros I; [destruct I|]. cbn [joined fold_right]. fold (joined f l).
  destruct I as [->|I]; [apply value_join|].
  eapply Z.divide_trans; [apply IH, I|apply value_join].
Qed.

Lemma value_scaled C m i : value (scaled C m) i = (C * value m i)%Z.
Proof. unfold value, base, scaled. cbn [constant power locals lcms]. ring. Qed.

(* no locals left: each of them divides L *)
Definition globally (m : monomial) : monomial :=
  Monomial (constant m) (power m) [] (lcms m + length (locals m)).

Lemma product_lcm l i : (i < n)%nat -> (product l i | lcm_to n ^ Z.of_nat (length l))%Z.
Proof.
  intros Hi. induction l as [|a l IH]; [apply Z.divide_refl|].
  cbn [product fold_right length]. fold (product l i). rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
  destruct IH as [x ->]. destruct (lcm_to_divide (local a i) n) as [y ->]; [apply local_range, Hi|].
  exists (y * x)%Z. ring.
Qed.

Lemma value_globally m i j : (i < n)%nat -> (value m i | value (globally m) j)%Z.
Proof.
  intros Hi. unfold value, base, globally. cbn [constant power locals lcms product fold_right].
  rewrite Nat2Z.inj_add, Z.pow_add_r by lia. destruct (product_lcm (locals m) i Hi) as [x ->].
  exists x. ring.
Qed.

(** * The walk *)

(* w l: a common denominator of a form's weights *)
Variable w : form -> Z.
Definition rational (l : form) : Prop := forall c a, In (c, a) l -> over (w l) a.

Definition dens := nat -> monomial.      (* coordinate *)
Definition on (d : dens) (x : stream) : Prop :=
  forall i c, (i < n)%nat -> over (value (d c) i) (x i c).

Definition den (d : dens) (l : form) : monomial := scaled (w l) (joined (fun q => d (fst q)) l).

Lemma den_dot d x l i : on d x -> rational l -> (i < n)%nat ->
  over (value (den d l) i) (dot l (x i)).
Proof.
  intros H Q Hi. unfold den. rewrite value_scaled.
  assert (E : forall l', (forall q, In q l' -> In q l) ->
    over (w l * value (joined (fun q => d (fst q)) l) i) (dot l' (x i))).
  { induction l' as [|[c a] l' IH]; intros S; simpl; [apply over_0|].
    apply over_plus; [|apply IH; intros; apply S; right; assumption].
    apply over_mult; [apply (Q c), S; left; reflexivity|].
    eapply over_divide; [apply H, Hi|].
    apply (value_joined (fun q => d (fst q)) l (c, a)). apply S. left. reflexivity. }
  apply E. auto.
Qed.

(* What is known of the rows of a head: one maximum (and what its locals are called at the winner's
   position), or how many maxima there are: a local, or all n. *)
Inductive rule := Tieless (via : nat -> nat) | Tied (count : nat) | Everywhere.

Definition obeys (h : head) (r : rule) (x : stream) : Prop :=
  forall i, (i < n)%nat ->
  let s := fun j => score (rows h) (x i) (x j) in
  let tops := sum (fun j => if top (sees h i) s n j then 1 else 0) n in
  match r with
  | Tieless via => exists p, (p < n)%nat /\
      (forall v, hard (sees h i) s v n = v p) /\ forall a, local (via a) i = local a p
  | Tied count => tops = IZR (local count i)
  | Everywhere => tops = INR n
  end.

Definition head_den (r : rule) (m : monomial) : monomial :=
  match r with
  | Tieless via => Monomial (constant m) (power m) (map via (locals m)) (lcms m)
  | Tied count => Monomial (constant m) (power m) [count] (lcms m + length (locals m))
  | Everywhere => Monomial (constant m) (S (power m)) [] (lcms m + length (locals m))
  end.

Lemma mean_over m s v D k : (0 < k)%Z -> (forall j, (j < n)%nat -> over D (v j)) ->
  sum (fun j => if top m s n j then 1 else 0) n = IZR k -> over (D * k) (hard m s v n).
Proof.
  intros Hk H E. unfold hard. rewrite E. apply IZR_lt in Hk.
  destruct (over_sum D (fun j => if top m s n j then v j else 0) n) as [z Hz].
  { intros j Hj. destruct (top m s n j); [apply H, Hj|apply over_0]. }
  exists z. rewrite <- Hz, mult_IZR. field. lra.
Qed.

Lemma read_over d x h r v i : on d x -> rational v -> obeys h r x -> (i < n)%nat ->
  over (value (head_den r (den d v)) i) (read (fun _ => hard) n h v x i).
Proof.
  intros H Q O Hi. unfold read. specialize (O i Hi). cbv zeta in O.
  assert (G : forall j, (j < n)%nat -> over (value (globally (den d v)) 0) (dot v (x j))).
  { intros j Hj. eapply over_divide; [apply (den_dot d x v j H Q Hj)|]. apply value_globally, Hj. }
  destruct r as [via|count|]; cbn [head_den].
  - destruct O as (p & Hp & W & V). rewrite W.
    replace (value _ i) with (value (den d v) p); [apply (den_dot d x v p H Q Hp)|].
    unfold value, base. cbn [constant power locals lcms]. f_equal. unfold product.
    induction (locals (den d v)) as [|a l IH]; [reflexivity|]. cbn [map fold_right]. rewrite V, IH.
    reflexivity.
  - eapply over_divide;
      [apply (mean_over _ _ _ _ (local count i)
      (proj1 (Z.le_succ_l 0 _) (proj1 (local_range count i Hi))) G O)|].
    unfold value, base, globally. cbn [constant power locals lcms product fold_right].
    exists 1%Z. ring.
  - rewrite INR_IZR_INZ in O.
    eapply over_divide; [apply (mean_over _ _ _ _ (Z.of_nat n) ltac:(lia) G O)|].
    unfold value, base, globally. cbn [constant power locals lcms product fold_right].
    rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. exists 1%Z. ring.
Qed.

Lemma coef_over l c : rational l -> over (w l) (coef l c).
Proof.
  intros Q. assert (E : forall l', (forall q, In q l' -> In q l) -> over (w l) (coef l' c)).
  { induction l' as [|[b a] l' IH]; intros S; simpl; [apply over_0|].
    apply over_plus; [|apply IH; intros; apply S; right; assumption].
    destruct (Nat.eqb c b); [apply (Q b), S; left; reflexivity|apply over_0]. }
  apply E. auto.
Qed.

Lemma coef_absent l c : existsb (fun q => Nat.eqb c (fst q)) l = false -> coef l c = 0.
Proof.
  induction l as [|[b a] l IH]; intros H; simpl; [reflexivity|]. cbn [existsb fst] in H.
  apply orb_false_iff in H as [-> H]. rewrite (IH H). lra.
Qed.

(* only what is written to coordinate c counts *)
Definition written (l : form) (c : nat) (m : monomial) : monomial :=
  if existsb (fun q => Nat.eqb c (fst q)) l then scaled (w l) m else one.

Lemma written_over l c m i y : rational l -> over (value m i) y ->
  over (value (written l c m) i) (y * coef l c).
Proof.
  intros Q H. unfold written. destruct (existsb _ l) eqn:E.
  - rewrite value_scaled, Rmult_comm. apply over_mult; [apply coef_over, Q|exact H].
  - rewrite (coef_absent l c E), Rmult_0_r. apply over_0.
Qed.

Variable rules : head -> rule.
Definition attention_den (hs : list head) (d : dens) : dens := fun c =>
  join (d c) (joined (fun h => joined (fun vo =>
    written (snd vo) c (head_den (rules h) (den d (fst vo)))) (values h)) hs).
Definition feed_forward_den (us : list unit) (b : form) (d : dens) : dens := fun c =>
  join (d c) (join (written b c one)
    (joined (fun u => written (output u) c (den d (input u))) us)).
Definition layer_den (l : layer) (d : dens) : dens :=
  feed_forward_den (units l) (shift l) (attention_den (heads l) d).

Record rational_layer (l : layer) : Prop := {
  q_values : forall h vo, In h (heads l) -> In vo (values h) -> rational (fst vo) /\
    rational (snd vo);
  q_units : forall u, In u (units l) -> rational (input u) /\ rational (output u)
                      /\ over (w (input u)) (bias u);
  q_shift : rational (shift l)
}.

Lemma scaled_over C m i y : over C y -> over (value (scaled C m) i) y.
Proof.
  intros H. rewrite value_scaled. eapply over_divide; [exact H|]. apply Z.divide_factor_l.
Qed.

(* One layer of exact values keeps the denominators it should. *)
Theorem layer_on l d x : rational_layer l -> (forall h, In h (heads l) -> obeys h (rules h) x) ->
  on d x -> on (layer_den l d) (run_layer (fun _ => hard) n x l).
Proof.
  intros Q O H.
  assert (A : on (attention_den (heads l) d) (attended (fun _ => hard) n (heads l) x)).
  { intros i c Hi. unfold attended, attention_den. apply over_plus.
    - eapply over_divide; [apply H, Hi|apply value_join].
    - set (big := joined _ (heads l)).
      eapply over_divide; [|apply (proj2 (value_join (d c) big i))].
      apply over_lsum. intros h Ih. apply over_lsum. intros [v o] Iv. cbn [fst snd].
      destruct (q_values l Q h (v, o) Ih Iv) as [Qv Qo].
      eapply over_divide.
      + apply written_over; [exact Qo|]. apply (read_over d x h (rules h) v i); auto.
      + eapply Z.divide_trans; [|apply (value_joined _ (heads l) h i Ih)].
        apply (value_joined (fun vo => written (snd vo) c (head_den (rules h) (den d (fst vo))))
          (values h) (v, o) i Iv). }
  intros i c Hi. unfold run_layer, fed, layer_den, feed_forward_den.
  set (e := attention_den (heads l) d) in *. set (y := attended _ n (heads l) x) in *.
  set (big := joined _ (units l)).
  apply over_plus; [eapply over_divide; [apply A, Hi|apply value_join]|].
  eapply over_divide; [|apply (proj2 (value_join (e c) _ i))]. apply over_plus.
  - eapply over_divide; [|apply (proj1 (value_join (written (shift l) c one) big i))].
    replace (coef (shift l) c) with (1 * coef (shift l) c) by ring.
    apply written_over; [apply (q_shift l Q)|]. exists (value one i). ring.
  - eapply over_divide; [|apply (proj2 (value_join (written (shift l) c one) big i))].
    apply over_lsum. intros u Iu. destruct (q_units l Q u Iu) as (Qi & Qo & Qb).
    eapply over_divide.
    + apply written_over; [exact Qo|]. apply over_relu, over_plus;
        [apply (den_dot e y (input u) i A Qi Hi)|].
      apply scaled_over, Qb.
    + apply (value_joined (fun u => written (output u) c (den e (input u))) (units l) u i Iu).
Qed.

(** * The law *)

(* queries and keys of a head *)
Definition query_den (h : head) (d : dens) : monomial := joined (fun qk => den d (fst qk)) (rows h).
Definition key_den (h : head) (d : dens) : monomial := joined (fun qk => den d (snd qk)) (rows h).

(* C·n^k·L^e, with the locals of one query and of two keys each at most n *)
Definition gap_bound (h : head) (d : dens) : Z :=
  let q := query_den h d in let k := key_den h d in
  (base q * base k
   * Z.of_nat n ^ Z.of_nat (length (locals q) + 2 * length (locals k)))%Z.

Definition positive (m : monomial) : Prop := (0 < constant m)%Z.

Lemma joined_positive {A} (f : A -> monomial) l : (forall a, In a l -> positive (f a)) ->
  positive (joined f l).
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. cbn [joined fold_right]. fold (joined f l).
  unfold positive, join. cbn [constant].
  pose proof (H a (or_introl eq_refl)) as Ha. pose proof (IH (fun b I => H b (or_intror I))) as Hl.
  unfold positive in *. pose proof (Z.lcm_nonneg (constant (f a)) (constant (joined f l))).
  assert (Z.lcm (constant (f a)) (constant (joined f l)) <> 0%Z); [|lia].
  intros E. apply Z.lcm_eq_0 in E. lia.
Qed.

Lemma den_positive d l : (forall c, positive (d c)) -> (0 < w l)%Z -> positive (den d l).
Proof.
  intros H W. unfold positive, den, scaled. cbn [constant].
  pose proof (joined_positive (fun q => d (fst q)) l (fun q _ => H (fst q))) as P.
  unfold positive in P. nia.
Qed.

Lemma base_pos m : positive m -> (0 < base m)%Z.
Proof.
  intros H. unfold base. pose proof (lcm_to_pos n).
  apply Z.mul_pos_pos; [apply Z.mul_pos_pos; [exact H|]|]; apply Z.pow_pos_nonneg; lia.
Qed.

Lemma product_pos l i : (i < n)%nat -> (1 <= product l i <= Z.of_nat n ^ Z.of_nat (length l))%Z.
Proof.
  intros Hi. induction l as [|a l IH]; [simpl; lia|]. cbn [product fold_right length].
  fold (product l i).
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. pose proof (local_range a i Hi). nia.
Qed.

Theorem gap_law h d x i j k : on d x -> (i < n)%nat -> (j < n)%nat -> (k < n)%nat ->
  (forall qk, In qk (rows h) -> rational (fst qk) /\ rational (snd qk)) ->
  positive (query_den h d) -> positive (key_den h d) ->
  score (rows h) (x i) (x j) <> score (rows h) (x i) (x k) ->
  1 / IZR (gap_bound h d) <= Rabs (score (rows h) (x i) (x j) - score (rows h) (x i) (x k)).
Proof.
  intros H Hi Hj Hk Q Pq Pk N.
  set (q := query_den h d) in *. set (m := key_den h d) in *.
  set (D := (value q i * (base m * product (locals m) j * product (locals m) k))%Z).
  pose proof (base_pos q Pq) as Bq. pose proof (base_pos m Pk) as Bm.
  pose proof (product_pos (locals q) i Hi) as Lq. pose proof (product_pos (locals m) j Hj) as Lj.
  pose proof (product_pos (locals m) k Hk) as Lk.
  assert (PD : (0 < D)%Z).
  { unfold D, value. apply Z.mul_pos_pos; [apply Z.mul_pos_pos; lia|].
    apply Z.mul_pos_pos; [apply Z.mul_pos_pos|]; lia. }
  assert (O : over D (score (rows h) (x i) (x j) - score (rows h) (x i) (x k))).
  { assert (E : forall r, (forall qk, In qk r -> In qk (rows h)) ->
      over D (score r (x i) (x j) - score r (x i) (x k))).
    { induction r as [|[a b] r IH]; intros S; simpl; [rewrite Rminus_0_r; apply over_0|].
      replace (dot a (x i) * dot b (x j) + score r (x i) (x j)
        - (dot a (x i) * dot b (x k) + score r (x i) (x k)))
        with (dot a (x i) * (dot b (x j) - dot b (x k))
          + (score r (x i) (x j) - score r (x i) (x k))) by ring.
      apply over_plus; [|apply IH; intros; apply S; right; assumption].
      pose proof (S (a, b) (or_introl eq_refl)) as I. destruct (Q (a, b) I) as [Qa Qb].
      unfold D. apply over_mult.
      - eapply over_divide; [apply (den_dot d x a i H Qa Hi)|].
        apply (value_joined (fun qk => den d (fst qk)) (rows h) (a, b) i I).
      - apply over_minus.
        + eapply over_divide; [apply (den_dot d x b j H Qb Hj)|].
          eapply Z.divide_trans;
            [apply (value_joined (fun qk => den d (snd qk)) (rows h) (a, b) j I)|].
          exists (product (locals m) k). change (joined (fun qk => den d (snd qk)) (rows h)) with m.
          unfold value. ring.
        + eapply over_divide; [apply (den_dot d x b k H Qb Hk)|].
          eapply Z.divide_trans;
            [apply (value_joined (fun qk => den d (snd qk)) (rows h) (a, b) k I)|].
          exists (product (locals m) j). change (joined (fun qk => den d (snd qk)) (rows h)) with m.
          unfold value. ring. }
    apply E. auto. }
  eapply Rle_trans; [|apply (denominators D); [exact PD|exact O|lra]].
  unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; [apply IZR_lt, PD|]. apply IZR_le.
  unfold D, gap_bound, value. fold q m. rewrite Nat2Z.inj_add, Z.pow_add_r by lia.
  replace (Z.of_nat (2 * length (locals m)))
    with (Z.of_nat (length (locals m)) + Z.of_nat (length (locals m)))%Z by lia.
  rewrite Z.pow_add_r by lia.
  set (a := product (locals q) i) in *. set (b := product (locals m) j) in *.
  set (c := product (locals m) k) in *.
  set (A := (Z.of_nat n ^ Z.of_nat (length (locals q)))%Z) in *.
  set (B := (Z.of_nat n ^ Z.of_nat (length (locals m)))%Z) in *.
  replace (base q * a * (base m * b * c))%Z with (base q * base m * (a * (b * c)))%Z by ring.
  apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; lia|].
  apply Z.mul_le_mono_nonneg; [lia|lia|apply Z.mul_nonneg_nonneg; lia|].
  apply Z.mul_le_mono_nonneg; lia.
Qed.

(* In the form that the temperature law asks for. *)
Corollary gap_below h d x i j p : on d x -> (forall c, positive (d c)) ->
  (forall qk, In qk (rows h) -> rational (fst qk) /\ rational (snd qk)) ->
  (forall qk, In qk (rows h) -> (0 < w (fst qk))%Z /\ (0 < w (snd qk))%Z) ->
  (i < n)%nat -> (j < n)%nat -> (p < n)%nat ->
  score (rows h) (x i) (x j) < score (rows h) (x i) (x p) ->
  1 / IZR (gap_bound h d) <= score (rows h) (x i) (x p) - score (rows h) (x i) (x j).
Proof.
  intros H P Q W Hi Hj Hp L.
  rewrite <- (Rabs_pos_eq (score (rows h) (x i) (x p) - score (rows h) (x i) (x j))) by lra.
  apply gap_law; try assumption; [| |lra]; apply joined_positive; intros qk I; destruct (W qk I);
    apply den_positive; assumption.
Qed.
End Law.
