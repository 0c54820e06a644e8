"""The certificate of a simulation in sentences: what each head does, and what ends the proof."""

from __future__ import annotations

from collections.abc import Iterator

from softhat.ahat.simulation.certificate import ASSUMPTIONS, SimulatedHead, SimulationCertificate


def simulation_sentences(certificate: SimulationCertificate) -> str:
    """Why softmax with these temperatures computes what hard attention does."""
    return "\n".join(_lines(certificate))


def _lines(certificate: SimulationCertificate) -> Iterator[str]:
    yield "Scores are multiplied by β before softmax. The larger β, the less weight leaks from the"
    yield "maximal scores to the others."
    for head in certificate.heads:
        name = f" ({head.name})" if head.name else ""
        yield f"Layer {head.layer}, head {head.head}{name}: {_head(head)}"
    yield f"So in the reals every value is at most {certificate.error:.3g} from the AHAT's."
    for dtype, length in certificate.max_length.items():
        yield _format(certificate, dtype, length)
    yield "It assumes:"
    yield from (f"- {text}" for text in ASSUMPTIONS)


def _head(head: SimulatedHead) -> str:
    """What a head does, and why softmax does nearly the same."""
    if head.kind == "structurally uniform":
        return "all scores of a row are equal, so softmax is the mean, whatever β is."
    if head.law is not None:
        return (
            f"{head.kind}; at length n the next lower score is at least {head.gap} below, and "
            f"β(n) = {head.law.text} keeps the leak small at every length."
        )
    return (
        f"{head.kind}; the next lower score is at least {head.gap} below. At β = {head.beta:g} at "
        f"most {head.leak:.3g} of the weight leaks, which moves values by at most {head.error:.3g}."
    )


def _format(certificate: SimulationCertificate, dtype: str, length: int) -> str:
    """How far a number format is proved, and what its rounding does at the next length."""
    reached = f"it is proved to length {length:,}" if length else "no length is proved"
    proof = f"In {dtype} {reached}"
    after = certificate.lengths.get(length + 1)
    error = None if after is None else after.error.get(dtype)
    if length == certificate.length:
        return f"{proof}, as in the reals."
    if error is None:
        return f"{proof}."
    bound = "the sign of a value" if certificate.epsilon is None else f"ε = {certificate.epsilon:g}"
    why = f"with rounding the bound at length {length + 1:,} is {error:.3g}, too much for {bound}"
    return f"{proof}: {why}."
