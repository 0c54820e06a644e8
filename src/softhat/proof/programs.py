"""The certificate of a transformer that is claimed to compute an attention program.

The program is translated to the same canonical functions that are derived from the weights, signal
by signal, by the definition of its heads and gates; numeric outputs are compared as linear forms
of averages, means and bits. What a program asks of its heads (that the keys which a Match or an At
reads agree on the value) and of its readers (that a mean over a selection is read where there is
one) is not proved: it stands among the assumptions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.numerics.formats import CAP, FORMATS, Format
from softhat.program import heads
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.inputs import FirstPosition, LastPosition, PositionBit, PositionMod, TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Number, Program, Signal
from softhat.proof.atoms import CountSum
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Form, Mean, Raw, Zero
from softhat.proof.certificate import Certificate
from softhat.proof.gates import read_out
from softhat.proof.lengths import Proof, Report
from softhat.proof.numbers import (
    Linear,
    NumericOutput,
    Use,
    is_whole,
    numbers_fail,
    numeric_error,
)
from softhat.proof.program_atoms import Chosen, ProgramAtoms, Whole
from softhat.proof.values import ProgramDerivation
from softhat.proof.void import UNPROVED, reading, reason_of
from softhat.transformer.weights import Transformer

AGREE = (
    "the positions that a Match or At head of the program reads agree on the value, and a mean "
    "over a selection is read only where something is selected: shown by the rules of the RASP "
    "compiler"
)


def certify_program(
    transformer: Transformer,
    program: Program,
    longest: int,
    uses: Iterable[tuple[str, Use]],
    formats: Mapping[str, Format] = FORMATS,
) -> Certificate:
    """The certificate of weights that are claimed to compute `program` on words up to `longest`.

    `uses` says how values are made of the numeric outputs, each of which is read once.
    """
    proof = Proof()
    reasons: list[str] = []
    numbers: list[NumericOutput] = []
    try:
        numbers = _derive(transformer, program, proof, list(uses))
        longest = max(0, min(longest, *_made_for(program)))
        if longest < proof.longest:
            proof.longest, proof.end = longest, "the program is compiled to this length"
    except UNPROVED as error:
        reasons.append(reason_of(error))
    reasons += proof.unmet("its part of the program")
    claims = {name: program.label(literal) for name, literal in program.outputs}
    report = Report(transformer, claims, proof, reasons, formats)
    report.also.append(lambda n, form: numbers_fail(numbers, n, form, proof))
    certificate = report.run()
    errors = {
        name: numeric_error(numbers, certificate.max_length[name], form, proof)
        for name, form in formats.items()
    }
    return replace(
        certificate,
        errors=errors,
        error=errors.get("float32", 0.0),
        every_length=False,
        assumptions=(*certificate.assumptions, AGREE),
    )


def _derive(
    t: Transformer, program: Program, proof: Proof, uses: list[tuple[str, Use]]
) -> list[NumericOutput]:
    if sorted(name for name, _ in uses) != sorted(name for name, _ in program.numbers):
        raise VoidError("the numeric outputs are not each read once")
    use_of = dict(uses)
    names = tuple(name for name, _ in (*program.outputs, *program.numbers))
    alike = (t.symbols, t.propositional) == (program.symbols, program.propositional)
    if t.outputs != names or not alike:
        raise VoidError("the outputs or symbols are not those of the program")
    atoms = ProgramAtoms(Space(t.symbols, t.propositional))
    claims = ProgramClaims(atoms, program)
    derivation = ProgramDerivation(t, atoms, proof)
    cells = derivation.stream()
    margins = derivation.margins(cells)
    for name, literal in program.outputs:
        form, bias = margins[name]
        with reading(f"the read-out of {name!r}"):
            threshold, function = read_out(form, bias, cells, atoms)
        proof.outputs.append((name, threshold, function == claims.literal(literal)))
    numeric_outputs = []
    for name, number_ in program.numbers:
        form, bias = margins[name]
        exact = claims.number(number_)
        if not _same(_linear(form, bias, cells, atoms.space), exact):
            raise VoidError(f"the numeric output {name!r} is not that of the program")
        if use_of[name].whole and not is_whole(exact, use_of[name]):
            raise VoidError(f"the numeric output {name!r} is rounded, and is no whole number")
        terms = tuple((cells[at], weight) for at, weight in form.items())
        numeric_outputs.append(NumericOutput(name, terms, bias, use_of[name]))
    proof.longest = min(CAP, atoms.longest or CAP)
    return numeric_outputs


def _made_for(program: Program) -> Iterator[int]:
    """The lengths that the parts of a program say they are made for."""
    yield CAP
    for signal in program.signals:
        match signal:
            case heads.At(longest=longest) | Total(most=longest):
                yield longest
            case heads.Match(selector) | heads.MatchMean(selector) | heads.Width(selector):
                yield selector.longest


def _same(left: Linear, right: Linear) -> bool:
    return {k: a for k, a in left.items() if a} == {k: a for k, a in right.items() if a}


def _linear(form: Form, bias: float, cells: list[Cell], space: Space) -> Linear:
    """A read-out as a linear form of what its coordinates hold."""
    linear: Linear = defaultdict(Fraction, {("1",): Fraction(bias)})
    for at, weight in form.items():
        w = Fraction(weight)
        match cells[at]:
            case Mean(over, terms, _):
                for a, function in terms:
                    _add_part(linear, ("average", over), function, w * a, space)
            case Chosen(selection, chosen, _):
                for number, function in chosen:
                    _add_part(linear, ("mean", selection), function, w * Fraction(number), space)
            case Raw(mean=(selection, function)):
                _add_part(linear, ("mean", selection), function, w, space)
            case Whole(counts, _):
                for factor, selection in counts:
                    linear["count", selection] += w * factor
            case Bit(function):
                linear["bit", function] += w
            case Zero():
                continue
            case _:
                raise VoidError("a numeric output reads something that is no number")
    return linear


def _add_part(
    linear: Linear, what: tuple[object, ...], function: int, a: Fraction, space: Space
) -> None:
    """#(!f) is the size less #(f), so only the positive one of f and !f has a coefficient."""
    if function == space.true or (function != space.false and space.polarity(function)):
        linear[*what, function] += a
    elif function != space.false:
        linear[*what, space.true] += a
        linear[*what, space.negation(function)] -= a


class ProgramClaims:
    """What each signal of a program is, as a canonical function or number."""

    def __init__(self, atoms: ProgramAtoms, program: Program) -> None:
        self.atoms, self.program = atoms, program
        self.values: list[int] = []
        # Later signals stand above earlier ones: a diagram asks what a late head says before it
        # asks what that choice depends on. (The other order is exponential in the rounds of a
        # doubling: it would have to remember a whole function of states.)
        for at, signal in enumerate(program.signals):
            self.values.append(self._step(signal, (len(program.signals) - at) << 20))

    def literal(self, literal: Literal) -> int:
        function = self._read(literal.signal)
        return function if literal.positive else self.atoms.space.negation(function)

    def _read(self, signal: int) -> int:
        """What a signal is; none is true everywhere."""
        return self.atoms.space.true if signal < 0 else self.values[signal]

    def _step(self, signal: Signal, level: int) -> int:
        atoms, space = self.atoms, self.atoms.space
        match signal:
            case TokenIn(symbols):
                if self.program.propositional:
                    return space.symbol(symbols[0])
                return space.symbols(sum(1 << space.rank[symbol] for symbol in symbols))
            case FirstPosition():
                return atoms.edge["past"]
            case LastPosition():
                return atoms.edge["future"]
            case PositionMod(modulus, remainder):
                return atoms.residue(modulus, remainder, level)
            case PositionBit(bit, position, length, constant):
                return atoms.digit(bit, position, length, constant, level)
            case And(literals):
                return space.every([self.literal(x) for x in literals])
            case Table(terms):
                function = space.false
                for term in terms:
                    row = space.every([self.literal(x) for x in term])
                    function = space.either(function, row)
                return function
            case Xor(left, right):
                return space.differ(self.values[left], self.values[right])
            case heads.Latest(bad, value, direction):
                return atoms.since(self.literal(bad), self.literal(value), direction, level)
            case heads.StrictLatest(bad, value, direction):
                inner = atoms.since(self.literal(bad), self.literal(value), direction, level)
                return atoms.previous(inner, direction, level)
            case heads.Previous(value, direction):
                return atoms.previous(self.literal(value), direction, level)
            case heads.Shift(value, distance, direction):
                moved = self.literal(value)
                for _ in range(distance):
                    moved = atoms.previous(moved, direction, level)
                return moved
            case heads.Sign():
                return atoms.at_least(self._sum(signal), signal.threshold, level)
            case heads.Match(selector, value):
                return atoms.read(self._selection(selector), self.literal(value), level)
            case heads.At(queries, keys, value, mask, _):
                pairs = zip(map(self.literal, queries), map(self.literal, keys), strict=True)
                return atoms.read(atoms.code(mask, pairs), self.literal(value), level)
            case Steps(count, turns):
                return atoms.steps(self._terms(count), turns, level)
        return space.false  # a number: read by what follows from its own data

    def _selection(self, selector: heads.Selector) -> int:
        pairs = frozenset(
            (self.literal(selector.queries[q]), self.literal(selector.keys[k]))
            for q, k in selector.table
        )
        return self.atoms.selection(selector.mask, pairs)

    def _terms(self, count: int) -> tuple[tuple[int, int], ...]:
        source = self.program.signals[count]
        if isinstance(source, heads.Width):
            return ((1, self._selection(source.selector)),)
        assert isinstance(source, Total)
        terms = []
        for a, width in source.terms:
            inner = self.program.signals[width]
            assert isinstance(inner, heads.Width)
            terms.append((a, self._selection(inner.selector)))
        return tuple(sorted(terms))

    def _sum(self, sign: heads.Sign) -> CountSum:
        total = CountSum(position=sign.position, length=sign.length)
        for at in sign.averages:
            source = self.program.signals[at]
            assert isinstance(source, heads.Average)
            for a, read in source.terms:
                total = total.plus(CountSum({(source.range, self._read(read)): a}), 1)
        return total

    def number(self, number: Number) -> Linear:
        linear: Linear = defaultdict(Fraction, {("1",): Fraction(float(number.constant))})
        space = self.atoms.space
        for factor, at in number.terms:
            source = self.program.signals[at]
            match source:
                case heads.Average(terms, over):
                    for a, read in terms:
                        _add_part(linear, ("average", over), self._read(read), factor * a, space)
                case heads.MatchMean(selector, terms):
                    key = self._selection(selector)
                    for a, read in terms:
                        _add_part(linear, ("mean", key), self._read(read), factor * a, space)
                case Total():
                    for a, selection in self._terms(at):
                        linear["count", selection] += factor * a
                case _:
                    linear["bit", self.values[at]] += factor
        return linear
