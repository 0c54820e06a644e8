"""Models of RASP programs in other formats: run there, they give the values of plain Python, and
the certificate is proved again from what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.export.checking import ExportCertificate, certify
from softhat.models.value_model import ValueModel
from tests.frontends.rasp.cases import CASES, Case

torch = pytest.importorskip("torch")

NAMES = ["hist", "sort", "reverse", "frac_prevs", "shuffle_dyck", "induction", "numerical hist"]
CHOSEN = [case for case in CASES if case.name in NAMES]
LENGTH = 12


def compiled(case: Case) -> ValueModel:
    return softhat.compile(case.program, alphabet=case.alphabet, max_length=LENGTH)


def some_words(case: Case) -> list[list[Any]]:
    dice = np.random.default_rng(2)
    lengths = [1, 2, 5, LENGTH, LENGTH]
    return [[case.alphabet[k] for k in dice.integers(0, len(case.alphabet), n)] for n in lengths]


def right(case: Case, model: ValueModel, word: list[Any], rows: Any) -> bool:
    """Do the outputs that another tool computed decode to what plain Python says?"""
    for found, expected in zip(model.decoded(rows), case.meaning(word), strict=True):
        if found is None or expected is None:
            if found is not expected:
                return False
        elif isinstance(found, float):
            if not abs(found - expected) <= model.certificate.error + 1e-6:
                return False
        elif found != expected:
            return False
    return True


def is_proved(path: Path) -> bool:
    found = certify(path)
    assert isinstance(found, ExportCertificate)
    return found.ok and found.max_length["float32"] == LENGTH


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_a_torch_folder(case: Case, tmp_path: Path) -> None:
    from softhat.export.architecture.module_softhat import SofthatTransformer
    from softhat.export.torch import to_torch_file

    model = compiled(case)
    to_torch_file(model, tmp_path / "m")
    module = SofthatTransformer.load(tmp_path / "m")
    for word in some_words(case):
        with torch.no_grad():
            rows = module(torch.from_numpy(model.encode(word))[None])[0].numpy()
        assert right(case, model, word, rows)
    assert is_proved(tmp_path / "m")


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_a_hugging_face_folder(case: Case, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    import softhat.export.huggingface

    model = compiled(case)
    softhat.to_huggingface(model, tmp_path / "m")
    loaded = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "m").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    assert tuple(loaded.config.id2label.values()) == model.transformer.outputs
    names = dict(zip(model.alphabet, model.transformer.symbols, strict=True))
    for word in some_words(case):
        written = " ".join(names[token] for token in word)
        given = tokenizer(written, return_tensors="pt")
        with torch.no_grad():
            rows = loaded(**given).logits[0].numpy()
        assert right(case, model, word, rows[1 : 1 + len(word)])
    assert is_proved(tmp_path / "m")


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_an_onnx_file(case: Case, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = compiled(case)
    softhat.to_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for word in some_words(case):
        (rows,) = session.run(["margins"], {"tokens": model.encode(word)[None].astype(np.int64)})
        assert right(case, model, word, rows[0])
    assert is_proved(tmp_path / "m.onnx")


def test_exports_are_verified_and_what_they_state_is_checked(tmp_path: Path) -> None:
    from softhat.export.torch import to_torch_file

    case = next(case for case in CASES if case.name == "frac_prevs")
    to_torch_file(compiled(case), tmp_path / "m")
    assert softhat.verify(tmp_path / "m", exhaustive=3, random=5).ok
    path = tmp_path / "m" / "certificate.json"
    stated = json.loads(path.read_text())
    for change, said in (
        ({"errors": {**stated["errors"], "float32": 0.0}}, "another error of numbers"),
        ({"max_length": {**stated["max_length"], "float16": 999}}, "999 for float16"),
        ({"digest": "sha256:0"}, "other weights"),
    ):
        path.write_text(json.dumps({**stated, **change}))
        found = certify(tmp_path / "m")
        assert not found.ok
        assert any(said in reason for reason in found.disagrees)


def test_another_program_is_not_proved(tmp_path: Path) -> None:
    """`rasp.json` of another program with the same outputs: the weights do not compute it."""
    from softhat import rasp
    from softhat.export.torch import to_torch_file

    for name, token in (("a", "a"), ("b", "b")):
        program = rasp.lib.make_count(rasp.tokens, token)
        model = softhat.compile(program, alphabet="ab", max_length=8)
        to_torch_file(model, tmp_path / name)
    other = (tmp_path / "b" / "rasp.json").read_text()
    (tmp_path / "a" / "rasp.json").write_text(other)
    found = certify(tmp_path / "a")
    assert not found.ok
    assert found.void


def test_refusals(tmp_path: Path) -> None:
    model = compiled(CHOSEN[0])
    with pytest.raises(SofthatError, match="leave output out"):
        softhat.to_huggingface(model, tmp_path / "m", output=model.transformer.outputs[0])
    with pytest.raises(SofthatError, match="sees only the past"):
        softhat.to_gpt2(model, tmp_path / "m")


@pytest.mark.parametrize("kind", ["torch", "huggingface"])
def test_another_program_beside_the_weights_is_one_line(kind: str, tmp_path: Path) -> None:
    """Other tokens, or other outputs, than those of the weights."""
    from softhat.export.torch import to_torch_file

    model = softhat.compile(CHOSEN[0].program, alphabet="ab", max_length=5)
    other = softhat.compile(CHOSEN[0].program, alphabet="cd", max_length=5)
    further = softhat.compile(CHOSEN[1].program, alphabet="ab", max_length=5)
    export: Any = to_torch_file if kind == "torch" else softhat.to_huggingface
    export(model, tmp_path / "m")
    for claimed in (other, further):
        for name, data in claimed.meaning().items():
            (tmp_path / "m" / name).write_bytes(data)
        with pytest.raises(SofthatError, match=r"different (alphabets|outputs)") as raised:
            certify(tmp_path / "m")
        assert "\n" not in str(raised.value)
