"""An independent re-check of a simulation's folder: it reads the files and believes nothing.

It shares no code with what chooses temperatures or bounds errors: it reads the JSON and the
tensors itself, evaluates the AHAT with Fractions straight from the definition and the softmax
model in extended precision straight from the tensors, and compares with what the certificate
claims. All words of the short lengths are run. At longer lengths it attacks: random and periodic
words, then single symbols changed as long as the error grows. Surviving the attack is no proof;
failing it refutes the certificate, with a word.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softhat.ahat.simulation.recheck.attack import attack
from softhat.ahat.simulation.recheck.definition import Codes, ExactDefinition
from softhat.ahat.simulation.recheck.files import Files
from softhat.ahat.simulation.recheck.tensors import Tensors
from softhat.io.errors import SofthatError
from softhat.io.files.names import as_path

FAR = 48  # the longest words tried of a simulation for every length
_SLACK = 1e-14  # rounding of the extended-precision run itself, relative to the values


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict: what failed (nothing, if ok), and how much was tried."""

    ok: bool
    failures: tuple[str, ...]
    words: int
    exhaustive_length: int
    worst: dict[int, float]  # greatest error seen at each length tried


def recheck(
    folder: str | Path,
    max_words: int = 2000,
    starts: int = 12,
    seed: int = 0,
    lengths: tuple[int, ...] | None = None,
) -> Check:
    """Re-check a simulation's folder. `lengths`: which longer lengths to attack."""
    try:
        return _recheck(Files(as_path(folder)), max_words, starts, seed, lengths)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, SofthatError):
            raise
        raise SofthatError(f"cannot re-check {str(folder)!r}: damaged, {error!r}") from None


def _recheck(
    files: Files, max_words: int, starts: int, seed: int, lengths: tuple[int, ...] | None
) -> Check:
    failures = files.weight_faults()
    exact = ExactDefinition(files.ahat)
    soft = Tensors(files, exact)
    symbols = len(files.ahat["alphabet"])
    top = files.certificate["length"]
    top = FAR if top is None else int(top)
    reached = 0
    while reached < top and sum(symbols**n for n in range(1, reached + 2)) <= max_words:
        reached += 1
    worst: dict[int, float] = {}
    tried = 0
    for n in range(1, reached + 1):
        words = list(itertools.product(range(symbols), repeat=n))
        tried += len(words)
        failures += _compare(files, soft, words, worst)
    rng = np.random.default_rng(seed)
    longer = lengths if lengths is not None else tuple({(reached + top) // 2, top})
    for n in sorted(n for n in longer if reached < n <= top):
        attacks = attack(soft, symbols, n, starts, rng)
        tried += len(attacks)
        failures += _compare(files, soft, attacks, worst)
    return Check(not failures, tuple(failures), tried, reached, worst)


def _compare(
    files: Files, model: Tensors, words: list[Codes], worst: dict[int, float]
) -> list[str]:
    """The certificate's claims against what is seen on these words of one length."""
    n = len(words[0])
    claim = files.certificate["lengths"].get(str(n))
    claimed = files.certificate["error"] if claim is None else claim["error"]["reals"]
    epsilon = files.certificate["epsilon"]
    leaks = {(h["layer"], h["head"]): h["leak"] for h in files.certificate["heads"]}
    soft, attention = model.run(words, hard=False)
    failures: list[str] = []
    for k, word in enumerate(words):
        exact, sets = model.exact.values(word)
        for i, value in enumerate(exact):
            wide = np.longdouble(value.numerator) / np.longdouble(value.denominator)
            error = abs(float(soft[k, i] - wide))
            worst[n] = max(worst.get(n, 0.0), error)
            slack = _SLACK * (1 + abs(float(value)))
            shown = "".join(model.exact.alphabet[c] for c in word)
            if error > claimed + slack:
                failures.append(
                    f"{shown!r} position {i + 1}: error {error:.6g}, certified {claimed:.6g}"
                )
            elif epsilon is not None and error > epsilon + slack:
                failures.append(f"{shown!r} position {i + 1}: error {error:.6g} > {epsilon:g}")
            elif epsilon is None and (float(soft[k, i]) > 0) != (value > 0):
                failures.append(f"{shown!r} position {i + 1}: the decision differs")
        for name, best in sets.items():
            for i, keys in enumerate(best):
                inside = sum(float(attention[name][k, i, j]) for j in keys)
                if keys and 1 - inside > leaks[name] + 1e-12:
                    failures.append(
                        f"layer {name[0]}, head {name[1]} leaks {1 - inside:.6g}, "
                        f"certified {leaks[name]:.6g}"
                    )
        if len(failures) > 20:
            break
    return failures
