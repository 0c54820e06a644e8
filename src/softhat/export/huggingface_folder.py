"""A model as a Hugging Face folder.

The folder has `config.json`, `model.safetensors`, a tokenizer whose template adds the sinks, and
the architecture's own source, so that it loads with softhat (`import softhat.export.huggingface`,
then the Auto classes) and without it (`trust_remote_code=True`). Logits are aligned with the
tokens: those of a symbol's token say `false` or `true` of that symbol. The logit of `true` is the
margin; of a simulation it is the value. The model of a RASP program has one label for each of its
outputs, of which `rasp.json` says how they make values (`ValueModel.decoded`).

A token is a symbol, or in propositional mode a set of propositions such as `{p,q}`, whose
embedding is the sum of its propositions' rows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.export.certificates import export_certificate, export_facts
from softhat.export.native_labels import labels_of
from softhat.export.tokenizer import tokenizer_files, vocabulary
from softhat.export.torch import architecture, import_torch, state, torch_dtype, transformer_of
from softhat.files import json_bytes, write_folder
from softhat.model import Model
from softhat.runtime.answers import Answers
from softhat.transformer.weights import BOS, EOS, Sparse, Transformer
from softhat.value_model import ValueModel

if TYPE_CHECKING:
    from torch import Tensor

    from softhat.export.architecture.modeling_softhat import SofthatForTokenClassification

HeadName = Literal["token-classification", "multi-label"]
SOURCES = ("configuration_softhat.py", "modeling_softhat.py", "module_softhat.py")
AUTO_MAP = {
    "AutoConfig": "configuration_softhat.SofthatConfig",
    "AutoModel": "modeling_softhat.SofthatModel",
    "AutoModelForTokenClassification": "modeling_softhat.SofthatForTokenClassification",
}
MOST_TOKENS = 2**24
"""Positions are exact integers in float32 up to here."""


def to_huggingface(
    model: Answers,
    folder: str | Path,
    dtype: Any = "float32",
    output: str | None = None,
    head: HeadName = "token-classification",
) -> None:
    """Write a folder that `AutoModelForTokenClassification` and `AutoTokenizer` load.

    `head="multi-label"` gives every output a logit of its own, positive where it is true.
    """
    from safetensors.torch import save as to_bytes

    t = transformer_of(model)
    several = head == "multi-label" or isinstance(model, ValueModel)
    if head not in get_args(HeadName):
        raise SofthatError(f"unknown head {head!r}: choose one of {', '.join(get_args(HeadName))}")
    if several and output is not None:
        what = f"head={head!r}" if head == "multi-label" else "a RASP program"
        raise SofthatError(f"{what} uses all outputs: leave output out")
    name = None if several else t.output_name(output)
    built = _build(t, name, torch_dtype(dtype))
    contents = {  # what save_pretrained writes, without its progress bar
        "config.json": built.config.to_json_string().encode(),
        "model.safetensors": to_bytes(built.state_dict(), metadata={"format": "pt"}),
    }
    tokens = vocabulary(t.symbols, t.propositional)
    contents |= tokenizer_files(tokens, MOST_TOKENS, add_bos=t.has_bos, add_eos=t.has_eos)
    here = Path(__file__).parent / "architecture"
    contents |= {source: (here / source).read_bytes() for source in SOURCES}
    contents |= model.meaning(name)
    contents["labels.json"] = json_bytes(labels_of(model).to_json())
    facts = export_facts(t, contents["model.safetensors"])
    certificate = export_certificate(
        model if name is None else _only(model, name),
        "torch",
        stored=str(torch_dtype(dtype)).removeprefix("torch."),
    )
    contents["certificate.json"] = json_bytes({**certificate, **facts})
    write_folder(Path(folder), contents)


def _only(model: Answers, output: str) -> Answers:
    """A model with this output alone: the others are not exported."""
    t = model.transformer
    if not isinstance(model, Model) or len(t.outputs) == 1:
        return model
    at = t.outputs.index(output)
    row = Sparse.from_dense(t.readout.dense()[at : at + 1])
    alone = replace(t, outputs=(output,), readout=row, readout_bias=t.readout_bias[at : at + 1])
    return Model(alone, {output: model.formulas[output]})


def _build(t: Transformer, output: str | None, dtype: Any) -> SofthatForTokenClassification:
    """The Hugging Face model with the weights of one output, or of all."""
    from softhat.export.huggingface import SofthatConfig, SofthatForTokenClassification

    tokens = vocabulary(t.symbols, t.propositional)
    shape = architecture(t)
    labels = t.outputs if output is None else ("false", "true")
    several = {"problem_type": "multi_label_classification"} if output is None else {}
    config = SofthatConfig(
        attention=t.attention,
        positions=shape["positions"],
        layers=shape["layers"],
        hidden_size=t.d_model,
        vocab_size=len(tokens),
        starts_with_bos=t.has_bos,
        ends_with_eos=t.has_eos,
        bos_token_id=tokens.index(BOS),
        eos_token_id=tokens.index(EOS),
        pad_token_id=tokens.index(EOS),
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
        **several,
        auto_map=dict(AUTO_MAP),
        architectures=[SofthatForTokenClassification.__name__],
        dtype=str(dtype).removeprefix("torch."),
    )
    built = SofthatForTokenClassification(config).to(dtype)
    built.load_state_dict(_state(t, output, dtype))
    return built.eval()


def _state(t: Transformer, output: str | None, dtype: Any) -> dict[str, Tensor]:
    torch = import_torch()
    arrays: dict[str, NDArray[Any]] = {
        f"softhat.body.{name}": array
        for name, array in state(t)
        if not name.startswith(("readout", "embedding"))
    }
    arrays["softhat.body.embedding.weight"] = _embedding(t)
    rows, bias = t.readout.dense(), t.readout_bias
    if output is not None:
        at = t.outputs.index(output)
        rows, bias = np.stack([-rows[at], rows[at]]), np.array([-bias[at], bias[at]])
    arrays["classifier.weight"], arrays["classifier.bias"] = rows, bias
    return {
        name: torch.from_numpy(np.ascontiguousarray(array)).to(
            torch.int64 if array.dtype.kind == "i" else dtype
        )
        for name, array in arrays.items()
    }


def _embedding(t: Transformer) -> NDArray[np.float64]:
    """A row a token: symbols or sets of propositions, then `<bos>` and `<eos>` (zero if unused)."""
    table, k = t.embedding.dense(), len(t.symbols)
    rows = table[:k]
    if t.propositional:
        codes = np.arange(1 << k)[:, None] >> np.arange(k) & 1
        rows = codes.astype(np.float64) @ rows
    sinks = np.zeros((2, t.d_model))
    sinks[: len(table) - k] = table[k:]
    return np.concatenate([rows, sinks])
