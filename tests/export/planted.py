"""One weight planted in a stock checkpoint: whatever stays certified must stay right.

Every tensor of every kind of folder gets, at sampled places, one entry more or another one. The
proof is made anew. Where it still certifies a length, the unmodified class of transformers runs
the changed tensors, with padding on the right, and must answer as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import softhat
from softhat.export.checking import certify_export
from softhat.export.reading import Export, read_export

CASES: dict[str, dict[str, Any]] = {
    "gpt2": {"to": "gpt2"},
    "gelu": {"to": "gpt2", "activation": "gelu_new"},
    "llama": {"to": "llama"},
    "bits": {"to": "llama", "positions": "bits"},
    "mistral": {"to": "llama", "family": "mistral"},
    "qwen2": {"to": "llama", "family": "qwen2"},
    "gpt2 in disguise": {"to": "gpt2", "disguise": 5},
    "llama in disguise": {"to": "llama", "disguise": 5},
    "eager gpt2": {"to": "gpt2", "kernel": "eager"},
    "eager llama": {"to": "llama", "kernel": "eager"},
}
FORMULAS = ("(!b S a) & O b", "Y a | #(a) > #(b)", "a & Y (b S a)")
CONTEXT = 10


def export(case: str, formula: str, folder: Path) -> Export:
    options = dict(CASES[case])
    write: Any = softhat.to_gpt2 if options.pop("to") == "gpt2" else softhat.to_llama
    write(softhat.compile(formula, alphabet="ab"), folder, CONTEXT, **options)
    return read_export(folder)


def changes(export: Export, seed: int, places: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tensors with one entry changed, and what was done."""
    assert export.checkpoint is not None
    rng = np.random.default_rng(seed)
    tensors = export.checkpoint.tensors
    for name in sorted(tensors):
        array = tensors[name]
        for _ in range(places):
            at = tuple(int(rng.integers(size)) for size in array.shape)
            filled = np.argwhere(array)
            if len(filled) and rng.random() < 0.4:
                at = tuple(int(k) for k in filled[rng.integers(len(filled))])
            old = float(array[at])
            new = float(
                rng.choice([
                    old + 1, old - 1, old + 0.5, old + 2.0**-7, old - 2.0**-3, old + 2.0**-20,
                    old + 100, 2.0**20, -(2.0**127), np.nan, np.inf, -old, 0.0, old * 2, 1e-40,
                ])
            )  # fmt: skip
            if new == old:
                continue
            other = array.copy()
            other[at] = new
            yield f"{name}{at} = {old} -> {new}", {**tensors, name: other}


class Runner:
    """The class of transformers that the folder names, for changed tensors."""

    def __init__(self, export: Export) -> None:
        import torch
        import transformers

        self.torch, self.export = torch, export
        auto = transformers.AutoModelForTokenClassification
        self.model = auto.from_pretrained(export.path, local_files_only=True).eval()
        formula = export.formulas["output"]
        rng = np.random.default_rng(0)
        words = [word for n in range(1, 6) for word in product((0, 1), repeat=n)]
        words += [tuple(rng.integers(0, 2, CONTEXT - 1).tolist()) for _ in range(40)]
        words += [(0,) * (CONTEXT - 1), (1,) * (CONTEXT - 1), *((1,) * k for k in range(6, 9))]
        self.words = words
        self.truth = [formula.truth("".join("ab"[code] for code in word)) for word in words]
        bos, pad = self.model.config.bos_token_id, self.model.config.pad_token_id
        ids = np.full((len(words), CONTEXT), pad)
        for row, word in zip(ids, words, strict=True):
            row[: len(word) + 1] = bos, *word
        self.ids = torch.from_numpy(ids)
        self.mask = torch.from_numpy(
            np.arange(CONTEXT)[None] <= np.array([len(word) for word in words])[:, None]
        ).long()

    def wrong(self, tensors: dict[str, Any], dtype: str, longest: int) -> tuple[int, ...] | None:
        """A word to that length that is answered wrongly."""
        torch = self.torch
        loaded = {name: torch.from_numpy(np.array(t)) for name, t in tensors.items()}
        self.model.to(torch.float32).load_state_dict(loaded)
        with torch.no_grad():
            model = self.model.to(getattr(torch, dtype))
            logits = model(self.ids, attention_mask=self.mask).logits.double().numpy()
        for word, truth, row in zip(self.words, self.truth, logits, strict=True):
            if len(word) > longest:
                continue
            said = row[1 : len(word) + 1]
            if np.isnan(said).any() or ((said[:, 1] > said[:, 0]) != truth).any():
                return word
        return None


def campaign(case: str, formula: str, folder: Path, seed: int, places: int) -> tuple[int, int]:
    """How many changes were tried, and how many of them kept a certificate; an error if one of
    those is wrong."""
    found = export(case, formula, folder)
    assert certify_export(found).ok
    runner = Runner(found)
    tried = kept = 0
    for what, tensors in changes(found, seed, places):
        assert found.checkpoint is not None
        tried += 1
        changed = replace(found, checkpoint=replace(found.checkpoint, tensors=tensors))
        lengths = certify_export(changed).max_length
        # The rotary frequencies of the others are rounded by model.to(…).
        for dtype in ("float32", "bfloat16", "float16") if found.kind == "gpt2" else ("float32",):
            if lengths[dtype]:
                kept += 1
                wrong = runner.wrong(tensors, dtype, lengths[dtype])
                assert wrong is None, (case, formula, dtype, what, wrong)
    return tried, kept
