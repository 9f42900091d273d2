"""Detects out-of-memory kills in the control group of a process."""

from __future__ import annotations

from pathlib import Path


class OomKills:
    """Remembers the `oom_kill` counter of the control group of each watched process."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> None:
        self._root = root
        self._proc = proc
        self._seen: dict[str, tuple[Path, int]] = {}

    def watch(self, key: str, pid: int) -> None:
        if key not in self._seen:
            for path in self._counters(pid):
                count = _count(path)
                if count is not None:
                    self._seen[key] = (path, count)
                    return

    def has_increased(self, key: str) -> bool:
        """Whether the counter has increased. False if the control group no longer exists."""
        seen = self._seen.pop(key, None)
        now = None if seen is None else _count(seen[0])
        return seen is not None and now is not None and now > seen[1]

    def _counters(self, pid: int) -> list[Path]:
        """Counter files of cgroup v2 and v1; inside a container the group is the root."""
        try:
            lines = (self._proc / str(pid) / "cgroup").read_text("ascii", "replace").splitlines()
        except OSError:
            return []
        found: list[Path] = []
        for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
            inside = path.strip("/")
            if controllers == "":
                found += [self._root / inside / "memory.events", self._root / "memory.events"]
            elif "memory" in controllers.split(","):
                found += [self._root / "memory" / part / "memory.oom_control" for part in (inside, "")]
        return found


def _count(path: Path) -> int | None:
    try:
        for line in path.read_text("ascii", "replace").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except (OSError, ValueError):
        pass
    return None
