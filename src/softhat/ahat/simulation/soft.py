"""The softmax transformer: the same layers, with attention softmax(β · scores).

Masked keys are excluded, never given a large negative score: a finite mask such as -1e9 is
defeated once β·|score| reaches it, and a row masked everywhere is NaN in a plain softmax. A row
without keys gives 0. Weights are summed first and divided last, so equal weights average exactly
representable values with one rounding. float16 and bfloat16 are not offered here: averages lose
their sign in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import allowed, chosen, embedding_table, ratio, scaled
from softhat.ahat.model import AHAT, FeedForward, Head, Matrix, Vector
from softhat.errors import SofthatError
from softhat.runtime.trace import Trace

Floats = npt.NDArray[Any]
Betas = Mapping[tuple[int, int], float]
DTYPES = {"float32": np.float32, "float64": np.float64, "longdouble": np.longdouble}


def values(
    model: AHAT, betas: Betas, codes: npt.NDArray[np.int64], dtype: str = "float64"
) -> Floats:
    """The softmax model's values, (words, n), on words of one length. Missing β are 1."""
    x = embedded(model, codes, known_dtype(dtype))
    for l, layer in enumerate(model.layers):
        outputs = [attend(head, x, betas.get((l, h), 1.0))[2] for h, head in enumerate(layer.heads)]
        for out in outputs:
            x = x + out
        if layer.feed_forward is not None:
            x = x + forward(layer.feed_forward, x)
    return readout(model, x)


def run(
    model: AHAT, betas: Betas, symbols: tuple[str, ...], dtype: str = "float64", hard: bool = False
) -> Trace:
    """One word, with everything people look at. `hard` averages over the argmax sets instead."""
    x = embedded(model, model.codes([symbols]), known_dtype(dtype))
    attention, scores, outputs, residual = [], [], [], [x[0]]
    for l, layer in enumerate(model.layers):
        parts = [
            attend(head, x, betas.get((l, h), 1.0), hard) for h, head in enumerate(layer.heads)
        ]
        size = x.shape[1]
        scores.append(_stack([p[0][0] for p in parts], (size, size), x.dtype))
        attention.append(_stack([p[1][0] for p in parts], (size, size), x.dtype))
        outputs.append(_stack([p[2][0] for p in parts], x.shape[1:], x.dtype))
        for part in parts:
            x = x + part[2]
        if layer.feed_forward is not None:
            x = x + forward(layer.feed_forward, x)
        residual.append(x[0])
    names = model.names or tuple(f"x{c}" for c in range(model.d_model))
    return Trace(
        tokens=("<bos>", *symbols) if model.bos else symbols,
        attention=tuple(attention),
        scores=tuple(scores),
        head_outputs=tuple(outputs),
        residual=tuple(residual),
        heads=tuple(
            tuple(head.name or f"head {h}" for h, head in enumerate(layer.heads))
            for layer in model.layers
        ),
        coordinates=(names,) * len(residual),
        margins={"value": readout(model, x)[0]},
    )


def _stack(parts: list[Floats], shape: tuple[int, ...], dtype: Any) -> Floats:
    return np.stack(parts) if parts else np.zeros((0, *shape), dtype=dtype)


def attend(head: Head, x: Floats, beta: float, hard: bool = False) -> tuple[Floats, Floats, Floats]:
    """Scores after β (masked: -inf), attention weights, and what is added to the residual."""
    kind = x.dtype.type
    d = x.shape[2]
    query = x @ (floats(head.query, kind, d) * kind(beta)).T  # (W, T, d_k)
    key = x @ floats(head.key, kind, d).T
    value = x @ floats(head.value, kind, d).T
    mask = allowed(head.mask, x.shape[1])
    scores = np.where(mask, query @ np.swapaxes(key, 1, 2), kind(-np.inf))
    top = scores.max(axis=2, keepdims=True)
    some = np.isfinite(top)
    shifted = np.subtract(scores, top, where=some, out=np.full_like(scores, -np.inf))
    weights = chosen(shifted == 0, head.ties).astype(kind) if hard else np.exp(shifted)
    total = weights.sum(axis=2, keepdims=True)
    total = np.where(total == 0, kind(1), total)
    mean = (weights @ value) / total
    return scores, weights / total, mean @ floats(head.output, kind).T


def forward(layer: FeedForward, x: Floats) -> Floats:
    """The feed-forward sublayer, without the residual."""
    kind = x.dtype.type
    hidden = x @ floats(layer.in_weights, kind, x.shape[2]).T + floats((layer.in_bias,), kind)[0]
    hidden = np.maximum(hidden, kind(0))
    return hidden @ floats(layer.out_weights, kind).T + floats((layer.out_bias,), kind)[0]


def readout(model: AHAT, x: Floats) -> Floats:
    """`output_weights · x + output_bias` at the ordinary positions."""
    kind = x.dtype.type
    weights = floats((model.output_weights,), kind)[0]
    bias = floats(((model.output_bias,),), kind)[0, 0]
    result: Floats = (x @ weights + bias)[:, int(model.bos) :]
    return result


def floats(matrix: Matrix | tuple[Vector, ...], kind: Any, columns: int = 0) -> Floats:
    """The nearest floats of a rational matrix; one without rows has this many columns."""
    if not matrix:
        return np.zeros((0, columns), dtype=kind)
    exact = scaled(matrix)
    if kind is np.longdouble:
        return exact.num.astype(np.longdouble) / np.longdouble(exact.den)
    return ratio(exact.num, exact.den).astype(kind)


def embedded(model: AHAT, codes: npt.NDArray[np.int64], kind: Any) -> Floats:
    table = embedding_table(model, codes.shape[1])
    if kind is np.longdouble:
        entries: Floats = table.num.astype(np.longdouble) / np.longdouble(table.den)
    else:
        entries = ratio(table.num, table.den).astype(kind)
    offset = int(model.bos)
    x = entries[codes, np.arange(codes.shape[1]) + offset]
    if model.bos:
        first = np.broadcast_to(entries[-1, 0], (len(codes), 1, entries.shape[-1]))
        x = np.concatenate([first, x], axis=1)
    return x


def known_dtype(name: str) -> Any:
    """The NumPy type of this name; an error if simulations do not run in it."""
    if name not in DTYPES:
        raise SofthatError(
            f"dtype {name!r} is not offered for simulations: use {', '.join(DTYPES)} "
            "(averages lose their sign in half precision)"
        )
    return DTYPES[name]
