(** Cellular automata on a ring: the token that the formulas allow is the next cell of the next row.

    `formula` and `ends` are what src/softhat/frontends/machines/cellular.py builds; a test
    computes that they are the same trees. Values of cells are numbers here: places in their
    list. *)
From Coq Require Import Arith List Bool Lia.
From Softhat Require Import Histories Gray Reading.
Import ListNotations.

(* what a cell with these neighbours becomes *)
Record entry := Entry { left_of : nat; cell_of : nat; right_of : nat; becomes : nat }.
Record machine := Machine { values : nat; rule : list entry; width : nat }.

Definition applies (a b c : nat) (e : entry) :
  bool := (left_of e =? a) && (cell_of e =? b) && (right_of e =? c).
Definition entry_fits (m : machine) (e : entry) : bool :=
  (left_of e <? values m) && (cell_of e <? values m) && (right_of e <? values m)
    && (becomes e <? values m).
(* every case once *)
Definition total (m : machine) : bool :=
  let all := seq 0 (values m) in
  forallb (fun a => forallb (fun b => forallb (fun c =>
    length (filter (applies a b c) (rule m)) =? 1) all) all) all.
Definition well_formed (m : machine) : bool :=
  (2 <=? width m) && forallb (entry_fits m) (rule m) && total m.

(** * The automaton *)

(* a whole row, and the cells of the next one that are known *)
Definition config : Type := list nat * list nat.
Definition turned (m : machine) (a b c : nat) : nat :=
  match find (applies a b c) (rule m) with Some e => becomes e | None => 0 end.
(* what cell x of a row becomes, on the ring *)
Definition becomes_at (m : machine) (row : list nat) (x : nat) : nat :=
  turned m (nth ((x + width m - 1) mod width m) row 0) (nth x row 0)
    (nth ((x + 1) mod width m) row 0).

Inductive token :=
  | Cell (v : nat)
  | First (v : nat)                              (* begins the first row *)
  | Later (was v : nat).                         (* begins another row: the cell was this *)

Definition next (m : machine) (s : config) : option token :=
  let (row, new) := s in
  let v := becomes_at m row (length new) in
  Some (match new with [] => Later (nth 0 row 0) v | _ => Cell v end).
Definition after (m : machine) (s : config) : config :=
  let (row, new) := s in
  let new := new ++ [becomes_at m row (length new)] in
  if length new =? width m then (new, []) else (row, new).

(** * Its formulas *)

Definition same (s t : token) : bool :=
  match s, t with
  | Cell a, Cell b | First a, First b => a =? b
  | Later a b, Later c d => (a =? c) && (b =? d)
  | _, _ => false
  end.
Lemma same_spec s t : same s t = true <-> s = t.
Proof.
  destruct s, t; cbn; rewrite ?andb_true_iff, ?Nat.eqb_eq; split; intros H; try discriminate;
    try congruence;
    try (inversion H; auto; fail); try (destruct H; congruence).
Qed.

Definition tokens (m : machine) : list token :=
  let all := seq 0 (values m) in
    map Cell all ++ map First all ++ flat_map (fun was => map (Later was) all) all.
Definition value (t : token) : nat := match t with Cell v | First v | Later _ v => v end.
Definition starts (t : token) : bool := match t with Cell _ => false | _ => true end.
Definition value_bit (b : nat) (t : token) : bool := Nat.testbit (value t) b.
Definition was_bit (b : nat) (t : token) : bool := match t with Later was _ => Nat.testbit was b
  | _ => false end.

Fixpoint ago (n : nat) (f : form token) : form token := match n with 0 => f
  | S n => Yesterday (ago n f) end.
Definition chosen (p f g : form token) : form token := Or (And p f) (And (Not p) g).

Section Formulas.
Variable m : machine.
Notation w := (width m).
Notation told := (one_of (tokens m)).

Definition first : form token := ago (w - 1) (told starts).
Definition final : form token := ago (w - 2) (told starts).
Definition left_form (a : nat) : form token :=
  reading (values m) (fun b => chosen first (told (value_bit b)) (ago w (told (value_bit b)))) a.
Definition here_form (a : nat) :
  form token := reading (values m) (fun b => ago (w - 1) (told (value_bit b))) a.
Definition right_form (a : nat) : form token :=
  reading (values m) (fun b => chosen final (Since (Not (told starts)) (told (was_bit b)))
    (ago (w - 2) (told (value_bit b)))) a.
Definition near_form (e : entry) : form token :=
  all_of [left_form (left_of e); here_form (cell_of e); right_form (right_of e)].
Definition whole : form token := ago (w - 1) (Constant true).
Definition writes (t : token) (e : entry) : bool :=
  match t with
  | Cell v => becomes e =? v
  | First _ => false
  | Later was v => (cell_of e =? was) && (becomes e =? v)
  end.
Definition formula (t : token) : form token :=
  all_of [whole; if starts t then first else Not first;
          fold_left Or (map near_form (filter (writes t) (rule m))) (Constant false)].
Definition ends : form token := Not whole.
End Formulas.

(* The prompt: the first row. *)
Definition prompt (row : list nat) : list token := First (nth 0 row 0) :: map Cell (tl row).
Definition row_fits (m : machine) (row : list nat) : bool :=
  (length row =? width m) && forallb (fun v => v <? values m) row.

(** * A step is right *)

Section Step.
Variable m : machine.
Hypothesis W : well_formed m = true.
Notation told := (told (tokens m)).
Notation w := (width m).

Lemma wide : 2 <= w.
Proof. unfold well_formed in W. rewrite !andb_true_iff, Nat.leb_le in W. tauto. Qed.

Lemma known_in t : In t (tokens m) <-> value t < values m /\ match t with Later was _ =>
  was < values m | _ =>
  True end.
Proof.
  unfold tokens. rewrite !in_app_iff, !in_map_iff, in_flat_map. split.
  - intros [(v & <- & I)|[(v & <- & I)|(u & U & I)]].
    + apply in_seq in I. cbn. lia.
    + apply in_seq in I. cbn. lia.
    + apply in_map_iff in I as (v & <- & I). apply in_seq in I, U. cbn. lia.
  - destruct t as [v|v|u v]; cbn; intros [V U].
    + left. exists v. split; [reflexivity|apply in_seq; lia].
    + right. left. exists v. split; [reflexivity|apply in_seq; lia].
    + right. right. exists u. split; [apply in_seq; lia|]. apply in_map, in_seq. lia.
Qed.

Lemma ago_holds n f : forall h, n < length h -> holds same (ago n f) h = holds same f (skipn n h).
Proof.
  induction n as [|n IH]; intros h L; [reflexivity|]. destruct h as [|t [|t' h]]; cbn in L; try lia.
  cbn [ago holds]. rewrite IH by (cbn; lia). reflexivity.
Qed.
Lemma told_ago n p h : told h -> n < length h ->
  holds same (ago n (one_of (tokens m) p)) h = p (nth n h (Cell 0)).
Proof.
  intros T L. rewrite ago_holds by exact L. revert h T L. induction n as [|n IH]; intros [|t h] T L;
    cbn in L;
    try lia.
  - cbn [skipn]. rewrite (one_of_holds same same_spec); [reflexivity|]. now inversion T.
  - cbn [skipn nth]. apply IH; [now inversion T|lia].
Qed.

(* The tokens of a row that begins with s. *)
Definition row_tokens (s : token) (row : list nat) : list token := s :: map Cell (tl row).
Definition new_tokens (row new : list nat) : list token :=
  match new with [] => [] | v :: _ => row_tokens (Later (nth 0 row 0) v) new end.
Definition fits (h : list token) (s : config) : Prop :=
  let (row, new) := s in
  told h /\ length row = w /\ length new < w /\ Forall (fun v => v < values m) row
  /\ exists s older, starts s = true /\ value s = nth 0 row 0
     /\ h = rev (row_tokens s row ++ new_tokens row new) ++ older.

Lemma row_length s row : 0 < length row -> length (row_tokens s row) = length row.
Proof. intros L. unfold row_tokens. destruct row; cbn in *; [lia|]. now rewrite map_length. Qed.
Lemma new_length row new : length (new_tokens row new) = length new.
Proof. destruct new as [|v new]; [reflexivity|]. cbn. now rewrite map_length. Qed.
Lemma row_value s row i : value s = nth 0 row 0 -> i < length row ->
  value (nth i (row_tokens s row) (Cell 0)) =
  nth i row 0.
Proof.
  intros V L. destruct i as [|i]; [exact V|]. destruct row as [|a row]; cbn in *; [lia|].
  rewrite (map_nth Cell). reflexivity.
Qed.
Lemma row_starts s row i : starts s = true -> starts (nth i (row_tokens s row) (Cell 0)) = (i =? 0).
Proof. intros V. destruct i as [|i]; [exact V|]. unfold row_tokens. cbn [nth].
rewrite (map_nth Cell).
reflexivity. Qed.

Section Fitting.
Variables (h : list token) (row new : list nat).
Hypothesis F : fits h (row, new).
Notation x := (length new).

Let told_h : told h := proj1 F.

Lemma enough : w + x <= length h.
Proof.
  pose proof F as (_ & L & _ & _ & s & older & _ & _ & H). pose proof wide. rewrite H.
  rewrite app_length, rev_length, app_length, row_length, new_length by lia. lia.
Qed.
(* what the tokens say of the cell that comes next *)
Lemma token_at n : n < w + x -> exists s, starts s = true /\ value s = nth 0 row 0 /\
  nth n h (Cell 0) = let i := w + x - 1 - n in
    if i <? w then nth i (row_tokens s row) (Cell 0) else nth (i - w) (new_tokens row new) (Cell 0).
Proof.
  pose proof F as (_ & L & _ & _ & s & older & St & V & H). rewrite H. intros N. exists s.
  split; [exact St|].
  split; [exact V|].
  pose proof wide. pose proof (row_length s row ltac:(lia)) as Lr.
  pose proof (new_length row new) as Ln.
  rewrite app_nth1 by (rewrite rev_length, app_length; lia).
  rewrite rev_nth by (rewrite app_length; lia).
  rewrite app_length, Lr, Ln, L. cbv zeta. replace (w + x - S n) with (w + x - 1 - n) by lia.
  destruct (Nat.ltb_spec (w + x - 1 - n) w); [now rewrite app_nth1 by lia|].
  rewrite app_nth2 by lia.
  now rewrite Lr, L.
Qed.

Lemma first_fits : holds same (first m) h = (x =? 0).
Proof.
  pose proof wide. pose proof enough. pose proof F as (_ & L & Lt & _).
  unfold first. rewrite told_ago by (exact told_h || lia).
  destruct (token_at (w - 1) ltac:(lia)) as (s & St & V & ->).
  cbv zeta. replace (w + x - 1 - (w - 1)) with x by lia. rewrite (proj2 (Nat.ltb_lt x w) Lt).
  now apply row_starts.
Qed.
Lemma whole_fits : holds same (whole m) h = true.
Proof. pose proof wide. pose proof enough. unfold whole. now rewrite ago_holds by lia. Qed.
Lemma final_fits : holds same (final m) h = (x =? w - 1).
Proof.
  pose proof wide. pose proof enough. pose proof F as (_ & L & Lt & _).
  unfold final. rewrite told_ago by (exact told_h || lia).
  destruct (token_at (w - 2) ltac:(lia)) as (s & St & V & ->).
  cbv zeta. replace (w + x - 1 - (w - 2)) with (S x) by lia.
  destruct (Nat.ltb_spec (S x) w) as [Lx|Lx].
  - rewrite row_starts by exact St. rewrite (proj2 (Nat.eqb_neq x (w - 1))) by lia. reflexivity.
  - replace (S x - w) with 0 by lia. rewrite (proj2 (Nat.eqb_eq x (w - 1))) by lia.
    assert (Ne : exists v l, new = v :: l) by (destruct new; [cbn in *; lia|eauto]).
    destruct Ne as (v & l & Ne).
    now rewrite Ne.
Qed.

Lemma row_below i : nth i row 0 < values m.
Proof.
  pose proof F as (_ & L & _ & V & _). pose proof wide.
  destruct (Nat.lt_ge_cases i (length row)) as [I|I].
  - rewrite Forall_forall in V. apply V, nth_In, I.
  - rewrite nth_overflow by exact I. rewrite Forall_forall in V.
    assert (I0 : In (nth 0 row 0) row) by (apply nth_In; lia). specialize (V _ I0). lia.
Qed.

Lemma here_fits a : a < values m -> holds same (here_form m a) h = (a =? nth x row 0).
Proof.
  intros A. unfold here_form. apply reading_holds; [exact A|apply row_below|]. intros b _.
  pose proof wide. pose proof enough. pose proof F as (_ & L & Lt & _).
  rewrite told_ago by (exact told_h || lia).
  destruct (token_at (w - 1) ltac:(lia)) as (s & St & V & ->).
  cbv zeta. replace (w + x - 1 - (w - 1)) with x by lia. rewrite (proj2 (Nat.ltb_lt x w) Lt).
  unfold value_bit. rewrite row_value by (exact V || lia). reflexivity.
Qed.
Lemma left_fits a : a < values m ->
  holds same (left_form m a) h = (a =? nth ((x + w - 1) mod w) row 0).
Proof.
  intros A. unfold left_form. apply reading_holds; [exact A|apply row_below|]. intros b _.
  pose proof wide. pose proof enough. pose proof F as (_ & L & Lt & _).
  unfold chosen. cbn [holds]. rewrite first_fits. destruct (Nat.eqb_spec x 0) as [E|E];
    cbn [andb orb negb].
  - rewrite orb_false_r.
    change (one_of (tokens m) (value_bit b)) with (ago 0 (one_of (tokens m) (value_bit b))).
    rewrite told_ago by (exact told_h || lia).
    destruct (token_at 0 ltac:(lia)) as (s & St & V & ->).
    cbv zeta. rewrite E. replace (w + 0 - 1 - 0) with (w - 1) by lia.
    rewrite (proj2 (Nat.ltb_lt (w - 1) w)) by lia.
    unfold value_bit. rewrite row_value by (exact V || lia). rewrite Nat.mod_small by lia.
    reflexivity.
  - rewrite told_ago by (exact told_h || lia).
    destruct (token_at w ltac:(lia)) as (s & St & V & ->).
    cbv zeta. replace (w + x - 1 - w) with (x - 1) by lia.
    rewrite (proj2 (Nat.ltb_lt (x - 1) w)) by lia.
    unfold value_bit. rewrite row_value by (exact V || lia).
    replace (x + w - 1) with (x - 1 + 1 * w) by lia.
    rewrite Nat.mod_add, Nat.mod_small by lia. reflexivity.
Qed.
Lemma right_fits a : a < values m ->
  holds same (right_form m a) h = (a =? nth ((x + 1) mod w) row 0).
Proof.
  intros A. unfold right_form. apply reading_holds; [exact A|apply row_below|]. intros b _.
  pose proof wide. pose proof enough. pose proof F as (_ & L & Lt & _).
  unfold chosen. cbn [holds]. rewrite final_fits. destruct (Nat.eqb_spec x (w - 1)) as [E|E];
    cbn [andb orb negb].
  - rewrite orb_false_r. replace (x + 1) with w by lia. rewrite Nat.mod_same by lia.
    pose proof (since_one_of same same_spec (tokens m) starts (was_bit b) h told_h) as Sn.
    cbn [holds] in Sn.
    rewrite Sn.
    pose proof F as (_ & _ & _ & _ & s & older & St & V & H'). rewrite H'.
    assert (Ne : exists v l, new = v :: l) by (destruct new; [cbn in *; lia|eauto]).
    destruct Ne as (v & l & Ne).
    rewrite Ne.
    cbn [new_tokens]. unfold row_tokens at 2. cbn [tl]. rewrite rev_app_distr. cbn [rev].
    rewrite <- !app_assoc.
    rewrite <- map_rev. induction (rev l) as [|y l' IH]; cbn; [apply orb_false_r|exact IH].
  - rewrite told_ago by (exact told_h || lia).
    destruct (token_at (w - 2) ltac:(lia)) as (s & St & V & ->).
    cbv zeta. replace (w + x - 1 - (w - 2)) with (x + 1) by lia.
    rewrite (proj2 (Nat.ltb_lt (x + 1) w)) by lia.
    unfold value_bit. rewrite row_value by (exact V || lia). rewrite Nat.mod_small by lia.
    reflexivity.
Qed.

Notation a_ := (nth ((x + w - 1) mod w) row 0).
Notation b_ := (nth x row 0).
Notation c_ := (nth ((x + 1) mod w) row 0).

Lemma near_fits e : In e (rule m) -> holds same (near_form m e) h = applies a_ b_ c_ e.
Proof.
  intros I. pose proof W as W'. unfold well_formed in W'.
  rewrite !andb_true_iff, forallb_forall in W'.
  destruct W' as [[_ E] _].
  specialize (E e I). unfold entry_fits in E. rewrite !andb_true_iff, !Nat.ltb_lt in E.
  unfold near_form. rewrite all_of_holds. cbn [forallb].
  rewrite left_fits, here_fits, right_fits by tauto. unfold applies.
  now rewrite andb_true_r, andb_assoc.
Qed.

(* the one case that applies *)
Lemma only_case : exists e, In e (rule m) /\ applies a_ b_ c_ e = true /\
  becomes e = becomes_at m row x
  /\ forall f, In f (rule m) -> applies a_ b_ c_ f = true -> f = e.
Proof.
  pose proof (row_below ((x + w - 1) mod w)) as A. pose proof (row_below x) as B.
  pose proof (row_below ((x + 1) mod w)) as C.
  pose proof W as W'. unfold well_formed in W'. rewrite !andb_true_iff in W'. destruct W' as [_ T].
  unfold total in T.
  rewrite forallb_forall in T. specialize (T _ (proj2 (in_seq _ 0 _) (conj (Nat.le_0_l _) A))).
  rewrite forallb_forall in T. specialize (T _ (proj2 (in_seq _ 0 _) (conj (Nat.le_0_l _) B))).
  rewrite forallb_forall in T. specialize (T _ (proj2 (in_seq _ 0 _) (conj (Nat.le_0_l _) C))).
  apply Nat.eqb_eq in T. unfold becomes_at, turned.
  destruct (filter (applies a_ b_ c_) (rule m)) as [|e [|f l]] eqn:E; try discriminate. exists e.
  assert (I : In e (rule m) /\ applies a_ b_ c_ e = true) by (apply filter_In; rewrite E; now left).
  assert (U : forall f, In f (rule m) -> applies a_ b_ c_ f = true -> f = e).
  { intros f I' A'. assert (X : In f [e]) by (rewrite <- E; now apply filter_In).
    now destruct X as [->|[]]. }
  split; [tauto|]. split; [tauto|]. split; [|exact U].
  destruct (find (applies a_ b_ c_) (rule m)) as [f|] eqn:X.
  - apply find_some in X as [X1 X2]. now rewrite (U f X1 X2).
  - exfalso. pose proof (find_none _ _ X e (proj1 I)). destruct I. congruence.
Qed.

Lemma fold_or l : forall f, holds same (fold_left Or l f) h = holds same f h || existsb (fun g =>
  holds same g h) l.
Proof.
  induction l as [|g l IH]; intros f; cbn; [now rewrite orb_false_r|]. rewrite IH. cbn.
  now rewrite orb_assoc.
Qed.

Lemma cases_fit t :
  holds same (fold_left Or (map (near_form m) (filter (writes t) (rule m))) (Constant false)) h
  = true
  <-> match t with
      | Cell v => becomes_at m row x = v
      | First _ => False
      | Later was v => b_ = was /\ becomes_at m row x = v
      end.
Proof.
  destruct only_case as (e & I & A & Bc & U). rewrite fold_or. cbn [holds orb].
  rewrite existsb_exists. split.
  - intros (f & J & H). apply in_map_iff in J as (g & <- & J). apply filter_In in J as [J Wr].
    rewrite near_fits in H by exact J. rewrite (U g J H) in *. unfold applies in A.
    rewrite !andb_true_iff, !Nat.eqb_eq in A. destruct t; cbn in Wr; rewrite ?andb_true_iff,
      ?Nat.eqb_eq in Wr;
      [congruence|discriminate|]. intuition congruence.
  - intros H. exists (near_form m e). rewrite near_fits by exact I. split; [|exact A].
    apply in_map, filter_In.
    split; [exact I|]. unfold applies in A. rewrite !andb_true_iff, !Nat.eqb_eq in A.
    destruct t; cbn; rewrite ?andb_true_iff, ?Nat.eqb_eq; intuition congruence.
Qed.

Lemma becomes_below : becomes_at m row x < values m.
Proof.
  destruct only_case as (e & I & _ & <- & _). pose proof W as W'. unfold well_formed in W'.
  rewrite !andb_true_iff, forallb_forall in W'. destruct W' as [[_ E] _]. specialize (E e I).
  unfold entry_fits in E. rewrite !andb_true_iff, !Nat.ltb_lt in E. tauto.
Qed.
End Fitting.

Lemma step_known h s t : fits h s -> next m s = Some t -> In t (tokens m).
Proof.
  destruct s as [row new]. intros F N. cbn [next] in N. inversion N. apply known_in.
  pose proof (becomes_below h row new F) as B. pose proof (row_below h row new F 0).
  destruct new; cbn in *; auto.
Qed.

Lemma step_decides h s : fits h s -> decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros F. split; [|split; [|intros t N; now apply (step_known h s)]]; destruct s as [row new].
  - intros t K. unfold formula. rewrite all_of_holds. cbn [forallb].
    rewrite (whole_fits h row new F), andb_true_r. cbn [andb].
    rewrite andb_true_iff, (cases_fit h row new F t). cbn [next].
    assert (S : holds same (if starts t then first m else Not (first m)) h
      = eqb (starts t) (length new =? 0)).
    { destruct (starts t); cbn [holds]; rewrite (first_fits h row new F);
        now destruct (length new =? 0). }
    rewrite S. destruct new as [|v new]; destruct t; cbn [starts length Nat.eqb eqb];
      intuition (try congruence).
  - unfold ends. cbn [holds next]. rewrite (whole_fits h row new F). split; discriminate.
Qed.

Lemma new_next row new v : new_tokens row (new ++ [v])
  = new_tokens row new ++ [match new with [] => Later (nth 0 row 0) v | _ => Cell v end].
Proof.
  destruct new as [|u new]; [reflexivity|]. cbn [app new_tokens]. unfold row_tokens. cbn [tl app].
  now rewrite map_app.
Qed.

Lemma step_fits h s t : fits h s -> next m s = Some t -> fits (t :: h) (after m s).
Proof.
  intros F N. pose proof (step_known h s t F N) as K. destruct s as [row new]. cbn [next] in N.
  injection N as E.
  pose proof (becomes_below h row new F) as B. cbn [after].
  set (v := becomes_at m row (length new)) in *.
  destruct F as (T & L & Lt & R & s & older & S & Vs & H).
  assert (H' : t :: h = rev (row_tokens s row ++ new_tokens row (new ++ [v])) ++ older).
  { rewrite new_next, app_assoc, rev_app_distr, H, <- E. reflexivity. }
  rewrite app_length. cbn [length]. destruct (Nat.eqb_spec (length new + 1) w) as [W'|W'].
  - unfold fits. split; [now constructor|]. rewrite app_length. cbn [length]. split; [exact W'|].
    pose proof wide. split; [lia|]. split.
    + (* the values of the new row are those of its tokens *)
      assert (N : Forall (fun t => In t (tokens m)) (new_tokens row (new ++ [v]))).
      { assert (T' : told (t :: h)) by (now constructor). rewrite H' in T'.
        apply Forall_app in T' as [T' _]. apply Forall_rev in T'. rewrite rev_involutive in T'.
        now apply Forall_app in T' as [_ T']. }
      destruct (new ++ [v]) as [|y l]; [constructor|]. cbn in N. inversion N as [|? ? N0 N1]; subst.
      constructor.
      * apply known_in in N0. cbn in N0. tauto.
      * apply Forall_forall. intros z Z. rewrite Forall_forall in N1.
        specialize (N1 (Cell z) (in_map Cell _ _ Z)).
        apply known_in in N1. cbn in N1. tauto.
    + exists (Later (nth 0 row 0) (nth 0 (new ++ [v]) 0)), (rev (row_tokens s row) ++ older).
      split; [reflexivity|].
      split; [reflexivity|]. cbn [new_tokens]. rewrite app_nil_r, H', rev_app_distr, <- app_assoc.
      f_equal. f_equal.
      now destruct new.
  - unfold fits. split; [now constructor|]. split; [exact L|]. rewrite app_length. cbn [length].
    split; [lia|]. split; [exact R|]. exists s, older. auto.
Qed.

Lemma prompt_fits row : row_fits m row = true -> fits (rev (prompt row)) (row, []).
Proof.
  intros R. unfold row_fits in R. apply andb_true_iff in R as [L V]. apply Nat.eqb_eq in L.
  rewrite forallb_forall in V.
  pose proof wide. assert (V' : Forall (fun v => v < values m) row) by (apply Forall_forall;
    intros v I;
    now apply Nat.ltb_lt, V).
  split; [|split; [exact L|split; [cbn; lia|split; [exact V'|]]]].
  - apply Forall_rev. unfold prompt. destruct row as [|v row]; [cbn in L; lia|].
    inversion V'; subst. cbn.
    constructor.
    + apply known_in. cbn. auto.
    + apply Forall_forall. intros t I. apply in_map_iff in I as (z & <- & I). apply known_in. cbn.
      split; [|exact Logic.I]. now apply Nat.ltb_lt, V; right.
  - exists (First (nth 0 row 0)), []. split; [reflexivity|]. split; [reflexivity|].
    cbn [new_tokens].
    now rewrite !app_nil_r.
Qed.
End Step.

(** After the first row and any number of further cells, exactly one token is allowed: the next
    cell's. So greedy generation is the run. *)
Inductive history (m : machine) (row : list nat) : list token -> config -> Prop :=
  | Begun : history m row (rev (prompt row)) (row, [])
  | Done h s t : history m row h s -> next m s = Some t -> history m row (t :: h) (after m s).

Theorem ring_step m row h s : well_formed m = true -> row_fits m row = true -> history m row h s ->
  decides same (tokens m) (formula m) (ends m) h (next m s).
Proof.
  intros W I H. apply (step_decides m W). induction H; [now apply prompt_fits|now apply step_fits].
Qed.

Theorem ring_run m row most : well_formed m = true -> row_fits m row = true ->
  greedy same (tokens m) (formula m) (ends m) most (rev (prompt row)) = run (next m) (after m) most
    (row, []).
Proof.
  intros W I. apply (greedy_runs same (tokens m) (next m) (after m) _ _ (fits m)).
  - apply (step_decides m W).
  - apply (step_fits m W).
  - now apply prompt_fits.
Qed.
