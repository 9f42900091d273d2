"""The command `svc-reporter`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from ._answers import Fate
from ._doctor import examine
from ._settings import read_settings
from ._sync import sync
from ._version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 all well, 1 something is wrong or was left behind, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="svc-reporter", description="Training telemetry: spill files and set-up.")
    parser.add_argument("--version", action="version", version=f"svc-reporter {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("sync", "send the events that wait in spill files"),
        ("doctor", "say what is wrong with this machine's set-up"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--url", help="the service's address (default: SVC_URL)")
        command.add_argument("--token", help="a reporter token (default: SVC_TOKEN)")
        if name == "sync":
            command.add_argument("--rejected", action="store_true", help="send what the service refused before")
            command.add_argument("--quiet", action="store_true", help="print the result only")
    options = parser.parse_args(argv)
    try:
        settings = read_settings(options.url, options.token)
    except ValueError as error:
        parser.error(str(error))
    if options.command == "doctor":
        return examine(settings, print)
    logging.basicConfig(format="svc-reporter: %(message)s", level=logging.WARNING)
    try:
        done = sync(settings, rejected=options.rejected, say=(lambda _line: None) if options.quiet else print)
    except ValueError as error:
        print(f"svc-reporter sync: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what is left stays in the spill folder", file=sys.stderr)
        return 1
    counts = ", ".join(f"{done.fates.get(fate, 0)} {fate.value}" for fate in Fate if fate is not Fate.AGAIN)
    print(f"{done.files} files sent: {counts}")
    for path in done.left:
        print(f"left: {path}")
    if done.stopped is not None:
        print(f"stopped: the service is {done.stopped.value}", file=sys.stderr)
    return 1 if done.stopped is not None or done.left else 0


if __name__ == "__main__":
    raise SystemExit(main())
