"""`svc-reporter sweep`: creates sweeps, and runs a command for each trial, several at once if asked to."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._delivery.settings import read_settings
from .._disk import run_record
from .._disk.spill import folders
from .._run import trial as _trial
from .._run.start import init
from .._run.trial import Trial
from .._shared.errors import STOPPED_STATUS, QueryError
from .._shared.process import hostname
from .._shared.redact import redact_arguments
from .._sweeps.proposals import NeedsPackage
from .._sweeps.sweep import Sweep
from .._sweeps.sweeps import create


def add_parser(commands: Any) -> None:
    """Add `sweep create` and `sweep run` to the command."""
    text = "create sweeps, and run a command for each trial"
    sweep = commands.add_parser("sweep", help=text, description=text).add_subparsers(dest="action", required=True)
    create_text = "create a sweep from a YAML or JSON file (of this service, W&B or Hydra), and print its id"
    run_text = "run a command for trial after trial of a sweep; FILE creates the sweep first"
    for name, text in (("create", create_text), ("run", run_text)):
        command = sweep.add_parser(name, help=text, description=text)
        command.add_argument("sweep", metavar="FILE" if name == "create" else "ID|FILE")
        command.add_argument(
            "--project", help="the project of a new sweep (default: that of the file, then SVC_PROJECT)"
        )
        command.add_argument("--url", help="the service's address (default: SVC_URL)")
        command.add_argument("--token", help="a reporter token (default: SVC_TOKEN)")
        if name == "run":
            command.add_argument("--count", type=_positive, help="run at most so many trials (default: all)")
            command.add_argument("--parallel", type=_positive, help="trials at a time (default: 1, or one per GPU)")
            command.add_argument("--gpus", help="GPUs to divide among the trials, such as 0,1,2,3")
            command.usage = (
                "svc-reporter sweep run [--project PROJECT] [--url URL] [--token TOKEN] [--count N] [--parallel N] "
                "[--gpus 0,1] ID|FILE -- COMMAND, with {args} (--lr=0.1), {args_hydra} (lr=0.1), {args_json} or {lr}"
            )


def split_command(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and the command after it."""
    at = words.index("--") if "--" in words else len(words)
    return list(words[:at]), list(words[at + 1 :])


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def run_command(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Returns the exit code: 0 success, 1 trials failed, 2 wrong usage, 3 the service refused or cannot be reached."""
    is_file = Path(options.sweep).is_file()
    try:
        if options.action == "create" or is_file:
            sweep = create(options.sweep, options.project, url=options.url, token=options.token)
            print(f"sweep {sweep.id}: {sweep.url}", file=sys.stderr)
        else:
            sweep = Sweep.of(options.sweep, url=options.url, token=options.token)
        if options.action == "create":
            print(sweep.id)
            return 0
        if not command:
            raise ValueError("give a command after --: svc-reporter sweep run ID -- python train.py {args}")
        record = _record(sweep, command, options)
        try:
            return _Runner(sweep, command, options).run()
        finally:
            if record is not None:
                run_record.write_ended(record)
    except ValueError as error:
        print(f"svc-reporter sweep: {error}", file=sys.stderr)
        return 2
    except (QueryError, NeedsPackage) as error:
        print(f"svc-reporter sweep: {error}", file=sys.stderr)
        return 3


def arguments_of(command: Sequence[str], params: dict[str, Any]) -> list[str]:
    """The command with its placeholders filled in. A word that is only `{args}` becomes one word per parameter."""
    found: list[str] = []
    for word in command:
        if word == "{args}":
            found.extend(f"--{name}={_word(value)}" for name, value in params.items())
        elif word in ("{args_hydra}", "{args_no_hyphens}"):
            found.extend(f"{name}={_word(value)}" for name, value in params.items())
        elif word == "{args_json}":
            found.append(json.dumps(params))
        else:
            for name, value in params.items():
                word = word.replace("{" + name + "}", _word(value))
            found.append(word)
    return found


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _own_words(sweep: Sweep, command: Sequence[str], options: argparse.Namespace) -> list[str]:
    """The command that starts such a worker again: by the id, as a file would create another sweep."""
    words = [sys.executable, "-m", "svc_reporter", "sweep", "run"]
    for name in ("count", "parallel", "gpus"):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name}", str(value)]
    return [*words, sweep.id, "--", *command]


def _record(sweep: Sweep, command: Sequence[str], options: argparse.Namespace) -> Path | None:
    """Record the command on this machine and with the sweep, as a run does: an agent here may start more workers.

    Returns the file; None without a record. Never raises: the worker works without it.
    """
    if os.environ.get("SVC_CMD_ID"):
        return None  # an agent started this worker by such a record
    try:
        words, redacted = redact_arguments(_own_words(sweep, command, options), os.environ)
        facts = {"command": shlex.join(words), "cwd": os.getcwd()}
        path = run_record.write_started(
            folders(read_settings(options.url, options.token).folder),
            batch_id=sweep.batch_id,
            project=sweep.project,
            url=sweep.address,
            host=hostname(),
            **facts,
        )
        sweep.note_command({"host": hostname(), **facts, "command_redacted": redacted})
        return path
    except Exception as error:
        print(f"svc-reporter sweep: agents cannot start more such workers: {error}", file=sys.stderr)
        return None


class _Runner:
    """Slots that each run one trial at a time. The command is the caller's own: nothing from the service is run."""

    def __init__(self, sweep: Sweep, command: Sequence[str], options: argparse.Namespace) -> None:
        self._sweep = sweep
        self._command = list(command)
        self._gpus = [gpu.strip() for gpu in (options.gpus or "").split(",") if gpu.strip()]
        self._slots = options.parallel or max(1, len(self._gpus))
        self._left = options.count
        self._target = {"url": options.url, "token": options.token}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._is_evicted = False
        """SIGTERM ended this worker: what it ends by that is given back."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._failed = 0
        self._done = 0
        self._error: Exception | None = None

    def run(self) -> int:
        handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            threads = [threading.Thread(target=self._work, args=(slot,), daemon=True) for slot in range(self._slots)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if self._error is not None:
            raise self._error
        print(f"{self._done} trials, {self._failed} failed: {self._sweep.url}", file=sys.stderr)
        return STOPPED_STATUS if self._stopping.is_set() else 1 if self._failed else 0

    def _on_signal(self, number: int, _frame: Any) -> None:
        """Pass the signal on; the trials that run end, and no more follow."""
        self._stopping.set()
        self._is_evicted = self._is_evicted or number == signal.SIGTERM
        for process in list(self._running):
            try:
                process.send_signal(number)
            except OSError:
                continue

    def _work(self, slot: int) -> None:
        try:
            while not self._stopping.is_set():
                with self._lock:
                    if self._left == 0:
                        return
                    trial = self._sweep.reserve()
                    if trial is None:
                        return
                    self._left = None if self._left is None else self._left - 1
                self._run_trial(trial, slot)
        except Exception as error:
            self._error = error
            self._stopping.set()

    def _run_trial(self, trial: Trial, slot: int) -> None:
        env = {**os.environ, **_trial.environment(trial), "SVC_PARAMS": json.dumps(trial.params)}
        env.update({f"SVC_{name.upper()}": value for name, value in self._target.items() if value})
        env.update({f"SVC_PARAM_{_variable(name)}": _word(value) for name, value in trial.params.items()})
        if self._gpus:
            env["CUDA_VISIBLE_DEVICES"] = ",".join(self._gpus[slot :: self._slots])
        command = arguments_of(self._command, trial.params)
        print(f"trial {trial.number}: {shlex.join(command)}", file=sys.stderr)
        try:
            process = subprocess.Popen(command, env=env)
        except OSError as error:
            self._report_failure(trial, f"the command could not be started: {error}")
            raise ValueError(f"{command[0]} could not be started: {error.strerror}") from error
        self._running.add(process)
        held = self._sweep.hold(trial)
        status = process.wait()
        self._running.discard(process)
        if held is not None:
            held.end()
        self._done += 1
        if status == STOPPED_STATUS:
            self._stopping.set()
        elif status != 0:
            self._failed += 1
            print(f"trial {trial.number} ended with status {status}", file=sys.stderr)
        if self._is_given_back(trial, status):
            self._sweep.release(trial, evicted=status != -signal.SIGKILL)
        elif status != STOPPED_STATUS:
            self._settle(trial, status)

    def _is_given_back(self, trial: Trial, status: int) -> bool:
        """Whether the command was ended from outside. A shell or srun turns SIGTERM into the status of a stop, but a
        training that was stopped has reported its end."""
        if -status in _KILLED or (self._is_evicted and status not in (0, STOPPED_STATUS)):
            return True
        return status == STOPPED_STATUS and self._sweep.state_of(trial) == "running"

    def _settle(self, trial: Trial, status: int) -> None:
        """End the job of a command that did not report its own end: without svc_reporter, or by os._exit."""
        if self._sweep.state_of(trial) == "running":
            self._report_failure(trial, None if status == 0 else _ending(status))

    def _report_failure(self, trial: Trial, reason: str | None) -> None:
        target: dict[str, Any] = {key: value for key, value in self._target.items() if value}
        with self._lock:
            _trial.begin(trial)
            try:
                run = init(quiet=True, console=False, environment=False, resources_s=0, reinit="create_new", **target)
                run.finish(None if reason is None else RuntimeError(reason))
            finally:
                _trial.end()


_KILLED = [getattr(signal, name, None) for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")]
"""Signals from outside: another worker gets the trial."""


def _ending(status: int) -> str:
    return f"the command ended with status {status}" if status > 0 else f"the command ended by signal {-status}"


def _variable(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper()
