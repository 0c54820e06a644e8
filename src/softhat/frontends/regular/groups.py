"""Small permutation groups: a series whose steps are cyclic, if there is one.

A group is *solvable* if it has subgroups G = G₀ ▷ G₁ ▷ … ▷ 1, each normal in the one before with a
cyclic quotient. S₄ has such a series, A₅ has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Permutation = tuple[int, ...]
"""The image of every point."""
MOST_ELEMENTS = 200
"""Larger groups are not looked at."""


def then(first: Permutation, second: Permutation) -> Permutation:
    """First the one, then the other."""
    return tuple(second[image] for image in first)


def inverse(element: Permutation) -> Permutation:
    back = [0] * len(element)
    for point, image in enumerate(element):
        back[image] = point
    return tuple(back)


def generated(generators: Iterable[Permutation], size: int) -> frozenset[Permutation] | None:
    """The group of some permutations of `size` points; None if it is too large."""
    steps = list(generators)
    one = tuple(range(size))
    reached, queue = {one}, [one]
    for element in queue:
        for step in steps:
            product = then(element, step)
            if product not in reached:
                if len(reached) >= MOST_ELEMENTS:
                    return None
                reached.add(product)
                queue.append(product)
    return frozenset(reached)


@dataclass(frozen=True, slots=True)
class CyclicStep:
    """A normal subgroup K of a group H with H/K cyclic of order `order`."""

    order: int
    power: dict[Permutation, int]
    """r for the elements of K·g^r."""
    chosen: tuple[Permutation, ...]
    """g^0, g^1, …, one of each coset."""
    kernel: frozenset[Permutation]


def cyclic_series(group: frozenset[Permutation]) -> list[CyclicStep] | None:
    """Steps down to the trivial group; None if the group is not solvable."""
    steps = []
    while len(group) > 1:
        step = _cyclic_quotient(group)
        if step is None:
            return None
        steps.append(step)
        group = step.kernel
    return steps


def _cyclic_quotient(group: frozenset[Permutation]) -> CyclicStep | None:
    """The largest cyclic quotient: of the commutative quotient H/H', a cyclic factor of the
    greatest order and a complement of it, which is a largest subgroup that meets it in 1 alone."""
    size = len(next(iter(group)))
    elements = sorted(group)
    commutators = {
        then(then(inverse(x), inverse(y)), then(x, y)) for x in elements for y in elements
    }
    derived = generated(commutators, size)
    if derived is None or len(derived) == len(group):
        return None

    def order(element: Permutation) -> int:
        """The order of its coset of H'."""
        power, times = element, 1
        while power not in derived:
            power, times = then(power, element), times + 1
        return times

    top = max(elements, key=lambda element: (order(element), element))
    powers = _powers(top, order(top))
    cyclic = {then(k, power) for k in derived for power in powers}
    kernel = set(derived)
    for element in elements:
        if element in kernel:
            continue
        larger = {then(k, power) for k in kernel for power in _powers(element, order(element))}
        if larger & cyclic <= derived:
            kernel = larger
    power = {then(k, chosen): r for r, chosen in enumerate(powers) for k in kernel}
    return CyclicStep(len(powers), power, tuple(powers), frozenset(kernel))


def _powers(element: Permutation, count: int) -> list[Permutation]:
    powers = [tuple(range(len(element)))]
    for _ in range(count - 1):
        powers.append(then(powers[-1], element))
    return powers
