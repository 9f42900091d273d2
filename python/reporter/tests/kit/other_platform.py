"""Makes this process behave as if it ran on Windows or macOS, as far as the reporter can tell. First import of a child.

    import tests.kit.other_platform as platform; platform.become("win32")

What the other system does not have is gone (fork, /proc, fcntl, most signals), and what it forbids fails: on Windows
a file that is open can be neither renamed nor deleted, and os.kill with any number ends or interrupts a process.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib.abc
import io
import os
import signal
import sys
from typing import Any

# These choose what they do by sys.platform when they are imported, and would want what only Windows has.
import http.client  # isort: skip  # noqa: F401
import logging  # isort: skip  # noqa: F401
import random  # isort: skip  # noqa: F401
import shutil  # isort: skip  # noqa: F401
import ssl  # isort: skip  # noqa: F401
import subprocess  # isort: skip  # noqa: F401
import tempfile  # isort: skip  # noqa: F401
import urllib.request  # isort: skip  # noqa: F401
import uuid  # isort: skip  # noqa: F401

_ATTRIBUTES = {
    "win32": (
        [(os, name) for name in (
            "fork", "register_at_fork", "getuid", "geteuid", "pidfd_open", "pread", "sched_getaffinity", "statvfs",
            "killpg", "getpgid", "setsid", "sysconf", "fchmod", "getloadavg",
        )]
        + [(signal, name) for name in (
            "SIGHUP", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGKILL", "SIGALRM", "SIGPIPE", "SIGXCPU", "SIGQUIT",
            "pthread_kill", "pthread_sigmask", "setitimer",
        )]
    ),
    "darwin": [(os, "pidfd_open"), (os, "sched_getaffinity")],
}  # fmt: skip
_MODULES = {"win32": {"fcntl", "pwd", "resource", "termios", "grp"}, "darwin": set[str]()}

_open, _os_open, _stat, _listdir, _readlink = builtins.open, os.open, os.stat, os.listdir, os.readlink


def become(system: str) -> None:
    for module, name in _ATTRIBUTES[system]:
        if hasattr(module, name):
            delattr(module, name)
    for name in _MODULES[system]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing(_MODULES[system]))
    _hide_proc()
    if system == "win32":
        _forbid_what_windows_forbids()
        ctypes.WinDLL = _kernel32  # type: ignore[attr-defined]
        ctypes.get_last_error = lambda: _Kernel32.error  # type: ignore[attr-defined]
    sys.platform = system


class _Missing(importlib.abc.MetaPathFinder):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in self._names:
            raise ImportError(f"no module named {name!r} on this system")


def _hide_proc() -> None:
    def guard(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, (str, os.PathLike)) and str(path).startswith(("/proc", "/sys")):
                raise FileNotFoundError(2, "no such file or directory", str(path))
            return real(path, *arguments, **named)

        return call

    builtins.open = io.open = guard(_open)
    os.open, os.stat, os.listdir = guard(_os_open), guard(_stat), guard(_listdir)


def _forbid_what_windows_forbids() -> None:
    def is_open(path: Any) -> bool:
        full = os.path.realpath(path)
        for number in _listdir("/proc/self/fd"):
            try:
                if _readlink(f"/proc/self/fd/{number}") == full:
                    return True
            except OSError:
                continue
        return False

    def guard(real: Any, *, both: bool) -> Any:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            paths = [path, *arguments[:1]] if both else [path]
            for each in paths:
                if is_open(each):
                    raise PermissionError(13, "used by another process", str(each))
            if both and real is _rename and os.path.lexists(arguments[0]):
                raise FileExistsError(17, "exists", str(arguments[0]))
            return real(path, *arguments, **named)

        return call

    _rename = os.rename
    os.rename, os.replace = guard(_rename, both=True), guard(os.replace, both=True)
    os.unlink = os.remove = guard(os.unlink, both=False)

    def kill(pid: int, number: int) -> None:
        print(f"os.kill({pid}, {number}) ends the process on Windows", file=sys.stderr, flush=True)
        os._exit(99)

    os.kill = kill


class _Kernel32:
    """Answers from /proc as the real one does; a handle is the process's number."""

    error = 0

    def fields(self, pid: int) -> list[str] | None:
        try:
            with _open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rsplit(")", 1)[1].split()
        except OSError:
            return None

    def OpenProcess(self, access: int, inherit: bool, pid: int) -> int:
        _Kernel32.error = 5 if pid == 4 else 87
        return 0 if pid == 4 or self.fields(pid) is None else pid

    def GetExitCodeProcess(self, handle: int, code: Any) -> int:
        fields = self.fields(handle)
        code._obj.value = 0 if fields is None or fields[0] in "ZX" else 259
        return 1

    def GetProcessTimes(self, handle: int, created: Any, *_others: Any) -> int:
        fields = self.fields(handle)
        if fields is None:
            return 0
        created._obj.high, created._obj.low = divmod(int(fields[19]), 2**32)
        return 1

    def CloseHandle(self, handle: int) -> int:
        return 1


class _Function:
    """A function of a DLL, whose types ctypes lets one set."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


def _kernel32(name: str, use_last_error: bool = False) -> Any:
    assert name == "kernel32"
    real = _Kernel32()
    functions = ("OpenProcess", "GetExitCodeProcess", "GetProcessTimes", "CloseHandle")
    return type("Dll", (), {each: _Function(getattr(real, each)) for each in functions})()
