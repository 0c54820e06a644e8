"""The page of pictures of a checkpoint's heads, with the report as JSON beside it."""

from __future__ import annotations

import json
from pathlib import Path

from softhat.ahat.lens.report import LensReport
from softhat.files import write_file
from softhat.pictures.heads import Spot, heads_figure
from softhat.pictures.style import save


def save_page(report: LensReport, file: str | Path) -> None:
    """Write the picture, and the numbers that it shows to a file of the same name in JSON."""
    spots = [
        Spot(
            h.layer, h.head, h.verdict, h.pattern, h.hardness, h.distance, h.by_chance,
            {name: p.share for name, p in h.patterns.items()},
        )
        for h in report.heads
    ]  # fmt: skip
    title = f"{report.model}: attention of {len(spots)} heads on {report.tokens} tokens"
    save(heads_figure(spots, title), file)
    write_file(Path(file).with_suffix(".json"), json.dumps(report.to_json(), indent=1).encode())
