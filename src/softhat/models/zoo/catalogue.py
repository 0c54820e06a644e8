"""All entries by name, and what an entry says: a formula, a RASP program, or hard attention."""

from __future__ import annotations

from functools import cache

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.zoo import counting, numerical, patterns, regular, subregular, tomita
from softhat.models.zoo.entry import PREFIX, Entry, named


@cache
def zoo() -> dict[str, Entry]:
    """Every entry, in the order in which they are listed."""
    from softhat.models.zoo import hard, rasp_programs

    formulas = (tomita, subregular, regular, counting, numerical, patterns)
    entries = [entry for room in (*formulas, rasp_programs, hard) for entry in room.ENTRIES]
    by_name = {entry.name: entry for entry in entries}
    assert len(by_name) == len(entries), "two entries of the zoo have one name"
    return by_name


def entry_of(name: str) -> Entry:
    """The entry of this name, with or without `zoo:` before it."""
    plain = name.removeprefix(PREFIX)
    if plain not in zoo():
        from softhat.models.zoo.machines import machines  # machines take long to import

        if plain in machines():
            hint = f"`softhat generate {PREFIX}{plain}` runs it and says what is certified"
            raise SofthatError(f"{plain} is a machine, not a language or task: {hint}")
    return named(name, zoo(), "")


@cache
def formula_of(entry: Entry) -> Formula:
    """The formula of an entry that has one."""
    match entry.kind:
        case "formula":
            if entry.propositional:
                return parse(entry.source, propositions=entry.alphabet)
            return parse(entry.source, alphabet=entry.alphabet)
        case "regex":
            from softhat.frontends.regular.translate import from_regex

            return from_regex(entry.source, entry.alphabet, mod=True)
        case "program":
            from softhat.frontends.programs.translate import from_program

            return from_program(entry.source)
    raise SofthatError(f"{entry.name} is no formula but given as {entry.kind}: softhat zoo show it")
