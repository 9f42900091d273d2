"""Offline runs of W&B: the transaction log `run-<id>.wandb`, with W&B's own protocol buffers, and the files beside it.

The log has the frames of LevelDB's log: blocks of 32 KiB with records that have a sum, a length and a type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._capture.media import Audio, Histogram, Html, Image, Media, Table, Text, Video
from ._records import (
    FAILED,
    FINISHED,
    End,
    Facts,
    Fault,
    File,
    Found,
    Line,
    Record,
    Row,
    Sample,
    Shown,
    Source,
    Version,
    Wanted,
)
from ._records import project_name as named
from ._values import flat
from ._wandb_log import Frame, frames

_LEVELS = {"INFO": "info", "WARN": "warning", "WARNING": "warning", "ERROR": "error"}
_NUMBER = re.compile(r"v\d+")
_NO_TABLE_ARTIFACT = "run_table"
"""Artifacts that W&B makes of logged tables; the tables are media here."""


def open_source(wanted: Wanted) -> Source:
    from wandb.proto import wandb_internal_pb2

    root = Path(wanted.path)
    if not root.exists():
        raise FileNotFoundError(2, "there is no such folder", str(root))
    logs = [root] if root.is_file() else sorted(path for path in root.rglob("*.wandb") if path.is_file())
    unique = {path.resolve(): path for path in logs}  # latest-run is a link to one of them
    if not unique:
        raise ValueError(f"{root} has no offline runs of W&B (run-….wandb)")
    return _WandB(wanted, sorted(unique), wandb_internal_pb2.Record)


class _WandB(Source):
    name = "wandb"

    def __init__(self, wanted: Wanted, logs: list[Path], record: Any) -> None:
        self._wanted = wanted
        self._logs = logs
        self.record = record
        self.total = sum(path.stat().st_size for path in logs)

    def runs(self) -> Iterator[Found | Fault]:
        by_run: dict[str, list[tuple[Path, Any]]] = {}
        for path in self._logs:
            try:
                first = self._first(path)
            except (OSError, ValueError) as error:
                yield Fault(str(path), str(error))
                continue
            by_run.setdefault(f"{first.project}/{first.run_id}", []).append((path, first))
        for logs in by_run.values():  # a run that was resumed has several logs
            logs.sort(key=lambda log: log[1].start_time.ToMilliseconds())
            first = logs[0][1]
            project = named(self._wanted.project or first.project or "uncategorized")
            reader = _Run(self, [path for path, _ in logs], first.start_time.ToMilliseconds())
            title = first.display_name or first.run_id
            yield Found(first.run_id, project, first.start_time.ToMilliseconds(), reader.records, title=title)

    def _first(self, path: Path) -> Any:
        with open(path, "rb") as file:
            for frame in frames(file):
                record = self.parsed(frame)
                if record is not None and record.WhichOneof("record_type") == "run":
                    return record.run
        raise ValueError("has no record of a run")

    def parsed(self, frame: Frame) -> Any:
        """None for what is not a record."""
        if frame.damage:
            return None
        try:
            return self.record.FromString(frame.data)
        except Exception:  # DecodeError; its class depends on the version of protobuf
            return None


class _Run:
    def __init__(self, source: _WandB, logs: list[Path], start_ms: int) -> None:
        self._source = source
        self._logs = logs
        self._start_ms = start_ms
        self._ends: list[End] = []
        """That of the newest log, if it has one."""

    def records(self) -> Iterator[Record]:
        self._config: dict[str, Any] = {}
        self._summary = _Latest()
        self._media: set[str] = set()
        self._lines = {"stdout": _Lines(), "stderr": _Lines()}
        self._step = 0
        self._last_ms = self._start_ms
        for log in self._logs:
            self._ends = []
            self._folder = log.parent / "files"
            yield from self._log(log)
        for stream, lines in self._lines.items():
            for text in lines.rest():
                yield Line(self._last_ms, text, stream=stream)
        yield Facts({"summary": _shown_summary(self._summary.values())})
        seen: set[str] = set()
        for log in reversed(self._logs):  # the newest file of a path counts
            folder = log.parent / "files"
            for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
                name = path.relative_to(folder).as_posix()
                if path.is_file() and name not in self._media and name not in seen:
                    seen.add(name)
                    yield File(name, path)
        yield from self._ends

    def _log(self, log: Path) -> Iterator[Record]:
        with open(log, "rb") as file:
            at = 0
            for frame in frames(file):
                self._source.read += file.tell() - at
                at = file.tell()
                record = self._source.parsed(frame)
                if record is None:
                    yield Fault(log.name, frame.damage or f"a record before byte {at:,} cannot be read")
                    continue
                kind = record.WhichOneof("record_type")
                try:
                    yield from self._record(kind, record)
                except (ValueError, TypeError, KeyError, OSError, ImportError) as error:
                    yield Fault(f"{log.name}, {kind} {record.num}", f"{type(error).__name__}: {error}")

    def _record(self, kind: str, record: Any) -> Iterator[Record]:
        if kind == "history":
            yield from self._history(record.history)
        elif kind == "output_raw":
            out = record.output_raw
            ms = self._seen(out.timestamp.ToMilliseconds())
            stream = "stdout" if out.output_type == type(out).STDOUT else "stderr"
            for text in self._lines[stream].take(out.line):
                yield Line(ms, text, stream=stream)
        elif kind == "run":
            yield self._run_facts(record.run)
        elif kind == "config":
            _update(self._config, record.config)
            yield Facts({"config": _shown_config(self._config)})
        elif kind == "summary":
            self._summary.update(record.summary)
        elif kind == "environment":
            env = record.environment
            command = " ".join(part for part in (env.program, *env.args) if part)
            yield Facts({"command": command or None, "commit": env.git.commit or None, "host": env.host or None})
        elif kind == "stats":
            sample = _sample({item.key: _json(item.value_json) for item in record.stats.item})
            if sample:
                yield Sample(self._seen(record.stats.timestamp.ToMilliseconds()), sample)
        elif kind == "artifact":
            yield from self._artifact(record.artifact)
        elif kind == "alert":
            alert = record.alert
            text = f"{alert.title}: {alert.text}" if alert.text else alert.title
            yield Line(self._last_ms, text, _LEVELS.get(alert.level.upper(), "info"))
        elif kind == "exit":
            code, seconds = record.exit.exit_code, record.exit.runtime
            ms = max(self._last_ms, self._start_ms + 1000 * int(seconds))
            reason = f"W&B: the script ended with status {code}"
            self._ends = [End(ms, FAILED if code else FINISHED, reason if code else None)]

    def _seen(self, ms: int) -> int:
        self._last_ms = max(self._last_ms, ms)
        return ms

    def _run_facts(self, run: Any) -> Facts:
        _update(self._config, run.config)
        self._summary.update(run.summary)
        facts = {
            "name": run.display_name or None,
            "group": run.run_group or (f"sweep {run.sweep_id}" if run.sweep_id else None),
            "notes": run.notes or None,
            "tags": list(run.tags) or None,
            "host": run.host or None,
            "type": run.job_type or None,
            "commit": run.git.commit or None,
        }
        return Facts({**facts, "config": _shown_config(self._config)})

    # --- history

    def _history(self, history: Any) -> Iterator[Record]:
        values: dict[str, Any] = {}
        for item in history.item:
            _set(values, item.nested_key or item.key.split("."), _json(item.value_json))
        step = int(values.pop("_step", history.step.num))
        at = values.pop("_timestamp", None)
        ms = self._seen(round(at * 1000)) if isinstance(at, (int, float)) else self._last_ms
        values.pop("_runtime", None)
        values.pop("_wandb", None)
        numbers: dict[str, Any] = {}
        for name, value in flat(values):
            if isinstance(value, bool):
                numbers[name] = int(value)
            elif isinstance(value, (int, float)):
                numbers[name] = value
            elif isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
                numbers[name] = float(value)
            elif value is not None:
                yield self._shown(name, step, ms, value)
        if numbers:
            yield Row(step, ms, numbers)

    def _shown(self, name: str, step: int, ms: int, value: Any) -> Record:
        made = self._media_of(value)
        if made is None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return Shown(name, step, ms, Text(text))
        return Shown(name, step, ms, made)

    def _media_of(self, value: Any) -> Media | list[Media] | None:
        """Raises OSError for a file that is gone, ValueError for a kind that has no counterpart."""
        if not isinstance(value, Mapping) or "_type" not in value:
            return None
        kind = str(value["_type"])
        if kind == "histogram":
            return Histogram(np_histogram=(value["values"], value["bins"]))
        if kind in ("images/separated", "audio", "videos") and isinstance(value.get("filenames"), list):
            one = {"images/separated": "image-file", "audio": "audio-file", "videos": "video-file"}[kind]
            captions = value.get("captions") or []
            made: list[Media] = []
            for at, path in enumerate(value["filenames"]):
                caption = captions[at] if isinstance(captions, list) and at < len(captions) else None
                inner = self._media_of({"_type": one, "path": path, "caption": caption})
                made += [inner] if isinstance(inner, Media) else []
            return made
        if kind == "table-file":
            found = json.loads(self._file(value).read_text("utf-8"))
            return Table(columns=found["columns"], data=found["data"])
        if kind == "html-file":
            return Html(self._file(value).read_text("utf-8", "replace"), data_is_not_path=True)
        caption = value.get("caption")
        if kind == "image-file":
            return Image(self._file(value), caption=caption)
        if kind == "audio-file":
            return Audio(self._file(value), caption=caption)
        if kind == "video-file":
            return Video(self._file(value), caption=caption)
        if kind == "plotly-file":
            return _PlotlyFile(self._file(value).read_text("utf-8"))
        if "path" in value:  # object3D-file, molecule-file and others: the file itself is kept with the run
            raise ValueError(f"{kind} has no counterpart here; its file is kept with the run")
        return None

    def _file(self, value: Mapping[str, Any]) -> Path:
        path = self._folder / str(value["path"])
        if not path.is_file():
            raise FileNotFoundError(2, "is gone", str(value["path"]))
        self._media.add(str(value["path"]))
        return path

    def _artifact(self, artifact: Any) -> Iterator[Record]:
        if artifact.type == _NO_TABLE_ARTIFACT:
            return
        files: list[tuple[str, Path]] = []
        for entry in artifact.manifest.contents:
            if entry.local_path and Path(entry.local_path).is_file():
                files.append((entry.path, Path(entry.local_path)))
            else:
                what = entry.ref or "the file is not on this machine any more"
                yield Fault(f"artifact {artifact.name}, {entry.path}", f"is left out: {what}")
        if files:
            metadata = _json(artifact.metadata) if artifact.metadata else {}
            kept = metadata if isinstance(metadata, dict) else {}
            aliases = [alias for alias in artifact.aliases if alias != "latest" and not _NUMBER.fullmatch(alias)]
            yield Version(artifact.name, artifact.type, files, aliases, kept)


class _PlotlyFile(Media):
    kind = "plot"

    def __init__(self, text: str) -> None:
        self._text = text

    def taken(self) -> Any:
        from .._capture.encode import Encoded

        made = Encoded(self._text.encode("utf-8", "replace"), "application/json", ".plotly.json", {})
        return lambda keep: self._stored(keep, made)


class _Lines:
    """Joins what was written to a stream into lines. A progress bar keeps its last state, as on a terminal."""

    def __init__(self) -> None:
        self._rest = ""

    def take(self, text: str) -> list[str]:
        *lines, self._rest = (self._rest + text).split("\n")
        return [shown for line in lines if (shown := line.rstrip("\r").rpartition("\r")[2]).strip()]

    def rest(self) -> list[str]:
        lines, self._rest = self._rest, ""
        return [lines.rpartition("\r")[2]] if lines.strip() else []


_decoder: Any = json.JSONDecoder()  # Any: the types of Python leave scan_once out
_scan = _decoder.scan_once
"""A third of the time of `json.loads`, for texts that are one value without space around it."""


def _json(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else json.loads(text)


class _Latest:
    """The last values of the summary. They come again with each step, so they are read at the end only."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, ...], str] = {}

    def update(self, record: Any) -> None:
        texts = self._texts
        for item in record.update:
            path = tuple(item.nested_key) or (item.key,)
            texts.pop(path, None)  # the later one replaces what is below it, too
            texts[path] = item.value_json
        for item in record.remove:
            gone = item.nested_key[0] if item.nested_key else item.key
            for path in [path for path in texts if path[0] == gone]:
                del texts[path]

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path, text in self._texts.items():
            try:
                _set(found, path, _json(text))
            except ValueError:
                continue  # not JSON: the history has the value, too
        return found


def _set(values: dict[str, Any], path: Any, value: Any) -> None:
    *folders, last = path
    for name in folders:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[last] = value


def _update(values: dict[str, Any], record: Any) -> None:
    for item in record.update:
        _set(values, item.nested_key or [item.key], _json(item.value_json))
    for item in record.remove:
        values.pop((list(item.nested_key) or [item.key])[0], None)


def _shown_config(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "_wandb"}


def _shown_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and short texts of the summary; media are those of the history."""
    shown = {key: one for key, one in summary.items() if not key.startswith("_")}
    kinds = (int, float, str)
    return {name: one for name, one in flat(shown) if isinstance(one, kinds) and len(str(one)) <= 1_000}


_STATS = {"cpu": "cpu_util_pct", "proc.memory.rssMB": "ram_mb"}
_GPU = {"gpu": "util_pct", "memoryAllocatedBytes": "mem_mb", "temp": "temp_c", "powerWatts": "power_w"}


def _sample(stats: Mapping[str, Any]) -> dict[str, Any]:
    """W&B's system metrics as fields of a resource sample."""
    numbers = {key: value for key, value in stats.items() if isinstance(value, (int, float))}
    found: dict[str, Any] = {ours: numbers[theirs] for theirs, ours in _STATS.items() if theirs in numbers}
    gpus: dict[int, dict[str, Any]] = {}
    for key, value in numbers.items():
        parts = key.split(".")
        if len(parts) == 3 and parts[0] == "gpu" and parts[1].isdigit() and parts[2] in _GPU:
            shown = value / 2**20 if parts[2].endswith("Bytes") else value
            gpus.setdefault(int(parts[1]), {})[_GPU[parts[2]]] = shown
    if gpus:
        found["gpus"] = [{"index": index, **fields} for index, fields in sorted(gpus.items())]
    return found
