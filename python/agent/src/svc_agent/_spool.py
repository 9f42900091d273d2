"""A queue on disk of reports to the service: acknowledgements, steps and results, sent in order."""

from __future__ import annotations

import itertools
import logging
import os
import time
from pathlib import Path
from typing import Any

from ._files import private_folder, read_json, write_json
from ._transport import Response, Service

_log = logging.getLogger("svc_agent")
_BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)


class Spool:
    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)
        last = max((int(path.stem) for path in self._pending()), default=0)
        self._numbers = itertools.count(last + 1)
        self._failures = 0
        self._not_before = 0.0

    def put(self, path: str, body: dict[str, Any], at: float | None = None) -> None:
        """Add a report; `at` is its Unix time on this host. Its age is sent, so that a wrong clock does no harm."""
        name = self._folder / f"{next(self._numbers):012d}.json"
        write_json(name, {"path": path, "body": body, "at": at})

    def drain(self, service: Service) -> None:
        """Send the reports until one must be retried later. Raises Unauthorized."""
        if time.monotonic() < self._not_before:
            return
        for file in self._pending():
            entry = read_json(file)
            response = None if entry is None else self._send(service, entry)
            if response is not None and response.is_retryable:
                self._not_before = time.monotonic() + _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)]
                self._failures += 1
                return
            if response is not None and not response.ok:
                _log.warning("the service rejected %s: %s", entry["path"], response.detail)
            os.unlink(file)
        self._failures = 0

    def _send(self, service: Service, entry: dict[str, Any]) -> Response:
        body = dict(entry["body"])
        if entry["at"] is not None:
            ago = max(0.0, time.time() - float(entry["at"]))
            if "steps" in body:
                body["steps"] = [{**step, "ago_s": ago} for step in body["steps"]]
            else:
                body["ago_s"] = ago
        return service.post(entry["path"], body)

    def _pending(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("*.json") if path.stem.isdigit())
