"""The same training through this service and through other trackers, in turns, in one table:

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r bench/peers/requirements.txt
    /tmp/peers/bin/python bench/peers/run.py [--steps 100000] [--rounds 3] [--only svc,trackio] [--write]

A training is a bare loop that logs five values in each step. Each tracker gets an empty folder and a process of its own
in every round, and every value must be in its storage in the end, as its own reader or its files say. Needs a built
checkout (`npm start` builds it) and Linux.

    stored      values a second, from the first call until the last value is in storage
    a call      µs of the loop for each call, which is what a training waits for
    processor   µs of processor time a value, of all processes: the training, senders, servers, PostgreSQL
    peak        MB of memory (PSS) that all processes have at most
    at rest     MB of memory (PSS) of the server that shows the runs, 10 s after its first page, with nothing to do
    bytes       bytes on disk a value when the training ended, without PostgreSQL's write-ahead log, which is used again

The figures are medians of the rounds, and ratios to svc are what can be compared between machines. --write puts the
table into docs/performance.md. A tracker that is not installed is left out, which the table says.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from processes import Group, free_port, size_of, start, stop

HERE = Path(__file__).resolve().parent
# It has modules named as the packages of the trackers.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != HERE]
ROOT = HERE.parent.parent
DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- generated: peers -->\n", "<!-- /generated: peers -->\n"
VALUES = 5
STORED_WITHIN_S = 120
AT_REST_S = 10
FIGURES = ("stored", "a call", "processor", "peak", "at rest", "bytes")
UNITS = ("values/s", "µs", "µs a value", "MB", "MB", "a value")

TOOLS: dict[str, tuple[str, str]] = {
    "svc": ("svc", "svc_reporter"),
    "trackio": ("Trackio", "trackio"),
    "mlflow": ("MLflow (SQLite)", "mlflow"),
    "tensorboard": ("TensorBoard", "tensorboard"),
    "wandb_offline": ("wandb offline", "wandb"),
    "aim": ("Aim", "aim"),
}
"""By file of this folder: the name in the table, and the package that it needs."""

SHARE_OF_STEPS = {"mlflow": 0.01, "aim": 0.1}
"""Of those whose whole training would take many minutes."""


def child(tool: str, action: str, *arguments: str) -> list[str]:
    return [sys.executable, str(HERE / "child.py"), tool, action, *arguments]


def measure(tool: str, steps: int) -> dict[str, float | None]:
    """One training into an empty folder. Raises RuntimeError if values are missing in the end."""
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o755)  # so that PostgreSQL, which never runs as root, can be in it
        serving = start_server(tool, home) if tool == "svc" else None
        try:
            group = serving.group if serving else Group()
            before, size_before = group.processor_s, size_of(home)
            group.peak_mb = 0.0
            environment = serving.environment if serving else {}
            process = start(child(tool, "log", str(steps), str(VALUES)), home, group, **environment)
            while process.poll() is None:
                group.look()
                time.sleep(0.1)
            assert process.stdout is not None
            output = process.stdout.read().strip().splitlines()
            if process.returncode != 0 or not output:
                raise RuntimeError(f"{tool}: {(home / 'stderr').read_text()[-2000:]}")
            said = json.loads(output[-1])
            count, stored_at = wait_until_stored(tool, home, steps * VALUES, group, environment)
            if count != steps * VALUES:
                raise RuntimeError(f"{tool}: {count} of {steps * VALUES} values are in storage")
            group.look()
            figures: dict[str, float | None] = {
                "stored": steps * VALUES / (stored_at - said["begun"]),
                "a call": said["loop_s"] / steps * 1e6,
                "processor": (group.processor_s - before) / (steps * VALUES) * 1e6,
                "peak": group.peak_mb,
                "bytes": (size_of(home) - size_before) / (steps * VALUES),
            }
        finally:
            if serving:
                stop(serving.process)
        figures["at rest"] = at_rest(tool, home)
        return figures


def wait_until_stored(
    tool: str, home: Path, wanted: int, group: Group, environment: dict[str, str]
) -> tuple[int, float]:
    """How many values there are, and when they were there. Reading them counts for none of the figures."""
    ended = time.time()
    while True:
        asked = time.time()
        counter = start(child(tool, "count"), home, Group(), **environment)
        out, _ = counter.communicate()
        if counter.returncode != 0:
            raise RuntimeError(f"{tool} cannot count: {(home / 'stderr').read_text()[-2000:]}")
        count = int(out.strip().splitlines()[-1])
        if count >= wanted or asked - ended > STORED_WITHIN_S:
            return count, asked
        group.look()
        time.sleep(0.1)


@dataclass
class Serving:
    process: subprocess.Popen[str]
    group: Group
    environment: dict[str, str]


def start_server(tool: str, home: Path) -> Serving:
    """Starts the server that shows a tracker's runs, and waits until its first page is there."""
    module = load(tool)
    group = Group()
    port = free_port()
    command: list[str] = module.serve(str(home), port)
    process = start(command, home, group)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).read()
            break
        except urllib.error.HTTPError:
            break
        except OSError as error:
            if time.monotonic() > until or process.poll() is not None:
                stop(process)
                raise RuntimeError(
                    f"{tool}: its server does not answer: {(home / 'stderr').read_text()[-2000:]}"
                ) from error
            time.sleep(0.2)
    environment: dict[str, str] = module.prepare(url) if hasattr(module, "prepare") else {}
    group.look()
    return Serving(process, group, environment)


def at_rest(tool: str, home: Path) -> float | None:
    if not hasattr(load(tool), "serve"):
        return None
    serving = start_server(tool, home)
    try:
        time.sleep(AT_REST_S)
        return serving.group.look()
    finally:
        stop(serving.process)


def load(tool: str):  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location(f"peer_{tool}", HERE / f"{tool}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(results: dict[str, dict[str, float | None] | None], steps: int, rounds: int) -> str:
    lines = [
        f"{steps:,} steps of {VALUES} values, medians of {rounds} rounds; MLflow and Aim with fewer steps.",
        "In parentheses: times the figure of svc.",
        "",
        "| | " + " | ".join(f"{name}, {unit}" for name, unit in zip(FIGURES, UNITS, strict=True)) + " |",
        "|---" + "|--:" * len(FIGURES) + "|",
    ]
    own = results.get("svc")
    for tool, found in results.items():
        name = TOOLS[tool][0]
        if found is None:
            lines.append(f"| {name} | not measured" + " |" * len(FIGURES))
            continue
        cells = []
        for figure in FIGURES:
            value, ours = found.get(figure), (own or {}).get(figure)
            times = 0 if tool == "svc" or value is None or not ours else value / ours
            ratio = f" ({times:.{0 if times >= 10 else 2}f})" if times else ""
            cells.append("" if value is None else f"{value:,.{0 if value >= 100 else 1}f}{ratio}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="The same training through svc and other trackers.")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(TOOLS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    asked = [tool for tool in TOOLS if tool in options.only.split(",")]
    there = [tool for tool in asked if tool == "svc" or importlib.util.find_spec(TOOLS[tool][1]) is not None]
    rounds: dict[str, list[dict[str, float | None]]] = {tool: [] for tool in there}
    failed = False
    for number in range(options.rounds):
        for tool in there:
            print(f"round {number + 1}: {tool} …", file=sys.stderr, flush=True)
            try:
                rounds[tool].append(measure(tool, max(1, int(options.steps * SHARE_OF_STEPS.get(tool, 1)))))
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = True
    results: dict[str, dict[str, float | None] | None] = {}
    for tool in asked:
        measured = rounds.get(tool, [])
        results[tool] = (
            {figure: median([one.get(figure) for one in measured]) for figure in FIGURES} if measured else None
        )
    text = table(results, options.steps, options.rounds)
    print(text)
    if options.write:
        document = DOCUMENT.read_text()
        head, rest = document.split(BEGIN)
        DOCUMENT.write_text(head + BEGIN + text + END + rest.split(END)[1])
    return int(failed)


def median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


if __name__ == "__main__":
    raise SystemExit(main())
