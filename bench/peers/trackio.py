"""Trackio, into its local SQLite database."""

import os
import sqlite3
import sys
from pathlib import Path

HOME = Path(os.environ.get("PEERS_HOME", "."))


def serve(home: str, port: int) -> list[str]:
    show = f"import trackio; trackio.show(project='bench', open_browser=False, block_thread=True, server_port={port})"
    return ["env", f"TRACKIO_DIR={home}/trackio", sys.executable, "-c", show]


def open_run():  # type: ignore[no-untyped-def]
    os.environ["TRACKIO_DIR"] = str(HOME / "trackio")
    import trackio

    trackio.init(project="bench", embed=False)
    return lambda values, step: trackio.log(values, step=step), trackio.finish


def count() -> int:
    """Values are the numbers of a row's JSON."""
    total = 0
    for path in (HOME / "trackio").glob("*.db"):
        with sqlite3.connect(path) as database:
            (rows,) = database.execute("select count(*) from metrics").fetchone()
            first = database.execute("select metrics from metrics limit 1").fetchone()
            total += rows * (first[0].count(b":" if isinstance(first[0], bytes) else ":") if first else 0)
    return total
