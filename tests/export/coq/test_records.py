"""What Coq has accepted is remembered for that very model, under this user's signature."""

from __future__ import annotations

from pathlib import Path

import pytest

import softhat
from softhat.explore.badges import badges
from softhat.export.coq import records
from softhat.export.coq.theorem import theorem


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "softhat" / "coq"


def test_a_record_is_about_one_model() -> None:
    model, other = (softhat.compile(text, alphabet="abc") for text in ("!c S a", "!b S a"))
    assert not records.is_machine_checked(model)
    records.remember(theorem(model))
    assert records.is_machine_checked(model) and not records.is_machine_checked(other)
    cold = softhat.compile("!c S a", alphabet="abc", attention="temperature")
    assert not records.is_machine_checked(cold)


def test_a_record_that_somebody_else_wrote_is_none(own_folder: Path) -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    records.remember(theorem(model))
    (file,) = own_folder.iterdir()
    file.write_text("0" * 64)
    assert not records.is_machine_checked(model)


def test_badges_say_who_says_it() -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    lengths = model.certificate.max_length
    (checker,) = badges(model, lengths)
    assert checker == f"in float32, to length {lengths['float32']:,}: by softhat's checker"
    records.remember(theorem(model))
    coq, same = badges(model, lengths)
    assert coq == "in the reals, for every length: machine-checked by Coq" and same == checker
    assert badges(model, lengths, void=True) == []
