"""For which number formats and lengths a GPT-2 export is proved right: `certificate.json`.

What the weights compute is derived in `reading`, the bounds are in `bounds`; here is what they
add up to, and what they assume of the software that runs the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from softhat.logic.sources import Weights
from softhat.logic.syntax.nodes import Formula
from softhat.proof.boolean import MOST_NODES, TooLargeError
from softhat.proof.cells import VoidError
from softhat.proof.document import document
from softhat.proof.gpt2.bounds import Bounds
from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.proof.gpt2.dense_bounds import GPT2DenseBounds
from softhat.proof.gpt2.reading import Derivation, derive
from softhat.proof.gpt2.undisguise import undisguise
from softhat.proof.stock.storage import BLOCK, STORAGES, NotProvedError, Storage
from softhat.transformer.directions import Directions


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is proved for one storage format: the longest word, and why not more."""

    max_length: int
    reason: str
    bounds: dict[str, float]


@dataclass(frozen=True, slots=True)
class GPT2Certificate:
    """Lengths of words (without `<bos>`) for which every answer is proved right."""

    context: int
    kernel: str
    activation: str
    margin: float | None
    verdicts: dict[str, Verdict]
    void: tuple[str, ...] = ()
    """Why the weights are not proved to compute the formulas at all; empty if they are."""
    disguised: bool = False
    weights: Weights | None = None
    """The log-weights of a language model's tokens, where it states any."""

    @property
    def max_length(self) -> dict[str, int]:
        return {name: verdict.max_length for name, verdict in self.verdicts.items()}

    def to_json(self) -> dict[str, Any]:
        margin: dict[str, Any] = {} if self.margin is None else {"margin": self.margin}
        return document(
            "export",
            self.max_length,
            assumptions(self.kernel, self.disguised),
            target="gpt2",
            disguised=self.disguised,
            context=self.context,
            kernel=self.kernel,
            activation=self.activation,
            **margin,
            **({} if self.weights is None else {"weights": self.weights}),
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
    checkpoint: Checkpoint,
    formulas: Mapping[str, Formula],
    kernel: str,
    margin: float | None = None,
    directions: Directions | None = None,
) -> GPT2Certificate:
    """The longest words, up to the context, for each storage format, from the weights alone.

    `formulas` are what the checkpoint is claimed to compute: one for a classifier, one for each
    token for a language model, whose logits are claimed to be `margin` apart. `directions`, of a
    disguised checkpoint, are claims too.
    """
    reason = ""
    try:
        if directions is None:
            found = derive(checkpoint, formulas)
            verdicts = {s.name: _verdict(found, kernel, s, margin) for s in STORAGES}
        else:
            verdicts = _disguised(checkpoint, formulas, kernel, margin, directions)
    except VoidError as error:
        reason = str(error)
    except TooLargeError:
        reason = f"a Boolean function needs more than {MOST_NODES:,} nodes: not decided"
    except ArithmeticError as error:
        reason = f"the weights lead to numbers that float64 does not hold ({error})"
    if reason:
        verdicts = {storage.name: Verdict(0, reason, {}) for storage in STORAGES}
    stated = (checkpoint.context, kernel, checkpoint.activation, margin)
    disguised = directions is not None
    void = (reason,) if reason else ()
    return GPT2Certificate(*stated, verdicts, void, disguised, checkpoint.weights)


def _disguised(
    c: Checkpoint,
    formulas: Mapping[str, Formula],
    kernel: str,
    margin: float | None,
    directions: Directions,
) -> dict[str, Verdict]:
    """A dense basis is for float32; what float64 computes with the same weights errs less."""
    if c.activation != "relu":
        raise VoidError("a disguised checkpoint is proved with the activation relu only")
    if c.weights is not None:
        raise VoidError("a disguised checkpoint is proved without log-weights only")
    plain = undisguise(c, directions)
    found = derive(plain.checkpoint, formulas)
    narrow = Verdict(0, "a disguised checkpoint is proved in float32 and float64 only", {})
    try:
        bounds = GPT2DenseBounds(found, c, plain, directions, kernel == "sdpa", margin)
        wide = longest(bounds.check, c.context - 1, bounds.bounds)
    except NotProvedError as failure:
        wide = Verdict(0, str(failure), {})
    return {s.name: wide if s.wide else narrow for s in STORAGES}


def _verdict(found: Derivation, kernel: str, storage: Storage, margin: float | None) -> Verdict:
    most = found.checkpoint.context - 1
    bounds = Bounds(found, kernel == "sdpa", storage, margin)
    try:
        bounds.check()
    except NotProvedError as failure:
        return Verdict(0, str(failure), {})
    return longest(bounds.check_length, most, bounds.bounds)


def longest(check: Callable[[int], None], most: int, bounds: dict[str, float]) -> Verdict:
    """The longest words that pass: errors only grow with the length, so bisect."""
    found, too_long, reason = 0, most + 1, ""
    trial = most
    while too_long - found > 1:
        try:
            check(trial)
            found = trial
        except NotProvedError as failure:
            too_long, reason = trial, str(failure)
        trial = (found + too_long) // 2
    return Verdict(found, reason, {name: float(f"{size:.6g}") for name, size in bounds.items()})


def padding(kernel: str, dtype: str) -> tuple[str, ...]:
    """The sides on which words of a batch may be padded.

    Padding on the left has rows that see no key: eager attention adds the least number of the
    format to each score there, and in float16 that and a score below -16 is -inf. A row of -inf
    is not a number after the softmax, and the next block's heads read it. (In bfloat16 and
    float32 the least number absorbs every score; fused attention adds in float32.)
    """
    return ("right",) if (kernel, dtype) == ("eager", "float16") else ("left", "right")


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
        "matrix products, LayerNorm and softmax accumulate in float32, or float64 where that is "
        "stored (no TF32, no reduced-precision reductions); results are rounded once to the "
        "storage format",
        fused if kernel == "sdpa" else eager,
        "softmax subtracts the row's maximum; exp has a relative error of at most 1/1000, and "
        "exp(0) = 1",
        *near_zero,
        "tanh is accurate to one unit in the last place (gelu_new)",
        "LayerNorm's mean and variance have a relative error of at most min(d + 64, 256)·2^-24",
        "1/√d_head is a power of two (d_head is 16 or 64), so dividing scores by it is exact",
        "<bos> is the first token, at position 0; padding stands on the right, or "
        + ("(but not in float16) " if kernel == "eager" else "")
        + "on the left, masked, with position_ids that start at <bos>",
        "evaluation mode (dropout is 0 in the configuration)",
    ]
