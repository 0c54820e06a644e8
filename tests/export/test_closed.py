"""Files mean what they say: whatever is added to an export, left out or changed is refused."""

from __future__ import annotations

import importlib.util
import json
import marshal
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.closed import check_document
from softhat.export.torch import to_torch_file

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("nobody_saves")

FORMULA = "(!b S a) & O b"
LM = {"a": "!a", "b": "a", "<eos>": "!a"}
STOCK = ("gpt2", "llama", "mistral", "qwen2")
NATIVE = ("torch", "huggingface")


def written(kind: str, folder: Path, head: str = "token-classification", **options: Any) -> Path:
    """A small export of a kind."""
    formulas: Any = FORMULA if head == "token-classification" else LM
    model = softhat.compile(formulas, alphabet="ab")
    if kind == "torch":
        to_torch_file(model, folder, **options)
    elif kind == "huggingface":
        softhat.to_huggingface(model, folder, **options)
    elif kind == "gpt2":
        softhat.to_gpt2(model, folder, 16, head=head, **options)
    else:
        softhat.to_llama(model, folder, 16, family=kind, head=head, **options)
    return folder


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("exports")
    return {kind: written(kind, place / kind) for kind in (*STOCK, *NATIVE)}


@pytest.fixture(scope="module")
def language_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("lms")
    return {kind: written(kind, place / kind, "lm") for kind in STOCK}


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "copy", dirs_exist_ok=True))


def changed(folder: Path, name: str, change: Any) -> None:
    """A document with a change made in place by `change`."""
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))


def refused(folder: Path) -> str:
    """What is said of a folder that is not to be certified."""
    with pytest.raises(softhat.SofthatError) as raised:
        softhat.certify(folder)
    text = str(raised.value)
    assert "\n" not in text and len(text) < 400
    return text


@pytest.mark.parametrize("kind", [*STOCK, *NATIVE])
def test_what_softhat_writes_is_read(kind: str, exports: dict[str, Path]) -> None:
    found = softhat.certify(exports[kind])
    assert found.ok and found.max_length["float32"] >= 15


NAMED: list[tuple[str, str, dict[str, Any]]] = [
    ("gpt2", "config.json", {"is_causal": False}),
    ("llama", "config.json", {"is_causal": False}),
    ("gpt2", "config.json", {"id2label": {"0": "true", "1": "false"}}),
    ("llama", "config.json", {"id2label": {"0": "true", "1": "false"}}),
    ("gpt2", "config.json", {"label2id": {"true": 0, "false": 1}}),
    ("gpt2", "tokenizer.json", {"normalizer": {"type": "Lowercase"}}),
    ("gpt2", "tokenizer.json", {"post_processor": None}),
    ("llama", "tokenizer.json", {"truncation": {"max_length": 4, "strategy": "LongestFirst",
                                               "stride": 0, "direction": "Right"}}),
    ("llama", "tokenizer_config.json", {"padding_side": "left"}),
    ("gpt2", "tokenizer_config.json", {"chat_template": "x"}),
    ("gpt2", "tokenizer_config.json", {"add_prefix_space": True}),
    ("gpt2", "special_tokens_map.json", {"bos_token": "<eos>"}),
    ("gpt2", "config.json", {"n_ctx": 4}),
    ("gpt2", "config.json", {"hidden_size": 8}),
    ("gpt2", "config.json", {"num_hidden_layers": 1}),
    ("gpt2", "config.json", {"_attn_implementation": "eager"}),
    ("gpt2", "config.json", {"dtype": "float16"}),
    ("gpt2", "config.json", {"torch_dtype": "bfloat16"}),
    ("gpt2", "config.json", {"quantization_config": {"load_in_8bit": True}}),
    ("gpt2", "config.json", {"auto_map": {"AutoConfig": "a.B"}}),
    ("gpt2", "config.json", {"pruned_heads": {"0": [0]}}),
    ("gpt2", "config.json", {"scale_attn_by_inverse_layer_idx": True}),
    ("gpt2", "config.json", {"reorder_and_upcast_attn": True}),
    ("gpt2", "config.json", {"add_cross_attention": True}),
    ("gpt2", "config.json", {"tie_word_embeddings": True}),
    ("gpt2", "config.json", {"resid_pdrop": 0.5}),
    ("gpt2", "config.json", {"activation_function": "gelu"}),
    ("mistral", "config.json", {"sliding_window": 4}),
    ("qwen2", "config.json", {"use_sliding_window": True}),
    ("qwen2", "config.json", {"layer_types": None}),
    ("llama", "config.json", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    ("llama", "config.json", {"rope_theta": 10000.0}),
    ("llama", "config.json", {"partial_rotary_factor": 0.5}),
    ("llama", "config.json", {"per_layer_config": {"0": {"attention_bias": True}}}),
    ("llama", "config.json", {"transformers_weights": "other.safetensors"}),
    ("llama", "config.json", {"fusion_config": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "change"), NAMED, ids=str)
def test_named_changes(
    kind: str, name: str, change: dict[str, Any], exports: dict[str, Path], tmp_path: Path
) -> None:
    folder = copied(exports[kind], tmp_path)
    changed(folder, name, lambda document: document.update(change))
    try:
        found = softhat.certify(folder)
    except softhat.SofthatError:
        return
    assert found.void and not any(found.max_length.values())


@pytest.mark.parametrize("kind", [*STOCK, *NATIVE])
def test_every_key_of_a_configuration_is_required(
    kind: str, exports: dict[str, Path], tmp_path: Path
) -> None:
    """Missing, of another type, of another value: whatever the class's default is."""
    check_every_key(copied(exports[kind], tmp_path), 20)


@pytest.mark.full
@pytest.mark.parametrize("kind", [*STOCK, *NATIVE])
def test_all_changes_of_every_key(kind: str, exports: dict[str, Path], tmp_path: Path) -> None:
    check_every_key(copied(exports[kind], tmp_path), None)


def check_every_key(folder: Path, count: int | None) -> None:
    """`count` changes of each document, and every key left out; all changes, if it is None."""
    rng = np.random.default_rng(0)
    honest = {name: json.loads((folder / name).read_text()) for name in documents(folder)}
    honest["config.json"].pop("softhat_files")  # nobody reads which files softhat may replace
    for name, document in honest.items():
        changes = list(one_field_changed(document))
        if count is not None:
            picked = rng.permutation(len(changes))[:count]
            without = [{k: v for k, v in document.items() if k != key} for key in document]
            changes = [*without, *(changes[at] for at in picked)]
        for other in changes:
            (folder / name).write_text(json.dumps(other))
            try:
                found = softhat.certify(folder)
            except softhat.SofthatError as error:
                assert "\n" not in str(error)
                continue
            if found.kind in STOCK and other.get("attn_implementation") == "eager":
                assert not found.ok and found.document["kernel"] == "eager"  # as it says
                continue
            assert found.void or not any(found.max_length.values()), (name, other)
        (folder / name).write_text(json.dumps(document))
    assert softhat.certify(folder).ok


def documents(folder: Path) -> list[str]:
    stated = {"labels.json", "certificate.json"}
    return sorted(path.name for path in folder.glob("*.json") if path.name not in stated)


def one_field_changed(document: Any) -> Iterator[Any]:
    """The document with a field left out, of another type, of another value, or with one more."""
    for path in paths(document):
        for change in (missing, None, True, False, 0, 1, -3, 0.5, "", "eager", [], {}, [1]):
            other = json.loads(json.dumps(document))
            *way, last = path
            inner = other
            for step in way:
                inner = inner[step]
            old = inner[last]
            if change is missing:
                del inner[last]
            elif type(old) is type(change) and old == change:
                continue
            else:
                inner[last] = change
            yield other
    for path in [[], *(p for p in paths(document))]:
        other = json.loads(json.dumps(document))
        inner = other
        for step in path:
            inner = inner[step]
        if isinstance(inner, dict):
            inner["one_more"] = 1
            yield other
        if isinstance(inner, list):
            inner.append(inner[0] if inner else 1)
            yield other


missing = object()


def paths(document: Any) -> Iterator[list[Any]]:
    entries: Any = ()
    if isinstance(document, dict):
        entries = document.items()
    elif isinstance(document, list):
        entries = enumerate(document)
    for key, value in entries:
        yield [key]
        yield from ([key, *rest] for rest in paths(value))


def test_the_kernel_is_the_configurations(exports: dict[str, Path], tmp_path: Path) -> None:
    """`certificate.json` is a statement: what runs is what `config.json` chooses."""
    for kind in ("gpt2", "llama"):
        folder = copied(exports[kind], tmp_path / kind)
        changed(folder, "config.json", lambda d: d.update(attn_implementation="eager"))
        found = softhat.certify(folder)
        assert found.document["kernel"] == "eager" and not found.ok
        assert any("kernel" in reason for reason in found.disagrees)
        eager = written(kind, tmp_path / "eager" / kind, kernel="eager")
        assert softhat.certify(eager).ok
        assert softhat.certify(eager).max_length == found.max_length
        changed(folder, "config.json", lambda d: d.pop("attn_implementation"))
        assert "attn_implementation" in refused(folder)
        model = transformers.AutoModelForTokenClassification.from_pretrained(eager)
        assert model.config._attn_implementation == "eager"


def test_mistral_without_its_window(exports: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(exports["mistral"], tmp_path)
    changed(folder, "config.json", lambda document: document.pop("sliding_window"))
    assert "sliding_window is missing" in refused(folder)


EXTRA_FILES = (
    "pytorch_model.bin", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
    "adapter_config.json", "adapter_model.safetensors", "chat_template.jinja", "added_tokens.json",
    "tokenizer.model", "vocab.json", "merges.txt", "modeling.py", "preprocessor_config.json",
    "generation_config.json", "tf_model.h5", "params.json",
)  # fmt: skip


@pytest.mark.parametrize("kind", [*STOCK, *NATIVE])
def test_files_that_are_no_part_of_it(kind: str, exports: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(exports[kind], tmp_path)
    for name in EXTRA_FILES:
        (folder / name).write_text("{}")
        assert name in refused(folder)
        (folder / name).unlink()
    (folder / "custom_generate").mkdir()
    assert "custom_generate" in refused(folder)
    (folder / "custom_generate").rmdir()
    (folder / "LICENSE").write_text("free")
    (folder / ".git").mkdir()
    assert softhat.certify(folder).ok
    for name in {path.name for path in folder.iterdir()} & {
        "tokenizer_config.json", "special_tokens_map.json", "module_softhat.py",
        "modeling_softhat.py", "configuration_softhat.py",
    }:  # fmt: skip
        text = (folder / name).read_text()
        (folder / name).unlink()
        assert name in refused(folder)
        (folder / name).write_text(text)


@pytest.mark.parametrize("kind", [*STOCK, *NATIVE])
def test_tensors_that_are_no_part_of_it(
    kind: str, exports: dict[str, Path], tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied(exports[kind], tmp_path)
    tensors = load_file(folder / "model.safetensors")
    d = 8
    extra = (
        "wte.weight", "transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias",
        "transformer.ln_f.gamma", "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.0.self_attn.o_proj.bias", "model.layers.9.input_layernorm.weight",
        "transformer.h.9.ln_1.weight", "lm_head.weight", "embed_tokens.weight", "score.bias_2",
        "model.rotary_emb.inv_freq",
    )  # fmt: skip
    for name in extra:
        assert name not in tensors
        more = {**tensors, name: np.ones(d, np.float32)}
        save_file(more, folder / "model.safetensors", metadata={"format": "pt"})
        assert "tensor" in refused(folder)
    for name in tensors:
        fewer = {n: t for n, t in tensors.items() if n != name}
        save_file(fewer, folder / "model.safetensors", metadata={"format": "pt"})
        assert name.removeprefix("softhat.body.") in refused(folder)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "tf"})
    assert "metadata" in refused(folder)


@pytest.mark.parametrize("kind", STOCK)
def test_how_a_language_model_is_sampled(
    kind: str, language_models: dict[str, Path], tmp_path: Path
) -> None:
    folder = copied(language_models[kind], tmp_path)
    assert softhat.certify(folder).ok
    name = "generation_config.json"
    honest = json.loads((folder / name).read_text())
    for other in one_field_changed(honest):
        (folder / name).write_text(json.dumps(other))
        assert name in refused(folder)
    (folder / name).unlink()
    assert name in refused(folder)


def with_tensors(folder: Path, **changed: Any) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, **changed}, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("kind", STOCK)
@pytest.mark.parametrize("disguise", [None, 3])
@pytest.mark.parametrize("value", [2.0**127, np.nan, 1.5])
def test_the_row_of_padding(kind: str, disguise: int | None, value: float, tmp_path: Path) -> None:
    """Padding is masked, but 0 times infinity is no number."""
    from safetensors.numpy import load_file

    if disguise is not None and kind not in ("gpt2", "llama"):
        pytest.skip("one of a kind")
    folder = written(kind, tmp_path / "m", disguise=disguise)
    name = "transformer.wte.weight" if kind == "gpt2" else "model.embed_tokens.weight"
    table = load_file(folder / "model.safetensors")[name].copy()
    table[-1, 0:2] = value, -value
    with_tensors(folder, **{name: table})
    found = softhat.certify(folder)
    assert not any(found.max_length.values()), found.max_length


@pytest.mark.parametrize("formula", [FORMULA, "F a", "#*(a) > #(b)"])
def test_rows_of_tokens_that_no_word_has(formula: str, tmp_path: Path) -> None:
    """The own architecture's embedding has rows for both sinks, used or not."""
    from safetensors.numpy import load_file

    model = softhat.compile(formula, alphabet="ab")
    softhat.to_huggingface(model, tmp_path / "m")
    assert softhat.certify(tmp_path / "m").ok
    name = "softhat.body.embedding.weight"
    honest = load_file(tmp_path / "m" / "model.safetensors")[name]
    for row in (-1, -2):
        for value in (np.nan, 1.0, 2.0**127):
            table = honest.copy()
            table[row, 0] += value
            with_tensors(tmp_path / "m", **{name: table})
            try:
                assert softhat.certify(tmp_path / "m").void
            except softhat.SofthatError as error:
                assert name in str(error)


@pytest.mark.parametrize("head", ["token-classification", "multi-label", "lm"])
@pytest.mark.parametrize("margin", [1e-7, 1e-30, 1e-44])
def test_margins_that_a_format_does_not_hold(head: str, margin: float, tmp_path: Path) -> None:
    """What is certified is right: logits do not vanish."""
    torch = pytest.importorskip("torch")
    folder = written("gpt2", tmp_path / "m", head, margin=margin)
    lengths = softhat.certify(folder).max_length
    assert not lengths["float16"]
    for dtype, length in lengths.items():
        if length:
            model = softhat.verify(
                folder, exhaustive=4, random=8, adversarial=0, max_length=8, dtype=dtype
            )
            assert model.ok
    auto = getattr(
        transformers, "GPT2LMHeadModel" if head == "lm" else "GPT2ForTokenClassification"
    )
    logits = auto.from_pretrained(folder, dtype=torch.float16)(torch.tensor([[2, 0, 1]])).logits
    assert not logits.any()  # so there was something to refuse


def test_types_are_compared() -> None:
    check_document("here", {"a": [1, {"b": 0.5}]}, {"a": [1, {"b": 0.5}]})
    others: list[Any] = [{"a": [True, {"b": 0.5}]}, {"a": [1.0, {"b": 0.5}]}, {"a": [1]}, [], None]
    for other in others:
        with pytest.raises(softhat.SofthatError, match="here: "):
            check_document("here", other, {"a": [1, {"b": 0.5}]})


@pytest.mark.parametrize("kind", NATIVE)
def test_bytecode_beside_the_program(kind: str, exports: dict[str, Path], tmp_path: Path) -> None:
    """Python runs `__pycache__` in place of the source, and need not compare the two (PEP 552)."""
    folder = copied(exports[kind], tmp_path)
    source = folder / "module_softhat.py"
    code = compile(source.read_text() + "\nplanted = True\n", str(source), "exec")
    unchecked = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    compiled = Path(importlib.util.cache_from_source(str(source)))
    compiled.parent.mkdir()
    compiled.write_bytes(unchecked + marshal.dumps(code))
    if kind == "torch":  # so there is something to refuse
        command = [sys.executable, "-c", "import module_softhat as m; print(m.planted)"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert ran.stdout == "True\n"
    assert "__pycache__" in refused(folder)


def weak(folder: Path, kind: str) -> Path:
    """A language model whose logits float16 does not hold: they are all 0 there."""
    return written(kind, folder, "lm", margin=1e-7)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("margin", [-5, 0, -0.0, -1e9, None, [], "-inf", "nan", True, missing])
def test_a_margin_that_is_none(kind: str, margin: Any, tmp_path: Path) -> None:
    """A margin is a claim: one that wrong logits keep proves nothing."""
    folder = weak(tmp_path / "m", kind)

    def claim(document: dict[str, Any]) -> None:
        del document["margin"]
        if margin is not missing:
            document["margin"] = margin

    changed(folder, "certificate.json", claim)
    try:
        certified = softhat.certify(folder)
    except softhat.SofthatError as error:
        assert "margin" in str(error) and "\n" not in str(error)
    else:
        assert certified.void and not any(certified.max_length.values())
