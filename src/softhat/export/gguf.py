"""A stock Llama as one GGUF file, for llama.cpp and what is built on it.

The same tensors as `to_llama`, under llama.cpp's names: rows of queries and keys are permuted,
because its Llamas turn neighbouring coordinates and not halves. llama.cpp runs language models, so
a classifier is written as one: two more tokens, `false` and `true`, and after every symbol the one
that is the formula's truth there has the largest logit, `margin` above all others.

The file has a tokenizer that splits on white space. A symbol outside the alphabet becomes `<unk>`,
for which nothing is claimed. There is no certificate: llama.cpp's kernels are not those that are
proved. It keeps keys and values in float16 unless it is told otherwise. The digits of
`positions="bits"` bear that, but counts do not: their means need float32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.export.llama.to_llama import StockLlama, checkpoint
from softhat.export.stock.heads import LABELS
from softhat.export.stock.languages import StockLanguage, document_of
from softhat.export.stock.options import EPSILON, Exported, StockOptions
from softhat.export.tokenizer import BLANK
from softhat.io.errors import SofthatError, extra
from softhat.io.files import write_file
from softhat.logic.predicates import predicates_of
from softhat.proof.stock.automata import formulas_alone
from softhat.transformer.lowering.llama.rotary import Positions
from softhat.transformer.lowering.llama.weights import row_of
from softhat.transformer.lowering.stock.forms import PairForm
from softhat.transformer.weights import BOS, EOS

Array = NDArray[np.float32]
UNKNOWN = "<unk>"
FACTS = "softhat.facts"
"""The metadata, JSON, in which a file says what it computes; llama.cpp does not read them."""
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def to_gguf(
    model: Exported,
    file: str | Path,
    context: int = 1024,
    head: Literal["token-classification", "lm"] = "token-classification",
    positions: Positions = "bits",
    output: str | None = None,
    margin: float = 20.0,
) -> None:
    """Write a stock Llama that computes the model's formulas, or a regular language in logarithmic
    depth, as a GGUF file for llama.cpp.

    The options are those of `to_llama`. For formulas that count, and with `positions="rope"`,
    llama.cpp must keep keys and values in float32 (`--cache-type-k f32 --cache-type-v f32
    --flash-attn off`).
    """
    with extra("gguf", "gguf"):
        import gguf
    if head not in ("token-classification", "lm"):
        raise SofthatError(f"a GGUF file has no head {head!r}: choose token-classification or lm")
    options = StockOptions(context, "sdpa", head, output, margin)
    llama = checkpoint(model, "llama", positions, options)
    if llama.asked.head == "multi-label":
        raise SofthatError(
            "a GGUF file writes one answer, and a RASP program has a label for each value: export "
            "it with to_llama"
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        _describe(writer, llama, gguf)
        _tokenizer(writer, _tokens(llama), gguf)
        for name, tensor in _tensors(llama):
            writer.add_tensor(name, np.ascontiguousarray(tensor, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        write_file(file, path.read_bytes())


def _tokens(llama: StockLlama) -> list[str]:
    labels = LABELS if llama.asked.head == "token-classification" else ()
    return [*llama.asked.tokens, UNKNOWN, *(f"<{label}>" for label in labels)]


def _facts(llama: StockLlama) -> dict[str, Any]:
    """What the file is claimed to compute."""
    t, machine = llama.asked.model.program, llama.asked.model.machine
    facts: dict[str, Any] = {
        "alphabet": list(t.symbols),
        "propositional": t.propositional,
        "head": llama.asked.head,
    }
    if machine is not None:  # its formulas are too long to be written
        return {**facts, "machine": machine.to_json()}
    if isinstance(llama.asked.model, StockLanguage):
        return {**facts, "language": document_of(llama.asked.model.automaton)}
    return {
        **facts,
        "formulas": "".join(f"{name}: {formula}\n" for name, formula in llama.asked.shown.items()),
        "predicates": [
            p.to_json() for p in predicates_of(*formulas_alone(llama.asked.shown).values()).values()
        ],
    }


def _source(llama: StockLlama) -> str:
    """What the file was made of, in a line."""
    model = llama.asked.model
    if isinstance(model, StockLanguage):
        return f"an automaton of {len(model.automaton.step)} states, in logarithmic depth"
    if model.machine is not None:
        return f"a {model.machine.kind} machine"
    return "; ".join(f"{name}: {formula}" for name, formula in llama.asked.shown.items())


def _describe(writer: Any, llama: StockLlama, gguf: Any) -> None:
    layout, rotary = llama.layout, llama.layout.rotary
    writer.add_name("softhat")
    writer.add_description(f"compiled by softhat from {_source(llama)}")
    writer.add_string(FACTS, json.dumps(_facts(llama), ensure_ascii=False))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(len(_tokens(llama)))
    writer.add_context_length(layout.context)
    writer.add_embedding_length(layout.d_model)
    writer.add_block_count(layout.blocks)
    writer.add_feed_forward_length(llama.trunk.d_ff)
    writer.add_head_count(layout.n_head)
    writer.add_head_count_kv(layout.n_kv)
    writer.add_key_length(rotary.head_dim)
    writer.add_value_length(rotary.head_dim)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(rotary.head_dim)
    writer.add_rope_freq_base(rotary.theta)
    if rotary.factor != 1:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rotary.factor)


def _tokenizer(writer: Any, tokens: list[str], gguf: Any) -> None:
    """Whole words by their scores, as T5 has them: a word of the alphabet is one token."""
    kinds = {
        BOS: gguf.TokenType.CONTROL,
        EOS: gguf.TokenType.CONTROL,
        UNKNOWN: gguf.TokenType.UNKNOWN,
        **{f"<{label}>": gguf.TokenType.CONTROL for label in LABELS},
    }
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token if token in kinds else BLANK + token for token in tokens])
    writer.add_token_scores([-1.0] * len(tokens))
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_bos_token_id(tokens.index(BOS))
    writer.add_eos_token_id(tokens.index(EOS))
    writer.add_pad_token_id(tokens.index(EOS))
    writer.add_unk_token_id(tokens.index(UNKNOWN))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)


def _tensors(llama: StockLlama) -> Iterator[tuple[str, Array]]:
    layout, tokens = llama.layout, _tokens(llama)
    table = llama.tensors["model.embed_tokens.weight"]
    # Tokens that no word has are embedded as <eos>.
    extra = np.repeat(table[-1:], len(tokens) - len(table), axis=0)
    yield "token_embd.weight", np.concatenate([table, extra])
    yield "output_norm.weight", llama.tensors["model.norm.weight"]
    yield "output.weight", _read_out(llama, len(tokens))
    for name, tensor in llama.tensors.items():
        parts = name.split(".")
        if parts[:2] != ["model", "layers"]:
            continue
        kind = ".".join(parts[3:-1])
        heads = {"self_attn.q_proj": layout.n_head, "self_attn.k_proj": layout.n_kv}.get(kind)
        if heads is not None:
            tensor = _interleaved(tensor, heads)
        yield f"blk.{parts[2]}.{NAMES[kind]}.weight", tensor


def _interleaved(tensor: Array, heads: int) -> Array:
    """Coordinates p and p + head_dim/2, which turn together, next to each other."""
    rows, columns = tensor.shape
    halves = tensor.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def _read_out(llama: StockLlama, tokens: int) -> Array:
    """A row for each token; those that are never an answer lie `margin` below."""
    never = row_of(llama.layout, PairForm(constant=-1.5 * llama.asked.margin)).astype(np.float32)
    rows = np.repeat(never[None, :], tokens, axis=0)
    if llama.asked.head == "lm":
        own = llama.tensors["lm_head.weight"]
        rows[: len(own)] = own
    else:
        rows[-2:] = llama.tensors["score.weight"]
    return rows
