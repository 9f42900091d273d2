"""The stop poll and the resource sampler of an open reporter (specification §2.4)."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .._delivery.transport import Transport, Unreachable
from .gpu import Gpus, summary
from .machine import Machine


def load_modules() -> None:
    """Import the modules of the sampler before its thread starts: see _delivery/transport.py for the reason."""
    for name in ("psutil", "pynvml"):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: S112 - not installed, or broken: its figures are missing
            continue


class StopPoll:
    """Polls the stop flag. If the service cannot be reached, the run continues and nothing is logged."""

    def __init__(self, batch_id: str, transport: Transport, on_stop: Callable[[dict[str, Any]], None]) -> None:
        self._path = f"/api/batches/{quote(batch_id, safe='')}/stop-requested"
        self._transport = transport
        self._on_stop = on_stop

    def __call__(self) -> bool | None:
        """Poll once. False if no further poll is needed: a stop was requested, or the token is invalid."""
        try:
            response = self._transport.get(self._path)
            if response.status == 401:
                return False
            if response.status == 200:
                document = json.loads(response.body)
                if document.get("stop_requested") is True:
                    self._on_stop(document)
                    return False
        except (Unreachable, ValueError, AttributeError):
            return None
        return None


class Sampler:
    """Takes resource snapshots. The first one looks up the GPUs, in the sampler's thread."""

    def __init__(self, cwd: str, emit: Callable[[dict[str, Any]], None]) -> None:
        self._emit = emit
        self._machine = Machine(cwd)  # starts the first interval of the CPU utilisation
        self._gpus: Gpus | None = None

    def __call__(self) -> None:
        self._emit(self.sample())

    def sample(self) -> dict[str, Any]:
        if self._gpus is None:
            self._gpus = Gpus()
        figures = self._machine.sample()
        figures.update(summary(self._gpus.rows()))
        return figures
