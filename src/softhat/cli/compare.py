"""`softhat compare`: one formula in every target: sizes and certified lengths side by side."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from softhat.cli.alphabets import is_inferred, shown_alphabet
from softhat.cli.inputs import AlphabetOption, JsonOption, PropsOption, SymbolsOption
from softhat.cli.models import ModelArgument, ModelOptions, is_ahat, read_model
from softhat.cli.output import print_facts, print_json, print_table, say
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import is_folder
from softhat.models.compiler import compile as compile_formula
from softhat.models.value_model import ValueModel
from softhat.numerics.formats import FORMATS
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention

TARGETS: tuple[Attention, ...] = ("unbounded", "temperature")


def command(
    formula: ModelArgument,
    alphabet: AlphabetOption = None,
    form: Annotated[
        Literal["text", "csv", "latex"], typer.Option("--format", help="text, csv or latex.")
    ] = "text",
    symbols: SymbolsOption = False,
    props: PropsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compile a formula to each softmax target and compare what comes out.

    One row a target: its size, and the longest word on which it is proved right in each number
    format.

    Example: softhat compare '!c S a' --alphabet abc --format latex
    """
    if is_folder(formula):
        raise SofthatError("compare takes a formula, which it compiles to every target")
    if is_ahat(formula):
        raise SofthatError("compare takes a formula, not an AHAT: try softhat analyze")
    first = read_model(formula, ModelOptions(alphabet, TARGETS[0], symbols, props))
    if as_json:
        refuse_given("--json is a format", "--format")
    rows = [_row(first, target) for target in TARGETS]
    if as_json:
        print_json(rows)
    elif form == "csv":
        say(_csv(rows), end="")
    elif form == "latex":
        say(_latex(rows))
    else:
        print_table(list(rows[0]), [[_shown(value) for value in row.values()] for row in rows])
        inferred = is_inferred(formula, alphabet)
        print_facts([("alphabet", shown_alphabet(first.transformer.symbols, inferred))])


def _row(first: Any, target: Attention) -> dict[str, Any]:
    """The facts of one target; `first` is the model of the first one."""
    model = first if target == TARGETS[0] else _again(first, target)
    return {
        "attention": target,
        **asdict(model.size),
        **{name: model.certificate.max_length[name] for name in FORMATS},
    }


def _again(model: Any, target: Attention) -> Any:
    """The model's formulas compiled for another target."""
    if isinstance(model, ValueModel):
        return ValueModel(lower(model.compiled.program, target), model.compiled, model.name)
    t = model.transformer
    kind = {"propositions" if t.propositional else "alphabet": t.symbols}
    return compile_formula(model.formulas, attention=target, **kind)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _latex(rows: list[dict[str, Any]]) -> str:
    """A `tabular` for booktabs."""
    names = [name.replace("_", r"\_") for name in rows[0]]
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(names) - 1)}}}", r"\toprule"]
    lines += [" & ".join(names) + r" \\", r"\midrule"]
    for row in rows:
        cells = [f"{v:,}".replace(",", r"\,") if isinstance(v, int) else v for v in row.values()]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
