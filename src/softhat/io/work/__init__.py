"""Work on many processes or machines, and how far it is.

`run` hands numbered tasks to an executor and yields each result once, whoever dies meanwhile;
`processes` is a pool on this machine, `cluster` a Dask scheduler's workers, which must have this
very softhat (`source`). `progress` draws bars on a terminal. What the tasks are is for the
callers to say.
"""

from softhat.io.work.cluster import cluster
from softhat.io.work.processes import processes
from softhat.io.work.progress import progress
from softhat.io.work.run import Results, Task, run, workers
from softhat.io.work.source import source_digest

__all__ = [
    "Results",
    "Task",
    "cluster",
    "processes",
    "progress",
    "run",
    "source_digest",
    "workers",
]
