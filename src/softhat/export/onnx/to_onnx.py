"""A model as an ONNX graph with dynamic batch and length.

The graph takes the steps of softhat's own runtime: attention is exp(score - row maximum), the
division by the sum of the weights comes last, hidden units with equal incoming weights share one
sum. Inputs are `tokens` (batch, n), the symbols' indices (for propositional models (batch, n,
propositions) bits), and `attention_mask` (batch, n), 1 on the word and 0 on padding, which may be
left out. The output `margins` (batch, n, outputs) is > 0 where the formula holds; a simulation's is
its value. The graph adds the sinks itself. A law of temperature that is neither constant nor C·P(n)
is stored as a table, and so is an arithmetic set of positions: words longer than that are an error
of the runtime.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from softhat.export.certificates import export_certificate, export_facts
from softhat.export.native.labels import labels_of
from softhat.export.onnx.model import graph_of
from softhat.export.onnx.positions import longest_word
from softhat.export.torch import architecture, transformer_of
from softhat.io.errors import SofthatError, extra
from softhat.io.files import is_folder, json_bytes, resolved, write_files
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Transformer

OPSET = 18
MOST = 2**31
"""A protobuf file holds less than 2 GiB."""


def to_onnx(model: Answers, file: str | Path, dtype: str = "float32") -> None:
    """Write the ONNX file, and beside it `NAME.labels.json` and `NAME.certificate.json`."""
    path = resolved(file)
    t = transformer_of(model)
    if is_folder(path):
        raise SofthatError(f"{path} is a folder: give the name of a file, such as model.onnx")
    certificate = export_certificate(model, "onnx", longest_word(t), dtype)
    data = _serialized(model, dtype, certificate)
    beside = {
        f"{path.stem}.labels.json": json_bytes(labels_of(model).to_json()),
        f"{path.stem}.certificate.json": json_bytes({**certificate, **export_facts(t, data)}),
    }
    kinds = {name: f"softhat-{name.split('.')[-2]}" for name in beside}
    write_files(path.parent, {**beside, path.name: data}, derived=kinds)


def _serialized(model: Answers, dtype: str, certificate: dict[str, Any]) -> bytes:
    with extra("onnx", "onnx"):
        import onnx
        from onnx import helper
    if dtype not in ("float32", "float64"):
        raise SofthatError(f"ONNX models are float32 or float64, not {dtype!r}")
    t = transformer_of(model)
    if t.size.parameters * np.dtype(dtype).itemsize >= MOST:
        raise SofthatError(
            f"{t.size.parameters:,} parameters do not fit an ONNX file (2 GiB): use to_torch"
        )
    proto = model_of(t, np.dtype(dtype))
    helper.set_model_props(
        proto,
        {
            "alphabet": json.dumps(list(t.symbols), ensure_ascii=False),
            "outputs": json.dumps(list(t.outputs), ensure_ascii=False),
            "architecture": json.dumps(architecture(t), ensure_ascii=False),
            **{name: data.decode() for name, data in model.meaning().items()},
            "certificate": json.dumps(certificate, ensure_ascii=False),
        },
    )
    onnx.checker.check_model(proto, full_check=True)
    data: bytes = proto.SerializeToString(deterministic=True)
    return data


def model_of(t: Transformer, number: np.dtype[Any]) -> Any:
    """The ONNX model of a transformer, without metadata: everything that a runtime reads."""
    import onnx
    from onnx import helper

    graph = graph_of(t, number)
    tokens = (
        helper.make_tensor_value_info(
            "tokens", onnx.TensorProto.BOOL, ["batch", "n", len(t.symbols)]
        )
        if t.propositional
        else helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, ["batch", "n"])
    )
    mask = helper.make_tensor_value_info(
        "attention_mask", onnx.TensorProto.INT64, ["mask_batch", "mask_n"]
    )
    code = helper.np_dtype_to_tensor_dtype(number)
    margins = helper.make_tensor_value_info("margins", code, ["batch", "n", len(t.outputs)])
    return helper.make_model(
        helper.make_graph(graph.nodes, "softhat", [tokens, mask], [margins], graph.used()),
        producer_name="softhat",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )
