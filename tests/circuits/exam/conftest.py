"""A small paper, made once: a plain GPT-2, a disguised one, a Llama, and two twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from softhat.circuits.exam.making import make_paper
from softhat.circuits.exam.paper import questions

IDS = (
    "induction-1.gpt2",
    "induction-1.gpt2-smooth",
    "induction-1.gpt2-soft",
    "machine-1.gpt2-soft",
    "n-gram-1.gpt2-disguised",
    "star-free-1.llama",
)


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformer_lens")
    folder = tmp_path_factory.mktemp("exam") / "paper"
    make_paper(folder, 1, questions(1, IDS), jobs=1)
    return folder
