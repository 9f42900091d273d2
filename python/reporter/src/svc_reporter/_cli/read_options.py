"""The options of the commands of `svc-reporter` that read."""

from __future__ import annotations

import argparse

STATES = ("running", "completed", "failed", "stopped", "lost")


def _filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("query", nargs="*", metavar="QUERY", help="conditions such as 'lr<0.01 status:failed'")
    command.add_argument("--project", action="append", help="only of this project (repeatable)")


def ls_options(command: argparse.ArgumentParser) -> None:
    _filters(command)
    command.add_argument("--status", action="append", choices=STATES)
    command.add_argument("--metric", action="append", default=[], help="also show its best value (repeatable)")
    command.add_argument("--sort", help="a name such as best.val_loss or lr")
    command.add_argument("--order", choices=("asc", "desc"))
    command.add_argument("--limit", type=_positive, default=20, help="how many runs (default: 20)")


def show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN")
    command.add_argument("job", nargs="?", metavar="JOB")
    command.add_argument("--limit", type=_positive, default=20, help="how many jobs (default: 20)")


def best_options(command: argparse.ArgumentParser) -> None:
    _filters(command)
    command.add_argument("--metric", required=True)
    command.add_argument("--goal", choices=("min", "max"), help="default: what the name suggests")


def metrics_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN")
    command.add_argument("--metric", action="append", help="only this metric (repeatable)")
    command.add_argument("--job", action="append", help="only this job (repeatable)")
    command.add_argument("--limit", type=_positive, default=30, help="how many of the last rows (default: 30)")
    command.add_argument("--all", action="store_true", help="all rows")


def logs_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN")
    command.add_argument("--job")
    command.add_argument("--level", help="this severity or a worse one")
    command.add_argument("--grep", metavar="TEXT", help="only lines with this text")
    command.add_argument("--tail", type=_positive, default=100, help="how many of the last lines (default: 100)")
    command.add_argument("--all", action="store_true", help="all lines, oldest first")


def failures_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", nargs="?", metavar="RUN")
    command.add_argument("--project", action="append", help="only of this project (repeatable)")
    command.add_argument("--limit", type=_positive, default=20, help="how many (default: 20)")


def compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs="+", metavar="RUN")
    command.add_argument("--metric", action="append", default=[], help="default: all metrics of the runs")


def diff_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs=2, metavar="RUN")


def watch_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN")
    command.add_argument("--metric", action="append", help="only this metric (repeatable)")
    command.add_argument("--timeout", type=float, help="end after so many seconds")


def open_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", nargs="?", metavar="RUN")
    command.add_argument("--project", help="the page of a project")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_positive.__name__ = "positive number"
