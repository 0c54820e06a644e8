"""Which words a result speaks of: its alphabet, and whether somebody gave it.

Without `--alphabet` a formula's own symbols are the alphabet. That is convenient, and it changes
what a formula means: over a and c alone, `!c S a` is `a`. So every result names its alphabet, says
when it was inferred, and warns where the inferred one takes something away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from softhat.cli.front_ends import MODULAR
from softhat.cli.inputs import RASP, ZOO
from softhat.cli.output import tell_later
from softhat.io.files import is_file, is_folder
from softhat.logic.fragments import describe
from softhat.logic.syntax.nodes import Constant, Formula

_MOST_NODES = 500
"""Distinct subformulas of the largest formula that is compared over two alphabets."""
_LONGEST, _MOST_WORDS = 6, 4_096
"""Words that are looked at, to see whether a formula has one value on all of them."""
_SHOWN = 40


def is_inferred(argument: str, alphabet: str | None) -> bool:
    """Did nobody say the alphabet of what the argument gives?"""
    plain = argument.removeprefix(MODULAR)
    if alphabet is not None or RASP.fullmatch(argument) is not None:
        return False
    if plain.startswith((ZOO, "dfa:")):
        return False
    return not is_folder(argument) and not (argument.endswith(".json") and is_file(argument))


def shown_alphabet(symbols: Sequence[str], inferred: bool, source: str = "the formula") -> str:
    """The alphabet as a line of a result."""
    listed = " ".join(symbols[:_SHOWN]) + (" …" if len(symbols) > _SHOWN else "")
    return f"{listed} (inferred from {source}; --alphabet says otherwise)" if inferred else listed


def note_inferred(symbols: Sequence[str], source: str = "the formula") -> None:
    """On standard error, for results that have no place for it."""
    tell_later(f"note: alphabet {shown_alphabet(symbols, True, source)}")


def warn_if_trivial(formulas: Iterable[Formula], symbols: Sequence[str]) -> None:
    """Say where an inferred alphabet makes a formula smaller than it is meant.

    What a formula says with one more symbol is what it is meant to say.
    """
    for formula in formulas:
        facts = describe(formula)
        if facts.distinct_subformulas > _MOST_NODES or not facts.symbols:
            continue
        if len(symbols) == 1:
            tell_later(
                f"warning: {symbols[0]} is the only symbol of the inferred alphabet, so every word "
                f"is a power of {symbols[0]}: give --alphabet"
            )
            return
        small = _over(formula, tuple(symbols))
        large = _over(formula, (*symbols, _fresh(symbols)))
        constant = _constant(small, tuple(symbols))
        if constant is not None and _constant(large, (*symbols, _fresh(symbols))) is None:
            reduced = f"{'always' if constant else 'never'} true"
        elif describe(small).temporal_depth < describe(large).temporal_depth:
            reduced = f"the same as {small}" if len(str(small)) <= _SHOWN else "a smaller formula"
        else:
            continue
        tell_later(
            f"warning: over {' '.join(symbols[:_SHOWN])} alone, which was inferred, "
            f"{_short(formula)} is {reduced}: give --alphabet"
        )


def _over(formula: Formula, symbols: tuple[str, ...]) -> Formula:
    from softhat.logic.optimise.settle import settled
    from softhat.logic.optimise.simplify import simplify

    return settled(simplify(formula), symbols, False)


def _constant(formula: Formula, symbols: tuple[str, ...]) -> bool | None:
    """Its value, if it has the same one everywhere in all short words."""
    if isinstance(formula, Constant):
        return formula.value
    from softhat.logic.semantics.batch import all_words, evaluate, unpack

    values: set[bool] = set()
    length = 1
    while length <= _LONGEST and len(symbols) ** length <= _MOST_WORDS and len(values) < 2:
        batch = all_words(symbols, length)
        truths = unpack(evaluate(formula, batch), len(symbols) ** length)
        values |= {bool(truths.any()), bool(truths.all())}
        length += 1
    return values.pop() if len(values) == 1 else None


def _fresh(symbols: Sequence[str]) -> str:
    return next(name for name in map(chr, range(ord("a"), 0x10FFFF)) if name not in symbols)


def _short(formula: Formula) -> str:
    text = str(formula)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
