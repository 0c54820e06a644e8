"""`prove`: proof or counterexample for a checkpoint and a specification.

The driver: it checks what is given, decides at one offset after the other (`deciding`) and puts the
verdict together. What is proved stands when the budget ends or somebody presses Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.io.work.progress import Show, unseen
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.deciding import Knowledge, Offset
from softhat.trained.first_layer import BLOCK
from softhat.trained.question import TrainedQuestion
from softhat.trained.replay import Replays
from softhat.trained.rounding import FUNCTION_ULPS, UNITS, rounding_of
from softhat.trained.specification import Specification, read_specification
from softhat.trained.verdict import Verdict

DOMAINS = ("completable", "all")
PATIENCE = 4.0
"""Seconds of search without success, at most."""
LEAST_SHARE, MOST_SHARES = 2.0, 4
"""An offset gets two seconds or more, and at most four times what would be its own: offsets that
are proved early leave their time to the others."""
SEARCHES = 16
"""One search without success takes at most this part of an offset's time: most of it is for the
proof."""


def prove(
    checkpoint: str | Path | Checkpoint,
    spec: Specification | Mapping[str, Any] | str | Path,
    *,
    max_length: int | None = None,
    offset: int | str = 0,
    dtype: str = "float32",
    domain: str = "completable",
    budget: float = 600,
    seed: int = 0,
    progress: Show | None = None,
) -> Verdict:
    """Decide whether a trained model does what a specification says, on every word.

    `checkpoint` is the folder of a stock GPT2LMHeadModel or GPT2ForTokenClassification. `spec` is
    a specification, a mapping or a JSON file (`softhat.spec` makes one from a formula).
    `max_length` is by default what the context holds beside `bos` (and `eos`). `offset` is the
    position id of `bos`, or "all". `domain` "completable": prefixes that can be completed to words
    of the language within the length; "all": every prefix that the machine reads. `budget` is in
    seconds.
    """
    started = thread_time()
    model = read_checkpoint(checkpoint)
    spec = read_specification(spec)
    _check(model, spec, dtype, domain, budget)
    offsets = _offsets(model, spec, offset, max_length)
    rounding = rounding_of(dtype)
    replays = Replays(model, spec, dtype, domain, rounding)
    known: list[Knowledge] = []
    ended = None
    try:
        for done, (at, most) in enumerate(offsets):
            left = started + budget - thread_time()
            if left <= 0:
                break
            share = min(left, max(LEAST_SHARE, MOST_SHARES * left / (len(offsets) - done)))
            patience = min(PATIENCE, share / SEARCHES)
            limit = min([most, *(k.failure.length - 1 for k in known if k.failure is not None)])
            question = TrainedQuestion(model, spec, at, limit, domain, rounding)
            work = Offset(question, replays, progress or unseen, seed, patience)
            known.append(work.known)
            work.decide(thread_time() + share)
    except KeyboardInterrupt:
        ended = "interrupted; what was proved until then stands"
    if ended is None and thread_time() - started >= budget:
        ended = "the budget is used up"
    return _verdict(model, spec, domain, dtype, offset, offsets, known, ended, started)


def _check(model: Checkpoint, spec: Specification, dtype: str, domain: str, budget: float) -> None:
    if dtype not in UNITS:
        raise SofthatError(
            f"dtype {dtype!r} cannot be proved: rounding is bounded for {' and '.join(UNITS)}"
        )
    if domain not in DOMAINS:
        raise SofthatError(f"domain is 'completable' or 'all', not {domain!r}")
    check_budget(budget)
    spec.check_fits(model.vocabulary, model.outputs, model.head)


def _offsets(
    model: Checkpoint, spec: Specification, offset: int | str, max_length: int | None
) -> list[tuple[int, int]]:
    """Each offset with the longest words that are asked for there."""
    room = model.context - 1
    whole = room - (spec.eos is not None)
    if max_length is not None and (type(max_length) is not int or max_length < 0):
        raise SofthatError(f"max_length is a count of symbols, not {max_length!r}")
    if offset == "all":
        if max_length is not None and max_length > room:
            raise too_long(max_length, room, model)
        most = whole if max_length is None else max_length
        last = whole if max_length is None else max(0, max(whole, max_length) - max_length)
        return [(at, max(0, min(most, max(whole, most) - at))) for at in range(last + 1)]
    if type(offset) is not int or offset < 0:
        raise SofthatError(f"offset is a position id or 'all', not {offset!r}")
    if offset > room:
        raise SofthatError(f"offset {offset} is outside the context of {model.context} positions")
    if max_length is not None and offset + max_length > room:
        raise too_long(max_length, room - offset, model)
    return [(offset, max(0, whole - offset) if max_length is None else max_length)]


def check_budget(budget: float) -> None:
    if not budget > 0:
        raise SofthatError(f"the budget is a number of seconds above 0, not {budget}")


def too_long(max_length: Any, room: int, model: Checkpoint) -> SofthatError:
    return SofthatError(
        f"words of {max_length!r} symbols do not fit: the context of {model.context} positions has "
        f"room for {room}"
    )


def _verdict(
    model: Checkpoint,
    spec: Specification,
    domain: str,
    dtype: str,
    offset: int | str,
    offsets: Sequence[tuple[int, int]],
    known: Sequence[Knowledge],
    ended: str | None,
    started: float,
) -> Verdict:
    """What is known at all offsets together. Words that do not fit at an offset are not asked for
    there."""
    asked = max(longest for _, longest in offsets)
    failures = [each.failure for each in known if each.failure is not None]
    broken = min(failures, key=lambda failure: failure.length, default=None)
    by_offset = {each.offset: each.proved_to for each in known}
    # Offsets after a failure are only asked for words that are shorter than it.
    reached = [each.proved_to if each.proved_to < each.asked else asked for each in known]
    reached += [-1] * (len(offsets) - len(known))
    proved = min(reached) if broken is None else min(*reached, broken.length - 1)
    status = "refuted" if broken else "proved" if proved >= asked else "open"
    margins = [margin for each in known for margin in each.least_margins(proved)]
    least_found = min([each.least_found for each in known], default=np.inf)
    method: dict[int, set[str]] = {}
    for each in known:
        for length, how in each.methods().items():
            if length <= proved:
                method.setdefault(length, set()).add(how)
    open_cells = [cell for each in known for cell in each.open_cells(spec)]
    return Verdict(
        status=status, proved_to=proved, asked=asked, broken_by=broken,
        least_margin=min(margins, default=None),
        least_found=float(least_found) if np.isfinite(least_found) else None,
        method={length: " and ".join(sorted(how)) for length, how in sorted(method.items())},
        assumptions=_assumptions(model, dtype),
        open_cells=tuple(sorted(open_cells, key=lambda c: (c.length, c.read, c.last, c.state))),
        cells=sum(len(each.outcomes) for each in known), words=sum(each.words for each in known),
        seconds=round(thread_time() - started, 3), domain=domain, offset=offset, dtype=dtype,
        interrupted=None if status == "proved" else ended, by_offset=by_offset,
    )  # fmt: skip


def _assumptions(model: Checkpoint, dtype: str) -> tuple[str, ...]:
    assumptions = [
        f"every step is computed in {dtype} or wider and rounded to nearest, sums in any order, "
        "with or without fused multiply-add: no TF32, no autocast, no quantisation",
        "attention is eager or one of the fused kernels of scaled_dot_product_attention, which "
        f"take {BLOCK} keys or more at a time; words stand alone or are padded on the right",
        f"exp, tanh, erf and pow are within {FUNCTION_ULPS} units in the last place, here and in "
        "the model",
        "results below the least normal number may be flushed to zero",
    ]
    if model.named != model.head:
        assumptions.append(f"the class {model.named} computes what {model.head} computes")
    return tuple(assumptions)
