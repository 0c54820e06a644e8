"""A model that says what comes next, run on its own tokens: a stream, constant work a token.

The model has an output for each symbol, "this one comes next", and perhaps one for `<eos>`. The
softmax stepper reads all of them off at once, and the largest margin wins. Where softhat's own
architecture has no head for what the program asks (a Recall of many digits) the program itself is
run in hard attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, get_args

from softhat.io.errors import SofthatError, not_certified
from softhat.numerics.formats import format_of
from softhat.runtime.hard_stepper import Step
from softhat.runtime.linear.kernels import Word as Known
from softhat.runtime.linear.runtime import ENDLESS
from softhat.runtime.linear.stepper import Stepper
from softhat.transformer.weights import BOS, EOS

if TYPE_CHECKING:
    from softhat.runtime.answers import Answers

How = Literal["auto", "linear", "hard"]


def check_asked(
    runtime: str, max_tokens: object, outputs: Iterable[str], symbols: Iterable[str]
) -> None:
    """The runtime is one, tokens are a number, and every output is a token that may come next."""
    if runtime not in get_args(How):
        raise SofthatError(f"unknown runtime {runtime!r}: choose one of {', '.join(get_args(How))}")
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 0:
        raise SofthatError(f"max_tokens is {max_tokens!r}: give a whole number from 0 up")
    if not set(symbols) <= set(outputs) <= {*symbols, EOS}:
        raise SofthatError(
            "only a model with one output for each symbol (and perhaps one for <eos>), each saying "
            "where it may come next, can generate"
        )


def tokens_of(prompt: str | Iterable[str], symbols: Iterable[str]) -> list[str]:
    """The names of a prompt's tokens, of which there is at least one."""
    names = prompt.split() if isinstance(prompt, str) else list(prompt)
    if names[:1] == [BOS]:
        names = names[1:]
    if not names:
        raise SofthatError("the prompt is empty: a machine's begins with m.prompt(input)")
    known = frozenset(symbols)
    for at, name in enumerate(names):
        if name not in known:
            raise SofthatError(f"token {at + 1} of the prompt is {name!r}, which the model has not")
    return names


def generated(
    step: Step, outputs: tuple[str, ...], symbols: tuple[str, ...], prompt: list[str], most: int
) -> Iterator[str]:
    """What comes after the prompt, until `<eos>`, until nothing may come, or `most` tokens."""
    codes = {symbol: code for code, symbol in enumerate(symbols)}
    place = -1
    for name in prompt:
        place = step(codes[name])
    for _ in range(most):
        if place < 0:
            return
        name = outputs[place]
        yield name
        if name == EOS:
            return
        place = step(codes[name])


def softmax_step(model: Answers, dtype: str, strict: bool) -> Step:
    """The weights, a token at a time: the output with the largest margin, if it is above 0."""
    linear = model.linear(dtype)
    if not linear.streamable:
        raise SofthatError("this model looks to the right: what comes next is not known")
    known = Known(None, ENDLESS if model.attention == "temperature" else 1.0)
    states = linear.fresh()
    linear.advance(states, linear.sink(0), 0, known)
    stepper = Stepper(linear)
    warn = _watch(model, dtype, strict)
    position = 0

    def step(token: int) -> int:
        nonlocal position
        position += 1
        warn(position)
        margins = stepper.step(states, token, position, known)
        largest = max(margins)
        return margins.index(largest) if largest > 0 else -1

    return step


def _watch(model: Answers, dtype: str, strict: bool) -> Callable[[int], None]:
    """Past the certified length a token may be wrong: say so once, or refuse."""
    limit = model.certified_length(dtype, "linear")

    def warn(position: int) -> None:
        if position != limit + 1:
            return
        not_certified(
            f"the run is past token {limit:,}, to which this model is certified in "
            f"{format_of(dtype).name} as a stream",
            strict,
        )

    return warn
