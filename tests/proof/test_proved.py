"""Every certificate reads alike: lengths as a table, in LaTeX and in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.proof.proved import ProvedLengths

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ahat"


def compiled(folder: Path) -> Any:
    return softhat.compile("a S b", alphabet="ab").certificate


def simulated(folder: Path) -> Any:
    source = softhat.ahat.load(EXAMPLES / "majority.json")
    return softhat.simulate(source, max_length=4, epsilon=1e-2).certificate


def exported(folder: Path) -> Any:
    softhat.to_gpt2(softhat.compile("a S b", alphabet="ab"), folder / "m", context=16)
    return softhat.certify(folder / "m")


@pytest.mark.parametrize("made", [compiled, simulated, exported])
def test_lengths_are_shown(made: Any, tmp_path: Path) -> None:
    certificate = made(tmp_path)
    assert isinstance(certificate, ProvedLengths)
    assert certificate.to_json()["max_length"] == dict(certificate.max_length)
    table, page = certificate.latex(), certificate._repr_html_()
    for dtype, length in certificate.max_length.items():
        assert dtype in table and dtype in page
        assert f"{length:,}".replace(",", r"\,") in table if length else "not proved" in table
    assert certificate.explain().splitlines()[0].split()[0] in page
