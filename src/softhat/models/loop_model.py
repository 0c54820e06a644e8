"""A regular language by one block of weights, which runs as often as the word asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.outputs import Decoder, DigitValues
from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.doubling import MEMBER, LogDepth, rounds_of
from softhat.frontends.regular.pointers import State, rounds
from softhat.frontends.regular.stored import automaton_from_json, automaton_to_json
from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes
from softhat.io.plural import plural
from softhat.models.value_model import ValueModel
from softhat.transformer.lowering.blocks import block, block_of, repeated
from softhat.transformer.stored import DamagedError, config_of
from softhat.transformer.weights import Attention, Size, Transformer

if TYPE_CHECKING:
    from softhat.numerics.formats import Format
    from softhat.proof.certificate import Certificate
    from softhat.proof.loops import LoopClaim
    from softhat.runtime.linear.runtime import LinearModel
    from softhat.runtime.trace import Trace

LANGUAGE = "language.json"
"""The automaton, what its language is called, and the coordinates of the state."""
_KEYS = ("text", "alphabet", "step", "accepting", "loop")
MOST_DIGITS = 40
"""Of pointers in a folder."""


class LoopModel(ValueModel):
    """A transformer of one block, for words of fewer than 2^K symbols.

    A word of n symbols goes through the block ⌈log₂ n⌉ times. `transformer` is the block K times
    over, all of them the same weights: what knows nothing of loops runs that, and is as right.
    """

    def __init__(self, one: Transformer, state: State, language: LogDepth) -> None:
        digits = len(state.pointer)
        super(ValueModel, self).__init__(repeated(one, digits))
        self.block = one
        """The weights: a transformer with one layer."""
        self.state = state
        """The coordinates that the block reads and writes."""
        self.language = language
        self.name = language.text
        self.depth = (
            f"logarithmic: one block of weights, run ⌈log₂ n⌉ times for every n <= "
            f"{self.max_length:,}"
        )
        self._linear_rounds: dict[tuple[str, int], LinearModel] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_linear_rounds": {}}

    @classmethod
    def of(cls, language: LogDepth, symbols: Sequence[str], attention: Attention) -> LoopModel:
        """The model of a language."""
        one = rounds(language, symbols, 1)
        before, after = one.states
        transformer, held = block(one.program, before.places, after.places, one.heads[0], attention)
        place = dict(zip(after.places, held, strict=True))
        state = State(
            tuple(tuple(place[at] for at in row) for row in after.function),
            tuple(place[at] for at in after.accepts),
            tuple(place[at] for at in after.pointer),
        )
        return cls(transformer, state, language)

    @classmethod
    def read_rounds(cls, transformer: Transformer, data: Any) -> LoopModel:
        """The model of all rounds as layers of their own, and a `language.json`: what exports
        have, whose runtimes know nothing of loops."""
        model = cls.read_loop(block_of(transformer), data)
        if len(transformer.layers) != len(model.state.pointer):
            raise DamagedError(
                f"{len(transformer.layers)} rounds, and pointers of {len(model.state.pointer)} "
                "digits need one each"
            )
        return model

    @classmethod
    def read_loop(cls, one: Transformer, data: Any) -> LoopModel:
        """The model of a block's weights and a `language.json`."""
        if not isinstance(data, dict) or set(data) != set(_KEYS):
            raise DamagedError(f"{LANGUAGE} has {', '.join(_KEYS)}, and nothing else")
        loop = data["loop"]
        if tuple(data["alphabet"]) != one.symbols:
            raise DamagedError(f"{LANGUAGE} and the weights have different alphabets")
        if len(one.layers) != 1 or one.outputs != (MEMBER,):
            raise DamagedError(f"a loop has one block and the output {MEMBER!r}")
        try:
            dfa = automaton_from_json(one.symbols, data["step"], data["accepting"])
        except SofthatError as error:
            raise DamagedError(f"{LANGUAGE}: {error}") from None
        state = State(
            tuple(tuple(_whole(at) for at in row) for row in loop["function"]),
            tuple(_whole(at) for at in loop["accepts"]),
            tuple(_whole(at) for at in loop["pointer"]),
        )
        if not 1 <= len(state.pointer) <= MOST_DIGITS:
            raise DamagedError(f"{LANGUAGE}: pointers have 1 to {MOST_DIGITS} digits")
        # Not numbered anew: the block's coordinates are by these states.
        return cls(one, state, LogDepth(dfa, str(data["text"])))

    def __repr__(self) -> str:
        s = self.size
        return (
            f"<softhat.LoopModel {self.name} to length {self.max_length}: one block, "
            f"{plural(s.heads, 'head')}, d_model {s.d_model}, {plural(s.parameters, 'parameter')}>"
        )

    # What it is

    @property
    def size(self) -> Size:
        """Of the block: its weights are there once, however often it runs."""
        return self.block.size

    @property
    def alphabet(self) -> tuple[Value, ...]:
        return self.block.symbols

    @property
    def max_length(self) -> int:
        return (1 << len(self.state.pointer)) - 1

    @property
    def decoder(self) -> Decoder:
        return DigitValues((MEMBER,), None, (False, True))

    @cached_property
    def compiled(self) -> Compiled:  # type: ignore[override]  # made when asked for
        """The attention program of all rounds."""
        assert self.language is not None
        digits = len(self.state.pointer)
        program = rounds(self.language, self.block.symbols, digits, digits).program
        return Compiled(program, self.alphabet, self.decoder, self.max_length, causal=True)

    def _proof(self, longest: int, formats: Mapping[str, Format]) -> Certificate:
        """The block, run ⌈log₂ n⌉ times or more often, against the automaton."""
        from softhat.proof.loops import certify_loop

        return certify_loop(self.block, self._claim(), longest, formats)

    def _claim(self) -> LoopClaim:
        from softhat.proof.loops import LoopClaim

        state, accepting = self.state, self.automaton.accepting
        return LoopClaim(self._step, accepting, state.function, state.accepts, state.pointer)

    @property
    def automaton(self) -> DFA:
        """Of the language."""
        assert self.language is not None
        return self.language.dfa

    @property
    def _step(self) -> tuple[tuple[int, ...], ...]:
        """Of the automaton, in the order of the model's symbols."""
        places = [self.automaton.alphabet.index(symbol) for symbol in self.block.symbols]
        return tuple(tuple(row[k] for k in places) for row in self.automaton.step)

    def config(self) -> dict[str, Any]:
        return config_of(self.block, "loop")

    def stored(self) -> Transformer:
        """The block, once."""
        return self.block

    def meaning(self, output: str | None = None) -> dict[str, bytes]:
        """The automaton, and where the block keeps what it computes."""
        state = self.state
        loop = {
            "function": [list(row) for row in state.function],
            "accepts": list(state.accepts),
            "pointer": list(state.pointer),
        }
        symbols = self.block.symbols
        automaton = automaton_to_json(self.automaton, symbols)
        document = {"text": self.name, "alphabet": list(symbols), **automaton, "loop": loop}
        return {LANGUAGE: json_bytes(document)}

    def exact_values(self, codes: NDArray[Any]) -> list[Value]:
        """What the automaton says."""
        assert self.language is not None
        symbols = self.block.symbols
        return [bool(x) for x in self.language.truth([symbols[k] for k in codes.tolist()])]

    # Running

    def rounds(self, n: int) -> int:
        """How often the block runs on a word of n symbols."""
        if n > self.max_length:
            raise SofthatError(
                f"the block serves words of up to {self.max_length:,} symbols, and this one has "
                f"{n:,}: its pointers have {len(self.state.pointer)} digits"
            )
        return rounds_of(n)

    def check_tables(self, n: int) -> None:
        """Longer words have positions that no pointer reaches."""
        self.rounds(n)

    def run_batch(self, tokens: NDArray[Any], dtype: str | None = None) -> NDArray[Any]:
        count = self.rounds(tokens.shape[1])
        ready = self.ready(dtype or self.DTYPE)
        x = ready.embed(tokens)
        for layer in ready.layers[:count]:
            x, _ = ready.step(layer, x, keep=False)
        return ready.margins(x)

    def linear_for(self, n: int, dtype: str | None = None) -> LinearModel:
        from softhat.numerics.formats import format_of
        from softhat.runtime.linear.runtime import LinearModel

        self.linear(dtype)  # says why, where it cannot
        form = format_of(dtype or self.DTYPE)
        key = form.name, self.rounds(n)
        if key not in self._linear_rounds:
            self._linear_rounds[key] = LinearModel(repeated(self.block, key[1]), form)
        return self._linear_rounds[key]

    def run(self, word: Any, dtype: str = "float64") -> Trace:
        """Everything that happens on one word, round by round."""
        from softhat.numerics.formats import format_of
        from softhat.runtime.dense import Ready
        from softhat.runtime.trace import trace

        codes = self.encode(word)
        ready = Ready(repeated(self.block, self.rounds(len(codes))), format_of(dtype))
        return replace(trace(ready, codes), title=self.name)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DamagedError(f"expected a number of a state or coordinate, not {value!r}")
    return value
