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
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.errors import SofthatError
from softhat.files.reading import MOST_TENSOR_BYTES, read_bytes, read_json

Wide = npt.NDArray[np.longdouble]
Codes = tuple[int, ...]
FAR = 48  # the longest words tried of a simulation for every length
PARTS = ("query", "key", "value", "output")
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
        return _recheck(_Files(Path(folder)), max_words, starts, seed, lengths)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, SofthatError):
            raise
        raise SofthatError(f"cannot re-check {str(folder)!r}: damaged, {error!r}") from None


def _recheck(
    files: _Files, max_words: int, starts: int, seed: int, lengths: tuple[int, ...] | None
) -> Check:
    failures = files.weight_faults()
    model = _Model(files)
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
        failures += _compare(files, model, words, worst)
    rng = np.random.default_rng(seed)
    longer = lengths if lengths is not None else tuple({(reached + top) // 2, top})
    for n in sorted(n for n in longer if reached < n <= top):
        found = _attack(model, symbols, n, starts, rng)
        tried += len(found)
        failures += _compare(files, model, found, worst)
    return Check(not failures, tuple(failures), tried, reached, worst)


class _Files:
    """The folder's four files, as they are."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load

        try:
            self.config: dict[str, Any] = read_json(folder / "config.json", folder)
            self.ahat: dict[str, Any] = read_json(folder / "ahat.json", folder)
            self.certificate: dict[str, Any] = read_json(folder / "certificate.json", folder)
            self.tensors = load(read_bytes(folder / "model.safetensors", folder, MOST_TENSOR_BYTES))
        except ValueError as error:
            raise SofthatError(f"cannot re-check {str(folder)!r}: {error}") from None
        try:
            self._read()
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SofthatError(f"cannot re-check {str(folder)!r}: {error!r}") from None

    def _read(self) -> None:
        """The heads' matrices and β by their place, whichever version the folder has.

        Version 1 has a tensor for each matrix, and a constant β multiplied into the queries;
        version 2 has the heads of a layer in one tensor, padded with zeros, and laws of β.
        """
        self.head: dict[tuple[int, int, str], npt.NDArray[Any]] = {}
        self.laws: dict[tuple[int, int], Any] = {}
        self.folded: dict[tuple[int, int], Fraction] = {}
        old = self.config["version"] == 1
        betas = {(b["layer"], b["head"]): b["beta"] for b in self.config.get("betas", [])}
        for l, layer in enumerate(self.ahat["layers"]):
            for h in range(len(layer["heads"])):
                for part in PARTS:
                    whole = f"layers.{l}.{part}"
                    alone = f"layers.{l}.heads.{h}.{part}"
                    self.head[l, h, part] = self.tensors[alone] if old else self.tensors[whole][h]
                self.folded[l, h] = Fraction(betas[l, h]) if old else Fraction(1)
                self.laws[l, h] = "1" if old else self.config["layers"][l]["heads"][h]["law"]
        weights, bias = ("output.weights", "output.bias") if old else ("readout", "readout_bias")
        self.output = self.tensors[weights].reshape(-1), float(self.tensors[bias].reshape(-1)[0])

    def forward(self, l: int) -> list[npt.NDArray[Any]]:
        """The feed-forward matrices and biases of a layer."""
        if self.config["version"] == 1:
            names = [f"feed_forward.{part}" for part in ("in", "in_bias", "out", "out_bias")]
        else:
            names = ["into", "into_bias", "out", "out_bias"]
        return [self.tensors[f"layers.{l}.{name}"].astype(np.longdouble) for name in names]

    def scale(self, name: tuple[int, int], n: int) -> np.longdouble:
        """What scores are multiplied by: β(n), unless a constant β is in the tensors."""
        return np.longdouble(float(_law(self.laws[name], n)))

    def weight_faults(self) -> list[str]:
        """Each tensor is the source's, each query β times the source's where β is folded in."""
        faults = []
        for l, layer in enumerate(self.ahat["layers"]):
            for h, head in enumerate(layer["heads"]):
                constant = self.laws[l, h] if isinstance(self.laws[l, h], str) else "1"
                beta = Fraction(constant) * self.folded[l, h]
                top = beta.numerator // (beta.numerator & -beta.numerator)
                if top.bit_length() > 6 or beta.denominator & (beta.denominator - 1):
                    faults.append(f"β of layer {l}, head {h} has more than 6 significant bits")
                for part in PARTS:
                    factor = self.folded[l, h] if part == "query" else Fraction(1)
                    if not _is_multiple(self.head[l, h, part], head[part], factor):
                        faults.append(f"tensor {part} of layer {l}, head {h} is not β·W")
        return faults


def _is_multiple(stored: npt.NDArray[Any], wanted: list[list[Any]], factor: Fraction) -> bool:
    """Is it factor times the matrix, up to a rounding of each entry and one of the product, and
    0 where the matrix has no entry?"""
    rest = stored.copy()
    for r, row in enumerate(wanted):
        for c, w in enumerate(row):
            exact = Fraction(w) * factor
            if abs(Fraction(float(stored[r, c])) - exact) > abs(exact) / 2**51:
                return False
            rest[r, c] = 0
    return not rest.any()


class _Model:
    """Both evaluators, from the files alone."""

    def __init__(self, files: _Files) -> None:
        a = files.ahat
        self.bos = bool(a.get("bos", False))
        self.features = a["positions"]
        self.alphabet = a["alphabet"]
        self.embedding = [[Fraction(x) for x in a["embedding"][s]] for s in self.alphabet]
        self.eos = bool(a.get("eos", False))
        for sink in ["<bos>"] * self.bos + ["<eos>"] * self.eos:
            self.embedding.append([Fraction(x) for x in a["embedding"][sink]])
        self.places = _fractions(a["position_embedding"])
        self.layers = [
            (
                [
                    (h["mask"], *(_fractions(h[p]) for p in ("query", "key", "value", "output")))
                    for h in layer["heads"]
                ],
                layer.get("feed_forward"),
            )
            for layer in a["layers"]
        ]
        self.weights = [Fraction(x) for x in a["output"]["weights"]]
        self.bias = Fraction(a["output"]["bias"])
        self.files = files

    def embed(self, word: Codes) -> list[list[Fraction]]:
        n = len(word)
        rows = [] if not self.bos else [(len(self.alphabet), 0)]
        rows += [(s, i + 1) for i, s in enumerate(word)]
        rows += [(len(self.embedding) - 1, n + 1)] * self.eos
        result = []
        for symbol, i in rows:
            seen = [_feature(f, i, n, self.bos) for f in self.features]
            result.append(
                [
                    e + sum((w * s for w, s in zip(row, seen, strict=True) if w), Fraction(0))
                    for e, row in zip(self.embedding[symbol], self.places, strict=True)
                ]
            )
        return result

    def exact(self, word: Codes) -> tuple[list[Fraction], dict[tuple[int, int], list[set[int]]]]:
        """Values and argmax sets with Fractions, straight from the definition."""
        x = self.embed(word)
        sets: dict[tuple[int, int], list[set[int]]] = {}
        for l, (heads, ff) in enumerate(self.layers):
            added = [list(row) for row in x]
            for h, (mask, wq, wk, wv, wo) in enumerate(heads):
                sets[l, h] = []
                keys = [_apply(wk, row) for row in x]
                values = [_apply(wv, row) for row in x]
                for i, row in enumerate(x):
                    q = _apply(wq, row)
                    scores = {
                        j: sum((a * b for a, b in zip(q, keys[j], strict=True)), Fraction(0))
                        for j in range(len(x))
                        if _sees(mask, i, j)
                    }
                    best = {j for j, s in scores.items() if s == max(scores.values())}
                    sets[l, h].append(best)
                    if best:
                        mean = [
                            sum((values[j][c] for j in best), Fraction(0)) / len(best)
                            for c in range(len(wv))
                        ]
                        for c, extra in enumerate(_apply(wo, mean)):
                            added[i][c] += extra
            x = added
            if ff is not None:
                x = [_forward(ff, row) for row in x]
        values_out = [
            sum((w * c for w, c in zip(self.weights, row, strict=True)), self.bias) for row in x
        ]
        return values_out[int(self.bos) :][: len(word)], sets

    def run(self, words: list[Codes], hard: bool) -> tuple[Wide, dict[tuple[int, int], Wide]]:
        """Values and attention in extended precision; `hard` averages near-maximal keys."""
        x: Wide = np.array(
            [[[np.longdouble(c.numerator) / np.longdouble(c.denominator) for c in row]
              for row in self.embed(word)] for word in words]
        )  # fmt: skip
        attention: dict[tuple[int, int], Wide] = {}
        size = x.shape[1]
        for l, (heads, ff) in enumerate(self.layers):
            added = x.copy()
            for h, (mask, *_) in enumerate(heads):
                wq, wk, wv, wo = (self.files.head[l, h, p].astype(np.longdouble) for p in PARTS)
                scale = self.files.scale((l, h), len(words[0]))
                scores = np.einsum("wik,wjk->wij", x @ wq.T, x @ wk.T) * scale
                sees = np.array([[_sees(mask, i, j) for j in range(size)] for i in range(size)])
                scores = np.where(sees, scores, -np.inf)
                top = scores.max(axis=2, keepdims=True)
                top = np.where(np.isfinite(top), top, 0.0)
                near = 1e-13 * (1 + np.abs(top))
                weights = (
                    (scores >= top - near).astype(np.longdouble) if hard else np.exp(scores - top)
                )
                weights = np.where(sees, weights, 0.0)
                total = weights.sum(axis=2, keepdims=True)
                attention[l, h] = (weights / np.where(total == 0, 1, total)).astype(np.longdouble)
                added = added + (attention[l, h] @ (x @ wv.T)) @ wo.T
            x = added
            if ff is not None:
                into, into_bias, out, out_bias = self.files.forward(l)
                x = x + np.maximum(x @ into.T + into_bias, 0) @ out.T + out_bias
        weights_out, bias = self.files.output
        values = x @ weights_out + bias
        return values[:, int(self.bos) :][:, : len(words[0])], attention


def _compare(
    files: _Files, model: _Model, words: list[Codes], worst: dict[int, float]
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
        exact, sets = model.exact(word)
        for i, value in enumerate(exact):
            wide = np.longdouble(value.numerator) / np.longdouble(value.denominator)
            error = abs(float(soft[k, i] - wide))
            worst[n] = max(worst.get(n, 0.0), error)
            slack = _SLACK * (1 + abs(float(value)))
            shown = "".join(model.alphabet[c] for c in word)
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


def _attack(
    model: _Model, symbols: int, n: int, starts: int, rng: np.random.Generator
) -> list[Codes]:
    """Words of length n with large error: local search from random and periodic words."""
    first = [tuple(int(s) for s in rng.integers(0, symbols, n)) for _ in range(starts)]
    for period in range(1, 4):
        for block in itertools.islice(itertools.product(range(symbols), repeat=period), 6):
            first.append(tuple(itertools.islice(itertools.cycle(block), n)))
    rare = [(s,) * (n - 1) + (t,) for s in range(symbols) for t in range(symbols)]
    pool = list(dict.fromkeys([*first, *rare]))
    score = _errors(model, pool)
    order = [pool[k] for k in np.argsort(-score)[:3]]
    result = []
    for word in order:
        best = float(_errors(model, [word])[0])
        for _ in range(4):
            near = [
                (*word[:k], s, *word[k + 1 :])
                for k in range(n)
                for s in range(symbols)
                if s != word[k]
            ]
            found = _errors(model, near)
            if float(found.max()) <= best:
                break
            word, best = near[int(found.argmax())], float(found.max())
        result.append(word)
    return result


def _errors(model: _Model, words: list[Codes]) -> npt.NDArray[np.float64]:
    """Soft against hard in extended precision: good enough to choose words, not to judge."""
    parts = []
    for start in range(0, len(words), 64):
        chunk = words[start : start + 64]
        difference = model.run(chunk, hard=False)[0] - model.run(chunk, hard=True)[0]
        parts.append(np.abs(difference).max(axis=1).astype(np.float64))
    return np.concatenate(parts)


def _law(law: Any, n: int) -> Fraction | float:
    """A temperature law, read by code of its own."""
    if isinstance(law, str):
        return Fraction(law)
    if "table" in law:
        known = law["table"]
        return Fraction(known[n - 1]) if n <= len(known) else _law(law["beyond"], n)
    ((kind, inner),) = law.items()
    match kind:
        case "n":
            return Fraction(max(1, n + inner))
        case "lcm":
            return Fraction(math.lcm(*range(1, max(1, n + inner) + 1)))
        case "sum":
            return sum((_law(part, n) for part in inner), Fraction(0))
        case "product":
            return math.prod((_law(part, n) for part in inner), start=Fraction(1))
        case "power":
            return _law(inner[0], n) ** inner[1]
        case "log":
            return math.log(_law(inner, n))
        case "max":
            return max(_law(part, n) for part in inner)
        case "min":
            return min(_law(part, n) for part in inner)
        case "rounded_up":
            value = Fraction(_law(inner[0], n))
            unit = Fraction(2) ** (math.frexp(value)[1] - inner[1])
            return math.ceil(value / unit) * unit
    raise SofthatError(f"cannot re-check a law of kind {kind!r}")


def _fractions(matrix: list[list[Any]]) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in matrix]


def _apply(matrix: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    return [
        sum((w * c for w, c in zip(row, vector, strict=True) if w), Fraction(0)) for row in matrix
    ]


def _forward(ff: dict[str, Any], row: list[Fraction]) -> list[Fraction]:
    hidden = [
        max(Fraction(0), h + Fraction(b))
        for h, b in zip(_apply(_fractions(ff["in"]), row), ff["in_bias"], strict=True)
    ]
    out = _apply(_fractions(ff["out"]), hidden)
    return [c + o + Fraction(b) for c, o, b in zip(row, out, ff["out_bias"], strict=True)]


def _sees(mask: str, i: int, j: int) -> bool:
    return {"none": True, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]


def _feature(feature: Any, i: int, n: int, bos: bool) -> Fraction:
    if isinstance(feature, dict):
        if "mod" in feature:
            m, r = feature["mod"]
            own = 0 < i <= n
            return Fraction(int(i % m == r and (own or feature.get("sinks", True))))
        return Fraction(0) if i > n else Fraction(feature["table"][i if bos else i - 1])
    if i > n and feature not in ("1", "n", "(-1)^i"):
        return Fraction(0)  # at <eos>
    if feature.startswith("i/n^"):
        return Fraction(i, n ** int(feature.removeprefix("i/n^")))
    table = {
        "1": Fraction(1),
        "i": Fraction(i),
        "n": Fraction(n),
        "i/n": Fraction(i, n),
        "1/i": Fraction(1, i) if i else Fraction(0),
        "(-1)^i": Fraction((-1) ** i),
        "i^2": Fraction(i**2),
        "r": Fraction(n + 1 - i if i else 0),
        "ordinary": Fraction(int(i > 0)),
        "first": Fraction(int(i == 1)),
        "last": Fraction(int(i == n)),
    }
    return table[feature]
