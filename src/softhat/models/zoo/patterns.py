"""The specification patterns of the verification literature, in each of their five scopes.
Propositions: p is what is spoken of, s its cause or response, q opens a scope and r closes it
(Dwyer 1999). Formulas are read at the first position of a finite word.
"""

from __future__ import annotations

from softhat.models.zoo.entry import Entry

_SCOPES = {
    "globally": "at all times",
    "before": "before the first r",
    "after": "after a q",
    "between": "between q and r",
    "after-until": "after q, until r if it comes",
}
_PATTERNS: dict[str, tuple[str, dict[str, str]]] = {
    "absence": (
        "p never holds",
        {
            "globally": "G !p",
            "before": "F r -> (!p U r)",
            "after": "G (q -> G !p)",
            "between": "G ((q & !r & F r) -> (!p U r))",
            "after-until": "G (q & !r -> (!p W r))",
        },
    ),
    "existence": (
        "p holds at some time",
        {
            "globally": "F p",
            "before": "!r W (p & !r)",
            "after": "G !q | F (q & F p)",
            "between": "G (q & !r & F r -> (!r U (p & !r)))",
            "after-until": "G (q & !r -> (!r U (p & !r)))",
        },
    ),
    "universality": (
        "p always holds",
        {
            "globally": "G p",
            "before": "F r -> (p U r)",
            "after": "G (q -> G p)",
            "between": "G ((q & !r & F r) -> (p U r))",
            "after-until": "G (q & !r -> (p W r))",
        },
    ),
    "precedence": (
        "p only after s",
        {
            "globally": "!p W s",
            "before": "F r -> (!p U (s | r))",
            "after": "G !q | F (q & (!p W s))",
            "between": "G ((q & !r & F r) -> (!p U (s | r)))",
            "after-until": "G (q & !r -> (!p W (s | r)))",
        },
    ),
    "response": (
        "every p is answered by s",
        {
            "globally": "G (p -> F s)",
            "before": "F r -> ((p -> (!r U (s & !r))) U r)",
            "after": "G (q -> G (p -> F s))",
            "between": "G ((q & !r & F r) -> ((p -> (!r U (s & !r))) U r))",
            "after-until": "G (q & !r -> ((p -> (!r U (s & !r))) W r))",
        },
    ),
}

ENTRIES = [
    Entry(
        f"{pattern}-{scope}",
        f"{said}, {_SCOPES[scope]}",
        "specification patterns",
        formula,
        tuple(name for name in "pqrs" if name in formula),
        "One of the patterns that most specifications are made of (Dwyer 1999); star-free.",
        propositional=True,
        empty=pattern != "existence" or scope != "globally",
    )
    for pattern, (said, scopes) in _PATTERNS.items()
    for scope, formula in scopes.items()
]
