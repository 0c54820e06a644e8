"""`softhat circuit` and `softhat score`: the true circuit as a table, a graph, and 1.0."""

from __future__ import annotations

import json
from pathlib import Path

from softhat import compile
from tests.cli.run import softhat


def test_the_true_circuit_scores_one(tmp_path: Path) -> None:
    compile("O (a & Y b)", alphabet="abc").save(tmp_path / "m")
    folder, graph = str(tmp_path / "m"), str(tmp_path / "graph.json")
    done = softhat("circuit", folder, "--eap", "-o", graph)
    assert done.code == 0 and "Previous" in done.out and "O (a & Y b)" in done.out
    edges = json.loads(Path(graph).read_text())["edges"]
    assert 0 < sum(edge["in_graph"] for edge in edges.values()) < len(edges)
    scored = softhat("score", folder, graph, "--constants", "--json")
    assert json.loads(scored.out)["edges"]["f1"] == 1.0


def test_as_json(tmp_path: Path) -> None:
    compile("Y a", alphabet="ab").save(tmp_path / "m")
    done = softhat("circuit", str(tmp_path / "m"), "--json")
    document = json.loads(done.out)
    assert {node["name"] for node in document["nodes"]} >= {"input", "logits"}
    assert all(edge["carries"] in ("input", "constant") for edge in document["edges"])


def test_what_has_no_circuit(tmp_path: Path) -> None:
    done = softhat("circuit", str(tmp_path / "nothing"))
    assert done.code == 2 and done.err.startswith("error:") and done.err.count("\n") == 1
