"""Words: what formulas and transformers read.

A word is text (each character a symbol), a sequence of symbols, or, in propositional mode, a
sequence of sets of propositions. Text is read as an array of code points, so a word of ten
million symbols costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError

Word: TypeAlias = str | Sequence[str] | Sequence[Set[str]]
Bools: TypeAlias = NDArray[np.bool_]


def is_propositional(word: Word) -> bool:
    """Is it a sequence of sets?"""
    return not isinstance(word, str | bytes) and len(word) > 0 and isinstance(word[0], Set)


def encode(word: Word | NDArray[np.integer[Any]], symbols: Sequence[str]) -> NDArray[np.int64]:
    """The index in `symbols` of each symbol of a word; an array of such indices is taken as is."""
    taken: Any = normal(word)
    if isinstance(taken, np.ndarray):
        if taken.size and not (int(taken.min()) >= 0 and int(taken.max()) < len(symbols)):
            raise SofthatError(f"an encoded word has indices from 0 to {len(symbols) - 1}")
        return taken.astype(np.int64, copy=False)
    if is_propositional(taken):
        raise SofthatError("expected a word of symbols, got a word of sets of propositions")
    if isinstance(taken, str) and len(taken) > 256:
        return _encode_text(taken, symbols)
    index = {symbol: k for k, symbol in enumerate(symbols)}
    codes = np.fromiter((index.get(symbol, -1) for symbol in taken), np.int64, len(taken))
    if codes.min() < 0:
        raise _foreign(taken, int(codes.argmin()), symbols)
    return codes


def encode_sets(word: Word, propositions: Sequence[str]) -> Bools:
    """(length, propositions): which propositions hold at each position."""
    taken: Any = normal(word)
    if isinstance(taken, np.ndarray) or not is_propositional(taken):
        raise SofthatError(
            'expected a propositional word, a list of sets such as [{"p"}, set()], got symbols'
        )
    index = {name: k for k, name in enumerate(propositions)}
    table = np.zeros((len(taken), len(propositions)), np.bool_)
    for at, names in enumerate(taken):
        for name in names:
            if name not in index:
                raise SofthatError(
                    f"proposition {name!r} at position {at + 1} of the word is unknown: expected "
                    f"{_some(propositions)}"
                )
            table[at, index[name]] = True
    return table


def normal(word: object) -> Any:
    """`word` as a str, an integer array, or a list that holds only strings or only sets."""
    if isinstance(word, bytes | bytearray | memoryview):
        word = bytes(word).decode("latin-1")
    if isinstance(word, np.ndarray):
        if word.ndim != 1:
            raise SofthatError(f"a word is a sequence, not an array of shape {word.shape}")
        if not np.issubdtype(word.dtype, np.integer):
            word = word.tolist()
    if not isinstance(word, str | Sequence | np.ndarray):
        raise SofthatError(f"a word is text or a list of symbols or of sets, not {word!r}")
    if len(word) == 0:
        raise SofthatError("the empty word has no positions: expected at least one symbol")
    if isinstance(word, Sequence) and not isinstance(word, str):
        _check(word)
    return word


def _check(word: Sequence[object]) -> None:
    kind = Set if isinstance(word[0], Set) else str
    for at, item in enumerate(word):
        if not isinstance(item, kind) or (kind is str and not item):
            expected = "a set of propositions" if kind is Set else "a symbol (a non-empty string)"
            raise SofthatError(
                f"expected {expected} at position {at + 1} of the word, got {item!r}"
            )


def join(words: Iterable[Word]) -> tuple[NDArray[np.int64], Callable[[str], Bools]]:
    """Many words as one row of places, an empty place after each word.

    Returns the words' lengths, and the function that says at which places a symbol (or
    proposition) stands.
    """
    taken = [normal(word) for word in words]
    for word in taken:
        if isinstance(word, np.ndarray):
            raise SofthatError(
                "an array of indices means nothing without an alphabet: give symbols"
            )
    lengths = np.array([len(word) for word in taken], np.int64)
    if all(isinstance(word, str) for word in taken):
        return lengths, _in_text(taken)
    kinds = {is_propositional(word) for word in taken}
    if len(kinds) > 1:
        raise SofthatError("expected words of symbols or words of sets, got both")
    flat: list[Any] = list(chain.from_iterable(chain(word, (None,)) for word in taken))
    if kinds == {True}:
        return lengths, lambda name: np.fromiter(
            (item is not None and name in item for item in flat), np.bool_, len(flat)
        )
    return lengths, lambda name: np.fromiter((item == name for item in flat), np.bool_, len(flat))


def _in_text(words: list[str]) -> Callable[[str], Bools]:
    codes = _code_points("\0".join(words) + "\0")

    def places(name: str) -> Bools:
        if len(name) != 1:
            return np.zeros(len(codes), np.bool_)
        holds: Bools = codes == ord(name)
        if name == "\0":
            holds[np.cumsum([len(word) + 1 for word in words]) - 1] = False  # the empty places
        return holds

    return places


def _code_points(text: str) -> NDArray[np.integer[Any]]:
    if text.isascii():  # one byte a character
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))


def _encode_text(word: str, symbols: Sequence[str]) -> NDArray[np.int64]:
    """Through a table of the code points, of bytes where those are enough."""
    known: Mapping[int, int] = {ord(s): k for k, s in enumerate(symbols) if len(s) == 1}
    if word.isascii() and len(symbols) < 256:
        unknown = 255
        bytes_table = bytearray([unknown] * 256)
        for point, k in known.items():
            if point < 128:
                bytes_table[point] = k
        codes = word.encode("ascii").translate(bytes_table)
        at = codes.find(unknown)
        if at >= 0:
            raise _foreign(word, at, symbols)
        return np.frombuffer(codes, np.uint8).astype(np.int64)
    table = np.full(max(known, default=0) + 2, -1, np.int64)
    for point, k in known.items():
        table[point] = k
    indices = table.take(_code_points(word), mode="clip")  # beyond its end stands -1 too
    if indices.min() < 0:
        raise _foreign(word, int((indices < 0).argmax()), symbols)
    return indices


def _foreign(word: Sequence[Any], at: int, symbols: Sequence[str]) -> SofthatError:
    return SofthatError(
        f"symbol {word[at]!r} at position {at + 1} of the word is not in the alphabet: expected "
        f"{_some(symbols)}"
    )


def _some(names: Sequence[str]) -> str:
    shown = " ".join(names[:20]) if names else "nothing"
    return f"one of {shown}" + (" …" if len(names) > 20 else "")
