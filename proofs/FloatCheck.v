(** The check of a model in binary32, which computes: what each coordinate may be off by, layer
    by layer, for words up to a length. It needs all sums in any order to be near enough to the
    exact ones that each gate still clips to a bit. *)
From Coq Require Import ZArith NArith QArith Qabs Qround List Bool Arith.
From Softhat Require Import Sums Formula Program Lowering Lowered Compare Model Kernel FloatRun
  FloatBounds.
Import ListNotations.
Open Scope Q_scope.

(* Of each coordinate: how far it may be from its bit (at a head's output: at the positions of the
   word), and how far below 0. *)
Definition slacks := list bound.
Definition at_slack (b : slacks) (c : nat) : bound := nth c b (0, 0).

Section Check.
Variables (p : program) (alphabet : nat) (eos : bool) (longest : N).

Definition len : Q := inject_Z (Z.of_N longest).
Definition feature_range (f : feature) : Q * Q :=
  match f with
  | One => (1, 1)
  | Ordinary _ | Residue _ _ => (0, 1)
  | Index _ | Reverse _ => (0, len)
  | Alternating _ => (- (1), 1)
  end.
Definition range_of (k : content) (b : bound) : option (Q * Q) :=
  match k with
  | Empty => Some (- fst b, fst b)
  | Feature f => Some (feature_range f)
  | Bit _ => Some (- fst b, 1 + fst b)
  | Raw _ _ => Some (- snd b, 1 + fst b)
  | _ => None
  end.
Definition magnitude (r : Q * Q) : Q := if Qle_bool (- fst r) (snd r) then snd r else - fst r.

(* against the bits that a coordinate stands for, and against what it holds *)
Definition ideal_bound (k : content) (b : bound) : option bound :=
  match k with
  | Empty => Some (0, fst b)
  | Feature f => Some (magnitude (feature_range f), 0)
  | Bit _ => Some (1, fst b)
  | _ => None
  end.
Definition actual_bound (k : content) (b : bound) : option bound := r <- range_of k b;;
  Some (magnitude r, 0).
Definition at_ {A} (l : layout) (b : slacks) (g : content -> bound -> option A) (c : nat) :
  option A :=
  k <- nth_error l c;; g k (at_slack b c).

(** * Heads *)

Definition head_bound (l : layout) (b : slacks) (h : head) (f : form) (wide : bool) (empty : Q) :
  option bound :=
  s <- score_bound (at_ l b ideal_bound) h;;
  v <- dot_bound (at_ l b ideal_bound) f [];;
  let theta := (len + 2) * ulp1 in
  let y := 2 * (snd s + 2 * ulp * (fst s + snd s)) + (1 # 131072) in
  let rho := 3 * theta + snd v + (1 # 1048576) in
  let off := slack wide / (1 - y) + rho in
  let low := 2 * snd v + dust in
  if Qle_bool y (1 # 2) && Qle_bool (snd s) 1 && fits_in (fst s) && Qle_bool (snd v) (1 # 8)
     && Qle_bool low off && Qle_bool empty 1
     && forallb (Qle_bool 0) [fst s; snd s; snd v; empty]
  then Some (up (empty + off + ulp1 * (empty + 2) + dust), up ((1 + ulp1) * (empty + low) + dust))
  else None.

Definition heads_bound (l l1 : layout) (b : slacks) (hs : list head) (c : nat) : option bound :=
  match writing hs c, nth_error l c, nth_error l1 c with
  | [], Some k, Some k1 => if content_eq k k1 then Some (at_slack b c) else None
  | [(h, f)], Some Empty, Some (Raw _ wide) => head_bound l b h f wide (fst (at_slack b c))
  | _, _, _ => None
  end.

(** * Gates *)

Definition below (k : content) (b : bound) : Q := match k with Raw _ _ => snd b | _ => fst b end.
Definition literal_off (l : layout) (b : slacks) (x : literal * nat) : Q :=
  match nth_error l (snd x) with
  | Some k => let b := at_slack b (snd x) in if Qle_bool (fst b) (below k b) then below k b
    else fst b
  | None => 0
  end.
Definition term_off (l : layout) (b : slacks) (t : term) : Q := add_up (map (literal_off l b) t).
Definition gates_clip (l : layout) (b : slacks) (gs : list gate) : bool :=
  forallb (fun g => forallb (fun t => Qle_bool (term_off l b t) (1 # 4)) (terms g)) gs.

(* the most that a row of weights can be *)
Definition high_of (l : layout) (b : slacks) (f : form) : option Q :=
  qs <- every (fun e => r <- at_ l b range_of (fst e);;
                        Some (if Qle_bool 0 (snd e) then snd e * snd r else snd e * fst r)) f;;
  Some (add_up qs).
Definition unit_bound (l : layout) (b : slacks) (u : unit) : option bound :=
  z <- dot_bound (at_ l b actual_bound) (input u) [(Qabs (bias u), 0)];;
  hi <- high_of l b (input u);;
  let top := hi + bias u in Some (if Qle_bool 0 top then top else 0, snd z).

Definition constant_at (g : layer) (c : nat) : list bound :=
  if Qeq_bool (Model.entry (shift g) c) 0 then [] else [(Qabs (Model.entry (shift g) c), 0)].
Definition written_bound (l : layout) (b : slacks) (g : layer) (c : nat) : option bound :=
  x <- at_ l b actual_bound c;;
  ts <- every (fun u => r <- unit_bound l b u;; product_bound (Qabs (Model.entry (output u) c),
    0) r)
          (writers (units g) c);;
  sum_bound (x :: constant_at g c ++ ts).
Definition untouched (g : layer) (c : nat) : bool :=
  match writers (units g) c, constant_at g c with [], [] => true | _, _ => false end.

Definition fed_bound (l l1 : layout) (b : slacks) (g : layer) (cs : list nat) (c : nat) :
  option bound :=
  k <- nth_error l c;; k1 <- nth_error l1 c;;
  let cleared := existsb (Nat.eqb c) cs in
  if untouched g c then
    if cleared then None else if content_eq k k1 then Some (at_slack b c) else None
  else
    let base := if cleared then below k (at_slack b c) else fst (at_slack b c) in
    match k1, Qle_bool 0 base with
    | Empty, true | Bit _, true => r <- written_bound l b g c;; let e := up (base + snd r) in
      Some (e, e)
    | _, _ => None
    end.

(** * Layers *)

Definition is_nil {A} (l : list A) : bool := match l with [] => true | _ => false end.
Definition float_layer (l : layout) (b : slacks) (pl : plan) (g : layer) :
  option (layout * slacks) :=
  '(_, l1) <- lower_groups p alphabet false eos 4 l (groups pl) l;;
  '(a, l2) <- lower_layer p alphabet false eos 4 l pl;;
  if (if layer_eq (normal_layer a) (normal_layer g) then true else false)
     && is_nil (steps pl) && is_nil (decoded pl) then
    b1 <- every (heads_bound l l1 b (heads g)) (seq 0 (length l1));;
    if gates_clip l1 b1 (gates pl) then
      b2 <- every (fed_bound l1 l2 b1 g (clears pl)) (seq 0 (length l2));; Some (l2, b2)
    else None
  else None.
Fixpoint float_layers (l : layout) (b : slacks) (ps : list plan) (gs : list layer) :
  option (layout * slacks) :=
  match ps, gs with
  | [], [] => Some (l, b)
  | pl :: ps, g :: gs => '(l', b') <- float_layer l b pl g;; float_layers l' b' ps gs
  | _, _ => None
  end.

Definition readout_near (l : layout) (b : slacks) (r : result) (o : readout) : bool :=
  match lower_result p l r, dot_bound (at_ l b actual_bound) (row o) [(Qabs (offset o), 0)] with
  | Some o', Some z =>
      (if readout_eq (normal_readout o') (normal_readout o) then true else false)
      && Qle_bool (term_off l b (reads r) + snd z) (3 # 8)
  | _, _ => false
  end.
Fixpoint readouts_near (l : layout) (b : slacks) (rs : list result) (os : list readout) : bool :=
  match rs, os with
  | [], [] => true
  | r :: rs, o :: os => readout_near l b r o && readouts_near l b rs os
  | _, _ => false
  end.
End Check.

(* the embedding: whole numbers, whose sums are exact *)
Definition whole_number (q : Q) : bool := Qeq_bool (inject_Z (Qnum (Qred q))) q.
Definition embedding_whole (m : model) (longest : N) (c : nat) : bool :=
  let tokens := map (fun a => Model.entry (nth a (embedding m) []) c) (seq 0 (symbols m))
                ++ [Model.entry (bos m) c; Model.entry (eos m) c] in
  let columns := map (fun f => Model.entry (snd f) c) (features m) in
  forallb whole_number (tokens ++ columns)
  && Qle_bool (add_up (map Qabs tokens) + (len longest + 1) * add_up (map Qabs columns))
    (inject_Z 16777216).

Definition near_binary32 (m : model) (ev : evidence) (longest : N) : bool :=
  negb (scales m) && N.leb longest 8190
  && forallb (embedding_whole m longest) (seq 0 (length (start ev)))
  && match float_layers (signals ev) (program_symbols m) (ends m) longest (start ev) [] (plans ev)
    (layers m) with
     | Some (l, b) => readouts_near (signals ev) longest l b (results ev) (readouts m)
     | None => false
     end.

(* the greatest of some lengths for which it passes, or 0 *)
Definition binary32_length (m : model) (ev : evidence) : N :=
  match find (near_binary32 m ev) [8190; 4096; 2048; 1024; 512; 256; 128; 64; 32; 16; 8]%N with
  | Some longest => longest
  | None => 0%N
  end.
