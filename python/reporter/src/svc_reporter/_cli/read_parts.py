"""What the commands that read have in common: reading pages, picking values, and printing."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .._capture.summary import guessed_goal
from .._shared.cli_text import cell, number, print_table, printable
from .._shared.errors import QueryError
from ..query import Api
from ..query._api import Goal
from ..query._client import segment
from ..query._values import flattened

FOUND, NOTHING = 0, 1


def page(api: Api, path: str, filters: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
    """So many items of a list; says which names in the query nothing has."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(found) < limit:
        page = api._client.get(path, {**filters, "limit": min(500, limit - len(found)), "cursor": cursor})
        if cursor is None and page.get("unknown_names"):
            names = ", ".join(page["unknown_names"])
            print(f"nothing has the name: {printable(names)}; check the spelling", file=sys.stderr)
        found += page["items"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    else:
        if cursor:
            print(f"more than {limit} match; --limit shows more", file=sys.stderr)
    return found


def job(api: Api, run: str, job: str) -> dict[str, Any]:
    for found in api._client.items(f"/api/batches/{segment(run)}/jobs"):
        if found["id"] == job:
            return found
    raise QueryError(f"the run has no job {job}", status=404)


def settings_of(api: Api, run: str) -> dict[str, Any]:
    """What a run was started with, under flat names."""
    batch = api.batch(run)
    job = next(api._client.items(f"/api/batches/{segment(run)}/jobs", None, 1), {})
    found: dict[str, Any] = dict(flattened(batch.get("config") or {}, "config."))
    found.update(flattened(job.get("params") or {}, "param."))
    found.update(flattened(batch.get("env_snapshot") or {}, "environment."))
    for name in ("commit", "command", "host", "user", "experiment_type"):
        found[name] = batch.get(name)
    for name in ("model", "dataset"):
        found[name] = job.get(name)
    return found


def best_of(jobs: Sequence[Mapping[str, Any]], metric: str) -> float | None:
    values = [
        value for job in jobs if isinstance(value := job["best"].get(metric), (int, float)) and math.isfinite(value)
    ]
    pick = max if goal(metric) == "max" else min
    return pick(values, default=None)


def goal(metric: str) -> Goal:
    return "max" if guessed_goal(metric) == "max" else "min"


def quoted(name: str) -> str:
    plain = all(letter.isalnum() or letter in "_./-" for letter in name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return name if plain else f'"{escaped}"'


def where(words: Sequence[str]) -> str | None:
    return " ".join(words).strip() or None


def end(run: Mapping[str, Any], column: str) -> str:
    """The better end of the range of a column."""
    found = (run.get("columns") or {}).get(column)
    if isinstance(found, Mapping):
        found = found.get("high" if column.startswith("max.") else "low")
    return number(found)


def facts(facts: Mapping[str, Any], traceback: str | None = None) -> int:
    shown = {name: cell(value) for name, value in facts.items() if value not in (None, "", [], {})}
    width = max((len(printable(name)) for name in shown), default=0)
    for name, value in shown.items():
        print(f"{printable(name):<{width}}  {value}")
    if traceback:
        print(f"\n{printable(traceback, lines=True)}")
    return FOUND


def rows(rows: Sequence[Mapping[str, Any]], otherwise: str) -> int:
    if not rows:
        return nothing(otherwise)
    print_table(rows)
    return FOUND


def nothing(text: str) -> int:
    print(text, file=sys.stderr)
    return NOTHING


def print_json(found: Any) -> int:
    print(json.dumps(plain(found), indent=2))
    return FOUND if found else NOTHING


def plain(value: Any) -> Any:
    """Numbers that JSON cannot write are text, as in the service's interface."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
