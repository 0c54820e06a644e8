"""A corpus of compiled models whose circuits are known: for training and scoring other methods.

Random formulas, seeded, simplified, not constant, no two of them equivalent, none with an inert
head, are compiled, exported and written in shards. Of two formulas that agree on all words to
length 8 the second is left out, unless a longer word is found on which they differ. A corpus of
RASP programs is made likewise; no two of its programs agree on all short words:

    README.md                the card: what it is, how it loads, how many of what
    corpus.json              the settings, and what the files are
    formulas.jsonl           every formula (or RASP program) with its family and the digest of its
                             truth, in order
    shards/00000.safetensors the tensors of its models, named `ID/layers.0.query` …
    shards/00000.directions.safetensors   of disguised models
    shards/00000.jsonl       a line a model: formula, samples, configuration, labels, circuit
    data/train.parquet       a row a model, and `validation`, `test`: the same as a table
    index.parquet            a row a model: formula, shard, sizes, certified lengths
    *.sha256                 digests of the shards and of formulas.jsonl, for `sha256sum -c`

Every file is a function of the settings and appears whole or not at all. So a run that was killed
goes on where it was, and ends with the same bytes as one that was not. A file that was cut or
changed since does not agree with its digest, and is made again.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray

from softhat.circuits.corpus.card import card, data_row, import_pyarrow, index_row, parquet_bytes
from softhat.circuits.corpus.digests import damaged_files, write_digests
from softhat.circuits.corpus.families import RASP, check_family
from softhat.circuits.corpus.shards import CHUNK, LONGEST, SPLITS, Settings, draw, make_shard
from softhat.circuits.corpus.targets import check_target
from softhat.io.argument_types import instance
from softhat.io.errors import SofthatError
from softhat.io.files import (
    as_path,
    json_bytes,
    locked,
    make_folder,
    parse_json,
    read_json,
    read_tensors,
    read_text,
    write_file,
)
from softhat.io.work.progress import Progress, unseen
from softhat.io.work.run import Renew, run, workers
from softhat.logic.decide.questions import differ_somewhere
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile as compile_formula
from softhat.models.folders import load
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.transformer.weights import Attention

FORMAT = "softhat-corpus/1"
FRUITLESS = 100
"""Chunks in a row without a new formula after which there are no more."""


def make_corpus(
    folder: str | Path,
    settings: Settings,
    jobs: int = 0,
    dask: str | None = None,
    progress: Progress = unseen,
) -> None:
    """Write the corpus, or what is missing of it. `jobs` 0 means one process for each core."""
    instance("settings", settings, Settings, "softhat.corpus.Settings")
    _check(settings)
    import_pyarrow()
    folder = as_path(folder)
    with ExitStack() as held:
        renew = held.enter_context(workers(jobs, dask))  # no folder for a cluster that is not there
        held.enter_context(_nothing_half_made(folder))
        make_folder(folder)
        held.enter_context(locked(folder, patience=0))
        _settle(folder, settings)
        make_folder(folder / "shards")
        held.enter_context(locked(folder / "shards", patience=0))
        drawn = _formulas(folder, settings, renew, progress)
        _write_shards(folder, settings, drawn, renew, progress)
        _write_tables(folder, settings)


def _write_shards(
    folder: Path,
    settings: Settings,
    drawn: list[dict[str, Any]],
    renew: Renew | None,
    progress: Progress,
) -> None:
    """Make the shards that are missing or damaged."""
    shards = range(0, settings.count, settings.shard)
    missing = {k for k in range(len(shards)) if not _complete(folder, k)}
    done = len(shards) - len(missing)
    progress("shards", done, len(shards))
    tasks = (
        (k, make_shard, (settings, first, drawn[first : first + settings.shard]))
        for k, first in enumerate(shards)
        if k in missing
    )
    for k, (tensors, directions, lines) in run(tasks, renew=renew):
        contents = {"jsonl": lines, "safetensors": tensors}
        if directions:
            contents["directions.safetensors"] = directions
        for suffix, data in contents.items():
            write_file(_shard(folder, k, suffix), data, own=True)
        named = {_shard(folder, k, suffix).name: data for suffix, data in contents.items()}
        write_digests(_shard(folder, k, "sha256"), named)  # now it is complete
        done += 1
        progress("shards", done, len(shards))


@contextmanager
def _nothing_half_made(folder: Path) -> Iterator[None]:
    """A corpus that ends before it has formulas leaves nothing behind."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    begun = (folder / "corpus.json").exists()
    try:
        yield
    except BaseException:  # Ctrl-C too
        if not begun and not (folder / "formulas.jsonl").exists():
            with suppress(OSError):
                (folder / "corpus.json").unlink(missing_ok=True)
                (folder / "shards").rmdir()
            with suppress(OSError):
                for place in new:
                    place.rmdir()
        raise


def read_settings(folder: str | Path) -> Settings:
    """The settings of a corpus."""
    path = as_path(folder) / "corpus.json"
    try:
        document = read_json(path)
        if document["format"] != FORMAT:
            raise SofthatError(f"{path} has format {document['format']!r}, expected {FORMAT!r}")
        fields = document["settings"]
        return Settings(**{**fields, "alphabet": tuple(fields["alphabet"])})
    except SofthatError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise SofthatError(f"{folder} is not a corpus: {error}") from None


def read_lines(folder: str | Path, shard: int) -> list[dict[str, Any]]:
    """What a shard says of each of its models."""
    path = _shard(as_path(folder), shard, "jsonl")
    if not path.is_file():
        raise SofthatError(f"{folder} has no shard {shard}: run softhat corpus again to finish it")
    return [parse_json(line, str(path)) for line in read_text(path).split("\n")[:-1]]


def load_model(folder: str | Path, number: int) -> Model | ValueModel:
    """Model `number` of a corpus, as `softhat.load` would give it.

    Of a stock corpus it is the model that the checkpoint was made from: the same formula, compiled.
    """
    settings = read_settings(folder)
    line = model_line(folder, number)
    if settings.to != "torch":
        formula = parse(line["formula"], alphabet=settings.alphabet)
        return compile_formula(formula, settings.alphabet, settings.attention)
    tensors = {name: t.astype("float64") for name, t in stored_tensors(folder, number).items()}
    if line["family"] == RASP:
        meant = {"rasp.json": json_bytes(line["rasp"])}
    else:
        (output,) = line["config"]["outputs"]
        meant = {"formula.txt": f"{output}: {line['formula']}\n".encode()}
    return _loaded({"config.json": json_bytes(line["config"]), **meant}, tensors)


def _loaded(files: dict[str, bytes], tensors: dict[str, NDArray[Any]]) -> Model | ValueModel:
    """The model that these files would hold."""
    from safetensors.numpy import save as to_bytes

    with tempfile.TemporaryDirectory() as scratch:
        for name, data in {**files, "model.safetensors": to_bytes(tensors)}.items():
            (Path(scratch) / name).write_bytes(data)
        model = load(scratch)
    assert isinstance(model, Model | ValueModel)
    return model


def model_line(folder: str | Path, number: int) -> dict[str, Any]:
    """What a corpus says of model `number`: formula, samples, configuration, labels, circuit."""
    settings = read_settings(folder)
    if not 0 <= number < settings.count:
        raise SofthatError(f"the corpus has models 0 to {settings.count - 1}, not {number}")
    shard, row = divmod(number, settings.shard)
    sums = _shard(as_path(folder), shard, "sha256")
    if sums.is_file() and (damaged := damaged_files(sums)):
        raise SofthatError(f"{damaged[0]} is damaged: run softhat corpus again to make it anew")
    return read_lines(folder, shard)[row]


def stored_tensors(folder: str | Path, number: int) -> dict[str, NDArray[Any]]:
    """The weights of model `number`, by the names that they have in its folder."""
    path = _shard(as_path(folder), number // read_settings(folder).shard, "safetensors")
    tensors = read_tensors(path, wanted=lambda name: name.startswith(f"{number}/"))
    return {name.partition("/")[2]: tensor for name, tensor in tensors.items()}


def _check(settings: Settings) -> None:
    if settings.count < 1 or settings.shard < 1:
        raise SofthatError("a corpus has at least one model, and so has a shard")
    if settings.seed < 0:
        raise SofthatError(f"a seed is a whole number from 0 up, not {settings.seed}")
    if not 1 <= settings.smallest <= settings.largest:
        raise SofthatError(
            f"formulas have sizes from 1 up, the smallest first, not {settings.smallest} to "
            f"{settings.largest}"
        )
    check_target(settings.to, settings.disguise, settings.context, settings.family == RASP)
    check_family(settings.family, settings.decoder)
    if settings.depth is not None and settings.family == RASP:
        raise SofthatError("RASP programs have no temporal depth: leave --depth out")
    if settings.depth is not None and settings.depth < 0:
        raise SofthatError(f"a temporal depth is a whole number from 0 up, not {settings.depth}")
    if settings.attention not in get_args(Attention):
        raise SofthatError(f"unknown attention {settings.attention!r}")
    if not settings.alphabet or len(set(settings.alphabet)) != len(settings.alphabet):
        raise SofthatError("the alphabet names each symbol once, and at least one")
    if len(settings.alphabet) ** LONGEST > 1 << 24:
        raise SofthatError(
            f"{len(settings.alphabet)} symbols are too many to compare formulas on all words to "
            f"length {LONGEST}: at most 8"
        )


def _settle(folder: Path, settings: Settings) -> None:
    """Begin a corpus, or go on with one that has the same settings."""
    begun = {path.name for path in folder.iterdir()} - {"corpus.json"}
    if "shards" in begun and not any((folder / "shards").iterdir()):
        begun.discard("shards")
    if (folder / "corpus.json").is_file():
        earlier = read_settings(folder)
        if (
            earlier != settings and begun
        ):  # else nothing is there yet that other settings would spoil
            changed = [
                f"{name} {value!r}"
                for name, value in asdict(earlier).items()
                if value != asdict(settings)[name]
            ]
            raise SofthatError(
                f"{folder} is a corpus with {', '.join(changed)}: give the same settings to "
                "finish it, or choose another folder"
            )
        if earlier == settings:
            return
    elif begun:
        raise SofthatError(f"{folder} exists and is not a corpus: choose another folder")
    document = {
        "format": FORMAT,
        "settings": asdict(settings),
        "files": {
            "README.md": "the card",
            "formulas.jsonl": "a formula a line, in order, with the digest of its truth values",
            "shards/*.safetensors": "the tensors, named ID/TENSOR; the names are those of a "
            "model folder",
            "shards/*.directions.safetensors": "of disguised models",
            "shards/*.jsonl": "a model a line: formula, sample words, configuration, labels, "
            "circuit",
            "data/*.parquet": "the same as a table, by split",
            "index.parquet": "a row a model",
            "*.sha256": "digests, as sha256sum -c reads them",
        },
    }
    write_file(folder / "corpus.json", json_bytes(document), own=True)


def _formulas(
    folder: Path, settings: Settings, renew: Renew | None, progress: Progress
) -> list[dict[str, Any]]:
    """The first `count` formulas of the seed that differ in truth from all before them."""
    path = folder / "formulas.jsonl"
    if path.is_file() and _whole(folder / "formulas.sha256"):
        lines = read_text(path).split("\n")[:-1]
        return [parse_json(line, str(path)) for line in lines]
    entries: list[dict[str, Any]] = []
    seen: dict[str, list[str]] = {}
    arrived: dict[int, list[dict[str, Any]]] = {}
    chunk = fruitless = 0
    enough = False

    def tasks() -> Iterator[Any]:
        k = 0
        while not enough:
            yield k, draw, (settings, k)
            k += 1

    for k, drawn in run(tasks(), renew=renew):
        arrived[k] = drawn
        while chunk in arrived and not enough:  # in order, whoever was first
            before = len(entries)
            for entry in arrived.pop(chunk):
                alike = seen.setdefault(entry["truth"], [])
                if len(entries) < settings.count and _is_new(entry, alike, settings.alphabet):
                    alike.append(_text(entry))
                    entries.append(entry)
            chunk += 1
            fruitless = 0 if len(entries) > before else fruitless + 1
            enough = len(entries) == settings.count or fruitless == FRUITLESS
            progress("formulas", len(entries), settings.count)
    if len(entries) < settings.count:
        raise SofthatError(
            f"only {len(entries):,} different formulas were found among {chunk * CHUNK:,}: ask for "
            "fewer, or for larger ones (--max-size), another family or alphabet"
        )
    lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
    data = "".join(lines).encode()
    write_file(path, data, own=True)
    write_digests(folder / "formulas.sha256", {path.name: data})
    return entries


def _is_new(entry: dict[str, Any], alike: list[str], alphabet: tuple[str, ...]) -> bool:
    """Does it differ from those that agree with it on all short words? Of RASP programs that is
    not looked for."""
    if entry["family"] == RASP:
        return not alike
    text = _text(entry)
    return text not in alike and all(
        differ_somewhere(parse(text), parse(other), alphabet) for other in alike
    )


def _text(entry: dict[str, Any]) -> str:
    return str(entry["program"] if entry["family"] == RASP else entry["formula"])


def _shard(folder: Path, k: int, suffix: str) -> Path:
    return folder / "shards" / f"{k:05d}.{suffix}"


def _complete(folder: Path, k: int) -> bool:
    """Is the shard there, byte for byte as it was written? A damaged one is made again."""
    present = all(_shard(folder, k, suffix).is_file() for suffix in ("jsonl", "safetensors"))
    return present and _whole(_shard(folder, k, "sha256"))


def _whole(sums: Path) -> bool:
    """Are the files that a list of digests names as they were written?"""
    if not sums.is_file():  # killed before it was complete, or of an older softhat
        return False
    damaged = damaged_files(sums)
    for path in damaged:
        warnings.warn(f"{path} is damaged: it is made again", stacklevel=2)
    return not damaged


def _write_tables(folder: Path, settings: Settings) -> None:
    """The tables of all models, as Parquet, and the card."""
    index: list[dict[str, Any]] = []
    by_split: dict[str, list[dict[str, Any]]] = {name: [] for name in SPLITS}
    for shard in range(len(range(0, settings.count, settings.shard))):
        for line in read_lines(folder, shard):
            index.append(index_row(line, settings, shard))
            by_split[line["split"]].append(data_row(line, settings, shard))
    make_folder(folder / "data")
    for split, rows in by_split.items():
        if rows:
            write_file(folder / "data" / f"{split}.parquet", parquet_bytes(rows), own=True)
    write_file(folder / "README.md", card(settings, index).encode(), own=True)
    write_file(folder / "index.parquet", parquet_bytes(index), own=True)
