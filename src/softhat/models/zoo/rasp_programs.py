"""Tasks that are given as RASP programs: what they answer are values, not only true and false."""

from __future__ import annotations

from softhat.frontends.rasp.gallery import GALLERY
from softhat.models.zoo.entry import Entry

ENTRIES = [
    Entry(
        f"rasp-{name}",
        example.title,
        "RASP",
        name,
        tuple(map(str, example.alphabet)),
        example.known,
        kind="rasp",
        example="".join(map(str, example.word)),
    )
    for name, example in GALLERY.items()
]
