"""What logging costs a fast training loop, beside other trackers, in one table and one run:

    python -m venv /tmp/bench && /tmp/bench/bin/pip install -r bench/requirements.txt
    /tmp/bench/bin/python bench/side_by_side.py [--quick] [--json]

The loop does STEP_MS of pure Python and logs three values, in blocks that take turns with blocks that log nothing.

    loop        wall time of a block with logging through that of the block before it without, median of all pairs
    processor   the same of the processor time of the process and its threads: less disturbed by other programs
    p50, p99    one call of log, in µs

svc online reports to a server that acknowledges and forgets, in a process of its own; the others run as they do without
a server: wandb and svc offline, trackio into its local database, TensorBoard into an event file. A tracker that is not
installed is left out, which the table says. Exits 1 where svc is over a limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from run import SERVER, SOURCE

STEP_MS = 0.33
LOOP_LIMIT = 1.15
"""Of svc, online and offline, and with a captured print in each step."""
P99_LIMIT_US = 50.0
OFFLINE_LIMIT = 1.1
"""Processor time of svc offline through that of svc online."""

LOOP = r"""
import contextlib, importlib.util, json, os, statistics, sys, time
tool, pairs, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
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
    total = 0
    for number in range(times):
        total += number
    return total

def calibrated():
    best = min(timed(lambda: work(20_000)) for _ in range(20))
    return int(20_000 * float(os.environ["STEP_MS"]) / 1e3 / best)

def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin

with contextlib.redirect_stderr(open(os.devnull, "w")):
    log, finish = log_of()
    times, step, clock = calibrated(), 0, time.perf_counter_ns
    costs, walls, processors = [], [], []
    for _ in range(300):
        log(step)
        step += 1
    for pair in range(pairs):
        blocks = []
        for logs in (False, True):
            time.sleep(0.3)
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(steps):
                work(times)
                if logs:
                    begin = clock()
                    log(step)
                    costs.append(clock() - begin)
                    step += 1
            wall = time.perf_counter() - wall
            time.sleep(0.2)  # what is left to the threads counts as processor time
            blocks.append((wall, time.process_time() - processor))
        walls.append(blocks[1][0] / blocks[0][0])
        processors.append(blocks[1][1] / blocks[0][1])
    end = timed(finish)
costs.sort()
json.dump({"loop": statistics.median(walls), "processor": statistics.median(processors), "least": min(walls),
           "p50": costs[len(costs) // 2] / 1e3, "p99": costs[int(len(costs) * 0.99)] / 1e3, "end_s": end}, out)
"""

TOOLS = ("svc online", "svc offline", "svc print", "trackio", "wandb offline", "TensorBoard")


def measure(tool: str, url: str, quick: bool) -> dict[str, float] | None:
    """None where the tracker is not installed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "WANDB_", "TRACKIO_"))}
        env |= {"URL": url, "PYTHONPATH": str(SOURCE), "HOME": home, "STEP_MS": str(STEP_MS), "TRACKIO_DIR": home}
        arguments = [tool, "3" if quick else "15", "1000" if quick else "2000"]
        done = subprocess.run(
            [sys.executable, "-c", LOOP, *arguments], env=env, cwd=home, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        if "ModuleNotFoundError" in done.stderr:
            return None
        raise RuntimeError(f"{tool}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def over_limits(results: dict[str, dict[str, float] | None]) -> list[str]:
    over = []
    for tool, result in results.items():
        if not tool.startswith("svc") or result is None:
            continue
        if result["loop"] > LOOP_LIMIT:
            over.append(f"{tool}: the loop is slowed {result['loop']:.2f} times, limit {LOOP_LIMIT}")
        if result["p99"] > P99_LIMIT_US:
            over.append(f"{tool}: p99 of a call is {result['p99']:.0f} µs, limit {P99_LIMIT_US:.0f}")
    online, offline = results["svc online"], results["svc offline"]
    if online is not None and offline is not None and offline["processor"] > online["processor"] * OFFLINE_LIMIT:
        over.append(f"svc offline takes {offline['processor'] / online['processor']:.2f} times what online takes")
    return over


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    results: dict[str, dict[str, float] | None] = {}
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        for tool in TOOLS:
            results[tool] = measure(tool, url, quick)
    finally:
        server.kill()
        server.wait()
    over = over_limits(results)
    if "--json" in sys.argv[1:]:
        told: Any = {"step_ms": STEP_MS, "results": results, "over": over}
        print(json.dumps(told))
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
