"""The agent's folder `~/.svc-agent`, readable only by its user: token, lock, commands and spool."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from ._files import private_folder, read_json, write_json


@dataclass(frozen=True)
class Registration:
    """The content of the token file (specification §2.3): exactly these four keys."""

    svc_url: str
    agent_id: str
    agent_token: str
    poll_interval_s: float


def home_folder() -> Path:
    """The agent's folder; SVC_AGENT_DIR sets another one, for a second agent of the same user."""
    return Path(os.environ.get("SVC_AGENT_DIR") or Path.home() / ".svc-agent")


def save_registration(folder: Path, registration: Registration) -> Path:
    path = private_folder(folder) / "token.json"
    write_json(path, registration.__dict__)
    return path


def load_registration(folder: Path) -> Registration:
    """Read the token file. Raises ValueError with a message for the user."""
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
    # A copied file may have lost its mode, and other users must not read the token.
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    private_folder(folder)
    return found


class Lock:
    """Allows one agent per folder. The lock ends with the process, even after a crash."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError if another agent holds the lock."""
        self._descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise ValueError(
                f"another svc-agent runs with {folder}; stop it, or set SVC_AGENT_DIR to another folder"
            ) from None

    def release(self) -> None:
        os.close(self._descriptor)
