"""The kinds of heads that stock decoders have: one file a kind, whose docstrings are theorems."""

from __future__ import annotations

from softhat.transformer.lowering.stock.heads.digit import DIGIT
from softhat.transformer.lowering.stock.heads.kind import LoweredKind
from softhat.transformer.lowering.stock.heads.latest import LATEST
from softhat.transformer.lowering.stock.heads.previous import PREVIOUS
from softhat.transformer.lowering.stock.heads.recall import RECALL
from softhat.transformer.lowering.stock.heads.shift import SHIFT
from softhat.transformer.lowering.stock.heads.sign import SIGN

KINDS: dict[str, LoweredKind] = {
    "Latest": LATEST,
    "Recall": RECALL,
    "Previous": PREVIOUS,
    "Shift": SHIFT,
    "Average": LoweredKind(),
    "Sign": SIGN,
    "Digit": DIGIT,
}
"""By the names of the program's heads. An Average has no scores."""
