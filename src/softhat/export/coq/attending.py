"""What a theorem says of a model's attention: softmax at its temperature, or hard attention.

Both kinds of theorem are about the same weights and the same check. A hard model's says
`Hard.hard_logit` where the others say `Model.logit`, and has no temperature.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.transformer.weights import Attention


@dataclass(frozen=True, slots=True)
class Attending:
    """The parts of a theorem that depend on the attention."""

    kind: str
    """What the model is, in the title of the file."""
    checks: str
    """A check of the weights, besides that of the evidence."""
    variables: str
    """What the theorem is about, besides outputs and positions."""
    premise: str
    logit: str
    """The output, without its number and position."""
    mark: str
    """In the names of the theorems that it rests on."""
    arguments: str
    """What those are given besides `checks`."""


SOFTMAX = Attending(
    kind="softmax transformer",
    checks="",
    variables="n P w q",
    premise="scale_ok weights n P -> ",
    logit="logit weights n P w q",
    mark="",
    arguments="",
)
HARD = Attending(
    kind="hard-attention transformer",
    checks=(
        "From Softhat Require Import Hard.\n\n"
        "Lemma one_temperature : uniform weights = true.\n"
        "Proof. vm_compute. reflexivity. Qed.\n\n"
    ),
    variables="n w q",
    premise="",
    logit="hard_logit weights n w q",
    mark="_hard",
    arguments=" one_temperature",
)


def attending(attention: Attention) -> Attending:
    return HARD if attention == "hard" else SOFTMAX
