"""Workers of a grid that are ended at random (SIGKILL and SIGTERM): every trial is completed exactly once, none waits
for long.

    SVC_URL=… SVC_TOKEN=… python bench/sweep_kills.py PROJECT [TRIALS [WORKERS [KILLS A SECOND]]]

Killed workers are started again, as Slurm or Kubernetes do. Prints what was counted; status 1 if a rule was broken.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import svc_reporter as svc
from svc_reporter._sweeps.sweep import Sweep

_WORKER = """
import os, sys, time
import svc_reporter as svc

def note(word, number):
    os.write(log, f"{word} {number} {os.getpid()}\\n".encode())

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
while True:
    with svc.trial(sys.argv[1], quiet=True, console=False, environment=False, resources_s=0) as run:
        if run is None:
            break
        number = run.reporter.trial.number
        note("start", number)
        for step in range(3):
            run.log({"loss": run.config.n + 1 / (step + 1)}, step=step)
            time.sleep(0.05)
    note("done", number)
"""


def run(project: str, n_trials: int, n_workers: int, kills_a_second: float, seed: int = 1) -> dict[str, Any]:
    """Returns the counts. Raises AssertionError if a rule was broken."""
    chance = random.Random(seed)
    definition = {
        "name": f"{n_workers} workers, killed at random",
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"n": {"min": 0, "max": n_trials - 1}},
    }
    sweep = svc.sweep(definition, project=project)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.touch()
        began = time.monotonic()
        killed = _keep_killing(sweep, log, n_workers, kills_a_second, chance)
        took_s = time.monotonic() - began
        lines = [line.split() for line in log.read_text().splitlines()]
    _check_order(lines, killed)
    trials = sweep.trials()
    states = Counter(one["state"] for one in trials)
    assert [one["number"] for one in trials] == list(range(n_trials)), "numbers are missing or came twice"
    assert [one["params"] for one in trials] == [{"n": n} for n in range(n_trials)], "the grid is not complete"
    assert states == {"completed": n_trials}, states
    document = sweep.refresh().document
    assert document["state"] == "finished", document["state"]
    done = Counter(number for word, number, _ in lines if word == "done")
    assert not done or max(done.values()) == 1, "a trial was completed twice"
    return {
        "trials": n_trials,
        "workers": n_workers,
        "seconds": round(took_s, 1),
        "killed": len(killed),
        "handed out again": sum(one["handed_out"] - 1 for one in trials),
        "most handed out": max(one["handed_out"] for one in trials),
    }


def _keep_killing(
    sweep: Sweep, log: Path, n_workers: int, kills_a_second: float, chance: random.Random
) -> dict[int, int]:
    """Work until the sweep is finished. Returns the killed processes, with the length of the log at their death."""
    killed: dict[int, int] = {}
    workers: list[subprocess.Popen[bytes]] = []
    until = time.monotonic() + 1200
    next_kill = time.monotonic() + 1
    try:
        while time.monotonic() < until:
            for worker in [one for one in workers if one.poll() is not None]:
                workers.remove(worker)
            if sweep.refresh().document["state"] == "finished":
                break
            while len(workers) < n_workers:
                workers.append(subprocess.Popen([sys.executable, "-c", _WORKER, sweep.id, str(log)]))
            while time.monotonic() >= next_kill:
                next_kill += chance.expovariate(kills_a_second)
                victim = chance.choice(workers)
                if victim.poll() is None:
                    # After SIGTERM a worker gives its trial back while it still lives.
                    n_lines = len(log.read_bytes().splitlines())
                    number = chance.choice((signal.SIGKILL, signal.SIGTERM))
                    victim.send_signal(number)
                    victim.wait()
                    killed[victim.pid] = n_lines if number == signal.SIGTERM else len(log.read_bytes().splitlines())
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return killed


def _check_order(lines: list[list[str]], killed: dict[int, int]) -> None:
    """No trial starts on a second worker while the first one lives."""
    holder: dict[str, int] = {}
    for at, (word, number, pid) in enumerate(lines):
        if word == "start":
            before = holder.get(number)
            assert before is None or killed.get(before, sys.maxsize) <= at + 1, f"trial {number} was given away"
            holder[number] = int(pid)


if __name__ == "__main__":
    os.environ.setdefault("SVC_CONSOLE", "0")
    words = sys.argv[1:]
    given = [float(word) for word in words[1:]]
    numbers = [*given, *(500, 16, 2)[len(given) :]]
    print(json.dumps(run(words[0], int(numbers[0]), int(numbers[1]), numbers[2])))
