"""What the weights alone say about every head, for all words of every length.

A head is *structurally uniform* if its scores read nothing that differs between keys; then it
averages all unmasked keys whatever the word, and softmax does the same at any temperature. Its
scores are *exact* if they read only coordinates that carry no error in the softmax model:
tokens, positions, and what structurally uniform heads and ReLUs make of those. Ties of exact
scores stay ties under softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.ahat.model import AHAT, Head, Vector
from softhat.numbers.positions import DigitFeature, Holds, Mod, Named, Table, needs_end


@dataclass(frozen=True, slots=True)
class HeadStructure:
    """Facts that hold for all words of every length."""

    uniform: bool  # structurally uniform
    equal_scores: bool  # so are its scores; a unique-hard head then takes the first or last key
    exact_scores: bool  # query and key read only coordinates without error
    exact_values: bool  # so does value


def structure(model: AHAT) -> dict[tuple[int, int], HeadStructure]:
    """The structure of every head."""
    return _walk(model)[0]


def error_free(model: AHAT) -> bool:
    """Every head that matters is structurally uniform: softmax computes the same, at any β."""
    return all(h.uniform for h in structure(model).values())


def looks_back(model: AHAT) -> bool:
    """Does what happens at a position depend on nothing behind it? Then a word has the rows of its
    prefixes, and one more."""
    masks = {head.mask for layer in model.layers for head in layer.heads}
    return masks <= {"<=", "<"} and not model.eos and not any(map(needs_end, model.positions))


def erroneous(model: AHAT) -> list[frozenset[int]]:
    """The coordinates that may carry error, before each layer and at the end."""
    return _walk(model)[1]


def live(model: AHAT) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """The coordinates that are still read, after attention and after each whole layer."""
    later = _support(model.output_weights)
    middle: list[frozenset[int]] = []
    after: list[frozenset[int]] = []
    for layer in reversed(model.layers):
        after.append(frozenset(later))
        if layer.feed_forward is not None:
            ff = layer.feed_forward
            units = set().union(*(_support(ff.out_weights[c]) for c in later)) if later else set()
            later = later | _columns(tuple(ff.in_weights[u] for u in sorted(units)))
        middle.append(frozenset(later))
        # Scores are always read, for gaps are stated of every head; values where they matter.
        written = [any(any(head.output[c]) for c in later) for head in layer.heads]
        for head, matters in zip(layer.heads, written, strict=True):
            values = head.value if matters else ()
            later = later | _columns((*head.query, *head.key, *values))
    return middle[::-1], after[::-1]


def _walk(
    model: AHAT,
) -> tuple[dict[tuple[int, int], HeadStructure], list[frozenset[int]]]:
    """What is so of every head, and the coordinates that may carry error before each layer.

    `equal` are the coordinates that have one value at all positions of a word.
    """
    d = model.d_model
    equal = {c for c in range(d) if _same_everywhere(model, c)}
    with_error: set[int] = set()
    heads: dict[tuple[int, int], HeadStructure] = {}
    history = []
    for l, layer in enumerate(model.layers):
        history.append(frozenset(with_error))
        next_with_error, differing = set(with_error), set()
        for h, head in enumerate(layer.heads):
            equal_scores = _effective_keys(head) <= equal
            fact = HeadStructure(
                uniform=equal_scores and head.ties == "average",
                equal_scores=equal_scores,
                exact_scores=not (_columns(head.query) | _columns(head.key)) & with_error,
                exact_values=not _columns(head.value) & with_error,
            )
            heads[l, h] = fact
            written = {c for c in range(d) if any(head.output[c])}
            if not (fact.uniform and fact.exact_values):
                next_with_error |= written
            if not (fact.uniform and head.mask == "none"):
                differing |= written
        with_error, equal = next_with_error, equal - differing
        if layer.feed_forward is not None:
            ff = layer.feed_forward
            units_with_error = {
                u for u, row in enumerate(ff.in_weights) if _support(row) & with_error
            }
            varying_units = {u for u, row in enumerate(ff.in_weights) if not _support(row) <= equal}
            with_error |= {c for c in range(d) if _support(ff.out_weights[c]) & units_with_error}
            equal -= {c for c in range(d) if _support(ff.out_weights[c]) & varying_units}
    history.append(frozenset(with_error))
    return heads, history


def _effective_keys(head: Head) -> set[int]:
    """Coordinates of x_j that the score can depend on: key rows whose query row is not zero."""
    rows = [k for q, k in zip(head.query, head.key, strict=True) if any(q)]
    return set().union(*(_support(row) for row in rows)) if rows else set()


def _columns(matrix: tuple[Vector, ...]) -> set[int]:
    return set().union(*(_support(row) for row in matrix)) if matrix else set()


def _support(row: Vector) -> set[int]:
    return {c for c, w in enumerate(row) if w}


def _same_everywhere(model: AHAT, c: int) -> bool:
    """Does the embedding's coordinate c have one value, whatever the symbol and position?"""
    vectors = model.vectors
    if len({v[c] for v in vectors}) > 1:
        return False
    for weight, feature in zip(model.position_embedding[c], model.positions, strict=True):
        match feature:
            case Named(name):
                same = name in ("1", "n")
            case Mod(modulus, _, sinks):
                same = modulus == 1 and (sinks or not model.sinks)
            case DigitFeature() | Holds():
                same = False
            case Table(entries):
                same = len(set(entries)) <= 1 and not model.eos  # 0 at <eos>
        if weight and not same:
            return False
    return True
