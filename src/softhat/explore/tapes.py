"""The space-time pictures of machines' runs as one self-contained page.

The page loads nothing: its script, its style and its runs are inside, and a content security policy
names their digests.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from softhat import __version__
from softhat.explore.assets import escaped_json, page_file, with_policy
from softhat.frontends.machines.machine import Machine, Run
from softhat.frontends.machines.space_time import space_time
from softhat.io.files import check_writable, write_file
from softhat.io.pictures.style import check_name, save
from softhat.io.pictures.tapes import tape_figure
from softhat.models.zoo.machines import machines


def tape_page(runs: Iterable[tuple[str, Machine, Run]], home: str = "") -> str:
    """The page about these runs, each with a name; `home` is the explorer's address beside it."""
    shown = [{"name": name, **space_time(m, run).to_json()} for name, m, run in runs]
    about = (
        f"softhat {__version__}: what a machine's decoder writes. "
        "softhat generate says to which length that is proved."
    )
    style, script = page_file("tape.css"), page_file("tape.js")
    text = page_file("tape.html").replace("/*style*/", style).replace("/*script*/", script)
    text = with_policy(text, script, style, "data:")
    data = escaped_json({"about": about, "home": home, "runs": shown})
    return text.replace('id="tape-data">null<', f'id="tape-data">{data}<')


@cache
def zoo_page(home: str = "") -> str:
    """The page about the zoo's machines, on their examples."""
    runs = ((entry.name, entry.machine, entry.shown_run()) for entry in machines().values())
    return tape_page(runs, home)


def check_picture(file: Path) -> None:
    """Refuse a name that says no known format, before anything is run."""
    if file.suffix.lower() != ".html":
        check_name(file)
    check_writable(file)


def draw_run(name: str, machine: Machine, run: Run, file: Path) -> None:
    """Write a run's picture: a page to click on, or an image."""
    if file.suffix.lower() == ".html":
        write_file(file, tape_page([(name, machine, run)]).encode())
        return
    told = space_time(machine, run)
    bands = told.bands
    save(
        tape_figure(
            f"{name}: {told.title}",
            [band.name for band in bands],
            [band.rows for band in bands],
            [band.heads for band in bands],
            [band.cells for band in bands],
            told.blank,
        ),
        file,
    )
