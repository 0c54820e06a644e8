"""`softhat verify`, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import softhat
from softhat.io.files import write_folder
from tests.cli.run import softhat as call
from tests.proof.mutations import Mutation
from tests.slices import sizes

SMALL = (
    "--exhaustive", "5", "--random", "8", "--adversarial", "4", "--max-length", "30", "-j", "1",
)  # fmt: skip


def test_a_formula() -> None:
    done = call("verify", "!c S a & #(b) > 1", "--alphabet", "abc", *SMALL)
    assert done.code == 0, done.err
    assert "ok: model and formula agree" in done.out
    assert "all 363 to length 5 over 3 kinds of symbols" in done.out
    assert "Latest: !c S a" in done.out
    assert "0.018316" in done.out


def test_json_is_one_document() -> None:
    done = call("verify", "p S q", "--props", "--json", "--attention", "temperature", *SMALL)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["ok"] is True
    assert document["letters"] == 4
    assert document["counts"]["exhaustive"] == 4 + 16 + 64 + 256 + 1024
    (head,) = document["heads"]
    assert 0 < head["exact_leak"] <= head["certified_leak"] + 1e-12 < 0.02  # rounding of float64


def test_a_sabotaged_folder_is_exit_code_1(tmp_path: Path) -> None:
    model = softhat.compile("a S Y b", alphabet="ab")
    broken = Mutation(1, "value", (0, 0, _bit(model)), 0.0).apply(model)
    folder = tmp_path / "model"
    write_folder(folder, broken.contents())
    done = call("verify", str(folder), *SMALL)
    assert done.code == 1, done.err
    assert "WRONG" in done.out
    assert "ba (shortest, 2 positions)" in done.out
    assert "output is true at position 2, the model says false" in done.out
    assert "layer 1, head 0 (Latest: a S Y b)" in done.out


def _bit(model: softhat.Model) -> int:
    """The coordinate that the only value row of layer 1 reads."""
    value = model.transformer.layers[1].value.dense()[0, 0]
    return int(value.argmax())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a S",), "error:"),
        (("a", "--dtype", "float8"), "unknown dtype"),
        (("a", "--jobs", "-1"), "--jobs"),
        (("a", "--plot", "leak.gif"), ".png, .svg or .pdf"),
        (("a", "--exhaustive", "0", "--random", "0", "--adversarial", "0"), "nothing to verify"),
    ],
)
def test_bad_input_is_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    done = call("verify", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not done.out


@pytest.mark.parametrize("count", sizes(2500, 6000))
def test_interrupt_keeps_what_is_done(tmp_path: Path, count: int) -> None:
    """Ctrl-C during a run on two processes, then --resume: the same words as in one go."""
    file = tmp_path / "state.json"
    arguments = [
        "verify", "a S (b & Y a)", "--exhaustive", "12", "--random", str(count),
        "--adversarial", "0", "--max-length", "300", "--json", "--resume", str(file), "-j", "2",
    ]  # fmt: skip
    command = [sys.executable, "-c", "from softhat.cli import main; main()", *arguments]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Jobs that a shell starts in the background ignore Ctrl-C, and their children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 300
    while not file.exists() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 1, err.decode()
    assert b"Traceback" not in err
    half = json.loads(out)
    assert half["complete"] is False
    assert half["counterexample"] is None
    done = call(*arguments[:-2], "-j", "1")
    assert done.code == 0, done.err
    whole = json.loads(done.out)
    assert 0 < half["words"] < whole["words"]
    model = softhat.compile("a S (b & Y a)")
    fresh = softhat.verify(model, exhaustive=12, random=count, adversarial=0, max_length=300)
    assert (whole["words"], whole["counts"]) == (fresh.words, fresh.counts)


def test_a_simulation_is_compared_with_exact_average_hard_attention(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "examples" / "ahat" / "majority.json"
    folder = str(tmp_path / "simulation")
    assert call("simulate", str(source), "-o", folder, "--max-length", "10").code == 0
    done = call("verify", folder, "--exhaustive", "5", "--random", "10")
    assert done.code == 0, done.err
    assert "ok: simulation and AHAT agree" in done.out
    document = json.loads(call("verify", folder, "--exhaustive", "3", "--json").out)
    assert document["ok"] is True
    assert document["exhaustive_length"] == 3
    refused = call("verify", folder, "--resume", str(tmp_path / "state.json"))
    assert refused.code == 2
    assert "is run in this process: leave --resume out" in refused.err


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "leak.svg"
    done = call("verify", "O a", "--plot", str(file), *SMALL)
    assert done.code == 0, done.err
    assert file.read_bytes().startswith(b"<?xml")
    assert str(file) in done.err
