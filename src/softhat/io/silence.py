"""Hugging Face transformers loads without a word: no bars, no report of weights that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from softhat.io.errors import extra


@contextmanager
def silent_transformers() -> Iterator[None]:
    """Inside, transformers says nothing; afterwards it says what it said before."""
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
