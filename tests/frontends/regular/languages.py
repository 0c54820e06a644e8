"""Regular languages for the tests: random ones, by recipes that make them star-free, and the
meaning of an expression by its definition, independent of automata."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import Any

Tree = tuple[Any, ...]


def words(alphabet: str, longest: int, shortest: int = 1) -> list[str]:
    return [
        "".join(word) for n in range(shortest, longest + 1) for word in product(alphabet, repeat=n)
    ]


def random_tree(dice: random.Random, alphabet: str, size: int, stars: bool) -> Tree:
    """An expression; without `stars` it is star-free (`.*` is: the complement of nothing)."""
    if size <= 1:
        return dice.choice([*(("symbol", a) for a in alphabet), ("any",), ("all",), ("empty",)])
    kinds = ["concatenation"] * 4 + ["union"] * 2 + ["intersection", "complement", "option"]
    kind = dice.choice(kinds + ["star", "plus"] * 2 if stars else kinds)
    if kind in ("complement", "option", "star", "plus"):
        return (kind, random_tree(dice, alphabet, size - 1, stars))
    left = dice.randrange(1, size)
    return (
        kind,
        random_tree(dice, alphabet, left, stars),
        random_tree(dice, alphabet, size - left, stars),
    )


def text_of(tree: Tree) -> str:
    match tree:
        case ("symbol", name):
            return str(name)
        case ("any",):
            return "."
        case ("all",):
            return ".*"
        case ("empty",):
            return "()"
        case ("complement", inner):
            return f"~({text_of(inner)})"
        case ("star" | "plus" | "option" as kind, inner):
            return f"({text_of(inner)})" + {"star": "*", "plus": "+", "option": "?"}[kind]
        case ("concatenation", left, right):
            return f"({text_of(left)})({text_of(right)})"
        case (kind, left, right):
            return f"({text_of(left)}){'|' if kind == 'union' else '&'}({text_of(right)})"
    raise AssertionError(tree)


def matches(tree: Tree, word: str) -> bool:
    """By the definition of each operator, trying all ways to cut the word."""

    @cache
    def inside(tree: Tree, word: str) -> bool:
        match tree:
            case ("symbol", name):
                return word == name
            case ("any",):
                return len(word) == 1
            case ("all",):
                return True
            case ("empty",):
                return word == ""
            case ("complement", inner):
                return not inside(inner, word)
            case ("option", inner):
                return word == "" or inside(inner, word)
            case ("star", inner):
                return word == "" or any(
                    inside(inner, word[:k]) and inside(tree, word[k:])
                    for k in range(1, len(word) + 1)
                )
            case ("plus", inner):
                return inside(inner, word) or any(
                    inside(inner, word[:k]) and inside(tree, word[k:]) for k in range(1, len(word))
                )
            case ("union", left, right):
                return inside(left, word) or inside(right, word)
            case ("intersection", left, right):
                return inside(left, word) and inside(right, word)
            case (_, left, right):
                return any(
                    inside(left, word[:k]) and inside(right, word[k:]) for k in range(len(word) + 1)
                )
        raise AssertionError(tree)

    return inside(tree, word)


def random_automaton(dice: random.Random, states: int, alphabet: str) -> dict[str, Any]:
    """A counter-free automaton of at most this many states, by one of the recipes below.

    In each, words act without permuting states: maps that keep the order of the states; maps
    that never go back; resets and identities, also below one another in a cascade.
    """
    recipe = dice.choice([_ordered, _forward, _resets, _cascade])
    maps = {symbol: recipe(dice, states) for symbol in alphabet}
    count = len(next(iter(maps.values())))
    missing = dice.choice([0.0, 0.0, 0.15])
    return {
        "alphabet": list(alphabet),
        "states": [str(q) for q in range(count)],
        "start": str(dice.randrange(count)),
        "accept": [str(q) for q in range(count) if dice.random() < 0.4],
        "transitions": {
            str(q): {s: str(to[q]) for s, to in maps.items() if dice.random() >= missing}
            for q in range(count)
        },
    }


def _ordered(dice: random.Random, states: int) -> list[int]:
    return sorted(dice.randrange(states) for _ in range(states))


def _forward(dice: random.Random, states: int) -> list[int]:
    return [dice.randrange(q, states) for q in range(states)]


def _resets(dice: random.Random, states: int) -> list[int]:
    target = dice.randrange(states)
    return dice.choice([[target] * states, [*range(states)]])


def _cascade(dice: random.Random, states: int) -> list[int]:
    """Bits: each is kept or set, depending on the bits above it."""
    count = max(1, states.bit_length() - 1)
    moved = {}
    rules: dict[tuple[int, ...], int | None] = {}
    for bits in product((0, 1), repeat=count):
        after = []
        for k, bit in enumerate(bits):
            rule = rules.setdefault(bits[:k], dice.choice([0, 1, None, None]))
            after.append(bit if rule is None else rule)
        moved[bits] = after
    return [int("".join(map(str, moved[bits])), 2) for bits in product((0, 1), repeat=count)]


def run(automaton: dict[str, Any], word: str) -> bool:
    """What a partial automaton says of a word, by definition."""
    state = automaton["start"]
    for symbol in word:
        if symbol not in automaton["transitions"].get(state, {}):
            return False
        state = automaton["transitions"][state][symbol]
    return state in automaton["accept"]


def bounded_dyck(depth: int) -> dict[str, Any]:
    return {
        "alphabet": ["(", ")"],
        "states": [str(q) for q in range(depth + 1)],
        "start": "0",
        "accept": ["0"],
        "transitions": {
            str(q): ({"(": str(q + 1)} if q < depth else {}) | ({")": str(q - 1)} if q else {})
            for q in range(depth + 1)
        },
    }
