"""A softhat transformer as a PyTorch module: softmax attention, ReLU feed-forward, a read-out.

It takes the steps of softhat's own runtime in the same order: sums in float32 (float64 for
float64), rounded to the parameters' dtype after each projection, head output, hidden unit and
residual. So certificates carry over. Three things are unusual: each head has its own mask (j <= i,
j < i, j >= i, j > i or none), scores are multiplied by an inverse temperature β(n) that may depend
on the length, and hidden units with equal incoming weights (the two of a clip) share one sum, so
that both round alike whatever order the machine adds in.

This file needs only torch and safetensors: it is copied into exported folders. There it may be
imported by its plain name, which a file beside it would not survive: so all of it is here.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

_LARGEST = 2**62


@dataclass
class Architecture:
    """Everything about a module but its numbers. Plain values only, so that it is JSON."""

    attention: str
    """`unbounded`, `temperature` (β(n) is not 1) or `hard` (the average over the argmax)."""
    tokens: int
    """Rows of the embedding: symbols (or propositions), then `<bos>` and `<eos>` if used."""
    bos: int | None
    eos: int | None
    positions: list[Any]
    """The position features: a name, {"name", "over": "P"}, {"mod"}, {"digit"}, {"table"} or
    {"predicate"}."""
    d_model: int
    outputs: int
    propositional: bool = False
    layers: list[dict[str, Any]] = field(default_factory=list)
    """Per layer: masks and laws of β (one a head), d_k, d_v, and for each hidden unit which of the
    distinct incoming sums it reads (share)."""

    @property
    def symbols(self) -> int:
        return self.tokens - (self.bos is not None) - (self.eos is not None)


class ModuleRun(NamedTuple):
    """Margins (batch, n, outputs), and per layer the attention (batch, heads, rows, rows)."""

    margins: Tensor
    attention: tuple[Tensor, ...]


class RoundedLinear(nn.Module):
    """x ↦ W x + b, summed in at least float32; whoever calls it rounds."""

    def __init__(self, inputs: int, outputs: int, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        wide = widened(self.weight.dtype)
        bias = None if self.bias is None else self.bias.to(wide)
        return functional.linear(x.to(wide), self.weight.to(wide), bias)


class Positions(nn.Module):
    """Position features, quotients of integers (divided by P), through the position embedding."""

    def __init__(self, entries: list[Any], d_model: int, bos: bool = True) -> None:
        super().__init__()
        self.entries = tuple(entries)
        self.bos = bos
        self.weight = nn.Parameter(torch.zeros(d_model, len(entries)))
        tables = [[float(Fraction(x)) for x in e["table"]] for e in entries if "table" in e]
        if tables:
            longest = max(map(len, tables))
            padded = [table + [torch.nan] * (longest - len(table)) for table in tables]
            self.register_buffer("tables", torch.tensor(padded, dtype=torch.float64))

    def forward(self, ordinary: Tensor, index: Tensor, scale: Tensor) -> Tensor:
        dtype = self.weight.dtype
        table = self.features(ordinary, index, scale).to(dtype)
        wide = widened(dtype)
        return functional.linear(table.to(wide), self.weight.to(wide))

    def features(self, ordinary: Tensor, index: Tensor, scale: Tensor) -> Tensor:
        """(batch, rows, features) for index 0 at `<bos>`, 1..n, n+1 at `<eos>`."""
        wide = widened(self.weight.dtype)
        columns: list[Tensor] = []
        tables = 0
        for entry in self.entries:
            if "table" in entry:
                columns.append(self._lookup(self.tables[tables].to(wide), ordinary, index))
                tables += 1
                continue
            scaled, above, below = _quotient(entry, ordinary, index)
            column = above.to(wide) / below.to(wide)
            columns.append(column / scale if scaled else column)
        if not columns:
            return index.new_zeros((*index.shape, 0), dtype=wide)
        return torch.stack(columns, dim=-1)

    def _lookup(self, table: Tensor, ordinary: Tensor, index: Tensor) -> Tensor:
        """The entries of a table; 0 at `<eos>`."""
        places = (index if self.bos else index - 1).clamp(0, len(table) - 1)
        if not torch.compiler.is_compiling():
            longest = int((index * ordinary).max()) + int(self.bos)
            if longest > int((~table.isnan()).sum()):
                raise ValueError(f"the position table ends before position {longest}")
        held = ordinary | (index == 0) if self.bos else ordinary
        return torch.where(held, table[places], torch.zeros_like(table[:1]))


class SoftAttention(nn.Module):
    """The heads of a layer. Returns what they add to the residual stream, not yet rounded."""

    def __init__(
        self, d_model: int, masks: list[str], laws: list[Any], d_k: int, d_v: int, hard: bool
    ) -> None:
        super().__init__()
        self.heads, self.d_k, self.d_v, self.hard = len(masks), d_k, d_v, hard
        self.masks, self.laws = tuple(masks), tuple(laws)
        self.query = RoundedLinear(d_model, self.heads * d_k)
        self.key = RoundedLinear(d_model, self.heads * d_k)
        self.value = RoundedLinear(d_model, self.heads * d_v)
        self.output = RoundedLinear(self.heads * d_v, d_model)
        # Identities, called only where maps are made: places to hang hooks on.
        self.scores = nn.Identity()
        self.pattern = nn.Identity()

    def forward(
        self, x: Tensor, lengths: Tensor, valid: Tensor | None, eager: bool
    ) -> tuple[Tensor, Tensor | None]:
        batch, rows, _ = x.shape
        dtype = x.dtype
        wide = widened(dtype)
        # (batch, heads, rows, d)
        q = self._split(self.query(x).to(dtype), self.d_k).to(wide)
        k = self._split(self.key(x).to(dtype), self.d_k).to(wide)
        v = self._split(self.value(x).to(dtype), self.d_v).to(wide)
        if any(law != "1" for law in self.laws):
            betas = [inverse_temperature(law, lengths, wide) for law in self.laws]
            q = q * torch.cat(betas, dim=1)[:, :, None, None]
        if eager or self.hard:
            o, pattern = self._explicit(q, k, v, valid)
        else:
            o, pattern = self._fused(q, k, v, valid), None
        o = o.to(dtype).transpose(1, 2).reshape(batch, rows, self.heads * self.d_v)
        return self.output(o), pattern

    def _split(self, x: Tensor, d: int) -> Tensor:
        batch, rows, _ = x.shape
        return x.view(batch, rows, self.heads, d).transpose(1, 2)

    def _fused(self, q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None) -> Tensor:
        """One call a mask. Equal widths of q, k and v let torch choose its fused kernels."""
        width = max(self.d_k, self.d_v, 1)
        q, k, v = (functional.pad(t, (0, width - t.shape[-1])) for t in (q, k, v))
        outputs: list[Tensor | None] = [None] * self.heads
        for mask in dict.fromkeys(self.masks):
            chosen = [h for h, m in enumerate(self.masks) if m == mask]
            part = (q, k, v)
            if len(chosen) < self.heads:
                part = (q[:, chosen], k[:, chosen], v[:, chosen])
            out = _attend(*part, mask, valid)
            for at, h in enumerate(chosen):
                outputs[h] = out[:, at]
        return torch.stack(outputs, dim=1)[..., : self.d_v]

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The same with its maps; the division comes last, so an average is rounded once."""
        rows = q.shape[2]
        hidden = [~visible(mask, rows, q.device, valid) for mask in self.masks]
        scores = q @ k.transpose(-1, -2)
        scores = scores.masked_fill(torch.cat(hidden, dim=1), -torch.inf)
        scores = self.scores(scores)
        top = scores.amax(dim=-1, keepdim=True)
        top = top.masked_fill(top == -torch.inf, 0)  # a row without keys: all weights are 0
        weights = (scores == top).to(q.dtype) if self.hard else (scores - top).exp()
        total = weights.sum(dim=-1, keepdim=True)
        total = total.masked_fill(total == 0, 1)
        pattern = weights / total
        hooked = self.pattern(pattern)
        if hooked is not pattern:  # a hook has put another pattern in place
            return hooked @ v, hooked
        return (weights @ v) / total, pattern


class ReluUnits(nn.Module):
    """ReLU units; `share[u]` says which of the distinct sums unit u adds its bias to."""

    def __init__(self, d_model: int, share: list[int]) -> None:
        super().__init__()
        self.units = len(share)
        self.into = RoundedLinear(d_model, max(share, default=-1) + 1)
        self.bias = nn.Parameter(torch.zeros(self.units))
        self.register_buffer("share", torch.tensor(share, dtype=torch.int64))
        self.activation = nn.ReLU()
        self.out = RoundedLinear(self.units, d_model, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        sums = self.into(x)
        hidden = sums.index_select(-1, self.share) + self.bias.to(sums.dtype)
        return self.out(self.activation(hidden).to(x.dtype))


class SoftLayer(nn.Module):
    """Attention, then feed-forward, each added to the residual stream and rounded."""

    def __init__(self, kind: str, d_model: int, shape: dict[str, Any]) -> None:
        super().__init__()
        masks, laws, hard = shape["masks"], shape["laws"], kind == "hard"
        self.attention = SoftAttention(d_model, masks, laws, shape["d_k"], shape["d_v"], hard)
        self.feed_forward = ReluUnits(d_model, shape["share"])

    def forward(
        self, x: Tensor, lengths: Tensor, valid: Tensor | None, eager: bool
    ) -> tuple[Tensor, Tensor | None]:
        pattern = x.new_zeros((x.shape[0], 0, x.shape[1], x.shape[1])) if eager else None
        if self.attention.heads:
            update, pattern = self.attention(x, lengths, valid, eager)
            x = (x + update).to(x.dtype)
        if self.feed_forward.units:
            x = (x + self.feed_forward(x)).to(x.dtype)
        return x, pattern


class TokenRows(nn.Module):
    """A row for each symbol (or proposition) and sink; the sinks' rows are zero."""

    def __init__(self, tokens: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(tokens, d_model))

    def forward(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.weight)

    def bits(self, tokens: Tensor, propositions: int) -> Tensor:
        """The sum of the rows of the propositions that hold."""
        return tokens.to(self.weight.dtype) @ self.weight[:propositions]

    def row(self, token: int, batch: int) -> Tensor:
        return self.weight[token].expand(batch, 1, -1)


class Body(nn.Module):
    """Embedding, positions and layers: from tokens to the last residual."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        a = architecture
        self.architecture = a
        self.embedding = TokenRows(a.tokens, a.d_model)
        self.positions = Positions(a.positions, a.d_model, a.bos is not None)
        self.layers = nn.ModuleList(SoftLayer(a.attention, a.d_model, shape) for shape in a.layers)

    def encode(
        self, embedded: Tensor, ordinary: Tensor, valid: Tensor | None, eager: bool = False
    ) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        """The residual (batch, rows, d_model) after the embedding and each layer, and the maps.

        `embedded` are words with their sinks; `ordinary` marks the words' own positions, `valid`
        these and the sinks (None where there is no padding). Only `eager` attention has maps.
        """
        counted = torch.ones_like(ordinary) if valid is None else valid
        index = counted.cumsum(dim=1) - int(self.positions.bos)
        lengths = ordinary.sum(dim=1, keepdim=True)
        scale = torch.ones_like(lengths)
        if self.architecture.attention == "temperature":
            scale = next_power_of_two(lengths + 2)
        scale = scale.to(widened(embedded.dtype))
        x = (embedded + self.positions(ordinary, index, scale)).to(embedded.dtype)
        residuals, maps = [x], []
        for layer in self.layers:
            x, pattern = layer(x, lengths, valid, eager)
            residuals.append(x)
            maps.append(pattern)
        return residuals, tuple(maps) if eager else ()


class SofthatTransformer(Body):
    """(batch, n) symbols to (batch, n, outputs) margins: > 0 iff the formula holds there.

    A simulation has one output, its value. The module adds the sinks `<bos>` and `<eos>` itself.
    `attention_mask` (batch, n) is 1 on the word's own positions and 0 on padding, which may stand
    anywhere; positions and the length n are those of the word without its padding. Propositional
    models take (batch, n, propositions) bits. With `return_attention=True` the result is a
    `ModuleRun` whose maps include the sinks. `kernel` is "sdpa" (torch's fused attention) or
    "eager" (always the explicit softmax).
    """

    def __init__(self, architecture: Architecture, kernel: str = "sdpa") -> None:
        super().__init__(architecture)
        self.kernel = kernel
        self.readout = RoundedLinear(architecture.d_model, architecture.outputs, bias=True)

    @staticmethod
    def load(folder: str | Path, kernel: str = "sdpa") -> SofthatTransformer:
        """The module in a folder that `softhat export --to torch` wrote."""
        from safetensors.torch import load_file

        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        state = load_file(Path(folder) / "model.safetensors")
        module = SofthatTransformer(Architecture(**config["architecture"]), kernel)
        module.to(state["embedding.weight"].dtype).load_state_dict(state)
        return module

    def forward(
        self,
        tokens: Tensor,
        attention_mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | ModuleRun:
        a = self.architecture
        if not torch.compiler.is_compiling():
            _check(tokens, attention_mask, a)
        batch, n = tokens.shape[:2]
        bits = a.propositional
        word = self.embedding.bits(tokens, a.symbols) if bits else self.embedding(tokens)
        parts = [word] if a.bos is None else [self.embedding.row(a.bos, batch), word]
        if a.eos is not None:
            parts.append(self.embedding.row(a.eos, batch))
        own = (
            torch.ones((batch, n), dtype=torch.bool, device=tokens.device)
            if attention_mask is None
            else attention_mask.to(torch.bool)
        )
        sinks = (int(a.bos is not None), int(a.eos is not None))
        ordinary = functional.pad(own, sinks, value=False)
        valid = None if attention_mask is None else functional.pad(own, sinks, value=True)
        eager = return_attention or self.kernel == "eager"
        residuals, maps = self.encode(torch.cat(parts, dim=1), ordinary, valid, eager)
        x = residuals[-1][:, sinks[0] : sinks[0] + n]
        margins = self.readout(x).to(x.dtype)
        return ModuleRun(margins, maps) if return_attention else margins


def widened(dtype: torch.dtype) -> torch.dtype:
    """The dtype that sums are taken in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def visible(mask: str, rows: int, device: torch.device, valid: Tensor | None) -> Tensor:
    """(batch or 1, 1, rows, rows): which keys a query sees. Padding is never seen."""
    at = torch.arange(rows, device=device)
    query, key = at[:, None], at[None, :]
    match mask:
        case "<=":
            seen = key <= query
        case "<":
            seen = key < query
        case ">=":
            seen = key >= query
        case ">":
            seen = key > query
        case _:
            seen = torch.ones((rows, rows), dtype=torch.bool, device=device)
    seen = seen[None, None]
    return seen if valid is None else seen & valid[:, None, None, :]


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: str, valid: Tensor | None) -> Tensor:
    """Softmax attention of heads with one mask; no map is made."""
    if valid is not None or mask in ("<", ">"):
        seen = visible(mask, q.shape[2], q.device, valid)
        # A row without keys would be NaN: it sees every key, and then gives 0.
        some = seen.any(dim=-1, keepdim=True)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen | ~some, scale=1.0)
        return torch.where(some, out, torch.zeros_like(out))
    if mask == ">=":  # the mirror image of a causal head
        q, k, v = (t.flip(2) for t in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0).flip(2)
    return functional.scaled_dot_product_attention(q, k, v, is_causal=mask == "<=", scale=1.0)


def _check(tokens: Tensor, attention_mask: Tensor | None, a: Architecture) -> None:
    """Say what is wrong with an input, rather than compute something else."""
    shape = tuple(tokens.shape)
    if a.propositional:
        if len(shape) != 3 or shape[2] != a.symbols:
            raise ValueError(f"expected bits of shape (batch, n, {a.symbols}), got {shape}")
    elif len(shape) != 2:
        raise ValueError(f"expected symbol indices of shape (batch, n), got shape {shape}")
    elif tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < a.symbols:
        raise ValueError(
            f"symbol indices are 0 to {a.symbols - 1}, got {int(tokens.min())} to "
            f"{int(tokens.max())}: the module adds <bos> and <eos> itself"
        )
    if attention_mask is not None and tuple(attention_mask.shape) != shape[:2]:
        raise ValueError(
            f"expected an attention_mask of shape {shape[:2]}, got {tuple(attention_mask.shape)}"
        )


def next_power_of_two(n: Tensor) -> Tensor:
    """The least power of two that is at least n, for n >= 2."""
    powers = 1 << torch.arange(62, device=n.device)
    return 1 << (n - 1 >= powers).sum(dim=1, keepdim=True)


def inverse_temperature(law: Any, lengths: Tensor, dtype: torch.dtype) -> Tensor:
    """β(n) of each word, (batch, 1). Constants and C·P(n) need not know n outside the graph."""
    match law:
        case str(constant):
            return torch.full_like(lengths, float(Fraction(constant)), dtype=dtype)
        case {"power_of_two": 2}:
            return next_power_of_two(lengths + 2).to(dtype)
        case {"product": [str(c), {"power_of_two": 2}]}:
            return next_power_of_two(lengths + 2).to(dtype) * float(Fraction(c))
    betas = {n: law_at(law, n) for n in set(lengths.flatten().tolist())}
    values = [[betas[n] for n in row] for row in lengths.tolist()]
    return torch.tensor(values, dtype=torch.float64, device=lengths.device).to(dtype)


def law_at(law: Any, n: int) -> float:
    """A law of n that is stored as data, evaluated: the small language of softhat's `laws`."""
    if isinstance(law, str):
        return float(Fraction(law))
    if "table" in law:
        entries = law["table"]
        return law_at(entries[n - 1] if n <= len(entries) else law["beyond"], n)
    ((kind, inner),) = law.items()
    match kind:
        case "n":
            return float(max(1, n + inner))
        case "lcm":
            return float(math.lcm(*range(1, max(1, n + inner) + 1)))
        case "power_of_two":
            return float(1 << (max(1, n + inner) - 1).bit_length())
        case "sum":
            return math.fsum(law_at(part, n) for part in inner)
        case "product":
            return math.prod(law_at(part, n) for part in inner)
        case "max":
            return max(law_at(part, n) for part in inner)
        case "log":
            return math.log(law_at(inner, n))
        case "power":
            return float(law_at(inner[0], n) ** inner[1])
        case "rounded_up":
            mantissa, exponent = math.frexp(law_at(inner[0], n))
            units = math.ceil(mantissa * 2 ** inner[1] - 1e-9)
            return math.ldexp(units, exponent - inner[1])
    raise ValueError(f"unknown law {law!r}: this model needs a newer softhat")


def predicate(entry: dict[str, Any], index: Tensor, n: Tensor) -> Tensor:
    """Where a numerical predicate holds: positions (batch, rows), lengths n (batch, 1)."""
    if entry["predicate"] == "middle" and len(entry) == 1:
        return (2 * index == n) | (2 * index == n + 1)
    if "by_length" in entry:
        _check_table(entry, n, entry["longest"])
        packed = _packed(entry["by_length"]).to(index.device)
        place = (n * (n - 1) // 2 + index - 1).clamp(0, 8 * len(packed) - 1)
        return (packed[place // 8].long() >> (7 - place % 8) & 1).bool()
    if "bits" in entry:
        start, _, period = entry["bits"].rstrip(")").partition("(")
        bits = torch.tensor([bit == "1" for bit in start + period], device=index.device)
        if not period:
            _check_table(entry, index, len(start))
            return bits[(index - 1).clamp(0, len(bits) - 1)]
        late = len(start) + (index - 1 - len(start)) % len(period)
        return bits[torch.where(index <= len(start), index - 1, late)]
    members = arithmetic_set(entry["predicate"], 1 << int(index.max()).bit_length())
    return torch.tensor(members, device=index.device)[index]


@lru_cache(maxsize=16)
def _packed(text: str) -> Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def _check_table(entry: dict[str, Any], numbers: Tensor, longest: int) -> None:
    if not torch.compiler.is_compiling() and int(numbers.max()) > longest:
        raise ValueError(
            f"the numerical predicate {entry['predicate']!r} is a table of {longest} positions: "
            "the word is longer"
        )


@lru_cache(maxsize=16)
def arithmetic_set(name: str, size: int) -> list[bool]:
    """Which of the numbers below `size` belong to an arithmetic set; 0 never does."""
    held = [False] * size

    def add(grow: Callable[[int], int]) -> list[bool]:
        k = 1
        while (member := grow(k)) < size:
            held[member] = True
            k += 1
        return held

    match name:
        case "prime":
            held = [k > 1 for k in range(size)]
            for p in range(2, math.isqrt(size) + 1):
                if held[p]:
                    held[p * p :: p] = [False] * len(range(p * p, size, p))
            return held
        case "square":
            return add(lambda k: k * k)
        case "triangular":
            return add(lambda k: k * (k + 1) // 2)
        case "power2":
            return add(lambda k: 1 << k - 1)
        case "factorial":
            return add(math.factorial)
        case "fibonacci":
            before, here = 1, 1
            while here < size:
                held[here] = True
                before, here = here, before + here
            return held
    raise ValueError(f"unknown numerical predicate {name!r}: this model needs a newer softhat")


def _quotient(entry: Any, ordinary: Tensor, index: Tensor) -> tuple[bool, Tensor, Tensor]:
    """Whether a feature is divided by P, its numerators and its denominators."""
    own = torch.where(ordinary, index, torch.zeros_like(index))
    one = torch.ones_like(index)
    n = ordinary.sum(dim=1, keepdim=True)
    if isinstance(entry, dict) and "predicate" in entry:
        asked = torch.where(ordinary, index, one)
        return False, ordinary & predicate(entry, asked, n), one
    if isinstance(entry, dict) and "mod" in entry:
        modulus, remainder = (min(number, _LARGEST) for number in entry["mod"])
        found = index % modulus == remainder
        return False, found if entry.get("sinks", True) else found & ordinary, one
    if isinstance(entry, dict) and "digit" in entry:
        bit, position, length, constant = entry["digit"]
        number = torch.clamp(position * index + length * n + constant, min=0)
        return False, ordinary * (number >> min(bit, 62) & 1), one
    scaled = isinstance(entry, dict)
    match entry["name"] if scaled else entry:
        case "1":
            return scaled, one, one
        case "ordinary":
            return scaled, ordinary, one
        case "i":
            return scaled, own, one
        case "r":
            return scaled, torch.where(ordinary, n + 1 - index, 0 * index), one
        case "n":
            return scaled, n * one, one
        case "i/n":
            return scaled, own, n * one
        case str(name) if name.startswith("i/n^"):
            return scaled, own, (n * one).double() ** int(name[4:])
        case str(name) if name.startswith("j/n^"):
            return scaled, index, (n * one).double() ** int(name[4:])
        case "1/i":
            return scaled, ordinary, torch.where(ordinary, index, one)
        case "i^2":
            return scaled, own * own, one
        case "(-1)^i":
            return scaled, 1 - 2 * (index & 1), one
        case "first":
            return scaled, ordinary & (index == 1), one
        case "last":
            return scaled, ordinary & (index == n), one
    raise ValueError(f"unknown position feature {entry!r}: this model needs a newer softhat")
