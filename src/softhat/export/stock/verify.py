"""Trying to break a stock GPT-2 or Llama: Hugging Face runs it, formulas say what is right.

All short words, random words and words made for the formulas, in batches of equal length. The
checkpoint is run as users run it (`transformers`), in the number format and by the attention
kernel that are asked for.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.words import all_words
from softhat.export.reading import Export
from softhat.export.stock.config import class_of
from softhat.export.tokenizer import check_tokenizer
from softhat.export.torch import import_torch, torch_dtype
from softhat.io.errors import SofthatError
from softhat.io.files.reading import check_folder
from softhat.io.pretrained import import_transformers, pretrained, said_by
from softhat.logic.sources import Source
from softhat.models.verification.report import Counterexample, Verification
from softhat.proof.stock.automata import Claimed, formulas_alone
from softhat.transformer.weights import EOS

ROUNDING = 1e-9
"""Of exponentials and sums in float64, and the share of forbidden tokens."""
BATCH = 1 << 16
"""Positions in a batch."""


def verify_stock(export: Export, certificate: Any, asked: Mapping[str, Any]) -> Verification:
    """Compare a stock checkpoint with its formulas; words stay within its certificate, if there
    is one for the dtype, and within its context. `asked` are the options of `verify` that it has.
    """
    checkpoint = export.checkpoint
    assert checkpoint is not None
    formulas: Mapping[str, Claimed] = export.formulas
    if checkpoint.head == "lm":
        formulas = export.next_tokens()
    certified = certificate.max_length.get(asked["dtype"], 0)
    longest = min(asked["max_length"], checkpoint.context - 1)
    if certified and not asked["beyond"]:
        longest = min(longest, certified)
    run = _Runner(export, formulas, asked["dtype"], certificate)
    return compare(run, asked, certified, longest)


class ExportRun(ABC):
    """A file that some software has loaded, and the truth of what it is claimed to compute."""

    names: list[str]
    """What is compared."""
    runtime: str
    """Which software it is."""

    def __init__(
        self, tokens: Sequence[frozenset[str]], propositional: bool, asked: Iterable[Claimed]
    ) -> None:
        self.tokens, self.propositional, self.claims = tokens, propositional, [*asked]

    def word(self, codes: NDArray[np.int64]) -> Any:
        """The word of these codes: 0, 1, … for each kind of token."""
        tokens = [self.tokens[code] for code in codes]
        if self.propositional:
            return [set(token) for token in tokens]
        return [next(iter(token)) for token in tokens]

    def truth(self, words: list[Any]) -> list[NDArray[np.bool_]]:
        """What is right, of each claim."""
        return [np.stack(claim.truth_many(words)) for claim in self.claims]

    @abstractmethod
    def __call__(self, codes: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Values (words, positions, names), and what is right."""


def compare(run: ExportRun, asked: Mapping[str, Any], certified: int, longest: int) -> Verification:
    """Run all short words, random and hostile ones: values are positive where it is true."""
    names = run.names
    began = time.perf_counter()
    words = 0
    counts = {"exhaustive": 0, "random": 0, "adversarial": 0}
    margins = dict.fromkeys(names, float("inf"))
    reached = 0
    counterexample: Counterexample | None = None
    letters = len(run.tokens)
    for source, batch in _batches(letters, longest, asked):
        values, truth = run(batch)
        for k, name in enumerate(names):
            margins[name] = min(margins[name], float(np.abs(values[..., k]).min()))
        words += len(batch)
        counts[source] += len(batch)
        wrong = np.argwhere(((values > 0) != truth) | np.isnan(values))
        if len(wrong):
            w, i, k = map(int, wrong[0])
            counterexample = Counterexample(
                run.word(batch[w]),
                i,
                names[k],
                bool(truth[w, i, k]),
                source == "exhaustive",
                batch.shape[1] <= certified,
                None,
            )
            break
        reached = batch.shape[1] if source == "exhaustive" else reached
    elapsed = time.perf_counter() - began
    rate = words / elapsed if elapsed else 0.0
    return Verification(
        ok=counterexample is None,
        program_proved=False,
        complete=True,
        words=words,
        exhaustive_length=reached,
        max_length=longest,
        letters=letters,
        counts=counts,
        counterexample=counterexample,
        max_leak=0.0,
        min_margin=min(margins.values()),
        margins=margins,
        heads=(),
        dtype=asked["dtype"],
        runtime=run.runtime,
        certified_length=certified,
        seconds=elapsed,
        rates=dict.fromkeys(counts, rate),
        elapsed=elapsed,
    )


class _Runner(ExportRun):
    """The checkpoint in `transformers`, and the truth of its formulas."""

    def __init__(
        self, export: Export, formulas: Mapping[str, Claimed], dtype: str, certificate: Any
    ) -> None:
        transformers, kind = import_transformers(), torch_dtype(dtype)
        c = export.checkpoint
        assert c is not None
        tokens = (*c.symbols, EOS)
        asked = tokens if c.head == "lm" else tuple(formulas)
        super().__init__(c.tokens, c.propositional, [formulas[name] for name in asked])
        self.torch, self.c = import_torch(), c
        weights = export.log_weights
        self.source = None if weights is None else Source(tokens, formulas_alone(formulas), weights)
        self.names = [*asked, *(["the distribution"] if self.source else [])]
        bounds = certificate.document["formats"].get(dtype, {}).get("bounds", {})
        self.most = float(bounds.get("probability, in units of it", 0.0)) + ROUNDING
        kernel, name = str(export.kernel), class_of(export.kind, c.head)
        check_folder(export.path)
        self.runtime = f"transformers {transformers.__version__}, {name}, {kernel}"
        try:
            check_tokenizer(export.path, c.symbols, c.propositional, True, False)
            runs = getattr(transformers, name)
            self.model = pretrained(runs, export.path, kind, attn_implementation=kernel)
        except SofthatError:
            raise
        except Exception as error:
            raise _failure("load", export, error) from None
        self.export = export

    def __call__(self, codes: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        torch = self.torch
        first = np.full((len(codes), 1), self.c.bos)
        tokens = torch.from_numpy(np.concatenate([first, codes], axis=1))
        try:
            with torch.no_grad():
                logits = self.model(tokens).logits[:, 1:].float().numpy()
        except Exception as error:  # so do weights of the wrong shape
            raise _failure("run", self.export, error) from None
        if self.c.head == "lm":  # a token is allowed if its logit is positive
            order = [*range(len(self.c.symbols)), len(self.c.symbols) + 1]
            values = logits[..., order]
        elif self.c.head == "multi-label":
            values = logits
        else:
            values = (logits[..., 1:] - logits[..., :1]) / 2
        words = [self.word(row) for row in codes]
        truth = self.truth(words)
        if self.source is not None:  # as one more answer: is it the stated distribution?
            within = self.most - self._off(self.source, words, values)
            values = np.concatenate([values, within[..., None]], axis=-1)
            truth.append(np.ones(within.shape, np.bool_))
        return values, np.stack(truth, axis=-1)

    def _off(self, source: Source, words: list[Any], logits: NDArray[Any]) -> NDArray[Any]:
        """How far the probabilities are from the stated ones, in units of them (of 1, where a
        token is forbidden)."""
        wide = logits.astype(np.float64)
        probabilities = np.exp(wide - wide.max(axis=-1, keepdims=True))
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        rows = source.distributions(words)
        stated = np.array(
            [[[row[token] for token in source.tokens] for row in word[1:]] for word in rows]
        )
        off: NDArray[Any] = (
            np.abs(probabilities - stated) / np.where(stated > 0, stated, 1.0)
        ).max(-1)
        return off


def _failure(step: str, export: Export, error: Exception) -> SofthatError:
    """What transformers or torch says of a checkpoint that is not what its configuration says."""
    return SofthatError(f"transformers cannot {step} {export.path}: {said_by(error)}")


def _batches(
    letters: int, longest: int, asked: Mapping[str, Any]
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """(source, codes) of words of equal length, the shortest first."""
    tried = 0
    for n in range(1, min(asked["exhaustive"], longest) + 1):
        if tried + letters**n > asked["max_words"]:
            break
        tried += letters**n
        for codes in all_words(letters, n, max(1, BATCH // (n + 1))):
            yield "exhaustive", codes
    rng = np.random.default_rng(asked["seed"])
    for source in ("random", "adversarial"):
        left = asked[source]
        while left > 0:
            n = longest if source == "adversarial" else int(rng.integers(1, longest + 1))
            size = min(left, max(1, BATCH // (n + 1)), 64)
            yield source, np.stack([_hostile(rng, letters, n, source) for _ in range(size)])
            left -= size


def _hostile(rng: np.random.Generator, letters: int, n: int, source: str) -> NDArray[np.int64]:
    """A random word; hostile ones have two letters, balanced, in blocks or with one exception."""
    if source == "random":
        return rng.integers(0, letters, n)
    a, b = rng.integers(0, letters, 2)
    word = np.full(n, a)
    match int(rng.integers(4)):
        case 0:
            word[1::2] = b
        case 1:
            word[n // 2 :] = b
        case 2:
            word[int(rng.integers(n))] = b
        case _:
            word[rng.permutation(n)[: n // 2]] = b
    return word
