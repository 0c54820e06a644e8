"""Machines from texts, JSON and dictionaries; whatever else is given is refused in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.models.zoo.machines import machines

TABLE = {"kind": "turing", "blank": "_", "start": "a", "halt": ["h"], "space": 16}


def test_transitions_of_three_forms_are_one_machine() -> None:
    lists = [["a", "_", "b", "x", "R"], ["b", "_", "h", "y", "L"]]
    nested = {"a": {"_": ["b", "x", "R"]}, "b": {"_": ["h", "y", "L"]}}
    fields = ("state", "read", "next", "write", "move")
    named = [dict(zip(fields, entry, strict=True)) for entry in lists]
    one, *others = (softhat.machine({**TABLE, "transitions": t}) for t in (lists, nested, named))
    assert others == [one, one]
    run: Any = one.run()
    assert (run.tape, run.steps, run.halted) == ("xy", 2, True)


@pytest.mark.parametrize("name", sorted(machines()))
def test_the_json_text_of_a_machine_is_the_machine(name: str) -> None:
    m = machines()[name].machine
    assert softhat.machine(json.dumps(m.to_json())) == m


def test_numbers_are_symbols_too() -> None:
    m = softhat.machine("1RB1LB_1LA0LC_1RZ1LD_1RD0RA")
    assert m.prompt([1, 0, 1]) == m.prompt("101") == m.prompt(["1", "0", "1"])


def test_what_a_batch_padded_on_the_left_says() -> None:
    m = softhat.machine("1RB1LB_1LA1RZ", space=16)
    run = m.run("1")
    assert m.decode(["<eos>", "<eos>", "<bos>", *run.word, "<eos>"]) == run
    assert m.decode(["<bos>", *run.word]) == m.decode(" ".join(run.word)) == run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no machine"),
        ("1rb1lb_1la1rz", "no machine"),
        ("1SB1LB_1LA1RZ", "no machine"),
        ("1RB1LB_1LA1RC", "none of the machine's"),
        ("{", "not JSON"),
        ('{"kind": 3}', "unknown kind"),
        ("x" * 100_000, "no machine"),
    ],
)
def test_bad_texts(text: str, said: str) -> None:
    with pytest.raises(SofthatError, match=said) as caught:
        softhat.machine(text)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400


JUNK: list[Any] = [
    None, 3, -1, 0, 2.5, True, "", "a b", "x", "=", "<eos>", "go", "full", "a/b", "\ud800",
    [], {}, [[]], [None], {"a": 1}, {"": None}, {1: 2}, 10**30, b"x",
]  # fmt: skip


def places(description: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in a description."""
    yield above
    if isinstance(description, dict):
        for key in description:
            yield from places(description[key], (*above, key))
    elif isinstance(description, list | tuple):
        for at in range(min(len(description), 3)):
            yield from places(description[at], (*above, at))


def replaced(description: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy: Any = dict(description) if isinstance(description, dict) else list(description)
    copy[place[0]] = replaced(copy[place[0]], place[1:], value)
    return copy


@pytest.mark.parametrize("name", sorted(machines()))
def test_a_description_with_junk_in_it_is_a_machine_or_refused(name: str) -> None:
    description = machines()[name].machine.to_json()
    dice = random.Random(name)
    cases = [(place, junk) for place in places(description) for junk in JUNK]
    for place, junk in dice.sample(cases, min(60, len(cases))):
        try:
            m = softhat.machine(replaced(description, place, junk))
        except SofthatError as error:
            assert len(str(error).splitlines()) == 1
        else:
            run = m.run(max_steps=5)
            assert m.decode(run.word) == run
