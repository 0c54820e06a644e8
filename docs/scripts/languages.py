"""The page of languages that models are compared on: python docs/scripts/languages.py

Every language is compiled and compared with its definition before its row is written. The programs
of InterpBench and TracrBench are not part of this repository: `benchmarks/programs.py` measures
them where they can be had, and the page shows what it found last.
"""

from __future__ import annotations

import json
import random
import sys
from itertools import islice, product
from pathlib import Path
from typing import Any

from compared import COMPARED, Compared, Missing, Program, Text, answer, model_of

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "languages.md"
PROGRAMS = ROOT / "benchmarks" / "programs.json"
TRACRBENCH = ROOT / "benchmarks" / "tracrbench.json"
LIBRARY = ROOT / "benchmarks" / "tracr_library.json"
HEAD = """# Languages that models are compared on

The languages of FLaRe (Butoi et al. 2025), Tomita's, the regular tasks of the neural Chomsky
hierarchy (Delétang et al. 2023) and the formal languages of papers on length generalisation
(Bhattamishra et al. 2020; Huang et al. 2025): what softhat makes of each, how deep and large it is,
and to which length it is proved right. Every model was compared with the language's definition in
plain Python, on all short words and on longer ones. This page is written by
`python docs/scripts/languages.py`.

*Constant depth* is a formula, for every length; *counting* and *logarithmic depth* are explained in
[regular expressions](regular.md); *RASP* is a program of positions and lengths, for words up to the
length shown.

| language | compared on in | what softhat does | layers | parameters | float32 | bfloat16 |
| --- | --- | --- | --- | --- | --- | --- |
"""


def main() -> int:
    rows = []
    for entry in COMPARED:
        print(entry.name, file=sys.stderr)
        rows.append(row(entry))
    PAGE.write_text(HEAD + "\n".join(rows) + "\n" + programs())
    return 0


def row(entry: Compared) -> str:
    if isinstance(entry.given, Missing):
        return f"| {entry.name} | {entry.of} | {entry.given.reason} | | | | |"
    model = model_of(entry)
    wrong = [word for word in words(entry) if answer(model, word) != entry.member(word)]
    if wrong:
        raise SystemExit(f"{entry.name}: wrong on {wrong[0]}")
    lengths = model.certificate.max_length
    cells = [
        entry.name.replace("*", "\\*"), entry.of, way(entry, model), str(model.size.layers),
        f"{model.size.parameters:,}", shown(lengths["float32"]), shown(lengths["bfloat16"]),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def way(entry: Compared, model: Any) -> str:
    if isinstance(entry.given, Program):
        return "RASP"
    if isinstance(entry.given, Text):
        return "constant depth, counting formula"
    depth = getattr(model, "depth", None)
    if depth is None:
        return "constant depth"
    return "counting" if depth.startswith("counting") else "logarithmic depth"


def shown(length: int) -> str:
    return f"{length:,}" if length < 10**9 else "over 10⁹"


def words(entry: Compared, short: int = 6, each: int = 300, longer: int = 30) -> list[str]:
    """All short words (so many of each length), random longer ones, and examples: as they are, and
    with a symbol changed."""
    dice = random.Random(4)
    found = [
        "".join(word)
        for n in range(1, short + 1)
        for word in islice(product(entry.alphabet, repeat=n), each)
    ]
    for word in entry.examples[: 2 * longer]:
        at = dice.randrange(len(word))
        found += [word, word[:at] + dice.choice(entry.alphabet) + word[at + 1 :]]
    found += ["".join(dice.choices(entry.alphabet, k=dice.randrange(4, 60))) for _ in range(longer)]
    most = entry.given.longest if isinstance(entry.given, Program) else 60
    return [word for word in found if len(word) <= most]


def answers() -> str:
    """What became of the programs in TracrBench's repository."""
    measured = json.loads(TRACRBENCH.read_text())
    prompt, given, dataset = measured["prompt"], measured["answers"], measured["dataset"]
    count = prompt["right"] + prompt["others"]
    assert given["others"] == 0, "the page says that all are right"
    return f"""\
TracrBench's repository has more: the {count} programs of its prompt, \
of which {prompt["right"]} are right up to {measured["length"]} tokens
(the others raise: one names a variable that is not there, one takes the length of a number), and \
{given["right"]}
different answers of language models that passed its tests, all of which are right
(`python -m benchmarks.tracrbench`). Its data set holds Tracr's models of {dataset["programs"]} of \
the 121 programs,
without their sources. By their names, {dataset["by InterpBench's source"]} of them are among \
InterpBench's cases that are right, {dataset["by a text here"]}
among the prompt's programs and the answers. Refused above: {len(dataset["refused"])}. \
Without a public source: {len(dataset["without a source"])}
({", ".join(dataset["without a source"])}).
"""


def library() -> str:
    """What became of the programs in Tracr's tests."""
    measured = json.loads(LIBRARY.read_text())
    assert all(said["what"] == "right" for said in measured.values()), "the page says so"
    return f"""\
Tracr's own tests compile {len(measured)} programs, which cover its library. All of them are \
right: each was compared
with the output that its tests expect and with its interpreter, and nine of them are programs
that Tracr itself refuses (`python -m benchmarks.tracr_library`).
"""


def programs() -> str:
    measured = json.loads(PROGRAMS.read_text())
    found = measured["programs"]
    done = {name: said for name, said in found.items() if "parameters" in said}
    refused = [f"- {name}: {said['what']}" for name, said in found.items() if name not in done]
    rows = [
        f"| {name.removeprefix('case ')} | {said['layers']} | {said['parameters']:,} |"
        for name, said in done.items()
    ]
    size = (len(rows) + 3) // 4
    lines = [" ".join(rows[k::size]).replace("| |", "|") for k in range(size)]
    return (
        f"""
## Programs of InterpBench, TracrBench and Tracr

{measured["source"]} {len(done)} of {len(found)} are compiled, certified to that length in float32,
and right on every sequence that was tried and has a meaning. The others:

{chr(10).join(refused)}

{answers()}
{library()}
By the number of the case, measured by `benchmarks/programs.py`:

{"| case | layers | parameters " * 4}|
{"| --- | --- | --- " * 4}|
"""
        + "\n".join(line + " |" * (13 - line.count("|")) for line in lines)
        + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
