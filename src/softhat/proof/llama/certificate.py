"""For which number formats and lengths a Llama export is proved right: `certificate.json`.

What the weights compute is derived in `reading`, from the weights as each format stores them; the
bounds are in `bounds`; here is what they add up to, and what they assume of the software that runs
the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from softhat.logic.syntax.nodes import Formula
from softhat.proof.boolean import MOST_NODES, TooLargeError
from softhat.proof.cells import VoidError
from softhat.proof.document import document
from softhat.proof.gpt2.certificate import Verdict, longest
from softhat.proof.llama.bounds import Bounds
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_bounds import LlamaDenseBounds
from softhat.proof.llama.reading import Derivation, derive
from softhat.proof.llama.undisguise import Plain, undisguise
from softhat.proof.stock.storage import BLOCK, STORAGES, NotProvedError, Storage
from softhat.transformer.directions import Directions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LlamaCertificate:
    """Lengths of words (without `<bos>`) for which every answer is proved right."""

    family: str
    context: int
    kernel: str
    margin: float | None
    verdicts: dict[str, Verdict]
    void: tuple[str, ...] = ()
    """Why the weights are not proved to compute the formulas at all; empty if they are."""
    disguised: bool = False

    @property
    def max_length(self) -> dict[str, int]:
        return {name: verdict.max_length for name, verdict in self.verdicts.items()}

    def to_json(self) -> dict[str, Any]:
        margin: dict[str, Any] = {} if self.margin is None else {"margin": self.margin}
        return document(
            "export",
            self.max_length,
            assumptions(self.kernel, self.disguised),
            target=self.family,
            disguised=self.disguised,
            context=self.context,
            kernel=self.kernel,
            **margin,
            formats={
                name: {
                    "certified": verdict.max_length == self.context - 1,
                    "max_length": verdict.max_length,
                    "padding": list(padding(self.kernel, name)) if verdict.max_length else [],
                    "reason": verdict.reason,
                    "bounds": verdict.bounds,
                }
                for name, verdict in self.verdicts.items()
            },
        )


def certify(
    checkpoint: LlamaCheckpoint,
    formulas: Mapping[str, Formula],
    kernel: str,
    margin: float | None = None,
    directions: Directions | None = None,
) -> LlamaCertificate:
    """The longest words, up to the context, for each storage format, from the weights alone.

    `formulas` are what the checkpoint is claimed to compute: one for a classifier, one for each
    token for a language model, whose logits are claimed to be `margin` apart. `directions`, of a
    disguised checkpoint, are claims too.
    """
    stated = (checkpoint.family, checkpoint.context, kernel, margin)
    if directions is not None:
        verdicts, void = _disguised(checkpoint, formulas, kernel, margin, directions)
        return LlamaCertificate(*stated, verdicts, void, True)
    # float64 stores what float32 does, and float32 holds every weight: what is not derived there is
    # not derived at all.
    stored = {storage.dtype: storage for storage in STORAGES}
    derived = {d: _derived(checkpoint, formulas, s) for d, s in stored.items()}
    verdicts = {}
    for storage in STORAGES:
        found = derived[storage.dtype]
        if isinstance(found, str):
            verdicts[storage.name] = Verdict(0, found, {})
        else:
            verdicts[storage.name] = _verdict(found, kernel, storage, margin)
    plain = derived[STORAGES[0].dtype]
    void = (plain,) if isinstance(plain, str) else ()
    return LlamaCertificate(*stated, verdicts, void)


def _disguised(
    c: LlamaCheckpoint,
    formulas: Mapping[str, Formula],
    kernel: str,
    margin: float | None,
    directions: Directions,
) -> tuple[dict[str, Verdict], tuple[str, ...]]:
    """A dense basis is for float32; what float64 computes with the same weights errs less."""
    for name, tensor in c.tensors.items():
        if not np.isfinite(tensor).all():
            raise VoidError(f"{name} has an entry that is not a finite number")

    def read() -> tuple[Derivation, Plain]:
        plain = undisguise(c, directions)
        return derive(plain.checkpoint, formulas), plain

    found = _or_reason(read)
    if isinstance(found, str):
        return {s.name: Verdict(0, found, {}) for s in STORAGES}, (found,)
    narrow = Verdict(0, "a disguised checkpoint is proved in float32 and float64 only", {})
    try:
        bounds = LlamaDenseBounds(*found, c, directions, kernel == "sdpa", margin)
        wide = longest(bounds.check, c.context - 1, bounds.bounds)
    except NotProvedError as failure:
        wide = Verdict(0, str(failure), {})
    return {s.name: wide if s.wide else narrow for s in STORAGES}, ()


def _derived(
    checkpoint: LlamaCheckpoint, formulas: Mapping[str, Formula], storage: Storage
) -> Derivation | str:
    """What the weights compute as the format stores them, or why that is not known."""
    stored = checkpoint.stored_as(storage.dtype)
    for name, tensor in stored.tensors.items():
        if not np.isfinite(tensor).all():
            return f"{name} has an entry that {storage.name} does not hold as a finite number"
    return _or_reason(lambda: derive(stored, formulas))


def _or_reason(read: Callable[[], T]) -> T | str:
    """What was read, or why that is not known."""
    try:
        return read()
    except VoidError as error:
        return str(error)
    except TooLargeError:
        return f"a Boolean function needs more than {MOST_NODES:,} nodes: not decided"
    except ArithmeticError as error:
        return f"the weights lead to numbers that float64 does not hold ({error})"


def _verdict(found: Derivation, kernel: str, storage: Storage, margin: float | None) -> Verdict:
    most = found.checkpoint.context - 1
    bounds = Bounds(found, kernel == "sdpa", storage, margin)
    try:
        bounds.check()
    except NotProvedError as failure:
        return Verdict(0, str(failure), {})
    return longest(bounds.check_counts, most, bounds.bounds)


def padding(kernel: str, dtype: str) -> tuple[str, ...]:
    """The sides on which words of a batch may be padded.

    Padding on the left has rows that see no key: eager attention adds the least number of the
    format to each score there. In float16 that and a score below -16 is -inf, and float64's is in
    float32, in which Llama's softmax is taken. A row of -inf is not a number after the softmax, and
    the next block's heads read it. (In bfloat16 and float32 the least number absorbs every score;
    fused attention adds in float32.)
    """
    not_left = kernel == "eager" and dtype in ("float16", "float64")
    return ("right",) if not_left else ("left", "right")


def assumptions(kernel: str, disguised: bool = False) -> list[str]:
    """What the proof takes for granted."""
    near_zero = (
        ["exp has a relative error of at most 32·2^-24 between -1 and 0"] if disguised else []
    )
    fused = (
        f"scores and softmax in float32, scores not rounded to the storage format; sums over keys "
        f"within ({BLOCK} + n/{BLOCK})·2^-24 of the sum of magnitudes (PyTorch's fused CPU kernel "
        f"adds blocks of {BLOCK}); divided by the sum of weights last"
    )
    eager = (
        "scores and weights are rounded to the storage format, the softmax itself and all sums "
        "are in float32 in any order; weights are normalised before they are summed"
    )
    return [
        "matrix products and softmax accumulate in float32, or float64 where that is stored (no "
        "TF32, no reduced-precision reductions); results are rounded once to the storage format",
        fused if kernel == "sdpa" else eager,
        "softmax subtracts the row's maximum; exp has a relative error of at most 1/1000, and "
        "exp(0) = 1",
        *near_zero,
        "silu is accurate to four units in the last place",
        "RMSNorm computes in float32; its mean square has a relative error of at most "
        "min(d + 4, 256)·2^-24, its reciprocal root of two units in the last place; where all "
        "squares are integers of mean 1 the factor is exactly 1",
        "rotary frequencies and angles are computed in float32, frequencies within 8·2^-24 of "
        "1/θ^(2p/d)/factor, sines within one unit in the last place, and stored in the storage "
        "format: the checkpoint is loaded in its format by from_pretrained(dtype=…), because "
        "model.to(…) would round the frequencies themselves",
        "1/√head_dim is a power of two (head_dim is 16 or 64), so dividing scores by it is exact",
        "<bos> is the first token, at position 0; padding stands on the right, or "
        + ("(but not in float16 and float64) " if kernel == "eager" else "")
        + "on the left, masked, with position_ids that start at <bos>",
        "evaluation mode (dropout is 0 in the configuration)",
    ]
