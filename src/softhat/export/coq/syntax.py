"""How Coq writes numbers, lists and applications."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

WIDTH = 100
_PREAMBLE = """(** {title}

    To check it without trusting whoever wrote it: `make proofs` in softhat's sources, then
    coqc -Q proofs Softhat THIS_FILE. Coq needs neither softhat nor a network. What is claimed is
    the statement of `right` at the end{read}Import ListNotations.
Open Scope nat_scope.

(* The entry a/b in coordinate c; the rational a/b. *)
Definition x (c : nat) (a : Z) (b : positive) : nat * Q := (c, (a # b)%Q).
Definition r (a : Z) (b : positive) : Q := (a # b)%Q.
"""


def preamble(title: str, read: str) -> str:
    """The first lines of a file: `read` goes on with what to read, and imports it."""
    return _PREAMBLE.format(title=title, read=read)


def call(name: str, *arguments: str) -> str:
    return f"({name} {' '.join(arguments)})"


def sequence(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def numbers(items: Iterable[int]) -> str:
    """A list of numbers that are not negative."""
    return sequence(map(str, items))


def record(module: str, parts: Iterable[tuple[str, str]]) -> str:
    """A record by its fields, a field a line."""
    body = ";\n  ".join(f"{module}.{name} :=\n    {value}" for name, value in parts)
    return "{|\n  " + body + " |}"


def lines(items: Iterable[str], indent: int = 2) -> str:
    """A list with an item a line."""
    inner = (";\n" + " " * (indent + 1)).join(items)
    return f"[{inner}]"


def boolean(value: bool) -> str:
    return "true" if value else "false"


def integer(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def optional(value: int | None) -> str:
    return "None" if value is None else f"(Some {value})"


def rational(value: float | Fraction) -> str:
    """A float is a rational number, exactly."""
    exact = Fraction(value)
    return f"(r {integer(exact.numerator)} {exact.denominator})"


def form(row: Iterable[float | Fraction]) -> str:
    """The entries of a row that are not 0, each with its coordinate."""
    entries = ((c, Fraction(weight)) for c, weight in enumerate(row) if weight)
    return sequence(f"x {c} {integer(w.numerator)} {w.denominator}" for c, w in entries)


_COMMENT = re.compile(r"[^ -~]|[\"\\]")


def comment(text: str) -> str:
    """Text that can stand in a comment: no quotes, no end of the comment."""
    plain = _COMMENT.sub(lambda match: f"<{ord(match[0]):x}>", text)
    return plain.replace("(*", "( *").replace("*)", "* )")
