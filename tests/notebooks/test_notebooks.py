"""The notebooks run from top to bottom, and what their cells end with can be shown."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")
pretty = pytest.importorskip("IPython.lib.pretty").pretty
FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
LONG = {"machines", "trained-and-proved"}  # run at full size only


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=[pytest.mark.full] if path.stem in LONG else [])
        for path in sorted(FOLDER.glob("*.ipynb"))
    ],
)
def test_runs(name: str) -> None:
    cells = json.loads((FOLDER / name).read_text("utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), name, "eval"), names)
            html = getattr(shown, "_repr_html_", None)
            assert html is None or "<" in (html() or "<")  # a figure shows itself otherwise
            if shown is not None:
                assert rounded(stored(cell)) == rounded(pretty(shown)), "docs/scripts/notebooks.py"


def stored(cell: dict[str, Any]) -> str:
    """What the notebook keeps of the value that a cell ends with, as text."""
    (result,) = [o for o in cell["outputs"] if o["output_type"] == "execute_result"]
    return "".join(result["data"]["text/plain"])


def rounded(text: str) -> str:
    """Other machines may round otherwise: numbers are compared to three digits, sizes not."""
    text = re.sub(r"<(softhat.Page|Picture)[^>]*>", r"<\1>", text)
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text)
