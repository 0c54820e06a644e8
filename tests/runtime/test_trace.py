"""A trace is the run itself: its parts fit together and end in the margins."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.numerics.formats import FORMATS, format_of


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("formula", ["(!c S a) & #(a) >= #(b)", "X a | F (b & Y c)"])
def test_parts_add_up(formula: str, dtype: str) -> None:
    model = softhat.compile(formula, alphabet="abc")
    t = model.transformer
    word = "abcabbca"
    seen = model.run(word, dtype=dtype)
    form = format_of(dtype)
    rows = len(word) + len(t.sinks)
    assert seen.tokens == (*t.sinks[:1], *word, *t.sinks[1:])
    assert len(seen.residual) == len(t.layers) + 1 == len(seen.attention) + 1
    for number, layer in enumerate(t.layers):
        heads = len(layer.masks)
        assert seen.attention[number].shape == seen.scores[number].shape == (heads, rows, rows)
        before = seen.residual[number].astype(np.float64)
        # Attention and feed-forward by definition, from what the trace says.
        values = np.einsum("hrd,id->hir", form.load(layer.value.dense()), before)
        mixed = np.einsum("hij,hjr->hir", seen.attention[number].astype(np.float64), values)
        assert np.allclose(mixed, seen.head_outputs[number], atol=16 * 2.0**-form.digits)
        added = np.einsum("hdr,hir->id", form.load(layer.output.dense()), mixed)
        x = before + added
        hidden = np.maximum(x @ form.load(layer.into.dense()).T + layer.into_bias, 0)
        after = x + hidden @ form.load(layer.out.dense()).T + layer.out_bias
        assert np.allclose(after, seen.residual[number + 1], atol=64 * 2.0**-form.digits)
    ((name, margins),) = seen.margins.items()
    last = seen.residual[-1][t.own(len(word))].astype(np.float64)
    readout = last @ t.readout.dense().T + t.readout_bias
    assert name == "output" and np.allclose(readout[:, 0], margins, atol=8 * 2.0**-form.digits)
    assert (margins > 0).tolist() == softhat.parse(formula).truth(word).tolist()


def test_coordinates_have_their_names_at_every_layer() -> None:
    model = softhat.compile("Y (a & Y b)", alphabet="ab")
    seen = model.run("abab")
    assert len(seen.coordinates) == len(seen.residual)
    for number, names in enumerate(seen.coordinates):
        assert names == tuple(c.label(number) for c in model.transformer.coordinates)
    assert "a & Y b" in {name for names in seen.coordinates for name in names}


def test_sets_are_written_with_braces() -> None:
    model = softhat.compile("p S q", propositions=["p", "q"])
    assert model.run([{"p"}, set(), {"p", "q"}]).tokens == ("<bos>", "{p}", "{}", "{p,q}")
