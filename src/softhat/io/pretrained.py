"""Folders that Hugging Face transformers loads: from the disk alone, without a word about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softhat.io.errors import extra


def import_transformers() -> Any:
    with extra("transformers", "hf"):
        import transformers
    return transformers


@contextmanager
def silent_transformers() -> Iterator[None]:
    """Inside, transformers says nothing, and draws no bars; afterwards as before."""
    with extra("transformers", "hf"):
        from transformers.utils import logging
    had_bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def pretrained(kind: Any, folder: Path, dtype: Any, **options: Any) -> Any:
    """The model of a class, whose weights stand in a folder, in a torch dtype.

    transformers says nothing, not even that a head is new: whoever loads a folder without one sets
    it.
    """
    arguments = {"dtype": dtype, "local_files_only": True, "use_safetensors": True, **options}
    with silent_transformers():
        return kind.from_pretrained(folder, **arguments).eval()


def said_by(error: Exception) -> str:
    """The first two lines of an error: damaged files make libraries raise anything."""
    lines = str(error).strip().splitlines() or [repr(error)]
    return " ".join(lines[:2])
