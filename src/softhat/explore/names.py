"""What the page offers for each kind of input: names that stand for something, with a word each.

Every offer works as it is: choosing one asks a whole question. A test asks all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softhat.ahat.model import AHAT


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with a name: `text` and `word` are what is typed, `title` says what it is."""

    name: str
    text: str
    word: str
    alphabet: str = ""
    title: str = ""
    family: str = ""
    at: str = ""
    """Where a formula that looks both ways is read: first or last."""


EXAMPLES: dict[str, tuple[Offer, ...]] = {
    "formula": (
        Offer("an a, and no c since", "!c S a", "abcabb", "abc"),
        Offer("every a is answered by b", "G (a -> F b)", "acabcb", "abc"),
        Offer("bigram", "O (b & Y a)", "baacba", "abc"),
        Offer("Dyck-1", "H(#('(') >= #(')')) & #('(') = #(')')", "(()())", "()"),
        Offer("majority", "#(a) > #(b)", "abaab", "ab"),
        Offer("PARITY", "F (2*#(a) = #*(a))", "abbaba", "ab", at="first"),
        Offer("traffic light", "G (req -> X !go)", "{req} {} {go}"),
    ),
    "regex": (
        Offer("ends with abb, not all b", "(a|b)*abb&~(b*)", "abaabb", "ab"),
        Offer("a and b in turn", "(ab)*", "abab", "ab"),
        Offer("no two b side by side", "~(.*bb.*)", "abaab", "ab"),
    ),
    "program": (
        Offer(
            "B-RASP: the last a or c is an a",
            "P(i) := rightmost j <= i [Qa(j) | Qc(j)] Qa(j) : 0\naccept P",
            "abcab",
            "abc",
        ),
        Offer(
            "B-RASP: an a before",
            "P(i) := rightmost j < i [Qa(j)] Qa(j) : 0\naccept P",
            "bab",
            "ab",
        ),
    ),
}
"""For what is typed: examples to begin with."""


@cache
def offers() -> dict[str, list[dict[str, Any]]]:
    """The offers of each kind of input, as data for the page."""
    kinds = {**EXAMPLES, "rasp": _rasp(), "ahat": _gallery(), "zoo": _zoo()}
    return {kind: [asdict(offer) for offer in some] for kind, some in kinds.items()}


def template() -> str:
    """A small hard-attention transformer as JSON, to begin one's own with."""
    from softhat.ahat.file import dumps
    from softhat.ahat.gallery import GALLERY

    return dumps(GALLERY["previous-token"]())


_FIRST_RASP = "histogram"
"""What the page opens with: a program whose values differ from position to position."""


def _rasp() -> tuple[Offer, ...]:
    from softhat.frontends.rasp.gallery import GALLERY

    shown = sorted(GALLERY.items(), key=lambda entry: entry[0] != _FIRST_RASP)
    return tuple(
        Offer(name, name, "".join(map(str, example.word)), title=example.title)
        for name, example in shown
    )


def _gallery() -> tuple[Offer, ...]:
    from softhat.ahat.gallery import GALLERY

    return tuple(
        Offer(
            name,
            name,
            accepted_word(make()),
            title=(make.__doc__ or "").partition("\n")[0].rstrip("."),
        )
        for name, make in GALLERY.items()
    )


def _zoo() -> tuple[Offer, ...]:
    from softhat.models.zoo.catalogue import zoo

    return tuple(
        Offer(
            entry.name,
            entry.name,
            entry.example or word_over(entry.alphabet, entry.propositional),
            title=entry.title,
            family=entry.family,
        )
        for entry in zoo().values()
    )


def accepted_word(model: AHAT) -> str:
    """A short word with every symbol that hard attention accepts, where a few tries give one."""
    symbols = list(model.alphabet)
    in_turn = 2 * symbols
    side_by_side = [symbol for symbol in symbols for _ in range(2)]
    tries = (in_turn, [*in_turn, symbols[0]], in_turn[:-1], side_by_side, in_turn[::-1])
    accepted = (word for word in tries if model.accepts(word))
    word = next(accepted, in_turn)
    return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(word)


def word_over(alphabet: Iterable[str], propositional: bool = False) -> str:
    """Some word over an alphabet, as people write it: every symbol twice, in turn."""
    symbols = list(alphabet)
    if propositional:
        return " ".join(["{}", *(f"{{{name}}}" for name in symbols), "{}"])
    return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(2 * symbols)
