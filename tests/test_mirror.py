"""Tests mirror modules, so that a failing bound names its file.

`tests/room/test_part.py` tests `src/softhat/room/part.py` (or the room `part/`); a test of one side
of a module adds that to the name: `test_check_mutations.py` tests `check.py`. What tests no one
module is listed in `ACROSS`. In the rooms where a construction or a bound can be wrong every
module has a test of its own name, or `ELSEWHERE` says which file tests it, and why there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "softhat"

ACROSS = {
    "ahat/test_nasty.py": "models made to break analysis and simulation",
    "cli/test_foreign_code.py": "what the commands never run",
    "cli/test_predicates.py": "one option of many commands",
    "cli/test_simulation_folders.py": "one kind of folder, every command",
    "test_project.py": "what people need to adopt it",
    "cli/test_streams.py": "standard input and output of every command",
    "cli/test_traps.py": "mistakes that users make, command by command",
    "explore/test_runtime.py": "the page's runtime, which is JavaScript",
    "circuits/test_families.py": "circuits of every architecture",
    "circuits/test_study.py": "circuits as the literature scores them",
    "export/test_machines.py": "machines in every stock architecture",
    "export/test_meanings.py": "labels of every architecture",
    "export/test_multi_label.py": "several outputs in every architecture",
    "export/test_public_machines.py": "random Turing machines of a public generator",
    "export/test_planted.py": "one weight more in every stock architecture",
    "export/test_predicates.py": "numerical predicates in every export",
    "export/test_rasp.py": "RASP programs in every export",
    "fuzz": "damaged files and command lines",
    "logic/decide/test_agreement.py": "other tools decide the same",
    "logic/decide/test_laws.py": "laws of the logic, for every length",
    "logic/test_cases.py": "the table of cases",
    "logic/test_language_doc.py": "the page of the language",
    "logic/test_laws.py": "laws of the logic, on words",
    "logic/test_looked_for.py": "formulas that people look for",
    "logic/test_numerical_predicates.py": "predicates from text to truth",
    "transformer/lowering/test_leak.py": "raw outputs of every kind of head",
    "transformer/lowering/test_predicates.py": "predicates from formula to weights",
    "transformer/lowering/test_selectors.py": "selections, from program to weights",
    "transformer/lowering/test_size.py": "sizes that the documents state",
    "transformer/lowering/test_truth.py": "compiled models against formulas",
    "notebooks": "notebooks run",
    "logic/optimise/test_sabotage.py": "wrong rules and wrong passes, planted",
    "program/test_constants.py": "what programs never contain",
    "proof/test_aimed.py": "attacks on certificates",
    "proof/test_alone.py": "the trusted base, copied out",
    "proof/test_predicate_mutations.py": "attacks on certificates with predicates",
    "proof/gpt2/test_padding.py": "padding, of exported GPT-2s",
    "proof/llama/test_padding.py": "padding, of exported Llamas",
    "proof/simulations/test_attack.py": "attacks on the certificates of simulations",
    "proofs": "the machine-checked theorems",
    "test_baseline.py": "sizes and lengths of earlier versions",
    "test_compared.py": "the languages of docs/languages.md",
    "test_contributing.py": "the lists of CONTRIBUTING.md",
    "test_docs.py": "the documents",
    "test_full.py": "the suite at full size",
    "test_guide.py": "the guide",
    "test_house.py": "the order of rooms",
    "test_killed_commands.py": "commands that are killed",
    "test_mirror.py": "this rule",
    "test_named.py": "what texts name",
    "test_old_folders.py": "folders of earlier versions",
    "test_types.py": "the types of the public names",
    "trained/test_soundness.py": "attacks on proofs of trained models",
}
"""Tests, and rooms of tests, that mirror no module, and what they are about."""

BOUNDED = (
    "proof",
    "transformer/lowering",
    "program",
    "numbers/laws",
    "numerics",
    "ahat/analysis",
    "ahat/bounds",
    "ahat/simulation",
    "runtime",
    "transformer",
    "logic",
)
"""Rooms in which every module is tested under its own name."""

SOUND = "bounds of one row, which is compared with the true error of every word"
LAWS = "a step towards a law, which is compared with the gaps of every word"
DATA = "plain data: its meaning is what the other file runs"
STOCK = "a part of one proof, which is attacked as a whole: weights, words, kernels"
RUN = "exports run there, in PyTorch"
ELSEWHERE: dict[str, tuple[str, str]] = {
    "ahat/analysis/levels.py": ("ahat/analysis/test_gap_laws.py", LAWS),
    "ahat/analysis/margins.py": ("ahat/analysis/test_gap_laws.py", LAWS),
    "ahat/analysis/pairs.py": ("ahat/analysis/test_gap_laws.py", LAWS),
    "ahat/bounds/along_laws.py": ("ahat/bounds/test_sets.py", SOUND),
    "ahat/bounds/floats.py": (
        "ahat/simulation/test_finite_floats.py",
        "floats run there, at the certified length",
    ),
    "ahat/bounds/functionals.py": ("ahat/bounds/test_sets.py", SOUND),
    "ahat/bounds/head_work.py": ("ahat/bounds/test_sets.py", SOUND),
    "ahat/bounds/set_rows.py": ("ahat/bounds/test_sets.py", SOUND),
    "ahat/bounds/tied_rows.py": ("ahat/bounds/test_sets.py", SOUND),
    "ahat/bounds/weights.py": ("numerics/test_entries.py", DATA),
    "numerics/boxes.py": ("ahat/bounds/test_envelope.py", "every activation lies in its box"),
    "ahat/simulation/certificate.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "ahat/simulation/evidence.py": (
        "proof/simulations/test_check.py",
        "evidence is what the checker makes of it",
    ),
    "ahat/simulation/folder.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "ahat/simulation/interrupted.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "ahat/simulation/kernels.py": (
        "ahat/simulation/test_finite_floats.py",
        "floats run there, at the certified length",
    ),
    "ahat/simulation/law_floats.py": (
        "ahat/simulation/test_every_length.py",
        "laws are tried there at many lengths",
    ),
    "ahat/simulation/lengths.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "ahat/simulation/simulation.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "ahat/simulation/temperature_laws.py": (
        "ahat/simulation/test_every_length.py",
        "laws are tried there at many lengths",
    ),
    "ahat/simulation/verify.py": (
        "ahat/simulation/test_simulate.py",
        "what users do with a simulation",
    ),
    "logic/syntax/complaints.py": (
        "logic/syntax/test_parse.py",
        "messages are compared with what was written",
    ),
    "transformer/lowering/disguise.py": (
        "export/test_gpt2_disguise.py",
        "disguised models run there",
    ),
    "transformer/lowering/stock/constants.py": (
        "export/test_gpt2.py",
        RUN,
    ),
    "transformer/lowering/gpt2/disguise.py": (
        "export/test_gpt2_disguise.py",
        "disguised models run there",
    ),
    "transformer/lowering/gpt2/layout.py": ("export/test_gpt2.py", RUN),
    "transformer/lowering/gpt2/weights.py": (
        "export/test_gpt2.py",
        RUN,
    ),
    "transformer/lowering/language_model.py": (
        "export/test_gpt2_lm.py",
        RUN,
    ),
    "transformer/lowering/llama/disguise.py": (
        "export/test_llama_disguise.py",
        "disguised models run there",
    ),
    "transformer/lowering/llama/layout.py": (
        "transformer/lowering/llama/test_weights.py",
        "one set of weights",
    ),
    "transformer/lowering/llama/rotary.py": (
        "transformer/lowering/llama/test_weights.py",
        "one set of weights",
    ),
    **{
        f"transformer/lowering/stock/{part}.py": ("export/test_gpt2.py", RUN)
        for part in (
            *("forms", "plan"),
            *(f"heads/{kind}" for kind in ("kind", "latest", "recall", "shift", "sign")),
        )
    },
    **{
        f"transformer/lowering/stock/heads/{kind}.py": ("export/test_llama.py", RUN)
        for kind in ("digit", "previous", "scales")
    },
    "transformer/lowering/rows.py": ("transformer/lowering/test_lower.py", DATA),
    "program/draw.py": ("program/test_build.py", "the text of programs"),
    "program/gates.py": ("program/test_evaluate.py", DATA),
    "program/heads.py": ("program/test_evaluate.py", DATA),
    "program/inputs.py": ("program/test_evaluate.py", DATA),
    "program/literals.py": ("program/test_evaluate.py", DATA),
    "program/meanings.py": ("export/test_meanings.py", "what it says is measured in models"),
    "proof/dense/bounds.py": ("proof/gpt2/test_dense_scores.py", STOCK),
    "proof/simulations/residual.py": ("proof/simulations/test_steps.py", DATA),
    "proof/stock/checkpoint.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/certify.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/derivation.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/distribution.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/embedding.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/heads/average.py": ("proof/stock/heads/test_sign.py", "a mean, and its sign"),
    "proof/stock/kind.py": ("proof/stock/heads/test_latest.py", "what every kind has"),
    "proof/stock/pair_scores.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/storage.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "proof/stock/variables.py": ("proof/gpt2/test_checkpoint.py", STOCK),
    "runtime/answers.py": ("models/test_model.py", "what users ask a model"),
    "runtime/linear/layers.py": (
        "runtime/linear/test_runtime.py",
        "layers and kernels run together",
    ),
    "runtime/linear/stepper.py": ("runtime/test_stream.py", "one position at a time is a stream"),
    "transformer/shapes.py": ("transformer/test_shape_reader.py", DATA),
}
"""Modules that another file tests: which, and why."""


def modules() -> list[str]:
    found = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]
    return sorted(name for name in found if not name.endswith("__init__.py"))


def own_test(module: str) -> str:
    path = Path(module)
    return (path.parent / f"test_{path.name}").as_posix()


def mirrored(test: str) -> bool:
    """Does its name say a module or a room, and perhaps a side of it?"""
    path = Path(test)
    words = path.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    here = SOURCE / path.parent
    at_home = any((here / f"{name}.py").exists() or (here / name).is_dir() for name in names)
    return at_home or path.stem.removeprefix("test_") == path.parent.name


TEST_FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


def test_every_test_says_what_it_tests() -> None:
    across = [
        name
        for name in TEST_FILES
        if name not in ACROSS and name.split("/", 1)[0] not in ACROSS and not mirrored(name)
    ]
    assert across == []


def test_every_bound_has_a_test_of_its_name() -> None:
    tests = set(TEST_FILES)
    bounded = [name for name in modules() if name.startswith(tuple(f"{r}/" for r in BOUNDED))]
    missing = [name for name in bounded if own_test(name) not in tests and name not in ELSEWHERE]
    assert len(bounded) > 200
    assert missing == []


@pytest.mark.parametrize("module", ELSEWHERE)
def test_what_is_tested_elsewhere_is(module: str) -> None:
    """The other file is there, and the module has none of its own by now."""
    test, reason = ELSEWHERE[module]
    assert (SOURCE / module).exists() and (TESTS / test).exists() and reason
    assert not (TESTS / own_test(module)).exists()


def test_nothing_is_listed_for_nothing() -> None:
    for name in ACROSS:
        assert (TESTS / name).exists(), name
        assert (TESTS / name).is_dir() or not mirrored(name), name
