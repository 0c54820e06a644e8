"""The Python blocks of docs/language.md print what their comments say."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tests.cli.run import softhat

PAGE = Path(__file__).parents[2] / "docs" / "language.md"


def test_python_blocks() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block, names)
        said = re.findall(r"^print\(.*\)\s+# ([^:\n]*)", block, re.MULTILINE)
        assert printed.getvalue().splitlines() == [line.strip() for line in said]


def test_the_error_shown() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("error: "))
    done = softhat("check", lines[at + 1].strip())
    assert done.err.splitlines() == lines[at : at + 3]
