"""What the service's commands say, and what is to be known of the processes that they started."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from ._identity import has_process_of, members_of_session
from ._runs import Phase, Run, State

_LAST_WORDS_S = 12.0
"""The token of a process ends with its result. What it left in its session, such as its reporter's watchdog, has so
long to send what is left."""


def is_target(job: dict[str, Any], run: Run, state: State) -> bool:
    wanted = job.get("target_cmd_id")
    return state.pid is not None and state.pid == job.get("pid") and wanted in (None, run.cmd_id)


def is_command(job: Any) -> bool:
    """Its id becomes the name of a folder, so it must be one."""
    try:
        UUID(job["cmd_id"])
        if job["kind"] == "stop":
            return True
        return job["kind"] == "rerun" and isinstance(job["command"], str) and "\0" not in job["command"]
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def public_part(job: dict[str, Any]) -> dict[str, Any]:
    return {name: job.get(name) for name in ("cmd_id", "kind", "batch_id", "command", "cwd", "pid", "target_cmd_id")}


def has_last_words(run: Run, state: State) -> bool:
    identity = run.identity()
    if state.phase is not Phase.ENDED or state.ended_at is None or identity is None or run.has("stop.json"):
        return False
    return 0 <= time.time() - state.ended_at < _LAST_WORDS_S and (
        bool(members_of_session(identity.pid)) or has_process_of(run.cmd_id)
    )


def lasted_s(state: State) -> float:
    if state.started_at is None or state.ended_at is None:
        return float("inf")
    return state.ended_at - state.started_at
