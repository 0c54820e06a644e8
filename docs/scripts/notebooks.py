"""Run the notebooks and keep what their cells show, so that they can be read without running.

    python docs/scripts/notebooks.py [NAME ...]

Needs `nbclient` and `ipykernel` (the extra `dev`). Times and machine names are not kept, so that
the same code gives the same file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run from top to bottom."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def main(names: list[str]) -> None:
    paths = [FOLDER / name for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        notebook = executed(path)
        path.write_text(nbformat.writes(notebook, indent=1) + "\n", "utf-8")
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
