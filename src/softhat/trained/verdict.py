"""The answer: proved, refuted or open, how far, and by what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A word that breaks a model, as the stock class of `transformers` computes it.

    After `word[:position]` the logit of `token` is on the wrong side: of 0, or of the answer's.
    The rest of the word completes it. `position` is the row of the logits, `bos` being row 0.
    """

    word: tuple[str, ...]
    position: int
    token: str
    token_id: int
    logit: float
    margin: float
    """At most 0: how far the decision is from being right."""
    offset: int
    ids: tuple[int, ...]
    """What the model was given: `bos` and the word up to the position."""
    replayed: str | None
    """The class that computed it; None if it was not replayed."""

    @property
    def prefix(self) -> tuple[str, ...]:
        return self.word[: self.position]

    @property
    def length(self) -> int:
        return len(self.word)


@dataclass(frozen=True, slots=True)
class OpenCell:
    """Words about which nothing is known: so many symbols read, the last one, the state."""

    read: int
    last: str
    state: str
    offset: int
    length: int
    """From this length on they count."""
    margin: float | None
    """The best lower bound that was proved."""


@dataclass(frozen=True)
class Verdict:
    """What was found out about a checkpoint and a specification."""

    status: str
    """`proved` (to the length that was asked), `refuted` (a word breaks it) or `open`."""
    proved_to: int
    """Every decision that words of at most this many symbols show is right; -1 if not even those
    of the empty word are."""
    asked: int
    broken_by: Failure | None
    least_margin: float | None
    """A lower bound of all margins up to `proved_to`."""
    least_found: float | None
    """The least margin of any word that was tried."""
    method: dict[int, str] = field(default_factory=dict)
    """How each length was decided: abstraction, enumeration, both."""
    assumptions: tuple[str, ...] = ()
    open_cells: tuple[OpenCell, ...] = ()
    cells: int = 0
    words: int = 0
    """Words that the search tried."""
    seconds: float = 0.0
    domain: str = "completable"
    offset: int | str = 0
    dtype: str = "float32"
    interrupted: str | None = None
    """Why the work ended early: the budget, or Ctrl-C."""
    by_offset: dict[int, int] = field(default_factory=dict)
    """What is proved at each offset that was looked at."""

    @property
    def ok(self) -> bool:
        return self.status == "proved"

    @property
    def bracketed(self) -> bool:
        """The shortest failure is one symbol longer than what is proved."""
        return self.broken_by is not None and self.proved_to + 1 == self.broken_by.length

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        if self.broken_by is not None:
            document["broken_by"] |= {
                "prefix": self.broken_by.prefix,
                "length": self.broken_by.length,
            }
        document["method"] = {str(length): how for length, how in self.method.items()}
        document["by_offset"] = {str(at): to for at, to in self.by_offset.items()}
        document["bracketed"] = self.bracketed
        return document

    def explain(self) -> str:
        """The verdict in sentences."""
        where = "at every offset" if self.offset == "all" else f"at offset {self.offset}"
        lines = [f"{self.status}: {self._headline()}, in {self.dtype}, {where}."]
        if self.proved_to >= 0 and self.least_margin is not None:
            lines.append(f"Every margin there is at least {self.least_margin:.6g}.")
        if self.least_found is not None:
            lines.append(
                f"The least margin of {self.words:,} words that were tried is "
                f"{self.least_found:.6g}."
            )
        if self.broken_by is not None:
            lines.append(self._failure(self.broken_by))
        if self.open_cells:
            first = self.open_cells[0]
            lines.append(
                f"{len(self.open_cells):,} cells are open; the first: {first.read} symbols read, "
                f"the last {first.last}, state {first.state}."
            )
        if self.interrupted:
            lines.append(f"The work ended early: {self.interrupted}.")
        lines += [f"How: {text}." for text in self._methods()]
        lines += [f"Assumed: {text}." for text in self.assumptions]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.proved_to < 0:
            return f"nothing is proved of the {self.asked} symbols that were asked for"
        if self.proved_to >= self.asked:
            return f"right on every word of at most {self.asked} symbols"
        return f"right on every word of at most {self.proved_to} of {self.asked} symbols"

    def _failure(self, failure: Failure) -> str:
        short = all(len(symbol) == 1 for symbol in failure.word)
        text = ("" if short else " ").join(failure.prefix) or "the empty prefix"
        sentence = f"After {text} (row {failure.position}) the logit of {failure.token} is "
        sentence += f"{failure.logit:.6g}, wrong by {-failure.margin:.3g}"
        if failure.replayed:
            sentence += f", as {failure.replayed} computes it"
        exact = "; one symbol fewer is proved" if self.bracketed else ""
        return f"{sentence}. A word of {failure.length} symbols shows it{exact}."

    def _methods(self) -> list[str]:
        runs: list[tuple[int, int, str]] = []
        for length in sorted(self.method):
            how = self.method[length]
            if runs and runs[-1][2] == how and runs[-1][1] == length - 1:
                runs[-1] = (runs[-1][0], length, how)
            else:
                runs.append((length, length, how))
        return [f"length {a}{f' to {b}' if b > a else ''} by {how}" for a, b, how in runs]
