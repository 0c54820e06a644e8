"""What words show against what the laws say: a law that a word refutes is never printed or used.

Laws are proved for every length, so a disagreement is a mistake in softhat, not in the model. It
is said at once, with the numbers.
"""

from __future__ import annotations

from softhat.ahat.analysis.gap_laws import GapLaws
from softhat.ahat.analysis.tally import HeadId, Tally
from softhat.io.errors import SofthatError


class RefutedError(SofthatError):
    """A word contradicts what was derived from the weights."""


def hold_against(laws: GapLaws, tally: Tally) -> None:
    """Every law is at most the gaps that were counted, equal scores are equal, and a head without
    ties has none; else RefutedError."""
    for name, law in laws.gap.items():
        for n in tally.rows:
            if law is None:
                if any(tally.rows[n][name][1:]):
                    raise _refuted(name, f"length {n} has rows that are not uniform, against")
            elif tally.gaps[n][name] < law.at(n):
                raise _refuted(
                    name, f"length {n} has a gap of {tally.gaps[n][name]}, below {law.text}, in"
                )
        if laws.tieless[name] and tally.several[name]:
            raise _refuted(name, "a row has several maximal keys, against")


def ties_are_broken(tally: Tally) -> None:
    """No row of a unique-hard head has several maximal keys; else RefutedError."""
    for l, h in tally.model.heads:
        if tally.model.layers[l].heads[h].ties != "average" and tally.several[l, h]:
            raise _refuted((l, h), "a row has several maximal keys, against")


def _refuted(name: HeadId, what: str) -> RefutedError:
    return RefutedError(
        f"layer {name[0]}, head {name[1]}: {what} what was derived from the weights; this is a "
        "mistake in softhat: please report the model"
    )
