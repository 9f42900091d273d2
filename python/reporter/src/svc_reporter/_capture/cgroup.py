"""CPU and memory limits of this process's control group (v2 and v1), which /proc does not contain."""

from __future__ import annotations

import os
import time
from pathlib import Path

_MIB = 1024 * 1024
_NO_LIMIT = 1 << 60
"""cgroup v1 writes "no limit" as a number of about 2**63."""


class Cgroup:
    """Files of the group that this process is in, or nothing outside Linux."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> None:
        self._root = root
        self._cpu_last: tuple[float, float] | None = None
        paths = _own_groups(proc)
        self._v2 = _first(root, paths.get("", "/"), "cgroup.controllers") is not None and "" in paths
        self._memory = paths.get("" if self._v2 else "memory", "/")
        self._cpu = paths.get("" if self._v2 else "cpu", "/")
        self._cpuacct = paths.get("" if self._v2 else "cpuacct", "/")

    def cpu_count(self) -> float:
        """CPUs that may be used at once: the quota, else the affinity mask."""
        try:
            available = float(len(os.sched_getaffinity(0)))
        except (AttributeError, OSError):
            available = float(os.cpu_count() or 1)
        quota = self._quota()
        return min(available, quota) if quota else available

    def cpu_util_pct(self, now: float | None = None) -> float | None:
        """Use of those CPUs since the last call, 0..100; None at the first call or without figures."""
        used = self._cpu_seconds()
        if used is None:
            return None
        now = time.monotonic() if now is None else now
        last, self._cpu_last = self._cpu_last, (now, used)
        if last is None or now <= last[0]:
            return None
        share = (used - last[1]) / ((now - last[0]) * self.cpu_count())
        return round(min(100.0, max(0.0, share * 100)), 2)

    def is_limited(self) -> bool:
        return self._quota() is not None or self.memory_limit_mb() is not None

    def memory_limit_mb(self) -> float | None:
        names = ("memory.max",) if self._v2 else ("memory/memory.limit_in_bytes",)
        value = self._read(self._memory, names)
        return value / _MIB if value is not None and value < _NO_LIMIT else None

    def memory_used_mb(self) -> float | None:
        """Memory in use without the page cache, which the kernel frees when needed."""
        names = ("memory.current",) if self._v2 else ("memory/memory.usage_in_bytes",)
        used = self._read(self._memory, names)
        if used is None:
            return None
        stat = self._table(self._memory, "memory.stat" if self._v2 else "memory/memory.stat")
        return max(0.0, used - stat.get("inactive_file" if self._v2 else "total_inactive_file", 0.0)) / _MIB

    def _quota(self) -> float | None:
        if self._v2:
            path = _first(self._root, self._cpu, "cpu.max")
            words = _text(path).split() if path else []
            if len(words) == 2 and words[0] != "max":
                return float(words[0]) / float(words[1])
            return None
        quota = self._read(self._cpu, ("cpu/cpu.cfs_quota_us",))
        period = self._read(self._cpu, ("cpu/cpu.cfs_period_us",))
        return quota / period if quota and period and quota > 0 else None

    def _cpu_seconds(self) -> float | None:
        if self._v2:
            usec = self._table(self._cpu, "cpu.stat").get("usage_usec")
            return usec / 1e6 if usec is not None else None
        nanoseconds = self._read(self._cpuacct, ("cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage"))
        return nanoseconds / 1e9 if nanoseconds is not None else None

    def _read(self, group: str, names: tuple[str, ...]) -> float | None:
        for name in names:
            path = _first(self._root, group, name)
            if path is not None:
                try:
                    return float(_text(path))
                except ValueError:
                    return None  # "max"
        return None

    def _table(self, group: str, name: str) -> dict[str, float]:
        path = _first(self._root, group, name)
        table: dict[str, float] = {}
        for line in _text(path).splitlines() if path else []:
            key, _, value = line.partition(" ")
            try:
                table[key] = float(value)
            except ValueError:
                continue
        return table


def _own_groups(proc: Path) -> dict[str, str]:
    """Controller → path; the key "" is the one hierarchy of v2."""
    groups: dict[str, str] = {}
    for line in _text(proc / "self" / "cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                groups[controller] = parts[2]
    return groups


def _first(root: Path, group: str, name: str) -> Path | None:
    """The file in the process's own group, else at the root: inside a container the group is the root."""
    controller, _, leaf = name.rpartition("/")
    base = root / controller if controller else root
    for path in (base / group.strip("/") / leaf, base / leaf):
        try:
            if path.is_file():
                return path
        except OSError:
            continue
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
