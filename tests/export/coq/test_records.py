"""What Coq has accepted is remembered for that very model, under this user's signature."""

from __future__ import annotations

from pathlib import Path

import pytest

import softhat
from softhat.explore.badges import badges
from softhat.export.coq import records
from softhat.export.coq.theorem import theorem
from softhat.models.model import Model


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "softhat" / "theorems"


def test_a_record_is_about_one_model() -> None:
    model, other = (softhat.compile(text, alphabet="abc") for text in ("!c S a", "!b S a"))
    assert records.machine_checked(model) is None
    records.remember(model, theorem(model), 8190)
    assert records.machine_checked(model) == 8190 and records.machine_checked(other) is None
    cold = softhat.compile("!c S a", alphabet="abc", attention="temperature")
    assert records.machine_checked(cold) is None


def test_no_theorem_is_written_where_none_can_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = (softhat.compile(text, alphabet="abc") for text in ("!c S a", "!b S a"))
    records.remember(model, theorem(model), 8190)
    written = []

    def noted(model: Model) -> str:
        written.append(model)
        return theorem(model)

    monkeypatch.setattr(records, "theorem", noted)
    assert records.machine_checked(other) is None and not written
    assert records.machine_checked(model) == 8190 and written == [model]


def test_a_record_that_somebody_else_wrote_is_none(own_folder: Path) -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    records.remember(model, theorem(model), 512)
    (file,) = own_folder.iterdir()
    signed = file.read_text().partition(" ")[2]
    for forged in ("0" * 64, signed, f"512 {'0' * 64}", f"8190 {signed}", f"{signed} 512", ""):
        file.write_text(forged)
        assert records.machine_checked(model) is None
    file.write_text(f"512 {signed}")
    assert records.machine_checked(model) == 512


def test_badges_say_who_says_it() -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    lengths = model.certificate.max_length
    (checker,) = badges(model, lengths)
    assert checker == f"in float32, to length {lengths['float32']:,}: by softhat's checker"
    records.remember(model, theorem(model), 0)
    coq, same = badges(model, lengths)
    assert coq == "in the reals, for every length: machine-checked by Coq" and same == checker
    records.remember(model, theorem(model), 8190)
    floats = "in float32, to length 8,190: machine-checked by Coq"
    assert badges(model, lengths) == [coq, floats, checker]
    assert badges(model, {"float32": 8190}) == [coq, floats]
    assert badges(model, lengths, void=True) == []
