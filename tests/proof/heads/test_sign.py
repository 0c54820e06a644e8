"""Sign: recognised with its numbers, its leak in the reals, its error in number formats."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import exp

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.numbers.positions import Named
from softhat.numerics.formats import FORMATS, Format
from softhat.program.draft import Draft
from softhat.program.heads import Average
from softhat.program.heads import Sign as SignHead
from softhat.program.signals import Program
from softhat.proof.atoms import CountSum
from softhat.proof.cells import Raw
from softhat.proof.heads.sign import SignKind
from softhat.proof.softmax import EXACT, Bound, RowFact
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import ATTENTIONS, Derived, outputs_within_bounds, scaled
from tests.slices import every, sizes


def program_of(position: int = 0, threshold: int = 1) -> Program:
    """#(a) - #(b) + position·i >= threshold."""
    draft = Draft("ab")
    a = draft.token(["a"])
    mean = draft.add(Average(((2, a.signal), (-1, -1)), "past"), "mean").signal
    head = SignHead(mean, None, None, position, 0, threshold)
    return draft.finish({"out": draft.add(head, "head")})


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(("position", "threshold"), [(0, 1), (0, -2), (1, 4)])
def test_it_is_recognised(position: int, threshold: int, attention: Attention) -> None:
    derived = Derived(lower(program_of(position, threshold), attention))
    kind = derived.kind("Sign")
    assert isinstance(kind, SignKind)
    # C' = 16; the logit is 16·(#a - #b + position·i - threshold + 1/2): 8 from 0 at least.
    compared = kind.comparison
    assert (compared.unit, compared.up, compared.down) == (16.0, 8.0, 8.0)
    assert compared.at_i == 16.0 * position and compared.constant == 16.0 * (0.5 - threshold)
    assert exp(-8) <= kind.leak <= exp(-8) / (1 - exp(-16)) + 1e-12
    space = derived.atoms.space
    counts = {("past", space.symbol("a")): 1, ("past", space.symbol("b")): -1}
    wanted = derived.atoms.at_least(CountSum(counts, position=position), threshold, 0)
    assert wanted in {cell.function for cell in derived.attended if isinstance(cell, Raw)}


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("position", "threshold"), [(0, 1), (0, 0), (1, 5)])
def test_outputs_stay_within_the_bound(
    position: int, threshold: int, dtype: str, attention: Attention
) -> None:
    """Words whose counts stay next to the threshold, where rounding would decide first."""
    rng = np.random.default_rng(2)
    n = 60
    level = np.zeros(n, np.int64)
    total = 0
    for i in range(n):
        level[i] = 0 if total + position * (i + 1) < threshold else 1
        total += 1 if level[i] == 0 else -1
    words = [rng.integers(0, 2, n), level, 1 - level, np.arange(n) % 2]
    reached = outputs_within_bounds(program_of(position, threshold), attention, words, dtype)
    assert max(reached) > 0.2


def test_narrow_formats_end_sooner() -> None:
    kind = Derived(lower(program_of(), "unbounded")).kind("Sign")

    def longest(dtype: str) -> int:
        form = FORMATS[dtype]
        return max((n for n in (2**k for k in range(40)) if _holds(kind, n, form)), default=0)

    lengths = [longest(name) for name in FORMATS]
    by_name = dict(zip(FORMATS, lengths, strict=True))
    assert by_name["bfloat16"] <= by_name["float16"] < by_name["float32"] < by_name["float64"]


def _holds(kind: object, n: int, form: Format) -> bool:
    assert isinstance(kind, SignKind)
    try:
        kind.bound(n, form)
    except VoidError:
        return False
    return True


def test_weights_that_do_not_meet_the_theorem_are_refused() -> None:
    """The second layer compares: its rows are the mean, the constant, and the two of the slope."""
    t = lower(program_of(threshold=-2), "unbounded")
    with pytest.raises(VoidError, match="the sign of 0 would decide"):
        Derived(scaled(t, "query", 1, 2.0, layer=1))
    with pytest.raises(VoidError, match="number of positions it is over"):
        Derived(scaled(t, "key", 0, 2.0, layer=1, feature=Named("i")))
    flat = scaled(scaled(t, "query", 2, 1 / 8, layer=1), "key", 3, 1 / 8, layer=1)
    with pytest.raises(VoidError, match="do not fall with the distance"):
        Derived(flat)


NEAR = [("n = 1024", 1024), ("n - i >= 700", 700), ("#*(true) = 300 | b", 300), ("n > 5", 5)]


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize(("formula", "near"), NEAR)
def test_words_near_the_threshold_are_right_though_longer_ones_are_far_from_it(
    formula: str, near: int, attention: Attention
) -> None:
    """Very long words are told from a length however their positions are rounded."""
    model = softhat.compile(formula, alphabet="ab", attention=attention)
    (claim,) = model.formulas.values()
    for dtype, longest in model.certificate.max_length.items():
        for n in {near - 1, near, near + 1, min(longest, near + 300)} - {0}:
            if n <= longest:
                answers = model.run_batch(np.zeros((1, n), np.int64), dtype)[0, :, 0] > 0
                assert np.array_equal(answers, claim.truth("a" * n)), (dtype, n)


@pytest.mark.parametrize("count", sizes(6, 300))
def test_every_shorter_length_is_within_its_own_bounds(count: int) -> None:
    rng = np.random.default_rng(5)
    for number in range(count):
        a, b, i, n, least = (
            int(x) for x in rng.integers([-4, -3, -3, -3, -300], [5, 4, 4, 4, 300])
        )
        over = ("", ">", "*")[number % 3]
        text = f"{a}*#(a) + {b}*#{over}(b) + {i}*i + {n}*n >= {least}"
        model = softhat.compile(text, alphabet="ab", attention=ATTENTIONS[number % 2])
        for head in model._proved[1].heads:
            for dtype, longest in model.certificate.max_length.items():
                kind, form = head.by_format[dtype], FORMATS[dtype]
                if isinstance(kind, SignKind) and longest:
                    some = {int(x) for x in np.exp(rng.uniform(0, np.log(longest), 20))}
                    for length in some | set(range(1, min(longest, 60))):
                        kind.row_of_lengths(length, length, form)


ALONE = ("2*n <= #(a) + 9", "n = 17", "3*#(a) - 2*#>(b) >= 2*n - 40", "i >= #*(b) + 5", "n != 1")


@pytest.mark.parametrize(("formula", "dtype"), every(2, product(ALONE, FORMATS)))
def test_blocks_of_lengths_say_the_worst_of_each_length_alone(formula: str, dtype: str) -> None:
    model, form = softhat.compile(formula, alphabet="ab"), FORMATS[dtype]
    kinds = {head.kind for head in model._proved[1].heads if isinstance(head.kind, SignKind)}
    assert kinds
    for kind in kinds:
        for first, last in ((1, 1), (1, 70), (3, 40), (16, 90)):
            lengths = range(first, last + 1)
            try:
                alone = [kind.row_of_lengths(n, n, form).bound(form) for n in lengths]
            except VoidError:
                with pytest.raises(VoidError):
                    kind._blocks(first, last, EXACT, form)
                continue
            worst = reduce(Bound.or_worse, alone, EXACT)
            assert kind._blocks(first, last, EXACT, form) == worst


@pytest.mark.parametrize("formula", ["2*n <= #(a) + 10000000", "1 != n", "2*#(a) + 70000 >= 3*n"])
def test_few_blocks_of_lengths_are_asked(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all shorter words are near the threshold, each a little further than the next."""
    asked = []
    alone = SignKind.row_of_lengths

    def noted(kind: SignKind, start: int, n: int, form: Format) -> RowFact:
        asked.append((start, n))
        return alone(kind, start, n, form)

    monkeypatch.setattr(SignKind, "row_of_lengths", noted)
    assert softhat.compile(formula, alphabet="ab").certificate.max_length["float64"] > 10**8
    assert len(asked) < 1500
