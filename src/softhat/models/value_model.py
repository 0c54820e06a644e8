"""A compiled RASP program: a transformer whose outputs are read as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.outputs import AVERAGED, Decoder, Numbers, decode
from softhat.frontends.rasp.premises import check_language, check_premises
from softhat.frontends.rasp.stored import from_json, to_json
from softhat.frontends.rasp.values import tagged
from softhat.frontends.regular.stored import automaton_from_json, automaton_to_json
from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes
from softhat.numerics.formats import format_of
from softhat.runtime.answers import Answers, End, Runtime
from softhat.transformer.stored import DamagedError, config_of
from softhat.transformer.weights import Transformer

if TYPE_CHECKING:
    from softhat.frontends.regular.doubling import LogDepth
    from softhat.numerics.formats import Format
    from softhat.proof.certificate import Certificate
    from softhat.proof.kernels import Kernel
    from softhat.proof.numbers import Use
    from softhat.runtime.trace import Trace


class ValueModel(Answers):
    """A transformer that computes the values of a RASP program, up to `max_length` tokens.

    Its outputs are bits ("is 'a'", binary digits) and numbers; `values` puts them together.
    """

    DTYPE = "float32"

    def __init__(
        self,
        transformer: Transformer,
        compiled: Compiled,
        name: str = "program",
        depth: str | None = None,
        language: LogDepth | None = None,
    ) -> None:
        super().__init__(transformer)
        self.language = language
        """The regular language that it decides, where it was compiled from one."""
        self.compiled = compiled
        self.name = name
        self.depth = depth
        """Of a regular language: counting or logarithmic depth, and why."""

    @classmethod
    def read(cls, transformer: Transformer, data: Any) -> ValueModel:
        """The model of weights and what stands in a `rasp.json`."""
        compiled = from_json(data)
        check_premises(compiled)
        program, t = compiled.program, transformer
        if (program.symbols, program.propositional) != (t.symbols, t.propositional):
            raise DamagedError("rasp.json and the weights have different alphabets")
        names = (*compiled.program.outputs, *compiled.program.numbers)
        if tuple(name for name, _ in names) != transformer.outputs:
            raise DamagedError("rasp.json and the weights have different outputs")
        name, depth, language = str(data.get("name", "program")), None, None
        if "language" in data:
            depth, language = _stated_language(compiled, name, data["language"])
        return cls(transformer, compiled, name, depth, language)

    def __repr__(self) -> str:
        return f"<softhat.ValueModel {self.name} to length {self.max_length}: {self.size}>"

    @property
    def alphabet(self) -> tuple[Value, ...]:
        """The tokens."""
        return self.compiled.alphabet

    @property
    def max_length(self) -> int:
        return self.compiled.max_length

    @property
    def decoder(self) -> Decoder:
        """How outputs are read as values."""
        return self.compiled.decoder

    @property
    def program(self) -> Any:
        """The attention program that the weights compute."""
        return self.compiled.program

    @cached_property
    def certificate(self) -> Certificate:
        """For which lengths and number formats the values are proved right, and how exact
        numbers are (`error`)."""
        from softhat.numerics.formats import FORMATS

        return self._proof(self.max_length, FORMATS)

    def _proof(self, longest: int, formats: Mapping[str, Format]) -> Certificate:
        """What is proved of words up to `longest` in some formats."""
        from softhat.proof.programs import certify_program

        compiled = self.compiled
        uses = _uses(compiled.decoder)
        return certify_program(self.transformer, compiled.program, longest, uses, formats)

    def kernel_certificate(self, kernel: Kernel, longest: int | None = None) -> dict[str, Any]:
        """What is proved about an export to PyTorch or ONNX, which takes words up to `longest`."""
        from softhat.proof.document import document
        from softhat.proof.kernels import ASSUMPTIONS, kernel_formats

        most = min(self.max_length, longest or self.max_length)
        proof = self._proof(most, kernel_formats(kernel))
        return document(
            "export",
            proof.max_length,
            (*ASSUMPTIONS[kernel], proof.assumptions[-1]),
            proof.void,
            target=kernel,
            kernel=kernel,
            program=self.name,
            attention=self.transformer.attention,
            binding=proof.binding,
            errors=proof.to_json()["errors"],
        )

    def values(
        self,
        word: Sequence[Value] | NDArray[Any],
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[Value]:
        """The value at each position: exact categories, None where undefined, numbers within
        `certificate.error`."""
        return self.values_many([word], dtype, output, runtime, strict)[0]

    def values_many(
        self,
        words: Iterable[Sequence[Value] | NDArray[Any]],
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[list[Value]]:
        """`values` of each word; words of equal length run together."""
        if output is not None:
            raise SofthatError("values are read from all outputs together: leave output out")
        return [*map(self.decoded, self.rows_many(words, dtype or self.DTYPE, runtime, strict))]

    def decoded(self, rows: NDArray[Any]) -> list[Value]:
        """The values that read-outs (n, outputs) stand for, whoever computed them."""
        columns = {name: rows[:, at] for at, name in enumerate(self.transformer.outputs)}
        bits = {name: (column > 0).tolist() for name, column in columns.items()}
        numbers = {name: column.astype(np.float64).tolist() for name, column in columns.items()}
        return decode(self.decoder, bits, numbers, len(rows))

    def exact_values(self, codes: NDArray[Any]) -> list[Value]:
        """What the attention program means on an encoded word, without rounding."""
        from softhat.program.evaluate import numbers, outputs

        program = self.compiled.program
        bits = {name: column.tolist() for name, column in outputs(program, codes).items()}
        return decode(self.compiled.decoder, bits, numbers(program, codes), len(codes))

    def encode(self, word: Any) -> NDArray[Any]:
        """Places of the tokens in the alphabet; arrays are encoded already."""
        if isinstance(word, np.ndarray):
            return super().encode(word)
        if not isinstance(word, Sequence) or not len(word):
            raise SofthatError(f"a word is a sequence of at least one token, not {word!r}")
        codes = []
        for at, token in enumerate(word):
            try:
                place = self._places.get(tagged(token))
            except TypeError:
                place = None
            if place is None:
                raise SofthatError(f"token {at + 1} of the word, {token!r}, is not in the alphabet")
            codes.append(place)
        return np.array(codes)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {tagged(token): at for at, token in enumerate(self.alphabet)}

    def acceptance(self, output: str | None = None, at: str | None = None) -> End | None:
        """At the last position, unless `at` says otherwise."""
        if at not in (None, "first", "last"):
            raise SofthatError(f"at must be first or last, not {at!r}")
        return "first" if at == "first" else "last"

    def accepts(
        self, word: Any, at: End | None = None, dtype: str | None = None, output: str | None = None
    ) -> bool:
        """Is the value at the last position true?"""
        where = self.acceptance(output, at)
        return bool(self.values(word, dtype)[0 if where == "first" else -1])

    def config(self) -> dict[str, Any]:
        """What its folder's `config.json` says."""
        return config_of(self.transformer, "rasp")

    def meaning(self, output: str | None = None) -> dict[str, bytes]:
        """The attention program, how its outputs are read, and the language that it decides."""
        document = {"name": self.name, **to_json(self.compiled)}
        if self.language is not None:
            automaton = automaton_to_json(self.language.dfa, self.program.symbols)
            document["language"] = {**automaton, "depth": self.depth}
        return {"rasp.json": json_bytes(document)}

    def certified_length(self, dtype: str, runtime: Literal["dense", "linear"]) -> int:
        name = format_of(dtype).name
        return (
            self._linear_length(name) if runtime == "linear" else self.certificate.max_length[name]
        )

    def _linear_length(self, dtype: str) -> int:
        """How far values of the linear runtime are proved.

        It rounds where the PyTorch kernel does and sums gates in the same format, and means,
        selections and what is looked up by number are exact sums and one division in float64,
        within what that proof allows.
        Nothing is said of models that have heads of other shapes.
        """
        from softhat.transformer.shapes import Classes, Numbered, Uniform

        heads = [head for layer in self.linear(dtype).layers for head in layer.heads]
        if not all(isinstance(head.shape, Classes | Numbered | Uniform) for head in heads):
            return 0
        return self._torch_lengths[dtype]

    @cached_property
    def _torch_lengths(self) -> dict[str, int]:
        return dict(self.kernel_certificate("torch")["max_length"])

    def runtime_for(
        self, n: int, runtime: Runtime = "auto", dtype: str | None = None
    ) -> Literal["dense", "linear"]:
        """The runtime of this name. `auto` takes the linear one only where its values are
        proved."""
        chosen = super().runtime_for(n, runtime, dtype)
        if runtime == "auto" and chosen == "linear":
            return (
                chosen if n <= self._linear_length(format_of(dtype or self.DTYPE).name) else "dense"
            )
        return chosen

    def run(self, word: Any, dtype: str = "float64") -> Trace:
        """Everything that happens on one word: scores, attention, the residual stream."""
        return replace(super().run(word, dtype), title=self.name)


def _stated_language(compiled: Compiled, name: str, data: Any) -> tuple[str | None, LogDepth]:
    """Of a regular language: how it is computed and the automaton, if the program decides it on the
    words that are tried. Exports are made of the automaton."""
    from softhat.frontends.regular.doubling import LogDepth

    if not isinstance(data, dict) or set(data) != {"step", "accepting", "depth"}:
        raise DamagedError("rasp.json: a language has step, accepting, depth, and nothing else")
    program, depth = compiled.program, data["depth"]
    if not isinstance(depth, str | None):
        raise DamagedError(f"rasp.json: a language's depth is text, not {str(depth)[:40]!r}")
    try:
        dfa = automaton_from_json(program.symbols, data["step"], data["accepting"])
        check_language(compiled, dfa)
    except SofthatError as error:
        raise DamagedError(f"rasp.json: {error}") from None
    return depth, LogDepth(dfa, name)


def _uses(decoder: Decoder) -> list[tuple[str, Use]]:
    """How values are made of the numeric outputs, for the proof."""
    from softhat.proof.numbers import Use

    if not isinstance(decoder, Numbers):
        return []
    return [
        (name, Use(AVERAGED[scale], case.whole, len(case.terms), case.constant))
        for case in decoder.cases
        for name, scale in case.terms
    ]
