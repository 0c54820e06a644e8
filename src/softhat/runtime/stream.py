"""A causal model as a stream: constant memory and constant time a token, at any length.

    stream = model.stream()
    stream.push("abba")      # the answers at these four positions
    stream.push("c")         # and at the fifth

The softmax over the whole prefix is exact: each head carries a few numbers (see
`softhat.runtime.linear`). A model that scales its temperature divides positions by P, the
next power of two >= n+2, and multiplies scores by C·P. A stream does not know n, but P cancels
in every score but one: the penalty on positions that `Latest` must not find, which only grows
with P. So the stream takes P beyond any length, and its answers are those of every longer word.
"""

from __future__ import annotations

from collections.abc import Sequence, Set, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError, not_certified
from softhat.runtime.linear.kernels import Word as Known
from softhat.runtime.linear.runtime import CHUNK, ENDLESS
from softhat.runtime.linear.stepper import Stepper, scalar_tokens

if TYPE_CHECKING:
    from softhat.runtime.answers import Answers

Tokens = str | int | np.integer[Any] | Sequence[str] | Sequence[Set[str]] | NDArray[Any]
SHORT = 24
"""Tokens up to which single steps are faster than a chunk (measured)."""


class Stream:
    """Reads tokens in pieces of any size and answers at each position."""

    def __init__(
        self,
        model: Answers,
        dtype: str = "float32",
        output: str | None = None,
        strict: bool = False,
    ) -> None:
        linear = model.linear(dtype)
        if not linear.streamable:
            raise SofthatError(
                "this model looks to the right (or asks where the word ends), so its answers are "
                "not known before the word is complete: only pure-past formulas can be streamed; "
                "use stream_word(), or truth()"
            )
        self.model = model
        self.position = 0
        """Tokens read so far."""
        self._linear = linear
        self._column = model.transformer.outputs.index(model.output_name(output))
        self._known = Known(None, ENDLESS if model.attention == "temperature" else 1.0)
        self._states = linear.fresh()
        linear.advance(self._states, linear.sink(0), 0, self._known)
        self._stepper = Stepper(linear)
        self._codes = {symbol: k for k, symbol in enumerate(model.transformer.symbols)}
        self._single = not model.transformer.propositional
        self._limit = model.certified_length(dtype, "linear")
        self._strict = strict
        self._dtype = dtype

    def __repr__(self) -> str:
        return f"<softhat.Stream after {self.position:,} tokens, {self._dtype}>"

    def push(self, tokens: Tokens) -> NDArray[np.bool_]:
        """The answer at each of these tokens: text, a list of symbols or sets, or codes.

        Text is one symbol a character; a symbol of several characters goes in a list. One
        code may be given as a plain integer. An unknown symbol raises before anything is read.
        """
        codes = self._few(tokens) if self._single else None
        if codes is not None:
            return np.array([self._step(code) > 0 for code in codes], np.bool_)
        return self.margins(tokens) > 0

    def margins(self, tokens: Tokens) -> NDArray[Any]:
        """The signed distance from the threshold at each of these tokens: > 0 iff true."""
        codes = self._few(tokens) if self._single else None
        if codes is not None:
            return np.array([self._step(code) for code in codes], self._linear.form.accumulate)
        if isinstance(tokens, Sized) and len(tokens) == 0:
            return np.empty(0, self._linear.form.accumulate)
        if isinstance(tokens, int | np.integer):
            tokens = np.array([tokens])
        encoded = self.model.encode(tokens)
        if len(encoded) <= SHORT:
            steps = [self._step(token) for token in scalar_tokens(encoded)]
            return np.array(steps, self._linear.form.accumulate)
        out = np.empty(len(encoded), self._linear.form.accumulate)
        for start in range(0, len(encoded), CHUNK):
            chunk = self._linear.codes(encoded[start : start + CHUNK])
            self._count(len(chunk))
            first = self.position - len(chunk) + 1
            margins = self._linear.advance(self._states, chunk, first, self._known)
            out[start : start + CHUNK] = margins[:, self._column]
        return out

    def _few(self, tokens: Tokens) -> Sequence[int] | None:
        """The codes of a few symbols, without the cost of a word; None if it is not that easy."""
        if isinstance(tokens, int | np.integer):
            return (int(tokens),) if 0 <= tokens < len(self._codes) else None
        if isinstance(tokens, str | list) and len(tokens) <= SHORT:
            try:
                return [self._codes[symbol] for symbol in tokens]
            except (KeyError, TypeError):
                return None
        return None

    def _step(self, token: Any) -> float:
        if self.position == self._limit:
            self._count(1)
        else:
            self.position += 1
        return self._stepper.step(self._states, token, self.position, self._known)[self._column]

    def _count(self, tokens: int) -> None:
        """Past the certified length an answer may be wrong: say so once, or refuse."""
        if self.position <= self._limit < self.position + tokens:
            self.model.check_tables(self.position + tokens)
            not_certified(
                f"the stream is past position {self._limit:,}, to which this model is certified "
                f"in {self._dtype} as a stream",
                self._strict,
            )
        self.position += tokens
