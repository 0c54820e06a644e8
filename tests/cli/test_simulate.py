"""`softhat simulate`, and the general commands on what it wrote."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from softhat import ahat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck import recheck
from tests.cli.run import softhat as call
from tests.cli.test_analyze import EXAMPLES
from tests.slices import every


def test_simulate_run_and_trace(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    source = str(EXAMPLES / "induction-latest.json")
    done = call("simulate", source, "--epsilon", "0.01", "--max-length", "8", "-o", str(folder))
    assert done.code == 0, done.err
    assert "every value is within 0.01 of the AHAT's" in done.out
    assert "latest match" in done.out
    model = GALLERY["induction-latest"]()
    assert ahat.load(folder / "ahat.json") == ahat.load(folder) == model
    documents = json.loads(call("run", str(folder), "abab", "bbaa", "--json").out)
    for document in documents:
        assert document["truth"] == model.truth(document["word"]).tolist()
        exact = [float(v) for v in model.values(document["word"])]
        assert max(abs(a - b) for a, b in zip(exact, document["margins"], strict=True)) <= 0.01
    trace = json.loads(call("trace", str(folder), "aba", "--json").out)
    assert trace["tokens"] == ["<bos>", "a", "b", "a"]
    assert trace["layers"][1]["heads"][0]["label"] == "latest match"
    assert "uniform-tieless" in call("analyze", str(folder), "--up-to", "3").out


def test_decisions_and_json(tmp_path: Path) -> None:
    source = str(EXAMPLES / "previous-token.json")
    done = call(
        "simulate", source, "--decide", "--max-length", "6", "-o", str(tmp_path / "m"), "--json"
    )
    assert done.code == 0, done.err
    certificate = json.loads(done.out)
    assert certificate["epsilon"] is None
    assert certificate["max_length"]["float64"] == 6
    assert certificate == json.loads((tmp_path / "m" / "certificate.json").read_text())


def test_refusals(tmp_path: Path) -> None:
    source = str(EXAMPLES / "dyck-uniform.json")
    for arguments, message in [
        (["--max-length", "65"], "tables end at length 64"),
        (["--epsilon", "0"], "positive"),
        (["--max-length", "0"], "at least 1"),
    ]:
        done = call("simulate", source, *arguments, "-o", str(tmp_path / "m"))
        assert done.code == 2
        assert message in done.err
        assert not (tmp_path / "m").exists()


def interrupted(arguments: list[str], when: str, tmp_path: Path) -> tuple[int, str, str]:
    """Send a real Ctrl-C when the command begins the step of this name."""
    code = (
        "import os, signal, sys\n"
        "from softhat.cli import simulate\n"
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def progress(quiet=False):\n"
        "    def show(what, done, total, note):\n"
        f"        if note.startswith({when!r}):\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield show\n"
        "simulate.progress = progress\n"
        "from softhat.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        # Jobs that a shell starts in the background ignore Ctrl-C, and their children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("when", "guarantee", "length"),
    every(
        3,
        [
            ("choosing β of layer 1", "proved_all", None),  # nothing yet but the laws
            ("certifying length 1", "proved_all", None),
            ("certifying length 7", "proved_to_length", 6),  # constants, as far as certified
            ("certifying in floats", "proved_to_length", 8),
        ],
    ),
)
def test_ctrl_c_keeps_what_was_proved(
    when: str, guarantee: str, length: int | None, tmp_path: Path
) -> None:
    source = str(EXAMPLES / "induction-latest.json")
    arguments = [source, "--max-length", "8", "-o", "m", "--json"]
    code, out, err = interrupted(arguments, when, tmp_path)
    assert code == 130, err
    assert "Traceback" not in err
    assert "interrupted: what was proved until then is written" in err
    certificate = json.loads(out)
    assert (certificate["guarantee"], certificate["length"]) == (guarantee, length)
    assert certificate == json.loads((tmp_path / "m" / "certificate.json").read_text())
    checked = recheck(tmp_path / "m", max_words=520, lengths=(length or 10,))
    assert checked.ok, checked.failures
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"]


def test_ctrl_c_with_nothing_proved_writes_nothing(tmp_path: Path) -> None:
    """Decisions of a value that may be 0 have no law, so nothing is known before the search."""
    source = str(EXAMPLES / "dyck-argmin.json")
    arguments = [source, "--decide", "--max-length", "8", "-o", "m"]
    code, out, err = interrupted(arguments, "choosing", tmp_path)
    assert (code, out, err) == (130, "", "interrupted: nothing was written\n")
    assert list(tmp_path.iterdir()) == []
