"""For which number formats and lengths a GPT-2 export is proved right.

What the weights compute is derived in `reading`, the bounds are in `bounds`; of a disguised
checkpoint `undisguise` reads the plain one that it stands for, and `dense_bounds` has the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.io.errors import VoidError
from softhat.proof.gpt2.bounds import Bounds
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.dense_bounds import GPT2DenseBounds
from softhat.proof.gpt2.reading import derive
from softhat.proof.gpt2.undisguise import undisguise
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.certificate import (
    FormatVerdict,
    StockCertificate,
    attention_assumptions,
    dense_verdicts,
    longest,
    or_void,
    running_assumptions,
)
from softhat.proof.stock.ledger import check_gpt2
from softhat.proof.stock.storage import STORAGES
from softhat.transformer.directions import Directions


def certify(
    checkpoint: GPT2Checkpoint,
    formulas: Mapping[str, Claimed],
    kernel: str,
    margin: float | None = None,
    directions: Directions | None = None,
) -> StockCertificate:
    """The longest words, up to the context, for each storage format, from the weights alone.

    `formulas` are what the checkpoint is claimed to compute: one for a classifier, one for each
    token for a language model, whose logits are claimed to be `margin` apart. `directions`, of a
    disguised checkpoint, are claims too.
    """

    def prove() -> dict[str, FormatVerdict]:
        if directions is None:
            return _plain(checkpoint, formulas, kernel, margin)
        return _disguised(checkpoint, formulas, kernel, margin, directions)

    verdicts, void = or_void(prove)
    disguised = directions is not None
    return StockCertificate(
        target="gpt2",
        context=checkpoint.context,
        kernel=kernel,
        margin=margin,
        verdicts=verdicts,
        assumptions=tuple(assumptions(kernel, disguised)),
        not_left=not_left(kernel),
        void=void,
        disguised=disguised,
        weights=checkpoint.weights,
        greedy=checkpoint.greedy,
        tokens=len(checkpoint.symbols) + 2,
        activation=checkpoint.activation,
    )


def _plain(
    c: GPT2Checkpoint, formulas: Mapping[str, Claimed], kernel: str, margin: float | None
) -> dict[str, FormatVerdict]:
    check_gpt2(c)
    derived = derive(c, formulas)
    found = {}
    for storage in STORAGES:
        bounds = Bounds(derived, kernel == "sdpa", storage, margin)
        most = c.context - 1
        found[storage.name] = longest(bounds.check_length, most, bounds.bounds, bounds.check)
    return found


def _disguised(
    c: GPT2Checkpoint,
    formulas: Mapping[str, Claimed],
    kernel: str,
    margin: float | None,
    directions: Directions,
) -> dict[str, FormatVerdict]:
    if c.activation != "relu":
        raise VoidError("a disguised checkpoint is proved with the activation relu only")
    plain = undisguise(c, directions)
    found = derive(plain.checkpoint, formulas)
    return dense_verdicts(
        lambda: GPT2DenseBounds(found, c, plain, directions, kernel == "sdpa", margin),
        c.context - 1,
    )


def not_left(kernel: str) -> tuple[str, ...]:
    """The formats in which padding on the left is not proved.

    Padding on the left has rows that see no key: eager attention adds the least number of the
    format to each score there, and in float16 that and a score below -16 is -inf. A row of -inf
    is not a number after the softmax, and the next block's heads read it. (In bfloat16 and
    float32 the least number absorbs every score; fused attention adds in float32.)
    """
    return ("float16",) if kernel == "eager" else ()


def assumptions(kernel: str, disguised: bool = False) -> list[str]:
    """What the proof takes for granted."""
    return [
        "matrix products, LayerNorm and softmax accumulate in float32, or float64 where that is "
        "stored (no TF32, no reduced-precision reductions); results are rounded once to the "
        "storage format",
        *attention_assumptions(kernel, disguised),
        "tanh is accurate to one unit in the last place (gelu_new)",
        "LayerNorm's mean and variance have a relative error of at most min(d + 64, 256)·2^-24",
        "1/√d_head is a power of two (d_head is 16 or 64), so dividing scores by it is exact",
        *running_assumptions(not_left(kernel)),
    ]
