"""The agent's folder, `~/.svc-agent`: its token, its lock, and what it runs. Private to its user."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from ._files import private_folder, read_json, write_json


@dataclass(frozen=True)
class Registration:
    """The token file (specification §2.3): these four keys, no others."""

    svc_url: str
    agent_id: str
    agent_token: str
    poll_interval_s: float


def home_folder() -> Path:
    """SVC_AGENT_DIR names another one, for a second agent of the same user."""
    return Path(os.environ.get("SVC_AGENT_DIR") or Path.home() / ".svc-agent")


def save_registration(folder: Path, registration: Registration) -> Path:
    path = private_folder(folder) / "token.json"
    write_json(path, registration.__dict__)
    return path


def load_registration(folder: Path) -> Registration:
    """Raises ValueError, in words for people."""
    path = folder / "token.json"
    data = read_json(path)
    if not path.exists():
        raise ValueError(f"{path} is missing: run `svc-agent register` first")
    try:
        found = Registration(
            str(data["svc_url"]), str(data["agent_id"]), str(data["agent_token"]), float(data["poll_interval_s"])
        )
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is damaged: run `svc-agent register` again") from None
    # The file may have been copied, and a token that other users can read is not safe.
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    private_folder(folder)
    return found


class Lock:
    """One agent for one folder; it ends with its process, however that ends."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError when another agent holds it."""
        self._descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise ValueError(f"another svc-agent runs with {folder}") from None

    def release(self) -> None:
        os.close(self._descriptor)
