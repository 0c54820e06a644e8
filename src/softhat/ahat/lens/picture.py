"""The page of pictures of a checkpoint's heads, with the report as JSON beside it."""

from __future__ import annotations

from pathlib import Path

from softhat.ahat.lens.report import LensReport
from softhat.io.pictures.heads import Spot, heads_figure
from softhat.io.pictures.style import save_with_data


def save_page(report: LensReport, file: str | Path) -> None:
    """Write the picture `NAME.png`, and the numbers that it shows as `NAME.plot.json`."""
    spots = [
        Spot(
            h.layer, h.head, h.verdict, h.pattern, h.hardness, h.distance, h.by_chance,
            {name: p.share for name, p in h.patterns.items()},
        )
        for h in report.heads
    ]  # fmt: skip
    title = f"{report.model}: attention of {len(spots)} heads on {report.tokens} tokens"
    save_with_data(heads_figure(spots, title), file, report.to_json())
