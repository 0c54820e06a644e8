"""Fresh AHATs, and folders with one thing changed: nothing is certified and wrong."""

from __future__ import annotations

import copy
import itertools
import json
import random
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.simulation import Simulation
from softhat.io.errors import SofthatError
from tests.proof.simulations.fresh import fresh
from tests.proof.simulations.test_source import leaves
from tests.slices import every, sizes

EPSILON = 1e-2
LONG = (9, 13)


def wrong_words(s: Simulation, source: AHAT, rng: random.Random) -> list[str]:
    """Words within the float64 certificate on which the simulation is not what it says."""
    certificate = s.certificate
    top = certificate.max_length["float64"]
    words = [w for n in (1, 2, 3, 4) for w in itertools.product("ab", repeat=n)]
    words += [tuple(rng.choices("ab", k=n)) for n in LONG for _ in range(3)]
    found = []
    for word in words:
        if len(word) > top or (source.longest is not None and len(word) > source.longest):
            continue
        values = s.values(word, dtype="float64")
        for x, y in zip(source.values(word), values, strict=True):
            if certificate.epsilon is None:
                bad = (x > 0) != (y > 0)
            else:
                bad = abs(Fraction(float(y)) - x) > Fraction(certificate.epsilon)
            if bad:
                found.append(f"{''.join(word)}: {float(x):.4g}, but {float(y):.4g}")
    return found


def attack(seed: int) -> str:
    """Simulate one fresh AHAT; what came of it."""
    rng, source = random.Random(seed), fresh(seed)
    softhat.analyze(source, up_to=3, max_words=64)  # holds laws against gaps
    epsilon = None if seed % 4 == 3 else EPSILON
    length = 4 if seed % 5 == 4 else None
    try:
        s = softhat.simulate(source, max_length=length, epsilon=epsilon)
        certificate = s.certificate
    except SofthatError as error:
        assert "mistake in softhat" not in str(error), (seed, str(error))
        assert "does not prove" not in str(error), (seed, str(error))
        return "refused"
    assert not wrong_words(s, source, rng), (seed, wrong_words(s, source, rng))
    return "proved" if certificate.max_length["float64"] else "proved in the reals only"


def attack_all(seeds: range) -> Counter[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Counter(attack(seed) for seed in seeds)


@pytest.mark.parametrize("count", sizes(1, 4))
def test_fresh_models(count: int) -> None:
    seen = attack_all(range(count))
    assert seen["proved"] > count // 2, seen


@pytest.mark.full
def test_fresh_models_at_full_size() -> None:
    seen = attack_all(range(6, 600))
    assert seen["proved"] > 300, seen


VALUES: tuple[Any, ...] = (None, 0, 1, -1, "1/2", "2", True, "leftmost", "<", "n", [], 7.5)


def changed_folders(folder: Path, rng: random.Random, every: int) -> Counter[str]:
    """Each leaf of each JSON file, and some entries of each tensor, changed one at a time."""
    seen: Counter[str] = Counter()
    for name in ("config.json", "ahat.json", "certificate.json"):
        text = (folder / name).read_text()
        document = json.loads(text)
        paths = leaves(document)
        for path in paths[rng.randrange(every) :: every]:
            changed = copy.deepcopy(document)
            place: Any = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = rng.choice([v for v in VALUES if v != place[path[-1]]])
            (folder / name).write_text(json.dumps(changed))
            seen[believed(folder, f"{name} {path} {place[path[-1]]!r}", rng)] += 1
        (folder / name).write_text(text)
    file = folder / "model.safetensors"
    tensors = load_file(file)
    for name, array in tensors.items():
        for _ in range(2 if array.size else 0):
            other = array.copy()
            at = tuple(rng.randrange(size) for size in other.shape)
            other[at] = other[at] * rng.choice([0.5, 2.0]) + rng.choice([0.0, 1.0, np.nan])
            save_file({**tensors, name: other}, file)
            seen[believed(folder, f"{name}{at}", rng)] += 1
    save_file(tensors, file)
    return seen


def believed(folder: Path, what: str, rng: random.Random) -> str:
    """Load a folder that somebody changed: refused with one line, or right."""
    try:
        found = softhat.load(folder)
        assert isinstance(found, Simulation)
        bad = wrong_words(found, found.source, rng)
    except SofthatError as error:
        assert "\n" not in str(error)
        return "refused"
    assert not bad, (what, bad)
    return "right"


@pytest.mark.parametrize(
    ("name", "length"), every(2, [("leftmost-b", 4), ("induction-average", None)])
)
def test_folders_with_one_thing_changed(tmp_path: Path, name: str, length: int | None) -> None:
    softhat.simulate(GALLERY[name](), max_length=length, epsilon=EPSILON).save(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = changed_folders(tmp_path / "m", random.Random(1), 80)
    assert seen["refused"] > 2, seen


@pytest.mark.full
@pytest.mark.parametrize("name", ["induction-average", "leftmost-b", "last-token", "histogram"])
@pytest.mark.parametrize("length", [None, 4])
def test_folders_with_one_thing_changed_at_full_size(
    tmp_path: Path, name: str, length: int | None
) -> None:
    softhat.simulate(GALLERY[name](), max_length=length, epsilon=EPSILON).save(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed_folders(tmp_path / "m", random.Random(2), 1)
