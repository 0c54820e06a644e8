"""`softhat.verify`: what it tries and counts, and that it can be split, stopped and resumed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from queue import LifoQueue
from threading import Thread
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.io.work import processes
from softhat.models.verification.job import Job
from tests.cases import CASES, Case
from tests.slices import every

SMALL: dict[str, Any] = {"exhaustive": 5, "random": 20, "adversarial": 10, "max_length": 40}


def stable(result: Any) -> dict[str, Any]:
    """The part of a result that must not depend on who did the work."""
    document: dict[str, Any] = result.to_json()
    for name in ("seconds", "elapsed", "rates", "words_per_second"):
        del document[name]
    return document


# Weights beyond 2^40 cannot be compiled.
COMPILED = [case for case in CASES if "huge" not in case.name]


@pytest.mark.parametrize("case", every(2, COMPILED[::6]), ids=lambda case: case.name)
def test_compiled_models_agree(case: Case) -> None:
    names = {"propositions" if case.propositional else "alphabet": case.alphabet}
    model = softhat.compile(case.formula, **names)
    result = softhat.verify(model, exhaustive=4, random=16, adversarial=20, max_length=50)
    assert result.ok
    assert result.complete
    assert result.counterexample is None
    k = result.letters
    assert result.exhaustive_length == 4
    assert result.counts["exhaustive"] == sum(k**n for n in range(1, 5))
    assert result.counts["random"] == 16
    assert result.words == sum(result.counts.values())
    assert 0.3 < result.min_margin <= 0.5
    assert result.max_leak < 0.0188
    json.dumps(result.to_json(), allow_nan=False)


def test_exhaustive_stops_at_the_last_length_within_max_words() -> None:
    model = softhat.compile("a S b", alphabet="abc")
    run: dict[str, Any] = {"random": 0, "adversarial": 0}
    assert softhat.verify(model, exhaustive=9, max_words=3 + 9 + 27, **run).exhaustive_length == 3
    assert softhat.verify(model, exhaustive=9, max_words=3 + 9 + 26, **run).exhaustive_length == 2
    result = softhat.verify(model, exhaustive=9, max_words=2, random=3, adversarial=0)
    assert (result.exhaustive_length, result.words, result.ok) == (0, 3, True)


def test_several_outputs_and_a_wrong_one() -> None:
    model = softhat.compile({"x": "O a", "y": "Y b"}, alphabet="ab")
    assert softhat.verify(model, **SMALL).ok
    model.formulas["y"] = softhat.parse("Z b")
    found = softhat.verify(model, **SMALL).counterexample
    assert found is not None
    assert (found.word, found.output, found.position, found.expected) == ("a", "y", 0, True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_number_formats(dtype: str) -> None:
    model = softhat.compile("a S (Y b & !c)", alphabet="abc", attention="temperature")
    result = softhat.verify(model, dtype=dtype, **{**SMALL, "exhaustive": 4})
    assert result.ok
    assert result.dtype == dtype
    assert all(head.leak >= 0.9 * head.exact_leak > 0 for head in result.heads)


def test_hard_attention_does_not_leak() -> None:
    result = softhat.verify(softhat.compile("a S Y b", attention="hard"), **SMALL)
    assert result.ok
    assert result.max_leak == 0


def test_the_linear_runtime() -> None:
    model = softhat.compile("a S Y b & #(a) > 2", alphabet="ab")
    assert softhat.verify(model, runtime="linear", **SMALL).ok


def test_past_the_certificate_a_model_may_fail() -> None:
    """bfloat16 holds positions exactly to 256: words stay there unless asked to go on."""
    model = softhat.compile("O a", alphabet="ab")
    asked: dict[str, Any] = {"exhaustive": 3, "random": 8, "adversarial": 20, "dtype": "bfloat16"}
    result = softhat.verify(model, max_length=1000, **asked)
    assert result.ok
    assert result.max_length == result.certified_length
    assert 250 <= result.max_length < 1000
    far = softhat.verify(model, max_length=1000, beyond=True, **asked)
    assert not far.ok
    assert far.counterexample is not None
    assert not far.counterexample.certified
    assert len(far.counterexample.word) > result.max_length
    assert (far.counterexample.layer, far.counterexample.head) == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float8"}, "unknown dtype"),
        ({"exhaustive": -1}, "exhaustive"),
        ({"max_length": 0}, "max_length"),
        ({"runtime": "quantum"}, "unknown runtime"),
        ({"exhaustive": 0, "random": 0, "adversarial": 0}, "nothing to verify"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        softhat.verify(softhat.compile("a"), **options)


def test_not_a_model() -> None:
    with pytest.raises(SofthatError, match="expected a model"):
        softhat.verify(7)


# Splitting


def test_threads_and_processes_find_the_same() -> None:
    model = softhat.compile("a S (b & Y a)", alphabet="ab")
    here = stable(softhat.verify(model, **SMALL))
    with ThreadPoolExecutor(2) as threads:
        assert stable(softhat.verify(model, executor=threads, **SMALL)) == here
    with processes(2) as renew:
        assert stable(softhat.verify(model, renew=renew, **SMALL)) == here


def test_the_first_mismatch_is_reported_whoever_is_fastest() -> None:
    """The last items are given out first here; the shortest word must still come out."""
    model = softhat.compile("O a", alphabet="ab")
    model.formulas["output"] = softhat.parse("O a & !Y Y b")
    here = softhat.verify(model, **SMALL)
    assert here.counterexample is not None
    assert here.counterexample.word == "baa"
    assert stable(softhat.verify(model, executor=_Backwards(), **SMALL)) == stable(here)


class _Backwards(Executor):
    """Does what it is given last first."""

    _max_workers = 50

    def __init__(self) -> None:
        self.waiting: LifoQueue[Callable[[], None]] = LifoQueue()
        self.thread = Thread(target=self._work, daemon=True)
        self.thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args, **kwargs))

        self.waiting.put(work)
        return future

    def _work(self) -> None:
        time.sleep(0.5)  # until some are waiting
        while True:
            self.waiting.get()()


def test_a_broken_executor_changes_nothing() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    here = stable(softhat.verify(model, **SMALL))
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    assert stable(softhat.verify(model, executor=executor, **SMALL)) == here


def test_a_killed_process_changes_nothing() -> None:
    model = softhat.compile("a S (b & Y a)", alphabet="ab")
    here = stable(softhat.verify(model, **SMALL))
    pools: list[Any] = []
    killed: list[int] = []

    def kill_once(done: int, total: int, words: int) -> None:
        if not killed:
            killed.append(next(iter(pools[0]._processes)))
            os.kill(killed[0], signal.SIGKILL)

    with processes(2) as renew:

        def remember() -> Executor:
            pools.append(renew())
            assert isinstance(pools[-1], ProcessPoolExecutor)
            return pools[-1]

        result = softhat.verify(model, renew=remember, progress=kill_once, **SMALL)
    assert len(pools) > 1  # the pool broke and another took over
    assert stable(result) == here


# Stopping and resuming


def test_interrupt_and_resume_do_each_item_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = softhat.compile("a S (b & Y a)", alphabet="ab")
    whole = softhat.verify(model, **SMALL)
    ran: list[Any] = []
    run = Job.run

    def counted(job: Job, item: Any) -> Any:
        ran.append(item)
        return run(job, item)

    monkeypatch.setattr(Job, "run", counted)
    file = tmp_path / "state.json"

    def interrupt(done: int, total: int, words: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    half = softhat.verify(model, resume=file, progress=interrupt, **SMALL)
    assert not half.complete
    assert not half.ok
    assert half.counterexample is None
    assert 0 < half.words < whole.words
    assert len(ran) == 7
    resumed = softhat.verify(model, resume=file, **SMALL)
    assert stable(resumed) == stable(whole)
    assert len(ran) == len(set(ran)) == len(Job(model, _settings(whole)).items())
    again = softhat.verify(model, resume=file, **SMALL)  # nothing left to do
    assert stable(again) == stable(whole)
    assert len(ran) == len(set(ran))
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def _settings(result: Any) -> Any:
    from softhat.models.verification.items import VerificationSettings

    return VerificationSettings(5, 20, 10, result.max_length, 2_000_000, "float32", "dense", 0)


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    model = softhat.compile("a S b", alphabet="ab")
    softhat.verify(model, resume=file, **SMALL)
    with pytest.raises(SofthatError, match="another model or other options"):
        softhat.verify(model, resume=file, seed=1, **SMALL)
    with pytest.raises(SofthatError, match="another model or other options"):
        softhat.verify(softhat.compile("a S a", alphabet="ab"), resume=file, **SMALL)
    for text in ("", "[]", "{", '{"format": "softhat-verification/1"}', '{"format": "other"}'):
        file.write_text(text)
        with pytest.raises(SofthatError, match="not the state of a verification"):
            softhat.verify(model, resume=file, **SMALL)
    with pytest.raises(SofthatError, match="cannot write"):
        softhat.verify(model, resume=tmp_path / "no" / "folder.json", **SMALL)


def test_the_words_of_items_are_all_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exhaustive items together hold every word up to the length, exactly once."""
    from softhat.models.verification.items import VerificationSettings

    model = softhat.compile("p S q", propositions="pqr")  # r is not mentioned: it stays false
    job = Job(model, VerificationSettings(4, 0, 0, 1, 10**6, "float32", "dense", 0))
    seen: list[bytes] = []
    compare = Job._compare

    def recorded(self: Job, tokens: Any, *rest: Any) -> Any:
        assert not tokens[..., 2].any()
        seen.extend(np.packbits(word).tobytes() + bytes([len(word)]) for word in tokens)
        return compare(self, tokens, *rest)

    monkeypatch.setattr(Job, "_compare", recorded)
    for item in job.items():
        job.run(item)
    assert len(seen) == len(set(seen)) == 4 + 16 + 64 + 256
