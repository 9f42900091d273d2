"""What the last event of a reporter says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._pipeline import Pipeline


def last_event(
    pipeline: Pipeline, counts: dict[str, Any], elapsed_s: float, failure: str | None, trace: str | None
) -> Callable[[], None]:
    """Puts the event that ends the batch, when called: after what was pending before it.

    Its receipt is filled in when the worker gets to it, and all earlier events have met their fate.
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


def last_event_of_guest(pipeline: Pipeline) -> Callable[[], None]:
    """Puts the receipt of a reporter that joined a batch of another process, unless it reported nothing."""

    def put() -> None:
        if pipeline.delivery.produced > 0:
            pipeline.put("resource_snapshot", None, lambda: {"heartbeat": True, "delivery": pipeline.receipt})

    return put
