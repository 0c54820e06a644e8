"""What each entry of the zoo means, in plain Python that knows nothing of softhat.

A recogniser takes a non-empty word (text, a list of tokens or a list of sets) and says whether
it belongs to the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

Recogniser = Callable[[Any], bool]


def regular(pattern: str) -> Recogniser:
    compiled = re.compile(pattern)
    return lambda word: compiled.fullmatch(word) is not None


def prefixes(word: Sequence[Any]) -> Iterator[Any]:
    return (word[:k] for k in range(1, len(word) + 1))


def exactly_at(places: Callable[[int], bool]) -> Recogniser:
    """a at these positions and nowhere else."""
    return lambda word: all((s == "a") == places(i) for i, s in enumerate(word, 1))


def tomita_3(word: str) -> bool:
    runs = [(symbol, len(list(run))) for symbol, run in groupby(word)]
    return not any(a == "a" and m % 2 and k % 2 for (a, m), (_, k) in pairwise(runs))


def balanced(word: str, depth: int | None = None, whole: bool = True) -> bool:
    """Brackets of any kinds, matched by a stack."""
    closing = {")": "(", "]": "["}
    stack: list[str] = []
    for symbol in word:
        if symbol not in closing:
            stack.append(symbol)
            if depth is not None and len(stack) > depth:
                return False
        elif not stack or stack.pop() != closing[symbol]:
            return False
    return not stack or not whole


def bounded(depth: int) -> Recogniser:
    return lambda word: balanced(word, depth)


def shuffled(word: str) -> bool:
    return all(balanced("".join(s for s in word if s in kind)) for kind in ("()", "[]"))


def latest(word: Sequence[str], *names: str) -> str | None:
    return next((symbol for symbol in reversed(word) if symbol in names), None)


def equal(*symbols: str) -> Recogniser:
    return lambda word: len({word.count(symbol) for symbol in symbols}) == 1


def leads(word: str) -> bool:
    return 2 * sum(p.count("a") > p.count("b") for p in prefixes(word)) > len(word)


def two_bits(word: Sequence[str]) -> bool:
    return (latest(word, "on1", "off1") == "on1") == (latest(word, "on2", "off2") == "on2")


def light(word: Sequence[str]) -> bool:
    return all(x == ("red", "green", "yellow")[k % 3] for k, x in enumerate(word))


# A scope of a specification pattern is a set of segments; the pattern is checked on each.


def segments(scope: str, word: Sequence[set[str]]) -> Iterator[tuple[int, int]]:
    """The half-open segments of a scope."""
    n = len(word)

    def next_r(start: int) -> int | None:
        return next((k for k in range(start, n) if "r" in word[k]), None)

    match scope:
        case "globally":
            yield 0, n
        case "before":
            end = next_r(0)
            if end is not None:
                yield 0, end
        case "after":
            yield from ((k, n) for k in range(n) if "q" in word[k])
        case _:
            for k in range(n):
                if "q" in word[k] and "r" not in word[k]:
                    end = next_r(k)
                    if end is not None:
                        yield k, end
                    elif scope == "after-until":
                        yield k, n


def holds(pattern: str, part: Sequence[set[str]]) -> bool:
    match pattern:
        case "absence":
            return not any("p" in x for x in part)
        case "existence":
            return any("p" in x for x in part)
        case "universality":
            return all("p" in x for x in part)
        case "precedence":
            first_s = next((k for k, x in enumerate(part) if "s" in x), len(part))
            return not any("p" in x for x in part[:first_s])
        case _:  # response
            return all(any("s" in y for y in part[k:]) for k, x in enumerate(part) if "p" in x)


def specification(pattern: str, scope: str) -> Recogniser:
    def recognise(word: Sequence[set[str]]) -> bool:
        found = [holds(pattern, word[a:b]) for a, b in segments(scope, word)]
        if scope == "after" and pattern in ("existence", "precedence"):
            return not found or any(found)  # these two speak of the time after some q
        return all(found)

    return recognise


RECOGNISERS: dict[str, Recogniser] = {
    "tomita-1": regular("a*"),
    "tomita-2": regular("(ab)*"),
    "tomita-3": tomita_3,
    "tomita-4": lambda w: "bbb" not in w,
    "tomita-5": lambda w: w.count("a") % 2 == 0 and w.count("b") % 2 == 0,
    "tomita-6": lambda w: (w.count("a") - w.count("b")) % 3 == 0,
    "tomita-7": regular("b*a*b*a*"),
    "first-a": lambda w: w[0] == "a",
    "last-a": lambda w: w[-1] == "a",
    "second-a": lambda w: w[1:2] == "a",
    "first-equals-last": lambda w: w[0] == w[-1],
    "begins-with-ab": lambda w: w.startswith("ab"),
    "ends-with-ab": lambda w: w.endswith("ab"),
    "ends-with-abb": lambda w: w.endswith("abb"),
    "contains-ab": lambda w: "ab" in w,
    "contains-aba": lambda w: "aba" in w,
    "contains-abc": lambda w: "abc" in w,
    "no-aa": lambda w: "aa" not in w,
    "third-from-end-a": lambda w: w[-3:-2] == "a",
    "tenth-from-end-a": lambda w: w[-10:-9] == "a",
    "some-a": lambda w: "a" in w,
    "no-a": lambda w: "a" not in w,
    "subsequence-ab": regular(".*a.*b.*"),
    "subsequence-abc": regular(".*a.*b.*c.*"),
    "sorted-ab": regular("a*b*"),
    "sorted-abc": regular("a*b*c*"),
    "two-as": lambda w: w.count("a") >= 2,
    "three-as": lambda w: w.count("a") >= 3,
    "exactly-two-as": lambda w: w.count("a") == 2,
    "ab-plus": regular("(ab)+"),
    "ab-star": regular("(ab)*"),
    "since-a-no-c": lambda w: "a" in w and "c" not in w[w.rindex("a") :],
    "until-b-only-a": regular("a*b.*"),
    "since-since": regular(".*cb*a*"),
    "flip-flop": lambda w: latest(w, "on", "off") == "on",
    "flip-flop-two-bits": two_bits,
    "every-a-had-b": lambda w: "a" not in w or "b" in w[: w.index("a")],
    "contains-abba": lambda w: "abba" in w,
    "no-abba": lambda w: "abba" not in w,
    "blocks-of-two-symbols": regular("(a|ba)*"),
    "traffic-light": light,
    "even-length": lambda w: len(w) % 2 == 0,
    "length-1-mod-3": lambda w: len(w) % 3 == 1,
    "a-at-odd-places": lambda w: set(w[::2]) == {"a"},
    "alternating": regular("(ab)*a?"),
    "aa-star": lambda w: len(w) % 2 == 0,
    "fifths-have-b": lambda w: "b" in w[4::5],
    "dyck-1": balanced,
    "dyck-1-prefix": lambda w: balanced(w, whole=False),
    "shuffle-dyck-2": shuffled,
    **{f"bounded-dyck-1-{depth}": bounded(depth) for depth in (1, 2, 3, 4, 8)},
    **{f"bounded-dyck-2-{depth}": bounded(depth) for depth in (1, 2, 3)},
    "majority": lambda w: w.count("a") > w.count("b"),
    "half": lambda w: 2 * w.count("a") >= len(w),
    "equal-counts": equal("a", "b"),
    "equal-counts-3": equal("a", "b", "c"),
    "anbn": lambda w: w == "a" * (len(w) // 2) + "b" * (len(w) // 2),
    "anbncn": lambda w: w == "".join(x * (len(w) // 3) for x in "abc"),
    "two-to-one": lambda w: w.count("a") == 2 * w.count("b"),
    "ballot": lambda w: all(p.count("a") >= p.count("b") for p in prefixes(w)),
    "strict-ballot": lambda w: all(p.count("a") > p.count("b") for p in prefixes(w)),
    "leads-most-of-the-time": leads,
    "parity": lambda w: w.count("a") % 2 == 0,
    "multiple-of-3": lambda w: w.count("a") % 3 == 0,
    "multiple-of-5": lambda w: w.count("a") % 5 == 0,
    "middle-a": lambda w: len(w) % 2 == 1 and w[len(w) // 2] == "a",
    "a-at-primes": exactly_at(lambda i: i > 1 and all(i % d for d in range(2, i))),
    "a-at-squares": exactly_at(lambda i: any(k * k == i for k in range(i + 1))),
    "a-at-triangular-numbers": exactly_at(
        lambda i: any(k * (k + 1) == 2 * i for k in range(i + 1))
    ),
    "a-at-powers-of-two": exactly_at(lambda i: bin(i).count("1") == 1),
    "a-at-fibonacci-numbers": exactly_at(
        {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377}.__contains__
    ),
    "a-at-factorials": exactly_at({1, 2, 6, 24, 120}.__contains__),
    "a-at-even-positions": exactly_at(lambda i: i % 2 == 0),
    "prime-length": lambda w: len(w) > 1 and all(len(w) % d for d in range(2, len(w))),
    "a-in-the-middle": lambda w: w[(len(w) + 1) // 2 - 1] == "a",
    "weighted-vote": lambda w: 3 * w.count("a") - 2 * w.count("b") > 1,
    "more-than-ten-a": lambda w: w.count("a") > 10,
    **{
        f"{pattern}-{scope}": specification(pattern, scope)
        for pattern in ("absence", "existence", "universality", "precedence", "response")
        for scope in ("globally", "before", "after", "between", "after-until")
    },
}
