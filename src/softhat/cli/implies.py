"""`softhat implies`: does one formula hold wherever another does?"""

from __future__ import annotations

from softhat.cli.deciding import SecondArgument, UpToOption, answer, read_both
from softhat.cli.inputs import AlphabetOption, FormulaArgument, JsonOption, PropsOption
from softhat.logic.decide.questions import implies


def command(
    formula: FormulaArgument,
    other: SecondArgument,
    alphabet: AlphabetOption = None,
    props: PropsOption = False,
    up_to: UpToOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether the second formula holds wherever the first does; else the shortest word.

    Exit code 1 if not. Example: softhat implies 'G a' 'F a'
    """
    f, g, words = read_both(formula, other, alphabet, props)
    answer("implies", implies(f, g, **words, up_to=up_to), (f, g), up_to, as_json)
