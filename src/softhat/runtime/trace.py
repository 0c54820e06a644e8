"""Everything that happens on one word, with the name of what each part computes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.io.plural import plural
from softhat.runtime.dense import Maps, Ready
from softhat.transformer.weights import BOS


@dataclass(frozen=True)
class Trace:
    """Indices are 0-based; rows and columns include the sinks."""

    tokens: tuple[str, ...]
    attention: tuple[NDArray[Any], ...]
    """Per layer (heads, length, length): rows are queries and sum to 1."""
    scores: tuple[NDArray[Any], ...]
    """Per layer, after the temperature and masking (-inf): attention = softmax(scores)."""
    head_outputs: tuple[NDArray[Any], ...]
    """Per layer (heads, length, d_v): what each head adds, before the output matrix."""
    residual: tuple[NDArray[Any], ...]
    """layers + 1 arrays (length, d_model): the embedding, then after each layer."""
    heads: tuple[tuple[str, ...], ...]
    """Per layer, what each head computes."""
    coordinates: tuple[tuple[str, ...], ...]
    """For each residual, what each coordinate holds."""
    margins: dict[str, NDArray[Any]]
    """Per output, the signed distance from the threshold at the word's own positions."""
    title: str = ""
    """What was asked, for pictures."""

    def __repr__(self) -> str:
        heads = plural(sum(map(len, self.heads)), "head")
        shown = " ".join(self.tokens[:12]) + (" …" if len(self.tokens) > 12 else "")
        return f"<softhat.Trace of {shown}: {plural(len(self.heads), 'layer')}, {heads}>"

    def _repr_html_(self) -> str:
        from softhat.io.markup import heat, table

        maps = [
            heat(weights, self.tokens, f"layer {layer}, head {head}: {label}")
            for layer, labels in enumerate(self.heads)
            for head, (label, weights) in enumerate(zip(labels, self.attention[layer], strict=True))
        ]
        margins = [
            [name, *(f"{margin:.3g}" for margin in values.tolist())]
            for name, values in self.margins.items()
        ]
        n = len(margins[0]) - 1 if margins else 0
        places = [str(i) for i in range(1, n + 1)]
        return "".join(maps) + table(["margins", *places], margins, self.title)

    def plot(
        self,
        file: str | Path | None = None,
        head: tuple[int, int] | None = None,
        width: float | None = None,
    ) -> Any:
        """The picture of this trace: a matplotlib figure, written to `file` if there is one.

        `head`, a layer and a head in it, asks for its map alone, for a paper: `width` inches
        (3.3 unless said), type of 8 points.
        """
        from softhat.io.pictures.style import check_name, save
        from softhat.io.pictures.traces import head_figure, trace_figure

        if file is not None:
            check_name(file)
        if head is not None:
            layer, number = self._known(head)
            picture = head_figure(
                self.tokens,
                self.attention[layer][number],
                f"layer {layer}, head {number}: {self.heads[layer][number]}",
                3.3 if width is None else width,
            )
            if file is not None:
                save(picture, file)
            return picture
        if width is not None:
            raise SofthatError("width is of one head's map: say which with head=(layer, head)")
        first = int(self.tokens[0] == BOS)
        own = slice(first, first + len(next(iter(self.margins.values()))))
        figure = trace_figure(
            self.tokens, self.attention, self.heads, self.margins, own, self.title
        )
        if file is not None:
            save(figure, file)
        return figure

    def _known(self, head: tuple[int, int]) -> tuple[int, int]:
        layer, number = head
        if not 0 <= layer < len(self.heads) or not 0 <= number < len(self.heads[layer]):
            places = [(k, h) for k, labels in enumerate(self.heads) for h in range(len(labels))]
            known = ", ".join(map(str, places)) or "none: the model has no heads"
            raise SofthatError(f"no head {head}: choose one of {known}")
        return layer, number


def trace(ready: Ready, encoded: NDArray[Any]) -> Trace:
    """Run one encoded word, keeping everything."""
    t = ready.transformer
    x = ready.embed(encoded[None])
    residual, maps = [x[0]], list[Maps]()
    for layer in ready.layers:
        x, layer_maps = ready.step(layer, x, keep=True)
        assert layer_maps is not None
        residual.append(x[0])
        maps.append(layer_maps)
    margins = ready.margins(x)[0]
    return Trace(
        tokens=(*t.sinks[:1], *_names(encoded, t.symbols), *t.sinks[1:]),
        attention=tuple(m.attention for m in maps),
        scores=tuple(m.scores for m in maps),
        head_outputs=tuple(m.outputs for m in maps),
        residual=tuple(residual),
        heads=tuple(layer.labels for layer in t.layers),
        coordinates=tuple(
            tuple(c.label(number) for c in t.coordinates) for number in range(len(residual))
        ),
        margins={name: margins[:, at] for at, name in enumerate(t.outputs)},
    )


def _names(encoded: NDArray[Any], symbols: tuple[str, ...]) -> list[str]:
    """The word's symbols; a set of propositions as `{p,q}`."""
    if encoded.ndim == 1:
        return [symbols[code] for code in encoded.tolist()]
    return [
        "{" + ",".join(s for s, holds in zip(symbols, row, strict=True) if holds) + "}"
        for row in encoded.tolist()
    ]
