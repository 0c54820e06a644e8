(** Programs with heads that select, tables and decoded counts: RASP programs and automata in
    logarithmic depth. A model that passes computes its attention program, up to the length that the
    program is made for, on every word on which the positions that a head reads agree. Whether they
    do on every word is seen from the program (`always`), as far as that can be seen. *)
From Coq Require Import Reals Lra Lia Arith NArith ZArith QArith List Bool.
From Softhat Require Import Sums Gates Masks Formula Program Lowering Lowered Correct Compare
  Surface
  Evaluated Matching Ranked Model Kernel.
From Softhat Require Transformer.
Import ListNotations.
Open Scope nat_scope.

(* How the weights of a program were made. *)
Record making := Making { layout_of : layout; plans_of : list plan; results_of : list result }.

Definition making_claim (m : model) (p : program) (e : making) : claim :=
  Claim p (program_symbols m) (scales m) (ends m) (layout_of e) (plans_of e) (results_of e)
    (layers m)
    (readouts m).
Definition same_literals (a b : list literal) : bool :=
  if list_eq_dec literal_eq a b then true else false.

(* The model computes the program p, whose inputs `Given 0`, `Given 1`, … are `ins` and whose
   outputs are the literals `outs`. *)
Definition makes (outs : list literal) (ins : list input) (p : program) (m : model) (e : making) :
  bool :=
  checked (making_claim m p e) && layout_ok m p ins (layout_of e) && ordered p
  && same_literals (map literal_of (results_of e)) outs.

Section Values.
Variables (ins : list input) (p : program) (m : model).
Variables (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

(* what the program computes on the word *)
Definition meaning : valuation := values n (program_word m ins n w q) p.
Definition truth (x : literal) (i : nat) : bool := lit meaning x i.
(* does the word give the program what it asks for? *)
Definition fits : bool := forallb (fun g => forallb (well_read n meaning g) (seq 1 n)) p.

Lemma fits_readable : fits = true -> readable n meaning p.
Proof.
  intros F s g G i Hi. unfold fits in F. rewrite forallb_forall in F.
  specialize (F g (nth_error_In _ _ G)).
  rewrite forallb_forall in F. apply F, in_seq. lia.
Qed.
End Values.

Theorem makes_right outs ins p m e : makes outs ins p m e = true ->
  forall n P w q, cold_enough m n P -> over_alphabet m w n ->
  readable n (meaning ins p m n w q) p ->
  forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros C n P w q Hs Hw Hr k x Ex i Hi. unfold makes in C. rewrite !andb_true_iff in C.
  destruct C as [[[Ch La] Or] Sm]. unfold same_literals in Sm.
  destruct (list_eq_dec literal_eq _ _) as [El|]; [|discriminate].
  rewrite <- El, nth_error_map in Ex.
  destruct (nth_error (results_of e) k) as [r|] eqn:Er; [|discriminate]. injection Ex as <-.
  set (pw := program_word m ins n w q).
  pose proof (symbol_small m ins n w q Hw) as Hsym. fold pw in Hsym.
  assert (Eo : exists o, nth_error (readouts m) k = Some o).
  { pose proof (checked_readouts _ Ch) as L. cbn in L.
    destruct (nth_error (readouts m) k) as [o|] eqn:E; [eauto|]. apply nth_error_None in E.
    assert (k < length (results_of e)) by (apply nth_error_Some; congruence). lia. }
  destruct Eo as (o & Eo).
  pose proof (checked_right (making_claim m p e) Ch n P pw (meaning ins p m n w q)
    (cold_pos m n P Hs) Hs
    (values_compute n pw p Or) Hr Hsym i k r o Hi Er Eo) as T.
  cbv zeta in T. unfold logit, truth.
  rewrite (embedding_right m p ins n P w q Hw (layout_of e) La), (nth_error_nth _ _ _ Eo). exact T.
Qed.

(** * What a program can be seen to get, on every word up to N *)

Section Always.
Variables (alphabet : nat) (ins : list input) (p : program) (top : N).

(* two literals that never hold together *)
Definition clash (a b : literal) : bool :=
  match of a, of b with
  | Some s, Some t =>
      if Nat.eqb s t then xorb (plain a) (plain b)
      else plain a && plain b
           && match nth_error p s, nth_error p t with
              | Some (Token x), Some (Token y) => forallb (fun c => negb (existsb (Nat.eqb c) y)) x
              | _, _ => false
              end
  | None, _ => negb (plain a)
  | _, None => negb (plain b)
  end.
Definition rows_clash (r r' : list literal) : bool := existsb (fun a => existsb (clash a) r') r.
Definition pairs_clash (a b : literal * literal) : bool :=
  if clash (fst a) (fst b) then true else if clash (snd a) (snd b) then true
  else if never_both p alphabet (fst a) (fst b) then true
  else never_both p alphabet (snd a) (snd b).
Fixpoint all_apart {A} (f : A -> A -> bool) (l : list A) : bool :=
  match l with [] => true | a :: l => forallb (f a) l && all_apart f l end.

(* The digits of a position's own number ±j + c, all of them below 2^B: a code of its own. *)
Definition digit_of (x : literal) : option (N * Z * Z) :=
  match of x with
  | Some s =>
      match plain x, nth_error p s with
      | true, Some (Given k) =>
          match nth_error ins k with Some (InDigit b x 0 c) => Some (b, x, c) | _ => None end
      | _, _ => None
      end
  | None => None
  end.
Definition has_digit (x c : Z) (ds : list (literal * literal)) (b : nat) : bool :=
  existsb (fun qk => match digit_of (snd qk) with
    | Some (b', x', c') => N.eqb (N.of_nat b) b' && Z.eqb x x' && Z.eqb c c'
    | None => false
    end) ds.
Definition own_code (ds : list (literal * literal)) : bool :=
  match ds with
  | (_, k) :: _ =>
      match digit_of k with
      | Some (_, x, c) =>
          forallb (has_digit x c ds) (seq 0 (length ds))
          && (Z.eqb x 1 || Z.eqb x (-1))
          && Z.leb 0 (x + c) && Z.leb 0 (x * Z.of_N top + c)
          && Z.ltb (x + c) (2 ^ Z.of_nat (length ds)) && Z.ltb (x * Z.of_N top + c)
            (2 ^ Z.of_nat (length ds))
      | None => false
      end
  | [] => false
  end.
(* a key that holds at one position only *)
Definition single (x : literal) : bool :=
  match of x with
  | Some s =>
      plain x && match nth_error p s with
        | Some (Given k) => match nth_error ins k with Some InFirst | Some InLast => true
          | _ => false end
        | _ => false
        end
  | None => false
  end.
Definition one_key (ps : list (literal * literal)) : bool :=
  match ps with
  | [] => true
  | (_, k) :: _ => single k && forallb (fun qk => if literal_eq k (snd qk) then true else false) ps
  end.

Definition always (g : signal) : bool :=
  match g with
  | Table rows => all_apart rows_clash rows
  | Match ps _ _ M => N.leb top M && all_apart pairs_clash ps && one_key ps
  | Program.At ds _ _ M =>
      N.leb top M && (if own_code ds then true else own_rank p alphabet (N.to_nat top) ds)
  | Width ps _ M => N.leb top M && all_apart pairs_clash ps
  | Blend ps _ mk M => N.leb top M && all_apart pairs_clash ps && chooses_itself p alphabet ps mk
  | _ => true
  end.

Lemma apart_once {A} (f : A -> A -> bool) (h : A -> bool) l :
  (forall a b, f a b = true -> h a = true -> h b = false) -> all_apart f l = true ->
    length (filter h l) <= 1.
Proof.
  intros F. induction l as [|a l IH]; intros H; cbn in *; [lia|].
  apply andb_true_iff in H as [H1 H2].
  specialize (IH H2). destruct (h a) eqn:Ha; [|exact IH]. cbn. rewrite forallb_forall in H1.
  assert (filter h l = []) as ->; [|cbn; lia].
  destruct (filter h l) as [|b t] eqn:E; [reflexivity|].
  assert (I : In b (filter h l)) by (rewrite E; left; reflexivity). apply filter_In in I as [I Hb].
  rewrite (F a b (H1 b I) Ha) in Hb. discriminate.
Qed.

Variables (m : model) (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
Hypothesis Or : ordered p = true.
Hypothesis Hn : (N.of_nat n <= top)%N.
Hypothesis Hw : forall j, 1 <= j <= n -> symbol (program_word m ins n w q) j < alphabet.
Notation v := (meaning ins p m n w q).
Let Hv : computes n (program_word m ins n w q) v p := values_compute n _ p Or.

Lemma clash_sound a b i : 1 <= i <= n -> clash a b = true -> lit v a i = true -> lit v b i = false.
Proof.
  intros Hi C A. unfold clash in C. unfold lit in *.
  destruct (of a) as [s|]; [|rewrite A in C; discriminate].
  destruct (of b) as [t|]; [|apply negb_true_iff, C].
  destruct (Nat.eqb_spec s t) as [Est|Ne]; [subst t|].
  - destruct (plain a), (plain b), (bit v s i); cbn in *; congruence.
  - rewrite !andb_true_iff in C. destruct C as [[Pa Pb] C]. rewrite Pa, Pb in *. cbn in *.
    destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
    destruct (nth_error p t) as [[]|] eqn:Et; try discriminate.
    pose proof (Hv s _ Es i Hi) as Ms. pose proof (Hv t _ Et i Hi) as Mt. cbn [means] in Ms, Mt.
    rewrite Ms in A. rewrite Mt. destruct (existsb _ symbols) eqn:X; [|discriminate].
    apply existsb_exists in X as (c & Ic & Ec). apply Nat.eqb_eq in Ec.
    rewrite forallb_forall in C. specialize (C c Ic). apply negb_true_iff in C. rewrite Ec.
    destruct (existsb (Nat.eqb c) symbols0); [discriminate|reflexivity].
Qed.

Lemma pairs_once ps i js : 1 <= i <= n -> (forall j, In j js -> 1 <= j <= n) ->
  all_apart pairs_clash ps = true -> once v ps i js = true.
Proof.
  intros Hi Hj A. apply forallb_forall. intros j I. apply Nat.leb_le.
  apply (apart_once pairs_clash); [|exact A].
  intros a b C Pa. unfold Program.paired in *. apply andb_true_iff in Pa as [Q K].
  pose proof (never_both_sound p alphabet n _ v Hv Hw) as Never. unfold pairs_clash in C.
  destruct (clash (fst a) (fst b)) eqn:C1; [rewrite (clash_sound _ _ i Hi C1 Q); reflexivity|].
  destruct (clash (snd a) (snd b)) eqn:C2;
    [rewrite (clash_sound _ _ j (Hj j I) C2 K); apply andb_false_r|].
  destruct (never_both p alphabet (fst a) (fst b)) eqn:C3.
  - rewrite (Never _ _ i Hi C3 Q). reflexivity.
  - rewrite (Never _ _ j (Hj j I) C K). apply andb_false_r.
Qed.

(* at most one position is chosen *)
Lemma one_agrees choose u js : (forall j k, In j js -> In k js -> choose j = true ->
  choose k = true -> j = k) ->
  agreeing v choose u js = true.
Proof.
  intros One. unfold agreeing.
  destruct (forallb (fun j => negb (choose j) || lit v u j) js) eqn:F; [reflexivity|].
  cbn [orb]. apply forallb_forall. intros k Ik. destruct (choose k) eqn:Ck; [|reflexivity].
  cbn [negb orb].
  assert (X : existsb (fun j => negb (negb (choose j) || lit v u j)) js = true).
  { clear -F. induction js as [|j js IH]; [discriminate|]. cbn in *.
    destruct (negb (choose j) || lit v u j); [|reflexivity].
    cbn in *. apply IH, F. }
  apply existsb_exists in X as (j & Ij & Nj). apply negb_true_iff, orb_false_iff in Nj as [Cj Uj].
  apply negb_false_iff in Cj. rewrite (One k j Ik Ij Ck Cj), Uj. reflexivity.
Qed.

Lemma digit_value x b a c i : 1 <= i <= n -> digit_of x = Some (b, a, c) ->
  (0 <= a * Z.of_nat i + c)%Z -> lit v x i = Z.testbit (a * Z.of_nat i + c) (Z.of_N b).
Proof.
  intros Hi D P0. unfold digit_of in D. destruct (of x) as [s|] eqn:Ox; [|discriminate].
  destruct (plain x) eqn:Px; [|discriminate].
  destruct (nth_error p s) as [[|k| | | | | | | | | | | | | | |]|] eqn:Es; try discriminate.
  destruct (nth_error ins k) as [[| | | | |b' a' y c']|] eqn:Ei; try discriminate.
  destruct y; try discriminate.
  injection D as <- <- <-. unfold lit. rewrite Ox, Px. pose proof (Hv s _ Es i Hi) as M.
  cbn [means] in M.
  cbn [given program_word] in M. rewrite Ei in M. cbn [known] in M. rewrite M. clear M.
  replace (a' * Z.of_nat i + 0 * Z.of_nat n + c')%Z with (a' * Z.of_nat i + c')%Z by ring.
  destruct (Z.leb_spec 0 (a' * Z.of_nat i + c')); [|lia].
  cbn [andb Bool.eqb]. destruct (Z.testbit (a' * Z.of_nat i + c') (Z.of_N b')); reflexivity.
Qed.

Lemma bits_below x y B : (0 <= x < 2 ^ Z.of_nat B)%Z -> (0 <= y < 2 ^ Z.of_nat B)%Z ->
  (forall b, b < B -> Z.testbit x (Z.of_nat b) = Z.testbit y (Z.of_nat b)) -> x = y.
Proof.
  intros X Y E. apply Z.bits_inj'. intros b Hb. destruct (Z.lt_ge_cases b (Z.of_nat B)) as [L|L].
  - specialize (E (Z.to_nat b) ltac:(lia)). rewrite Z2Nat.id in E by lia. exact E.
  - rewrite <- (Z.mod_small x (2 ^ Z.of_nat B)), <- (Z.mod_small y (2 ^ Z.of_nat B)) by lia.
    rewrite !Z.mod_pow2_bits_high by lia. reflexivity.
Qed.

Lemma own_code_one ds i j k : own_code ds = true -> 1 <= j <= n -> 1 <= k <= n ->
  coded v ds i j = true -> coded v ds i k = true -> j = k.
Proof.
  intros O Hj Hk Cj Ck. unfold own_code in O. destruct ds as [|[q0 k0] ds0] eqn:Eds;
    [discriminate|].
  rewrite <- Eds in *. destruct (digit_of k0) as [[[b0 x] c]|]; [|discriminate].
  rewrite !andb_true_iff in O. destruct O as [[[[[O1 O2] O3] O4] O5] O6].
  apply Z.leb_le in O3, O4. apply Z.ltb_lt in O5, O6.
  assert (Range : forall t, 1 <= t <= n -> (0 <= x * Z.of_nat t + c < 2 ^ Z.of_nat (length ds))%Z).
  { intros t Ht. assert (1 <= Z.of_nat t <= Z.of_N top)%Z by lia.
    apply orb_true_iff in O2 as [Q|Q]; apply Z.eqb_eq in Q; subst x; lia. }
  assert (E : (x * Z.of_nat j + c = x * Z.of_nat k + c)%Z).
  { apply (bits_below _ _ (length ds) (Range j Hj) (Range k Hk)). intros b Hb.
    rewrite forallb_forall in O1. specialize (O1 b ltac:(apply in_seq; lia)).
    unfold has_digit in O1. apply existsb_exists in O1 as (qk & I & D).
    destruct (digit_of (snd qk)) as [[[b' x'] c']|] eqn:Dk; [|discriminate].
    rewrite !andb_true_iff in D. destruct D as [[D1 D2] D3]. apply N.eqb_eq in D1.
    apply Z.eqb_eq in D2, D3. subst b' x' c'.
    unfold coded in Cj, Ck. rewrite forallb_forall in Cj, Ck. specialize (Cj qk I).
    specialize (Ck qk I).
    apply eqb_prop in Cj, Ck.
    rewrite (digit_value _ _ _ _ j Hj Dk (proj1 (Range j Hj))) in Cj.
    rewrite (digit_value _ _ _ _ k Hk Dk (proj1 (Range k Hk))) in Ck.
    replace (Z.of_N (N.of_nat b)) with (Z.of_nat b) in * by lia. congruence. }
  apply orb_true_iff in O2 as [Q|Q]; apply Z.eqb_eq in Q; subst x; lia.
Qed.

Lemma single_one x j k : single x = true -> 1 <= j <= n -> 1 <= k <= n ->
  lit v x j = true -> lit v x k = true -> j = k.
Proof.
  intros S Hj Hk Lj Lk. unfold single in S. destruct (of x) as [s|] eqn:Ox; [|discriminate].
  apply andb_true_iff in S as [Px S]. destruct (nth_error p s) as [[]|] eqn:Es; try discriminate.
  unfold lit in Lj, Lk. rewrite Ox, Px in Lj, Lk.
  pose proof (Hv s _ Es j Hj) as Mj. pose proof (Hv s _ Es k Hk) as Mk.
  cbn [means given program_word] in Mj, Mk.
  destruct (nth_error ins a) as [[]|]; try discriminate; cbn [known] in Mj, Mk; rewrite Mj
  in Lj; rewrite Mk in Lk;
    apply eqb_prop in Lj, Lk; symmetry in Lj, Lk; apply Nat.eqb_eq in Lj, Lk; lia.
Qed.

Lemma visible_inside mk i j : In j (visible n mk i) -> 1 <= j <= n.
Proof. unfold visible. rewrite filter_In, in_seq. lia. Qed.

Theorem always_readable : forallb always p = true -> readable n v p.
Proof.
  intros F s g G i Hi. rewrite forallb_forall in F. specialize (F g (nth_error_In _ _ G)).
  destruct g as [| | | | | | | | | |rows|ps x mk M|ds x mk M|ps mk M| | |ps ts mk M];
    try reflexivity; cbn [always] in F; cbn [well_read].
  - apply Nat.leb_le, (apart_once rows_clash); [|exact F]. intros r r' C H. unfold rows_clash in C.
    apply existsb_exists in C as (a & Ia & C). apply existsb_exists in C as (b & Ib & C).
    rewrite forallb_forall in H. pose proof (clash_sound a b i Hi C (H a Ia)) as B.
    apply not_true_is_false. intros T. rewrite forallb_forall in T. specialize (T b Ib). congruence.
  - rewrite !andb_true_iff in F. destruct F as [[F1 F2] F3]. apply N.leb_le in F1.
    rewrite !andb_true_iff.
    split; [split|]; [apply N.leb_le; lia|apply pairs_once;
      [exact Hi|apply visible_inside|exact F2]|].
    apply one_agrees. intros j k Ij Ik Cj Ck. apply visible_inside in Ij, Ik.
    unfold one_key in F3. destruct ps as [|[q0 k0] ps'] eqn:Ep; [discriminate|].
    rewrite <- Ep in *.
    apply andb_true_iff in F3 as [Sg Same]. rewrite forallb_forall in Same.
    assert (Key : forall t, chosen v ps i t = true -> lit v k0 t = true).
    { intros t Ct. unfold chosen in Ct. apply existsb_exists in Ct as (qk & I & P).
      specialize (Same qk I). destruct (literal_eq k0 (snd qk)) as [->|]; [|discriminate].
      unfold Program.paired in P. apply andb_true_iff in P. apply P. }
    apply (single_one k0); auto.
  - apply andb_true_iff in F as [F1 F2]. apply N.leb_le in F1. rewrite andb_true_iff.
    split; [apply N.leb_le; lia|]. apply one_agrees. intros j k Ij Ik Cj Ck.
    apply visible_inside in Ij, Ik.
    destruct (own_code ds) eqn:Oc; [apply (own_code_one ds i); assumption|].
    apply (own_rank_one p alphabet n _ v Hv Hw (N.to_nat top) ds i); (assumption || lia).
  - apply andb_true_iff in F as [F1 F2]. apply N.leb_le in F1. rewrite andb_true_iff.
    split; [apply N.leb_le; lia|]. apply pairs_once; [exact Hi|apply visible_inside|exact F2].
  - rewrite !andb_true_iff in F. destruct F as [[F1 F2] F3]. apply N.leb_le in F1.
    rewrite !andb_true_iff.
    split; [split|]; [apply N.leb_le; lia|apply pairs_once;
      [exact Hi|apply visible_inside|exact F2]|].
    apply existsb_exists. exists i.
    exact (chooses_itself_sound p alphabet n _ v Hv Hw ps mk i F3 Hi).
Qed.
End Always.

(* A model that passes computes its program on every word of up to N symbols. *)
Theorem makes_always outs ins p m e N :
  makes outs ins p m e && forallb (always (program_symbols m) ins p N) p = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> (N.of_nat n <= N)%N ->
  forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros C n P w q Hs Hw Hn. apply andb_true_iff in C as [C A].
  apply (makes_right outs ins p m e C n P w q (scale_cold m n P Hs) Hw).
  apply (always_readable (program_symbols m) ins p N m n w q);
    [|exact Hn|exact (symbol_small m ins n w q Hw)|exact A].
  unfold makes in C. rewrite !andb_true_iff in C. apply C.
Qed.

(* The same on the words that give the program what it asks for. *)
Theorem makes_fitting outs ins p m e : makes outs ins p m e = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> fits ins p m n w q = true ->
  forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof.
  intros C n P w q Hs Hw F.
  apply (makes_right outs ins p m e C n P w q (scale_cold m n P Hs) Hw), fits_readable, F.
Qed.
