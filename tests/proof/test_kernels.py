"""The arithmetic of other software's kernels, as the proof takes it for granted."""

from __future__ import annotations

import pytest

import softhat
from softhat.numerics.formats import FORMATS
from softhat.proof.kernels import ASSUMPTIONS, DTYPES, Kernel, kernel_certificate, kernel_formats

KERNELS: tuple[Kernel, ...] = ("torch", "onnx")


@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_and_weights_are_kept_as_summed(kernel: Kernel) -> None:
    found = kernel_formats(kernel)
    assert tuple(found) == DTYPES[kernel]
    for name, form in found.items():
        wide = FORMATS["float64" if name == "float64" else "float32"]
        assert form.held.digits == form.wide_digits == form.sum_digits == wide.digits
        assert form.held.largest == wide.largest and form.held.smallest == wide.smallest
        assert form.u_score == 0.0 and form.digits == FORMATS[name].digits
        # 2·(20 + 20) + 4 roundings of exp and rescaling, and the 8 of the dense runtime, at least.
        assert form.kernel.exp_units >= 2 * (20 + 20) + 4 + 8 and form.kernel.divisions == 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_certificate_states_its_kernel(kernel: Kernel) -> None:
    model = softhat.compile("a S b & #(a) >= #(b)", alphabet="ab")
    found = kernel_certificate(model, kernel)
    assert found["kind"] == "export" and found["target"] == found["kernel"] == kernel
    assert found["assumptions"] == list(ASSUMPTIONS[kernel]) and found["void"] == []
    assert set(found["max_length"]) == set(DTYPES[kernel])
    assert found["formulas"] == {"output": "a S b & #(a) >= #(b)"}
    # float64 kernels round as the dense runtime does, but oftener.
    assert 0 < found["max_length"]["float64"] <= model.certificate.max_length["float64"]


def test_words_that_the_export_does_not_take_are_not_certified() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    found = kernel_certificate(model, "torch", longest=100)
    assert set(found["max_length"].values()) == {100}


def test_a_wrong_claim_is_void_here_too() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    wrong = softhat.Model(model.transformer, {"output": softhat.parse("b S a")})
    found = kernel_certificate(wrong, "onnx")
    assert found["void"] and set(found["max_length"].values()) == {0}
