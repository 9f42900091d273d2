"""The values of one epoch as the event carries them: numbers make curves, and what makes none is said once per name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from ._messages import Messages
from ._plain import plain

NAME_LIMIT = 128
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_SCHEMA_NUMBERS = ("train_loss", "val_loss", "lr", "batch_time_ms")
"""Fields that the event schema wants as numbers: anything else would cost the whole event."""


class MetricValues:
    """Of one job. Never raises: a value that cannot be told costs itself, never its epoch."""

    def __init__(self, job_id: str, messages: Messages) -> None:
        self._job_id = job_id
        self._messages = messages
        self._good: set[str] = set()
        """Names that were checked already."""

    def of(self, metrics: Mapping[str, Any], epoch: int) -> dict[str, Any]:
        """`metrics` as data of a `job_epoch`; a None is left out, since "not given" and null mean the same here."""
        out: dict[str, Any] = {}
        good = self._good
        for key, value in metrics.items():
            if key not in good and not self._check(key):
                continue
            if type(value) is float and value - value == 0.0:  # finite: the common case, kept cheap
                out[key] = value
            elif value is not None:
                self._add(out, key, value)
        if "epoch" in out:
            self._keep_epoch(out, epoch)
        return out

    def _check(self, key: str) -> bool:
        if not key:
            self._say(key, "a metric without a name is left out")
        elif len(key) > NAME_LIMIT:
            self._say(key, f"{key[:40]!r}… is left out: {len(key)} characters, at most {NAME_LIMIT} make a name")
        else:
            if len(self._good) < 10_000:
                self._good.add(key)
            return True
        return False

    def _add(self, out: dict[str, Any], key: str, value: Any) -> None:
        told = plain(value)
        kind = type(told)
        if kind is bool:
            out[key] = int(told)
        elif kind is float or kind is int or told in _NON_FINITE:
            out[key] = told
        elif kind is dict:
            out[key] = self._group(key, told)
        elif key in _SCHEMA_NUMBERS:
            try:
                out[key] = plain(float(told))
            except (TypeError, ValueError):
                self._say(key, f"{key} is {_kind(value)}, no number; left out")
        else:
            out[key] = told
            self._say(key, f"{key} is {_kind(value)}, no number: it is kept with its epoch, and makes no curve")

    def _group(self, key: str, told: dict[str, Any]) -> dict[str, Any]:
        """Numbers within a dictionary are series `key/name`."""
        inner: dict[str, Any] = {}
        for name, value in told.items():
            if not name or len(name) + len(key) + 1 > NAME_LIMIT:
                self._say(f"{key}/{name}", f"{key}/{name[:40]} is no name of a metric; left out")
            elif type(value) is dict:
                inner[name] = self._group(f"{key}/{name}", value)
            else:
                if value is not None:
                    self._add(inner, name, value)
        return inner

    def _keep_epoch(self, out: dict[str, Any], epoch: int) -> None:
        """A metric called `epoch` beside the epoch itself."""
        value = out.pop("epoch")
        if value != epoch:
            out["epoch_"] = value
            self._say("epoch", "a metric named epoch is kept as epoch_, since epoch is the number of the row")

    def _say(self, key: str, message: str) -> None:
        self._messages.log_once(logging.WARNING, f"metric {self._job_id} {key}", f"job {self._job_id}: {message}")


def _kind(value: Any) -> str:
    return f"of type {type(value).__name__}"
