"""The trial of a sweep that this process works on. It is in the environment, so that child processes have it too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .._process import watchdog

TRIAL = "SVC_TRIAL"
"""The variable with the trial as JSON; SVC_BATCH_ID names its batch, so that reporters join it."""
_BATCH = "SVC_BATCH_ID"


@dataclass
class Trial:
    sweep_id: str
    batch_id: str
    project: str
    number: int
    job_id: str
    params: dict[str, Any]
    metric: str
    lease: str = ""
    """The request that reserved it, by which this worker keeps it; empty without a lease."""
    lease_s: int = 0
    pruned: bool = False
    """`should_stop` has said that other trials are better."""
    reported: bool = False
    """A run of this process has reported it."""
    values: dict[int, float] = field(default_factory=dict)
    """The values of the metric that this process has reported, by step."""

    def as_text(self) -> str:
        names = ("sweep_id", "batch_id", "project", "number", "job_id", "params", "metric", "lease", "lease_s")
        return json.dumps({name: getattr(self, name) for name in names})

    def note(self, data: Mapping[str, Any]) -> None:
        """Keep the metric of a `job_epoch`, for `should_stop`."""
        value, step = data.get(self.metric), data.get("epoch")
        if isinstance(value, (int, float)) and isinstance(step, int):
            self.values[step] = float(value)

    def keeping(self) -> dict[str, Any] | None:
        """What the watchdog needs to keep this trial for as long as its process lives; None without a lease."""
        if not self.lease:
            return None
        path = f"/api/sweeps/{quote(self.sweep_id, safe='')}/trials/{self.number}/lease"
        return {"path": path, "ask_id": self.lease, "lease_s": self.lease_s}


_current: Trial | None = None
_held: Any = None
"""The hold of the watchdog on the current trial."""
_text: str | None = None


def current() -> Trial | None:
    """The trial of this process: the one that it asked for last, or the one of the process that started it."""
    global _current, _text
    text = os.environ.get(TRIAL) or None
    if text != _text:
        _text, _current = text, _read(text)
    return _current


def _read(text: str | None) -> Trial | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
        return Trial(**found) if isinstance(found["params"], dict) else None
    except (ValueError, TypeError, KeyError):
        return None


def begin(trial: Trial, held: watchdog.Hold | None = None) -> None:
    """From now on `init` and reporters of this process and its children report this trial.

    `held` is ended with it.
    """
    global _current, _text, _held
    _held = held
    _current, _text = trial, trial.as_text()
    os.environ[TRIAL], os.environ[_BATCH] = _text, trial.batch_id


def end() -> None:
    global _current, _text, _held
    if _held is not None:
        _held.end()
    _held = None
    _current = _text = None
    for name in (TRIAL, _BATCH):
        os.environ.pop(name, None)


def environment(trial: Trial) -> dict[str, str]:
    """Variables for a process that works on the trial."""
    return {TRIAL: trial.as_text(), _BATCH: trial.batch_id}


def of_batch(batch_id: str) -> Trial | None:
    """The trial of this process, if it is one of this batch."""
    trial = current()
    return trial if trial is not None and trial.batch_id == batch_id else None
