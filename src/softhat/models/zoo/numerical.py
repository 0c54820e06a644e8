"""Languages that ask where a symbol stands: numerical predicates and positions modulo m."""

from __future__ import annotations

from softhat.models.zoo.entry import AB, Entry

_MON = (
    "Unique-hard attention computes temporal logic with any unary numerical predicates "
    "(Barceló 2024): here one position feature and no layer."
)


def _exactly_at(name: str, title: str, predicate: str, example: str) -> Entry:
    return Entry(
        f"a-at-{name}",
        f"a stands exactly at {title}",
        "numerical predicates",
        f"H (a <-> at({predicate}))",
        AB,
        f"Not regular. {_MON}",
        empty=True,
        example=example,
    )


ENTRIES = [
    _exactly_at("primes", "the prime positions", "prime", "baabab"),
    _exactly_at("squares", "the square positions", "square", "abbabb"),
    _exactly_at("triangular-numbers", "the triangular positions", "triangular", "ababba"),
    _exactly_at("powers-of-two", "the powers of two", "power2", "aababb"),
    _exactly_at("fibonacci-numbers", "the Fibonacci numbers", "fibonacci", "aaabab"),
    _exactly_at("factorials", "the factorials", "factorial", "aabbba"),
    Entry(
        "a-at-even-positions", "a stands exactly at the even positions", "numerical predicates",
        "H (a <-> mod(2, 0))", AB, f"Star-free all the same: it is (ba)* and its prefixes. {_MON}",
        empty=True, example="bababa",
    ),
    Entry(
        "prime-length", "the length is a prime number", "numerical predicates", "at(prime)", AB,
        f"Not regular, not even context-free. {_MON}", example="ababa",
    ),
    Entry(
        "a-in-the-middle", "a stands in the middle, or just before it", "numerical predicates",
        "O (a & at(middle))", AB,
        "Not regular. The predicate depends on the length, so this is no decoder: "
        "2i is n or n + 1. Context-free.", example="bab",
    ),
]  # fmt: skip
