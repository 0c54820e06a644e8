"""Tracr's language and interpreter, from a checkout of github.com/google-deepmind/tracr: no JAX."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def stand_in(name: str, **parts: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in parts.items():
        setattr(module, key, value)
    sys.modules[name] = module
    return module


@contextmanager
def imported_as(language: types.ModuleType, library: types.ModuleType) -> Iterator[None]:
    """`tracr.rasp.rasp` and `tracr.compiler.lib` are these."""
    before = {name: part for name, part in sys.modules.items() if name.startswith("tracr")}
    stand_in("tracr", rasp=stand_in("tracr.rasp", rasp=language),
             compiler=stand_in("tracr.compiler", lib=library))  # fmt: skip
    sys.modules["tracr.rasp.rasp"] = language
    sys.modules["tracr.compiler.lib"] = library
    yield
    for name in [name for name in sys.modules if name.startswith("tracr")]:
        del sys.modules[name]
    sys.modules.update(before)


def module_of(file: Path, name: str) -> types.ModuleType:
    """A file as a module, loaded anew."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # what it defines asks for its module
    spec.loader.exec_module(module)
    return module


def tracr_of(folder: Path) -> tuple[types.ModuleType, types.ModuleType]:
    """Tracr's language with its interpreter, and its library."""
    if importlib.util.find_spec("absl") is None:
        stand_in("absl", logging=stand_in("absl.logging", warning=print))
    language = module_of(folder / "tracr" / "rasp" / "rasp.py", "tracr_language")
    with imported_as(language, types.ModuleType("unused")):
        library = module_of(folder / "tracr" / "compiler" / "lib.py", "tracr_lib")
    return language, library
