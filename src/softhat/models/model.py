"""What users hold: a compiled model, that is weights together with the formulas they compute.

A simulation of hard attention (`softhat.ahat.simulation.simulation`) answers the same questions;
`runtime.answers` is what both have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from softhat.io.garbage_collection import rarely_collected
from softhat.logic.binding import predicates_file
from softhat.logic.predicates import predicates_of
from softhat.logic.semantics.truth import acceptance_position, resolve_at
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula
from softhat.numbers.positions import longest
from softhat.numbers.predicates import Predicate, check_length
from softhat.numbers.predicates import longest as table_length
from softhat.numerics.formats import format_of
from softhat.runtime.answers import Answers, End
from softhat.transformer.stored import config_of
from softhat.transformer.weights import Transformer

if TYPE_CHECKING:
    from softhat.frontends.machines.machine import Machine
    from softhat.program.signals import Program
    from softhat.proof.certificate import Certificate
    from softhat.proof.lengths import Proof
    from softhat.runtime.hard_stepper import Step
    from softhat.runtime.trace import Trace


class Model(Answers):
    """A transformer and the formulas (by output name) that its outputs compute."""

    DTYPE = "float32"
    machine: Machine | None = None
    """The machine that the model runs, if it runs one."""

    def __init__(
        self,
        transformer: Transformer,
        formulas: Mapping[str, Formula],
        program: Program | None = None,
        at: End | None = None,
    ) -> None:
        super().__init__(transformer)
        self.at = at
        """Where a word is accepted, if the formulas leave that open or something else is meant."""
        self.formulas = dict(formulas)
        self._program = program
        self._linear_limits: dict[str, int] = {}

    def __repr__(self) -> str:
        outputs = ", ".join(self.transformer.outputs)
        symbols = " ".join(self.transformer.symbols[:12])
        attention = self.transformer.attention
        return f"<softhat.Model {attention}: {outputs} over {symbols}; {self.size}>"

    @cached_property
    def _predicates(self) -> tuple[Predicate, ...]:
        return tuple(predicates_of(*self.formulas.values()).values())

    @property
    def longest_word(self) -> int | None:
        """The length at which a table of a numerical predicate ends; None if there is none."""
        t = self.transformer
        ends = [longest(t.positions, t.has_bos), *map(table_length, self._predicates)]
        return min((n for n in ends if n is not None), default=None)

    def check_tables(self, n: int) -> None:
        """Refuse words that are longer than the table of a numerical predicate."""
        for predicate in self._predicates:
            check_length(predicate, n)

    @property
    def program(self) -> Program:
        """The attention program that the weights compute; built again for a loaded model."""
        if self._program is None:
            from softhat.program.build import build

            t = self.transformer
            self._program = build(self.formulas, t.symbols, t.propositional)
        return self._program

    @cached_property
    def certificate(self) -> Certificate:
        """For which lengths and number formats the answers are proved right."""
        return self._proved[0]

    @cached_property
    def _proved(self) -> tuple[Certificate, Proof]:
        """The certificate, and what it was derived from: the linear runtime's begins there."""
        from softhat.proof.check import certify
        from softhat.proof.lengths import Proof

        with rarely_collected():
            proof = Proof()
            return certify(self.transformer, self.formulas, proof=proof), proof

    def acceptance(self, output: str | None = None, at: str | None = None) -> End | None:
        """Where acceptance is read off; None for a two-way formula if `at` does not say."""
        formula = self.formulas[self.output_name(output)]
        where = at or self.at or acceptance_position(formula)
        return None if where is None else resolve_at(formula, where)

    def config(self) -> dict[str, Any]:
        """What its folder's `config.json` says."""
        position = {} if self.at is None else {"accepts_at": self.at}
        return {**config_of(self.transformer, "compiled"), **position}

    def meaning(self, output: str | None = None) -> dict[str, bytes]:
        """Its formulas, `name: formula` a line, and what their numerical predicates are."""
        meant = {name: f for name, f in self.formulas.items() if output in (None, name)}
        lines = [f"{name}: {formula}\n" for name, formula in meant.items()]
        return {"formula.txt": "".join(lines).encode(), **predicates_file(*meant.values())}

    def certified_length(self, dtype: str, runtime: Literal["dense", "linear"]) -> int:
        """The length to which answers are proved right in a number format by a runtime."""
        if runtime == "linear":
            return self.linear_max_length(dtype)
        return self.certificate.max_length[format_of(dtype).name]

    @rarely_collected()
    def linear_max_length(self, dtype: str = "float32") -> int:
        """The longest word on which the linear runtime is proved right in a number format."""
        from softhat.proof.linear import linear_max_length

        name = format_of(dtype).name
        if name not in self._linear_limits:
            # The linear bound adds to the certificate of the weights; without it, it is void.
            proved = self.certificate.max_length["float64"] > 0 and self.runs_linearly(name)
            length = linear_max_length(self.transformer, name, self._proved[1]) if proved else 0
            most = self.longest_word
            self._linear_limits[name] = length if most is None else min(length, most)
        return self._linear_limits[name]

    def generate(
        self,
        prompt: str | Iterable[str],
        max_tokens: int = 100_000,
        dtype: str | None = None,
        runtime: Literal["auto", "linear", "hard"] = "auto",
        strict: bool = False,
    ) -> Iterator[str]:
        """The tokens that come after a prompt, one by one, until `<eos>` or `max_tokens`.

        For models with an output for each symbol, "this one comes next"; the largest wins. Work and
        time a token are constant. `linear` runs the softmax weights, `hard` the attention program
        in exact hard attention; `auto` takes the weights where softhat's own architecture has them.
        """
        from softhat.runtime.generate import check_asked, generated, softmax_step, tokens_of

        program, name = self.program, dtype or self.DTYPE
        outputs = tuple(output for output, _ in program.outputs)
        check_asked(runtime, max_tokens, outputs, program.symbols)
        names = tokens_of(prompt, program.symbols)
        if runtime == "linear" or (runtime == "auto" and self.runs_linearly(name)):
            step, outputs = softmax_step(self, name, strict), self.transformer.outputs
        else:
            step = self._hard_steps()
        return generated(step, outputs, program.symbols, names, max_tokens)

    @cached_property
    def _hard_steps(self) -> Callable[[], Step]:
        from softhat.runtime.hard_stepper import hard_steps

        return hard_steps(self.program)

    def __getstate__(self) -> dict[str, Any]:
        """A function that was made from source stays behind, too."""
        kept = super().__getstate__()
        return {k: v for k, v in kept.items() if k not in ("_hard_steps", "_proved")}

    def run(self, word: Word, dtype: str = "float64") -> Trace:
        """Everything that happens on one word: scores, attention, the residual stream."""
        title = "; ".join(str(formula) for formula in self.formulas.values())
        return replace(super().run(word, dtype), title=title)
