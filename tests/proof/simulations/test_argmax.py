"""Sets of favourites against the argmax sets of words."""

from __future__ import annotations

import pytest

from softhat.ahat.gallery import GALLERY
from softhat.proof.simulations.argmax import favourites, one_value, set_size
from softhat.proof.simulations.words import all_words, run, winners
from tests.proof.simulations.claims import random_source, source_of, streams_of


@pytest.mark.parametrize("seed", range(10))
def test_one_value_is_what_the_head_finds(seed: int) -> None:
    source = source_of(random_source(seed))
    _, sights = streams_of(source, forget=False)
    for name, seen in sights.items():
        written = [True] * len(seen.value)
        if one_value(seen, written) is None:
            continue
        head = source.head(name)
        for word in list(all_words(source, 4))[:10]:
            done = run(source, word)
            vectors = done.streams[name[0]].fractions()
            values = [
                tuple(sum(w * x for w, x in zip(row, v, strict=True)) for row in head.value)
                for v in vectors
            ]
            for row in done.scores[name][0]:
                assert len({values[j] for j in winners(row)}) <= 1


def test_counting_symbols() -> None:
    """The positions of one symbol, and of another: together they fit into the word."""
    source = source_of(GALLERY["histogram"]())
    _, sights = streams_of(source)
    seen = next(s for s in sights.values() if favourites(s))
    size = set_size(seen, "size", source.sinks)
    assert size.together is not None
    for word in all_words(source, 5):
        for rows, _ in run(source, word).scores.values():
            sizes = {len(winners(row)) for row in rows}
            assert all(a + b <= 5 + size.together for a in sizes for b in sizes if a != b)
