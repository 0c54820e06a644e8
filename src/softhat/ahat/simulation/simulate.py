"""Simulating an AHAT by softmax attention with temperature scaling.

`simulate` chooses an inverse temperature β for every head and returns a softmax transformer with
the same layers, whose certificate says how far its values can be from the AHAT's, for which
lengths and in which arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from softhat.ahat.model import AHAT, check_ahat
from softhat.ahat.simulation.certificate import certify
from softhat.ahat.simulation.every_length import (
    SHARES,
    certify_laws,
    every_length,
    reaches,
)
from softhat.ahat.simulation.float64_range import in_range
from softhat.ahat.simulation.interrupted import Interrupted
from softhat.ahat.simulation.lengths import MANY_WORDS, Lengths
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.snap import snapped
from softhat.ahat.simulation.temperature import BetaChoice, NoTemperatureError, choose
from softhat.ahat.simulation.unique import tie_broken
from softhat.io.argument_types import real_number, whole_number
from softhat.io.errors import SofthatError
from softhat.numerics.formats import FORMATS


def simulate(
    model: AHAT,
    max_length: int | None = None,
    epsilon: float | None = 1e-3,
    snap: bool = False,
    progress: Callable[[str], None] | None = None,
    dtype: str | None = None,
) -> Simulation:
    """A softmax transformer within ε of the AHAT on every word, of every length or to `max_length`.

    Without `max_length` the inverse temperature of each head is a law β(n), in closed form; with
    one it is a constant, as warm as all words to that length allow; where no constant is certified
    and laws are, they are what is returned. With `epsilon=None` the
    decisions value > 0 have to agree instead, which needs the error to stay below the least
    distance of an exact value from 0. `snap` adds feed-forward layers that set the error to 0
    before heads whose scores would carry it. `dtype` leaves a share of ε to the rounding of that
    number format. Raises NoTemperatureError, with the reason and the numbers, where no temperature
    can be certified; on Ctrl-C with a `max_length`, Interrupted, whose `kept` is a simulation of
    what was proved: with the constants to the length that was reached, or else with laws.
    """
    _check_options(model, max_length, epsilon, dtype)
    options = SimulationOptions(epsilon, snap, dtype, progress)
    with in_range(model, epsilon):
        if max_length is None:
            return _by_laws(model, options)
        try:
            return _by_constants(model, max_length, options)
        except NoTemperatureError as no_constant:
            return _by_laws(model, options, otherwise=no_constant)
        except Interrupted:
            raise
        except KeyboardInterrupt as early:
            raise Interrupted(_by_laws(model, options, otherwise=early)) from None


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How near values shall be (None: on the right side), and in which arithmetic."""

    epsilon: float | None
    snap: bool
    dtype: str | None
    progress: Callable[[str], None] | None


def _check_options(
    model: AHAT, max_length: int | None, epsilon: float | None, dtype: str | None
) -> None:
    check_ahat(model)
    if max_length is not None:
        whole_number("max_length", max_length, least=1)
    if epsilon is not None:
        real_number("epsilon", epsilon)
    if epsilon is not None and not (epsilon > 0 and math.isfinite(epsilon)):
        raise SofthatError(f"epsilon must be a positive number, not {epsilon}")
    if dtype is not None and (not isinstance(dtype, str) or dtype not in FORMATS):
        raise SofthatError(f"unknown dtype {dtype!r}: choose one of {', '.join(FORMATS)}")
    longest = model.longest
    if max_length is not None and longest is not None and longest < max_length:
        raise SofthatError(
            f"the position tables end at length {longest}: max_length cannot be {max_length}"
        )


def _by_laws(
    model: AHAT, options: SimulationOptions, otherwise: BaseException | None = None
) -> Simulation:
    """With a law of temperature for each head; where there is none, `otherwise` says more."""
    try:
        claim = every_length(model, options.epsilon, options.snap, options.dtype)
    except SofthatError:
        if otherwise is None:
            raise
        raise otherwise from None
    certificate, reach = partial(certify_laws, claim), partial(reaches, claim)
    return Simulation(claim.model, claim.laws, None, certificate, claim.dtype, reaches=reach)


def _by_constants(model: AHAT, max_length: int, options: SimulationOptions) -> Simulation:
    """With a constant temperature for each head, as warm as all words to a length allow."""
    # A mean of many keys is rounded, that of one is not: a format is better off without ties.
    model = tie_broken(model, max_length, every=options.dtype is not None)
    if options.snap:
        model = snapped(model, max_length)
    # Reachable sets allow warmer heads, but the checker runs all words of a length or has laws do.
    lengths = Lengths(model, max_length, sets=_runnable(model, max_length))
    try:
        choice = _choice(lengths, max_length, options)
    except NoTemperatureError:
        if lengths.method(max_length) == "words" or not _runnable(model, max_length):
            raise
        lengths = Lengths(model, max_length, MANY_WORDS)  # slower, but tight
        choice = _choice(lengths, max_length, options)
    except Interrupted as early:
        choice = early.kept
        raise Interrupted(_finished(model, lengths, choice, options.epsilon)) from None
    return _finished(model, lengths, choice, options.epsilon)


def _choice(lengths: Lengths, max_length: int, options: SimulationOptions) -> BetaChoice:
    """β of every head: what rounding needs of ε is left to it."""
    decide = options.epsilon is None
    target = _decision_margin(lengths, max_length) if options.epsilon is None else options.epsilon
    share = 1 - 1e-6 if options.dtype is None else float(SHARES[options.dtype])
    return choose(lengths, max_length, target * share, options.progress, decide)


def _runnable(model: AHAT, n: int) -> bool:
    return len(model.alphabet) ** n <= MANY_WORDS


def _finished(
    model: AHAT, lengths: Lengths, choice: BetaChoice, epsilon: float | None
) -> Simulation:
    return Simulation(
        model, dict(choice.betas), max(choice.bounds), partial(certify, lengths, choice, epsilon)
    )


def _decision_margin(lengths: Lengths, max_length: int) -> float:
    """The least |exact value|: an error below it changes no decision."""
    if lengths.uniform:
        return 1.0  # no error at all
    known = lengths.margin_by_law(max_length)
    if known:
        return known * (1 - 1e-9)
    margin, word = min(lengths.exact_margin(n) for n in range(1, max_length + 1))
    if margin == 0:
        raise NoTemperatureError(
            f"the exact value can be 0 ({word}), on the threshold itself: any error may change "
            "the decision there; give an epsilon, or add a bias that keeps values off 0"
        )
    return margin * (1 - 1e-9)
