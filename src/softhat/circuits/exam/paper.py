"""The paper: the fixed list of questions, by version.

A *task* is a formula with its family and level, from 1 (easy) to 5 (hard). A *dress* is how a task
becomes a model: the architecture, plain or disguised, with grouped keys, or soft. A *question* is a
task in a dress. The list is data (`papers/1.json`), drawn once by `drawing`, so that everyone has
the same models whatever later versions of softhat draw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, Literal

from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes

VERSIONS = (1,)
CONTEXT, SHORT = 32, 10
"""Positions, `<bos>` included. Soft models are the softer, the shorter their words: the certificate
is for the longest."""
Architecture = Literal["gpt2", "llama"]


@dataclass(frozen=True, slots=True)
class Dress:
    """How a task becomes a model."""

    name: str
    architecture: Architecture
    disguised: bool = False
    activation: Literal["relu", "gelu_new"] = "relu"
    soft: bool = False
    """At the least sharpness that is still certified (`soft`)."""
    context: int = CONTEXT


DRESSES = {
    dress.name: dress
    for dress in (
        Dress("gpt2", "gpt2"),
        Dress("gpt2-disguised", "gpt2", disguised=True),
        Dress("llama", "llama"),
        Dress("llama-grouped", "llama"),
        Dress("llama-disguised", "llama", disguised=True),
        Dress("gpt2-smooth", "gpt2", activation="gelu_new", context=SHORT),
        Dress("gpt2-soft", "gpt2", activation="gelu_new", soft=True, context=SHORT),
    )
}
"""`llama-grouped` is a plain Llama in which several query heads share keys and values,
`gpt2-smooth` the sharp twin of `gpt2-soft`."""


@dataclass(frozen=True, slots=True)
class ExamTask:
    """What a model of the paper computes."""

    name: str
    """Family and level, such as `n-gram-2`."""
    family: str
    level: int
    """From 1 (easy) to 5 (hard)."""
    alphabet: tuple[str, ...]
    formula: str
    """What the model says of every prefix."""
    seed: int
    """Of the disguise and of the pairs of words."""
    dresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A task in a dress."""

    task: ExamTask
    dress: Dress

    @property
    def id(self) -> str:
        return f"{self.task.name}.{self.dress.name}"

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **asdict(self.task), "dress": self.dress.name}


def tasks(version: int = 1) -> tuple[ExamTask, ...]:
    """The tasks of a version of the paper."""
    if version not in VERSIONS:
        raise SofthatError(f"there is no paper {version}: choose {', '.join(map(str, VERSIONS))}")
    file = resources.files("softhat.circuits.exam").joinpath("papers", f"{version}.json")
    listed = json.loads(file.read_text("utf-8"))["tasks"]
    return tuple(
        ExamTask(**{**task, "alphabet": tuple(task["alphabet"]), "dresses": tuple(task["dresses"])})
        for task in listed
    )


def questions(version: int = 1, only: Sequence[str] = ()) -> tuple[Question, ...]:
    """The questions of a version; with `only`, those whose id, family, level or dress is named."""
    every = tuple(
        Question(task, DRESSES[dress]) for task in tasks(version) for dress in task.dresses
    )
    for name in only:
        if not any(_is_named(question, name) for question in every):
            raise SofthatError(
                f"paper {version} has no question, family, level or dress {name!r}: softhat exam "
                "list names them"
            )
    return tuple(q for q in every if not only or any(_is_named(q, name) for name in only))


def _is_named(question: Question, name: str) -> bool:
    task = question.task
    names = (question.id, task.name, task.family, f"level-{task.level}", question.dress.name)
    return name in names


def digest(chosen: Sequence[Question]) -> str:
    """A digest of what is asked. Two papers with one digest ask the same."""
    return hashlib.sha256(json_bytes([question.to_json() for question in chosen])).hexdigest()
