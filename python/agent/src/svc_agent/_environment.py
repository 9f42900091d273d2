"""What a process is started with: the agent's environment without the user's tokens, and what a reporter needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

# What systemd tells the agent alone.
_OWN = frozenset(
    {"INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID"}
    | {"WATCHDOG_USEC", "CREDENTIALS_DIRECTORY", "SYSTEMD_EXEC_PID", "MANAGERPID"}
)


# A process gets a token of its own, for its batch alone. With any other one in its environment it could act as the
# agent, or as the user.
_TOKENS = re.compile(r"(ag|em)_live_[0-9A-Za-z]{8,}")


def child_environment(
    base: Mapping[str, str],
    *,
    told: Mapping[str, str],
    svc_url: str,
    reporter_token: str | None,
    agent_token: str,
) -> dict[str, str]:
    """`told` is what the service says about the rerun: of it only SVC_ names are taken, never a path or a preload."""
    env = {
        name: value
        for name, value in base.items()
        if name not in _OWN
        and agent_token not in value
        and not _TOKENS.search(value)
        and (not name.startswith("SVC_") or name.startswith("SVC_REPORTER_"))
    }
    env |= {
        name: value
        for name, value in told.items()
        if name.startswith("SVC_") and name not in ("SVC_URL", "SVC_TOKEN") and "\0" not in value
    }
    env["SVC_URL"] = svc_url
    if reporter_token is not None:
        env["SVC_TOKEN"] = reporter_token
    return env
