"""Recall as Latest heads, one for each code: the same outputs on random words."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import recall
from softhat.program.build import build
from softhat.program.evaluate import outputs
from softhat.program.heads import Recall
from softhat.program.recalls import without_recalls


@pytest.mark.parametrize("text", ["last[a | b = Y c]", "last[a S b | Y a = b, c = true, O c = a]"])
def test_the_same_outputs(text: str) -> None:
    f = softhat.parse(text)
    program = build({"f": f}, "abc", False)
    assert any(isinstance(signal, Recall) for signal in program.signals)
    plain = without_recalls(program)
    assert not any(isinstance(signal, Recall) for signal in plain.signals)
    rng = random.Random(1)
    for _ in range(30):
        word = [rng.choice("abc") for _ in range(rng.randint(1, 12))]
        codes = np.array(["abc".index(symbol) for symbol in word])
        wanted = f.truth(word).tolist()
        assert np.asarray(outputs(program, codes)["f"]).tolist() == wanted
        assert np.asarray(outputs(plain, codes)["f"]).tolist() == wanted


def test_too_many_digits() -> None:
    keys = [softhat.parse("Y " * at + "a") for at in range(1, 11)]
    f = recall(softhat.parse("b"), *((key, softhat.parse("c")) for key in keys))
    with pytest.raises(SofthatError, match="stock decoders have a head"):
        softhat.compile(f, alphabet="abc")
