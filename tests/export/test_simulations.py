"""Simulations in PyTorch, Hugging Face, ONNX and TransformerLens: their values, word by word.

The values are compared with those of an extended-precision softmax that shares no code with the
runtime or with the exports (`tests.ahat.running`).
"""

from __future__ import annotations

import json
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.words import all_words, random_words
from tests.ahat.running import wide_values
from tests.slices import every, sizes

torch = pytest.importorskip("torch")
NAMES = tuple(GALLERY)
SHORT = 6
"""All words to this length (as far as they are few), then random ones to the certified length."""
LONG = {"sort": 5, "histogram": 7, "a-b-c-in-equal-numbers": 4, "bounded-dyck-2": 4}
FEW = 3000
TIGHT = 1e-9


@lru_cache(maxsize=32)
def simulation(name: str) -> Simulation:
    made = softhat.simulate(GALLERY[name](), max_length=LONG.get(name, 9))
    assert isinstance(made, Simulation)
    return made


def batches(s: Simulation, full: bool) -> list[Any]:
    symbols, top = len(s.alphabet), s.length or 9
    words = [
        codes
        for n in range(1, min(SHORT if full else 4, top) + 1)
        for codes in all_words(symbols, n, FEW)
    ]
    if not full:
        words = [batch[:: max(1, len(batch) // 60)] for batch in words]
    return words + [random_words(symbols, n, 20, 7) for n in range(SHORT + 1, top + 1)]


def expected(s: Simulation, codes: Any) -> Any:
    return np.asarray(wide_values(s.source, s.betas, codes), np.float64)


def agree(s: Simulation, run: Any, full: bool) -> None:
    for codes in batches(s, full):
        assert np.abs(run(codes) - expected(s, codes)).max() < TIGHT


def module_values(module: Any, codes: Any, **options: Any) -> Any:
    with torch.no_grad():
        return module(torch.as_tensor(codes), **options)[..., 0].numpy()


@pytest.mark.parametrize("name", every(12, NAMES))
def test_torch(name: str) -> None:
    s = simulation(name)
    for kernel in ("sdpa", "eager"):
        module = softhat.to_torch(s, "float64", kernel=kernel)
        agree(s, lambda codes, m=module: module_values(m, codes), full=False)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_torch_on_all_short_words(name: str) -> None:
    s = simulation(name)
    module = softhat.to_torch(s, "float64")
    agree(s, lambda codes: module_values(module, codes), full=True)


@pytest.mark.parametrize("name", every(4, NAMES))
def test_the_runtime(name: str) -> None:
    s = simulation(name)
    agree(s, lambda codes: s.run_batch(codes, "float64")[..., 0], full=False)


def test_padding_anywhere_changes_nothing() -> None:
    for name in ("induction-latest", "dyck-argmin", "previous-token", "most-recent-occurrence"):
        s = simulation(name)
        module = softhat.to_torch(s, "float64")
        rng = np.random.default_rng(3)
        words = [random_words(len(s.alphabet), n, 1, n)[0] for n in (1, 3, 5, 8)]
        width = 10
        tokens, mask = np.zeros((4, width), int), np.zeros((4, width), int)
        places = [np.sort(rng.choice(width, len(w), replace=False)) for w in words]
        for row, (word, at) in enumerate(zip(words, places, strict=True)):
            tokens[row, at], mask[row, at] = word, 1
        found = module_values(module, tokens, attention_mask=torch.as_tensor(mask))
        for row, (word, at) in enumerate(zip(words, places, strict=True)):
            assert np.abs(found[row, at] - expected(s, word[None])[0]).max() < TIGHT


def run_onnx(file: Path) -> Any:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(file))
    return lambda codes: session.run(["margins"], {"tokens": codes})[0][..., 0]


@pytest.mark.parametrize("name", every(12, NAMES))
def test_onnx(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    s = simulation(name)
    softhat.to_onnx(s, tmp_path / "m.onnx", dtype="float64")
    agree(s, run_onnx(tmp_path / "m.onnx"), full=False)
    labels = json.loads((tmp_path / "m.labels.json").read_text())
    assert len(labels["heads"]) == s.size.heads
    certificate = json.loads((tmp_path / "m.certificate.json").read_text())
    assert certificate["max_length"]["float64"] <= s.certificate.max_length["float64"]


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_onnx_on_all_short_words(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    s = simulation(name)
    softhat.to_onnx(s, tmp_path / "m.onnx", dtype="float64")
    agree(s, run_onnx(tmp_path / "m.onnx"), full=True)


def hf_values(s: Simulation, folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    import softhat.export.huggingface  # noqa: F401

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()

    def run(words: list[Any]) -> list[Any]:
        texts = [" ".join(s.alphabet[c] for c in word) for word in words]
        found = []
        for side in ("right", "left"):
            tokenizer.padding_side = side
            batch = tokenizer(texts, return_tensors="pt", padding=True)
            with torch.no_grad():
                logits = model(**batch).logits[..., 1].numpy()
            sinks = set(tokenizer.all_special_ids)
            own = [
                [k for k, t in enumerate(row) if t not in sinks]
                for row in batch["input_ids"].tolist()
            ]
            found.append([logits[row, at] for row, at in enumerate(own)])
        for right, left in zip(*found, strict=True):
            assert np.abs(right - left).max() < TIGHT
        return found[0]

    return run


@pytest.mark.parametrize("name", every(12, NAMES))
def test_huggingface_with_padding_in_batches(name: str, tmp_path: Path) -> None:
    s = simulation(name)
    softhat.to_huggingface(s, tmp_path / "hf", dtype="float64")
    assert json.loads((tmp_path / "hf" / "ahat.json").read_text())["format"] == "softhat-ahat/1"
    run = hf_values(s, tmp_path / "hf")
    words = [word for codes in batches(s, full=False) for word in codes[:6]]
    for word, found in zip(words, run(words), strict=True):
        assert np.abs(found - expected(s, word[None])[0]).max() < TIGHT


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_huggingface_on_all_short_words(name: str, tmp_path: Path) -> None:
    s = simulation(name)
    softhat.to_huggingface(s, tmp_path / "hf", dtype="float64")
    run = hf_values(s, tmp_path / "hf")
    agree(s, lambda codes: np.array(run(list(codes))), full=True)


@pytest.mark.parametrize("step", sizes(3, 1))
def test_transformer_lens_where_its_mask_allows(step: int) -> None:
    pytest.importorskip("transformer_lens")
    from softhat.export.lens import to_transformer_lens

    fits = 0
    for name in NAMES[::step]:
        s = simulation(name)
        try:
            bridge = to_transformer_lens(s, context=10, dtype="float64")
        except softhat.SofthatError:
            continue
        fits += 1
        offset = int(s.source.bos)
        for codes in batches(s, full=False)[:6]:
            first = np.full((len(codes), offset), len(s.alphabet))
            tokens = torch.as_tensor(np.concatenate([first, codes], axis=1))
            with torch.no_grad():
                found = bridge(tokens)[..., 0].numpy()[:, offset:]
            assert np.abs(found - expected(s, codes)).max() < 1e-6
    assert fits >= 3 // step


def test_float32_stays_within_its_certificate() -> None:
    from softhat.export.certificates import export_certificate

    for name in ("induction-latest", "last-token", "majority"):
        s = simulation(name)
        reached = export_certificate(s, "torch")["max_length"]["float32"]
        module = softhat.to_torch(s)
        for codes in batches(s, full=False):
            if codes.shape[1] <= reached:
                exact = np.array([s.source.values(s.source.spell(w)) for w in codes], float)
                assert np.abs(module_values(module, codes) - exact).max() <= 1e-3


def test_a_simulation_pickles() -> None:
    s = simulation("induction-latest")
    again = pickle.loads(pickle.dumps(s))
    assert isinstance(again, Simulation)
    assert again.certificate == s.certificate and again.laws == s.laws
    assert np.array_equal(again.values("abba"), s.values("abba"))


def test_labels_name_what_wrote_a_coordinate() -> None:
    from softhat.export.native.labels import native_labels

    labels = native_labels(simulation("induction-latest").transformer)
    assert [h.label for h in labels.heads] == ["previous token", "latest match"]
    assert ("L0.H0", "L1.H0.k") in labels.edges and ("embed", "L0.H0.v") in labels.edges


# Exports are certified from their files


def exported(s: Simulation, kind: str, dtype: str, folder: Path) -> Path:
    path = folder / ("m.onnx" if kind == "onnx" else "m")
    match kind:
        case "torch":
            from softhat.export.torch import to_torch_file

            to_torch_file(s, path, dtype)
        case "huggingface":
            softhat.to_huggingface(s, path, dtype)
        case _:
            pytest.importorskip("onnx")
            softhat.to_onnx(s, path, dtype)
    return path


THIRDS = {
    "format": "softhat-ahat/1", "alphabet": ["a", "b"], "bos": False, "positions": ["1", "i"],
    "embedding": {"a": ["1/3", "0", "0"], "b": ["-2/7", "0", "0"]},
    "position_embedding": [["0", "0"], ["0", "1"], ["0", "0"]],
    "layers": [{"heads": [{"mask": "<=", "query": [["0", "1", "0"]], "key": [["1", "0", "0"]],
                           "value": [["1", "0", "0"]], "output": [["0"], ["0"], ["1"]]}],
                "feed_forward": None}],
    "output": {"weights": ["0", "0", "1"], "bias": "1/5"},
}  # fmt: skip
"""Weights that no format holds."""


@pytest.mark.parametrize(
    ("name", "kind"),
    every(
        2,
        [
            ("thirds", "huggingface"),
            ("induction-latest", "huggingface"),
            ("thirds", "onnx"),
            ("induction-latest", "onnx"),
            ("induction-latest", "torch"),
            ("thirds", "torch"),
        ],
    ),
)
def test_an_export_is_certified_from_its_weights(name: str, kind: str, tmp_path: Path) -> None:
    source = softhat.ahat.loads(json.dumps(THIRDS)) if name == "thirds" else GALLERY[name]()
    s = softhat.simulate(source, max_length=6)
    for dtype in ("float32", "float64"):
        folder = tmp_path / dtype
        folder.mkdir()
        path = exported(s, kind, dtype, folder)
        found = softhat.certify(path)
        assert found.ok, (found.void, found.disagrees)
        assert found.max_length[dtype] >= 5
        # What float32 has lost is not back in float64.
        lossy = name == "thirds" and dtype == "float32"
        assert (found.max_length["float64"] == 0) == lossy
        assert softhat.verify(path, exhaustive=3, random=5, max_length=6, dtype=dtype).ok


@pytest.mark.parametrize("kind", ["torch", "huggingface"])
def test_changed_exports_are_refused(kind: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = exported(simulation("induction-latest"), kind, "float32", tmp_path)
    tensors = load_file(path / "model.safetensors")
    name = next(n for n in sorted(tensors) if n.endswith("query.weight"))
    changed = tensors[name].copy()
    changed[tuple(np.argwhere(changed)[0])] *= np.float32(1 + 2.0**-20)
    save_file({**tensors, name: changed}, path / "model.safetensors")
    with pytest.raises(softhat.SofthatError, match="does not follow from ahat"):
        softhat.certify(path)
    save_file(tensors, path / "model.safetensors")
    stated = json.loads((path / "certificate.json").read_text())
    (path / "certificate.json").write_text(json.dumps({**stated, "epsilon": 1e-12}))
    forged = softhat.certify(path)
    assert not forged.ok or set(forged.max_length.values()) == {0}
    (path / "certificate.json").write_text(json.dumps({**stated, "length": -3}))
    with pytest.raises(softhat.SofthatError, match="no such length"):
        softhat.certify(path)


def test_every_length_is_certified_from_an_export(tmp_path: Path) -> None:
    s = softhat.simulate(GALLERY["last-token"](), epsilon=1e-3)
    assert s.length is None
    path = exported(s, "torch", "float64", tmp_path)
    found = softhat.certify(path)
    assert found.ok and found.max_length["float64"] > 100
    assert found.document["guarantee"] == "proved_all"
