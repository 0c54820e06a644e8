"""The softmax model of a folder in extended precision, straight from its tensors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.simulation.recheck.definition import Codes, ExactDefinition, sees
from softhat.ahat.simulation.recheck.files import PARTS, Files

Wide = npt.NDArray[np.longdouble]


class Tensors:
    """The softmax evaluator; its own hard attention serves to choose words, not to judge."""

    def __init__(self, files: Files, exact: ExactDefinition) -> None:
        self.files = files
        self.exact = exact

    def run(self, words: list[Codes], hard: bool) -> tuple[Wide, dict[tuple[int, int], Wide]]:
        """Values and attention in extended precision; `hard` averages near-maximal keys."""
        x = self._embedded(words)
        attention: dict[tuple[int, int], Wide] = {}
        size = x.shape[1]
        for l, (heads, ff) in enumerate(self.exact.layers):
            added = x.copy()
            for h in range(len(heads)):
                mask = self.files.masks[l, h]
                wq, wk, wv, wo = (self.files.head[l, h, p].astype(np.longdouble) for p in PARTS)
                scale = self.files.scale((l, h), len(words[0]))
                scores = np.einsum("wik,wjk->wij", x @ wq.T, x @ wk.T) * scale
                seen = np.array([[sees(mask, i, j) for j in range(size)] for i in range(size)])
                scores = np.where(seen, scores, -np.inf)
                top = scores.max(axis=2, keepdims=True)
                top = np.where(np.isfinite(top), top, 0.0)
                near = 1e-13 * (1 + np.abs(top))
                weights = (
                    (scores >= top - near).astype(np.longdouble) if hard else np.exp(scores - top)
                )
                weights = np.where(seen, weights, 0.0)
                total = weights.sum(axis=2, keepdims=True)
                attention[l, h] = (weights / np.where(total == 0, 1, total)).astype(np.longdouble)
                added = added + (attention[l, h] @ (x @ wv.T)) @ wo.T
            x = added
            if ff is not None:
                into, into_bias, out, out_bias = self.files.forward(l)
                x = x + np.maximum(x @ into.T + into_bias, 0) @ out.T + out_bias
        weights_out, bias = self.files.output
        values = x @ weights_out + bias
        return values[:, int(self.exact.bos) :][:, : len(words[0])], attention

    def _embedded(self, words: list[Codes]) -> Wide:
        """Rows of the stored embedding, and position features through the stored matrix."""
        tokens, places = self.files.embedding
        rows = [self.exact.inputs(word) for word in words]
        symbols = np.array([[s for s, _ in word] for word in rows])
        features = np.array(
            [[[_wide(f) for f in seen] for _, seen in word] for word in rows], dtype=np.longdouble
        ).reshape(*symbols.shape, len(self.exact.features))
        return np.asarray(tokens[symbols] + features @ places.T)

    def errors(self, words: list[Codes]) -> npt.NDArray[np.float64]:
        """Greatest |soft - hard| of each word, in extended precision."""
        parts = []
        for start in range(0, len(words), 64):
            chunk = words[start : start + 64]
            difference = self.run(chunk, hard=False)[0] - self.run(chunk, hard=True)[0]
            parts.append(np.abs(difference).max(axis=1).astype(np.float64))
        return np.concatenate(parts)


def _wide(x: Fraction) -> np.longdouble:
    return np.longdouble(x.numerator) / np.longdouble(x.denominator)
