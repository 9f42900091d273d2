"""The traceback of a failure as the page shows it: whole and chained, and the lines around its last place."""

from __future__ import annotations

import linecache
import site
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from .._shared.redact import redact_text

LIMIT = 64 * 1024
"""In characters. The middle of a longer one, for instance of a deep recursion, is cut."""
_CONTEXT = 3
"""Lines shown before and after the last line of the user's own files."""


def full_trace(error: BaseException, trace: TracebackType | None = None) -> str | None:
    """The traceback of `error` with its causes, as Python prints it, without secrets; None when it cannot be made.

    Below it are the lines around the innermost call in a file of the user's own, which is neither the standard
    library's nor an installed package's: the place that is most often the one to mend.
    """
    try:
        text = "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))
        return redact_text(_shortened(text.rstrip("\n") + _around(trace or error.__traceback__)))
    except Exception:
        return None


def _shortened(text: str) -> str:
    if len(text) <= LIMIT:
        return text
    half = LIMIT // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n  ... {left_out:,} characters left out ...\n{text[-half:]}"


def _around(trace: TracebackType | None) -> str:
    place: tuple[str, int] | None = None
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if _is_own(path):
            place = (path, trace.tb_lineno)
        trace = trace.tb_next
    if place is None:
        return ""
    path, at = place
    lines = linecache.getlines(path)
    if not lines:
        return ""
    shown = range(max(1, at - _CONTEXT), min(len(lines), at + _CONTEXT) + 1)
    body = "".join(f"{'>' if n == at else ' '} {n:>5} | {lines[n - 1].rstrip()}\n" for n in shown)
    return f"\n\n{path}, around line {at}:\n{body.rstrip()}"


def _is_own(path: str) -> bool:
    if path.startswith("<ipython-input") or "ipykernel_" in path:
        return True
    if path.startswith("<") or str(Path(__file__).parents[1]) in path:
        return False
    return not any(path.startswith(folder) for folder in _foreign_folders())


def _foreign_folders() -> list[str]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= set(getattr(site, "getsitepackages", list)()) | {getattr(sys, "_MEIPASS", "")}
    return [folder for folder in folders if folder]
