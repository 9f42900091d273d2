"""The command and environment of a batch: `env_snapshot` (specification §2.3). A rerun executes this command."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Any

from .._shared.process import hostname, working_folder
from .._shared.redact import redact_arguments
from .git import git_remote, git_state


class Snapshot:
    """Reads fast facts when created, in the training's thread; the state of git in `data()`, in the worker's thread."""

    def __init__(self, *, with_remote: bool = False) -> None:
        arguments, redacted = redact_arguments(_command(), os.environ)
        self._facts: dict[str, Any] = {
            "command": shlex.join(arguments),
            "cwd": working_folder(),
            "hostname": hostname(),
            "python": sys.executable or "",
            "python_version": ".".join(map(str, sys.version_info[:3])),
            "platform": sys.platform,
            "pid": os.getpid(),
            "env_names": sorted(os.environ),
        }
        if redacted:
            # A rerun of the masked command would differ from the original; this flag tells the service.
            self._facts["command_redacted"] = True
        self._with_remote = with_remote
        self._lock = threading.Lock()
        self._done = False

    @property
    def command(self) -> str:
        return str(self._facts["command"])

    @property
    def cwd(self) -> str:
        return str(self._facts["cwd"])

    def data(self) -> dict[str, Any]:
        """All facts. While another thread waits for git, a second call returns them without git."""
        if not self._done and self._lock.acquire(blocking=False):
            try:
                if not self._done:
                    self._facts.update(git_state(self.cwd))
                    if self._with_remote:
                        self._facts.update(git_remote(self.cwd))
                    self._done = True
            finally:
                self._lock.release()
        return dict(self._facts)


def _command() -> list[str]:
    """The arguments the process was started with, with the interpreter's own path in front.

    `python train.py` in a virtual environment must find the same interpreter when an agent reruns it from
    another shell, so the bare `python` becomes its absolute path.
    """
    arguments = list(getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv])
    if not arguments:
        return []
    first = Path(arguments[0]).name.lower()
    if sys.executable and first.startswith(("python", "pypy")):
        arguments[0] = sys.executable
    return arguments
