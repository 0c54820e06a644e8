"""Model folders: `config.json`, `model.safetensors`, `certificate.json`, and what the model must
compute, `formula.txt` or `ahat.json`.

The same model gives byte-identical files, written as a whole or not at all (`softhat.io.files`).
Loading reads only JSON and safetensors, checks every shape, and refuses what it does not know.
Folders of format version 1 are read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softhat.io.errors import SofthatError
from softhat.io.files import as_path, read_as_a_whole, read_json, read_tensors, read_text
from softhat.logic.binding import bind
from softhat.logic.predicates import predicates_of
from softhat.logic.syntax.parse import parse
from softhat.models.model import Model
from softhat.numbers.predicates import Predicate
from softhat.numbers.stored import predicate_from as read_predicate
from softhat.transformer.stored import FORMAT, READ, DamagedError, damaged, transformer_in

# Other kinds are imported where one is read: most models are compiled, and start-up counts.
if TYPE_CHECKING:
    from softhat.ahat.simulation.simulation import Simulation
    from softhat.logic.syntax.nodes import Formula
    from softhat.models.value_model import ValueModel

PREDICATES = "predicates.json"


def load(folder: str | Path) -> Model | Simulation | ValueModel:
    """The model in a folder that `save` wrote, of one moment, though others may be saving there."""
    place = as_path(folder)
    if not (place / "config.json").is_file():
        read_config(place)  # says what is wrong
    return read_as_a_whole(place, lambda: _load(place))


def _load(folder: Path) -> Model | Simulation | ValueModel:
    config = read_config(folder)
    kind = config.get("kind")
    if kind == "simulation":
        from softhat.ahat.simulation.folder import load_simulation

        return load_simulation(folder, config)
    with damaged(folder):
        match kind:
            case "compiled":
                return _load_compiled(folder, config)
            case "rasp":
                return _load_rasp(folder, config)
            case "loop":
                return _load_loop(folder, config)
    raise SofthatError(f"{folder}/config.json: unknown kind of model {kind!r}")


def load_compiled(folder: str | Path) -> Model:
    """The compiled model in a folder; an error if something else is there."""
    model = load(folder)
    if not isinstance(model, Model):
        raise SofthatError(f"{folder} holds a simulation, not a compiled model")
    return model


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json`, if its format and version are ours."""
    path = folder / "config.json"
    if not folder.is_dir():
        raise SofthatError(f"no model folder {folder}: expected one that `softhat compile` wrote")
    if not path.is_file():
        if (folder / "corpus.json").is_file():
            raise SofthatError(
                f"{folder} is a corpus: softhat corpus extract {folder} ID -o DIR gives one model"
            )
        raise SofthatError(f"{folder} is not a model folder: it has no config.json")
    try:
        config = read_json(path, inside=folder)
    except SofthatError as error:
        raise SofthatError(f"{folder} is damaged: {error}") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise SofthatError(f"{folder} is not a softhat model: {_other_format(config, folder)}")
    version = config.get("version")
    if type(version) is not int or version not in READ:
        raise SofthatError(
            f"{folder} has format version {version}; this softhat reads versions to {READ[-1]}: "
            "compile it again, or install the softhat that wrote it"
        )
    return config


def _other_format(config: object, folder: Path) -> str:
    """What a `config.json` is that is not ours, and for a checkpoint of `transformers` what to do:
    every class there writes its `model_type`."""
    if not isinstance(config, dict) or "model_type" not in config:
        return "its config.json has another format"
    return (
        f"its config.json has another format, of transformers (model_type "
        f"{str(config['model_type'])[:40]!r}): run the model folder that it was exported from, "
        f"check the export with softhat verify {folder}, or run it with transformers"
    )


def _load_compiled(folder: Path, config: dict[str, Any]) -> Model:
    known = predicates_in(_predicates(folder, config))
    transformer = transformer_in(config, _tensors(folder), known)
    at = config.get("accepts_at")
    if at not in (None, "first", "last"):
        raise DamagedError(f"config.json: accepts_at is first or last, not {at!r}")
    text = read_text(folder / "formula.txt", inside=folder)
    formulas = formulas_in(text, transformer.symbols, transformer.propositional, known)
    if tuple(formulas) != transformer.outputs:
        raise DamagedError("formula.txt and config.json name different outputs")
    return Model(transformer, formulas, at=at)


def _load_rasp(folder: Path, config: dict[str, Any]) -> ValueModel:
    from softhat.models.value_model import ValueModel

    transformer = transformer_in(config, _tensors(folder))
    return ValueModel.read(transformer, read_json(folder / "rasp.json", inside=folder))


def _load_loop(folder: Path, config: dict[str, Any]) -> ValueModel:
    from softhat.models.loop_model import LANGUAGE, LoopModel

    block = transformer_in(config, _tensors(folder))
    return LoopModel.read_loop(block, read_json(folder / LANGUAGE, inside=folder))


def _tensors(folder: Path) -> dict[str, Any]:
    return read_tensors(folder / "model.safetensors", inside=folder)


def _predicates(folder: Path, config: Mapping[str, Any]) -> list[Any]:
    """The numerical predicates that the formulas use; some folders of version 1 have them in
    their configuration."""
    if (folder / PREDICATES).is_file():
        listed = read_json(folder / PREDICATES, inside=folder)
        if not isinstance(listed, list):
            raise DamagedError(f"{PREDICATES} must be a list")
        return listed
    return list(config.get("predicates", ()))


def predicates_in(listed: Iterable[Any]) -> dict[str, Predicate]:
    """The numerical predicates that `predicates.json` lists, by name."""
    predicates = [read_predicate(entry, PREDICATES) for entry in listed]
    return {predicate.name: predicate for predicate in predicates}


def formulas_in(
    text: str, symbols: tuple[str, ...], propositional: bool, known: Mapping[str, Predicate]
) -> dict[str, Formula]:
    """What `formula.txt` says, `name: formula` a line; `known` are its numerical predicates."""
    names = {"propositions" if propositional else "alphabet": symbols}
    formulas: dict[str, Formula] = {}
    for line in text.removesuffix("\n").split("\n"):
        name, colon, written = line.partition(": ")
        if not colon:
            raise SofthatError(f"formula.txt: expected `name: formula`, got {line[:60]!r}")
        if name in formulas:
            raise SofthatError(f"formula.txt: output {name!r} stands there twice")
        formulas[name] = bind(parse(written, **names), known)
        predicates_of(formulas[name])  # all are known
    return formulas
