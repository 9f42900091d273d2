"""The names of W&B's run that `Run` answers, too, so that scripts written for it need no change."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._shared.plain import text_of
from .._shared.unsupported import nothing, say, say_unsupported
from .init_arguments import Settings

if TYPE_CHECKING:
    from .reporter import Reporter

_DIR = "svc-run"


class RunNames:
    """Base of `Run`. What it does not name, `__getattr__` answers with a line and an object that does nothing."""

    _reporter: Reporter
    _finished: bool
    _lock: Any
    id: Any

    def _name_parts(self) -> None:
        """Called by `__init__` of `Run`."""
        self._details: dict[str, Any] = {}
        self._tags: tuple[str, ...] = ()
        self._dir: str | None = None
        self._job_type: str | None = None
        self._began_at = time.time()
        self._first_step = 0
        self._offline = False
        self._alerted: dict[str, float] = {}

    # --- what the run is

    @property
    def project(self) -> str:
        return self._reporter.project

    @property
    def entity(self) -> str:
        """W&B's team. Here a project has members instead."""
        return ""

    @property
    def path(self) -> str:
        return f"{self.project}/{self.id}"

    def project_name(self) -> str:
        return self.project

    @property
    def project_url(self) -> str | None:
        """The address of the project's page; None without SVC_URL."""
        return self._reporter.page(f"/p/{quote(self.project, safe='')}")

    def get_url(self) -> Any:
        return getattr(self, "url", None)

    def get_project_url(self) -> str | None:
        return self.project_url

    @property
    def name(self) -> str:
        """The name that the page shows: the id of a run without one. A change is sent to the service."""
        return str(self._details.get("name") or self.id)

    @name.setter
    def name(self, value: Any) -> None:
        if value != self.name:
            self._change("name", value)

    @property
    def notes(self) -> str | None:
        notes: str | None = self._details.get("notes")
        return notes

    @notes.setter
    def notes(self, value: Any) -> None:
        self._change("notes", value)

    @property
    def group(self) -> str | None:
        group: str | None = self._details.get("group")
        return group

    @group.setter
    def group(self, value: Any) -> None:
        self._change("group", value)

    @property
    def tags(self) -> tuple[str, ...]:
        return self._tags

    @tags.setter
    def tags(self, value: Iterable[str] | None) -> None:
        """A change is sent to the service, where it counts until a person edits the tags on the page."""
        try:
            given = (value,) if isinstance(value, str) else tuple(value or ())
        except Exception:
            say(f"tags are a list of texts, got {type(value).__name__}: they are not changed")
            return
        tags = tuple(text_of(tag) for tag in given)
        if tags != self._tags:
            self._tags = tags
            self._update({"tags": list(tags)})

    @property
    def job_type(self) -> str:
        return self._job_type or self._reporter.experiment_type

    @property
    def dir(self) -> str:
        """A folder made at first use, below `init(dir=)`, WANDB_DIR or the working directory.

        Files in it become files of the run at its end.
        """
        folder = Path(self._dir or ".").absolute() / _DIR / str(self.id).replace(os.sep, "_")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._made_dir = folder
        except OSError as error:
            say(f"the folder of the run cannot be made: {error}")
        return str(folder)

    @property
    def start_time(self) -> float:
        """Unix time."""
        return self._began_at

    @property
    def starting_step(self) -> int:
        return self._first_step

    @property
    def resumed(self) -> bool:
        """Whether an earlier process has reported this run."""
        point = self._reporter.resume_point
        return point is not None and point.project is not None

    @property
    def offline(self) -> bool:
        """Whether events are only kept on disk."""
        return self._offline

    @property
    def disabled(self) -> bool:
        """Whether nothing is reported."""
        return self._reporter._disabled

    @property
    def settings(self) -> Any:
        return Settings(project=self.project, run_id=self.id, run_name=self.name, run_group=self.group)

    @property
    def sweep_id(self) -> str | None:
        return None

    # --- what it takes without an effect

    def status(self) -> str:
        return "finished" if self._finished else "running"

    def display(self, height: int = 420, hidden: bool = False) -> bool:
        """In a notebook: show the link to the run and its last values. False elsewhere."""
        try:
            shell = sys.modules["IPython"]
            if shell.get_ipython() is None:
                return False
            shell.display.display(self)
            return True
        except Exception:
            return False

    def to_html(self, height: int = 420, hidden: bool = False) -> str:
        text: str = getattr(self, "_repr_html_")()  # noqa: B009 - of `Run`
        return text

    def mark_preempting(self) -> None:
        """A line in the log: the run is about to be moved to another machine."""
        if not self._finished:
            self._reporter.emit_log(None, "this run is about to be preempted", "warning")

    def write_logs(self, text: str) -> None:
        """Send lines to the log without printing them."""
        if not self._finished:
            for line in text_of(text).splitlines():
                self._reporter.emit_log(None, line, "info")

    def pin_config_keys(self, keys: Iterable[str]) -> None:
        """The page has columns of its own."""

    def _label(self, *_args: Any, **_more: Any) -> None:
        """Libraries tell W&B their names with it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return nothing(f"run.{name}", "run", name)

    def _change(self, what: str, value: Any) -> None:
        text = "" if value is None else text_of(value)
        if self._details.get(what) == text:
            return
        self._details[what] = text
        self._update({what: text})

    def _update(self, fields: dict[str, Any]) -> None:
        """Send changed fields of the run. A `batch_start` with `update` changes only them."""
        reporter = self._reporter
        if not self._finished and reporter.is_open and not reporter.has_joined:
            data = {"experiment_type": reporter.experiment_type, "n_total": reporter.n_planned, "update": True}
            reporter.emit("batch_start", None, {**data, **fields})

    def _alert_is_due(self, title: str, wait_duration: Any) -> bool:
        """Whether an alert of this title may come again: `wait_duration` is in seconds, or a timedelta."""
        seconds = getattr(wait_duration, "total_seconds", lambda: wait_duration)()
        now = time.monotonic()
        with self._lock:
            last = self._alerted.get(title)
            if last is not None and isinstance(seconds, (int, float)) and now - last < seconds:
                return False
            if len(self._alerted) < 1_000:
                self._alerted[title] = now
        return True


def exit_error(given: Any, exit_code: Any) -> BaseException | None:
    """The error with which a run ends: an exception, or a status of a process as W&B's `finish` takes it."""
    if isinstance(given, BaseException):
        return given
    code = given if exit_code is None else exit_code
    return None if code in (None, 0, False) else SystemExit(code)


def goal_of(goal: Any, summary: Any) -> str | None:
    """`min` or `max`, from what W&B takes: goal="minimize", summary="min,last". None if neither says one.

    Raises ValueError for another goal.
    """
    known = {"min": "min", "max": "max", "minimize": "min", "maximize": "max"}
    if goal is not None and goal not in known:
        raise ValueError("goal must be 'min' or 'max'")
    if goal is not None:
        return known[goal]
    words = {word.strip() for word in text_of(summary).split(",")} if summary is not None else set()
    named = words & {"min", "max"}
    return named.pop() if len(named) == 1 else None


def summary_words(summary: Any) -> tuple[str, ...]:
    """What of a metric W&B's summary has; empty if it is the last value alone, `("none",)` if it has nothing of it."""
    words = [word.strip() for word in text_of(summary).split(",")] if summary is not None else []
    found = tuple(word for word in words if word in ("min", "max", "mean", "first", "last"))
    return found or (("none",) if "none" in words else ())


def step_name(step: Any) -> str | None:
    """The name of the metric that is the step: a text, or what `define_metric` returned."""
    return None if step is None else text_of(getattr(step, "pattern", step))


def unknown_keywords(call: str, more: Mapping[str, Any]) -> None:
    if more:
        say_unsupported(f"{call}({', '.join(f'{key}=' for key in more)})", "it has no effect")
