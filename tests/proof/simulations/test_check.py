"""The checker accepts what simulations claim, and nothing that says more."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.ahat.analysis import gap_laws, pairs, peaks, portrait
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation import every_length as laws_module
from softhat.ahat.simulation import temperature_laws
from softhat.ahat.simulation.magnitudes import number
from softhat.io.errors import SofthatError, VoidError
from softhat.numbers.laws import Law, Tabled, from_json
from softhat.numbers.positions import Table
from softhat.proof.simulations import embedding
from softhat.proof.simulations.residual import ResidualStream
from softhat.proof.simulations.source import SourceModel
from tests.proof.simulations.claims import Claims, claims_of, random_source
from tests.proof.simulations.test_embedding_features import table_with_eos
from tests.proof.simulations.test_source import leaves
from tests.slices import every

NAMES = ("last-token", "induction-average", "histogram", "leftmost-b", "previous-token")


def prove_gallery(name: str, epsilon: float | None, snap: bool) -> None:
    try:
        found = claims_of(GALLERY[name](), epsilon, snap)
    except SofthatError as error:  # decisions that no error leaves alone
        assert epsilon is None and "threshold" in str(error)
        return
    verdict = found.check()
    assert verdict.longest == found.model.longest
    assert set(verdict.heads) == set(found.model.heads)


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_the_gallery_is_proved(name: str) -> None:
    prove_gallery(name, 1e-2, False)


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [1e-2, 1e-6, None])
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_the_gallery_is_proved_at_full_size(name: str, epsilon: float | None) -> None:
    for snap in (False, True):
        prove_gallery(name, epsilon, snap)


def prove(seed: int) -> bool:
    try:
        found = claims_of(random_source(seed))
    except SofthatError:
        return False  # ties over averages of averages
    found.check()
    return True


def test_random_models_are_proved() -> None:
    assert sum(prove(seed) for seed in range(10)) > 5


@pytest.mark.full
def test_random_models_are_proved_at_full_size() -> None:
    assert sum(prove(seed) for seed in range(10, 600)) > 400


def test_it_imports_neither_analysis_nor_search() -> None:
    """In a process of its own: nothing of `softhat.ahat`, nothing that runs models."""
    code = (
        "import sys, softhat.proof.simulations.check\n"
        "names = [n for n in sys.modules if n.startswith('softhat.')]\n"
        "bad = ('softhat.ahat', 'softhat.runtime', 'softhat.models', 'softhat.transformer')\n"
        "print([n for n in names if n.startswith(bad)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_is_small() -> None:
    """What must be right for a simulation's certificate in the reals, with what it imports."""
    code = (
        "import sys, softhat.proof.simulations.check\n"
        "files = {m.__file__ for n, m in sys.modules.items()\n"
        "         if n.startswith('softhat') and getattr(m, '__file__', None)}\n"
        "print(sum(len(open(f, encoding='utf-8').readlines()) for f in files))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 6_000


def scaled(law: Any, factor: Fraction) -> Any:
    """A law's JSON, times a number."""
    return (from_json(law) * factor).to_json()


def _head(evidence: dict[str, Any]) -> dict[str, Any]:
    return next(h for layer in evidence["layers"] for h in layer["heads"] if h is not None)


def _wider_gap(evidence: dict[str, Any]) -> None:
    _head(evidence)["gap"] = scaled(_head(evidence)["gap"], Fraction(3))


def _smaller_logarithm(evidence: dict[str, Any]) -> None:
    _head(evidence)["inside"] = scaled(_head(evidence)["inside"], Fraction(1, 3))


def _smaller_leak(evidence: dict[str, Any]) -> None:
    _head(evidence)["leak"] = scaled(_head(evidence)["leak"], Fraction(9))


def _larger_leak(evidence: dict[str, Any]) -> None:
    _head(evidence)["leak"] = scaled(_head(evidence)["leak"], Fraction(1, 9))


def _uniform(evidence: dict[str, Any]) -> None:
    layer = next(layer for layer in evidence["layers"] if any(layer["heads"]))
    layer["heads"] = [None] * len(layer["heads"])


def _crowd(evidence: dict[str, Any]) -> None:
    _head(evidence)["crowd"] = 1 if _head(evidence)["crowd"] is None else None


def _output(evidence: dict[str, Any]) -> None:
    evidence["end"] = {c: scaled(law, Fraction(1, 2)) for c, law in evidence["end"].items()}


def _no_output(evidence: dict[str, Any]) -> None:
    evidence["end"] = {}


def _share(evidence: dict[str, Any]) -> None:
    evidence["share"] = "1/1000"


def _range(evidence: dict[str, Any]) -> None:
    stream = evidence["layers"][0]["stream"]
    next(c for c in stream if c["high"])["high"] = [[0, "1/1000"]]


def _denominators(evidence: dict[str, Any]) -> None:
    stream = evidence["layers"][0]["stream"]
    coordinate = next(c for c in stream if c["least"] is not None)
    coordinate["least"] = scaled(coordinate["least"], Fraction(100))


def _allowed(evidence: dict[str, Any]) -> None:
    evidence["allowed"] = "1"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "change",
    [
        _wider_gap, _smaller_logarithm, _smaller_leak, _larger_leak, _uniform, _crowd, _output,
        _no_output, _share, _range, _denominators, _allowed,
    ],
)  # fmt: skip
def test_a_claim_that_says_more_is_refused(
    name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    found = claims_of(GALLERY[name]())
    change(found.evidence)
    with pytest.raises(SofthatError):
        found.check()


def test_colder_is_fine_and_warmer_is_not() -> None:
    found = claims_of(GALLERY["last-by-inverse"]())
    (name,) = found.laws
    for factor, good in ((Fraction(1, 2), False), (Fraction(2), False)):
        laws = {name: found.laws[name] * factor}
        changed = Claims(found.model, found.document, laws, found.evidence, found.epsilon)
        if not good:
            with pytest.raises(VoidError, match="temperature laws"):
                changed.check()


def test_a_uniform_head_has_no_temperature() -> None:
    found = claims_of(GALLERY["majority"]())
    found.check()
    laws = dict.fromkeys(found.laws, from_json("1000000"))
    with pytest.raises(VoidError, match="β is not 1"):
        Claims(found.model, found.document, laws, found.evidence, found.epsilon).check()


def test_tables_of_temperatures_have_six_bits() -> None:
    found = claims_of(GALLERY["sort"]())
    name, law = next((k, v) for k, v in found.laws.items() if isinstance(v, Tabled))
    assert found.check().heads[name] is not None
    for entry in (law.entries[0] + Fraction(1, 3), law.entries[0] / 2, law.entries[0] * 64):
        laws = {**found.laws, name: Tabled((entry, *law.entries[1:]), law.beyond)}
        with pytest.raises(VoidError, match="table of β"):
            Claims(found.model, found.document, laws, found.evidence, found.epsilon).check()


@pytest.mark.parametrize("name", NAMES)
def test_leaves_of_the_evidence(name: str) -> None:
    change_leaves(name, 29)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_leaves_of_the_evidence_at_full_size(name: str) -> None:
    change_leaves(name, 1)


def change_leaves(name: str, every: int) -> None:
    """One leaf at a time is changed: what is still accepted claims what it claimed before, or
    less; anything else is one message."""
    found = claims_of(GALLERY[name]())
    honest = found.check()
    for path in leaves(found.evidence)[::every]:
        values: tuple[Any, ...] = (None, "0", "1000000", -1)
        for value in values:
            evidence = copy.deepcopy(found.evidence)
            place: Any = evidence
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            changed = Claims(found.model, found.document, found.laws, evidence, found.epsilon)
            try:
                verdict = changed.check()
            except SofthatError as error:
                assert "\n" not in str(error)
                continue
            assert verdict.share == honest.share and verdict.allowed == honest.allowed
            for head, fact in verdict.heads.items():
                known = honest.heads[head]
                assert (fact is None) == (known is None)
                if fact is None or known is None:
                    continue
                assert fact.single == known.single and fact.bends == known.bends
                assert all(fact.claim.gap.at(n) <= known.claim.gap.at(n) for n in (1, 2, 5, 40))


# What a wrong analysis makes of it


def _bold_gap(view: Any) -> Law:
    return 4 * pairs.gap_law(view)


def _always(*given: Any) -> bool:
    return True


def _forgets_eos(source: SourceModel) -> ResidualStream:
    tables = [feature for feature in source.features if isinstance(feature, Table)]
    atoms = tuple(embedding._atom(table, eos=False) for table in tables)
    return replace(embedding.embedded(source), atoms=atoms)


def _tiny_share(*given: Any) -> Any:
    return number(3)


@pytest.mark.parametrize(
    "name", every(2, ["last-token", "sort", "histogram", "induction-average", "dyck-argmin"])
)
@pytest.mark.parametrize(
    ("module", "function", "wrong"),
    [
        (gap_laws, "gap_law", _bold_gap),
        (portrait, "one_maximum", _always),
        (peaks, "crowded", _always),
        (temperature_laws, "_influence", _tiny_share),
    ],
)
def test_a_wrong_analysis_proves_nothing_wrong(
    name: str, module: Any, function: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate is refused, or it holds on words."""
    gap_laws.gap_laws.cache_clear()
    monkeypatch.setattr(laws_module, "hold_against", lambda laws, tally: None)
    monkeypatch.setattr(module, function, wrong)
    model = GALLERY[name]()
    try:
        s = softhat.simulate(model, epsilon=1e-2)
        s.certificate  # noqa: B018 - computing it is what fails
    except SofthatError:
        return
    finally:
        monkeypatch.undo()
        gap_laws.gap_laws.cache_clear()
    for word in ("a", "ab", "abba"):
        letters = [model.alphabet[ord(c) % len(model.alphabet)] for c in word]
        pairs_of = zip(s.values(letters), model.values(letters), strict=True)
        assert all(abs(y - float(x)) <= 1e-2 for y, x in pairs_of)


def test_the_hole_that_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that forgets that a table is 0 at `<eos>` is found out by the checker alone."""
    gap_laws.gap_laws.cache_clear()
    monkeypatch.setattr(portrait, "embedded", _forgets_eos)
    monkeypatch.setattr(laws_module, "hold_against", lambda laws, tally: None)
    with pytest.raises(VoidError):
        _ = softhat.simulate(table_with_eos(), epsilon=0.01).certificate
    monkeypatch.undo()
    gap_laws.gap_laws.cache_clear()


def test_a_folder_with_other_evidence_is_refused(tmp_path: Path) -> None:
    softhat.simulate(GALLERY["induction-average"](), epsilon=1e-2).save(tmp_path / "m")
    assert softhat.load(tmp_path / "m").certificate.max_length["float64"] > 100
    path = tmp_path / "m" / "certificate.json"
    document = json.loads(path.read_text())
    _wider_gap(document["evidence"])
    path.write_text(json.dumps(document))
    with pytest.raises(SofthatError, match="make it again"):
        softhat.load(tmp_path / "m")
