"""The re-check passes what is right and refutes what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck import recheck
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.temperature import round_up
from tests.slices import every, sizes


@pytest.mark.parametrize(
    ("name", "longest"),
    every(
        4,
        [
            ("last-token", 12),
            ("induction-average", 8),
            ("histogram", 7),
            ("induction-latest", 9),
            ("dyck-argmin", 8),
            ("previous-token", 12),
            ("sort", 4),
        ],
    ),
)
def test_every_binding_beta_is_needed(name: str, longest: int, tmp_path: Path) -> None:
    """The re-check passes; with any binding β lowered by a quarter it fails, and truly."""
    s = softhat.simulate(GALLERY[name](), max_length=longest)
    s.save(tmp_path / "m")
    fine = recheck(tmp_path / "m", max_words=130, starts=6, lengths=(longest,))
    assert fine.ok, fine.failures
    for head in s.certificate.heads:
        if head.kind == "structurally uniform":
            continue
        key = (head.layer, head.head)
        lowered = {**s.betas, key: round_up(0.75 * s.betas[key])}
        Simulation(s.source, lowered, longest, s.certificate).save(tmp_path / "w")
        result = recheck(tmp_path / "w", max_words=130, starts=6, lengths=(longest,))
        assert not result.ok
        assert max(result.worst.values()) > 1e-3  # it is not only the claim that is off


@pytest.mark.parametrize("starts", sizes(4, 8))
def test_the_certificate_claims_no_less_than_an_attack_finds(tmp_path: Path, starts: int) -> None:
    s = softhat.simulate(GALLERY["induction-average"](), max_length=10)
    s.save(tmp_path / "m")
    result = recheck(tmp_path / "m", max_words=130, starts=starts, lengths=(10,))
    assert result.ok, result.failures
    for n, worst in result.worst.items():
        assert worst <= s.certificate.lengths[n].error["reals"] + 1e-14


def test_a_claim_below_the_true_error_is_refuted(tmp_path: Path) -> None:
    softhat.simulate(GALLERY["last-token"](), max_length=5).save(tmp_path / "m")
    file = tmp_path / "m" / "certificate.json"
    data = json.loads(file.read_text())
    data["lengths"]["5"]["error"]["reals"] /= 2
    file.write_text(json.dumps(data))
    result = recheck(tmp_path / "m")
    assert not result.ok
    assert all("certified" in failure for failure in result.failures)
