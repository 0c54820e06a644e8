"""The file of a RASP program: whatever is changed in it is refused, void, or still right."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.frontends.rasp.stored import from_json, to_json
from softhat.models.value_model import ValueModel
from softhat.transformer.stored import DamagedError
from tests.proof.test_programs import PROGRAMS

NAMES = ("hist", "sort", "height", "mean before", "mean of less", "match or default", "reverse")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**30, 0.5, "", "x", "1", "1/2", "1/0", "1e999999999",
    "<=", "past", "future", [], {}, [0], [[]], {"literal": [0, True]}, {"kind": "And", "with": []},
)  # fmt: skip


def compiled(name: str, length: int = 9) -> ValueModel:
    return softhat.compile(PROGRAMS[name], alphabet=[1, 2, 3], max_length=length)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, dict | list):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield (*path, key)
            yield from places(part, (*path, key))


def changes(plain: Any, rng: np.random.Generator, count: int) -> Iterator[Any]:
    """One place has another value, a list another order, one key or entry is left out."""
    where = list(places(plain))
    for _ in range(count):
        data = copy.deepcopy(plain)
        *path, last = where[rng.integers(len(where))]
        part = data
        for key in path:
            part = part[key]
        match int(rng.integers(8)), part[last]:
            case 0, _:
                del part[last]
            case 1, list(items) if len(items) > 1:
                part[last] = items[::-1]
            case 2, list(items) if items:
                part[last] = items[:-1]
            case 3, int(number):
                part[last] = number + 1
            case _:
                part[last] = VALUES[rng.integers(len(VALUES))]
        yield data


def attacked(name: str, seed: int, count: int) -> tuple[int, int]:
    """(certified, refused): what is certified computes what the changed file says."""
    model = compiled(name)
    rng = np.random.default_rng(seed)
    certified = refused = 0
    for data in changes({"name": name, **to_json(model.compiled)}, rng, count):
        try:
            changed = ValueModel.read(model.transformer, data)
        except (SofthatError, DamagedError) as error:  # which a folder's loader says in one line
            assert "\n" not in str(error) and len(str(error)) < 400
            refused += 1
            continue
        if changed.certificate.max_length["float32"]:
            report = softhat.verify(changed, exhaustive=3, random=4, max_length=9)
            assert report.ok, data
            certified += 1
    return certified, refused


@pytest.mark.parametrize("name", NAMES)
def test_one_part_changed(name: str) -> None:
    certified, refused = attacked(name, 2, 60)
    assert certified + refused > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NAMES)
def test_one_part_changed_at_full_size(name: str, seed: int) -> None:
    attacked(name, 10 + seed, 1_000)


def _rounded(data: Any) -> None:
    for case in data["decoder"]["numbers"]:
        case.update(whole=True, constant="1/2")


def _read_twice(data: Any) -> None:
    (case,) = data["decoder"]["numbers"]
    plain = {**case, "terms": [[name, "1"] for name, _ in case["terms"]], "whole": False}
    data["decoder"]["numbers"] = [case, plain]


def test_a_value_that_is_rounded_is_a_whole_number() -> None:
    """Half a number more, and rounded: what is rounded to is what the format happens to do."""
    model = compiled("height")
    data = to_json(model.compiled)
    _rounded(data)
    changed = ValueModel.read(model.transformer, data)
    assert changed.certificate.void and not any(changed.certificate.max_length.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_read_twice, "numeric outputs are not each read once"),
        (lambda data: data.update(alphabet=[2, 1, 3]), "other symbols than the alphabet"),
        (lambda data: data.update(alphabet=[1, 2]), "other symbols than the alphabet"),
        (lambda data: data.update(max_length=True), "expected int"),
        (lambda data: data.update(max_length=1 << 40), "max_length is from 1 to"),
        (lambda data: data["decoder"]["numbers"][0].update(when="x"), "that is not there"),
        (lambda data: data["decoder"].clear(), "unknown decoder"),
    ],
)
def test_named_changes(change: Callable[[Any], None], said: str) -> None:
    data = to_json(compiled("height").compiled)
    change(data)
    with pytest.raises(SofthatError, match=said):
        from_json(data)


def test_a_longer_length_is_not_what_it_was_made_for() -> None:
    """`hist` for 9 tokens counts no further: a file that says 20 is certified to 9."""
    model = compiled("hist")
    data = {**to_json(model.compiled), "max_length": 20}
    assert ValueModel.read(model.transformer, data).certificate.max_length["float32"] == 9
