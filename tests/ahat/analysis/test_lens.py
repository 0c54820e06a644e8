"""The lens on a small GPT-2 made here, against a direct computation of its attention."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from softhat import SofthatError
from softhat.ahat.analysis.lens import look, report
from softhat.cli.analyze import command

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXT = "a b c a b c d a a b"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("gpt2")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=8, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():  # sharper attention than at initialisation
        for block in model.transformer.h:
            block.attn.c_attn.weight.mul_(40)
    model.save_pretrained(folder)
    tokens = Tokenizer(
        models.WordLevel({s: k for k, s in enumerate(["<unk>", *"abcdefg"])}, unk_token="<unk>")
    )
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="<unk>")
    fast.save_pretrained(folder)
    return folder


def direct(folder: Path) -> list[np.ndarray]:
    """Attention weights from the checkpoint's tensors: LayerNorm, projections, softmax."""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).double().eval()
    ids = torch.tensor([["<unk>", *"abcdefg"].index(s) for s in TEXT.split()])
    x = model.transformer.wte.weight[ids] + model.transformer.wpe.weight[: len(ids)]
    result = []
    with torch.no_grad():
        for block in model.transformer.h:
            y = block.ln_1(x)
            q, k, v = (y @ block.attn.c_attn.weight + block.attn.c_attn.bias).split(16, dim=1)
            outs, maps = [], []
            for h in range(2):
                part = slice(8 * h, 8 * h + 8)
                scores = q[:, part] @ k[:, part].T / math.sqrt(8)
                scores = scores.masked_fill(torch.triu(torch.ones_like(scores), 1) == 1, -torch.inf)
                weights = torch.softmax(scores, dim=1)
                maps.append(weights.numpy())
                outs.append(weights @ v[:, part])
            x = x + torch.cat(outs, dim=1) @ block.attn.c_proj.weight + block.attn.c_proj.bias
            x = x + block.mlp(block.ln_2(x))
            result.append(np.stack(maps))
    return result


def test_hardness_and_critical_beta(checkpoint: Path) -> None:
    found = look(checkpoint, TEXT, 1e-3)
    assert found.tokens == 10
    assert len(found.heads) == 4
    attention = direct(checkpoint)
    for head in found.heads:
        w = attention[head.layer][head.head]
        inside, betas = [], []
        for i in range(1, len(w)):
            row = w[i, : i + 1]
            scores = np.log(row)
            best = scores >= scores.max() - 1e-3
            inside.append(row[best].sum())
            gaps = scores.max() - scores[~best]
            low, high = 0.0, 1e6  # bisection on the leak
            for _ in range(200):
                beta = (low + high) / 2
                rest = np.exp(-beta * gaps).sum()
                low, high = (beta, high) if rest / (best.sum() + rest) > 1e-3 else (low, beta)
            betas.append(high)
        assert head.hardness == pytest.approx(np.mean(inside), abs=1e-5)
        assert head.greatest_beta == pytest.approx(max(betas), rel=1e-2)
        assert head.median_beta == pytest.approx(np.median(betas), rel=1e-2)
        assert sum(head.rows) == 9


def test_the_command(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(checkpoint, text=TEXT, leak=1e-3)
    assert "hardness" in capsys.readouterr().out
    command(checkpoint, text=TEXT, leak=1e-3, as_json=True)
    data = json.loads(capsys.readouterr().out)
    found = look(checkpoint, TEXT, 1e-3)
    assert [h["hardness"] for h in data["heads"]] == [h.hardness for h in found.heads]
    with pytest.raises(SofthatError, match="--text"):
        command(checkpoint, leak=1e-3)


def rows(*weights: list[float]) -> np.ndarray:
    """A causal map whose last rows are these; the first position sees itself."""
    length = len(weights[0])
    square = np.zeros((length, length))
    for i in range(length):
        square[i, : i + 1] = 1 / (i + 1)
    for k, row in enumerate(weights):
        square[length - len(weights) + k] = row
    return square


def test_nearest_types() -> None:
    assert report(rows([0.25] * 4), 0, 0, 1e-3).nearest == "uniform"
    sharp = np.eye(4)
    assert report(sharp, 0, 0, 1e-3).nearest == "tieless"
    assert report(sharp, 0, 0, 1e-3).hardness == 1
    pair = rows([0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0])
    pair[2] = [0.5, 0.5, 0, 0, 0]
    assert report(pair, 0, 0, 1e-3).nearest == "tied"
    profile = report(rows([0.25] * 4), 0, 0, 1e-3).profile
    assert sum(profile) == 0


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match=r"no config\.json"):
        look(tmp_path, "a b")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SofthatError, match="cannot load"):
        look(tmp_path, "a b")
