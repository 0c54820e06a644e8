"""Methods that predict directions: what must be found is found, and a run is the same twice."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from softhat.circuits.exam.marking import mark_folder
from softhat.circuits.exam.matching import DIRECTION_MEASURES
from softhat.circuits.exam.methods import METHODS
from softhat.circuits.exam.page import page
from softhat.circuits.exam.running import run_method
from softhat.io.errors import SofthatError
from softhat.io.files import read_json

pytest.importorskip("torch")
OWN = ("true-directions", "linear-probe", "difference-of-means", "random-directions")


def quiet(what: str, done: int, total: int) -> None: ...


def test_a_table_of_directions_and_the_same_again(paper: Path, tmp_path: Path) -> None:
    for name in OWN:
        _, new, total = run_method(paper, tmp_path / "one", name, seeds=(0, 1), jobs=1)
        assert new == total == 2  # one disguised model, two seeds
        run_method(paper, tmp_path / "two", name, jobs=1)
        file = Path(name) / "0" / "n-gram-1.gpt2-disguised.json"
        one, two = (read_json(tmp_path / place / file) for place in ("one", "two"))
        assert one["features"] == two["features"]
    table = mark_folder(paper, tmp_path / "one", quiet)
    said = table["directions"]
    assert not table["methods"]
    assert tuple(said) == OWN
    assert [said["true-directions"]["overall"][m][0] for m in DIRECTION_MEASURES] == [1.0] * 4
    assert said["linear-probe"]["overall"]["F1"][0] == 1.0  # bits are stored linearly
    assert said["linear-probe"]["verdict"] == "sound"
    assert said["random-directions"]["verdict"] == "no better than chance"
    assert said["random-directions"]["seeds"] == 2
    shown = page(table)
    assert "random directions" in shown and "<polyline" not in shown


def test_directions_want_disguised_models(paper: Path, tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="no question here is disguised"):
        run_method(paper, tmp_path, "linear-probe", only=["induction-1.gpt2"], jobs=1)


@pytest.mark.filterwarnings("ignore")
def test_an_autoencoder_by_sae_lens_or_one_line(paper: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformer_lens")
    if find_spec("sae_lens") is None:
        with pytest.raises(SofthatError, match=r"git clone https://github\.com/.*SAELens"):
            run_method(paper, tmp_path, "sparse-autoencoder", jobs=1)
        return
    assert METHODS["sparse-autoencoder"].version(None).startswith("sae_lens 6")
    for seed in (0, 1):
        run_method(paper, tmp_path / str(seed), "sparse-autoencoder", jobs=1)
    tables = [mark_folder(paper, tmp_path / str(seed), quiet)["directions"] for seed in (0, 1)]
    marks = [table["sparse-autoencoder"]["overall"] for table in tables]
    assert marks[0] == marks[1] and marks[0]["MCC"][0] > 0.45
