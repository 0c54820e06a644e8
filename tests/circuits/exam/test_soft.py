"""Soft twins: still certified, still right, and seen by gradients."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.circuits.exam.soft import soft_twin
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.export.gpt2.to_gpt2 import gpt2_files
from softhat.export.stock.options import StockOptions
from softhat.logic.random import random_formula

torch = pytest.importorskip("torch")
TWINS = ("induction-1.gpt2-soft", "machine-1.gpt2-soft")


def test_the_twin_is_certified_and_right(paper: Path) -> None:
    """Every short word and some of the whole context, by the stock class in float32."""
    from transformers import AutoModelForTokenClassification

    for id in TWINS:
        subject = read_subject(paper, id)
        certificate = softhat.certify(subject.folder)
        assert certificate.max_length["float32"] == 9 and not certificate.disagrees
        assert subject.question["softness"]["gates"] < 1
        assert max(subject.question["softness"]["heads"].values()) < 1 / 2
        stock = AutoModelForTokenClassification.from_pretrained(subject.folder)
        formula = softhat.parse(subject.question["formula"])
        symbols = subject.network.symbols
        words = [list(word) for n in (1, 3) for word in product(symbols, repeat=n)]
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randint(len(symbols), (60, 9), generator=generator).tolist()
        words += [[symbols[code] for code in row] for row in drawn]
        for word in words:
            with torch.no_grad():
                logits = stock(subject.hooked.to_tokens([" ".join(word)])).logits[0, 1:]
            assert (logits[:, 1] > logits[:, 0]).tolist() == formula.truth(word).tolist()


def test_gradients_see_nine_of_ten_true_edges(paper: Path) -> None:
    seen = [_seen(read_subject(paper, id)) for id in TWINS]
    assert sum(a for a, _ in seen) >= 0.9 * sum(b for _, b in seen)
    sharp, total = _seen(read_subject(paper, "induction-1.gpt2-smooth"))
    assert sharp < 0.7 * total


FAINT = 1e-9
"""An attribution below this share of the margin is no gradient to speak of."""


def _seen(subject: Subject) -> tuple[int, int]:
    """How many true edges have an attribution other than 0, and how many there are."""
    from softhat.circuits.exam.star import atp

    scores = atp(subject)
    with torch.no_grad():
        margin = float(subject.metric(subject.hooked(subject.tokens[0])).abs().mean())
    true = [edge.name for edge in subject.circuit.edges if edge.carries == "input"]
    return sum(scores[name] > FAINT * margin for name in true), len(true)


def test_sharper_than_certified_is_refused(paper: Path) -> None:
    """One step softer, and the certificate is gone: the twin is at the edge."""
    from softhat.circuits.exam.soft import RATIO, softened
    from softhat.io.files import parse_json

    subject = read_subject(paper, TWINS[0])
    files = {path.name: path.read_bytes() for path in subject.folder.iterdir()}
    for layer in range(subject.network.layers):
        softer = softened(files, {(layer, 0): RATIO}, 1.0)
        proved = parse_json(softer["certificate.json"], "certificate")
        assert proved["max_length"]["float32"] == 0


@pytest.mark.parametrize(
    "count", [4, pytest.param(150, marks=pytest.mark.full)], ids=["slice", "full"]
)
def test_no_soft_twin_of_a_random_formula_is_wrong(count: int, tmp_path: Path) -> None:
    """Certified twins, run by the stock class in float32 on every word of 1 to 5 symbols and on
    random words of the whole context: no answer may be wrong."""
    from transformers import AutoModelForTokenClassification

    rng = np.random.default_rng(count)
    for number in range(count):
        family = ("past", "past-counting")[number % 2]
        formula = random_formula(rng, int(rng.integers(4, 12)), ("a", "b"), family)
        model = softhat.compile(formula, alphabet="ab")
        files = gpt2_files(model, StockOptions(10), "gelu_new")
        twin, _, gates = soft_twin(files, 10)
        assert gates < 1
        place = tmp_path / str(number)
        place.mkdir()
        for name, data in twin.items():
            (place / name).write_bytes(data)
        proved = json.loads(twin["certificate.json"])
        assert proved["max_length"]["float32"] == 9
        stock = AutoModelForTokenClassification.from_pretrained(place)
        for length in (1, 2, 3, 4, 5, 9):
            codes = rng.integers(0, 2, (64, 9))
            if length < 9:
                codes = np.array(list(product((0, 1), repeat=length)))
            bos = np.full((len(codes), 1), stock.config.bos_token_id)
            tokens = torch.from_numpy(np.concatenate([bos, codes], axis=1))
            with torch.no_grad():
                logits = stock(tokens).logits[:, 1:]
            own = logits[..., 1] > logits[..., 0]
            for word, said in zip(codes.tolist(), own.tolist(), strict=True):
                assert said == formula.truth(["ab"[c] for c in word]).tolist(), (str(formula), word)
