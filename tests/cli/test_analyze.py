"""`softhat analyze`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import softhat as call

EXAMPLES = Path(__file__).parents[2] / "examples" / "ahat"


def test_a_tied_model(tmp_path: Path) -> None:
    done = call("analyze", str(EXAMPLES / "dyck-argmin.json"), "--up-to", "6")
    assert done.code == 0, done.err
    # People count positions from 1, and see the winners.
    assert "ties at row 3 of [)] [)] (: positions 1, 2 share the maximum" in done.out
    assert "1/15" in done.out
    data = json.loads(
        call("analyze", str(EXAMPLES / "dyck-argmin.json"), "--up-to", "5", "--json").out
    )
    assert data["uniform_tieless"] is False
    assert data["counterexample"]["word"] == "))("
    assert (data["counterexample"]["row"], data["counterexample"]["positions"]) == (2, [0, 1])
    assert data["min_gap"] == {"0.0": None, "1.0": "1/10"}
    assert data["rows"]["3"]["1.0"] == [14, 9, 1]


def test_given_words_and_a_plot(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("ab\nbba\n\n")
    done = call(
        "analyze", str(EXAMPLES / "last-token.json"), "--words", f"@{tmp_path / 'words'}",
        "--words", "aaaa", "--plot", str(tmp_path / "law.png"),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "on the given words only" in done.out
    assert (tmp_path / "law.png").stat().st_size > 1000


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"format": "softhat-ahat/1", "alphabet": 3}')
    for arguments, message in [
        (["analyze", str(tmp_path / "none.json")], "no file"),
        (["analyze", str(tmp_path / "bad.json")], "the field positions is missing"),
        (["analyze", str(EXAMPLES / "majority.json"), "--words", "abc"], "'c' at position 3"),
        (["analyze", str(EXAMPLES / "majority.json"), "--up-to", "0"], "at least 1"),
        (["analyze", str(EXAMPLES / "majority.json"), "--text", "a"], "--words"),
        (["analyze", str(EXAMPLES / "last-token.json"), "--leak", "2"], "strictly between"),
    ]:
        done = call(*arguments)
        assert done.code == 2, arguments
        assert message in done.err
        assert len(done.err.strip().splitlines()) == 1
        assert done.out == ""
