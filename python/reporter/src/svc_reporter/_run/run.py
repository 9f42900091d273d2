"""`Run`: the short interface, built on `Reporter`. `init` starts one."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from .._capture import environment as _environment
from .._capture.axes import Axes, Metric
from .._capture.config import Config, plain_config
from .._capture.console import ConsoleCapture
from .._capture.summary import Summary
from .._delivery.delivery import Delivery
from .._delivery.settings import is_switched_off
from .._process import lifecycle
from .._process.failure import STOPPED, is_early_end, reason_of, trace_of
from .._shared.ids import now_ms
from .._shared.plain import text_of
from .._shared.redact import redact_text
from .._shared.signals import postponed, raise_if_by_signal, recording, take_effect
from . import mirror as _mirror
from . import rank_failure
from . import resume as _resume
from .description import Description
from .job import Job
from .reporter import Reporter
from .run_files import RunFileCalls
from .run_names import RunNames, exit_error, goal_of, step_name, summary_words, unknown_keywords
from .status import print_start, print_status

_CONFIG_LIMIT = 150 * 1024
"""Bytes of JSON. An event has at most 256 KiB, and the start also contains the environment and the command."""
_LINES_BEFORE_JOB = 200
"""How many lines wait for the first job; with the next line the run's own job starts."""
_NO_EFFECT = ("step_sync", "hidden", "overwrite")
"""Of `define_metric`: the last value of the step is always used, and the page decides what it shows."""


class Run(RunFileCalls, RunNames):
    """Created by `init`. Of its methods `log` and `check_stop` raise StopRequested, others nothing.

    Use it in a `with` statement or call `finish()`. Otherwise it ends with the script, as failed if the script fails.
    """

    def __init__(
        self, reporter: Reporter, config: dict[str, Any], *, name: str | None, job: str, step_unit: str, quiet: bool
    ) -> None:
        self._reporter = reporter
        self._name_parts()
        self._file_parts()
        self._details = {"name": name} if name else {}
        self.config = Config(config, self._send_config)
        self._axes = Axes(self._warn)
        self.summary = Summary(self._axes.goal_of)
        self._job_id = job
        self._step_unit = step_unit
        self._quiet = quiet
        self._main: Job | None = None
        self._console: ConsoleCapture | None = None
        self._description: Description | None = None
        self._lines = 0
        """How many lines came before the run's own job started."""
        self._finished = False
        self._resumes_itself = False
        self._mirror: _mirror.Mirror | None = None
        self._lock = threading.RLock()

    # --- the public interface

    @property
    def id(self) -> str:
        """The batch's id."""
        return self._reporter.batch_id

    @property
    def _title(self) -> str:
        joined = self._reporter.has_joined
        return f"job {self._job_id} of run {self.id}" if joined else f"run {self.name}"

    @property
    def url(self) -> str | None:
        """The address of the run's page; None without SVC_URL."""
        return self._reporter.url

    @property
    def reporter(self) -> Reporter:
        """The underlying `Reporter`."""
        return self._reporter

    @property
    def delivery(self) -> Delivery:
        """Counts of the events so far: produced, accepted, duplicate, spilled, dropped, rejected."""
        return self._reporter.delivery

    @property
    def stop_requested(self) -> bool:
        """Whether a stop of the run was requested."""
        return self._reporter.stop_requested

    def check_stop(self, agree: Callable[[bool], bool] | None = None) -> None:
        """Raise StopRequested if a stop was requested; with several ranks on all of them (`Reporter.check_stop`)."""
        self._reporter.check_stop(agree)

    def wants(self, job_id: str) -> bool:
        """Whether this job is to be run. False for jobs that a rerun leaves out."""
        return self._reporter.wants(job_id)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds. True if the service has every event so far."""
        return self._reporter.flush(timeout)

    def log(self, data: Mapping[str, Any], step: Any = None, commit: bool | None = None, **more: Any) -> None:
        """Record metrics at a step: `run.log({"loss": loss, "val": {"acc": acc}}, step=step)`.

        A step is a whole number, in any order; the default is the last one plus 1, or the same one if the last call had
        `commit=False`. In scripts that call this package `wandb` a step stays open as with W&B: after `log(step=9)` the
        next call without a step has 9, too. Calls with the same step are merged, and the last value of a metric counts.
        A step with a fraction is stored as the series `step`, and the call gets the next whole number. Raises
        StopRequested, after recording, if a stop was requested.
        """
        if more:
            unknown_keywords("log", more)
        if self._finished:
            self._warn("after the end", "log was called after the run had ended; its values are not recorded")
            return
        try:
            self._record(data, step, commit)
            if self._mirror is not None:
                self._mirror.log(data, self._axes.last_step)
        except Exception as error:
            raise_if_by_signal(error)
            self._warn("log", f"a call of log was not recorded: {type(error).__name__}: {text_of(error)}")
            self._reporter.count_lost()
        if postponed:
            take_effect()
        self._reporter.check_stop_here()

    @property
    def step(self) -> int:
        """The step that the next call of `log` without one gets."""
        return self._axes.next_step

    def define_metric(
        self,
        name: str,
        step: Any = None,
        goal: Any = None,
        *,
        step_metric: Any = None,
        summary: str | None = None,
        **more: Any,
    ) -> Metric:
        """Let metrics that match the pattern `name` (`val/*`) use the value of the metric `step` as their step.

        `goal` is `min` or `max`: which value is the best. Call this before the first `log`; the page then labels the
        x-axis of these metrics with `step`. Raises ValueError for another goal. `step_metric` is the same as `step`,
        and `summary="min"` as `goal="min"`.
        """
        unknown_keywords("define_metric", {key: value for key, value in more.items() if key not in _NO_EFFECT})
        axis = step_name(step if step_metric is None else step_metric)
        best = goal_of(None if isinstance(goal, bool) else goal, summary)
        metric = Metric(text_of(name), axis, best, summary_words(summary))
        self._axes.define(metric)
        return metric

    def job(self, job_id: str, **params: Any) -> Job:
        """Create another job of the run, see `Reporter.job`."""
        return self._reporter.job(job_id, **params)

    def text(self, line: object, level: str | int = "info") -> None:
        """Send a line to the log without printing it."""
        if not self._finished:
            self._start_job_for_lines()
            self._reporter.emit_log(None, line, level)

    def alert(self, title: str, text: str = "", level: Any = "warning", wait_duration: Any = None, **more: Any) -> None:
        """Add an alert: a marked line in the log, for which rules of the project can send email.

        An alert of the same title comes again only after `wait_duration` (seconds, or a timedelta).
        """
        unknown_keywords("alert", more)
        if self._finished or not self._alert_is_due(text_of(title), wait_duration):
            return
        level = getattr(level, "value", level) or "warning"
        self._own_job().begin()
        alert = {"title": text_of(title)[:256], "text": text_of(text)[:10_000]}
        line = f"{alert['title']}: {alert['text']}" if alert["text"] else alert["title"]
        self._reporter.emit_log(None, line, level, alert=alert)

    def finish(
        self, error: BaseException | int | None = None, quiet: bool | None = None, *, exit_code: int | None = None
    ) -> None:
        """End the run, as failed if there is an error or a status other than 0.

        Waits for unsent events up to the close timeout.
        """
        self._quiet = self._quiet or bool(quiet)
        ending = exit_error(error, exit_code)
        self._finish(ending, None if ending is None else ending.__traceback__)

    join = finish

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(error, trace)

    def _repr_html_(self) -> str:
        """For notebooks: the name as a link, and the last values."""
        import html

        name = html.escape(self.name)
        link = f'<a href="{html.escape(self.url)}" target="_blank" rel="noopener">{name}</a>' if self.url else name
        rows = "".join(
            f"<tr><td>{html.escape(key)}</td><td>{html.escape(str(self.summary[key]))}</td></tr>"
            for key in list(self.summary)[:30]
        )
        state = "finished" if self._finished else "running"
        return f"<div><strong>{link}</strong> ({state})" + (f"<table>{rows}</table>" if rows else "") + "</div>"

    def __repr__(self) -> str:
        return f"<Run {self.name}{f' at {self.url}' if self.url else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling, for instance of a callback with a model; the copy behaves like a copied Reporter."""
        return _unpickled, (self._reporter, dict(self.config), self.name, self._job_id, self._step_unit)

    # --- start and end

    def _describe(self, wanted: Mapping[str, Any], details: dict[str, Any]) -> None:
        """Keep what `init` was told, for the attributes of W&B's run."""
        self._details = dict(details)
        self._tags = tuple(self._reporter._tags)
        self._dir = None if wanted.get("dir") is None else os.fspath(wanted["dir"])
        self._job_type = wanted.get("job_type")
        self._offline = wanted["mode"] == "offline"
        self._resumes_itself = wanted.get("resume") in _resume.AUTO

    def _begin(self, details: dict[str, Any], parts: frozenset[str], console: bool, is_current: bool = True) -> None:
        global _current
        reporter = self._reporter
        if is_current:
            _forget_assigned()
        if reporter._disabled:  # this process does not report, but its callbacks find the run
            if is_current:
                _current = self
                _install_excepthook()
            if is_switched_off() and not self._quiet:
                print_status("SVC_DISABLED is set, nothing is reported")
            return
        config = self._fitting("configuration", plain_config(self.config))
        reporter.start_extras = {key: value for key, value in {**details, "config": config}.items() if value}
        try:
            reporter.records_remote = "git" in parts
            reporter.environment_extras = _environment.environment(parts)
        except Exception as error:
            self._warn("environment", f"the environment was not recorded: {error!r}")
        reporter.end_extras = self._end_extras
        reporter.says_start = not self._quiet
        reporter.__enter__()
        if is_current:
            _current = self
        if not reporter.is_open:
            return  # it could not start, and has said why
        if self._resumes_itself:
            _resume.remember(reporter)
        self._continue_steps()
        if reporter.trial is not None:
            reporter._heartbeat()  # its start comes with the first values: until then this shows that it runs
        if not self._quiet:
            print_start(self._title, reporter._settings, self.url)
        if is_current:
            _install_excepthook()
        lifecycle.call_at_exit(self._at_exit, 11)
        if parts:
            self._description = Description(reporter, parts, self.config)
            self._description.start()
        if console:
            self._console = ConsoleCapture(self._on_line)
            self._console.start()
            reporter.drain_console = self._console.drain

    def _continue_steps(self) -> None:
        """Continue after the last step of an earlier process that reported this job."""
        reporter = self._reporter
        point = reporter.resume_point
        if point is not None:
            last = point.last_steps.get(self._job_id, -1)
            self._axes.continue_after(last)
            self._first_step = last + 1
        elif reporter.may_exist:
            self._warn(
                "resume",
                f"the service could not say whether run {self.id} has steps already: without step=, they start at 0",
            )

    def _finish(self, error: BaseException | None, trace: TracebackType | None, clean_end: str = "finished") -> None:
        reporter = self._reporter
        limit_s = reporter._close_timeout_s + Description.longest_s
        reporter.uninterrupted(lambda: self._finish_within(error, trace, clean_end), limit_s)

    def _finish_within(self, error: BaseException | None, trace: TracebackType | None, clean_end: str) -> None:
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self._detach()
        self._take_waiting_lines()
        self._take_files_at_end()
        reason = reason_of(error)
        self._reporter.says_end = not self._quiet
        self._begin_trial()
        if self._reporter._disabled and reason is not None:
            rank_failure.report(self._reporter, error, trace)
        if self._resumes_itself and reason is None:
            _resume.forget(self._reporter)
        main = self._main
        if main is not None and not main._ended:
            main._metrics.update(self._final_metrics())
            if is_early_end(error) or (reason is None and self._is_given_up(main)):
                main.prune()
            elif reason is None and self._reporter.trial is not None and self._reporter.stop_honoured:
                main._end_failed(STOPPED, None)  # should_stop passed the request on
            elif reason is None:
                main.done()
            else:
                main._end_failed(reason, trace_of(error, trace))
        try:
            self._reporter.__exit__(None if error is None else type(error), error, trace)
        finally:  # also if Ctrl-C came meanwhile
            if self._mirror is not None:
                self._mirror.finish(reason is not None)
            self._print_end(clean_end, reason)

    def _begin_trial(self) -> None:
        """A trial that reported no values ends too."""
        trial = self._reporter.trial
        if trial is not None and self._main is None and self._job_id == trial.job_id and self._reporter.is_open:
            self._own_job().begin()

    def _is_given_up(self, main: Job) -> bool:
        """Whether `should_stop` has ended the trial because others are better."""
        trial = self._reporter.trial
        return trial is not None and trial.pruned and main.id == trial.job_id

    def _at_exit(self) -> None:
        """At interpreter exit without `finish`: the reporter is closed next, and knows whether the script failed."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
        failure = lifecycle.exit_failure()
        self._reporter.says_end = not self._quiet
        self._detach()
        self._take_waiting_lines()
        self._take_files_at_end()
        if self._resumes_itself and failure is None:
            _resume.forget(self._reporter)
        self._begin_trial()
        if self._main is not None:
            if self._is_given_up(self._main):
                self._main.prune()
            self._main._metrics.update(self._final_metrics())
        lifecycle._at_exit()
        self._print_end("ended with the script", failure)

    def _detach(self) -> None:
        global _current
        if self._console is not None:
            self._console.stop()
        if self._description is not None:
            self._description.finish()
        if _current is self:
            _current = None
            _restore_excepthook()
        atexit.unregister(self._at_exit)

    def _print_end(self, clean_end: str, failure: str | None) -> None:
        how = clean_end if failure is None else f"ended: {failure.splitlines()[0][:200]}"
        if self._reporter.says_end and not self._reporter._disabled and self._reporter.is_of_this_process():
            left = self._reporter.left_over()
            note = f"; {left}" if left else ""
            print_status(f"{self._title} {how}{note}" + (f": {self.url}" if self.url else ""))

    def _end_extras(self) -> dict[str, Any]:
        summary = self._fitting("summary", self.summary.as_data())
        return {"summary": summary} if summary else {}

    def _final_metrics(self) -> dict[str, Any]:
        return self._fitting("final metrics", self.summary.as_set())

    # --- events

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
                declared = self._axes.main()
                if declared:
                    params["main_series"] = declared
                skipped = not self._reporter.wants(self._job_id)
                self._main = Job(self._reporter, self._job_id, params, skipped=skipped)
            return self._main

    @recording
    def _record(self, data: Mapping[str, Any], step: Any, commit: bool | None = None) -> None:
        if not isinstance(data, Mapping):
            raise TypeError(f"log takes a dictionary of metrics, got {type(data).__name__}; text goes through run.text")
        job = self._own_job()
        if job.skipped:
            return
        job.begin()
        if self._watched is not None:
            data = {**data, **self._watched.take()}
        simple = self._axes.simple_row(data, step, commit)
        if simple is not None:
            self.summary.note(simple[1])
            job.record_checked(*simple)
            return
        for at, row in self._axes.rows(data, step, commit).items():
            self.summary.note(row)
            job._record(at, row)

    def _send_config(self, changed: dict[str, Any]) -> None:
        """Send a changed configuration. A `batch_start` with `update` changes only that."""
        if self._finished or self._reporter.trial is not None:  # a sweep's batch has no configuration of one trial
            return
        if self._mirror is not None:
            self._mirror.config(changed)
        reporter = self._reporter
        data = {"experiment_type": reporter.experiment_type, "n_total": reporter.n_planned, "update": True}
        reporter.emit("batch_start", None, {**data, "config": self._fitting("configuration", changed)})

    def _on_line(self, stream: str, line: str, at: float) -> None:
        self._start_job_for_lines()
        ms = now_ms() - int((time.monotonic() - at) * 1000)
        line = redact_text(line)
        if stream == "stderr" and not line.startswith("svc: "):
            self._reporter.note_stderr(line)
        self._reporter.emit_log(None, line, "info", ms, stream=stream)

    def _start_job_for_lines(self) -> None:
        """Start the run's own job if many lines wait for a first job: each line belongs to a job."""
        if self._main is None:
            self._lines += 1
            if self._lines > _LINES_BEFORE_JOB and self._reporter._jobs.newest is None:
                self._take_waiting_lines()

    def _take_waiting_lines(self) -> None:
        """Lines that no job has taken belong to the newest job of the run, else to the run's own job."""
        if not self._reporter.is_of_this_process():
            return
        self._reporter.give_lines_to_newest_job()
        if self._reporter._jobs.waiting:
            self._own_job().begin()

    def _fitting(self, what: str, fields: dict[str, Any]) -> dict[str, Any]:
        kept, left_out = _environment.fitting(fields, _CONFIG_LIMIT)
        if left_out:
            self._warn(what, f"the {what} is too large, these values are not sent: {', '.join(left_out)[:500]}")
        return kept

    def _warn(self, topic: str, message: str) -> None:
        self._reporter.messages.log_once(logging.WARNING, f"run {topic}", message)


def _unpickled(reporter: Reporter, config: dict[str, Any], name: str | None, job: str, step_unit: str) -> Run:
    return Run(reporter, config, name=name, job=job, step_unit=step_unit, quiet=True)


def _forget_assigned() -> None:
    """Forget what a script assigned to `svc.config` before `init`: from now on that is the run's configuration."""
    for name in ("config", "run", "summary"):
        vars(sys.modules["svc_reporter"]).pop(name, None)


def current_run() -> Run | None:
    """The open run that `init` created in this process; None if there is none."""
    return _current


_current: Run | None = None
_previous_hook: Any = None


def _install_excepthook() -> None:
    """Install an excepthook that ends the run as failed, after the exception was printed."""
    global _previous_hook
    if sys.excepthook is not _on_exception:
        _previous_hook, sys.excepthook = sys.excepthook, _on_exception


def _restore_excepthook() -> None:
    global _previous_hook
    if sys.excepthook is _on_exception and _previous_hook is not None:
        sys.excepthook, _previous_hook = _previous_hook, None


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    run, previous_hook = _current, _previous_hook or sys.__excepthook__
    try:
        previous_hook(kind, error, trace)
    finally:
        if run is not None and run._reporter._pid == os.getpid():
            try:
                run._finish(error, trace)
            except KeyboardInterrupt:
                pass  # another Ctrl-C: the process is ending already, and the run has ended
