"""Gaps and temperatures of an AHAT against the length, as data for pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from softhat.ahat.analysis.analyze import Analysis
from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.analysis.profiles import symbolic_profile
from softhat.ahat.analysis.tally import Gap, Tally, row_tally
from softhat.ahat.exact import run
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.words import all_words
from softhat.io.pictures.laws import Curves, HeadCurves, Series
from softhat.numbers.laws import Law

FEW_WORDS = 300  # of a length whose gaps and least β are measured
LONGEST = 40  # lengths that laws are drawn for, at least
STEPS = 14  # of a bisection: β to a share of 2^-14


def analysis_curves(analysis: Analysis) -> Curves:
    """γ(n) proved and measured; critical β measured, exact or fitted."""
    lengths = range(1, max(LONGEST, analysis.up_to if analysis.up_to <= 200 else 200) + 1)
    heads = []
    for name in analysis.model.heads:
        law = analysis.gap_law[name]
        if law is None:
            continue
        gaps = [_law(law, lengths, f"proved for every n: γ(n) ≥ {law.text}")]
        gaps.append(_data("least of all words, run", _of(analysis.gaps, name)))
        proved = {
            n: float(p.gaps[name]) for n, p in analysis.proved.items() if n not in analysis.gaps
        }
        if proved:
            gaps.append(_data("proved from sets, length by length", proved))
        betas = _critical(analysis.model, name, analysis.leak, lengths)
        betas.append(
            _data(f"critical at leak {analysis.leak:g}", _of(analysis.critical_beta, name))
        )
        fit = analysis.fits.get(name)
        if fit is not None and len(betas) == 1:
            points = tuple((n, fit(n)) for n in sorted(analysis.critical_beta))
            betas.append(Series(str(fit), "fit", points))
        heads.append(HeadCurves(_title(analysis.model, name), tuple(gaps), tuple(betas)))
    return Curves("gaps and critical temperatures", tuple(heads))


def simulation_curves(s: Simulation, leak: float = 1e-3) -> Curves:
    """γ(n) proved and measured; β chosen, critical and least for ε."""
    top = min(s.length or LONGEST, 200)
    lengths, model = range(1, top + 1), s.source
    short = [n for n in lengths if len(model.alphabet) ** n <= FEW_WORDS]
    tallies = {n: row_tally(model, n, leak) for n in short}
    laws, epsilon = gap_laws(model).gap, s.certificate.epsilon
    heads = []
    for name, law in laws.items():
        if law is None:
            continue
        gaps = (
            _law(law, lengths, f"proved for every n: γ(n) ≥ {law.text}"),
            _data("least of all words, run", {n: _gap(t, n, name) for n, t in tallies.items()}),
        )
        chosen = s.every_law[name]
        betas = [_law(chosen, lengths, f"chosen: β(n) = {chosen.text}")]
        betas += _critical(model, name, leak, lengths)
        measured = {n: t.betas[n][name] for n, t in tallies.items()}
        betas.append(_data(f"critical at leak {leak:g}", measured))
        if epsilon is not None:
            least = {n: _least(s, name, n, epsilon) for n in short}
            betas.append(_data(f"least within ε = {epsilon:g}", least))
        heads.append(HeadCurves(_title(model, name), gaps, tuple(betas)))
    reach = "at every length" if s.length is None else f"to length {s.length}"
    return Curves(f"temperatures of a simulation {reach}", tuple(heads))


def _critical(model: AHAT, name: HeadId, leak: float, lengths: Iterable[int]) -> list[Series]:
    """The critical β as an exact function of n, where there is one."""
    profile = symbolic_profile(gap_laws(model).portrait.views[name])
    if profile is None:
        return []
    points = tuple((n, profile.critical(n, leak)) for n in lengths)
    return [Series(f"critical at leak {leak:g}, exact", "law", points)]


def _least(s: Simulation, name: HeadId, n: int, epsilon: float) -> float:
    """The least β of one head, the others as chosen, with every value within ε on all words."""
    codes = np.concatenate(list(all_words(len(s.source.alphabet), n)))
    trace = run(s.source, codes)
    exact = trace.output.floats()[:, trace.own]
    betas = s.betas_at(n)

    def good(beta: float) -> bool:
        warm = Simulation(s.source, {**betas, name: beta}, n).run_batch(codes)[..., 0]
        return bool(np.abs(warm - exact).max() <= epsilon)

    low, high = betas[name] * 2.0**-7, betas[name]
    if good(low) or not good(high):  # it hardly matters, or float64 does not follow
        return math.nan
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _title(model: AHAT, name: HeadId) -> str:
    label = model.layers[name[0]].heads[name[1]].name
    return f"layer {name[0]}, head {name[1]}" + (f" ({label})" if label else "")


def _law(law: Law, lengths: Iterable[int], label: str) -> Series:
    shown = label if len(label) <= 62 else label[:61] + "…"
    within = [n for n in lengths if abs(law.log_at(n)) < 690]
    return Series(shown, "law", tuple((n, float(law.at(n))) for n in within))


def _data(label: str, values: dict[int, float]) -> Series:
    return Series(label, "data", tuple((n, y) for n, y in sorted(values.items()) if 0 < y < 1e300))


def _of(table: Mapping[int, Mapping[HeadId, Gap]], name: HeadId) -> dict[int, float]:
    return {n: float(heads[name]) for n, heads in table.items()}


def _gap(tally: Tally, n: int, name: HeadId) -> float:
    return float(tally.gaps[n][name])
