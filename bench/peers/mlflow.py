"""MLflow, into a local SQLite database."""

import os
import sqlite3
import sys
from pathlib import Path

HOME = Path(os.environ.get("PEERS_HOME", "."))


def serve(home: str, port: int) -> list[str]:
    store = f"sqlite:///{home}/mlflow.db"
    return [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", store, "--port", str(port)]


def open_run():  # type: ignore[no-untyped-def]
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{HOME}/mlflow.db")
    mlflow.start_run()
    return lambda values, step: mlflow.log_metrics(values, step=step), mlflow.end_run


def count() -> int:
    with sqlite3.connect(HOME / "mlflow.db") as database:
        (rows,) = database.execute("select count(*) from metrics").fetchone()
    return int(rows)
