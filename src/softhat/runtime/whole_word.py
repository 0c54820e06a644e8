"""A word of any length that is given in pieces and answered in pieces, whatever is asked of it.

    for truth in model.stream_word(pieces):
        ...

A model that looks back answers each piece as it comes (`Stream`). One that looks ahead has to see
the end first: its word is kept in a temporary file, a few bytes a token, and read again in as many
passes as its heads take turns to look back and ahead (`linear.passes`). Memory does not grow with
the word but for a few numbers a head for every 65,536 tokens.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.logic.semantics.words import Word
from softhat.transformer.weights import Transformer

if TYPE_CHECKING:
    from softhat.runtime.answers import Answers


class SpooledWord:
    """An encoded word in a temporary file."""

    def __init__(self, transformer: Transformer) -> None:
        codes = len(transformer.symbols)
        self.width = codes if transformer.propositional else None
        """Propositions, which are a byte each."""
        self.dtype = np.dtype(np.bool_) if self.width is not None else np.min_scalar_type(codes)
        self.length = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self.close = weakref.finalize(self, self._file.close)  # also where nobody asks for answers

    def __len__(self) -> int:
        return self.length

    def append(self, tokens: NDArray[Any]) -> None:
        """More of the word."""
        try:
            self._file.seek(0, 2)
            self._file.write(tokens.astype(self.dtype).tobytes())
        except OSError as error:
            folder = tempfile.gettempdir()
            raise SofthatError(
                f"the word does not fit the folder for temporary files, {folder} "
                f"({error.strerror}): make room there, or set TMPDIR to another one"
            ) from None
        self.length += len(tokens)

    def __getitem__(self, places: slice, /) -> NDArray[Any]:
        start, stop, _ = places.indices(self.length)
        each = self.dtype.itemsize * (1 if self.width is None else self.width)
        self._file.seek(start * each)
        data = np.frombuffer(self._file.read(max(0, stop - start) * each), self.dtype)
        return data if self.width is None else data.reshape(-1, self.width)


class WholeWord:
    """Takes a word in pieces, and answers when it has ended."""

    def __init__(self, model: Answers, dtype: str, output: str | None, strict: bool) -> None:
        self.model, self.dtype, self.strict = model, dtype, strict
        self._linear = model.linear(dtype)
        self._column = model.transformer.outputs.index(model.output_name(output))
        self._word = SpooledWord(model.transformer)

    def push(self, tokens: Word | NDArray[Any]) -> None:
        """The next tokens."""
        if len(tokens):
            self._word.append(self.model.encode(tokens))

    def answers(self) -> Iterator[NDArray[np.bool_]]:
        """The answers at all positions, in order, a piece at a time."""
        try:
            if not len(self._word):
                raise SofthatError("the empty word has no positions: give at least one symbol")
            self.model.check_length(len(self._word), self.dtype, self.strict, "linear")
            for _, margins in self._linear.pieces(self._word, self._linear.in_order):
                yield margins[:, self._column] > 0
        finally:
            self._word.close()


def stream_word(
    model: Answers,
    pieces: Iterable[Word | NDArray[Any]],
    dtype: str,
    output: str | None,
    strict: bool,
) -> Iterator[NDArray[np.bool_]]:
    """The answers on one word that comes in pieces."""
    if model.linear(dtype).streamable:
        stream = model.stream(dtype, output, strict)
        for piece in pieces:
            if len(piece):
                yield stream.push(model.encode(piece))
        return
    word = WholeWord(model, dtype, output, strict)
    for piece in pieces:
        word.push(piece)
    yield from word.answers()
