"""The re-check reads the tensors themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat.ahat import Builder
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck import recheck
from softhat.ahat.simulation.recheck.files import Files
from softhat.numbers.positions import DigitFeature


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


@pytest.mark.parametrize("part", ["embedding", "position_embedding", "readout", "readout_bias"])
def test_the_re_check_reads_embeddings_and_the_read_out(tmp_path: Path, part: str) -> None:
    softhat.simulate(GALLERY["induction-latest"](), max_length=4).save(tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    tensors[part] = tensors[part] + 1
    save_file(tensors, tmp_path / "m" / "model.safetensors")
    result = recheck(tmp_path / "m", max_words=20)
    assert any(part in text for text in result.failures)


def _mask(config: dict[str, Any]) -> None:
    config["layers"][0]["heads"][0]["mask"] = ">"


def _alphabet(config: dict[str, Any]) -> None:
    config["alphabet"].reverse()


def _positions(config: dict[str, Any]) -> None:
    config["positions"].reverse()


@pytest.mark.parametrize("change", [_mask, _alphabet, _positions])
def test_the_re_check_reads_the_configuration(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    softhat.simulate(GALLERY["induction-latest"](), max_length=4).save(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    assert not recheck(tmp_path / "m", max_words=20).ok


def test_digits_of_positions_are_no_damage(tmp_path: Path) -> None:
    b = Builder("ab")
    digit = b.position(DigitFeature(0, 1, 0, 0))
    odd = b.head("<=", value={"odd": digit}, score=[(1, b.position("i"))])["odd"]
    b.output(odd - 1)
    softhat.simulate(b.build(), max_length=5).save(tmp_path / "m")
    assert recheck(tmp_path / "m", max_words=40).ok
