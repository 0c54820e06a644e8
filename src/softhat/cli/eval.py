"""`softhat eval`: the truth of a formula at every position of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer
from numpy.typing import NDArray

from softhat.cli import inputs
from softhat.cli.output import print_json, print_table, say, tell
from softhat.io.errors import SofthatError
from softhat.logic.fragments import acceptance_position, symbols_of
from softhat.logic.semantics.truth import resolve_at, truths
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Constant, Formula, Symbol
from softhat.logic.syntax.print import to_short
from softhat.logic.syntax.walk import distinct

_MOST_WORDS, _MOST_SUBFORMULAS = 8, 40
"""A table is for reading: beyond this, a word gets one line."""
MOST_POSITIONS = 60
"""Of a word, in a table or a line."""
UNDECIDED = "accepted at the first or the last position? say --at first or --at last"

AtOption = Annotated[
    str | None,
    typer.Option("--at", help="Accept at the first or the last position.", metavar="first|last"),
]


def command(
    formula: inputs.FormulaArgument,
    words: inputs.WordArguments,
    alphabet: inputs.AlphabetOption = None,
    symbols: inputs.SymbolsOption = False,
    props: inputs.PropsOption = False,
    at: AtOption = None,
    as_json: inputs.JsonOption = False,
) -> None:
    """Truth of a formula at every position of words, with its subformulas; the values of a RASP
    program (file.py:NAME).

    Example: softhat eval '!c S a' abca --alphabet abc
    """
    inputs.check_standard_input(formula, words)
    if inputs.RASP.fullmatch(formula):
        _values(formula, words, inputs.read_alphabet(alphabet, symbols), symbols, as_json)
        return
    declared = inputs.read_alphabet(alphabet, symbols, props)
    given, read = inputs.read_given_and_words(formula, words, declared, symbols, props)
    parsed, known = given.formula, given.alphabet
    symbols = inputs.are_tokens(symbols, props, known)
    inputs.check_words(read, known, props)
    at = at or given.at
    where = resolve_at(parsed, at) if at or acceptance_position(parsed) else None
    if not (symbols or props) and (long := [s for s in symbols_of(parsed) if len(s) > 1]):
        tell(f"note: {long[0]} is never one character: use --symbols for tokens")
    if as_json:
        print_json(_documents(parsed, read, where))
    elif len(read) <= _MOST_WORDS and all(len(word) <= MOST_POSITIONS for word in read):
        _tables(parsed, read, where)
    else:
        _lines(parsed, read, where)


def _values(
    argument: str, words: list[str], alphabet: list[str] | None, symbols: bool, as_json: bool
) -> None:
    """What a RASP program means, by the reference interpreter: nothing is compiled."""
    from softhat.cli.rasp import named_tokens, print_values, read_program

    asked = read_program(argument, alphabet)
    known = asked.tokens
    names = None if known is None else list(map(str, known))
    read: list[Any] = list(
        inputs.read_words(words, inputs.are_tokens(symbols, False, names), False)
    )
    if known is not None:
        read = [named_tokens(known, word) for word in read]
    values = []
    for word in read:
        try:
            values.append(asked.program(list(word)))
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise SofthatError(
                f"{argument} has no value on {inputs.show_word(list(map(str, word)), 40)}: {error}"
            ) from None
    print_values(read, values, as_json)


def accepted(values: Sequence[Any] | NDArray[Any], where: str | None) -> bool | None:
    """Is the word of these truth values (or margins) accepted? None if nobody says where."""
    return None if where is None else bool(values[0 if where == "first" else -1] > 0)


def answer_line(
    word: Word, values: Sequence[Any] | NDArray[Any], where: str | None
) -> tuple[str, str, str]:
    """A word, its truth values (or margins: true above 0) and its verdict, for a table."""
    bits = "".join("1" if value > 0 else "." for value in values[:MOST_POSITIONS])
    more = "…" if len(values) > MOST_POSITIONS else ""
    verdict = {True: "accepted", False: "rejected", None: "?"}[accepted(values, where)]
    return inputs.show_word(word, MOST_POSITIONS), bits + more, verdict


def _documents(
    formula: Formula, words: list[Word], where: Literal["first", "last"] | None
) -> list[dict[str, Any]]:
    return [
        {
            "word": inputs.plain_word(word),
            "truth": values.tolist(),
            "accepted": accepted(values, where),
        }
        for word, values in zip(words, truths([formula], words)[0], strict=True)
    ]


def _tables(formula: Formula, words: list[Word], where: Literal["first", "last"] | None) -> None:
    """A table for each word: subformulas × positions."""
    shown = [
        node
        for node, _ in distinct(formula)[0]
        if isinstance(node, Formula) and not isinstance(node, Symbol | Constant)
    ]
    shown = [*shown[-_MOST_SUBFORMULAS:-1], formula]
    values = truths(shown, words)
    for k, word in enumerate(words):
        if k:
            say()
        header = ["position", *(str(i + 1) for i in range(len(word)))]
        rows = [["word", *(inputs.show_item(item) for item in word)]]
        for row, node in zip(values, shown, strict=True):
            rows.append([to_short(node, 50), *("1" if value else "." for value in row[k])])
        print_table(header, rows)
        verdict = accepted(values[-1][k], where)
        sentence = f"{'accepted' if verdict else 'rejected'} (at the {where} position)"
        say(UNDECIDED if verdict is None else sentence)


def _lines(formula: Formula, words: list[Word], where: Literal["first", "last"] | None) -> None:
    """A line for each word: its truth values and whether it is accepted."""
    answers = zip(words, truths([formula], words)[0], strict=True)
    rows = [answer_line(word, values, where) for word, values in answers]
    print_table(["word", "truth", "verdict"], rows)
    if where is None:
        say(UNDECIDED)
