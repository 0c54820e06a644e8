"""Float certificates of simulations under attack: awkward weights, every number format.

The softmax model runs in the dense runtime, in the format itself; exact values come from the
definition. Nothing certified may be off by more than ε.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, BOS, Head, Layer, Matrix
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.temperature import NoTemperatureError
from tests.ahat.models import random_deep, random_model, random_program, random_tieless
from tests.slices import every, sizes

MAKERS = (random_model, random_program, random_tieless, random_deep)
ROOM = {"float16": 0.1, "bfloat16": 0.1, "float32": 1e-3, "float64": 1e-3}
FORMATS = ("float16", "bfloat16", "float32", "float64")


def scaled(matrix: Matrix, factor: Fraction) -> Matrix:
    return tuple(tuple(x * factor for x in row) for row in matrix)


def awkward(rng: random.Random, model: AHAT) -> AHAT:
    """The model with weights that floats do not like."""
    odd = Fraction(rng.choice([1, 3, 7, 10**6 + 3]), rng.choice([1, 3, 7, 11, 10**6 + 1]))

    def factor() -> Fraction:
        kind = rng.randrange(4)
        if kind == 0:
            return Fraction(2) ** rng.randint(-100, 100)
        if kind == 1:
            return Fraction(rng.choice([10**7, 10**5, 10**3]))
        return odd if kind == 2 else Fraction(1)

    def head(h: Head) -> Head:
        if rng.random() < 0.5:
            return h
        part = rng.choice(["query", "key", "value", "output"])
        return replace(h, **{part: scaled(getattr(h, part), factor())})

    layers = tuple(Layer(tuple(map(head, l.heads)), l.feed_forward) for l in model.layers)
    if rng.random() < 0.4:
        by = factor()
        model = replace(model, embedding=scaled(model.embedding, by))
        if model.bos_embedding is not None:
            model = replace(model, bos_embedding=scaled((model.bos_embedding,), by)[0])
    return replace(model, layers=layers)


def uniform_with_large_scores(rng: random.Random) -> AHAT:
    """Averages, then a uniform head whose equal scores are multiplied by a large weight."""
    b = Builder("ab")
    x = b.embed("x", {"a": Fraction(1, 3), "b": Fraction(-2, 7)})
    mean = b.head("none", value={"mean": x})["mean"]
    weight = Fraction(rng.choice([10**7, 10**5, 2**30, 10**9]), rng.choice([1, 7]))
    again = b.head("<=", value={"again": x}, score=[(weight, mean)])["again"]
    b.output(again * rng.choice([1, 1000]))
    return b.build()


def positional(rng: random.Random) -> AHAT:
    """Scores that read positions: near and far keys, small rows and large ones, concave scores of
    averages, units that sinks give; and a second head that reads what the first one found."""
    b = Builder("ab", bos=rng.random() < 0.6)
    i, square = b.position("i"), b.position("i^2")
    x = b.embed("x", {"a": Fraction(rng.choice(["1", "1/3", "5"])), "b": rng.choice([0, -1])})
    share = b.head(rng.choice(["none", "<="]), value={"share": b.token("a")})["share"]
    unit = b.embed("bos", {BOS: 1}) if b.bos else b.position("first")
    one = b.head("none", value={"unit": unit})["unit"]
    weight = Fraction(rng.choice([1, 2, 3, -1, -2]), rng.choice([1, 1, 3, 7, 1024]))
    score = rng.choice([
        [(weight, i)],
        [(weight, b.position("1/i"))],
        [(weight, b.position("i/n"))],
        [(weight, b.position("i/n")), (abs(weight), b.token("a"))],
        [(2 * share, i), (-one, square)],
        [(2 * (i - rng.randint(0, 2)), i), (-1, square)],
        [(2 * rng.randint(1, 5), i), (-1, square)],
        [(weight, share)],
        [(share - Fraction(1, 2) * one, b.token("b"))],
        [(b.token("a"), share), (weight, b.position("i/n"))],
    ])  # fmt: skip
    mask = rng.choice(["none", "<=", "<", ">="])
    found = b.head(mask, value={"found": x}, score=score)["found"]
    if rng.random() < 0.4:
        score = [(1, rng.choice([found, -found])), (rng.choice([0, 1]), b.position("i/n"))]
        found = b.head(rng.choice(["none", "<="]), value={"again": found}, score=score)["again"]
    b.output(found * Fraction(rng.choice(["1", "1", "1/3"])) - Fraction(1, 2))
    return b.build()


def attack(s: Simulation, source: AHAT, rng: random.Random, longest: int = 40) -> int:
    """Words at short lengths and at the certified length, in every format; how many were run."""
    epsilon, tried = s.certificate.epsilon, 0
    for dtype in FORMATS:
        top = s.certificate.max_length[dtype]
        if source.longest is not None:
            top = min(top, source.longest)
        for n in sorted({1, 2, 3, 5, min(top, 12), min(top, longest)}):
            if not 1 <= n <= top:
                continue
            a, b = source.alphabet[:2]
            words = [[rng.choice(source.alphabet) for _ in range(n)] for _ in range(3)]
            words += [[a] * n, [a] * (n - 1) + [b]]
            for word in words:
                exact = source.values(word)
                found = s.margins(word, dtype=dtype)
                tried += 1
                for x, y in zip(found.tolist(), exact, strict=True):
                    assert np.isfinite(x), (dtype, n, word)
                    if epsilon is None:
                        assert (x > 0) == (y > 0), (dtype, n, word)
                    else:
                        assert abs(Fraction(x) - y) <= epsilon, (dtype, n, word, x, float(y))
    return tried


def check(seed: int, models: int) -> int:
    rng = random.Random(seed)
    tried = 0
    for k in range(models):
        source = MAKERS[k % len(MAKERS)](rng) if k % 8 else uniform_with_large_scores(rng)
        source = awkward(rng, source)
        size = max((abs(v) for w in ("ab", "ba", "aab") for v in source.values(w)), default=1)
        epsilon = float(max(size, Fraction(1, 2**60))) * rng.choice([1e-3, 1e-2, 0.2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                made = [
                    softhat.simulate(source, epsilon=epsilon, dtype=rng.choice([None, *FORMATS]))
                ]
                if k % 4 == 0:
                    made.append(softhat.simulate(source, max_length=4, epsilon=epsilon))
            except NoTemperatureError:
                continue
            for s in made:
                tried += attack(s, source, rng)
    return tried


@pytest.mark.parametrize("count", sizes(3, 6))
def test_awkward_models(count: int) -> None:
    assert check(1, count) >= 5 * count


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_awkward_models_at_full_size(seed: int) -> None:
    assert check(200 + seed, 60) > 400


def check_positional(seed: int, models: int, longest: int) -> int:
    rng = random.Random(seed)
    tried = 0
    for _ in range(models):
        source = positional(rng)
        if rng.random() < 0.3:
            source = awkward(rng, source)
        dtype = rng.choice(FORMATS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                s = softhat.simulate(source, epsilon=ROOM[dtype], dtype=dtype)
            except NoTemperatureError:
                continue
            tried += attack(s, source, rng, longest)
    return tried


@pytest.mark.parametrize("count", sizes(8, 40))
def test_scores_of_positions(count: int) -> None:
    assert check_positional(1, 3, count) > 3 * count // 8


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_scores_of_positions_at_full_size(seed: int) -> None:
    assert check_positional(300 + seed, 60, 150) > 400


@pytest.mark.parametrize("power", [-20, -30, -140, -160, -1060])
def test_weights_below_the_least_number(power: int) -> None:
    """What a format stores as 0 is not exact, however few digits it has."""
    b = Builder("ab")
    x = b.embed("x", {"a": Fraction(2) ** power, "b": 0})
    b.output(b.head("none", value={"y": x})["y"] * Fraction(2) ** -power)
    s = softhat.simulate(b.build(), epsilon=1e-3)
    attack(s, b.build(), random.Random(3))
    lengths = s.certificate.max_length
    assert lengths["float16"] == 0
    assert (lengths["float32"] > 0) == (power > -130)
    assert (lengths["float64"] > 0) == (power > -1000)
    b = Builder("ab")  # the same without any head
    b.output(b.embed("x", {"a": Fraction(2) ** power, "b": 0}) * Fraction(2) ** -power)
    attack(softhat.simulate(b.build(), epsilon=1e-3), b.build(), random.Random(4))


def test_an_output_weight_beyond_the_format() -> None:
    """100,000 is no float16: 0 times what it is stored as is no number."""
    b = Builder("ab")
    y = b.head("none", value={"y": b.embed("x", {"a": Fraction(1, 10**9), "b": 0})})["y"]
    b.output(y)
    model = b.build()
    head = model.layers[0].heads[0]
    head = replace(head, output=scaled(head.output, Fraction(10**5)))
    s = softhat.simulate(replace(model, layers=(Layer((head,), None),)), epsilon=0.1)
    assert s.certificate.max_length["float16"] == 0 < s.certificate.max_length["float32"]


def test_uniform_heads_with_large_score_weights() -> None:
    """Values 1/3 and -2/7 averaged, then equal scores times 10^7: off by 0.03 in float32."""
    b = Builder("ab")
    x = b.embed("x", {"a": Fraction(1, 3), "b": Fraction(-2, 7)})
    mean = b.head("<=", value={"mean": x})["mean"]
    total = b.head("none", value={"total": mean})["total"]
    again = b.head("none", value={"again": x}, score=[(10**7, total)])["again"]
    b.output(again)
    model = b.build()
    for length in (None, 12):
        certificate = softhat.simulate(model, max_length=length, epsilon=1e-3).certificate
        assert certificate.max_length["float32"] <= 1  # one key takes all
        assert certificate.max_length["float64"] >= 12


@pytest.mark.parametrize("power", [130, 600, -160, -600])
def test_values_out_of_range(power: int) -> None:
    b = Builder("ab")
    x = b.embed("x", {"a": Fraction(2) ** power, "b": -(Fraction(2) ** power)})
    found = b.head("none", value={"found": x}, score=[(1, b.position("i"))])["found"]
    b.output(found)
    epsilon = float(Fraction(2) ** (power - 5))
    for length in (None, 6):
        s = softhat.simulate(b.build(), max_length=length, epsilon=epsilon)
        assert s.certificate.max_length["float32"] == 0
        assert s.certificate.max_length["float64"] >= 6
        attack(s, b.build(), random.Random(1))


@pytest.mark.parametrize("power", [-100, -140, 100, 600])
def test_scores_out_of_range(power: int) -> None:
    """Tiny scores need a β beyond the format, large ones overflow."""
    b = Builder("ab")
    weight = Fraction(2) ** power
    last = b.head("none", value={"x": b.token("a")}, score=[(weight, b.position("i"))])["x"]
    b.output(last - Fraction(1, 2))
    for length in (None, 6):
        s = softhat.simulate(b.build(), max_length=length, epsilon=1e-2)
        assert s.certificate.max_length["float64"] >= 6
        attack(s, b.build(), random.Random(1))
        if abs(power) >= 140:
            assert s.certificate.max_length["float32"] == 0


@pytest.mark.parametrize(
    "name", every(4, ["last-token", "dyck-argmin", "histogram", "induction-average"])
)
def test_asking_for_a_format_leaves_room_for_it(name: str) -> None:
    plain = softhat.simulate(GALLERY[name](), epsilon=1e-3).certificate.max_length
    roomy = softhat.simulate(GALLERY[name](), epsilon=1e-3, dtype="float32").certificate
    assert roomy.max_length["float32"] > plain["float32"]


def test_half_precision_where_it_can() -> None:
    """Decisions of the first token in float16: to some length, and right there."""
    source = GALLERY["first-token"]()
    s = softhat.simulate(source, epsilon=None, dtype="float16")
    assert s.certificate.max_length["float16"] >= 64
    assert attack(s, source, random.Random(2)) > 30


def at_the_end(name: str, dtype: str, count: int, longest: int) -> int:
    """Words of the very length that is certified: ties of quotients, nearly constant words."""
    source = GALLERY[name]()
    s = softhat.simulate(source, epsilon=ROOM[dtype], dtype=dtype)
    n = min(s.certificate.max_length[dtype], longest)
    if not n:
        return 0
    rng = random.Random(n)
    a, b = source.alphabet[:2]
    words = [([a, b] * n)[:n], [a] * (n - 1) + [b], ([a, a, b, b] * n)[:n]]
    words += [rng.choices(source.alphabet, k=n) for _ in range(count)]
    for word in words:
        found = s.margins(word, dtype=dtype, runtime="dense").tolist()
        for x, y in zip(found, source.values(word), strict=True):
            assert abs(Fraction(x) - y) <= ROOM[dtype], (name, dtype, n, word)
    return n


@pytest.mark.parametrize("name", every(3, ["dyck-argmin", "induction-average", "histogram"]))
def test_ties_that_floats_keep(name: str) -> None:
    """Quotients of integers are rounded once: equal averages are equal floats, and tie."""
    assert at_the_end(name, "float32", 1, 150) >= 150
    at_the_end(name, "float16", 1, 150)


@pytest.mark.full
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", [n for n in GALLERY if GALLERY[n]().longest is None])
def test_the_gallery_at_its_certified_length(name: str, dtype: str) -> None:
    at_the_end(name, dtype, 12, 700)
