"""Converts values of a training loop (floats, tensors, arrays, paths) to JSON data.

Runs in the caller's thread, because a tensor may change or be freed after the call. Never raises.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Any
from uuid import UUID

MAX_DEPTH = 32
"""The service rejects a depth over 64, and the envelope takes a few levels."""
MAX_ITEMS = 10_000
MAX_REPR = 1_000

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""In the default repr of objects; it differs in every process, so values of two runs would never be equal."""

_BIGGEST = 1 << 1023
"""Larger integers overflow a double; the service rejects them (contract §1)."""


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON data; NaN and infinities become "NaN", "Infinity" and "-Infinity"."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else _non_finite(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -_BIGGEST < value < _BIGGEST else ("Infinity" if value > 0 else "-Infinity")
    try:
        return _convert(value, depth)
    except RecursionError:
        return "<too deep>"
    except Exception:
        return f"<{kind.__name__}: not serialisable>"


def fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as event data, without those that are None."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if type(value) is float and value - value == 0.0:  # a finite float: the most frequent case
            out[key] = value
        elif value is not None:
            out[key] = plain(value)
    return out


def _non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _convert(value: Any, depth: int) -> Any:
    if depth >= MAX_DEPTH:
        return "<too deep>"
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    named = value if isinstance(value, Mapping) else named_fields(value)
    if named is not None:
        return {str(key): plain(item, depth + 1) for key, item in list(named.items())[:MAX_ITEMS]}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in list(value)[:MAX_ITEMS]]
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return plain(int(value), depth)
    if isinstance(value, float):
        return plain(float(value), depth)
    if isinstance(value, str):
        return str(value)
    size = getattr(value, "size", None)
    count = size() if callable(size) else size
    if hasattr(value, "item") and (count == 1 or getattr(value, "shape", None) == () or _numel(value) == 1):
        return plain(value.item(), depth + 1)  # NumPy and torch scalars, and arrays of one element
    if hasattr(value, "tolist"):
        if (_numel(value) or 0) > MAX_ITEMS:
            return f"<{type(value).__name__} of shape {tuple(getattr(value, 'shape', ()))}>"
        return plain(value.tolist(), depth + 1)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if hasattr(value, "__fspath__"):
        return str(value)
    if hasattr(value, "__float__"):
        return plain(float(value), depth + 1)
    if isinstance(value, (UUID, timedelta)):
        return str(value)
    if callable(value) and hasattr(value, "__qualname__"):  # a function or a class
        return f"{value.__module__}.{value.__qualname__}"
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= MAX_REPR else text[:MAX_REPR] + "…"


def named_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, named tuple, namespace or Pydantic model; None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        return dict(vars(value))
    for method in ("_asdict", "model_dump"):
        made = getattr(value, method, None)
        if callable(made):
            found = made()
            return found if isinstance(found, dict) else None
    return None


def _numel(value: Any) -> int | None:
    numel = getattr(value, "numel", None)
    if callable(numel):
        return int(numel())
    shape = getattr(value, "shape", None)
    if shape is None:
        return None
    total = 1
    for side in shape:
        total *= int(side)
    return total


def clean_text(value: Any) -> Any:
    """`value` without NUL and lone surrogates, which the service rejects (`invalid_text`)."""
    if isinstance(value, str):
        value = value.replace("\x00", "\ufffd")
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {clean_text(key): clean_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_text(item) for item in value]
    return value
