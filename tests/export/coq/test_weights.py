"""The weights of a file are those of the model's folder, and its model is the one that is run."""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import softhat
from softhat.export.coq.theorem import theorem
from softhat.export.coq.values import value_theorem
from softhat.frontends.rasp import lib, tokens
from softhat.io.errors import SofthatError
from softhat.logic.random import FAMILIES, random_formula
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from tests.export.coq.stated import Predicate, definition, logits
from tests.slices import sizes

TEXTS = ("(Y a S b) & X X c | 2*#(a) - #>(b) + #*(c) - i >= 1 | mod(3, 1)", "at(prime) S last")


def _stored(folder: Path) -> dict[str, NDArray[np.float64]]:
    """The tensors of model.safetensors, by the format's definition: a header, then the numbers."""
    data = (folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        assert entry["dtype"] == "F64"
        numbers = np.frombuffer(data[8 + size + first : 8 + size + last], "<f8")
        tensors[name] = numbers.reshape(entry["shape"])
    return tensors


def _form(row: NDArray[np.float64], factor: float = 1.0) -> list[tuple[int, Fraction]]:
    return [(c, Fraction(x) * Fraction(factor)) for c, x in enumerate(row.tolist()) if x]


def _heads(tensors: dict[str, NDArray[np.float64]], layer: int) -> list[tuple[Any, Any]]:
    """The rows and the values of each head, as the file lists them."""
    query, key, value, output = (
        tensors[f"layers.{layer}.{name}"] for name in ("query", "key", "value", "output")
    )
    heads = []
    for h in range(len(query)):
        pairs = zip(query[h], key[h], strict=True)
        rows = [(_form(q), _form(k)) for q, k in pairs if q.any() and k.any()]
        values = [
            (_form(row, float(output[h, target, r])), int(target))
            for r, row in enumerate(value[h])
            for target in np.flatnonzero(output[h, :, r])
        ]
        heads.append((rows, values))
    return heads


@pytest.mark.parametrize("target", ["unbounded", "temperature"])
def test_every_number_is_in_the_file(target: Any, tmp_path: Path) -> None:
    model = softhat.compile(TEXTS[0], alphabet="abc", attention=target)
    model.save(tmp_path / "model")
    tensors, stated = _stored(tmp_path / "model"), definition(theorem(model), "weights")
    rows = tensors["embedding"]
    ends = [stated["bos"], stated["eos"]][: len(rows) - 3]
    assert [*stated["embedding"], *ends] == [_form(row) for row in rows]
    columns = [column for _, column in stated["features"]]
    assert columns == [_form(column) for column in tensors["position_embedding"].T]
    for at, layer in enumerate(stated["layers"]):
        heads, units, shift = layer.given
        said = [(head.given[0], head.given[2]) for head in heads]
        assert said == _heads(tensors, at)
        biases = tensors.get(f"layers.{at}.into_bias", np.zeros(0))
        assert len(units) == len(biases)
        for u, unit in enumerate(units):
            into, out = tensors[f"layers.{at}.into"][u], tensors[f"layers.{at}.out"][:, u]
            assert unit.given == (_form(into), Fraction(float(biases[u])), _form(out))
        assert shift == _form(tensors.get(f"layers.{at}.out_bias", np.zeros(0)))
    assert [readout.given for readout in stated["readouts"]] == [
        (_form(row), Fraction(float(bias)))
        for row, bias in zip(tensors["readout"], tensors["readout_bias"], strict=True)
    ]


def _same(
    model: Model | ValueModel,
    text: str,
    words: list[Any],
    predicates: list[Predicate] | None = None,
) -> None:
    """The file's model, run by its definition, has the logits of the model that is run."""
    stated = definition(text, "weights")
    for word in words:
        codes = np.asarray(model.encode(word))
        held = (
            [set(np.flatnonzero(row)) for row in codes] if codes.ndim == 2 else [{c} for c in codes]
        )
        scaled = model.transformer.attention == "temperature"
        scale = 2.0 ** np.ceil(np.log2(len(word) + 2)) if scaled else 1.0
        got = logits(stated, held, scale, predicates or [])
        wanted = np.array([*model.run(word).margins.values()])
        assert np.abs(got - wanted).max() < 1e-9, word


def test_the_model_of_the_file_is_the_one_that_is_run() -> None:
    for target in ("unbounded", "temperature"):
        for text in TEXTS:
            model = softhat.compile(text, alphabet="abc", attention=target)
            prime: Predicate = lambda n, i: i > 1 and all(i % k for k in range(2, i))  # noqa: E731
            _same(model, theorem(model), ["a", "abccab", "cbbaacab"], [prime])
    several = softhat.compile({"one": "p S (q & Y r)", "two": "#(p) > #(q)"}, propositions="pqr")
    _same(several, theorem(several), [[{"p"}, set(), {"q", "r"}, {"p", "q", "r"}]])


def test_programs_of_values_are_the_ones_that_are_run() -> None:
    language = softhat.from_regex("((ab|ba)(a|b))*", depth="log")
    sort = lib.make_sort(tokens, tokens, max_seq_len=4, min_key=1)
    for target in ("unbounded", "temperature"):
        for program, alphabet, longest, words in (
            (lib.make_reverse(tokens), "ab", 6, ["a", "abbab"]),
            (sort, (1, 2), 4, [[2, 1, 1, 2]]),
            (lib.make_frac_prevs(tokens == "a"), "ab", 6, ["abba"]),
            (language, None, 8, ["a", "abaab"]),
        ):
            model = softhat.compile(program, alphabet, max_length=longest, attention=target)
            _same(model, value_theorem(model), words)


def test_numbers_are_what_the_file_says() -> None:
    """The share of a symbol so far, and the length over the positions that a head sees."""
    for program, expected in (
        (lib.make_frac_prevs(tokens == "a"), lambda w, i: w[:i].count("a") / i),
        (lib.make_length(), lambda w, i: len(w) / (len(w) + 2)),
    ):
        model = softhat.compile(program, "ab", max_length=6)
        text = value_theorem(model)
        error = float(definition(text, "error"))
        for word in ("a", "b", "abba", "babbaa"):
            _same(model, text, [word])
            (got,) = logits(definition(text, "weights"), [{"ab".index(c)} for c in word])
            for i in range(1, len(word) + 1):
                assert abs(got[i - 1] - expected(word, i)) <= error + 1e-12


@pytest.mark.parametrize("count", sizes(12, 300))
def test_random_models(count: int) -> None:
    rng = np.random.default_rng(count)
    families = list(FAMILIES)
    for k in range(count):
        formula = random_formula(rng, int(rng.integers(2, 16)), "abc", families[k % len(families)])
        target: Any = ("unbounded", "temperature")[k % 2]
        model = softhat.compile(formula, alphabet="abc", attention=target)
        words = ["".join(rng.choice([*"abc"], size=int(rng.integers(1, 9)))) for _ in range(3)]
        _same(model, theorem(model), words)


def test_other_symbols_are_refused() -> None:
    """Symbols have the numbers of their rows, and the program's must be the same."""
    model, other = (softhat.compile("a S b", alphabet=symbols) for symbols in ("ab", "abc"))
    with pytest.raises(SofthatError, match="other symbols"):
        theorem(Model(other.transformer, model.formulas, model.program))
