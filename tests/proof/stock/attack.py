"""Attacks on certificates of stock decoders: weights changed together, as a pass would change them.

A single changed weight breaks the form that everything has, and the certificate is void for that.
Here both halves of a GPT-2's pair, both coordinates of a rotary pair and both units of a clip are
changed at once, so that what is left is a head or a gate of the same kind that may be another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.checking import certify_export
from softhat.export.reading import read_export
from tests.export.stock_models import answers, stock, torch

Truth = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
Tensors = dict[str, NDArray[Any]]
Mutate = Callable[[np.random.Generator, Tensors, int | None], tuple[str, NDArray[Any]]]
"""A generator, all tensors, the size of a head (None in GPT-2) -> a tensor changed, by its name."""
FACTORS = (0.0, -1.0, 0.5, 2.0, 0.125, 1.25, 1.0000001)


def together(
    rng: np.random.Generator, held: Tensors, head_dim: int | None
) -> tuple[str, NDArray[Any]]:
    """What belongs together is changed together."""
    while True:
        names = [n for n in held if n.endswith("weight") and not n.startswith("score")]
        name = str(rng.choice([n for n in names if "norm" not in n and "ln_" not in n]))
        tensor = np.array(held[name])
        if not tensor.any():
            continue
        if head_dim is None:
            changed = _gpt2(rng, name, tensor)
        else:
            changed = _llama(rng, name, tensor, head_dim)
        if not np.array_equal(changed, held[name]):
            return name, changed


def anywhere(
    rng: np.random.Generator, held: Tensors, head_dim: int | None
) -> tuple[str, NDArray[Any]]:
    """One entry of any tensor, norms, biases, the read-out and unused rows too; often one that is
    0, sometimes by a number that few formats hold, or two entries that change places."""
    names = sorted(name for name, tensor in held.items() if tensor.dtype.kind == "f")
    while True:
        name = str(rng.choice(names))
        tensor = np.array(held[name])
        nonzero = np.argwhere(tensor)
        if rng.random() < 0.4 and len(nonzero):
            at = tuple(rng.choice(nonzero))
        else:
            at = tuple(int(rng.integers(size)) for size in tensor.shape)
        match int(rng.integers(4)):
            case 0:
                tensor[at] *= np.float32(rng.choice(FACTORS))
            case 1:
                tensor[at] += np.float32(rng.choice((1.0, -1.0, 2.0**-20, 2.0**-40, -(2.0**-10))))
            case 2:
                tensor[at] = np.float32(rng.choice((-0.0, 1e-40, 1e30, -1e10, 0.0, 2.0**-126)))
            case _:
                other = int(rng.integers(len(tensor)))
                tensor[[at[0], other]] = tensor[[other, at[0]]]
        if tensor.tobytes() != held[name].tobytes():
            return name, tensor


def slightly(
    rng: np.random.Generator, held: Tensors, head_dim: int | None
) -> tuple[str, NDArray[Any]]:
    """A tensor moved by more or less than what the bounds of a disguised checkpoint allow for: all
    its entries, or one of them."""
    name = str(rng.choice([n for n, t in sorted(held.items()) if t.dtype.kind == "f" and t.any()]))
    tensor = np.array(held[name])
    size = float(np.abs(tensor).max()) * 10.0 ** rng.uniform(-7.5, -1)
    if rng.random() < 0.5:
        return name, (tensor + size * rng.standard_normal(tensor.shape)).astype(tensor.dtype)
    tensor[tuple(int(rng.integers(n)) for n in tensor.shape)] += np.float32(size)
    return name, tensor


def attack(
    folder: Path,
    truth: Truth,
    words: Iterable[NDArray[np.int64]],
    mutations: int,
    seed: int,
    mutate: Mutate = together,
) -> Counter[str]:
    """Change the weights of an export so many times: whatever is certified is right on `words`,
    in every format for which it is, cut to the certified length."""
    export = read_export(folder)
    checkpoint = export.checkpoint
    assert checkpoint is not None
    held = {name: np.array(tensor) for name, tensor in checkpoint.tensors.items()}
    models = {dtype: stock(folder, dtype) for dtype in ("float32", "bfloat16")}
    rng = np.random.default_rng(seed)
    told = [(codes, truth(codes)) for codes in words]
    seen: Counter[str] = Counter()
    for _ in range(mutations):
        name, tensor = mutate(rng, held, getattr(checkpoint, "head_dim", None))
        changed = replace(export, checkpoint=replace(checkpoint, tensors={**held, name: tensor}))
        lengths = certify_export(changed).max_length
        if not any(lengths.values()):
            seen["void"] += 1
            continue
        for dtype, model in models.items():
            longest = lengths[dtype]
            if not longest:
                continue
            kept = model.state_dict()[name].clone()
            model.load_state_dict({name: torch.from_numpy(tensor)}, strict=False)
            for codes, expected in told:
                found = answers(model, codes[:, :longest])
                assert (found == expected[:, :longest]).all(), (name, dtype)
            model.load_state_dict({name: kept}, strict=False)
        seen["certified"] += 1
    return seen


def _gpt2(rng: np.random.Generator, name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    """Pairs of coordinates stand in rows, or in columns; units 2u and 2u + 1 are one clip."""
    factor = float(rng.choice(FACTORS))
    row, column = (int(x) for x in rng.choice(np.argwhere(tensor)))
    reads = name.endswith(("c_attn.weight", "c_fc.weight"))
    rows = slice(row // 2 * 2, row // 2 * 2 + 2) if reads else slice(row, row + 1)
    columns = slice(column, column + 1) if reads else slice(column // 2 * 2, column // 2 * 2 + 2)
    if name.endswith("wpe.weight"):
        if rng.random() < 0.5:  # a digit of all positions, a position further
            tensor[1:, columns] = np.roll(tensor[1:, columns], int(rng.choice([-1, 1])), axis=0)
            return tensor
        factor = -1.0
    if name.endswith("c_fc.weight"):
        columns = slice(column // 2 * 2, column // 2 * 2 + 2)
    if name.endswith("mlp.c_proj.weight"):
        rows = slice(row // 2 * 2, row // 2 * 2 + 2)
    if name.endswith("c_attn.weight") and rng.random() < 0.3:  # another pair is read
        other = int(rng.integers(len(tensor) // 2)) * 2
        tensor[[*range(other, other + 2), rows.start, rows.start + 1], column] = tensor[
            [rows.start, rows.start + 1, *range(other, other + 2)], column
        ]
        return tensor
    tensor[rows, columns] *= factor
    return tensor


def _llama(rng: np.random.Generator, name: str, tensor: NDArray[Any], size: int) -> NDArray[Any]:
    """Rows p and p + size/2 of a head turn together; units 2u and 2u + 1 are one clip."""
    factor = float(rng.choice(FACTORS))
    row, column = (int(x) for x in rng.choice(np.argwhere(tensor)))
    if name.endswith(("gate_proj.weight", "up_proj.weight")):
        tensor[row // 2 * 2 : row // 2 * 2 + 2, column] *= factor
    elif name.endswith("down_proj.weight"):
        tensor[row, column // 2 * 2 : column // 2 * 2 + 2] *= factor
    elif name.endswith(("q_proj.weight", "k_proj.weight")):
        half = size // 2
        start = row // size * size + row % half
        pair = tensor[[start, start + half]]
        if rng.random() < 0.5:  # it turns as if the query stood elsewhere
            pairs = half if rng.random() < 0.5 else 1
            away = int(rng.choice([-2, -1, 1, 2]))
            for p in range(half) if pairs > 1 else (row % half,):
                turns = {256: np.pi / 2 ** (p / 2), 64: np.pi / 2**p, 16: 2.0 ** (-3 * p)}
                angle = away * turns[size]
                at = [row // size * size + p, row // size * size + p + half]
                turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                tensor[at] = turn @ tensor[at]
            return tensor
        tensor[[start, start + half]] = factor * pair
    else:
        tensor[row, column] *= factor
    return tensor
