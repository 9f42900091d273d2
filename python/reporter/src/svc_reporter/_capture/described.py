"""What a run keeps of itself as files: configuration, entry script, requirements and git diff.

They are in the folder `.svc` of the run, which no other file gets into.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .._shared.redact import redact_text
from .environment import DIFF_LIMIT, GitDiff, entry_file, masked_text

FOLDER = ".svc"
CONFIG, REQUIREMENTS, DIFF = f"{FOLDER}/config.json", f"{FOLDER}/requirements.txt", f"{FOLDER}/diff.patch"
_MAX_CONFIG_BYTES = 8 * 1024 * 1024
_MAX_CODE_BYTES = 1024 * 1024
_MAX_DISTRIBUTIONS = 5_000
_SUFFIXES = (".dist-info", ".egg-info")


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


def requirements() -> bytes:
    """The installed distributions as `pip freeze` lists them, by the names of their folders: metadata take a second."""
    found: dict[str, str] = {}
    for place in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(place or "."))
        except OSError:
            continue
        for name in names:
            stem, suffix = os.path.splitext(name)
            package, dash, version = stem.partition("-")
            if suffix in _SUFFIXES and dash and len(found) < _MAX_DISTRIBUTIONS:
                version = version.split("-py", 1)[0] if suffix == ".egg-info" else version
                key = package.lower().replace("_", "-")
                if key not in found:  # the first one on the path is the one that is imported
                    found[key] = f"{package}{_direct_source(Path(place) / name) or f'=={version}'}"
    return "".join(f"{found[key]}\n" for key in sorted(found)).encode("utf-8", "replace")


def _direct_source(folder: Path) -> str | None:
    """Where a package comes from that was installed from an address or a folder: ` @ git+https://…@commit`."""
    try:
        source = json.loads((folder / "direct_url.json").read_bytes())
        url = redact_text(unquote(str(source["url"])))
        control = source.get("vcs_info")
        return f" @ {control['vcs']}+{url}@{control['commit_id']}" if control else f" @ {url}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def diff_content(diff: GitDiff) -> bytes:
    """The text of a diff; the last line of one that was cut says so."""
    note = f"\n# cut: the first {DIFF_LIMIT:,} of {diff.length:,} bytes are kept\n" if diff.is_cut else ""
    return f"{diff.text}{note}".encode("utf-8", "replace")
