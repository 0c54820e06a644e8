"""The page of the zoo, written from the zoo itself: python docs/scripts/tables.py [--check]

`--check` writes nothing and exits with 1 if the page is not what the zoo says now.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from softhat.models.zoo.catalogue import zoo
from softhat.models.zoo.entry import Entry
from softhat.models.zoo.machines import machines
from softhat.models.zoo.references import REFERENCES

PAGE = Path(__file__).resolve().parent.parent / "zoo.md"
HEAD = """# The zoo

{count} languages and tasks and {machines} machines, each with what is known about it in
the literature. `softhat zoo show NAME` draws one, with its compiled size, its certified lengths
and the law of its temperature; `softhat zoo --json` lists all. `zoo:NAME` is accepted
wherever a formula is:

```console
$ softhat zoo show bounded-dyck-1-2
$ softhat run zoo:dyck-1 '(()())'
```

```python
import softhat

model = softhat.zoo.model("dyck-1", attention="temperature")
assert model.accepts("(()())")
assert softhat.zoo.entry("dyck-1").title == "balanced round brackets"
```

Every language and task is compared with an independent recogniser, on all short words and on words
of length 500 (`tests/models/zoo`). This page is written by `python docs/scripts/tables.py`.
"""


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def source(entry: Entry) -> str:
    return f"`{cell(entry.source)}`" if len(entry.source) <= 90 else f"a {entry.kind}"


def page() -> str:
    parts = [HEAD.format(count=len(zoo()), machines=len(machines()))]
    for family, entries in groupby(zoo().values(), key=lambda entry: entry.family):
        parts.append(f"\n## {family[0].upper()}{family[1:]}\n")
        parts.append("| name | what it is | written | what is known |\n| --- | --- | --- | --- |")
        parts += [
            f"| `{e.name}` | {cell(e.title)} | {source(e)} | {cell(e.known)} |" for e in entries
        ]
    parts.append("\n## Machines\n")
    parts.append(
        "`softhat generate zoo:NAME` runs one in a stock decoder ([machines](machines.md))."
    )
    parts.append("\n| name | what it is | kind | what is known |\n| --- | --- | --- | --- |")
    parts += [
        f"| `{e.name}` | {cell(e.title)} | {e.machine.kind} | {cell(e.known)} |"
        for e in machines().values()
    ]
    parts.append("\n## References\n")
    parts += [f"- {key}: {said}" for key, said in REFERENCES.items()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(PAGE.read_text() != page())
    PAGE.write_text(page())
