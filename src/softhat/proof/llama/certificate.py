"""For which number formats and lengths a Llama export is proved right.

What the weights compute is derived in `reading`, from the weights as each format stores them; the
bounds are in `bounds`. Of a disguised checkpoint `undisguise` reads the plain one that it stands
for, and `dense_bounds` has the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.llama.bounds import LlamaBounds
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_bounds import LlamaDenseBounds
from softhat.proof.llama.reading import LlamaDerivation, derive
from softhat.proof.llama.undisguise import undisguise
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.certificate import (
    FormatVerdict,
    StockCertificate,
    attention_assumptions,
    dense_verdicts,
    longest,
    or_reason,
    or_void,
    running_assumptions,
)
from softhat.proof.stock.ledger import check_llama
from softhat.proof.stock.storage import STORAGES
from softhat.transformer.directions import Directions


def certify(
    checkpoint: LlamaCheckpoint,
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
    if directions is None:
        verdicts, void = _plain(checkpoint, formulas, kernel, margin)
    else:
        claimed = directions
        verdicts, void = or_void(lambda: _disguised(checkpoint, formulas, kernel, margin, claimed))
    disguised = directions is not None
    return StockCertificate(
        target=checkpoint.family,
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
    )


def _plain(
    c: LlamaCheckpoint, formulas: Mapping[str, Claimed], kernel: str, margin: float | None
) -> tuple[dict[str, FormatVerdict], tuple[str, ...]]:
    """float64 stores what float32 does, and float32 holds every weight: what is not derived there
    is not derived at all."""
    stored = {storage.storage: storage for storage in STORAGES}
    derived = {dtype: _derived(c, formulas, storage) for dtype, storage in stored.items()}
    verdicts = {}
    for storage in STORAGES:
        found = derived[storage.storage]
        if isinstance(found, str):
            verdicts[storage.name] = FormatVerdict(0, found, {})
            continue
        bounds = LlamaBounds(found, kernel == "sdpa", storage, margin)
        most = c.context - 1
        verdicts[storage.name] = longest(bounds.check_counts, most, bounds.bounds, bounds.check)
    plain = derived[STORAGES[0].storage]
    return verdicts, (plain,) if isinstance(plain, str) else ()


def _derived(
    checkpoint: LlamaCheckpoint, formulas: Mapping[str, Claimed], storage: Format
) -> LlamaDerivation | str:
    """What the weights compute as the format stores them, or why that is not known."""
    stored = checkpoint.stored_as(storage.storage)
    for name, tensor in stored.tensors.items():
        if not np.isfinite(tensor).all():
            return f"{name} has an entry that {storage.name} does not hold as a finite number"

    def read() -> LlamaDerivation:
        check_llama(stored)
        return derive(stored, formulas)

    return or_reason(read)


def _disguised(
    c: LlamaCheckpoint,
    formulas: Mapping[str, Claimed],
    kernel: str,
    margin: float | None,
    directions: Directions,
) -> dict[str, FormatVerdict]:
    for name, tensor in c.tensors.items():
        if not np.isfinite(tensor).all():
            raise VoidError(f"{name} has an entry that is not a finite number")
    plain = undisguise(c, directions)
    found = derive(plain.checkpoint, formulas)
    return dense_verdicts(
        lambda: LlamaDenseBounds(found, plain, c, directions, kernel == "sdpa", margin),
        c.context - 1,
    )


def not_left(kernel: str) -> tuple[str, ...]:
    """The formats in which padding on the left is not proved.

    Padding on the left has rows that see no key: eager attention adds the least number of the
    format to each score there. In float16 that and a score below -16 is -inf, and float64's is in
    float32, in which Llama's softmax is taken. A row of -inf is not a number after the softmax, and
    the next block's heads read it. (In bfloat16 and float32 the least number absorbs every score;
    fused attention adds in float32.)
    """
    return ("float16", "float64") if kernel == "eager" else ()


def assumptions(kernel: str, disguised: bool = False) -> list[str]:
    """What the proof takes for granted."""
    return [
        "matrix products and softmax accumulate in float32, or float64 where that is stored (no "
        "TF32, no reduced-precision reductions); results are rounded once to the storage format",
        *attention_assumptions(kernel, disguised),
        "silu is accurate to four units in the last place",
        "RMSNorm computes in float32; its mean square has a relative error of at most "
        "min(d + 4, 256)·2^-24, its reciprocal root of two units in the last place; where all "
        "squares are integers of mean 1 the factor is exactly 1",
        "rotary frequencies and angles are computed in float32, frequencies within 8·2^-24 of "
        "1/θ^(2p/d)/factor, sines within one unit in the last place, and stored in the storage "
        "format: the checkpoint is loaded in its format by from_pretrained(dtype=…), because "
        "model.to(…) would round the frequencies themselves",
        "1/√head_dim is a power of two (head_dim is 16 or 64), so dividing scores by it is exact",
        *running_assumptions(not_left(kernel)),
    ]
