"""What a verification reports: what was tried, what was seen, and where a model is wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from softhat.logic.semantics.words import Word
from softhat.models.verification.job import number
from softhat.models.verification.locate import Place


@dataclass(frozen=True)
class Counterexample:
    """A word on which model and formula differ, and where they part."""

    word: Word
    position: int
    """0-based, the first at which they differ."""
    output: str
    expected: bool
    """The formula's truth there; the model says the opposite."""
    shortest: bool
    """No shorter word differs (it was found by trying all); else no symbol can be left out."""
    certified: bool
    """Whether the certificate promises this length: then the certificate is wrong too."""
    place: Place | None
    """None if the model is built differently from what its formulas compile to."""

    @property
    def layer(self) -> int | None:
        return self.place.layer if self.place else None

    @property
    def head(self) -> int | None:
        return self.place.head if self.place else None

    def to_json(self) -> dict[str, Any]:
        word = self.word
        plain = word if isinstance(word, str) else [_plain(item) for item in word]
        return {
            "word": plain,
            "position": self.position,
            "output": self.output,
            "expected": self.expected,
            "shortest": self.shortest,
            "certified": self.certified,
            "place": asdict(self.place) if self.place else None,
        }


@dataclass(frozen=True)
class HeadReport:
    """What was seen of a head, next to what is certified (None: nothing is)."""

    layer: int
    head: int
    label: str
    kind: str
    leak: float
    """Largest |soft output - hard output| seen in the number format (see `measure`)."""
    exact_leak: float
    """The same in float64: what softmax leaks without rounding."""
    certified_leak: float | None
    """Of softmax in the reals: `exact_leak` exceeds it by the rounding of float64 at most."""
    margin: float | None
    """Smallest distance from 1/2 on the right side; None for an average, which has no side."""
    certified_margin: float | None


@dataclass(frozen=True)
class Verification:
    """What was tried, and what came out. `ok`: all that was asked for was done, and the model
    agreed with its formulas everywhere."""

    ok: bool
    complete: bool
    words: int
    exhaustive_length: int
    max_length: int
    """Longest random and adversarial words."""
    letters: int
    """How many kinds of symbols the words were made of."""
    counts: dict[str, int]
    """Words of each source."""
    counterexample: Counterexample | None
    max_leak: float
    min_margin: float
    margins: dict[str, float]
    """Smallest margin of each output."""
    heads: tuple[HeadReport, ...]
    dtype: str
    runtime: str
    certified_length: int
    program_proved: bool
    """The attention program was decided to be the formulas on words of every length."""
    seconds: float
    """Time spent on items, over all processes."""
    rates: dict[str, float]
    """Words of each source a second and process, measuring included."""
    elapsed: float

    def __repr__(self) -> str:
        wrong = "wrong" if self.counterexample else "not ok"
        verdict = "ok" if self.ok else wrong if self.complete else f"{wrong}, not complete"
        return f"<softhat.Verification {verdict}: {self.words:,} words, {self.dtype}>"

    @property
    def words_per_second(self) -> float:
        return self.words / self.elapsed if self.elapsed > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite numbers as strings."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["counterexample"] = self.counterexample.to_json() if self.counterexample else None
        plain["heads"] = [
            {k: number(v) if isinstance(v, float) else v for k, v in asdict(head).items()}
            for head in self.heads
        ]
        plain["margins"] = {name: number(value) for name, value in self.margins.items()}
        plain["max_leak"], plain["min_margin"] = number(self.max_leak), number(self.min_margin)
        plain["words_per_second"] = self.words_per_second
        return plain


def _plain(item: Any) -> Any:
    return item if isinstance(item, str) else sorted(item)
