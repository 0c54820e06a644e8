"""Heads of stock checkpoints: logits by definition, over what the residual stream holds."""

from __future__ import annotations

import pytest

import softhat
from softhat import SofthatError
from softhat.export.stock.heads import asked_of, claimed_weights, logit_rows, named_logits
from softhat.program.registers import Register
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ONE

FORMULAS = {"a": "!(Y a)", "b": "true", "<eos>": "a & Y b"}


def logits(
    head: str, margin: float, state: dict[str, bool | None], **options: object
) -> list[float]:
    """With stored bits as `state` says by output; None everywhere: `<bos>`."""
    model = softhat.compile(FORMULAS, "ab")
    weights = options.get("weights")
    claimed = None if weights is None else claimed_weights(model, head, weights)
    formulas, program = asked_of(model, head, options.get("output"), claimed)
    rows = logit_rows(program, formulas, head, margin, claimed)
    start = all(value is None for value in state.values())
    held: dict[object, float] = {ONE: 1.0, BOS_PAIR: float(start)}
    for name, literal in program.outputs:
        if literal.signal >= 0:
            value = -1.0 if start else 1.0 if state[name] == literal.positive else -1.0
            held[Register(literal.signal, False)] = value
    return [sum(w * held[key] for key, w in row.items()) for row in rows]


def test_a_classifier_has_two_logits_or_one_for_each_output() -> None:
    assert logits("token-classification", 8.0, {"a": True}, output="a") == [-4.0, 4.0]
    assert logits("token-classification", 8.0, {"a": False}, output="a") == [4.0, -4.0]
    state: dict[str, bool | None] = {"a": False, "b": True, "<eos>": True}
    assert logits("multi-label", 8.0, state) == [-4.0, 4.0, 4.0]


def test_a_language_model_allows_what_formulas_say() -> None:
    state: dict[str, bool | None] = {"a": False, "b": True, "<eos>": False}
    size = 10 * (1 + 2.0**-6)
    assert logits("lm", 20.0, state) == pytest.approx([-size, size, -size, -size])
    start: dict[str, bool | None] = dict.fromkeys(state)  # a and b may come first
    assert logits("lm", 20.0, start) == pytest.approx([size, size, -size, -size])


def test_log_weights_are_logits_up_to_one_shift() -> None:
    weights = {"a": 1.5, "b": {"": 0.5, "a": -2.0}}
    state: dict[str, bool | None] = {"a": True, "b": True, "<eos>": False}
    a, b, bos, eos = logits("lm", 20.0, state, weights=weights)
    assert a - b == pytest.approx(1.5 - (0.5 - 2.0))
    assert min(a, b) - max(bos, eos) >= 20


def test_names_and_refusals() -> None:
    model = softhat.compile(FORMULAS, "ab")
    assert named_logits("multi-label", model.formulas)["id2label"]["2"] == "<eos>"
    assert named_logits("token-classification", {})["label2id"] == {"false": 0, "true": 1}
    with pytest.raises(SofthatError, match="leave output out"):
        asked_of(model, "multi-label", "a", None)
    with pytest.raises(SofthatError, match="head='lm'"):
        claimed_weights(model, "multi-label", {"a": 1})
