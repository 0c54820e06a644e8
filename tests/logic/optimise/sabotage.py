"""Every `return` of a module made to give something else, one at a time.

The module's source is read, the expression of one return wrapped, and the function put in place of
the module's own for a while. The first few values that pass there are changed; not more, so that
passes which run until nothing changes come to an end.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import pytest

from softhat.logic.syntax import nodes

VARIANTS = 3
MOST_CHANGES = 4


def wrong(value: Any, variant: int) -> Any:
    """Something else of the same kind; the value itself where none is known."""
    others: tuple[Any, ...]
    match value:
        case nodes.Formula():
            others = (nodes.Not(value), nodes.TRUE, nodes.Yesterday(value))
        case nodes.Term():
            more = nodes.Sum(value, nodes.Integer(1))
            others = (nodes.Integer(0), more, nodes.Integer(3))
        case bool():
            others = (not value, not value, not value)
        case None:
            others = (True, False, nodes.FALSE)
        case list():
            others = (value[:-1], value[1:], value[:1])
        case tuple() if len(value) == 2:
            others = ((value[1], value[0]), (value[0], value[0]), (value[1], value[1]))
        case int():
            others = (value + 1, -value, 0)
        case _:
            return value
    return others[variant]


@dataclass
class Fired:
    """How many values were changed since the last reset."""

    changed: int = 0

    def reset(self) -> None:
        self.changed = 0


@dataclass(frozen=True)
class Returns:
    """One return of a function, or of a method, of a module."""

    module: ModuleType
    path: tuple[str, ...]
    line: int

    @contextmanager
    def replaced(self, variant: int) -> Iterator[Fired]:
        """The module with this return wrong."""
        fired = Fired()

        def instead(value: Any) -> Any:
            if fired.changed >= MOST_CHANGES:
                return value
            other = wrong(value, variant)
            if type(other) is type(value) and other == value:
                return value  # itself: passes that go on while there is something new would not end
            fired.changed += 1
            return other

        tree = _definition(self.module, self.path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Return) and node.lineno == self.line and node.value:
                called = ast.Name("__instead__", ast.Load())
                node.value = ast.Call(called, [node.value], [])
        unit = ast.fix_missing_locations(ast.Module([tree], []))
        namespace: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(self.module.__dict__, "__instead__", instead)
            exec(compile(unit, self.module.__name__, "exec"), self.module.__dict__, namespace)
            owner: Any = self.module
            for name in self.path[:-1]:
                owner = getattr(owner, name)
            patch.setattr(owner, self.path[-1], namespace[self.path[-1]])
            yield fired


def _functions(
    body: list[ast.stmt], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield (*path, node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, (*path, node.name))


def _definition(module: ModuleType, path: tuple[str, ...]) -> ast.FunctionDef:
    tree = ast.parse(inspect.getsource(module))
    return dict(_functions(tree.body, ()))[path]


def returns_of(module: ModuleType) -> list[Returns]:
    """All returns of a value in a module."""
    tree = ast.parse(inspect.getsource(module))
    return [
        Returns(module, path, node.lineno)
        for path, function in _functions(tree.body, ())
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]


def formulas_that_reach(
    returns: Sequence[Returns], formulas: Sequence[str], run: Callable[[str], object]
) -> dict[Returns, list[str]]:
    """For each return the formulas on which `run` comes to it."""
    places = {(where.module.__file__, where.line): where for where in returns}
    files = {file for file, _ in places}
    reached: dict[Returns, set[str]] = {where: set() for where in returns}
    now = ""

    def line(frame: FrameType, event: str, _: object) -> Any:
        where = places.get((frame.f_code.co_filename, frame.f_lineno))
        if event == "line" and where is not None:
            reached[where].add(now)
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        return line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    try:
        for now in formulas:
            sys.settrace(call)
            run(now)
            sys.settrace(before)
    finally:
        sys.settrace(before)
    return {where: [text for text in formulas if text in reached[where]] for where in returns}
