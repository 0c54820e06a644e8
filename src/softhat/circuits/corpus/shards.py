"""What the workers of a corpus do: draw formulas, and turn a shard of them into files.

Both are pure functions of the settings and a number, so that any worker, at any time and as
often as needed, gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.circuits.corpus.acceptable import digest, has_inert_head, simplified
from softhat.circuits.corpus.families import RASP, draw_formula
from softhat.circuits.corpus.rasp import WrittenProgram, meaning, random_program
from softhat.circuits.corpus.targets import Target, build
from softhat.frontends.rasp import evaluate as evaluate_rasp
from softhat.frontends.rasp.evaluate import children_first
from softhat.io.errors import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.semantics.batch import all_words, evaluate, from_codes, unpack
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct
from softhat.models.compiler import compile as compile_formula
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Attention

CHUNK = 40
"""Formulas drawn at a time."""
LONGEST = 8
"""Formulas that agree on all words to this length are the same unless a longer word is found."""
SAMPLES = 8
"""Accepted and rejected words given for each formula, at most so many of each."""
SPLITS = ("train",) * 8 + ("validation", "test")
"""Of model number k: entry k mod 10. No two models are equivalent, so splits share none."""


@dataclass(frozen=True)
class Settings:
    """What decides the contents of a corpus."""

    count: int
    seed: int
    alphabet: tuple[str, ...]
    attention: Attention
    family: str
    smallest: int
    largest: int
    shard: int
    to: Target = "torch"
    context: int = 1024
    """Positions, `<bos>` included, of stock models and of RASP programs."""
    disguise: int | None = None
    """The seed of the disguises; model k has the seed disguise + k."""
    depth: int | None = None
    """The temporal depth of all formulas, as drawn."""

    @property
    def decoder(self) -> bool:
        return self.to != "torch"


def draw(settings: Settings, chunk: int) -> list[dict[str, Any]]:
    """Of formulas (or RASP programs) number 40·chunk … of the seed those that a corpus takes:
    text, family, program and the digest of the truth values."""
    numbers = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    drawn = (
        _programs(settings, numbers) if settings.family == RASP else _formulas(settings, numbers)
    )
    return list(drawn)


def _formulas(settings: Settings, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    words = [all_words(settings.alphabet, length) for length in range(1, LONGEST + 1)]
    drawn: set[str] = set()
    for number in numbers:
        rng, size = _dice(settings, number)
        draft = draw_formula(
            rng, settings.family, size, settings.alphabet, number, settings.decoder, settings.depth
        )
        if draft is None:
            continue
        formula = simplified(draft.formula, settings.alphabet)
        text = str(formula)
        if text in drawn or (settings.decoder and not describe(formula).is_decoder):
            continue
        truth = digest(formula, words)
        if truth is None:
            continue
        if settings.family != "boolean":
            model = compile_formula(formula, settings.alphabet, settings.attention)
            if _unfit(model, settings):
                continue
        drawn.add(text)
        entry = {"formula": text, "family": draft.family, "program": draft.program}
        yield {**entry, "truth": truth}


def _unfit(model: Answers, settings: Settings) -> bool:
    """Has it an inert head, or does its architecture not take it (which says why)?"""
    try:
        return has_inert_head(model, settings.to)
    except SofthatError:
        return True


def _programs(settings: Settings, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    for number in numbers:
        program = _program(settings, number)
        values = meaning(program.sop, settings.alphabet)
        if values is None:
            continue
        try:
            model = _compiled(settings, program)
        except SofthatError:
            continue  # softhat says why; there are others
        if has_inert_head(model, settings.to):
            continue
        truth = hashlib.sha256(values.encode()).hexdigest()
        yield {"number": number, "family": RASP, "program": program.text, "truth": truth}


def _dice(settings: Settings, number: int) -> tuple[np.random.Generator, int]:
    rng = np.random.default_rng([settings.seed, number])
    return rng, int(rng.integers(settings.smallest, settings.largest + 1))


def _program(settings: Settings, number: int) -> WrittenProgram:
    return random_program(*_dice(settings, number), settings.alphabet)


def _compiled(settings: Settings, program: WrittenProgram) -> Any:
    return compile_formula(
        program.sop, settings.alphabet, settings.attention, max_length=settings.context - 1
    )


def make_shard(
    settings: Settings, first: int, drawn: list[dict[str, Any]]
) -> tuple[bytes, bytes, bytes]:
    """Models `first`, `first` + 1, …: their tensors and directions (safetensors), and the rest
    (JSON lines)."""
    from safetensors.numpy import save as to_bytes

    tensors: dict[str, NDArray[Any]] = {}
    directions: dict[str, NDArray[Any]] = {}
    lines = []
    for number, entry in enumerate(drawn, start=first):
        described = _of_program if entry["family"] == RASP else _of_formula
        model, facts = described(settings, number, entry)
        disguise = None if settings.disguise is None else settings.disguise + number
        built = build(model, settings.to, settings.context, disguise)
        tensors |= {f"{number}/{name}": array for name, array in built.tensors.items()}
        directions |= {f"{number}/{name}": array for name, array in built.directions.items()}
        split = SPLITS[number % len(SPLITS)]
        known = {"family": entry["family"], "program": entry["program"]}
        lines.append({"id": number, "split": split, **known, **facts, **built.entries})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return to_bytes(tensors), to_bytes(directions) if directions else b"", text.encode()


def _of_formula(
    settings: Settings, number: int, entry: dict[str, Any]
) -> tuple[Answers, dict[str, Any]]:
    """The model, and what is known of the formula."""
    formula = parse(entry["formula"], alphabet=settings.alphabet)
    facts = describe(formula)
    return compile_formula(formula, settings.alphabet, settings.attention), {
        "formula": entry["formula"],
        "fragment": facts.fragment,
        "temporal_depth": facts.temporal_depth,
        "nodes": len(distinct(formula)[0]),
        "decoder": facts.is_decoder,
        "samples": _samples(formula, facts.acceptance, settings, number),
    }


def _of_program(
    settings: Settings, number: int, entry: dict[str, Any]
) -> tuple[Answers, dict[str, Any]]:
    """The model, and what is known of the RASP program."""
    program = _program(settings, entry["number"])
    rng = np.random.default_rng([settings.seed, number, 1])
    size, values = len(settings.alphabet), []
    for length in (1, 2, 3, 4, 6, 9):
        for codes in rng.integers(0, size, (2, length)).tolist():
            word = [settings.alphabet[code] for code in codes]
            values.append({"word": word, "values": evaluate_rasp(program.sop, word)})
    return _compiled(settings, program), {
        "nodes": len(children_first(program.sop)),
        "decoder": False,
        "values": values,
    }


def _samples(
    formula: Formula, acceptance: str | None, settings: Settings, number: int
) -> dict[str, Any]:
    """Accepted and rejected words, short ones first; two-way formulas are read off at the end."""
    at = acceptance or "last"
    rng = np.random.default_rng([settings.seed, number, 1])
    size = len(settings.alphabet)
    longest = (8, 16, 32) if settings.to == "torch" else (8, 16, 32, settings.context - 1)
    lengths = [n for n in longest if settings.to == "torch" or n < settings.context]
    batches = [_every(size, length) for length in range(1, 5) if size**length <= 1 << 12]
    short = len(batches)
    batches += [rng.integers(0, size, (64, min(length, 64))) for length in lengths]
    by_answer: dict[bool, list[Any]] = {True: [], False: []}
    for k, codes in enumerate(batches):
        values = unpack(evaluate(formula, from_codes(codes, settings.alphabet)), len(codes))
        answers = values[:, 0 if at == "first" else -1]
        # Half of the places are for the longer words.
        room = SAMPLES if k >= short else SAMPLES // 2
        for word, answer in zip(codes.tolist(), answers.tolist(), strict=True):
            symbols = [settings.alphabet[code] for code in word]
            if len(by_answer[answer]) < room:
                by_answer[answer].append(_written(symbols))
    return {"at": at, "accepted": by_answer[True], "rejected": by_answer[False]}


def _every(size: int, length: int) -> NDArray[np.int64]:
    return np.arange(size**length)[:, None] // size ** np.arange(length - 1, -1, -1) % size


def _written(symbols: list[str]) -> str | list[str]:
    """Text if every symbol is one character."""
    return "".join(symbols) if all(len(symbol) == 1 for symbol in symbols) else symbols
