"""Damaged model folders: refused or right."""

from __future__ import annotations

import itertools
import random
import warnings
from pathlib import Path

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.io.errors import SofthatError
from softhat.models.model import Model
from tests.fuzz.mutations import damage_folder
from tests.fuzz.running import call, cases, copy, limited

pytestmark = pytest.mark.usefixtures("nobody_saves")

FORMULAS = ("!c S a", "#(a) >= 2*#(b) & Y b", "(a S b) U c | mod(3, 1)")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("models")
    for k, (text, attention) in enumerate(
        itertools.product(FORMULAS, ("unbounded", "temperature", "hard"))
    ):
        softhat.compile(text, alphabet="abc", attention=attention).save(home / f"c{k}")
    softhat.compile("p S (q & !r)", propositions=["p", "q", "r"]).save(home / "props")
    softhat.simulate(GALLERY["last-token"](), max_length=5).save(home / "s1")
    softhat.simulate(GALLERY["previous-token"](), max_length=4, epsilon=None).save(home / "s2")
    softhat.simulate(GALLERY["first-token"](), epsilon=1e-2).save(home / "s3")
    return sorted(home.iterdir())


@pytest.mark.parametrize("seeds", cases(1))
def test_damaged_folders(seeds: list[int], folders: list[Path], tmp_path: Path) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        folder = copy(rng.choice(folders), tmp_path / str(seed))
        damage_folder(folder, rng)
        command = rng.choice(("run", "certify", "verify", "trace", "run"))
        words = {"run": ["abab", "cab"], "trace": ["ab"]}
        small = ["--exhaustive", "2", "--random", "2", "--adversarial", "1", "--max-length", "8"]
        more = words.get(command, [*small, "-j", "1"] if command == "verify" else [])
        call(command, str(folder), *more)
        _never_certified_and_wrong(folder)


def _never_certified_and_wrong(folder: Path) -> None:
    try:
        with limited(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = softhat.load(folder)
            if not isinstance(model, Model) or model.transformer.propositional:
                return
            certified = min(3, model.certificate.max_length["float32"])
            if model.certificate.void:
                return
            for n in range(1, certified + 1):
                for word in itertools.product(model.transformer.symbols[:3], repeat=n):
                    for name, formula in model.formulas.items():
                        found = model.truth(list(word), output=name)
                        assert (found == formula.truth(list(word))).all(), (folder, word)
    except SofthatError:
        pass
