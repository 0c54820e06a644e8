"""`softhat.source`: the distribution that a language model with log-weights has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softhat.export.reading import read_export
from softhat.io.errors import SofthatError
from softhat.logic.sources import Source, log_weights
from softhat.models.model import Model
from softhat.proof.stock.automata import formulas_alone
from softhat.transformer.lowering.language_model import lm_formulas
from softhat.transformer.weights import EOS


def source(model: Model | str | Path, weights: Mapping[str, Any] | None = None) -> Source:
    """What may come next, and how likely it is: exact distributions, probabilities, entropies.

    Of a model with an output for each symbol, "may come next", and log-weights for its tokens (0
    where none is given), as `softhat.to_gpt2(model, folder, head="lm", weights=weights)` takes
    them; or of the folder that this wrote.
    """
    if isinstance(model, Model):
        t, formulas = model.transformer, model.formulas
        outputs = tuple(dict.fromkeys((*formulas, EOS)))
        claimed = log_weights(weights or {}, (*t.symbols, EOS), outputs)
        named = lm_formulas(formulas, t.symbols, t.propositional, claimed)
        return Source((*t.symbols, EOS), named, claimed)
    if weights is not None:
        raise SofthatError("an exported folder has its log-weights: leave weights out")
    export = read_export(model)
    c = export.checkpoint
    if c is None or c.head != "lm":
        raise SofthatError(f"{model} is no language model that softhat exported")
    stated = export.log_weights or log_weights({}, (*c.symbols, EOS), ())
    named = lm_formulas(formulas_alone(export.formulas), c.symbols, c.propositional, stated)
    return Source((*c.symbols, EOS), named, stated)
