"""The agent's main loop, in one thread: watches processes, polls the service and sends reports."""

from __future__ import annotations

import logging
import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._commands import has_running_children, is_command, is_target, lasted_s, public_part
from ._environment import child_environment
from ._hand_started import EndedRuns, ForeignStop, continue_foreign_stop
from ._home import Registration
from ._records import NOT_RECORDED, is_recorded, reporter_folders
from ._runs import Phase, Run, Runs, State
from ._secrets import NOT_SET, REFERENCES, SecretNotSet, fill_in, hide, names_in
from ._spool import Spool
from ._stopping import begin_stop, continue_stop
from ._transport import Service, Unauthorized

_log = logging.getLogger("svc_agent")

REVOKED = 77
"""The exit code after a 401 (EX_NOPERM). The systemd unit does not restart the agent after it."""

_BUSY_TICK_S = 0.1
_TICK_S = 0.5
_LONGEST_BACKOFF_S = 60.0
_STALE_EXIT_CODES = (126, 127)
"""Exit codes of a shell for a command that is not executable or does not exist."""
_STALE_WITHIN_S = 1.0


@dataclass(frozen=True)
class Options:
    poll_interval_s: float
    heartbeat_interval_s: float = 30.0
    max_concurrent: int = 4
    grace_s: float = 30.0
    allow_roots: Sequence[Path] = ()
    require_record: bool = True
    """Start only commands that a reporter on this host recorded, or that the batch's owner entered on the page."""


class Daemon:
    def __init__(self, folder: Path, registration: Registration, options: Options) -> None:
        self._registration = registration
        self._options = options
        self._service = Service(registration.svc_url, registration.agent_token)
        self._runs = Runs(folder / "runs")
        self._spool = Spool(folder / "spool")
        self._path = f"/api/agents/{registration.agent_id}"
        self._shims: list[subprocess.Popen[bytes]] = []
        self._pending: list[dict[str, Any]] = []
        """Reruns of the last poll that wait because max_concurrent processes run."""
        self._failures = 0
        self._stopping = False
        self._ended_runs = EndedRuns(folder / "ended.json", reporter_folders(os.environ))

    def run(self) -> int:
        """Run until a signal (returns 0) or a 401 (returns 77). The started processes keep running."""
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        # The handler makes the end of a shim wake the loop.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if not self._options.require_record:
            _log.warning(
                "--require-record=no: this agent runs any command that the service sends. With a reporter token of a "
                "batch's owner, others can run commands on this host"
            )
        self._runs.forget_unstarted()
        self._runs.prune()
        self._adopt_running()
        poll_at = heartbeat_at = time.monotonic()
        try:
            while not self._stopping:
                busy = self._watch()
                self._spool.drain(self._service)
                has_new = self._ended_runs.check()
                now = time.monotonic()
                if has_new or now >= heartbeat_at:
                    self._heartbeat()
                    heartbeat_at = now + self._options.heartbeat_interval_s
                if now >= poll_at:
                    poll_at = time.monotonic() + self._poll()
                self._start_pending()
                pause = min(_BUSY_TICK_S if busy or self._shims else _TICK_S, poll_at - time.monotonic())
                if select.select([wake], [], [], max(0.0, pause))[0]:
                    os.read(wake, 4096)
        except Unauthorized:
            _log.error(
                "the service does not accept this agent's token: it was revoked, or this host was registered again. "
                "Started processes keep running. Run `svc-agent register` to register this host again"
            )
            return REVOKED
        _log.info("stopped; started processes keep running")
        return 0

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stopping = True

    # Processes

    def _adopt_running(self) -> None:
        """Report the processes that an earlier agent started and that still run."""
        for run in self._runs.unreported():
            state = run.state()
            if state.phase is Phase.RUNNING and run.has("acked"):
                _log.info("adopted %s (pid %s)", run.cmd_id, state.pid)
                self._spool.put(self._endpoint(run, "steps"), {"steps": [{"step": "adopted"}]}, time.time())

    def _watch(self) -> bool:
        """Check each process and report changes. True if something may change within a second."""
        self._shims = [shim for shim in self._shims if shim.poll() is None]
        busy = False
        for run in self._runs.unreported():
            if run.has("hand-stop.json"):
                busy = True
                continue_foreign_stop(run, self._spool, f"{self._path}/jobs", self._options.grace_s)
                continue
            continue_stop(run, self._spool, f"{self._path}/jobs", self._options.grace_s)
            state = run.state()
            if state.phase is Phase.NOT_STARTED:
                # Its shim died before it started the process. The service sends the command again.
                _log.warning("could not start the process of %s; it is tried again", run.cmd_id)
                self._runs.forget(run)
                continue
            if state.phase is Phase.STARTING:
                busy = True
                continue
            self._acknowledge(run, state)
            if state.phase in (Phase.ENDED, Phase.LOST):
                self._report(run, state)
            busy = busy or run.has("stop.json")
        return busy

    def _acknowledge(self, run: Run, state: State) -> None:
        """Report once that a command was started, or why it could not be."""
        if run.has("acked"):
            return
        if state.pid is not None:
            self._spool.put(self._endpoint(run, "ack"), {"pid": state.pid}, state.started_at)
            _log.info("started %s (pid %s)", run.cmd_id, state.pid)
        else:
            self._spool.put(self._endpoint(run, "ack"), {"failure_reason": state.failure_reason})
            _log.warning("could not start %s: %s", run.cmd_id, state.failure_reason)
            run.mark("reported")
        run.mark("acked")

    def _report(self, run: Run, state: State) -> None:
        """Report how a process ended."""
        if run.reported or has_running_children(run, state):
            return
        stop = run.read("stop.json")
        reason = state.failure_reason
        if stop is not None:
            reason = reason or "stopped"
        elif state.exit_code in _STALE_EXIT_CODES and lasted_s(state) < _STALE_WITHIN_S:
            reason = "stale_env_path"
        result: dict[str, Any] = {"exit_code": state.exit_code}
        if stop is not None:
            lost = {"failure_reason": state.failure_reason} if state.exit_code is None else {}
            self._spool.put(f"{self._path}/jobs/{stop['cmd_id']}/result", {**result, **lost}, state.ended_at)
        if reason is not None:
            result["failure_reason"] = reason
        self._spool.put(self._endpoint(run, "result"), {**result, "output_tail": self._tail(run)}, state.ended_at)
        run.mark("reported")
        _log.info("%s ended with exit code %s%s", run.cmd_id, state.exit_code, f" ({reason})" if reason else "")

    def _tail(self, run: Run) -> str:
        command = run.read("command.json") or {}
        return hide(run.tail(), names_in(str(command.get("command") or "")), os.environ)

    def _running(self) -> list[tuple[Run, State]]:
        found = [(run, run.state()) for run in self._runs.unreported()]
        return [(run, state) for run, state in found if state.phase in (Phase.STARTING, Phase.RUNNING)]

    def _endpoint(self, run: Run, what: str) -> str:
        return f"{self._path}/jobs/{run.cmd_id}/{what}"

    # Requests to the service

    def _heartbeat(self) -> None:
        running = [{"cmd_id": run.cmd_id, "pid": state.pid} for run, state in self._running() if state.pid is not None]
        ended = self._ended_runs.to_report()
        response = self._service.post(f"{self._path}/heartbeat", {"running": running, "ended": ended})
        if response.ok:
            self._ended_runs.acknowledged(ended)
        else:
            _log.warning("heartbeat: %s", response.detail)

    def _poll(self) -> float:
        """Get the commands for this host. Returns the seconds until the next poll."""
        response = self._service.get(f"{self._path}/jobs")
        # Jitter spreads the polls of agents that were started at the same time.
        jitter = random.uniform(0.8, 1.2)
        if not response.ok or not isinstance(response.body, dict):
            if self._failures == 0:
                _log.warning("cannot poll %s: %s", self._registration.svc_url, response.detail)
            self._failures += 1
            backoff = self._options.poll_interval_s * 2 ** min(self._failures - 1, 6)
            return float(min(max(_LONGEST_BACKOFF_S, self._options.poll_interval_s), backoff) * jitter)
        if self._failures > 0:
            _log.info("the service responds again")
            self._failures = 0
        jobs = [job for job in response.body.get("jobs", []) if is_command(job)]
        for job in jobs:
            if job["kind"] == "stop":
                self._stop(job)
        self._pending = [job for job in jobs if job["kind"] == "rerun"]
        return self._options.poll_interval_s * jitter

    def _start_pending(self) -> None:
        """Start waiting reruns, up to max_concurrent processes."""
        while self._pending:
            if len(self._running()) >= self._options.max_concurrent:
                return
            job = self._pending.pop(0)
            if self._runs.has(job["cmd_id"]):
                continue  # started before; its reports are in the spool
            self._start(job)

    def _start(self, job: dict[str, Any]) -> None:
        cmd_id = job["cmd_id"]
        cwd = Path(job["cwd"]) if job.get("cwd") else Path.home()
        if not self._is_allowed(cwd):
            self._refuse(job, "cwd_not_allowed")
            return
        if not self._is_authorized(job):
            _log.error(
                "refused to rerun %s: no reporter on this host has recorded that command in that folder. Its owner can "
                "enter the command on the page; or start the agent with --require-record=no",
                job.get("batch_id"),
            )
            self._refuse(job, NOT_RECORDED)
            return
        claim = self._service.post(f"{self._path}/jobs/{cmd_id}/claim")
        if claim.is_retryable:
            return
        if not claim.ok and not (claim.status == 404 and claim.code != "command_not_found"):
            _log.info("%s is not started, the service withdrew it: %s", cmd_id, claim.detail)
            return
        variables = job.get("env") or {}
        env = child_environment(
            os.environ,
            variables={str(name): str(value) for name, value in variables.items()},
            svc_url=self._registration.svc_url,
            reporter_token=claim.body.get("token") if isinstance(claim.body, dict) and claim.ok else None,
            agent_token=self._registration.agent_token,
        )
        command = str(job["command"])
        secrets = names_in(command)
        try:
            filled = fill_in(command, env)
        except SecretNotSet as missing:
            _log.error("refused to rerun %s: set %s in the environment of the agent", job.get("batch_id"), missing)
            self._refuse(job, NOT_SET)
            return
        if secrets:
            env[REFERENCES] = ",".join(secrets)
        run = self._runs.create(cmd_id, public_part(job))
        try:
            self._shims.append(run.start(filled, str(cwd), env))
        except OSError as error:
            _log.error("cannot start a process: %s", error)
            run.write("refused.json", {"failure_reason": "agent_cannot_start", "detail": str(error), "at": time.time()})

    def _refuse(self, job: dict[str, Any], reason: str) -> None:
        """Record that a command is not started; `_watch` reports it."""
        run = self._runs.create(job["cmd_id"], public_part(job))
        run.write("refused.json", {"failure_reason": reason, "at": time.time()})

    def _is_authorized(self, job: dict[str, Any]) -> bool:
        if not self._options.require_record or job.get("authorized_by") == "owner_words":
            return True
        return is_recorded(job, reporter_folders(os.environ))

    def _is_allowed(self, cwd: Path) -> bool:
        if not self._options.allow_roots:
            return True
        # Resolve symbolic links, so that none leads out of the allowed folders.
        real = Path(os.path.realpath(cwd))
        return any(real.is_relative_to(os.path.realpath(root)) for root in self._options.allow_roots)

    def _stop(self, job: dict[str, Any]) -> None:
        """Begin to stop the process that the command names, also one that this agent did not start."""
        if self._runs.has(job["cmd_id"]):
            return
        target = next((run for run, state in self._running() if is_target(job, run, state)), None)
        record = self._runs.create(job["cmd_id"], public_part(job))
        foreign = ForeignStop.begin(job.get("process")) if target is None and not job.get("target_cmd_id") else None
        if foreign is not None:
            record.write("hand-stop.json", foreign.state)
            self._spool.put(self._endpoint(record, "ack"), {"pid": foreign.state["pid"]})
            record.mark("acked")
            continue_foreign_stop(record, self._spool, f"{self._path}/jobs", self._options.grace_s)
            return
        if target is None:
            record.write("refused.json", {"failure_reason": "process_gone", "at": time.time()})
            return
        pid = target.state().pid
        begin_stop(target, job["cmd_id"])
        self._spool.put(self._endpoint(record, "ack"), {"pid": pid})
        # Its result is reported when its target ends.
        record.mark("acked")
        record.mark("reported")
        continue_stop(target, self._spool, f"{self._path}/jobs", self._options.grace_s)
