"""What disguised models store: the labels' directions hold the formulas' truth, read in
Hugging Face's own forward pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.circuits.exam.stored import learned_places, marked_places, stored_bits
from softhat.circuits.exam.subject import read_subject
from softhat.io.files import read_json, read_tensors

ID = "n-gram-1.gpt2-disguised"


def test_a_bit_moves_the_stream_along_its_direction(paper: Path) -> None:
    """Regression on the stream of transformers' GPT-2 knows nothing of labels: where two places
    differ in exactly one bit, and in the bits of positions, their difference along the stored
    directions is the bit's own."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    subject = read_subject(paper, ID)
    places = marked_places(subject)
    bits = stored_bits(subject, places)
    model = transformers.GPT2ForTokenClassification.from_pretrained(subject.folder).double()
    tokens = torch.from_numpy(subject.network.tokens_with_bos(places.words))
    seen = []
    hook = model.transformer.h[-1].register_forward_hook(
        lambda module, given, out: seen.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.no_grad():
        model(tokens)
    hook.remove()
    stream = seen[0][:, 1:].reshape(-1, seen[0].shape[-1]).numpy()
    assert np.allclose(stream, places.residual, atol=1e-5)
    for direction, true in zip(bits.directions, bits.true, strict=True):
        readings = stream @ direction / (direction @ direction)
        assert np.ptp(readings[true]) < 1e-4 and np.ptp(readings[~true]) < 1e-4
        assert readings[true].mean() - readings[~true].mean() == pytest.approx(1.0, abs=1e-4)


def test_equal_bits_are_one(paper: Path) -> None:
    subject = read_subject(paper, ID)
    bits = stored_bits(subject, marked_places(subject))
    rows = {row.tobytes() for row in bits.true} | {(~row).tobytes() for row in bits.true}
    assert len(rows) == 2 * len(bits.formulas)
    rows_of_file = read_tensors(subject.folder / "directions.safetensors")["residual"]
    inside = bits.directions @ rows_of_file.T @ rows_of_file
    assert np.allclose(inside, bits.directions, atol=1e-5)  # in the span of what is certified
    directions = read_json(subject.folder / "labels.json")["directions"]
    held = sum(place["holds"][-1]["role"] in ("input", "gate", "raw") for place in directions)
    assert len(bits.formulas) < held  # a lookup's bit and the gate that copies it


def test_seeds_give_other_words(paper: Path) -> None:
    one, two = (learned_places(read_subject(paper, ID, seed)).words for seed in (0, 1))
    assert not np.array_equal(one, two)
    first, second = (marked_places(read_subject(paper, ID, seed)).words for seed in (0, 1))
    assert np.array_equal(first, second)
