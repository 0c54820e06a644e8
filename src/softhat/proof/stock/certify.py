"""The certificate of a stock checkpoint, from its weights alone, whatever its architecture."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.proof.gpt2.certificate import GPT2Prover
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.certificate import LlamaProver
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.certificate import Prover, StockCertificate
from softhat.transformer.directions import Directions


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
    prover: Prover
    if isinstance(checkpoint, GPT2Checkpoint):
        prover = GPT2Prover(checkpoint, formulas, kernel, margin)
        target, activation = "gpt2", checkpoint.activation
    else:
        prover = LlamaProver(checkpoint, formulas, kernel, margin)
        target, activation = checkpoint.family, None
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
