"""Golden files: what a library must compute on models whose every number is known.

    cases.json            the cases, and how far values may be off, by number format
    test_golden.py        a test to copy, for `transformers`; another library changes `activations`
    models/ID/            a stock GPT-2
    expected/ID.safetensors   tokens; the residual stream after each block, attention, logits; and
                          the logits when one head carries what it carries on the corrupt words

Values are float64. Half of the models are soft twins: on a sharp one a wrong scale of the scores
would not show. The others are disguised: no weight in them is 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.numpy import save

from softhat.circuits.exam.making import question_files, write_question
from softhat.circuits.exam.paper import Question, questions
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.io.errors import SofthatError
from softhat.io.files import (
    check_derived,
    exists,
    json_bytes,
    make_folder,
    write_file,
)

FORMAT = "softhat-golden/1"
CASES = "cases.json"
BOUNDS = {"float64": 1e-9, "float32": 2e-4}
"""How far an entry may be off, in units of the tensor's largest entry, or of 1 if that is less."""
TASKS = tuple(
    f"{family}-{level}"
    for family in ("n-gram", "star-free", "counting", "induction", "machine")
    for level in (1, 3)
)
WORDS = 16


def golden_questions() -> tuple[Question, ...]:
    """Ten tasks, each soft and disguised."""
    return questions(
        1, [f"{t}.{dress}" for t in TASKS for dress in ("gpt2-soft", "gpt2-disguised")]
    )


def write_golden(folder: Path, chosen: tuple[Question, ...] | None = None) -> int:
    """Write the files; how many cases there are."""
    chosen = golden_questions() if chosen is None else chosen
    _begin(folder)
    make_folder(folder / "expected")
    cases = []
    for question in chosen:
        files, known = question_files(question)
        write_question(folder, question.id, files, known)
        tensors, head = expected(read_subject(folder, question.id))
        write_file(folder / "expected" / f"{question.id}.safetensors", save(tensors), own=True)
        cases.append({"id": question.id, "layer": head[0], "head": head[1]})
    document = {"format": FORMAT, "bounds": BOUNDS, "cases": cases}
    write_file(folder / CASES, json_bytes(document), own=True)
    write_file(folder / "test_golden.py", TEST.encode(), own=True)
    return len(cases)


def _begin(folder: Path) -> None:
    """Refuse a folder that holds other things; one with golden files is written anew."""
    make_folder(folder)
    check_derived(folder / CASES, FORMAT.partition("/")[0])
    if not exists(folder / CASES):
        if any(folder.iterdir()):
            raise SofthatError(f"{folder} holds other things: choose another folder")
        write_file(folder / CASES, json_bytes({"format": FORMAT, "cases": []}), own=True)


def expected(subject: Subject) -> tuple[dict[str, Any], tuple[int, int]]:
    """The tensors of a case, and the head that is patched: the first of the circuit."""
    import torch

    model = subject.hooked
    clean, corrupt = (tokens[:WORDS] for tokens in subject.tokens)
    name = next(n.name for n in subject.circuit.nodes if n.name.startswith("a") and n.witness)
    layer, head = map(int, name[1:].split(".h"))
    with torch.no_grad():
        logits, cache = model.run_with_cache(clean)
        _, other = model.run_with_cache(corrupt)
        hook = f"blocks.{layer}.attn.hook_z"

        def patch(z: Any, hook: Any) -> Any:
            z = z.clone()
            z[:, :, head] = other[hook.name][:, :, head]
            return z

        patched = model.run_with_hooks(clean, fwd_hooks=[(hook, patch)])
    tensors = {"clean": clean, "corrupt": corrupt, "logits": logits, "patched": patched}
    for number in range(model.cfg.n_layers):
        tensors[f"residual.{number}"] = cache[f"blocks.{number}.hook_resid_post"]
        tensors[f"attention.{number}"] = cache[f"blocks.{number}.attn.hook_pattern"]
    return {key: value.contiguous().numpy() for key, value in tensors.items()}, (layer, head)


TEST = '''\
"""Golden files of softhat: does a library compute what these models compute?

Copy this file beside cases.json. `activations` runs Hugging Face's GPT-2; to test another
library, change it and keep the names: logits, residual.K and attention.K of block K, and the
logits with head `head` of block `layer` patched (its z, as it is on the corrupt words).
"""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

HERE = Path(__file__).parent
CASES = json.loads((HERE / "cases.json").read_text())


def activations(folder, clean, corrupt, layer, head, dtype):
    from transformers import GPT2ForTokenClassification

    options = {"dtype": dtype, "attn_implementation": "eager"}
    model = GPT2ForTokenClassification.from_pretrained(folder, **options).eval()
    blocks, seen = model.transformer.h, {}
    for k, block in enumerate(blocks):
        block.register_forward_hook(lambda m, i, out, k=k: seen.update({f"residual.{k}": out}))
    ran = model(clean, output_attentions=True)
    values = {name: out[0] if isinstance(out, tuple) else out for name, out in seen.items()}
    values |= {f"attention.{k}": weights for k, weights in enumerate(ran.attentions)}
    projection, width = blocks[layer].attn.c_proj, model.config.n_embd // model.config.n_head
    own, carried = slice(head * width, (head + 1) * width), []
    with projection.register_forward_pre_hook(lambda m, z: carried.append(z[0].clone())):
        model(corrupt)

    def patch(module, inputs):
        z = inputs[0].clone()
        z[..., own] = carried[0][..., own]
        return (z,)

    values["logits"] = ran.logits
    with projection.register_forward_pre_hook(patch):
        values["patched"] = model(clean).logits
    return values


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["id"])
def test_golden(case, dtype):
    expected = load_file(HERE / "expected" / f"{case['id']}.safetensors")
    words = expected.pop("clean"), expected.pop("corrupt")
    with torch.no_grad():
        place = HERE / "models" / case["id"]
        seen = activations(place, *words, case["layer"], case["head"], getattr(torch, dtype))
    for name, value in expected.items():
        room = CASES["bounds"][dtype] * max(1.0, float(value.abs().max()))
        assert (seen[name].double() - value).abs().max() <= room, name
'''
