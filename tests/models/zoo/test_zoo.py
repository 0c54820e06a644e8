"""Every entry of the zoo is what its recogniser says: the formula, and the soft model."""

from __future__ import annotations

import json
import random
from itertools import islice, product
from typing import Any

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.cli.rasp import read_rasp
from softhat.frontends.rasp.gallery import GALLERY as RASP_GALLERY
from softhat.models.zoo.catalogue import entry_of, formula_of, zoo
from softhat.models.zoo.entry import Entry
from softhat.models.zoo.references import REFERENCES
from tests.ahat.test_gallery import MEANINGS
from tests.cli.run import softhat as run
from tests.models.zoo.meanings import VALUES
from tests.models.zoo.recognisers import RECOGNISERS
from tests.slices import every, sizes

LANGUAGES = [entry for entry in zoo().values() if entry.kind not in ("ahat", "rasp")]
PROGRAMS = [entry for entry in zoo().values() if entry.kind == "rasp"]
SHORT = 400
"""Short words tried for a formula; a model gets an eighth of them."""


def letters(entry: Entry) -> list[Any]:
    if not entry.propositional:
        return list(entry.alphabet)
    subsets = product([False, True], repeat=len(entry.alphabet))
    return [{name for name, on in zip(entry.alphabet, s, strict=True) if on} for s in subsets]


def spelt(entry: Entry, word: list[Any]) -> Any:
    plain = not entry.propositional and all(len(symbol) == 1 for symbol in entry.alphabet)
    return "".join(word) if plain else word


def example(entry: Entry) -> list[Any]:
    return entry.example.split() if max(map(len, entry.alphabet)) > 1 else list(entry.example)


def words(entry: Entry, most: int, seed: int) -> list[Any]:
    """All short words, and random longer ones."""
    rng = random.Random(f"{entry.name} {seed}")
    every = letters(entry)
    short = islice((w for n in range(1, 9) for w in product(every, repeat=n)), most)
    longer = [rng.choices(every, k=rng.randint(5, 30)) for _ in range(most // 4)]
    return [spelt(entry, list(word)) for word in [*short, *longer]]


def long_words(entry: Entry, n: int) -> list[Any]:
    """On both sides of the border: the example repeated, with one change, halves, random."""
    rng = random.Random(entry.name)
    every = letters(entry)
    repeated = ((example(entry) or [every[0]]) * n)[:n]
    changed = list(repeated)
    changed[rng.randrange(n)] = rng.choice(every)
    halves = [*[every[0]] * (n // 2), *[every[-1]] * (n - n // 2)]
    return [spelt(entry, w) for w in (repeated, changed, halves, rng.choices(every, k=n))]


def test_names_and_references() -> None:
    assert len(zoo()) >= 80
    assert set(RECOGNISERS) == {entry.name for entry in LANGUAGES}
    assert set(VALUES) == {entry.name for entry in PROGRAMS}
    cited = {key for key in REFERENCES if any(key in e.known for e in zoo().values())}
    assert cited == set(REFERENCES)
    for entry in zoo().values():
        assert entry.name == entry.name.lower().replace(" ", "-").replace("_", "-")
        assert entry.known.endswith((".", "?"))


@pytest.mark.parametrize("entry", every(2, LANGUAGES), ids=lambda entry: entry.name)
def test_the_formula_is_the_language(entry: Entry) -> None:
    recognise, formula = RECOGNISERS[entry.name], formula_of(entry)
    for word in words(entry, SHORT, 0) + long_words(entry, 60):
        assert formula.accepts(word, at=entry.at) == recognise(word), word
    if entry.example:
        assert recognise(spelt(entry, example(entry)))


@pytest.mark.parametrize("entry", every(2, LANGUAGES), ids=lambda entry: entry.name)
def test_the_soft_model_is_the_language(entry: Entry) -> None:
    given: Any = {"propositions" if entry.propositional else "alphabet": entry.alphabet}
    recognise, model = RECOGNISERS[entry.name], softhat.compile(formula_of(entry), **given)
    for word in words(entry, SHORT // 8, 1) + long_words(entry, 500):
        assert model.accepts(word, at=entry.at) == recognise(word), word


ZERO = 4e-6
"""Some gallery models have the value 0 on their border, where softmax errs by up to this."""


@pytest.mark.parametrize("name", every(6, (name for name in GALLERY if name != "sort")))
def test_the_simulation_is_the_task(name: str) -> None:
    """Hard-attention entries: softmax at its temperature law, at every position."""
    meaning, model = MEANINGS[name], GALLERY[name]()
    soft = softhat.simulate(model, epsilon=ZERO / 2)
    rng = random.Random(name)
    tried = ["".join(word) for n in range(1, 4) for word in product(model.alphabet, repeat=n)]
    tried += ["".join(rng.choices(model.alphabet, k=n)) for n in (9, 17)]
    if soft.certificate.max_length["float64"] >= 500:
        tried.append("".join(rng.choices(model.alphabet, k=500)))
    for word in tried:
        values = soft.values(word, dtype="float64")
        for i in {1, len(word) // 2 + 1, len(word)}:
            assert (values[i - 1] > ZERO) == meaning(word, i), (word, i)


@pytest.mark.parametrize("entry", PROGRAMS, ids=lambda entry: entry.name)
def test_the_soft_model_has_the_values(entry: Entry) -> None:
    """Of a RASP program: at every position what plain Python says."""
    tokens = RASP_GALLERY[entry.source].alphabet
    meaning, model = VALUES[entry.name], read_rasp(f"zoo:{entry.name}@24", None, "unbounded")
    rng = random.Random(entry.name)
    short = islice((list(w) for n in range(1, 5) for w in product(tokens, repeat=n)), 120)
    tried = [*short, *(rng.choices(tokens, k=n) for n in (7, 15, 24, 24))]
    for word, values in zip(tried, model.values_many(tried), strict=True):
        for found, expected in zip(values, meaning(word), strict=True):
            if isinstance(found, float):
                assert abs(found - expected) <= model.certificate.error + 1e-9, word
            else:
                assert (found is None) == (expected is None), word
                assert found == expected, word
    assert model.certificate.max_length["float32"] == 24


def test_unknown_names_are_met_with_near_ones() -> None:
    with pytest.raises(softhat.SofthatError, match="did you mean dyck-1"):
        entry_of("dyck1")


def test_the_command() -> None:
    listed = json.loads(run("zoo", "--json").out)
    assert {"dyck-1", "bounded-dyck-2-3", "tomita-4", "parity"} <= {one["name"] for one in listed}
    shown = json.loads(run("zoo", "show", "dyck-1", "--json").out)
    assert shown["certified"]["float32"] > 10**6
    for name in (
        "tomita-4",
        next(e.name for e in zoo().values() if e.family == "numerical predicates"),
    ):
        assert run("zoo", "show", name).code == 0
    facts = run("zoo", "show", "dyck-1").out.partition("\n\n")[0]
    assert "empty word       yes" in facts and "None" not in facts and "True" not in facts
    hard = json.loads(run("zoo", "show", "ahat-dyck-argmin", "--json").out)
    assert hard["guarantee"] == "proved_all" and hard["gap_law"]["1.0"] == "2/(n·(n-1))"
    assert run("zoo", "show", "dyck-one").code == 2
    assert "softhat generate zoo:bb4" in run("certify", "zoo:bb4").err
    assert "accepted" in run("eval", "zoo:dyck-1", "(())").out
    assert run("eval", "zoo:absence-globally", "{p} {}").code == 2
    shown = json.loads(run("zoo", "show", "rasp-sort", "--json").out)
    assert shown["certified"]["float32"] == shown["to_length"]
    assert json.loads(run("run", "zoo:rasp-sort@8", "3121", "--json").out)[0]["values"] == [
        1, 1, 2, 3,
    ]  # fmt: skip
    assert run("check", "zoo:rasp-sort").code == 2


FEW = ("--adversarial", "2", "--max-length", "40")


@pytest.mark.parametrize("few", sizes(FEW, ()))
def test_the_command_verifies_an_entry(few: tuple[str, ...]) -> None:
    done = run("verify", "zoo:tomita-4", "--exhaustive", "6", "--random", "20", *few)
    assert done.code == 0, done.err
