"""Blocks of words: the same words, margins and first mismatch as word by word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.models.model import Model
from softhat.models.verification import items
from softhat.models.verification.blocks import WordBlocks
from softhat.models.verification.items import Item, VerificationSettings
from softhat.models.verification.job import Job
from softhat.transformer.weights import Sparse


def job(model: Model, length: int, dtype: str = "float32") -> Job:
    settings = VerificationSettings(length, 0, 0, length, 10**6, dtype, "dense", 0)
    return Job(model, settings)


def findings(job: Job) -> list[dict[str, Any]]:
    return [job.run(item) for item in job.items()]


def both(model: Model, length: int, monkeypatch: pytest.MonkeyPatch, dtype: str) -> list[Any]:
    """What is found in blocks, and word by word: words, least margins, the first mismatch."""
    summaries = []
    for in_blocks in (True, False):
        with monkeypatch.context() as patch:
            if not in_blocks:
                patch.setattr(WordBlocks, "free", lambda *_: 0)
                patch.setattr(items, "TOGETHER_AT_MOST", 0)
            found = findings(job(model, length, dtype))
        first = next((x["mismatch"] for x in found if x["mismatch"]), None)
        margin = np.min([np.array(x["margin"], float) for x in found], axis=0)
        words = sum(x["words"] for x in found)
        # After the first mismatch nothing counts, and items are cut otherwise.
        summaries.append((first,) if first else (words, margin.tolist()))
    return summaries


@pytest.mark.parametrize(
    "text",
    ["a S (b & Y c)", "#(a) >= #(b)", "a U (b & X c)", "#>(a) > #>(b)", "first | Y a", "a & X last",
     "mod(2, 1) S a", "a & n > 2*i", "at(prime) & X a", "O a & F b", "F (a & O b)",
     "#(a) > #>(b) + #*(c)"],
)  # fmt: skip
def test_the_same_findings(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for attention in ("unbounded", "temperature"):
        model = softhat.compile(text, alphabet="abc", attention=attention)
        table = job(model, 12).table
        length = 8 if len(table) == 3 else 12
        assert WordBlocks(model, table, "float32").free(length, 10**6) == length
        in_blocks, by_words = both(model, length, monkeypatch, "float32")
        assert in_blocks == by_words
        assert in_blocks[0] == sum(len(table) ** n for n in range(1, length + 1))


def test_sets_of_propositions_and_several_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = softhat.compile({"x": "p S q", "y": "Y (p & !q)"}, propositions=["p", "q", "r"])
    in_blocks, by_words = both(model, 6, monkeypatch, "float64")
    assert in_blocks == by_words


def broken(model: Model, rng: np.random.Generator) -> Model:
    """A weight of some layer changed."""
    layers = list(model.transformer.layers)
    at = int(rng.choice([k for k, layer in enumerate(layers) if layer.output.values.size]))
    names = [x for x in ("query", "key", "value", "output") if getattr(layers[at], x).values.size]
    name = str(rng.choice(names))
    tensor = getattr(layers[at], name)
    values = tensor.values.copy()
    values[int(rng.integers(len(values)))] *= rng.choice([0.0, -1.0, 0.25])
    layers[at] = replace(layers[at], **{name: Sparse(tensor.shape, tensor.where, values)})
    return Model(replace(model.transformer, layers=tuple(layers)), model.formulas)


def test_the_same_first_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of broken models the shortest, first word in both orders; some break from length 8 on."""
    rng = np.random.default_rng(3)
    mismatches = 0
    for k in range(24):
        fragment = ("decoder", "two-way", "two-way")[k % 3]
        model = softhat.compile(
            random_formula(rng, 7, "abc", fragment),
            alphabet="abc",
            attention=("unbounded", "temperature")[k % 2],
        )
        if model.size.heads:
            in_blocks, by_words = both(broken(model, rng), 8, monkeypatch, "float32")
            assert in_blocks == by_words
            mismatches += len(in_blocks) == 1
    assert mismatches > 4


@pytest.mark.parametrize("text", ["a S (b & Y c)", "a U (b & X c)", "#(a) >= #(b)"])
@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_a_mismatch_that_only_a_long_word_shows(
    text: str, attention: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The formula is another one from the eighth position on: every node there is wrong."""
    model = softhat.compile(text, alphabet="abc", attention=attention)
    from_here = "i >= 8" if "U" not in text else "#>(true) >= 8"
    other = softhat.parse(f"({text}) xor ({from_here} & b)")
    wrong = Model(model.transformer, {"output": other})
    in_blocks, by_words = both(wrong, 8, monkeypatch, "float32")
    assert in_blocks == by_words
    (mismatch,) = in_blocks
    assert len(mismatch["tokens"]) == 8


@pytest.mark.parametrize("text", ["a S (b & Y c)", "a U (b & X c)", "#(a) >= #(b)"])
def test_blocks_with_a_beginning(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items of 3^7 words: two letters of length 9 are fixed in each."""
    monkeypatch.setattr(WordBlocks, "free", lambda self, n, most: 7 if n >= 7 else 0)
    model = softhat.compile(text, alphabet="abc")
    cut = job(model, 9)
    found = [cut.run(item) for item in cut.items() if item.n == 9]
    assert [x["words"] for x in found] == [3**7] * 9
    assert not any(x["mismatch"] for x in found)
    monkeypatch.undo()
    (at_once,) = (Item("exhaustive", 9, 0, 3**9),)
    monkeypatch.setattr(WordBlocks, "free", lambda self, n, most: n if n >= 7 else 0)
    whole = job(model, 9).run(at_once)
    assert min(x["margin"] for x in found) == whole["margin"]


def test_leaks_are_measured_on_the_way() -> None:
    for text in ("a S (b & Y c)", "F (a & O b)"):
        model = softhat.compile(text, alphabet="abc")
        result = softhat.verify(model, exhaustive=9, random=0, adversarial=0)
        for head in result.heads:
            assert head.certified_leak is not None
            assert 0 < head.leak <= head.certified_leak


@pytest.mark.parametrize("alphabet", ["ab", "abc", "abcd"])
def test_words_that_are_measured_have_all_letters_everywhere(alphabet: str) -> None:
    """Every 32nd word of four letters would end in the same two."""
    text = " | ".join(f"F ({letter} & O a)" for letter in alphabet)
    cut = job(softhat.compile(text, alphabet=alphabet), 7)
    words = cut.measured(Item("exhaustive", 7, 0, len(alphabet) ** 7))
    assert len(words) == min(len(alphabet) ** 7 // 32, 512)
    assert len(np.unique(words, axis=0)) == len(words)
    assert all(len(np.unique(column)) == len(alphabet) for column in words.T)


def test_one_block_is_of_all_shorter_words() -> None:
    """Where nothing tells how long a word is; where something does, each length has its items."""
    cut = job(softhat.compile("a S (b & Y c)", alphabet="abc"), 9)
    (item,) = cut.items()
    assert list(cut.lengths(item)) == list(range(1, 10))
    assert cut.run(item)["words"] == sum(3**n for n in range(1, 10))


@pytest.mark.parametrize("text", ["F (a & O b)", "Y (a & n > 2) S b", "#(a) > #>(b) + #*(c)"])
def test_short_words_of_all_lengths_are_one_item(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds what an item for each length does, leaks included; longer words have their own."""
    model = softhat.compile(text, alphabet="abc")
    cut = job(model, 11)
    assert [list(cut.lengths(item)) for item in cut.items()] == [[*range(1, 10)], [10], [11]]
    for dtype in ("float32", "bfloat16"):
        (together,) = findings(job(model, 8, dtype))
        with monkeypatch.context() as patch:
            patch.setattr(items, "TOGETHER_AT_MOST", 0)
            by_length = findings(job(model, 8, dtype))
        assert len(by_length) == 8
        assert together["words"] == sum(x["words"] for x in by_length)
        for name, worst in (("margin", np.min), ("leak", np.max), ("exact_leak", np.max)):
            expected = worst([np.array(x[name], float) for x in by_length], axis=0)
            assert np.array_equal(np.array(together[name], float), expected)


def test_what_was_not_tried_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted item of words to length 9 leaves length 1 untried."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    model = softhat.compile("a S (b & Y c)", alphabet="abc")
    monkeypatch.setattr(Job, "_check_block", interrupted)
    result = softhat.verify(model, exhaustive=9, random=0, adversarial=0)
    assert not result.complete
    assert (result.words, result.exhaustive_length) == (0, 0)
