"""What logging costs a fast training loop, beside other trackers, in one table and one run:

    python -m venv /tmp/bench && /tmp/bench/bin/pip install -r bench/requirements.txt
    /tmp/bench/bin/python bench/side_by_side.py [--quick] [--json]

The loop does STEP_MS of pure Python and logs three values. Each tracker has a process of its own, and they take turns:
a block of steps that call an empty function, then one of steps that log, then the next tracker's turn. A step adds
floats, which Python takes from a list of free ones: a sum of integers becomes slower, by up to 7%, once any function
that is called between two steps keeps an integer, because of where the next one is then put.

    loop        wall time of a block with logging through that of the block before it without, median of all pairs
    processor   the same of the processor time of the process and its threads: less disturbed by other programs
    p50, p99    one call of log, in µs: the median of the blocks' own

svc online reports to a server that acknowledges and forgets, in a process of its own; the others run as they do
without a server: wandb and svc offline, trackio and MLflow into local databases, TensorBoard into an event file. What
wandb does in its second process counts for none of the columns. A tracker that is not installed is left out, which the
table says.

Exits 1 where svc is over a limit: the p99, and the loop's slowdown by wall time, unless the processor time shows that
other programs of this machine made the difference.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from run import SERVER, SOURCE

STEP_MS = 0.33
LOOP_LIMIT = 1.15
"""Of svc, online and offline, and with a captured print in each step."""
P99_LIMIT_US = 50.0
OFFLINE_LIMIT = 1.05
"""What svc offline adds to the loop's processor time, more than svc online does."""

LOOP = r"""
import contextlib, json, os, sys, time
tool = sys.argv[1]
out, sys.stdout = sys.stdout, open(os.devnull, "w")

def log_of():
    if tool.startswith("svc"):
        import svc_reporter as svc
        to = {} if "offline" in tool else {"url": os.environ["URL"], "token": "em_live_bench"}
        run = svc.init("bench", quiet=True, console="print" in tool, environment=False, **to)
        if "print" in tool:
            return lambda step: print("step", step, "loss 0.5"), run.finish
        return lambda step: run.log({"loss": 0.5, "acc": 0.25, "lr": 1e-3}, step=step), run.finish
    if tool == "wandb offline":
        import wandb
        run = wandb.init(project="bench", mode="offline", settings=wandb.Settings(silent=True, console="off"))
        return lambda step: run.log({"loss": 0.5, "acc": 0.25, "lr": 1e-3}, step=step), run.finish
    if tool == "trackio":
        import trackio
        run = trackio.init(project="bench", embed=False)
        return lambda step: trackio.log({"loss": 0.5, "acc": 0.25, "lr": 1e-3}, step=step), trackio.finish
    if tool == "MLflow":
        import mlflow
        mlflow.set_tracking_uri(f"sqlite:///{os.getcwd()}/mlflow.db")
        mlflow.start_run()
        return lambda step: mlflow.log_metrics({"loss": 0.5, "acc": 0.25, "lr": 1e-3}, step=step), mlflow.end_run
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    writer = EventFileWriter(os.getcwd())
    def log(step):  # as torch.utils.tensorboard.SummaryWriter.add_scalar
        for tag, value in (("loss", 0.5), ("acc", 0.25), ("lr", 1e-3)):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            event = Event(wall_time=time.time(), step=step, summary=summary)
            writer.add_event(event)
    return log, writer.close

def work(times):
    total = 0.0
    for _ in range(times):
        total += 0.5
    return total

def nothing(step):
    pass

def calibrated():
    best = min(timed(lambda: work(20_000)) for _ in range(20))
    return int(20_000 * float(os.environ["STEP_MS"]) / 1e3 / best)

def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin

def say(found):
    out.write(json.dumps(found) + "\n")
    out.flush()

with contextlib.redirect_stderr(open(os.devnull, "w")):
    log, finish = log_of()
    times, step, clock = calibrated(), 0, time.perf_counter_ns
    for _ in range(50):
        log(step)
        step += 1
    say({})
    for line in sys.stdin:
        blocks, costs = [], []
        for call in (nothing, log):
            time.sleep(0.3)
            costs.clear()
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(int(line)):
                work(times)
                begin = clock()
                call(step)
                costs.append(clock() - begin)
                step += 1
            wall = time.perf_counter() - wall
            time.sleep(0.3)  # what is left to the threads counts as processor time
            blocks.append((wall, time.process_time() - processor))
        costs.sort()
        say({"loop": blocks[1][0] / blocks[0][0], "processor": blocks[1][1] / blocks[0][1],
             "p50": costs[len(costs) // 2] / 1e3, "p99": costs[int(len(costs) * 0.99)] / 1e3})
    say({"end_s": timed(finish)})
"""

TOOLS = ("svc online", "svc offline", "svc print", "trackio", "wandb offline", "TensorBoard", "MLflow")
STEPS = {"MLflow": 50}
"""Steps of a block where a call takes so long that the usual number takes minutes."""
USUAL_STEPS = 500

Result = dict[str, float]


class Tracker:
    """One tracker in a process of its own."""

    def __init__(self, tool: str, url: str, home: str) -> None:
        self._tool = tool
        self._said = open(Path(home, "stderr"), "w+")  # noqa: SIM115 read when the process has ended
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "WANDB_", "TRACKIO_"))}
        env |= {"URL": url, "PYTHONPATH": str(SOURCE), "HOME": home, "STEP_MS": str(STEP_MS), "TRACKIO_DIR": home}
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOOP, tool],
            env=env,
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        self.pairs: list[Result] = []
        self.is_installed = self._read() is not None

    def _read(self) -> Result | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            found: Result = json.loads(line)
            return found
        self._process.wait()
        self._said.seek(0)
        errors = self._said.read()
        if "ModuleNotFoundError" in errors:
            return None
        raise RuntimeError(f"{self._tool}: {errors[-2000:]}")

    def measure_pair(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{STEPS.get(self._tool, USUAL_STEPS)}\n")
        self._process.stdin.flush()
        found = self._read()
        assert found is not None
        self.pairs.append(found)

    def end(self) -> Result:
        assert self._process.stdin is not None
        self._process.stdin.close()
        ended = self._read()
        assert ended is not None
        self._process.wait(60)
        medians = {name: statistics.median(pair[name] for pair in self.pairs) for name in self.pairs[0]}
        return {**medians, **ended}

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()


def measure(url: str, pairs: int) -> dict[str, Result | None]:
    """By tracker; None where it is not installed."""
    with ExitStack() as stack:
        trackers: dict[str, Tracker] = {}
        for tool in TOOLS:
            home = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            trackers[tool] = Tracker(tool, url, home)
            stack.callback(trackers[tool].stop)
        there = {tool: tracker for tool, tracker in trackers.items() if tracker.is_installed}
        for _ in range(pairs):
            for tracker in there.values():
                tracker.measure_pair()
        ended = {tool: tracker.end() for tool, tracker in there.items()}
        return {tool: ended.get(tool) for tool in TOOLS}


def over_limits(results: dict[str, Result | None]) -> list[str]:
    over = []
    for tool, result in results.items():
        if not tool.startswith("svc") or result is None:
            continue
        if min(result["loop"], result["processor"]) > LOOP_LIMIT:
            over.append(f"{tool}: the loop is slowed {result['loop']:.2f} times, limit {LOOP_LIMIT}")
        if result["p99"] > P99_LIMIT_US:
            over.append(f"{tool}: p99 of a call is {result['p99']:.0f} µs, limit {P99_LIMIT_US:.0f}")
    online, offline = results["svc online"], results["svc offline"]
    if online is not None and offline is not None and offline["processor"] > online["processor"] * OFFLINE_LIMIT:
        over.append(f"svc offline takes {offline['processor'] / online['processor']:.2f} times what online takes")
    return over


def main() -> int:
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        results = measure(url, 5 if "--quick" in sys.argv[1:] else 21)
    finally:
        server.kill()
        server.wait()
    over = over_limits(results)
    if "--json" in sys.argv[1:]:
        document: Any = {"step_ms": STEP_MS, "results": results, "over": over}
        print(json.dumps(document))
        return int(bool(over))
    print(f"A loop of {STEP_MS} ms steps that logs three values in each ({sys.version.split()[0]})\n")
    print(f"{'':<16}{'loop':>8}{'processor':>11}{'p50 µs':>9}{'p99 µs':>9}{'end s':>8}")
    for tool, result in results.items():
        if result is None:
            print(f"{tool:<16}  not installed")
        else:
            print(
                f"{tool:<16}{result['loop']:>8.2f}{result['processor']:>11.2f}{result['p50']:>9.1f}"
                f"{result['p99']:>9.1f}{result['end_s']:>8.2f}"
            )
    print("\n" + ("\n".join(over) if over else "svc is within its limits"))
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
