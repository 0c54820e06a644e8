"""Models and exports in TransformerLens 4 and nnsight.

`load` opens any folder that softhat wrote (a model, a stock GPT-2, a stock Llama) as a
`TransformerBridge` with the right logits and with its labels; `load_nnsight` wraps it for nnsight.

`to_transformer_lens` is a model in TransformerLens' own architecture (`boot_native`), which has
one mask for all heads, learned positions up to a context, and no sink at the end. `attention_dir`
says which mask: `causal` for decoders, whose heads all see j <= i; `bidirectional` where every head
sees everything: hard attention and RASP programs without masks, and formulas that compare counts
over all positions (`lens_two_way`), whose words end with the token `<eos>`. The position features
become the learned positions, the temperature is that of the longest word, folded into the queries
together with the √d_head by which TransformerLens divides. Layers, heads, neurons and coordinates
keep the numbers of `with_one_mask(model)`, so its labels name them. Models that mix masks, or
whose positions count from the end, do not fit; `softhat.to_torch` gives them as a module with
named submodules, for PyTorch hooks and nnsight.

TransformerLens normalises attention weights before it sums, and computes the two units of a clip
separately: there is no certificate for it.
"""

from __future__ import annotations

from math import isnan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.lens_two_way import sees_everything, without_masks
from softhat.export.native.labels import labels_of
from softhat.export.stock.options import MOST_CONTEXT
from softhat.export.torch import import_torch, to_torch, torch_dtype, transformer_of
from softhat.io.argument_types import whole_number
from softhat.io.errors import SofthatError, extra
from softhat.io.files import as_path, is_file, read_as_a_whole, read_json
from softhat.io.pretrained import import_transformers, pretrained
from softhat.models.compiler import with_one_mask
from softhat.models.folders import load as load_model
from softhat.models.model import Model
from softhat.numbers.laws import Constant
from softhat.numbers.positions import floats, needs_end
from softhat.runtime.answers import Answers
from softhat.transformer.lowering.lower import lower, lowered
from softhat.transformer.weights import Layer, Transformer, inverse_temperature, scale, sharpness_of

Array = NDArray[np.float64]


def load(folder: str | Path, context: int = 1024, dtype: Any = "float32") -> Any:
    """A `TransformerBridge` of a model folder or a stock GPT-2 or Llama export.

    Its logits (batch, positions, …) are those of the export: of `false` and `true`, of each
    output, or of each next token. Those of a model folder are its margins, as in
    `to_transformer_lens`, to which `context` belongs. `bridge.labels` is what `labels.json` says.
    """
    folder = as_path(folder)
    if not folder.is_dir():
        raise SofthatError(f"no such folder: {folder}")
    if is_file(folder / "corpus.json"):
        raise SofthatError(
            f"{folder} is a corpus: say which model, softhat.lens.load(folder, id=…)"
        )
    if _stock(folder) is None:
        model = load_model(folder)
        bridge = to_transformer_lens(model, context, dtype)
        bridge.labels = _labels(model)
        return bridge
    with extra("transformer-lens", "lens"):
        from transformer_lens.model_bridge import TransformerBridge
    hf_model, labels = read_as_a_whole(
        folder, lambda: (_language_model(folder, dtype), read_json(folder / "labels.json"))
    )
    bridge = TransformerBridge.boot_transformers(
        str(folder), hf_model=hf_model, dtype=torch_dtype(dtype), device="cpu"
    )
    bridge.labels = labels
    return bridge.eval()


def load_nnsight(folder: str | Path, dtype: Any = "float32") -> Any:
    """The same for nnsight: `with model.trace(tokens): …`; its modules are Hugging Face's own (of
    a model folder those of `softhat.to_torch`), its labels `model.labels`."""
    folder = as_path(folder)
    if not folder.is_dir():
        raise SofthatError(f"no such folder: {folder}")
    with extra("nnsight", "lens"):
        import nnsight
    architecture = _stock(folder)
    if architecture is None:
        model = load_model(folder)
        wrapped = nnsight.NNsight(to_torch(model, dtype, kernel="eager"))
        labels = labels_of(model).to_json()
    else:
        loaded, labels = read_as_a_whole(
            folder,
            lambda: (_pretrained(folder, architecture, dtype), read_json(folder / "labels.json")),
        )
        wrapped = nnsight.NNsight(loaded)
    wrapped.labels = labels
    return wrapped


def _stock(folder: Path) -> str | None:
    """The class of `transformers` that runs the folder, if it is a stock export."""
    config = read_json(folder / "config.json", inside=folder)
    if not isinstance(config, dict) or "architectures" not in config:
        return None
    if config.get("model_type") == "softhat":
        raise SofthatError(
            f"{folder} has softhat's own architecture: load the model folder that it was made of"
        )
    return str(config["architectures"][0])


def _pretrained(folder: Path, architecture: str, dtype: Any) -> Any:
    kind = getattr(import_transformers(), architecture)
    return pretrained(kind, folder, torch_dtype(dtype), attn_implementation="eager")


def _language_model(folder: Path, dtype: Any) -> Any:
    """TransformerLens wants a language model: the classifier takes the place of its lm_head."""
    architecture = _stock(folder)
    assert architecture is not None
    family, classifies, _ = architecture.partition("ForTokenClassification")
    if not classifies:
        return _pretrained(folder, architecture, dtype)
    torch = import_torch()
    name = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    model = _pretrained(folder, name, dtype)
    token_classifier = _pretrained(folder, architecture, dtype)
    classifier = token_classifier.classifier if family == "GPT2" else token_classifier.score
    if classifier.bias is not None and bool(classifier.bias.any()):
        raise SofthatError(f"{folder}: the classifier has a bias")
    model.lm_head = torch.nn.Linear(classifier.in_features, classifier.out_features, bias=False)
    model.lm_head.weight = classifier.weight
    return model


def _labels(model: Answers) -> dict[str, Any]:
    """What is where in TransformerLens; without masks there are no coordinates for positions."""
    labels = labels_of(_fitting(model)).to_json()
    if _needs_no_mask(model):
        labels["coordinates"] = [
            place
            for place in labels["coordinates"]
            if not any(held["role"] == "position" for held in place["holds"])
        ]
    return labels


def _needs_no_mask(model: Answers) -> bool:
    softmax = model.transformer.attention != "hard"
    return isinstance(model, Model) and softmax and sees_everything(model.program)


def _fitting(model: Answers) -> Answers:
    """The model whose heads have one mask, if it is a decoder, or need none."""
    if not isinstance(model, Model):
        return model
    if _needs_no_mask(model):
        return Model(lower(model.program, "unbounded"), model.formulas, model.program)
    return model if model.transformer.has_eos else with_one_mask(model)


def to_transformer_lens(model: Answers, context: int = 1024, dtype: Any = "float32") -> Any:
    """A `TransformerBridge` whose logits (batch, 1 + n, outputs) are the margins: > 0 iff true.

    Its tokens are the symbols' indices after one `<bos>`, which has the index after the last
    symbol: `bridge(torch.tensor([[len(alphabet), *symbols]]))`. `context` counts `<bos>`. A model
    without `<bos>` (of hard attention) has logits for its symbols alone. Words of a formula whose
    heads see everything end with `<eos>`, which has the index after that of `<bos>`.
    """
    torch = import_torch()
    with extra("transformer-lens", "lens"):
        from transformer_lens.config import TransformerBridgeConfig
        from transformer_lens.model_bridge import TransformerBridge
    whole_number("context", context, least=2, most=MOST_CONTEXT)
    t = _transformer(model, context)
    _check(t, context)
    heads = max((len(layer.masks) for layer in t.layers), default=0) or 1
    d_mlp = max((len(layer.into_bias) for layer in t.layers), default=0) or 1
    d_head = _d_head(t)
    config = TransformerBridgeConfig(
        d_model=t.d_model + 1,  # the last coordinate is 1: the read-out has no bias of its own
        d_head=d_head,
        n_heads=heads,
        n_layers=len(t.layers),
        n_ctx=context,
        d_mlp=d_mlp,
        d_vocab=len(t.tokens),
        d_vocab_out=len(t.outputs),
        act_fn="relu",
        normalization_type=None,
        attention_dir="bidirectional" if "none" in _masks(t) else "causal",
        positional_embedding_type="standard",
        init_weights=False,
    )
    chosen = torch_dtype(dtype)
    bridge = TransformerBridge.boot_native(config, dtype=chosen)
    with torch.no_grad():
        parameters = dict(bridge.original_model.named_parameters())
        for name, array in _weights(t, context, heads, d_head, d_mlp).items():
            _parameter(parameters, name).copy_(torch.from_numpy(array))
    return bridge.eval()


def _transformer(model: Answers, context: int) -> Transformer:
    """The weights that TransformerLens gets."""
    if isinstance(model, Model) and _needs_no_mask(model):
        return without_masks(model.program, lowered(model.program, "unbounded"), context)
    return transformer_of(_fitting(model) if isinstance(model, Answers) else model)


def _check(t: Transformer, context: int) -> None:
    if context < 2:
        raise SofthatError(f"a context holds <bos> and at least one symbol, not {context}")
    if t.propositional:
        raise SofthatError("TransformerLens reads tokens, not sets of propositions: use to_torch")
    if t.attention == "hard":
        raise SofthatError("TransformerLens computes softmax: compile for 'unbounded' attention")
    masks = _masks(t)
    if not (masks <= {"<="} or masks <= {"none"}):
        seen = ", ".join("all j" if mask == "none" else f"j {mask} i" for mask in sorted(masks))
        raise SofthatError(
            "TransformerLens has one mask for all heads, j <= i or none, and this model has heads "
            f"that see {seen}: softhat.to_torch gives a module with hooks"
        )
    if any(map(needs_end, t.positions)) or (t.has_eos and t.positions):
        raise SofthatError(
            "TransformerLens' positions do not know the end of a word, so the formula must run as "
            "a decoder (no future operators, n or last), or compare only counts over all positions "
            "(#*): softhat.to_torch gives a module with hooks"
        )
    laws = {law for layer in t.layers for law in layer.laws}
    if any(isnan(sharpness_of(law)) and not isinstance(law, Constant) for law in laws):
        raise SofthatError(
            "TransformerLens has one temperature for all lengths: softhat.to_torch gives a module"
        )


def _masks(t: Transformer) -> set[str]:
    return {mask for layer in t.layers for mask in layer.masks}


def _d_head(t: Transformer) -> int:
    """A power of four, so that dividing by √d_head is exact."""
    widths = [max(layer.query.shape[1], layer.value.shape[1]) for layer in t.layers]
    size = 4
    while size < max(widths, default=0):
        size *= 4
    return size


def _parameter(parameters: dict[str, Any], name: str) -> Any:
    """By the name in TransformerLens' module; its wrappers put a part of their own in between."""
    wanted = [p for key, p in parameters.items() if key.replace("._original_component", "") == name]
    if len(wanted) != 1:
        raise SofthatError(f"this TransformerLens has no parameter {name}: softhat knows version 4")
    return wanted[0]


def _weights(t: Transformer, context: int, heads: int, d_head: int, d_mlp: int) -> dict[str, Array]:
    d_model = t.d_model + 1
    n = context - int(t.has_bos)
    position_scale = scale(t.attention, n)
    table = floats(t.positions, n, bos=t.has_bos, scale=position_scale)
    positions = np.ones((context, d_model))
    positions[:, :-1] = table @ t.position_embedding.dense().T
    arrays = {
        "tok_embed.weight": _padded(t.embedding.dense(), (len(t.tokens), d_model)),
        "pos.weight": positions,
        "head.weight": np.concatenate([t.readout.dense(), t.readout_bias[:, None]], axis=1),
    }
    for number, layer in enumerate(t.layers):
        at = f"layers.{number}."
        beta = np.ones(len(layer.masks))
        if t.attention == "temperature":
            beta = np.array([inverse_temperature(law, n) for law in layer.laws])
        query = layer.query.dense() * (beta * sqrt(d_head))[:, None, None]
        for name, matrix in (
            ("q", query),
            ("k", layer.key.dense()),
            ("v", layer.value.dense()),
        ):
            stacked = _padded(matrix, (heads, d_head, d_model)).reshape(heads * d_head, d_model)
            arrays[f"{at}attn.{name}.weight"] = stacked
            arrays[f"{at}attn.{name}.bias"] = np.zeros(heads * d_head)
        output = _padded(layer.output.dense(), (heads, d_model, d_head))
        arrays[f"{at}attn.o.weight"] = output.transpose(1, 0, 2).reshape(d_model, heads * d_head)
        arrays[f"{at}attn.o.bias"] = np.zeros(d_model)
        arrays |= {at + name: array for name, array in _mlp(layer, d_model, d_mlp).items()}
    return arrays


def _mlp(layer: Layer, d_model: int, d_mlp: int) -> dict[str, Array]:
    return {
        "mlp.fc_in.weight": _padded(layer.into.dense(), (d_mlp, d_model)),
        "mlp.fc_in.bias": _padded(layer.into_bias, (d_mlp,)),
        "mlp.fc_out.weight": _padded(layer.out.dense(), (d_model, d_mlp)),
        "mlp.fc_out.bias": _padded(layer.out_bias, (d_model,)),
    }


def _padded(array: Array, shape: tuple[int, ...]) -> Array:
    """Zeros added at the end of every axis."""
    return np.pad(array, [(0, want - have) for want, have in zip(shape, array.shape, strict=True)])
