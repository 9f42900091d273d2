"""Warns once if the service needs a newer version of the reporter."""

from __future__ import annotations

import logging
import re

from .._shared.messages import Messages
from .._version import __version__
from .transport import Response, Target

_HEADER = "x-svc-reporter-needed"
_warnings = Messages()
"""Shared by all reporters of the process, so that there is one warning."""


def is_older(version: str, needed: str) -> bool:
    """Whether release `version` (1.2.3) comes before `needed`. A pre-release counts as its release."""
    return _release(version) < _release(needed)


def warn_if_older(response: Response, target: Target) -> None:
    """Log the upgrade command once if the response names a newer version than this one."""
    needed = response.headers.get(_HEADER)
    if needed is None or not is_older(__version__, needed):
        return
    _warnings.log_once(logging.WARNING, f"{target} needs {needed}", upgrade_advice(needed, target))


def upgrade_advice(needed: str, target: Target) -> str:
    """One line with the upgrade command."""
    trusted = f" --trusted-host {target.netloc}" if target.shows_token else ""
    return (
        f"{target} needs svc-reporter {needed} or newer, and this is {__version__}: reported data may be shown "
        f"incompletely. Upgrade with: pip install --upgrade --index-url {target}/pip/simple/{trusted} svc-reporter"
    )


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version.strip())
    numbers = [int(part) for part in found.group().split(".")] if found else []
    return (*numbers, 0, 0, 0)[:3]
