"""How a paper is drawn: random formulas by family and level, and the programs of small machines.

`python -m softhat.circuits.exam.drawing FILE` draws paper 1 again. A version of the paper is drawn
once and then kept as data: a later version of softhat may draw other formulas.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from softhat.circuits.corpus.shards import Settings, draw
from softhat.circuits.corpus.targets import exported
from softhat.circuits.exam.paper import CONTEXT, ExamTask
from softhat.frontends.machines.reading import machine
from softhat.io.files import json_bytes, read_json, write_file
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile as compile_formula
from softhat.models.model import Model

SEED = 30
LEVELS = ((4, 6), (6, 10), (10, 14), (14, 20), (18, 26))
"""Operators and leaves of a formula, by level."""
FAMILIES: dict[str, tuple[int | None, ...]] = {
    "n-gram": (None,) * 5,
    "star-free": (1, 1, 2, 2, 3),
    "counting": (None,) * 5,
    "induction": (None,) * 5,
    "program": (None,) * 5,
}
"""With the temporal depth by level. `program` are B-RASP and C-RASP."""
MACHINES = (
    ("go: dec a go end\nend: halt", ("go-a",)),
    ("loop: dec a add end\nadd: inc b loop\nend: halt", ("loop=a",)),
    ("l: dec a m end\nm: dec b l end\nend: halt", ("l-a", "m-b")),
    ("l: dec a m k\nm: inc b l\nk: dec b l end\nend: halt", ("l=a", "k-b")),
    ("l: dec a m k\nm: dec b l k\nk: inc a n\nn: dec b l m", ("l-a", "m=b", "n-b")),
)
"""Counter machines, and tokens of which the model says whether one of them comes next."""
MOST_LAYERS, MOST_HEADS = 5, 4
PATIENCE = 2
"""Chunks of formulas in which one with several heads in a layer is looked for."""


def drawn() -> Iterator[ExamTask]:
    """The tasks, family by family, easy ones first. No two compute the same."""
    seen: set[str] = set()
    number = 0
    for family, depths in FAMILIES.items():
        for level, (sizes, depth) in enumerate(zip(LEVELS, depths, strict=True), start=1):
            alphabet = "ab" if level < 3 else "abc"
            formula = _formula(family, level, sizes, depth, alphabet, seen)
            yield _task(family, level, formula, alphabet, number)
            number += 1
    for level, (text, tokens) in enumerate(MACHINES, start=1):
        model = compile_formula(machine(text))
        formula = " | ".join(f"({model.formulas[token]})" for token in tokens)
        yield _task("machine", level, formula, model.transformer.symbols, number)
        number += 1


def _formula(
    family: str,
    level: int,
    sizes: tuple[int, int],
    depth: int | None,
    alphabet: str,
    seen: set[str],
) -> str:
    """The first formula of the seed that is new and fits."""
    settings = Settings(
        count=1,
        seed=SEED + level,
        alphabet=tuple(alphabet),
        attention="unbounded",
        family=family,
        smallest=sizes[0],
        largest=sizes[1],
        shard=1,
        to="gpt2",
        context=CONTEXT,
        depth=depth,
    )
    for chunk in range(100):
        wide = level >= 4 and chunk < PATIENCE
        for entry in draw(settings, chunk):
            model = compile_formula(parse(entry["formula"]), settings.alphabet)
            fresh = entry["truth"] not in seen and isinstance(model, Model)
            if fresh and _fits(model, level, wide):
                seen.add(entry["truth"])
                return str(entry["formula"])
    raise AssertionError(f"no formula of {family} at level {level}")


def _fits(model: Model, level: int, wide: bool) -> bool:
    """Small enough to be examined by a method that tries every edge, and not smaller than its
    level: three layers from level 3 on, several heads in a layer where a `wide` one is wanted."""
    layers, heads, keys = _shape(model)
    if layers > MOST_LAYERS or heads > MOST_HEADS:
        return False
    return layers >= 2 + (level >= 3) and (not wide or keys < heads)


def _shape(model: Model) -> tuple[int, int, int]:
    """Layers, heads and heads of keys of the plain Llama."""
    with exported(model, "llama", CONTEXT) as folder:
        config = read_json(folder / "config.json")
    names = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    layers, heads, keys = (int(config[name]) for name in names)
    return layers, heads, keys


def _task(
    family: str, level: int, formula: str, alphabet: str | tuple[str, ...], number: int
) -> ExamTask:
    model = compile_formula(parse(formula, alphabet=alphabet), alphabet)
    assert isinstance(model, Model)
    _, heads, keys = _shape(model)
    llama = "llama-grouped" if keys < heads else "llama"
    dresses = ("gpt2", "gpt2-disguised", llama, "llama-disguised", "gpt2-smooth", "gpt2-soft")
    return ExamTask(
        f"{family}-{level}", family, level, tuple(alphabet), formula, SEED + number, dresses
    )


if __name__ == "__main__":
    listed = []
    for task in drawn():
        print(task.name, task.formula, file=sys.stderr)
        listed.append(asdict(task))
    write_file(Path(sys.argv[1]), json_bytes({"version": 1, "tasks": listed}))
