"""`softhat implies`: does one formula hold wherever another does?"""

from __future__ import annotations

from softhat.cli.questions import comparing
from softhat.logic.decide.questions import implies

command = comparing(
    "implies",
    implies,
    """Whether the second formula holds wherever the first does; else the shortest word.

    Exit code 1 if not. Example: softhat implies 'G a' 'F a'
    """,
)
