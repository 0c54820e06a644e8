"""The certificate of a stock checkpoint, from its weights alone, whatever its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from softhat.proof.dense.bounds import DenseBounds
from softhat.proof.dense.plain import Undisguised
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.dense_scores import DensePairs
from softhat.proof.gpt2.undisguise import undisguise as undisguise_gpt2
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_scores import DenseTurns
from softhat.proof.llama.undisguise import undisguise as undisguise_llama
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.certificate import LengthBounds, Prover, StockCertificate
from softhat.proof.stock.derivation import StockDerivation, derive
from softhat.transformer.directions import Directions


def undisguised(
    checkpoint: GPT2Checkpoint | LlamaCheckpoint, directions: Directions
) -> Undisguised:
    """The plain checkpoint that a disguised one stands for, if its directions are as claimed."""
    if isinstance(checkpoint, GPT2Checkpoint):
        return undisguise_gpt2(checkpoint, directions)
    return undisguise_llama(checkpoint, directions)


def dense_bounds(
    stands_for: Undisguised,
    derived: StockDerivation,
    directions: Directions,
    fused: bool,
    margin: float | None,
) -> DenseBounds:
    """The bounds of a disguised checkpoint."""
    scores = DenseTurns if derived.architecture.turns else DensePairs
    return DenseBounds(stands_for, derived, directions, fused, margin, scores)


def certify(
    checkpoint: GPT2Checkpoint | LlamaCheckpoint,
    formulas: Mapping[str, Claimed],
    kernel: str,
    margin: float | None = None,
    directions: Directions | None = None,
) -> StockCertificate:
    """The longest words, up to the context, for each storage format.

    `formulas` are what the checkpoint is claimed to compute: one for a classifier, one for each
    token for a language model, whose logits are claimed to be `margin` apart. `directions`, of a
    disguised checkpoint, are claims too.
    """
    fused = kernel == "sdpa"

    def dense(directions: Directions) -> Callable[[], LengthBounds]:
        stands_for = undisguised(checkpoint, directions)
        derived = derive(stands_for.checkpoint, formulas)
        return lambda: dense_bounds(stands_for, derived, directions, fused, margin)

    if isinstance(checkpoint, GPT2Checkpoint):
        target, activation = "gpt2", checkpoint.activation
    else:
        target, activation = checkpoint.family, None
    prover = Prover(checkpoint, formulas, kernel, margin, dense)
    verdicts, void = prover.verdicts(directions)
    disguised = directions is not None
    return StockCertificate(
        target=target,
        context=checkpoint.context,
        kernel=kernel,
        margin=margin,
        verdicts=verdicts,
        assumptions=prover.assumptions(disguised),
        not_left=prover.not_left(),
        void=void,
        disguised=disguised,
        weights=checkpoint.weights,
        greedy=checkpoint.greedy,
        tokens=len(checkpoint.symbols) + 2,
        activation=activation,
    )
