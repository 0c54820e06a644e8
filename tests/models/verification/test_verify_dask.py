"""On a real cluster: a worker that is killed during the run changes nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import softhat
from tests.cli.run import softhat_process
from tests.models.verification.test_verify import stable

distributed = pytest.importorskip("distributed")


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker(tmp_path: Path) -> None:
    model = softhat.compile("a S (b & Y a) & #(a) > #(b)", alphabet="ab")
    asked: dict[str, Any] = {"exhaustive": 6, "random": 40, "adversarial": 20, "max_length": 60}
    here = stable(softhat.verify(model, **asked))
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill_once(done: int, total: int, words: int) -> None:
            if not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        file = tmp_path / "state.json"
        with client.get_executor() as executor:
            result = softhat.verify(
                model, executor=executor, progress=kill_once, resume=file, **asked
            )
        assert killed
        assert stable(result) == here
        # The command line on the same cluster.
        folder = tmp_path / "model"
        model.save(folder)
        address = cluster.scheduler_address
        done = softhat_process(
            "verify", str(folder), "--dask", address, "--exhaustive", "5", "--random", "8",
            "--adversarial", "4", "--max-length", "30",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "ok" in done.out
