"""Training a small stock GPT-2 on words of a specification.

The other side of the compiler: what gradient descent finds for the same language. Words are random
ways through the machine, some of them with long runs of one symbol; at every position the model
learns which tokens may follow, or the answer. A seed gives the same model on the same machine.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError, extra
from softhat.io.files.writing import check_folder_writable, json_bytes, write_folder
from softhat.io.pretrained import silent_transformers
from softhat.trained.decisions import Decisions
from softhat.trained.specification import Specification, read_specification

STICKING = (0.0, 0.5, 0.9, 0.97)
"""How often a symbol is repeated, one of these a word: random words alone have no long runs."""
POOL = 60
BATCH = 32
WARMING = 50
"""Steps in which the learning rate rises."""
HELD_OUT = 200


@dataclass(frozen=True, slots=True)
class Trained:
    """What training came to."""

    folder: str
    """Where the checkpoint is."""
    steps: int
    """Of the optimiser."""
    loss: float
    """At the last step."""
    wrong: int
    """Decisions that are wrong on words that it was not trained on, of `decisions`."""
    decisions: int
    least_margin: float
    parameters: int


def train(
    spec: Specification | Mapping[str, Any] | str | Path,
    folder: str | Path,
    *,
    layers: int = 1,
    heads: int = 1,
    width: int = 16,
    context: int = 64,
    steps: int = 1500,
    seed: int = 0,
    learning_rate: float = 3e-3,
    weight_decay: float = 0.01,
    activation: str = "gelu_new",
    progress: Callable[[str, int, int | None, str], None] = lambda *_: None,
) -> Trained:
    """Train a stock GPT-2 and write it, with its specification, as a checkpoint folder."""
    spec = read_specification(spec)
    _check(layers, heads, width, context, steps)
    with extra("transformers", "hf"):
        import torch
        import transformers
    words = _Words(spec, context - 1 - (spec.eos is not None), np.random.default_rng(seed))
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    try:
        model = _model(transformers, spec, layers, heads, width, context, activation)
        kind = {"model_type": "gpt2", "architectures": [type(model).__name__]}
        check_folder_writable(folder, kind)
        loss = _fit(torch, model, words, steps, learning_rate, weight_decay, progress)
        wrong, asked, least = _measured(torch, model, words)
    finally:
        torch.use_deterministic_algorithms(False)
    write_folder(folder, _files(model, spec))
    count = sum(int(parameter.numel()) for parameter in model.parameters())
    return Trained(str(folder), steps, loss, wrong, asked, least, count)


def _check(layers: int, heads: int, width: int, context: int, steps: int) -> None:
    named = {"layers": layers, "heads": heads, "width": width, "steps": steps}
    for name, value in named.items():
        if value < 1:
            raise SofthatError(f"{name} must be at least 1, not {value}")
    if width % heads:
        raise SofthatError(f"width {width} does not divide among {heads} heads")
    if context < 4:
        raise SofthatError(f"a context of {context} positions holds no words: give at least 4")


def _model(
    transformers: Any,
    spec: Specification,
    layers: int,
    heads: int,
    width: int,
    context: int,
    activation: str,
) -> Any:
    ids = [spec.bos, *spec.ids, *([] if spec.eos is None else [spec.eos])]
    options = {
        "vocab_size": max(ids) + 1,
        "n_positions": context,
        "n_embd": width,
        "n_layer": layers,
        "n_head": heads,
        "bos_token_id": spec.bos,
        "eos_token_id": spec.eos,
        "activation_function": activation,
        "attn_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
    }
    if not spec.labels:
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**options))
    names = {number: name for name, number in spec.labels}
    config = transformers.GPT2Config(
        **options, id2label=names, label2id=dict(spec.labels), classifier_dropout=0.0
    )
    return transformers.GPT2ForTokenClassification(config)


class _Words:
    """Random words with what is asked after each prefix."""

    def __init__(self, spec: Specification, length: int, random: np.random.Generator) -> None:
        self.spec, self.length, self.random = spec, length, random

    def batch(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Token ids, states, and where something is asked: (count, length + 1)."""
        spec = self.spec
        words = [self._word() for _ in range(count)]
        ids, states = spec.batch(words, self.length)
        real = np.arange(self.length + 1)[None] <= np.array([len(word) for word in words])[:, None]
        lengths = np.arange(self.length + 1)[None] + spec.need[states]
        return ids, states, real & spec.decided[states] & (lengths <= self.length)

    def _word(self) -> list[int]:
        random, state, last = self.random, self.spec.start, -1
        sticking = random.choice(STICKING)
        ends = not all(len(row) for row in self.spec.following)  # answers come at the ends of words
        length = int(random.integers(1, self.length + 1)) if ends else self.length
        word: list[int] = []
        while len(word) < length:
            final = len(word) == length - 1
            choices = self.spec.following[state]
            if ends:
                stops = np.setdiff1d(choices, self.spec.continuing[state])
                choices = stops if final and len(stops) else self.spec.continuing[state]
            if not len(choices):
                break
            if last not in choices or random.random() >= sticking:
                last = int(random.choice(choices))
            word.append(last)
            state = int(self.spec.step[state, last])
        return word


def _fit(
    torch: Any,
    model: Any,
    words: _Words,
    steps: int,
    learning_rate: float,
    weight_decay: float,
    progress: Callable[[str, int, int | None, str], None],
) -> float:
    """AdamW with a warm-up and a linear decay, on a pool of batches."""
    decisions = Decisions(words.spec, model.config.vocab_size)
    pool = [_tensors(torch, words.batch(BATCH), decisions) for _ in range(min(POOL, steps))]
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / WARMING) * (1 - step / steps)
    )
    model.train()
    loss = torch.zeros(())
    for step in range(steps):
        ids, target, asked = pool[int(words.random.integers(len(pool)))]
        logits = model(input_ids=ids, use_cache=False).logits[asked]
        if decisions.argmax:
            loss = torch.nn.functional.cross_entropy(logits, target[asked])
        else:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target[asked])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 25 == 0:
            progress("steps", step, steps, f"loss {loss.item():.4f}")
    return float(loss.item())


def _tensors(torch: Any, batch: Any, decisions: Decisions) -> tuple[Any, Any, Any]:
    ids, states, asked = batch
    target = decisions.answer[states] if decisions.argmax else (decisions.signs[states] + 1) / 2
    wanted = torch.from_numpy(target)
    return (
        torch.from_numpy(ids),
        wanted if decisions.argmax else wanted.float(),
        torch.from_numpy(asked),
    )


def _measured(torch: Any, model: Any, words: _Words) -> tuple[int, int, float]:
    """Wrong decisions on fresh words, how many there were, and the least margin."""
    ids, states, asked = words.batch(HELD_OUT)
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(ids), use_cache=False).logits
    outputs = np.asarray(logits.double().numpy())
    margins = Decisions(words.spec, outputs.shape[-1]).margins(outputs, states)[asked]
    return int((margins <= 0).sum()), int(asked.sum()), float(margins.min())


def _files(model: Any, spec: Specification) -> dict[str, bytes]:
    """What `save_pretrained` writes, and the specification."""
    with tempfile.TemporaryDirectory() as place:
        with silent_transformers():
            model.save_pretrained(place, safe_serialization=True)
        names = ("config.json", "model.safetensors")
        files = {name: (Path(place) / name).read_bytes() for name in names}
    config = json.loads(files["config.json"])
    files["config.json"] = json_bytes(config)
    files["spec.json"] = json_bytes(spec.to_json())
    return files
