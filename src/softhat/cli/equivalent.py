"""`softhat equivalent`: do two formulas agree at every position of every word?"""

from __future__ import annotations

from softhat.cli.questions import comparing
from softhat.logic.decide.questions import equivalent

command = comparing(
    "equivalent",
    equivalent,
    """Whether two formulas agree everywhere, on words of every length; else the shortest word.

    Exit code 1 if not. Example: softhat equivalent 'a W b' '(a U b) | G a'
    """,
)
