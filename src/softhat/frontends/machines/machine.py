"""What all machines have in common: tokens, prompts, runs, formulas.

A machine's run is a word. It begins with a *prompt*, which is the input and ends with a token that
starts the machine; every step adds a token, and `<eos>` ends a run that halts. For every history,
also for those that no run has, exactly one token comes next: a decoder that is greedy is never
undecided. A history that is no run ends with `<eos>`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula
from softhat.program.build import build_as_written
from softhat.program.signals import Program

BOS, EOS = "<bos>", "<eos>"
"""The sinks' tokens (`softhat.transformer.weights` has the same)."""
GO = "go"
"""Ends a prompt, and starts the machine."""
MOST_STEPS = 100_000
"""Of a run, unless the caller says: machines need not halt."""


@dataclass(frozen=True)
class Run:
    """What a machine did: the tokens after the prompt (without `<eos>`), and how it ended."""

    prompt: tuple[str, ...]
    tokens: tuple[str, ...]
    steps: int
    halted: bool

    def __repr__(self) -> str:
        ended = "halted" if self.halted else "not halted"
        return f"<softhat.Run {self.steps:,} steps, {len(self.tokens):,} tokens, {ended}>"

    @property
    def word(self) -> tuple[str, ...]:
        """Prompt and steps, with `<eos>` if it halted: what a decoder writes after `<bos>`."""
        return (*self.prompt, *self.tokens, *((EOS,) if self.halted else ()))


@dataclass(frozen=True, repr=False)
class BoundedRun(Run):
    """The run of a machine whose memory is so many cells."""

    full: bool = field(default=False, kw_only=True)
    """Did it need more cells than there are? Then `<eos>` ends the run, too."""

    @property
    def word(self) -> tuple[str, ...]:
        ended = (EOS,) if self.halted or self.full else ()
        return (*self.prompt, *self.tokens, *ended)


class Machine(ABC):
    """A machine that a decoder can run."""

    kind: ClassVar[str]

    def __repr__(self) -> str:
        return f"<softhat.Machine {type(self).__name__}, {len(self.tokens)} tokens>"

    @cached_property
    @abstractmethod
    def tokens(self) -> tuple[str, ...]:
        """The names of all tokens, without the sinks'."""

    @cached_property
    @abstractmethod
    def formulas(self) -> dict[str, Formula]:
        """One formula for each token and for `<eos>`: this one comes next."""

    @property
    @abstractmethod
    def step_theorem(self) -> str:
        """Why the one token whose formula holds is that of the next step: a theorem of the proofs,
        which Coq has checked."""

    @abstractmethod
    def prompt(self, input: Any = None) -> list[str]:
        """The tokens that a run on this input begins with."""

    @abstractmethod
    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> Run:
        """What the machine does on an input, by its definition; at most `max_steps` steps."""

    @abstractmethod
    def decode(self, tokens: str | Iterable[str]) -> Run:
        """What tokens (a prompt and what was generated) say that the machine did."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A description from which `softhat.machine` makes the same machine."""

    @cached_property
    def program(self) -> Program:
        """The attention program that computes the formulas."""
        return build_as_written(self.formulas, self.tokens, False)

    @property
    def space(self) -> str | None:
        """What bounds its memory besides the context; None if nothing does."""
        return None

    @property
    def has_tapes(self) -> bool:
        """Does it recall what was written to the cells of tapes?"""
        return self.space is not None

    def first_wrong(self, input: Any, tokens: Sequence[str]) -> int | None:
        """The first of these tokens (prompt and steps) that the interpreter does not write; None
        if it writes all of them."""
        right = self.run(input, max_steps=len(tokens)).word
        for at, token in enumerate(tokens):
            if at >= len(right) or right[at] != token:
                return at
        return None

    def names_of(self, tokens: str | Iterable[str]) -> tuple[list[str], bool]:
        """Token names without the sinks, and whether `<eos>` ended them."""
        if not isinstance(tokens, Iterable):
            raise SofthatError(
                f"tokens are names in a list, or in a text with spaces: not {tokens!r}"
            )
        given = tokens.split() if isinstance(tokens, str) else list(tokens)
        begin = given.index(BOS) if BOS in given else -1
        if all(name == EOS for name in given[: max(begin, 0)]):  # a batch is padded on the left
            given = given[begin + 1 :]
        ended = EOS in given
        names = given[: given.index(EOS)] if ended else given
        known = frozenset(self.tokens)
        for at, name in enumerate(names):
            if name not in known:
                raise SofthatError(
                    f"token {at + 1} of what is to be decoded is {name!r}, which is no token of "
                    f"this machine: {shown(self.tokens)}"
                )
        return names, ended


def after_prompt(names: Sequence[str]) -> int:
    """Where the steps begin."""
    if GO not in names:
        raise SofthatError(f"these tokens have no {GO!r}, which ends every prompt")
    return names.index(GO) + 1


def shown(names: Sequence[str], most: int = 12) -> str:
    """The first few of some names."""
    return " ".join(names[:most]) + (" …" if len(names) > most else "")


def word_of(given: object) -> list[Any]:
    """The symbols of an input that is a word; none if nothing is given. A number is its digits."""
    if given is None:
        return []
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise SofthatError(
            f"the input is {given!r}: give a text or a list of symbols (dictionaries are inputs "
            "of counter machines)"
        )
    return [str(symbol) if type(symbol) is int else symbol for symbol in given]


def checked_word(given: object, alphabet: Sequence[str], whose: str) -> list[str]:
    """The symbols of an input, each of which must be one of the alphabet."""
    word = word_of(given)
    for at, symbol in enumerate(word, start=1):
        if symbol not in alphabet:
            raise SofthatError(
                f"symbol {at} of the input is {symbol!r}, which {whose}: {shown(alphabet)}"
            )
    return word


def checked_steps(max_steps: object) -> int:
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 0:
        raise SofthatError(f"max_steps is {max_steps!r}: give a whole number from 0 up")
    return max_steps
