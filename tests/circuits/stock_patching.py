"""Resampling patching in stock models themselves, as transformers runs them, with torch hooks.

Nothing here knows softhat: nodes add to the residual stream, and readers read it through the norms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@dataclass(frozen=True)
class Parts:
    """A block's modules: the norms before its parts, projections, and the feed-forward."""

    block: Any
    first: Any
    second: Any
    queries: Any
    keys: Any
    values: Any
    output: Any
    mlp: Any


class Stock:
    """A token classifier from its folder."""

    def __init__(self, folder: Path) -> None:
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(1)
        kind = transformers.AutoModelForTokenClassification
        self.model = kind.from_pretrained(folder, attn_implementation="eager").eval()
        config = self.model.config
        self.bos = config.bos_token_id
        self.gpt2 = config.model_type == "gpt2"
        self.heads = config.num_attention_heads
        trunk = self.model.transformer if self.gpt2 else self.model.model
        self.blocks = [self._parts(block) for block in (trunk.h if self.gpt2 else trunk.layers)]
        self.last = trunk.ln_f if self.gpt2 else trunk.norm
        inner = self.blocks[0].output.weight.shape[0 if self.gpt2 else 1]
        self.width = inner // self.heads
        self.shared = 1 if self.gpt2 else self.heads // config.num_key_value_heads

    def _parts(self, block: Any) -> Parts:
        if self.gpt2:
            every = block.attn.c_attn
            return Parts(
                block, block.ln_1, block.ln_2, every, every, every, block.attn.c_proj, block.mlp
            )
        own = block.self_attn
        norms = block.input_layernorm, block.post_attention_layernorm
        return Parts(block, *norms, own.q_proj, own.k_proj, own.v_proj, own.o_proj, block.mlp)

    def margins(self, codes: Any) -> Any:
        first = np.full((len(codes), 1), self.bos)
        with torch.no_grad():
            logits = self.model(torch.from_numpy(np.concatenate([first, codes], axis=1))).logits
        return (logits[..., 1] - logits[..., 0])[:, 1:].double().numpy()

    def added(self, codes: Any) -> dict[str, Any]:
        """What every node adds to the residual stream."""
        found: dict[str, Any] = {}
        with ExitStack() as held:

            def before(module: Any, act: Callable[[Any], Any]) -> None:
                held.enter_context(_before(module, act))

            before(self.blocks[0].block, lambda x: found.__setitem__("input", x))
            for number, parts in enumerate(self.blocks):
                before(parts.output, lambda z, n=number: self._results(found, n, z))
                name = f"m{number}"
                held.enter_context(_after(parts.mlp, lambda y, k=name: found.__setitem__(k, y)))
            self.margins(codes)
        return found

    def _results(self, found: dict[str, Any], number: int, z: Any) -> None:
        weight = self.blocks[number].output.weight
        for h in range(self.heads):
            own = slice(h * self.width, (h + 1) * self.width)
            rows = weight[own] if self.gpt2 else weight[:, own].T
            found[f"a{number}.h{h}"] = z[..., own] @ rows

    def patched(self, codes: Any, target: str, slot: str, delta: Any) -> Any:
        """The margins where one reader sees `delta` more than there is."""
        with ExitStack() as held:
            if target == "logits":
                held.enter_context(_before(self.last, lambda x: x + delta))
            elif target.startswith("m"):
                norm = self.blocks[int(target[1:])].second
                held.enter_context(_before(norm, lambda x: x + delta))
            else:
                number, h = (int(part) for part in target[1:].split(".h"))
                own = slice(h * self.width, (h + 1) * self.width)
                changed = self._mixed(codes, number, h, slot, delta)
                output = self.blocks[number].output
                held.enter_context(_before(output, lambda z: _put(z, own, changed)))
            return self.margins(codes)

    def _mixed(self, codes: Any, number: int, h: int, slot: str, delta: Any) -> Any:
        """What head h mixes if one of its inputs sees more. Keys and values that others share are
        patched for all in this run, of which only head h is kept."""
        parts = self.blocks[number]
        place = "qkv".index(slot)
        module = (parts.queries, parts.keys, parts.values)[place]
        at = h if slot == "q" else h // self.shared
        start = at * self.width
        if self.gpt2:
            start += place * self.heads * self.width
        rows = slice(start, start + self.width)
        seen: dict[str, Any] = {}

        def projected(y: Any) -> Any:
            other = module.forward(parts.first.forward(seen["x"] + delta))
            return _put(y, rows, other[..., rows])

        own = slice(h * self.width, (h + 1) * self.width)
        with (
            _before(parts.first, lambda x: seen.__setitem__("x", x)),
            _after(module, projected),
            _before(parts.output, lambda z: seen.__setitem__("z", z[..., own].clone())),
        ):
            self.margins(codes)
        return seen["z"]


class Pairs:
    """Clean words, and for every node what it adds more on the corrupt ones."""

    def __init__(self, stock: Stock, clean: Any, corrupt: Any) -> None:
        self.stock, self.clean = stock, clean
        self.margins = stock.margins(clean)
        here, there = stock.added(clean), stock.added(corrupt)
        self.deltas = {name: there[name] - here[name] for name in here}

    def effect(self, edge: str) -> Any:
        """How far each margin moves if the edge carries what it carries on the corrupt words."""
        source, _, rest = edge.partition("->")
        target, _, slot = rest.rstrip(">").partition("<")
        patched = self.stock.patched(self.clean, target, slot, self.deltas[source])
        return np.abs(patched - self.margins)


def _put(x: Any, place: slice, value: Any) -> Any:
    x = x.clone()
    x[..., place] = value
    return x


@contextmanager
def _before(module: Any, act: Callable[[Any], Any]) -> Iterator[None]:
    """`act` on a module's input; what it returns, if anything, is the input."""

    def hook(_: Any, inputs: tuple[Any, ...]) -> Any:
        changed = act(inputs[0])
        return None if changed is None else (changed, *inputs[1:])

    handle = module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _after(module: Any, act: Callable[[Any], Any]) -> Iterator[None]:
    handle = module.register_forward_hook(lambda _, __, y: act(y))
    try:
        yield
    finally:
        handle.remove()
