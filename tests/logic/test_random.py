"""Random formulas: reproducible, of the size and the operators asked for."""

import numpy as np
import pytest

from softhat import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.random import FAMILIES, random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct


def test_same_seed_same_formula() -> None:
    first, second = (random_formula(np.random.default_rng(3), 50, "abc") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 5_000])
def test_sizes(size: int) -> None:
    formula = random_formula(np.random.default_rng(size), size, "ab", "star-free")
    assert describe(formula).size == size


def test_every_operator_appears() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        seen |= {type(node) for node, _ in distinct(random_formula(rng, 30, "ab"))[0]}
    kinds = {
        kind
        for kind in vars(nodes).values()
        if isinstance(kind, type) and issubclass(kind, nodes.Node) and not kind.__subclasses__()
    }
    kinds -= {kind for kind in kinds if issubclass(kind, nodes.Window)}  # test_windows draws them
    kinds -= {nodes.Recall, nodes.Digit, nodes.Digits}  # test_recalls draws these
    assert seen == kinds - {nodes.At}  # what numerical predicates mean is not drawn


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    rng = np.random.default_rng(5)
    known = [describe(random_formula(rng, 20, "ab", family)) for _ in range(100)]
    if family in ("past", "past-counting", "decoder"):
        assert all(k.is_decoder for k in known)
    if family == "future":
        assert not any(k.has_past for k in known)
    if family == "star-free":
        assert not any(k.has_counting or k.has_mod for k in known)
    if family == "boolean":
        assert all(k.fragment == "Boolean" for k in known)
    if "counting" in family:
        assert any(k.has_counting for k in known)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(SofthatError, match="unknown family"):
        random_formula(rng, 3, "ab", "everything")
    with pytest.raises(SofthatError):
        random_formula(rng, 0, "ab")
    with pytest.raises(SofthatError):
        random_formula(rng, 3, "")
    only: Formula = random_formula(rng, 9, "a", ["&"])
    assert set(str(only)) <= set("a& ()")
