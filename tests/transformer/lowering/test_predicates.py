"""Models with numerical predicates: each under every operator, in every target and runtime."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from softhat import SofthatError, verify
from softhat.logic.binding import bind
from softhat.logic.fragments import describe
from softhat.logic.semantics.batch import all_words, evaluate, unpack
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile
from softhat.models.folders import load_compiled
from tests.logic.oracle import GIVEN
from tests.logic.test_numerical_predicates import FORMULAS

CHOSEN = FORMULAS[::4]
SLICE = CHOSEN[::6]
TARGETS = ("hard", "unbounded", "temperature")


def check(formula: Formula, longest: int) -> None:
    """All words to length 8, random ones to 1,000; dense, linear and one token at a time."""
    rng = np.random.default_rng(len(str(formula)))
    words = ["".join(rng.choice(["a", "b"], n, p=[q, 1 - q])) for n in (13, 57, 300, longest)
             for q in (0.5, 0.9)]  # fmt: skip
    want = formula.truth_many(words)
    for target in TARGETS:
        model = compile(formula, alphabet="ab", attention=target, predicate_length=longest)
        assert model.certificate.void == ()
        for n in range(1, 9):
            batch = all_words("ab", n)
            codes = np.array(list(product(range(2), repeat=n)))
            held = unpack(evaluate(formula, batch), batch.count)
            assert np.array_equal(model.run_batch(codes, "float32")[:, :, 0] > 0, held), (target, n)
        for word, expected in zip(words, want, strict=True):
            for runtime in ("dense", "linear") if target != "hard" else ("dense",):
                if runtime == "dense" and len(word) > 300 and target == "hard":
                    continue
                got = model.truth(word, runtime=runtime)
                assert np.array_equal(got, expected), (target, runtime, len(word))
        if describe(formula).is_decoder and target != "hard":
            stream = model.stream()
            single = np.concatenate([stream.push(symbol) for symbol in words[0]])
            assert np.array_equal(np.concatenate([single, stream.push(words[0])])[:13], want[0])
            assert np.array_equal(model.stream().push(words[-1]), want[-1])


def test_there_are_enough() -> None:
    assert len(set(CHOSEN)) >= 60


@pytest.mark.parametrize("formula", SLICE, ids=str)
def test_predicates_compile(formula: Formula) -> None:
    check(formula, 400)


@pytest.mark.full
@pytest.mark.parametrize("formula", CHOSEN, ids=str)
def test_all_predicates_compile(formula: Formula) -> None:
    check(formula, 1000)


def test_folders(tmp_path: Path) -> None:
    formulas = {
        "x": parse("at(p) S a"),
        "y": parse("at(g) & X a | at(prime)"),
        "z": parse("O at(f)"),
    }
    model = compile(formulas, alphabet="ab", predicates=GIVEN, predicate_length=70)
    model.save(tmp_path / "model")
    again = load_compiled(tmp_path / "model")
    assert again.formulas == model.formulas
    assert again.certificate.max_length == model.certificate.max_length
    for output in formulas:
        want = bind(formulas[output], GIVEN).truth("abbab" * 9)
        assert (again.truth("abbab" * 9, output=output) == want).all()
    model.save(tmp_path / "twin")
    for file in ("config.json", "formula.txt"):
        assert (tmp_path / "model" / file).read_bytes() == (tmp_path / "twin" / file).read_bytes()
    config = (tmp_path / "model" / "config.json").read_text().replace('"0110(01)"', '"0110(0"')
    (tmp_path / "model" / "config.json").write_text(config)
    with pytest.raises(SofthatError, match=r"damaged.*'p' must be bits"):
        load_compiled(tmp_path / "model")


def test_tables_end() -> None:
    model = compile("at(t) S a", alphabet="ab", predicates={"t": [1, 0, 1, 0]})
    assert set(model.certificate.max_length.values()) == {4}
    assert model.linear_max_length("float32") == 4
    assert "the table of at(t) ends" in model.certificate.explain()
    for runtime in ("dense", "linear"):
        assert len(model.truth("abab", runtime=runtime)) == 4
        with pytest.raises(SofthatError, match="'t' is a table of 4 positions"):
            model.truth("ababa", runtime=runtime)
    stream = model.stream()
    stream.push("abab")
    with pytest.raises(SofthatError, match="'t' is a table of 4 positions"):
        stream.push("a")
    found = verify(model, exhaustive=8, random=20, adversarial=5)
    assert found.ok and found.exhaustive_length == 4
    # A predicate that the weights do not need ends the claim all the same.
    idle = compile("at(t) | true", alphabet="ab", predicates={"t": [1, 0, 1, 0]})
    assert set(idle.certificate.max_length.values()) == {4}


def test_refusals() -> None:
    with pytest.raises(SofthatError, match="'q' is unknown"):
        compile("at(q)")
    with pytest.raises(SofthatError, match="only pure-past formulas can be streamed"):
        compile("at(middle)").stream()
    with pytest.raises(SofthatError, match="two meanings"):
        compile({"x": bind(parse("at(p)"), {"p": "01"}), "y": bind(parse("at(p)"), {"p": "10"})})
    with pytest.raises(SofthatError, match="predicate_length"):
        compile("at(f)", predicates=GIVEN, predicate_length=0)


def test_a_predicate_costs_no_layer() -> None:
    for text in ("{} S b", "Y {}", "#({}) > #(b)"):
        plain, with_it = (compile(text.format(x), alphabet="abc") for x in ("first", "at(prime)"))
        assert with_it.size.layers == plain.size.layers
    assert compile("at(prime)").size.layers == 0
