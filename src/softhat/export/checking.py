"""`verify` and `certify` of whatever users hold: models, model folders and exports.

An export's certificate is proved anew from the exported weights; what its `certificate.json`
states is compared with that, and with the digest of the weights it was made for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from softhat.io.errors import SofthatError
from softhat.io.files import unchanged
from softhat.models.folders import load
from softhat.models.model import Model
from softhat.models.verification.amounts import check_amounts
from softhat.models.verification.report import Verification
from softhat.models.verification.verify import verify as verify_model
from softhat.numerics.formats import format_of
from softhat.proof.proved import ProvedLengths

# What exports need is imported where it is used: models are verified and certified without.
if TYPE_CHECKING:
    from softhat.ahat.simulation.simulation import Simulation
    from softhat.ahat.simulation.verify import SimulationVerification as SimulationVerification
    from softhat.export.reading import Export
    from softhat.models.value_model import ValueModel
    from softhat.models.verification.values import ValueVerification

    Held = Model | Simulation | ValueModel
    Verified = Verification | SimulationVerification | ValueVerification

P = ParamSpec("P")
C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True)
class ExportCertificate(ProvedLengths):
    """What is proved about an export, from its weights, and what it states of itself."""

    kind: str
    digest: str
    max_length: dict[str, int]
    void: tuple[str, ...]
    """Why nothing is proved; empty if the certificate holds."""
    disagrees: tuple[str, ...]
    """Where `certificate.json` says something else than what is proved."""
    document: dict[str, Any]

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name} {length:,}" for name, length in self.max_length.items())
        return f"<softhat.ExportCertificate {self.kind}: {'void' if self.void else lengths}>"

    @property
    def ok(self) -> bool:
        """Something is proved, and the folder states nothing else."""
        return not self.void and not self.disagrees

    def reason(self, dtype: str) -> str:
        """Why nothing, or no more, is proved in a number format; empty if unknown."""
        stated = self.document.get("formats", {}).get(dtype, {}).get("reason")
        return str(stated or self.document.get("binding", {}).get(dtype) or "")

    def to_json(self) -> dict[str, Any]:
        checked = {"digest": self.digest, "disagrees": list(self.disagrees)}
        return {**self.document, **checked, "export": self.kind}

    def explain(self) -> str:
        lines = [f"The weights of this {self.kind} export were read, and the proof made anew."]
        lines += [f"Nothing is proved: {reason}." for reason in self.void]
        lines += [f"certificate.json disagrees: {reason}." for reason in self.disagrees]
        for dtype, length in self.max_length.items():
            if length:
                lines.append(f"In {dtype} its answers are right to {length:,} positions.")
            elif not self.void:
                why = self.reason(dtype)
                lines.append(f"In {dtype} nothing is proved{': ' if why else ''}{why}.")
        if "run" in self.document and not self.void:
            run = self.document["run"]
            lines.append(
                f"It runs a {run['machine']} machine: {run['next']}; {run['step']}; "
                f"{run['decoding']}; {run['cache']}. Its memory: {run['space']}. Sampled at "
                f"temperature 1, a run errs with a probability of at most "
                f"{run['sampling_error']:.2g}."
            )
        lines += ["It assumes:", *(f"- {text}" for text in self.document["assumptions"])]
        return "\n".join(lines)


class Certified(Protocol[C_co]):
    """What has a certificate of its own: a model, or a simulation."""

    @property
    def certificate(self) -> C_co: ...


@overload
def certify(model: str | Path) -> Any: ...  # what the folder holds decides


@overload
def certify(model: Certified[C_co]) -> C_co: ...


def certify(model: str | Path | Certified[Any]) -> Any:
    """The certificate of a model, of a model folder, or of an exported folder or ONNX file."""
    if not isinstance(model, str | Path):
        if not hasattr(type(model), "certificate"):
            raise SofthatError(f"expected a model, or the path of one, not {model!r}")
        return model.certificate
    refuse_gguf(model)
    from softhat.export.kinds import is_export

    if not is_export(model):
        return load(model).certificate
    from softhat.export.reading import read_export

    return certify_export(read_export(model))


def refuse_gguf(path: str | Path) -> None:
    """A GGUF file is run by kernels of which nothing is proved."""
    if Path(path).suffix == ".gguf":
        raise SofthatError(
            f"{path}: llama.cpp's kernels are not proved: export the same model with --to llama, "
            "whose folder has a certificate"
        )


def certify_export(export: Export) -> ExportCertificate:
    from softhat.export.certificates import with_machine

    document = with_machine(_proved(export), export.machine)
    void = tuple(document.get("void", ()))
    lengths = dict(document["max_length"])
    return ExportCertificate(
        export.kind, export.digest, lengths, void, tuple(_differences(export, document)), document
    )


def _proved(export: Export) -> dict[str, Any]:
    if export.model is not None:
        from softhat.export.certificates import export_certificate

        if export.kind == "onnx":
            from softhat.export.onnx.positions import longest_word

            longest = longest_word(export.model.transformer)
            return export_certificate(export.model, "onnx", longest, export.stored)
        return export_certificate(export.model, "torch", stored=export.stored)
    from softhat.proof.stock.certify import certify as certify_stock

    assert export.checkpoint is not None
    c, formulas, margin = export.checkpoint, export.formulas, None
    if c.head == "lm":
        formulas = export.next_tokens()
        margin = _margin(export)
    kernel = export.kernel
    assert kernel is not None  # config.json chooses one
    return certify_stock(c, formulas, kernel, margin, export.directions).to_json()


def _margin(export: Export) -> float:
    """How far apart a language model's logits are claimed to be."""
    margin = export.stated.get("margin")
    if isinstance(margin, bool) or not isinstance(margin, int | float):
        raise SofthatError(
            f"{export.path}: certificate.json states the margin {margin!r}, not a number: "
            "export the model again"
        )
    return float(margin)


def _differences(export: Export, document: dict[str, Any]) -> list[str]:
    if not export.stated:
        return ["there is none"]
    differences = []
    if export.stated.get("digest") != export.digest:
        differences.append("it is of other weights (their digest is not this file's)")
    if export.kernel is not None and export.stated.get("kernel") != export.kernel:
        differences.append(
            f"it is for the kernel {export.stated.get('kernel')}, and config.json chooses "
            f"{export.kernel}"
        )
    stated = export.stated.get("max_length")
    for dtype, length in document["max_length"].items():
        says = stated.get(dtype, 0) if isinstance(stated, dict) else None
        if says != length:
            differences.append(f"it states {says} for {dtype}, and {length} is proved")
    for dtype, error in document.get("errors", {}).items():
        says = export.stated.get("errors")
        if not isinstance(says, dict) or says.get(dtype) != error:
            differences.append(f"it states another error of numbers in {dtype} than is proved")
    if export.stated.get("run") != document.get("run"):
        differences.append("it states something else of the machine's runs than is proved")
    if export.log_weights is not None and export.stated.get("formats") != document["formats"]:
        differences.append("it states other bounds of its distribution than are proved")
    return differences


class _Verify(Protocol[P]):
    """What is verified decides what is reported; the other parameters are one list, P."""

    @overload
    def __call__(self, model: Model, *args: P.args, **options: P.kwargs) -> Verification: ...

    @overload
    def __call__(
        self, model: Simulation, *args: P.args, **options: P.kwargs
    ) -> SimulationVerification: ...

    @overload
    def __call__(
        self, model: ValueModel, *args: P.args, **options: P.kwargs
    ) -> ValueVerification: ...

    @overload
    def __call__(
        self, model: Held | str | Path, *args: P.args, **options: P.kwargs
    ) -> Verified: ...


def _with_parameters_of(
    original: Callable[Concatenate[Model, P], Verification],
) -> Callable[[Callable[..., Verified]], _Verify[P]]:
    def typed(function: Callable[..., Verified]) -> _Verify[P]:
        return cast("_Verify[P]", wraps(original, assigned=())(function))

    return typed


@_with_parameters_of(verify_model)
def verify(model: Held | str | Path, *args: Any, **options: Any) -> Verified:
    """Compare a model with its formulas on all words to length `exhaustive` (as far as they are
    at most `max_words`), on `random` random and `adversarial` hostile words to `max_length`.

    Random and hostile words are no longer than the certified length in `dtype`, if there is
    one, unless `beyond`. `executor` is any `concurrent.futures.Executor`; `renew` gives a new
    one when it breaks. `resume` is a file that keeps what is done, for the next call.
    `progress(done, all, words)` is called after each item. Ctrl-C ends the run and keeps the
    result so far. A simulation of an average-hard attention transformer is compared with
    it, a RASP program's model with its attention program; of a folder what it holds is, a model
    or an export. An export is run by what it is for, in this process: PyTorch, transformers, ONNX
    Runtime or llama.cpp; the result says which (`runtime`).
    """
    if not isinstance(model, str | Path):
        return _verify_held(model, *args, **options)
    if Path(model).suffix == ".gguf":
        from softhat.export.gguf_verify import verify_gguf

        return verify_gguf(Path(model), _asked(args, options, "GGUF files", ("adversarial",)))
    from softhat.export.kinds import is_export

    if not is_export(model):
        return _verify_held(load(model), *args, **options)
    from softhat.export.reading import read_export

    with unchanged(Path(model)):  # other libraries load it again
        return _verify_export(read_export(model), *args, **options)


def _verify_export(export: Export, *args: Any, **options: Any) -> Verified:
    """By the library that it is for."""
    _refuse_other_weights(export)
    certificate = certify_export(export)
    if export.model is not None:
        from softhat.export.native.verify import verify_native

        more = ("adversarial", "beyond") if isinstance(export.model, Model) else ("adversarial",)
        asked = _asked(args, options, "exports", more)
        return verify_native(export, certificate, asked)
    from softhat.export.stock.verify import verify_stock

    asked = _asked(args, options, "stock checkpoints", ("adversarial", "beyond"))
    return verify_stock(export, certificate, asked)


def _verify_held(model: Held, *args: Any, **options: Any) -> Verified:
    """By the kind of model; those that are no formulas' run in this process, on words that are
    not aimed at anything."""
    if isinstance(model, Model):
        return verify_model(model, *args, **options)
    from softhat.ahat.simulation.simulation import Simulation  # for start-up
    from softhat.ahat.simulation.verify import verify_simulation
    from softhat.models.value_model import ValueModel
    from softhat.models.verification.values import verify_values

    if isinstance(model, ValueModel):
        return verify_values(model, **_asked(args, options, "RASP programs"))
    if not isinstance(model, Simulation):
        raise SofthatError(f"expected a model that softhat compiled or simulated, not {model!r}")
    return verify_simulation(model, **_asked(args, options, "simulations"))


def _asked(
    args: tuple[Any, ...], options: dict[str, Any], what: str, more: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What is asked of something that runs in this process, in one go; another runtime, or a file
    to resume from, it has not: ignored, they would be promises."""
    call = signature(verify_model).bind(None, *args, **options)
    nothing = {"runtime": ("dense",), "resume": (None,), "beyond": (False,)}  # happens anyway
    for name, idle in nothing.items():
        if name in call.arguments and call.arguments[name] not in idle and name not in more:
            raise SofthatError(
                f"{name} is for models that were compiled from formulas, not for {what}: leave it "
                "out"
            )
    call.apply_defaults()
    check_amounts(call.arguments)
    names = ("exhaustive", "random", "max_length", "max_words", "seed", *more)
    asked = {name: call.arguments[name] for name in names}
    return {**asked, "dtype": format_of(call.arguments["dtype"]).name}


def _refuse_other_weights(export: Export) -> None:
    stated = export.stated.get("digest")
    if stated is not None and stated != export.digest:
        raise SofthatError(
            f"{export.path}: certificate.json is of other weights (its digest is not theirs): "
            "export the model again"
        )
