"""Certificates of Llama exports: what they reach, and that nothing certified is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import softhat
from softhat.export.reading import read_export
from softhat.io.errors import VoidError
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.derivation import derive
from softhat.proof.stock.plain_bounds import PlainBounds
from softhat.proof.stock.storage import STORAGES
from tests.export.stock_models import answers, stated, stock, torch
from tests.export.test_llama import fits_rope
from tests.transformer.lowering.suite import all_codes, expected, long_words

pytestmark = pytest.mark.usefixtures("nobody_saves")


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(3, 30), context=st.integers(2, 70))
def test_any_decoder_formula(
    seed: int, size: int, context: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any") / "out"
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, size, ["a", "b"], "decoder")
    positions: Any = "rope" if fits_rope(formula) and seed % 2 else "bits"
    kernel: Any = ("sdpa", "eager")[seed // 2 % 2]
    softhat.to_llama(
        softhat.compile(formula, "ab"), folder, context, positions=positions, kernel=kernel
    )
    lengths = stated(folder)["max_length"]
    assert lengths["float32"] == context - 1, stated(folder)["void"]
    for dtype, longest in lengths.items():
        if not longest:
            continue
        model = stock(folder, dtype, kernel)
        for codes in (all_codes(2, min(6, longest)), long_words(longest, 2, seed)):
            assert (answers(model, codes) == expected(formula, codes, "ab")).all()


def test_bits_that_are_off_too_far_are_refused(tmp_path: Path) -> None:
    """Bounds leave out products of errors from 2^-7 on: so one bit, however few there are, and one
    mean may not be off by more."""
    softhat.to_llama(softhat.compile("Y a & #(b) >= 2", "ab"), tmp_path / "m", 256)
    export = read_export(tmp_path / "m")
    assert isinstance(export.checkpoint, LlamaCheckpoint)
    found = derive(export.checkpoint, export.formulas)
    bounds = PlainBounds(found, True, STORAGES[0], None)
    bits = np.zeros(export.checkpoint.d_model)
    for off in (2.0**-7 - 2.0**-20, 2.0**-7):
        bits[3] = off
        if off < 2.0**-7:
            read = bounds.read(found.cells[-1], bits)
            assert read.norm.scale < 2.0**-7
            continue
        with pytest.raises(VoidError, match="not small"):
            bounds.read(found.cells[-1], bits)
    bounds.check()
    bounds.check_length(255)
    for k, average in enumerate(bounds.averages):
        read = average.read
        inexact = replace(read, off=read.off + 2.0**-6, norm=replace(read.norm, exact=False))
        bounds.averages[k] = replace(average, read=inexact)
    with pytest.raises(VoidError, match="of its size"):
        bounds.check_length(2)


def test_bounds_hold_in_the_residual_stream(tmp_path: Path) -> None:
    """What the certificate says of stored bits, against what a run has there."""
    formula = parse("(a S (b & Y a)) & !(Y b S a) | #(a & Y b) > 3")
    for positions, dtype in (("rope", "float32"), ("bits", "float32"), ("bits", "bfloat16")):
        folder = tmp_path / f"{positions}{dtype}"
        softhat.to_llama(softhat.compile(formula, "ab"), folder, 512, positions=positions)
        bounds = stated(folder)["formats"][dtype]["bounds"]
        labels = json.loads((folder / "labels.json").read_text())
        model = stock(folder, dtype)
        codes = long_words(511, 2, 3)
        first = np.full((len(codes), 1), model.config.bos_token_id)
        with torch.no_grad():
            run = model.model(
                torch.from_numpy(np.concatenate([first, codes], axis=1)), output_hidden_states=True
            )
        last = len(run.hidden_states) - 1
        for coordinate in labels["coordinates"]:
            for held in coordinate["holds"]:
                if held["role"] not in ("raw", "gate", "input", "position"):
                    continue
                for block in range(held["from"], last):  # the last is after the final norm
                    x = run.hidden_states[block].float().numpy()[..., coordinate["index"]]
                    off = float(np.abs(np.abs(x) - 1).max())
                    most = max(bounds["stored bit"], 2 * bounds["head output"] + 2**-23)
                    assert off <= most, (positions, dtype, held["what"], off)


def test_small_formats_need_digits(tmp_path: Path) -> None:
    model = softhat.compile("!c S a", "abc")
    softhat.to_llama(model, tmp_path / "rope", 1024)
    found = stated(tmp_path / "rope")
    assert found["max_length"] == {"float32": 1023, "bfloat16": 0, "float16": 0, "float64": 1023}
    assert "positions='bits'" in found["formats"]["bfloat16"]["reason"]
    # The limit is real: a sine of eight digits does not tell neighbours apart.
    codes = long_words(1023, 3, 5)[:4]
    formula = parse("!c S a")
    small = answers(stock(tmp_path / "rope", "bfloat16"), codes)
    assert (small != expected(formula, codes, "abc")).any()
    softhat.to_llama(model, tmp_path / "bits", 1024, positions="bits")
    assert stated(tmp_path / "bits")["max_length"]["bfloat16"] == 1023
    small = answers(stock(tmp_path / "bits", "bfloat16"), codes)
    assert (small == expected(formula, codes, "abc")).all()


def test_eager_attention_in_small_formats_is_not_certified(tmp_path: Path) -> None:
    model = softhat.compile("!c S a", "abc")
    softhat.to_llama(model, tmp_path / "out", 512, positions="bits", kernel="eager")
    found = stated(tmp_path / "out")
    assert found["max_length"]["float32"] == 511
    assert found["max_length"]["bfloat16"] == found["max_length"]["float16"] == 0
    assert "kernel='sdpa'" in found["formats"]["bfloat16"]["reason"]


def test_eager_counts_end_sooner(tmp_path: Path) -> None:
    model = softhat.compile("2*#(a) - 3*#(b) = 1", "ab")
    lengths = {}
    for kernel in ("sdpa", "eager"):
        softhat.to_llama(model, tmp_path / kernel, 4096, kernel=kernel)
        lengths[kernel] = stated(tmp_path / kernel)["max_length"]["float32"]
    assert lengths["sdpa"] == 4095 > lengths["eager"] > 500


def test_a_certificate_names_what_it_assumes(tmp_path: Path) -> None:
    softhat.to_llama("a S b", tmp_path / "out", 64)
    text = " ".join(stated(tmp_path / "out")["assumptions"])
    for word in ("RMSNorm", "frequencies", "silu", "from_pretrained", "position_ids"):
        assert word in text


# Attacks: weights and configurations that somebody changed


def right(folder: Path, formula: Formula, dtype: str, longest: int) -> bool:
    model = stock(folder, dtype, stated(folder)["kernel"])
    words = [all_codes(2, min(7, longest)), long_words(longest, 2, 9)]
    return all((answers(model, w) == expected(formula, w, "ab")).all() for w in words)


Mutation = Callable[[np.random.Generator, dict[str, Any]], None]


def scaled(name: str, low: float, high: float) -> Mutation:
    """All of one kind of matrix, in one block, times a factor."""

    def change(rng: np.random.Generator, tensors: dict[str, Any]) -> None:
        chosen = [key for key in tensors if name in key]
        key = chosen[int(rng.integers(len(chosen)))]
        tensors[key] = (tensors[key] * np.float32(rng.uniform(low, high))).astype(np.float32)

    return change


def touched(name: str) -> Mutation:
    """One entry that is not 0: zeroed, negated, doubled or moved a little."""

    def change(rng: np.random.Generator, tensors: dict[str, Any]) -> None:
        chosen = [key for key in tensors if name in key and np.any(tensors[key])]
        key = chosen[int(rng.integers(len(chosen)))]
        tensor = tensors[key].copy()
        places = np.argwhere(tensor)
        place = tuple(places[int(rng.integers(len(places)))])
        factors = (0.0, -1.0, 2.0, 0.5, 1.0 + rng.uniform(-0.3, 0.3), 1.0 + 2.0**-12)
        tensor[place] *= np.float32(factors[int(rng.integers(len(factors)))])
        tensors[key] = tensor

    return change


def planted(name: str) -> Mutation:
    """An entry where there was a 0."""

    def change(rng: np.random.Generator, tensors: dict[str, Any]) -> None:
        chosen = [key for key in tensors if name in key]
        key = chosen[int(rng.integers(len(chosen)))]
        tensor = tensors[key].copy()
        place = tuple(int(rng.integers(size)) for size in tensor.shape)
        tensor[place] += np.float32(rng.choice([1e-3, 0.1, 1.0, 30.0]) * rng.choice([-1, 1]))
        tensors[key] = tensor

    return change


def swapped(rng: np.random.Generator, tensors: dict[str, Any]) -> None:
    """Two rows of one matrix."""
    chosen = [key for key in tensors if tensors[key].ndim == 2 and len(tensors[key]) > 1]
    key = chosen[int(rng.integers(len(chosen)))]
    tensor = tensors[key].copy()
    a, b = rng.integers(len(tensor), size=2)
    tensor[[a, b]] = tensor[[b, a]]
    tensors[key] = tensor


KINDS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
OTHERS = ("embed_tokens", "norm", "score")
MUTATIONS: list[Mutation] = [
    *(touched(kind) for kind in (*KINDS, *OTHERS)),
    *(planted(kind) for kind in (*KINDS, *OTHERS)),
    *(scaled(kind, 0.2, 1.4) for kind in ("q_proj", "k_proj", "gate_proj", "o_proj")),
    swapped,
]
FORMULAS = ("a S (b & Y a)", "#(a) > #(b) | Y (a S b)", "Y Y a & !(b S Y b)", "2*#(a) - #(Y b) = 1")


def attack(seed: int, folder: Path) -> tuple[int, int]:
    """Changed weights: how many are still certified, and how many of those are wrong."""
    rng = np.random.default_rng(seed)
    formula = parse(FORMULAS[seed % len(FORMULAS)])
    positions: Any = ("rope", "bits")[seed // 4 % 2]
    context = int(rng.choice([16, 65, 200]))
    softhat.to_llama(softhat.compile(formula, "ab"), folder, context, positions=positions)
    tensors = load_file(folder / "model.safetensors")
    certified = wrong = 0
    for _ in range(12):
        changed = dict(tensors)
        for _ in range(int(rng.integers(1, 3))):
            MUTATIONS[int(rng.integers(len(MUTATIONS)))](rng, changed)
        save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
        lengths = softhat.certify(folder).max_length
        for dtype, longest in lengths.items():
            if longest and dtype != "float64":
                certified += 1
                wrong += not right(folder, formula, dtype, longest)
    return certified, wrong


def test_changed_weights_that_are_certified_are_right(tmp_path: Path) -> None:
    found = [attack(seed, tmp_path / f"{seed}") for seed in range(4)]
    assert sum(wrong for _, wrong in found) == 0
    assert sum(certified for certified, _ in found) > 0  # some changes do no harm


@pytest.mark.full
def test_many_changed_weights(tmp_path: Path) -> None:
    found = [attack(seed, tmp_path / f"{seed}") for seed in range(4, 84)]
    print(f"{80 * 12} changes, {sum(c for c, _ in found)} certified (format and change)")
    assert sum(wrong for _, wrong in found) == 0


def test_what_nobody_reads_must_be_a_number_too(tmp_path: Path) -> None:
    """0 times infinity is none: in units, values and keys that are written nowhere, and padding."""
    formula = "#(a) > #(b) & (a S b) | Y a"
    softhat.to_llama(softhat.compile(formula, "ab"), tmp_path / "out", 64)
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    plant: list[tuple[str, Any]] = [("model.embed_tokens.weight", (-1, 0))]
    for kind in ("up_proj", "gate_proj", "v_proj", "k_proj"):
        for name in (name for name in tensors if kind in name):
            plant += [(name, (row, 0)) for row in np.flatnonzero(~tensors[name].any(axis=1))[:1]]
    assert len(plant) > 4
    for name, place in plant:
        changed = {key: tensor.copy() for key, tensor in tensors.items()}
        changed[name][place] = 3.4e38
        save_file(changed, tmp_path / "out" / "model.safetensors", metadata={"format": "pt"})
        assert not any(softhat.certify(tmp_path / "out").max_length.values()), (name, place)


@pytest.mark.parametrize(
    "change",
    [
        {"rope_theta": 10000.0},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 2.0**24, "factor": 2.0}},
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 2.0**24, "factor": 2.0}},
        {"num_hidden_layers": 1},
        {"hidden_act": "gelu"},
        {"num_key_value_heads": 3},
        {"rms_norm_eps": 0.1},
        {"max_position_embeddings": 1 << 16},
        {"bos_token_id": 3},
        {"sliding_window": 4},
        {"model_type": "gemma2"},
    ],
    ids=str,
)
def test_a_changed_configuration_is_not_certified(change: dict[str, Any], tmp_path: Path) -> None:
    softhat.to_llama(softhat.compile("a S (b & Y a)", "ab"), tmp_path / "out", 64)
    path = tmp_path / "out" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, **change}))
    try:
        found = softhat.certify(tmp_path / "out")
    except softhat.SofthatError:
        return
    assert not any(found.max_length.values())
