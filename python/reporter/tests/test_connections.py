"""The connections of a run end with it, also in a process that goes on and has switched off garbage collection."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest
from .kit.wait import until


def _sockets() -> int:
    """How many sockets this process has open; the fake service in it has one for each connection, too."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
        except OSError:
            continue  # closed meanwhile, as the descriptor of this listing
    return count


def _wait_for_polls(server: FakeIngest, count: int) -> None:
    until(lambda: server.polls >= count)


def test_an_ended_run_leaves_no_connection_open(make: Callable[..., svc.Reporter], server: FakeIngest) -> None:
    gc.collect()
    before = _sockets()
    gc.disable()  # as in trainings that want steps of equal length
    try:
        for _ in range(3):
            with make(stop_poll_s=0.01) as run:
                run.flush(5)
                _wait_for_polls(server, server.polls + 1)
        until(lambda: _sockets() <= before)
    finally:
        gc.enable()
