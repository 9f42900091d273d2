"""The environment of a started process: the agent's, without tokens, and with the variables for the reporter."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Variables that systemd sets for the agent only.
_SYSTEMD_VARIABLES = frozenset(
    {"INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID"}
    | {"WATCHDOG_USEC", "CREDENTIALS_DIRECTORY", "SYSTEMD_EXEC_PID", "MANAGERPID"}
)


# A process gets a token for its batch only. With another token in its environment it could act as the agent or the
# user.
_TOKENS = re.compile(r"(ag|em)_live_[0-9A-Za-z]{8,}")


def child_environment(
    base: Mapping[str, str],
    *,
    variables: Mapping[str, str],
    svc_url: str,
    reporter_token: str | None,
    agent_token: str,
) -> dict[str, str]:
    """The environment of a process, from `base`, the agent's, and `variables`, which the service sent.

    Of `variables` only SVC_ names are used, so that the service cannot set PATH or LD_PRELOAD.
    """
    env = {
        name: value
        for name, value in base.items()
        if name not in _SYSTEMD_VARIABLES
        and agent_token not in value
        and not _TOKENS.search(value)
        and (not name.startswith("SVC_") or name.startswith("SVC_REPORTER_"))
    }
    env |= {
        name: value
        for name, value in variables.items()
        if name.startswith("SVC_") and name not in ("SVC_URL", "SVC_TOKEN") and "\0" not in value
    }
    env["SVC_URL"] = svc_url
    if reporter_token is not None:
        env["SVC_TOKEN"] = reporter_token
    return env
