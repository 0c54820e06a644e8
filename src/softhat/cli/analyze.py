"""`softhat analyze`: what kind of AHAT it is; or the attention of a Hugging Face checkpoint."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.ahat.analysis.analyze import LONGEST, Analysis, analyze
from softhat.ahat.analysis.tally import TiedRow
from softhat.ahat.file import load
from softhat.cli.figures import GapsPlotOption, PanelOption, StyleOption, WidthOption, read_plot
from softhat.cli.inputs import JsonOption, read_text
from softhat.cli.output import head_name, print_facts, print_json, print_table, say
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import is_file, is_folder
from softhat.io.work import progress

MOST_KEYS = 20
"""Keys of an opened row that are printed."""
LEVELS = {
    "proved_all": "proved for all words of every length",
    "proved_to_length": "proved for all words to length {}",
    "exhaustive": "exhaustive to length {}",
    "sampled": "on the given words only",
}


def command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="The JSON file of an AHAT, a simulation's folder, or a Hugging Face checkpoint's.",
        ),
    ],
    up_to: Annotated[
        int, typer.Option(metavar="N", max=LONGEST, help="All words to this length.")
    ] = 8,
    words: Annotated[
        list[str] | None,
        typer.Option(help="Only these words (or @file, one a line; repeatable)."),
    ] = None,
    leak: Annotated[float, typer.Option(help="The leak δ that critical β is for.")] = 1e-3,
    plot: GapsPlotOption = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="For a checkpoint: a text (or @file, -) to run; repeatable."),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(metavar="L.H.I", help="For a checkpoint: open this row of a head."),
    ] = None,
    style: StyleOption = "screen",
    width: WidthOption = None,
    panel: PanelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rows, gaps and critical β of an AHAT's heads; whether it is uniform-tieless.

    Example: softhat analyze examples/ahat/dyck-argmin.json --up-to 8
    """
    paper = read_plot(plot, style, width, panel)
    if is_folder(model) and not is_file(model / "ahat.json"):
        refuse_given("a checkpoint is run on texts", "--up-to", "--words")
        _lens(model, text or [], leak, row, plot, as_json)
        return
    if text or row is not None:
        option = "--text" if text else "--row"
        raise SofthatError(f"{option} is for a Hugging Face checkpoint; for an AHAT use --words")
    if words is not None:
        refuse_given("--words are all the words", "--up-to")
    source = load(model)
    given = None if words is None else [w for item in words for w in _words(item)]
    with progress(quiet=as_json) as show:
        result = analyze(source, up_to=up_to, words=given, leak=leak, progress=show)
    if plot is not None:
        from softhat.ahat.simulation.curves import analysis_curves
        from softhat.io.pictures.laws import save_laws

        save_laws(analysis_curves(result), plot, paper, panel)
    if as_json:
        print_json(to_json(result))
    else:
        _show(result)


def _words(item: str) -> list[str]:
    lines = read_text(item).splitlines() if item == "-" or item.startswith("@") else [item]
    return [line for line in lines if line.strip()]


def _show(result: Analysis) -> None:
    level = LEVELS[result.guarantee].format(result.up_to)
    verdict = "uniform-tieless" if result.uniform_tieless else "not uniform-tieless"
    if result.counterexample is None:
        say(f"{verdict}, {level}")
    else:
        say(f"{verdict}: {picture(result.counterexample, result.model.bos)}")
        say(f"rows and gaps are {level}")
    facts = []
    for l, h in result.model.heads:
        name = result.model.layers[l].heads[h].name
        kind: str = result.kinds[l, h]
        law = result.gap_law[l, h]
        if law is not None:
            kind += f", gap ≥ {law.text} at every length, least to length {result.up_to}: "
            kind += str(result.min_gap[l, h])
        fit = result.fits.get((l, h))
        beta = "" if fit is None else f"; critical β at leak {result.leak:g}, {fit}"
        facts.append((head_name(l, h), f"{name + ': ' if name else ''}{kind}{beta}"))
    if facts:
        print_facts(facts)
    rows = []
    for n, heads in sorted(result.rows.items()):
        for (l, h), (uniform, tieless, tied) in sorted(heads.items()):
            critical = result.critical_beta[n][l, h]
            gap = str(result.gaps[n][l, h])
            counts = [str(uniform), str(tieless), str(tied)]
            profile = _profile(result, n, (l, h))
            rows.append([str(n), head_name(l, h), *counts, gap, f"{critical:.6g}", profile])
    if rows:
        say()
        header = ["n", "head", "uniform", "tieless", "tied", "gap", "critical β", "gap profile"]
        print_table(header, rows)
    for note in result.notes:
        say(f"note: {note}")


def _profile(result: Analysis, n: int, name: tuple[int, int]) -> str:
    """The row with the greatest critical β: competitors × gap, nearest first."""
    profile = result.profiles.get(n, {}).get(name)
    if profile is None:
        return "-"
    shown = [f"{count}×{gap}" for gap, count in profile.gaps[:4]]
    return " ".join(shown) + (" …" if len(profile.gaps) > 4 else "")


def picture(tie: TiedRow, bos: bool) -> str:
    """The tied row with positions counted from 1 (`<bos>` is 0) and the winners marked."""
    first = 0 if bos else 1
    symbols = (["<bos>"] if bos else []) + list(tie.word)
    marked = " ".join(f"[{s}]" if k in tie.positions else s for k, s in enumerate(symbols))
    where = ", ".join(str(k + first) for k in tie.positions)
    return (
        f"{head_name(tie.layer, tie.head)} ties at row {tie.row + first} of {marked}: "
        f"positions {where} share the maximum score {tie.scores[tie.positions[0]]}"
    )


def to_json(result: Analysis) -> dict[str, Any]:
    """The analysis as one JSON document; heads are named "layer.head"."""
    tie = result.counterexample
    return {
        "uniform_tieless": result.uniform_tieless,
        "guarantee": result.guarantee,
        "up_to": result.up_to,
        "exhaustive_length": result.exhaustive_length,
        "counterexample": None if tie is None else _counterexample(tie),
        "leak": result.leak,
        "min_gap": {_name(k): _gap(g) for k, g in result.min_gap.items()},
        "rows": {
            str(n): {_name(k): list(c) for k, c in heads.items()}
            for n, heads in result.rows.items()
        },
        "gaps": {
            str(n): {_name(k): _gap(g) for k, g in heads.items()}
            for n, heads in result.gaps.items()
        },
        "profiles": {
            str(n): {
                _name(k): {"winners": p.winners, "gaps": [[str(g), c] for g, c in p.gaps]}
                for k, p in heads.items()
            }
            for n, heads in result.profiles.items()
        },
        "critical_beta": {
            str(n): {_name(k): b for k, b in heads.items()}
            for n, heads in result.critical_beta.items()
        },
        "gap_law": {
            _name(k): None if w is None else {"text": w.text, "law": w.to_json()}
            for k, w in result.gap_law.items()
        },
        "kinds": {_name(k): kind for k, kind in result.kinds.items()},
        "fits": {
            _name(k): {"shape": w.shape, "slope": w.slope, "offset": w.offset, "error": w.error}
            for k, w in result.fits.items()
        },
        "structurally_uniform": [_name(k) for k, f in result.structure.items() if f.uniform],
        "notes": list(result.notes),
    }


def _counterexample(tie: TiedRow) -> dict[str, Any]:
    return {
        "word": tie.word if isinstance(tie.word, str) else list(tie.word),
        "layer": tie.layer,
        "head": tie.head,
        "row": tie.row,
        "positions": list(tie.positions),
        "scores": [None if s is None else str(s) for s in tie.scores],
    }


def _name(head: tuple[int, int]) -> str:
    return f"{head[0]}.{head[1]}"


def _gap(gap: Fraction | float) -> str | None:
    """A gap as text, p/q; null for a head whose rows are all uniform."""
    return None if gap == math.inf else str(gap)


def _lens(
    folder: Path,
    texts: list[str],
    leak: float,
    row: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    from softhat.ahat.lens.report import look

    if not texts:
        raise SofthatError("a checkpoint is analysed on a text: give --text '…' (or @file, -)")
    given = [read_text(text) for text in texts]
    if row is not None:
        _opened(folder, given, row, as_json)
        return
    report = look(folder, given, leak)
    if plot is not None:
        from softhat.ahat.lens.picture import save_page

        save_page(report, plot)
    if as_json:
        print_json(report.to_json())
        return
    say(f"{report.model}, {report.tokens} tokens in {report.texts} texts, leak δ = {leak:g}")
    header = ["head", "verdict", "distance", "by chance", "hardness", "leak", "median gap"]
    header += ["median β×", "looks at"]
    rows = [
        [
            head_name(h.layer, h.head), h.verdict, f"{h.distance:.3f}", f"{h.by_chance:.3f}",
            f"{h.hardness:.3f}", f"{h.leak:.3f}", f"{h.median_gap:.3g}", f"{h.median_beta:.3g}",
            "-" if h.pattern is None else f"{h.pattern} ({h.patterns[h.pattern].share:.0%})",
        ]
        for h in report.heads
    ]  # fmt: skip
    print_table(header, rows)


def _opened(folder: Path, texts: list[str], row: str, as_json: bool) -> None:
    """One row: its keys, the greatest scores first."""
    from softhat.ahat.lens.report import open_row

    parts = row.split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise SofthatError(f"--row takes layer.head.row, such as 0.1.5, not {row!r}")
    if len(texts) > 1:
        raise SofthatError("--row opens a row of one text: give --text once")
    layer, head, place = (int(part) for part in parts)
    opened = open_row(folder, texts[0], layer, head, place)
    if as_json:
        print_json(asdict(opened))
        return
    say(f"{head_name(layer, head)}, row {place} ({opened.token}): {len(opened.keys)} keys")
    rows = [
        [str(k.position), k.token, f"{k.score:.4g}", f"{k.gap:.4g}", f"{k.weight:.4f}",
         "maximal" if k.best else ""]
        for k in opened.keys[:MOST_KEYS]
    ]  # fmt: skip
    print_table(["position", "token", "score", "gap", "weight", ""], rows)
    if len(opened.keys) > MOST_KEYS:
        say(f"and {len(opened.keys) - MOST_KEYS} more with lower scores (all with --json)")
