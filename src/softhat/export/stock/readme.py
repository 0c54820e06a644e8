"""The README of a stock export: what it computes, and how to run it without softhat."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.frontends.machines.machine import Machine
from softhat.frontends.regular.doubling import LogDepth
from softhat.logic.sources import Weights
from softhat.logic.syntax import nodes


def readme(
    name: str,
    lm_class: str,
    formulas: Mapping[str, nodes.Formula],
    tokens: tuple[str, ...],
    context: int,
    head: str,
    kernel: str,
    is_disguised: bool,
    log_weights: Weights | None,
    more: str = "",
) -> str:
    """`name` is the architecture's, `lm_class` that of its language models; `more` is what else
    must be said of running it."""
    lines = "\n".join(f"    {output}: {formula}" for output, formula in formulas.items())
    part = "direction (`directions.safetensors`)" if is_disguised else "coordinate"
    if head == "lm":
        use = (
            f"from transformers import AutoTokenizer, {lm_class}\n\n"
            "tokenizer = AutoTokenizer.from_pretrained(folder)\n"
            f"model = {lm_class}.from_pretrained(folder)\n"
            'start = tokenizer("", return_tensors="pt")\n'
            "print(tokenizer.batch_decode(model.generate(**start, max_new_tokens=20)))\n"
        )
        says = "After each symbol, every output says whether that token may come next."
        if log_weights is not None:
            says += (
                " The logits of allowed tokens are the log-weights in `certificate.json` plus one "
                "number, so that at temperature 1 the model's distribution is known."
            )
        if kernel == "eager":
            says += (
                " `generate` pads batches on the left, which is not certified for eager attention "
                "in float16 (rows without keys are not numbers there): use float32 or bfloat16, "
                'or `attn_implementation="sdpa"`.'
            )
    elif head == "multi-label":
        use = (
            "from transformers import AutoModelForTokenClassification, AutoTokenizer\n\n"
            "tokenizer = AutoTokenizer.from_pretrained(folder)\n"
            "model = AutoModelForTokenClassification.from_pretrained(folder)\n"
            f'batch = tokenizer({" ".join(tokens[:-2][:3])!r}, return_tensors="pt")\n'
            "print(model.config.id2label, model(**batch).logits[:, 1:] > 0)\n"
        )
        says = "It has a logit for each formula, positive at the symbols where the formula holds."
    else:
        use = (
            "from transformers import pipeline\n\n"
            f'print(pipeline("token-classification", folder)({" ".join(tokens[:-2][:3])!r}))\n'
        )
        says = "It labels each symbol of a word with the truth of the formula there."
    return (
        f"# A formula as a stock {name}\n\n"
        f"This checkpoint of the unmodified {name} architecture was compiled by softhat from\n\n"
        f"{lines}\n\n{says} Words have at most {context - 1:,} symbols, separated by "
        "spaces; the tokenizer adds `<bos>`.\n\n"
        f"```python\n{use}```\n\n{more}"
        f"`labels.json` says what each head, neuron and {part} computes, `certificate.json` for "
        "which number formats and attention kernel the answers are proved right.\n"
    )


def language_readme(name: str, language: LogDepth, context: int, more: str = "") -> str:
    """The README of a regular language's model."""
    word = " ".join(language.alphabet[:3])
    use = (
        "from transformers import pipeline\n\n"
        f'print(pipeline("token-classification", folder)({word!r}))\n'
    )
    return (
        f"# A regular language as a stock {name}\n\n"
        f"This checkpoint of the unmodified {name} architecture was compiled by softhat from the "
        "automaton in `language.json`, in logarithmic depth. It labels each symbol of a word with "
        "whether the prefix up to it belongs to the language. Words have at most "
        f"{context - 1:,} symbols, separated by spaces; the tokenizer adds `<bos>`.\n\n"
        f"```python\n{use}```\n\n{more}"
        "`certificate.json` says for which number formats and attention kernel the answers are "
        "proved right.\n"
    )


def machine_readme(name: str, machine: Machine, context: int, more: str = "") -> str:
    """The README of a machine's model."""
    start = " ".join(machine.prompt())
    use = (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)\n"
        "model = AutoModelForCausalLM.from_pretrained(folder)\n"
        f'prompt = tokenizer({start!r}, return_tensors="pt")\n'
        "print(tokenizer.decode(model.generate(**prompt, max_new_tokens=100)[0]))\n"
    )
    return (
        f"# A {machine.kind} machine as a stock {name}\n\n"
        f"This checkpoint of the unmodified {name} architecture was compiled by softhat from the "
        "machine in `machine.json`. Every step is a token; `<eos>` says that it halted. Prompt and "
        f"steps are at most {context - 1:,} tokens, separated by spaces; the tokenizer adds "
        "`<bos>`.\n\n"
        f"```python\n{use}```\n\n{more}"
        "`certificate.json` says for which number formats, and for how many tokens, every token of "
        "every run is proved right.\n"
    )
