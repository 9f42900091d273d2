"""The three threads beside an open reporter (specification §2.4): heartbeat, stop poll, resource sampler."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ._gpu import Gpus, summary
from ._machine import Machine
from ._transport import Transport, Unreachable


def load_modules() -> None:
    """Import what the sampler will need, before its thread starts: see `_transport.load_modules`."""
    for name in ("psutil", "pynvml"):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: S112 - not installed, or broken: it costs its figures only
            continue


class StopPoll:
    """Polls the stop flag. If the service cannot be reached, the run goes on and nothing is logged."""

    def __init__(self, batch_id: str, transport: Transport, on_stop: Callable[[dict[str, Any]], None]) -> None:
        self._path = f"/api/batches/{quote(batch_id, safe='')}/stop-requested"
        self._transport = transport
        self._on_stop = on_stop

    def __call__(self) -> bool | None:
        """One poll; False once there is nothing more to ask: stop was requested, or the token is refused."""
        try:
            answer = self._transport.get(self._path)
            if answer.status == 401:
                return False
            if answer.status == 200:
                document = json.loads(answer.body)
                if document.get("stop_requested") is True:
                    self._on_stop(document)
                    return False
        except (Unreachable, ValueError, AttributeError):
            return None
        return None


class Sampler:
    """Takes a resource snapshot; the devices are looked up at the first one, in the sampler's thread."""

    def __init__(self, cwd: str, emit: Callable[[dict[str, Any]], None]) -> None:
        self._emit = emit
        self._machine = Machine(cwd)  # begins the first interval of CPU utilisation, which is a difference
        self._gpus: Gpus | None = None

    def __call__(self) -> None:
        self._emit(self.sample())

    def sample(self) -> dict[str, Any]:
        if self._gpus is None:
            self._gpus = Gpus()
        figures = self._machine.sample()
        figures.update(summary(self._gpus.rows()))
        return figures
