"""`svc-reporter import-from`: histories that other tools wrote, as runs of this service.

A source (`_wandb.py`, `_mlflow.py`, …) reads one tool's format and yields the records of `_records.py`. One writer
(`_writer.py`) makes events, files and media of them, with ids that depend on their content only: a repeated import
stores nothing twice. `_command.py` runs both and compares the counts of theirs with those that the service stored.
"""
