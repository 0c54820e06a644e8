"""An exported GPT-2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.export.reading import Export
from softhat.export.stock.config import GPT2Shape, gpt2_config, gpt2_shapes
from softhat.export.stock.reading import read_directions, read_stock
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint


def read_gpt2(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder whose configuration is a GPT-2's."""
    found = read_stock(folder, config, "gpt2")
    shape = GPT2Shape(
        family="gpt2",
        tokens=found.texts,
        context=found.size("transformer.wpe.weight", 0),
        d_model=found.size("transformer.wpe.weight", 1),
        d_ff=found.size("transformer.h.0.mlp.c_fc.bias", 0),
        blocks=found.blocks("transformer.h"),
        n_head=found.whole("n_head"),
        epsilon=found.number("layer_norm_epsilon"),
        kernel=found.kernel,
        head=found.head,
        outputs=tuple(found.formulas),
        activation=str(config.get("activation_function")),
    )
    found.check(gpt2_config(shape), gpt2_shapes(shape), shape.context)
    c = GPT2Checkpoint(
        symbols=found.symbols,
        propositional=found.propositional,
        tokens=found.tokens,
        bos=found.bos,
        n_head=shape.n_head,
        activation=shape.activation,
        epsilon=shape.epsilon,
        head=found.head,
        tensors=found.tensors,
        weights=found.weights,
        greedy=found.machine is not None,
    )
    directions = read_directions(folder, shape.d_model, shape.n_head, shape.d_model // shape.n_head)
    given = (found.digest, found.stated, found.formulas)
    return Export(
        "gpt2",
        folder,
        *given,
        None,
        c,
        directions=directions,
        kernel=found.kernel,
        machine=found.machine,
    )
