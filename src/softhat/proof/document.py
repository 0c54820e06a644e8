"""What every certificate is as JSON, whoever wrote it: one schema with a kind.

`kind` is `compiled` (a model of formulas), `simulation` (of hard attention) or `export` (by a
kernel of other software, named by `target`). Always there: `max_length` (for each number format
the length of words to which everything is proved, 0 for none), `assumptions` (what the proof takes
for granted about the software that runs the model) and `void` (why nothing is proved; empty if
something is). What else there is depends on the kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from softhat.io.errors import SofthatError

FORMAT = "softhat-certificate/2"
OLDER = {
    "softhat-certificate/1": None,
    "softhat-kernel-certificate/1": "export",
    "softhat-gpt2-certificate/1": "export",
}
"""Tags of earlier versions, and the kind that some of them imply."""
Kind = Literal["compiled", "simulation", "export"]


def document(
    kind: Kind,
    max_length: Mapping[str, int],
    assumptions: Iterable[str],
    void: Iterable[str] = (),
    **rest: Any,
) -> dict[str, Any]:
    """A certificate as plain data for `json.dump`."""
    return {
        "format": FORMAT,
        "kind": kind,
        **rest,
        "max_length": dict(max_length),
        "assumptions": list(assumptions),
        "void": list(void),
    }


def kind_of(data: Any) -> Kind:
    """The kind of a certificate of this version or of an earlier one."""
    tag = data.get("format") if isinstance(data, Mapping) else None
    if tag == FORMAT or tag in OLDER:
        implied = OLDER.get(tag) or ("compiled" if tag != FORMAT else None)
        kind = data.get("kind", implied)
        if kind in ("compiled", "simulation", "export"):
            return kind
    raise SofthatError(f"expected a certificate of format {FORMAT}, got {tag!r}")
