"""Processes on Windows, through a handle, because `os.kill(pid, 0)` sends Ctrl-C there."""

from __future__ import annotations

import ctypes
from typing import Any

_QUERY_LIMITED_INFORMATION = 0x1000
_ERROR_ACCESS_DENIED = 5
_STILL_ACTIVE = 259


class _FileTime(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint32), ("high", ctypes.c_uint32)]


def process(pid: int) -> tuple[bool | None, str | None]:
    """Whether it runs (None: this user may not ask), and when it started, in 100 ns since 1601; None if unknown.

    The numbers of ended processes are used again, starts never are.
    """
    dll = _kernel32()
    handle = dll.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
    if not handle:
        return (None if _last_error() == _ERROR_ACCESS_DENIED else False), None
    try:
        code = ctypes.c_uint32()
        created, exited, kernel, user = (_FileTime() for _ in range(4))
        known = dll.GetExitCodeProcess(handle, ctypes.byref(code))
        timed = dll.GetProcessTimes(
            handle, ctypes.byref(created), ctypes.byref(exited), ctypes.byref(kernel), ctypes.byref(user)
        )
        return (code.value == _STILL_ACTIVE if known else None), (
            str(created.high << 32 | created.low) if timed else None
        )
    finally:
        dll.CloseHandle(handle)


def _kernel32() -> Any:
    dll: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    pointer = ctypes.c_void_p
    dll.OpenProcess.restype = pointer
    dll.OpenProcess.argtypes = (ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32)
    dll.GetExitCodeProcess.argtypes = (pointer, pointer)
    dll.GetProcessTimes.argtypes = (pointer, pointer, pointer, pointer, pointer)
    dll.CloseHandle.argtypes = (pointer,)
    return dll


def _last_error() -> int:
    return int(ctypes.get_last_error())  # type: ignore[attr-defined,unused-ignore]
