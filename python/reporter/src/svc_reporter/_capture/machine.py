"""CPU, memory and disk of this process's machine: psutil if installed, else /proc and the cgroup."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

from .cgroup import Cgroup

_MIB = 1024 * 1024


class Machine:
    """`sample()` gives the fields of a `resource_snapshot`; unavailable values are left out."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._cgroup = Cgroup()
        self._psutil = _optional("psutil")
        self._process: Any = None
        self._last_stat: tuple[float, float] | None = None
        self._cgroup.cpu_util_pct()  # utilisation is a difference: start the first interval
        self._host_cpu()

    def sample(self) -> dict[str, Any]:
        cgroup = self._cgroup
        limited = cgroup.is_limited()
        host_cpu = self._host_cpu()
        group_cpu = cgroup.cpu_util_pct()
        limit_mb = cgroup.memory_limit_mb()
        total_mb, used_mb = self._memory()
        if limit_mb is not None and (total_mb is None or limit_mb < total_mb):
            total_mb, used_mb = limit_mb, cgroup.memory_used_mb()
        figures = {
            "cpu_util_pct": group_cpu if limited and group_cpu is not None else host_cpu,
            "cpu_count": cgroup.cpu_count(),
            "ram_mb": used_mb,
            "ram_total_mb": total_mb,
            "rss_mb": self._rss_mb(),
            "disk_free_mb": self._disk_free_mb(),
        }
        return {key: round(value, 2) for key, value in figures.items() if value is not None}

    def _host_cpu(self) -> float | None:
        """Busy share of the whole machine since the last call."""
        if self._psutil is not None:
            return float(self._psutil.cpu_percent(None))
        try:
            words = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:9]
        except OSError:
            return None
        ticks = [float(word) for word in words]
        total, idle = sum(ticks), ticks[3] + ticks[4]
        last, self._last_stat = self._last_stat, (total, idle)
        if last is None or total <= last[0]:
            return None
        return min(100.0, max(0.0, 100 * (1 - (idle - last[1]) / (total - last[0]))))

    def _memory(self) -> tuple[float | None, float | None]:
        if self._psutil is not None:
            memory = self._psutil.virtual_memory()
            return memory.total / _MIB, (memory.total - memory.available) / _MIB
        table: dict[str, float] = {}
        try:
            for line in Path("/proc/meminfo").read_text("ascii").splitlines():
                key, _, rest = line.partition(":")
                table[key] = float(rest.split()[0]) / 1024
            return table["MemTotal"], table["MemTotal"] - table["MemAvailable"]
        except (OSError, KeyError, ValueError, IndexError):
            return None, None

    def _rss_mb(self) -> float | None:
        try:
            if self._psutil is not None:
                self._process = self._process or self._psutil.Process()
                return float(self._process.memory_info().rss) / _MIB
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / _MIB
        except Exception:
            return None

    def _disk_free_mb(self) -> float | None:
        try:
            return shutil.disk_usage(self._cwd or "/").free / _MIB
        except OSError:
            return None


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:  # a broken installation: its figures are missing
        return None
