"""Sends the delivery counts of a reporter that joined a batch while it runs: pools may kill it without warning."""

from __future__ import annotations

from .pipeline import Pipeline


class CountsSoFar:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._counted = 0
        """How many events had been produced after the last event with counts."""

    def send(self) -> None:
        """Put an event with the counts, unless nothing was produced since the last one.

        The worker fills in the counts when it encodes the event. The service does not call a batch complete because of
        them, since more events may follow.
        """
        pipeline = self._pipeline
        produced = pipeline.delivery.produced
        if produced == self._counted:
            return
        self._counted = produced + 1
        pipeline.put("resource_snapshot", None, lambda: {"heartbeat": True, "delivery_so_far": pipeline.receipt})
