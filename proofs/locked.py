"""Runs a command while no other build runs in this folder: python3 locked.py COMMAND ...

Two builds at once would write the same compiled files. The second waits here until the first is
done, and then finds nothing to do. The lock ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(command: list[str]) -> None:
    lock = os.open(HERE, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)  # the command holds it from here on
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
