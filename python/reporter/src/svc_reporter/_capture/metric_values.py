"""Converts the metrics of an epoch to event data, and logs once that the values of a name cannot be charted."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

from .._shared.messages import Messages
from .._shared.plain import plain

NAME_LIMIT = 128
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_SCHEMA_NUMBERS = ("train_loss", "val_loss", "lr", "batch_time_ms")
"""Fields that must be numbers by the event schema; another value would make the service reject the whole event."""


_AT_ONCE = 3
"""So many names of metrics that are not numbers have a message each; further ones share one."""


_PLAIN = frozenset((float, int, str, bool, bytes, dict, type(None)))
_NO_MEDIA = frozenset(("numpy", "torch", "jax", "jaxlib", "tensorflow", "builtins", "decimal", "enum"))
_LIBRARIES = ("matplotlib", "plotly", "PIL", "pandas", "polars")
"""Libraries whose figures, images and data frames are media by themselves."""


def media_in(value: Any) -> Any:
    """The media of a logged value: one, a list of them, or None for an ordinary value."""
    kind = type(value)
    if kind in _PLAIN:
        return None
    is_list = kind is list or kind is tuple
    if is_list and (not value or type(value[0]) in _PLAIN):
        return None
    if not is_list and kind is not type(sys) and kind.__module__.partition(".")[0] in _NO_MEDIA:
        return None
    if "svc_reporter._capture.media" not in sys.modules and not any(name in sys.modules for name in _LIBRARIES):
        return None
    from .media import media_of

    return media_of(value)


class MetricValues:
    """For one job. Never raises: an invalid value is left out, the rest of the epoch is kept."""

    def __init__(self, job_id: str, messages: Messages) -> None:
        self._job_id = job_id
        self._messages = messages
        self._good: set[str] = set()
        """Names that were checked before."""
        self.media: dict[str, Any] = {}
        """Images and the like of the last call; they are encoded and reported apart."""

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
            self._warn("unnamed", "''", "a metric without a name is not recorded")
        elif len(key) > NAME_LIMIT:
            text = f"not recorded, because the name has over {NAME_LIMIT} characters: {{names}}"
            self._warn("long", f"{key[:40]}… ({len(key)})", text)
        else:
            if len(self._good) < 10_000:
                self._good.add(key)
            return True
        return False

    def _add(self, out: dict[str, Any], key: str, value: Any) -> None:
        media = media_in(value)
        if media is not None:
            self.media[key] = media
            return
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
                self._warn("no number", _typed(key, value), "not recorded, since it is not a number: {names}")
        else:
            out[key] = converted
            self._warn(
                "no chart",
                _typed(key, value),
                "stored with its epoch but not charted, since it is not a number: {names}",
            )

    def _group(self, key: str, converted: dict[str, Any]) -> dict[str, Any]:
        """Numbers in a dictionary become the series `key/name`."""
        inner: dict[str, Any] = {}
        for name, value in converted.items():
            if not name or len(name) + len(key) + 1 > NAME_LIMIT:
                self._warn(
                    "invalid", f"{key}/{name[:40]}", "not recorded, since it is not a valid metric name: {names}"
                )
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
            text = "a metric named {names} is stored as epoch_, since epoch is the number of the epoch"
            self._warn("epoch", "epoch", text)

    def _warn(self, kind: str, name: str, text: str) -> None:
        self._messages.log_names(
            logging.WARNING, f"metric {self._job_id} {kind}", (name,), f"job {self._job_id}: {text}", at_once=_AT_ONCE
        )


def _typed(key: str, value: Any) -> str:
    return f"{key} ({type(value).__name__})"
