"""TensorBoard's event files, written as torch.utils.tensorboard does."""

import os
import sys
import time
from pathlib import Path

HOME = Path(os.environ.get("PEERS_HOME", "."))


def serve(home: str, port: int) -> list[str]:
    return [sys.executable, "-m", "tensorboard.main", "--logdir", f"{home}/logs", "--port", str(port)]


def open_run():  # type: ignore[no-untyped-def]
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(HOME / "logs"))

    def log(values: dict[str, float], step: int) -> None:
        for tag, value in values.items():
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    return log, writer.close


def count() -> int:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    files = (HOME / "logs").glob("events.*")
    return sum(len(event.summary.value) for file in files for event in EventFileLoader(str(file)).Load())
