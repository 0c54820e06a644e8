(** Programs whose signals read earlier ones only have a meaning on every word: the valuation is
    computed signal by signal. So no theorem about them is empty. *)
From Coq Require Import Arith ZArith List Bool Lia FunctionalExtensionality.
From Softhat Require Import Formula Program.
Import ListNotations.

Definition read_literal (x : literal) : list nat := match of x with Some s => [s] | None => [] end.
Definition read_option (a : option nat) : list nat := match a with Some s => [s] | None => [] end.
Definition read_pair (qk : literal * literal) : list nat :=
  read_literal (fst qk) ++ read_literal (snd qk).
Definition reads (g : signal) : list nat :=
  match g with
  | Token _ | Given _ => []
  | And ls => flat_map read_literal ls
  | Xor l r => [l; r]
  | Latest b u _ | StrictLatest b u _ => read_literal b ++ read_literal u
  | Previous u _ | Shift u _ _ => read_literal u
  | Average ts _ => flat_map (fun t => read_option (snd t)) ts
  | Sign x z t _ _ _ => read_option x ++ read_option z ++ read_option t
  | Table rows => flat_map (flat_map read_literal) rows
  | Match ps u _ _ | At ps u _ _ => flat_map read_pair ps ++ read_literal u
  | Width ps _ _ => flat_map read_pair ps
  | Blend ps ts _ _ => flat_map read_pair ps ++ flat_map (fun t => read_option (snd t)) ts
  | Total cs _ => map snd cs
  | Steps c _ => [c]
  end.

Fixpoint ordered_from (s : nat) (p : program) : bool :=
  match p with
  | [] => true
  | g :: p => forallb (fun r => Nat.ltb r s) (reads g) && ordered_from (S s) p
  end.
Definition ordered : program -> bool := ordered_from 0.

Section Evaluate.
Variables (n : nat) (w : word).

Definition bit_of (v : valuation) (g : signal) (i : nat) : bool :=
  match g with
  | Token l => existsb (Nat.eqb (symbol w i)) l
  | Given a => given w i a
  | And ls => forallb (fun l => lit v l i) ls
  | Xor l r => xorb (bit v l i) (bit v r i)
  | Latest b u d => latestb (seen n d (lit v b)) (seen n d (lit v u)) (pos n d i)
  | StrictLatest b u d => latestb (seen n d (lit v b)) (seen n d (lit v u)) (pos n d i - 1)
  | Previous u d => Nat.ltb 1 (pos n d i) && seen n d (lit v u) (pos n d i - 1)
  | Shift u c d => Nat.ltb c (pos n d i) && seen n d (lit v u) (pos n d i - c)
  | Average _ _ | Width _ _ _ | Total _ _ | Blend _ _ _ _ => false
  | Table rows => existsb (forallb (fun l => lit v l i)) rows
  | Match ps u m _ => some_chosen v (chosen v ps i) u (visible n m i)
  | At ds u m _ => some_chosen v (coded v ds i) u (visible n m i)
  | Steps c ks => turned ks (sums v c i)
  | Sign p f t a b k =>
      Z.leb k (sum_of v p i + sum_of v f i + sum_of v t i + a * Z.of_nat i + b * Z.of_nat n)
  end.
Definition total_of (v : valuation) (g : signal) (i : nat) : Z :=
  match g with
  | Average ts r => sum_over (weigh v ts) (span r n i)
  | Width ps m _ => Z.of_nat (length (filter (chosen v ps i) (visible n m i)))
  | Total cs _ => total_count v cs i
  | Blend ps ts m _ => sum_over (weigh v ts) (filter (chosen v ps i) (visible n m i))
  | _ => 0%Z
  end.

Definition update (v : valuation) (s : nat) (g : signal) : valuation := Valuation
  (fun s' i => if Nat.eqb s' s then bit_of v g i else bit v s' i)
  (fun s' i => if Nat.eqb s' s then total_of v g i else sums v s' i).
Fixpoint evaluate (p : program) (s : nat) (v : valuation) : valuation :=
  match p with [] => v | g :: p => evaluate p (S s) (update v s g) end.
Definition values (p : program) : valuation :=
  evaluate p 0 (Valuation (fun _ _ => false) (fun _ _ => 0%Z)).

Definition alike (v v' : valuation) (s : nat) : Prop := bit v s = bit v' s /\ sums v s = sums v' s.

Lemma lit_alike v v' x : (forall s, In s (read_literal x) -> alike v v' s) -> lit v x = lit v' x.
Proof.
  intros H. extensionality i. unfold lit, read_literal in *.
  destruct (of x) as [s|]; [|reflexivity].
  rewrite (proj1 (H s (or_introl eq_refl))). reflexivity.
Qed.

Lemma weigh_alike v v' ts : (forall s, In s (flat_map (fun t => read_option (snd t)) ts) ->
  alike v v' s) ->
  weigh v ts = weigh v' ts.
Proof.
  induction ts as [|t ts IH]; intros H; [reflexivity|]. extensionality j.
  change (weigh v (t :: ts) j)
    with (fst t * (if lit v (Lit (snd t) true) j then 1 else 0) + weigh v ts j)%Z.
  change (weigh v' (t :: ts) j)
    with (fst t * (if lit v' (Lit (snd t) true) j then 1 else 0) + weigh v' ts j)%Z.
  rewrite IH by (intros s I; apply H; cbn; apply in_or_app; right; exact I).
  rewrite (lit_alike v v'); [reflexivity|]. intros s I. apply H. cbn. apply in_or_app. left.
  exact I.
Qed.

Lemma sum_alike v v' a i : (forall s, In s (read_option a) -> alike v v' s) ->
  sum_of v a i = sum_of v' a i.
Proof.
  intros H. destruct a as [s|]; [|reflexivity]. cbn.
  rewrite (proj2 (H s (or_introl eq_refl))). reflexivity.
Qed.

Lemma lits_alike v v' ls : (forall s, In s (flat_map read_literal ls) -> alike v v' s) ->
  forall i, forallb (fun l => lit v l i) ls = forallb (fun l => lit v' l i) ls.
Proof.
  induction ls as [|x ls IH]; intros H i; [reflexivity|]. cbn. cbn in H.
  rewrite IH by (intros s I; apply H, in_or_app; right; exact I).
  rewrite (lit_alike v v') by (intros s I; apply H, in_or_app; left; exact I). reflexivity.
Qed.

Lemma pairs_alike v v' ps : (forall s, In s (flat_map read_pair ps) -> alike v v' s) ->
  (forall i j, chosen v ps i j = chosen v' ps i j) /\
    (forall i j, coded v ps i j = coded v' ps i j).
Proof.
  induction ps as [|[q k] ps IH]; intros H; [split; reflexivity|]. cbn in H.
  destruct IH as [A B]; [intros s I; apply H, in_or_app; right; exact I|].
  assert (Q : lit v q = lit v' q)
    by (apply lit_alike; intros s I; apply H, in_or_app; left; apply in_or_app; left; exact I).
  assert (K : lit v k = lit v' k)
    by (apply lit_alike; intros s I; apply H, in_or_app; left; apply in_or_app; right; exact I).
  split; intros i j.
  - unfold chosen in *. cbn [existsb]. rewrite A. unfold paired. cbn [fst snd]. rewrite Q, K.
    reflexivity.
  - unfold coded in *. cbn [forallb fst snd]. rewrite B, Q, K. reflexivity.
Qed.

Lemma existsb_ext {A} (f g : A -> bool) l : (forall a, f a = g a) -> existsb f l = existsb g l.
Proof. intros E. induction l as [|a l IH]; [reflexivity|]. cbn. rewrite E, IH. reflexivity. Qed.

Lemma of_alike v v' g : (forall s, In s (reads g) -> alike v v' s) ->
  bit_of v g = bit_of v' g /\ total_of v g = total_of v' g.
Proof.
  intros H. destruct g; cbn [reads] in H; split; extensionality i; try reflexivity;
    cbn [bit_of total_of].
  - apply lits_alike, H.
  - rewrite (proj1 (H l ltac:(cbn; auto))), (proj1 (H r ltac:(cbn; auto))). reflexivity.
  - rewrite (lit_alike v v' bad), (lit_alike v v' value); [reflexivity| |];
      intros s I; apply H, in_or_app; auto.
  - rewrite (lit_alike v v' bad), (lit_alike v v' value); [reflexivity| |];
      intros s I; apply H, in_or_app; auto.
  - rewrite (lit_alike v v' value); [reflexivity|]. intros s I. apply H, I.
  - rewrite (lit_alike v v' value); [reflexivity|]. intros s I. apply H, I.
  - rewrite (weigh_alike v v'); [reflexivity|]. exact H.
  - rewrite (sum_alike v v' past), (sum_alike v v' future), (sum_alike v v' total);
      [reflexivity| | |];
      intros s I; apply H, in_or_app; [right; apply in_or_app; right| right; apply in_or_app;
        left|left];
      exact I.
  - induction rows as [|r rows IH]; [reflexivity|]. cbn. cbn in H.
    rewrite IH by (intros s I; apply H, in_or_app; right; exact I).
    rewrite (lits_alike v v') by (intros s I; apply H, in_or_app; left; exact I). reflexivity.
  - unfold some_chosen. apply existsb_ext. intros j.
    rewrite (proj1 (pairs_alike v v' pairs (fun s I => H s (in_or_app _ _ _ (or_introl I))))).
    rewrite (lit_alike v v' value (fun s I => H s (in_or_app _ _ _ (or_intror I)))). reflexivity.
  - unfold some_chosen. apply existsb_ext. intros j.
    rewrite (proj2 (pairs_alike v v' digits (fun s I => H s (in_or_app _ _ _ (or_introl I))))).
    rewrite (lit_alike v v' value (fun s I => H s (in_or_app _ _ _ (or_intror I)))). reflexivity.
  - do 2 f_equal. apply filter_ext. intros j. apply (proj1 (pairs_alike v v' pairs H)).
  - unfold total_count. induction counts as [|[a c] counts IH]; [reflexivity|].
    cbn [fold_right fst snd].
    rewrite IH by (intros s I; apply H; right; exact I).
    rewrite (proj2 (H c (or_introl eq_refl))). reflexivity.
  - rewrite (proj2 (H count (or_introl eq_refl))). reflexivity.
  - rewrite (weigh_alike v v' terms (fun s I => H s (in_or_app _ _ _ (or_intror I)))). f_equal.
    apply filter_ext. intros j.
    apply (proj1 (pairs_alike v v' pairs (fun s I => H s (in_or_app _ _ _ (or_introl I))))).
Qed.

Lemma update_other v s g r : r <> s -> alike (update v s g) v r.
Proof.
  intros N. split; extensionality i; cbn; destruct (Nat.eqb_spec r s); try contradiction;
    reflexivity.
Qed.

Lemma evaluate_keeps p : forall s v r, r < s -> alike (evaluate p s v) v r.
Proof.
  induction p as [|g p IH]; intros s v r L; [split; reflexivity|]. cbn.
  destruct (IH (S s) (update v s g) r ltac:(lia)) as [B S].
  destruct (update_other v s g r ltac:(lia)) as [B' S']. split; congruence.
Qed.

Lemma evaluate_means p : forall s v, ordered_from s p = true ->
  forall k g, nth_error p k = Some g ->
  bit (evaluate p s v) (s + k) = bit_of (evaluate p s v) g /\
  sums (evaluate p s v) (s + k) = total_of (evaluate p s v) g.
Proof.
  induction p as [|h p IH]; intros s v O k g E; [destruct k; discriminate|].
  cbn [ordered_from] in O. apply andb_true_iff in O as [Oh Op]. destruct k as [|k].
  - injection E as <-. rewrite Nat.add_0_r. cbn [evaluate].
    destruct (evaluate_keeps p (S s) (update v s h) s ltac:(lia)) as [B T]. rewrite B, T.
    rewrite forallb_forall in Oh.
    destruct (of_alike (evaluate p (S s) (update v s h)) v h) as [B' T'].
    { intros r I. specialize (Oh r I). apply Nat.ltb_lt in Oh.
      destruct (evaluate_keeps p (S s) (update v s h) r ltac:(lia)) as [X Y].
      destruct (update_other v s h r ltac:(lia)) as [X' Y']. split; congruence. }
    rewrite B', T'. split; extensionality i; cbn; rewrite Nat.eqb_refl; reflexivity.
  - cbn [evaluate nth_error] in *. replace (s + S k) with (S s + k) by lia. apply IH; assumption.
Qed.

Theorem values_compute p : ordered p = true -> computes n w (values p) p.
Proof.
  intros O s g E i Hi. unfold values.
  destruct (evaluate_means p 0 (Valuation (fun _ _ => false) (fun _ _ => 0%Z)) O s g E) as [B S].
  cbn [Nat.add] in B, S. destruct g; cbn [means]; rewrite ?B, ?S; reflexivity.
Qed.
End Evaluate.
