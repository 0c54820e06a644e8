"""`softhat demo`: the main job on an example, step by step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_facts, print_json, print_table, say
from softhat.models.compiler import compile as compile_formula
from softhat.models.model import Model

TEXT = "!c S a"
WORDS = ("abca", "abbb", "abcb", "bbbb", "acac")
LENGTH = 2_000


def command(as_json: JsonOption = False) -> None:
    """Compile a formula to a softmax transformer, run it on words, print its certificate.

    Example: softhat demo
    """
    from softhat.logic.syntax.parse import parse

    formula = parse(TEXT, alphabet="abc")
    model = compile_formula(formula, alphabet="abc")
    size = model.size
    if as_json:
        print_json(_document(model))
        return
    say(f"formula   {formula}   ({formula.pretty()}): no c since the last a")
    say(
        f"compiled  {size.layers} layer, {size.heads} head, d_model {size.d_model}, "
        f"{size.parameters} parameters, softmax attention, for inputs of every length\n"
    )
    margins = model.margins_many(WORDS)
    rows = []
    for word, row in zip(WORDS, margins, strict=True):
        agrees = (row > 0).tolist() == formula.truth(word).tolist()
        bits = "".join("1" if x > 0 else "." for x in row)
        rows.append([word, bits, f"{abs(row).min():.3f}", "yes" if agrees else "NO"])
    print_table(["word", "transformer", "least margin", "equals the formula"], rows)
    long = _long()
    agrees = (model.truth(long) == formula.truth(long)).all()
    say(f"and a word of {LENGTH:,} symbols: {'equal' if agrees else 'DIFFERENT'} everywhere\n")
    attention = model.run("abcab").attention[0][0]
    say("attention on <bos>abcab (percent; rows look at columns):")
    for token, weights in zip(("<bos>", *"abcab"), attention, strict=True):
        cells = "".join(f"{100 * x:5.0f}" if x >= 0.005 else "    ." for x in weights)
        say(f"  {token:>5} {cells}")
    say("\ncertificate: proved right for every word up to this length")
    print_facts((name, f"{n:,}") for name, n in model.certificate.max_length.items())
    say("\nsee it move: softhat explore serves a page for formulas, words and temperatures")


def _document(model: Model) -> dict[str, Any]:
    formula = model.formulas["output"]
    words = [*WORDS, _long()]
    return {
        "formula": TEXT,
        "size": asdict(model.size),
        "words": [
            {"word": word, "truth": (row > 0).tolist(), "margin": float(abs(row).min())}
            for word, row in zip(WORDS, model.margins_many(WORDS), strict=True)
        ],
        "agrees": all((model.truth(w) == formula.truth(w)).all() for w in words),
        "max_length": dict(model.certificate.max_length),
    }


def _long() -> str:
    return "a" + "b" * (LENGTH - 2) + "c"
