"""What must be right for a certificate to be right: the modules, and how many lines they have.

    python benchmarks/trusted_base.py           # a table
    python benchmarks/trusted_base.py --modules # every module with its lines

Counted are the modules that a checker imports when it is loaded, and all that these import: every
line of a file, comments and docstrings too. Imports for type checking only, and those inside
functions (texts and pictures of a certificate), are left out.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
CHECKERS = {
    "native": ("softhat.proof.check",),
    "native, with the linear runtime's bound": ("softhat.proof.check", "softhat.proof.linear"),
    "RASP programs": ("softhat.proof.programs",),
    "PyTorch and ONNX": ("softhat.proof.kernels",),
    **{
        name: (
            "softhat.proof.stock.certificate",
            f"softhat.proof.{room}.checkpoint",
            f"softhat.proof.{room}.dense_scores",
            f"softhat.proof.{room}.undisguise",
        )
        for name, room in (("GPT-2", "gpt2"), ("Llama", "llama"))
    },
    "simulations": ("softhat.proof.simulations.check", "softhat.proof.simulations.lengths"),
    "simulations, with lengths in number formats": ("softhat.ahat.simulation.certificate",),
}
"""The module that gives each kind of certificate."""


def path_of(module: str) -> Path | None:
    """The file of a module or of a package, or None if there is none."""
    at = SOURCE.joinpath(*module.split("."))
    for path in (at.with_suffix(".py"), at / "__init__.py"):
        if path.is_file():
            return path
    return None


def imported_by(path: Path) -> set[str]:
    """The modules of softhat that a file imports when it is loaded."""
    names: set[str] = set()
    todo: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    for node in todo:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            todo += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            todo += node.body
    return {name for name in names if name.startswith("softhat.")}


def closure(checkers: tuple[str, ...]) -> dict[str, int]:
    """The modules that must be right for these checkers, each with its number of lines."""
    lines: dict[str, int] = {}
    todo = list(checkers)
    while todo:
        module = todo.pop()
        path = path_of(module)
        if module in lines or path is None:
            continue
        lines[module] = len(path.read_text(encoding="utf-8").splitlines())
        todo += imported_by(path)
        packages = module.split(".")[:-1]
        todo += [".".join(packages[:k]) for k in range(2, len(packages) + 1)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", action="store_true", help="print every module")
    modules = parser.parse_args().modules
    for name, checkers in CHECKERS.items():
        lines = closure(checkers)
        print(f"{name}: {len(lines)} modules, {sum(lines.values()):,} lines")
        if modules:
            for module, count in sorted(lines.items(), key=lambda item: -item[1]):
                print(f"    {count:6,}  {module}")


if __name__ == "__main__":
    main()
