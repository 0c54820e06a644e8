"""Named languages and tasks: how to say them, what is known about them, what they cost.

Entries are data (`tomita`, `subregular`, `regular`, `counting`, `numerical`, `patterns`,
`rasp_programs`, `hard`), found by name in `catalogue`; `zoo:NAME` stands for an entry wherever a
formula is read. `machines` are listed beside them, and `softhat generate zoo:NAME` runs one. Every
entry has a recogniser in the tests that knows nothing of softhat.
"""

from __future__ import annotations

from softhat.models.zoo.compiled import entry, formula, model, names

__all__ = ["entry", "formula", "model", "names"]
