"""The JSON format: exact round trips, and errors that name the place."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import SofthatError, ahat
from softhat.ahat.gallery import GALLERY
from tests.ahat.models import random_model
from tests.slices import examples

GOOD: dict[str, Any] = {
    "format": "softhat-ahat/1",
    "alphabet": ["a", "b"],
    "bos": False,
    "positions": ["i", {"mod": [3, 1]}, {"table": ["0", "1/2", 1]}],
    "embedding": {"a": ["1", 0], "b": [0, "0.5"]},
    "position_embedding": [[0, 0, 1], ["1/3", 0, 0]],
    "layers": [
        {
            "heads": [
                {
                    "mask": "<=",
                    "query": [[0, 1]],
                    "key": [[1, 0]],
                    "value": [[1, 0], [0, "-2/4"]],
                    "output": [[1, 0], [0, 1]],
                }
            ],
            "feed_forward": {
                "in": [[1, -1]],
                "in_bias": ["-1/2"],
                "out": [[1], [0]],
                "out_bias": [0, 0],
            },
        }
    ],
    "output": {"weights": [1, 1], "bias": "0"},
}


def changed(path: str, value: Any) -> str:
    """GOOD with one place replaced (a dotted path) or, for ..., removed."""
    data = copy.deepcopy(GOOD)
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    inner: Any = data
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(data)


def test_numbers_are_read_exactly() -> None:
    model = ahat.loads(json.dumps(GOOD))
    assert model.embedding == ((1, 0), (0, Fraction(1, 2)))
    assert model.layers[0].heads[0].value[1][1] == Fraction(-1, 2)
    assert model.position_embedding[1][0] == Fraction(1, 3)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("layers.0.heads.0.key.0.1", "x", r"layers\[0\]\.heads\[0\]\.key\[0\]\[1\]: 'x' is not a"),
        ("layers.0.heads.0.key.0.1", 0.5, r"layers\[0\]\.heads\[0\]\.key\[0\]\[1\].*JSON float"),
        ("layers.0.heads.0.key.0.1", "1/0", r"key\[0\]\[1\]: '1/0' divides by zero"),
        ("layers.0.heads.0.key.0.1", "nan", r"key\[0\]\[1\]: 'nan' is not a rational"),
        ("layers.0.heads.0.key.0.1", "1e9", r"key\[0\]\[1\]: '1e9' is not a rational"),
        ("layers.0.heads.0.key.0.1", "٣", r"key\[0\]\[1\].*is not a rational"),
        ("layers.0.heads.0.key.0.1", None, r"key\[0\]\[1\] must be an integer or a string.*null"),
        ("layers.0.heads.0.key.0.1", True, r"key\[0\]\[1\] must be an integer or a string"),
        ("layers.0.heads.0.key.0", [1], r"heads\[0\]\.key\[0\] must have 2 entries, not 1"),
        ("layers.0.heads.0.key", [[1, 0], [0, 0]], r"heads\[0\]\.key must have 1 rows, not 2"),
        ("layers.0.heads.0.output", [[1, 0]], r"heads\[0\]\.output must have 2 rows, not 1"),
        ("layers.0.heads.0.mask", "=", r"layers\[0\]\.heads\[0\]\.mask must be one of none <="),
        ("layers.0.heads.0.masks", "none", r"unknown field layers\[0\]\.heads\[0\]\.masks"),
        ("layers.0.heads.0.query", ..., r"the field layers\[0\]\.heads\[0\]\.query is missing"),
        ("layers.0.feed_forward.in_bias", [], r"feed_forward\.in_bias must have 1 entries, not 0"),
        ("layers.0.feed_forward", 3, r"layers\[0\]\.feed_forward must be an object"),
        ("layers", {}, "layers must be a list, not an object"),
        ("positions.0", "j", r"positions\[0\]: unknown position feature 'j'"),
        ("positions.1", {"mod": [3, 3]}, r"positions\[1\]\.mod must be \[m, r\]"),
        ("positions.2", {"table": ["x"]}, r"positions\[2\]\.table\[0\]: 'x'"),
        ("position_embedding.1", [0, 0], r"position_embedding\[1\] must have 3 entries, not 2"),
        ("embedding.c", [0, 0], r"unknown field embedding\.c"),
        ("embedding.a", ..., r"the field embedding\.a is missing"),
        ("embedding.a", [0], r"embedding\['a'\] must have 2 entries, not 1"),
        ("alphabet", ["a", "a"], r"alphabet\[1\]: 'a' appears twice"),
        ("alphabet", ["a", "<pad>"], "'<pad>' cannot be a symbol"),
        ("alphabet", [], "alphabet must have at least one symbol"),
        ("bos", True, "the field embedding.<bos> is missing"),
        ("bos", 1, "bos must be true or false"),
        ("format", "softhat-ahat/2", "format must be 'softhat-ahat/1'"),
        ("output.bias", ..., "the field output.bias is missing"),
        ("names", ["x"], "names must have 2 entries"),
    ],
)
def test_bad_files_name_the_place(path: str, value: Any, message: str) -> None:
    with pytest.raises(SofthatError, match=message) as caught:
        ahat.loads(changed(path, value), "model.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ('{"format": "softhat-ahat/1", "format": "x"}', "'format' appears twice"),
        ('{"a": 1' + "0" * 5000 + "}", "cannot be read"),
        ("[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_text_that_is_no_model(text: str, message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        ahat.loads(text)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="no file"):
        ahat.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with pytest.raises(SofthatError, match="cannot read"):
        ahat.load(tmp_path / "latin.json")


@examples(60)
@given(st.integers(0, 10**6))
def test_round_trip(seed: int) -> None:
    model = random_model(random.Random(seed))
    assert ahat.loads(ahat.dumps(model)) == model


@pytest.mark.parametrize("name", GALLERY)
def test_the_examples_are_the_gallery(name: str) -> None:
    path = Path(__file__).parents[2] / "examples" / "ahat" / f"{name}.json"
    assert ahat.load(path) == GALLERY[name]()
    assert path.read_text() == ahat.dumps(GALLERY[name]())
