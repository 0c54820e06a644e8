"""A method sits the exam: its scores for every question, as files, some of which may be there.

    OUT/METHOD/SEED/ID.json    scores by edge or features, seconds, the digest of the weights they
                               are for

Every file appears whole; a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from softhat.circuits.exam.directions import Features
from softhat.circuits.exam.directions import sabotaged as sabotaged_features
from softhat.circuits.exam.making import listed
from softhat.circuits.exam.methods import find
from softhat.circuits.exam.methods import sabotaged as sabotaged_scores
from softhat.circuits.exam.subject import read_subject
from softhat.io.errors import SofthatError
from softhat.io.files import (
    check_derived,
    is_file,
    json_bytes,
    make_folder,
    read_json,
    write_file,
)
from softhat.io.work.progress import Progress, unseen
from softhat.io.work.run import run, workers

FORMAT = "softhat-prediction/1"


def run_method(
    paper: Path,
    out: Path,
    name: str,
    seeds: Sequence[int] = (0,),
    only: Sequence[str] = (),
    repositories: Path | None = None,
    sabotage: str | None = None,
    jobs: int = 0,
    progress: Progress = unseen,
) -> tuple[Path, int, int]:
    """Predict what is missing. Returns the method's folder, the number of new predictions and the
    number of all. `only` are ids."""
    method = find(name)
    called = name if sabotage is None else f"{name}-{sabotage}"
    version = method.version(repositories)
    ids = list(only or listed(paper))
    if method.predicts == "directions":
        ids = [id for id in ids if read_subject(paper, id).is_disguised]
        if not ids:
            raise SofthatError(
                f"{name} looks for directions, and no question here is disguised: softhat exam "
                "make --only gpt2-disguised"
            )
    wanted = [(seed, id) for seed in seeds for id in ids]
    missing = []
    for seed, id in wanted:
        weights = read_subject(paper, id).question["weights"]
        file = out / called / str(seed) / f"{id}.json"
        check_derived(file, FORMAT.partition("/")[0])
        if not _is_done(file, weights):
            missing.append((seed, id))
    done = len(wanted) - len(missing)
    progress(called, done, len(wanted))
    tasks = (
        (k, predict, (paper, id, name, seed, repositories, sabotage))
        for k, (seed, id) in enumerate(missing)
    )
    failed: list[str] = []
    with workers(jobs) as renew:
        for k, prediction in run(tasks, renew=renew):
            seed, id = missing[k]
            if "failed" in prediction:
                failed.append(f"{id}: {prediction['failed']}")
                continue
            make_folder(out / called / str(seed))
            document = {"format": FORMAT, "method": called, "version": version, **prediction}
            write_file(out / called / str(seed) / f"{id}.json", json_bytes(document), own=True)
            done += 1
            progress(called, done, len(wanted))
    if failed:
        raise SofthatError(
            f"{called} failed on {len(failed)} of {len(wanted)} questions; the first is {failed[0]}"
        )
    return out / called, len(missing), len(wanted)


def predict(
    paper: Path, id: str, name: str, seed: int, repositories: Path | None, sabotage: str | None
) -> dict[str, Any]:
    """One question: scores by edge or features, and the processor's seconds."""
    subject = read_subject(paper, id, seed)
    method = find(name)
    _one_thread()
    start = time.process_time()
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # packages of others warn of what is theirs
        try:
            predicted = method.run(subject, repositories)
        except SofthatError:
            raise
        except Exception as error:  # whatever a package of others may raise
            return {"failed": f"{type(error).__name__}: {error}".replace("\n", " ")[:300]}
    if sabotage is not None:
        sabotaged = sabotaged_features if method.predicts == "directions" else sabotaged_scores
        predicted = sabotaged(predicted, sabotage, seed)
    return {
        "id": id,
        "seed": seed,
        "weights": subject.question["weights"],
        "seconds": round(time.process_time() - start, 3),
        **_prediction_data(predicted),
    }


def _prediction_data(predicted: Any) -> dict[str, Any]:
    if isinstance(predicted, Features):
        return {"features": predicted.to_json()}
    return {"scores": {edge: float(f"{score:.9g}") for edge, score in predicted.items()}}


def _one_thread() -> None:
    """Small models gain nothing by threads, and two processes would get into each other's way."""
    try:
        import torch
    except ImportError:
        raise SofthatError("methods need PyTorch: pip install 'softhat[lens]'") from None
    torch.set_num_threads(1)


def _is_done(file: Path, weights: str) -> bool:
    return is_file(file) and read_json(file).get("weights") == weights
