"""Programs that select by category or code: what Coq says they mean, and that their models pass.

A model that passes has the theorem `Values.makes_right`: its softmax transformer computes its
attention program, in the reals.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.export.coq import programs
from softhat.export.coq.values import always_fits, value_theorem
from softhat.frontends.rasp import lib, tokens
from softhat.frontends.rasp.gallery import GALLERY
from softhat.models.value_model import ValueModel
from softhat.program.evaluate import outputs
from softhat.transformer.lowering.heads import at
from softhat.transformer.weights import Attention
from tests.proofs.coq import booleans, needs_coq
from tests.proofs.test_lowering import spoilt_weights
from tests.slices import every

PROGRAMS = {
    "histogram": (lib.make_hist(), "ab"),
    "reverse": (lib.make_reverse(tokens), "ab"),
    "sort": (lib.make_sort(tokens, tokens, max_seq_len=4, min_key=1), (1, 2)),
    "induction": (lib.make_induction(), "ab"),
    "bounded Dyck": (GALLERY["bounded-dyck-2"].make(4), "()[]"),
    "sort by frequency": (GALLERY["sort-by-frequency"].make(4), (1, 2, 3)),
    "sort many": (lib.make_sort(tokens, tokens, max_seq_len=3, min_key=1), range(1, 45)),
}


TARGETS: tuple[Attention, ...] = ("unbounded", "temperature", "hard")


def _model(name: str, max_length: int = 3, target: Attention = "unbounded") -> ValueModel:
    program, alphabet = PROGRAMS[name]
    return softhat.compile(program, alphabet, max_length=max_length, attention=target)


def _models(target: Attention) -> list[ValueModel]:
    models = [_model(name, target=target) for name in PROGRAMS]
    language = softhat.from_regex("((ab|ba)(a|b))*", depth="log")
    return [*models, softhat.compile(language, max_length=4, attention=target)]


def _ask(models: Sequence[ValueModel], asked: Sequence[Sequence[str]], folder: Path) -> list[bool]:
    """Questions about each model, in which its file's definitions are at hand."""
    preamble, modules, questions = "", [], []
    for k, (model, own) in enumerate(zip(models, asked, strict=True)):
        text = value_theorem(model)
        preamble, _, rest = text.partition("(* symbols:")
        preamble += "From Softhat Require Import Hard.\n"
        modules.append(f"Module M{k}.\n(* symbols:{rest.partition('Lemma checks')[0]}\n")
        for number, question in enumerate(own):
            modules.append(f"Definition asked{number} : bool := {question}.\n")
            questions.append(f"M{k}.asked{number}")
        modules.append(f"End M{k}.\n")
    return booleans(preamble, "".join(modules), questions, folder)


MAKES = "makes outputs inputs program weights found"
UNIFORM = f"({MAKES} && uniform weights)%bool"
ALWAYS = "forallb (always (program_symbols weights) inputs program longest) program"


def _makes(target: Attention) -> str:
    return UNIFORM if target == "hard" else MAKES


@pytest.mark.parametrize("target", every(3, TARGETS))
def test_programs_pass(target: Attention, tmp_path: Path) -> None:
    needs_coq()
    models = _models(target)
    asked = [
        [_makes(target), *([ALWAYS] if always_fits(m.compiled.program, m.max_length) else [])]
        for m in models
    ]
    # With so many symbols Coq would take long to see that ranks differ.
    assert [len(own) for own in asked] == [2, 2, 2, 2, 2, 2, 1, 2]
    assert all(_ask(models, asked, tmp_path))


@pytest.mark.parametrize("target", every(3, reversed(TARGETS)))
def test_a_changed_weight_or_program_fails(target: Attention, tmp_path: Path) -> None:
    needs_coq()
    model = _model("histogram", 3, target)
    changed = list(spoilt_weights(model.transformer, np.random.default_rng(0)))
    models = [ValueModel(weights, model.compiled) for _, weights in changed]
    models.append(ValueModel(model.transformer, _model("histogram", 2).compiled))
    answers = _ask(models, [[_makes(target)]] * len(models), tmp_path)
    for (what, _), right in zip([*changed, ("the program", None)], answers, strict=True):
        assert not right, what


@pytest.mark.parametrize("target", every(3, reversed(TARGETS)))
def test_a_blunt_head_fails(
    target: Attention, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_coq()
    for module in (at, programs):  # the weights, and the evidence that says how sharp they are
        monkeypatch.setattr(module, "sharp", lambda longest, wide: 2)
    model = _model("reverse", 8, target)
    assert _ask([model], [[_makes(target)]], tmp_path) == [False]


NUMBERS = {"length": lib.make_length(), "share": lib.make_frac_prevs(tokens == "a")}
MAKES_NUMBERS = (
    "makes_numbers outputs numbers error inputs program weights found\n"
    "  && forallb (always (program_symbols weights) inputs program longest) program"
)


def _number(name: str) -> ValueModel:
    return softhat.compile(NUMBERS[name], "ab", max_length=3)


def test_numbers_pass(tmp_path: Path) -> None:
    """Sums over everything, and means over what is selected; a changed weight is seen."""
    needs_coq()
    models = [_number(name) for name in NUMBERS]
    assert all(_ask(models, [[MAKES_NUMBERS]] * len(models), tmp_path))
    share = _number("share")
    changed = list(spoilt_weights(share.transformer, np.random.default_rng(0)))
    spoilt = [ValueModel(weights, share.compiled) for _, weights in changed]
    answers = _ask(spoilt, [[MAKES_NUMBERS]] * len(spoilt), tmp_path)
    for (what, _), right in zip(changed, answers, strict=True):
        assert not right, what


def test_what_numbers_mean(tmp_path: Path) -> None:
    """The sum and the count whose quotient an output is, against the definition of the share."""
    needs_coq()
    model = _number("share")
    ((_, number),) = model.compiled.program.numbers
    ((_, at),) = number.terms
    questions = []
    for word in product(range(2), repeat=3):
        symbols = "; ".join(map(str, word))
        spelled = f"3 (fun i a => Nat.eqb a (nth (i - 1) [{symbols}] 9)) (fun _ _ _ => false)"
        v = f"(meaning inputs program weights {spelled})"
        for i in (1, 2, 3):
            seen = (
                f"(filter (chosen {v} [(Lit None true, Lit None true)] {i}) (visible 3 AtMost {i}))"
            )
            questions.append(f"Nat.eqb (length {seen}) {i}")
            questions.append(f"Z.eqb (sums {v} {at} {i}) {word[:i].count(0)}")
    assert all(_ask([model], [questions], tmp_path))


def _questions(model: ValueModel) -> list[str]:
    """Does Coq say of every output at every position of short words what Python says?"""
    program = model.compiled.program
    questions = []
    for word in product(range(2), repeat=3):
        values = outputs(program, np.array(word))
        symbols = "; ".join(map(str, word))
        spelled = f"3 (fun i a => Nat.eqb a (nth (i - 1) [{symbols}] 9)) (fun _ _ _ => false)"
        questions.append(f"fits inputs program weights {spelled}")
        for k, (output, _) in enumerate(program.outputs):
            for i in (1, 2, 3):
                literal = f"(nth {k} outputs (Lit None true))"
                said = f"truth inputs program weights {spelled} {literal} {i}"
                wanted = "true" if values[output][i - 1] else "false"
                questions.append(f"Bool.eqb ({said}) {wanted}")
    return questions


def test_what_programs_mean(tmp_path: Path) -> None:
    """`Values.truth` is what Python's evaluation of attention programs says, on words that fit."""
    needs_coq()
    models = [_model(name) for name in ("histogram", "sort", "induction")]
    assert all(_ask(models, [_questions(model) for model in models], tmp_path))
