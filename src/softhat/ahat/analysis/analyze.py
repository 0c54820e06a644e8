"""What kind of AHAT is it? Row types, gaps, gap profiles, critical β, with their guarantees.

Structure comes first, then the gap laws, then the sets of residual vectors that words can produce
(`gaps`); words are run to sharpen and to find counterexamples. A statement is *proved_all* if it
follows from the weights for every length, *proved_to_length* if it was derived from the sets,
*exhaustive* if every word to the length was run exactly, and *sampled* if only the given words
were run. A sample never yields a gap for other words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from softhat.ahat.analysis.fits import Fit, fitted
from softhat.ahat.analysis.gap_laws import GapLaws, gap_laws
from softhat.ahat.analysis.gaps import ProvedGaps, proved_gaps
from softhat.ahat.analysis.guard import hold_against
from softhat.ahat.analysis.rows import Profile
from softhat.ahat.analysis.structure import HeadStructure, looks_back, structure
from softhat.ahat.analysis.tally import Gap, HeadId, Tally, TiedRow, chunk
from softhat.ahat.exact import last_rows, run
from softhat.ahat.model import AHAT, Word, check_ahat
from softhat.ahat.words import all_words, feasible_length
from softhat.io.argument_types import real_number, several, whole_number
from softhat.io.errors import SofthatError
from softhat.io.work.progress import Progress, unseen
from softhat.numbers.laws import Law
from softhat.numerics.masks import allowed

Guarantee: TypeAlias = Literal["proved_all", "proved_to_length", "exhaustive", "sampled"]
Kind: TypeAlias = Literal[
    "structurally uniform", "tieless", "uniform by accident", "tied", "unique"
]
LEAK = 1e-3
LONGEST = 10_000
"""The longest words that are asked about length by length."""
FEW_WORDS = 5_000  # run of a length whose types are proved already
SETS_AFTER_TIES = 4  # lengths that the sets add where a tied row has given the verdict
SETS_TO = 64  # lengths whose gaps the sets sharpen, where the laws suffice for the verdict
SETS_SIZE = 20_000_000  # queries × keys of all those sets


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of `analyze`. Heads are named (layer, head), both from 0.

    `uniform_tieless`, `min_gap` and `kinds` are all about the lengths 1 … `up_to`, or about every
    length where the guarantee is `proved_all`; `gap_law` is about every length (with position
    tables: to their length).
    """

    model: AHAT = field(repr=False)
    uniform_tieless: bool
    guarantee: Guarantee
    up_to: int
    exhaustive_length: int
    counterexample: TiedRow | None
    counterexamples: Mapping[int, TiedRow]  # the first of each length
    rows: Mapping[int, Mapping[HeadId, tuple[int, int, int]]]
    gaps: Mapping[int, Mapping[HeadId, Gap]]
    min_gap: Mapping[HeadId, Gap]  # over the lengths to up_to: measured, else proved from below
    gap_law: Mapping[HeadId, Law | None]
    kinds: Mapping[HeadId, Kind]
    profiles: Mapping[int, Mapping[HeadId, Profile]]  # of the row with the greatest critical β
    critical_beta: Mapping[int, Mapping[HeadId, float]]
    leak: float
    fits: Mapping[HeadId, Fit]
    structure: Mapping[HeadId, HeadStructure]
    varying_ties: Mapping[HeadId, bool]  # some argmax set holds values that differ
    proved: Mapping[int, ProvedGaps]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        verdict = "uniform-tieless" if self.uniform_tieless else "not uniform-tieless"
        return f"<softhat.Analysis {verdict}, {self.guarantee}, to length {self.up_to}>"

    def _repr_html_(self) -> str:
        from softhat.io.markup import table

        rows = [
            [*name, self.kinds[name], str(gap), "" if law is None else law.text]
            for name, gap in self.min_gap.items()
            for law in [self.gap_law.get(name)]
        ]
        title = f"uniform-tieless: {self.uniform_tieless} ({self.guarantee}, to {self.up_to})"
        return table(["layer", "head", "kind", "least gap", "γ(n)"], rows, title)


def analyze(
    model: AHAT,
    up_to: int = 8,
    words: Iterable[Word] | None = None,
    leak: float = LEAK,
    max_words: int = 300_000,
    progress: Progress = unseen,
) -> Analysis:
    """Row types, gap laws, minimum gaps and critical β of every head.

    All words to length `up_to` are run where there are at most `max_words` of a length (fewer
    where the types are proved without); longer lengths are proved from the sets of reachable
    vectors, as far as these stay small, or by the gap laws. With `words`, only those are run, and
    the result says `sampled`. `progress` is told what is counted, how many are done, of how many.
    """
    check_ahat(model)
    real_number("leak", leak)
    if not 0 < leak < 1:
        raise SofthatError(f"the leak must lie strictly between 0 and 1, not {leak!r}")
    whole_number("max_words", max_words)
    if words is None:
        whole_number("up_to", up_to, least=1)
    if words is None and up_to > LONGEST:
        raise SofthatError(
            f"an analysis goes length by length, to {LONGEST:,} at most, not {up_to:,}: what holds "
            "for every length the gap laws say, whatever up_to is"
        )
    laws = gap_laws(model)
    if words is not None:
        return _of_words(model, laws, several("words", words), leak)
    notes: list[str] = []
    top = min(up_to, model.longest or up_to)
    if top < up_to:
        notes.append(f"the position tables end at length {top}: nothing is said beyond")
    settled = laws.uniform_tieless
    tally = Tally(model, leak)
    most = min(max_words, FEW_WORDS) if settled else max_words
    exhaustive = feasible_length(len(model.alphabet), top, most)
    if all(law is None for law in laws.gap.values()):
        _count_uniform(tally, exhaustive)
    else:
        done = _run_all(tally, exhaustive, progress)
        if done < exhaustive:
            exhaustive = top = done
            notes.append(f"interrupted: the statement ends at length {done}")
    tied_to = exhaustive if tally.first else 0
    proved = _by_sets(model, laws, top, leak, notes, tied_to, progress)
    guarantee, tieless, reached = _verdict(tally, laws, proved, exhaustive, top)
    if reached < top:
        notes.append(
            f"there are more than {max_words} words of length {exhaustive + 1}, and no proof "
            f"for length {reached + 1}: the statement ends at length {reached}"
        )
    return _analysis(model, laws, tally, proved, guarantee, tieless, reached, exhaustive, notes)


def _of_words(model: AHAT, laws: GapLaws, words: Iterable[Word], leak: float) -> Analysis:
    """Only the given words."""
    groups: dict[int, list[Word]] = {}
    for word in words:
        groups.setdefault(len(model.symbols(word)), []).append(word)
    if not groups:
        raise SofthatError("no words to analyse: give at least one")
    tally = Tally(model, leak)
    for n in sorted(groups):
        tally.add(run(model, model.codes(groups[n])))
    return _analysis(model, laws, tally, {}, "sampled", not tally.first, max(groups), 0, [])


def _run_all(tally: Tally, longest: int, progress: Progress) -> int:
    """Run every word, length by length; the last length that Ctrl-C let finish."""
    model = tally.model
    total = sum(len(model.alphabet) ** n for n in range(1, longest + 1))
    done = 0
    shorter: Tally | None = None
    for n in range(1, longest + 1):
        of_length = Tally(model, tally.leak)
        try:
            for codes in all_words(len(model.alphabet), n, chunk(n)):
                if shorter is None:
                    of_length.add(run(model, codes))
                else:
                    of_length.add_last(codes, last_rows(model, codes))
                done += len(codes)
                progress("words", done, total)
        except KeyboardInterrupt:
            if n == 1:
                raise
            return n - 1
        if shorter is not None:
            of_length.add_prefixes(n, shorter)
        tally.join(of_length)
        shorter = of_length if looks_back(model) else None
    return longest


def _count_uniform(tally: Tally, longest: int) -> None:
    """The rows of a model whose heads are all structurally uniform: no word need be run."""
    model = tally.model
    for n in range(1, longest + 1):
        rows = len(model.alphabet) ** n * (n + model.sinks)
        tally.rows[n] = dict.fromkeys(model.heads, (rows, 0, 0))
        tally.gaps[n] = dict.fromkeys(model.heads, math.inf)
        tally.betas[n] = dict.fromkeys(model.heads, 0.0)
        for l, h in model.heads:
            mask = allowed(model.layers[l].heads[h].mask, n + model.sinks)
            tally.several[l, h] |= bool((mask.sum(axis=1) > 1).any())


def _by_sets(
    model: AHAT,
    laws: GapLaws,
    top: int,
    leak: float,
    notes: list[str],
    settled: int,
    progress: Progress,
) -> dict[int, ProvedGaps]:
    """Gaps proved on the reachable sets, length by length, as far as they stay small.

    `settled`: to this length all words were run, and there is a tied row among them. The sets
    then only say how gaps go on, and a few lengths more do.
    """
    proved: dict[int, ProvedGaps] = {}
    if all(law is None for law in laws.gap.values()):
        return proved
    last = min(top, settled + SETS_AFTER_TIES) if settled else top
    last = min(top, SETS_TO) if laws.uniform_tieless else last
    size = 0
    for n in range(settled + 1, last + 1):
        progress("lengths", n - 1, last)
        try:
            result = proved_gaps(model, n, leak)
        except KeyboardInterrupt:
            notes.append(f"interrupted: the sets prove nothing from length {n} on")
            break
        if not result.complete:
            notes.append(f"length {n}: {result.reason}; the sets prove nothing from this length on")
            break
        proved[n] = result
        size += result.size
        if laws.uniform_tieless and size > SETS_SIZE and n < last:
            notes.append(f"the laws speak alone from length {n + 1} on: the sets grow too large")
            break
    return proved


def _verdict(
    tally: Tally,
    laws: GapLaws,
    proved: Mapping[int, ProvedGaps],
    exhaustive: int,
    top: int,
) -> tuple[Guarantee, bool, int]:
    """The level of the statement, whether it is uniform-tieless, and to which length."""
    if laws.uniform_tieless:
        return "proved_all", True, top
    if tally.first:
        return "exhaustive", False, max(exhaustive, 1)
    average = [
        (l, h) for l, h in tally.model.heads
        if tally.model.layers[l].heads[h].ties == "average"
    ]  # fmt: skip

    def without_ties(n: int) -> bool:
        return n in proved and not any(proved[n].may_tie[name] for name in average)

    reached = exhaustive
    while without_ties(reached + 1):
        reached += 1
    by_sets = reached > exhaustive or all(without_ties(n) for n in range(1, exhaustive + 1))
    return ("proved_to_length" if by_sets else "exhaustive"), True, reached


def _analysis(
    model: AHAT,
    laws: GapLaws,
    tally: Tally,
    proved: Mapping[int, ProvedGaps],
    guarantee: Guarantee,
    tieless: bool,
    reached: int,
    exhaustive: int,
    notes: list[str],
) -> Analysis:
    hold_against(laws, tally)
    betas = _betas(tally, proved)
    return Analysis(
        model=model,
        uniform_tieless=tieless,
        guarantee=guarantee,
        up_to=reached,
        exhaustive_length=exhaustive,
        counterexample=tally.first.get(min(tally.first)) if tally.first else None,
        counterexamples=tally.first,
        rows=tally.rows,
        gaps=tally.gaps,
        min_gap={
            name: _least(tally, proved, laws.gap[name], name, reached, guarantee == "sampled")
            for name in model.heads
        },
        gap_law=laws.gap,
        kinds={name: _kind(tally, laws, proved, name, reached) for name in model.heads},
        profiles=tally.profiles,
        critical_beta=betas,
        leak=tally.leak,
        fits=_fits(model, betas),
        structure=structure(model),
        varying_ties=tally.varying,
        proved=proved,
        notes=tuple(notes),
    )


def _least(
    tally: Tally,
    proved: Mapping[int, ProvedGaps],
    law: Law | None,
    name: HeadId,
    reached: int,
    sampled: bool,
) -> Gap:
    """The least gap over the lengths 1 … reached: measured, else by sets, else by the law."""
    if law is None:
        return math.inf
    gaps: list[Gap] = [math.inf]
    for n in tally.gaps if sampled else range(1, reached + 1):
        if n in tally.gaps:
            gaps.append(tally.gaps[n][name])
        elif n in proved:
            gaps.append(max(proved[n].gaps[name], law.at(n)))  # both bound it from below
        else:
            gaps.append(law.at(reached))  # laws never rise with n
            break
    return min(gaps)


def _kind(
    tally: Tally, laws: GapLaws, proved: Mapping[int, ProvedGaps], name: HeadId, reached: int
) -> Kind:
    """The types of the head's rows, over the lengths of the statement."""
    if tally.model.layers[name[0]].heads[name[1]].ties != "average":
        return "unique"
    if laws.gap[name] is None:
        return "structurally uniform"
    if laws.tieless[name]:
        return "tieless"
    beyond = [n for n in proved if n not in tally.rows and n <= reached]
    if any(c[name][2] for c in tally.rows.values()) or any(proved[n].may_tie[name] for n in beyond):
        return "tied"
    return "uniform by accident" if tally.several[name] else "tieless"


def _betas(tally: Tally, proved: Mapping[int, ProvedGaps]) -> dict[int, dict[HeadId, float]]:
    result = {n: dict(betas) for n, betas in tally.betas.items()}
    for n, proof in proved.items():
        if n not in result:
            result[n] = dict(proof.critical_beta)
    return result


def _fits(model: AHAT, betas: Mapping[int, Mapping[HeadId, float]]) -> dict[HeadId, Fit]:
    fits = {}
    for name in model.heads:
        fit = fitted({n: b[name] for n, b in sorted(betas.items()) if b[name] > 0})
        if fit is not None:
            fits[name] = fit
    return fits
