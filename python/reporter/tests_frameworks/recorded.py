"""What runs have recorded: read from wandb's offline folders, and from the service, in the same words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.kit.real_server import RealServer

from svc_reporter.query import Api

from .test_from_wandb import records_of

_KINDS = {
    "image-file": "image",
    "images/separated": "image",
    "audio-file": "audio",
    "audio": "audio",
    "video-file": "video",
    "videos": "video",
    "table-file": "table",
    "html-file": "html",
    "html": "html",
    "histogram": "histogram",
    "plotly-file": "plot",
}
_OWN_FILES = (
    "config.yaml",
    "output.log",
    "requirements.txt",
    "wandb-metadata.json",
    "wandb-summary.json",
    "diff.patch",
)
_OWN_CONFIG = ("_wandb",)


@dataclass
class Recorded:
    """One run."""

    points: set[tuple[str, int, Any]] = field(default_factory=set)
    media: set[tuple[str, int, str]] = field(default_factory=set)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """Without media; nested, as `acc/max` of `define_metric(summary="max")`."""
    state: str = "crashed"
    """`finished` or `failed` by the exit code; without an end the service calls a run crashed."""
    name: str = ""
    group: str = ""
    notes: str = ""
    job_type: str = ""
    tags: list[str] = field(default_factory=list)
    alerts: set[tuple[str, str]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    artifacts: list[tuple[str, str, str]] = field(default_factory=list)


def of_wandb(folder: Path, project: str) -> list[Recorded]:
    """The runs of a project in the order of their names, or of their starts."""
    found = []
    for file in sorted(folder.glob("**/offline-run-*/*.wandb")):
        records = list(records_of(file))
        if any(record.run.project == project for record in records):
            found.append(_of_records(records, file.parent))
    return sorted(found, key=lambda run: run.name)


def _of_records(records: Iterable[Any], folder: Path) -> Recorded:
    run = Recorded()
    axes: dict[str, str] = {}
    for record in records:
        if record.HasField("run"):
            told = record.run
            run.name, run.group, run.notes, run.job_type = (
                told.display_name or run.name,
                told.run_group or run.group,
                told.notes or run.notes,
                told.job_type or run.job_type,
            )
            run.tags = list(told.tags) or run.tags
            _change(run.config, told.config.update)
        elif record.HasField("config"):
            _change(run.config, record.config.update)
        elif record.HasField("summary"):
            _change(run.summary, record.summary.update)
            for item in record.summary.remove:
                run.summary.pop(item.key, None)
        elif record.HasField("history"):
            _take_history(run, record.history, axes)
        elif record.HasField("alert"):
            run.alerts.add((record.alert.title, record.alert.text))
        elif record.HasField("exit"):
            run.state = "failed" if record.exit.exit_code else "finished"
        elif record.HasField("artifact"):
            told = record.artifact
            paths = ",".join(sorted(entry.path for entry in told.manifest.contents))
            if told.type not in ("run_table", "wandb-history"):
                run.artifacts.append((told.type, paths, ",".join(sorted({"latest", *told.aliases}))))
        elif record.HasField("metric") and record.metric.step_metric:
            axes[record.metric.glob_name or record.metric.name] = record.metric.step_metric
    run.job_type = "" if run.job_type == "train" else run.job_type  # the default here
    run.artifacts.sort()
    run.config = {key: value for key, value in run.config.items() if key not in _OWN_CONFIG}
    run.summary = _plain_summary(run.summary)
    files = folder / "files"
    names = {path.relative_to(files).as_posix() for path in files.glob("**/*") if path.is_file()}
    run.files = {name for name in names if name not in _OWN_FILES and not name.startswith(("media/", "artifact/"))}
    return run


def _change(values: dict[str, Any], items: Iterable[Any]) -> None:
    for item in items:
        path = list(item.nested_key) or [item.key]
        place = values
        for part in path[:-1]:
            place = place.setdefault(part, {})
        place[path[-1]] = json.loads(item.value_json)


def _take_history(run: Recorded, history: Any, axes: Mapping[str, str]) -> None:
    values: dict[str, Any] = {}
    _change(values, history.item)
    step = int(values.get("_step", history.step.num))
    for name, value in _flattened(values):
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            kind = _KINDS.get(value["_type"])
            if kind == "table" and name.endswith("_table"):  # that of a chart
                name, kind = name.removesuffix("_table"), "plot"
            if kind is not None:
                run.media.add((name, step, kind))
        elif isinstance(value, (bool, int, float)) or value in ("NaN", "Infinity", "-Infinity"):
            axis = next((axis for pattern, axis in axes.items() if fnmatch(name, pattern) and name != axis), None)
            run.points.add((name, int(values.get(axis, step)), _number(value)))


def _flattened(values: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and "_type" not in value:
            yield from _flattened(value, f"{before}{key}/")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            continue
        else:
            yield f"{before}{key}", value


def _plain_summary(values: Mapping[str, Any]) -> dict[str, Any]:
    kept = {}
    for key, value in _flattened(values):
        if key.startswith("_") or isinstance(value, dict):
            continue
        kept[key] = _number(value) if isinstance(value, (bool, int, float)) else value
    return kept


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")


def of_service(service: RealServer, project: str) -> list[Recorded]:
    """The same of the service, read by `Api().runs()`."""
    api = Api(service.url, service.session or service.token)
    found = []
    for one in api.runs(project):
        batch = service.call("GET", f"/api/batches/{one.id}")
        run = Recorded(name=batch["name"] or "", group=batch["group"] or "", notes=batch["notes"] or "")
        run.state, run.job_type = one.state, "" if one.job_type == "train" else one.job_type
        run.tags, run.config, run.summary = batch["tags"], one.config, _plain_summary(one.summary)
        for series in service.call("GET", f"/api/batches/{one.id}/metrics")["series"]:
            name = "epoch" if series["key"] == "axis/epoch" else series["key"]
            pairs = zip(series["steps"], series["values"], strict=True)
            run.points |= {(name, step, _number(value)) for step, value in pairs}
        for item in service.call("GET", f"/api/batches/{one.id}/media?limit=500")["items"]:
            run.media.add((item["key"], item["step"], item["values"][0]["_type"]))
        for line in service.call("GET", f"/api/batches/{one.id}/log-lines?limit=500")["items"]:
            title, colon, text = line["line"].partition(": ")
            if line["stream"] is None and colon:
                run.alerts.add((title, text))
        listed = service.call("GET", f"/api/batches/{one.id}/files?limit=500")["items"]
        run.files = {file["path"] for file in listed if not file["path"].startswith(("media/", ".svc/"))}
        for artifact in one.logged_artifacts():
            paths = ",".join(sorted(file["path"] for file in artifact.files()))
            run.artifacts.append((artifact.type, paths, ",".join(sorted({"latest", *artifact.aliases}))))
        run.artifacts.sort()
        found.append(run)
    return sorted(found, key=lambda run: run.name)
