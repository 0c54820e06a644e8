"""What folders of simulations looked like in format version 1, so that they can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import AHAT
from softhat.numerics.exact import floats

HeadId = tuple[int, int]


def read_betas(config: Mapping[str, Any]) -> dict[HeadId, float]:
    """One β a head, for all lengths."""
    return {(int(b["layer"]), int(b["head"])): float(b["beta"]) for b in config["betas"]}


def folded(model: AHAT, betas: Mapping[HeadId, float]) -> dict[str, npt.NDArray[np.float64]]:
    """The softmax model's weights by name, β multiplied into the queries."""
    d = model.d_model
    result: dict[str, npt.NDArray[np.float64]] = {
        "embedding": floats(model.embedding),
        "position_embedding": floats(model.position_embedding),
        "output.weights": floats((model.output_weights,))[0],
        "output.bias": floats(((model.output_bias,),))[0],
    }
    if model.bos_embedding is not None:
        result["bos_embedding"] = floats((model.bos_embedding,))[0]
    for l, layer in enumerate(model.layers):
        for h, head in enumerate(layer.heads):
            place = f"layers.{l}.heads.{h}"
            result[f"{place}.query"] = floats(head.query, d) * betas.get((l, h), 1.0)
            result[f"{place}.key"] = floats(head.key, d)
            result[f"{place}.value"] = floats(head.value, d)
            result[f"{place}.output"] = floats(head.output)
        ff = layer.feed_forward
        if ff is not None:
            place = f"layers.{l}.feed_forward"
            result[f"{place}.in"] = floats(ff.in_weights, d)
            result[f"{place}.in_bias"] = floats((ff.in_bias,))[0]
            result[f"{place}.out"] = floats(ff.out_weights)
            result[f"{place}.out_bias"] = floats((ff.out_bias,))[0]
    return result
