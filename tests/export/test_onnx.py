"""The ONNX graph gives the formula's truth in ONNX Runtime."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import MissingExtraError, SofthatError
from tests.export.suite import TARGETS, chosen, expected, padded, wrong
from tests.slices import every

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def session(path: Path) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def exported(model: Any, folder: Path, **options: Any) -> Any:
    softhat.to_onnx(model, folder / "model.onnx", **options)
    return session(folder / "model.onnx")


def truth(run: Any, codes: Any, **inputs: Any) -> Any:
    return run.run(["margins"], {"tokens": codes, **inputs})[0][..., 0] > 0


@pytest.mark.parametrize("part", every(8, range(8)))
def test_truth_on_100_formulas(part: int, tmp_path: Path) -> None:
    for k, (formula, target) in enumerate(chosen(100)[part::8]):
        run = exported(softhat.compile(formula, alphabet="ab", attention=target), tmp_path)
        assert not wrong(formula, lambda codes, r=run: truth(r, codes), k), (formula, target)


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_truth_on_all_formulas(target: str, tmp_path: Path) -> None:
    for k, (formula, _) in enumerate(chosen(1000)):
        run = exported(softhat.compile(formula, alphabet="ab", attention=target), tmp_path)
        assert not wrong(formula, lambda codes, r=run: truth(r, codes), k, 400), formula


def test_padding_anywhere_changes_nothing(tmp_path: Path) -> None:
    for k, (formula, target) in enumerate(chosen(20)):
        run = exported(softhat.compile(formula, alphabet="ab", attention=target), tmp_path)
        tokens, mask, words = padded(k)
        got = truth(run, tokens, attention_mask=mask)
        for row, word in enumerate(words):
            want = expected(formula, word[None], "ab")[0]
            assert (got[row][mask[row] == 1] == want).all(), (formula, target)


def test_float64_margins_are_those_of_the_numpy_runtime(tmp_path: Path) -> None:
    codes = np.random.default_rng(0).integers(0, 2, (5, 30))
    for formula, target in chosen(20):
        model = softhat.compile(formula, alphabet="ab", attention=target)
        run = exported(model, tmp_path, dtype="float64")
        ours = run.run(None, {"tokens": codes})[0]
        assert np.allclose(ours, model.run_batch(codes, "float64"), atol=1e-9)


def test_several_outputs_and_propositions(tmp_path: Path) -> None:
    formulas = {"one": "p S q", "two": "F (p & q)"}
    run = exported(softhat.compile(formulas, propositions=["p", "q"]), tmp_path)
    bits = np.random.default_rng(1).random((3, 12, 2)) < 0.4
    margins = run.run(None, {"tokens": bits})[0]
    for row in range(3):
        word = [{x for x, holds in zip("pq", step, strict=True) if holds} for step in bits[row]]
        for at, text in enumerate(formulas.values()):
            assert ((margins[row, :, at] > 0) == softhat.parse(text).truth(word)).all()


def test_files_and_metadata(tmp_path: Path) -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    softhat.to_onnx(model, tmp_path / "m.onnx")
    first = (tmp_path / "m.onnx").read_bytes()
    softhat.to_onnx(model, tmp_path / "m.onnx")
    assert first == (tmp_path / "m.onnx").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m.certificate.json", "m.labels.json", "m.onnx",
    ]  # fmt: skip
    certificate = json.loads((tmp_path / "m.certificate.json").read_text())
    assert certificate["kernel"] == "onnx" and certificate["max_length"]["float32"] > 1_000_000
    meta = session(tmp_path / "m.onnx").get_modelmeta().custom_metadata_map
    assert json.loads(meta["alphabet"]) == ["a", "b", "c"]
    assert meta["formula.txt"] == "output: !c S a\n"
    graph = onnx.load(tmp_path / "m.onnx").graph
    read = {name for node in graph.node for name in node.input}
    assert {tensor.name for tensor in graph.initializer} <= read, "ONNX Runtime would warn"
    shape = session(tmp_path / "m.onnx").get_inputs()[0].shape
    assert shape == ["batch", "n"]


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = softhat.compile("a")
    with pytest.raises(SofthatError, match="float32 or float64"):
        softhat.to_onnx(model, tmp_path / "m.onnx", dtype="bfloat16")
    with pytest.raises(SofthatError, match="expected a model"):
        softhat.to_onnx("a", tmp_path / "m.onnx")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SofthatError, match="is a folder: give the name of a file"):
        softhat.to_onnx(model, tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    real = builtins.__import__

    def missing(name: str, *rest: Any, **options: Any) -> Any:
        if name.split(".")[0] == "onnx":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"softhat\[onnx\]"):
        softhat.to_onnx(model, tmp_path / "m.onnx")


def test_only_the_model_that_is_proved_is_read(tmp_path: Path) -> None:
    """Operator sets, functions, inputs, outputs, names and metadata are part of what runs."""
    import onnx
    from onnx import helper

    softhat.to_onnx(softhat.compile("(!b S a) & Y b", alphabet="ab"), tmp_path / "m.onnx")
    assert softhat.certify(tmp_path / "m.onnx").ok

    def another_set(m: Any) -> None:
        m.opset_import[0].version = 17

    def one_more_set(m: Any) -> None:
        m.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    def older(m: Any) -> None:
        m.ir_version = 8

    def function(m: Any) -> None:
        body = [helper.make_node("Neg", ["x"], ["y"])]
        m.functions.append(
            helper.make_function("", "Relu", ["x"], ["y"], body, [helper.make_opsetid("", 18)])
        )

    def one_more_output(m: Any) -> None:
        m.graph.output.append(helper.make_tensor_value_info("Shape_0", 7, ["k"]))

    def one_more_constant(m: Any) -> None:
        m.graph.initializer.append(m.graph.initializer[0])

    def elsewhere(m: Any) -> None:
        m.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL

    def fixed(m: Any) -> None:
        m.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3

    def domain(m: Any) -> None:
        m.graph.node[3].domain = "com.microsoft"

    def metadata(m: Any) -> None:
        m.metadata_props.append(onnx.StringStringEntryProto(key="note", value="x"))

    def twice(m: Any) -> None:
        m.metadata_props.append(m.metadata_props[0])

    def sparse(m: Any) -> None:
        m.graph.sparse_initializer.append(onnx.SparseTensorProto())

    def trained(m: Any) -> None:
        m.training_info.append(onnx.TrainingInfoProto())

    for change in (
        another_set, one_more_set, older, function, one_more_output, one_more_constant, elsewhere,
        fixed, domain, metadata, twice, sparse, trained,
    ):  # fmt: skip
        made = onnx.load(tmp_path / "m.onnx")
        change(made)
        (tmp_path / "other.onnx").write_bytes(made.SerializeToString())
        with pytest.raises(softhat.SofthatError):
            softhat.certify(tmp_path / "other.onnx")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("alphabet", '["a", 1]'),
        ("alphabet", '["a", "a"]'),
        ("alphabet", '{"a": 1, "b": 2}'),
        ("outputs", "[7]"),
        ("architecture", "[" * 5000),
        ("architecture", "{"),
        ("architecture", "null"),
        ("certificate", '{"digest": "x", "digest": "y"}'),
    ],
)
def test_metadata_that_are_no_documents(key: str, value: str, tmp_path: Path) -> None:
    softhat.to_onnx(softhat.compile("a", alphabet="ab"), tmp_path / "m.onnx")
    (tmp_path / "m.certificate.json").unlink()
    _with_fact(tmp_path / "m.onnx", key, value)
    with pytest.raises(SofthatError) as raised:
        softhat.certify(tmp_path / "m.onnx")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("width", [10**12, -1])
def test_an_architecture_without_end(width: int, tmp_path: Path) -> None:
    """Nothing is allocated before it is known how much."""
    softhat.to_onnx(softhat.compile("a", alphabet="ab"), tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    (fact,) = (entry.value for entry in model.metadata_props if entry.key == "architecture")
    document = {**json.loads(fact), "d_model": width}
    _with_fact(tmp_path / "m.onnx", "architecture", json.dumps(document))
    with pytest.raises(SofthatError, match="weights are not read back"):
        softhat.certify(tmp_path / "m.onnx")


def _with_fact(path: Path, key: str, value: str) -> None:
    model = onnx.load(path)
    (entry,) = (entry for entry in model.metadata_props if entry.key == key)
    entry.value = value
    onnx.save(model, path)
