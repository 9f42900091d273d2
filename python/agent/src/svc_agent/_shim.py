"""The process between the agent and a training: starts the training once and records its exit code.

It runs in its own session, so it keeps running when the agent ends. The training writes its output directly to a file,
so it keeps running if this process is killed.

Run as a script: `python -I _shim.py FOLDER`, with command, working directory and environment as JSON on standard input.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

if not __package__:  # as a script: append, so that the standard library comes first
    sys.path.append(str(Path(__file__).resolve().parents[1]))

from svc_agent._files import sync_folder, write_json
from svc_agent._identity import Identity

OUTPUT = "output.log"
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
CHECK_EVERY_S = 1.0


def main(folder: Path) -> int:
    try:
        spec = json.loads(sys.stdin.buffer.read())
    except ValueError:
        return 1  # the agent died while writing: nothing was started
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A handler instead of SIG_IGN, which the training would inherit.
        signal.signal(number, lambda *_: None)
    try:
        os.close(os.open(folder / "begun", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return 1  # another shim has started this command, and a command is started at most once
    sync_folder(folder)
    output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    started = time.time()
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", spec["command"]],
            cwd=spec["cwd"],
            env=spec["env"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        write_json(folder / "refused.json", {"failure_reason": "stale_env_path", "detail": str(error), "at": started})
        return 0
    os.close(output)
    identity = Identity.of(child.pid)
    # A process that has ended already has no start time. Its exit code follows immediately.
    facts = identity.__dict__ if identity else {"pid": child.pid, "start_time": "", "boot_id": ""}
    write_json(folder / "child.json", {**facts, "at": started})
    while True:
        try:
            code = child.wait(CHECK_EVERY_S)
            break
        except subprocess.TimeoutExpired:
            rotate(folder / OUTPUT)
    write_json(folder / "exit.json", {"exit_code": code if code >= 0 else 128 - code, "at": time.time()})
    return 0


def rotate(path: Path) -> None:
    """Limit the size of the output file. The training keeps it open, so it is copied and truncated, not renamed."""
    try:
        if path.stat().st_size > MAX_OUTPUT_BYTES:
            older = path.with_name(path.name + ".1")
            os.close(os.open(older, os.O_WRONLY | os.O_CREAT, 0o600))
            shutil.copyfile(path, older)
            os.truncate(path, 0)
    except OSError:
        pass  # a full disk must not stop the supervision of the training


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
