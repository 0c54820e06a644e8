"""Attacks on the certificate of a repeated block: what is certified is right on every word."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.doubling import LogDepth
from softhat.frontends.regular.pointers import State
from softhat.models.loop_model import LoopModel
from softhat.transformer.weights import Layer, Sparse, Transformer
from tests.frontends.regular.test_doubling import expected, group_automaton, random_automaton
from tests.proof.aimed import tampered_weights
from tests.proof.aimed_ledger import tampered_ledger
from tests.proof.aimed_selections import SELECTIONS

Given = dict[str, Any]
FLIP = [(1, 0), (0, 1)]
CYCLE = [(1, 2, 0), (1, 0, 2)]
SHARED = ("embedding", "position_embedding", "readout", "readout_bias")


def loop_of(given: Given, attention: str = "unbounded") -> LoopModel:
    model = softhat.compile(softhat.from_dfa(given, depth="log"), attention=attention)
    assert isinstance(model, LoopModel)
    return model


def _language(model: LoopModel) -> LogDepth:
    assert model.language is not None
    return model.language


def is_right(model: LoopModel, given: Given, words: list[str]) -> bool:
    truths = model.truth_many(words)
    return all(t.tolist() == expected(given, w) for t, w in zip(truths, words, strict=True))


def mutated(t: Transformer, dice: random.Random, share: float) -> Iterator[Transformer]:
    """One number changed: negated, doubled, set to 0; and one where there was none."""
    layer = t.layers[0]
    for name in (*SHARED, *Layer.TENSORS):
        tensor = getattr(t if name in SHARED else layer, name)
        array = tensor.dense() if isinstance(tensor, Sparse) else tensor
        places = [tuple(place) for place in np.argwhere(array)]
        changes = [(at, f(float(array[at]))) for at in places
                   for f in (lambda w: -w, lambda w: 2 * w, lambda w: 0.0)]  # fmt: skip
        for _ in range(len(places)):
            at = tuple(dice.randrange(size) for size in array.shape)
            changes.append((at, float(array[at]) + dice.choice((1.0, -1.0, 0.5))))
        for at, value in changes:
            if dice.random() >= share:
                continue
            moved = array.copy()
            moved[at] = value
            new = Sparse.from_dense(moved) if isinstance(tensor, Sparse) else moved
            if name in SHARED:
                yield replace(t, **{name: new})
            else:
                yield replace(t, layers=(replace(layer, **{name: new}),))


def attack(given: Given, seed: int, share: float) -> tuple[int, int]:
    """(changed blocks, of them certified): none that is certified may be wrong."""
    model = loop_of(given)
    dice = random.Random(seed)
    symbols = "".join(given["alphabet"])
    words = ["".join(w) for n in (1, 2, 5) for w in product(symbols, repeat=n)]
    words += ["".join(dice.choices(symbols, k=n)) for n in (7, 8, 9, 33, 64, 65)]
    tried = certified = 0
    for t in mutated(model.block, dice, share):
        changed = LoopModel(t, model.state, _language(model))
        tried += 1
        if changed.certificate.max_length["float32"]:
            certified += 1
            assert is_right(changed, given, words)
    return tried, certified


def test_changed_weights_are_void_or_right() -> None:
    tried, certified = attack(group_automaton(FLIP, "ab"), 1, 0.25)
    assert tried > 200 and certified < tried / 10


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_changed_weights_at_full_size(seed: int) -> None:
    given = group_automaton(CYCLE, "ab") if seed < 2 else random_automaton(2 + seed, "ab", seed)
    attack(given, seed, 1.0)


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_certified_in_every_format(attention: str) -> None:
    lengths = loop_of(group_automaton(CYCLE, "ab"), attention).certificate.max_length
    assert min(lengths.values()) > 500_000  # two raw outputs in a gate: half of 2^20
    assert lengths["float64"] == 2**20 - 1


def test_where_the_state_is_said_to_be_is_checked() -> None:
    """Two coordinates changed places, one named twice, one outside: nothing is proved."""
    model = loop_of(random_automaton(5, "ab", 4))
    state = model.state
    places = state.places
    dice = random.Random(4)
    for _ in range(40):
        one, other = dice.sample(places, 2)
        swap = {one: other, other: one}

        def moved(row: tuple[int, ...], swap: dict[int, int] = swap) -> tuple[int, ...]:
            return tuple(swap.get(at, at) for at in row)

        wrong = State(tuple(map(moved, state.function)), moved(state.accepts), moved(state.pointer))
        assert LoopModel(model.block, wrong, _language(model)).certificate.void
    twice = replace(state, accepts=(state.accepts[1], *state.accepts[1:]))
    outside = replace(state, pointer=(*state.pointer[:-1], 10_000))
    shorter = replace(state, pointer=state.pointer[:-1])
    fewer = replace(state, function=state.function[:-1])
    for wrong in (twice, outside, shorter, fewer):
        assert LoopModel(model.block, wrong, _language(model)).certificate.void


def test_another_automaton_is_not_certified() -> None:
    """The weights of one language, and the claim of another with as many states."""
    model = loop_of(random_automaton(4, "ab", 11))
    for seed in range(12, 40):
        other = softhat.from_dfa(random_automaton(4, "ab", seed), depth="log")
        if len(other.dfa.step) != len(model.state.accepts) or other.dfa == model.automaton:
            continue
        assert LoopModel(model.block, model.state, other).certificate.void


def test_the_reason_says_what_is_wrong() -> None:
    model = loop_of(group_automaton(FLIP, "ab"))
    readout = model.block.readout.dense()
    readout[0, model.state.accepts[0]], readout[0, model.state.accepts[1]] = 0.0, 1.0
    changed = replace(model.block, readout=Sparse.from_dense(readout))
    (reason,) = LoopModel(changed, model.state, _language(model)).certificate.void
    assert reason == "the read-out of 'member' does not decide acceptance"
    two = replace(model.block, layers=model.block.layers * 2)
    (reason,) = LoopModel(two, model.state, _language(model)).certificate.void
    assert reason.startswith("a loop has one block")


def test_one_round_is_checked_whatever_the_length() -> None:
    """The certificate has the heads of one block."""
    certificate = loop_of(random_automaton(6, "ab", 5)).certificate
    assert len(certificate.heads) == 1
    assert any("⌈log₂ n⌉ times" in said for said in certificate.assumptions)
    assert "of length up to 1,048,575" in certificate.explain()


def tampered_many(seeds: range) -> int:
    """How many blocks are certified of those that were changed with the checker in mind: one or
    more things besides, elsewhere or nearly the same. What is certified is right, in the dense and
    in the linear runtime."""
    given = group_automaton(FLIP, "ab")
    models = [loop_of(given, attention) for attention in ("unbounded", "temperature")]
    words = ["".join(w) for n in (1, 2, 4) for w in product("ab", repeat=n)]
    words += ["ab" * 8 + "b", "a" * 33]
    certified = 0
    for seed in seeds:
        rng, model = np.random.default_rng(seed), models[seed % 2]
        names, t = (
            tampered_ledger(model.block, rng)
            if seed % 3
            else tampered_weights(model.block, rng, SELECTIONS)
        )
        changed = LoopModel(t, model.state, _language(model))
        if changed.certificate.void:
            continue
        certified += 1
        runtimes: tuple[Literal["dense", "linear"], ...] = ("dense", "linear")
        for runtime in runtimes:
            for dtype in ("float32", "bfloat16"):
                try:
                    most = changed.certified_length(dtype, runtime)
                except softhat.SofthatError:  # its heads are not linear
                    continue
                asked = [word for word in words if len(word) <= most]
                answers = changed.values_many(asked, dtype, runtime=runtime)
                for word, answer in zip(asked, answers, strict=True):
                    assert answer == expected(given, word), (seed, names, runtime, dtype, word)
    return certified


def test_tampered_blocks() -> None:
    assert tampered_many(range(90)) < 45


@pytest.mark.full
@pytest.mark.parametrize("start", range(1_000, 5_000, 1_000))
def test_many_tampered_blocks(start: int) -> None:
    assert tampered_many(range(start, start + 1_000))
