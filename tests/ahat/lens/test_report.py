"""The lens on a small GPT-2 made here, against a direct computation of its attention."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from softhat import SofthatError
from softhat.ahat.lens.heads import head_report
from softhat.ahat.lens.report import look, open_row
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


def test_the_command(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(checkpoint, text=[TEXT], leak=1e-3)
    assert "hardness" in capsys.readouterr().out
    command(checkpoint, text=[TEXT, "b b a"], leak=1e-3, as_json=True, plot=tmp_path / "page.png")
    data = json.loads(capsys.readouterr().out)
    found = look(checkpoint, [TEXT, "b b a"], 1e-3)
    assert (found.texts, found.tokens) == (2, 13)
    assert [h["hardness"] for h in data["heads"]] == [h.hardness for h in found.heads]
    assert (tmp_path / "page.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((tmp_path / "page.plot.json").read_text())["heads"] == data["heads"]
    with pytest.raises(SofthatError, match="--text"):
        command(checkpoint, leak=1e-3)


def test_one_row_can_be_opened(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = open_row(checkpoint, TEXT, 1, 0, 6)
    weights = direct(checkpoint)[1][0][6]
    assert len(found.keys) == 7
    assert found.token == "d"
    for key in found.keys:
        assert key.weight == pytest.approx(weights[key.position], abs=1e-5)
        assert key.token == TEXT.split()[key.position]
    assert found.keys[0].gap == 0
    assert found.keys[0].best
    command(checkpoint, text=[TEXT], row="1.0.6", leak=1e-3)
    assert "7 keys" in capsys.readouterr().out
    for row in ("1.0", "9.0.1", "x.y.z"):
        with pytest.raises(SofthatError, match=r"row|layer"):
            command(checkpoint, text=[TEXT], row=row, leak=1e-3)


def planted(folder: Path, source: Path, factor: float) -> Path:
    """The checkpoint with a head whose scores are `factor` where the key is the token before.

    Positions are one-hot in coordinates that tokens do not use; LayerNorm leaves them one-hot up to
    a shift and a scale that all positions share.
    """
    size = 16
    config = transformers.GPT2Config(
        vocab_size=8, n_positions=size, n_embd=2 * size, n_layer=1, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        block = model.transformer.h[0]
        model.transformer.wte.weight.mul_(0.01)
        model.transformer.wpe.weight.zero_()
        for k in range(size):
            model.transformer.wpe.weight[k, k] = 1.0
        weight, bias = block.attn.c_attn.weight, block.attn.c_attn.bias
        bias.zero_()
        weight[:, :size].zero_()  # the first head's query …
        weight[:, 2 * size : 3 * size].zero_()  # … and key
        for k in range(size):
            weight[k, (k - 1) % size] = factor  # position k asks for k - 1
            weight[k, 2 * size + k] = 1.0
        weight[:, size : 2 * size].mul_(0.01)  # the second head hardly tells keys apart
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    return folder


def test_a_planted_head_is_recognised(checkpoint: Path, tmp_path: Path) -> None:
    texts = ["a b c d e f g a c e g b", "g g f a b b c e d a"]
    strong, other = look(planted(tmp_path / "strong", checkpoint, 8.0), texts).heads
    assert (strong.verdict, strong.pattern) == ("tieless", "previous token")
    assert strong.patterns["previous token"].share > 0.9
    assert strong.distance < 0.1
    assert other.pattern != "previous token"
    assert other.verdict == "uniform"
    (weak, _) = look(planted(tmp_path / "weak", checkpoint, 0.35), texts).heads
    assert weak.verdict == "soft"


def test_scores_are_not_those_of_rounded_weights(checkpoint: Path, tmp_path: Path) -> None:
    """Gaps of 200 underflow in float32's weights; scores know them."""
    (strong, _) = look(planted(tmp_path / "m", checkpoint, 100.0), "a b c d e f g").heads
    assert strong.median_gap > 120


def scores(*weights: list[float]) -> np.ndarray:
    """Causal scores whose last rows have these weights; the others are uniform."""
    length = len(weights[0])
    square = np.where(np.tril(np.ones((length, length))) > 0, 0.0, -np.inf)
    for k, row in enumerate(weights):
        at = length - len(weights) + k
        with np.errstate(divide="ignore"):
            square[at] = np.where(np.arange(length) <= at, np.maximum(np.log(row), -50), -np.inf)
    return square


def kind(square: np.ndarray) -> str:
    return head_report([square], [range(len(square))], 0, 0, 1e-3).nearest


def test_nearest_types() -> None:
    assert kind(scores([0.25] * 4)) == "uniform"
    sharp = scores([0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0])
    assert kind(sharp) == "tieless"
    assert head_report([sharp], [range(4)], 0, 0, 1e-3).hardness == pytest.approx(1)
    assert kind(scores([0.5, 0.5, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0])) == "tied"
    assert sum(head_report([scores([0.25] * 4)], [range(4)], 0, 0, 1e-3).profile) == 0


def test_random_scores_are_soft() -> None:
    """Independent scores of one size: no nearer to hard attention than the same, shuffled."""
    rng = np.random.default_rng(0)
    square = np.where(np.tril(np.ones((40, 40))) > 0, rng.normal(size=(40, 40)) * 1.2, -np.inf)
    found = head_report([square], [range(40)], 0, 0, 1e-3)
    assert found.verdict == "soft"
    assert found.distance == pytest.approx(found.by_chance, rel=0.15)


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match=r"no config\.json"):
        look(tmp_path, "a b")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SofthatError, match="cannot load"):
        look(tmp_path, "a b")
    with pytest.raises(SofthatError, match="no text"):
        look(tmp_path, [])
