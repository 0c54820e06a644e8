"""`softhat simulate`: an AHAT to a softmax transformer with temperatures and a certificate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from softhat.cli.coq import ask_coq
from softhat.cli.figures import GapsPlotOption, PanelOption, StyleOption, WidthOption, read_plot
from softhat.cli.inputs import CoqOption, JsonOption
from softhat.cli.output import print_json, say, tell
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import check_folder_writable, check_writable
from softhat.io.work import progress


def command(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="The JSON file of an AHAT (or a simulation of it)."),
    ],
    folder: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", help="The model folder to write; with --coq, FILE.v."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="How far values may be from the AHAT's.")] = 1e-3,
    decide: Annotated[
        bool, typer.Option("--decide", help="Ask only that every decision value > 0 agrees.")
    ] = False,
    max_length: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            max=1_000_000,
            help="Constant β, for words to this length (else laws, for every one).",
        ),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help="Leave room for the rounding of this format.")
    ] = None,
    snap: Annotated[
        bool, typer.Option("--snap", help="Add feed-forward layers that round upstream error away.")
    ] = False,
    plot: GapsPlotOption = None,
    style: StyleOption = "screen",
    width: WidthOption = None,
    panel: PanelOption = None,
    as_json: JsonOption = False,
    coq: CoqOption = False,
) -> None:
    """Find the temperatures at which softmax simulates an AHAT; write the model and certificate.

    Ctrl-C keeps what was proved until then: it is written and said, with exit code 130.

    Example: softhat simulate examples/ahat/induction-latest.json --max-length 32 -o induction
    """
    if coq:
        refuse_given(
            "--coq writes a theorem about every length, and no model",
            *("--decide", "--max-length", "--dtype", "--snap"),
            *("--plot", "--style", "--width", "--panel"),
        )
        _coq(model, folder, epsilon, as_json)
    from softhat.ahat.analysis.gap_laws import gap_laws
    from softhat.ahat.file import load
    from softhat.ahat.simulation.interrupted import Interrupted
    from softhat.ahat.simulation.simulate import simulate
    from softhat.io.pictures.laws import NOTHING_TO_DRAW, save_laws
    from softhat.transformer.stored import FORMAT

    paper = read_plot(plot, style, width, panel)
    if decide:
        refuse_given("--decide asks for decisions, however far values are off", "--epsilon")
    source = load(model)
    check_folder_writable(folder, {"format": FORMAT, "kind": "simulation"})
    if plot is not None and all(law is None for law in gap_laws(source).gap.values()):
        raise SofthatError(NOTHING_TO_DRAW)
    with progress(quiet=as_json) as show:
        target = None if decide else epsilon
        note = partial(show, "simulating", 0, None)
        interrupted = False
        # Ctrl-C may come while temperatures are chosen, or while floats are certified: either way
        # what is proved by then is a simulation, which is written.
        try:
            simulation = simulate(source, max_length, target, snap, note, dtype)
        except Interrupted as early:
            simulation, interrupted = early.kept, True
        try:
            note("certifying in floats")
            certificate = simulation.certificate
        except KeyboardInterrupt:
            certificate, interrupted = simulation.certificate, True
    simulation.save(folder)
    if plot is not None and not interrupted:
        from softhat.ahat.simulation.curves import simulation_curves

        save_laws(simulation_curves(simulation), plot, paper, panel)
    if as_json:
        print_json(certificate.to_json())
    else:
        say(certificate.explain())
        say(f"{simulation.size}, written to {folder}")
    if interrupted:
        tell("interrupted: what was proved until then is written, and claims no more")
        raise typer.Exit(130)


def _coq(model: Path, file: Path, epsilon: float, as_json: bool) -> NoReturn:
    """The theorem about the AHAT, as a file, and what Coq says of it."""
    from softhat.ahat.file import load
    from softhat.export.coq.checker import check_file_name
    from softhat.export.coq.simulations import simulation_theorem

    check_file_name(file)
    check_writable(file)
    text = simulation_theorem(load(model), epsilon)
    with progress(quiet=as_json) as show:
        asked = ask_coq(text, file, show)
    if as_json:
        print_json({"epsilon": epsilon, "coq": asked.to_json()})
    else:
        about = f"softmax is within {epsilon:g} of {model}, at temperatures that the file states"
        asked.report(about)
    raise typer.Exit(1 if asked.verdict.accepted is False else 0)
