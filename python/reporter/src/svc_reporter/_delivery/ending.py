"""The last event of a reporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pipeline import Pipeline


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


def last_event_of_joined(
    pipeline: Pipeline,
    leave: Callable[[Callable[[dict[str, Any]], None]], bool],
    failure: str | None,
    trace: str | None,
) -> Callable[[], None]:
    """Returns a function that puts an event with the delivery counts of a reporter that joined a batch.

    It puts nothing if that reporter produced no event. `leave` calls its argument, and returns True, if this was the
    last process of a batch without an owner: then that event is the end of the batch.
    """

    def put_end(counts: dict[str, Any]) -> None:
        last_event(pipeline, counts, counts.pop("total_elapsed_s"), failure, trace)()

    def put() -> None:
        if not leave(put_end) and pipeline.delivery.produced > 0:
            pipeline.put("resource_snapshot", None, lambda: {"heartbeat": True, "delivery": pipeline.receipt})

    return put
