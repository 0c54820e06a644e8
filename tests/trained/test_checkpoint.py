"""What is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softhat import SofthatError
from softhat.trained.checkpoint import Affine, LayerNorm, read_checkpoint
from softhat.trained.rounding import rounding_of
from tests.trained import tiny


def test_shapes(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m", layers=2))
    assert (model.context, model.width, model.vocabulary, model.outputs) == (12, 8, 4, 4)
    assert len(model.blocks) == 2 and model.head == "GPT2LMHeadModel"
    assert np.array_equal(model.answers.weight, model.tokens.T)


def _nan(made: dict[str, Any]) -> None:
    made["transformer.wpe.weight"][3, 2] = np.nan


def _half(made: dict[str, Any]) -> None:
    made["transformer.wte.weight"] = made["transformer.wte.weight"].astype(np.float16)


def _missing(made: dict[str, Any]) -> None:
    del made["transformer.h.0.ln_2.bias"]


def _untied(made: dict[str, Any]) -> None:
    made["lm_head.weight"] = made["transformer.wte.weight"] + 1


def _strange(made: dict[str, Any]) -> None:
    made["transformer.h.0.adapter.weight"] = np.zeros(3, np.float32)


def _wide(made: dict[str, Any]) -> None:
    made["transformer.h.0.mlp.c_fc.weight"] = np.zeros((8, 31), np.float32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_nan, "not a finite number"),
        (_half, "float16"),
        (_missing, "h.0.ln_2.bias is missing"),
        (_untied, "differs from wte.weight"),
        (_strange, "adapter"),
        (_wide, "has the shape"),
    ],
)
def test_tensors_that_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    made = tiny.tensors(0)
    change(made)
    tiny.write(tmp_path / "m", made, tiny.config())
    with pytest.raises(SofthatError, match=said) as error:
        read_checkpoint(tmp_path / "m")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "llama"}, "only GPT-2"),
        ({"n_embd": 1 << 20}, "too large"),
        ({"n_layer": 48}, "too large"),
        ({"architectures": ["GPT2ForSequenceClassification"]}, "one answer a word"),
        ({"scale_attn_by_inverse_layer_idx": True}, "not supported"),
        ({"activation_function": "mish"}, "mish"),
        ({"n_head": 3}, "do not divide"),
        ({"layer_norm_epsilon": 0.0}, "layer_norm_epsilon"),
    ],
)
def test_configurations_that_are_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    tiny.write(tmp_path / "m", tiny.tensors(0), tiny.config(**changes))
    with pytest.raises(SofthatError, match=said):
        read_checkpoint(tmp_path / "m")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="not a folder"):
        read_checkpoint(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SofthatError, match="has no config"):
        read_checkpoint(tmp_path / "empty")


def test_weights_that_move_move_products_by_as_much() -> None:
    """Each weight at the end of its interval that moves the product furthest; and no bound is far
    above that."""
    random, rounding = np.random.default_rng(0), rounding_of("float32")
    x = random.normal(size=6)
    weight, most = random.normal(size=(6, 4)), random.uniform(0, 0.01, size=(6, 4))
    bias, most_bias = random.normal(size=4), random.uniform(0, 0.01, size=4)
    pushed = np.sign(x)[:, None] * most
    reached = x @ (weight + pushed) + bias + most_bias - (x @ weight + bias)
    step = Affine(weight, bias, Affine(most, most_bias))
    error = step.error(np.abs(x), rounding) - Affine(weight, bias).error(np.abs(x), rounding)
    assert (error >= reached * (1 - 1e-9)).all() and (error <= reached * 1.001).all()
    gain, shift, most_gain = weight[0], bias, most[0]
    reached = x[:4] * (gain + np.sign(x[:4]) * most_gain) + most_bias - x[:4] * gain
    norm = LayerNorm(gain, shift, LayerNorm(most_gain, most_bias))
    error = norm.error(np.abs(x[:4]), rounding) - LayerNorm(gain, shift).error(
        np.abs(x[:4]), rounding
    )
    assert (error >= reached * (1 - 1e-9)).all() and (error <= reached * 1.001).all()
