"""`softhat equivalent`: do two formulas agree at every position of every word?"""

from __future__ import annotations

from softhat.cli.deciding import SecondArgument, UpToOption, answer, read_both
from softhat.cli.inputs import AlphabetOption, FormulaArgument, JsonOption, PropsOption
from softhat.logic.decide.questions import equivalent


def command(
    formula: FormulaArgument,
    other: SecondArgument,
    alphabet: AlphabetOption = None,
    props: PropsOption = False,
    up_to: UpToOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether two formulas agree everywhere, on words of every length; else the shortest word.

    Exit code 1 if not. Example: softhat equivalent 'a W b' '(a U b) | G a'
    """
    f, g, words = read_both(formula, other, alphabet, props)
    answer("equivalent", equivalent(f, g, **words, up_to=up_to), (f, g), up_to, as_json)
