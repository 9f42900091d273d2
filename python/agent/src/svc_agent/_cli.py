"""The command `svc-agent`."""

from __future__ import annotations

import argparse
import logging
import os
import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._daemon import Daemon, Options
from ._home import Lock, Registration, home_folder, load_registration, save_registration
from ._transport import Service, Unauthorized, check_url
from ._version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit code: 0 success, 1 an error, 2 wrong usage, 77 the token is not accepted."""
    options = _parser().parse_args(argv)
    logging.basicConfig(format="%(asctime)s svc-agent: %(message)s", level=logging.INFO)
    try:
        return _register(options) if options.command == "register" else _run(options)
    except ValueError as error:
        print(f"svc-agent {options.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="svc-agent", description="Starts and stops training runs on this host for the monitoring service."
    )
    parser.add_argument("--version", action="version", version=f"svc-agent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    register = commands.add_parser("register", help="register this host with the service")
    register.add_argument(
        "--svc-url", default=os.environ.get("SVC_URL"), help="the service's address (default: SVC_URL)"
    )
    register.add_argument(
        "--hostname", default=socket.gethostname(), help="the name of this host, as reporters send it"
    )
    register.add_argument(
        "--token", default=os.environ.get("SVC_TOKEN"), help="a session token or a reporter token (default: SVC_TOKEN)"
    )
    register.add_argument("--insecure", action="store_true", help="allow plain HTTP to another host")
    run = commands.add_parser("run", help="wait for commands of the service and run them")
    run.add_argument("--poll-interval", type=_seconds, help="seconds (default: the interval from the service)")
    run.add_argument("--heartbeat-interval", type=_seconds, default=30.0, help="seconds (default: 30)")
    run.add_argument("--max-concurrent", type=_count, default=4, help="processes at a time (default: 4); others wait")
    run.add_argument("--stop-grace", type=_seconds, default=30.0, help="seconds from SIGTERM to SIGKILL (default: 30)")
    run.add_argument(
        "--allow-root",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="refuse a rerun whose working directory is outside DIR, with links resolved; repeatable. Only the "
        "directory in which a command starts is checked: a command can still read and write elsewhere",
    )
    run.add_argument(
        "--require-record",
        choices=("yes", "no"),
        default="yes",
        help="yes (default): run only commands that a reporter of this user recorded on this host, or that the "
        "batch's owner entered on the page; no: run any command that the service sends",
    )
    run.add_argument("--insecure", action="store_true", help="allow plain HTTP to another host")
    return parser


def _register(options: argparse.Namespace) -> int:
    if not options.svc_url or not options.token:
        raise ValueError("--svc-url and --token are required")
    url = check_url(options.svc_url, options.insecure)
    body = {"hostname": options.hostname, "capabilities": _capabilities(), "version": __version__}
    try:
        response = Service(url, options.token.strip()).post("/api/agents/register", body)
    except Unauthorized:
        raise ValueError("the service does not accept the token; create one on the Tokens page") from None
    if not response.ok or not isinstance(response.body, dict):
        raise ValueError(f"{url} did not register this host: {response.detail}")
    made = response.body
    registration = Registration(url, made["agent_id"], made["agent_token"], made["poll_interval_s"])
    path = save_registration(home_folder(), registration)
    print(f"registered {options.hostname} as {registration.agent_id}; its token is in {path}")
    return 0


def _run(options: argparse.Namespace) -> int:
    folder = home_folder()
    registration = load_registration(folder)
    check_url(registration.svc_url, options.insecure)
    lock = Lock(folder)
    try:
        daemon = Daemon(
            folder,
            registration,
            Options(
                poll_interval_s=options.poll_interval or registration.poll_interval_s,
                heartbeat_interval_s=options.heartbeat_interval,
                max_concurrent=options.max_concurrent,
                grace_s=options.stop_grace,
                allow_roots=options.allow_root,
                require_record=options.require_record == "yes",
            ),
        )
        return daemon.run()
    finally:
        lock.release()


def _capabilities() -> dict[str, Any]:
    return {
        "kinds": ["rerun", "stop"],
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "gpus": len([name for name in _names("/dev") if name.startswith("nvidia") and name[6:].isdigit()]),
    }


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.05 <= value <= 86_400:
        raise argparse.ArgumentTypeError("must be 0.05 to 86400 seconds")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1_000:
        raise argparse.ArgumentTypeError("must be 1 to 1000")
    return value


if __name__ == "__main__":
    raise SystemExit(main())
