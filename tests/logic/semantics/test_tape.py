"""Words side by side: signals there and back, and the tape read from its other end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.logic.semantics.tape import lay_out, positions, tape_of

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@given(lengths, st.data())
def test_signals_are_bools(sizes: list[int], data: st.DataObject) -> None:
    tape = tape_of(np.array(sizes))
    bits = [data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in sizes]
    laid = [b for word in bits for b in (*word, False)]
    signal = tape.to_signal(np.array(laid))
    assert signal == sum(1 << p for p, b in enumerate(laid) if b)
    assert tape.to_bits(signal).tolist() == [int(b) for b in laid]
    assert tape.to_bools(signal).tolist() == [b for word in bits for b in word]
    turned = tape.reverse(signal)
    assert turned == sum(1 << tape.size - 2 - p for p, b in enumerate(laid) if b)


@given(lengths)
def test_places(sizes: list[int]) -> None:
    tape = tape_of(np.array(sizes))
    assert tape.size == sum(sizes) + len(sizes) and tape.longest == max(sizes)
    wanted = [place for n in sizes for place in (*range(1, n + 1), 0)]
    assert positions(tape).tolist() == wanted
    for name, kind in (("inside", 1), ("first", 2), ("last", 3)):
        said = tape.to_bits(getattr(tape, name)).astype(bool).tolist()
        tests = {
            1: [bool(p) for p in wanted],
            2: [p == 1 for p in wanted],
            3: [p == n for n in sizes for p in (*range(1, n + 1), 0)],
        }
        assert said == tests[kind]
    assert tape.begins.tolist() == [sum(sizes[:k]) for k in range(len(sizes))]


def test_words_and_where_their_symbols_stand() -> None:
    assert lay_out([]) is None
    laid = lay_out(["ab", "b"])
    assert laid is not None
    tape, symbol = laid
    assert tape.lengths.tolist() == [2, 1]
    assert symbol("a") == 0b00001 and symbol("b") == 0b01010  # a b _ b _
