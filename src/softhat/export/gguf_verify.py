"""Trying to break a GGUF file: llama.cpp runs it, the formulas that it states say what is right.

There is no certificate for llama.cpp's kernels: words are tested, nothing is proved. Keys and
values are kept in float32, as counts need it (see `to_gguf`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.gguf import FACTS
from softhat.export.reading import check_symbols
from softhat.export.stock.heads import token_sets
from softhat.export.stock.languages import acceptor_from
from softhat.export.stock.verify import ExportRun, compare
from softhat.frontends.machines.reading import machine as machine_from
from softhat.frontends.regular.doubling import MEMBER
from softhat.io.errors import SofthatError, extra
from softhat.io.files import parse_json, read_bytes
from softhat.models.folders import formulas_in, predicates_in
from softhat.models.verification.report import Verification
from softhat.proof.stock.automata import Claimed, next_symbols
from softhat.transformer.lowering.language_model import lm_formulas
from softhat.transformer.weights import EOS

MOST = 1 << 32
"""Bytes of a file that is opened."""


@dataclass(frozen=True)
class GGUFFacts:
    """What a file says of itself: a claim, which is tested."""

    symbols: tuple[str, ...]
    propositional: bool
    formulas: Mapping[str, Claimed]
    head: str
    context: int


def read_facts(path: Path) -> GGUFFacts:
    """What `to_gguf` wrote into a file beside its weights."""
    with extra("gguf", "gguf"):
        import gguf
    if read_bytes(path, most=MOST)[:4] != b"GGUF":
        raise SofthatError(f"{path} is no GGUF file")
    try:
        fields = gguf.GGUFReader(path).fields
        facts = parse_json(fields[FACTS].contents(), f"{path}: {FACTS}")
        symbols = check_symbols(tuple(facts["alphabet"]))
        propositional = bool(facts["propositional"])
        context = int(fields["llama.context_length"].contents())
        if "machine" in facts:
            formulas = machine_from(facts["machine"]).formulas
            return GGUFFacts(symbols, False, formulas, "lm", context)
        if "language" in facts:
            return _of_language(facts, symbols, context, f"{path}: {FACTS}")
        predicates = predicates_in(facts["predicates"])
        formulas = formulas_in(facts["formulas"], symbols, propositional, predicates)
        if facts["head"] == "lm":
            formulas = lm_formulas(formulas, symbols, propositional)
        return GGUFFacts(symbols, propositional, formulas, str(facts["head"]), context)
    except SofthatError:
        raise
    except Exception as error:  # damaged files raise anything
        raise SofthatError(
            f"{path} does not say which formulas it computes, or is damaged ({error}): export it "
            "again"
        ) from None


def _of_language(
    facts: Mapping[str, Any], symbols: tuple[str, ...], context: int, where: str
) -> GGUFFacts:
    """A regular language: of every prefix whether it belongs, or what may come next."""
    automaton, head = acceptor_from(facts["language"], symbols, where), str(facts["head"])
    claims = next_symbols(automaton) if head == "lm" else {MEMBER: automaton}
    return GGUFFacts(symbols, False, claims, head, context)


def verify_gguf(path: Path, asked: Mapping[str, Any]) -> Verification:
    """Compare a GGUF file with its formulas, run by llama.cpp."""
    facts = read_facts(path)
    if asked["dtype"] != "float32":
        raise SofthatError(f"{path} holds float32: leave dtype {asked['dtype']} out")
    run = _LlamaCppRunner(path, facts)
    longest = min(asked["max_length"], facts.context - 1)
    return compare(run, asked, 0, longest)


class _LlamaCppRunner(ExportRun):
    """The file in llama.cpp, and the truth of its formulas."""

    def __init__(self, path: Path, facts: GGUFFacts) -> None:
        with extra("cyllama (llama.cpp)", "llamacpp"):
            from cyllama.llama import llama_cpp
        self.cpp, self.facts = llama_cpp, facts
        is_lm = facts.head == "lm"
        self.names = [*facts.symbols, EOS] if is_lm else list(facts.formulas)
        tokens = token_sets(facts.symbols, facts.propositional)
        super().__init__(tokens, facts.propositional, [facts.formulas[n] for n in self.names])
        self.order = [*range(len(facts.symbols)), len(tokens) + 1]
        vocabulary = len(tokens) + 3 + (0 if is_lm else 2)  # <bos>, <eos>, <unk>, labels
        # The binding asks its model for the size of a row of logits.
        kind = type("Model", (llama_cpp.LlamaModel,), {"n_vocab": vocabulary})
        params = llama_cpp.LlamaModelParams()
        params.n_gpu_layers = 0
        self.model = kind(path_model=str(path), params=params, verbose=False)
        chosen = llama_cpp.LlamaContextParams()
        chosen.n_ctx = chosen.n_batch = facts.context
        chosen.n_threads = chosen.n_threads_batch = 1
        chosen.type_k = chosen.type_v = chosen.flash_attn_type = 0  # float32
        self.context = llama_cpp.LlamaContext(self.model, chosen, verbose=False)
        self.bos = self.model.get_vocab().token_bos()
        self.runtime = "llama.cpp (cyllama), keys and values in float32"

    def __call__(self, codes: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        logits = np.stack([self._logits([self.bos, *word.tolist()])[1:] for word in codes])
        if self.facts.head == "lm":
            values = logits[..., self.order]
        else:
            values = (logits[..., -1:] - logits[..., -2:-1]) / 2
            # No other token is as likely as the answer.
            other = logits[..., :-2].max(axis=-1) >= logits[..., -2:].max(axis=-1)
            values = np.where(other[..., None], np.nan, values)
        return values, np.stack(self.truth([self.word(row) for row in codes]), axis=-1)

    def _logits(self, ids: list[int]) -> NDArray[Any]:
        self.context.kv_cache_clear()
        batch = self.cpp.LlamaBatch(n_tokens=len(ids), embd=0, n_seq_max=1)
        for place, token in enumerate(ids):
            batch.add(int(token), place, [0], True)
        self.context.decode(batch)
        return np.array([self.context.get_logits_ith(place) for place in range(len(ids))])
