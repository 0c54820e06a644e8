"""The results as one page of HTML that needs nothing else: table, curves, what is missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from softhat.circuits.exam.marking import KINDS, MEASURES, RECALLS
from softhat.circuits.exam.matching import DIRECTION_MEASURES

COLOURS = (
    "#4269d0",
    "#e8871e",
    "#d1495b",
    "#3a9d8f",
    "#8a5fbf",
    "#9c6b4e",
    "#5aa7d6",
    "#b0417f",
    "#6b8e23",
    "#7f7f7f",
)
STYLE = """
:root { --ink: #1b1f24; --paper: #fff; --faint: #d8dde3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --paper: #14171b; --faint: #39414a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--faint);
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
small { opacity: .7; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.curves { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
.curves > svg { width: 100%; max-width: 32rem; height: auto; }
.curves ul { list-style: none; margin: 0; padding: 0; font-size: .87rem; }
.curves li svg { vertical-align: middle; margin-right: .5rem; }
.bad { color: #c62f45; font-weight: 600; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; } }
@media (max-width: 600px) {
  th:first-child, td:first-child { white-space: normal; min-width: 7rem; } }
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { margin: 0; font-size: 10pt; } table { font-size: 8pt; } small { white-space: nowrap; }
  th, td { padding: .15rem .3rem; white-space: normal; }
  h2 { break-after: avoid; } tr, .curves { break-inside: avoid; } .wide { overflow: visible; } }
"""


def page(results: Mapping[str, Any]) -> str:
    """The whole document."""
    return "".join(_page(results))


def _page(results: Mapping[str, Any]) -> Iterator[str]:
    paper, methods = results["paper"], results["methods"]
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>softhat exam, paper {paper['version']}</title><style>{STYLE}</style></head>"
    yield "<body>"
    yield f"<h1>Exam, paper {paper['version']}</h1>"
    yield f"<p>{paper['questions']} models whose circuits are proved. Means over models, with "
    yield "intervals of 95 % over tasks and seeds (none where all are equal). "
    yield "Edges that carry constants do not count.</p>"
    if methods:
        yield from _of_edges(methods)
    if results["directions"]:
        yield "<h2>Marks of directions</h2><p>Of disguised models: features against the bits that "
        yield "a model stores.</p>" + _marks(results["directions"], DIRECTION_MEASURES)
    yield "<h2>What ran</h2><ul>"
    for method in (*methods.values(), *results["directions"].values()):
        whose = " (softhat's own code)" if method["own code"] is False else ""
        yield f"<li>{escape(method['title'])}: {escape(method['version'] or 'unknown')}{whose}</li>"
    yield f"</ul><p><small>questions {paper['digest'][:16]}, weights {results['weights'][:16]}"
    yield "</small></p></body></html>\n"


def _of_edges(methods: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Marks</h2>" + _marks(methods, MEASURES)
    yield "<h2>Precision and recall</h2>" + _curves(methods)
    yield "<h2>True edges that are found, by kind</h2>"
    yield "<p>Among the highest scores, as many as there are true edges.</p>" + _kinds(methods)
    for what in ("dress", "family", "level"):
        yield f"<h2>AUROC by {what}</h2>" + _by(methods, f"by {what}")


def _marks(methods: Mapping[str, Any], measures: Sequence[str]) -> str:
    head = ["method", *measures, "models", "seeds", "seconds", "verdict"]
    rows = []
    for method in methods.values():
        sound = method["verdict"] == "sound"
        verdict = escape(method["verdict"])
        numbers = [_mean(method["overall"][measure]) for measure in measures]
        counts = [str(method[name]) for name in ("models", "seeds", "seconds")]
        verdict = verdict if sound else f'<span class="bad">{verdict}</span>'
        rows.append([escape(method["title"]), *numbers, *counts, verdict])
    return _table(head, rows)


def _mean(mark: Sequence[float]) -> str:
    mean, low, high = mark
    interval = f" <small>{low:.2f}–{high:.2f}</small>" if high - low > 1e-9 else ""
    return f"{mean:.3f}{interval}"


def _kinds(methods: Mapping[str, Any]) -> str:
    rows = []
    for method in methods.values():
        row = [escape(method["title"])]
        for kind in KINDS:
            hits, total = method["found, by kind"][kind]
            if not total:
                row.append("–")
                continue
            share = hits / total
            shade = f"background: rgb(66 105 208 / {0.6 * share:.2f})"
            row.append(f'<span style="{shade}; padding: .1rem .4rem">{share:.2f}</span>')
        rows.append(row)
    total = next(iter(methods.values()))["found, by kind"]
    head = [
        "method",
        *(f"{title} <small>{total[kind][1]}</small>" for kind, title in KINDS.items()),
    ]
    return _table(head, rows)


def _by(methods: Mapping[str, Any], what: str) -> str:
    values = sorted({value for method in methods.values() for value in method[what]})
    rows = [
        [
            escape(method["title"]),
            *(_mean(method[what][value]) if value in method[what] else "–" for value in values),
        ]
        for method in methods.values()
    ]
    return _table(["method", *map(escape, values)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


WIDTH, HEIGHT, LEFT, BOTTOM = 460, 320, 44, 36


def _curves(methods: Mapping[str, Any]) -> str:
    """Precision over recall, a line a method; the legend names them. A curve that lies on an
    earlier one is dashed: both colours are seen."""
    lines, names, drawn = [_axes()], [], set[str]()
    for at, (name, method) in enumerate(methods.items()):
        points = " ".join(
            f"{_x(recall):.1f},{_y(value):.1f}"
            for recall, value in zip(RECALLS, method["curve"], strict=True)
        )
        dashes = "8 8" if points in drawn else "5 3" if at >= len(COLOURS) else "none"
        drawn.add(points)
        stroke = f'stroke="{COLOURS[at % len(COLOURS)]}" stroke-dasharray="{dashes}"'
        lines.append(
            f'<polyline points="{points}" fill="none" {stroke} stroke-width="2">'
            f"<title>{escape(name)}</title></polyline>"
        )
        names.append(
            f'<li><svg width="24" height="4"><line x2="24" y1="2" y2="2" {stroke} '
            f'stroke-width="3"/></svg>{escape(method["title"])}</li>'
        )
    return (
        f'<div class="curves"><svg viewBox="0 0 {WIDTH + 12} {HEIGHT + BOTTOM}" role="img" '
        f'aria-label="Precision over recall">{"".join(lines)}</svg>'
        f"<ul>{''.join(names)}</ul></div>"
    )


def _axes() -> str:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}" '
            f'stroke="var(--faint)"/><text x="{LEFT - 8}" y="{_y(tick) + 4:.1f}" '
            f'text-anchor="end">{tick:g}</text><text x="{_x(tick):.1f}" y="{HEIGHT + 16}" '
            f'text-anchor="middle">{tick:g}</text>'
        )
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT + 32}" text-anchor="middle">recall')
    parts.append('</text><text x="4" y="12">precision</text>')
    return "".join(parts)


def _x(recall: float) -> float:
    return LEFT + recall * (WIDTH - LEFT)


def _y(precision: float) -> float:
    return HEIGHT - precision * (HEIGHT - 24)
