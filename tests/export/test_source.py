"""Language models with log-weights: the exported distribution is the stated one."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.export.checking import certify, verify
from softhat.export.gpt2.to_gpt2 import to_gpt2
from softhat.export.llama.to_llama import to_llama
from tests.cli.run import softhat as run
from tests.slices import every

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

Table = dict[str, float]


def markov(prefix: list[str]) -> Table:
    """After an a, b has weight e^1.5 and a e^-0.5; else a 1 and b e^-1; the end e^-2."""
    last = prefix[-1] if prefix else ""
    a, b = (math.exp(-0.5), math.exp(1.5)) if last == "a" else (1.0, math.exp(-1))
    return {"a": a, "b": b, "<eos>": math.exp(-2)}


def dyck(prefix: list[str]) -> Table:
    """Balanced words, that end with weight e^-1 and open with e^0.25 less at depth 2 and more."""
    depth = prefix.count("(") - prefix.count(")")
    opens = math.exp(0.75 - (0.25 if depth >= 2 else 0))
    return {
        "(": opens if depth < 4 else 0.0,
        ")": 1.0 if depth > 0 else 0.0,
        "<eos>": math.exp(-1) if depth == 0 else 0.0,
    }


def flip(prefix: list[str]) -> Table:
    """on and off alternate, wait is always possible and more likely while on."""
    on = bool([s for s in prefix if s != "wait"]) and [s for s in prefix if s != "wait"][-1] == "on"
    return {
        "on": 0.0 if on else 1.0,
        "off": 1.0 if on else 0.0,
        "wait": math.exp(2.25) if on else math.exp(-0.75),
        "<eos>": 0.0,
    }


CASES: list[tuple[Any, list[str], dict[str, str], dict[str, Any]]] = [
    (
        markov,
        ["a", "b"],
        {"a": "true", "b": "true", "<eos>": "true", "after a": "a"},
        {"a": {"after a": -0.5}, "b": {"": -1, "after a": 2.5}, "<eos>": -2},
    ),
    (
        dyck,
        ["(", ")"],
        {
            "(": "#('(') - #(')') < 4",
            ")": "#('(') > #(')')",
            "<eos>": "#('(') = #(')')",
            "deep": "#('(') >= #(')') + 2",
        },
        {"(": {"": 0.75, "deep": -0.25}, "<eos>": -1},
    ),
    (
        flip,
        ["on", "off", "wait"],
        {"on": "!(!off S on)", "off": "!off S on", "wait": "true"},
        {"wait": {"": -0.75, "off": 3.0}},
    ),
]
IDS = ["markov", "dyck", "flip"]


def shares(table: Table) -> Table:
    return {token: size / sum(table.values()) for token, size in table.items()}


def load(folder: Path, dtype: str = "float32") -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()


def write(model: Any, folder: Path, target: str, weights: Any, context: int = 64) -> None:
    """A language model with log-weights: `gpt2` or `llama`, with what is special of it before."""
    how, _, kind = target.rpartition(" ")
    seed = 5 if how == "disguised" else None
    if kind == "gpt2":
        activation: Any = how or "relu" if seed is None else "relu"
        given: Any = {"activation": activation, "disguise": seed}
        to_gpt2(model, folder, context, head="lm", weights=weights, **given)
    else:
        positions: Any = "bits" if how == "bits" else "rope"
        given = {"positions": positions, "disguise": seed}
        to_llama(model, folder, context, head="lm", weights=weights, **given)


TARGETS = {
    "gpt2": ("float32", "bfloat16"),
    "gelu_new gpt2": ("float32", "bfloat16"),
    "disguised gpt2": ("float32",),
    "llama": ("float32",),
    "bits llama": ("float32", "bfloat16"),
    "disguised llama": ("float32",),
}
"""With the formats in which their distribution is proved."""


def probabilities(model: Any, codes: Any, symbols: int) -> Any:
    """softmax of the logits after every prefix, the empty one first: symbols, then <eos>."""
    first = np.full((len(codes), 1), symbols)
    with torch.no_grad():
        logits = model(torch.from_numpy(np.concatenate([first, codes], axis=1))).logits.double()
    return torch.softmax(logits, dim=-1).numpy()[..., [*range(symbols), symbols + 1]]


@pytest.mark.parametrize(("stated", "alphabet", "formulas", "weights"), every(2, CASES), ids=IDS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_distribution_on_all_short_words(
    stated: Any, alphabet: Any, formulas: Any, weights: Any, target: str, tmp_path: Path
) -> None:
    model = softhat.compile(formulas, alphabet)
    write(model, tmp_path / "lm", target, weights)
    found = certify(tmp_path / "lm")
    assert found.ok, (found.void, found.disagrees)
    document = json.loads((tmp_path / "lm" / "certificate.json").read_text())
    source = softhat.source(model, weights)
    assert softhat.source(tmp_path / "lm") == source
    for dtype in TARGETS[target]:
        bounds = document["formats"][dtype]["bounds"]
        most = bounds["probability, in units of it"]
        assert most < (1.5 if dtype == "bfloat16" else 0.1 if "disguised" in target else 2e-3)
        stock = load(tmp_path / "lm", dtype)
        for n in (1, 3, 6 if len(alphabet) < 3 else 5):
            codes = np.array(list(product(range(len(alphabet)), repeat=n)))
            got = probabilities(stock, codes, len(alphabet))
            for word, rows in zip(codes.tolist(), got, strict=True):
                spelt = [alphabet[c] for c in word]
                for at, row in enumerate(rows):
                    want = shares(stated(spelt[:at]))
                    for share, token in zip(row, [*alphabet, "<eos>"], strict=True):
                        if want[token]:
                            assert abs(share / want[token] - 1) <= most + 1e-9, (spelt, at, token)
                        else:
                            assert share < math.exp(-20)
                    if n == 3 and dtype == "float32":
                        assert source.next(spelt[:at]) == pytest.approx(want)


@pytest.mark.parametrize(("stated", "alphabet", "formulas", "weights"), every(2, CASES), ids=IDS)
@pytest.mark.parametrize("target", ["gpt2", "disguised gpt2", "llama", "disguised llama"])
def test_verify_tries_the_distribution(
    stated: Any, alphabet: Any, formulas: Any, weights: Any, target: str, tmp_path: Path
) -> None:
    write(softhat.compile(formulas, alphabet), tmp_path / "lm", target, weights)
    found = verify(tmp_path / "lm", exhaustive=4, random=20, adversarial=4, max_length=63)
    assert found.ok
    # Another claim about the same weights is refuted, by trying and by proof.
    path = tmp_path / "lm" / "certificate.json"
    document = json.loads(path.read_text())
    document["weights"][alphabet[0]][""] += 0.25
    path.write_text(json.dumps(document))
    assert not certify(tmp_path / "lm").ok
    result = verify(tmp_path / "lm", exhaustive=4, random=0, adversarial=0)
    assert not result.ok


@pytest.mark.parametrize("target", ["gpt2", "llama", "disguised llama"])
def test_sampled_words_have_the_stated_frequencies(target: str, tmp_path: Path) -> None:
    """Chi-square of 4,000 words, generated by Hugging Face with a fixed seed."""
    from transformers import AutoTokenizer

    stated, alphabet, formulas, weights = CASES[0]
    write(softhat.compile(formulas, alphabet), tmp_path / "lm", target, weights, 16)
    stock, tokenizer = load(tmp_path / "lm"), AutoTokenizer.from_pretrained(tmp_path / "lm")
    torch.manual_seed(16)
    count, length = 4000, 3
    start = tokenizer([""] * count, return_tensors="pt")
    rows = stock.generate(**start, max_new_tokens=length)[:, 1:].tolist()
    names = [*alphabet, "<bos>", "<eos>"]
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        word = tuple(names[token] for token in row)
        word = word[: word.index("<eos>") + 1] if "<eos>" in word else word
        seen[word] = seen.get(word, 0) + 1
    expected: dict[tuple[str, ...], float] = {}

    def grow(prefix: tuple[str, ...], chance: float) -> None:
        if len(prefix) == length or prefix[-1:] == ("<eos>",):
            expected[prefix] = chance
            return
        for token, share in shares(stated(list(prefix))).items():
            grow((*prefix, token), chance * share)

    grow((), 1.0)
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    square = sum((seen.get(w, 0) - count * p) ** 2 / (count * p) for w, p in expected.items())
    freedom = len(expected) - 1
    assert square < freedom + 4 * math.sqrt(2 * freedom)


def test_entropies() -> None:
    """Of the first three tokens, by enumeration from the definition."""
    for stated, alphabet, formulas, weights in CASES:
        source = softhat.source(softhat.compile(formulas, alphabet), weights)

        def bits(prefix: list[str], left: int, stated: Any = stated) -> float:
            if not left:
                return 0.0
            total = 0.0
            for token, share in shares(stated(prefix)).items():
                if share:
                    later = 0.0 if token == "<eos>" else bits([*prefix, token], left - 1, stated)
                    total += share * (later - math.log2(share))
            return total

        for n in (1, 3, 5):
            assert source.entropy_of_words(n) == pytest.approx(bits([], n))
        assert source.entropy([]) == pytest.approx(bits([], 1))
        word = source.sample(np.random.default_rng(0), 10)
        assert source.log_probability(word, ended=False) > -math.inf
        whole = math.fsum(
            math.log(shares(stated(word[:at]))[token]) for at, token in enumerate(word)
        )
        assert source.log_probability(word, ended=False) == pytest.approx(whole)


def test_long_entropies_merge_prefixes() -> None:
    _, alphabet, formulas, weights = CASES[1]
    source = softhat.source(softhat.compile(formulas, alphabet), weights)
    assert source.entropy_of_words(24) > source.entropy_of_words(12) > 0


def test_attacked_weights_are_not_proved(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    _, alphabet, formulas, weights = CASES[0]
    model = softhat.compile(formulas, alphabet)
    to_gpt2(model, tmp_path / "lm", 16, head="lm", weights=weights)
    file = tmp_path / "lm" / "model.safetensors"
    kept = load_file(file)
    stated = certify(tmp_path / "lm").max_length
    rng = np.random.default_rng(2)
    rows, columns = np.nonzero(kept["lm_head.weight"][:2])
    for at in rng.permutation(len(rows))[:6]:
        tensors = {name: tensor.copy() for name, tensor in kept.items()}
        column = columns[at] - columns[at] % 2
        tensors["lm_head.weight"][rows[at], column] += 0.125
        tensors["lm_head.weight"][rows[at], column + 1] -= 0.125
        save_file(tensors, file, metadata={"format": "pt"})
        found = certify(tmp_path / "lm")
        bound = found.document["formats"]["float32"]["bounds"]
        # Either nothing is proved, or what is proved says how far it is off.
        assert found.max_length != stated or bound["logit"] > 0.1
        assert not found.ok


def test_refusals_and_the_command(tmp_path: Path) -> None:
    _, alphabet, formulas, weights = CASES[0]
    model = softhat.compile(formulas, alphabet)
    bad: list[tuple[Any, str]] = [
        ({"c": 1}, "no token"),
        ({"a": {"never": 1}}, "no output"),
        ({"a": "high"}, "give a number"),
        ({"a": float("nan")}, "give a number"),
        ([1], "for each token"),
    ]
    for given, message in bad:
        with pytest.raises(SofthatError, match=message):
            to_gpt2(model, tmp_path / "x", head="lm", weights=given)
    with pytest.raises(SofthatError, match="head='lm'"):
        to_gpt2(softhat.compile("a", "ab"), tmp_path / "x", weights={"a": 1})
    with pytest.raises(SofthatError, match="not 'after a'"):  # which no log-weight depends on
        to_gpt2(model, tmp_path / "x", head="lm", weights={"a": 1})
    model.save(tmp_path / "model")
    (tmp_path / "w.json").write_text(json.dumps(weights))
    for target in ("gpt2", "llama"):
        out = str(tmp_path / target)
        args = ("--to", target, "--head", "lm", "--context", "16", "-o", out)
        done = run("export", str(tmp_path / "model"), *args, "--weights", str(tmp_path / "w.json"))
        assert done.code == 0, done.err
        assert softhat.source(out).next(["a"]) == pytest.approx(shares(markov(["a"])))
        assert run("certify", out).code == 0
