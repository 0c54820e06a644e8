"""Languages that papers and benchmarks compare models on: what each is, and what softhat takes.

`member` is the definition in plain Python, which shares nothing with what is compiled; `given` is
an expression, an automaton, a formula, or a RASP program whose value at the last position is the
answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import softhat
from softhat import rasp

LONG = 512
"""Where a model needs a longest word."""


@dataclass(frozen=True)
class Regex:
    text: str


@dataclass(frozen=True)
class Automaton:
    """`step(state, symbol)` from `start`; None rejects for good."""

    start: Any
    step: Callable[[Any, str], Any]
    accepts: Callable[[Any], bool]
    longest: int = LONG


@dataclass(frozen=True)
class Text:
    formula: str


@dataclass(frozen=True)
class Program:
    sop: rasp.SOp
    longest: int = 128


@dataclass(frozen=True)
class Missing:
    reason: str


@dataclass(frozen=True)
class Compared:
    name: str
    of: str
    """Where it is compared on."""
    alphabet: str
    member: Callable[[str], bool]
    given: Regex | Automaton | Text | Program | Missing
    examples: tuple[str, ...] = ()
    """Words that belong, where random words seldom do."""


def model_of(entry: Compared) -> Any:
    """The model, by whatever depth fits."""
    given, symbols = entry.given, list(entry.alphabet)
    match given:
        case Regex(text):
            language = softhat.from_regex(text, alphabet=symbols, depth="auto")
        case Automaton():
            language = softhat.from_dfa(dfa_of(given, symbols), depth="auto")
        case Text(text):
            return softhat.compile(text, alphabet=symbols, at="last")
        case Program(sop, longest):
            return softhat.compile(sop, alphabet=symbols, max_length=longest)
        case _:
            raise ValueError(entry.name)
    if isinstance(language, softhat.Formula):
        return softhat.compile(language, alphabet=symbols)
    longest = given.longest if isinstance(given, Automaton) else LONG
    return softhat.compile(language, alphabet=symbols, max_length=longest)


def dfa_of(given: Automaton, symbols: list[str]) -> Mapping[str, Any]:
    states, queue = {given.start: "0"}, [given.start]
    edges: dict[str, dict[str, str]] = {}
    for state in queue:
        edges[states[state]] = {}
        for symbol in symbols:
            to = given.step(state, symbol)
            if to is None:
                continue
            if to not in states:
                states[to] = str(len(states))
                queue.append(to)
            edges[states[state]][symbol] = states[to]
    accept = [name for state, name in states.items() if given.accepts(state)]
    return {"alphabet": symbols, "states": list(edges), "start": "0", "accept": accept,
            "transitions": edges}  # fmt: skip


def answer(model: Any, word: str) -> bool:
    """Is the word accepted?"""
    if hasattr(model, "formulas"):
        return bool(model.accepts(word))
    return bool(model.values(word)[-1])


# Definitions in plain Python


def no_odd_blocks(word: str) -> bool:
    """Tomita 3: no odd block of 1 is followed by an odd block of 0."""
    return re.search(r"(?:^|0)1(?:11)*0(?:00)*(?:1|$)", word) is None


def balanced(word: str, depth: int | None = None, pairs: str = "()[]") -> bool:
    stack: list[str] = []
    for symbol in word:
        place = pairs.index(symbol)
        if place % 2 == 0:
            stack.append(symbol)
            if depth is not None and len(stack) > depth:
                return False
        elif not stack or stack.pop() != pairs[place - 1]:
            return False
    return not stack


def shuffled(word: str) -> bool:
    return all(balanced("".join(c for c in word if c in pair), None, pair) for pair in ("()", "[]"))


def arithmetic(word: str) -> bool:
    """1+2*3=4 modulo 5, from left to right."""
    if re.fullmatch(r"[0-4]([+\-*][0-4])*=[0-4]", word) is None:
        return False
    value = int(word[0])
    for sign, digit in re.findall(r"([+\-*])([0-4])", word):
        value = {"+": value + int(digit), "-": value - int(digit), "*": value * int(digit)}[sign]
    return value % 5 == int(word[-1])


def navigation(word: str) -> bool:
    if re.fullmatch(r"[<>=]*[0-4]", word) is None:
        return False
    return (word.count(">") - word.count("<")) % 5 == int(word[-1])


def halves(word: str, change: Callable[[str], str]) -> bool:
    """w#change(w)."""
    left, mark, right = word.partition("#")
    return mark == "#" and "#" not in right and right == change(left)


def missing_duplicate(word: str) -> bool:
    n, odd = divmod(len(word), 2)
    whole = word.replace("_", "1")
    return not odd and word.count("_") == 1 and whole[:n] == whole[n:]


def reset_dyck(word: str) -> bool:
    return balanced(word.rpartition("!")[2], None, "()")


def is_sum_of_binaries(word: str) -> bool:
    parts = re.fullmatch("([01]+)[+]([01]+)=([01]+)", word)
    if parts is None:
        return False
    x, y, z = (int(part[::-1], 2) for part in parts.groups())
    return x + y == z


def sum_word(x: int, y: int) -> str:
    """x+y=z in binary; some numbers have zeros that they do not need."""
    parts = [f"{value:0{at % 3 + x % 4}b}"[::-1] for at, value in enumerate((x, y, x + y))]
    return f"{parts[0]}+{parts[1]}={parts[2]}"


def stack_word(seed: int) -> str:
    """What a stack holds, random operations, and what is left of it."""
    dice = random.Random(seed)
    stack = dice.choices("01", k=dice.randrange(6))
    word = "".join(stack)
    for _ in range(dice.randrange(10)):
        if stack and dice.random() < 0.5:
            stack.pop()
            word += "-"
        else:
            stack.append(dice.choice("01"))
            word += f"+{stack[-1]}"
    return f"{word}={''.join(reversed(stack))}"


def is_stack_left(word: str) -> bool:
    parts = re.fullmatch("([01]*)((?:[+][01]|-)*)=([01]*)", word)
    if parts is None:
        return False
    stack = list(parts[1])
    for operation in re.findall("[+][01]|-", parts[2]):
        if operation == "-" and not stack:
            return False
        stack = stack[:-1] if operation == "-" else [*stack, operation[1]]
    return parts[3] == "".join(reversed(stack))


# Automata


def dyck_step(depth: int, pairs: str) -> Callable[[str, str], str | None]:
    def step(stack: str, symbol: str) -> str | None:
        place = pairs.index(symbol)
        if place % 2 == 0:
            return stack + symbol if len(stack) < depth else None
        return stack[:-1] if stack.endswith(pairs[place - 1]) else None

    return step


def bounded(depth: int, pairs: str) -> Automaton:
    return Automaton("", dyck_step(depth, pairs), lambda stack: stack == "")


def arithmetic_step(state: str, symbol: str) -> str | None:
    if state == "":
        return symbol if symbol.isdigit() else None
    if state[-1] in "+-*":
        if not symbol.isdigit():
            return None
        value, digit = int(state[0]), int(symbol)
        signs = {"+": value + digit, "-": value - digit, "*": value * digit}
        return str(signs[state[-1]] % 5)
    if state.endswith("="):
        return "right" if symbol == state[0] else None
    if state == "right" or symbol.isdigit():
        return None
    return state + symbol


def navigation_step(state: Any, symbol: str) -> Any:
    if state == "right":
        return None
    if symbol.isdigit():
        return "right" if int(symbol) == state else None
    return (state + {"<": -1, ">": 1, "=": 0}[symbol]) % 5


# RASP programs

tokens, indices, length = rasp.tokens, rasp.indices, rasp.length


def always(holds: rasp.SOp) -> rasp.SOp:
    """It is true at every position."""
    return rasp.SelectorWidth(rasp.Select(holds, indices, lambda k, q: k is not True)) == 0


def same_at(place: Callable[[int, int], int], values: rasp.SOp = tokens) -> rasp.SOp:
    """The value at another place is mine, wherever I stand."""
    where = rasp.SequenceMap(place, indices, length)
    there = rasp.Aggregate(rasp.Select(indices, where, rasp.Comparison.EQ), values)
    return always(rasp.SequenceMap(lambda a, b: a == b, values, there))


def of_length(holds: Callable[[int], bool]) -> rasp.SOp:
    return rasp.Map(holds, length)


middle = of_length(lambda n: n % 2 == 1) & always(
    rasp.SequenceMap(
        lambda token, inside: (token == "#") == inside,
        tokens,
        rasp.SequenceMap(lambda i, n: 2 * i == n - 1, indices, length),
    )
)
"""One # in the middle, and nowhere else."""


def copied(i: int, n: int) -> int:
    m = n // 2
    return i if n % 2 == 0 or i == m else i + m + 1 if i < m else i - m - 1


def odds_come_first(i: int, n: int) -> int:
    m = n // 2
    if n % 2 == 0 or i == m:
        return i
    odds = (m + 1) // 2
    if i < m:
        return m + 1 + (i // 2 if i % 2 == 0 else odds + i // 2)
    k = i - m - 1
    return 2 * k if k < odds else 2 * (k - odds) + 1


def so_far(holds: rasp.SOp, range_: rasp.Comparison = rasp.Comparison.LEQ) -> rasp.SOp:
    """At how many positions up to me (or before me) it is true."""
    selected = rasp.Select(holds, holds, lambda k, q: k is True)
    return rasp.SelectorWidth(selected & rasp.Select(indices, indices, range_))


def one(symbol: str) -> rasp.SOp:
    """The symbol stands at exactly one position."""
    return rasp.SelectorWidth(rasp.Select(tokens, tokens, lambda k, q: k == symbol)) == 1


def binary_addition() -> rasp.SOp:
    """x+y=z, the lowest digit first. Digits are numbered within their part, and at each digit the
    three digits of its number are read. The last number before whose two digits are equal decides
    what is carried."""
    join, always_true = rasp.SequenceMap, rasp.Map(lambda t: True, tokens)
    signs = so_far(rasp.Map(lambda t: t in "+=", tokens))
    is_digit = rasp.Map(lambda t: t in "01", tokens)
    part = join(lambda t, s: s if t in "01" and s < 3 else None, tokens, signs)
    number = rasp.SelectorWidth(
        rasp.Select(part, part, lambda k, q: k is not None and k == q)
        & rasp.Select(indices, indices, rasp.Comparison.LT)
    )

    def digit_of(which: int) -> rasp.SOp:
        selected = rasp.Select(part, always_true, lambda k, q: k == which)
        aligned = selected & rasp.Select(number, number, rasp.Comparison.EQ)
        return rasp.Aggregate(aligned, tokens, default="0")

    ones = join(lambda a, b: (a == "1") + (b == "1"), digit_of(0), digit_of(1))
    decides = join(lambda k, inside: not inside or k != 1, ones, is_digit)
    carries = join(lambda k, inside: inside and k == 2, ones, is_digit)
    carried = rasp.lib.make_latest(decides, always_true, carries, default=False)
    total = join(lambda k, c: k + c, ones, rasp.Map(int, carried))
    is_sum = join(lambda t, k: (t == "1") == (k % 2 == 1), digit_of(2), total)
    mine = join(lambda k, inside: k if inside else -1, number, is_digit)
    next_one = join(lambda k, inside: k + 1 if inside else -2, number, is_digit)
    goes_on = rasp.SelectorWidth(rasp.Select(mine, next_one, rasp.Comparison.EQ)) > 0
    nothing_left = join(lambda k, more: k < 2 or more, total, goes_on)
    firsts = join(lambda p, k: p if k == 0 else None, part, number)
    parts = rasp.SelectorWidth(rasp.Select(firsts, always_true, lambda k, q: k is not None))
    in_order = join(lambda t, s: {"+": s == 1, "=": s == 2}.get(t, True), tokens, signs)
    fits = join(lambda fine, inside: fine or not inside, is_sum & nothing_left, is_digit)
    return always(fits) & always(in_order) & one("+") & one("=") & (parts == 3)


def stack_manipulation() -> rasp.SOp:
    """A stack from the bottom up, `+0`, `+1` to push and `-` to pop, `=`, and the stack that is
    left from the top down. Each digit that is pushed has its height, and each after `=` the height
    that it must come from: it is the last digit that was pushed to there."""
    join = rasp.SequenceMap
    marks = so_far(rasp.Map(lambda t: t == "=", tokens))
    phase = rasp.Map(lambda k: min(k, 2), marks)
    pushed = join(lambda t, p: t in "01" and p == 0, tokens, phase)
    listed = join(lambda t, p: t in "01" and p == 1, tokens, phase)
    popped = rasp.Map(lambda t: t == "-", tokens)
    height = so_far(pushed) - so_far(popped) - so_far(listed, rasp.Comparison.LT)
    level = rasp.Map(lambda h: h if h >= 0 else -1, height)
    to = join(lambda h, pushes: h if pushes else None, level, pushed)
    source = join(lambda h, lists: h if lists else -2, level, listed)
    digit = rasp.lib.make_latest(to, source, tokens, default="none")
    told = join(lambda t, lists: (t, lists), tokens, listed)
    is_top = join(lambda d, of: not of[1] or d == of[0], digit, told)
    previous = rasp.Aggregate(
        rasp.Select(indices, indices, lambda k, q: q - k == 1), tokens, default="start"
    )
    operated = rasp.Map(lambda k: k > 0, so_far(rasp.Map(lambda t: t in "+-", tokens)))

    def in_order(pair: tuple[str, str], state: tuple[bool, int]) -> bool:
        (before, t), (has_operated, p) = pair, state
        if t in "01":
            return before == "+" or p == 1 or (p == 0 and not has_operated)
        return before != "+" and p == (t == "=")

    pairs = join(lambda before, t: (before, t), previous, tokens)
    states = join(lambda has_operated, p: (has_operated, p), operated, phase)
    all_listed = join(lambda h, t: h == (t in "01"), level, tokens)
    return (
        always(is_top)
        & always(join(in_order, pairs, states))
        & always(rasp.Map(lambda h: h >= 0, height))
        & one("=")
        & all_listed
    )


_SORTED = " & ".join(
    f"H(('{s}' & O '#') -> !((!'#') S '{t}'))" for s in "12345" for t in "12345" if t > s
)
_SAME_COUNTS = " & ".join(f"2*#('{s}') = #*('{s}')" for s in "12345")

_FRESH = "!F '!'"
"""No reset is still to come."""

FLARE, TOMITA, CHOMSKY, GENERAL = (
    "FLaRe", "Tomita", "neural Chomsky hierarchy", "length generalisation"
)  # fmt: skip

COMPARED: tuple[Compared, ...] = (
    Compared("Tomita 1: 1*", TOMITA, "01", lambda w: "0" not in w, Regex("1*")),
    Compared("Tomita 2: (10)*", TOMITA, "01", lambda w: w == "10" * (len(w) // 2), Regex("(10)*")),
    Compared("Tomita 3", TOMITA, "01", no_odd_blocks,
             Regex("~((.*0)?1(11)*0(00)*(1.*)?)")),
    Compared("Tomita 4: no 000", TOMITA, "01", lambda w: "000" not in w, Regex("~(.*000.*)")),
    Compared("Tomita 5: both even", TOMITA, "01",
             lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
             Automaton((0, 0), lambda q, s: ((q[0] + (s == "0")) % 2, (q[1] + (s == "1")) % 2),
                       lambda q: q == (0, 0))),
    Compared("Tomita 6: as many modulo 3", TOMITA, "01",
             lambda w: (w.count("0") - w.count("1")) % 3 == 0,
             Automaton(0, lambda q, s: (q + (1 if s == "0" else -1)) % 3, lambda q: q == 0)),
    Compared("Tomita 7: 0*1*0*1*", TOMITA, "01",
             lambda w: re.fullmatch("0*1*0*1*", w) is not None, Regex("0*1*0*1*")),
    Compared("even pairs", f"{FLARE}, {CHOMSKY}", "01", lambda w: w[:1] == w[-1:],
             Regex("(0.*0|1.*1|0|1)?")),
    Compared("repeat 01", FLARE, "01", lambda w: w == "01" * (len(w) // 2), Regex("(01)*")),
    Compared("parity", f"{FLARE}, {CHOMSKY}, {GENERAL}", "01", lambda w: w.count("1") % 2 == 1,
             Regex("0*1(0*10*1)*0*")),
    Compared("cycle navigation", f"{FLARE}, {CHOMSKY}", "<>=01234", navigation,
             Automaton(0, navigation_step, lambda q: q == "right")),
    Compared("modular arithmetic", f"{FLARE}, {CHOMSKY}", "01234+-*=", arithmetic,
             Automaton("", arithmetic_step, lambda q: q == "right", 64)),
    Compared("Dyck-(2, 3)", FLARE, "()[]", lambda w: balanced(w, 3), bounded(3, "()[]")),
    Compared("first", FLARE, "01", lambda w: w.startswith("1"), Regex("1.*")),
    Compared("majority", f"{FLARE}, {GENERAL}", "01", lambda w: w.count("1") > w.count("0"),
             Text("#('1') > #('0')")),
    Compared("marked reversal", FLARE, "01#", lambda w: halves(w, lambda v: v[::-1]),
             Program(middle & same_at(lambda i, n: n - 1 - i))),
    Compared("unmarked reversal", FLARE, "01", lambda w: w == w[::-1] and len(w) % 2 == 0,
             Program(of_length(lambda n: n % 2 == 0) & same_at(lambda i, n: n - 1 - i))),
    Compared("marked copy", FLARE, "01#", lambda w: halves(w, str),
             Program(middle & same_at(copied))),
    Compared("missing duplicate", FLARE, "01_", missing_duplicate,
             Program(of_length(lambda n: n % 2 == 0)
                     & (rasp.SelectorWidth(rasp.Select(tokens, tokens, lambda k, q: k == "_"))
                        == 1)
                     & same_at(lambda i, n: (i + n // 2) % n,
                               rasp.Map(lambda t: "1" if t == "_" else t, tokens)))),
    Compared("odds first", FLARE, "01#", lambda w: halves(w, lambda v: v[::2] + v[1::2]),
             Program(middle & same_at(odds_come_first), 64)),
    Compared("bucket sort", FLARE, "12345#",
             lambda w: halves(w, lambda v: "".join(sorted(v))),
             Text(f"H('#' -> !Y O '#') & O('#' & {_SAME_COUNTS}) & {_SORTED}")),
    Compared("stack manipulation", FLARE, "01+-=", is_stack_left,
             Program(stack_manipulation(), 40), tuple(map(stack_word, range(40)))),
    Compared("binary addition", FLARE, "01+=", is_sum_of_binaries, Program(binary_addition(), 64),
             tuple(sum_word(x, 5 * x % 37) for x in range(40))),
    Compared("binary multiplication", FLARE, "01*=", lambda w: False, Missing(
        "digit r is a sum of r products of digits, with a head for each, and carries up to r: not "
        "written")),
    Compared("compute sqrt", FLARE, "01#", lambda w: False, Missing(
        "as multiplication, which it is checked by: not written")),
    Compared("(aa)*", GENERAL, "a", lambda w: len(w) % 2 == 0, Regex("(aa)*")),
    Compared("(aaaa)*", GENERAL, "a", lambda w: len(w) % 4 == 0, Regex("(aaaa)*")),
    Compared("(abab)*", GENERAL, "ab", lambda w: w == "abab" * (len(w) // 4), Regex("(abab)*")),
    Compared("aa*bb*cc*dd*ee*", GENERAL, "abcde",
             lambda w: re.fullmatch("a+b+c+d+e+", w) is not None, Regex("a+b+c+d+e+")),
    Compared("{a,b}*d{b,c}*", GENERAL, "abcd",
             lambda w: re.fullmatch("[ab]*d[bc]*", w) is not None, Regex("[ab]*d[bc]*")),
    Compared("{0,1,2}*02*", GENERAL, "012",
             lambda w: re.fullmatch("[012]*02*", w) is not None, Regex("[012]*02*")),
    *(Compared(f"D{depth}", GENERAL, "()", lambda w, d=depth: balanced(w, d, "()"),
               bounded(depth, "()")) for depth in (2, 3, 4, 12)),
    Compared("Dyck-1", GENERAL, "()", lambda w: balanced(w, None, "()"),
             Text("H(#('(') >= #(')')) & #('(') = #(')')")),
    Compared("shuffle-Dyck-2", GENERAL, "()[]", shuffled,
             Text("H(#('(') >= #(')') & #('[') >= #(']')) & #('(') = #(')') & #('[') = #(']')")),
    Compared("reset Dyck-1", GENERAL, "()!", reset_dyck,
             Text(f"H({_FRESH} -> #('(' & {_FRESH}) >= #(')' & {_FRESH})) "
                  f"& #('(' & {_FRESH}) = #(')' & {_FRESH})")),
    Compared("a^n b^n", GENERAL, "ab", lambda w: w == "a" * (len(w) // 2) + "b" * (len(w) // 2)
             and len(w) % 2 == 0, Text("H(a -> !Y O b) & #(a) = #(b)")),
    Compared("a^n b^n c^n", GENERAL, "abc",
             lambda w: len(w) % 3 == 0 and w == "".join(s * (len(w) // 3) for s in "abc"),
             Text("H(a -> !Y O (b | c)) & H(b -> !Y O c) & #(a) = #(b) & #(b) = #(c)")),
    Compared("existential: some 1", GENERAL, "01", lambda w: "1" in w, Regex(".*1.*")),
    Compared("S5: where a point goes", GENERAL, "ab", lambda w: _image(w) == 0,
             Automaton(0, lambda q, s: _MOVES[s][q], lambda q: q == 0)),
    Compared("A5: where a point goes", GENERAL, "ac", lambda w: _image(w) == 0,
             Automaton(0, lambda q, s: _MOVES[s][q], lambda q: q == 0)),
)  # fmt: skip

_MOVES = {"a": (1, 2, 3, 4, 0), "b": (1, 0, 2, 3, 4), "c": (1, 2, 0, 3, 4)}


def _image(word: str) -> int:
    point = 0
    for symbol in word:
        point = _MOVES[symbol][point]
    return point
