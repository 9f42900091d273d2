"""The way of an event to the service: queue, worker, requests, retries, spilling and replay."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "Delivery":  # pickles of releases up to 0.2.0
        from .delivery import Delivery

        return Delivery
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
