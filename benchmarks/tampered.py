"""Tampered models of every kind, and fresh AHATs: how many are certified, and of those wrong.

    python -m benchmarks.tampered [--seed N] [--share X] [--json FILE]

Weights are changed with the checker in mind (tests/proof/aimed*.py, tests/proof/stock/attack.py),
and whatever is still certified is run: in softhat's dense and linear runtimes in every number
format, a share of it in PyTorch and ONNX Runtime, exports in the stock class of transformers, ONNX
files in ONNX Runtime. Answers are compared with the formula's definition. Trained models whose
weights were nudged are held against all short words. `--share 0.01` is a quick look at all of them.

The file says which commit was attacked, the seed, and for each kind the models, those certified
and those certified and wrong. The last must be 0; the command exits with 1 if it is not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import softhat
from benchmarks.commits import commit
from softhat.export.checking import certify_export
from softhat.export.reading import read_export
from softhat.logic.random import random_formula
from softhat.logic.syntax.parse import parse
from softhat.models.model import Model
from softhat.proof.kernels import kernel_certificate
from tests.proof import test_aimed, test_programs
from tests.proof.aimed import MUTATIONS, originals, tampered
from tests.proof.aimed_ledger import tampered_ledger
from tests.proof.simulations.test_attack import attack as attack_ahat
from tests.proof.stock.attack import anywhere, attack, slightly, together
from tests.trained.test_soundness import nudged

ATTENTIONS = ("unbounded", "temperature", "hard")
IN_TORCH, IN_ONNX = 25, 50
"""One model in so many also runs there."""
STOCK = (
    "a S (b & Y a)",
    "#(a) > #(b) | Y (a S b)",
    "Y Y a & !(b S Y b)",
    "2*#(a) - #(Y b) = 1",
    "O[1,3] a & !Y b",
    "Y (a xor Y b)",
    "Y Y Y Y a",
    "b S (a & #(b) > 1)",
    "last[a | Y a = b] & b",
)
IN_A_FOLDER = 60
"""Changes of one exported folder."""
IN_ONNX_FILES = ("a S (b & Y a)", "2*#(a) - #(Y b) = 1", "F (a & X b)", "#*(a) >= 2 & X b")
SHORT, LONG = 6, 40
"""Of the words that exports are held against."""

Seen = Counter[str]
WRONG = "certified and wrong"


def session_of(file: Path) -> Any:
    """ONNX Runtime on a file, as a function from words to truth values."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda words: session.run(None, {name: words})[0][..., 0] > 0


def wrong_in_onnx(model: Model, rng: np.random.Generator) -> str | None:
    """What is certified of the ONNX file in float32, and wrong in ONNX Runtime."""
    limit = kernel_certificate(model, "onnx")["max_length"]["float32"]
    if not limit:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.onnx"
        softhat.to_onnx(model, file)
        at = test_aimed.wrong_at(model, limit, rng, session_of(file))
    return None if at is None else f"ONNX at {at} of {limit}"


def wrong_at_the_limit(model: Model, rng: np.random.Generator) -> str | None:
    """bfloat16 at its certified length, where that is short enough to run whole words."""
    limit = model.certificate.max_length["bfloat16"]
    (formula,) = model.formulas.values()
    for n in {limit, limit - 1}:
        if 0 < n <= 300:
            words = test_aimed.words_of(n, rng)
            texts = ["".join(model.transformer.symbols[c] for c in word) for word in words]
            says = model.run_batch(words, "bfloat16")[..., 0] > 0
            if (says != np.stack([formula.truth(word) for word in texts])).any():
                return f"bfloat16 at {n} of {limit}"
    return None


def of_one(model: Model, seed: int, rng: np.random.Generator) -> str | None:
    said = test_aimed.attack(model, rng, torch=seed % IN_TORCH == 0)
    if said is not None or model.certificate.void:
        return said
    if seed % IN_ONNX == 0 and model.attention != "hard":
        said = wrong_in_onnx(model, rng)
    return said or (wrong_at_the_limit(model, rng) if seed % 8 == 0 else None)


def native(seeds: range, change: Callable[[Model, np.random.Generator], Model]) -> Iterator[str]:
    """Changed models of the formulas that the tests attack, and of random ones."""
    fixed = list(originals(ATTENTIONS))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model = fixed[seed % len(fixed)]
        if seed % 4 == 0:
            family = ("all", "past", "counting", "past-counting", "star-free")[seed // 4 % 5]
            formula = random_formula(rng, int(rng.integers(2, 10)), "abc", family)
            compiled = softhat.compile(formula, alphabet="abc", attention=ATTENTIONS[seed % 3])
            model = compiled if compiled.transformer.layers else model
        changed = change(model, rng)
        said = of_one(changed, seed, rng)
        if said:
            yield f"{WRONG}: seed {seed}, {changed.formulas}: {said}"
        yield "void" if changed.certificate.void else "certified"


def aimed(model: Model, rng: np.random.Generator) -> Model:
    return tampered(model, rng, MUTATIONS)[1]


def heads(model: Model, rng: np.random.Generator) -> Model:
    return tampered(model, rng, test_aimed.HEADS)[1]


def ledger(model: Model, rng: np.random.Generator) -> Model:
    return Model(tampered_ledger(model.transformer, rng)[1], model.formulas)


def claims(model: Model, rng: np.random.Generator) -> Model:
    """The weights of a formula with another claim: a part of it, negated or exchanged."""
    (name,) = model.formulas
    text = str(model.formulas[name])
    near = {"a": "b", "b": "c", "|": "&", "&": "|", "S": "U", "Y": "X", "X": "N", ">": "<",
            "O": "H", "F": "G", "#": "#>", "1": "2", "2": "3", "U": "W", "Z": "Y"}  # fmt: skip
    for _ in range(20):
        at = int(rng.integers(len(text)))
        other = text[:at] + near.get(text[at], text[at]) + text[at + 1 :]
        match int(rng.integers(4)):
            case 0:
                other = f"!({text}) xor !({other}) | ({text})"
            case 1:
                other = f"({other}) & ({text} | O first)"
        try:
            changed = Model(model.transformer, {name: parse(other)})
            changed.certificate  # noqa: B018 (a symbol outside the alphabet raises)
        except softhat.SofthatError:
            continue
        return changed
    return model


def programs(seeds: range) -> Iterator[str]:
    models = list(test_programs.originals((7, 19)))
    for seed in seeds:
        try:
            test_programs.attack_many(models, range(seed, seed + 1), torch=seed % IN_TORCH == 0)
        except AssertionError as error:
            if "every mutation voids" not in str(error):
                yield f"{WRONG}: seed {seed}: {error}"
            yield "void"
        else:
            yield "certified"


def stock(seeds: range) -> Iterator[str]:
    for at in range(0, len(seeds), IN_A_FOLDER):
        seed = seeds[at]
        number = seed // IN_A_FOLDER
        formula = parse(STOCK[number % len(STOCK)])
        model = softhat.compile(formula, alphabet="ab")
        disguise = 7 if number % 3 == 2 else None
        mutate = (anywhere, together)[number // 2 % 2] if disguise is None else slightly
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "m"
            if number % 2:
                softhat.to_gpt2(model, folder, 17, disguise=disguise)
            else:
                family = ("llama", "mistral", "qwen2")[number // 4 % 3]
                positions: Any = "rope" if mutate is together else ("rope", "bits")[number // 8 % 2]
                softhat.to_llama(
                    model, folder, 17, family=family, positions=positions, disguise=disguise
                )
            short = np.array(list(product(range(2), repeat=SHORT)))
            long = np.random.default_rng(seed).integers(0, 2, (12, 16))
            count = min(IN_A_FOLDER, len(seeds) - at)

            def truth(codes: Any, formula: Any = formula) -> Any:
                return np.stack([formula.truth("".join("ab"[c] for c in word)) for word in codes])

            try:
                seen = attack(folder, truth, (short, long), count, seed, mutate)
            except AssertionError as error:
                yield f"{WRONG}: seed {seed}: {formula}: {error}"
                continue
        yield from seen.elements()


def onnx_files(seeds: range) -> Iterator[str]:
    """Constants of files changed, weights and indices alike."""
    import onnx

    models = [
        softhat.compile(text, alphabet="ab", attention=attention)
        for text in IN_ONNX_FILES
        for attention in ("unbounded", "temperature")
    ]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model = models[seed % len(models)]
        dtype = ("float32", "float64")[seed // len(models) % 2]
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "m.onnx"
            softhat.to_onnx(model, file, dtype=dtype)
            changed = onnx.load(file)
            change_constant(changed, rng)
            onnx.save(changed, file)
            try:
                certificate = certify_export(read_export(file))
            except softhat.SofthatError:
                yield "refused"
                continue
            limit = certificate.max_length.get(dtype, 0)
            if certificate.void or not limit:
                yield "void"
                continue
            answers = session_of(file)
        short = np.array(list(product(range(2), repeat=SHORT)))
        (formula,) = model.formulas.values()
        for words in (short, rng.integers(0, 2, (12, LONG))):
            words = words[:, :limit]
            truth = np.stack([formula.truth("".join("ab"[c] for c in word)) for word in words])
            if (answers(words) != truth).any():
                yield f"{WRONG}: seed {seed}: {formula}, ONNX in {dtype} to {limit}"
        yield "certified"


def change_constant(file: Any, rng: np.random.Generator) -> None:
    from onnx import numpy_helper

    constants = [t for t in file.graph.initializer if numpy_helper.to_array(t).size]
    tensor = constants[int(rng.integers(len(constants)))]
    array = np.array(numpy_helper.to_array(tensor))
    nonzero = np.argwhere(array)
    at = tuple(int(rng.integers(size)) for size in array.shape)
    if len(nonzero) and rng.random() < 0.6:
        at = tuple(rng.choice(nonzero))
    if array.dtype.kind == "f":
        array[at] = array[at] * rng.choice((0, -1, 0.5, 2, 1 + 1e-6)) + rng.choice((0, 1, -1e-3))
    else:
        array[at] += rng.choice((-1, 1))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def trained(seeds: range) -> Iterator[str]:
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place:
            try:
                nudged(Path(place), seed)
            except AssertionError as error:
                yield f"{WRONG}: seed {seed}: {error}"
        yield "held against all words"


def ahats(seeds: range) -> Iterator[str]:
    for seed in seeds:
        try:
            yield attack_ahat(seed)
        except AssertionError as error:
            yield f"{WRONG}: seed {seed}: {error}"


KINDS: dict[str, tuple[int, Callable[[range], Iterator[str]]]] = {
    "native, equal in the reals": (8_000, lambda seeds: native(seeds, aimed)),
    "native, heads": (4_000, lambda seeds: native(seeds, heads)),
    "native, something more or elsewhere": (12_000, lambda seeds: native(seeds, ledger)),
    "native, another claim": (3_000, lambda seeds: native(seeds, claims)),
    "RASP programs": (800, programs),
    "fresh AHATs": (520, ahats),
    "stock folders": (4_800, stock),
    "ONNX files": (2_000, onnx_files),
    "trained models": (200, trained),
}
"""How many of each, and what came of each."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=1.0, help="of the number of models")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    report: dict[str, Any] = {"commit": commit(), "seed": args.seed, "kinds": {}}
    for kind, (count, attacked) in KINDS.items():
        began = time.process_time()
        seen: Seen = Counter()
        seeds = range(args.seed, args.seed + max(1, round(count * args.share)))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for what in attacked(seeds):
                seen[what.split(":")[0]] += 1
                if what.startswith(WRONG):
                    print(what, flush=True)
        report["kinds"][kind] = {
            "models": sum(number for what, number in seen.items() if what != WRONG),
            **dict(sorted(seen.items())),
            WRONG: seen[WRONG],
            "processor seconds": round(time.process_time() - began, 1),
        }
        print(kind, report["kinds"][kind], flush=True)
        report["models"] = sum(found["models"] for found in report["kinds"].values())
        report[WRONG] = sum(found[WRONG] for found in report["kinds"].values())
        if args.json:
            args.json.write_text(json.dumps(report, indent=1) + "\n")
    return min(report[WRONG], 1)


if __name__ == "__main__":
    sys.exit(main())
