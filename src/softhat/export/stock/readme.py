"""The README of a stock export: what it computes, and how to run it without softhat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softhat.export.stock.config import class_of
from softhat.export.stock.languages import StockLanguage

if TYPE_CHECKING:
    from softhat.export.stock.making import Asked

ENDS = "which number formats and attention kernel the answers are proved right.\n"


def readme(asked: Asked, name: str, is_disguised: bool, more: str) -> str:
    """`name` is the architecture's; `more` is what else must be said of running it."""
    title, source, use, ends = _parts(asked, is_disguised)
    return (
        f"# {title} as a stock {name}\n\n"
        f"This checkpoint of the unmodified {name} architecture was compiled by softhat from"
        f"{source}, separated by spaces; the tokenizer adds `<bos>`.\n\n"
        f"```python\n{use}```\n\n{more}{ends}"
    )


def _parts(asked: Asked, is_disguised: bool) -> tuple[str, str, str, str]:
    """What it is, what it was made of, a program that runs it, and what lies beside it."""
    machine, most = asked.model.machine, f"{asked.context - 1:,}"
    if machine is not None:
        source = (
            " the machine in `machine.json`. Every step is a token; `<eos>` says that it halted. "
            f"Prompt and steps are at most {most} tokens"
        )
        use = _loading("AutoModelForCausalLM, AutoTokenizer", "AutoModelForCausalLM") + (
            f'prompt = tokenizer({" ".join(machine.prompt())!r}, return_tensors="pt")\n'
            "print(tokenizer.decode(model.generate(**prompt, max_new_tokens=100)[0]))\n"
        )
        ends = (
            "`certificate.json` says for which number formats, and for how many tokens, every "
            "token of every run is proved right.\n"
        )
        return f"A {machine.kind} machine", source, use, ends
    if isinstance(asked.model, StockLanguage):
        use, says = _use(asked)
        if asked.head != "lm":
            says = (
                "It labels each symbol of a word with whether the prefix up to it belongs to the "
            )
            says += "language."
        source = (
            f" the automaton in `language.json`, in logarithmic depth. {says} Words have at most "
            f"{most} symbols"
        )
        ends = f"`certificate.json` says for {ENDS}"
        return "A regular language", source, use, ends
    use, says = _use(asked)
    lines = "\n".join(f"    {output}: {formula}" for output, formula in asked.shown.items())
    source = f"\n\n{lines}\n\n{says} Words have at most {most} symbols"
    part = "direction (`directions.safetensors`)" if is_disguised else "coordinate"
    ends = f"`labels.json` says what each head, neuron and {part} computes, `certificate.json` for "
    return "A formula", source, use, ends + ENDS


def _use(asked: Asked) -> tuple[str, str]:
    """A program that runs a formula's model, and what its logits say."""
    match asked.head:
        case "lm":
            auto = class_of(asked.family, "lm")
            use = _loading(f"AutoTokenizer, {auto}", auto) + (
                'start = tokenizer("", return_tensors="pt")\n'
                "print(tokenizer.batch_decode(model.generate(**start, max_new_tokens=20)))\n"
            )
            says = "After each symbol, every output says whether that token may come next."
            if isinstance(asked.model, StockLanguage):
                says = "It writes words of the language: a token may come next if some word of the "
                says += "language goes on with it, and `<eos>` where a word ends."
            if asked.weights is not None:
                says += (
                    " The logits of allowed tokens are the log-weights in `certificate.json` plus "
                    "one number, so that at temperature 1 the model's distribution is known."
                )
            if asked.kernel == "eager":
                says += (
                    " `generate` pads batches on the left, which is not certified for eager "
                    "attention in float16 (rows without keys are not numbers there): use float32 "
                    'or bfloat16, or `attn_implementation="sdpa"`.'
                )
            return use, says
        case "multi-label":
            auto = "AutoModelForTokenClassification"
            word = " ".join(asked.tokens[:-2][:3])
            use = _loading(f"{auto}, AutoTokenizer", auto) + (
                f'batch = tokenizer({word!r}, return_tensors="pt")\n'
                "print(model.config.id2label, model(**batch).logits[:, 1:] > 0)\n"
            )
            return use, (
                "It has a logit for each formula, positive at the symbols where the formula holds."
            )
    says = "It labels each symbol of a word with the truth of the formula there."
    return _pipeline(asked.tokens[:-2]), says


def _loading(names: str, auto: str) -> str:
    return (
        f"from transformers import {names}\n\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)\n"
        f"model = {auto}.from_pretrained(folder)\n"
    )


def _pipeline(symbols: Sequence[str]) -> str:
    return (
        "from transformers import pipeline\n\n"
        f'print(pipeline("token-classification", folder)({" ".join(symbols[:3])!r}))\n'
    )
