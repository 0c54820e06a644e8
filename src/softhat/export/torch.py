"""A model as a PyTorch module: named submodules, hooks, gradients, any device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.io.argument_types import shown
from softhat.io.errors import SofthatError, extra
from softhat.io.files import json_bytes, write_folder
from softhat.numbers.positions import Table, nearest_float
from softhat.numbers.stored import to_json
from softhat.numerics.formats import format_of
from softhat.runtime.answers import Answers
from softhat.transformer.rows import distinct_rows
from softhat.transformer.weights import BOS, EOS, Layer, Sparse, Transformer

Kernel = Literal["sdpa", "eager"]


def to_torch(
    model: Answers,
    dtype: Any = "float32",
    device: Any = "cpu",
    kernel: Kernel = "sdpa",
) -> Any:
    """An `nn.Module` that computes what the model computes.

    `module(tokens)` takes (batch, n) symbol indices (for propositional models (batch, n,
    propositions) bits) and gives (batch, n, outputs) margins, > 0 iff the formula holds; a
    simulation's one output is its value. See
    `SofthatTransformer` for padding and attention maps. `dtype` is a name or a torch dtype;
    `kernel` is "sdpa", torch's fused attention, or "eager". Models compiled for hard attention
    average over the argmax set, always eagerly. How far the answers are proved is said by
    `softhat.export.certificates.export_certificate`.
    """
    if kernel not in get_args(Kernel):
        raise SofthatError(
            f"unknown kernel {kernel!r}: choose one of {', '.join(get_args(Kernel))}"
        )
    torch = import_torch()
    from softhat.export.architecture.module_softhat import Architecture, SofthatTransformer

    weights = transformer_of(model)
    module = SofthatTransformer(Architecture(**architecture(weights)), kernel)
    chosen = torch_dtype(dtype)
    module.to(chosen)
    module.load_state_dict(
        {
            name: torch.from_numpy(array).to(_entry_dtype(array, chosen))
            for name, array in state(weights)
        }
    )
    try:
        return module.to(device)
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise SofthatError(f"torch has no device {shown(device)}: {reason}") from None


def to_torch_file(model: Answers, folder: str | Path, dtype: Any = "float32") -> None:
    """Write a folder whose own `module_softhat.py` loads it, with torch and without softhat:
    `SofthatTransformer.load(folder)`."""
    import_torch()
    from safetensors.torch import save as to_bytes

    from softhat.export.certificates import export_certificate, export_facts
    from softhat.export.native.labels import labels_of

    weights = transformer_of(model)
    data = to_bytes(to_torch(model, dtype).state_dict())
    name = str(torch_dtype(dtype)).removeprefix("torch.")
    contents = {
        "config.json": json_bytes(torch_config(weights)),
        "model.safetensors": data,
        **sources("module_softhat.py"),
        **model.meaning(),
        "labels.json": json_bytes(labels_of(model).to_json()),
        "certificate.json": json_bytes(
            {**export_certificate(model, "torch", stored=name), **export_facts(weights, data)}
        ),
    }
    write_folder(folder, contents)


def torch_config(t: Transformer) -> dict[str, Any]:
    """The `config.json` of a folder: all that `SofthatTransformer.load` reads beside the tensors,
    and what their rows and columns are called."""
    return {
        "format": "softhat-torch/1",
        "alphabet": list(t.symbols),
        "outputs": list(t.outputs),
        "architecture": architecture(t),
    }


def sources(*names: str) -> dict[str, bytes]:
    """The program files that a folder carries."""
    here = Path(__file__).parent / "architecture"
    return {name: (here / name).read_bytes() for name in names}


def import_torch() -> Any:
    with extra("torch", "torch"):
        import torch
    return torch


def torch_dtype(dtype: Any) -> Any:
    """A torch dtype from its name or itself, if softhat knows the format."""
    return getattr(import_torch(), format_of(str(dtype).removeprefix("torch.")).name)


def transformer_of(model: Any) -> Transformer:
    """The weights of a compiled model or of a simulation."""
    if not isinstance(model, Answers):
        raise SofthatError(
            "expected a model (softhat.compile, softhat.simulate or softhat.load), got "
            f"{type(model)}"
        )
    return model.transformer


def architecture(t: Transformer) -> dict[str, Any]:
    """The shape of the module, as the fields of `Architecture`."""
    return {
        "attention": t.attention,
        "tokens": len(t.tokens),
        "bos": t.tokens.index(BOS) if t.has_bos else None,
        "eos": t.tokens.index(EOS) if t.has_eos else None,
        "positions": [to_json(feature) for feature in t.positions],
        "d_model": t.d_model,
        "outputs": len(t.outputs),
        "propositional": t.propositional,
        "layers": [
            {
                "masks": list(layer.masks),
                "laws": [law.to_json() for law in layer.laws],
                "d_k": layer.query.shape[1],
                "d_v": layer.value.shape[1],
                "share": distinct_rows(layer.into)[1].tolist(),
            }
            for layer in t.layers
        ],
    }


def state(t: Transformer) -> list[tuple[str, NDArray[Any]]]:
    """The module's parameters and buffers by name."""
    tensors: list[tuple[str, NDArray[Any]]] = [
        ("embedding.weight", t.embedding.dense()),
        ("positions.weight", t.position_embedding.dense()),
        *_tables(t),
        ("readout.weight", t.readout.dense()),
        ("readout.bias", t.readout_bias),
    ]
    for number, layer in enumerate(t.layers):
        tensors += [(f"layers.{number}.{name}", array) for name, array in _layer_state(layer)]
    return [(name, np.ascontiguousarray(array)) for name, array in tensors]


def _tables(t: Transformer) -> list[tuple[str, NDArray[Any]]]:
    """The entries of position tables, a row each; shorter tables end with NaN."""
    tables = [[nearest_float(x) for x in f.entries] for f in t.positions if isinstance(f, Table)]
    longest = max(map(len, tables), default=0)
    padded = [table + [np.nan] * (longest - len(table)) for table in tables]
    return [("positions.tables", np.array(padded))] if tables else []


def _layer_state(layer: Layer) -> list[tuple[str, NDArray[Any]]]:
    sums, share = distinct_rows(layer.into)
    heads, d_model, d_v = layer.output.shape
    output = layer.output.dense().transpose(1, 0, 2).reshape(d_model, heads * d_v)
    return [
        ("attention.query.weight", _stacked(layer.query)),
        ("attention.key.weight", _stacked(layer.key)),
        ("attention.value.weight", _stacked(layer.value)),
        ("attention.output.weight", output),
        ("feed_forward.into.weight", sums.dense()),
        ("feed_forward.bias", layer.into_bias),
        ("feed_forward.share", share),
        ("feed_forward.out.weight", layer.out.dense()),
        ("feed_forward.out.bias", layer.out_bias),
    ]


def _stacked(tensor: Sparse) -> NDArray[np.float64]:
    """(heads, d, d_model) as (heads·d, d_model)."""
    heads, d, d_model = tensor.shape
    return tensor.dense().reshape(heads * d, d_model)


def _entry_dtype(array: NDArray[Any], dtype: Any) -> Any:
    """Indices stay integers."""
    torch = import_torch()
    return torch.int64 if array.dtype.kind == "i" else dtype
