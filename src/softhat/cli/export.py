"""`softhat export`: a model in the formats of other tools."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from softhat.cli.alphabets import is_inferred, shown_alphabet
from softhat.cli.inputs import DisguiseOption, JsonOption
from softhat.cli.models import (
    ModelArgument,
    ModelOptions,
    OutputNameOption,
    read_model,
    refuse_ahat,
)
from softhat.cli.output import check_suffix, length_and_reason, print_facts, print_json
from softhat.cli.written_options import is_given
from softhat.io.errors import SofthatError
from softhat.io.files import is_folder, parse_json, read_json, read_text
from softhat.models.model import Model
from softhat.models.value_model import ValueModel

Target = Literal["gpt2", "llama", "gguf", "torch", "huggingface", "onnx"]
STOCK = ("gpt2", "llama", "gguf")
CONTEXT, MARGIN = 1024, 20.0


def command(
    model: ModelArgument,
    to: Annotated[
        Target,
        typer.Option(metavar="FORMAT", help="gpt2, llama, gguf, torch, huggingface or onnx."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder or file to write.")],
    options: ModelOptions,
    context: Annotated[
        int, typer.Option(help="gpt2, llama: positions, `<bos>` included.")
    ] = CONTEXT,
    activation: Annotated[
        Literal["relu", "gelu_new"],
        typer.Option(help="gpt2: the activation of its gates."),
    ] = "relu",
    kernel: Annotated[
        Literal["sdpa", "eager"],
        typer.Option(help="gpt2, llama: the attention that the certificate is for."),
    ] = "sdpa",
    head: Annotated[
        Literal["token-classification", "lm", "multi-label"],
        typer.Option(
            metavar="KIND",
            help="gpt2, llama: token-classification, or lm, which needs an output for each symbol, "
            "'may come next'; gpt2, huggingface: multi-label has a logit for each output.",
        ),
    ] = "token-classification",
    margin: Annotated[float, typer.Option(help="gpt2, llama: how far apart logits are.")] = MARGIN,
    disguise: DisguiseOption = None,
    family: Annotated[str, typer.Option(help="llama: llama, mistral or qwen2.")] = "llama",
    positions: Annotated[
        Literal["rope", "bits"] | None,
        typer.Option(
            help="llama, gguf: bits for bfloat16 and for mod(m, r). [default: rope, for gguf bits]"
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="gpt2, llama --head lm: JSON, a log-weight for each token (a number, or numbers "
            "by output that are added where it holds).",
        ),
    ] = None,
    output: OutputNameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a model for other tools: a stock GPT-2 or Llama, llama.cpp, Hugging Face, PyTorch or
    ONNX.

    Example: softhat export '!c S a' --alphabet abc --to gpt2 --context 1024 -o out
    """
    _refuse(
        to,
        {
            "--context": (is_given("--context"), STOCK),
            "--activation": (is_given("--activation"), ("gpt2",)),
            "--kernel": (is_given("--kernel"), ("gpt2", "llama")),
            "--head": (
                is_given("--head") and head != "multi-label",
                STOCK if head == "lm" else (*STOCK, "huggingface"),
            ),
            "--head multi-label": (head == "multi-label", ("gpt2", "llama", "huggingface")),
            "--margin": (is_given("--margin"), STOCK),
            "--disguise": (disguise is not None, ("gpt2", "llama")),
            "--weights": (weights is not None, ("gpt2", "llama")),
            "--family": (is_given("--family"), ("llama",)),
            "--positions": (positions is not None, ("llama", "gguf")),
        },
    )
    if output is not None and to in ("torch", "onnx"):
        raise SofthatError(f"--to {to} writes all outputs of a model: leave --output out")
    if to in ("onnx", "gguf"):
        check_suffix(out, (f".{to}",), f"an export to {to}")
    read = read_model(model, options)
    if is_folder(out) and os.path.realpath(out) == os.path.realpath(model):
        raise SofthatError(f"{out} is the model itself: write the export to another folder")
    refuse_ahat(read, model)
    if to in STOCK and not isinstance(read, Model | ValueModel):
        raise SofthatError(
            f"{model} simulates hard attention; a stock {'GPT-2' if to == 'gpt2' else 'Llama'} "
            "holds compiled formulas: use --to torch, huggingface or onnx"
        )
    stated = None if weights is None else parse_json(read_text(weights), str(weights))
    chosen = {} if output is None else {"output": output}
    match to:
        case "gpt2":
            given: Any = (context, activation, kernel, head, output, margin, disguise, stated)
            _function("gpt2.to_gpt2", "to_gpt2")(read, out, *given)
        case "llama":
            given = (context, family, head, positions, kernel, output, margin, disguise, stated)
            _function("llama.to_llama", "to_llama")(read, out, *given)
        case "gguf":
            given = (context, head, positions or "bits", output, margin)
            _function("gguf", "to_gguf")(read, out, *given)
        case "torch":
            _function("torch", "to_torch_file")(read, out)
        case "huggingface":
            _function("huggingface", "to_huggingface")(read, out, head=head, **chosen)
        case "onnx":
            _function("onnx.to_onnx", "to_onnx")(read, out)
    certified, reasons = _certified(to, out)
    if as_json:
        stated = {"max_length": certified, "reasons": reasons}
        print_json({"format": to, "written": str(out), **stated})
        return
    facts = [("format", to), ("written to", str(out))]
    if isinstance(read, Model):
        inferred = is_inferred(model, options.alphabet)
        facts.append(("alphabet", shown_alphabet(read.transformer.symbols, inferred)))
    facts += [
        (f"certified, {name}", length_and_reason(most, reasons.get(name, "")))
        for name, most in (certified or {}).items()
    ]
    print_facts(facts)


def _refuse(to: Target, given: dict[str, tuple[bool, tuple[str, ...]]]) -> None:
    """An option that the format does not have would be ignored: say so instead."""
    for name, (written, formats) in given.items():
        if written and to not in formats:
            has = " and ".join(f"--to {target}" for target in formats)
            raise SofthatError(f"{name} is an option of {has}, not of --to {to}: leave it out")


def _function(module: str, name: str) -> Callable[..., Any]:
    """An export is imported when it is asked for: each needs other packages."""
    function: Callable[..., Any] = getattr(
        importlib.import_module(f"softhat.export.{module}"), name
    )
    return function


def _certified(to: Target, out: Path) -> tuple[dict[str, int] | None, dict[str, str]]:
    """The lengths that the written certificate states, in the folder or beside the ONNX file, and
    what ends the proof. GGUF files have none, and one beside them is another file's."""
    if to == "gguf":
        return None, {}
    out = Path(os.path.realpath(out))
    path = out.with_suffix(".certificate.json") if to == "onnx" else out / "certificate.json"
    document = read_json(path)
    stated = document.get("max_length")
    reasons = {name: entry.get("reason") for name, entry in document.get("formats", {}).items()}
    reasons |= document.get("binding") or {}
    ends = {name: str(why) for name, why in reasons.items() if why}
    return (stated if isinstance(stated, dict) else None), ends
