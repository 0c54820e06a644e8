"""The paper's notions on any model: the attention of a local Hugging Face causal language model.

For every row of every head: which keys carry the attention (the argmax set A, up to a tolerance
for ties in floats), how much leaks outside it, the gap profile of the scores, and by how much
the scores would have to be multiplied (β) for the leak to fall to δ. Scores are read off the
attention weights: score = ln(weight) up to a constant of the row, which cancels in gaps. Weights
that underflowed to 0 have a gap of at least -ln(tiny), and are counted there.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.rows import critical_betas
from softhat.errors import MissingExtraError, SofthatError
from softhat.files.reading import check_folder

Floats = npt.NDArray[np.float64]
TIE = 1e-3  # scores closer than this count as tied: floats of a trained model are never equal


@dataclass(frozen=True, slots=True)
class HeadReport:
    """One head on the text. Rows with one key are left out: they have no choice."""

    layer: int
    head: int
    nearest: str  # uniform | tieless | tied: the type most of its rows are nearest to
    hardness: float  # mean attention on the argmax set; 1 is hard attention
    leak: float  # greatest attention outside the argmax set
    least_gap: float
    median_gap: float
    median_beta: float  # factor on the scores for leak ≤ δ, median over rows
    greatest_beta: float
    rows: tuple[int, int, int]  # nearest to uniform, tieless, tied
    profile: tuple[float, ...]  # mean number of competitors with gap < 1, 2, 4, 8, and more


@dataclass(frozen=True, slots=True)
class LensReport:
    """All heads of a model on one text."""

    model: str
    tokens: int
    delta: float
    heads: tuple[HeadReport, ...]

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        for head in data["heads"]:
            for key, value in head.items():
                if isinstance(value, float) and not np.isfinite(value):
                    head[key] = None
        return data


def look(folder: str | Path, text: str, delta: float = 1e-3) -> LensReport:
    """Run a local checkpoint on the text and look at every head."""
    attention, name, tokens = attention_of(Path(folder), text)
    heads = tuple(
        report(weights, l, h, delta)
        for l, layer in enumerate(attention)
        for h, weights in enumerate(layer)
    )
    return LensReport(name, tokens, delta, heads)


def attention_of(folder: Path, text: str) -> tuple[list[Floats], str, int]:
    """(heads, T, T) of each layer, the model's type, and the number of tokens."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    if not (folder / "config.json").is_file():
        raise SofthatError(f"{str(folder)!r} has no config.json: give a Hugging Face checkpoint")
    check_folder(folder)
    try:
        # A checkpoint may bring code of its own, which would be run, or ask on standard input
        # whether it may: neither.
        disable_progress_bar()
        closed: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(folder, **closed)
        model = AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="eager", use_safetensors=True, **closed
        )
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
    except Exception as error:  # a damaged checkpoint raises anything
        first = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise SofthatError(f"cannot load the checkpoint {str(folder)!r}: {first}") from None
    if ids.shape[1] < 2:
        raise SofthatError("the text gives fewer than two tokens: every row has one key")
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest is not None and ids.shape[1] > longest:
        raise SofthatError(f"the text has {ids.shape[1]} tokens, the model takes {longest}")
    try:
        with torch.no_grad():
            found = model.eval()(ids, output_attentions=True).attentions
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise SofthatError(f"cannot run the checkpoint {str(folder)!r}: {first}") from None
    if not found or any(layer is None for layer in found):
        raise SofthatError(f"{model.config.model_type} gives no attention weights to look at")
    layers = [layer[0].to(torch.float64).numpy() for layer in found]
    return layers, str(model.config.model_type), int(ids.shape[1])


def report(weights: Floats, layer: int, head: int, delta: float) -> HeadReport:
    """One head from its causal attention weights (T, T)."""
    length = len(weights)
    tiny = float(np.finfo(np.float32).tiny)
    causal = np.tril(np.ones((length, length), dtype=bool))[1:]
    w = np.where(causal, weights[1:], 0.0)
    scores = np.log(np.maximum(w, tiny))
    top = np.where(causal, scores, -np.inf).max(axis=1, keepdims=True)
    best = causal & (scores >= top - TIE)
    count = best.sum(axis=1)
    gaps = np.where(causal & ~best, top - scores, np.inf)
    leaks = np.where(best, 0.0, w).sum(axis=1)
    betas = critical_betas(gaps, delta, count)
    kinds = _nearest(w, causal)
    tally = tuple(int((kinds == k).sum()) for k in range(3))
    edges = [0.0, 1.0, 2.0, 4.0, 8.0, np.inf]
    finite = np.isfinite(gaps)
    profile = tuple(
        float((finite & (gaps >= a) & (gaps < b)).sum() / len(w))
        for a, b in itertools.pairwise(edges)
    )
    nearest_gap = gaps.min(axis=1)
    real = nearest_gap[np.isfinite(nearest_gap)]
    return HeadReport(
        layer=layer,
        head=head,
        nearest=("uniform", "tieless", "tied")[int(np.argmax(tally))],
        hardness=float(1 - leaks.mean()),
        leak=float(leaks.max()),
        least_gap=float(real.min()) if len(real) else np.inf,
        median_gap=float(np.median(real)) if len(real) else np.inf,
        median_beta=float(np.median(betas)),
        greatest_beta=float(betas.max()),
        rows=(tally[0], tally[1], tally[2]),
        profile=profile,
    )


def _nearest(w: Floats, causal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """0 uniform, 1 tieless, 2 tied: the nearest average-hard row in total variation.

    The nearest row with k winners is uniform over the k largest weights. Ties of distance go to
    the plainer type.
    """
    keys = causal.sum(axis=1)
    ordered = -np.sort(-w, axis=1)
    k = np.arange(1, w.shape[1] + 1)
    distance = np.empty((len(w), w.shape[1]))
    for j, size in enumerate(k):
        share = np.where(np.arange(w.shape[1]) < size, 1.0 / size, 0.0)
        distance[:, j] = np.abs(ordered - share).sum(axis=1) / 2
    distance = np.where(k[None, :] <= keys[:, None], distance, np.inf)
    uniform = np.take_along_axis(distance, (keys - 1)[:, None], axis=1)[:, 0]
    tieless = distance[:, 0]
    between = np.where((k[None, :] > 1) & (k[None, :] < keys[:, None]), distance, np.inf)
    tied = between.min(axis=1)
    result: npt.NDArray[np.int64] = np.argmin(np.stack([uniform, tieless, tied]), axis=0)
    return result
