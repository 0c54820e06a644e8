(** What is proved, in one file. Each theorem below is a claim that softhat's README makes, restated
    with nothing but definitions; each proof is one line that names where the work was done.
    Everything is about real numbers but the two theorems on float32 at the end; what they leave of
    rounding is the business of softhat's own checker.

    To read the statements: `Surface.sat` is what a formula means (Surface.v, 40 lines),
    `Model.logit` what a model computes (Model.v, 40 lines), `Hard.hard_logit` the same with hard
    attention, `Simulated.hard_value` and `soft_value` the same for hard-attention transformers and
    their simulation, `Masks.soft` is softmax attention, `Masks.hard` average-hard. *)
From Coq Require Import Reals Qreals QArith NArith ZArith List Bool.
From Softhat Require Import Sums Attention Masks Formula Program Lowering Lowered Correct Surface
  Matching Laws Model Kernel Values Numbers Hard Compiled Simulated FloatRun FloatCheck FloatModel
    FloatSome.
From Softhat Require Gray Histories Spelled StepCounter StepTuring StepTapes StepRing.
From Softhat Require Automata Stacks.
From Softhat Require Transformer.
Import ListNotations.
Open Scope nat_scope.

(** "The certificate is about the model you hold." A model that passes the kernel's check
    computes its formulas as written, at every position of every word of every length, with a
    margin of 1/4. The file that `softhat certify --coq` writes is an instance of this. *)
Theorem certified_model fs m ev : certified fs m ev = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, 1 <= i <= n ->
  (if sat n w q f i then 1 / 4 <= logit m n P w q k i else logit m n P w q k i <= - 1 / 4)%R.
Proof. exact (certified_right fs m ev). Qed.

(** "Three targets: `hard`, …" The same weights with hard attention, each head taking the mean of
    its maxima, compute the same. So do those of programs: `makes_hard_always` and its like in
    Hard.v say of `hard_logit` what the next three theorems say of `logit`. *)
Theorem certified_model_hard fs m ev : certified fs m ev = true -> uniform m = true ->
  forall n w q, over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, 1 <= i <= n ->
  (if sat n w q f i then 1 / 4 <= hard_logit m n w q k i else hard_logit m n w q k i <= - 1 / 4)%R.
Proof. exact (certified_hard fs m ev). Qed.

(** "RASP programs, and every regular language in logarithmic depth." A model that passes
    computes its attention program (Program.v), which may select by category or code, look up
    tables and decode counts: on every word up to the length N that the program is made for,
    where it can be seen that the positions which a head reads agree; elsewhere on the words on
    which they do. *)
Theorem program_model outs ins p m e N :
  makes outs ins p m e && forallb (always (program_symbols m) ins p N) p = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> (N.of_nat n <= N)%N ->
  forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof. exact (makes_always outs ins p m e N). Qed.

Theorem program_model_fitting outs ins p m e : makes outs ins p m e = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> fits ins p m n w q = true ->
  forall k x, nth_error outs k = Some x -> forall i, 1 <= i <= n ->
  (if truth ins p m n w q x i then 1 / 4 <= logit m n P w q k i
    else logit m n P w q k i <= - 1 / 4)%R.
Proof. exact (makes_fitting outs ins p m e). Qed.

(** An output that is a number is this number, a weighted sum of means, counts and bits
    (Numbers.v), but for an error that is 0 where no head selects. *)
Theorem program_model_numbers outs nums most ins p m e N :
  makes_numbers outs nums most ins p m e
  && forallb (always (program_symbols m) ins p N) p = true ->
  forall n P w q, scale_ok m n P -> over_alphabet m w n -> (N.of_nat n <= N)%N ->
  forall k x, nth_error nums k = Some x -> forall i, 1 <= i <= n ->
  (Rabs (logit m n P w q (length outs + k) i - number_value p n (meaning ins p m n w q) x i)
    <= Q2R most)%R.
Proof. exact (fun C n P w q S W L => proj2 (numbers_always _ _ _ _ _ _ _ _ C n P w q S W L)). Qed.

(** No claim about a model is empty: it is about every word over the alphabet, of every length. *)
Theorem every_word_is_meant m n (s : nat -> nat) : (forall i, 1 <= i <= n -> s i < symbols m) ->
  (exists P, scale_ok m n P) /\ over_alphabet m (fun i a => Nat.eqb (s i) a) n.
Proof. exact (every_word m n s). Qed.

(** "Formulas, to softmax transformers with unbounded positions or with temperature scaling."
    Every formula has one, whose weights depend neither on the word nor on its length. The atoms
    of its core form are its symbols, then whatever a position knows of itself. *)
Theorem every_formula_unbounded A inputs f : covered A inputs f = true ->
  exists p l ls o, forall n w q i, 1 <= i <= n ->
  let x := Transformer.softmax_run 1 (S (S n)) (map real_layer ls)
             (embed p n 1 (Word (fun _ => 0) (atoms A inputs n w q)) l) i in
  (if sat n w q f i then 1 / 4 <= decide o x else decide o x <= - 1 / 4)%R.
Proof.
  intros C. destruct (unbounded (core A inputs f)) as (p & l & ls & o & H). exists p, l, ls, o.
  intros n w q i Hi. rewrite <- (proj1 (core_sound A inputs n w q) f C i). exact (H n _ i Hi).
Qed.

Theorem every_formula_temperature A inputs f : covered A inputs f = true ->
  exists p l ls o, forall n P w q i, (INR n + 1 <= P)%R -> 1 <= i <= n ->
  let x := Transformer.softmax_run P (S (S n)) (map real_layer ls)
             (embed p n P (Word (fun _ => 0) (atoms A inputs n w q)) l) i in
  (if sat n w q f i then 1 / 4 <= decide o x else decide o x <= - 1 / 4)%R.
Proof.
  intros C. destruct (temperature (core A inputs f)) as (p & l & ls & o & H). exists p, l, ls, o.
  intros n P w q i HP Hi. rewrite <- (proj1 (core_sound A inputs n w q) f C i).
  exact (H n P _ i HP Hi).
Qed.

(** "Simulations of hard attention at a temperature that is a law in n." For a transformer whose
    heads take the mean of their maxima, the leftmost or the rightmost, with rational weights of
    common denominator d: softmax with the same weights, at the inverse temperatures `laws`, is
    within eps on every word of every length. The file that `softhat simulate --coq` writes is an
    instance of this. *)
Theorem simulated_model A d : checked_ahat A d = true ->
  forall n w q eps, 1 <= n -> (0 < eps)%R -> forall i, 1 <= i <= n ->
  (Rabs (soft_value A n w q (laws A d n eps) i - hard_value A n w q i) <= eps)%R.
Proof. exact (checked_ahat_right A d). Qed.

(** "A checker that reads the weights." The laws that softhat's own checker, which is Python,
    relies on. *)
Theorem checker_laws f g n w q i : 1 <= i <= n -> Forall (holds_at n w q i) (Laws.laws f g).
Proof. exact (every_law f g n w q i). Qed.

(** "Counter machines, run token by token." Whatever a counter machine and its input, after the
    prompt and any number of steps the formulas that softhat builds for it allow exactly one
    token: that of the next step, or the end where the machine halts. So greedy generation is the
    machine's run. *)
Theorem counter_machine_step m v h s : StepCounter.well_formed m = true ->
  StepCounter.history m v h s ->
  Histories.decides StepCounter.same (StepCounter.tokens m) (StepCounter.formula m)
    (StepCounter.ends m)
    h (StepCounter.next m s).
Proof. exact (StepCounter.counter_step m v h s). Qed.

Theorem counter_machine_run m v most : StepCounter.well_formed m = true ->
  Histories.greedy StepCounter.same (StepCounter.tokens m) (StepCounter.formula m)
    (StepCounter.ends m)
    most (rev (StepCounter.prompt m v))
  = Histories.run (StepCounter.next m) (StepCounter.after m) most (0, v).
Proof. exact (StepCounter.counter_run m v most). Qed.

(** "Turing machines, run token by token." Whatever the table, the input and the number of digits
    of an address, after the prompt and any number of steps the formulas that softhat builds for
    the machine allow exactly one token: that of the next step, `Full` if the head leaves the
    window of cells that addresses reach, or the end where the machine halts or has left. A step
    is one token (StepTuring), or several, for any number of tapes with one side or two
    (StepTapes). *)
Theorem turing_machine_step m w h s :
  StepTuring.well_formed m = true -> StepTuring.input_fits m w = true ->
    StepTuring.history m w h s ->
  Histories.decides StepTuring.same (StepTuring.tokens m) (StepTuring.formula m) (StepTuring.ends m)
    h (StepTuring.next m s).
Proof. exact (StepTuring.turing_step m w h s). Qed.

Theorem turing_machine_run m w most :
  StepTuring.well_formed m = true -> StepTuring.input_fits m w = true ->
  Histories.greedy StepTuring.same (StepTuring.tokens m) (StepTuring.formula m) (StepTuring.ends m)
    most (rev (StepTuring.prompt m w))
  = Histories.run (StepTuring.next m) (StepTuring.after m) most (StepTuring.begun m w).
Proof. exact (StepTuring.turing_run m w most). Qed.

Theorem tape_machine_step m w h s :
  StepTapes.well_formed m = true -> StepTapes.input_fits m w = true -> StepTapes.history m w h s ->
  Histories.decides StepTapes.same (StepTapes.tokens m) (StepTapes.formula m) (StepTapes.ends m)
    h (StepTapes.next m s).
Proof. exact (StepTapes.tapes_step m w h s). Qed.

Theorem tape_machine_run m w most :
  StepTapes.well_formed m = true -> StepTapes.input_fits m w = true ->
  Histories.greedy StepTapes.same (StepTapes.tokens m) (StepTapes.formula m) (StepTapes.ends m)
    most (rev (StepTapes.prompt m w))
  = Histories.run (StepTapes.next m) (StepTapes.after m) most (StepTapes.begun m w).
Proof. exact (StepTapes.tapes_run m w most). Qed.

(** "Cellular automata on a ring." After the first row and any number of cells: the next cell. *)
Theorem ring_step m row h s :
  StepRing.well_formed m = true -> StepRing.row_fits m row = true -> StepRing.history m row h s ->
  Histories.decides StepRing.same (StepRing.tokens m) (StepRing.formula m) (StepRing.ends m)
    h (StepRing.next m s).
Proof. exact (StepRing.ring_step m row h s). Qed.

Theorem ring_run m row most : StepRing.well_formed m = true -> StepRing.row_fits m row = true ->
  Histories.greedy StepRing.same (StepRing.tokens m) (StepRing.formula m) (StepRing.ends m)
    most (rev (StepRing.prompt row))
  = Histories.run (StepRing.next m) (StepRing.after m) most (row, []).
Proof. exact (StepRing.ring_run m row most). Qed.

(** "Automata and transducers", run as Turing machines: what greedy generation does, step by
    step, is the walk over the input, each step the next state and what is written; its last step
    says whether the word is in the language. A step is one token, or two where there are too
    many for that. *)
Theorem automaton_generation a n k b w most :
  let m := Automata.OneToken.machine_of a n k b in
  Automata.well_formed a = true -> Automata.word_fits a w = true ->
  StepTuring.well_formed m = true -> StepTuring.input_fits m w = true ->
  flat_map Automata.OneToken.did (Histories.greedy StepTuring.same (StepTuring.tokens m)
    (StepTuring.formula m)
    (StepTuring.ends m) most (rev (StepTuring.prompt m w)))
  = firstn most (Automata.walk a (Automata.start a) w).
Proof. exact (Automata.OneToken.automaton_run a n k b w most). Qed.

Theorem automaton_generation_two_tokens a n k b w most :
  let m := Automata.SeveralTokens.machine_of a n k b in
  Automata.well_formed a = true -> Automata.word_fits a w = true ->
  StepTapes.well_formed m = true -> StepTapes.input_fits m w = true ->
  flat_map Automata.SeveralTokens.did (Histories.greedy StepTapes.same (StepTapes.tokens m)
    (StepTapes.formula m) (StepTapes.ends m) most (rev (StepTapes.prompt m w)))
  = firstn (Nat.div2 (S most)) (Automata.walk a (Automata.start a) w).
Proof. exact (Automata.SeveralTokens.automaton_run a n k b w most). Qed.

Theorem automaton_language a q w : Automata.well_formed a = true -> Automata.puts_out a = false ->
  fst (List.last (Automata.walk a q w) (Automata.reject a, 0))
  = if Automata.accepted a q w then Automata.accept a else Automata.reject a.
Proof. exact (fun W => Automata.walk_accepts a W q w). Qed.

(** "Stack programs", run as Turing machines with three tapes: whatever the program puts out in
    so many instructions is put out by greedy generation in some number of tokens; if it has
    halted, nothing comes after them. *)
Theorem stack_generation p n k b w most o halted :
  let m := Stacks.machine_of p n k b in
  Stacks.program_fits p = true -> Stacks.word_fits w = true ->
  StepTapes.well_formed m = true -> StepTapes.input_fits m w = true ->
  Stacks.exec p (Gray.half b) most (Stacks.first_of p, w, []) = Some (o, halted) ->
  exists size,
    let generated := fun size => Histories.greedy StepTapes.same (StepTapes.tokens m)
      (StepTapes.formula m)
      (StepTapes.ends m) size (rev (StepTapes.prompt m w)) in
    flat_map Stacks.put_out (generated size) = o
    /\ (halted = true -> forall more, generated (size + more) = generated size).
Proof. exact (Stacks.stack_run p n k b w most o halted). Qed.

(** What these formulas say of a history is what they mean in the language (Surface.v). *)
Theorem history_formulas (token : Type) same (number : token -> nat) :
  (forall s t, same s t = Nat.eqb (number s) (number t)) ->
  forall w q f i, 1 <= i <= length w ->
  sat (length w) (Spelled.symbols_of number w) q (Spelled.spelled number f) i
  = Histories.holds same f (Spelled.history w i).
Proof. exact (Spelled.spelled_holds same number). Qed.

(** "The leak is known exactly." A row of scores s with winner p, at inverse temperature beta,
    puts at most delta of its weight elsewhere if and only if the sum of e^(-beta·gap) over the
    others is at most delta/(1 - delta). *)
Theorem exact_leak beta s gap n p delta : p < n -> (delta < 1)%R ->
  (forall j, j < n -> gap j = (s p - s j)%R) ->
  (leak (fun j => beta * s j) n p <= delta
   <-> others p (fun j => exp (- (beta * gap j))) n <= delta / (1 - delta))%R.
Proof. exact (leak_iff beta s gap n p delta). Qed.

(** "In float32 too, whatever the runtime." A model that passes the kernel's check and that of
    `FloatCheck` has the right sign in binary32 up to the length that was checked, in whatever
    order a runtime adds up, fused or not. `FloatRun.float_logit` says what a runtime may
    compute. The file that `softhat certify --coq` writes has an instance of this,
    `right_binary32`. *)
Theorem certified_model_in_float32 fs m ev longest : certified fs m ev = true ->
  near_binary32 m ev longest = true ->
  forall n w q, (N.of_nat n <= longest)%N -> over_alphabet m w n ->
  forall k f, nth_error fs k = Some f -> forall i, 1 <= i <= n ->
  forall z, float_logit m n w q k i z -> (if sat n w q f i then 1 / 8 <= z else z <= - 1 / 8)%R.
Proof. exact (certified_binary32 fs m ev longest). Qed.

(** No claim about floats is empty: some run always exists. *)
Theorem some_run_in_float32 m n w q k i : k < length (readouts m) ->
  exists z, float_logit m n w q k i z.
Proof. exact (some_logit m n w q k i). Qed.
