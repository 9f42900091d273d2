"""Counts of a reporter that joined a batch, sent while it runs: pools often end such a process without warning."""

from __future__ import annotations

from ._pipeline import Pipeline


class CountsSoFar:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._counted = 0
        """Events produced, the one with the last counts included."""

    def send(self) -> None:
        """Put an event with the counts, unless nothing was produced since the last one.

        They are filled in when the worker gets to the event, like those of the last event. The service never calls a
        batch complete by them: more events may have followed.
        """
        pipeline = self._pipeline
        produced = pipeline.delivery.produced
        if produced == self._counted:
            return
        self._counted = produced + 1
        pipeline.put("resource_snapshot", None, lambda: {"heartbeat": True, "delivery_so_far": pipeline.receipt})
