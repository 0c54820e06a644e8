"""Programs of the library with an alphabet each, by name: for the zoo and for the explorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from softhat.frontends.rasp import lib
from softhat.frontends.rasp.language import SOp, tokens
from softhat.frontends.rasp.operations import Value
from softhat.io.errors import SofthatError


@dataclass(frozen=True, slots=True)
class Example:
    """`make(max_length)` is the program; `title` says in words what it computes."""

    title: str
    make: Callable[[int], SOp]
    alphabet: tuple[Value, ...]
    word: tuple[Value, ...]
    known: str


def _sort(longest: int) -> SOp:
    return lib.make_sort(tokens, tokens, max_seq_len=longest, min_key=1)


GALLERY: dict[str, Example] = {
    "length": Example(
        "how many positions there are",
        lambda _: lib.make_length(),
        ("a", "b"),
        tuple("abba"),
        "RASP's length (Weiss 2021): one average.",
    ),
    "histogram": Example(
        "how often my token occurs",
        lambda _: lib.make_hist(),
        ("a", "b", "c"),
        tuple("abcab"),
        "RASP's first example (Weiss 2021): the share of <bos>, decoded by steps.",
    ),
    "reverse": Example(
        "the word backwards",
        lambda _: lib.make_reverse(tokens),
        ("a", "b", "c"),
        tuple("aabc"),
        "RASP's reverse (Weiss 2021): positions found by their binary digits.",
    ),
    "sort": Example(
        "the tokens in ascending order",
        _sort,
        (1, 2, 3),
        (3, 1, 2, 1),
        "RASP's sort (Weiss 2021): count what comes before me, then read by position.",
    ),
    "sort-by-frequency": Example(
        "the tokens, the most frequent first",
        lib.make_sort_freq,
        (1, 2, 3),
        (1, 2, 2, 3, 2, 3),
        "RASP's most-frequent (Weiss 2021): a sort whose keys are counts.",
    ),
    "share": Example(
        "the share of a among the tokens so far",
        lambda _: lib.make_frac_prevs(tokens == "a"),
        ("a", "b"),
        tuple("abab"),
        "A mean over what a selector selects (Weiss 2021), within a certified error.",
    ),
    "balance": Example(
        "openings less closings so far, as a share of the position",
        lambda _: lib.make_pair_balance(tokens, "(", ")"),
        ("(", ")"),
        tuple("(())"),
        "RASP's prefix balance (Weiss 2021).",
    ),
    "shuffle-dyck-2": Example(
        "is each of two kinds of brackets balanced by itself?",
        lambda _: lib.make_shuffle_dyck2(),
        ("(", ")", "{", "}"),
        tuple("({)}"),
        "RASP's Shuffle-Dyck-2 (Weiss 2021): comparisons of counts, at every length.",
    ),
    "bounded-dyck-2": Example(
        "is the word up to here properly nested, to depth 3?",
        lambda _: lib.make_dyck(["()", "[]"], 3),
        ("(", ")", "[", "]"),
        tuple("([])"),
        "Dyck-2 of depth 3 (Weiss 2021): each closing bracket reads the last one of its height.",
    ),
    "previous-token": Example(
        "the token before",
        lambda _: lib.make_previous_token(),
        ("a", "b", "c"),
        tuple("abc"),
        "The step of every n-gram and of induction (Olsson 2022).",
    ),
    "induction": Example(
        "what followed the last occurrence of my token",
        lambda _: lib.make_induction(),
        ("a", "b", "c"),
        tuple("abcab"),
        "An induction head (Olsson 2022).",
    ),
    "majority": Example(
        "are more than half of the tokens a?",
        lambda _: lib.make_majority("a"),
        ("a", "b"),
        tuple("aba"),
        "RASP's majority (Weiss 2021): one comparison of counts.",
    ),
}


def example_of(name: str) -> Example:
    """The example of this name."""
    if name not in GALLERY:
        raise SofthatError(f"no RASP program {name!r}: choose one of {', '.join(GALLERY)}")
    return GALLERY[name]
