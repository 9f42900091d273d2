"""The words of `svc-reporter import-from`; apart from the command, so that other commands start fast."""

from __future__ import annotations

import argparse
from typing import Any

SOURCES = {
    "wandb": "a folder of W&B's offline runs (`wandb/`), or one of them",
    "mlflow": "a tracking store of MLflow: a folder, sqlite:///file.db or an address",
    "tensorboard": "a folder of event files; a run for each folder that has some",
    "aim": "a repository of Aim (`.aim`), or the folder that has it",
    "trackio": "Trackio's folder, or the database of one project",
    "neptune": "the Parquet files of Neptune's exporter",
    "csv": "a file of values, or a folder of them",
}


def add_parser(commands: Any) -> None:
    text = "send the history of another tool: runs, series, logs, files and media, with their own times"
    sources = "\n".join(f"  {name:<12} {what}" for name, what in SOURCES.items())
    command = commands.add_parser(
        "import-from",
        help=text,
        description=f"{text}.\n\n{sources}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("source", choices=tuple(SOURCES), metavar="SOURCE", help=", ".join(SOURCES))
    command.add_argument("path", metavar="PATH", help="where the history is; nothing there is changed")
    command.add_argument("--project", help="the project of all runs (default: that of the history)")
    command.add_argument("--dry-run", action="store_true", help="count, and send nothing")
    command.add_argument("--follow", action="store_true", help="go on with what is added (tensorboard)")
    command.add_argument("--step", metavar="COLUMN", help="the column of steps (csv)")
    command.add_argument("--quiet", action="store_true", help="print the result only")
    command.add_argument("--url", help="the service's address (default: SVC_URL)")
    command.add_argument("--token", help="a reporter token (default: SVC_TOKEN)")
