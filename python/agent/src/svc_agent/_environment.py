"""What a process is started with: the agent's environment without its secrets, and what a reporter needs."""

from __future__ import annotations

from collections.abc import Mapping

# What systemd tells the agent alone.
_OWN = frozenset(
    {"INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID"}
    | {"WATCHDOG_USEC", "CREDENTIALS_DIRECTORY", "SYSTEMD_EXEC_PID", "MANAGERPID"}
)


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
        and (not name.startswith("SVC_") or name.startswith("SVC_REPORTER_") or name == "SVC_TOKEN")
    }
    # The user's own reporter token serves where the service gave none; any other kind is not the training's business.
    if not env.get("SVC_TOKEN", "").startswith("em_live_"):
        env.pop("SVC_TOKEN", None)
    env |= {
        name: value
        for name, value in told.items()
        if name.startswith("SVC_") and name not in ("SVC_URL", "SVC_TOKEN") and "\0" not in value
    }
    env["SVC_URL"] = svc_url
    if reporter_token is not None:
        env["SVC_TOKEN"] = reporter_token
    return env
