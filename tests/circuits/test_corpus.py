"""A corpus: right, labelled, without duplicates, and the same whatever happens to its makers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

import softhat
from softhat.circuits.corpus.corpus import load_model, make_corpus, read_lines, read_settings
from softhat.circuits.corpus.shards import Settings
from softhat.io.errors import SofthatError
from softhat.logic.decide.questions import differ_somewhere
from tests.cli.run import softhat as softhat_command
from tests.export.suite import all_codes, expected
from tests.slices import every, sizes

pyarrow = pytest.importorskip("pyarrow")

MAIN = "from softhat.cli import main; main()"
SMALL = Settings(
    count=10, seed=5, alphabet=("a", "b"), attention="unbounded", family="all",
    smallest=3, largest=12, shard=4,
)  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "c"
    make_corpus(folder, SMALL, jobs=1)
    return folder


def test_every_model_computes_its_formula(corpus: Path) -> None:
    for number in range(SMALL.count):
        model = load_model(corpus, number)
        assert isinstance(model, softhat.Model)
        formula = model.formulas["output"]
        for length in (1, 2, 5, 7):
            codes = all_codes(2, length)
            got = model.run_batch(codes)[..., 0] > 0
            assert (got == expected(formula, codes, "ab")).all(), formula


def test_no_two_formulas_are_equivalent(corpus: Path) -> None:
    """Most differ on a word to length 8; for those that do not there is a longer word."""
    lines = [json.loads(line) for line in (corpus / "formulas.jsonl").read_text().splitlines()]
    meanings: dict[bytes, list[softhat.Formula]] = {}
    for line in lines:
        formula = softhat.parse(line["formula"])
        truth = [expected(formula, all_codes(2, n), "ab").tobytes() for n in range(1, 9)]
        alike = meanings.setdefault(b"".join(truth), [])
        for other in alike:
            word = softhat.equivalent(formula, other, alphabet="ab")
            assert word is not None and len(word) > 8
            assert (formula.truth(word) != other.truth(word)).any()
        alike.append(formula)
    assert len(lines) == SMALL.count


def test_only_a_longer_word_tells_some_formulas_apart() -> None:
    late = "Y " * 9 + "a"
    assert differ_somewhere(softhat.parse(late), softhat.parse("false"), "ab")
    assert not differ_somewhere(softhat.parse("a S b"), softhat.parse("b | a & Y (a S b)"), "ab")
    assert not differ_somewhere(softhat.parse("#(a) > #(b)"), softhat.parse("false"), "ab")


def test_samples_are_accepted_and_rejected(corpus: Path) -> None:
    for shard in range(3):
        for line in read_lines(corpus, shard):
            formula, samples = softhat.parse(line["formula"]), line["samples"]
            assert samples["accepted"] or samples["rejected"]
            for word in samples["accepted"]:
                assert formula.accepts(word, at=samples["at"]), (str(formula), word)
            for word in samples["rejected"]:
                assert not formula.accepts(word, at=samples["at"]), (str(formula), word)


def test_labels_name_the_heads_and_edges_of_the_circuit(corpus: Path) -> None:
    for line in read_lines(corpus, 1):
        labels = line["labels"]
        assert labels["format"] == "softhat-labels/1"
        names = {f"L{head['layer']}.H{head['head']}" for head in labels["heads"]}
        assert len(names) == line["config"]["size"]["heads"]
        nodes = names | {"embed", "positions"}
        nodes |= {f"L{k}.MLP" for k in range(line["config"]["size"]["layers"])}
        for source, target in labels["edges"]:
            assert source in nodes
            assert target.removesuffix(target[-2:] if target[-2] == "." else "") in nodes | {
                "output:output"
            }


def test_index(corpus: Path) -> None:
    import pyarrow.parquet as parquet

    table = parquet.read_table(corpus / "index.parquet").to_pylist()
    assert [row["id"] for row in table] == list(range(SMALL.count))
    for row in table[::7]:
        model = load_model(corpus, row["id"])
        assert isinstance(model, softhat.Model)
        assert str(model.formulas["output"]) == row["formula"]
        assert model.size.parameters == row["parameters"]
        assert model.certificate.max_length["float32"] == row["certified_float32"]
        assert row["shard"] == row["id"] // SMALL.shard


def test_a_finished_corpus_is_left_alone(corpus: Path) -> None:
    before = contents(corpus)
    make_corpus(corpus, SMALL, jobs=1)
    assert contents(corpus) == before
    assert read_settings(corpus) == SMALL


def test_other_settings_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="is a corpus with seed 5: give the same settings"):
        make_corpus(corpus, replace(SMALL, seed=6), jobs=1)
    with pytest.raises(SofthatError, match="at least one model"):
        make_corpus(tmp_path / "none", replace(SMALL, count=0))
    with pytest.raises(SofthatError, match="sizes from 1 up"):
        make_corpus(tmp_path / "none", replace(SMALL, smallest=9, largest=3))
    (tmp_path / "file").write_text("")
    with pytest.raises(SofthatError, match="is not a corpus"):
        make_corpus(tmp_path, SMALL, jobs=1)
    with pytest.raises(SofthatError, match="different formulas were found"):
        few = replace(SMALL, family="boolean", smallest=1, largest=3, count=1000)
        make_corpus(tmp_path / "few", few, jobs=1)
    with pytest.raises(SofthatError, match="a seed is a whole number from 0 up, not -1"):
        make_corpus(tmp_path / "none", replace(SMALL, seed=-1))


def test_after_too_few_formulas_the_folder_can_be_used_for_fewer(tmp_path: Path) -> None:
    """`a` and its negation: of two symbols there are no 1,000 Boolean formulas."""
    settings = replace(SMALL, alphabet=("a", "b"), family="boolean", smallest=1, largest=3)
    with pytest.raises(SofthatError, match="ask for fewer"):
        make_corpus(tmp_path / "few", replace(settings, count=1000), jobs=1)
    make_corpus(tmp_path / "few", replace(settings, count=2), jobs=1)
    assert read_settings(tmp_path / "few").count == 2
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "corpus.json").write_text("{}")  # somebody else's
    (tmp_path / "other" / ".mine.tmp").write_text("")
    with pytest.raises(SofthatError, match="is not a corpus"):
        make_corpus(tmp_path / "other", settings, jobs=1)
    assert (tmp_path / "other" / "corpus.json").read_text() == "{}"
    assert (tmp_path / "other" / ".mine.tmp").exists()


def test_damage_that_a_crash_can_leave_is_repaired(corpus: Path, tmp_path: Path) -> None:
    whole = contents(corpus)
    for lost in (
        ["index.parquet"],
        ["shards/00001.safetensors", "index.parquet"],
        ["formulas.jsonl"],
    ):
        folder = tmp_path / str(len(lost) * 10 + len(lost[0]))
        for name, data in whole.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name not in lost:
                (folder / name).write_bytes(data)
        (folder / "shards" / ".softhat-0123456789abcdef.file").write_bytes(b"half")
        make_corpus(folder, SMALL, jobs=1)
        assert contents(folder) == whole


def arguments(folder: Path, count: int, *more: str) -> list[str]:
    size = ["--count", str(count), "--shard", "4", "--seed", "3"]
    return ["corpus", "-o", str(folder), *size, *more]


def kill_often(tmp_path: Path, count: int, waits: list[int], *more: str, jobs: int = 1) -> None:
    """kill -9 when so many shards are there, then resume on `jobs` processes: the same bytes, no
    process left."""
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    command = [sys.executable, "-c", MAIN, *arguments(killed, count, "-j", "2", *more)]
    for wanted in waits:
        process = subprocess.Popen(command, start_new_session=True)
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(killed.glob("shards/*.safetensors"))) >= wanted:
                break
            time.sleep(0.01)
        assert process.poll() is None, "it was done before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _no_orphans(process.pid)
    for folder, processes in ((killed, jobs), (straight, 1)):
        done = softhat_command(*arguments(folder, count, *more), "-j", str(processes))
        assert done.code == 0, done.err
    assert contents(killed) == contents(straight)


def _no_orphans(session: int) -> None:
    """The workers of a killed run end by themselves."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("worker processes outlived the run that was killed")


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_and_resumed_it_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    kill_often(tmp_path, 6, [1])


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_thousand_models_killed_again_and_again(tmp_path: Path) -> None:
    kill_often(tmp_path, 1000, [0, 3, 11, 40, 41, 80], jobs=2)


@pytest.mark.parametrize("settings", sizes(replace(SMALL, count=4, shard=2), SMALL))
def test_on_a_dask_cluster(tmp_path: Path, settings: Settings) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        make_corpus(tmp_path / "c", settings, dask=cluster.scheduler_address)
    make_corpus(tmp_path / "here", settings, jobs=1)
    assert contents(tmp_path / "c") == contents(tmp_path / "here")


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(SofthatError, match="another run is writing"):
        make_corpus(tmp_path, SMALL, jobs=1)
    os.close(lock)


SHARDS = ("00000.safetensors", "00001.jsonl")
DAMAGES = ("cut", "flipped", "list")


@pytest.mark.parametrize(
    ("name", "damage"),
    every(
        4,
        product(
            ["shards/00000.safetensors", "shards/00001.jsonl", "formulas.jsonl"],
            ["cut", "flipped", "list"],
        ),
    ),
)
def test_damaged_files_are_made_again(corpus: Path, tmp_path: Path, name: str, damage: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(corpus, copy)
    path = copy / name
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    else:
        path.with_suffix(".sha256").write_bytes(b"\xff nothing")
    with pytest.warns(UserWarning, match="is damaged: it is made again"):
        make_corpus(copy, read_settings(corpus), jobs=1)
    assert contents(copy) == contents(corpus)


def test_a_scheduler_that_is_not_there_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(import_module("softhat.io.work.cluster"), "CONNECTING", 0.5)
    folder = tmp_path / "deep" / "corpus"
    settings = Settings(4, 0, ("a", "b"), "unbounded", "past", 4, 8, 2)
    with pytest.raises(SofthatError, match="no Dask scheduler"):
        make_corpus(folder, settings, dask="tcp://127.0.0.1:1")
    assert not list(tmp_path.iterdir())


def test_a_corpus_that_finds_no_formulas_leaves_no_folder(tmp_path: Path) -> None:
    settings = Settings(10_000, 0, ("a",), "unbounded", "boolean", 1, 1, 2)
    with pytest.raises(SofthatError, match="different formulas were found"):
        make_corpus(tmp_path / "corpus", settings, jobs=1)
    assert not list(tmp_path.iterdir())
