"""Checks commands of the service, and the processes that they started."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from ._identity import has_process_of_command, members_of_session
from ._runs import Phase, Run, State

_CHILDREN_TIMEOUT_S = 12.0
"""The token of a process becomes invalid with its result. Processes that it left behind, such as its reporter's
watchdog, have so many seconds to send their events before that."""


def is_target(job: dict[str, Any], run: Run, state: State) -> bool:
    """Whether a stop command is for the process of this run."""
    wanted = job.get("target_cmd_id")
    return state.pid is not None and state.pid == job.get("pid") and wanted in (None, run.cmd_id)


def is_command(job: Any) -> bool:
    """Whether this is a valid command. Its id must be a UUID, because it becomes the name of a folder."""
    try:
        UUID(job["cmd_id"])
        if job["kind"] == "stop":
            return True
        return job["kind"] == "rerun" and isinstance(job["command"], str) and "\0" not in job["command"]
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def public_part(job: dict[str, Any]) -> dict[str, Any]:
    """The fields of a command that are stored on disk, without secrets."""
    return {name: job.get(name) for name in ("cmd_id", "kind", "batch_id", "command", "cwd", "pid", "target_cmd_id")}


def has_running_children(run: Run, state: State) -> bool:
    """Whether the result must wait: the process ended, and processes that it left behind still run."""
    identity = run.identity()
    if state.phase is not Phase.ENDED or state.ended_at is None or identity is None or run.has("stop.json"):
        return False
    return 0 <= time.time() - state.ended_at < _CHILDREN_TIMEOUT_S and (
        bool(members_of_session(identity.pid)) or has_process_of_command(run.cmd_id)
    )


def lasted_s(state: State) -> float:
    """Duration of the process in seconds; infinity if unknown."""
    if state.started_at is None or state.ended_at is None:
        return float("inf")
    return state.ended_at - state.started_at
