"""The installed distributions, by the names of their folders.

importlib.metadata takes 7 ms to load, and longer to read hundreds of metadata files.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from .._shared.redact import redact_text

_LIMIT = 5_000
_SUFFIXES = (".dist-info", ".egg-info")
_SEPARATORS = re.compile(r"[-_.]+")
_OTHER_NAMES = {
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "faiss": "faiss-cpu",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Distributions with another name than their module."""


class Distribution(NamedTuple):
    name: str
    version: str
    folder: str


def imported_versions() -> dict[str, str]:
    """Version by name of the installed distributions whose modules this process has imported so far."""
    known = _installed()
    found: dict[str, str] = {}
    for module in sorted({name.partition(".")[0] for name in list(sys.modules)} - sys.stdlib_module_names):
        if module.startswith("_"):
            continue
        for name in (module, _OTHER_NAMES.get(module)):
            distribution = known.get(_key(name)) if name is not None else None
            if name is not None and distribution is not None:
                found[name] = distribution.version
    return found


def requirements() -> bytes:
    """The installed distributions as `pip freeze` lists them."""
    known = _installed()
    lines = (f"{one.name}{_direct_source(one.folder) or f'=={one.version}'}\n" for _, one in sorted(known.items()))
    return "".join(lines).encode("utf-8", "replace")


def _installed() -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for place in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(place or "."))
        except (OSError, TypeError):
            continue
        for name in names:
            stem, suffix = os.path.splitext(name)
            if suffix not in _SUFFIXES or len(found) >= _LIMIT:
                continue
            package, dash, version = stem.partition("-")
            folder = os.path.join(place, name)
            version = version.split("-py", 1)[0] if dash else _version_in(folder)
            if version:  # the first one on the path is the one that is imported
                found.setdefault(_key(package), Distribution(package, version, folder))
    return found


def _key(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def _version_in(folder: str) -> str:
    """Of a folder without a version in its name, as `setup.py develop` makes; empty if there is none."""
    try:
        with open(os.path.join(folder, "PKG-INFO"), encoding="utf-8", errors="replace") as file:
            return next((line[8:].strip() for line in file if line.startswith("Version:")), "")
    except OSError:
        return ""


def _direct_source(folder: str) -> str | None:
    """Where a package comes from that was installed from an address or a folder: ` @ git+https://…@commit`."""
    try:
        source = json.loads((Path(folder) / "direct_url.json").read_bytes())
        url = redact_text(unquote(str(source["url"])))
        control = source.get("vcs_info")
        return f" @ {control['vcs']}+{url}@{control['commit_id']}" if control else f" @ {url}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
