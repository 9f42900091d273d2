"""`Reporter`: reports one batch (contract §9)."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote

from .._capture.config import config_of, plain_config
from .._capture.snapshot import Snapshot
from .._capture.watch import Sampler, StopPoll, load_modules
from .._delivery.counts_so_far import CountsSoFar
from .._delivery.delivery import Delivery
from .._delivery.ending import last_event, last_event_of_joined
from .._delivery.pipeline import Pipeline
from .._delivery.settings import OFFLINE, is_switched_off, read_rerun, read_settings
from .._delivery.transport import Transport
from .._disk.members import Member
from .._disk.spill import folders
from .._process import interrupt, lifecycle, ranks
from .._process.crash_report import send_lease
from .._process.failure import STOPPED, reason_of, trace_of
from .._process.send_rest import send_after_end_s
from .._process.stop import STUCK_STATUS, Stop
from .._process.watchdog import WatchedRun
from .._shared import signals
from .._shared.ids import new_batch_id, now_ms
from .._shared.messages import Messages
from .._shared.periodic import Periodic
from .._shared.plain import text_of
from .._shared.process import hostname, user_name
from .._shared.signals import recording
from . import arguments as _arguments
from . import copies, rank_failure, status, trial
from .batch import ResumePoint
from .job import Job
from .open_jobs import MAX_WAITING, OpenJobs
from .opening import OwnRecord, complete_start, prepare_thread_ends, start_data, watch
from .resume import ask

if TYPE_CHECKING:
    from .files import RunFiles

_PATIENCE_S = 10.0
"""How much longer than planned the end of a run or job may take before its caller stops waiting."""
_HURRY_S = 1.5
"""How long SIGTERM waits for an end that is under way, which has 1 s more."""
_ENCODE_SHARE = 0.5
"""Share of the close timeout for media that are not encoded yet."""
_JOB_OF_LINES = "batch"
"""The job of the lines of a batch that had no other job."""


class Reporter:
    """Reports one batch. Use it in a `with` statement; otherwise it opens at first use and closes at exit.

    Raises ValueError and TypeError for invalid arguments, and later only StopRequested. Ranks above 0, workers of a
    DataLoader, spawned children that import the main module, and forked copies report nothing: every call works and
    does nothing.

    A process with SVC_BATCH_ID in its environment, and a worker process (multiprocessing, joblib, Ray) that passes
    `batch_id`, join that batch: they report jobs, while the process that owns the batch reports its start and end. The
    last process of a batch without an owner ends it. A Reporter that is pickled for a worker process joins by itself.
    """

    def __init__(
        self,
        project: str,
        experiment_type: str = "train",
        n_total: int = 1,
        *,
        batch_id: str | None = None,
        url: str | None = None,
        token: str | None = None,
        config: Mapping[str, Any] | None = None,
        tags: Iterable[str] | None = None,
        stop_poll_s: float = 10,
        heartbeat_s: float = 300,
        resources_s: float = 30,
        queue_size: int = 10_000,
        close_timeout_s: float = 10,
        stop: str = "interrupt",
    ) -> None:
        self.project = _arguments.project(project)
        self.experiment_type = _arguments.experiment_type(experiment_type)
        self.n_total = _arguments.n_total(n_total)
        self._tags = _arguments.tags(tags)
        self._config = plain_config(config_of(config)) or None
        self._stop_poll_s = _arguments.interval("stop_poll_s", stop_poll_s)
        self._heartbeat_s = _arguments.interval("heartbeat_s", heartbeat_s)
        self._resources_s = _arguments.interval("resources_s", resources_s)
        self._queue_size = _arguments.queue_size(queue_size)
        self._close_timeout_s = _arguments.timeout("close_timeout_s", close_timeout_s)
        self._is_offline = url == OFFLINE
        self._settings = read_settings(url, token)
        self._rerun = read_rerun()
        self.messages = Messages()
        joined = self._joined_batch()
        # An empty text is a variable without a value: f"{os.environ.get('ID', '')}".
        own = None if batch_id is None or batch_id == "" else _arguments.batch_id(batch_id)
        worker = ranks.is_worker_process()
        self.has_joined = (joined is not None and own in (None, joined)) or (worker and own is not None)
        """Whether this reporter has joined a batch: another process reports its start and end."""
        self.batch_id: str = own or joined or new_batch_id(self.experiment_type, now_ms())
        self.trial = trial.of_batch(self.batch_id) if self.has_joined else None
        """The trial of a sweep that this process works on: the service starts and ends the sweep's batch."""
        if self.trial is not None:
            self.project = self.trial.project
        self.may_exist = own is not None or joined is not None
        """Whether an earlier process or another one may have reported this batch."""
        self.resume_point: ResumePoint | None = None
        """What the service knew of such a batch at the start; None if it could not say."""
        self._disabled = ranks.rank() > 0 or is_switched_off()
        self._stop = Stop(self.batch_id, stop)
        self.start_extras: dict[str, Any] = {}
        """Additional fields of `batch_start`."""
        self.environment_extras: dict[str, Any] = {}
        """Additional fields of its `env_snapshot`."""
        self.records_remote = False
        """Whether `env_snapshot` has the address of git's remote."""
        self.end_extras: Callable[[], dict[str, Any]] = dict
        """Returns additional fields of the batch's last event; called when that event is created."""
        self.says_start = self.says_end = False
        """Whether a line on stderr says at the start why nothing is sent, and at the end what was not sent."""
        self.drain_console: Callable[[], None] = lambda: None
        """Reports printed lines that are not reported yet; called before a flush and the end."""
        self.host = hostname()
        self._pid = os.getpid()
        self._disabled_reason = ""
        self._lock = threading.RLock()
        self._pipeline: Pipeline | None = None
        self._record: OwnRecord | None = None
        self._member: Member | None = None
        self._watched: WatchedRun | None = None
        self._periodics: list[Periodic] = []
        self._counts_so_far: CountsSoFar | None = None
        self._files: RunFiles | None = None
        self._closing = self._closed = False
        self._has_closed = threading.Event()
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._jobs = OpenJobs()
        if ranks.is_silent_process():
            self.disable("this process loads data, or imports the main module for a process of its own")
        copies.register(self)

    # --- the public interface

    def __enter__(self) -> Reporter:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self._close_timeout_s, reason_of(error), trace_of(error, trace))

    if TYPE_CHECKING:

        @overload
        def job(self, job_id: str, /, **params: Any) -> Job: ...
        @overload
        def job(self, /, *, job_id: str, **params: Any) -> Job: ...

    def job(self, /, *ids: Any, **params: Any) -> Job:
        """Create a job of this batch; `model`, `dataset` and other parameters are recorded with its start.

        The id is the positional argument or `job_id`; with both, `job_id` is a parameter.

        In a rerun of some jobs (SVC_RERUN_JOBS), the other jobs are `skipped` and report nothing.
        """
        job_id = ids[0] if ids else params.pop("job_id", "job")
        name = _arguments.job_id(job_id)
        if name != job_id:
            self.messages.log(logging.WARNING, "job id", f"job id {text_of(job_id)!r} is reported as {name!r}")
        skipped = not self.wants(name)
        if skipped:
            self.messages.log_once(
                logging.INFO,
                f"skip {name}",
                f"job {name} is not part of this rerun and is not reported; check run.wants(...) to skip its work, too",
            )
        return Job(self, name, params, skipped=skipped)

    @property
    def n_planned(self) -> int:
        """How many jobs the batch will have. A rerun of some jobs is a batch of its own with only these."""
        own = self._rerun.of != self.batch_id
        return self._rerun.planned(self.n_total) if own else self.n_total

    def wants(self, job_id: str) -> bool:
        """Whether this job is to be run. False for jobs that a rerun (SVC_RERUN_JOBS) leaves out."""
        return self._rerun.wants(text_of(job_id))

    def log(self, line: object, level: str | int = "info") -> None:
        """Send a log line of the newest open job, else of the last job, else of the first job once it starts.

        `level` is a name or number of the logging module. Raises StopRequested once if a stop was requested.
        """
        self.emit_log(None, line, level)
        self._stop.raise_once()

    @property
    def stop_requested(self) -> bool:
        """Whether a stop of this batch was requested."""
        return self._stop.seen

    @property
    def stop_honoured(self) -> bool:
        """Whether the training was told to stop, by StopRequested or by a library's early stopping."""
        return self._stop.honoured

    def check_stop(self, agree: Callable[[bool], bool] | None = None) -> None:
        """Raise StopRequested if a stop was requested.

        With several ranks all must stop at the same point, so all must call this. They agree through torch.distributed
        if it is initialised, else through `agree`, which returns on every rank whether its argument is true on any.
        """
        if self._stop.alone and agree is None:
            self.check_stop_here()
        elif (agree or ranks.any_rank)(self._stop.seen):
            self._stop.raise_now()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds (default: `close_timeout_s`). True if the service has every event so far."""
        pipeline = self._usable_pipeline()
        if pipeline is None:
            return True
        self.drain_console()
        if self._counts_so_far is not None:
            self._counts_so_far.send()
        limit_s = self._close_timeout_s if timeout is None else max(0.0, timeout)
        if self._files is None:
            return pipeline.flush(limit_s)
        until = time.monotonic() + limit_s
        has_files = self._files.wait(until)
        return pipeline.flush(max(0.0, until - time.monotonic())) and has_files

    def close(self, timeout: float | None = None) -> None:
        """End the batch as done, within `timeout` seconds (default: `close_timeout_s`). Unsent events stay on disk."""
        self._end(self._close_timeout_s if timeout is None else max(0.0, timeout), None, None)

    @property
    def delivery(self) -> Delivery:
        """Counts of the events so far: produced, accepted, duplicate, spilled, dropped, rejected."""
        pipeline = self._usable_pipeline()
        if pipeline is None:
            return Delivery()
        return pipeline.delivery if self._files is None else pipeline.delivery.with_files(self._files.counts)

    @property
    def files(self) -> RunFiles:
        """Images, files and artifacts of this batch; made at first use."""
        with self._lock:
            if self._files is None:
                from .files import RunFiles

                self._files = RunFiles(self)
            return self._files

    # --- copies

    def __copy__(self) -> Reporter:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Reporter:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        arguments: dict[str, Any] = {
            "project": self.project,
            "experiment_type": self.experiment_type,
            "n_total": self.n_total,
            "batch_id": self.batch_id,
            "url": OFFLINE if self._is_offline else str(self._settings.target or "") or None,
            "stop_poll_s": self._stop_poll_s,
            "heartbeat_s": self._heartbeat_s,
            "resources_s": self._resources_s,
            "queue_size": self._queue_size,
            "close_timeout_s": self._close_timeout_s,
            "stop": self._stop.mode,
        }
        if self.credential and copies.is_sent_to_process():  # a file must not contain the token
            arguments["token"] = self.credential
        return restore, (arguments, self.host)

    @property
    def url(self) -> str | None:
        """The address of the batch's page; None without SVC_URL."""
        return self.page(f"/b/{quote(self.batch_id, safe='')}")

    def page(self, path: str) -> str | None:
        """The address of a page of the service; None without SVC_URL."""
        target = self._settings.target
        return None if target is None else f"{target}{path}"

    @property
    def credential(self) -> str:
        return self._settings.token

    def is_of_this_process(self) -> bool:
        return self._pid == os.getpid()

    @property
    def is_open(self) -> bool:
        return self._pipeline is not None and not self._disabled and not self._closed

    @property
    def sends_later(self) -> bool:
        """Whether the watchdog sends what this process could not send."""
        pipeline = self._usable_pipeline()
        unsent = pipeline is not None and (pipeline.has_unsent or self.has_unsent_files)
        return self._watched is not None and unsent and send_after_end_s() > 0

    def left_over(self) -> str:
        """What of this batch was lost or is on disk after its end, for the user."""
        pipeline = self._usable_pipeline()
        return status.left_over(
            self.delivery,
            0 if self._files is None else self._files.unsent,
            has_service=pipeline is not None and pipeline.has_service,
            is_away=pipeline is not None and not pipeline.may_poll,
            sends_later=self.sends_later,
        )

    @property
    def has_unsent_files(self) -> bool:
        """Whether files are on disk that a later request can deliver."""
        pipeline = self._usable_pipeline()
        can_be_sent = pipeline is not None and pipeline.has_service and not pipeline.is_refused
        return self._files is not None and self._files.unsent > 0 and can_be_sent

    @property
    def is_closed(self) -> bool:
        return self._closed

    def reopen(self) -> Reporter:
        """A new Reporter that adds to this batch after its end. It does not report the batch's start or end."""
        run = self.for_batch(self.batch_id)
        run._disabled = self._disabled
        return run

    def for_batch(self, batch_id: str) -> Reporter:
        """A new Reporter, on any rank, that adds to a batch without reporting its start or end."""
        arguments = self.__reduce__()[1][0]
        own = {"batch_id": batch_id, "token": self.credential, "resources_s": 0, "heartbeat_s": 0}
        run = Reporter(**{**arguments, **own})
        run.has_joined, run.may_exist = True, False
        run._disabled = is_switched_off()
        return run

    def disable(self, why: str) -> None:
        """Report nothing, and log the reason at the first use."""
        self._disabled = True
        self._disabled_reason = why

    def _is_forked_copy(self) -> bool:
        """Whether this is a copy in a forked child, without threads. Logs a warning the first time."""
        if self._pid == os.getpid():
            return False
        self._warn_disabled("the process was forked after it was created")
        return True

    def _warn_disabled(self, why: str) -> None:
        self.messages.log_once(
            logging.WARNING,
            "silent",
            f"this Reporter reports nothing here: {why}. Call init, or create a Reporter, in the function that trains, "
            "or pass a Reporter to it",
        )

    # --- for Job and LogHandler

    @recording
    def emit(self, event_type: str, job_id: str | None, data: dict[str, Any], ms: int | None = None) -> None:
        """Report an event; `ms` is its Unix time in milliseconds, default now. Never raises."""
        if self._is_forked_copy():
            return
        if self._closed:
            late = f"{event_type} came after the end of batch {self.batch_id} and is not reported"
            self.messages.log_once(logging.WARNING, "closed", late)
            return
        if not (self._pipeline or self._open()):
            return
        pipeline = self._pipeline
        if pipeline is None:
            return
        if self.trial is not None and event_type == "job_epoch" and job_id == self.trial.job_id:
            self.trial.note(data)
        try:
            pipeline.put(event_type, job_id, data, ms)
        except Exception as error:
            signals.raise_if_by_signal(error)
            self.messages.log(logging.ERROR, "emit", f"{event_type} was lost by an internal error: {error!r}")

    def count_lost(self) -> None:
        """Count a report of the training that could not be turned into an event: as produced and dropped."""
        pipeline = self._usable_pipeline()
        if pipeline is not None:
            pipeline.count_lost()

    def emit_log(self, job_id: str | None, line: object, level: str | int, ms: int | None = None, **more: Any) -> None:
        """Report a log line of a job, default the newest; `more` are additional fields of the event. Never raises."""
        if self._is_forked_copy():
            return
        if isinstance(level, int):
            level = logging.getLevelName(level)
        data = {"line": text_of(line), "level": (text_of(level).strip().lower() or "info")[:32], **more}
        target = job_id or self._jobs.of_lines
        if target is not None:
            self.emit("log_line", target, data, ms)
        elif self._open() and not self._jobs.keep_line(data):
            self.count_lost()
            many = f"more than {MAX_WAITING:,} log lines before the first job: further ones are not reported"
            self.messages.log_once(logging.WARNING, "early lines", many)

    def emit_job_start(self, job: Job, data: dict[str, Any]) -> None:
        if self._is_forked_copy():
            return  # another thread may have held the lock at the fork
        with self._lock:
            self._jobs.open.append(job)
            if self._watched is not None:
                self._watched.job_started(job.id, data)
            early = self._jobs.is_newest(job.id)
            waits = self._jobs.has_just_ended(job.id)
        if waits:
            time.sleep(0.001)
        self.emit("job_start", job.id, data)
        self._emit_lines(job.id, early)
        if not self.has_joined:
            rank_failure.publish(self.batch_id, job.id)

    def hand_over(self, job_id: str) -> None:
        """A job that another process reports is the newest: log lines of this process belong to it."""
        if self._is_forked_copy() or not self._open():
            return
        with self._lock:
            early = self._jobs.is_newest(job_id)
        self._emit_lines(job_id, early)

    def emit_finished_job_start(self, job_id: str, data: dict[str, Any], ms: int) -> None:
        """The start of a job that is reported after its end; lines from before the first job become lines of it."""
        if self._is_forked_copy():
            return
        with self._lock:
            early = self._jobs.is_newest(job_id)
        self.emit("job_start", job_id, data, ms)
        self._emit_lines(job_id, early)

    def _emit_lines(self, job_id: str, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            self.emit("log_line", job_id, line)

    def emit_job_end(self, event_type: str, job: Job, data: dict[str, Any], ms: int | None = None) -> None:
        if self._pid != os.getpid():
            return
        done = event_type == "job_done"
        with self._lock:
            is_last = self._jobs.ended(job, done=done)
            if self._watched is not None and is_last:
                self._watched.job_ended(job.id, done=done)
        self.emit(event_type, job.id, data, ms)
        self._jobs.end_is_sent(job.id)

    def check_stop_here(self) -> None:
        self._stop.raise_if_requested()

    def check_stop_log(self) -> None:
        self._stop.raise_once()

    def note_stderr(self, line: str) -> None:
        """Pass a line on stderr to the watchdog: if this process dies, the last lines may contain the cause."""
        if self._watched is not None and self._pid == os.getpid():
            self._watched.stderr(line)

    def honour_stop(self) -> None:
        """Record that the training ends because of the stop flag, without StopRequested."""
        self._stop.honour()

    def can_report(self) -> bool:
        """Whether files and media of this process are reported; opens the reporter."""
        return not self._is_forked_copy() and self._open()

    # --- opening and ending

    def _usable_pipeline(self) -> Pipeline | None:
        return self._pipeline if self._pid == os.getpid() else None

    def _open(self) -> bool:
        """Start the threads and report the batch's start. False if this reporter reports nothing."""
        if self._disabled_reason:
            self._warn_disabled(self._disabled_reason)
        if self._disabled or self._closed or self._pid != os.getpid():
            return False
        with self._lock:
            if self._pipeline is not None:
                return True
            try:
                self._start()
            except Exception as error:
                self._disabled = True
                self.messages.log_once(
                    logging.ERROR, "open", f"the reporter could not start, nothing will be reported: {error!r}"
                )
                return False
        return True

    def _start(self) -> None:
        if self._settings.complaints and not self.says_start:
            level = logging.INFO if self._settings.is_offline else logging.WARNING
            self.messages.log_once(level, "kept", self._settings.why_kept())
        self._began = time.monotonic()
        prepare_thread_ends()
        load_modules()
        self.ask_resume_point()
        snapshot = Snapshot(with_remote=self.records_remote)
        source = {"host": hostname(), "user": user_name()}
        pipeline = self._pipeline = Pipeline(
            project=self.project,
            batch_id=self.batch_id,
            source=source,
            settings=self._settings,
            queue_size=self._queue_size,
            messages=self.messages,
        )
        start: dict[str, Any] | None = None
        if not self.has_joined:
            record = self._record = OwnRecord(self.project, self.batch_id, self._settings, self.messages)
            start = start_data(self, snapshot, self._config, self._tags, self._rerun)
            pipeline.put("batch_start", None, complete_start(self, start, snapshot, record))
        self._member = Member(folders(self._settings.folder), self.batch_id)
        self._member.enter()
        self._watched = pipeline.watched = watch(self, self._settings, start)
        pipeline.start()
        self._periodics = [
            Periodic("heartbeat", self._heartbeat_s, self._heartbeat, self.messages),
            Periodic("resources", self._resources_s, Sampler(snapshot.cwd, self._on_sample), self.messages),
        ]
        if self.has_joined:
            counts = self._counts_so_far = CountsSoFar(pipeline)
            self._periodics.append(Periodic("counts", self._settings.tuning.counts_s, counts.send, self.messages))
        transport = pipeline.poll_transport()
        if transport is not None:
            poll = StopPoll(self.batch_id, transport, self._on_stop)
            self._periodics.append(Periodic("stop-poll", self._stop_poll_s, poll, self.messages, transport.close))
        for periodic in self._periodics:
            periodic.start()
        lifecycle.opened(self)

    def _joined_batch(self) -> str | None:
        """The batch that SVC_BATCH_ID names, if it is a valid id."""
        name = os.environ.get("SVC_BATCH_ID", "").strip()
        try:
            return _arguments.batch_id(name) if name else None
        except ValueError as error:
            text = str(error).replace("batch_id", "SVC_BATCH_ID", 1)
            self.messages.log_once(logging.ERROR, "SVC_BATCH_ID", f"{text}: this process reports a batch of its own")
            return None

    def ask_resume_point(self) -> None:
        """Ask the service about a batch that may exist. A process that joins it takes its project."""
        settings = self._settings
        if not self.may_exist or settings.target is None or not settings.token or self.resume_point is not None:
            return
        point = ask(Transport(settings.target, settings.token, settings.tuning.resume_s), self.batch_id)
        self.resume_point = point
        if self.has_joined and point is not None and point.project not in (None, self.project):
            self.messages.log_once(
                logging.WARNING,
                "project",
                f"batch {self.batch_id} belongs to project {point.project}: this process, which joins it, reports "
                f"there, not in {self.project}",
            )
            self.project = str(point.project)

    def give_lines_to_newest_job(self) -> None:
        """Lines that wait for a first job become lines of the newest job that another process reports, if any."""
        pipeline = self._usable_pipeline()
        if pipeline is None or not self._jobs.waiting or not pipeline.may_poll:
            return
        transport = pipeline.poll_transport(self._settings.tuning.resume_s)
        point = None if transport is None else ask(transport, self.batch_id)
        if point is not None and point.newest_job is not None:
            self.hand_over(point.newest_job)

    def _end(self, timeout_s: float, failure: str | None, trace: str | None) -> None:
        if self._pid == os.getpid():
            self.uninterrupted(lambda: self._end_within(timeout_s, failure, trace), timeout_s)

    def uninterrupted(self, action: Callable[[], object], limit_s: float = 0.0) -> None:
        """Run a step of about `limit_s` seconds that no signal handler of the program may interrupt."""
        signals.uninterrupted(action, self.hurry, limit_s + _PATIENCE_S)
        lifecycle.restore_signal_handlers()

    def hurry(self) -> None:
        """The user wants the process to end: nothing may take long now."""
        if self._pipeline is not None:
            self._pipeline.hurry()
        if self._files is not None:
            self._files.hurry(_HURRY_S)

    def _end_within(
        self, timeout_s: float, failure: str | None, trace: str | None, *, gives_back: bool = False
    ) -> None:
        """End the jobs and the batch. With `gives_back` the job of the trial stays open: another worker goes on."""
        with self._lock:
            pipeline = self._pipeline
            if pipeline is None:
                self._closed = True
                return
            is_first, self._closing = not self._closing, True
        if not is_first:
            self._has_closed.wait(timeout_s)
            return
        self._ended.set()
        interrupt.cancel()
        began = time.monotonic()
        try:
            for periodic in self._periodics:
                periodic.stop()
            self.drain_console()
            if failure is None and self.stop_honoured:
                failure = STOPPED
            if self._watched is not None and not gives_back:
                self._watched.closing(failure)
            self.give_lines_to_newest_job()
            if self._jobs.waiting:
                Job(self, _JOB_OF_LINES, {}, skipped=False).begin()
            if self._files is not None:
                self._files.encode_rest(began + timeout_s * _ENCODE_SHARE)
            for job in list(self._jobs.open):  # started without a `with` statement
                if not (gives_back and self.trial is not None and job.id == self.trial.job_id):
                    job.end_with_run(failure)
            counts = {**self.end_extras(), **self._jobs.counts}
            elapsed_s = time.monotonic() - self._began
            if not self.has_joined:
                last = last_event(pipeline, counts, elapsed_s, failure, trace)
            else:
                last = last_event_of_joined(pipeline, self._leave, failure, trace)
            pipeline.close(max(0.5, timeout_s - (time.monotonic() - began)) if self._files else timeout_s, last)
            if self._files is not None:
                self._files.close(began + timeout_s)
        except Exception as error:
            self.messages.log(logging.ERROR, "close", f"closing the reporter failed by an internal error: {error!r}")
        finally:
            self._closed = True
            if self._record is not None:
                self._record.end()
            self._leave(None)
            if self._watched is not None:
                self._watched.ended(unsent=pipeline.has_unsent or self.has_unsent_files)
            self.messages.flush()
            self._has_closed.set()
            lifecycle.closed(self)
            if not self.says_end:
                status.print_losses(self.batch_id, self.delivery)

    def _leave(self, send_end: Callable[[dict[str, Any]], None] | None) -> bool:
        """This process no longer reports the batch. If it is the last one, and there is no owner, it sends the end."""
        if self._member is None:
            return False
        if self.trial is not None:
            send_end = None
        began = time.time() - (time.monotonic() - self._began)
        return self._member.leave({**self._jobs.counts, "began": began}, send_end)

    def end_at_exit(self, failure: str | None) -> None:
        """At interpreter exit: end a reporter that was not closed, as done or with `failure`."""
        if self._pid == os.getpid():
            self._end(self._close_timeout_s, failure, None)

    def end_by_signal(self, reason: str) -> None:
        """On SIGTERM: end open jobs and the batch as failed, or as stopped after a stop request.

        The trial of a sweep is given back instead: an eviction or a time limit says nothing about its parameters.
        """
        if self._pid != os.getpid():
            return
        pipeline = self._usable_pipeline()
        if self._closing:  # another thread is in close()
            self.hurry()
            if pipeline is not None and not self._has_closed.wait(_HURRY_S):
                pipeline.cut_short()
            return
        if not self._stop.seen and pipeline is not None and pipeline.may_poll:
            # The signal of an agent that stops the run may come before the next poll of the flag.
            transport = pipeline.poll_transport(self._settings.tuning.stop_check_s)
            if transport is not None:
                StopPoll(self.batch_id, transport, self._stop.record)()
        # In this thread: it may hold a lock that another one would wait for.
        gives_back = self.trial is not None and not self._stop.seen
        self._end_within(self._close_timeout_s, STOPPED if self._stop.seen else reason, None, gives_back=gives_back)
        keep = self.trial.keeping() if gives_back and self.trial is not None else None
        if keep is not None and self._settings.target is not None:
            facts = {**keep, "url": str(self._settings.target), "token": self._settings.token}
            send_lease(facts, release=True, evicted=True)

    def forget(self) -> None:
        """In a forked child."""
        if self._member is not None:
            self._member.forget()

    # --- the threads' actions

    def _heartbeat(self) -> None:
        """Send a heartbeat: a log line, or before the first job a resource snapshot without figures."""
        target = self._jobs.of_lines
        if target is not None:
            self.emit("log_line", target, {"line": "heartbeat", "level": "debug", "heartbeat": True})
        else:
            job_id = None if self.trial is None else self.trial.job_id
            self.emit("resource_snapshot", job_id, {"heartbeat": True})

    def _on_sample(self, figures: dict[str, Any]) -> None:
        jobs = self._jobs.open
        self.emit("resource_snapshot", jobs[0].id if len(jobs) == 1 else None, figures)

    def _on_stop(self, response: dict[str, Any]) -> None:
        self._stop.record(response)
        if self._watched is not None:
            self._watched.stopping()
        self.messages.log_once(logging.INFO, "stop", f"stop was requested for batch {self.batch_id}")
        tuning = self._settings.tuning
        self._stop.interrupt_if_ignored(
            self._ended, tuning.interrupt_s if self._stop.alone else tuning.interrupt_ranks_s
        )
        if self._stop.is_stuck(self._ended, tuning.stuck_rank_s):
            self._end(tuning.stuck_close_s, STOPPED, None)
            os._exit(STUCK_STATUS)


def restore(arguments: dict[str, Any], host: str) -> Reporter:
    """The Reporter of this process for the batch of a copy (copies.py), created if there is none."""
    known: Reporter | None = copies.known(arguments["batch_id"])
    if known is not None and known.is_of_this_process():
        return known
    if host == hostname():
        arguments = {**arguments, "resources_s": 0}  # the owner samples this machine
    run = Reporter(**arguments)
    run.may_exist = False  # what there is to know came with the copy
    if not run.has_joined:
        run.disable("it is a copy outside of the run's processes")
    return run


def joined(run: Reporter) -> Reporter:
    """The Reporter to use in this process: `run`, or in a forked child a new one that joins its batch."""
    if run.is_of_this_process():
        return run
    _, (arguments, host) = run.__reduce__()[:2]
    return restore({**arguments, "token": run.credential}, host)
