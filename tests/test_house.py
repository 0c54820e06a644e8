"""The house: a room imports only from rooms before it, and the trusted base stands alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "softhat"
ORDER = (
    "io",
    "numbers",
    "logic",
    "program",
    "frontends",  # after `program`: RASP computes values, so it compiles to programs, not formulas
    "numerics",
    "transformer",
    "runtime",
    "proof",
    "ahat",
    "trained",
    "models",
    "export",
    "circuits",
    "explore",
    "cli",
)
"""Data flows down this list."""
APART = {"proof": ("softhat.transformer.lowering", "softhat.runtime", "softhat.logic.optimise")}
"""The trusted base must not know the passes that make weights, nor the code that runs them."""


STAGES = {
    *(
        "And",
        "Xor",
        "Table",
        "Constant",
        "Sum",
        "Length",
        "Mod",
    ),  # of formulas, gates, laws, features
    *("At", "Recall", "Comparison", "Selector", "Number"),  # in a formula or RASP, and in a program
    *("Layer", "Node"),
}
"""Classes that are one thing at two stages of the way: no others share a name."""


@cache
def imports(source: Path) -> tuple[tuple[str, str, str], ...]:
    """(module, room it stands in, name it imports), imports for type checking left out."""
    return tuple(_imports(source))


def _imports(source: Path) -> Iterator[tuple[str, str, str]]:
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
                    yield str(path.relative_to(source)), here, name


def violations(source: Path) -> list[str]:
    rank = {room: at for at, room in enumerate(ORDER)}
    upward = []
    for module, here, name in imports(source):
        there = name.split(".")[1]
        if there not in rank:
            continue
        if rank[there] > rank[here] or f"{name}.".startswith(_apart(here)):
            upward.append(f"{module} imports {there}")
    return sorted(set(upward))


def _apart(room: str) -> tuple[str, ...]:
    return tuple(f"{name}." for name in APART.get(room, ()))


def test_every_room_is_in_the_order() -> None:
    rooms = {p.stem for p in SOURCE.iterdir() if p.is_dir() or p.suffix == ".py"}
    assert rooms - {"__init__", "__main__", "__pycache__", "py"} <= set(ORDER)


def test_no_room_imports_upward() -> None:
    assert violations(SOURCE) == []


def test_only_what_builds_optimises() -> None:
    """Within the logic, nothing but the optimiser knows itself."""
    known = [
        module
        for module, here, name in imports(SOURCE)
        if here == "logic" and name.startswith("softhat.logic.optimise.")
    ]
    assert known and all(module.startswith("logic/optimise/") for module in known)


def test_no_certificate_needs_what_rewrites_formulas_or_makes_weights() -> None:
    """Not even through others: all that `proof` and `decide` import, and what that imports."""
    names = {
        ".".join(("softhat", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in SOURCE.rglob("*.py")
    }
    imported: dict[str, set[str]] = {}
    for module, _, name in imports(SOURCE):
        here = ".".join(("softhat", *Path(module).with_suffix("").parts))
        imported.setdefault(here, set()).update((name, name.rpartition(".")[0]))
    reached: set[str] = set()
    todo = [name for name in names if name.startswith(("softhat.proof.", "softhat.logic.decide."))]
    assert "softhat.proof.claims" in todo
    while todo:
        name = todo.pop()
        if name in names and name not in reached:
            reached.add(name)
            todo += imported.get(name, ())
    for module in ("simplify", "simplify_counts", "settle", "entail", "chains", "sample"):
        assert f"softhat.logic.optimise.{module}" in names
    apart = ("softhat.logic.optimise.", "softhat.transformer.lowering.", "softhat.runtime.")
    assert [name for name in sorted(reached) if name.startswith(apart)] == []


@pytest.mark.parametrize(
    "line", ["from softhat.models.model import Model", "import softhat.transformer.lowering"]
)
def test_a_planted_violation_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "proof").mkdir()
    (tmp_path / "proof" / "check.py").write_text(f"def late() -> None:\n    {line}\n")
    assert len(violations(tmp_path)) == 1


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    shared = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert {name: modules for name, modules in shared.items() if name not in STAGES} == {}
    assert shared.keys() == STAGES
