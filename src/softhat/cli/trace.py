"""`softhat trace`: attention maps and the residual stream of one word."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from softhat.cli.inputs import JsonOption, WordArgument
from softhat.cli.models import DtypeOption, ModelArgument, ModelOptions, read_model_and_words
from softhat.cli.output import check_suffix, head_name, print_json, say
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import check_writable, write_file
from softhat.io.pictures.style import SUFFIXES as PICTURES
from softhat.runtime.trace import Trace

Format = Literal["text", "json", "png"]
SUFFIXES: dict[Format, tuple[str, ...]] = {
    "text": (".txt", ".md"),
    "json": (".json",),
    "png": PICTURES,
}


def command(
    model: ModelArgument,
    word: WordArgument,
    options: ModelOptions,
    dtype: DtypeOption = "float64",
    form: Annotated[
        Format | None,
        typer.Option("--format", help="text, json or png (by default as FILE ends: .png …)."),
    ] = None,
    file: Annotated[Path | None, typer.Option("-o", "--out", help="Write to FILE.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what every head attends to and what every coordinate holds on one word.

    Example: softhat trace '!c S a' abca --alphabet abc -o trace.png
    """
    ready, words = read_model_and_words(model, [word], options)
    if len(words) != 1:
        raise SofthatError(f"trace takes one word, not {len(words)}")
    if as_json and file is None:
        refuse_given("--json is a format", "--format")
    chosen = form or _by_name(file)
    check_suffix(file, SUFFIXES[chosen], f"a trace as {chosen}")
    if chosen == "png" and file is None:
        raise SofthatError("a picture needs a file: -o trace.png")
    _check_size(ready, len(words[0]))
    if file is not None:
        check_writable(file)
    trace = ready.run(words[0], dtype)
    if file is not None:
        _write(trace, chosen, file)
    if as_json:
        print_json(_document(trace))
    elif file is not None:
        say(f"written to {file}")
    else:
        say(_as(chosen, trace))


_MOST_WEIGHTS = 1 << 25
"""Of attention in one trace: some seconds, and half a gigabyte."""


def _check_size(ready: Any, length: int) -> None:
    """A trace has a weight for each head and pair of positions."""
    heads = max(1, ready.size.heads if hasattr(ready, "size") else len(ready.heads))
    if heads * length**2 > _MOST_WEIGHTS:
        longest = math.isqrt(_MOST_WEIGHTS // heads)
        raise SofthatError(
            f"a trace of {heads:,} heads shows words of at most {longest:,} symbols, this one has "
            f"{length:,}: give a shorter one, or see its truth values with run"
        )


def as_text(trace: Trace) -> str:
    """Per layer each head's attention (rows attend to columns, in percent), then the residual."""
    lines = []
    tokens = [token if len(token) <= 6 else token[:5] + "…" for token in trace.tokens]
    width = max(3, *map(len, tokens))
    header = " " * (width + 2) + " ".join(token.rjust(width) for token in tokens)
    for layer, (maps, labels) in enumerate(zip(trace.attention, trace.heads, strict=True)):
        for head, (attention, label) in enumerate(zip(maps, labels, strict=True)):
            lines += [f"{head_name(layer, head)}  {label}", header]
            for token, row in zip(tokens, attention, strict=True):
                cells = " ".join(_percent(x).rjust(width) for x in row)
                lines.append(f"{token.rjust(width)}  {cells}")
            lines.append("")
    final = trace.residual[-1]
    names = trace.coordinates[-1]
    last = len(trace.residual) - 2  # layers are counted from 0, as in the heads' names
    lines.append(f"residual stream {'of the embedding' if last < 0 else f'after layer {last}'}")
    table = [[f"{x:.3g}" for x in column] for column in final.T]
    pad = max([width, *(len(cell) for row in table for cell in row)])
    margin = max(map(len, names), default=0)
    lines.append(" " * (margin + 2) + " ".join(token.rjust(pad) for token in tokens))
    for name, texts in zip(names, table, strict=True):
        lines.append(f"{name.ljust(margin)}  " + " ".join(text.rjust(pad) for text in texts))
    for name, margins in trace.margins.items():
        lines.append(f"{name}: " + " ".join(f"{x:+.3f}" for x in margins))
    return "\n".join(lines)


def _percent(x: float) -> str:
    return "." if x < 0.005 else f"{100 * x:.0f}"


def _by_name(file: Path | None) -> Format:
    suffix = "" if file is None else file.suffix.lower()
    return "png" if suffix in PICTURES else "json" if suffix == ".json" else "text"


def _as(form: Format, trace: Trace) -> str:
    return json.dumps(_document(trace)) if form == "json" else as_text(trace)


def _write(trace: Trace, form: Format, file: Path) -> None:
    """The file is there as a whole or not at all."""
    if form == "png":
        trace.plot(file)
        return
    write_file(file, (_as(form, trace) + "\n").encode(errors="backslashreplace"))


def _document(trace: Trace) -> dict[str, object]:
    def plain(array: NDArray[Any]) -> object:
        values = np.asarray(array, dtype=np.float64)
        as_objects = values.astype(object)
        as_objects[~np.isfinite(values)] = None  # JSON has no infinities: a masked score is null
        return as_objects.tolist()

    return {
        "tokens": list(trace.tokens),
        "layers": [
            {
                "heads": [
                    {"label": label, "attention": plain(a), "scores": plain(s)}
                    for label, a, s in zip(labels, maps, scores, strict=True)
                ]
            }
            for labels, maps, scores in zip(trace.heads, trace.attention, trace.scores, strict=True)
        ],
        "residual": [plain(x) for x in trace.residual],
        "coordinates": [list(names) for names in trace.coordinates],
        "margins": {name: plain(x) for name, x in trace.margins.items()},
    }
