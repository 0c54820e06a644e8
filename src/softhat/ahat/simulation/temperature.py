"""Choosing inverse temperatures, from the last layer to the first.

All upstream layers are very cold at first; the last layer takes the least β that keeps the
certified error within its share of ε, then the layer before it, and so on; the first takes what
is left. β are numbers of 6 significant bits, so that folding them into the query weights rounds
nothing and exact ties stay exact. The search looks at the lengths and words that bind; the result
is then certified on every word of every length, and what fails joins the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from softhat.ahat.simulation.interrupted import Interrupted
from softhat.ahat.simulation.lengths import COLD_LEAK, LengthBound, Lengths
from softhat.io.errors import SofthatError

HeadId = tuple[int, int]
COLD = 6.0  # times the reference β: leaks of about COLD_LEAK ** COLD
ROUNDS = 30  # of a search that words join, beyond one a length
COLDEST = 40.0  # times the reference β: the search gives up here


class NoTemperatureError(SofthatError):
    """No β is certified to do; the message gives the reason, the numbers and what can be had."""


@dataclass(frozen=True, slots=True)
class BetaChoice:
    """The chosen β (1 for structurally uniform heads) and the bound in the reals per length."""

    betas: Mapping[HeadId, float]
    bounds: Mapping[int, LengthBound]


def round_up(beta: float) -> float:
    """The next number with 6 significant bits."""
    if beta <= 0:
        return 1.0
    mantissa, exponent = math.frexp(beta)
    return math.ldexp(math.ceil(mantissa * 64 - 1e-12), exponent - 6)


def grid(index: int) -> float:
    """The numbers with 6 significant bits in order; grid(0) = 1."""
    return math.ldexp(32 + index % 32, index // 32 - 5)


def grid_index(beta: float) -> int:
    """The least index whose number is at least β."""
    mantissa, exponent = math.frexp(round_up(beta))
    return (exponent - 1) * 32 + round(mantissa * 64) - 32


def choose(
    lengths: Lengths,
    max_length: int,
    epsilon: float,
    progress: Callable[[str], None] | None = None,
    decide: bool = False,
) -> BetaChoice:
    """β of every head such that the error in the reals is at most ε at every length."""
    model = lengths.model
    if lengths.uniform:
        bounds = {n: lengths.bound(n, {}) for n in range(1, max_length + 1)}
        return BetaChoice(dict.fromkeys(model.heads, 1.0), bounds)
    active = [max_length]
    reference = _reference(lengths, active)
    for _ in range(max_length + ROUNDS):
        betas = _search(lengths, active, reference, epsilon, progress)
        bounds = {}
        failed = []
        for n in (max_length, *range(1, max_length)):
            try:
                if progress is not None:
                    progress(f"certifying length {n}")
                bounds[n] = lengths.enough(n, betas, epsilon, decide, n == max_length)
            except KeyboardInterrupt:
                raise _interrupted(betas, bounds, epsilon) from None
            if bounds[n].error > epsilon:
                failed.append(n)
                if n in active:
                    break  # words have joined the search
        if not failed:
            return BetaChoice(betas, dict(sorted(bounds.items())))
        worst = max(failed, key=lambda n: bounds[n].error)
        if worst not in active:
            active.append(worst)
        more = _reference(lengths, [worst])
        reference = {name: max(beta, more[name]) for name, beta in reference.items()}
    raise NoTemperatureError("no β satisfies all lengths at once")


def _interrupted(
    betas: Mapping[HeadId, float], bounds: Mapping[int, LengthBound], epsilon: float
) -> KeyboardInterrupt:
    """Ctrl-C while lengths are certified: the β hold as far as every length is."""
    reached = 0
    while reached + 1 in bounds and bounds[reached + 1].error <= epsilon:
        reached += 1
    if not reached:
        return KeyboardInterrupt()
    return Interrupted(BetaChoice(betas, {n: bounds[n] for n in range(1, reached + 1)}))


def _reference(lengths: Lengths, active: list[int]) -> dict[HeadId, float]:
    result = dict.fromkeys(lengths.model.heads, 0.0)
    for n in active:
        for name, beta in lengths.reference(n).items():
            result[name] = max(result[name], beta)
    return result


def _search(
    lengths: Lengths,
    active: list[int],
    reference: Mapping[HeadId, float],
    epsilon: float,
    progress: Callable[[str], None] | None,
) -> dict[HeadId, float]:
    model = lengths.model
    leaky = [name for name in model.heads if reference[name] > 0]
    betas = {
        name: round_up(COLD * reference[name]) if name in leaky else 1.0 for name in model.heads
    }

    def error(trial: Mapping[HeadId, float]) -> float:
        return max(lengths.glance(n, trial) for n in active)

    layers = sorted({l for l, _ in leaky}, reverse=True)
    for step, l in enumerate(layers):
        share = 1.0 if step == len(layers) - 1 else 1 - 0.5 ** (step + 1)
        mine = [name for name in leaky if name[0] == l]
        if progress is not None:
            progress(f"choosing β of layer {l}")
        betas = _cool(error, betas, mine, reference, share * epsilon, active)
    return _polish(error, betas, leaky, epsilon)


def _cool(
    error: Callable[[Mapping[HeadId, float]], float],
    betas: dict[HeadId, float],
    mine: list[HeadId],
    reference: Mapping[HeadId, float],
    target: float,
    active: list[int],
) -> dict[HeadId, float]:
    """The least common factor of this layer's reference β that meets the target."""

    def trial(factor: float) -> dict[HeadId, float]:
        return {**betas, **{name: round_up(factor * reference[name]) for name in mine}}

    guess = max(0.05, math.log(1 / min(target, 0.5)) / math.log(1 / COLD_LEAK))
    low, high = guess / 64, guess
    at_low = error(trial(low))
    if at_low <= target:
        return trial(low)  # the head hardly matters
    at_high = error(trial(high))
    least = at_high
    while at_high > target:
        low, high, at_low = high, high * 1.5, at_high
        if high > COLDEST:
            raise NoTemperatureError(_hopeless(mine, target, least, active, trial(low)))
        at_high = error(trial(high))
        least = min(least, at_high)
    for step in range(12):
        if high - low <= high / 48:
            break
        # Errors fall about exponentially: interpolate their logarithms, and bisect now and then.
        share = 0.5
        if step % 3 < 2 and at_high > 0 and math.isfinite(at_low):
            fall = math.log(at_low / at_high)
            share = math.log(at_low / target) / fall if fall > 0 else 0.5
        middle = low + (high - low) * min(0.97, max(0.03, share + 0.01))
        now = error(trial(middle))
        if now <= target:
            high, at_high = middle, now
        else:
            low, at_low = middle, now
    return trial(high)


def _polish(
    error: Callable[[Mapping[HeadId, float]], float],
    betas: dict[HeadId, float],
    leaky: list[HeadId],
    epsilon: float,
) -> dict[HeadId, float]:
    """Warm single heads, last layer first, as long as the whole stays within ε."""
    for name in sorted(leaky, reverse=True):
        step, left = 1, 31  # a head that hardly matters could be warmed for ever
        while step and left > 0:
            left -= step
            warmer = grid(grid_index(betas[name]) - step)
            if error({**betas, name: warmer}) <= epsilon:
                betas = {**betas, name: warmer}
                step = min(2 * step, 16)
            else:
                step //= 2  # a smaller one may still do
    return betas


def _hopeless(
    mine: list[HeadId],
    target: float,
    least: float,
    active: list[int],
    tried: Mapping[HeadId, float],
) -> str:
    heads = ", ".join(f"layer {l}, head {h} to β = {tried[l, h]:.4g}" for l, h in mine)
    return (
        f"no temperature is certified at length {max(active)}: cooling {heads}, the certified "
        f"error stays at {least:.3g} or more, and {target:.3g} is needed; "
        "a larger epsilon or a shorter max_length may do"
    )
