"""The re-check reads the tensors themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck import recheck
from softhat.ahat.simulation.recheck.files import Files


def test_the_re_check_reads_the_weights(tmp_path: Path) -> None:
    s = softhat.simulate(GALLERY["first-token"](), max_length=4)
    s.save(tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    tensors["layers.0.query"] *= 2
    save_file(tensors, tmp_path / "m" / "model.safetensors")
    result = recheck(tmp_path / "m")
    assert not result.ok
    assert any("is not β·W" in text for text in result.failures)


def test_the_laws_of_every_head_are_read(tmp_path: Path) -> None:
    s = softhat.simulate(GALLERY["induction-latest"]())
    s.save(tmp_path / "m")
    files = Files(tmp_path / "m")
    assert files.weight_faults() == []
    for name, law in s.laws.items():
        assert law is not None
        for n in (1, 7, 100):
            assert float(files.scale(name, n)) == pytest.approx(float(law.at(n)), rel=1e-15)


def test_a_folder_that_is_none_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(softhat.SofthatError, match="cannot re-check"):
        Files(tmp_path)
