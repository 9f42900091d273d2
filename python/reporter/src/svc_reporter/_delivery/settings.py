"""Settings of a reporter from arguments and environment variables, read once when it is created."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from .._disk.spill import first_writable, folders
from .._shared import tuning as _tuning
from .._shared.tuning import Tuning
from .transport import Target

OFFLINE = "offline:"
"""Instead of an address: events stay on disk until `svc-reporter sync`."""
_OFFLINE_WORDS = "the mode is offline"
_UNSET = " is not set"


@dataclass(frozen=True)
class Settings:
    target: Target | None
    token: str
    folder: str | None
    """SVC_REPORTER_DIR: the spill folder; None for ~/.svc-reporter."""
    tuning: Tuning
    complaints: tuple[str, ...] = ()
    """Why nothing is sent, without the advice."""

    @property
    def is_offline(self) -> bool:
        """Whether the user wants the events on disk."""
        return _OFFLINE_WORDS in self.complaints

    def why_kept(self) -> str:
        """Why events stay on disk in this process, where, and what sends them; for the user."""
        unset = [one.removesuffix(_UNSET) for one in self.complaints if one.endswith(_UNSET)]
        others = [one for one in self.complaints if not one.endswith(_UNSET)]
        reasons = [*others, f"{' and '.join(unset)} {'are' if len(unset) > 1 else 'is'} not set"] if unset else others
        advice = "`svc-reporter sync` sends them"
        if not self.is_offline:
            names = [name for name in ("SVC_URL", "SVC_TOKEN") if any(name in one for one in self.complaints)]
            advice = f"Set {' and '.join(names)}, then {advice}"
        return f"{'; '.join(reasons)}; events are kept in {first_writable(folders(self.folder))}. {advice}"


def read_settings(url: str | None, token: str | None, env: Mapping[str, str] | None = None) -> Settings:
    """Arguments take precedence over variables. Raises ValueError for an invalid argument, not for a variable."""
    env = os.environ if env is None else env
    complaints: list[str] = []
    target: Target | None = None
    if url == OFFLINE:
        complaints.append(_OFFLINE_WORDS)
    elif url is not None:
        target = Target.parse(url)
    elif env.get("SVC_URL"):
        try:
            target = Target.parse(env["SVC_URL"])
        except ValueError as error:
            complaints.append(f"SVC_URL: {error}")
    else:
        complaints.append(f"SVC_URL{_UNSET}")
    credential = (token if token is not None else env.get("SVC_TOKEN", "")).strip()
    if any(ord(c) < 33 or ord(c) > 126 for c in credential):
        complaints.append("SVC_TOKEN contains invalid characters")
        credential = ""
    elif not credential and url != OFFLINE:
        complaints.append(f"SVC_TOKEN{_UNSET}")
    return Settings(target, credential, env.get("SVC_REPORTER_DIR") or None, _tuning.DEFAULT, tuple(complaints))


def is_switched_off(env: Mapping[str, str] | None = None) -> bool:
    """Whether SVC_DISABLED is set: nothing is reported, as in tests and while debugging."""
    env = os.environ if env is None else env
    return env.get("SVC_DISABLED", "").strip().lower() not in ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Rerun:
    """The batch that this process reruns, from the variables that the agent sets (contract §4)."""

    of: str | None = None
    jobs: frozenset[str] | None = None
    """The jobs to run; None means all."""
    done: frozenset[str] | None = None
    """The jobs that are done; all others are to run. Unlike `jobs`, this covers jobs that never started."""

    def wants(self, job_id: str) -> bool:
        if self.done is not None:
            return job_id not in self.done
        return self.jobs is None or job_id in self.jobs

    def planned(self, n_total: int) -> int:
        """How many of the script's `n_total` jobs this process is to run."""
        if self.done is not None:
            return max(0, n_total - len(self.done))
        return n_total if self.jobs is None else min(n_total, len(self.jobs))


def read_rerun(env: Mapping[str, str] | None = None) -> Rerun:
    env = os.environ if env is None else env
    jobs, done = (_job_list(env.get(name, "")) for name in ("SVC_RERUN_JOBS", "SVC_RERUN_DONE"))
    return Rerun(env.get("SVC_RERUN_OF") or None, jobs, done)


def _job_list(text: str) -> frozenset[str] | None:
    """Job ids from a JSON list (ids may contain commas) or from names separated by commas; None if empty."""
    text = text.strip()
    if not text:
        return None
    if text.startswith("["):
        try:
            names = json.loads(text)
            if isinstance(names, list):
                return frozenset(str(name) for name in names)
        except ValueError:
            pass  # not JSON: an id that begins with a bracket
    return frozenset(name.strip() for name in text.split(",") if name.strip())
