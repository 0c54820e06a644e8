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

from softhat.export.certificates import export_certificate, export_facts
from softhat.export.native.labels import labels_of
from softhat.export.native.token_classifier import (
    MOST_TOKENS,
    SOURCES,
    huggingface_config,
    huggingface_state,
)
from softhat.export.tokenizer import tokenizer_documents, vocabulary
from softhat.export.torch import import_torch, sources, torch_dtype, transformer_of
from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes, json_files, write_folder
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Sparse, Transformer

if TYPE_CHECKING:
    from softhat.export.architecture.modeling_softhat import SofthatForTokenClassification

HeadName = Literal["token-classification", "multi-label"]


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
    stored = str(torch_dtype(dtype)).removeprefix("torch.")
    contents = {
        "config.json": json_bytes(huggingface_config(t, several, stored)),
        "model.safetensors": to_bytes(built.state_dict(), metadata={"format": "pt"}),
    }
    tokens = vocabulary(t.symbols, t.propositional)
    contents |= json_files(tokenizer_documents(tokens, MOST_TOKENS, t.has_bos, t.has_eos))
    contents |= sources(*SOURCES)
    contents |= model.meaning(name)
    contents["labels.json"] = json_bytes(labels_of(model).to_json())
    facts = export_facts(t, contents["model.safetensors"])
    certificate = export_certificate(
        model if name is None else _only(model, name),
        "torch",
        stored=stored,
    )
    contents["certificate.json"] = json_bytes({**certificate, **facts})
    write_folder(folder, contents)


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

    torch = import_torch()
    config = huggingface_config(t, output is None, str(dtype).removeprefix("torch."))
    built = SofthatForTokenClassification(SofthatConfig(**config)).to(dtype)
    built.load_state_dict(
        {
            name: torch.from_numpy(np.ascontiguousarray(array)).to(
                torch.int64 if array.dtype.kind == "i" else dtype
            )
            for name, array in huggingface_state(t, output).items()
        }
    )
    return built.eval()
