"""`softhat demo`: the main job on an example, step by step."""

from __future__ import annotations

from softhat.cli.output import print_facts, print_table
from softhat.compiler import compile as compile_formula

TEXT = "!c S a"
WORDS = ("abca", "abbb", "abcb", "bbbb", "acac")
LENGTH = 2_000


def command() -> None:
    """Compile a formula to a softmax transformer, run it on words, print its certificate.

    Example: softhat demo
    """
    from softhat.logic.syntax.parse import parse

    formula = parse(TEXT, alphabet="abc")
    model = compile_formula(formula, alphabet="abc")
    size = model.size
    print(f"formula   {formula}   ({formula.pretty()}): no c since the last a")
    print(
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
    long = "a" + "b" * (LENGTH - 2) + "c"
    agrees = (model.truth(long) == formula.truth(long)).all()
    print(f"and a word of {LENGTH:,} symbols: {'equal' if agrees else 'DIFFERENT'} everywhere\n")
    attention = model.run("abcab").attention[0][0]
    print("attention on <bos>abcab (percent; rows look at columns):")
    for token, weights in zip(("<bos>", *"abcab"), attention, strict=True):
        cells = "".join(f"{100 * x:5.0f}" if x >= 0.005 else "    ." for x in weights)
        print(f"  {token:>5} {cells}")
    print("\ncertificate: proved right for every word up to this length")
    print_facts((name, f"{n:,}") for name, n in model.certificate.max_length.items())
    print("\nsee it move: softhat explore serves a page for formulas, words and temperatures")
