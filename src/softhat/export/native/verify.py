"""Trying to break an export of softhat's own architecture: the file is run by what it is for.

PyTorch runs a torch folder, transformers a Hugging Face folder, ONNX Runtime an ONNX file; softhat
makes the words, says what is right, and compares. So the file itself is tried: its source, its
configuration, its graph and its weights, in the runtime that users have. What heads leak is
measured by softhat's own runtime, from the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.verify import verify_simulation
from softhat.export.reading import Export
from softhat.export.tokenizer import check_tokenizer
from softhat.export.torch import import_torch
from softhat.io.errors import SofthatError, extra
from softhat.io.files.reading import check_folder
from softhat.io.pretrained import import_transformers, pretrained, said_by
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.models.verification.values import verify_values
from softhat.models.verification.verify import verify as verify_model
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Transformer

if TYPE_CHECKING:
    from softhat.proof.certificate import Certificate

Codes = NDArray[Any]
Run = Callable[[Codes], NDArray[Any]]
"""Encoded words of equal length to read-outs (words, n, outputs)."""


@dataclass(frozen=True)
class Runner:
    """A file that is loaded, and what runs it."""

    name: str
    run: Run


def verify_native(export: Export, certificate: Any, asked: Mapping[str, Any]) -> Any:
    """Run the file on words within `certificate`, and compare with what it is claimed to compute.

    `asked` are the options of `verify` that an export has.
    """
    dtype = asked["dtype"]
    runner = runner_of(export, dtype)
    lengths = {**dict.fromkeys(("float16", "bfloat16", "float32", "float64"), 0)}
    lengths |= certificate.max_length
    match export.model:
        case Model() as model:
            result = verify_model(_RunModel(model, runner.run, lengths), **asked)
            return replace(result, runtime=runner.name)
        case ValueModel() as values:
            errors = certificate.document.get("errors", {})
            plain = {name: asked[name] for name in PLAIN}
            tried = verify_values(values, **plain, run=runner.run, proved=(lengths, errors))
            return replace(tried, runtime=runner.name)
        case Simulation() as simulation:
            plain = {name: asked[name] for name in PLAIN}
            simulated = verify_simulation(simulation, **plain, run=runner.run, certified=lengths)
            return replace(simulated, runtime=runner.name)
    raise SofthatError(f"nothing is known to compare {type(export.model)} with")


PLAIN = ("exhaustive", "random", "max_length", "max_words", "dtype", "seed")
"""The options for models that are not compiled from formulas."""


class _RunModel(Model):
    """A compiled model whose words are run by other software; the certificate is the export's."""

    def __init__(self, model: Model, run: Run, lengths: Mapping[str, int]) -> None:
        super().__init__(model.transformer, model.formulas)
        self._run, self._native, self._lengths = run, model, lengths

    def run_batch(self, tokens: Codes, dtype: str | None = None) -> NDArray[Any]:
        return self._run(tokens)

    @property
    def certificate(self) -> Certificate:
        return replace(self._native.certificate, max_length=dict(self._lengths))


def runner_of(export: Export, dtype: str) -> Runner:
    """The file in its runtime; an error that says what to install, if it is not there."""
    makers = {"torch": _torch, "huggingface": _huggingface, "onnx": _onnx}
    assert export.model is not None
    try:
        return makers[export.kind](export, export.model, dtype)
    except SofthatError:
        raise
    except Exception as error:  # damaged files raise anything
        raise SofthatError(f"cannot load {export.path}: {said_by(error)}") from None


def _torch(export: Export, model: Answers, dtype: str) -> Runner:
    torch = import_torch()
    # Byte for byte the folder's own source (`closed`), which is not imported from there.
    from softhat.export.architecture.module_softhat import SofthatTransformer

    module = SofthatTransformer.load(export.path).to(getattr(torch, dtype)).eval()

    def run(codes: Codes) -> NDArray[Any]:
        with torch.no_grad():
            margins = module(torch.from_numpy(np.ascontiguousarray(codes)))
        return _numbers(margins)

    return Runner(f"torch {torch.__version__}, {module.kernel}", run)


def _huggingface(export: Export, model: Answers, dtype: str) -> Runner:
    torch = import_torch()
    # The folder's sources are ours: nothing in it is imported.
    from softhat.export.huggingface import SofthatForTokenClassification

    check_folder(export.path)
    t = model.transformer
    check_tokenizer(export.path, t.symbols, t.propositional, t.has_bos, t.has_eos)
    loaded = pretrained(SofthatForTokenClassification, export.path, getattr(torch, dtype))
    several = loaded.config.problem_type == "multi_label_classification"

    def run(codes: Codes) -> NDArray[Any]:
        ids = torch.from_numpy(_with_sinks(t, codes, loaded.config))
        with torch.no_grad():
            logits = loaded(ids).logits
        own = logits[:, int(t.has_bos) : int(t.has_bos) + codes.shape[1]]
        return _numbers(own if several else (own[..., 1:] - own[..., :1]) / 2)

    kernel = loaded.config._attn_implementation
    return Runner(f"transformers {import_transformers().__version__}, {kernel}", run)


def _with_sinks(t: Transformer, codes: Codes, config: Any) -> NDArray[np.int64]:
    """The tokens of words: sets of propositions are numbers, and the sinks are tokens."""
    if t.propositional:
        codes = (codes.astype(np.int64) << np.arange(len(t.symbols))).sum(axis=-1)
    edges = [(config.bos_token_id, t.has_bos), (config.eos_token_id, t.has_eos)]
    first, last = (np.full((len(codes), int(used)), token) for token, used in edges)
    return np.concatenate([first, codes, last], axis=1).astype(np.int64)


def _onnx(export: Export, model: Answers, dtype: str) -> Runner:
    with extra("onnxruntime", "onnx"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: it would warn that the mask has a default
    session = onnxruntime.InferenceSession(
        str(export.path), options, providers=["CPUExecutionProvider"]
    )
    number = {"tensor(float)": "float32", "tensor(double)": "float64"}
    computes = number[session.get_outputs()[0].type]
    if computes != dtype:
        raise SofthatError(
            f"{export.path} computes in {computes}, not {dtype}: ask for that (--dtype {computes})"
        )
    kind = np.bool_ if model.transformer.propositional else np.int64

    def run(codes: Codes) -> NDArray[Any]:
        margins: NDArray[Any] = session.run(["margins"], {"tokens": codes.astype(kind)})[0]
        return margins

    return Runner(f"onnxruntime {onnxruntime.__version__}", run)


def _numbers(tensor: Any) -> NDArray[Any]:
    array: NDArray[Any] = tensor.double().numpy()
    return array
