"""The paths, orders and filters of `Api().runs()`: MongoDB's, as W&B takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .._capture.axes import RESERVED
from ..errors import UsageError

_ORDERS = {"created_at": "started_at", "createdAt": "started_at", "heartbeat_at": "last_seen_at", "state": "status"}
MISSING = object()


def project_of(path: str | None) -> str | None:
    """The project of `entity/project`; spaces become `-`, as `init` does. Raises UsageError for other paths."""
    if not path:
        return None
    parts = [part for part in path.strip("/").split("/") if part]
    if len(parts) > 2:
        raise UsageError(f"{path!r} is not a project: give 'project' or 'entity/project'")
    return re.sub(r"\s+", "-", parts[-1]) if parts else None


def sort_of(order: str | None) -> dict[str, str]:
    """`sort` and `order` of the service for W&B's order. Raises UsageError for others."""
    name = (order or "+created_at").lstrip("+-")
    direction = "desc" if (order or "").startswith("-") else "asc"
    if name in _ORDERS:
        return {"sort": _ORDERS[name], "order": direction}
    kind, _, rest = name.partition(".")
    if rest and kind in ("summary_metrics", "summary"):
        return {"sort": f"last.{RESERVED.get(rest, rest)}", "order": direction}
    if rest and kind == "config":
        return {"sort": f"param.{rest.removesuffix('.value')}", "order": direction}
    raise UsageError(
        f"order={order!r} is not known; use created_at, heartbeat_at, summary_metrics.<name>, config.<name>"
    )


def sweep_in(filters: Mapping[str, Any]) -> str | None:
    """The sweep whose runs they ask for: `{"sweep": id}`, also within `$and`."""
    found = filters.get("sweep")
    if isinstance(found, Mapping):
        found = found.get("$eq")
    if isinstance(found, str):
        return found
    within = filters.get("$and")
    return next((one for one in map(sweep_in, within or ()) if one is not None), None)


def matches(run: Any, filters: Mapping[str, Any]) -> bool:
    """Whether a `StoredRun` meets them. Raises UsageError for a field or an operator that is not known."""
    return all(_meets(run, name, wanted) for name, wanted in filters.items())


def _meets(run: Any, name: str, wanted: Any) -> bool:
    if name in ("$and", "$or", "$nor"):
        found = (matches(run, one) for one in wanted)
        return all(found) if name == "$and" else any(found) if name == "$or" else not any(found)
    if name.startswith("$"):
        raise UsageError(f"the operator {name} of filters is not known")
    value = field_of(run, name)
    if isinstance(wanted, Mapping) and any(str(key).startswith("$") for key in wanted):
        return all(_compares(value, str(operator), other) for operator, other in wanted.items())
    return _equals(value, wanted)


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(value, list) and not isinstance(wanted, list):
        return wanted in value
    return bool(value is not MISSING and value == wanted) or (value is MISSING and wanted is None)


def _compares(value: Any, operator: str, wanted: Any) -> bool:
    check = _OPERATORS.get(operator)
    if check is None:
        raise UsageError(f"the operator {operator} of filters is not known; there are {', '.join(sorted(_OPERATORS))}")
    try:
        return bool(check(value, wanted))
    except TypeError:
        return False  # values of different kinds, or none


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equals,
    "$ne": lambda value, wanted: not _equals(value, wanted),
    "$gt": lambda value, wanted: value > wanted,
    "$gte": lambda value, wanted: value >= wanted,
    "$lt": lambda value, wanted: value < wanted,
    "$lte": lambda value, wanted: value <= wanted,
    "$in": lambda value, wanted: any(_equals(value, one) for one in wanted),
    "$nin": lambda value, wanted: not any(_equals(value, one) for one in wanted),
    "$exists": lambda value, wanted: (value is not MISSING) == bool(wanted),
    "$regex": lambda value, wanted: isinstance(value, str) and re.search(wanted, value) is not None,
    "$not": lambda value, wanted: not all(_compares(value, str(name), one) for name, one in wanted.items()),
}

_FIELDS: dict[str, Callable[[Any], Any]] = {
    "name": lambda run: run.id,
    "id": lambda run: run.id,
    "display_name": lambda run: run.name,
    "displayName": lambda run: run.name,
    "state": lambda run: run.state,
    "tags": lambda run: run.tags,
    "group": lambda run: run.group,
    "notes": lambda run: run.notes,
    "job_type": lambda run: run.job_type,
    "jobType": lambda run: run.job_type,
    "created_at": lambda run: run.created_at,
    "createdAt": lambda run: run.created_at,
    "heartbeat_at": lambda run: run.heartbeat_at,
    "heartbeatAt": lambda run: run.heartbeat_at,
    "duration": lambda run: run.batch.get("elapsed_s"),
    "username": lambda run: run.user.name,
    "user": lambda run: run.user.name,
    "host": lambda run: run.batch.get("host"),
    "sweep": lambda run: run.sweep_name,
}


def field_of(run: Any, name: str) -> Any:
    """Its value; `MISSING` without one. Raises UsageError for a field that is not known."""
    if name in _FIELDS:
        return _FIELDS[name](run)
    kind, _, rest = name.partition(".")
    if rest and kind == "config":
        return _within(run.config, rest.removesuffix(".value"))
    if rest and kind in ("summary_metrics", "summary"):
        return _within(run.summary, rest)
    raise UsageError(
        f"the field {name!r} of filters is not known; use config.…, summary_metrics.…, {', '.join(_FIELDS)}"
    )


def _within(values: Mapping[str, Any], name: str) -> Any:
    if name in values:
        return values[name]
    head, _, rest = name.partition(".")
    inner = values.get(head)
    return _within(inner, rest) if rest and isinstance(inner, Mapping) else MISSING
