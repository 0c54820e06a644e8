"""Pictures of how far a model holds: what is measured on hostile words, and what is certified.

`leak_and_margin` draws both against the length n; past the certified length the rounding of a
number format may take over, and the picture shows where it does. `phase` draws the largest
length at which a model still answers right against its sharpness C: below a threshold soft
attention is too soft at any length, above it only the number format limits the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.io.pictures.style import DTYPE_COLOURS, figure, save
from softhat.models.model import Model
from softhat.models.verification.adversary import Shape, shapes
from softhat.models.verification.letters import letters
from softhat.models.verification.measure import Meter
from softhat.models.verification.words import Tokens, numbered, random_words, truth_of
from softhat.numbers.laws import Constant, product
from softhat.runtime.heard import listen
from softhat.transformer.weights import Layer, Sparse

DTYPES = ("bfloat16", "float16", "float32")
SHARPNESS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0)
WORDS = 12
"""Hostile words for each length."""
ALL = 1024
"""So many words of a length or fewer are all tried."""


@dataclass(frozen=True)
class Curve:
    """What was measured at each length in one number format."""

    dtype: str
    lengths: tuple[int, ...]
    leak: tuple[tuple[float, ...], ...]
    """For each length, each head's largest leak."""
    margin: tuple[float, ...]
    """For each length, the smallest margin on the right side; negative: a wrong answer."""


def curves(model: Model, dtypes: Sequence[str], lengths: Sequence[int]) -> list[Curve]:
    """Measure a model on words made to break it."""
    meter = Meter(model)
    leak = np.zeros((len(dtypes), len(lengths), model.size.heads))
    margin = np.full((len(dtypes), len(lengths)), np.inf)
    for at, n in enumerate(lengths):
        for word in hostile(model, n):
            words = [word[None]]
            truth = truth_of(model, words[0])
            hard = meter.hard(words) if meter.able else None
            for k, dtype in enumerate(dtypes):
                heard = listen(model.ready(dtype), words)
                margin[k, at] = min(margin[k, at], _signed(heard.margins(0), truth))
                if hard is not None:
                    leak[k, at] = np.maximum(leak[k, at], meter.leaks(heard, hard)[0])
    return [
        Curve(dtype, tuple(lengths), tuple(map(tuple, leak[k].tolist())), tuple(margin[k].tolist()))
        for k, dtype in enumerate(dtypes)
    ]


def hostile(model: Model, n: int, count: int = WORDS) -> list[Tokens]:
    """A few words of length n made for the model's formulas, and a random one."""
    table, makers = _word_shapes(model)
    rng = np.random.default_rng([n, count])
    words = [table[makers[k % len(makers)](rng, n)] for k in range(count - 1)]
    return [*words, random_words(model, rng, n, 1)[0]]


@lru_cache(maxsize=4)
def _word_shapes(model: Model) -> tuple[Tokens, list[Shape]]:
    table, _ = letters(model)
    return table, shapes(model, table)


def _signed(margins: NDArray[Any], truth: NDArray[np.bool_]) -> float:
    """The smallest margin, positive on the right side."""
    side = np.where(truth, margins, -margins)
    return float(np.where(np.isnan(side), -np.inf, side).min())


def largest_correct(model: Model, dtype: str, limit: int) -> int:
    """The largest n <= limit at which no wrong answer is seen: an observation, not a proof.

    Lengths are doubled while answers are right, then the first wrong one is enclosed by bisection.
    At a length all words are tried if they are few, else hostile ones.
    """
    table, _ = letters(model)

    @np.errstate(invalid="ignore")  # past the certificate scores may overflow
    def right(n: int) -> bool:
        if len(table) ** n <= ALL:
            words = numbered(table, n, 0, len(table) ** n)
            return _signed(model.run_batch(words, dtype), truth_of(model, words)) > 0
        return all(
            _signed(model.run_batch(word[None], dtype), truth_of(model, word[None])) > 0
            for word in hostile(model, n)
        )

    low, high = 0, 1
    while high <= limit and right(high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if right(middle):
            low = middle
        else:
            high = middle
    return low


def with_sharpness(model: Model, factor: float) -> Model:
    """The same model with the scores of every head multiplied by `factor`."""
    t = model.transformer
    if t.attention == "hard":
        raise SofthatError("a model with hard attention has no sharpness: compile a soft one")
    layers = []
    for layer in t.layers:
        if t.attention == "temperature":
            by = Constant(Fraction(factor))
            layers.append(replace(layer, laws=tuple(product(by, law) for law in layer.laws)))
        else:
            layers.append(replace(layer, query=_scaled(layer, factor)))
    return Model(replace(t, layers=tuple(layers)), model.formulas)


def _scaled(layer: Layer, factor: float) -> Sparse:
    query = layer.query
    return Sparse(query.shape, query.where, factor * query.values)


def sharpness_of(model: Model) -> float:
    """C: the smallest sharpness among its heads that are not averages, read off the weights."""
    numbers = [head.numbers for head in model.certificate.heads if head.kind != "Average"]
    return min((x["slope"] if "slope" in x else x["unit"] / 4 for x in numbers), default=4.0)


# Drawing


def leak_and_margin(
    model: Model, file: str | Path, dtypes: Sequence[str] = DTYPES, longest: int = 2300
) -> None:
    """Draw leak (of the leakiest head) and margin against n, measured and certified. The usual
    lengths go just past the 2,048 positions that float16 holds exactly."""
    drawn = figure(7.2, 6.4)
    top, bottom = drawn.subplots(2, 1, sharex=True)
    certificate = model.certificate
    for curve in curves(model, dtypes, spread(longest)):
        colour = DTYPE_COLOURS[curve.dtype]
        worst = [max(at, default=0.0) for at in curve.leak]
        style = {"color": colour, "marker": "o", "markersize": 3, "linewidth": 1.4}
        top.plot(curve.lengths, worst, label=curve.dtype, **style)
        bottom.plot(curve.lengths, np.clip(curve.margin, -0.6, 1), label=curve.dtype, **style)
        limit = certificate.max_length[curve.dtype]
        for axes in (top, bottom):
            if 0 < limit <= curve.lengths[-1]:
                axes.axvline(limit, color=colour, linewidth=1, linestyle=":")
    if not certificate.void:
        leak = max((head.leak for head in certificate.heads), default=0.0)
        slack = min((output.slack for output in certificate.outputs), default=0.5)
        _level(top, leak, f"certified leak {leak:.4f}, before rounding")
        if np.isfinite(slack):
            _level(bottom, slack, f"certified margin {slack:.4f}")
    top.axhline(0.25, color="#888888", linewidth=1, linestyle="-.")
    top.annotate("1/4: a gate may err", (1, 0.25), **_NOTE)
    bottom.axhline(0, color="#888888", linewidth=1, linestyle="-.")
    bottom.annotate("0: wrong answers", (1, 0), **_NOTE)
    top.set_yscale("symlog", linthresh=1e-3)
    top.set_ylim(0, 2)
    top.set_ylabel("largest leak of a head")
    bottom.set_ylabel("smallest margin")
    bottom.set_ylim(-0.65, 0.65)
    bottom.set_xscale("log", base=2)
    bottom.set_xlabel("length n of the word")
    top.set_title(_title(model), fontsize=10)
    for axes in (top, bottom):
        axes.grid(alpha=0.25)
    top.legend(loc="upper left", fontsize=8, title="measured", title_fontsize=8)
    top.annotate(
        "dotted: certified length", (1, 0.02), xycoords="axes fraction",
        xytext=(-4, 2), textcoords="offset points", ha="right", fontsize=8, color="#555555",
    )  # fmt: skip
    save(drawn, file)


def phase(
    model: Model,
    file: str | Path,
    dtypes: Sequence[str] = DTYPES,
    sharpness: Sequence[float] = SHARPNESS,
    limit: int = 2048,
) -> dict[str, list[tuple[float, int, int]]]:
    """Draw the largest correct length against the sharpness C, observed (to `limit`) and
    certified, for each number format. Returns (C, observed, certified) by format."""
    own = sharpness_of(model)
    points: dict[str, list[tuple[float, int, int]]] = {dtype: [] for dtype in dtypes}
    for c in sharpness:
        changed = with_sharpness(model, c / own)
        for dtype in dtypes:
            certified = changed.certificate.max_length[dtype]
            points[dtype].append((c, largest_correct(changed, dtype, limit), certified))
    drawn = figure(7.2, 4.6)
    axes = drawn.subplots()
    for k, (dtype, row) in enumerate(points.items()):
        colour = DTYPE_COLOURS[dtype]
        shift = 1 + 0.02 * (k - (len(points) - 1) / 2)  # equal lengths stay distinguishable
        at = [c * shift for c, _, _ in row]
        seen = [max(n, 0.5) for _, n, _ in row]
        proved = [max(min(n, limit), 0.5) for _, _, n in row]
        axes.plot(at, seen, color=colour, marker="o", markersize=4, label=f"{dtype}, observed")
        axes.plot(
            at, proved, color=colour, linestyle="--", marker="_", linewidth=1,
            label=f"{dtype}, certified",
        )  # fmt: skip
    axes.axhline(limit, color="#888888", linewidth=1, linestyle="-.")
    axes.annotate(
        f"{limit:,}: not tried further", (0, limit), **_NOTE | {"ha": "left", "xytext": (4, 3)}
    )
    axes.axvline(own, color="#888888", linewidth=1, linestyle=":")
    axes.annotate(
        f"compiled: C = {own:g}", (own, 0.5), xytext=(4, 4), textcoords="offset points",
        fontsize=8, color="#555555",
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(0.4, limit * 2)
    ticks = [2**k for k in range(0, int(np.log2(limit)) + 1, 2)]
    axes.set_yticks([0.5, *ticks], ["none", *(f"{n:,}" for n in ticks)])
    axes.set_xticks(list(sharpness), [f"{c:g}" for c in sharpness])
    axes.minorticks_off()
    axes.set_xlabel("sharpness C of the heads")
    axes.set_ylabel("largest correct length")
    axes.set_title(_title(model), fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(drawn, file)
    return points


_NOTE: dict[str, Any] = {
    "xycoords": ("axes fraction", "data"),
    "xytext": (-4, 3),
    "textcoords": "offset points",
    "ha": "right",
    "fontsize": 8,
    "color": "#555555",
}


def spread(longest: int) -> list[int]:
    """Lengths at equal steps on a logarithmic scale, two for each doubling."""
    steps = int(2 * np.log2(max(longest, 2)))
    lengths = {round(2 ** (k / 2)) for k in range(2, steps + 1)} | {longest}
    return sorted(n for n in lengths if n <= longest)


def _level(axes: Any, value: float, text: str) -> None:
    axes.axhline(value, color="black", linewidth=1.2, linestyle="--")
    axes.annotate(text, (1, value), **_NOTE)


def _title(model: Model) -> str:
    texts = [str(formula) for formula in model.formulas.values()]
    text = "; ".join(texts)
    return (text if len(text) <= 60 else text[:59] + "…") + f"   ({model.attention})"
