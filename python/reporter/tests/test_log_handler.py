"""LogHandler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

import svc_reporter as svc

from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("training.loop")
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.handlers.clear()


def _lines(server: FakeIngest) -> list[tuple[str, str, str]]:
    return [(event["job_id"], event["data"]["level"], event["data"]["line"]) for event in server.of("log_line")]


def test_records_become_log_lines_of_the_open_job(make: Make, server: FakeIngest, log: logging.Logger) -> None:
    log.addHandler(svc.LogHandler())
    log.info("without a handler")
    with make() as run:
        with run.job("a"):
            log.debug("below the level")
            log.info("step %d", 3)
            log.error("broken")
    assert _lines(server) == [("a", "info", "step 3"), ("a", "error", "broken")]


def test_a_handler_for_one_job_sends_to_it_alone(make: Make, server: FakeIngest, log: logging.Logger) -> None:
    with make() as run:
        with run.job("a") as first, run.job("b"):
            handler = svc.LogHandler(first, level=logging.DEBUG)
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            log.addHandler(handler)
            log.debug("x")
    assert _lines(server) == [("a", "debug", "training.loop: x")]


def test_the_reporters_own_complaints_are_not_sent(make: Make, server: FakeIngest) -> None:
    handler = svc.LogHandler(level=logging.DEBUG)
    logging.getLogger().addHandler(handler)
    try:
        with make() as run:
            with run.job("a") as job:
                job.epoch("bad")  # type: ignore[call-overload]
    finally:
        logging.getLogger().removeHandler(handler)
    assert _lines(server) == []


def test_an_object_whose_text_fails_is_named_and_the_other_lines_are_kept(make: Make, server: FakeIngest) -> None:
    class Bad:
        def __str__(self) -> str:
            raise RuntimeError("no")

    with make() as run:
        with run.job("a") as job:
            job.log(Bad())
            job.log("good", level=logging.WARNING)
            job.log("odd", level="x" * 50)
    assert _lines(server) == [
        ("a", "info", "<Bad: not readable>"),
        ("a", "warning", "good"),
        ("a", "x" * 32, "odd"),
    ]
