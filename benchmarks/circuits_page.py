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

This study asks how much of a [known circuit](circuits.md) common methods find. The page is written
by `python benchmarks/circuits.py --write`; the same seed gives the same numbers.

{found["models"]} random formulas of the past, half of them with counting, were exported as stock
GPT-2s. No formula is constant, and every head matters. Together the models have {found["edges"]:,}
possible edges, of which {found["true"]:,} carry input: {shares}.

Every method saw {found["pairs"]} pairs of clean and corrupt words of length {found["length"]}, half
of them different in one place. It gave every edge a score. Its circuit is the edges that score
highest, as many as there are true edges. All numbers are means over the models, by `softhat.score`.
Completeness is the share of answers that stay when all other edges carry what they carry on other
words. It is {found["empty"]:.2f} for the empty circuit."""


METHODS = """
- *Edge patching* replaces what one edge carries by what it carries on the corrupt word.
- *Node patching* does that to a whole head or feed-forward layer. An edge gets the smaller score
  of its two ends.
- *Edge attribution patching* estimates the effect of an edge by a gradient. With integrated
  gradients it uses the mean gradient of {steps} steps from the clean embedding to the corrupt one.
- The *linear probe* reads the answer off what a node adds, by least squares. A node's gain is how
  much better that is than always giving the more frequent answer. An edge gets the smaller gain of
  its two ends.

## Which edges are found

The table splits the true edges by what they lead into: queries, keys and values of heads,
feed-forward layers (`m`) and the read-out. It shows the share of them that is among the edges that
score highest. The last column is the share of all true edges whose score is 0.
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
  gives {percent(eap["score 0"])} of the true edges a score of 0. It finds
  {percent(eap["into logits"])} of those into the read-out, but {percent(eap["into k"])} of those
  into keys and {percent(eap["into m"])} of those into feed-forward layers. It ranks
  {percent(eap["into v"])} of the edges into values high, and the reason is LayerNorm: what a head
  adds also changes the norm of the residual stream a little, and this is all that the gradient
  sees. For the same reason edges that are not in the circuit get scores, such as those from every
  node to the read-out. Yet its ranking of *nodes* is good (AUROC {eap["nodes, AUROC"]:.2f}), so
  whoever looks at nodes only does not notice. Integrated gradients cross some decisions on their
  way: {percent(steps["score 0"])} of the true edges are left with a score of 0, and F1 rises from
  {eap["edges, F1"]:.2f} to {steps["edges, F1"]:.2f}.
- **Nodes are not edges.** Node patching ranks nodes with an AUROC of {nodes["nodes, AUROC"]:.2f},
  but two nodes that matter need not be connected: the edges that it chooses have F1
  {nodes["edges, F1"]:.2f}.
- **What can be read is not what is used.** The probe finds where the answer is stored, not what it
  is made from. {percent(probe["score 0"])} of the true edges begin or end at a node from which the
  answer cannot be read better than by guessing.
- **Patching sees what the words show.** An edge is true here if patching it moves an answer. So
  edge patching must find it if the words show it. With {found["pairs"]} pairs of one length its F1
  is {patched["edges, F1"]:.2f}, and {percent(patched["score 0"])} of the true edges never moved
  anything. The witnesses in a circuit are pairs that do. Edges that carry constants are counted for
  no method, because resampling cannot find them.

These models are hard on gradients, because their heads and gates decide with the wide margins that
proofs want. Trained models are softer on the whole, but a trained head that has become sure of
itself is as flat as these."""
