"""The pictures of the guide, made by softhat: python docs/scripts/pictures.py [NAME …]

    python docs/scripts/pictures.py                 # all of docs/images/theory
    python docs/scripts/pictures.py latest gaps     # some of them
    python docs/scripts/pictures.py gallery         # docs/images/gallery: laws of every AHAT in it
    python docs/scripts/pictures.py explorer        # the screenshots of the page; needs Chromium

A picture that shows numbers is drawn from what softhat computes here, never from numbers typed in.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import softhat
from softhat import rasp
from softhat.ahat import gallery
from softhat.ahat.bounds.functionals import plan as directions
from softhat.ahat.bounds.sets import SetBounds
from softhat.ahat.exact import run
from softhat.ahat.simulation.curves import simulation_curves
from softhat.ahat.simulation.lengths import Lengths
from softhat.io.pictures.laws import save_laws
from softhat.io.pictures.style import COLOURS, figure, save
from softhat.io.pictures.traces import attention_map

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / "docs" / "images"


def soft_and_hard(formula: str, alphabet: str, word: str, layer: int, head: int = 0) -> Any:
    """One head's attention, soft beside hard."""
    made = figure(7.6, 3.6)
    panels = made.subplots(1, 2)
    for axes, attention, said in zip(
        panels, ("unbounded", "hard"), ("softmax", "hard"), strict=True
    ):
        trace = softhat.compile(formula, alphabet=alphabet, attention=attention).run(word)
        label = trace.heads[layer][head]
        attention_map(axes, trace.attention[layer][head], trace.tokens, f"{said}  ·  {label}")
    made.suptitle(f"{formula}   on   {word}   (weights in %)", fontsize=9)
    return made


def one_head(model: Any, word: Any, kind: str, title: str) -> Any:
    """The first head of a kind in a model's trace."""
    trace = model.run(word)
    layer, head = next(
        (k, h)
        for k, labels in enumerate(trace.heads)
        for h, label in enumerate(labels)
        if label.startswith(kind)
    )
    made = figure(4.4, 3.9)
    label = trace.heads[layer][head]
    attention_map(made.subplots(), trace.attention[layer][head], trace.tokens, label)
    made.suptitle(title, fontsize=9)
    return made


def latest() -> Any:
    return soft_and_hard("!c S a", "abc", "abcabb", 0)


def strict_latest() -> Any:
    return soft_and_hard("Y (!c S a)", "abc", "abcabb", 0)


def previous() -> Any:
    return soft_and_hard("Y a", "ab", "abbaba", 0)


def shift() -> Any:
    return soft_and_hard("Y Y Y a", "ab", "abbabab", 0)


def average() -> Any:
    return soft_and_hard("#(a) > #(b)", "ab", "abaabb", 0)


def sign() -> Any:
    return soft_and_hard("#(a) > #(b)", "ab", "abaabb", 1)


def match() -> Any:
    same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    program = rasp.Aggregate(
        same, rasp.numerical(rasp.Map(lambda x: 1 if x == "a" else 0, rasp.tokens))
    )
    model = softhat.compile(program, alphabet="abc", max_length=16)
    return one_head(model, "abcab", "Match", "tokens == tokens   on   abcab")


def width() -> Any:
    program = rasp.SelectorWidth(rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ))
    model = softhat.compile(program, alphabet="abc", max_length=16)
    return one_head(model, "abcab", "Width", "how often the symbol occurs   on   abcab")


def at() -> Any:
    model = softhat.compile(rasp.lib.make_reverse(rasp.tokens), alphabet="abc", max_length=16)
    return one_head(model, "abcca", "At", "reverse   on   abcca")


def doubling() -> Any:
    """What position 12 sees in each layer of PARITY in logarithmic depth."""
    language = softhat.from_regex("(b*ab*a)*b*", alphabet="ab", depth="log")
    trace = softhat.compile(language, max_length=16).run("abbabaababba")
    made = figure(7.6, 2.6)
    for k, (axes, weights) in enumerate(
        zip(made.subplots(1, len(trace.attention)), trace.attention, strict=True)
    ):
        attention_map(axes, weights[0], trace.tokens, f"{2**k} before")
    made.suptitle("an even number of a   on   abbabaababba   (weights in %)", fontsize=9)
    return made


def clip() -> Any:
    from softhat.transformer.lowering.gates import HIGH, LOW

    made = figure(6.0, 2.6)
    axes = made.subplots()
    s = np.linspace(-0.6, 1.6, 400)
    clipped = (np.maximum(s - LOW, 0) - np.maximum(s - HIGH, 0)) / (HIGH - LOW)
    for edges in ((-0.6, LOW), (1 - 1 / 8, 1 + 1 / 4)):
        axes.axvspan(*edges, color=COLOURS[2], alpha=0.15, linewidth=0)
    axes.plot(s, clipped, color=COLOURS[0])
    axes.set_xlabel("sum of literals less k - 1, with the errors of heads")
    axes.set_ylabel("stored bit")
    axes.set_title("8(ReLU(s - 1/4) - ReLU(s - 3/8)): flat where sums can be", fontsize=9)
    return made


def formulas() -> Any:
    formula = "H(#('(') >= #(')')) & #('(') = #(')')"
    return softhat.compile(formula, alphabet="()").plot()


def rows() -> Any:
    made = figure(6.0, 3.0)
    axes = made.subplots()
    beta = np.linspace(0.2, 12, 300)
    for keys, colour in zip((2, 10, 1000), COLOURS, strict=False):
        losers = (keys - 1) * np.exp(-beta)
        axes.plot(beta, losers / (1 + losers), color=colour, label=f"{keys} keys, gap 1")
        least = np.log((keys - 1) * (1 - 0.01) / 0.01)
        axes.plot(least, 0.01, "o", color=colour)
    axes.axhline(0.01, color="0.6", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xlabel("β")
    axes.set_ylabel("leak")
    axes.set_title(
        "one winner, all others at gap 1; dots: the least β for a leak of 1 %", fontsize=9
    )
    axes.legend(fontsize=7)
    return made


SHOWN = ("first-token", "last-token", "last-by-inverse", "retrieval-by-count", "dyck-argmin")


def _gallery(up_to: int) -> list[tuple[str, Any, Any, tuple[int, int]]]:
    """Models of the gallery with their analyses and the head whose law is not trivial."""
    found = []
    for name in SHOWN:
        model = gallery.GALLERY[name]()
        analysis = softhat.analyze(model, up_to=up_to)
        head = [at for at, law in analysis.gap_law.items() if law is not None][-1]
        found.append((name, model, analysis, head))
    return found


def gaps() -> Any:
    made = figure(6.4, 3.6)
    axes = made.subplots()
    for (name, model, _, head), colour in zip(_gallery(4), COLOURS, strict=False):
        law = softhat.analyze(model, up_to=4).gap_law[head]
        lengths = range(2, 33)
        axes.plot(lengths, [float(law.at(n)) for n in lengths], color=colour, linewidth=1)
        measured = {n: softhat.analyze(model, up_to=n).min_gap[head] for n in range(2, 8)}
        points = {n: float(gap) for n, gap in measured.items() if gap is not None}
        label = f"{name}: γ(n) = {law.text}"
        axes.plot(list(points), list(points.values()), "o", color=colour, markersize=4, label=label)
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("n")
    axes.set_ylabel("gap")
    axes.set_title(
        "gaps: proved for every n (lines), the least on all words to n (dots)", fontsize=9
    )
    axes.legend(fontsize=6)
    return made


def words_and_sets() -> Any:
    model = gallery.GALLERY["induction-latest"]()
    simulation = softhat.simulate(model, max_length=12)
    made = figure(6.4, 3.4)
    axes = made.subplots()
    lengths, plan = Lengths(model, 12), directions(model)
    by_sets = {n: SetBounds(plan, lengths.sets(n)) for n in range(2, 13)}
    curves = {
        "by laws": {n: lengths.by_laws(n, simulation.betas).error for n in by_sets},
        "by sets": {n: b.errors(simulation.betas).error for n, b in by_sets.items()},
        "by words": {n: lengths.bound(n, simulation.betas).error for n in range(2, 10)},
    }
    for (label, points), colour in zip(curves.items(), COLOURS, strict=False):
        axes.plot(list(points), list(points.values()), color=colour, label=f"certified {label}")
    true = {}
    for n in range(2, 10):
        words = [list(w) for w in itertools.product(model.alphabet, repeat=n)]
        soft = simulation.run_batch(model.codes(words))[..., 0]
        exact = np.array(
            [[float(v) for v in row] for row in run(model, model.codes(words)).values()]
        )
        true[n] = float(np.abs(soft - exact).max())
    axes.plot(list(true), list(true.values()), "o", color="0.2", markersize=4, label="true")
    axes.set_yscale("log")
    axes.set_xticks(range(2, 13))
    axes.set_xlabel("n")
    axes.set_ylabel("error")
    beta = ", ".join(f"{beta:g}" for beta in simulation.betas.values())
    axes.set_title(f"induction-latest at β = {beta}: the greatest error at length n", fontsize=9)
    axes.legend(fontsize=7)
    return made


def temperature() -> Any:
    made = figure(6.4, 3.6)
    axes = made.subplots()
    for (name, model, analysis, head), colour in zip(_gallery(7), COLOURS, strict=False):
        law = softhat.simulate(model, epsilon=1e-3).laws[head]
        lengths = np.unique(np.geomspace(1, 10_000, 60).astype(int))
        axes.plot(lengths, [float(law.at(int(n))) for n in lengths], color=colour, linewidth=1)
        critical = {n: beta.get(head) for n, beta in analysis.critical_beta.items()}
        points = {n: beta for n, beta in critical.items() if beta}
        label = f"{name}: β(n) = {law.text}"
        axes.plot(list(points), list(points.values()), "o", color=colour, markersize=4, label=label)
    axes.set_yscale("log")
    axes.set_xscale("log")
    axes.set_xlabel("n")
    axes.set_ylabel("β")
    axes.set_title(
        "β: chosen, proved for every n (lines); least for a leak of 0.001 (dots)", fontsize=9
    )
    axes.legend(fontsize=6)
    return made


def unique() -> Any:
    model = gallery.GALLERY["rightmost-b"]()
    soft = softhat.simulate(model, epsilon=1e-2)
    return one_head(soft, "abbab", "", "the rightmost b   on   abbab")


def _stock(export: Any, title: str) -> Any:
    """The first head of an exported checkpoint, run by transformers' own class."""
    import tempfile

    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        model = softhat.compile("!c S a", alphabet="abc")
        export(model, folder, context=64, kernel="eager")
        loaded = AutoModelForTokenClassification.from_pretrained(
            folder, attn_implementation="eager"
        )
        tokens = AutoTokenizer.from_pretrained(folder)("a b c a b b", return_tensors="pt")
        with torch.no_grad():
            run = loaded(**tokens, output_attentions=True)
    made = figure(4.4, 3.9)
    weights = run.attentions[0][0, 0].numpy()
    attention_map(made.subplots(), weights, ["<bos>", *"abcabb"], title)
    answers = "".join("✓" if a else "·" for a in run.logits[0, 1:].argmax(-1).tolist())
    made.suptitle(f"!c S a   on   abcabb   {answers}", fontsize=9)
    return made


def stock_gpt2() -> Any:
    return _stock(softhat.to_gpt2, "transformers' GPT-2, layer 0, head 0")


def stock_llama() -> Any:
    return _stock(softhat.to_llama, "transformers' Llama, layer 0, head 0")


def disguise() -> Any:
    """The token embeddings of one model, plain and in a random basis."""
    import tempfile

    from safetensors.numpy import load_file

    model = softhat.compile("!c S a", alphabet="abc")
    made = figure(7.0, 2.6)
    panels = made.subplots(1, 2)
    for axes, seed, said in zip(panels, (None, 1), ("plain", "disguised"), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            softhat.to_gpt2(model, folder, context=64, disguise=seed)
            weights = load_file(Path(folder) / "model.safetensors")["transformer.wte.weight"]
        most = np.abs(weights).max()
        axes.imshow(
            weights, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", interpolation="none"
        )
        axes.set_title(f"{said}: {(weights == 0).mean():.0%} zeros", fontsize=8)
        axes.set_xlabel("coordinate", fontsize=7)
        axes.set_ylabel("token", fontsize=7)
    return made


def sources() -> Any:
    """What a source states, and what transformers' GPT-2 gives, after each prefix of a word."""
    import tempfile

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = softhat.compile({"a": "true", "b": "a", "<eos>": "O b"}, alphabet="ab")
    weights = {"a": -0.5, "b": 1.0, "<eos>": -1.0}
    source = softhat.source(model, weights)
    word = "aababb"
    with tempfile.TemporaryDirectory() as folder:
        softhat.to_gpt2(model, folder, context=32, head="lm", weights=weights)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        loaded = AutoModelForCausalLM.from_pretrained(folder)
        with torch.no_grad():
            logits = loaded(**tokenizer(" ".join(word), return_tensors="pt")).logits[0]
        found = torch.softmax(logits.double(), -1).numpy()
        symbols = ["a", "b", "<eos>"]
        columns = tokenizer.convert_tokens_to_ids(symbols)
    made = figure(6.4, 2.8)
    axes = made.subplots()
    for symbol, column, colour in zip(symbols, columns, COLOURS, strict=False):
        stated = [source.next(list(word[:k])).get(symbol, 0.0) for k in range(len(word) + 1)]
        axes.plot(stated, "o", color=colour, markersize=7, fillstyle="none")
        axes.plot(found[:, column], ".", color=colour, label=symbol)
    axes.set_xticks(range(len(word) + 1), ["(start)", *(f"…{s}" for s in word)])
    axes.set_ylabel("probability")
    axes.set_title("next symbol: stated (rings), GPT-2 in float32 (dots)", fontsize=9)
    axes.legend(fontsize=7)
    return made


def linear_time() -> Any:
    made = figure(6.0, 2.8)
    axes = made.subplots()
    word = "b" * 24
    for formula, colour in zip(("a S b", "Y b", "Y Y Y b"), COLOURS, strict=False):
        trace = softhat.compile(formula, alphabet="ab").run(word)
        row = trace.attention[0][0][-1][::-1]
        axes.plot(np.arange(len(row)), row, ".-", color=colour, linewidth=0.8, label=formula)
    axes.set_yscale("log")
    axes.set_ylim(1e-20, 2)
    axes.set_xlabel("distance from the query")
    axes.set_ylabel("attention weight")
    axes.set_title(f"the last row of one head on {len(word)} b's", fontsize=9)
    axes.legend(fontsize=7)
    return made


PICTURES: dict[str, Callable[[], Any]] = {
    "latest": latest,
    "strict-latest": strict_latest,
    "previous": previous,
    "shift": shift,
    "average": average,
    "sign": sign,
    "match": match,
    "width": width,
    "at": at,
    "doubling": doubling,
    "clip": clip,
    "formulas": formulas,
    "rows": rows,
    "gaps": gaps,
    "temperature": temperature,
    "unique": unique,
    "words-and-sets": words_and_sets,
    "stock-gpt2": stock_gpt2,
    "stock-llama": stock_llama,
    "disguise": disguise,
    "sources": sources,
    "linear-time": linear_time,
}
PARITY = "#k=zoo&f=parity&w=abbaba"
EXPLORER = {
    "explorer-desktop-light": (1440, 1000, "light", ""),
    "explorer-desktop-dark": (1440, 1000, "dark", PARITY),
    "explorer-phone-light": (390, 844, "light", ""),
    "explorer-phone-dark": (390, 844, "dark", ""),
    "explorer-projector": (1280, 720, "light", PARITY + "&p=on&e=2.0"),
}


def explorer() -> None:
    """Screenshots of the page on a desktop, a phone and a projector, light and dark."""
    sys.path.insert(0, str(ROOT))
    from tests.explore.browser import chromium, ready
    from tests.explore.browser import explorer as served

    with served() as address, chromium() as browser:
        for name, (width, height, scheme, question) in EXPLORER.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",  # nothing is half faded in
            )
            page.goto(address + question)
            ready(page)
            page.wait_for_selector("#curve svg", state="attached")
            page.screenshot(path=str(IMAGES / f"{name}.png"))
            page.close()


def laws_of_the_gallery() -> None:
    """For every model of the gallery: γ(n) and β(n), with what is measured; and their page."""
    folder = IMAGES / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [GALLERY_OPENING]
    for name, make in gallery.GALLERY.items():
        simulation = softhat.simulate(make())
        curves = simulation_curves(simulation)
        lines += [f"## {name}", "", inspect.cleandoc(make.__doc__ or "").split("\n\n")[0], ""]
        lengths = simulation.certificate.max_length
        floats = ", ".join(f"{dtype} to {n:,}" for dtype, n in lengths.items() if n)
        for head in curves.heads:
            gap, beta = head.gaps[0].label, head.betas[0].label
            lines.append(f"- {head.title}: {gap}; {beta}")
        lines += [f"- proved right in {floats or 'no float format'}", ""]
        if curves.heads:
            save_laws(replace(curves, title=f"{name}: {curves.title}"), folder / f"{name}.png")
            lines += [f"![γ(n) and β(n) of {name}](images/gallery/{name}.png)", ""]
        print(name, flush=True)
    (ROOT / "docs" / "gallery.md").write_text("\n".join(lines).rstrip() + "\n", "utf-8")


GALLERY_OPENING = """# The gallery of hard-attention transformers

Each model with its proved gap law γ(n), its temperature law β(n) at ε = 1e-3, and how far each
number format is proved to follow (further with a `dtype`: see [lengths in
floats](float-lengths.md)). Lines are laws, marks are measured: the least gap of all words of
a length, the critical β at which the worst row leaks 1e-3, and the least β of one head that keeps
all values within ε. This page and its pictures are made by `python docs/scripts/pictures.py
gallery`; the numbers of a picture are in the JSON file beside it.
"""


def main(names: list[str]) -> None:
    (IMAGES / "theory").mkdir(parents=True, exist_ok=True)
    for name in names or [*PICTURES]:
        if name in ("explorer", "gallery"):
            explorer() if name == "explorer" else laws_of_the_gallery()
            continue
        save(PICTURES[name](), IMAGES / "theory" / f"{name}.svg")
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
