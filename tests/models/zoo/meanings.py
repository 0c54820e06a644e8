"""What each RASP program of the zoo computes, in plain Python that knows nothing of softhat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Word = Sequence[Any]


def prefixes(word: Word) -> list[Word]:
    return [word[: i + 1] for i in range(len(word))]


def shuffled(word: Word) -> bool:
    """Each kind of bracket balanced by itself."""
    return all(
        all(p.count(a) >= p.count(b) for p in prefixes(word)) and word.count(a) == word.count(b)
        for a, b in ("()", "{}")
    )


def nested(word: Word) -> bool:
    stack: list[Any] = []
    for token in word:
        if token in "([":
            stack.append(token)
            if len(stack) > 3:
                return False
        elif not stack or stack.pop() + token not in ("()", "[]"):
            return False
    return not stack


def followed(word: Word, i: int) -> Any:
    """What followed the last occurrence of the token at i, before i itself."""
    places = [j for j in range(1, i) if word[j - 1] == word[i]]
    return word[places[-1]] if places else None


VALUES: dict[str, Callable[[Word], list[Any]]] = {
    "rasp-length": lambda w: [len(w)] * len(w),
    "rasp-histogram": lambda w: [w.count(t) for t in w],
    "rasp-reverse": lambda w: list(w)[::-1],
    "rasp-sort": sorted,
    "rasp-sort-by-frequency": lambda w: sorted(w, key=lambda t: -w.count(t)),
    "rasp-share": lambda w: [p.count("a") / len(p) for p in prefixes(w)],
    "rasp-balance": lambda w: [(p.count("(") - p.count(")")) / len(p) for p in prefixes(w)],
    "rasp-shuffle-dyck-2": lambda w: [shuffled(w)] * len(w),
    "rasp-bounded-dyck-2": lambda w: [nested(p) for p in prefixes(w)],
    "rasp-previous-token": lambda w: [None, *w[:-1]],
    "rasp-induction": lambda w: [followed(w, i) for i in range(len(w))],
    "rasp-majority": lambda w: [2 * w.count("a") > len(w)] * len(w),
}
