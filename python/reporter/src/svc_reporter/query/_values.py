"""Converts values of the service's JSON to Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""Numbers that JSON cannot express; the service sends them as text (contract §1)."""


def as_number(value: Any) -> Any:
    """The float for NaN, Infinity or -Infinity as text; any other value unchanged."""
    return WORDS.get(value, value) if isinstance(value, str) else value


def as_time(text: str | None) -> datetime | None:
    """`2026-01-31T12:00:00.123Z` as a datetime in UTC, which Python 3.10 cannot read by itself."""
    if text is None:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return datetime.fromisoformat(whole).replace(microsecond=micros, tzinfo=timezone.utc)


def flattened(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """`{"optimizer": {"lr": 0.1}}` as `("param.optimizer.lr", 0.1)`."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
