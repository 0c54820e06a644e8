"""What certificates promise: lengths, the same for both soft targets, whatever the depth."""

import copy
import json
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import softhat
from softhat.io.errors import CertificateError, CertificateWarning
from softhat.logic.random import random_formula
from softhat.proof import agreement, heads
from softhat.proof.certificate import WhenRead
from tests.slices import sizes
from tests.transformer.lowering.suite import nested

SOFT = ("unbounded", "temperature")
FAR = {"float16": 2_000, "bfloat16": 250, "float32": 16_000_000, "float64": 2**52}


def lengths(formula: object, attention: str = "unbounded", **options: object) -> dict[str, int]:
    options = options or {"alphabet": "abcd"}
    certificate = softhat.compile(formula, attention=attention, **options).certificate
    assert certificate.void == ()
    return certificate.max_length


@pytest.mark.parametrize("attention", [*SOFT, "hard"])
@pytest.mark.parametrize(
    "formula",
    [
        "a S b",
        "O a",
        "H (a | b)",
        "(a & !c) T b",
        "Y a",
        "Z (a | b)",
        "a S (b & Y (c S a)) | Z O b",
    ],
)
def test_star_free_past_is_certified_far(formula: str, attention: str) -> None:
    found = lengths(formula, attention)
    assert all(found[dtype] >= least for dtype, least in FAR.items()), found


@pytest.mark.parametrize("kinds", ["S", "SY", "SYOH"])
def test_length_does_not_depend_on_depth(kinds: str) -> None:
    shallow, deep = (lengths(nested(depth, kinds)) for depth in (4, 40))
    assert all(deep[dtype] >= least for dtype, least in FAR.items()), deep
    assert shallow == deep


@pytest.mark.parametrize("seed", range(12))
def test_random_star_free_past_is_certified_far(seed: int) -> None:
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, 40, "abcd", "past")
    found = [lengths(formula, attention) for attention in SOFT]
    assert found[0] == found[1]
    assert all(found[0][dtype] >= least for dtype, least in FAR.items()), found


CONSTANTS = (0, 1, -7, 1_000, 400_000, -499_999, 1_000_000, 1_400_000, -1_500_000, 3_000_000, 10**9)


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize(
    "sum_", ["#(a)", "#(a) - #(b)", "3*#(a) - 3*#(b)", "3*#(a) - 2*#(b) + #(c)", "2*#(a) - i"]
)
def test_past_comparisons_with_small_coefficients(sum_: str, constant: int) -> None:
    found = [lengths(f"{sum_} >= {constant}", attention) for attention in SOFT]
    assert found[0] == found[1]
    assert found[0]["float32"] >= 500_000, found[0]


@pytest.mark.parametrize(
    "formula",
    [
        "#(a) + #>(b) >= #*(c)",
        "#*(a) > #(b) + #>(c)",
        "3*#(a) + 3*#>(b) >= 2*#*(c)",
        "3*#(a) - 2*#>(b) + #*(c) >= 7",
        "#(a) > #>(a)",
        "#>(a) = #(b)",
        "2*#(a) > n",
        "3*#*(a) - 3*#*(b) >= 5",
        "3*#(a) - n = 2",
        "#(a) - 2*#>(a) + 3*#*(b) - n < 100",
    ],
)
def test_mixed_comparisons(formula: str) -> None:
    found = [lengths(formula, attention) for attention in SOFT]
    assert found[0] == found[1]
    assert found[0]["float32"] >= 250_000, found[0]


def test_propositional_models_are_certified() -> None:
    found = lengths("p S (q & Y p) & #(p & q) >= 2", propositions=["p", "q"])
    assert found["float32"] >= 500_000


@pytest.mark.parametrize("operators", sizes(3_000, 10_000))
def test_a_huge_model(operators: int) -> None:
    formula = random_formula(np.random.default_rng(5), operators, "abc", "star-free")
    model = softhat.compile(formula, alphabet="abc")
    assert model.certificate.void == ()


def test_a_deep_chain_does_not_recurse() -> None:
    formula: softhat.Formula = softhat.symbol("a")
    for _ in range(600):
        formula = ((formula | softhat.parse("Y a")) & softhat.symbol("b")).once()
    assert softhat.compile(formula, alphabet="abc").certificate.void == ()


def test_what_a_head_entry_says() -> None:
    model = softhat.compile("(!c S a) & #(a) > #(b)", alphabet="abc", attention="temperature")
    heads = {head.kind: head for head in model.certificate.heads}
    assert set(heads) == {"Latest", "Average", "Sign"}
    latest = heads["Latest"]
    assert latest.min_gap == 4
    assert latest.leak == pytest.approx(np.exp(-4))
    assert latest.beta == "4·P, P the next power of two >= n+2"
    assert 0 < latest.slack < 0.5
    assert latest.max_length["float16"] == 2048
    assert heads["Average"].min_gap == np.inf and heads["Average"].leak == 0
    assert heads["Sign"].reasons["bfloat16"] == "positions are not representable"
    assert (latest.layer, latest.head) == (0, 0)


def test_what_a_head_is_proved_to_alone_is_computed_when_it_is_read() -> None:
    asked = []

    def computed() -> dict[str, int]:
        asked.append(1)
        return {"float32": 7}

    lengths = WhenRead(computed)
    assert not asked and lengths["float32"] == 7
    assert lengths == {"float32": 7} and list(lengths) == ["float32"]
    assert type(pickle.loads(pickle.dumps(lengths))) is dict and len(lengths) == len(asked) == 1
    for head in softhat.compile("#(a) >= #(b) & Y (a S b)").certificate.heads:
        assert copy.deepcopy(head) == head and all(n > 80 for n in head.max_length.values())
        assert head.max_length.keys() == head.reasons.keys()


def test_same_model_same_certificate() -> None:
    first, second = (softhat.compile("a S Y b", alphabet="ab").certificate for _ in range(2))
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())


def _forgotten() -> None:
    """Everything that softhat remembers between questions is forgotten."""
    for name, module in list(sys.modules.items()):
        if name.startswith("softhat."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    agreement._PROVED.clear()


@pytest.mark.parametrize("count", sizes(12, 300))
def test_what_was_proved_before_changes_no_certificate(count: int) -> None:
    """Bounds are remembered by all that they depend on: a head's kind (its scores and numbers, by
    value), the length, and the format with its kernel. So a certificate is the same in whatever
    order, after whatever others, in whatever thread, as where nothing was computed before."""
    rng = np.random.default_rng(11)
    asked: list[tuple[str, str]] = []
    for number in range(count):
        family = ("past", "counting", "all")[number % 3]
        text = str(random_formula(rng, 4 + number % 9, "abc", family))
        more = ("", " & Y b", " | #(a) >= 2", " & Z (#*(c) <= i)")
        asked += [(f"({text}){end}", SOFT[number % 2]) for end in more]

    def certified(question: tuple[str, str]) -> str:
        formula, attention = question
        model = softhat.compile(formula, alphabet="abc", attention=attention)
        linear = [model.linear_max_length(dtype) for dtype in FAR]
        return json.dumps([model.certificate.to_json(), linear])

    alone = {}
    for question in asked:
        _forgotten()
        alone[question] = certified(question)
    for order in (asked, rng.permutation(np.array(asked)).tolist()):
        assert all(certified((text, how)) == alone[text, how] for text, how in order)
    _forgotten()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(certified, asked)) == [alone[question] for question in asked]


@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("!c S a", "({}) & Y b"),
        ("#(a) >= 2*#(b) & Y a", "({}) | O b"),
        ("#(a) >= 2*i - 3 & #*(b) > i", "X ({}) & #>(a) <= 3"),
    ],
)
def test_what_did_not_change_is_not_proved_again(formula: str, more: str) -> None:
    """Of a formula that grows by an operator only the new heads are asked for bounds."""

    def asked(text: str) -> int:
        before = heads.bound.cache_info().misses
        assert softhat.compile(text, alphabet="abc").certificate.max_length["float32"]
        return heads.bound.cache_info().misses - before

    heads.bound.cache_clear()
    own, new = asked(formula), asked(more.format(formula))
    heads.bound.cache_clear()
    assert 0 < new <= asked(more.format(formula)) - 3 * own // 4
    assert asked(formula) <= own // 4


def test_explain_names_claims_lengths_and_assumptions() -> None:
    text = softhat.compile("a S b", alphabet="ab").certificate.explain()
    for part in ("a S b", "every length", "Latest", "0.0183", "16,777,216", "exp", "2^53"):
        assert part in text


def test_longer_words_warn_or_are_refused() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    limit = model.certificate.max_length["bfloat16"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.truth("b" + "a" * (limit - 1), dtype="bfloat16", runtime="dense", strict=True)
    with pytest.warns(CertificateWarning, match="certified only"):
        model.truth("b" + "a" * limit, dtype="bfloat16", runtime="dense")
    with pytest.raises(CertificateError):
        model.truth("b" + "a" * limit, dtype="bfloat16", runtime="dense", strict=True)
