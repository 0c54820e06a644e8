"""Circuits of models whose answers hang on long or rare words: nothing is called constant that
is none, and every head has a pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat import rasp
from softhat.circuits.aimed_pairs import aimed_pairs
from softhat.circuits.graph import Circuit
from softhat.circuits.network import NativeNetwork, NodePatch
from softhat.logic.syntax.parse import parse
from tests.logic.oracle import truth

RARE = [
    ("Y Y Y Y Y Y Y Y Y Y a", "ab"),
    ("#(a) >= 30", "ab"),
    ("H (#(a) < 15)", "ab"),
    ("(#(a) >= 14) S (c & Y (b & Y c))", "abcd"),
    ("#(a) > 17 | #(b) > 19 | O (c & Y (c & Y (c & Y c)))", "abcd"),
]


def _codes(word: tuple[str, ...], symbols: str) -> list[int]:
    return [symbols.index(symbol) for symbol in word]


def _flips(found: Circuit, text: str, symbols: str) -> None:
    """Every head's pair is one: patched, the answer is another than the formula's."""
    model = softhat.compile(text, alphabet=symbols)
    network = NativeNetwork(model.transformer)
    formula = parse(text)
    heads = [node for node in found.nodes if node.name.startswith("a")]
    for node in heads:
        assert node.witness is not None, node.name
        clean, corrupt = (
            np.array([_codes(word, symbols)]) for word in (node.witness.clean, node.witness.corrupt)
        )
        added, _ = network.run(corrupt)
        _, patched = network.run(clean, NodePatch(node.name, added[node.name]))
        right = truth(formula, node.witness.clean)[node.witness.position]
        assert (patched[0, node.witness.position, 0] > 0) != right


@pytest.mark.parametrize(("text", "symbols"), RARE)
def test_every_head_has_a_pair(text: str, symbols: str) -> None:
    found = softhat.circuit(softhat.compile(text, alphabet=symbols))
    _flips(found, text, symbols)
    for pair in found.answers:
        values = [truth(parse(text), word)[pair.position] for word in (pair.clean, pair.corrupt)]
        assert values[0] != values[1]
        assert sum(a != b for a, b in zip(pair.clean, pair.corrupt, strict=True)) == 1
    assert found.answers
    assert any(edge.source == "input" and edge.carries == "input" for edge in found.edges)


def test_a_chain_of_symbols_has_no_constant_links() -> None:
    """A run of ten: every lookup hands on what the next one reads."""
    text = "O (a & Y (a & Y (a & Y (a & Y (a & Y (a & Y (a & Y (a & Y (a & Y a)))))))))"
    found = softhat.circuit(softhat.compile(text, alphabet="ab"))
    _flips(found, text, "ab")
    carried = {(edge.source, edge.target, edge.slot): edge.carries for edge in found.edges}
    for layer in range(1, 9):
        assert carried[f"m{layer - 1}", f"a{layer}.h0", "v"] == "input"


def test_exports_with_a_short_context_have_circuits(tmp_path: Path) -> None:
    model = softhat.compile("O (a & Y b)", alphabet="ab")
    for export, name in ((softhat.to_gpt2, "gpt2"), (softhat.to_llama, "llama")):
        export(model, tmp_path / name, context=6)
        found = softhat.circuit(tmp_path / name)
        assert all(len(pair.clean) <= 5 for pair in found.answers)
        assert all(n.witness for n in found.nodes if n.name.startswith("a"))


def test_pairs_have_one_length_and_differ() -> None:
    network = NativeNetwork(softhat.compile("#(a) >= 12 & p", propositions="pa").transformer)
    formula = parse("#(a) >= 12 & p", propositions="pa")
    batches = list(aimed_pairs(network, [formula], np.random.default_rng(0), 400, None))
    assert batches
    for clean, corrupt in batches:
        assert clean.shape == corrupt.shape
        assert (clean != corrupt).reshape(len(clean), -1).any(axis=1).mean() > 0.9


def test_programs_that_need_long_words() -> None:
    """No formula is known of a RASP program: long words of few symbols are tried."""
    same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    often = rasp.Map(lambda count: count >= 14, rasp.SelectorWidth(same))
    far = rasp.lib.shift_by(12, rasp.tokens) == "a"
    for program in (often, far):
        found = softhat.circuit(softhat.compile(program, alphabet="abc", max_length=40))
        assert all(node.witness for node in found.nodes if node.name.startswith("a"))
        assert found.answers
