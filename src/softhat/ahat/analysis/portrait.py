"""What the residual stream can hold, in every word of every length: one walk over the weights.

The walk is that of the checker of evidence (`softhat.proof.simulations`): it starts from what
tokens and positions give and follows what heads copy or average and what ReLUs make of it. Which
heads are uniform, and which coordinates are read later, is found here; the checker finds it itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from softhat.ahat.analysis.structure import live, structure
from softhat.ahat.model import AHAT
from softhat.proof.simulations.argmax import agreeing
from softhat.proof.simulations.embedding import embedded
from softhat.proof.simulations.residual import LinearReading, ResidualStream, Sight, sight
from softhat.proof.simulations.scores import pairs
from softhat.proof.simulations.single import one_maximum
from softhat.proof.simulations.source import Forward, SourceHead, SourceLayer, SourceModel
from softhat.proof.simulations.steps import attended, fed_forward, forgotten


@dataclass(frozen=True, slots=True)
class Portrait:
    """The states before each layer and at the end, and every head's view."""

    model: AHAT
    states: tuple[ResidualStream, ...]
    views: Mapping[tuple[int, int], Sight]
    tieless: Mapping[tuple[int, int], bool]  # every row is proved to have one maximum
    copies: Mapping[tuple[int, int], bool]  # the head attends to one key in every row
    agreed: Mapping[tuple[int, int], bool]  # or keys that share a maximum have one value
    output: LinearReading


def portrait(model: AHAT) -> Portrait:
    """Walk over the model's weights."""
    facts, after, source = structure(model), live(model)[1], source_of(model)
    stream = embedded(source)
    states, views, copies, tieless, agreed = [stream], {}, {}, {}, {}
    for l, layer in enumerate(source.layers):
        for h, head in enumerate(layer.heads):
            view = views[l, h] = sight(head, stream)
            tieless[l, h] = not facts[l, h].uniform and one_maximum(view, pairs(view))
            copies[l, h] = tieless[l, h] or head.ties != "average"
            agreed[l, h] = copies[l, h] or agreeing(view)
        for h in range(len(layer.heads)):
            shown = (facts[l, h].uniform, copies[l, h], model.sinks, f"{l}.{h}")
            stream = attended(stream, views[l, h], *shown)
        if layer.forward is not None:
            stream = fed_forward(stream, layer.forward, f"layer {l}")
        stream = forgotten(stream, after[l])
        states.append(stream)
    output = stream.read(model.output_weights, model.output_bias)
    return Portrait(model, tuple(states), views, tieless, copies, agreed, output)


def source_of(model: AHAT) -> SourceModel:
    """The model as the checker has it."""
    return SourceModel(
        alphabet=model.alphabet,
        features=model.positions,
        tokens=model.embedding,
        bos=model.bos_embedding,
        eos=model.eos_embedding,
        places=model.position_embedding,
        layers=tuple(
            SourceLayer(
                tuple(
                    SourceHead(h.mask, h.ties, h.query, h.key, h.value, h.output)
                    for h in layer.heads
                ),
                None
                if (ff := layer.feed_forward) is None
                else Forward(ff.in_weights, ff.in_bias, ff.out_weights, ff.out_bias),
            )
            for layer in model.layers
        ),
        weights=model.output_weights,
        bias=model.output_bias,
    )
