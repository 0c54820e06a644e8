"""Run the command line in this process, or as a user would."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from unittest import mock

from softhat.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command printed and its exit code."""

    code: int
    out: str
    err: str


def softhat(*arguments: str, stdin: str = "") -> Outcome:
    """`softhat ARGUMENTS`, in this process: without `-j` no others are started, each of which would
    load everything again."""
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape")), "utf-8")
    code = 0
    with (
        mock.patch.object(sys, "argv", ["softhat", *arguments]),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
        mock.patch.object(sys, "stdin", given),
        mock.patch("softhat.io.work.run.cores", return_value=1),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return Outcome(code, out.getvalue(), err.getvalue())


def softhat_process(*arguments: str, stdin: bytes = b"", **environment: str) -> Outcome:
    """`softhat ARGUMENTS` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "from softhat.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
