"""The hooked model is the model: the same logits, and nodes that add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.circuits.exam.making import listed
from softhat.circuits.exam.subject import read_subject

torch = pytest.importorskip("torch")


def test_logits_are_those_of_transformers(paper: Path) -> None:
    from transformers import AutoModelForTokenClassification

    for id in listed(paper):
        subject = read_subject(paper, id)
        stock = AutoModelForTokenClassification.from_pretrained(
            subject.folder, dtype=torch.float64, attn_implementation="eager"
        )
        tokens = subject.tokens[0][:6]
        with torch.no_grad():
            expected, own = stock(tokens).logits, subject.hooked(tokens)
            wider = subject.fresh(least_heads=5)(tokens)
        assert torch.allclose(own, expected, atol=1e-5)  # rotary angles are float32 there
        assert torch.equal(own, wider)


def test_hooks_show_what_every_node_adds(paper: Path) -> None:
    from softhat.circuits.exam.attribution import outputs

    for id in ("star-free-1.llama", "n-gram-1.gpt2-disguised"):
        subject = read_subject(paper, id)
        added = outputs(subject.hooked, subject.tokens[0])
        expected, _ = subject.network.run(subject.pairs.clean)
        for name, value in expected.items():
            assert np.allclose(added[name].numpy(), value, atol=1e-9), name
