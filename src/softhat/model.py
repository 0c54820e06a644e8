"""A compiled model: weights together with the formulas they compute."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.errors import CertificateError, CertificateWarning, SofthatError
from softhat.formats import format_of
from softhat.logic.semantics.truth import acceptance_position, resolve_at
from softhat.logic.semantics.words import Word, encode, encode_sets
from softhat.logic.syntax.nodes import Formula
from softhat.transformer.weights import Size, Transformer

# The runtimes are imported where they are used: compiling and saving need none of them.
if TYPE_CHECKING:
    from softhat.program.signals import Program
    from softhat.proof.certificate import Certificate
    from softhat.runtime.dense import Ready
    from softhat.runtime.linear.runtime import LinearModel
    from softhat.runtime.stream import Stream
    from softhat.runtime.trace import Trace

Runtime = Literal["auto", "dense", "linear"]
BATCH = 1 << 18
"""Positions that a batch of words may have."""
CROSSOVER = 256
"""From this length on the linear runtime is the faster one (measured)."""


class Model:
    """A transformer and the formulas (by output name) that its outputs compute."""

    def __init__(
        self,
        transformer: Transformer,
        formulas: Mapping[str, Formula],
        program: Program | None = None,
    ) -> None:
        self.transformer = transformer
        self.formulas = dict(formulas)
        self._program = program
        self._ready: dict[str, Ready] = {}
        self._linear: dict[str, LinearModel | SofthatError] = {}
        self._linear_limits: dict[str, int] = {}

    def __repr__(self) -> str:
        s = self.size
        outputs = ", ".join(self.transformer.outputs)
        return (
            f"<softhat.Model {self.transformer.attention}: {outputs}; {s.layers} layers, "
            f"{s.heads} heads, d_model {s.d_model}, {s.parameters} parameters>"
        )

    @property
    def attention(self) -> str:
        return self.transformer.attention

    @property
    def size(self) -> Size:
        return self.transformer.size

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
        from softhat.proof.check import certify

        return certify(self.transformer, self.formulas)

    def truth(
        self,
        word: Word,
        dtype: str = "float32",
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> NDArray[np.bool_]:
        """The model's answer at each position of `word`."""
        return self.margins(word, dtype, output, runtime, strict) > 0

    def truth_many(
        self,
        words: Iterable[Word | NDArray[Any]],
        dtype: str = "float32",
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[NDArray[np.bool_]]:
        """`truth` of each word; words of equal length run together."""
        return [margins > 0 for margins in self.margins_many(words, dtype, output, runtime, strict)]

    def accepts(
        self,
        word: Word,
        at: Literal["first", "last"] | None = None,
        dtype: str = "float32",
        output: str | None = None,
    ) -> bool:
        """The answer at the position that decides acceptance (see `Formula.accepts`)."""
        name = self.output_name(output)
        where = resolve_at(self.formulas[name], at)
        return bool(self.truth(word, dtype, name)[0 if where == "first" else -1])

    def acceptance(
        self, output: str | None = None, at: str | None = None
    ) -> Literal["first", "last"] | None:
        """Where acceptance is read off; None for a two-way formula if `at` does not say."""
        formula = self.formulas[self.output_name(output)]
        if at is None and acceptance_position(formula) is None:
            return None
        return resolve_at(formula, at)

    def margins(
        self,
        word: Word,
        dtype: str = "float32",
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> NDArray[Any]:
        """The signed distance from the threshold at each position: > 0 iff true."""
        return self.margins_many([word], dtype, output, runtime, strict)[0]

    def margins_many(
        self,
        words: Iterable[Word | NDArray[Any]],
        dtype: str = "float32",
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[NDArray[Any]]:
        """`margins` of each word; words of equal length run together."""
        column = self.transformer.outputs.index(self.output_name(output))
        encoded = [self.encode(word) for word in words]
        results: list[NDArray[Any]] = [np.empty(0)] * len(encoded)
        by_length: dict[int, list[int]] = {}
        for at, tokens in enumerate(encoded):
            by_length.setdefault(len(tokens), []).append(at)
        for n, places in by_length.items():
            chosen = self.runtime_for(n, runtime, dtype)
            self._check_length(n, dtype, strict, chosen)
            if chosen == "linear":
                for at in places:
                    results[at] = self.linear(dtype).margins(encoded[at])[:, column]
                continue
            step = max(1, BATCH // (n + 2))
            for start in range(0, len(places), step):
                chunk = places[start : start + step]
                batch = np.stack([encoded[at] for at in chunk])
                for at, row in zip(chunk, self.run_batch(batch, dtype), strict=True):
                    results[at] = row[:, column]
        return results

    def run_batch(self, tokens: NDArray[Any], dtype: str = "float32") -> NDArray[Any]:
        """Margins (batch, n, outputs) of encoded words of equal length, by the dense runtime."""
        ready = self.ready(dtype)
        x = ready.embed(tokens)
        for layer in ready.layers:
            x, _ = ready.step(layer, x, keep=False)
        return ready.margins(x)

    def runtime_for(
        self, n: int, runtime: Runtime = "auto", dtype: str = "float32"
    ) -> Literal["dense", "linear"]:
        """The runtime that `truth` and `margins` use for a word of length n.

        `auto` takes the linear one for long words, if the weights allow it. In float16 and
        bfloat16 it stays dense: those are asked for to see what hardware would do, and the
        linear runtime rounds less.
        """
        if runtime not in get_args(Runtime):
            choices = ", ".join(get_args(Runtime))
            raise SofthatError(f"unknown runtime {runtime!r}: choose one of {choices}")
        wide = format_of(dtype).name in ("float32", "float64")
        if runtime == "dense" or (runtime == "auto" and (n < CROSSOVER or not wide)):
            return "dense"
        try:
            self.linear(dtype)
        except SofthatError:
            if runtime == "linear":
                raise
            return "dense"
        return "linear"

    def linear(self, dtype: str = "float32") -> LinearModel:
        """The linear-time runtime, made once; an error if the weights do not allow it."""
        from softhat.runtime.linear.forms import UnknownShapeError
        from softhat.runtime.linear.runtime import LinearModel

        form = format_of(dtype)
        if form.name not in self._linear:
            try:
                self._linear[form.name] = LinearModel(self.transformer, form)
            except UnknownShapeError as error:
                self._linear[form.name] = error
        found = self._linear[form.name]
        if isinstance(found, SofthatError):
            raise SofthatError(f"this model cannot run in linear time ({found}): run it densely")
        return found

    def linear_max_length(self, dtype: str = "float32") -> int:
        """The longest word on which the linear runtime is proved right in a number format."""
        from softhat.runtime.linear.bound import linear_max_length

        name = format_of(dtype).name
        if name not in self._linear_limits:
            # The linear bound adds to the certificate of the weights; without it, it is void.
            proved = self.certificate.max_length["float64"] > 0
            self._linear_limits[name] = linear_max_length(self.transformer, name) if proved else 0
        return self._linear_limits[name]

    def stream(
        self, dtype: str = "float32", output: str | None = None, strict: bool = False
    ) -> Stream:
        """The model as a stream of tokens, in constant memory; for pure-past formulas."""
        from softhat.runtime.stream import Stream

        return Stream(self, dtype, output, strict)

    def run(self, word: Word, dtype: str = "float64") -> Trace:
        """Everything that happens on one word: scores, attention, the residual stream."""
        from softhat.runtime.trace import trace

        said = "; ".join(str(formula) for formula in self.formulas.values())
        return replace(trace(self.ready(dtype), self.encode(word)), title=said)

    def ready(self, dtype: str) -> Ready:
        """The weights in a number format, made once."""
        from softhat.runtime.dense import Ready

        form = format_of(dtype)
        if form.name not in self._ready:
            self._ready[form.name] = Ready(self.transformer, form)
        return self._ready[form.name]

    def encode(self, word: Word | NDArray[Any]) -> NDArray[Any]:
        """Symbol codes (n,), or proposition bits (n, propositions); arrays are encoded already."""
        names = self.transformer.symbols
        if not self.transformer.propositional:
            return encode(word, names)
        if not isinstance(word, np.ndarray):
            return encode_sets(word, names)
        if word.ndim != 2 or word.shape[1] != len(names) or not len(word):
            raise SofthatError(
                f"an encoded word has a row of {len(names)} bits a position, not {word.shape}"
            )
        return word.astype(np.bool_, copy=False)

    def save(self, folder: str | Path) -> None:
        """Write a model folder: config.json, model.safetensors, formula.txt, certificate.json."""
        from softhat.folders import save

        save(self, Path(folder))

    def output_name(self, output: str | None) -> str:
        names = self.transformer.outputs
        if output is None and len(names) == 1:
            return names[0]
        if output not in names:
            asked = "this model has several outputs" if output is None else f"no output {output!r}"
            raise SofthatError(f"{asked}: choose output= one of {', '.join(names)}")
        return output

    def _check_length(
        self, n: int, dtype: str, strict: bool, runtime: Literal["dense", "linear"]
    ) -> None:
        """Past the certified length an answer may be wrong: say so, or refuse."""
        if runtime == "linear":
            limit = self.linear_max_length(dtype)
        else:
            limit = self.certificate.max_length[format_of(dtype).name]
        if n <= limit:
            return
        message = (
            f"the word has {n:,} positions, but this model is certified only to {limit:,} "
            f"in {format_of(dtype).name}"
        )
        if strict:
            raise CertificateError(message)
        warnings.warn(message, CertificateWarning, stacklevel=4)
