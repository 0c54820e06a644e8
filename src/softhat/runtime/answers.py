"""Words in, answers out: what everything that users hold has in common.

A compiled model and a simulation are both a transformer with a certificate. They differ in what
they are compared with (formulas, hard attention) and in what is proved; how they run is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.io.argument_types import several, shown
from softhat.io.errors import SofthatError, not_certified
from softhat.io.files import json_bytes, write_folder
from softhat.io.memory import hold_freed_memory
from softhat.logic.semantics.words import Word, encode, encode_sets
from softhat.numbers.positions import longest
from softhat.numerics.formats import format_of
from softhat.transformer.stored import tensors_of
from softhat.transformer.weights import Size, Transformer

# The runtimes are imported where they are used: compiling and saving need none of them.
if TYPE_CHECKING:
    from softhat.runtime.dense import Ready
    from softhat.runtime.linear.runtime import LinearModel
    from softhat.runtime.stream import Stream
    from softhat.runtime.trace import Trace

Runtime = Literal["auto", "dense", "linear"]
End = Literal["first", "last"]
BATCH = 1 << 18
"""Positions that a batch of words may have."""
CROSSOVER = 256
"""From this length on the linear runtime is the faster one (measured)."""


class AnyCertificate(Protocol):
    """What is proved about a model, as far as everyone needs it."""

    @property
    def max_length(self) -> Mapping[str, int]:
        """The length to which answers are proved right in each number format; 0 if none."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dump`."""

    def explain(self) -> str:
        """The same in sentences."""


class Answers(ABC):
    """A transformer that answers at each position of a word: its value there is > 0, or not.

    `dtype` is a number format's name; without one it is the model's own. A model with several
    outputs needs `output`.
    """

    DTYPE: ClassVar[str]
    """The number format of answers unless another is asked for."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self._ready: dict[str, Ready] = {}
        self._linear: dict[str, LinearModel | SofthatError] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without runtimes: they are built again on demand."""
        return {**self.__dict__, "_ready": {}, "_linear": {}}

    # What kinds of model say for themselves

    @property
    @abstractmethod
    def certificate(self) -> AnyCertificate:
        """For which lengths and number formats the answers are proved right."""

    @abstractmethod
    def acceptance(self, output: str | None = None, at: str | None = None) -> End | None:
        """Where acceptance is read off; None if that is open and `at` does not say."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """What its folder's `config.json` says."""

    @abstractmethod
    def meaning(self, output: str | None = None) -> dict[str, bytes]:
        """What it must compute, as files of its folder; of one output if one is named."""

    @abstractmethod
    def certified_length(self, dtype: str, runtime: Literal["dense", "linear"]) -> int:
        """The length to which answers are proved right in a number format by a runtime."""

    def check_tables(self, n: int) -> None:
        """Refuse a length for which what is computed is not defined."""
        end = longest(self.transformer.positions, self.transformer.has_bos)
        if end is not None and n > end:
            raise SofthatError(
                f"a position table of the model ends at {end:,}, and the word has {n:,}"
            )

    def _is_certified(self, n: int, dtype: str, runtime: Literal["dense", "linear"]) -> bool:
        return n <= self.certified_length(dtype, runtime)

    # Folders

    def contents(self) -> dict[str, bytes]:
        """The files of its folder that loading needs, by name."""
        from safetensors.numpy import save as to_bytes

        weights = {k: np.ascontiguousarray(t) for k, t in tensors_of(self.stored()).items()}
        return {
            "config.json": json_bytes(self.config()),
            "model.safetensors": to_bytes(weights),
            **self.meaning(),
        }

    def stored(self) -> Transformer:
        """The weights that its folder holds."""
        return self.transformer

    def save(self, folder: str | Path) -> None:
        """Write a model folder: config.json, model.safetensors, certificate.json, and what it
        must compute: formula.txt or ahat.json."""
        certificate = {"certificate.json": json_bytes(self.certificate.to_json())}
        write_folder(folder, {**self.contents(), **certificate})

    # Facts

    @property
    def attention(self) -> str:
        return self.transformer.attention

    @property
    def size(self) -> Size:
        return self.transformer.size

    def output_name(self, output: str | None) -> str:
        """The output that is meant."""
        return self.transformer.output_name(output)

    # For people

    def _repr_html_(self) -> str:
        from softhat.io.markup import table

        layers = [
            [number, h, kind, label, law.text]
            for number, layer in enumerate(self.transformer.layers)
            for h, (kind, label, law) in enumerate(
                zip(layer.kinds, layer.labels, layer.laws, strict=True)
            )
        ]
        title = f"{self.size}; {self.attention} attention"
        return table(["layer", "head", "kind", "what it computes", "β(n)"], layers, title)

    def plot(self, file: str | Path | None = None) -> Any:
        """The circuit as a diagram: a matplotlib figure, written to `file` if there is one."""
        from softhat.io.pictures.diagram import diagram_figure
        from softhat.io.pictures.style import check_name, save
        from softhat.transformer.edges import columns, edges, texts

        if file is not None:
            check_name(file)
        t = self.transformer
        read = [(source, target) for source, target, _ in edges(t)]
        figure = diagram_figure(
            columns(t), texts(t), read, f"{self.size}; {self.attention} attention"
        )
        if file is not None:
            save(figure, file)
        return figure

    # Answers

    def truth(
        self,
        word: Word,
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> NDArray[np.bool_]:
        """The model's answer at each position of `word`."""
        return self.margins(word, dtype, output, runtime, strict) > 0

    def truth_many(
        self,
        words: Iterable[Word | NDArray[Any]],
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[NDArray[np.bool_]]:
        """`truth` of each word; words of equal length run together."""
        return [margins > 0 for margins in self.margins_many(words, dtype, output, runtime, strict)]

    def accepts(
        self,
        word: Word,
        at: End | None = None,
        dtype: str | None = None,
        output: str | None = None,
    ) -> bool:
        """The answer at the position that decides acceptance."""
        name = self.output_name(output)
        where = self.acceptance(name, at)
        if where is None:
            raise SofthatError(
                "the formula looks both ways, so a word is accepted at its first or its last "
                "position: say which with at='first' or at='last'"
            )
        return bool(self.truth(word, dtype, name)[0 if where == "first" else -1])

    def values(
        self,
        word: Word,
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> Any:
        """The read-out at each position of the word; the answer is value > 0."""
        return self.margins(word, dtype, output, runtime, strict)

    def margins(
        self,
        word: Word,
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> NDArray[Any]:
        """The signed distance from the threshold at each position: > 0 iff true."""
        return self.margins_many([word], dtype, output, runtime, strict)[0]

    def margins_many(
        self,
        words: Iterable[Word | NDArray[Any]],
        dtype: str | None = None,
        output: str | None = None,
        runtime: Runtime = "auto",
        strict: bool = False,
    ) -> list[NDArray[Any]]:
        """`margins` of each word; words of equal length run together."""
        dtype = dtype or self.DTYPE
        column = self.transformer.outputs.index(self.output_name(output))
        return [rows[:, column] for rows in self.rows_many(words, dtype, runtime, strict)]

    def rows_many(
        self, words: Iterable[Any], dtype: str, runtime: Runtime, strict: bool
    ) -> list[NDArray[Any]]:
        """The read-outs (n, outputs) of each word; words of equal length run together."""
        from softhat.runtime.linear.classes import TooManyError

        encoded = [self.encode(word) for word in several("words", words)]
        results: list[NDArray[Any]] = [np.empty(0)] * len(encoded)
        by_length: dict[int, list[int]] = {}
        for at, tokens in enumerate(encoded):
            by_length.setdefault(len(tokens), []).append(at)
        for n, places in by_length.items():
            chosen = self.runtime_for(n, runtime, dtype)
            self.check_length(n, dtype, strict, chosen)
            if chosen == "linear":
                try:
                    for at in places:
                        results[at] = self.linear_for(n, dtype).margins(encoded[at])
                    continue
                except TooManyError:
                    if runtime == "linear":
                        raise
                    self.check_length(n, dtype, strict, "dense")
            step = max(1, BATCH // (n + 2))
            for start in range(0, len(places), step):
                chunk = places[start : start + step]
                batch = np.stack([encoded[at] for at in chunk])
                for at, row in zip(chunk, self.run_batch(batch, dtype), strict=True):
                    results[at] = row
        return results

    def run_batch(self, tokens: NDArray[Any], dtype: str | None = None) -> NDArray[Any]:
        """Margins (batch, n, outputs) of encoded words of equal length, by the dense runtime."""
        from softhat.runtime.prefixes import shared_margins

        if not isinstance(tokens, np.ndarray):
            raise SofthatError(f"expected an array of encoded words, not {shown(tokens)}")
        ready = self.ready(dtype or self.DTYPE)
        shared = shared_margins(ready, tokens)
        if shared is not None:
            return shared
        x = ready.embed(tokens)
        for layer in ready.layers:
            x, _ = ready.step(layer, x, keep=False)
        return ready.margins(x)

    def run(self, word: Word, dtype: str = "float64") -> Trace:
        """Everything that happens on one word: scores, attention, the residual stream."""
        from softhat.runtime.trace import trace

        return trace(self.ready(dtype), self.encode(word))

    def stream(
        self, dtype: str | None = None, output: str | None = None, strict: bool = False
    ) -> Stream:
        """The model as a stream of tokens, in constant memory; for pure-past formulas."""
        from softhat.runtime.stream import Stream

        return Stream(self, dtype or self.DTYPE, output, strict)

    def stream_word(
        self,
        pieces: Iterable[Word | NDArray[Any]],
        dtype: str | None = None,
        output: str | None = None,
        strict: bool = False,
    ) -> Iterator[NDArray[np.bool_]]:
        """The answers on one word that comes in pieces, in order and in constant memory.

        A model that looks ahead keeps the word in a temporary file, and answers when it has ended.
        """
        from softhat.runtime.whole_word import stream_word

        return stream_word(self, pieces, dtype or self.DTYPE, output, strict)

    # Runtimes

    def runtime_for(
        self, n: int, runtime: Runtime = "auto", dtype: str | None = None
    ) -> Literal["dense", "linear"]:
        """The runtime that `truth` and `margins` use for a word of length n.

        `auto` takes the linear one for long words, if the weights allow it. In float16 and
        bfloat16 it stays dense: those are asked for to see what hardware would do, and the
        linear runtime rounds less.
        """
        dtype = dtype or self.DTYPE
        if runtime not in get_args(Runtime):
            choices = ", ".join(get_args(Runtime))
            raise SofthatError(f"unknown runtime {runtime!r}: choose one of {choices}")
        wide = format_of(dtype).name in ("float32", "float64")
        if runtime == "dense" or (runtime == "auto" and (n < CROSSOVER or not wide)):
            return "dense"
        if runtime == "linear":
            self.linear(dtype)  # says why, where it cannot
        return "linear" if self.runs_linearly(dtype) else "dense"

    def runs_linearly(self, dtype: str) -> bool:
        """Do the weights allow the linear-time runtime?"""
        try:
            self.linear(dtype)
        except SofthatError:
            return False
        return True

    def linear(self, dtype: str | None = None) -> LinearModel:
        """The linear-time runtime, made once; an error if the weights do not allow it."""
        from softhat.runtime.linear.runtime import LinearModel
        from softhat.transformer.rows import UnknownShapeError

        form = format_of(dtype or self.DTYPE)
        if form.name not in self._linear:
            try:
                hold_freed_memory()
                self._linear[form.name] = LinearModel(self.transformer, form)
            except UnknownShapeError as error:
                self._linear[form.name] = error
        runtime = self._linear[form.name]
        if isinstance(runtime, SofthatError):
            raise SofthatError(f"this model cannot run in linear time ({runtime}): run it densely")
        return runtime

    def linear_for(self, n: int, dtype: str | None = None) -> LinearModel:
        """The linear-time runtime for words of length n."""
        return self.linear(dtype)

    def ready(self, dtype: str) -> Ready:
        """The weights in a number format, made once."""
        from softhat.runtime.dense import Ready

        form = format_of(dtype)
        if form.name not in self._ready:
            hold_freed_memory()
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

    def check_length(
        self, n: int, dtype: str, strict: bool, runtime: Literal["dense", "linear"]
    ) -> None:
        """Past the certified length an answer may be wrong: say so, or refuse."""
        self.check_tables(n)
        if not strict and self._is_certified(n, dtype, runtime):
            return
        limit = self.certified_length(dtype, runtime)
        if n <= limit:
            return
        not_certified(
            f"the word has {n:,} positions, but this model is certified only to {limit:,} "
            f"in {format_of(dtype).name}",
            strict,
        )
