"""A causal RASP program as a stock decoder: one output a value, "the value here is this one".

Its attention program is read back as formulas (`softhat.program.read_back`), and these are compiled
for the decoder and claimed of it: selectors become `O`, `#` and `last[…]`, whatever heads softhat's
own architecture has for them. They are what the program means on sequences up to its `max_length`.
"""

from __future__ import annotations

from softhat.frontends.rasp.outputs import Bits, Decoder, DigitValues
from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.models.compiler import compile as compile_model
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.program.read_back import read_back, unsaid

MOST_VALUES = 256
"""Labels of a checkpoint."""


def stock_program(model: ValueModel, context: int) -> Model:
    """The model with an output for each value of the program; none holds where it is undefined."""
    compiled = model.compiled
    if not compiled.causal:
        raise SofthatError(
            f"a stock decoder sees only the past, and {model.name} was compiled to see the whole "
            "sequence: compile it with causal=True (--causal), or export it with to_torch, "
            "to_huggingface or to_onnx"
        )
    if context - 1 > compiled.max_length:
        raise SofthatError(
            f"{model.name} was compiled for sequences up to {compiled.max_length:,}, and a context "
            f"of {context:,} has longer ones: give context={compiled.max_length + 1}, or compile "
            f"it with max_length={context - 1}"
        )
    if compiled.program.numbers:
        raise SofthatError(
            f"the values of {model.name} are sums or means, and a stock decoder's labels are "
            "categories: compare them or map them to categories, or export the program with "
            "to_torch, to_huggingface or to_onnx"
        )
    if not compiled.program.outputs:
        raise SofthatError(
            f"{model.name} has no value anywhere: with causal=True it sees nothing to the right"
        )
    bits = read_back(compiled.program)
    if bits is None:
        raise SofthatError(
            f"{model.name} has a head that no formula says, {unsaid(compiled.program)}, and a "
            "stock decoder computes formulas: export it with to_torch, to_huggingface or to_onnx"
        )
    return compile_model(_by_value(compiled.decoder, bits, model.name), compiled.program.symbols)


def _by_value(decoder: Decoder, bits: dict[str, Formula], name: str) -> dict[str, Formula]:
    """A formula for each value."""
    match decoder:
        case Bits():
            return bits
        case DigitValues(names, defined, values) if len(values) <= MOST_VALUES:
            there = [bits[defined]] if defined is not None else []
            digits = [bits[digit] for digit in names]
            return {
                f"is {value!r}": nodes.all_of(
                    [*there, *(d if at >> b & 1 else nodes.Not(d) for b, d in enumerate(digits))]
                )
                for at, value in enumerate(values)
            }
    raise SofthatError(
        f"{name} has too many values for labels of a stock decoder, which are at most {MOST_VALUES}"
    )
