"""One line opens any folder in TransformerLens or nnsight, with the right logits and labels."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.slices import every

os.environ["HF_HUB_OFFLINE"] = "1"

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.circuits.network import before
from softhat.export.labels import Meaning
from softhat.io.errors import SofthatError
from tests.export.suite import all_codes, expected
from tests.export.test_meanings import expected as stated
from tests.export.test_meanings import said

torch = pytest.importorskip("torch")
# These packages warn about themselves when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")

FORMULA = "(!b S a) & #(a) >= 2 | Y (a & Y b)"
SEVERAL = {"safe": "!b S a", "often": "#(a) > #(b)"}
LM = {"a": "!a", "b": "a", "<eos>": "!a"}
WORD = "abbaabab"


def lens() -> Any:
    pytest.importorskip("transformer_lens")
    from softhat.export import lens

    return lens


def folders(tmp_path: Path) -> dict[str, Path]:
    model = softhat.compile(FORMULA, alphabet="ab")
    model.save(tmp_path / "model")
    softhat.to_gpt2(model, tmp_path / "gpt2", context=32)
    softhat.to_llama(model, tmp_path / "llama", context=32)
    several = softhat.compile(SEVERAL, alphabet="ab")
    softhat.to_gpt2(several, tmp_path / "several", context=32, head="multi-label")
    softhat.to_gpt2(softhat.compile(LM, alphabet="ab"), tmp_path / "lm", context=32, head="lm")
    return {path.name: path for path in tmp_path.iterdir()}


def answers(kind: str, logits: Any) -> list[Any]:
    """True or false for each formula, from what the export's logits mean."""
    if kind in ("gpt2", "llama"):
        return [logits[..., 1] > logits[..., 0]]
    if kind == "lm":
        return [logits[..., 0] > 0, logits[..., 1] > 0]
    return [logits[..., k] > 0 for k in range(logits.shape[-1])]


WANTED = {
    "model": [FORMULA],
    "gpt2": [FORMULA],
    "llama": [FORMULA],
    "several": list(SEVERAL.values()),
    "lm": [LM["a"], LM["b"]],
}


def test_transformer_lens_has_the_logits_and_the_labels(tmp_path: Path) -> None:
    codes = all_codes(2, 7)
    tokens = torch.as_tensor(np.concatenate([np.full((len(codes), 1), 2), codes], axis=1))
    for kind, folder in folders(tmp_path).items():
        bridge = lens().load(folder, context=32)
        with torch.no_grad():
            logits = bridge(tokens)[:, 1:].numpy()
        for found, formula in zip(answers(kind, logits), WANTED[kind], strict=True):
            assert (found == expected(softhat.parse(formula), codes, "ab")).all(), kind
        # Every label is what TransformerLens shows at its hook.
        word = torch.tensor([[2, *("ab".index(s) for s in WORD)]])
        _, cache = bridge.run_with_cache(word)
        labels = json.loads(json.dumps(bridge.labels))
        checked = 0
        for meaning in said(labels):
            found = reading(meaning, cache)[1:]
            want = stated(meaning, labels["definitions"], WORD)
            assert np.abs(found - want).max() < (2e-3 if meaning.term else 0.05), (kind, meaning)
            checked += 1
        assert checked > 10


def reading(meaning: Meaning, cache: Any) -> Any:
    assert meaning.hook is not None
    x = cache[meaning.hook][0].detach().double().numpy()
    x = x if meaning.head is None else x[:, meaning.head]
    return sum(w * x[:, k] for k, w in meaning.direction) + meaning.offset


@pytest.mark.parametrize("architecture", every(2, ["gpt2", "llama"]))
def test_edges_are_found_by_patching_their_hooks(architecture: str, tmp_path: Path) -> None:
    """What a hook name says is read is taken from another word: answers move where an edge of the
    circuit is, and nowhere else. Heads that share keys and values share the hooks of these."""
    folder = tmp_path / architecture
    export = softhat.to_gpt2 if architecture == "gpt2" else softhat.to_llama
    export(softhat.compile(FORMULA, alphabet="ab"), folder, context=32)
    bridge = lens().load(folder)
    for use in ("set_use_attn_result", "set_use_split_qkv_input", "set_use_hook_mlp_in"):
        getattr(bridge, use)(True)
    circuit = softhat.circuit(folder)
    found: dict[tuple[str, str], list[Any]] = {}
    for name, (source, target) in zip(circuit.edges, circuit.hook_edges(), strict=True):
        found.setdefault((source, target), []).append(name)
    rng = np.random.default_rng(3)
    words = torch.as_tensor(rng.integers(0, 2, (2, 24, 7)))
    first = torch.full((24, 1), 2)
    clean, corrupt = (torch.cat([first, half], dim=1) for half in words)
    for (source, target), edges in found.items():
        moved = moved_by(bridge, source, target, clean, corrupt)
        if any(edge.carries == "input" for edge in edges):
            pair = next(edge.witness for edge in edges if edge.witness)
            codes = [torch.tensor([[2, *map("ab".index, w)]]) for w in (pair.clean, pair.corrupt)]
            moved = max(moved, moved_by(bridge, source, target, *codes))
            assert moved > 1, (source, target)
        else:
            assert moved < 0.1, (source, target)
    # No other edge into a head's queries, into a feed-forward layer or the read-out.
    nodes = [node for node in circuit.nodes if node.name != "logits"]
    others = {
        (node.hook, target)
        for node in nodes
        for _, target in found
        if before(node.name, reader_of(target, circuit.config["n_layers"]))
    }
    for source, target in others - set(found):
        assert moved_by(bridge, source, target, clean, corrupt) < 0.1, (source, target)


def reader_of(hook: str, layers: int) -> str:
    """The node, or one of the nodes, that read there."""
    if hook == f"blocks.{layers - 1}.hook_resid_post":
        return "logits"
    layer = hook.split(".")[1]
    return f"m{layer}" if hook.endswith("hook_mlp_in") else f"a{layer}.h0"


def moved_by(bridge: Any, source: str, target: str, clean: Any, corrupt: Any) -> float:
    """How far answers move if at `target` what `source` shows is what it shows on other words."""

    def shown(cache: Any) -> Any:
        name, _, last = source.rpartition(".")
        return cache[name][:, :, int(last)] if last.isdigit() else cache[source]

    with torch.no_grad():
        logits, here = bridge.run_with_cache(clean)
        delta = shown(bridge.run_with_cache(corrupt)[1]) - shown(here)
        name, _, last = target.rpartition(".")

        def add(x: Any, hook: Any) -> Any:
            x = x.clone()
            if last.isdigit():
                x[:, :, int(last)] += delta
            else:
                x += delta
            return x

        hook = name if last.isdigit() else target
        changed = bridge.run_with_hooks(clean, fwd_hooks=[(hook, add)])
    margin = [(y[..., 1] - y[..., 0])[:, 1:] for y in (logits, changed)]
    return float((margin[0] - margin[1]).abs().max())


def test_nnsight_has_the_logits_and_the_labels(tmp_path: Path) -> None:
    pytest.importorskip("nnsight")
    from softhat.export.lens import load_nnsight

    codes = all_codes(2, 5)
    for kind, folder in folders(tmp_path).items():
        wrapped = load_nnsight(folder)
        tokens = torch.as_tensor(codes)
        if kind != "model":
            first = torch.full((len(codes), 1), 2)
            tokens = torch.cat([first, tokens], dim=1)
        with wrapped.trace(tokens):
            kept = wrapped.output.save()
        logits = (kept if kind == "model" else kept.logits[:, 1:]).detach().numpy()
        for found, formula in zip(answers(kind, logits), WANTED[kind], strict=True):
            assert (found == expected(softhat.parse(formula), codes, "ab")).all(), kind
        assert wrapped.labels["coordinates"]


@pytest.mark.parametrize("name", ["majority", "first-token", "previous-token"])
def test_heads_that_see_everything_are_bidirectional(name: str) -> None:
    """Hard attention without masks, simulated, in TransformerLens' other direction."""
    ahat = GALLERY[name]()
    simulated = softhat.simulate(ahat, max_length=16, epsilon=1e-2)
    bridge = lens().to_transformer_lens(simulated, context=16)
    assert bridge.cfg.attention_dir == "bidirectional"
    codes = all_codes(2, 7)
    with torch.no_grad():
        values = bridge(torch.as_tensor(codes))[..., 0].numpy()
    for row, word in zip(values, codes.tolist(), strict=True):
        exact = [float(x) for x in ahat.values("".join("ab"[c] for c in word))]
        assert np.abs(row - exact).max() < 0.02


TWO_WAY = [
    "#*(a) > #*(b)",
    "2*#*(a) >= n",
    "#*(a) = 2 & a | 3*#*(b) < n",
    "#*(a & #*(b) >= 2) > #*(b & 2*#*(a) > n)",
    "#*(c) = 0 & #*(a) - 2*#*(b) >= 1",
]


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_formulas_that_see_everything_are_bidirectional(attention: Any, tmp_path: Path) -> None:
    """All words to length 7, and longer ones to the context, by the semantics; and the labels."""
    rng = np.random.default_rng(8)
    for k, text in enumerate(TWO_WAY):
        formula = softhat.parse(text)
        softhat.compile(text, alphabet="abc", attention=attention).save(tmp_path / f"{k}")
        bridge = lens().load(tmp_path / f"{k}", context=258)
        assert bridge.cfg.attention_dir == "bidirectional"
        words = [all_codes(3, n) for n in (1, 2, 5)] + [all_codes(2, 7)]
        words += [rng.integers(0, 3, (20, n)) for n in (30, 256)]
        words.append(np.arange(256)[None] % 2)  # as many a as b
        for codes in words:
            ends = [np.full((len(codes), 1), code) for code in (3, 4)]
            tokens = torch.as_tensor(np.concatenate([ends[0], codes, ends[1]], axis=1))
            with torch.no_grad():
                found = bridge(tokens)[:, 1:-1, 0].numpy() > 0
            assert (found == expected(formula, codes, "abc")).all(), text
        _, cache = bridge.run_with_cache(torch.tensor([[3, *map("abc".index, "abcabba"), 4]]))
        for meaning in said(json.loads(json.dumps(bridge.labels))):
            assert meaning.role != "position"  # there is none
            want = stated(meaning, bridge.labels["definitions"], "abcabba")
            found = reading(meaning, cache)[1:-1]
            assert np.abs(found - want).max() < 2e-3, (text, meaning)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("F a", "heads that see j >= i"),
        ("O a & F b", "heads that see j <= i, j >= i"),
        ("#*(a) > #(b)", "heads that see j <= i, all j"),
        ("#*(a) > 1 & Y b", "heads that see"),
        ("#*(a) > i", "heads that see"),
        ("n >= 3", "do not know the end"),
        ("last", "do not know the end"),
    ],
)
def test_formulas_with_other_masks_are_refused(text: str, reason: str) -> None:
    with pytest.raises(SofthatError, match=reason):
        lens().to_transformer_lens(softhat.compile(text, alphabet="ab"), context=16)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="no such folder"):
        lens().load(tmp_path / "none")
    softhat.compile("F a", alphabet="ab").save(tmp_path / "future")
    with pytest.raises(SofthatError, match="heads that see j >= i"):
        lens().load(tmp_path / "future")
    softhat.to_huggingface(softhat.compile("O a", alphabet="ab"), tmp_path / "own")
    with pytest.raises(SofthatError, match="own architecture"):
        lens().load(tmp_path / "own")
