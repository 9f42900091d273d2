"""Runs a training script in a process of its own, as users do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

PREAMBLE = """
import dataclasses, faulthandler, os, signal, sys, threading, time
def _dump_if_it_hangs():
    faulthandler.dump_traceback_later(float(os.environ.get("DUMP_AFTER_S", "60")))
_dump_if_it_hangs()
# A forked child has no thread to dump from, and at its exit Python would wait for that thread forever.
os.register_at_fork(before=faulthandler.cancel_dump_traceback_later, after_in_parent=_dump_if_it_hangs)
if os.environ.get("TEST_PLATFORM"):
    sys.path.insert(0, os.environ["TEST_KIT"])
    import other_platform
    other_platform.become(os.environ["TEST_PLATFORM"])
import svc_reporter as svc
from svc_reporter._shared import tuning as _tuning
_tuning.DEFAULT = dataclasses.replace(_tuning.DEFAULT, backoff_s=(0.01, 0.02, 0.05), request_timeout_s=3.0)
"""


def script(body: str, env: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Start `body` (after PREAMBLE) with the test's environment plus `env`.

    TEST_PLATFORM in it ("win32", "darwin") makes the script's process behave like one there (see other_platform.py).
    """
    path = Path(os.environ["HOME"] if os.path.isdir(os.environ["HOME"]) else os.environ["TMPDIR"]) / "train.py"
    text = PREAMBLE + textwrap.dedent(body)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TEST_KIT": str(Path(__file__).parent), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(body: str, env: dict[str, str], timeout_s: float = 60, code: int | None = 0) -> tuple[str, str]:
    """Run to the end; returns what it printed. `code` is the exit code expected, None: any.

    A script that hangs prints the stacks of its threads before it is killed.
    """
    process = script(body, {**env, "DUMP_AFTER_S": str(max(timeout_s - 2, 1))})
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the script hangs\n{out}\n{err}") from None
    assert code is None or process.returncode == code, f"exit code {process.returncode}\n{out}\n{err}"
    return out, err
