"""What a simulation's folder says of itself is proved again, not believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.io.errors import CertificateError, SofthatError
from tests.cli.run import softhat as command

pytestmark = pytest.mark.usefixtures("nobody_saves")

HONEST = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    softhat.simulate(GALLERY["last-token"](), max_length=HONEST).save(tmp_path / "m")
    return tmp_path / "m"


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "certificate.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def longer(document: dict[str, Any]) -> None:
    document["max_length"] = dict.fromkeys(document["max_length"], 10**6)


def much_longer(document: dict[str, Any]) -> None:
    longer(document)
    last = document["lengths"][str(HONEST)]
    document["lengths"] = {str(n): last for n in range(1, 101)}
    document["length"] = 100


def exacter(document: dict[str, Any]) -> None:
    document["epsilon"] = document["error"] = 1e-30
    for entry in document["lengths"].values():
        entry["error"] = dict.fromkeys(entry["error"], 0.0)


@pytest.mark.parametrize("name", ["last-token", "previous-token", "majority", "dyck-argmin"])
@pytest.mark.parametrize("epsilon", [1e-2, None])
def test_an_honest_certificate_is_found_again(
    tmp_path: Path, name: str, epsilon: float | None
) -> None:
    made = softhat.simulate(GALLERY[name](), max_length=HONEST, epsilon=epsilon)
    made.save(tmp_path / "m")
    assert softhat.load(tmp_path / "m").certificate == made.certificate


@pytest.mark.parametrize("change", [longer, much_longer, exacter])
def test_a_forged_certificate_is_not_believed(
    folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    honest = softhat.load(folder).certificate
    forge(folder, change)
    if change is much_longer:  # the folder's other file tells
        with pytest.raises(SofthatError, match="differ"):
            softhat.load(folder)
        return
    found = softhat.load(folder)
    if change is exacter:
        assert max(found.certificate.max_length.values()) == 0
    elif change is longer:
        assert found.certificate == honest
    # However far it reaches, β is the honest one: what is certified holds.
    word = "ab" * 40
    with pytest.raises(CertificateError):
        found.truth(word, strict=True)


def test_strict_on_the_command_line(folder: Path) -> None:
    forge(folder, longer)
    assert command("run", str(folder), "abab", "--strict", "--dtype", "float64").code == 0
    done = command("run", str(folder), "ab" * 20, "--strict", "--dtype", "float64")
    assert (done.code == 2 and "past the certificate" in done.err) or "certified" in done.err


def test_lengths_that_do_not_belong_together(folder: Path) -> None:
    forge(folder, lambda document: document.update(length=10**9))
    with pytest.raises(SofthatError, match="damaged"):
        softhat.load(folder)


@pytest.mark.parametrize("beta", ["-1", "0", '"NaN"', '"inf"'])
def test_temperatures_that_are_none(folder: Path, beta: str) -> None:
    path = folder / "config.json"
    document = json.loads(path.read_text())
    document["layers"][0]["heads"][0]["law"] = json.loads(beta)
    path.write_text(json.dumps(document))
    with pytest.raises(SofthatError):
        softhat.load(folder)


@pytest.mark.parametrize("field", ["heads", "lengths"])
@pytest.mark.parametrize("value", [[1.5], ["x"], "x", {"1": "x"}, {"1": {"error": "x"}}, None])
def test_parts_of_the_wrong_kind_are_damage(folder: Path, field: str, value: Any) -> None:
    forge(folder, lambda document: document.update({field: value}))
    with pytest.raises(SofthatError, match="damaged"):
        softhat.load(folder)
    assert command("run", str(folder), "ab").code == 2


def test_temperatures_of_many_digits_are_refused(folder: Path) -> None:
    path = folder / "config.json"
    document = json.loads(path.read_text())
    document["layers"][0]["heads"][0]["law"] = "1000001/3"
    path.write_text(json.dumps(document))
    with pytest.raises(SofthatError, match="6 significant bits"):
        _ = softhat.load(folder).certificate


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        *product(["certificate.json"], ["epsilon"], ["first", [], True, 0, -1.0, 10**400]),
        *product(["config.json"], ["dtype"], [7, [], "float8", True]),
    ],
)
def test_what_is_no_epsilon_or_dtype(folder: Path, name: str, field: str, value: Any) -> None:
    path = folder / name
    document = json.loads(path.read_text())
    document[field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(SofthatError, match="damaged"):
        _ = softhat.load(folder).certificate
