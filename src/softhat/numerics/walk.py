"""A layer, once: its steps as data, and the walk that takes them in numbers of any kind.

Whatever evaluates a transformer of softhat takes these steps in this order: the dense runtime in
floats of a format, hard attention in exact rationals, softmax in intervals, the checker in what is
known of each coordinate, and the certificates of simulations with what every step may round, in
boxes and with noise symbols. What a step does to numbers of one kind is their `Domain`. So the
order of operations that a certificate assumes is the order that runs, because it is written here
and nowhere else.

A `linear` step sums products in any order, as a format's sums are taken; nothing is rounded to
storage but where a step says `stored`. A step whose result replaces its first number may use its
space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from softhat.numerics.masks import Mask

X = TypeVar("X")


@dataclass(frozen=True, slots=True)
class Step:
    """`to` becomes what the operation makes of the numbers `of`, with the weights `by`: a matrix or
    bias of that name, `WHOLE` for all that a head or layer has, None for none."""

    to: str
    does: Literal["linear", "shift", "relu", "attend", "gather", "add", "norm", "activate"]
    of: tuple[str, ...]
    by: str | None = None
    stored: bool = False


WHOLE = "all weights"


EMBEDDING = (
    Step("place", "linear", ("features",), by="position_embedding"),
    Step("stream", "add", ("token", "place"), stored=True),
)
"""Token row plus position features through their matrix."""
HEAD = (
    Step("query", "linear", ("stream",), by="query", stored=True),
    Step("key", "linear", ("seen",), by="key", stored=True),
    Step("value", "linear", ("seen",), by="value", stored=True),
    Step("read", "attend", ("query", "key", "value"), by=WHOLE, stored=True),
)
"""One head. `stream` are the rows that ask, `seen` those that they see: mostly the same."""
HEADS = (
    Step("written", "gather", ("reads",), by=WHOLE),
    Step("stream", "add", ("stream", "written"), stored=True),
)
"""What the heads read goes through one output matrix and is added to the stream."""
FEED_FORWARD = (
    Step("hidden", "linear", ("stream",), by="into"),
    Step("hidden", "shift", ("hidden",), by="into_bias"),
    Step("hidden", "relu", ("hidden",), stored=True),
    Step("written", "linear", ("hidden",), by="out"),
    Step("written", "shift", ("written",), by="out_bias"),
    Step("stream", "add", ("stream", "written"), stored=True),
)
READ_OUT = (
    Step("margin", "linear", ("stream",), by="readout"),
    Step("margin", "shift", ("margin",), by="readout_bias", stored=True),
)


STOCK_READING = (
    Step("normed", "norm", ("stream",), by="before_attention"),
    Step("mixed", "linear", ("normed",), by="attention"),
)
"""GPT-2, before attention: queries, keys and values of all heads side by side, biases included."""
STOCK_PROJECTION = (
    Step("written", "linear", ("read",), by="projection"),
    Step("stream", "add", ("stream", "written")),
)
"""GPT-2, after attention."""
STOCK_UNITS = (
    Step("hidden", "norm", ("stream",), by="before_units"),
    Step("hidden", "linear", ("hidden",), by="units"),
    Step("hidden", "activate", ("hidden",)),
    Step("written", "linear", ("hidden",), by="output"),
    Step("stream", "add", ("stream", "written")),
)
STOCK_ANSWERS = (
    Step("normed", "norm", ("stream",), by="last"),
    Step("logits", "linear", ("normed",), by="answers"),
)


class Heads(NamedTuple):
    """The heads of a layer, for those who keep them elsewhere."""

    heads: Sequence[Any]


class SoftHead(NamedTuple):
    """A head of softmax: scores are multiplied by `beta`."""

    beta: Any
    mask: Mask
    query: Any
    key: Any
    value: Any
    output: Any


class Units(NamedTuple):
    """The weights of a feed-forward sublayer, for those who keep them under other names."""

    into: Any
    into_bias: Any
    out: Any
    out_bias: Any


class _Ends(NamedTuple):
    """The weights before the first layer and after the last."""

    position_embedding: Any = None
    readout: Any = None
    readout_bias: Any = None


class Domain(Protocol[X]):
    """What the steps do to numbers of one kind. Weights are of the kind that goes with them."""

    def linear(self, x: X, matrix: Any, /) -> X:
        """matrix · x."""
        ...

    def shift(self, x: X, bias: Any, /) -> X:
        """x + bias, the bias being the same in every row."""
        ...

    def relu(self, x: X, /) -> X:
        """max(0, x)."""
        ...

    def attend(self, query: X, key: X, value: X, head: Any, /) -> X:
        """What the rows read: the mean of the values that they see, by their scores."""
        ...

    def gather(self, reads: Sequence[X], layer: Any, /) -> X:
        """Σ over heads of their output matrix · what they read."""
        ...

    def add(self, x: X, y: X, /) -> X:
        """x + y."""
        ...

    def store(self, x: X, /) -> X:
        """x as it is stored."""
        ...


class Storing(Protocol[X]):
    """A domain of some steps; which ones is for those who take them."""

    def store(self, x: X, /) -> X: ...


def take(
    steps: Sequence[Step], domain: Storing[X], weights: Any, numbers: dict[str, Any]
) -> dict[str, Any]:
    """The steps one after the other; `numbers` holds what they are given, then what they give."""
    for step in steps:
        inputs = [numbers[name] for name in step.of]
        if step.by is not None:
            inputs.append(weights if step.by is WHOLE else getattr(weights, step.by))
        x: X = getattr(domain, step.does)(*inputs)
        numbers[step.to] = domain.store(x) if step.stored else x
    return numbers


def embedding(domain: Domain[X], matrix: Any, token: X, features: X) -> X:
    """The first stream."""
    inputs = {"token": token, "features": features}
    x: X = take(EMBEDDING, domain, _Ends(position_embedding=matrix), inputs)["stream"]
    return x


def attention(domain: Domain[X], layer: Any, stream: X, seen: X | None = None) -> X:
    """The first half of a layer; the rows see themselves unless others are given."""
    if not layer.heads:
        return stream
    rows = {"stream": stream, "seen": stream if seen is None else seen}
    reads = [take(HEAD, domain, head, {**rows})["read"] for head in layer.heads]
    x: X = take(HEADS, domain, layer, {"stream": stream, "reads": reads})["stream"]
    return x


def feed_forward(domain: Domain[X], layer: Any, stream: X) -> X:
    """The second half of a layer that has hidden units."""
    x: X = take(FEED_FORWARD, domain, layer, {"stream": stream})["stream"]
    return x


def read_out(domain: Domain[X], matrix: Any, bias: Any, stream: X) -> X:
    """The margins of a stream."""
    weights = _Ends(readout=matrix, readout_bias=bias)
    x: X = take(READ_OUT, domain, weights, {"stream": stream})["margin"]
    return x
