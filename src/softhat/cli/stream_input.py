"""Big input: words of any length from a file or standard input, in constant memory.

A line is a word, as everywhere on the command line; a line may be longer than memory. Lines
that end in the block they start in are run together as a batch; a longer one is streamed, or, if
the model looks to the right, kept in a temporary file until it ends and then read again. Only where
no linear-time runtime is known does memory grow with the longest line.
Bad input stops with the byte offset; every answer yielded before is valid.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import numpy as np
import typer
from numpy.typing import NDArray

from softhat.cli.inputs import standard_input
from softhat.cli.output import tell, telling_warnings
from softhat.cli.text_blocks import TextPiece, read_pieces
from softhat.io.files import opened
from softhat.io.work import progress as bars
from softhat.models.model import Model
from softhat.runtime.stream import Stream
from softhat.runtime.whole_word import WholeWord

BLOCK = 1 << 20
"""Bytes read at a time."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers at the next tokens of a line, and whether the line ends with them."""

    truth: NDArray[np.bool_]
    last: bool


def stream_file(
    model: Model,
    source: str,
    dtype: str = "float32",
    output: str | None = None,
    strict: bool = False,
    tokens: bool = False,
    progress: bool = True,
) -> Iterator[Answered]:
    """The model's answers on every line of a file (`-`: standard input), in order.

    With `tokens`, or if some symbol has several characters, symbols are separated by white
    space. Progress and, at the end, the throughput go to standard error.
    """
    name = "standard input" if source == "-" else source
    name_of_output = model.output_name(output)
    began = perf_counter()
    at = 0
    with _open(source) as file, bars(quiet=not progress) as show:
        size = _size(file)
        runner = _PieceRunner(model, dtype, name_of_output, strict)
        pieces = read_pieces(file, name, model.transformer, tokens, BLOCK)
        try:
            for batch, done in pieces:
                for answer in runner.run(batch):
                    at = done
                    yield answer
                show("bytes", done, size, f"{_rate(runner.tokens, began)} tokens a second")
        except KeyboardInterrupt:
            tell(
                f"interrupted after {runner.tokens:,} tokens (byte {at:,} of {name}); "
                "what was written so far is valid"
            )
            raise typer.Exit(130) from None
    if progress:
        tell(
            f"{runner.tokens:,} tokens in {perf_counter() - began:.2f} s, "
            f"{_rate(runner.tokens, began)} a second ({runner.how()})"
        )


def write_stream(answers: Iterator[Answered], file: IO[str]) -> None:
    """A line of `1` and `.` for each word, written as the answers come."""
    symbols = np.frombuffer(b".1", np.uint8)
    for answer in answers:
        file.write(symbols[answer.truth.view(np.uint8)].tobytes().decode("ascii"))
        if answer.last:
            file.write("\n")


class Rejoined(io.RawIOBase):
    """Bytes that were read to see how long a file is, and then the rest of the file."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self.head, self.rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head.read(len(buffer)) or self.rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _PieceRunner:
    """Runs the pieces of one block: whole lines as a batch, parts of lines as a stream."""

    def __init__(self, model: Model, dtype: str, output: str, strict: bool) -> None:
        self.model, self.dtype, self.output, self.strict = model, dtype, output, strict
        self.tokens = 0
        self.stream: Stream | None = None
        self.whole: WholeWord | None = None
        self.parts: list[NDArray[Any]] = []
        self.linear = model.runs_linearly(dtype)
        self.streamable = self.linear and model.linear(dtype).streamable
        self.used: set[str] = set()
        self.warned: set[str] = set()

    def run(self, pieces: list[TextPiece]) -> Iterator[Answered]:
        whole: list[NDArray[Any]] = []
        for piece in pieces:
            if piece.first and piece.last:
                whole.append(piece.tokens)
                continue
            yield from self._flush(whole)
            yield from self._part(piece)
        yield from self._flush(whole)

    def _flush(self, whole: list[NDArray[Any]]) -> Iterator[Answered]:
        """Whole lines, as one batch."""
        if whole:
            for truth in self._truths(whole):
                yield Answered(truth, True)
            whole.clear()

    def _part(self, piece: TextPiece) -> Iterator[Answered]:
        """A part of a line that does not fit one block."""
        if not self.linear:
            self.parts.append(piece.tokens)
            if piece.last:
                line = np.concatenate(self.parts)
                self.parts.clear()
                yield Answered(self._truths([line])[0], True)
            return
        self.used.add("linear")
        if not self.streamable:
            yield from self._part_of_whole(piece)
            return
        if piece.first or self.stream is None:
            self.stream = self.model.stream(self.dtype, self.output, self.strict)
        with telling_warnings(self.warned):
            truth = self.stream.push(piece.tokens)
        self.tokens += len(truth)
        yield Answered(truth, piece.last)

    def _part_of_whole(self, piece: TextPiece) -> Iterator[Answered]:
        """A part of a line that is answered when it has ended."""
        if piece.first or self.whole is None:
            self.whole = WholeWord(self.model, self.dtype, self.output, self.strict)
        self.whole.push(piece.tokens)
        if not piece.last:
            return
        answers = self.whole.answers()
        with telling_warnings(self.warned):
            truth = next(answers)
        for later in answers:
            self.tokens += len(truth)
            yield Answered(truth, False)
            truth = later
        self.tokens += len(truth)
        yield Answered(truth, True)

    def _truths(self, words: list[NDArray[Any]]) -> list[NDArray[np.bool_]]:
        self.used |= {self.model.runtime_for(len(word), "auto", self.dtype) for word in words}
        with telling_warnings(self.warned):
            truths = self.model.truth_many(words, self.dtype, self.output, "auto", self.strict)
        self.tokens += sum(map(len, words))
        return truths

    def how(self) -> str:
        return f"{' and '.join(sorted(self.used)) or 'no'} runtime, {self.dtype}"


def _open(source: str) -> IO[bytes]:
    if source == "-":
        return standard_input()
    return opened(source)


def _size(file: IO[bytes]) -> int | None:
    try:
        return Path(f"/dev/fd/{file.fileno()}").stat().st_size or None
    except (OSError, ValueError):
        return None


def _rate(tokens: int, began: float) -> str:
    rate = tokens / max(1e-9, perf_counter() - began)
    for unit, name in ((1e6, " million"), (1e3, " thousand")):
        if rate >= unit:
            return f"{rate / unit:.1f}{name}"
    return f"{rate:.0f}"
