"""The last event of a reporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._pipeline import Pipeline


def last_event(
    pipeline: Pipeline, counts: dict[str, Any], elapsed_s: float, failure: str | None, trace: str | None
) -> Callable[[], None]:
    """Returns a function that puts the event that ends the batch.

    The worker fills in the delivery counts when it encodes the event, after all earlier events have an outcome.
    """
    data: dict[str, Any] = {"total_elapsed_s": round(elapsed_s, 3), **counts}
    if failure is not None:
        data["reason"] = failure
        if trace:
            data["traceback"] = trace

    def put() -> None:
        pipeline.put(
            "batch_done" if failure is None else "batch_failed",
            None,
            lambda: {**data, "delivery": pipeline.receipt},
        )

    return put


def last_event_of_joined(pipeline: Pipeline) -> Callable[[], None]:
    """Returns a function that puts an event with the delivery counts of a reporter that joined a batch.

    It puts nothing if that reporter produced no event.
    """

    def put() -> None:
        if pipeline.delivery.produced > 0:
            pipeline.put("resource_snapshot", None, lambda: {"heartbeat": True, "delivery": pipeline.receipt})

    return put
