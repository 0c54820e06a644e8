"""`softhat explore`: formulas, attention and proofs on a page, live."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.output import say
from softhat.io.errors import SofthatError


def command(
    port: Annotated[int, typer.Option(help="The port to listen on; 0: a free one.")] = 8151,
    static: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the page with a catalogue of models there, and serve nothing.",
        ),
    ] = None,
) -> None:
    """Serve the explorer on this machine and print its address.

    Type a formula and a word and see its truth, the attention that computes it and the proof;
    drag the temperature until the answer breaks. Bound to 127.0.0.1; Ctrl-C ends it. With --static
    the page is written to a folder: it needs no server, and has every name of the zoo, the gallery
    and the RASP library, but compiles nothing.

    Example: softhat explore --port 8151
    """
    if static is not None:
        _write_static(static)
        return
    from softhat.explore.server import Explorer

    if not 0 <= port <= 65535:
        raise SofthatError(f"a port is a number from 0 to 65535, not {port}")
    try:
        explorer = Explorer(port)
    except OSError as error:
        raise SofthatError(
            f"cannot listen on port {port} ({error.strerror}): choose another with --port"
        ) from None
    say(f"softhat explorer: {explorer.address} (Ctrl-C ends it)")
    sys.stdout.flush()  # whoever started it may be waiting for the address
    with suppress(KeyboardInterrupt):  # its ordinary end, which the server may swallow
        explorer.run()
    raise typer.Exit(130)


def _write_static(folder: Path) -> None:
    from softhat.explore.names import offers
    from softhat.explore.static import check_static, write_static
    from softhat.io.work import progress

    check_static(folder)
    say(f"compiling {sum(map(len, offers().values()))} inputs: this takes a minute or two")
    sys.stdout.flush()  # there may be no terminal, and so no bar
    with progress() as show:
        count = write_static(folder, show)
    say(f"{count} inputs written to {folder}: open {folder / 'index.html'}")
