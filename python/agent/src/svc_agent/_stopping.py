"""Stops a process of the agent: SIGTERM to its process group, and after a grace period SIGKILL."""

from __future__ import annotations

import os
import signal
import time

from ._identity import members_of_session
from ._runs import Phase, Run
from ._spool import Spool


def begin_stop(run: Run, stop_cmd_id: str) -> None:
    """Record the stop before the first signal, so that a restarted agent continues it."""
    if not run.has("stop.json"):
        run.write("stop.json", {"cmd_id": stop_cmd_id})


def continue_stop(run: Run, spool: Spool, jobs_path: str, grace_s: float) -> None:
    """Send the next signal to a process that is being stopped, if it is due."""
    stop = run.read("stop.json")
    if stop is None or run.state().phase is not Phase.RUNNING:
        return
    identity = run.identity()
    steps = f"{jobs_path}/{stop['cmd_id']}/steps"
    now = time.time()
    if "sigterm_at" not in stop:
        if identity is not None and identity.is_alive():
            _signal_group(identity.pid, signal.SIGTERM)
        run.write("stop.json", {**stop, "sigterm_at": now})
        spool.put(steps, {"steps": [{"step": "sigterm"}]}, now)
    elif "sigkill_at" not in stop and not 0 <= now - stop["sigterm_at"] < grace_s:
        if identity is not None and identity.is_alive():
            _signal_group(identity.pid, signal.SIGKILL)
            for pid in members_of_session(identity.pid):
                _signal(pid, signal.SIGKILL)
        run.write("stop.json", {**stop, "sigkill_at": now})
        spool.put(steps, {"steps": [{"step": "sigkill"}]}, now)


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group of a session leader, whose id is its pid."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
