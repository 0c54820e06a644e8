"""Ctrl-C in the middle of long work: what was proved until then is kept."""

from __future__ import annotations

from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. `kept` claims no more than what was proved until then: of `simulate` a Simulation,
    of the search for β a Choice, of a certificate a Certificate."""

    def __init__(self, kept: Any) -> None:
        super().__init__("interrupted; what was proved is kept")
        self.kept = kept
