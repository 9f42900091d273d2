"""Aim, into a local repository."""

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(os.environ.get("PEERS_HOME", "."))
AIM = str(Path(sys.executable).parent / "aim")


def serve(home: str, port: int) -> list[str]:
    return [AIM, "up", "--repo", home, "--port", str(port)]


def open_run():  # type: ignore[no-untyped-def]
    from aim import Repo, Run

    Repo.from_path(str(HOME), init=True)
    run = Run(repo=str(HOME), system_tracking_interval=None, capture_terminal_logs=False)
    return lambda values, step: run.track(values, step=step), run.close


def count() -> int:
    """Aim finds the values of a run once they are in its index, which `aim up` would make in the background."""
    subprocess.run(
        [AIM, "storage", "--repo", str(HOME), "reindex"], input="y\n", text=True, check=True, capture_output=True
    )
    from aim import Repo

    metrics = (metric for run in Repo(str(HOME)).iter_runs() for metric in run.metrics())
    return sum(len(list(metric.values.values_list())) for metric in metrics)
