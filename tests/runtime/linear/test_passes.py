"""How many passes a model takes, and that what each leaves out is not missed."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.runtime.linear import passes as planning
from softhat.runtime.linear import runtime
from softhat.runtime.linear.passes import passes
from softhat.runtime.linear.runtime import LinearModel

WAYS = {
    "a S b": ["onward"],
    "#(a) > #(b)": ["onward"],
    "a U b": ["back"],
    "X (a U X b)": ["back"],
    "#>(a) > 3": ["back"],
    "O a & F b": ["onward", "back"],
    "O (a & F b)": ["back", "onward"],
    "F (a & O b)": ["onward", "back"],
    "#(a) + #>(b) > #*(c)": ["onward", "back"],
    "O (a & F (b & O c))": ["onward", "back", "onward"],
}


def linear(text: str) -> LinearModel:
    return softhat.compile(text, alphabet="abc").linear("float64")


@pytest.mark.parametrize("text", WAYS)
def test_as_few_as_the_formula_takes_turns(text: str) -> None:
    model = linear(text)
    assert [step.way for step in model.shortest] == WAYS[text]
    assert [step.final for step in model.shortest] == [False] * (len(WAYS[text]) - 1) + [True]
    ordered = model.in_order
    assert ordered[-1].way == "onward"
    assert len(ordered) <= len(WAYS[text]) + 1


def test_a_pass_reads_only_what_it_needs() -> None:
    """The first pass of `O a & F b` carries one head: it needs no column but those of a."""
    first, last = linear("O a & F b").shortest
    assert first.columns < last.columns
    assert not any(run.answers for layer in first.layers for run in layer.heads)
    assert all(run.answers for layer in last.layers for run in layer.heads)


def turning(turns: int) -> str:
    text = "a"
    for k in range(turns):
        text = f"F (b & X {text})" if k % 2 else f"O (c & Y {text})"
    return text


@pytest.mark.parametrize("keeping", [False, True])
def test_keeping_and_computing_again_are_the_same(
    keeping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = turning(5)
    model = softhat.compile(text, alphabet="abc")
    runner = model.linear("float64")
    plan = passes(runner.layers, runner.read_last, None, keeping)
    assert any(step.keeps for step in plan) == keeping
    word = np.random.default_rng(2).choice(3, 900, p=[0.1, 0.45, 0.45])
    monkeypatch.setattr(runtime, "CHUNK", 50)
    found = np.empty(900)
    for at, margins in runner.pieces(word, plan):
        found[at : at + len(margins)] = margins[:, 0]
    assert np.array_equal(found > 0, softhat.parse(text).truth("".join("abc"[k] for k in word)))


def test_work_is_linear_in_the_turns() -> None:
    """Layers that are run, over all passes: kept columns make them a few times the layers."""

    def run(turns: int) -> tuple[int, int]:
        model = linear(turning(turns))
        return len(model.layers), sum(len(step.layers) for step in model.shortest)

    few, many = run(4), run(16)
    assert many[0] == 4 * few[0]
    assert many[1] <= (planning.FEW + 2) * many[0]
