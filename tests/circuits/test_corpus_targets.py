"""Corpora of stock models: what they take, how they load without softhat, that they resume."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.corpus.acceptable import has_inert_head, simplified
from softhat.circuits.corpus.corpus import load_model, make_corpus, read_lines
from softhat.circuits.corpus.families import MIXED, draw_formula, induction
from softhat.circuits.corpus.shards import Settings, draw
from softhat.circuits.corpus.targets import exported
from softhat.circuits.stock_network import StockNetwork
from softhat.circuits.witness import WitnessSearch
from softhat.io.errors import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.optimise.simplify import simplify
from softhat.models.value_model import ValueModel
from tests.circuits.test_corpus import contents, kill_often
from tests.cli.run import softhat as command
from tests.export.suite import all_codes, expected
from tests.slices import every
from tests.without_softhat import run_script

pyarrow = pytest.importorskip("pyarrow")
CHILD = Path(__file__).with_name("corpus_without_softhat.py")
SMALL = Settings(
    count=14, seed=2, alphabet=("a", "b"), attention="unbounded", family="mixed",
    smallest=4, largest=8, shard=5, to="gpt2", context=72, disguise=7,
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "c"
    make_corpus(folder, SMALL, jobs=1)
    return folder


def lines(folder: Path, settings: Settings = SMALL) -> list[dict[str, Any]]:
    shards = range(-(-settings.count // settings.shard))
    return [line for shard in shards for line in read_lines(folder, shard)]


def test_formulas_are_simplified_and_not_constant(corpus: Path) -> None:
    for line in lines(corpus):
        formula = softhat.parse(line["formula"])
        assert simplify(formula) == formula
        assert describe(formula).is_decoder
        truth = np.concatenate([expected(formula, all_codes(2, n), "ab").ravel() for n in (1, 5)])
        assert truth.any() and not truth.all()
    assert len({line["formula"] for line in lines(corpus)}) == SMALL.count


@pytest.mark.parametrize(
    ("text", "alphabet", "wanted"),
    [
        ("Z (a xor b & a)", "ab", "Z a"),
        ("a & b", "ab", "false"),
        ("Y !(a | b) & O (c -> c)", "abc", "Y c"),
        ("(a | b) S !a", "abc", "!c S !a"),
    ],
)
def test_a_position_has_one_symbol(text: str, alphabet: str, wanted: str) -> None:
    formula = softhat.parse(text)
    found = simplified(formula, tuple(alphabet))
    assert str(found) == wanted
    assert softhat.equivalent(formula, found, alphabet=alphabet) is None


def test_every_head_has_a_pair_of_words(corpus: Path, settings: Settings = SMALL) -> None:
    for line in lines(corpus, settings):
        heads = {
            f"a{head['layer']}.h{head['head']}"
            for head in line["labels"]["heads"]
            if not head.get("distractor")
        }
        pairs = {pair["node"]: pair for pair in line["witnesses"]}
        assert heads and heads <= set(pairs)
        assert line["size"]["heads"] == len(heads)
        for pair in pairs.values():
            before, after = pair["margins"]
            assert (before > 0) != (after > 0)
        assert any(edge["carries"] == "input" for edge in line["edges"])


def test_inert_heads_are_seen() -> None:
    for to in ("torch", "gpt2"):
        assert not has_inert_head(softhat.compile("a S (b & Y a)", "ab"), to)
        assert has_inert_head(softhat.compile("a & !b", "ab"), to)  # there is no head
    # The formula never looks at what the second head finds: after b there is always a b before.
    model = softhat.compile({"output": "Y a", "other": "Y Y a"}, "ab")
    assert has_inert_head(replace_output(model), "torch")


def replace_output(model: Any) -> Any:
    """A model whose answers do not need its second layer."""
    t = model.transformer
    rows = t.readout.dense()
    rows[1] = rows[0]
    from softhat.transformer.weights import Sparse

    changed = replace(t, readout=Sparse.from_dense(rows), readout_bias=t.readout_bias[[0, 0]])
    return softhat.models.model.Model(changed, model.formulas)


def test_it_loads_without_softhat(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    pytest.importorskip("transformers")
    done = run_script(CHILD, str(corpus), str(tmp_path))
    assert done.code == 0, done.err[-3000:]
    splits = json.loads(done.out.splitlines()[-1])
    assert {split: entry["models"] for split, entry in splits.items()} == {
        "train": 12,
        "validation": 1,
        "test": 1,
    }
    assert sum(entry["words"] for entry in splits.values()) > 100
    assert not sum(entry["wrong"] for entry in splits.values())


def test_the_card_counts(corpus: Path) -> None:
    text = (corpus / "README.md").read_text()
    assert text.startswith("---\n") and "path: data/train.parquet" in text
    counts = Counter(line["family"] for line in lines(corpus))
    assert len(counts) >= 3
    for family, count in counts.items():
        assert f"| {family} | {count} |" in text


def test_certificates_hold(corpus: Path) -> None:
    certified = [line["max_length"]["float32"] for line in lines(corpus)]
    assert min(certified) > 0
    assert np.median(certified) == SMALL.context - 1


def test_directions_are_beside_the_tensors(corpus: Path) -> None:
    from safetensors.numpy import load_file

    tensors = load_file(corpus / "shards" / "00001.safetensors")
    directions = load_file(corpus / "shards" / "00001.directions.safetensors")
    for number in range(5, 10):
        basis = directions[f"{number}/residual"]
        assert basis.shape[1] == tensors[f"{number}/transformer.wpe.weight"].shape[1]


@pytest.mark.full  # `make test` kills a corpus of softhat's own models (test_corpus.py)
@pytest.mark.parametrize(
    "more",
    [
        ["--to", "gpt2", "--disguise", "7", "--context", "16", "--max-size", "6"],
        ["--family", "rasp", "--context", "16"],
    ],
)
def test_killed_and_resumed_it_is_the_same_byte_for_byte(more: list[str], tmp_path: Path) -> None:
    kill_often(tmp_path, 6, [1], *more)


@pytest.mark.full
@pytest.mark.parametrize(
    "more", [["--to", "gpt2", "--disguise", "7"], ["--to", "llama"], ["--family", "rasp"]]
)
def test_many_models_killed_again_and_again(more: list[str], tmp_path: Path) -> None:
    kill_often(tmp_path, 200, [0, 3, 11], *more, jobs=2)


@pytest.mark.parametrize("disguise", every(2, [3, None]))
def test_a_corpus_of_llamas(disguise: int | None, tmp_path: Path) -> None:
    """The same is said of a Llama as of a GPT-2."""
    settings = replace(SMALL, count=4, to="llama", disguise=disguise, context=32, shard=4)
    make_corpus(tmp_path / "c", settings, jobs=1)
    for line in lines(tmp_path / "c", settings):
        assert line["config"]["model_type"] == "llama"
        assert line["max_length"]["float32"] > 0
    test_every_head_has_a_pair_of_words(tmp_path / "c", settings)
    hidden = tmp_path / "c" / "shards" / "00000.directions.safetensors"
    assert hidden.exists() == (disguise is not None)


def test_what_an_architecture_refuses_is_not_drawn(tmp_path: Path) -> None:
    """Rotary attention alone has no digits of positions, as `mod` needs."""
    settings = replace(SMALL, count=12, to="llama", disguise=None, family="past-counting")
    drawn = draw(settings, 0)
    assert drawn and not any("mod(" in entry["formula"] for entry in drawn)


RASP = replace(SMALL, count=11, to="torch", disguise=None, family="rasp", context=24)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "rasp"
    make_corpus(folder, RASP, jobs=1)
    return folder


def test_rasp_programs_are_what_their_text_says(programs: Path) -> None:
    words = ["".join(word) for n in (1, 2, 5) for word in product("ab", repeat=n)]
    seen = set()
    for line in lines(programs, RASP):
        named: dict[str, Any] = {}
        exec("from softhat import rasp\n" + line["program"], named)
        wanted = [named["program"](word) for word in words]
        model = load_model(programs, line["id"])
        assert isinstance(model, ValueModel)
        assert model.values_many([list(word) for word in words]) == wanted, line["program"]
        seen.add(str(wanted))
        (pair,) = [pair for pair in line["witnesses"] if pair["node"] == "input"]
        assert named["program"](pair["clean"]) != named["program"](pair["corrupt"])  # not constant
        for sample in line["values"]:
            assert named["program"](sample["word"]) == sample["values"]
    assert len(seen) == RASP.count


def test_heads_of_rasp_programs_have_pairs_of_words(programs: Path) -> None:
    test_every_head_has_a_pair_of_words(programs, RASP)
    for line in lines(programs, RASP):
        assert line["max_length"]["float32"] == RASP.context - 1
    text = (programs / "README.md").read_text()
    assert "random RASP programs" in text and "| rasp | 11 |" in text


def test_rasp_programs_load_with_datasets(programs: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.load_dataset(str(programs), cache_dir=str(tmp_path))
    assert {split: len(rows) for split, rows in table.items()} == {
        "train": 9,
        "validation": 1,
        "test": 1,
    }
    row = table["train"][0]
    assert row["program"].splitlines()[-1].startswith("program = ")
    assert json.loads(row["rasp"])["name"] and json.loads(row["values"])


@pytest.mark.parametrize(("family", "depth"), sorted(set(MIXED), key=str))
def test_families(family: str, depth: int | None) -> None:
    rng = np.random.default_rng(5)
    found = 0
    for number in range(20):
        drawn = draw_formula(rng, family, 10, "abc", number, decoder=True, depth=depth)
        if drawn is None:
            continue
        found += 1
        facts = describe(drawn.formula)
        assert facts.is_decoder and drawn.family == family
        assert depth is None or facts.temporal_depth == depth
        if drawn.program is not None:
            assert softhat.from_program(drawn.program) == drawn.formula
    assert found > 10


def test_induction_is_what_followed_last_time() -> None:
    """`a & Y (!a S (b & Y a))` against the definition, on all words of length 7."""
    rng = np.random.default_rng(0)
    plain = {str(induction(rng, 4, "ab")) for _ in range(40)}
    assert "a & Y (!a S (b & Y a))" in plain
    formula = softhat.parse("a & Y (!a S (b & Y a))")
    for codes in all_codes(2, 7):
        word = "".join("ab"[code] for code in codes)
        want = []
        for i, symbol in enumerate(word):
            before = word.rfind("a", 0, i)
            want.append(symbol == "a" and before >= 0 and word[before + 1] == "b")
        assert formula.truth(word).tolist() == want, word


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "torch", "--disguise", "1"], "--to torch has no disguise"),
        (["--to", "gpt2", "--context", "4"], "the context is 4"),
        (["--to", "gpt2", "--family", "future"], "look ahead"),
        (["--to", "gpt2", "--disguise", "-3"], "seed is a whole number"),
        (["--depth", "-1"], "temporal depth"),
        (["--to", "gpt2", "--family", "rasp"], "choose --to torch"),
        (["--to", "llama", "--family", "rasp"], "choose --to torch"),
        (["--family", "rasp", "--depth", "2"], "have no temporal depth"),
        (["--family", "rasp", "--context", "4"], "the context is 4"),
    ],
)
def test_refusals(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = command("corpus", "-o", str(tmp_path / "c"), *arguments)
    assert done.code == 2 and message in done.err


def test_a_finished_corpus_is_left_alone(corpus: Path) -> None:
    before = contents(corpus)
    make_corpus(corpus, SMALL, jobs=1)
    assert contents(corpus) == before


def test_models_of_a_stock_corpus_are_folders_and_models(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    line = read_lines(corpus, 0)[1]
    assert str(load_model(corpus, 1).formulas["output"]) == line["formula"]  # type: ignore[union-attr]
    softhat.corpus.extract(corpus, 1, tmp_path / "m")
    labels = json.loads((tmp_path / "m" / "labels.json").read_text())
    assert labels == line["labels"]
    assert (tmp_path / "m" / "tokenizer.json").is_file()
    assert softhat.certify(tmp_path / "m").ok
    found = softhat.circuit(corpus, id=1, words=64)
    assert [edge.name for edge in found.edges] == [edge["name"] for edge in line["edges"]]
    with pytest.raises(SofthatError, match="models 0 to"):
        softhat.corpus.extract(corpus, 10_000, tmp_path / "n")
    with pytest.raises(SofthatError, match="is a corpus"):
        softhat.circuit(corpus)


def test_a_model_of_a_corpus_in_transformer_lens(corpus: Path) -> None:
    pytest.importorskip("transformer_lens")
    bridge = softhat.lens.load(corpus, id=0)
    assert bridge.labels == read_lines(corpus, 0)[0]["labels"]


@pytest.mark.parametrize("to", ["gpt2", "llama"])
def test_an_export_for_its_heads_alone_is_the_same_but_not_proved(to: str) -> None:
    model = softhat.compile("(a S b) & Y a", alphabet="ab")
    with exported(model, to, 12) as whole, exported(model, to, 12, proved=False) as unproved:
        for name in ("model.safetensors", "labels.json", "tokenizer.json", "formula.txt"):
            assert (whole / name).read_bytes() == (unproved / name).read_bytes()
        assert (whole / "certificate.json").exists()
        assert not (unproved / "certificate.json").exists()


def test_what_corrupt_words_add_is_what_running_them_adds() -> None:
    """Words that are tried both ways round run once."""
    model = softhat.compile("(a S b) & #(a) >= #(b)", alphabet="ab")
    with exported(model, "gpt2", 40, proved=False) as folder:
        network = StockNetwork(folder)
        search = WitnessSearch(network, 0, 64, (softhat.parse("(a S b) & #(a) >= #(b)"),))
    once = 0
    for (clean, corrupt, _, added), margins in zip(search.batches, search.corrupted, strict=True):
        expected, answered = network.run(corrupt)
        assert np.allclose(margins, answered, rtol=0, atol=1e-9)
        assert added.keys() == expected.keys()
        for name, array in added.items():
            assert np.allclose(array, expected[name], rtol=0, atol=1e-9)
        once += {word.tobytes() for word in corrupt} <= {word.tobytes() for word in clean}
    assert once
