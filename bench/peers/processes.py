"""The processes of a tracker: starting and stopping them, their memory, processor time, and files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "python/reporter/src"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
OTHERS = ("SVC_", "WANDB_", "TRACKIO_", "MLFLOW_")
"""Settings of the caller's own trackers."""


@dataclass
class Group:
    """The processes of one tracker: those of sessions that it leads. What ended is kept in its processor time."""

    sessions: set[int] = field(default_factory=set)
    ticks: dict[int, int] = field(default_factory=dict)
    peak_mb: float = 0.0

    def look(self) -> float:
        """Adds up memory, and notes processor time."""
        memory = 0.0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) not in self.sessions and not self._is_child(int(fields[1])):
                    continue
                pid = int(entry.name)
                self.ticks[pid] = max(self.ticks.get(pid, 0), int(fields[11]) + int(fields[12]))
                rollup = (entry / "smaps_rollup").read_text()
                memory += int(rollup.partition("Pss:")[2].split()[0]) / 1024
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile
        self.peak_mb = max(self.peak_mb, memory)
        return memory

    def _is_child(self, parent: int) -> bool:
        return parent in self.ticks

    @property
    def processor_s(self) -> float:
        return sum(self.ticks.values()) * TICK_S


def start(command: list[str], home: Path, group: Group, **environment: str) -> subprocess.Popen[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    said = (home / "stderr").open("a")
    process = subprocess.Popen(
        command,
        cwd=home,
        env=own | {"HOME": str(home), "PEERS_HOME": str(home), "PYTHONPATH": str(SOURCE)} | environment,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        start_new_session=True,
    )
    group.sessions.add(process.pid)
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def size_of(home: Path) -> int:
    files = (path for path in home.rglob("*") if "pg_wal" not in path.parts and path.is_file())
    return sum(path.stat().st_size for path in files)
