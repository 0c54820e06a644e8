(** What a model may compute in binary32. It is a relation, for a runtime chooses much: the order
    and the grouping of every sum, which products are fused with additions, its exp. Whatever it
    chooses, the numbers below are related. Entries of matrices that are 0 add nothing to a sum,
    and are left out. *)
From Coq Require Import Reals ZArith QArith Qreals List Bool Arith.
From Softhat Require Import Gates Program Lowering Lowered Model FloatRow.
From Softhat Require Transformer.
Import ListNotations.
Open Scope R_scope.

(* a row of weights times coordinates, and more terms *)
Definition dots (f : form) (x : nat -> R) (more : list R) (z : R) : Prop :=
  exists ys, Forall2 (fun e y => product (Q2R (snd e)) (x (fst e)) y) f ys /\ adds (more ++ ys) z.

(* the score of a head, of the query at x and the key at y *)
Definition scored (h : head) (x y : nat -> R) (s : R) : Prop :=
  exists ts s0,
    Forall2 (fun qk t => exists a b, dots (fst qk) x [] a /\ dots (snd qk) y [] b /\
      product a b t) (rows h) ts /\
    adds ts s0 /\ product (Q2R (cold h)) s0 s.

Section Run.
Variable positions : nat.                  (* 0 .. positions - 1, sinks included *)

Definition keys (h : head) (i : nat) : list nat := filter (sees (over h) i) (seq 0 positions).

(* what a head may return at position i, of the values that the row f reads *)
Definition returns (h : head) (f : form) (X : stream) (i : nat) (o : R) : Prop :=
  exists s v : nat -> R,
    (forall j, In j (keys h i) -> scored h (X i) (X j) (s j)) /\
    (forall j, In j (keys h i) -> dots f (X j) [] (v j)) /\
    attends (keys h i) s v o.

(* the heads and their values that are written to coordinate c *)
Definition writing (hs : list head) (c : nat) : list (head * form) :=
  flat_map (fun h => map (fun u => (h, fst u)) (filter (fun u => Nat.eqb (snd u) c) (values h))) hs.
Definition attended (hs : list head) (X Y : stream) : Prop := forall i c, (i < positions)%nat ->
  exists os, Forall2 (fun hf o => returns (fst hf) (snd hf) X i o) (writing hs c) os /\
             adds (X i c :: os) (Y i c).

(* a hidden unit, and what it adds to coordinate c *)
Definition activated (u : unit) (x : nat -> R) (r : R) : Prop :=
  exists p, dots (input u) x [Q2R (bias u)] p /\ r = relu p.
Definition writers (us : list unit) (c : nat) : list unit :=
  filter (fun u => negb (Qeq_bool (Model.entry (output u) c) 0)) us.
Definition constants (b : form) (c : nat) : list R :=
  if Qeq_bool (Model.entry b c) 0 then [] else [Q2R (Model.entry b c)].
Definition fed (us : list unit) (b : form) (X Y : stream) :
  Prop := forall i c, (i < positions)%nat ->
  exists ts, Forall2 (fun u t => exists r, activated u (X i) r /\
    product (Q2R (Model.entry (output u) c)) r t)
               (writers us c) ts /\
             adds (X i c :: constants b c ++ ts) (Y i c).

Fixpoint runs (ls : list layer) (X Y : stream) : Prop :=
  match ls with
  | [] => Y = X
  | l :: ls => exists A B, attended (heads l) X A /\ fed (units l) (shift l) A B /\ runs ls B Y
  end.
End Run.

Section Logit.
Variables (m : model) (n : nat) (w : nat -> nat -> bool) (q : nat -> nat -> nat -> bool).

(* the rows of the symbols that hold at j, of <bos> and <eos>, in coordinate c *)
Definition token_terms (j c : nat) : list R :=
  map (fun a => Q2R (Model.entry (nth a (embedding m) []) c)) (filter (fun a => inside n j && w j a)
    (seq 0 (symbols m)))
  ++ (if Nat.eqb j 0 then [Q2R (Model.entry (bos m) c)] else [])
  ++ (if ends m && Nat.eqb j (S n) then [Q2R (Model.entry (eos m) c)] else []).
Definition embeds (X : stream) : Prop := forall j c, (j <= last (ends m) n)%nat ->
  exists ts, Forall2 (fun f t =>
    product (Q2R (Model.entry (snd f) c)) (position_value n 1 w q (fst f) j) t) (features m) ts /\
             adds (token_terms j c ++ ts) (X j c).

(* z may be the k-th output at position i *)
Definition float_logit (k i : nat) (z : R) : Prop :=
  exists X Y o, nth_error (readouts m) k = Some o /\ embeds X /\
    runs (S (last (ends m) n)) (layers m) X Y /\ dots (row o) (Y i) [Q2R (offset o)] z.
End Logit.
