"""Text of the command line for people: numbers, cells and tables."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_GAP = "  "


def printable(text: str, *, lines: bool = False) -> str:
    """Without control characters, which a terminal would obey."""
    return "".join(
        letter if letter.isprintable() or (lines and letter in "\n\t") else " " if letter.isspace() else "\ufffd"
        for letter in text
    )


def number(value: Any) -> str:
    """At most six digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return cell(value)
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return f"{value:.6g}"


def cell(value: Any) -> str:
    if value is None:
        return ""
    return printable(value if isinstance(value, str) else json.dumps(value, default=str))


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Columns of equal width; on a terminal the last one is cut at its edge."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[printable(name) for name in names], *([cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in cells:
        text = _GAP.join(f"{one:<{width}}" for one, width in zip(line, widths, strict=True)).rstrip()
        print(text if room is None or len(text) <= room else f"{text[: room - 1]}…")
