"""Random command lines, of real options with real and hostile values."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from softhat.cli import SUMMARIES
from softhat.cli import _app as app
from tests.fuzz.running import call, cases

TEXTS = (
    "a", "a S b", "!c S a", "#(a) >= 2*#(b)", "p S q", "G F a", "true", "mod(3, 1)", "i % 2 = 0",
    "", " ", "(", ")" * 50, "(" * 3000 + "a" + ")" * 3000, "a S", "'", "\x1b[31m", "λ", "\udcff",
    "a & " * 300 + "a", "@nowhere", "@/dev/zero", "@.", "@model", "-", "--", "zoo:dyck-1", "zoo:x",
    "regex:(a|b)*", "model", "sim", "modle", "/", ".", "..", "a" * 500, "a.b", "{p} {}", "abab",
    "ab ba", "x" * 70, "1", "0", "-1", "99999999999999999999", "1e999", "nan", "None", "ahat.json",
)  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "-1", "x", "1.5", "", "nan", "-99999999999999999999", "1e3")
SMALL = {
    "exhaustive": "2", "random": "2", "adversarial": "1", "max_length": "6", "max_words": "100",
    "jobs": "1", "up_to": "3", "context": "16", "count": "3",
}  # fmt: skip
SKIPPED = ("explore", "bench", "corpus")
"""They serve, measure or write for minutes; `corpus` and its options have tests of their own."""


@cache
def parameters(name: str) -> list[Any]:
    group = typer.main.get_command(app(name))
    return list(group.commands[name].params)  # type: ignore[attr-defined]


def arguments(name: str, rng: random.Random) -> list[str]:
    line = []
    for parameter in parameters(name):
        option = parameter.param_type_name == "option"
        if option and rng.random() < 0.75 and parameter.name not in SMALL:
            continue
        value = _value(parameter, rng)
        if not option:
            line += [value] * (rng.randrange(1, 3) if parameter.nargs == -1 else 1)
        elif getattr(parameter, "is_flag", False):
            line.append(parameter.opts[0])
        else:
            line += [rng.choice(parameter.opts), value]
    if rng.random() < 0.1:
        line.insert(rng.randrange(len(line) + 1), rng.choice(("--nothing", "-x", "--help", "--")))
    if rng.random() < 0.1 and line:
        del line[rng.randrange(len(line))]
    return line


def _value(parameter: Any, rng: random.Random) -> str:
    kind = parameter.type.name
    if parameter.name in SMALL and rng.random() < 0.8:
        return SMALL[parameter.name]
    if kind in ("integer", "float"):
        return rng.choice(NUMBERS)
    choices = getattr(parameter.type, "choices", None)
    if choices and rng.random() < 0.8:
        return str(rng.choice(list(choices)))
    if kind in ("path", "file", "directory") and rng.random() < 0.7:
        return rng.choice(("out", "x.png", "x.json", "x.txt", "m/n/o", "pipe", "/dev/null", "sim"))
    return rng.choice(TEXTS)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Importing transformers takes longer than a case may."""
    with suppress(ImportError):
        import transformers  # noqa: F401


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import softhat
    from softhat.ahat.gallery import GALLERY

    monkeypatch.chdir(tmp_path)
    softhat.compile("!c S a", alphabet="abc").save("model")
    softhat.simulate(GALLERY["last-token"](), max_length=4).save("sim")
    GALLERY["last-token"]().save("ahat.json")
    os.mkfifo("pipe")
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeds", cases(5, count=200))
def test_random_command_lines(seeds: list[int], place: Path) -> None:
    names = [name for name in SUMMARIES if name not in SKIPPED]
    for seed in seeds:
        rng = random.Random(seed)
        name = rng.choice(names)
        call(name, *arguments(name, rng), stdin=rng.choice(TEXTS))
