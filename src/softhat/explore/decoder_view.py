"""How outputs are read as the values of a RASP program, as data for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from softhat.frontends.rasp.outputs import Bits, Decoder, DigitValues, Numbers
from softhat.frontends.rasp.stored import case_to_json


def decoder_view(decoder: Decoder, errors: Mapping[str, float]) -> dict[str, Any]:
    """Values are shown as text; numbers are right within the error of their format."""
    match decoder:
        case Bits(names, values):
            return {"kind": "bits", "names": list(names), "values": list(map(str, values))}
        case DigitValues(names, defined, values):
            return {
                "kind": "digits",
                "names": list(names),
                "defined": defined,
                "values": list(map(str, values)),
            }
        case Numbers(cases):
            return {
                "kind": "numbers",
                "errors": {name: e if math.isfinite(e) else 0.0 for name, e in errors.items()},
                "cases": [
                    {**case_to_json(case), "constant": float(case.constant)} for case in cases
                ],
            }
