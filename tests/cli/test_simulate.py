"""`softhat simulate`, and the general commands on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

from softhat import ahat
from softhat.ahat.gallery import GALLERY
from tests.cli.test_analyze import EXAMPLES, call


def test_simulate_run_and_trace(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    source = str(EXAMPLES / "induction-latest.json")
    done = call("simulate", source, "--epsilon", "0.01", "--max-length", "8", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    assert "every value is within 0.01 of the AHAT's" in done.stdout
    assert "latest match" in done.stdout
    model = GALLERY["induction-latest"]()
    assert ahat.load(folder / "ahat.json") == ahat.load(folder) == model
    documents = json.loads(call("run", str(folder), "abab", "bbaa", "--json").stdout)
    for document in documents:
        assert document["truth"] == model.truth(document["word"]).tolist()
        exact = [float(v) for v in model.values(document["word"])]
        assert max(abs(a - b) for a, b in zip(exact, document["margins"], strict=True)) <= 0.01
    trace = json.loads(call("trace", str(folder), "aba", "--json").stdout)
    assert trace["tokens"] == ["<bos>", "a", "b", "a"]
    assert trace["layers"][1]["heads"][0]["label"] == "latest match"
    assert "uniform-tieless" in call("analyze", str(folder), "--up-to", "3").stdout


def test_decisions_and_json(tmp_path: Path) -> None:
    source = str(EXAMPLES / "previous-token.json")
    done = call(
        "simulate", source, "--decide", "--max-length", "6", "-o", str(tmp_path / "m"), "--json"
    )
    assert done.returncode == 0, done.stderr
    certificate = json.loads(done.stdout)
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
        assert done.returncode == 2
        assert message in done.stderr
        assert not (tmp_path / "m").exists()
