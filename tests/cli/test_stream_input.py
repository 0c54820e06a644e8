"""Big input: any block size gives the same answers, and faults have offsets."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import softhat
from softhat.cli import stream_input
from softhat.cli.stream_input import stream_file, write_stream
from softhat.io.errors import SofthatError
from softhat.models.model import Model

BLOCKS = [1, 2, 3, 5, 1 << 20]


def answers(model: Model, path: Path, data: bytes) -> tuple[str, str]:
    """What was written, and the error if there was one."""
    path.write_bytes(data)
    out = io.StringIO()
    try:
        write_stream(stream_file(model, str(path), progress=False), out)
    except SofthatError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def lines(model: Model, words: list[object]) -> str:
    (formula,) = model.formulas.values()
    rows = [formula.truth(word) for word in words]
    return "".join("".join(".1"[bit] for bit in row.tolist()) + "\n" for row in rows)


@pytest.mark.parametrize("block", BLOCKS)
def test_characters(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_input, "BLOCK", block)
    path = tmp_path / "words"
    model = softhat.compile("b S a", alphabet="abc")
    expected = lines(model, ["abc", "bbab", "ca"])
    for data in (b"abc\nbbab\nca", b"abc\nbbab\nca\n", b"abc\r\nbbab\r\nca\r\n",
                 b"\xef\xbb\xbfabc\nbbab\nca"):  # fmt: skip
        assert answers(model, path, data) == (expected, "")
    faults = {
        b"abc\nbxab\n": ("11.\n.", "line 2 of .*words, byte 5: token 2 of the line is 'x'"),
        b"abc\nb\xffab\n": ("11.\n.", "line 2 of .*, byte 5: byte 0xff is not UTF-8"),
        b"abc\nb\xc3": ("11.\n.", "line 2 of .*, byte 5: byte 0xc3 is not UTF-8"),
        b"abc\n\nab": ("11.\n", "line 2 of .*, byte 4: the line is empty"),
        b"": ("", "is empty"),
    }
    for data, (written, message) in faults.items():
        found, error = answers(model, path, data)
        assert found == written
        with pytest.raises(SofthatError, match=message):
            raise SofthatError(error)


@pytest.mark.parametrize("block", BLOCKS)
def test_other_symbols(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_input, "BLOCK", block)
    path = tmp_path / "words"
    accents = softhat.compile("b S 'é'", alphabet="éb")
    assert answers(accents, path, "ébb\nbé".encode()) == (lines(accents, ["ébb", "bé"]), "")
    assert "byte 6: token 5" in answers(accents, path, "ébbéx".encode())[1]
    tokens = softhat.compile("open S close", alphabet=["open", "close"])
    words: list[object] = [["close", "open", "open"], ["open"]]
    assert answers(tokens, path, b"close open\t open\nopen\n") == (lines(tokens, words), "")
    found, error = answers(tokens, path, b"close open opn close\n")
    assert found == "11"
    assert "byte 11: token 3 of the line is 'opn'" in error
    sets = softhat.compile("p S q", propositions=["p", "q"])
    words = [[{"q"}, {"p"}, {"p", "q"}], [set(), {"p"}]]
    assert answers(sets, path, b"{q} {p} {p, q}\n{} {p}") == (lines(sets, words), "")
    assert "byte 8: token 3" in answers(sets, path, b"{q} {p} {r} {p}")[1]


@pytest.mark.parametrize("text", ["Y (a S b)", "X (a U b)", "#(a) > #>(b)"])
def test_lines_longer_than_a_block(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_input, "BLOCK", 1000)
    rng = np.random.default_rng(0)
    words: list[object] = ["".join(rng.choice(list("ab"), n)) for n in (5, 7000, 3, 900, 2500, 1)]
    model = softhat.compile(text, alphabet="ab")
    data = "\n".join(map(str, words)).encode()
    assert answers(model, tmp_path / "words", data) == (lines(model, words), "")


def test_throughput_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "words"
    path.write_text("ab" * 5000)
    model = softhat.compile("a S b", alphabet="ab")
    list(stream_file(model, str(path)))
    said = capsys.readouterr()
    assert "10,000 tokens in" in said.err
    assert "linear runtime" in said.err
    assert said.out == ""
    with pytest.raises(SofthatError, match="cannot read"):
        list(stream_file(model, str(tmp_path / "missing")))


def test_an_interrupt_says_how_far(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_input, "BLOCK", 100)
    path = tmp_path / "words"
    path.write_text("ab" * 500)
    answering: Any = stream_file(softhat.compile("a S b", alphabet="ab"), str(path))
    next(answering)
    next(answering)
    with pytest.raises(typer.Exit) as end:
        answering.throw(KeyboardInterrupt)
    assert end.value.exit_code == 130
    assert "interrupted after 200 tokens (byte 200" in capsys.readouterr().err
