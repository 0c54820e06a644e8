"""The MIB track's formats and measures, against its own code where that is on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.exam.interchange import (
    agentic,
    edges_of_case,
    from_eap,
    nodes_of_case,
)
from softhat.circuits.exam.making import listed
from softhat.circuits.exam.mib import (
    SHARES,
    connected,
    faithfulness,
    from_pt,
    graph,
    thresholded,
    to_pt,
)
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.circuits.graph import possible_edges
from softhat.io.errors import SofthatError

HERE = os.environ.get("SOFTHAT_REPOSITORIES")


def truth(subject: Subject) -> dict[str, float]:
    true = {e.name for e in subject.circuit.edges if e.carries == "input"}
    return {name: float(name in true) for name in possible_edges(subject.circuit.config)}


def test_the_true_circuit_scores_one_in_every_format(paper: Path, tmp_path: Path) -> None:
    for id in listed(paper):
        subject = read_subject(paper, id)
        circuit, scores = subject.circuit, truth(subject)
        chosen = {name for name, value in scores.items() if value}
        document = json.loads(json.dumps(graph(circuit.config, scores, chosen)))
        to_pt(document, tmp_path / "g.pt")
        assert from_pt(tmp_path / "g.pt") == document
        plain = json.loads(json.dumps(circuit.to_eap(constants=False)))
        case = json.loads(json.dumps(agentic(subject)))
        for predicted in (
            document,
            from_pt(tmp_path / "g.pt"),
            plain,
            from_eap(plain, circuit),
            edges_of_case(case),
        ):
            found = softhat.score(circuit, predicted)
            assert (found.precision, found.recall, found.f1, found.auroc) == (1, 1, 1, 1)
        assert set(nodes_of_case(case)) <= {node.name for node in circuit.nodes}


def test_graphs_of_other_models_are_refused(paper: Path) -> None:
    one, other = (read_subject(paper, id) for id in ("induction-1.gpt2", "star-free-1.llama"))
    with pytest.raises(SofthatError, match="another model"):
        from_eap(one.circuit.to_eap(), other.circuit)


def test_sizes_and_what_is_connected(paper: Path) -> None:
    subject = read_subject(paper, "induction-1.gpt2")
    names = possible_edges(subject.circuit.config)
    for share, document in thresholded(subject.circuit.config, truth(subject)).items():
        inside = sum(edge["in_graph"] for edge in document["edges"].values())
        assert inside == int(share * len(names))
    assert connected({"input->a0.h0<v>", "a0.h0->m0"}) == set()
    assert connected({"input->m0", "m0->logits", "a0.h0->logits"}) == {"input->m0", "m0->logits"}


def test_the_true_circuit_is_faithful(paper: Path) -> None:
    """With constants, which the true circuit needs as the whole model does."""
    subject = read_subject(paper, "induction-1.gpt2")
    every = {edge.name for edge in subject.circuit.edges}
    scores = {name: float(name in every) for name in possible_edges(subject.circuit.config)}
    found = faithfulness(subject, scores)
    assert found.curve[-1] == pytest.approx(1) and found.curve[-3] == pytest.approx(1, abs=0.05)


@pytest.mark.skipif(HERE is None, reason="SOFTHAT_REPOSITORIES names no folder")
@pytest.mark.filterwarnings("ignore")
def test_mibs_own_evaluation_gives_what_ours_gives(
    paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from softhat.circuits.exam.eap import loader
    from softhat.circuits.exam.packages import EAP, MIB, import_package, on_this_processor

    assert HERE is not None
    import_package(EAP, "graph", Path(HERE))
    evaluation = import_package(MIB, "evaluation", Path(HERE))
    loading = import_package(MIB, "circuit_loading", Path(HERE))
    own = evaluation.evaluate_graph

    def evaluate(*arguments: Any, optimal_ablation_path: Any = None, **options: Any) -> Any:
        return own(*arguments, **options)  # an option of a later EAP-IG

    monkeypatch.setattr(evaluation, "evaluate_graph", evaluate)
    rng = np.random.default_rng(0)
    for id in ("induction-1.gpt2-soft", "n-gram-1.gpt2-disguised"):
        subject = read_subject(paper, id)
        names = possible_edges(subject.circuit.config)
        noise = rng.random(len(names))
        true = truth(subject)
        for weight in (0.0, 0.5, 2.0):
            scores = {n: weight * true[n] + float(x) for n, x in zip(names, noise, strict=True)}
            file = tmp_path / "graph.json"
            file.write_text(json.dumps(graph(subject.circuit.config, scores, set())))
            theirs = loading.load_graph_from_json(str(file))

            def metric(logits: Any, clean: Any, lengths: Any, labels: Any, s: Any = subject) -> Any:
                return s.metric(logits)

            with on_this_processor():
                _, cpr, cmd, _, curve = evaluation.evaluate_area_under_curve(
                    subject.hooked, theirs, loader(subject), metric, quiet=True
                )
            ours = faithfulness(subject, scores)
            assert ours.curve == pytest.approx(curve, abs=1e-6)
            assert (ours.cpr, ours.cmd) == pytest.approx((cpr, cmd), abs=1e-6)
    assert len(SHARES) == 10
