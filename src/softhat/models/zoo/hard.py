"""Tasks that are given as hard-attention transformers: the gallery of `softhat.ahat`."""

from __future__ import annotations

from softhat.ahat.gallery import GALLERY
from softhat.models.zoo.entry import Entry

_KNOWN = {
    "majority": "Uniform attention: structurally uniform, so softmax is exact (Hao 2022).",
    "first-token": "One tieless head; the gap is constant in n (Yang 2026).",
    "last-token": "Scores j/n: the gap is 1/n, so β grows as n (Yang 2026).",
    "last-by-inverse": "Scores -1/j: the gap is about 1/n², so β grows as n² log n (Yang 2026).",
    "previous-token": "The step of every n-gram and of induction (Olsson 2022).",
    "induction-latest": "An induction head: what followed the last occurrence of this symbol (Olsson 2022).",
    "induction-average": "Induction over all occurrences: tied heads (Olsson 2022).",
    "histogram": "RASP's first example: how often has my symbol occurred (Weiss 2021)?",
    "sort": "RASP's sort as hard attention (Weiss 2021).",
    "reverse": "RASP's reverse as hard attention (Weiss 2021).",
    "dyck-argmin": "Dyck-1 by the least prefix average: ties that are dangerous under softmax (Yang 2026).",
    "parity": "PARITY by attention that knows n (Chiang 2022).",
}
_DEFAULT = (
    "Average-hard attention, simulated by softmax at a temperature set by its gap (Yang 2026)."
)

ENTRIES = [
    Entry(
        f"ahat-{name}",
        (make.__doc__ or name).strip().splitlines()[0].rstrip("."),
        "hard attention",
        name,
        make().alphabet,
        _KNOWN.get(name, _DEFAULT),
        kind="ahat",
    )
    for name, make in GALLERY.items()
]
