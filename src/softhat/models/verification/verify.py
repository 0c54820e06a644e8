"""Verification: try to break a model, and say how far that was tried.

The model's answer is compared with the formula's truth at every position and for every output,
on all short words, on random words and on words made to break it. The formulas are evaluated by
`softhat.logic`, which shares no code with the compiler. Where model and formula differ, the
shortest such word is reported with the layer and head where soft and hard attention part.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.work import Results, Task, run, source_digest
from softhat.models.model import Model
from softhat.models.verification.amounts import check_amounts
from softhat.models.verification.items import KINDS, Item, VerificationSettings
from softhat.models.verification.job import Job
from softhat.models.verification.locate import locate
from softhat.models.verification.proved import is_proved
from softhat.models.verification.remote import pack_model, run_item
from softhat.models.verification.report import Counterexample, HeadReport, Verification
from softhat.models.verification.shrink import shrunk
from softhat.models.verification.state import FindingsByItem
from softhat.models.verification.words import decode
from softhat.numerics.formats import format_of
from softhat.runtime.answers import Runtime

RUNTIMES: tuple[Runtime, ...] = ("dense", "linear", "auto")


def verify(
    model: Model,
    exhaustive: int = 10,
    random: int = 1000,
    adversarial: int = 100,
    max_length: int = 1000,
    max_words: int = 2_000_000,
    dtype: str = "float32",
    runtime: str = "dense",
    executor: Executor | None = None,
    *,
    seed: int = 0,
    beyond: bool = False,
    resume: str | Path | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    renew: Callable[[], Executor] | None = None,
) -> Verification:
    """Compare a model with its formulas on all words to length `exhaustive` (as far as they are
    at most `max_words`), on `random` random and `adversarial` hostile words to `max_length`.

    Random and hostile words are no longer than the certified length in `dtype`, if there is
    one, unless `beyond`. `executor` is any `concurrent.futures.Executor`; `renew` gives a new
    one when it breaks. `resume` is a file that keeps what is done, for the next call.
    `progress(done, all, words)` is called after each item. Ctrl-C ends the run and keeps the
    result so far.
    """
    how = (format_of(dtype).name, _runtime(runtime))
    settings = VerificationSettings(
        exhaustive, random, adversarial, max_length, max_words, *how, seed
    )
    _check(settings)
    tables = model.longest_word
    if tables is not None:  # longer words are refused
        settings = replace(
            settings,
            exhaustive=min(settings.exhaustive, tables),
            longest=min(settings.longest, tables),
        )
    certified = certified_length(model, dtype, runtime)
    if certified and not beyond:
        settings = replace(settings, longest=min(settings.longest, certified))
    job = Job(model, settings)
    items = job.items()
    state = FindingsByItem.open(resume, _fingerprint(model, settings, len(items)) if resume else "")
    began = time.perf_counter()
    complete = _run(job, items, state, executor, renew, progress)
    state.save()
    elapsed = time.perf_counter() - began
    return _result(job, items, state, complete, certified, elapsed)


def certified_length(model: Model, dtype: str, runtime: str = "dense") -> int:
    """The length to which right answers are proved in a number format, or 0."""
    dense = int(model.certificate.max_length[format_of(dtype).name])
    match runtime:
        case "dense":
            return dense
        case "linear":
            return model.linear_max_length(dtype)
    return min(dense, model.linear_max_length(dtype))


def _runtime(name: str) -> Runtime:
    for runtime in RUNTIMES:
        if runtime == name:
            return runtime
    raise SofthatError(f"unknown runtime {name!r}: choose one of {', '.join(RUNTIMES)}")


def _check(settings: VerificationSettings) -> None:
    check_amounts({**asdict(settings), "max_length": settings.longest})
    if settings.exhaustive == settings.random == settings.adversarial == 0:
        raise SofthatError("nothing to verify: exhaustive, random and adversarial are all 0")


def _fingerprint(model: Model, settings: VerificationSettings, items: int) -> str:
    digest = hashlib.sha256(pack_model(model))
    asked = [asdict(settings), items, source_digest()]
    digest.update(json.dumps(asked, sort_keys=True).encode())
    return digest.hexdigest()


def _run(
    job: Job,
    items: list[Item],
    state: FindingsByItem,
    executor: Executor | None,
    renew: Callable[[], Executor] | None,
    progress: Callable[[int, int, int], None] | None,
) -> bool:
    """Do the items that are not done yet; after a mismatch only those before it matter, so that
    the first one, the shortest, is found whoever is fastest. False if interrupted."""
    pending = [(k, item) for k, item in enumerate(items) if k < state.end(len(items))]
    pending = [(k, item) for k, item in pending if k not in state.done]
    results = run(_tasks(job, pending, executor is not None or renew is not None), executor, renew)
    try:
        with closing(results):
            for k, findings in _until_mismatch(results, state, len(items)):
                state.add(k, findings)
                if progress is not None:
                    progress(len(state.done), state.end(len(items)), state.words)
    except KeyboardInterrupt:
        return False
    return True


def _tasks(job: Job, pending: list[tuple[int, Item]], elsewhere: bool) -> Iterator[Task]:
    if not elsewhere:
        yield from ((k, job.run, (item,)) for k, item in pending)
        return
    packed, settings = pack_model(job.model), asdict(job.settings)
    yield from ((k, run_item, (packed, settings, tuple(item))) for k, item in pending)


def _until_mismatch(
    results: Results, state: FindingsByItem, total: int
) -> Iterator[tuple[int, Any]]:
    if state.finished(total):
        return
    for k, findings in results:
        yield k, findings
        if state.finished(total):
            return


def _result(
    job: Job,
    items: list[Item],
    state: FindingsByItem,
    complete: bool,
    certified: int,
    elapsed: float,
) -> Verification:
    model, settings = job.model, job.settings
    # After a mismatch in item k exactly the items up to k count, whoever ran ahead.
    counted = {k: findings for k, findings in state.done.items() if k < state.end(len(items))}
    counterexample = _counterexample(job, items, counted, certified)
    counts, seconds = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0.0)
    for k, findings in counted.items():
        counts[items[k].kind] += findings["words"]
        seconds[items[k].kind] += findings["seconds"]
    leak = [_worst(counted, "leak", h) for h in range(model.size.heads)]
    exact = [_worst(counted, "exact_leak", h) for h in range(model.size.heads)]
    outputs = model.transformer.outputs
    margins = {
        name: min(
            (float(findings["margin"][k]) for findings in counted.values()), default=float("inf")
        )
        for k, name in enumerate(outputs)
    }
    all_done = {k for k, item in enumerate(items) if item.kind == "exhaustive"} <= counted.keys()
    reached = job.exhaustive_length if all_done else _reached(job, items, counted)
    if counterexample is not None and counterexample.shortest:
        reached = len(counterexample.word) - 1
    return Verification(
        ok=complete and counterexample is None,
        complete=complete,
        words=sum(counts.values()),
        exhaustive_length=reached,
        max_length=settings.longest,
        letters=len(job.table),
        counts=counts,
        counterexample=counterexample,
        max_leak=max(leak, default=0.0),
        min_margin=min(margins.values()),
        margins=margins,
        heads=_heads(model, leak, exact),
        dtype=settings.dtype,
        runtime=settings.runtime,
        certified_length=certified,
        program_proved=counterexample is None and is_proved(model.program, model.formulas),
        seconds=sum(seconds.values()),
        rates={kind: counts[kind] / seconds[kind] for kind in KINDS if seconds[kind] > 0},
        elapsed=elapsed,
    )


def _worst(counted: dict[int, Any], name: str, head: int) -> float:
    return max((float(findings[name][head]) for findings in counted.values()), default=0.0)


def _reached(job: Job, items: list[Item], counted: dict[int, Any]) -> int:
    """The last length all of whose words were tried, when not all items were done."""
    missing = [job.lengths(item)[0] for k, item in enumerate(items) if k not in counted]
    return max(min(missing) - 1, 0)


def _counterexample(
    job: Job, items: list[Item], counted: dict[int, Any], certified: int
) -> Counterexample | None:
    first = min((k for k, findings in counted.items() if findings["mismatch"]), default=None)
    if first is None:
        return None
    tried = all(k in counted for k in range(first))  # not so if the run was interrupted
    shortest = tried and items[first].kind == "exhaustive"
    tokens, mismatch = shrunk(job, counted[first]["mismatch"], shorter=not shortest)
    place = locate(job, tokens, mismatch["output"], mismatch["position"])
    return Counterexample(
        word=decode(job.model, tokens),
        position=mismatch["position"],
        output=mismatch["output"],
        expected=mismatch["expected"],
        shortest=shortest or (tried and len(tokens) == job.exhaustive_length + 1),
        certified=len(tokens) <= certified,
        place=place,
    )


def _heads(model: Model, leak: list[float], exact: list[float]) -> tuple[HeadReport, ...]:
    certified = _certified_leaks(model)
    reports, at = [], 0
    for number_of_layer, layer in enumerate(model.transformer.layers):
        for h, (label, kind) in enumerate(zip(layer.labels, layer.kinds, strict=True)):
            bound = certified.get((number_of_layer, h))
            side = kind != "Average"
            reports.append(
                HeadReport(
                    layer=number_of_layer,
                    head=h,
                    label=label,
                    kind=kind,
                    leak=leak[at],
                    exact_leak=exact[at],
                    certified_leak=bound,
                    margin=0.5 - leak[at] if side else None,
                    certified_margin=0.5 - bound if side and bound is not None else None,
                )
            )
            at += 1
    return tuple(reports)


def _certified_leaks(model: Model) -> dict[tuple[int, int], float]:
    """The bound of each head in real arithmetic; none if nothing is proved."""
    certificate = model.certificate
    if certificate.void:
        return {}
    return {(head.layer, head.head): head.leak for head in certificate.heads}
