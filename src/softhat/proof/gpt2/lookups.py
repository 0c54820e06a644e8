"""How far the outputs of heads that look something up, or decide, may be off 0 or 1.

The errors of scores stand against the gap of the head's theorem. In small formats queries and keys
are exact and scores too, as far as they are short multiples of a power of two; eager attention
stores scores in the format, which holds such multiples only up to a size: that limits the length.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import FORMATS
from softhat.proof.gpt2.kinds import GPT2Head
from softhat.proof.gpt2.sums import KEPT, Sums, Vector
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.storage import LEAST_GAP, SECOND, U, need


def lookup(sums: Sums, head: GPT2Head) -> float:
    """How far the output of a Latest, Recall, Shift or Sign head may be off 0 or 1."""
    storage = sums.storage
    value = float(sums.column_error(head.block, *sums.part(head, 2)).max())
    length = sums.c.context
    if head.kind == "Sign":
        _in_range(sums, head)
        leak = _sign_leak(sums, head, length)
        added = 2 * sums.kernel.roundings(length)
    else:
        gap, clear = _gap(sums, head)
        least = LEAST_GAP if head.kind == "Recall" else head.gap / 4
        need(gap >= least, f"{head.kind} heads: scores may be off by more than a step")
        if head.kind == "Shift":
            leak = (1 + exp(-gap)) ** head.digits - 1
        else:  # keys without bad, and those with it
            leak = exp(-gap) / (1 - exp(-gap)) + length * exp(min(700.0, -clear))
        added = sums.kernel.lookup_roundings(length, leak, U)
    error = value + leak + added * U
    if storage.wide:
        return error
    need(
        sums.fused or head.kind != "Sign",
        f"eager attention stores weights in {storage.name}, where n times 1/n is not exactly 1: "
        "comparisons need kernel='sdpa'",
    )
    need(error < storage.unit / 4, f"{head.kind} heads: 1 is not rounded to exactly 1")
    return leak + storage.floor  # 1 is stored exactly, and 0 as at most this


def _sign_leak(sums: Sums, head: GPT2Head, length: int) -> float:
    """The weight of what loses in a Sign head. Its scores keep a share of their least size: a tenth
    is enough where they are large, and in float32 more may be asked of the means (`check_counts`
    holds them to the largest share that a head needs)."""
    for share in KEPT if sums.storage.wide else KEPT[:1]:
        leak = length * exp(min(700.0, 2 - head.decision * share))
        if leak <= U:
            break
    sums.kept = max(sums.kept, share)
    return leak


def check_scores(sums: Sums, n: int) -> None:
    """Where eager attention stores scores, those of n symbols' keys are exact in small formats."""
    if sums.fused or sums.storage.wide:
        return
    for head in sums.heads():
        if head.kind in ("Latest", "Recall", "Shift"):
            reach = head.reach[min(n, len(head.reach) - 1)]
            need(
                reach <= head.grid / sums.storage.unit,
                f"eager attention stores scores in {sums.storage.name}, where those of "
                f"{head.kind} heads are exact no further: use kernel='sdpa'",
            )


def _gap(sums: Sums, head: GPT2Head) -> tuple[float, float]:
    """The theorem's gap C less what the scores of two keys may be off, and how far ruled-out keys
    lie below all others less that."""
    storage = sums.storage
    if head.kind == "Recall" and storage.wide:
        return _recalled(sums, head)
    query, key = sums.part(head, 0), sums.part(head, 1)
    mean = sums.norm[head.block][0]
    q, k = sums.reach(*query, mean), sums.reach(*key, mean)
    root = sums.c.d_head**0.5
    size = float(q @ k) / root
    if storage.wide:
        q_off = sums.column_error(head.block, *query)
        k_off = sums.column_error(head.block, *key)
        off = float(q_off @ k + q @ k_off + q_off @ k_off) / root
        need(size < 1e30, f"{head.kind} heads: scores overflow")
        off = 2 * (off + (np.count_nonzero(q) + 2) * U * size)
        return head.gap - off, head.clear - off
    # Queries and keys are exact, and short multiples of powers of two add up exactly.
    need(size < 2.0**23 * _grid(sums, head), f"{head.kind} heads: scores are not exact")
    need(max(q.max(), k.max()) <= storage.largest, f"{head.kind} heads overflow")
    if sums.fused:
        return head.gap, head.clear
    need(size * root <= storage.largest, f"{head.kind} heads: scores overflow")
    # Stored scores are exact, see `check_scores`, but for those of ruled-out keys.
    return head.gap, head.clear - storage.unit * size


def _recalled(sums: Sums, head: GPT2Head) -> tuple[float, float]:
    """The same of a Recall in float32, whose queries and keys have no biases.

    After LayerNorm the value of a pair is s·(v + e), with one scale s for a whole position, |s - 1|
    <= `scale`, and e the pair's own error: of the stored bit and of the last roundings. So a query
    is s_i(q* + a), a key s_j(k* + b), where a and b are sums of own errors and the rounding of the
    sum itself, and a score is s_i·s_j·(S* + Σ(a·k* + q*·b + a·b)/√d), up to the rounding of that
    sum of products.

    Two keys j, j' with i's code: in each row that compares digits k* is the same at both, so what
    the query is off by, a·k*, moves both scores alike, but for s_j against s_j'. Of the two rows of
    a digit one has q* = 0. All products q*·k* of these rows are 0, so what is rounded is as small
    as the other rows. |S*| is at most `anchored` at both, so the scales cost 2·scale·anchored and a
    share `scale` of the gap. Keys with other codes, or ruled out, and `<bos>` have no such luck:
    there all of it counts, and |S*| is at most the sum of all products."""
    query, key = sums.part(head, 0), sums.part(head, 1)
    mean, scale = sums.norm[head.block]
    q, k = sums.reach(*query, mean), sums.reach(*key, mean)
    root = sums.c.d_head**0.5
    size = float(q @ k) / root
    need(size < 1e30, "Recall heads: scores overflow")
    own = sums.bit + 4 * U * np.maximum(1.0, sums.magnitude)

    def off(matrix: Array, bias: Array) -> Vector:
        read = np.abs(matrix[0::2].astype(np.float64) * 2)
        return np.asarray(SECOND * (own @ read) + sums.rounding(matrix, bias, mean))

    a, b = off(*query), off(*key)
    terms = np.count_nonzero(q) + 2
    one, other = np.array(head.compares).T
    rest = np.ones(len(q), np.bool_)
    rest[[*one, *other]] = False
    by_key = float(np.maximum(q[one] * b[one], q[other] * b[other]).sum() + q[rest] @ b[rest])
    apart = (by_key + float(a[rest] @ k[rest] + a @ b)) / root
    alike = float(a[~rest] @ k[~rest]) / root
    added = terms * U * (float(q[rest] @ k[rest]) / root + apart + alike)
    near = 2 * (apart + added) + 2 * scale * (alike + head.anchored) + scale * head.gap
    far = 2 * (float(a @ k + q @ b + a @ b) / root + terms * U * size) + 5 * scale * size
    return head.gap - SECOND * near, head.clear - SECOND * far


def _grid(sums: Sums, head: GPT2Head) -> float:
    """A power of two that all products of queries and keys are multiples of, and, checked
    here, that the format holds what they are products of."""
    least = inf
    grids = []
    for part in (0, 1):
        matrix, bias = sums.part(head, part)
        size = sums.reach(matrix, bias, 0.0) / SECOND
        columns = [
            min(map(grid_of, {*matrix[:, r].tolist(), float(bias[r])}))
            for r in range(matrix.shape[1])
        ]
        for r, grid in enumerate(columns):
            # A pair of weights ±w reads 2w·v.
            need(
                not size[r] or size[r] <= grid / sums.storage.unit,
                f"{head.kind} heads: {sums.storage.name} does not hold queries and keys",
            )
        grids.append(columns)
    for a, b in zip(*grids, strict=True):
        if a < inf and b < inf:
            least = min(least, a * b)
    return least / sums.c.d_head**0.5


def _in_range(sums: Sums, head: GPT2Head) -> None:
    """A Sign head's scores may be large, but must not overflow. (The key of `<bos>` is 0.)"""
    mean = sums.norm[head.block][0]
    largest = sums.storage.largest
    q = float(sums.reach(*sums.part(head, 0), mean).max())
    k = float(sums.reach(*sums.part(head, 1), mean).max())
    need(max(q, k) <= largest, "Sign heads overflow")
    need(q * k <= FORMATS["float32"].largest, "Sign heads: scores overflow")
    need(sums.fused or q * k <= largest, "Sign heads: scores overflow")
