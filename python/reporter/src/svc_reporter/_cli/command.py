"""The command `svc-reporter`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from .._delivery.responses import Outcome
from .._delivery.sender import Stopped
from .._delivery.settings import Settings, read_settings
from .._version import __version__
from ..importing import _parser as importing
from ..importing._events import import_files
from .completion import SHELLS, completion
from .demo import demo
from .doctor import examine
from .read_cli import add_parsers, run_read
from .sweep_run import add_parser, run_command, split_command
from .sync import sync


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit code: 0 success, 1 an error or unsent events, 2 wrong usage.

    Commands that read return 0 if they found something, 1 if not, 2 for wrong usage, 3 for the service or the token.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["files"], ["artifact"]):
        from .files_cli import main as of_files

        return of_files(words)
    if words[:1] == ["run-as-wandb"] and words[1:2] not in ([], ["-h"], ["--help"]):
        from .._wandb.alias import run_as_wandb

        return run_as_wandb(words[1:])  # its options are those of the command
    parser = argparse.ArgumentParser(
        prog="svc-reporter", description="Read runs, check the set-up, try a first run, and send spilled events."
    )
    parser.add_argument("--version", action="version", version=f"svc-reporter {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("sync", "send the events of spill files"),
        ("import", "send the events of files, one JSON object per line, within the rate limit"),
        ("doctor", "check the set-up of this machine, with advice for each error"),
        ("demo", "train a small model for half a minute and report it, as a first run"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--url", help="the service's address (default: SVC_URL)")
        command.add_argument("--token", help="a reporter token (default: SVC_TOKEN)")
        if name == "sync":
            command.add_argument(
                "--rejected", action="store_true", help="also send events that the service rejected before"
            )
            command.add_argument("--project", metavar="NAME", help="with --rejected: what is rejected again goes to it")
        if name == "import":
            command.add_argument(
                "files", nargs="+", type=Path, metavar="FILE", help="a file of events; it is not changed"
            )
        if name == "demo":
            command.add_argument("--seconds", type=float, default=30.0, help="how long it takes (default: 30)")
        if name in ("sync", "import"):
            command.add_argument("--quiet", action="store_true", help="print the result only")
    for name, text in (("files", "list, get and put files of a run"), ("artifact", "list, get and put artifacts")):
        commands.add_parser(name, help=text, description=text)
    text = "run a script in which `import wandb` is svc_reporter, also in its child processes"
    command = commands.add_parser("run-as-wandb", help=text, description=text)
    command.add_argument(
        "words", nargs="+", metavar="SCRIPT", help="train.py …, -m module …, or a program such as torchrun"
    )
    importing.add_parser(commands)
    add_parser(commands)
    add_parsers(commands)
    command = commands.add_parser("completion", help="print a completion script for a shell")
    command.add_argument("shell", choices=SHELLS)
    words, command_line = split_command(words)
    options = parser.parse_args(words)
    if options.command == "sweep":
        return run_command(options, command_line)
    if options.command == "import-from":
        logging.basicConfig(format="svc-reporter: %(message)s", level=logging.WARNING)
        from ..importing._command import run_command as import_from

        return import_from(options)
    if options.command == "completion":
        print(completion(parser, options.shell), end="")
        return 0
    if hasattr(options, "read"):
        return run_read(options)
    try:
        settings = read_settings(options.url, options.token)
    except ValueError as error:
        parser.error(str(error))
    if options.command == "sync" and options.project is not None and not options.rejected:
        parser.error("--project needs --rejected: other events go to the project that they name")
    if options.command == "doctor":
        return examine(settings, print)
    if options.command == "demo":
        return _demo(settings, options)
    logging.basicConfig(format="svc-reporter: %(message)s", level=logging.WARNING)
    if options.command == "import":
        return _import(settings, options.files, quiet=options.quiet)
    try:
        say = (lambda _line: None) if options.quiet else print
        done = sync(settings, rejected=options.rejected, project=options.project, say=say)
    except ValueError as error:
        print(f"svc-reporter sync: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; unsent events stay in the spill folder", file=sys.stderr)
        return 1
    counts = ", ".join(
        f"{done.outcomes.get(outcome, 0)} {outcome.value}" for outcome in Outcome if outcome is not Outcome.RETRY
    )
    files = "1 file" if done.files == 1 else f"{done.files} files"
    print(f"{files} sent: {counts}")
    if done.uploads is not None and (done.uploads.files or done.uploads.refused or done.uploads_left):
        sent = done.uploads
        print(f"{sent.files:,} uploads sent ({sent.bytes:,} bytes), {sent.refused} refused, {done.uploads_left} left")
        if sent.halt is not None:
            print(f"uploads stopped: {sent.why}", file=sys.stderr)
    for path in done.left:
        print(f"left: {path}")
    if done.busy:
        print(
            f"files that another process is sending: {done.busy}; run `svc-reporter sync` again to see whether it did"
        )
    if done.rejected:
        print(f"files of rejected events: {done.rejected}; fix the cause, then run `svc-reporter sync --rejected`")
    if done.stopped is not None:
        print(f"stopped: {_WHY_STOPPED[done.stopped]}", file=sys.stderr)
    return 1 if done.stopped is not None or done.left or done.busy or done.uploads_left else 0


_WHY_STOPPED = {
    Stopped.UNREACHABLE: "the service cannot be reached",
    Stopped.UNAUTHORISED: "the service does not accept the token",
    Stopped.INTERRUPTED: "the service was not asked any more",
    Stopped.UNREADABLE: "a file cannot be read",
}


def _demo(settings: Settings, options: argparse.Namespace) -> int:
    if settings.target is None or not settings.token:
        print("svc-reporter demo: set SVC_URL and SVC_TOKEN, or give --url and --token", file=sys.stderr)
        return 1
    demo(options.url, options.token, seconds=options.seconds)
    return 0


def _import(settings: Settings, files: list[Path], *, quiet: bool) -> int:
    try:
        done = import_files(settings, files, quiet=quiet)
    except (ValueError, OSError) as error:
        print(f"svc-reporter import: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to send the rest", file=sys.stderr)
        return 1
    counts = ", ".join(
        f"{done.outcomes.get(outcome, 0):,} {outcome.value}" for outcome in Outcome if outcome is not Outcome.RETRY
    )
    print(f"{done.events:,} events sent: {counts}")
    if done.unreadable:
        print(f"{done.unreadable:,} lines are no events", file=sys.stderr)
    if done.stopped is not None:
        print(
            f"stopped: {_WHY_STOPPED[done.stopped]}; run the same command again to send the rest",
            file=sys.stderr,
        )
    return 1 if done.stopped is not None or done.refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
