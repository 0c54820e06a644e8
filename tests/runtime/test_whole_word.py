"""Words in pieces for models that look both ways: the formula's answers, in constant memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softhat
from softhat.io.errors import CertificateError, CertificateWarning, SofthatError
from softhat.logic.random import random_formula
from softhat.runtime import whole_word
from softhat.runtime.linear import runtime


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(1, 16), st.lists(st.integers(0, 40), min_size=1))
def test_pieces_do_not_matter(seed: int, size: int, pieces: list[int]) -> None:
    rng = np.random.default_rng(seed)
    fragment = ("all", "two-way", "counting", "decoder")[seed % 4]
    formula = random_formula(rng, size, "abc", fragment)
    model = softhat.compile(formula, alphabet="abc")
    word = "".join(rng.choice(list("abc"), sum(pieces) + 1))
    ends = np.cumsum([0, *pieces, 1]).tolist()
    given = [word[a:b] for a, b in pairwise(ends)]
    if model.linear_max_length("float32") < len(word):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "CHUNK", 7)
        found = list(model.stream_word(given))
    assert np.array_equal(np.concatenate(found), formula.truth(word))


def test_sets_and_several_outputs() -> None:
    model = softhat.compile({"x": "p U q", "y": "#>(p & q) > #(X p)"}, propositions=["p", "q"])
    rng = np.random.default_rng(0)
    bits = rng.random((100, 2)) < 0.4
    word = [{name for name, holds in zip("pq", row, strict=True) if holds} for row in bits]
    for name, formula in model.formulas.items():
        found = np.concatenate(list(model.stream_word([word[:30], bits[30:]], output=name)))
        assert np.array_equal(found, formula.truth(word))


def test_memory_does_not_grow() -> None:
    model = softhat.compile("F (a & O b) & #(a) > #>(b) + #*(c)", alphabet="abc")
    piece = np.random.default_rng(0).integers(0, 3, 1 << 16)

    def peak(count: int) -> int:
        def pieces() -> Iterator[np.ndarray]:
            yield from (piece for _ in range(count))

        tracemalloc.start()
        tokens = sum(len(truth) for truth in model.stream_word(pieces()))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert tokens == count << 16
        return most

    peak(2)
    assert peak(20) < 1.1 * peak(4)


def test_the_certificate_and_the_empty_word() -> None:
    model = softhat.compile("#(a) > #>(b)", alphabet="ab")
    limit = model.linear_max_length("bfloat16")
    word = "ab" * limit
    with pytest.warns(CertificateWarning, match="certified only to"):
        list(model.stream_word([word], dtype="bfloat16"))
    with pytest.raises(CertificateError):
        list(model.stream_word([word], dtype="bfloat16", strict=True))
    with pytest.raises(SofthatError, match="the empty word"):
        list(model.stream_word([]))


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    word = whole_word.SpooledWord(softhat.compile("F a", alphabet="ab").transformer)

    class Full:
        def seek(self, *_: int) -> None: ...

        def write(self, _: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(word, "_file", Full())
    with pytest.raises(SofthatError, match=r"temporary files.*No space left.*TMPDIR"):
        word.append(np.zeros(3, np.int64))
