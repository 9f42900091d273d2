"""The agent's loop: one thread that looks at its processes, at the service and at what it has to tell."""

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

from ._commands import has_last_words, is_command, is_target, lasted_s, public_part
from ._environment import child_environment
from ._hand_started import EndedRuns, HandStop, push_hand_stop
from ._home import Registration
from ._records import NOT_RECORDED, is_recorded, reporter_folders
from ._runs import Phase, Run, Runs, State
from ._secrets import NOT_SET, REFERENCES, SecretNotSet, fill_in, hide, names_in
from ._spool import Spool
from ._stopping import begin_stop, push_stop
from ._transport import Service, Unauthorized

_log = logging.getLogger("svc_agent")

REVOKED = 77
"""The exit code after a 401 (EX_NOPERM); systemd does not start the agent again after it."""

_BUSY_TICK_S = 0.1
_TICK_S = 0.5
_LONGEST_BACKOFF_S = 60.0
_STALE_EXIT_CODES = (126, 127)
"""The shell found the command not executable, or did not find it."""
_STALE_WITHIN_S = 1.0


@dataclass(frozen=True)
class Options:
    poll_interval_s: float
    heartbeat_interval_s: float = 30.0
    max_concurrent: int = 4
    grace_s: float = 30.0
    allow_roots: Sequence[Path] = ()
    require_record: bool = True
    """Start only what a reporter on this host recorded, or what the batch's owner gave in a session."""


class Daemon:
    def __init__(self, folder: Path, registration: Registration, options: Options) -> None:
        self._registration = registration
        self._options = options
        self._service = Service(registration.svc_url, registration.agent_token)
        self._runs = Runs(folder / "runs")
        self._spool = Spool(folder / "spool")
        self._path = f"/api/agents/{registration.agent_id}"
        self._shims: list[subprocess.Popen[bytes]] = []
        self._waiting: list[dict[str, Any]] = []
        """Reruns of the last poll that found no place yet."""
        self._failures = 0
        self._stopping = False
        self._ended_runs = EndedRuns(folder / "ended.json", reporter_folders(os.environ))

    def run(self) -> int:
        """Until a signal (0) or until the token is refused (77). Either way its processes live on."""
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        # A shim that ends is worth a look at once.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if not self._options.require_record:
            _log.warning(
                "--require-record=no: this agent runs every command that the service names as recorded "
                "by a batch's owner. Anyone who has one of the owner's reporter tokens "
                "can then run commands on this host"
            )
        self._runs.forget_unstarted()
        self._runs.prune()
        self._adopt()
        poll_at = beat_at = time.monotonic()
        try:
            while not self._stopping:
                busy = self._watch()
                self._spool.drain(self._service)
                news = self._ended_runs.look()
                now = time.monotonic()
                if news or now >= beat_at:
                    self._heartbeat()
                    beat_at = now + self._options.heartbeat_interval_s
                if now >= poll_at:
                    poll_at = time.monotonic() + self._poll()
                self._start_waiting()
                pause = min(_BUSY_TICK_S if busy or self._shims else _TICK_S, poll_at - time.monotonic())
                if select.select([wake], [], [], max(0.0, pause))[0]:
                    os.read(wake, 4096)
        except Unauthorized:
            _log.error(
                "the service refuses this agent's token: it was revoked, or this host was registered again. "
                "What it started goes on running; `svc-agent register` makes a new agent of this host"
            )
            return REVOKED
        _log.info("stopped; what was started goes on running")
        return 0

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stopping = True

    # What runs here

    def _adopt(self) -> None:
        for run in self._runs.unreported():
            state = run.state()
            if state.phase is Phase.RUNNING and run.has("acked"):
                _log.info("adopted %s (pid %s)", run.cmd_id, state.pid)
                self._spool.put(self._of(run, "steps"), {"steps": [{"step": "adopted"}]}, time.time())

    def _watch(self) -> bool:
        """Tells what became of each process; whether anything may change within moments."""
        self._shims = [shim for shim in self._shims if shim.poll() is None]
        busy = False
        for run in self._runs.unreported():
            if run.has("hand-stop.json"):
                busy = True
                push_hand_stop(run, self._spool, f"{self._path}/jobs", self._options.grace_s)
                continue
            push_stop(run, self._spool, f"{self._path}/jobs", self._options.grace_s)
            state = run.state()
            if state.phase is Phase.NEVER:
                # Its shim died before it began, so it may be tried again: the service still tells of it.
                _log.warning("%s could not be begun with", run.cmd_id)
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
        if run.has("acked"):
            return
        if state.pid is not None:
            self._spool.put(self._of(run, "ack"), {"pid": state.pid}, state.started_at)
            _log.info("started %s (pid %s)", run.cmd_id, state.pid)
        else:
            self._spool.put(self._of(run, "ack"), {"failure_reason": state.failure_reason})
            _log.warning("could not start %s: %s", run.cmd_id, state.failure_reason)
            run.mark("reported")
        run.mark("acked")

    def _report(self, run: Run, state: State) -> None:
        if run.reported or has_last_words(run, state):
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
        self._spool.put(self._of(run, "result"), {**result, "output_tail": self._tail(run)}, state.ended_at)
        run.mark("reported")
        _log.info("%s ended with exit code %s%s", run.cmd_id, state.exit_code, f" ({reason})" if reason else "")

    def _tail(self, run: Run) -> str:
        command = run.read("command.json") or {}
        return hide(run.tail(), names_in(str(command.get("command") or "")), os.environ)

    def _running(self) -> list[tuple[Run, State]]:
        found = [(run, run.state()) for run in self._runs.unreported()]
        return [(run, state) for run, state in found if state.phase in (Phase.STARTING, Phase.RUNNING)]

    def _of(self, run: Run, what: str) -> str:
        return f"{self._path}/jobs/{run.cmd_id}/{what}"

    # What the service wants

    def _heartbeat(self) -> None:
        running = [{"cmd_id": run.cmd_id, "pid": state.pid} for run, state in self._running() if state.pid is not None]
        ended = self._ended_runs.to_report()
        answer = self._service.post(f"{self._path}/heartbeat", {"running": running, "ended": ended})
        if answer.ok:
            self._ended_runs.acknowledged(ended)
        else:
            _log.warning("heartbeat: %s", answer.said)

    def _poll(self) -> float:
        """Seconds until the next poll."""
        answer = self._service.get(f"{self._path}/jobs")
        # Many agents that were started together must not ask together for ever.
        jitter = random.uniform(0.8, 1.2)
        if not answer.ok or not isinstance(answer.body, dict):
            if self._failures == 0:
                _log.warning("cannot poll %s: %s", self._registration.svc_url, answer.said)
            self._failures += 1
            backoff = self._options.poll_interval_s * 2 ** min(self._failures - 1, 6)
            return float(min(max(_LONGEST_BACKOFF_S, self._options.poll_interval_s), backoff) * jitter)
        if self._failures > 0:
            _log.info("the service answers again")
            self._failures = 0
        jobs = [job for job in answer.body.get("jobs", []) if is_command(job)]
        for job in jobs:
            if job["kind"] == "stop":
                self._stop(job)
        self._waiting = [job for job in jobs if job["kind"] == "rerun"]
        return self._options.poll_interval_s * jitter

    def _start_waiting(self) -> None:
        """As many as there are places for; the others stay with the service until there are."""
        while self._waiting:
            if len(self._running()) >= self._options.max_concurrent:
                return
            job = self._waiting.pop(0)
            if self._runs.knows(job["cmd_id"]):
                continue  # it was begun with: what is to be said of it waits in the spool
            self._start(job)

    def _start(self, job: dict[str, Any]) -> None:
        cmd_id = job["cmd_id"]
        cwd = Path(job["cwd"]) if job.get("cwd") else Path.home()
        if not self._is_allowed(cwd):
            self._refuse(job, "cwd_not_allowed")
            return
        if not self._is_authorized(job):
            _log.error(
                "refused to run %s again: no reporter on this host recorded that command there. Its owner can give "
                "the command in the page; or start the agent with --require-record=no",
                job.get("batch_id"),
            )
            self._refuse(job, NOT_RECORDED)
            return
        claim = self._service.post(f"{self._path}/jobs/{cmd_id}/claim")
        if claim.again:
            return
        if not claim.ok and not (claim.status == 404 and claim.code != "command_not_found"):
            _log.info("%s is not to be started any more: %s", cmd_id, claim.said)
            return
        told = job.get("env") or {}
        env = child_environment(
            os.environ,
            told={str(name): str(value) for name, value in told.items()},
            svc_url=self._registration.svc_url,
            reporter_token=claim.body.get("token") if isinstance(claim.body, dict) and claim.ok else None,
            agent_token=self._registration.agent_token,
        )
        command = str(job["command"])
        secrets = names_in(command)
        try:
            filled = fill_in(command, env)
        except SecretNotSet as missing:
            _log.error("refused to run %s again: the agent's environment has no %s", job.get("batch_id"), missing)
            self._refuse(job, NOT_SET)
            return
        if secrets:
            env[REFERENCES] = ",".join(secrets)
        run = self._runs.create(cmd_id, public_part(job))
        try:
            self._shims.append(run.start(filled, str(cwd), env))
        except OSError as error:
            _log.error("cannot start anything: %s", error)
            run.write("refused.json", {"failure_reason": "agent_cannot_start", "detail": str(error), "at": time.time()})

    def _refuse(self, job: dict[str, Any], reason: str) -> None:
        run = self._runs.create(job["cmd_id"], public_part(job))
        run.write("refused.json", {"failure_reason": reason, "at": time.time()})

    def _is_authorized(self, job: dict[str, Any]) -> bool:
        if not self._options.require_record or job.get("authorized_by") == "owner_words":
            return True
        return is_recorded(job, reporter_folders(os.environ))

    def _is_allowed(self, cwd: Path) -> bool:
        if not self._options.allow_roots:
            return True
        # Links are followed, so that none leads out of what is allowed.
        real = Path(os.path.realpath(cwd))
        return any(real.is_relative_to(os.path.realpath(root)) for root in self._options.allow_roots)

    def _stop(self, job: dict[str, Any]) -> None:
        if self._runs.knows(job["cmd_id"]):
            return
        target = next((run for run, state in self._running() if is_target(job, run, state)), None)
        record = self._runs.create(job["cmd_id"], public_part(job))
        by_hand = HandStop.begin(job.get("process")) if target is None and not job.get("target_cmd_id") else None
        if by_hand is not None:
            record.write("hand-stop.json", by_hand.state)
            self._spool.put(self._of(record, "ack"), {"pid": by_hand.state["pid"]})
            record.mark("acked")
            push_hand_stop(record, self._spool, f"{self._path}/jobs", self._options.grace_s)
            return
        if target is None:
            record.write("refused.json", {"failure_reason": "process_gone", "at": time.time()})
            return
        pid = target.state().pid
        begin_stop(target, job["cmd_id"])
        self._spool.put(self._of(record, "ack"), {"pid": pid})
        # Its outcome is reported with the end of its target.
        record.mark("acked")
        record.mark("reported")
        push_stop(target, self._spool, f"{self._path}/jobs", self._options.grace_s)
