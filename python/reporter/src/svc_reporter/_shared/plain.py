"""Converts values of a training loop (floats, tensors, arrays, paths, configurations) to JSON data.

Runs in the caller's thread, because a tensor may change or be freed after the call. Never raises, and ends soon for
any object: cycles, the number of values and the time are bounded.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
import time
from collections import UserString, deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import timedelta
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from .signals import raise_if_by_signal

MAX_DEPTH = 32
"""The service rejects a depth over 64, and the envelope takes a few levels."""
MAX_ITEMS = 10_000
"""Of one list or dictionary."""
MAX_VALUES = 20_000
"""Of one call, all levels together: more do not fit into an event. Beyond it only single values are kept."""
MAX_S = 1.0
"""Seconds of one call, after which no further container is read."""
MAX_REPR = 1_000
CIRCULAR = "<circular>"
LEFT_OUT = "<left out>"
TOO_DEEP = "<too deep>"

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""In the default repr of objects; it differs in every process, so values of two runs would never be equal."""

_BIGGEST = 1 << 1023
"""Larger integers overflow a double; the service rejects them (contract §1)."""

_TEXTS = (str, bytes, bytearray, memoryview, UserString)
"""Sequences that are not lists of values."""


def plain(value: Any) -> Any:
    """`value` as JSON data; NaN and infinities become "NaN", "Infinity" and "-Infinity"."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else _non_finite(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -_BIGGEST < value < _BIGGEST else ("Infinity" if value > 0 else "-Infinity")
    scalar = _scalar(value)
    return _Conversion().convert(value, 0) if scalar is None else plain(scalar)


def fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as event data, without those that are None."""
    out: dict[str, Any] = {}
    conversion: _Conversion | None = None
    for key, value in values.items():
        if type(value) is float and value - value == 0.0:  # a finite float: the most frequent case
            out[key] = value
        elif value is not None:
            conversion = conversion or _Conversion()
            out[key] = conversion.convert_next(value)
    return out


def plain_entries(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a configuration as JSON data. A large one costs no other its place."""
    conversion = _Conversion()
    return {key: conversion.convert_next(value) for key, value in values.items()}


def entries_of(value: Any) -> dict[str, Any] | None:
    """The entries of a mapping, or the fields of an object that has named ones, unconverted; None for anything else.

    Never raises: an entry that cannot be read has its text as its value.
    """
    try:
        named = _named(value)
        return (
            None
            if named is None
            else {key if type(key) is str else text_of(key): item for key, item in islice(named, MAX_ITEMS)}
        )
    except Exception as error:
        raise_if_by_signal(error)
        return {}


def text_of(value: Any) -> str:
    """`str(value)`, or what kind of value it is if that raises."""
    try:
        return str(value)
    except Exception as error:
        raise_if_by_signal(error)
        return f"<{type(value).__name__}: not readable>"


def _scalar(value: Any) -> Any:
    """The number of a scalar of NumPy or torch, the most frequent value of a training loop; None for anything else."""
    try:
        made = value.item() if value.shape == () else None
    except Exception:
        return None
    return made if type(made) in (float, int, bool) else None


def _non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


class _Conversion:
    """One call: what is left of its limits, and the containers that are being converted."""

    __slots__ = ("_left", "_path", "_until")

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._until = time.monotonic() + MAX_S
        self._path: set[int] = set()
        """Ids of the containers around the current value."""

    def convert_next(self, value: Any) -> Any:
        """Convert one more value, which has the limit of values for itself. The time is that of all together."""
        self._left = MAX_VALUES
        return self.convert(value, 0)

    def convert(self, value: Any, depth: int) -> Any:
        self._left -= 1
        kind = type(value)
        if kind is float:
            return value if math.isfinite(value) else _non_finite(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if -_BIGGEST < value < _BIGGEST else ("Infinity" if value > 0 else "-Infinity")
        if depth >= MAX_DEPTH:
            return TOO_DEEP
        if id(value) in self._path:
            return CIRCULAR
        self._path.add(id(value))
        try:
            return self._convert(value, depth)
        except RecursionError:
            return TOO_DEEP
        except Exception as error:
            raise_if_by_signal(error)
            return _text(value)
        finally:
            self._path.discard(id(value))

    def _convert(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            return self.convert(value.value, depth + 1)
        named = _named(value)
        if named is None and not (isinstance(value, (Sequence, Set)) and not isinstance(value, _TEXTS)):
            return self._convert_single(value, depth)
        if self._left <= 0 or self._is_late():
            return LEFT_OUT
        # Single values of a built-in container cost no reading, so they are kept even after the time is over.
        is_read = type(value) not in (dict, list, tuple)
        if named is not None:
            out: dict[str, Any] = {}
            for key, item in named:
                if len(out) >= MAX_ITEMS or (is_read and self._is_late()):
                    out["…"] = LEFT_OUT
                    break
                out[text_of(key)] = self.convert(item, depth + 1)
            return out
        made: list[Any] = []
        for item in _items(value):
            if len(made) >= MAX_ITEMS or (is_read and self._is_late()):
                made.append(LEFT_OUT)
                break
            made.append(self.convert(item, depth + 1))
        return made

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _convert_single(self, value: Any, depth: int) -> Any:
        if isinstance(value, int):  # also subclasses, as of bool, float and str below
            return self.convert(int(value), depth)
        if isinstance(value, float):
            return self.convert(float(value), depth)
        if isinstance(value, (str, UserString)):
            return str(value)
        size = getattr(value, "size", None)
        count = size() if callable(size) else size
        if hasattr(value, "item") and (count == 1 or getattr(value, "shape", None) == () or _numel(value) == 1):
            made = value.item()  # NumPy and torch scalars, and arrays of one element
            if type(made) is type(value):  # a long double has no type of Python
                return self.convert(float(value), depth + 1)
            return self.convert(made, depth + 1)
        if hasattr(value, "tolist"):
            if (_numel(value) or 0) > MAX_ITEMS:
                return f"<{type(value).__name__} of shape {tuple(getattr(value, 'shape', ()))}>"
            return self.convert(value.tolist(), depth + 1)
        if hasattr(value, "isoformat"):
            return str(value.isoformat())
        if hasattr(value, "__fspath__"):
            return str(value)
        if hasattr(value, "__float__"):
            return self.convert(float(value), depth + 1)
        if isinstance(value, (UUID, timedelta)):
            return str(value)
        if callable(value) and hasattr(value, "__qualname__"):  # a function or a class
            return f"{value.__module__}.{value.__qualname__}"
        return _text(value)


def _text(value: Any) -> str:
    """The repr of a value, cut and without addresses."""
    try:
        text = _ADDRESS.sub("", repr(value))
    except Exception as error:
        raise_if_by_signal(error)
        return f"<{type(value).__name__}: not readable>"
    return text if len(text) <= MAX_REPR else text[:MAX_REPR] + "…"


def _named(value: Any) -> Iterator[tuple[Any, Any]] | None:
    """The entries of a mapping, or the fields of a dataclass, attrs class, named tuple, namespace or Pydantic model.

    None for anything else. An entry that cannot be read has its text as its value.
    """
    if type(value) is dict:
        return iter(list(value.items()))
    if isinstance(value, Mapping):
        return ((key, _read(value.__getitem__, key, value)) for key in value)
    names = _names_of_fields(value)
    if names is not None:
        return ((name, _read(partial(getattr, value), name, value)) for name in names)
    for method in ("_asdict", "model_dump"):
        made = getattr(value, method, None)
        if callable(made) and not isinstance(value, type):
            found = made()
            return _named(found) if isinstance(found, dict) else None
    return None


def _names_of_fields(value: Any) -> list[str] | None:
    kind = type(value)
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    if kind.__name__ in ("Namespace", "SimpleNamespace"):
        return [str(name) for name in vars(value)]
    if isinstance(value, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return list(kind._fields)
    attributes = getattr(kind, "__attrs_attrs__", None)
    if isinstance(attributes, tuple):
        return [attribute.name for attribute in attributes]
    model = getattr(kind, "model_fields", None)
    return list(model) if isinstance(model, dict) and callable(getattr(kind, "model_dump", None)) else None


def _items(value: Any) -> Iterator[Any]:
    """The items of a sequence or a set. Those of a class of its own are read one by one, because each may raise."""
    if isinstance(value, (list, tuple, deque, Set)):
        return iter(list(islice(value, MAX_ITEMS + 1)))
    return (_read(value.__getitem__, at, value) for at in range(len(value)))


def _read(read: Callable[[Any], Any], key: Any, owner: Any) -> Any:
    """A value of a container, or its text if reading it raises."""
    try:
        return read(key)
    except Exception as error:
        raise_if_by_signal(error)
        return _written(owner, key) or f"<not readable: {type(error).__name__}>"


def _written(owner: Any, key: Any) -> str | None:
    """The text of a value of OmegaConf that is missing or cannot be resolved: `???` or `${data.path}`."""
    omegaconf: Any = sys.modules.get("omegaconf")
    try:
        if omegaconf is None or not omegaconf.OmegaConf.is_config(owner):
            return None
        return str(omegaconf.OmegaConf.to_container(owner, resolve=False)[key])
    except Exception:
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
