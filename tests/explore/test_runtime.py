"""The runtime in the browser computes what the dense runtime does, and its logic what truth is."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.explore.view import view_of
from softhat.numbers import laws
from tests.cases import CASES, Case
from tests.explore.browser import assets

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node to run the page's scripts")
RUNNER = """
const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(jobs.map(({view, words}) => words.map((plain) => {
  const word = plain.map((x) => (Array.isArray(x) ? new Set(x) : x));
  const run = softhat.runtime.run(softhat.runtime.ready(view.transformer), word);
  const truth = view.formula ? softhat.logic.truth(view.formula.nodes, word) : [];
  return {
    margins: Object.values(run.margins).map((row) => Array.from(row)),
    values: view.decoder ? softhat.logic.values(view.decoder, run.margins, word.length) : null,
    truth: view.outputs.map((one) => (view.formula ? Array.from(truth[one.root]) : null)),
    weights: run.layers.map((layer) => layer.heads.map((head) => Array.from(head.weights))),
  };
}))));
"""

CHOSEN = [case for case in CASES if "0000000000" not in case.formula]
"""Coefficients beyond 2^40 are not compiled."""


def in_javascript(jobs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    sources = [(assets() / name).read_text("utf-8") for name in ("runtime.js", "logic.js")]
    script = (
        "\n".join(sources).replace('"use strict";', "").replace("module.exports = softhat", "0")
    )
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", script + RUNNER], input=json.dumps(jobs), text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def job(model: Any, words: list[Any]) -> dict[str, Any]:
    plain = [[sorted(x) if isinstance(x, set) else x for x in word] for word in words]
    return {"view": view_of(model), "words": plain}


def compare(models: list[Any], words: list[list[Any]]) -> None:
    jobs = [job(model, some) for model, some in zip(models, words, strict=True)]
    for model, some, answers in zip(models, words, in_javascript(jobs), strict=True):
        for word, answer in zip(some, answers, strict=True):
            for name, margins in zip(model.transformer.outputs, answer["margins"], strict=True):
                expected = model.margins(word, "float64", name)
                np.testing.assert_allclose(margins, expected, rtol=0, atol=1e-12)
            trace = model.run(word)
            for layer, weights in zip(trace.attention, answer["weights"], strict=True):
                for head, found in zip(layer, weights, strict=True):
                    np.testing.assert_allclose(np.ravel(head), found, rtol=0, atol=1e-12)


def compiled(case: Case, attention: Any) -> Any:
    given = {"propositions" if case.propositional else "alphabet": list(case.alphabet)}
    return softhat.compile(case.formula, attention=attention, **given)


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_compiled_models(attention: str) -> None:
    models = [compiled(case, attention) for case in CHOSEN]
    words = [case.words(6, longest=20) for case in CHOSEN]
    compare(models, words)
    assert len(models) >= 50


def test_simulations_of_the_gallery() -> None:
    from softhat.ahat.gallery import GALLERY

    names = ["majority", "first-token", "last-by-inverse", "histogram", "dyck-argmin", "reverse"]
    models = [softhat.simulate(GALLERY[name](), max_length=4) for name in names]
    rng = random.Random(2)
    words = [[rng.choices(model.alphabet, k=n) for n in (1, 2, 3, 4)] for model in models]
    compare(models, words)


def test_values_of_rasp_programs() -> None:
    """Decoded in the browser, they are what plain Python says."""
    from tests.frontends.rasp.cases import CASES as PROGRAMS

    models = [
        softhat.compile(case.program, alphabet=case.alphabet, max_length=12)
        for case in PROGRAMS
        if not case.unique
    ]
    rng = random.Random(3)
    cases = [case for case in PROGRAMS if not case.unique]
    words = [[rng.choices(case.alphabet, k=n) for n in (1, 2, 5, 12)] for case in cases]
    named = [
        [[model.transformer.symbols[k] for k in model.encode(word)] for word in some]
        for model, some in zip(models, words, strict=True)
    ]
    found = in_javascript([job(m, w) for m, w in zip(models, named, strict=True)])
    for case, model, some, answers in zip(cases, models, words, found, strict=True):
        for word, answer in zip(some, answers, strict=True):
            for value, expected in zip(answer["values"], case.meaning(word), strict=True):
                if isinstance(value, float | int) and expected is not None:
                    assert abs(value - expected) <= model.certificate.error + 1e-9, case.name
                else:
                    assert value == (None if expected is None else str(expected)), case.name


def test_numerical_predicates() -> None:
    formulas = ["O (at(prime) & a)", "#(at(middle) | b) > 1", "at(q) S a"]
    given: Any = {"alphabet": "ab", "predicates": {"q": "01(001)"}}
    models = [softhat.compile(formula, **given) for formula in formulas]
    compare(models, [["ab", "abbab", "bbbbbbbab"]] * 3)


def test_truth_of_every_operator() -> None:
    models = [compiled(case, "unbounded") for case in CHOSEN]
    words = [case.words(25, longest=30, seed=1) for case in CHOSEN]
    jobs = [job(model, some) for model, some in zip(models, words, strict=True)]
    for model, some, answers in zip(models, words, in_javascript(jobs), strict=True):
        (formula,) = model.formulas.values()
        for word, answer in zip(some, answers, strict=True):
            assert answer["truth"][0] == formula.truth(word).astype(int).tolist(), (formula, word)


LAWS: list[laws.Law] = [
    laws.as_law(Fraction(7, 3)),
    laws.Length(3),
    laws.Lcm(0),
    laws.PowerOfTwo(1),
    laws.Sum((laws.N, laws.Lcm(1))),
    laws.Product((laws.N, laws.as_law(Fraction(2, 5)))),
    laws.Power(laws.N, -2),
    laws.Log(laws.Length(2)),
    laws.Maximum((laws.N, laws.as_law(12))),
    laws.Minimum((laws.N, laws.as_law(12))),
    laws.RoundedUp(laws.Product((laws.N, laws.as_law(Fraction(101, 7)))), 4),
    laws.Tabled((Fraction(1, 2), Fraction(5)), laws.N),
]


def _kinds(law: type[laws.Law]) -> set[str]:
    """The names of all kinds of laws; a private class is only what some of them share."""
    below = {name for kind in law.__subclasses__() for name in _kinds(kind)}
    return below | {kind.__name__ for kind in law.__subclasses__() if kind.__name__[0] != "_"}


def test_laws_of_every_kind() -> None:
    assert {type(law).__name__ for law in LAWS} == _kinds(laws.Law)
    lengths = [1, 2, 3, 7, 11, 12, 13, 40]
    source = (assets() / "runtime.js").read_text("utf-8").replace("module.exports = softhat", "0")
    script = source + (
        f"const some = {json.dumps([law.to_json() for law in LAWS])}, n = {lengths};"
        "console.log(JSON.stringify(some.map((law) => n.map((k) =>"
        " [softhat.laws.at(law, k), softhat.laws.logAt(law, k)]))));"
    )
    assert NODE is not None
    done = subprocess.run([NODE, "-e", script], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for law, values in zip(LAWS, json.loads(done.stdout), strict=True):
        expected = [[float(law.at(n)), law.log_at(n)] for n in lengths]
        np.testing.assert_allclose(values, expected, rtol=1e-12, err_msg=law.text)


def test_rounding_to_narrow_formats() -> None:
    import ml_dtypes

    rng = random.Random(5)
    numbers = [rng.uniform(-1, 1) * 2.0 ** rng.randint(-30, 20) for _ in range(500)]
    numbers += [2048.5, 2049, 2051, 65519, 65520, 257, 258.5, 0, 1e-8, 2.0**-24, 3 * 2.0**-25]
    source = (assets() / "runtime.js").read_text("utf-8").replace("module.exports = softhat", "0")
    script = source + (
        f"const x = {json.dumps(numbers)}; console.log(JSON.stringify(['float16', 'bfloat16']"
        ".map((f) => x.map((v) => String(softhat.formats[f](v))))));"
    )
    assert NODE is not None
    found = subprocess.run([NODE, "-e", script], text=True, capture_output=True, check=True).stdout
    narrow: list[Any] = [np.float16, ml_dtypes.bfloat16]
    for kind, values in zip(narrow, json.loads(found), strict=True):
        with np.errstate(over="ignore", under="ignore"):
            expected = np.array(numbers, np.float32).astype(kind).astype(np.float64)
        np.testing.assert_array_equal(
            [float(v.replace("Infinity", "inf")) for v in values], expected
        )
