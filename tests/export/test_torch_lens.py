"""Compiled models in interpretability tools: TransformerLens' native architecture, nnsight."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

import softhat
from softhat.export.native.labels import native_labels
from softhat.io.errors import SofthatError
from tests.export.suite import all_codes, expected, long_words

torch = pytest.importorskip("torch")
# These packages warn about themselves when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")

DECODERS = ["b S Y a", "Y Y a xor O b", "2*#(a) - 3*#(b) = 1", "#(b S a) > 2 & mod(3, 1)", "a"]


def bridge_of(model: Any, **options: Any) -> Any:
    pytest.importorskip("transformer_lens")
    from softhat.export.lens import to_transformer_lens

    return to_transformer_lens(model, **options)


def with_bos(codes: Any) -> Any:
    return torch.as_tensor(np.concatenate([np.full((len(codes), 1), 2), codes], axis=1))


@pytest.mark.parametrize("text", DECODERS)
@pytest.mark.parametrize("target", ["unbounded", "temperature"])
def test_truth_of_decoders_in_transformer_lens(text: str, target: str) -> None:
    formula = softhat.parse(text)
    bridge = bridge_of(softhat.compile(formula, alphabet="ab", attention=target), context=128)
    for codes in (all_codes(2, 1), all_codes(2, 7), long_words(127, 2, 0)):
        with torch.no_grad():
            margins = bridge(with_bos(codes))[:, 1:, 0].numpy()
        assert ((margins > 0) == expected(formula, codes, "ab")).all()


def test_the_head_that_labels_name_attends_where_the_formula_says() -> None:
    model = softhat.compile("b S Y a", alphabet="ab")
    labels = native_labels(model.transformer)
    (head,) = [head for head in labels.heads if head.kind == "Previous"]
    _, cache = bridge_of(model, context=16).run_with_cache(with_bos(np.array([[0, 1, 1, 0, 1]])))
    pattern = cache[f"blocks.{head.layer}.attn.hook_pattern"][0, head.head]
    assert pattern.argmax(-1).tolist()[1:] == [0, 1, 2, 3, 4]


def test_what_transformer_lens_cannot_express_is_refused() -> None:
    for text in ("n = 3", "last"):
        with pytest.raises(SofthatError, match="must run as a decoder"):
            bridge_of(softhat.compile(text, alphabet="ab"))
    with pytest.raises(SofthatError, match="computes softmax"):
        bridge_of(softhat.compile("Y a", alphabet="ab", attention="hard"))
    with pytest.raises(SofthatError, match="context must be a whole number, at least 2"):
        bridge_of(softhat.compile("Y a", alphabet="ab"), context=1)


def test_nnsight_reads_the_named_submodules_of_a_two_way_model() -> None:
    nnsight = pytest.importorskip("nnsight")
    model = softhat.compile("Y a & X b", alphabet="ab")
    wrapped = nnsight.NNsight(softhat.to_torch(model, kernel="eager"))
    with wrapped.trace(torch.tensor([[0, 1, 1, 0, 1]])):
        pattern = wrapped.layers[0].attention.pattern.output.save()
        margins = wrapped.output.save()
    kept = model.run("abbab", dtype="float32")
    assert np.allclose(pattern[0].detach().numpy(), kept.attention[0], atol=1e-6)
    assert np.allclose(margins[0, :, 0].detach().numpy(), kept.margins["output"], atol=1e-6)
