"""Property tests are seeded, so that a slice that was green stays green, and draw 16 examples where
they do not say how many; `make test-full` draws anew, and 100. No test has a deadline: the machines
are shared."""

import gc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softhat.io.files import snapshot

SLOW = [HealthCheck.too_slow]
settings.register_profile(
    "seeded", deadline=None, suppress_health_check=SLOW, derandomize=True, max_examples=16
)
settings.register_profile("full", deadline=None, suppress_health_check=SLOW, print_blob=True)
settings.load_profile("seeded")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected: hardly anything is garbage before


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: Any) -> list[Any] | None:
    """Where the large runs are left out, their thousands of cases are not made either."""
    large = any(mark.name == "full" for mark in getattr(obj, "pytestmark", []))
    return [] if large and collector.config.getoption("markexpr") == "not full" else None


@given(st.none())
def _begin(nothing: None) -> None:
    """Hypothesis asks the garbage collector, once, who holds its random numbers."""


def pytest_collection_finish() -> None:
    """The tests and the modules that they load stay to the end: the garbage collector would walk
    over their millions of objects again and again. It does not see them once they are frozen."""
    _begin()
    gc.enable()
    gc.freeze()


@pytest.fixture
def nobody_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is damaged is refused at once, not read again in case that a save is going on."""
    monkeypatch.setattr(snapshot, "_ODD_TRIES", 0)
