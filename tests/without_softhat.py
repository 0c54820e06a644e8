"""Scripts in processes that cannot import softhat.

A process that has loaded PyTorch and transformers, and nothing of softhat, waits here and forks one
process for each script: to load them anew for each would take seconds. The script is read from
disk, its output goes to files, and whatever it leaves behind ends with its process.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """What a script printed, and its exit code."""

    code: int
    out: str
    err: str


def run_script(script: Path, *arguments: str, folder: Path | None = None) -> Script:
    """`python SCRIPT ARGUMENTS` in `folder`, where `import softhat` fails."""
    server = _server()
    with tempfile.TemporaryDirectory() as output:
        asked = {
            "script": str(script.resolve()),
            "arguments": arguments,
            "folder": str(folder or Path.cwd()),
            "output": output,
        }
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that forks ended"
        out, err = (Path(output, name).read_text() for name in ("out", "err"))
    return Script(int(answer), out, err)


@lru_cache(maxsize=1)
def _server() -> subprocess.Popen[str]:
    """The process that forks, with a home of its own for what transformers downloads or copies."""
    home = tempfile.TemporaryDirectory()
    offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": home.name}
    server = subprocess.Popen(
        [sys.executable, "-P", __file__],  # tests/numbers is not the module numbers
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **offline},
    )

    def end() -> None:
        server.communicate()  # closes its input, which ends it
        home.cleanup()

    atexit.register(end)
    return server


def _serve() -> None:
    sys.modules["softhat"] = None  # type: ignore[assignment]
    import torch  # noqa: F401
    from transformers import (  # noqa: F401
        AutoModelForTokenClassification,
        AutoTokenizer,
        GPT2ForTokenClassification,
        LlamaForTokenClassification,
        pipeline,
    )

    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _become(**asked)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(script: str, arguments: list[str], folder: str, output: str) -> None:
    """The script, as its own process would run it; never returns."""
    import runpy
    import traceback

    os.chdir(folder)
    for name, number in (("out", 1), ("err", 2)):
        file = os.open(Path(output, name), os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
    sys.argv = [script, *arguments]
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException:  # also SystemExit: a script that ends early has not said what it found
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
