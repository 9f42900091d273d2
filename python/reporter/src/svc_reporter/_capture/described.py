"""What a run keeps of itself as files: configuration, entry script, requirements and git diff.

They are in the folder `.svc` of the run, which no other file gets into.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._shared.redact import masked_text
from .environment import entry_file
from .git import DIFF_LIMIT, GitDiff

FOLDER = ".svc"
CONFIG, REQUIREMENTS, DIFF = f"{FOLDER}/config.json", f"{FOLDER}/requirements.txt", f"{FOLDER}/diff.patch"
_MAX_CONFIG_BYTES = 8 * 1024 * 1024
_MAX_CODE_BYTES = 1024 * 1024


def config_content(config: Mapping[str, Any]) -> bytes | None:
    """A configuration, plain and without secrets, as JSON. None if it is empty or too large."""
    content = json.dumps(config, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return content if config and len(content) <= _MAX_CONFIG_BYTES else None


def script(env: Mapping[str, str]) -> tuple[str, bytes] | None:
    """Path in the run, and text without secrets, of the script that was started; None in a notebook, or for a tool."""
    path = Path(entry_file() or "")
    if path.suffix != ".py" or {"site-packages", "dist-packages"} & set(path.parts):
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_CODE_BYTES + 1)
        text = raw.decode() if len(raw) <= _MAX_CODE_BYTES else None
    except (OSError, ValueError):
        return None
    return None if text is None else (f"{FOLDER}/code/{path.name}", masked_text(text, env).encode())


def diff_content(diff: GitDiff) -> bytes:
    """The text of a diff; the last line of one that was cut says so."""
    note = f"\n# cut: the first {DIFF_LIMIT:,} of {diff.length:,} bytes are kept\n" if diff.is_cut else ""
    return f"{diff.text}{note}".encode("utf-8", "replace")
