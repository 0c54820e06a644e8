"""How commands read formulas, alphabets and words.

An argument is the thing itself, `@file` or `-` for standard input. Words stand one a line in
files; a word is its characters, with `--symbols` its white-space separated tokens, with
`--props` its sets of propositions, as in `{p} {} {p,q}`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import typer

from softhat.cli.front_ends import MARKS, MODULAR, predicates_option
from softhat.cli.mistaken_names import check_is_formula
from softhat.io.errors import SofthatError
from softhat.io.files.reading import decoded, parse_json, read_stream
from softhat.io.files.reading import read_text as read_file
from softhat.logic.predicates import predicates_of
from softhat.logic.semantics.words import Word, encode, encode_sets
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse

if TYPE_CHECKING:
    from softhat.frontends.regular.dfa import DFA

FormulaArgument = Annotated[
    str, typer.Argument(metavar="FORMULA", help="A formula, @file, or - for standard input.")
]
WordArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD…", help="Words, @file (one a line), or - for standard input, one a line."
    ),
]
AlphabetOption = Annotated[
    str | None,
    typer.Option(
        "--alphabet",
        help="The symbols: characters (abc), or tokens separated by spaces or commas "
        "(open,close). With --props the propositions.",
    ),
]
SymbolsOption = Annotated[
    bool, typer.Option("--symbols", help="Words are tokens separated by white space.")
]
PropsOption = Annotated[
    bool, typer.Option("--props", help="Words are sets of propositions: '{p} {} {p,q}'.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output.")
]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", help="Processes; 0 means one for each core.")
]
DaskOption = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on this Dask scheduler.")
]
WordArgument = Annotated[str, typer.Argument(metavar="WORD", help="One word.")]
DisguiseOption = Annotated[
    int | None,
    typer.Option(
        metavar="SEED", help="gpt2, llama: the same function in a random basis; its seed."
    ),
]
CoqOption = Annotated[bool, typer.Option("--coq", help="Write the theorem as a Coq file.")]


NOT_STAR_FREE = "none: it counts modulo a number"
"""The level of a language that is not star-free."""
ZOO = "zoo:"
"""Before the name of an entry of the zoo."""
RASP = re.compile(
    r"(?:(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)|zoo:rasp-(?P<entry>[\w-]+))(?:@(?P<length>\d{1,9}))?"
)
"""`file.py:NAME`, or the zoo's; `@128` says the longest sequence."""
LOG = re.compile(
    r"(?P<depth>log|auto)(?:@(?P<length>\d{1,9}))? (?P<mark>regex:|dfa:)(?P<source>.*)", re.DOTALL
)
"""`--depth log` or `auto` before `--regex` or `--dfa`, as `front_ends` writes it."""


@dataclass(frozen=True, slots=True)
class Given:
    """A formula as the command line gave it, with the alphabet if that is known."""

    formula: Formula
    alphabet: tuple[str, ...] | None
    has_empty_word: bool | None = None
    """Of a regular language: the empty word has no position, so no formula tells."""
    states: int | None = None
    """Of a regular language: states of its minimal automaton."""
    at: Literal["first", "last"] | None = None
    """Where an entry of the zoo is read off."""
    least_depth: str | None = None
    """Of a regular language: what is known of it."""
    level: str | None = None
    """Of a regular language: where it stands in the star-free hierarchies."""


def read_formula(
    argument: str, alphabet: Collection[str] | None = None, props: bool = False
) -> Formula:
    """The formula that an option gives, its symbols checked against the alphabet."""
    return read_given(argument, alphabet, props, used=(argument,)).formula


def read_given(
    argument: str,
    alphabet: Collection[str] | None = None,
    props: bool = False,
    used: Collection[str] = (),
) -> Given:
    """A formula as text, or what `--regex` and the like put in its place.

    The name of a folder that is not there is no formula (`softhat.cli.mistaken_names`); `used`
    are the symbols of the words, which make it one.
    """
    if RASP.fullmatch(argument):
        raise SofthatError(
            f"{argument} is a RASP program, which has values and no formula: use it with eval, "
            "compile, run, trace, certify, verify, export or explain"
        )
    if LOG.match(argument):
        raise SofthatError(
            "a language in logarithmic depth has no formula: use --depth log with check, compile, "
            "run, trace, certify, verify or export"
        )
    if argument.startswith(ZOO):
        return _read_entry(argument, alphabet, props)
    plain = argument.removeprefix(MODULAR)
    mark = next((mark for mark, _, _ in MARKS.values() if plain.startswith(mark)), None)
    if mark is None:
        check_is_formula(argument, alphabet, used)
        text = read_text(argument)
        known = None if alphabet is None else tuple(alphabet)
        formula = parse(text, propositions=alphabet) if props else parse(text, alphabet=alphabet)
        return Given(_bound(formula), known)
    if props:
        raise SofthatError(f"--{mark[:-1]} speaks of words of symbols: leave --props out")
    return _read_marked(mark, plain.removeprefix(mark), alphabet, plain != argument)


def read_given_and_words(
    argument: str,
    arguments: Sequence[str],
    alphabet: Collection[str] | None,
    symbols: bool,
    props: bool,
) -> tuple[Given, list[Word]]:
    """A formula, and the words, which are tokens if the formula's alphabet says so."""
    if not (symbols or props):
        given = read_given(argument, alphabet, props)
        return given, read_words(arguments, are_tokens(False, False, given.alphabet), False)
    words = read_words(arguments, symbols, props)
    used = {name for word in words for item in word for name in _names(item)}
    return read_given(argument, alphabet, props, used), words


def _names(item: str | Iterable[str]) -> Iterable[str]:
    return (item,) if isinstance(item, str) else item


def _read_entry(argument: str, alphabet: Collection[str] | None, props: bool) -> Given:
    """The formula of an entry of the zoo, which has its alphabet unless another is given."""
    from softhat.models.zoo.catalogue import entry_of, formula_of

    entry = entry_of(argument)
    if entry.propositional and not props:
        raise SofthatError(f"{argument} speaks of sets of propositions: add --props")
    symbols = tuple(alphabet or entry.alphabet)
    return Given(formula_of(entry), symbols, entry.empty, at=entry.at)


def _bound(formula: Formula) -> Formula:
    """The formula with the numerical predicates of `--predicates`."""
    file = predicates_option()
    if file is not None:
        formula = formula.bind(_read_predicates(_read_file(file), file))
    predicates_of(formula)  # refuses what is unknown
    return formula


def _read_predicates(text: str, place: str) -> dict[str, str]:
    """`--predicates`: a file of `name: bits` lines; `//` starts a comment."""
    bits_of: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.split("//")[0].strip()
        if not line:
            continue
        name, colon, bits = (part.strip() for part in line.partition(":"))
        if not colon or not name:
            raise SofthatError(f"{place}, line {number}: expected `name: bits`, got {line[:60]!r}")
        if name in bits_of:
            raise SofthatError(f"{place}, line {number}: the predicate {name!r} stands there twice")
        bits_of[name] = bits
    return bits_of


def _read_marked(mark: str, source: str, alphabet: Collection[str] | None, modular: bool) -> Given:
    if mark == "program:":
        return Given(*_read_program(source, alphabet))
    from softhat.frontends.regular.least_depth import least_depth
    from softhat.frontends.regular.levels import level_text
    from softhat.frontends.regular.translate import language_of
    from softhat.logic.fragments import describe

    language = language_of(read_automaton(mark, source, alphabet), modular)
    described = describe(language.formula)
    return Given(
        language.formula,
        language.alphabet,
        language.has_empty_word,
        len(language.dfa.step),
        least_depth=least_depth(language.dfa).text,
        level=NOT_STAR_FREE
        if described.has_mod
        else level_text(language.dfa, described.temporal_depth),
    )


def read_automaton(mark: str, source: str, alphabet: Collection[str] | None) -> DFA:
    """The automaton of a regular expression, or in a file."""
    from softhat.frontends.regular.dfa import read_dfa
    from softhat.frontends.regular.regex import read_regex

    if mark == "regex:":
        return read_regex(read_text(source), alphabet)
    dfa = read_dfa(_read_json(source))
    if alphabet is not None and set(alphabet) != set(dfa.alphabet):
        raise SofthatError("an automaton has its alphabet: leave --alphabet out")
    return dfa


def _read_program(source: str, alphabet: Collection[str] | None) -> tuple[Formula, tuple[str, ...]]:
    """The formula of a program file, and the alphabet: what it names, unless it is given."""
    from softhat.frontends.programs.translate import from_program, symbols_of

    text = _read_file(source)
    formula, named = from_program(text), symbols_of(text)
    if alphabet is not None and (unknown := [s for s in named if s not in alphabet]):
        raise SofthatError(f"the program names {unknown[0]!r}, which is not in the alphabet")
    return formula, tuple(alphabet or named or ["a"])


def _read_file(source: str) -> str:
    return read_text(source if source == "-" or source.startswith("@") else f"@{source}")


def _read_json(source: str) -> Any:
    return parse_json(_read_file(source), source)


def read_alphabet(text: str | None, symbols: bool = False, props: bool = False) -> list[str] | None:
    """Symbols as characters, or as tokens where spaces, commas or an option say so."""
    if text is None:
        return None
    separated = symbols or props or re.search(r"\s|^\w+(,\w+)+$", text) is not None
    names = [name for name in re.split(r"[\s,]+", text) if name] if separated else list(text)
    if not names:
        raise SofthatError("the alphabet is empty: expected symbols, such as --alphabet abc")
    for name, times in Counter(names).items():
        if times > 1:
            raise SofthatError(f"the alphabet has {name!r} twice: name each symbol once")
    return names


def check_standard_input(argument: str, arguments: Sequence[str]) -> None:
    """Refuse to read the formula and the words both from standard input."""
    if (argument == "-" or argument.endswith(":-")) and "-" in arguments:
        raise SofthatError("standard input holds the formula or the words, not both: use @file")


def read_words(arguments: Sequence[str], symbols: bool = False, props: bool = False) -> list[Word]:
    """All words of the arguments, in order."""
    if symbols and props:
        raise SofthatError("words are tokens (--symbols) or sets (--props), not both")
    words = [_word(line, where, symbols, props) for line, where in _lines(arguments)]
    if not words:
        raise SofthatError("expected at least one word, found none")
    return words


def check_words(words: Sequence[Word], alphabet: Sequence[str] | None, props: bool) -> None:
    """Refuse the first word with a symbol (or proposition) that is not in the alphabet."""
    if alphabet is None:
        return
    for number, word in enumerate(words, start=1):
        try:
            encode_sets(word, alphabet) if props else encode(word, alphabet)
        except SofthatError as error:
            raise error if len(words) == 1 else SofthatError(f"word {number}: {error}") from None


def are_tokens(symbols: bool, props: bool, alphabet: Sequence[str] | None) -> bool:
    """Are words tokens rather than characters: on request, or if a symbol is several characters?"""
    return symbols or (not props and any(len(name) > 1 for name in alphabet or ()))


def show_word(word: Word, limit: int | None = None) -> str:
    """A word as it is written on the command line."""
    items = [show_item(item) for item in (word if limit is None else word[:limit])]
    more = " …" if limit is not None and len(word) > limit else ""
    return ("" if isinstance(word, str) else " ").join(items) + more


def show_item(item: str | Iterable[str]) -> str:
    """One symbol or set of propositions."""
    text = item if isinstance(item, str) else "{" + ",".join(sorted(item)) + "}"
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def plain_word(word: Word) -> Any:
    """A word as JSON: text, a list of symbols, or a list of sorted lists."""
    if isinstance(word, str):
        return word
    return [item if isinstance(item, str) else sorted(item) for item in word]


def read_text(argument: str) -> str:
    """What an argument holds: itself, a file's text or standard input."""
    if argument == "-":
        return decoded(read_stream(standard_input(), "standard input"), "standard input")
    if not argument.startswith("@"):
        return argument
    return read_file(argument[1:])


def standard_input() -> IO[bytes]:
    """Standard input as bytes."""
    if sys.stdin is None:  # `<&-`, and programs started without one
        raise SofthatError("cannot read standard input: it is closed")
    return sys.stdin.buffer


def _lines(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word's text and where it stands."""
    for k, argument in enumerate(arguments, start=1):
        if argument != "-" and not argument.startswith("@"):
            yield argument, f"word {k}"
            continue
        name = "standard input" if argument == "-" else argument[1:]
        lines = read_text(argument).replace("\r\n", "\n").split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, start=1):
            yield line, f"line {number} of {name}"


_SET = re.compile(r"\s*\{([^{}]*)\}")


def _word(line: str, where: str, symbols: bool, props: bool) -> Word:
    if props:
        return _sets(line, where)
    word: Word = line.split() if symbols else line
    if not word:
        raise SofthatError(f"{where} is empty: the empty word has no positions")
    return word


def _sets(line: str, where: str) -> Word:
    word = []
    at, end = 0, len(line.rstrip())
    while at < end:
        braces = _SET.match(line, at)
        if braces is None:
            rest = line[at:].strip()
            raise SofthatError(f"{where}: expected a set such as {{p,q}}, found {rest[:20]!r}")
        word.append({name.strip() for name in braces[1].split(",") if name.strip()})
        at = braces.end()
    if not word:
        raise SofthatError(f"{where} is empty: the empty word has no positions")
    return word
