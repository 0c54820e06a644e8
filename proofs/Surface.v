(** Formulas as people write them, and what they mean. Every operator of softhat's language is here
    with its definition, so that a claim about a formula is a claim about its text. Nothing below
    depends on how formulas are compiled. `core` spells the operators out in those of `Formula`. *)
From Coq Require Import ZArith NArith Arith List Bool Lia.
From Softhat Require Import Formula.
Import ListNotations.

Inductive relation := Less | LessEqual | Equal | NotEqual | GreaterEqual | Greater.

Inductive surface :=
  | Symbol (a : nat)                  (* the symbol at i is the a-th (the a-th proposition holds) *)
  | Constant (b : bool)
  | First | Last                      (* i = 1; i = n *)
  | Mod (m r : N)                     (* i mod m = r *)
  | At (p : nat)                      (* the p-th numerical predicate holds of i and n *)
  | Not (f : surface)
  | And (f g : surface) | Or (f g : surface) | Xor (f g : surface)
  | Implies (f g : surface) | Iff (f g : surface)
  | Yesterday (f : surface) | WeakYesterday (f : surface)        (* Y, Z *)
  | Tomorrow (f : surface) | WeakTomorrow (f : surface)          (* X, N *)
  | Once (f : surface) | Historically (f : surface)              (* O, H *)
  | Eventually (f : surface) | Always (f : surface)              (* F, G *)
  | Since (f g : surface) | Triggered (f g : surface)            (* S, T *)
  | Until (f g : surface) | Release (f g : surface)              (* U, R *)
  | WeakUntil (f g : surface) | StrongRelease (f g : surface)    (* W, M *)
  | Compare (t : term) (r : relation) (u : term)
with term :=
  | Integer (k : Z)
  | Position | Length                                            (* i, n *)
  | Count (f : surface) | CountFuture (f : surface) | CountAll (f : surface)   (* #, #>, #* *)
  | Scale (k : Z) (t : term)
  | Sum (t u : term) | Difference (t u : term).

Scheme surface_mut := Induction for surface Sort Prop
  with surface_term_mut := Induction for term Sort Prop.
Combined Scheme surface_term_ind from surface_mut, surface_term_mut.

(** * What formulas mean *)

(* a ⋈ b *)
Definition compare (r : relation) (a b : Z) : bool :=
  match r with
  | Less => Z.ltb a b | LessEqual => Z.leb a b | Equal => Z.eqb a b
  | NotEqual => negb (Z.eqb a b) | GreaterEqual => Z.leb b a | Greater => Z.ltb b a
  end.

Definition before (i : nat) : list nat := seq 1 i.                    (* 1, …, i *)
Definition from (n i : nat) : list nat := seq i (S n - i).            (* i, …, n *)
Definition count (f : nat -> bool) (l : list nat) : Z := Z.of_nat (length (filter f l)).

Section Meaning.
(* The length, the word (position, symbol) and the numerical predicates (predicate, length,
   position). *)
Variables (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

Fixpoint sat (f : surface) (i : nat) : bool :=
  match f with
  | Symbol a => w i a
  | Constant b => b
  | First => Nat.eqb i 1
  | Last => Nat.eqb i n
  | Mod m r => N.eqb (N.modulo (N.of_nat i) m) r
  | At p => q p n i
  | Not f => negb (sat f i)
  | And f g => sat f i && sat g i
  | Or f g => sat f i || sat g i
  | Xor f g => xorb (sat f i) (sat g i)
  | Implies f g => implb (sat f i) (sat g i)
  | Iff f g => Bool.eqb (sat f i) (sat g i)
  | Yesterday f => Nat.ltb 1 i && sat f (i - 1)
  | WeakYesterday f => Nat.leb i 1 || sat f (i - 1)
  | Tomorrow f => Nat.ltb i n && sat f (i + 1)
  | WeakTomorrow f => Nat.leb n i || sat f (i + 1)
  | Once f => existsb (sat f) (before i)
  | Historically f => forallb (sat f) (before i)
  | Eventually f => existsb (sat f) (from n i)
  | Always f => forallb (sat f) (from n i)
  | Since f g => sinceb (sat f) (sat g) i
  | Triggered f g => negb (sinceb (fun j => negb (sat f j)) (fun j => negb (sat g j)) i)
  | Until f g => untilb n (sat f) (sat g) i
  | Release f g => negb (untilb n (fun j => negb (sat f j)) (fun j => negb (sat g j)) i)
  | WeakUntil f g => untilb n (sat f) (sat g) i || forallb (sat f) (from n i)
  | StrongRelease f g => untilb n (sat g) (fun j => sat f j && sat g j) i
  | Compare t r u => compare r (value t i) (value u i)
  end
with value (t : term) (i : nat) : Z :=
  match t with
  | Integer k => k
  | Position => Z.of_nat i
  | Length => Z.of_nat n
  | Count f => count (sat f) (before i)
  | CountFuture f => count (sat f) (from n i)
  | CountAll f => count (sat f) (before n)
  | Scale k t => k * value t i
  | Sum t u => value t i + value u i
  | Difference t u => value t i - value u i
  end%Z.
End Meaning.

(** * In core operators *)

(* What a position knows of itself besides its symbol. *)
Inductive input :=
  | InSymbol (a : nat) | InFirst | InLast | InMod (m r : N) | InAt (p : nat)
  | InDigit (b : N) (x y c : Z).            (* binary digit b of x·i + y·n + c, false if negative *)

Definition input_eqb (x y : input) : bool :=
  match x, y with
  | InSymbol a, InSymbol b | InAt a, InAt b => Nat.eqb a b
  | InFirst, InFirst | InLast, InLast => true
  | InMod m r, InMod m' r' => N.eqb m m' && N.eqb r r'
  | InDigit b x y c, InDigit b' x' y' c' => N.eqb b b' && Z.eqb x x' && Z.eqb y y' && Z.eqb c c'
  | _, _ => false
  end.
Lemma input_eqb_eq x y : input_eqb x y = true -> x = y.
Proof.
  destruct x, y; cbn; try discriminate; try reflexivity; intros H;
    try (apply Nat.eqb_eq in H; subst; reflexivity).
  - apply andb_true_iff in H as [H1 H2]. apply N.eqb_eq in H1, H2. subst. reflexivity.
  - rewrite !andb_true_iff in H. destruct H as [[[H1 H2] H3] H4]. apply N.eqb_eq in H1.
    apply Z.eqb_eq in H2, H3, H4. subst. reflexivity.
Qed.

Definition known (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool) (x : input)
    (i : nat) : bool :=
  match x with
  | InSymbol a => w i a
  | InFirst => Nat.eqb i 1
  | InLast => Nat.eqb i n
  | InMod m r => N.eqb (N.modulo (N.of_nat i) m) r
  | InAt p => q p n i
  | InDigit b x y c =>
      let z := (x * Z.of_nat i + y * Z.of_nat n + c)%Z in Z.leb 0 z && Z.testbit z (Z.of_N b)
  end.

Definition yes := Formula.AtLeast Formula.Zero 0.
Definition no := Formula.AtLeast Formula.Zero 1.
Definition or_ f g := Formula.Not (Formula.And (Formula.Not f) (Formula.Not g)).

Fixpoint find_input (x : input) (l : list input) : nat :=
  match l with [] => 0 | y :: l => if input_eqb x y then 0 else S (find_input x l) end.

Section Core.
(* Atoms below A are symbols; after them come the inputs. *)
Variables (A : nat) (inputs : list input).
Definition atom (x : input) : formula := Formula.Atom (A + find_input x inputs).
Definition has (x : input) : bool := existsb (input_eqb x) inputs.

(* the integers of a term; `core_term` puts factor times the rest of it before another term *)
Fixpoint constant (t : term) : Z :=
  match t with
  | Integer k => k
  | Scale k t => k * constant t
  | Sum t u => constant t + constant u
  | Difference t u => constant t - constant u
  | _ => 0
  end%Z.

Fixpoint core (f : surface) : formula :=
  match f with
  | Symbol a => Formula.Atom a
  | Constant b => if b then yes else no
  | First => atom InFirst
  | Last => atom InLast
  | Mod m r => atom (InMod m r)
  | At p => atom (InAt p)
  | Not f => Formula.Not (core f)
  | And f g => Formula.And (core f) (core g)
  | Or f g => or_ (core f) (core g)
  | Xor f g => or_ (Formula.And (core f) (Formula.Not (core g)))
                   (Formula.And (Formula.Not (core f)) (core g))
  | Implies f g => or_ (Formula.Not (core f)) (core g)
  | Iff f g => or_ (Formula.And (core f) (core g))
                   (Formula.And (Formula.Not (core f)) (Formula.Not (core g)))
  | Yesterday f => Formula.Yesterday (core f)
  | WeakYesterday f => Formula.Not (Formula.Yesterday (Formula.Not (core f)))
  | Tomorrow f => Formula.Tomorrow (core f)
  | WeakTomorrow f => Formula.Not (Formula.Tomorrow (Formula.Not (core f)))
  | Once f => Formula.Since yes (core f)
  | Historically f => Formula.Not (Formula.Since yes (Formula.Not (core f)))
  | Eventually f => Formula.Until yes (core f)
  | Always f => Formula.Not (Formula.Until yes (Formula.Not (core f)))
  | Since f g => Formula.Since (core f) (core g)
  | Triggered f g => Formula.Not (Formula.Since (Formula.Not (core f)) (Formula.Not (core g)))
  | Until f g => Formula.Until (core f) (core g)
  | Release f g => Formula.Not (Formula.Until (Formula.Not (core f)) (Formula.Not (core g)))
  (* f W g = g R (f or g) *)
  | WeakUntil f g =>
      Formula.Not (Formula.Until (Formula.Not (core g))
        (Formula.And (Formula.Not (core f)) (Formula.Not (core g))))
  | StrongRelease f g => Formula.Until (core g) (Formula.And (core f) (core g))
  | Compare t r u =>
      let up k := Formula.AtLeast (core_term t 1 (core_term u (-1) Formula.Zero))
                    (k - constant t + constant u) in
      match r with
      | GreaterEqual => up 0%Z
      | Greater => up 1%Z
      | Less => Formula.Not (up 0%Z)
      | LessEqual => Formula.Not (up 1%Z)
      | Equal => Formula.And (up 0%Z) (Formula.Not (up 1%Z))
      | NotEqual => Formula.Not (Formula.And (up 0%Z) (Formula.Not (up 1%Z)))
      end
  end
with core_term (t : term) (factor : Z) (rest : Formula.term) : Formula.term :=
  match t with
  | Integer _ => rest
  | Position => Formula.Position factor rest
  | Length => Formula.Length factor rest
  | Count f => Formula.Count Before factor (core f) rest
  | CountFuture f => Formula.Count After factor (core f) rest
  | CountAll f => Formula.Count All factor (core f) rest
  | Scale k t => core_term t (factor * k) rest
  | Sum t u => core_term t factor (core_term u factor rest)
  | Difference t u => core_term t factor (core_term u (- factor) rest)
  end.

(* every symbol is one, every input is listed *)
Fixpoint covered (f : surface) : bool :=
  match f with
  | Symbol a => Nat.ltb a A
  | Constant _ => true
  | First => has InFirst
  | Last => has InLast
  | Mod m r => has (InMod m r)
  | At p => has (InAt p)
  | Not f | Yesterday f | WeakYesterday f | Tomorrow f | WeakTomorrow f | Once f | Historically f
  | Eventually f | Always f => covered f
  | And f g | Or f g | Xor f g | Implies f g | Iff f g | Since f g | Triggered f g | Until f g
  | Release f g | WeakUntil f g | StrongRelease f g => covered f && covered g
  | Compare t _ u => covered_term t && covered_term u
  end
with covered_term (t : term) : bool :=
  match t with
  | Integer _ | Position | Length => true
  | Count f | CountFuture f | CountAll f => covered f
  | Scale _ t => covered_term t
  | Sum t u | Difference t u => covered_term t && covered_term u
  end.

Section Sound.
Variables (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).
(* what the atoms of the core are *)
Definition atoms (i a : nat) : bool :=
  if Nat.ltb a A then w i a
  else match nth_error inputs (a - A) with Some x => known n w q x i | None => false end.
Notation core_sat := (Formula.sat n atoms).

Lemma atom_sat x i : has x = true -> core_sat (atom x) i = known n w q x i.
Proof.
  intros H. cbn. unfold atoms. destruct (Nat.ltb_spec (A + find_input x inputs) A); [lia|].
  replace (A + find_input x inputs - A) with (find_input x inputs) by lia.
  unfold has in H. revert H. clear. induction inputs as [|y l IH]; [discriminate|]. cbn.
  destruct (input_eqb x y) eqn:E; cbn.
  - apply input_eqb_eq in E as ->. reflexivity.
  - exact IH.
Qed.

Lemma or_sat f g i : core_sat (or_ f g) i = core_sat f i || core_sat g i.
Proof. unfold or_. cbn. destruct (core_sat f i), (core_sat g i); reflexivity. Qed.

Lemma once_sat g i : sinceb (fun _ => true) g i = existsb g (before i).
Proof.
  unfold sinceb, before. apply eq_true_iff_eq. rewrite !existsb_exists.
  assert (T : forall l : list nat, forallb (fun _ => true) l = true)
    by (induction l; [reflexivity|assumption]).
  split; intros (j & Hj & H); exists j; (split; [exact Hj|]).
  - apply andb_true_iff in H. apply H.
  - rewrite H, T. reflexivity.
Qed.

Lemma eventually_sat g i : untilb n (fun _ => true) g i = existsb g (from n i).
Proof.
  unfold untilb, from. apply eq_true_iff_eq. rewrite !existsb_exists.
  assert (T : forall l : list nat, forallb (fun _ => true) l = true)
    by (induction l; [reflexivity|assumption]).
  split; intros (j & Hj & H); exists j; (split; [exact Hj|]).
  - apply andb_true_iff in H. apply H.
  - rewrite H, T. reflexivity.
Qed.

Lemma sinceb_ext f f' g g' i : (forall j, f j = f' j) -> (forall j, g j = g' j) ->
  sinceb f g i = sinceb f' g' i.
Proof.
  intros F G. unfold sinceb. apply eq_true_iff_eq. rewrite !existsb_exists.
  split; intros (j & Hj & H); exists j; (split; [exact Hj|]); apply andb_true_iff in H as [H1 H2];
    apply andb_true_iff; rewrite forallb_forall in *; rewrite ?G in *; rewrite <- ?G in *;
    (split; [congruence|]); intros k Hk; specialize (H2 k Hk); specialize (F k); congruence.
Qed.

Lemma untilb_ext f f' g g' i : (forall j, f j = f' j) -> (forall j, g j = g' j) ->
  untilb n f g i = untilb n f' g' i.
Proof.
  intros F G. unfold untilb. apply eq_true_iff_eq. rewrite !existsb_exists.
  split; intros (j & Hj & H); exists j; (split; [exact Hj|]); apply andb_true_iff in H as [H1 H2];
    apply andb_true_iff; rewrite forallb_forall in *;
    (split; [specialize (G j); congruence|]); intros k Hk; specialize (H2 k Hk);
    specialize (F k); congruence.
Qed.

Lemma existsb_ext (f g : nat -> bool) l : (forall j, f j = g j) -> existsb f l = existsb g l.
Proof. intros E. induction l as [|a l IH]; [reflexivity|]. cbn. rewrite E, IH. reflexivity. Qed.
Lemma forallb_ext' (f g : nat -> bool) l : (forall j, f j = g j) -> forallb f l = forallb g l.
Proof. intros E. induction l as [|a l IH]; [reflexivity|]. cbn. rewrite E, IH. reflexivity. Qed.
Lemma filter_ext' (f g : nat -> bool) l : (forall j, f j = g j) -> filter f l = filter g l.
Proof. intros E. induction l as [|a l IH]; [reflexivity|]. cbn. rewrite E, IH. reflexivity. Qed.
Lemma not_existsb (f : nat -> bool) l : negb (existsb (fun j => negb (f j)) l) = forallb f l.
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn. rewrite negb_orb, IH, negb_involutive. reflexivity.
Qed.

Lemma weak_until f g i :
  untilb n f g i || forallb f (from n i)
  = negb (untilb n (fun j => negb (g j)) (fun j => negb (f j) && negb (g j)) i).
Proof.
  apply eq_true_iff_eq. rewrite orb_true_iff, negb_true_iff. split.
  - intros H. apply not_true_iff_false. intros U. unfold untilb in U.
    apply existsb_exists in U as (j & Hj & U). apply in_seq in Hj.
    apply andb_true_iff in U as [U1 U2]. apply andb_true_iff in U1 as [F G].
    rewrite forallb_forall in U2. destruct H as [H|H].
    + unfold untilb in H. apply existsb_exists in H as (k & Hk & H). apply in_seq in Hk.
      apply andb_true_iff in H as [Gk Fk]. rewrite forallb_forall in Fk.
      destruct (Nat.lt_trichotomy k j) as [L|[->|L]].
      * specialize (U2 k ltac:(apply in_seq; lia)). rewrite Gk in U2. discriminate.
      * rewrite Gk in G. discriminate.
      * specialize (Fk j ltac:(apply in_seq; lia)). rewrite Fk in F. discriminate.
    + rewrite forallb_forall in H. specialize (H j ltac:(apply in_seq; lia)).
      rewrite H in F. discriminate.
  - intros U.
    destruct (existsb g (from n i)) eqn:E.
    + (* the first j with g *)
      assert (First : exists j, i <= j <= n /\ g j = true /\ forall k, i <= k < j -> g k = false).
      { apply existsb_exists in E as (j & Hj & Gj). apply in_seq in Hj.
        assert (B : i <= j <= n) by lia. clear Hj U. revert Gj B.
        induction j as [j IH] using lt_wf_ind. intros Gj B.
        destruct (existsb g (seq i (j - i))) eqn:E.
        - apply existsb_exists in E as (k & Hk & Gk). apply in_seq in Hk.
          apply (IH k); [lia|exact Gk|lia].
        - exists j. split; [exact B|]. split; [exact Gj|]. intros k Hk. apply not_true_iff_false.
          intros T.
          apply not_true_iff_false in E. apply E, existsb_exists. exists k.
          split; [apply in_seq; lia|exact T]. }
      destruct First as (j & B & Gj & N). left. unfold untilb. apply existsb_exists. exists j.
      split; [apply in_seq; lia|]. rewrite Gj. apply forallb_forall. intros k Hk.
      apply in_seq in Hk.
      apply not_false_iff_true. intros Fk. apply not_true_iff_false in U. apply U.
      unfold untilb. apply existsb_exists. exists k. split; [apply in_seq; lia|].
      rewrite Fk, (N k) by lia. apply forallb_forall. intros m Hm. apply in_seq in Hm.
      rewrite N by lia. reflexivity.
    + right. apply forallb_forall. intros j Hj. apply in_seq in Hj. apply not_false_iff_true.
      intros Fj.
      assert (N : forall k, i <= k <= n -> g k = false).
      { intros k Hk. apply not_true_iff_false. intros T. apply not_true_iff_false in E. apply E.
        apply existsb_exists. exists k. split; [apply in_seq; lia|exact T]. }
      apply not_true_iff_false in U. apply U. unfold untilb. apply existsb_exists. exists j.
      split; [apply in_seq; lia|]. rewrite Fj, N by lia. apply forallb_forall. intros k Hk.
      apply in_seq in Hk. rewrite N by lia. reflexivity.
Qed.

Lemma count_total r a f t i : Formula.total n atoms (Formula.Count r a f t) i
  = (a * Z.of_nat (length (filter (core_sat f) (span r n i))) + Formula.total n atoms t i)%Z.
Proof. reflexivity. Qed.

(* The same truth, at every position. *)
Theorem core_sound :
  (forall f, covered f = true -> forall i, core_sat (core f) i = sat n w q f i) /\
  (forall t, covered_term t = true -> forall factor rest i,
     (Formula.total n atoms (core_term t factor rest) i + factor * constant t
      = factor * value n w q t i + Formula.total n atoms rest i)%Z).
Proof.
  apply surface_term_ind; intros; cbn [covered covered_term] in *;
    repeat match goal with H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?] end;
    repeat match goal with
    | IH : ?c = true -> forall i, _ = _, H : ?c = true |- _ => specialize (IH H)
    | IH : ?c = true -> forall factor rest i, _ = _, H : ?c = true |- _ => specialize (IH H)
    end; cbn [core core_term constant].
  - cbn. unfold atoms. rewrite H. reflexivity.
  - destruct b; reflexivity.
  - apply atom_sat, H.
  - apply atom_sat, H.
  - apply atom_sat, H.
  - apply atom_sat, H.
  - cbn. rewrite H. reflexivity.
  - cbn. rewrite H, H0. reflexivity.
  - rewrite or_sat, H, H0. reflexivity.
  - rewrite or_sat. cbn. rewrite H, H0. destruct (sat n w q f i), (sat n w q g i); reflexivity.
  - rewrite or_sat. cbn. rewrite H, H0. destruct (sat n w q f i); reflexivity.
  - rewrite or_sat. cbn. rewrite H, H0. destruct (sat n w q f i), (sat n w q g i); reflexivity.
  - cbn. rewrite H. reflexivity.
  - cbn -[Nat.ltb Nat.leb]. rewrite H, negb_andb, negb_involutive, Nat.leb_antisym. reflexivity.
  - cbn -[Nat.ltb Nat.leb]. rewrite H. reflexivity.
  - cbn -[Nat.ltb Nat.leb]. rewrite H, negb_andb, negb_involutive, <- Nat.leb_antisym. reflexivity.
  - cbn [Formula.sat sat]. rewrite <- once_sat. apply sinceb_ext; [reflexivity|exact H].
  - cbn [Formula.sat sat]. rewrite <- not_existsb, <- once_sat. f_equal.
    apply sinceb_ext; [reflexivity|]. intros j. rewrite H. reflexivity.
  - cbn [Formula.sat sat]. rewrite <- eventually_sat. apply untilb_ext; [reflexivity|exact H].
  - cbn [Formula.sat sat]. rewrite <- not_existsb, <- eventually_sat. f_equal.
    apply untilb_ext; [reflexivity|]. intros j. rewrite H. reflexivity.
  - cbn [Formula.sat sat]. apply sinceb_ext; assumption.
  - cbn [Formula.sat sat]. f_equal. apply sinceb_ext; intros j; [rewrite H|rewrite H0]; reflexivity.
  - cbn [Formula.sat sat]. apply untilb_ext; assumption.
  - cbn [Formula.sat sat]. f_equal. apply untilb_ext; intros j; [rewrite H|rewrite H0]; reflexivity.
  - cbn [Formula.sat sat]. rewrite weak_until. f_equal.
    apply untilb_ext; intros j; rewrite ?H, ?H0; reflexivity.
  - cbn [Formula.sat sat]. apply untilb_ext; [exact H0|]. intros j. rewrite H, H0. reflexivity.
  - assert (Up : forall k, core_sat (Formula.AtLeast (core_term t 1 (core_term u (-1) Formula.Zero))
        (k - constant t + constant u)) i = Z.leb k (value n w q t i - value n w q u i)).
    { intros k. set (T := core_term t 1 (core_term u (-1) Formula.Zero)). set (K := (k - _ + _)%Z).
      change (core_sat (Formula.AtLeast T K) i) with (Z.leb K (Formula.total n atoms T i)).
      unfold T, K.
      pose proof (H 1%Z (core_term u (-1) Formula.Zero) i) as E.
      pose proof (H0 (-1)%Z Formula.Zero i) as E'. change (Formula.total n atoms Formula.Zero i)
        with 0%Z in E'.
      apply eq_true_iff_eq. rewrite !Z.leb_le. lia. }
    change (sat n w q (Compare t r u) i) with (compare r (value n w q t i) (value n w q u i)).
    cbv zeta. generalize dependent (value n w q t i). generalize dependent (value n w q u i).
    intros b a Up.
    destruct r; cbn [compare];
      repeat match goal with
      | |- context [core_sat (Formula.Not ?f) i] => change (core_sat (Formula.Not f) i)
        with (negb (core_sat f i))
      | |- context [core_sat (Formula.And ?f ?g) i] =>
          change (core_sat (Formula.And f g) i) with (core_sat f i && core_sat g i)
      end; rewrite ?Up.
    + destruct (Z.leb_spec 0 (a - b)),
        (Z.ltb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 1 (a - b)),
        (Z.leb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)),
        (Z.leb_spec 1 (a - b)),
        (Z.eqb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)),
        (Z.leb_spec 1 (a - b)),
        (Z.eqb_spec a b); (reflexivity || lia).
    + destruct (Z.leb_spec 0 (a - b)),
        (Z.leb_spec b a); (reflexivity || lia).
    + destruct (Z.leb_spec 1 (a - b)),
        (Z.ltb_spec b a); (reflexivity || lia).
  - cbn [value]. lia.
  - change (Formula.total n atoms (Formula.Position factor rest) i)
      with (factor * Z.of_nat i + Formula.total n atoms rest i)%Z. cbn [value]. lia.
  - change (Formula.total n atoms (Formula.Length factor rest) i)
      with (factor * Z.of_nat n + Formula.total n atoms rest i)%Z. cbn [value]. lia.
  - rewrite count_total, (filter_ext' _ _ _ H).
    change (value n w q (Count f) i) with (count (sat n w q f) (seq 1 i)). unfold count, span. lia.
  - rewrite count_total, (filter_ext' _ _ _ H).
    change (value n w q (CountFuture f) i) with (count (sat n w q f) (seq i (S n - i))).
    unfold count, span. lia.
  - rewrite count_total, (filter_ext' _ _ _ H).
    change (value n w q (CountAll f) i) with (count (sat n w q f) (seq 1 n)). unfold count, span.
    lia.
  - cbn [value]. rewrite !Z.mul_assoc. apply H.
  - cbn [value]. pose proof (H factor (core_term u factor rest) i). pose proof (H0 factor rest i).
    rewrite !Z.mul_add_distr_l. lia.
  - cbn [value]. pose proof (H factor (core_term u (- factor) rest) i).
    pose proof (H0 (- factor)%Z rest i). rewrite !Z.mul_sub_distr_l. lia.
Qed.
End Sound.
End Core.
