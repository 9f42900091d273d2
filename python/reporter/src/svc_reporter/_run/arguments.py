"""Checks a Reporter's arguments. Raises ValueError and TypeError, before the training starts."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

from .._capture.axes import whole
from .._shared.plain import text_of

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
ID_LIMIT = 128


def project(value: Any) -> str:
    _text("project", value)
    if "/" in value or value != value.strip():
        raise ValueError("project must not contain '/' nor begin or end with white space")
    return str(value)


def batch_id(value: Any) -> str:
    text = _text("batch_id", value)
    if text in (".", ".."):  # a path of a URL cannot have them, so the schema excludes them
        raise ValueError("batch_id must not be '.' or '..'")
    return text


def experiment_type(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"experiment_type must be a string, got {type(value).__name__}")
    return value


def n_total(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"n_total must be a whole number, got {type(value).__name__}")
    number = int(value.__index__())
    if not 0 <= number <= 2**31 - 1:
        raise ValueError("n_total must be between 0 and 2,147,483,647")
    return number


def steps(value: Any) -> int:
    number = whole(value)
    if number is None or number < 1:
        raise ValueError(f"steps must be a whole number from 1 to 2^53 - 1, got {value!r}")
    return number


def interval(name: str, value: Any) -> float:
    """Seconds between two calls; 0 or None switches the thread off."""
    number = 0.0 if value is None else _seconds(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative")
    return number


def timeout(name: str, value: Any) -> float:
    number = _seconds(name, value)
    if number < 0 or math.isinf(number):
        raise ValueError(f"{name} must be a finite number of seconds, not negative")
    return number


def queue_size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"queue_size must be a whole number, got {type(value).__name__}")
    if value < 1:
        raise ValueError("queue_size must be at least 1")
    return value


def tags(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) or not all(isinstance(tag, str) for tag in value):
        raise TypeError("tags must be a list of texts")
    return list(value)


def details(name: str | None, group: str | None, notes: str | None) -> dict[str, Any]:
    """Fields of `batch_start`. Raises TypeError unless a value is a text."""
    details = {"name": name, "group": group, "notes": notes}
    for what, text in details.items():
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{what} must be a string, got {type(text).__name__}")
    return {what: text for what, text in details.items() if text}


def job_id(value: Any) -> str:
    """A valid job id from any value. Does not raise, because jobs start inside the training loop."""
    text = value if isinstance(value, str) else text_of(value)
    clean = _CONTROL.sub("_", text) or "job"
    if len(clean) > ID_LIMIT:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        clean = f"{clean[: ID_LIMIT - 13]}-{digest}"
    return clean


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {type(value).__name__}")
    if not 1 <= len(value) <= ID_LIMIT:
        raise ValueError(f"{name} must have 1 to {ID_LIMIT} characters, got {len(value)}")
    if _CONTROL.search(value):
        raise ValueError(f"{name} must not contain control characters")
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {type(value).__name__}")
    if math.isnan(value):
        raise ValueError(f"{name} must be a number of seconds, got NaN")
    return float(value)
