"""Converts the metrics of an epoch to event data, and logs once for each name that a value cannot be charted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from ._messages import Messages
from ._plain import plain

NAME_LIMIT = 128
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_SCHEMA_NUMBERS = ("train_loss", "val_loss", "lr", "batch_time_ms")
"""Fields that must be numbers by the event schema; another value would make the service reject the whole event."""


class MetricValues:
    """For one job. Never raises: an invalid value is left out, the rest of the epoch is kept."""

    def __init__(self, job_id: str, messages: Messages) -> None:
        self._job_id = job_id
        self._messages = messages
        self._good: set[str] = set()
        """Names that were checked before."""

    def of(self, metrics: Mapping[str, Any], epoch: int) -> dict[str, Any]:
        """The metrics as data of a `job_epoch`, without those that are None."""
        out: dict[str, Any] = {}
        good = self._good
        for key, value in metrics.items():
            if key not in good and not self._check(key):
                continue
            if type(value) is float and value - value == 0.0:  # a finite float: the most frequent case
                out[key] = value
            elif value is not None:
                self._add(out, key, value)
        if "epoch" in out:
            self._rename_epoch(out, epoch)
        return out

    def _check(self, key: str) -> bool:
        if not key:
            self._warn(key, "a metric without a name is not recorded")
        elif len(key) > NAME_LIMIT:
            self._warn(
                key, f"{key[:40]!r}… is not recorded: its name has {len(key)} characters, the limit is {NAME_LIMIT}"
            )
        else:
            if len(self._good) < 10_000:
                self._good.add(key)
            return True
        return False

    def _add(self, out: dict[str, Any], key: str, value: Any) -> None:
        converted = plain(value)
        kind = type(converted)
        if kind is bool:
            out[key] = int(converted)
        elif kind is float or kind is int or converted in _NON_FINITE:
            out[key] = converted
        elif kind is dict:
            out[key] = self._group(key, converted)
        elif key in _SCHEMA_NUMBERS:
            try:
                out[key] = plain(float(converted))
            except (TypeError, ValueError):
                self._warn(key, f"{key} is {_kind(value)}, no number; it is not recorded")
        else:
            out[key] = converted
            self._warn(key, f"{key} is {_kind(value)}, no number; it is stored with its epoch but not charted")

    def _group(self, key: str, converted: dict[str, Any]) -> dict[str, Any]:
        """Numbers in a dictionary become the series `key/name`."""
        inner: dict[str, Any] = {}
        for name, value in converted.items():
            if not name or len(name) + len(key) + 1 > NAME_LIMIT:
                self._warn(f"{key}/{name}", f"{key}/{name[:40]} is no valid name of a metric; it is not recorded")
            elif type(value) is dict:
                inner[name] = self._group(f"{key}/{name}", value)
            else:
                if value is not None:
                    self._add(inner, name, value)
        return inner

    def _rename_epoch(self, out: dict[str, Any], epoch: int) -> None:
        """Rename a metric called `epoch`, because that is the number of the epoch."""
        value = out.pop("epoch")
        if value != epoch:
            out["epoch_"] = value
            self._warn("epoch", "a metric named epoch is stored as epoch_, since epoch is the number of the epoch")

    def _warn(self, key: str, message: str) -> None:
        self._messages.log_once(logging.WARNING, f"metric {self._job_id} {key}", f"job {self._job_id}: {message}")


def _kind(value: Any) -> str:
    return f"of type {type(value).__name__}"
