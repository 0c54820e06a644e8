"""Models of regular languages that have no formula: by counting, or in logarithmic depth."""

from __future__ import annotations

from collections.abc import Sequence

from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.outputs import DigitValues
from softhat.frontends.regular.counting import MOST_COUNTED, counted_program, permutation_reset
from softhat.frontends.regular.doubling import MEMBER, LogDepth, doubled, rounds_of
from softhat.io.plural import plural
from softhat.models.value_model import ValueModel
from softhat.program.signals import Program
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention


def regular_model(
    language: LogDepth, symbols: Sequence[str], attention: Attention, longest: int
) -> ValueModel:
    """The model of a language for words up to `longest`; `depth` says how it is computed, and why.

    Counting is taken if the language allows it, the model is the smaller one, and its certificate
    reaches the length in float32.
    """

    def model(program: Program, depth: str) -> ValueModel:
        answer = DigitValues((MEMBER,), None, (False, True))
        compiled = Compiled(program, tuple(symbols), answer, longest, causal=True)
        return ValueModel(lower(program, attention), compiled, language.text, depth, language)

    rounds = rounds_of(longest) if isinstance(longest, int) else 0
    doubling = model(
        doubled(language, symbols, longest),
        f"logarithmic: {rounds} rounds of doubling for words up to {longest:,}",
    )
    if not language.may_count:
        return doubling
    machine = permutation_reset(language.dfa)
    if isinstance(machine, str):
        doubling.depth = f"{doubling.depth}; counting cannot do it, because {machine}"
        return doubling
    if longest > MOST_COUNTED:
        doubling.depth = f"{doubling.depth}; no count of that many is certified in float32"
        return doubling
    orders = " and ".join(map(str, machine.orders))
    counting = model(counted_program(language.dfa, machine, symbols, longest, MEMBER), "")
    counting.depth = (
        f"counting: {plural(counting.size.layers, 'layer')} whatever the length, numbers of "
        f"positions modulo {orders}; {counting.size.parameters:,} parameters, "
        f"{doubling.size.parameters:,} by {rounds} rounds of doubling"
    )
    smaller = counting.size.parameters < doubling.size.parameters
    if smaller and counting.certificate.max_length["float32"] == longest:
        return counting
    why = "its certificate is shorter in float32" if smaller else "it is larger"
    doubling.depth = f"{doubling.depth}; counting could do it, but {why}"
    return doubling
