"""StrictLatest: the last position before this one that is not ruled out."""

from __future__ import annotations

from softhat.program.heads import StrictLatest
from softhat.transformer.lowering.heads.latest import scores_of_latest
from softhat.transformer.lowering.rows import HeadScores
from softhat.transformer.lowering.wiring import Wiring


def strict_latest_scores(head: StrictLatest, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 2. Softmax of C(-2i·bad_j + j - i) over j < i puts at least 1 - e^-C on the last
    j < i without bad, for every n (mirrored: r for i, over j > i): the scores are Latest's, and
    a key less can only raise the winner's share. `<bos>` is never bad, so if every j >= 1 is, it
    wins by more than C, and its value is 0; at i = 1 it is the only key. `<bos>` itself sees no
    key and gets 0. Machine-checked: `strict_latest_leak` and `strict_latest_temperature` of
    proofs/StrictLatest.v."""
    pairs = scores_of_latest(head.bad, head.direction, sharpness, wiring)
    if head.direction == "past":
        return HeadScores("StrictLatest", "<", pairs)
    return HeadScores("StrictEarliest", ">", pairs)
