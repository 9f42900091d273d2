"""Makes events, files and media of the records of one run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .._capture.axes import MAX_STEP
from .._capture.config import plain_config
from .._capture.media import MAX_LIST, Media
from .._delivery.envelope import EventEncoder
from .._delivery.queue import QueuedEvent
from .._disk.file_store import Kept, record_name
from .._run.files import content_of, safe_path
from .._run.start import MAIN
from .._shared.messages import Messages
from .._shared.plain import plain
from .._shared.redact import redact_text
from .._shared.tuning import Tuning
from ._channel import Channel, DerivedIds
from ._counts import Counts, Own
from ._records import (
    FAILED,
    FINISHED,
    STOPPED,
    End,
    Facts,
    Fault,
    File,
    Found,
    Idle,
    Line,
    Record,
    Row,
    Sample,
    Shown,
    Version,
)
from ._values import Repeats, series_name

_APART_MS = 60_000
"""Values of one step whose times differ by more are events of their own."""
_LINE_LIMIT = 60_000


class Writer:
    """Of one run. Without a channel it only counts, as for a dry run."""

    def __init__(self, found: Found, batch_id: str, tuning: Tuning, channel: Channel | None, *, points: bool = True):
        self._found = found
        self._batch_id = batch_id
        self._channel = channel
        self._with_points = points
        """False: the service has them already, and gets only what describes the run."""
        self._facts: dict[str, Any] = {"config": {}, "summary": {}, "tags": ()}
        self._sent: dict[str, Any] = {}
        self._sent_tags: list[str] = []
        self._started = False
        self._tuning = tuning
        self._ids = DerivedIds(batch_id)
        self._encoder: EventEncoder | None = None
        self._row: Row | None = None
        self._repeats = Repeats()
        self._names: dict[str, str] = {}
        self._series: set[str] = set()
        self._own_series: set[str] = set()
        self._shown: dict[tuple[str, int], int] = {}
        self._paths: set[str] = set()
        self._last_ms = found.start_ms
        self._steps = 0
        self.counts = Counts(runs=1)
        self.own = Own()
        self.faults: list[Fault] = []
        self.unread = 0
        self.state = ""

    # --- records

    def take(self, records: Iterable[Record]) -> None:
        """All records of the run. Raises Halted."""
        for record in records:
            self.one(record)
        self.finish()

    def one(self, record: Record) -> None:
        """Raises Halted."""
        try:
            if isinstance(record, Row):
                self._numbers(record)
            elif isinstance(record, Facts):
                self._describe(record.values)
            elif isinstance(record, Line):
                self._line(record)
            elif isinstance(record, Shown):
                self._media(record)
            elif isinstance(record, File):
                self._file(record)
            elif isinstance(record, Version):
                self._version(record)
            elif isinstance(record, Sample):
                self._emit("resource_snapshot", None, record.ms, record.values)
            elif isinstance(record, Fault):
                self._fault(record.where, record.why)
            elif isinstance(record, Idle):
                self._send_all()
            else:
                self._end(record)
        except (OSError, ValueError, TypeError, ImportError) as error:
            self._fault(type(record).__name__.lower(), f"{type(error).__name__}: {error}")

    def flush(self) -> None:
        """Send what waits for more of its step. Raises Halted."""
        row, self._row = self._row, None
        if row is not None and row.values:
            self._emit("job_epoch", MAIN, row.ms, {**row.values, "epoch": row.step})

    def finish(self) -> None:
        """Raises Halted."""
        self.flush()
        self._begin()
        self._tell_tags()
        changed = {key: value for key, value in self._details().items() if self._sent.get(key) != value}
        if changed and not self.state:
            self._emit_start(self._last_ms, {**changed, "update": True})
        self.counts.config = len(self._facts["config"])
        self.counts.tags = len(self._tags())
        self.own.series = len(self._own_series)
        self.counts.series = len(self._series) - self.own.series
        if self._channel is not None:
            self._channel.send_files()
            self._channel.flush()

    def _send_all(self) -> None:
        self.flush()
        if self._channel is not None:
            self._begin()
            self._channel.send_files()
            self._channel.flush()

    # --- the run

    def _describe(self, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if key in ("config", "summary"):
                self._facts[key].update(value)
            elif value is not None:
                self._facts[key] = value

    def _details(self) -> dict[str, Any]:
        facts = self._facts
        found = {name: facts[name] for name in ("name", "group", "notes") if facts.get(name)}
        if facts["config"]:
            found["config"] = plain_config(facts["config"])
        return found

    def _tags(self) -> list[str]:
        return list(dict.fromkeys(str(tag) for tag in self._facts["tags"]))[:100]

    def _tell_tags(self) -> None:
        """Tags come with a start only: one more where they were not known at first."""
        tags = self._tags()
        if tags != self._sent_tags:
            self._sent_tags = tags
            self._emit_start(self._found.start_ms + 1, {"tags": tags})

    def _begin(self) -> None:
        if self._started:
            return
        self._started = True
        facts, found = self._facts, self._found
        source = {key: str(facts[key]) for key in ("host", "user", "command", "commit") if facts.get(key)}
        self._encoder = EventEncoder(
            found.project, self._batch_id, source, self._ids, Messages(every_s=float("inf")), self._tuning
        )
        details = self._sent = self._details()
        self._sent_tags = self._tags()
        tags = {"tags": self._sent_tags} if self._sent_tags else {}
        self._emit_start(found.start_ms, {**details, **tags})
        self._emit("job_start", MAIN, found.start_ms, {"step_unit": found.step_unit})

    def _emit_start(self, ms: int, data: dict[str, Any]) -> None:
        kind = str(self._facts.get("type") or "train")[:64]
        self._emit("batch_start", None, ms, {"experiment_type": kind, "n_total": 1, **data})

    def _end(self, end: End) -> None:
        self.flush()
        self._begin()
        self._tell_tags()
        ms = max(end.ms, self._found.start_ms)
        seconds = round((ms - self._found.start_ms) / 1000, 3)
        changed = {key: value for key, value in self._details().items() if self._sent.get(key) != value}
        summary = {key: plain(value) for key, value in self._facts["summary"].items()}
        job: dict[str, Any] = {"elapsed_s": seconds, "train_epochs": self._steps}
        if summary:
            job["metrics"] = summary
        self.state = end.state
        if end.state == FINISHED:
            self._emit("job_done", MAIN, ms, job)
            self._emit("batch_done", None, ms, {"n_done": 1, "n_failed": 0, "total_elapsed_s": seconds, **changed})
        elif end.state in (FAILED, STOPPED):
            reason = "stop_requested" if end.state == STOPPED else end.reason or "failed"
            self._emit("job_failed", MAIN, ms, {**job, "reason": reason})
            self._emit("batch_failed", None, ms, {"reason": reason, "total_elapsed_s": seconds, **changed})
        else:
            self.state = ""  # it goes on: without an end the service shows it as running, then as lost

    # --- points

    def _numbers(self, record: Row) -> None:
        step = record.step
        if not -MAX_STEP <= step <= MAX_STEP:
            self._fault(f"step {step}", "is out of range")
            return
        row = self._row
        if row is not None and (row.step != step or abs(row.ms - record.ms) > _APART_MS):
            self.flush()
            row = None
        if row is None:
            self._row = row = Row(step, record.ms, {})
            self._steps += 1
        elif record.ms > row.ms:
            self._row = row = row._replace(ms=record.ms)
        self._last_ms = max(self._last_ms, record.ms)
        for name, value in record.values.items():
            self._number(name, step, value, row.values, record.added)

    def _number(self, name: str, step: int, value: Any, row: dict[str, Any], added: bool) -> None:
        key = self._names.get(name)
        if key is None:
            key = self._names[name] = series_name(name)
            self._series.add(key)
            if added:
                self._own_series.add(key)
        if added:
            self.own.points += 1
        else:
            self.counts.points += 1
        number = float(value)
        row[key] = (value if type(value) is int else number) if number - number == 0.0 else plain(number)
        for other, earlier in self._repeats.take(key, step, number):
            self._series.add(other)
            row[other] = plain(earlier)

    # --- lines, media, files

    def _line(self, record: Line) -> None:
        self._last_ms = max(self._last_ms, record.ms)
        self.counts.lines += 1
        text = redact_text(record.text)[:_LINE_LIMIT]
        data = {"line": text, "level": (record.level or "info")[:32]}
        # Equal lines of one millisecond are different lines.
        self._emit("log_line", MAIN, record.ms, {**data, "stream": record.stream} if record.stream else data, True)

    def _media(self, record: Shown) -> None:
        given = record.value if isinstance(record.value, list) else [record.value]
        name = series_name(record.name)
        count = self._shown.get((name, record.step), 0)
        self._shown[name, record.step] = count + 1
        shown = name if not count else f"{name}~{count}"
        self._begin()
        made = []
        for at, value in enumerate(given[:MAX_LIST]):
            one = self._encoded(value, f"media/{safe_path(shown)}/{record.step}-{at}")
            if one is not None:
                made.append(one)
        self.counts.media += len(given)
        if made:
            data = {shown: made if isinstance(record.value, list) else made[0], "epoch": record.step}
            self._emit("job_epoch", MAIN, record.ms, data)

    def _encoded(self, value: Media, stem: str) -> dict[str, Any] | None:
        if self._channel is None or not self._with_points:
            return None
        channel = self._channel

        def keep(content: bytes | Path, media_type: str, suffix: str) -> Kept:
            kept = channel.store.put(content)
            path = f"{stem}-{kept.sha256[:16]}{suffix}"
            self._keep(path, content_of(kept), media_type)
            if path not in self._paths:
                self._paths.add(path)
                self.own.media_files += 1
            return kept

        return value.taken()(keep)

    def _file(self, record: File) -> None:
        path = safe_path(record.path)
        if path in self._paths:
            return
        self._paths.add(path)
        self.counts.files += 1
        if self._channel is None or not self._with_points:
            return
        self._begin()
        if isinstance(record.content, bytes):
            self._keep(path, content_of(self._channel.store.put(record.content)), record.media_type)
        else:
            self._keep(path, self._channel.store.stage(record.content, link=True), record.media_type)

    def _keep(self, path: str, content: dict[str, Any], media_type: str | None) -> None:
        if self._channel is not None:
            data: dict[str, Any] = {
                "kind": "file",
                "batch_id": self._batch_id,
                "file_path": path,
                "media_type": media_type,
            }
            data |= {"job_id": MAIN, "files": [{"path": path, **content}]}
            self._channel.keep(data, record_name(self._batch_id, path))

    def _version(self, record: Version) -> None:
        if self._channel is None or not self._with_points:
            return
        self._begin()
        store = self._channel.store
        files = [{"path": safe_path(path), **store.stage(source, link=True)} for path, source in record.files]
        data: dict[str, Any] = {
            "kind": "artifact",
            "batch_id": self._batch_id,
            "project": self._found.project,
            "name": record.name,
        }
        data |= {"type": record.kind, "aliases": list(record.aliases), "metadata": plain(dict(record.metadata))}
        self._channel.keep({**data, "files": files}, record_name(self._batch_id, f"artifact {record.name}"))

    # --- events

    def _emit(self, kind: str, job_id: str | None, ms: int, data: dict[str, Any], each: bool = False) -> None:
        if self._channel is None:
            return
        self._begin()
        if not self._with_points and kind in ("job_epoch", "log_line", "resource_snapshot"):
            return
        self._ids.content = f"{kind}\0{self.counts.lines}\0{data!r}" if each else f"{kind}\0{data!r}"
        if self._encoder is None:
            return
        encoded = self._encoder.encode(QueuedEvent(0, kind, job_id, max(0, ms), data))
        if encoded is None:
            self._fault(kind, "cannot be sent, see the message of the reporter")
        else:
            self._channel.put(encoded)

    def _fault(self, where: str, why: str) -> None:
        self.unread += 1
        if len(self.faults) < 1_000:
            self.faults.append(Fault(where, why))


def milliseconds(seconds: float) -> int:
    """Unix time in milliseconds; 0 for what is no time."""
    return round(seconds * 1000) if math.isfinite(seconds) and seconds > 0 else 0
