"""What users see when something is wrong.

Every error says what was expected, what came and what to do. They are `ValueError`s, so that
code which only knows Python can catch them; the command line prints their message, with a
caret under the position in a formula, and exits with code 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class SofthatError(ValueError):
    """Bad input: a formula, word, alphabet, option or file that softhat cannot take."""


class FormulaError(SofthatError):
    """A formula that cannot be read. `position` is the 0-based offset of the fault in `text`."""

    def __init__(self, message: str, position: int = 0, text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.text = text

    def __reduce__(self) -> tuple[type[FormulaError], tuple[str, int, str]]:
        return type(self), (self.message, self.position, self.text)

    def excerpt(self) -> tuple[str, int]:
        """A window of the line with the fault, and the column of the fault in it: on screen
        however long the formula is."""
        start = self.text.rfind("\n", 0, self.position) + 1
        line = self.text[start:].partition("\n")[0]
        column = self.position - start
        left = max(0, column - 60)
        return line[left : left + 100], column - left


class MissingExtraError(SofthatError, ImportError):
    """A feature was asked for whose optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs {package}, which is not installed: pip install 'softhat[{extra}]'"
        )


@contextmanager
def extra(package: str, name: str) -> Iterator[None]:
    """What is imported inside comes with this extra: without it, say how to install it."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(package, name) from None


class CertificateError(SofthatError):
    """`strict=True`, and the word is longer than the model is certified for."""


class VoidError(SofthatError):
    """Nothing is proved, and why: the weights do not have the form that a proof needs, a bound does
    not hold at a length or in a number format, or evidence does not follow."""


class CertificateWarning(UserWarning):
    """The word is longer than the model is certified for in this number format."""


def not_certified(message: str, strict: bool) -> None:
    """An answer may be wrong: refuse it, or warn in the name of whoever called the method that
    checks its length."""
    if strict:
        raise CertificateError(message)
    warnings.warn(message, CertificateWarning, stacklevel=5)


class NotStarFreeError(SofthatError):
    """A regular language that no formula without counting defines, with the counter that shows it.

    For every k, one of the words prefix·loop^(k·period)·suffix and
    prefix·loop^(k·period + 1)·suffix is in the language and the other is not. Words are text where
    every symbol is one character, else tuples of symbols.
    """

    def __init__(
        self,
        message: str,
        prefix: str | tuple[str, ...],
        loop: str | tuple[str, ...],
        suffix: str | tuple[str, ...],
        period: int,
    ) -> None:
        super().__init__(message)
        self.prefix = prefix
        self.loop = loop
        self.suffix = suffix
        self.period = period

    def __reduce__(self) -> tuple[type[NotStarFreeError], tuple[object, ...]]:
        return type(self), (str(self), self.prefix, self.loop, self.suffix, self.period)


class RaspError(SofthatError):
    """A RASP program that cannot be compiled: the message names the s-op and says why."""
