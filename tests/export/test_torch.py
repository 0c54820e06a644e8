"""The PyTorch module gives the formula's truth, whatever its dtype, padding and attention path."""

from __future__ import annotations

import builtins
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import softhat
from softhat.io.errors import MissingExtraError, SofthatError
from softhat.logic.syntax.nodes import Formula
from tests.cases import CASES
from tests.export.suite import TARGETS, all_codes, chosen, expected, long_words, padded, wrong
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import every, sizes

torch = pytest.importorskip("torch")


def module_of(formula: Formula | str, target: str = "unbounded", dtype: str = "float32") -> Any:
    return softhat.to_torch(softhat.compile(formula, alphabet="ab", attention=target), dtype)


def truth(module: Any, codes: Any, **options: Any) -> Any:
    with torch.no_grad():
        return (module(torch.as_tensor(codes), **options)[..., 0] > 0).numpy()


@pytest.mark.parametrize("part", every(4, range(4)))
def test_truth_on_100_formulas_in_float32(part: int) -> None:
    for k, (formula, target) in enumerate(chosen(100)[part::4]):
        module = module_of(formula, target)
        assert not wrong(formula, lambda codes, m=module: truth(m, codes), k), (formula, target)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize("step", sizes(3, 1))
def test_truth_within_the_certified_length(dtype: str, step: int) -> None:
    from softhat.proof.kernels import kernel_certificate

    for k, (formula, target) in enumerate(chosen(34 if dtype == "bfloat16" else 10)[::step]):
        model = softhat.compile(formula, alphabet="ab", attention=target)
        certified = kernel_certificate(model, "torch")["max_length"][dtype]
        if certified < 8:
            continue
        module = softhat.to_torch(model, dtype)
        longest = min(200, certified)
        assert not wrong(formula, lambda codes, m=module: truth(m, codes), k, longest), formula


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("target", TARGETS)
def test_truth_on_all_formulas(target: str, dtype: str) -> None:
    from softhat.proof.kernels import kernel_certificate

    for k, (formula, _) in enumerate(chosen(1000)):
        model = softhat.compile(formula, alphabet="ab", attention=target)
        certified = kernel_certificate(model, "torch")["max_length"][dtype]
        module = softhat.to_torch(model, dtype)
        longest = min(400, certified)
        if longest >= 8:
            assert not wrong(formula, lambda codes, m=module: truth(m, codes), k, longest), formula


@pytest.mark.full
def test_long_words_at_the_certified_length() -> None:
    """Words that hug the threshold, at the last certified length up to 20,000."""
    from softhat.proof.kernels import kernel_certificate

    for text in ("2*#(a) - 3*#(b) = 1", "#(a) >= #>(b)", "!b S a", "Y Y a", "#(a) = #(b)"):
        for dtype in ("float32", "bfloat16", "float16"):
            model = softhat.compile(text, alphabet="ab")
            n = min(kernel_certificate(model, "torch")["max_length"][dtype], 20_000)
            codes = long_words(n, 2, 5)
            module = softhat.to_torch(model, dtype)
            got = np.concatenate([truth(module, codes[k : k + 1]) for k in range(len(codes))])
            assert (got == expected(softhat.parse(text), codes, "ab")).all(), (text, dtype, n)


REFUSED = ("huge weights",)  # cannot be exact weights: an error of the compiler


@pytest.mark.parametrize(
    "case", [case for case in CASES[::6] if case.name not in REFUSED], ids=lambda case: case.name
)
def test_languages(case: Any) -> None:
    """Expected answers in plain Python; several alphabets, propositions among them."""
    names = {"propositions" if case.propositional else "alphabet": case.alphabet}
    model = softhat.compile(case.formula, **names)
    module = softhat.to_torch(model)
    where = case.at or ("first" if _pure_future(model) else "last")
    place = 0 if where == "first" else -1
    for word in case.words(most=60):
        codes = model.encode(word)[None]
        assert truth(module, codes)[0, place] == case.accepts(word), word


def _pure_future(model: Any) -> bool:
    from softhat.logic.semantics.truth import resolve_at

    try:
        return resolve_at(model.formulas["output"], None) == "first"
    except ValueError:
        return False


@settings(max_examples=30)
@given(formulas("ab", 8), st.text("ab", min_size=1, max_size=12), st.sampled_from(TARGETS))
def test_certified_answers_are_those_of_the_definition(
    formula: Formula, word: str, target: str
) -> None:
    """Any formula, huge coefficients and thresholds among them: right, or not certified."""
    from softhat.proof.kernels import kernel_certificate

    try:
        model = softhat.compile(formula, alphabet="ab", attention=target)
    except SofthatError:
        assume(False)  # a coefficient that cannot be an exact weight
    certified = kernel_certificate(model, "torch")["max_length"]
    codes = model.encode(word)[None]
    for dtype in ("float32", "bfloat16"):
        if len(word) <= certified[dtype]:
            got = truth(softhat.to_torch(model, dtype), codes)[0].tolist()
            assert got == oracle.truth(formula, word), dtype


def test_padding_anywhere_changes_nothing() -> None:
    for k, (formula, target) in enumerate(chosen(25)):
        module = module_of(formula, target)
        tokens, mask, words = padded(k)
        got = truth(module, tokens, attention_mask=torch.as_tensor(mask))
        for row, word in enumerate(words):
            want = expected(formula, word[None], "ab")[0]
            assert (got[row][mask[row] == 1] == want).all(), (formula, target)


def test_maps_are_those_of_the_numpy_runtime() -> None:
    for text in ("!b S a", "Y a & X b", "#(a) - #>(b) >= 0", "F a & H b"):
        for target in TARGETS:
            model = softhat.compile(text, alphabet="ab", attention=target)
            run = softhat.to_torch(model, "float64")(
                torch.tensor([[0, 1, 1, 0, 1]]), return_attention=True
            )
            kept = model.run("abbab", dtype="float64")
            for ours, theirs in zip(run.attention, kept.attention, strict=True):
                assert np.allclose(ours[0].detach().numpy(), theirs, atol=1e-12)
            assert np.allclose(run.margins[0, :, 0].detach().numpy(), kept.margins["output"])


def test_fused_and_explicit_attention_agree() -> None:
    for formula, target in chosen(30):
        module = module_of(formula, target)
        codes = torch.as_tensor(long_words(40, 2, 1))
        fused, explicit = module(codes), module(codes, return_attention=True).margins
        assert torch.allclose(fused, explicit, atol=1e-4)
        module.kernel = "eager"
        assert torch.equal(module(codes), explicit)


def test_submodules_have_names_and_hooks() -> None:
    module = module_of("Y a & X b")
    names = dict(module.named_modules())
    for name in (
        "embedding",
        "positions",
        "layers.0.attention",
        "layers.0.feed_forward",
        "readout",
    ):
        assert name in names
    seen: dict[str, Any] = {}
    for name in ("layers.0.attention.pattern", "layers.0.feed_forward.activation"):
        names[name].register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name, o))
    module(torch.tensor([[0, 1, 0]]), return_attention=True)
    assert seen["layers.0.attention.pattern"].shape[-2:] == (5, 5)  # with both sinks


def test_a_hook_can_replace_the_attention_pattern() -> None:
    module = module_of("Y a")
    tokens = torch.tensor([[0, 0, 0]])
    module.layers[0].attention.pattern.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
    assert not (module(tokens, return_attention=True).margins > 0).any()
    assert (module(tokens)[0, 1:] > 0).all()


def test_state_dict_round_trip() -> None:
    a, b = module_of("!b S a"), module_of("!b S a")
    with torch.no_grad():
        for parameter in b.parameters():
            parameter.zero_()
    b.load_state_dict(a.state_dict())
    tokens = torch.as_tensor(all_codes(2, 5))
    assert torch.equal(a(tokens), b(tokens))


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("b S Y a", "temperature"),
        pytest.param("#(a) > #>(b)", "temperature", marks=pytest.mark.full),
        pytest.param("Y a xor b S Y a", "unbounded", marks=pytest.mark.full),
    ],
)
def test_compiles_to_one_graph(text: str, target: str) -> None:
    torch._dynamo.reset()
    module = module_of(text, target)
    compiled = torch.compile(module, backend="eager", fullgraph=True, dynamic=True)
    codes = all_codes(2, 6)
    mask = torch.ones((64, 6), dtype=torch.int64)
    assert (truth(compiled, codes) == expected(softhat.parse(text), codes, "ab")).all()
    assert (truth(compiled, codes, attention_mask=mask) == truth(module, codes)).all()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, when it is imported
def test_inductor() -> None:
    torch._dynamo.reset()
    text = "#(a) > #(b) & b S Y a"
    compiled = torch.compile(module_of(text), fullgraph=True, dynamic=True)
    for length in (3, 8):
        codes = all_codes(2, length)
        assert (truth(compiled, codes) == expected(softhat.parse(text), codes, "ab")).all()


@pytest.mark.parametrize("text", ["b S Y a", "2*#(a) - 3*#(b) = 1", "G(a -> X b)"])
@pytest.mark.parametrize("target", ["unbounded", "temperature"])
def test_fine_tuning_starts_from_no_errors_and_improves(text: str, target: str) -> None:
    module = module_of(text, target)
    codes = all_codes(2, 8)
    tokens = torch.as_tensor(codes)
    labels = torch.as_tensor(expected(softhat.parse(text), codes, "ab"))
    assert all(parameter.requires_grad for parameter in module.parameters())
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-4)
    losses = []
    for _ in range(5):
        margins = module(tokens)[..., 0]
        assert ((margins > 0) == labels).all()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(margins, labels.float())
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(b <= a for a, b in pairwise(losses)), losses
    used = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    assert all(gradient.isfinite().all() for gradient in used.values())
    assert {name.split(".")[-2] for name in used} >= {"embedding", "query", "value", "readout"}


def test_several_outputs() -> None:
    texts = {"one": "Y a", "two": "O b"}
    module = softhat.to_torch(softhat.compile(texts, alphabet="ab"))
    codes = all_codes(2, 4)
    margins = module(torch.as_tensor(codes))
    for at, text in enumerate(texts.values()):
        want = expected(softhat.parse(text), codes, "ab")
        assert ((margins[..., at] > 0).numpy() == want).all()


def test_a_word_longer_than_float32_positions_would_be_exact_in_float64() -> None:
    """Features are computed as integers: rounding is that of the dtype alone."""
    module = module_of("i = 3", dtype="float64")
    index = torch.tensor([[0, 2**24 + 1]])
    table = module.positions.features(index > 0, index, torch.ones(1, 1, dtype=torch.float64))
    assert 2.0**24 + 1 in table


def test_errors() -> None:
    with pytest.raises(SofthatError, match="unknown dtype 'int8'"):
        module_of("a", dtype="int8")
    with pytest.raises(SofthatError, match="unknown kernel 'flash'"):
        softhat.to_torch(softhat.compile("a"), kernel="flash")
    with pytest.raises(ValueError, match="the module adds <bos> and <eos> itself"):
        module_of("a")(torch.tensor([[2, 0, 1]]))
    with pytest.raises(ValueError, match=r"expected symbol indices of shape \(batch, n\)"):
        module_of("a")(torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="expected an attention_mask of shape"):
        module_of("a")(torch.tensor([[0, 1]]), attention_mask=torch.ones(1, 3))
    with pytest.raises(SofthatError, match="expected a model"):
        softhat.to_torch("a S b")


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **options: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest, **options)

    model = softhat.compile("a")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"softhat\[torch\]"):
        softhat.to_torch(model)


def test_a_folder_loads_without_softhat(tmp_path: Path) -> None:
    from softhat.export.torch import to_torch_file

    to_torch_file(softhat.compile("#(a) > #>(b)", alphabet="ab"), tmp_path / "m")
    code = (
        "import sys; sys.modules['softhat'] = None; sys.path.insert(0, 'm')\n"
        "import torch\n"
        "from module_softhat import SofthatTransformer\n"
        "margins = SofthatTransformer.load('m')(torch.tensor([[0, 1, 0, 0]]))\n"
        "print((margins[0, :, 0] > 0).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(softhat.parse("#(a) > #>(b)").truth("abaa").tolist())
    assert (tmp_path / "m" / "certificate.json").is_file()


@pytest.mark.parametrize("bos", [False, True])
def test_the_modules_own_features_are_those_of_softhat(bos: bool) -> None:
    """The exported file has a copy of the evaluator: it must say the same, feature by feature."""
    from softhat.export.architecture.module_softhat import Positions
    from softhat.numbers.positions import Named, floats
    from softhat.numbers.stored import to_json
    from tests.numbers.test_positions import FEATURES

    features = (*FEATURES, Named("i", scaled=True))
    module = Positions([to_json(f) for f in features], 1, bos).to(torch.float64)
    for n in range(1, 11):
        index = torch.arange(1 - bos, n + 2)[None]
        ordinary = (index >= 1) & (index <= n)
        seen = module.features(ordinary, index, torch.full((1, 1), 16.0, dtype=torch.float64))
        wanted = floats(features, n, bos=bos, eos=True, scale=16)
        assert np.array_equal(seen[0].numpy(), wanted)
    with pytest.raises(ValueError, match="the position table ends"):
        index = torch.arange(1 - bos, 14)[None]
        module.features(index >= 1, index, torch.ones(1, 1))
