"""The house: a room imports only from rooms before it, and the trusted base stands alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "softhat"
ORDER = (
    "errors",
    "files",
    "work",
    "formats",
    "rationals",
    "arithmetic_sets",
    "predicates",
    "positions",
    "laws",
    "markup",
    "pictures",
    "logic",
    "program",
    "frontends",  # after `program`: RASP computes values, so it compiles to programs, not formulas
    "transformer",
    "lowering",
    "runtime",
    "proof",
    "ahat",
    "model",
    "value_model",
    "compiler",
    "folders",
    "verification",  # after `folders`: it tries to break what users hold, wherever workers run
    "export",
    "zoo",
    "explore",
    "bench",
    "cli",
)
"""Data flows down this list."""
APART = {"proof": {"lowering", "runtime"}}
"""The trusted base must not know the passes that make weights, nor the code that runs them."""


def imports(source: Path) -> Iterator[tuple[str, str, str]]:
    """(module, room it stands in, room it imports), imports for type checking left out."""
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typing = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in ast.walk(node)
        }
        here = path.relative_to(source).with_suffix("").parts[0]
        if here in ("__init__", "__main__"):
            continue
        for node in ast.walk(tree):
            if id(node) in typing:
                continue
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith("softhat."):
                    yield str(path.relative_to(source)), here, name.split(".")[1]


def violations(source: Path) -> list[str]:
    rank = {room: at for at, room in enumerate(ORDER)}
    found = []
    for module, here, there in imports(source):
        if there not in rank:
            continue
        if rank[there] > rank[here] or there in APART.get(here, ()):
            found.append(f"{module} imports {there}")
    return sorted(set(found))


def test_every_room_is_in_the_order() -> None:
    rooms = {p.stem for p in SOURCE.iterdir() if p.is_dir() or p.suffix == ".py"}
    assert rooms - {"__init__", "__main__", "__pycache__", "py"} == set(ORDER)


def test_no_room_imports_upward() -> None:
    assert violations(SOURCE) == []


@pytest.mark.parametrize("line", ["from softhat.model import Model", "import softhat.lowering"])
def test_a_planted_violation_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "proof").mkdir()
    (tmp_path / "proof" / "check.py").write_text(f"def late() -> None:\n    {line}\n")
    assert len(violations(tmp_path)) == 1
