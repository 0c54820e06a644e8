"""Bytes to encoded tokens, block by block: UTF-8, lines, and what a symbol is.

Symbols are characters, or tokens separated by white space, or sets such as `{p,q}`. What may go
on in the next block waits for it. Every error names the line, the token and the byte at which
it stands, and comes after the pieces before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.transformer.weights import Transformer

LONGEST_TOKEN = 1 << 16
"""A token that goes on for longer than this is no token."""
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Encoded tokens of one line, and whether the line starts and ends with them."""

    tokens: NDArray[Any]
    first: bool
    last: bool


def read_pieces(
    file: IO[bytes], name: str, transformer: Transformer, tokens: bool, size: int
) -> Iterator[tuple[list[TextPiece], int]]:
    """For each block its pieces, and the bytes read so far."""
    reader = _reader(name, transformer, tokens)
    data, waiting = file.read(max(size, len(BOM))), ""
    done = len(data)
    if data.startswith(BOM):
        data, reader.offset = data[len(BOM) :], len(BOM)
    while True:
        block = file.read(size)
        final = not block
        text, data, bad = _decode(data, final)
        pieces: list[TextPiece] = []
        try:
            waiting = reader.read(waiting + text, final and bad is None, pieces)
            if bad is not None:
                raise reader.fault(waiting, f"byte 0x{bad:02x} is not UTF-8 text")
        except SofthatError:
            yield pieces, done
            raise
        yield pieces, done
        if final:
            break
        data += block
        done += len(block)
    if reader.line == 1 and reader.seen == 0:
        raise SofthatError(f"{name} is empty: expected at least one word")


def _decode(data: bytes, final: bool) -> tuple[str, bytes, int | None]:
    """The text before the first fault, the bytes that wait for the next block, the bad byte."""
    try:
        return data.decode("utf-8"), b"", None
    except UnicodeDecodeError as error:
        text, rest = data[: error.start].decode("utf-8"), data[error.start :]
        if error.reason == "unexpected end of data" and not final:
            return text, rest, None
        return text, b"", rest[0]


def _reader(name: str, transformer: Transformer, tokens: bool) -> _Characters | _Tokens:
    if transformer.propositional:
        return _Sets(name, transformer)
    if tokens or any(len(symbol) > 1 for symbol in transformer.symbols):
        return _Tokens(name, transformer)
    return _Characters(name, transformer)


class _BlockReader:
    """Where we are: the offset of the next byte, the line, and tokens of it seen so far."""

    def __init__(self, name: str, transformer: Transformer) -> None:
        self.name = name
        self.symbols = transformer.symbols
        self.codes = {symbol: k for k, symbol in enumerate(transformer.symbols)}
        self.offset = 0
        self.line = 1
        self.seen = 0

    def emit(self, tokens: NDArray[Any], last: bool, pieces: list[TextPiece]) -> None:
        if last and self.seen == 0 and len(tokens) == 0:
            raise self.fault("", "the line is empty, and the empty word has no positions")
        if len(tokens) or last:
            pieces.append(TextPiece(tokens, self.seen == 0, last))
        self.seen += len(tokens)
        if last:
            self.line += 1
            self.seen = 0

    def fault(self, before: str, what: str) -> SofthatError:
        """An error behind the text `before`, counted from `offset`."""
        at = self.offset + len(before.encode("utf-8"))
        return SofthatError(f"line {self.line} of {self.name}, byte {at:,}: {what}")

    def foreign(self, before: str, symbol: str) -> SofthatError:
        shown = " ".join(self.symbols[:20]) + (" …" if len(self.symbols) > 20 else "")
        what = f"token {self.seen + 1:,} of the line is {symbol!r}, not in the alphabet: {shown}"
        return self.fault(before, what)


class _Characters(_BlockReader):
    """Every character is a symbol; line breaks end a word unless they are symbols."""

    def __init__(self, name: str, transformer: Transformer) -> None:
        super().__init__(name, transformer)
        points = {ord(symbol): k for symbol, k in self.codes.items()}
        self.table = np.full(max([*points, 0x80]) + 2, -1, np.int64)
        for point, k in points.items():
            self.table[point] = k
        self.lines = "\n" not in self.codes
        self.returns = "\r" not in self.codes

    def read(self, text: str, final: bool, pieces: list[TextPiece]) -> str:
        """Encode the text; what must wait comes back."""
        waiting = ""
        if self.returns and not final and text.endswith("\r"):
            text, waiting = text[:-1], "\r"  # a line feed may follow
        if text.isascii():
            points: NDArray[Any] = np.frombuffer(text.encode("ascii"), np.uint8)
        else:
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
        ends = np.flatnonzero(points == 10).tolist() if self.lines else []
        codes = self.table.take(points, mode="clip")
        if len(codes) == 0:
            faults = False
        else:
            faults = bool((codes < 0).sum() > len(ends))
        begin = 0
        for end in ends:
            returned = self.returns and end > begin and points[end - 1] == 13
            self._line(text, codes, begin, end - returned, True, faults, pieces)
            begin = end + 1
        if begin < len(text) or (final and self.seen):
            self._line(text, codes, begin, len(text), final, faults, pieces)
        self.offset += len(text) if text.isascii() else len(text.encode("utf-8"))
        return waiting

    def _line(
        self,
        text: str,
        codes: NDArray[Any],
        begin: int,
        stop: int,
        last: bool,
        faults: bool,
        pieces: list[TextPiece],
    ) -> None:
        part = codes[begin:stop]
        if faults and len(part) and part.min() < 0:
            bad = int(np.argmax(part < 0))
            self.emit(part[:bad], False, pieces)
            raise self.foreign(text[: begin + bad], text[begin + bad])
        if len(part) == 0 and last and self.seen == 0:
            raise self.fault(text[:begin], "the line is empty, and the empty word has no positions")
        self.emit(part, last, pieces)


class _Tokens(_BlockReader):
    """Symbols separated by white space."""

    def read(self, text: str, final: bool, pieces: list[TextPiece]) -> str:
        """Encode the text; what must wait comes back."""
        cut = len(text) if final else self.cut(text)
        text, waiting = text[:cut], text[cut:]
        lines = text.split("\n")
        for k, line in enumerate(lines):
            ended = k < len(lines) - 1
            if ended or line.strip() or (final and self.seen):
                self._line(line, ended or final, pieces)
            self.offset += len(line.encode("utf-8")) + ended
        if len(waiting) > LONGEST_TOKEN:
            raise self.fault("", f"a token of more than {LONGEST_TOKEN:,} characters")
        return waiting

    def cut(self, text: str) -> int:
        """After the last white space: the token behind it may go on in the next block."""
        return len(text) - len(re.split(r"\s", text[-LONGEST_TOKEN - 1 :])[-1])

    def _line(self, line: str, last: bool, pieces: list[TextPiece]) -> None:
        places = [(token.start(), token[0]) for token in self.pattern.finditer(line)]
        names = [name for _, name in places]
        bad = next((k for k, name in enumerate(names) if not self.known(name)), None)
        if bad is not None:
            self.emit(self.encode(names[:bad]), False, pieces)
            raise self.foreign(line[: places[bad][0]], names[bad])
        self.emit(self.encode(names), last, pieces)

    pattern = re.compile(r"\S+")

    def known(self, name: str) -> bool:
        return name in self.codes

    def encode(self, names: list[str]) -> NDArray[Any]:
        return np.array([self.codes[name] for name in names], np.int64)


class _Sets(_Tokens):
    """Sets of propositions, such as `{p} {} {p,q}`."""

    pattern = re.compile(r"\{[^{}]*\}|[^\s{]+|\{")

    def cut(self, text: str) -> int:
        """After the last set or line that is complete."""
        return max(text.rfind("}"), text.rfind("\n")) + 1

    def known(self, name: str) -> bool:
        return (
            name.startswith("{")
            and name.endswith("}")
            and all(item in self.codes for item in _items(name))
        )

    def encode(self, names: list[str]) -> NDArray[Any]:
        bits = np.zeros((len(names), len(self.symbols)), np.bool_)
        for row, name in zip(bits, names, strict=True):
            for item in _items(name):
                row[self.codes[item]] = True
        return bits


def _items(name: str) -> list[str]:
    """The propositions of `{p,q}`."""
    return [item for item in (part.strip() for part in name[1:-1].split(",")) if item]
