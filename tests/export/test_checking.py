"""Exports are checked by their weights: what is proved anew, what is stated, what was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.export.checking import certify, verify
from softhat.export.kinds import is_export
from softhat.export.reading import read_export
from softhat.models.verification.report import Verification
from tests.cli.run import softhat as command

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnx")

FORMULA = "(!c S a) & #(a) >= 2 | Y b"
KINDS = ("torch", "huggingface", "onnx", "gpt2")


def export(kind: str, formula: Any, folder: Path, **options: Any) -> Path:
    from softhat.export.torch import to_torch_file

    model = softhat.compile(formula, **(options or {"alphabet": "abc"}))
    path = folder / ("model.onnx" if kind == "onnx" else kind)
    makers: dict[str, Callable[..., Any]] = {
        "torch": to_torch_file,
        "huggingface": softhat.to_huggingface,
        "onnx": softhat.to_onnx,
        "gpt2": lambda m, p: softhat.to_gpt2(m, p, 64),
    }
    makers[kind](model, path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_is_proved_from_its_weights(kind: str, tmp_path: Path) -> None:
    path = export(kind, FORMULA, tmp_path)
    assert is_export(path)
    found = certify(path)
    assert found.ok and found.void == () and found.disagrees == ()
    stated = (
        path.with_name("model.certificate.json") if kind == "onnx" else path / "certificate.json"
    )
    document = json.loads(stated.read_text())
    assert document["max_length"] == found.max_length and document["digest"] == found.digest
    assert min(found.max_length.values()) > 10
    result = verify(path, exhaustive=4, random=20, adversarial=4, max_length=40)
    assert result.ok and result.words > 100
    assert isinstance(result, Verification) and result.certified_length > 10


@pytest.mark.parametrize("kind", KINDS)
def test_another_formula_is_not_proved(kind: str, tmp_path: Path) -> None:
    path = export(kind, FORMULA, tmp_path)
    if kind == "onnx":
        import onnx

        made = onnx.load(path)
        for entry in made.metadata_props:
            if entry.key == "formula.txt":
                entry.value = "output: O a\n"
        onnx.save(made, path)
    else:
        (path / "formula.txt").write_text("output: O a\n")
    found = certify(path)
    assert not found.ok and any("does not compute" in reason for reason in found.void)
    assert set(found.max_length.values()) == {0}


@pytest.mark.parametrize("kind", ["torch", "huggingface", "gpt2"])
def test_changed_weights_are_found(kind: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = export(kind, FORMULA, tmp_path)
    honest = certify(path)
    tensors = load_file(path / "model.safetensors")
    name = next(n for n in sorted(tensors) if "query.weight" in n or "c_attn.weight" in n)
    array = tensors[name].copy()
    array[tuple(np.argwhere(array)[0])] *= 2
    save_file({**tensors, name: array}, path / "model.safetensors")
    found = certify(path)
    assert found.digest != honest.digest and not found.ok
    assert any("other weights" in reason for reason in found.disagrees)
    with pytest.raises(softhat.SofthatError, match="other weights"):
        verify(path, exhaustive=2, random=0, adversarial=0)


def test_a_changed_graph_is_refused(tmp_path: Path) -> None:
    import onnx

    path = export("onnx", FORMULA, tmp_path)
    made = onnx.load(path)
    node = next(node for node in made.graph.node if node.op_type == "Relu")
    node.op_type = "Abs"
    onnx.save(made, path)
    with pytest.raises(softhat.SofthatError, match="graph"):
        read_export(path)


def test_a_forged_length_is_no_proof(tmp_path: Path) -> None:
    path = export("torch", FORMULA, tmp_path)
    stated = json.loads((path / "certificate.json").read_text())
    stated["max_length"]["float16"] = 10**9
    (path / "certificate.json").write_text(json.dumps(stated))
    found = certify(path)
    assert found.max_length["float16"] < 10**9
    assert any("1000000000 for float16" in reason for reason in found.disagrees)


def test_propositions_and_language_models(tmp_path: Path) -> None:
    for kind in ("huggingface", "gpt2"):
        assert certify(export(kind, "p S (q & Y p)", tmp_path, propositions=["p", "q"])).ok
    model = softhat.compile({"a": "Y b", "b": "true", "<eos>": "#(a) >= 2"}, alphabet="ab")
    softhat.to_gpt2(model, tmp_path / "lm", 32, head="lm", margin=7.0)
    assert certify(tmp_path / "lm").ok
    assert verify(tmp_path / "lm", exhaustive=5, random=10, adversarial=4).ok


@pytest.mark.parametrize("given", [5, None, ["m"]])
def test_what_is_no_model_has_no_certificate(given: Any) -> None:
    with pytest.raises(softhat.SofthatError, match="expected a model, or the path of one"):
        certify(given)


@pytest.mark.parametrize("symbol", ["<bos>", "<eos>", "<pad>"])
def test_reserved_symbols_are_refused(symbol: str, tmp_path: Path) -> None:
    softhat.compile("a S b", alphabet="abc").save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["alphabet"][2] = symbol
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(softhat.SofthatError, match="reserved"):
        softhat.load(tmp_path / "m")
    path = export("torch", "a S b", tmp_path)
    config = json.loads((path / "config.json").read_text())
    config["alphabet"][2] = symbol
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(softhat.SofthatError, match="reserved"):
        certify(path)


def test_the_command_line(tmp_path: Path) -> None:
    path = export("gpt2", FORMULA, tmp_path)
    result = command("certify", str(path), "--json")
    assert result.code == 0 and json.loads(result.out)["export"] == "gpt2"
    result = command("verify", str(path), "--exhaustive", "3", "--random", "5", "--json")
    assert result.code == 0 and json.loads(result.out)["ok"]
    (path / "formula.txt").write_text("output: O a\n")
    assert command("certify", str(path)).code == 1
    (path / "config.json").write_text('{"model_type": "gpt2"}')
    assert command("certify", str(path)).code == 2


@pytest.mark.parametrize("seed", range(6))
def test_tampered_gpt2_weights_are_never_certified_and_wrong(seed: int, tmp_path: Path) -> None:
    attack_gpt2(seed, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_tampered_gpt2_weights(seed: int, tmp_path: Path) -> None:
    attack_gpt2(seed, tmp_path)


WIDE = " & ".join(f"!mod({k}, 0)" for k in range(2, 13)) + " & O a | 2*#(a) - 3*#(b) < -20"
"""A gate that is a tree, and a constant that positions tell."""


def attack_gpt2(seed: int, folder: Path) -> None:
    """Some entries of a tensor changed in a way that looks harmless; if it stays certified, it
    must stay right."""
    from safetensors.numpy import load_file, save_file

    rng = np.random.default_rng(seed)
    formulas = ("!b S a", "Y a & O b", "#(a) > #(b)", FORMULA, "#(a) >= 9", WIDE)
    formula = formulas[seed % len(formulas)]
    path = export("gpt2", formula, folder)
    tensors = load_file(path / "model.safetensors")
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(sorted(n for n in tensors if tensors[n].any())))
        array = tensors[name].copy()
        places = np.argwhere(array)
        place = places[int(rng.integers(len(places)))]
        factor = float(rng.choice((0.0, -1.0, 2.0, 0.5, 2.0**20, 2.0**-20, 1 + 2.0**-10)))
        match int(rng.integers(3)):
            case 0:  # one entry
                array[tuple(place)] *= factor
            case 1:  # a pair of opposite sign stays one
                twin = place.copy()
                axis = int(rng.integers(array.ndim))
                twin[axis] ^= 1
                if (twin < array.shape).all():
                    array[tuple(place)] *= factor
                    array[tuple(twin)] *= factor
            case _:  # everything
                array *= factor
        tensors[name] = array
    save_file(tensors, path / "model.safetensors")
    stated = json.loads((path / "certificate.json").read_text())
    exported = read_export(path)
    stated["digest"] = exported.digest
    (path / "certificate.json").write_text(json.dumps(stated))
    found = certify(path)
    for dtype, limit in found.max_length.items():
        if limit:
            result = verify(path, exhaustive=4, random=6, adversarial=6, max_length=63, dtype=dtype)
            assert result.ok, (seed, dtype, result.counterexample)


@pytest.mark.parametrize("change", [{"n_layer": 1}, {"bos_token_id": 3}], ids=str)
def test_a_configuration_that_runs_something_else_is_refused(
    change: dict[str, int], tmp_path: Path
) -> None:
    """The proof is about all blocks, and about the `<bos>` that the tokenizer puts first."""
    softhat.to_gpt2(softhat.compile("a S (b & Y a)", "ab"), tmp_path / "out", 32)
    path = tmp_path / "out" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(softhat.SofthatError, match=next(iter(change))):
        softhat.certify(tmp_path / "out")


@pytest.mark.parametrize("option", [{"runtime": "linear"}, {"resume": "state.json"}])
def test_options_without_a_meaning_are_refused(option: dict[str, Any], tmp_path: Path) -> None:
    path = export("gpt2", "!c S a", tmp_path)
    program = softhat.compile(softhat.rasp.tokens == "a", alphabet="ab", max_length=8)
    simulation = softhat.simulate(GALLERY["last-token"](), max_length=4)
    few: dict[str, Any] = {"exhaustive": 2, "random": 1, "adversarial": 1, "max_length": 4}
    for made, what in ((path, "stock checkpoints"), (program, "RASP"), (simulation, "simulations")):
        with pytest.raises(softhat.SofthatError, match=f"{next(iter(option))} is for .*{what}"):
            verify(made, **few, **option)
        assert verify(made, **few, runtime="dense", resume=None).ok
