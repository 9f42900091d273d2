"""What `batch_start` says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._ranks import world_size
from ._settings import Rerun
from ._snapshot import Snapshot
from ._version import __version__

if TYPE_CHECKING:
    from ._reporter import Reporter


def start_data(
    run: Reporter, snapshot: Snapshot, config: Any, tags: list[str], rerun: Rerun
) -> Callable[[], dict[str, Any]]:
    """The data of `batch_start`, completed with git's state when the worker gets to it."""
    data: dict[str, Any] = {
        "experiment_type": run.experiment_type,
        "n_total": run.n_total,
        "command": snapshot.command,
        "cwd": snapshot.cwd,
        "client": {"name": "svc-reporter", "version": __version__, "python": sys.version.split()[0]},
    }
    if config is not None:
        data["config"] = config
    if tags:
        data["tags"] = tags
    if rerun.of is not None:
        data["rerun_of"] = rerun.of
    if rerun.jobs is not None:
        data["rerun_jobs"] = sorted(rerun.jobs)
    if world_size() > 1:
        data["world_size"] = world_size()
    return lambda: {**data, "env_snapshot": snapshot.data()}
