"""A certificate in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softhat.certificate.certificate import Certificate


def explain(c: Certificate) -> str:
    return "\n".join(c.void)
