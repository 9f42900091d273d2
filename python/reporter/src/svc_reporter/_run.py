"""`init` and `Run`: one run in two lines, over `Reporter`."""

from __future__ import annotations

import atexit
import html
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote

from . import _environment, _lifecycle
from ._axes import Axes, Metric
from ._config import Config, config_of, plain_config
from ._console import ConsoleCapture
from ._delivery import Delivery
from ._failure import reason_of, trace_of
from ._ids import now_ms
from ._job import Job
from ._redact import redact_text
from ._reporter import Reporter
from ._shield import shield
from ._summary import Summary

_CONFIG_LIMIT = 150 * 1024
"""Bytes of JSON: the start of the batch has 256 KiB, which environment and command are part of."""
_LINES_BEFORE_JOB = 200
"""Lines that wait for the first job; with the next one the run's own job begins."""
_DIFF_TIMEOUT_S = 2.0
"""For how long the end waits until the git diff was read."""
MAIN = "main"


def init(
    project: str,
    *,
    name: str | None = None,
    config: Any = None,
    tags: Iterable[str] | None = None,
    group: str | None = None,
    notes: str | None = None,
    experiment_type: str = "train",
    n_total: int = 1,
    job: str = MAIN,
    step_unit: str = "step",
    console: bool = True,
    environment: bool | Iterable[str] = True,
    quiet: bool = False,
    **reporter: Any,
) -> Run:
    """Begin a run and print its address. `config` may be a dictionary or what argparse made.

    `environment` is True, False or the names of the parts to record (`libraries`, `gpus`, `git`, `diff`, `entry`,
    `cluster`); `console=False` leaves what is printed out of the run's log; `quiet=True` prints nothing. Further
    arguments are those of `Reporter` (`url`, `token`, `batch_id`, `resources_s`, ...). A run that an earlier `init` of
    this process began and did not finish is finished first.

    Raises ValueError and TypeError for arguments that can never work, and nothing else.
    """
    for text, what in ((name, "name"), (group, "group"), (notes, "notes")):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{what} must be text, got {type(text).__name__}")
    if not isinstance(step_unit, str) or not 1 <= len(step_unit.strip()) <= 64:
        raise ValueError("step_unit must be 1 to 64 characters")
    parts = _environment.wanted_parts(environment)
    given = config_of(config)
    made = Reporter(project, experiment_type, n_total, tags=tags, **reporter)
    if _current is not None:
        _current.finish()
    run = Run(made, given, name=name, job=job, step_unit=step_unit.strip(), quiet=quiet)
    run._begin({"name": name, "group": group, "notes": notes}, parts, console)
    return run


class Run:
    """Made by `init`. Nothing here raises into the training, except StopRequested from `log`.

    Use it as a context, or call `finish()`; at the end of the script, and when it fails, that happens by itself.
    """

    def __init__(
        self, reporter: Reporter, config: dict[str, Any], *, name: str | None, job: str, step_unit: str, quiet: bool
    ) -> None:
        self._reporter = reporter
        self.name = name
        self.config = Config(config, self._tell_config)
        self._axes = Axes(self._complain)
        self.summary = Summary(self._axes.goal_of)
        self._job_id = job
        self._step_unit = step_unit
        self._quiet = quiet
        self._main: Job | None = None
        self._console: ConsoleCapture | None = None
        self._diff: threading.Thread | None = None
        self._lines = 0
        """Lines that came before the run's own job."""
        self._finished = False
        self._lock = threading.RLock()

    # --- the training's side

    @property
    def id(self) -> str:
        """The batch's id."""
        return self._reporter.batch_id

    @property
    def url(self) -> str | None:
        """The run's page; None without SVC_URL."""
        target = self._reporter._settings.target
        return None if target is None else f"{str(target).rstrip('/')}/b/{quote(self.id, safe='')}"

    @property
    def reporter(self) -> Reporter:
        """What the run is made of, for what works on a `Reporter`."""
        return self._reporter

    @property
    def delivery(self) -> Delivery:
        """What became of the events so far: produced, accepted, duplicate, spilled, dropped."""
        return self._reporter.delivery

    @property
    def stop_requested(self) -> bool:
        """Whether a stop of the run was requested."""
        return self._reporter.stop_requested

    def check_stop(self, agree: Callable[[bool], bool] | None = None) -> None:
        """Raise StopRequested if a stop was requested; under several ranks on all of them (`Reporter.check_stop`)."""
        self._reporter.check_stop(agree)

    def wants(self, job_id: str) -> bool:
        """Whether this job is to be run: false for jobs that a rerun leaves out."""
        return self._reporter.wants(job_id)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything reported so far is with the service; false after `timeout` seconds."""
        return self._reporter.flush(timeout)

    def log(self, data: Mapping[str, Any], step: Any = None) -> None:
        """Record metrics at a step: `run.log({"loss": loss, "val": {"acc": acc}}, step=step)`.

        A step is a whole number that the x-axis counts, in any order; without one it is the one after the last.
        Values that were logged at a step before stay beside the new ones, and of one metric the later value counts. A
        step with a fraction is kept as the series `step`, and calls are counted. Raises StopRequested, after
        recording, if a stop was requested.
        """
        if self._finished:
            self._complain("after the end", "log was called after the run was finished; nothing is recorded")
            return
        try:
            with shield:
                self._record(data, step)
        except Exception as error:
            self._complain("log", f"a call of log was not recorded: {error!r}")
            self._reporter.count_lost()
        self._reporter.check_stop_here()

    def define_metric(self, name: str, step: str | None = None, goal: str | None = None) -> None:
        """Metrics that `name` matches (`val/*`) use the value of the metric `step` as their step.

        `goal` is `min` or `max`: which value is the best one. Say it before the first `log`: the page then names the
        axis of these metrics after `step`.
        """
        if goal not in (None, "min", "max"):
            raise ValueError("goal must be 'min' or 'max'")
        self._axes.define(Metric(str(name), step, goal))

    def job(self, job_id: str, **params: Any) -> Job:
        """A further job of the run, as of `Reporter.job`."""
        return self._reporter.job(job_id, **params)

    def text(self, line: object, level: str | int = "info") -> None:
        """Send a line to the log without printing it."""
        if not self._finished:
            self._begin_for_lines()
            self._reporter.emit_log(None, line, level)

    def alert(self, title: str, text: str = "", level: str | int = "warning") -> None:
        """Tell the people of the project: a marked line in the log, for which rules of the project can send mail."""
        if self._finished:
            return
        self._own_job().begin()
        alert = {"title": str(title)[:256], "text": str(text)[:10_000]}
        line = f"{alert['title']}: {alert['text']}" if alert["text"] else alert["title"]
        self._reporter.emit_log(None, line, level, alert=alert)

    def finish(self, error: BaseException | None = None) -> None:
        """End the run, as failed where an error is given, and wait for what is pending within the close timeout."""
        self._finish(error, None if error is None else error.__traceback__)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(error, trace)

    def _repr_html_(self) -> str:
        """For notebooks: the name as a link, and the last values."""
        said = html.escape(self.name or self.id)
        link = f'<a href="{html.escape(self.url)}" target="_blank" rel="noopener">{said}</a>' if self.url else said
        rows = "".join(
            f"<tr><td>{html.escape(str(key))}</td><td>{html.escape(str(self.summary[key]))}</td></tr>"
            for key in list(self.summary)[:30]
        )
        state = "finished" if self._finished else "running"
        return f"<div><strong>{link}</strong> ({state})" + (f"<table>{rows}</table>" if rows else "") + "</div>"

    def __repr__(self) -> str:
        return f"<Run {self.name or self.id}{f' at {self.url}' if self.url else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, as of a callback that is pickled with a model, goes on with the batch as a copied Reporter does."""
        return _copied, (self._reporter, dict(self.config), self.name, self._job_id, self._step_unit)

    # --- beginning and ending

    def _begin(self, details: dict[str, Any], parts: frozenset[str], console: bool) -> None:
        global _current
        reporter = self._reporter
        if reporter._disabled:
            return  # another rank or process reports
        config = self._fitting("configuration", plain_config(self.config))
        reporter.start_extras = {key: value for key, value in {**details, "config": config}.items() if value}
        try:
            reporter.environment_extras = _environment.environment(parts, _cwd())
        except Exception as error:
            self._complain("environment", f"the environment was not recorded: {error!r}")
        reporter.end_extras = self._end_extras
        reporter.__enter__()
        self._say(f"run {self.name or self.id}: {self.url or 'SVC_URL is not set, events are kept on disk'}")
        _current = self
        _hook()
        atexit.register(self._at_exit)
        if "diff" in parts:
            self._diff = threading.Thread(target=self._send_diff, name="svc-reporter-diff", daemon=True)
            self._diff.start()
        if console:
            self._console = ConsoleCapture(self._print)
            self._console.start()
            reporter.drain_console = self._console.drain

    def _finish(self, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self._unhook()
        reason = reason_of(error)
        main = self._main
        if main is not None and not main._ended:
            if reason is None:
                main.done(self._final_metrics())
            else:
                main._end_failed(reason, trace_of(error, trace))
        self._reporter.__exit__(None if error is None else type(error), error, trace)
        how = "finished" if reason is None else f"ended: {reason.splitlines()[0][:200]}"
        self._say_end(how)

    def _at_exit(self) -> None:
        """The interpreter ends before `finish`: the reporter, which ends next, knows whether the run failed."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self._unhook()
        if self._main is not None:
            self._main._metrics.update(self._final_metrics())
        _lifecycle._at_exit()
        self._say_end("ended with the script")

    def _unhook(self) -> None:
        global _current
        if self._console is not None:
            self._console.stop()
        if self._diff is not None and self._reporter._pid == os.getpid():
            self._diff.join(_DIFF_TIMEOUT_S)
        if _current is self:
            _current = None
            _unhook()
        atexit.unregister(self._at_exit)

    def _say_end(self, how: str) -> None:
        kept = self._reporter.delivery.spilled
        note = f"; {kept:,} events are kept on disk until `svc-reporter sync`" if kept else ""
        if not self._reporter._disabled:
            self._say(f"run {self.name or self.id} {how}{note}" + (f": {self.url}" if self.url else ""))

    def _end_extras(self) -> dict[str, Any]:
        summary = self._fitting("summary", self.summary.as_data())
        return {"summary": summary} if summary else {}

    def _final_metrics(self) -> dict[str, Any]:
        return self._fitting("final metrics", self.summary.as_set())

    # --- what is sent

    def _own_job(self) -> Job:
        main = self._main
        if main is not None:
            return main
        with self._lock:
            if self._main is None:
                params = {**self._fitting("parameters", plain_config(self.config)), "step_unit": self._step_unit}
                units = self._axes.units()
                if units:
                    params["step_units"] = units
                skipped = not self._reporter.wants(self._job_id)
                self._main = Job(self._reporter, self._job_id, params, skipped=skipped)
            return self._main

    def _record(self, data: Mapping[str, Any], step: Any) -> None:
        if not isinstance(data, Mapping):
            raise TypeError(f"log takes a dictionary of metrics, got {type(data).__name__}; text goes through run.text")
        job = self._own_job()
        if job.skipped:
            return
        job.begin()
        simple = self._axes.simple_row(data, step)
        if simple is not None:
            self.summary.note(simple[1])
            job.record_checked(*simple)
            return
        for at, row in self._axes.rows(data, step).items():
            self.summary.note(row)
            job._record(at, row)

    def _tell_config(self, changed: dict[str, Any]) -> None:
        """A batch_start that says `update` changes the configuration and nothing else of a batch that runs."""
        if self._finished:
            return
        reporter = self._reporter
        data = {"experiment_type": reporter.experiment_type, "n_total": reporter.n_planned, "update": True}
        reporter.emit("batch_start", None, {**data, "config": self._fitting("configuration", changed)})

    def _print(self, stream: str, line: str, at: float) -> None:
        self._begin_for_lines()
        ms = now_ms() - int((time.monotonic() - at) * 1000)
        line = redact_text(line)
        if stream == "stderr" and not line.startswith("svc: "):
            self._reporter.note_stderr(line)
        self._reporter.emit_log(None, line, "info", ms, stream=stream)

    def _begin_for_lines(self) -> None:
        """A line needs a job to belong to: the run's own begins where many lines wait for one."""
        if self._main is None:
            self._lines += 1
            if self._lines > _LINES_BEFORE_JOB and self._reporter._last_job_id is None:
                self._own_job().begin()

    def _send_diff(self) -> None:
        try:
            for line in _environment.diff_lines(_cwd(), os.environ):
                self._reporter.emit_log(None, line, "debug", source="git_diff")
        except Exception as error:
            self._complain("diff", f"the git diff was not recorded: {error!r}")

    def _fitting(self, what: str, fields: dict[str, Any]) -> dict[str, Any]:
        kept, left_out = _environment.fitting(fields, _CONFIG_LIMIT)
        if left_out:
            self._complain(what, f"the {what} is too large: {', '.join(left_out)[:500]} left out")
        return kept

    def _complain(self, topic: str, message: str) -> None:
        self._reporter.messages.log_once(logging.WARNING, f"run {topic}", message)

    def _say(self, text: str) -> None:
        if self._quiet:
            return
        try:
            sys.stderr.write(f"svc: {text}\n")
            sys.stderr.flush()
        except Exception:
            return  # the terminal was closed


def _copied(reporter: Reporter, config: dict[str, Any], name: str | None, job: str, step_unit: str) -> Run:
    return Run(reporter, config, name=name, job=job, step_unit=step_unit, quiet=True)


def current_run() -> Run | None:
    """The run that `init` began in this process and that has not ended."""
    return _current


_current: Run | None = None
_hook_before: Any = None


def _hook() -> None:
    """An uncaught exception ends the run as failed, with its traceback, once it has been printed."""
    global _hook_before
    if sys.excepthook is not _on_exception:
        _hook_before, sys.excepthook = sys.excepthook, _on_exception


def _unhook() -> None:
    global _hook_before
    if sys.excepthook is _on_exception and _hook_before is not None:
        sys.excepthook, _hook_before = _hook_before, None


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    run, before = _current, _hook_before or sys.__excepthook__
    try:
        before(kind, error, trace)
    finally:
        if run is not None and run._reporter._pid == os.getpid():
            run._finish(error, trace)


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.environ.get("PWD", "")
