"""A block ends where it began: run again on what it has written, it is the next round."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.pointers import rounds
from softhat.numbers.laws import Constant
from softhat.numerics.formats import format_of
from softhat.program.evaluate import outputs
from softhat.program.literals import Literal
from softhat.runtime.dense import Ready
from softhat.transformer.lowering.blocks import block, block_of, repeated


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_every_round_leaves_what_its_program_says(attention: str) -> None:
    """After each of four rounds, coordinate by coordinate, against the attention program."""
    language = softhat.from_regex("(ab|ba|bb)*", alphabet="ab", depth="log")
    one = rounds(language, "ab", 1, digits=4)
    transformer, held = block(
        one.program, one.states[0].places, one.states[1].places, one.heads[0], attention
    )
    ready = Ready(transformer, format_of("float32"))
    tokens = np.random.default_rng(1).integers(0, 2, (3, 14))
    x = first = ready.embed(tokens)
    rest = sorted(set(range(transformer.d_model)) - set(held))
    for count in range(1, 5):
        x, _ = ready.step(ready.layers[0], x, keep=False)
        assert np.array_equal(x[..., rest], first[..., rest])
        made = rounds(language, "ab", count, digits=4)
        places = made.states[-1].places
        wanted = tuple((str(at), Literal(at, True)) for at in places)
        program = type(made.program)(
            made.program.signals, made.program.labels, wanted, ("a", "b"), False
        )
        for word, rows in zip(tokens, x, strict=True):
            columns = outputs(program, word)
            for at, coordinate in zip(places, held, strict=True):
                assert np.array_equal(rows[1:, coordinate], columns[str(at)])
                assert rows[0, coordinate] == 0


def test_a_repeated_block_is_one_object() -> None:
    language = softhat.from_regex("(aa)*", depth="log")
    one = rounds(language, "a", 1)
    places = one.states[0].places, one.states[1].places
    transformer, _ = block(one.program, *places, one.heads[0], "unbounded")
    layers = repeated(transformer, 5).layers
    assert len(layers) == 5 and all(layer is transformer.layers[0] for layer in layers)
    ready = Ready(repeated(transformer, 5), format_of("float32"))
    assert all(layer is ready.layers[0] for layer in ready.layers)


def test_the_block_of_layers_that_are_one() -> None:
    language = softhat.from_regex("(aa)*", depth="log")
    one = rounds(language, "a", 1, digits=4)
    made, _ = block(
        one.program, one.states[0].places, one.states[1].places, one.heads[0], "unbounded"
    )
    assert block_of(repeated(made, 3)).layers == made.layers
    layer = made.layers[0]
    for other in (
        replace(layer, masks=("none",) * len(layer.masks)),
        replace(layer, into_bias=layer.into_bias + 1),
        replace(layer, laws=(Constant(Fraction(2)),) * len(layer.laws)),
    ):
        with pytest.raises(ValueError, match="its layers differ"):
            block_of(replace(made, layers=(layer, other)))
    with pytest.raises(ValueError, match="no layer"):
        block_of(replace(made, layers=()))
