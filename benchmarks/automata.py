"""Random automata and groups in logarithmic depth: are long words answered right, and certified?

    python -m benchmarks.automata native [--minutes 20] [--every 1] [--at 0] [--states 2 12]
    python -m benchmarks.automata long | gpt2 | llama [the same]
    python -m benchmarks.automata table

There are 224 automata: the named ones below, among them S5 and A5, and 200 random ones, of which a
third are groups, a sixth permutations with resets, and a third have three letters. Each is minimal
and has 2 to 12 states.

- `native` compiles each twice, with `max_length=65536` and as one block, and certifies both. Every
  word of 8 symbols runs in float32 on both and in bfloat16 on the block (of three letters every
  seventh). A word of 256 runs densely, and one of 65,536 on the block, in float32 or bfloat16 in
  turns (`--whole`: both formats on both models). `runs` says which.
- `long` runs a word of 65,536 (or 65,535) on the model of that length, in one of the two formats.
- `gpt2` and `llama` export a model with a context of 4,097, certify the folder, and run the stock
  class with PyTorch's `sdpa`: every word of 8 symbols in bfloat16 and the same or every seventh in
  float32, and a word of 4,096 in the two formats in turns (`--whole`: two words in both).

A model says at each position whether the prefix belongs, so every shorter word is run too. Answers
are compared with the automaton, run symbol by symbol. The long words are random, or *sensitive*:
at every position the symbol is one after which as many states as possible stay apart, so that the
first symbols still decide the last answers.

A line is written for each automaton to results/automata.jsonl when it is done, and what is there
is not run again, unless its line is taken out: give `--minutes` to stop in time, `--every 5 --at 2`
or `--states 2 6` for a part.
The exit code is 1 if an answer is wrong or a certificate short.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import softhat
from benchmarks.commits import commit
from softhat.frontends.regular.dfa import DFA, minimal
from softhat.models.value_model import ValueModel
from tests.transformer.lowering.suite import all_codes

RESULTS = Path(__file__).resolve().parent.parent / "results" / "automata.jsonl"
LONGEST = {"native": 65_536, "long": 65_536, "gpt2": 4_096, "llama": 4_096}
FORMATS = ("float32", "bfloat16")
SHORT, DENSE = 8, 256
SIZES = range(2, 13)
RANDOM = 200

Permutation = tuple[int, ...]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Automaton:
    """Its first state is 0; `step[state][letter]`."""

    name: str
    kind: str
    step: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]

    @property
    def letters(self) -> str:
        return "abc"[: len(self.step[0])]

    def truth(self, codes: Codes) -> NDArray[np.bool_]:
        """At each position of the words (rows): is the prefix accepted? Symbol by symbol."""
        if len(codes) == 1:
            return np.array([self._read(codes[0].tolist())])
        step = np.array(self.step)
        accepting = np.isin(np.arange(len(step)), list(self.accepting))
        state = np.zeros(len(codes), np.int64)
        answers = np.empty(codes.shape, np.bool_)
        for at in range(codes.shape[1]):
            state = step[state, codes[:, at]]
            answers[:, at] = accepting[state]
        return answers

    def _read(self, word: list[int]) -> list[bool]:
        state, answers = 0, []
        for letter in word:
            state = self.step[state][letter]
            answers.append(state in self.accepting)
        return answers

    def sensitive(self, length: int, rng: np.random.Generator) -> Codes:
        """A word that keeps as many states apart as it can."""
        dice, seen = rng.random(length), dict[frozenset[int], list[tuple[int, frozenset[int]]]]()
        apart, word = frozenset(range(len(self.step))), np.empty(length, np.int64)
        for at in range(length):
            if apart not in seen:
                images = [
                    frozenset(row) for row in zip(*(self.step[q] for q in apart), strict=True)
                ]
                most = max(map(len, images))
                seen[apart] = [(x, image) for x, image in enumerate(images) if len(image) == most]
            choices = seen[apart]
            word[at], apart = choices[int(dice[at] * len(choices))]
        return word


def then(first: Permutation, second: Permutation) -> Permutation:
    return tuple(second[x] for x in first)


def generated(generators: Sequence[Permutation]) -> list[Permutation]:
    """The group of the generators, its identity first."""
    elements: list[Permutation] = [tuple(range(len(generators[0])))]
    for g in elements:
        elements += [x for x in {then(g, h) for h in generators} if x not in elements]
    return elements


def cosets(name: str, generators: Sequence[Permutation], sub: Sequence[Permutation]) -> Automaton:
    """Is the product of the permutations in the subgroup that `sub` generates?"""
    group, small = generated(generators), generated(sub)
    classes: list[frozenset[Permutation]] = [frozenset(small)]
    for g in group:
        if not any(g in c for c in classes):
            classes.append(frozenset(then(h, g) for h in small))
    of = {g: k for k, c in enumerate(classes) for g in c}
    step = tuple(tuple(of[then(next(iter(c)), g)] for g in generators) for c in classes)
    return Automaton(name, "named group", step, frozenset({0}))


TURN, SWAP, THREE = (1, 2, 3, 4, 0), (1, 0, 2, 3, 4), (1, 2, 0, 3, 4)
A5, S5 = [TURN, THREE], [TURN, SWAP]


def named() -> Iterator[Automaton]:
    """Groups that people know; "of k points" says on how many states the group acts."""
    yield Automaton("PARITY", "named group", ((1, 0), (0, 1)), frozenset({0}))
    for order in (3, 4, 5, 7, 9, 11, 12):
        step = tuple(((q + 1) % order, (q - 1) % order) for q in range(order))
        yield Automaton(f"Z{order}", "named group", step, frozenset({0}))
    none: Sequence[Permutation] = [(0, 1, 2, 3, 4)]
    yield cosets("S3, whole", [(1, 2, 0, 3, 4), SWAP], none)
    yield cosets("D4, whole", [(1, 2, 3, 0, 4), (0, 3, 2, 1, 4)], none)
    yield cosets("D6, whole", [(1, 2, 0, 4, 3), (1, 0, 2, 3, 4)], none)
    quaternions = [(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)]
    yield cosets("Q8, whole", quaternions, [tuple(range(8))])
    yield cosets("A4, whole", [(1, 2, 0, 3, 4), (1, 0, 3, 2, 4)], none)
    yield cosets("S4 of 4 points", [(1, 2, 3, 0, 4), SWAP], [(0, 2, 1, 3, 4), (0, 2, 3, 1, 4)])
    stay = [(0, 2, 1, 3, 4), (0, 2, 3, 4, 1)]
    yield cosets("S5 of 5 points", S5, stay)
    yield cosets("A5 of 5 points", A5, [(0, 2, 3, 1, 4), (0, 1, 3, 4, 2)])
    five = [TURN, (0, 4, 3, 2, 1)]  # the dihedral group: the normaliser of TURN in A5
    yield cosets("A5 of 6 points", A5, five)
    yield cosets("S5 of 6 points", S5, [TURN, (0, 2, 4, 1, 3)])
    pairs = [(1, 0, 2, 3, 4), (0, 1, 3, 4, 2), (0, 1, 3, 2, 4)]
    even = [(0, 1, 3, 4, 2), (1, 0, 3, 2, 4)]
    yield cosets("S5 of 10 points", S5, pairs)
    yield cosets("A5 of 10 points", A5, even)
    yield cosets("S5 of 12 points", S5, five)
    yield cosets("A5 of 12 points", A5, [TURN])
    seven = [(1, 2, 3, 4, 5, 6, 0), (0, 2, 1, 6, 4, 5, 3)]
    yield cosets("GL(3,2) of 7 points", seven, _fixing(seven))
    mathieu = [(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0), (0, 1, 6, 9, 5, 3, 10, 2, 8, 4, 7)]
    points = tuple(tuple(g[q] for g in mathieu) for q in range(11))
    yield Automaton("M11 of 11 points", "named group", points, frozenset({0}))


def _fixing(generators: Sequence[Permutation]) -> Sequence[Permutation]:
    """The elements that leave the first point where it is."""
    return [g for g in generated(generators) if g[0] == 0]


def drawn(number: int) -> Automaton:
    """A random automaton of 2 + number % 11 states, minimal."""
    states = SIZES[number % len(SIZES)]
    group, resets = number % 3 == 0, number % 6 == 1
    letters = 3 if number % 3 == 2 else 2
    rng = np.random.default_rng([28, number])
    while True:
        table = rng.integers(0, states, (states, letters))
        if group or resets:
            table = np.stack([rng.permutation(states) for _ in range(letters)], axis=1)
        if resets:
            table[:, -1] = rng.integers(states)
        step = tuple(tuple(map(int, row)) for row in table)
        accepting = frozenset(map(int, np.flatnonzero(rng.random(states) < 0.5)))
        kind = "group" if group else "permutations and resets" if resets else "random"
        automaton = Automaton(f"random {number}", kind, step, accepting)
        if len(minimal(dfa_of(automaton)).step) == states:
            return automaton


def dfa_of(automaton: Automaton) -> DFA:
    return DFA(tuple(automaton.letters), 0, automaton.accepting, automaton.step)


def population() -> list[Automaton]:
    return [*named(), *map(drawn, range(RANDOM))]


# Running


@dataclass(slots=True)
class Tally:
    """Words that were run, by their length and format, and those with a wrong answer."""

    automaton: Automaton
    words: int = 0
    wrong: int = 0

    def compare(self, codes: Codes, answers: NDArray[np.bool_]) -> None:
        self.words += len(codes)
        self.wrong += int((answers != self.automaton.truth(codes)).any(axis=1).sum())


def long_words(automaton: Automaton, longest: int, seed: int) -> list[Codes]:
    """A sensitive word of the whole length, and a random one of a symbol less."""
    rng = np.random.default_rng([seed, longest])
    letters = len(automaton.letters)
    return [automaton.sensitive(longest, rng), rng.integers(0, letters, longest - 1)]


def native(automaton: Automaton, number: int, whole: bool = False) -> dict[str, Any]:
    """Both models of the automaton: all short words, and long ones."""
    longest = LONGEST["native"]
    language = softhat.from_dfa(dfa_of(automaton), depth="log")
    short = all_codes(len(automaton.letters), SHORT)
    some = short[:: 1 if len(automaton.letters) == 2 else 7]
    first, second = long_words(automaton, longest, number)
    middle = automaton.sensitive(DENSE, np.random.default_rng(number))
    runs: list[tuple[Codes, str, Literal["dense", "linear"]]]
    row: dict[str, Any] = {}
    for name, length in (("unrolled", longest), ("block", None)):
        began = time.process_time()
        model = softhat.compile(language, max_length=length)
        assert isinstance(model, ValueModel)
        compiled = time.process_time() - began
        reach = {form: model.certificate.max_length[form] for form in FORMATS}
        shorts, longs = Tally(automaton), Tally(automaton)
        shorts.compare(short, model.run_batch(short, "float32")[..., 0] > 0)
        runs = [(middle, FORMATS[number % 2 - 1], "dense")]
        if length is None:
            shorts.compare(some, model.run_batch(some, "bfloat16")[..., 0] > 0)
            runs.append((first, FORMATS[number % 2], "linear"))
        if whole:
            runs = [(word, form, "linear") for word in (first, second) for form in FORMATS]
        for word, form, runtime in runs:
            text = "".join(automaton.letters[x] for x in word)
            longs.compare(word[None], model.truth(text, dtype=form, runtime=runtime)[None])
        row[name] = {
            "layers": model.size.layers, "parameters": model.size.parameters, "certified": reach,
            "short": shorts.words, "wrong": shorts.wrong + longs.wrong,
            "runs": [[len(word), form, runtime] for word, form, runtime in runs],
            "compile": round(compiled, 3),
        }  # fmt: skip
    return row


def long(automaton: Automaton, number: int) -> dict[str, Any]:
    """The model to the whole length: one long word, which `native` has the block run only."""
    longest = LONGEST["long"]
    model = softhat.compile(softhat.from_dfa(dfa_of(automaton), depth="log"), max_length=longest)
    word = long_words(automaton, longest, number)[number // 2 % 2]
    form, tally = FORMATS[number % 2], Tally(automaton)
    text = "".join(automaton.letters[x] for x in word)
    tally.compare(word[None], model.truth(text, dtype=form, runtime="linear")[None])
    reach = {name: model.certificate.max_length[name] for name in FORMATS}
    return {"unrolled": {
        "layers": model.size.layers, "parameters": model.size.parameters, "certified": reach,
        "short": 0, "runs": [[len(word), form, "linear"]], "wrong": tally.wrong,
    }}  # fmt: skip


def exported(automaton: Automaton, target: str, seed: int, whole: bool) -> dict[str, Any]:
    """The stock class in both formats: all short words, and long ones."""
    import torch

    from tests.export.stock_models import answers, stated, stock

    longest = LONGEST[target]
    language = softhat.from_dfa(dfa_of(automaton), depth="log")
    shorts, longs = Tally(automaton), Tally(automaton)
    runs: list[list[Any]] = []
    every_word = all_codes(len(automaton.letters), SHORT)
    some = every_word[:: 1 if whole or len(automaton.letters) == 2 else 7]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "m"
        if target == "gpt2":
            softhat.to_gpt2(language, folder, longest + 1)
        else:
            softhat.to_llama(language, folder, longest + 1)
        certified = softhat.certify(folder)
        reach = {form: min(certified.max_length[form], stated(folder)["max_length"][form])
                 for form in FORMATS}  # fmt: skip
        for form in FORMATS:
            model = stock(folder, form, "sdpa")
            short = every_word if form == "bfloat16" else some
            for part in np.array_split(short, -(-len(short) // 256)):
                shorts.compare(part, answers(model, part))
            words = long_words(automaton, longest, seed)
            in_turn = words[: form == FORMATS[seed % 2]]
            for word in words if whole else in_turn:
                longs.compare(word[None], answers(model, word[None]))
                runs.append([len(word), form, "sdpa"])
        layers = model.config.num_hidden_layers
        parameters = sum(p.numel() for p in model.parameters())
    torch.set_num_threads(1)
    return {target: {
        "layers": layers, "parameters": parameters, "certified": reach, "short": shorts.words,
        "runs": runs, "wrong": shorts.wrong + longs.wrong,
    }}  # fmt: skip


def run(what: str, args: argparse.Namespace) -> int:
    version, end = commit(), time.monotonic() + 60 * args.minutes
    low, high = args.states
    bad = 0
    for number, automaton in enumerate(population()):
        states = len(automaton.step)
        asked = number % args.every == args.at and low <= states <= high
        if not asked or any((r["what"], r["name"]) == (what, automaton.name) for r in rows()):
            continue
        if time.monotonic() > end:
            break
        began = time.process_time()
        match what:
            case "native":
                models = native(automaton, number, args.whole)
            case "long":
                models = long(automaton, number)
            case _:
                models = exported(automaton, what, number, args.whole)
        seconds = round(time.process_time() - began, 1)
        row = {"what": what, "name": automaton.name, "kind": automaton.kind, "states": states,
               "letters": len(automaton.letters), "models": models, "seconds": seconds,
               "commit": version}  # fmt: skip
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        bad += failed(row)
        print(json.dumps(row), flush=True)
    return min(bad, 1)


def failed(row: dict[str, Any]) -> bool:
    """An answer is wrong, a certificate is short, or there are more layers than ⌈log₂ n⌉."""
    longest = LONGEST[row["what"]]
    most = (longest - 1).bit_length()
    return any(
        m["wrong"] or min(m["certified"].values()) < longest or m["layers"] > most
        for m in row["models"].values()
    )


def rows() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def table() -> int:
    """What was run so far, as a table."""
    stands = rows()
    print("| model | length | automata | states | groups | words of 8 | long words | wrong | "
          "certificates short | layers | seconds |")  # fmt: skip
    print("| --- " * 11 + "|")
    for what in LONGEST:
        of = [row for row in stands if row["what"] == what]
        for name in sorted({name for row in of for name in row["models"]}):
            models = [row["models"][name] for row in of]
            sizes = [row["states"] for row in of]
            layers = {m["layers"] for m in models}
            long = sum(n + 1 >= LONGEST[what] for m in models for n, *_ in m["runs"])
            print(f"| {name} | {LONGEST[what]:,} | {len(of)} | {min(sizes)} to {max(sizes)} | "
                  f"{sum('group' in row['kind'] for row in of)} | "
                  f"{sum(m['short'] for m in models):,} | {long} | "
                  f"{sum(m['wrong'] for m in models)} | "
                  f"{sum(min(m['certified'].values()) < LONGEST[what] for m in models)} | "
                  f"{min(layers)} to {max(layers)} | {sum(row['seconds'] for row in of):,.0f} |"
                  )  # fmt: skip
    return int(any(map(failed, stands)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*LONGEST, "table"])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--at", type=int, default=0)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--states", type=int, nargs=2, default=(2, 12))
    args = parser.parse_args()
    return table() if args.what == "table" else run(args.what, args)


if __name__ == "__main__":
    sys.exit(main())
