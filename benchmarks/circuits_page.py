"""The study of `circuits.py` as docs/circuit-study.md: its tables, and what they say."""

from __future__ import annotations

from typing import Any

KINDS = {
    "q": "queries",
    "k": "keys",
    "v": "values",
    "m": "feed-forward layers",
    "logits": "the read-out",
}
"""What an edge leads into: the three inputs of a head, a feed-forward layer, the read-out."""
Rows = dict[str, dict[str, float]]


def table(rows: Rows, columns: list[str]) -> str:
    """A row a method."""
    lines = [f"| | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
    for name, row in rows.items():
        lines.append(f"| {name} | {' | '.join(f'{row[c]:.2f}' for c in columns)} |")
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    """The whole page, from what `study` found."""
    rows = found["methods"]
    overall = ["edges, F1", "edges, AUROC", "nodes, F1", "nodes, AUROC", "completeness"]
    parts = [
        _opening(found),
        table(rows, overall),
        METHODS.format(**found),
        table(rows, [*(f"into {kind}" for kind in KINDS), "score 0"]),
        _missed(found),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _opening(found: dict[str, Any]) -> str:
    shares = ", ".join(f"{count} into {KINDS[kind]}" for kind, count in found["kinds"].items())
    return f"""# What methods find in circuits that are known

This page is written by `python benchmarks/circuits.py --write`; the same seed gives the same
numbers.

{found["models"]} random formulas of the past, half of them with counting, were exported as stock
GPT-2s (no constant formula, no head that never matters). Together they have {found["edges"]:,}
possible edges, of which {found["true"]:,} carry input: {shares}. Every method saw {found["pairs"]}
pairs of clean and corrupt words of length {found["length"]}, half of them different in one place,
and gave every edge a score. Its circuit is the edges that score highest, as many as are true. All
numbers are means over the models, by `softhat.score`; completeness is the share of answers that
stay when all other edges carry what they carry on other words, and {found["empty"]:.2f} for the
empty circuit."""


METHODS = """
- *Edge patching* replaces what one edge carries by what it carries on the corrupt word.
- *Node patching* does that to a whole head or feed-forward layer; an edge gets the smaller score
  of its two ends.
- *Edge attribution patching* estimates the effect of an edge by a gradient; with integrated
  gradients it is the mean gradient of {steps} steps from the clean embedding to the corrupt one.
- The *linear probe* reads the answer off what a node adds, by least squares; an edge gets the
  smaller of its two ends' gains over always giving the more frequent answer.

## Which edges are found

Of the true edges into queries, keys and values of heads, into feed-forward layers (`m`) and into
the read-out, the share that is among those that score highest; and the share of all true edges
whose score is 0.
"""


def _missed(found: dict[str, Any]) -> str:
    rows = found["methods"]
    eap, steps = rows["edge attribution patching"], rows["… with integrated gradients"]
    nodes, probe = rows["node patching"], rows["linear probe of the answer"]
    patched = rows["edge patching"]

    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    return f"""## What they miss

- **Gradients do not see decisions.** Attention that has decided, and a gate that is on or off, are
  flat: the gradient there is 0, though another word changes everything. Edge attribution patching
  gives {percent(eap["score 0"])} of the true edges a score of 0: it finds
  {percent(eap["into logits"])} of those into the read-out, but {percent(eap["into k"])} of those
  into keys and {percent(eap["into m"])} of those into feed-forward layers. That it ranks
  {percent(eap["into v"])} of the edges into values high is LayerNorm's doing: what a head adds also
  changes the norm of the residual stream a little, and this is all that the gradient sees. The
  same way gives scores to edges that are none, such as those from every node to the read-out. Its
  ranking of *nodes* is good all the same (AUROC {eap["nodes, AUROC"]:.2f}): whoever looks at nodes
  only does not notice. Integrated gradients cross some decisions on their way:
  {percent(steps["score 0"])} of the true edges are left with a score of 0, and F1 rises from
  {eap["edges, F1"]:.2f} to {steps["edges, F1"]:.2f}.
- **Nodes are not edges.** Node patching ranks nodes with an AUROC of {nodes["nodes, AUROC"]:.2f},
  but two nodes that matter need not talk to each other: the edges it chooses have F1
  {nodes["edges, F1"]:.2f}.
- **What can be read is not what is used.** The probe finds where the answer stands, and not what it
  is made from: {percent(probe["score 0"])} of the true edges begin or end at a node off which the
  answer cannot be read better than by guessing.
- **Patching sees what the words show.** An edge is true here if patching it moves an answer, so
  edge patching must find it, given the words: with {found["pairs"]} pairs of one length its F1 is
  {patched["edges, F1"]:.2f}, and {percent(patched["score 0"])} of the true edges never moved
  anything. The witnesses in a circuit are pairs that do. Edges that carry constants are counted for
  no method: resampling cannot find them.

These models are hard on gradients, because their heads and gates decide with the wide margins that
proofs want. Trained models are softer on the whole; a trained head that has become sure of itself
is as flat as these."""
