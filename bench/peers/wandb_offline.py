"""wandb offline, into its own file of records."""

import os
from pathlib import Path

HOME = Path(os.environ.get("PEERS_HOME", "."))


def open_run():  # type: ignore[no-untyped-def]
    import wandb

    settings = wandb.Settings(silent=True, console="off")
    run = wandb.init(project="bench", mode="offline", dir=str(HOME), settings=settings)
    return lambda values, step: run.log(values, step=step), run.finish


def count() -> int:
    """wandb has no reader of its own file in Python, so the frames are told apart as svc-reporter import does."""
    from svc_reporter.importing._wandb_log import frames
    from wandb.proto.wandb_internal_pb2 import Record

    total = 0
    for path in HOME.glob("wandb/offline-run-*/*.wandb"):
        with path.open("rb") as file:
            for frame in frames(file):
                record = Record()
                record.ParseFromString(frame.data)
                if record.HasField("history"):
                    names = (item.key or item.nested_key[0] for item in record.history.item)
                    total += sum(not name.startswith("_") for name in names)
    return total
