"""Methods on a small paper: what must be found is found, and what is absent says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from softhat.circuits.exam.marking import mark_prediction
from softhat.circuits.exam.methods import METHODS, find, sabotaged
from softhat.circuits.exam.subject import read_subject
from softhat.circuits.graph import possible_edges
from softhat.io.errors import SofthatError

pytest.importorskip("torch")
HERE = os.environ.get("SOFTHAT_REPOSITORIES")
"""A folder with clones of EAP-IG and auto-circuit, which are not softhat's to distribute."""
EDGES = {name: method for name, method in METHODS.items() if method.predicts == "edges"}
OWN = [name for name, method in EDGES.items() if method.package is None]
THEIRS = [name for name, method in EDGES.items() if method.package is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OWN)
def test_every_edge_gets_a_score(paper: Path, name: str) -> None:
    for id in ("induction-1.gpt2-soft", "star-free-1.llama"):
        subject = read_subject(paper, id)
        scores = METHODS[name].run(subject, None)
        assert scores.keys() == set(possible_edges(subject.circuit.config))
        mark = mark_prediction(subject, {"scores": scores})
        if name in ("true", "path-patching"):
            assert set(mark.measures.values()) == {1.0}
        if name == "atp":
            assert mark.measures["AUROC"] > 0.85


@pytest.mark.skipif(HERE is None, reason="SOFTHAT_REPOSITORIES names no folder")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", THEIRS)
def test_methods_of_others_run_by_their_own_code(paper: Path, name: str) -> None:
    assert HERE is not None
    for id in ("induction-1.gpt2-soft", "star-free-1.llama"):
        subject = read_subject(paper, id)
        scores = METHODS[name].run(subject, Path(HERE))
        assert scores.keys() == set(possible_edges(subject.circuit.config))
        mark = mark_prediction(subject, {"scores": scores})
        assert mark.measures["AUROC"] > (0.99 if name in ("exact", "acdc") else 0.4)
        assert "@" in METHODS[name].version(Path(HERE))


@pytest.mark.skipif(HERE is None, reason="SOFTHAT_REPOSITORIES names no folder")
@pytest.mark.filterwarnings("ignore")
def test_our_attribution_is_theirs(paper: Path) -> None:
    """EAP's score is the absolute value of the sum over pairs of our effects."""
    import torch

    from softhat.circuits.exam.attribution import by_edge, gradients, outputs

    assert HERE is not None
    subject = read_subject(paper, "induction-1.gpt2-soft")
    clean, corrupt = subject.tokens
    with torch.no_grad():
        before, after = outputs(subject.hooked, clean), outputs(subject.hooked, corrupt)
    change = {name: after[name] - before[name] for name in before}
    effects = by_edge(subject, change, gradients(subject))
    theirs = METHODS["eap"].run(subject, Path(HERE))
    for name, effect in effects.items():
        ours = abs(float(effect.sum())) / len(effect) ** 2  # the mean, and then by the batch
        assert theirs[name] == pytest.approx(ours, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("name", THEIRS)
def test_an_absent_package_is_one_line(paper: Path, name: str, tmp_path: Path) -> None:
    if HERE is not None:
        pytest.skip("it is here")
    with pytest.raises(SofthatError, match=r"git clone https://github\.com/.*--repository"):
        METHODS[name].run(read_subject(paper, "star-free-1.llama"), tmp_path)


def test_unknown_names() -> None:
    with pytest.raises(SofthatError, match="there is no method 'x'"):
        find("x")
    with pytest.raises(SofthatError, match="there is no sabotage 'x'"):
        sabotaged({"a": 1.0}, "x", 0)
