"""Models that compare counts: argmax sets of copies, their sizes, and averages over them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from softhat.ahat.builder import Builder, Expr, Score
from softhat.ahat.model import AHAT, BOS

HALF = Fraction(1, 2)


def _own_copies(b: Builder, with_bos: bool, letters: str) -> Score:
    """Every symbol looks for its copies (and `<bos>`), `<bos>` for itself."""
    if not with_bos:
        return [(b.token(s), b.token(s)) for s in letters]
    bos = b.embed("bos", {BOS: 1})
    found: Score = [(b.token(s), b.embed(f"{s} or bos", {s: 1, BOS: 1})) for s in letters]
    return [*found, (bos, bos)]


def _rare(b: Builder, letters: str) -> tuple[Expr, Expr]:
    """1/(count + 1) of every symbol, 1 at `<bos>`; and `<bos>`."""
    bos = b.embed("bos", {BOS: 1})
    score = _own_copies(b, True, letters)
    return b.head("none", value={"rare": bos}, score=score)["rare"], bos


def _ended(b: Builder, score: Score, mask: str = "none") -> AHAT:
    share = b.head(mask, value={"share": b.token(b.alphabet[0])}, score=score)["share"]
    b.output(share - HALF)
    return b.build()


def most_frequent_of_two() -> AHAT:
    b = Builder("ab", bos=True)
    return _ended(b, [(-1, _rare(b, "ab")[0])])


def most_frequent_of_four() -> AHAT:
    b = Builder("abcd", bos=True)
    return _ended(b, [(-1, _rare(b, "abcd")[0])])


def least_frequent() -> AHAT:
    b = Builder("abc", bos=True)
    rare, bos = _rare(b, "abc")
    return _ended(b, [(1, rare - 2 * bos)])


def scaled() -> AHAT:
    b = Builder("abc", bos=True)
    return _ended(b, [(Fraction(-3, 2), _rare(b, "abc")[0])])


def seen_by_a_prefix() -> AHAT:
    """Counts of the whole word, the most frequent of a prefix."""
    b = Builder("abc", bos=True)
    return _ended(b, [(-1, _rare(b, "abc")[0])], "<=")


def most_frequent_vowel() -> AHAT:
    """Consonants never win."""
    b = Builder("abcd", bos=True)
    rare, bos = _rare(b, "abcd")
    return _ended(b, [(1, -rare - 3 * b.token("b") - 3 * b.token("c") - 3 * bos)])


def earliest_on_average() -> AHAT:
    """The symbol whose mean position is least."""
    b = Builder("abc")
    mean = b.head("none", value={"mean": b.position("i")}, score=_own_copies(b, False, "abc"))
    return _ended(b, [(-1, mean["mean"])])


def purest_group() -> AHAT:
    """Is the share of a's among a's and b's greater than that of c's among c's and d's?"""
    b = Builder("abcd")
    low, high = b.token("a") + b.token("b"), b.token("c") + b.token("d")
    pure = b.head("none", value={"pure": b.token("a") + b.token("c")},
                  score=[(low, low), (high, high)])["pure"]  # fmt: skip
    return _ended(b, [(1, pure)])


def rectified() -> AHAT:
    """1/(count + 1), less a quarter, cut off below: ReLUs keep the denominators."""
    b = Builder("ab", bos=True)
    rare, bos = _rare(b, "ab")
    cut = b.relu("cut", rare - Fraction(1, 4) + HALF * b.token("a"))
    return _ended(b, [(-1, cut + bos)])


def copied_from_the_end() -> AHAT:
    """The last symbol's 1/(count + 1) beside one's own."""
    b = Builder("abc", bos=True)
    rare, _ = _rare(b, "abc")
    last = b.head("none", value={"last": rare}, score=[(1, b.position("i"))])["last"]
    return _ended(b, [(-1, rare), (1, last)])


def ties_by_position() -> AHAT:
    b = Builder("abc", bos=True)
    rare, _ = _rare(b, "abc")
    return _ended(b, [(-1, rare), (Fraction(1, 2), b.position("i/n"))])


def near_a_third() -> AHAT:
    """The symbol whose share of the word is nearest to 1/3."""
    b = Builder("abc")
    shares = b.head("none", value={s: b.token(s) for s in "abc"})
    own = Expr()
    for s in "abc":
        own = own + b.relu(f"own {s}", shares[s] + b.token(s) - 1)
    off = b.relu("above", own - Fraction(1, 3)) + b.relu("below", Fraction(1, 3) - own)
    return _ended(b, [(-1, off)])


def median() -> AHAT:
    """The letter with as many smaller as larger ones."""
    b = Builder("abc")
    shares = b.head("none", value={s: b.token(s) for s in "abc"})
    before = b.relu("b", shares["a"] + b.token("b") - 1)
    before = before + b.relu("c", shares["a"] + shares["b"] + b.token("c") - 1)
    after = b.relu("B", shares["c"] + b.token("b") - 1)
    after = after + b.relu("A", shares["b"] + shares["c"] + b.token("a") - 1)
    off = b.relu("more", before - after) + b.relu("fewer", after - before)
    return _ended(b, [(-1, off)])


def leftmost_most_frequent() -> AHAT:
    b = Builder("abc", bos=True)
    rare, _ = _rare(b, "abc")
    share = b.head("none", value={"share": b.token("a")}, score=[(-1, rare)], ties="leftmost")
    b.output(share["share"] - HALF)
    return b.build()


def group_of_one_value() -> AHAT:
    """However many copies tie, what is averaged over them is one number."""
    b = Builder("abc")
    low = b.head("none", value={"low": b.token("a") + b.token("b")},
                 score=_own_copies(b, False, "abc"))["low"]  # fmt: skip
    return _ended(b, [(1, low)])


def signed_by_the_length() -> AHAT:
    """Scores n·[a]: a head that finds a's, whatever n; then the last of them."""
    b = Builder("ab")
    found = b.head("none", value={"a": b.token("a")}, score=[(b.position("n"), b.token("a"))])
    return _ended(b, [(1, b.position("i/n")), (1, 2 * found["a"])])


COUNTING: dict[str, Callable[[], AHAT]] = {
    made.__name__: made
    for made in (
        most_frequent_of_two,
        most_frequent_of_four,
        least_frequent,
        scaled,
        seen_by_a_prefix,
        most_frequent_vowel,
        earliest_on_average,
        purest_group,
        rectified,
        copied_from_the_end,
        ties_by_position,
        near_a_third,
        median,
        leftmost_most_frequent,
        group_of_one_value,
        signed_by_the_length,
    )
}
