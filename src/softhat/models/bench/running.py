"""Tokens a second: dense and linear, by length and by number of operators; memory."""

from __future__ import annotations

import tracemalloc
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.models.bench.tables import BenchSettings, BenchTable, Cell, best
from softhat.models.compiler import compile
from softhat.models.model import Model
from softhat.runtime.linear.runtime import CHUNK
from softhat.runtime.stream import Stream

PUBLISHED = 33_000
"""Tokens a second of the one published engine that runs a compiled transformer faster than
quadratically; read as an order of magnitude, it ran elsewhere."""
KINDS = {
    "Latest": "a S b",
    "Previous": "Y a",
    "Average and Sign": "#(a) >= #(b)",
    "Earliest (ahead)": "a U b",
    "Next (ahead)": "X a",
    "Average (ahead) and Sign": "#>(a) >= 3",
    "Latest and Earliest (both ways)": "O a & F b",
    "Averages (both ways) and Sign": "#(a) >= #>(b) + #*(c)",
}


RUNS = 100
"""Runs at a short length that are timed as one."""


def nested(operators: int) -> str:
    """That many temporal operators, each reading the one before."""
    text = "a"
    for k in range(operators):
        text = f"Y ({text})" if k % 2 else f"b S ({text})"
    return text


def linear_by_length(settings: BenchSettings) -> BenchTable:
    """The linear runtime on one word, from 100 tokens to ten million: as a stream, fed in chunks,
    if it looks back only."""
    sizes = settings.pick((10**2, 10**3, 10**4, 10**5, 10**6), [10**k for k in range(2, 8)])
    tokens = _tokens(max(sizes))
    rows: list[tuple[Cell, ...]] = []
    for kind, text in KINDS.items():
        model = compile(text, alphabet="abc")
        # As long a run at every length, and every length in each round: else a ratio says in
        # which moments the machine was fast.
        counts = {n: min(RUNS, max(sizes) // n) for n in sizes}
        rounds = [
            {n: best(partial(_repeated, model, tokens[:n], k), 1) / k for n, k in counts.items()}
            for _ in range(settings.repeat)
        ]
        for n in sizes:
            seconds = min(times[n] for times in rounds)
            shorter = n // 10
            ratio = median(t[n] / t[shorter] for t in rounds) if shorter in counts else None
            scan = best(partial(np.cumsum, tokens[:n]), settings.repeat)
            rate = n / seconds / 1e6
            rows.append((kind, text, n, seconds * 1e3, rate, ratio, seconds / scan))
    columns = ("head", "formula", "tokens", "ms", "million tokens/s", "time ratio to n/10",
               "time over a scan's")  # fmt: skip
    return BenchTable(
        "Linear-time softmax by length",
        columns,
        tuple(rows),
        "float32, one word, on one core; what looks back only as a stream fed in chunks. Linear "
        "time is a ratio of 10 (the median of several rounds). A scan is NumPy's cumulative sum "
        "of the tokens.",
    )


def _repeated(model: Model, tokens: NDArray[Any], count: int) -> None:
    """Run the model again and again: as a stream fed in chunks, if it can stream."""
    linear = model.linear("float32")
    for _ in range(count):
        if not linear.streamable:
            linear.margins(tokens)
            continue
        stream = model.stream("float32")
        for start in range(0, len(tokens), CHUNK):
            stream.margins(tokens[start : start + CHUNK])


def linear_by_operators(settings: BenchSettings) -> BenchTable:
    """The linear runtime by the number of nested operators."""
    n = 10**5 if settings.quick else 10**6
    tokens = _tokens(n)
    rows: list[tuple[Cell, ...]] = []
    first: float | None = None
    for operators in (1, 2, 4, 8, 16):
        model = compile(nested(operators), alphabet="abc")
        seconds = best(partial(model.linear("float32").margins, tokens), settings.repeat)
        first = first or seconds
        rate = n * operators / seconds / 1e6
        rows.append((operators, n / seconds / 1e6, rate, seconds / first))
    return BenchTable(
        "Linear-time softmax by number of operators",
        ("operators", "million tokens/s", "million tokens × operators/s", "time ratio"),
        tuple(rows),
        f"Nested S and Y, float32, {n:,} tokens.",
    )


def streaming(settings: BenchSettings) -> BenchTable:
    """Streams fed in pieces: what a call costs."""
    rows: list[tuple[Cell, ...]] = []
    pieces = (1, 10, 100, 10_000, 100_000)
    for kind in ("Latest", "Previous", "Average and Sign"):
        model = compile(KINDS[kind], alphabet="abc")
        for piece in pieces:
            count = max(1, min(20_000, 2_000_000 // piece) // (10 if settings.quick else 1))
            stream = model.stream("float32")
            text = ("abcab" * (piece // 5 + 1))[:piece]
            seconds = best(partial(_push, stream, text, count), settings.repeat)
            rate = piece * count / seconds
            rows.append((kind, piece, rate, rate / PUBLISHED))
    return BenchTable(
        "Streaming by size of the pieces",
        ("head", "tokens a push", "tokens/s", "ratio to 33,000/s"),
        tuple(rows),
        "float32, text in, answers out. 33,000 tokens/s is what the one published engine for "
        "compiled transformers with sub-quadratic decoding reports, on another machine.",
    )


def _push(stream: Stream, text: str, count: int) -> None:
    for _ in range(count):
        stream.push(text)


def dense_by_length(settings: BenchSettings) -> BenchTable:
    """The dense runtime, which is quadratic, and where the linear one overtakes it."""
    rows: list[tuple[Cell, ...]] = []
    for text in ("a S b", nested(4), "#(a) >= #(b)"):
        model = compile(text, alphabet="abc")
        before: float | None = None
        for n in settings.pick((100, 1000), (100, 1000, 10_000)):
            tokens = _tokens(n)
            dense = best(partial(model.run_batch, tokens[None], "float32"), settings.repeat)
            linear = best(partial(model.linear("float32").margins, tokens), settings.repeat)
            ratio = None if before is None else dense / before
            rows.append((text, n, dense * 1e3, n / dense / 1e3, ratio, dense / linear))
            before = dense
    columns = (
        "formula",
        "tokens",
        "ms",
        "thousand tokens/s",
        "time ratio to n/10",
        "dense / linear",
    )
    return BenchTable("Dense softmax by length", columns, tuple(rows), "float32, one word.")


AGAINST = ("a S b", "Y a & (!a S b) | (!b S c) & (!c S a)", "#(a) >= #(b)")
"""Formulas whose heads are compared with PyTorch's: one head, four in a layer, a comparison."""


def against_torch(settings: BenchSettings) -> BenchTable | None:
    """The whole dense model against PyTorch's attention alone, same heads, sizes and threads."""
    try:
        import torch
    except ImportError:
        return None
    n, words = (1024, 8) if settings.quick else (4096, 8)
    rows: list[tuple[Cell, ...]] = []
    tokens = _tokens(n * words).reshape(words, n)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for text in (*AGAINST, nested(4)):
        model = compile(text, alphabet="abc")
        ours = best(partial(model.run_batch, tokens, "float32"), settings.repeat)
        theirs = 0.0
        for layer in model.transformer.layers:
            heads, d_k, _ = layer.query.shape
            q = torch.randn(words, heads, n, max(1, d_k))
            attend = torch.nn.functional.scaled_dot_product_attention
            theirs += best(partial(attend, q, q, q, is_causal=True), settings.repeat)
        rows.append((text, model.size.heads, ours * 1e3, theirs * 1e3, ours / theirs))
    torch.set_num_threads(threads)
    return BenchTable(
        f"Dense softmax against PyTorch, {words} words of {n:,} tokens",
        ("formula", "heads", "softhat ms", "PyTorch ms", "ratio"),
        tuple(rows),
        "softhat: the whole model. PyTorch: `scaled_dot_product_attention` alone, causal, with "
        "as many heads of the same size. float32, one thread each.",
    )


def memory(settings: BenchSettings) -> BenchTable:
    """The most memory that Python and NumPy held at a time."""
    rows: list[tuple[Cell, ...]] = []
    model = compile("(Y a) S (#(a) > #(b))", alphabet="abc")
    two_way = compile("F (a & O b) & #(a) > #>(b)", alphabet="abc")
    piece = _tokens(1 << 16)
    many = settings.pick((10**5, 10**6), (10**6, 10**7))
    for runtime, (short, long), action in (
        ("stream", many, lambda n: partial(_feed, model.stream("float32"), piece, n)),
        ("both ways", many, lambda n: partial(_read, two_way, piece, n)),
        ("dense", (1000, 2000), lambda n: partial(model.run_batch, _tokens(n)[None], "float32")),
    ):
        peaks = _peak(action(short)), _peak(action(long))
        rows.append((runtime, short, peaks[0], None))
        rows.append((runtime, long, peaks[1], peaks[1] / peaks[0]))
    return BenchTable(
        "Peak memory",
        ("runtime", "tokens", "MB", "ratio to the row above"),
        tuple(rows),
        "A stream's memory does not depend on how much it has read, nor does that of a model that "
        "looks both ways and reads a word in several passes (`stream_word`).",
    )


def _peak(action: Any) -> float:
    action()
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def _feed(stream: Any, piece: NDArray[Any], n: int) -> None:
    for start in range(0, n, len(piece)):
        stream.push(piece[: min(len(piece), n - start)])


def _read(model: Model, piece: NDArray[Any], n: int) -> None:
    pieces = (piece[: min(len(piece), n - start)] for start in range(0, n, len(piece)))
    for _ in model.stream_word(pieces):
        pass


def _tokens(n: int) -> NDArray[np.int64]:
    return np.random.default_rng(n).integers(0, 3, n)
