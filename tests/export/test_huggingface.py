"""The Hugging Face folder gives the formula's truth after a save and load round trip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.slices import every

os.environ["HF_HUB_OFFLINE"] = "1"

import softhat
from softhat.io.errors import SofthatError
from tests.export.suite import TARGETS, chosen, expected, long_words, wrong
from tests.without_softhat import run_script

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
transformers.utils.logging.disable_progress_bar()

from softhat.export.huggingface import SofthatConfig, SofthatForTokenClassification, to_huggingface  # noqa: E402


def loaded(folder: Path, **options: Any) -> tuple[Any, Any]:
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder, **options)
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def texts(codes: Any) -> list[str]:
    return [" ".join("ab"[c] for c in word) for word in codes.tolist()]


def truth_of(model: Any, tokenizer: Any, codes: Any) -> Any:
    """The labels of the words' own tokens, through the tokenizer where words are few."""
    if len(codes) <= 64:
        batch = tokenizer(texts(codes), return_tensors="pt")
    else:  # as the test below says, token k is symbol k
        bos, *word = tokenizer(texts(codes[:1]))["input_ids"][0]
        ends = [word[-1]] if len(word) > codes.shape[1] else []
        rows = [[bos, *word, *ends] for word in codes.tolist()]
        batch = {"input_ids": torch.tensor(rows)}
    with torch.no_grad():
        logits = model(**batch).logits
    return logits[:, 1 : codes.shape[1] + 1].argmax(-1).bool().numpy()


@pytest.mark.parametrize("part", every(8, range(8)))
def test_truth_on_100_formulas_after_a_round_trip(part: int, tmp_path: Path) -> None:
    for k, (formula, target) in enumerate(chosen(100)[part::8]):
        to_huggingface(softhat.compile(formula, alphabet="ab", attention=target), tmp_path / "m")
        model, tokenizer = loaded(tmp_path / "m")
        failed = wrong(formula, lambda codes, m=model, t=tokenizer: truth_of(m, t, codes), k, 60)
        assert not failed, (formula, target)


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_truth_on_all_formulas_after_a_round_trip(target: str, tmp_path: Path) -> None:
    for k, (formula, _) in enumerate(chosen(1000)):
        to_huggingface(softhat.compile(formula, alphabet="ab", attention=target), tmp_path / "m")
        model, tokenizer = loaded(tmp_path / "m")
        failed = wrong(formula, lambda codes, m=model, t=tokenizer: truth_of(m, t, codes), k, 200)
        assert not failed, (formula, target)


def test_bfloat16_within_its_certified_length(tmp_path: Path) -> None:
    for k, (formula, target) in enumerate(chosen(6)):
        to_huggingface(softhat.compile(formula, alphabet="ab", attention=target), tmp_path / "m")
        certificate = json.loads((tmp_path / "m" / "certificate.json").read_text())
        longest = min(certificate["max_length"]["bfloat16"], 200)
        model, tokenizer = loaded(tmp_path / "m", dtype=torch.bfloat16)
        assert model.dtype == torch.bfloat16
        if longest >= 8:
            assert not wrong(
                formula, lambda codes, m=model, t=tokenizer: truth_of(m, t, codes), k, longest
            )


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("masked", [True, False])
def test_batches_of_different_lengths(side: str, masked: bool, tmp_path: Path) -> None:
    """Padding on either side, with the mask or without, gives the answers of one by one."""
    rng = np.random.default_rng(7)
    for formula, target in chosen(4):
        to_huggingface(softhat.compile(formula, alphabet="ab", attention=target), tmp_path / "m")
        model, tokenizer = loaded(tmp_path / "m")
        words = [rng.integers(0, 2, n) for n in (1, 9, 4, 2, 7)]
        tokenizer.padding_side = side
        written = [" ".join("ab"[c] for c in word) for word in words]
        batch = tokenizer(written, return_tensors="pt", padding=True)
        own = torch.stack([batch["input_ids"] == tokenizer.vocab[s] for s in "ab"]).any(0)
        with torch.no_grad():
            logits = model(**batch if masked else {"input_ids": batch["input_ids"]}).logits
        for row, word in enumerate(words):
            got = logits[row][own[row]].argmax(-1).bool().numpy()
            assert (got == expected(formula, word[None], "ab")[0]).all(), (formula, target)


def test_tokens_are_the_symbols_in_order(tmp_path: Path) -> None:
    to_huggingface(softhat.compile("F b", alphabet=["b", "a", "long one"]), tmp_path / "m")
    _, tokenizer = loaded(tmp_path / "m")
    assert tokenizer("b a long▁one b")["input_ids"] == [3, 0, 1, 2, 0, 4]
    with pytest.raises(Exception, match="from b a long▁one"):
        tokenizer("b c")


def test_pipeline(tmp_path: Path) -> None:
    to_huggingface(softhat.compile("!c S a", alphabet="abc"), tmp_path / "m")
    run = transformers.pipeline("token-classification", model=str(tmp_path / "m"))
    assert [token["entity"] for token in run("b a b c")] == ["false", "true", "true", "false"]


def test_propositions_are_tokens_of_sets(tmp_path: Path) -> None:
    formula = softhat.parse("(p & !q) S r")
    to_huggingface(softhat.compile(formula, propositions=["p", "q", "r"]), tmp_path / "m")
    model, tokenizer = loaded(tmp_path / "m")
    rng = np.random.default_rng(0)
    word = [{x for x in "pqr" if rng.random() < 0.5} for _ in range(40)]
    text = " ".join("{" + ",".join(x for x in "pqr" if x in step) + "}" for step in word)
    logits = model(**tokenizer(text, return_tensors="pt")).logits
    assert (logits[0, 1:41].argmax(-1).bool().numpy() == formula.truth(word)).all()


def test_loads_where_softhat_is_not_installed(tmp_path: Path) -> None:
    to_huggingface(softhat.compile("#(a) > #>(b)", alphabet="ab"), tmp_path / "m")
    script = tmp_path / "load.py"
    script.write_text(
        "from transformers import AutoModelForTokenClassification, AutoTokenizer\n"
        "model = AutoModelForTokenClassification.from_pretrained('m', trust_remote_code=True)\n"
        "tokenizer = AutoTokenizer.from_pretrained('m', trust_remote_code=True)\n"
        "print(model(**tokenizer('a b a a', return_tensors='pt')).logits[0, 1:5].argmax(-1))\n"
    )
    done = run_script(script, folder=tmp_path)
    assert done.code == 0, done.err
    want = softhat.parse("#(a) > #>(b)").truth("abaa").astype(int).tolist()
    assert done.out.strip() == f"tensor({want})"


def test_save_pretrained_after_fine_tuning(tmp_path: Path) -> None:
    to_huggingface(softhat.compile("b S Y a", alphabet="ab"), tmp_path / "m")
    model, tokenizer = loaded(tmp_path / "m")
    codes = long_words(12, 2, 3)
    batch = tokenizer(texts(codes), return_tensors="pt")
    labels = torch.full_like(batch["input_ids"], -100)
    labels[:, 1:13] = torch.as_tensor(expected(softhat.parse("b S Y a"), codes, "ab")).long()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    losses = []
    for _ in range(4):
        loss = model(**batch, labels=labels).loss
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses == sorted(losses, reverse=True)
    model.save_pretrained(tmp_path / "tuned")
    again = SofthatForTokenClassification.from_pretrained(tmp_path / "tuned")
    assert torch.equal(again(**batch).logits, model(**batch).logits)


def test_maps_and_hidden_states(tmp_path: Path) -> None:
    compiled = softhat.compile("Y a & X b", alphabet="ab")
    to_huggingface(compiled, tmp_path / "m", dtype="float64")
    model, tokenizer = loaded(tmp_path / "m")
    eager, _ = loaded(tmp_path / "m", attn_implementation="eager")
    batch = tokenizer("a b b a b", return_tensors="pt")
    out = model(**batch, output_attentions=True, output_hidden_states=True)
    kept = compiled.run("abbab", dtype="float64")
    for ours, theirs in zip(out.attentions, kept.attention, strict=True):
        assert np.allclose(ours[0].detach().numpy(), theirs, atol=1e-12)
    for ours, theirs in zip(out.hidden_states, kept.residual, strict=True):
        assert np.allclose(ours[0].detach().numpy(), theirs, atol=1e-12)
    assert torch.equal(eager(**batch).logits, out.logits)
    names = [
        label["label"] for label in json.loads((tmp_path / "m/labels.json").read_text())["heads"]
    ]
    assert names == [label for layer in kept.heads for label in layer]


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "xy":
        to_huggingface(softhat.compile("a U b", alphabet="ab"), tmp_path / name)
    for path in (tmp_path / "x").iterdir():
        assert path.read_bytes() == (tmp_path / "y" / path.name).read_bytes(), path.name


def test_errors(tmp_path: Path) -> None:
    several = softhat.compile({"one": "a", "two": "Y a"}, alphabet="ab")
    with pytest.raises(SofthatError, match="choose output= one of one, two"):
        to_huggingface(several, tmp_path / "m")
    to_huggingface(several, tmp_path / "m", output="two")
    model, tokenizer = loaded(tmp_path / "m")
    with pytest.raises(ValueError, match="let the tokenizer add them"):
        model(tokenizer("a b", return_tensors="pt", add_special_tokens=False)["input_ids"])
    many = [f"p{k}" for k in range(13)]
    with pytest.raises(SofthatError, match="at most 12 propositions"):
        to_huggingface(softhat.compile("p0", propositions=many), tmp_path / "n")


def test_without_transformers(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "import softhat\n"
        "try:\n    softhat.to_huggingface(softhat.compile('a'), 'm')\n"
        "except softhat.MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "pip install 'softhat[hf]'" in done.stdout


def test_a_fresh_model_can_be_made_from_a_configuration() -> None:
    layer = {"masks": ["<="], "laws": ["4"], "d_k": 2, "d_v": 1, "share": [0, 0, 1]}
    config = SofthatConfig(
        positions=["1", "i"], layers=[layer], hidden_size=5, vocab_size=4, bos_token_id=2,
        eos_token_id=3, pad_token_id=3,
    )  # fmt: skip
    model = transformers.AutoModelForTokenClassification.from_config(config)
    assert model(torch.tensor([[2, 0, 1, 0]])).logits.shape == (1, 4, 2)
