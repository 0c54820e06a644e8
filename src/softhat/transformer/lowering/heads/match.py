"""Match: the positions whose category matches."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, log

from softhat.program.heads import Selector
from softhat.program.literals import Literal
from softhat.transformer.lowering.rows import ONE, SINKS, HeadScores, Row, RowPair, added
from softhat.transformer.lowering.wiring import Wiring


def match_scores(selector: Selector, wide: bool, wiring: Wiring) -> HeadScores:
    """Theorem 7. Softmax of β·T[i, j], T = 1 where j matches i and 0 elsewhere, and of β/2 on the
    sinks puts all but (n-w)e^-β + 2e^(-β/2) equally on the w >= 1 matching positions, and if there
    is none all but n·e^(-β/2) on the sinks, where the value is 0. So β = 2⌈ln(64 N)⌉ leaks at most
    1/64 for every n <= N. Machine-checked: `match_found` and `match_none` of proofs/Match.v."""
    pairs = [*table_pairs(selector, wiring), RowPair({ONE: 0.5}, dict(SINKS))]
    return HeadScores("Match", selector.mask, pairs, 2.0 * sharp(selector.longest, wide))


def sharp(longest: int, wide: bool) -> int:
    """The least integer that is at least ln(64 N); four thousand for wide gates."""
    return ceil(log((4096 if wide else 64) * max(1, longest)))


def table_pairs(selector: Selector, wiring: Wiring) -> list[RowPair]:
    """T as Σ_r query_r·key_r: keys that match the same queries share a row, or the reverse."""
    of_key: dict[int, set[int]] = {}
    of_query: dict[int, set[int]] = {}
    for q, k in selector.table:
        of_key.setdefault(k, set()).add(q)
        of_query.setdefault(q, set()).add(k)
    groups = [(queries, keys) for queries, keys in _alike(of_key)]
    turned = [(queries, keys) for keys, queries in _alike(of_query)]
    chosen = groups if len(groups) <= len(turned) else turned

    def row(literals: tuple[Literal, ...], places: Iterable[int]) -> Row:
        return added([wiring.bit(literals[at]) for at in sorted(places)])

    return [RowPair(row(selector.queries, qs), row(selector.keys, ks)) for qs, ks in chosen]


def _alike(partners: dict[int, set[int]]) -> list[tuple[frozenset[int], list[int]]]:
    """Those with the same partners together."""
    together: dict[frozenset[int], list[int]] = {}
    for one, others in sorted(partners.items()):
        together.setdefault(frozenset(others), []).append(one)
    return list(together.items())
