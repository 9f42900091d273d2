"""What a loop may hand over as a metric: nothing raises, nothing vanishes without a word."""

from __future__ import annotations

import datetime
import decimal
import enum
import importlib
import logging
from collections.abc import Callable
from typing import Any

import pytest

import svc_reporter as svc
from svc_reporter._process.ranks import rank, world_size

from .kit.fake_ingest import FakeIngest

Make = Callable[..., svc.Reporter]


class Phase(enum.Enum):
    WARM = 2


def _row(make: Make, server: FakeIngest, **values: Any) -> dict[str, Any]:
    with make() as run, run.job("a") as job:
        job.epoch(0, **values)
    data: dict[str, Any] = server.of("job_epoch")[0]["data"]
    return {key: value for key, value in data.items() if key != "epoch"}


def test_booleans_enums_and_scalars_of_any_one_element_shape_are_numbers(make: Make, server: FakeIngest) -> None:
    numpy = importlib.import_module("numpy")
    row = _row(
        make,
        server,
        yes=True,
        phase=Phase.WARM,
        money=decimal.Decimal("0.5"),
        scalar=numpy.float32(0.5),
        flag=numpy.bool_(False),
        nested=numpy.array([[[3]]]),
    )
    assert row == {"yes": 1, "phase": 2, "money": 0.5, "scalar": 0.5, "flag": 0, "nested": 3}


def test_values_that_are_no_numbers_are_stored_and_logged_once(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    when = datetime.datetime(2026, 1, 31)
    with caplog.at_level(logging.WARNING, "svc_reporter"), make() as run, run.job("a") as job:
        for epoch in range(3):
            job.epoch(epoch, note="text", histogram=[1, 2, 3], when=when, acc=0.5)
    assert server.of("job_epoch")[2]["data"] == {
        "epoch": 2,
        "note": "text",
        "histogram": [1, 2, 3],
        "when": "2026-01-31T00:00:00",
        "acc": 0.5,
    }
    said = [record.message for record in caplog.records if "not charted" in record.message]
    assert [message.split(": ")[2] for message in said] == ["note (str)", "histogram (list)", "when (datetime)"]


def test_many_names_of_one_kind_share_one_message(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "svc_reporter"), make() as run, run.job("a") as job:
        for epoch in range(2):
            job.epoch(epoch, **{f"text{n}": "x" for n in range(2_001)})
    assert len(server.of("job_epoch")[1]["data"]) == 2_002
    assert len(caplog.records) == 4
    assert caplog.records[-1].message.endswith(
        "text3 (str), text4 (str), text5 (str), text6 (str), text7 (str) and 1,993 more"
    )


def test_a_name_that_no_metric_can_have_costs_its_value_only(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "svc_reporter"):
        row = _row(make, server, **{"": 1.0, "x" * 129: 2.0, "acc": 0.5, "nested": {"": 1, "top1": 0.7}})
    assert row == {"acc": 0.5, "nested": {"top1": 0.7}}
    assert len(caplog.records) == 3


def test_names_of_arguments_are_names_of_metrics_and_parameters_too(make: Make, server: FakeIngest) -> None:
    with make() as run:
        with run.job("a", self=1, job_id=2, epoch=3, name="n") as job:
            job.epoch(4, epoch=3, self=1.0, numbers=2.0)
            row = {"epoch": 5}
            job.epoch(5, **row)
            job.epoch(epoch=6, acc=1.0)
        with run.job(job_id="b"):
            pass
    start = server.of("job_start")[0]
    assert (start["job_id"], start["data"]) == ("a", {"self": 1, "job_id": 2, "epoch": 3, "name": "n"})
    assert [event["data"] for event in server.of("job_epoch")] == [
        {"epoch": 4, "epoch_": 3, "self": 1.0, "numbers": 2.0},
        {"epoch": 5},
        {"epoch": 6, "acc": 1.0},
    ]
    assert server.of("job_start")[1]["job_id"] == "b"


def test_a_call_after_the_end_is_said_once(make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "svc_reporter"):
        with make() as run:
            with run.job("a") as job:
                job.epoch(0, acc=1.0)
            job.epoch(1, acc=1.0)
            job.epoch(2, acc=1.0)
        run.job("b").epoch(0)
        run.job("b").epoch(1)
    assert len(server.of("job_epoch")) == 1
    said = [record.message for record in caplog.records]
    assert len([message for message in said if "after the job's end" in message]) == 1
    assert len([message for message in said if "after the end of batch" in message]) == 1


def test_parameters_over_the_size_limit_are_cut_by_key_the_largest_first(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "svc_reporter"), make() as run:
        with run.job("a", lr=0.1, medium="m" * 100_000, huge="h" * 200_000):
            pass
    data = server.of("job_start")[0]["data"]
    assert data["lr"] == 0.1
    assert len(data["medium"]) == 100_000
    assert "huge" not in data
    assert data["truncated"] == ["huge"]
    assert "cut: huge" in caplog.text


def test_series_that_the_service_left_out_are_logged_in_one_line_with_their_number(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    server.ignores = {f"surplus{n}": "too_many_series" for n in range(1_001)}
    with caplog.at_level(logging.WARNING, "svc_reporter"), make() as run:
        with run.job("a") as job:
            for epoch in range(3):
                job.epoch(epoch, acc=0.5, **dict.fromkeys(server.ignores, 1.0))
                run.flush(5)
        run.flush(5)
        assert run.delivery.ignored_values == 3_003
        assert run.delivery.complete
    (said,) = (record.message for record in caplog.records)
    assert "does not store 1,001 metrics" in said
    assert "SVC_MAX_SERIES_PER_JOB" in said
    assert "surplus0, surplus1, surplus2, surplus3, surplus4 and 996 more" in said


def test_a_batch_in_the_trash_is_named_once(make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture) -> None:
    server.deleted = {"b"}
    with caplog.at_level(logging.WARNING, "svc_reporter"), make(batch_id="b") as run, run.job("a") as job:
        for epoch in range(30):
            job.epoch(epoch, loss=1.0)
            if epoch % 10 == 0:
                run.flush(5)
    assert run.delivery.complete
    (said,) = (record.message for record in caplog.records)
    assert "the batch b was deleted: its events are stored" in said


def test_names_that_become_surplus_one_by_one_make_two_lines(
    make: Make, server: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    server.ignores = {f"surplus{n}": "too_many_series" for n in range(30)}
    with caplog.at_level(logging.WARNING, "svc_reporter"), make() as run, run.job("a") as job:
        for epoch in range(30):
            job.epoch(epoch, **{f"surplus{epoch}": 1.0})
            run.flush(5)
    assert [record.message.split(" metrics")[0] for record in caplog.records] == [
        "the service does not store 1",
        "the service does not store 29",
    ]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, 0),
        ({"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ({"LOCAL_RANK": "1", "WORLD_SIZE": "2"}, 1),
        ({"LOCAL_RANK": "0", "NODE_RANK": "0", "WORLD_SIZE": "2"}, 0),
        ({"LOCAL_RANK": "0", "NODE_RANK": "1", "WORLD_SIZE": "4"}, 1),
        ({"NODE_RANK": "2"}, 2),
        ({"GLOBAL_RANK": "5"}, 5),
        ({"SLURM_PROCID": "4"}, 4),
        ({"SLURM_PROCID": "0", "LOCAL_RANK": "1"}, 1),
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, 2),
        ({"PMIX_RANK": "2"}, 2),
        ({"OMPI_COMM_WORLD_RANK": "7", "OMPI_COMM_WORLD_SIZE": "8"}, 7),
        ({"MV2_COMM_WORLD_RANK": "1"}, 1),
    ],
)
def test_the_rank_is_found_whatever_launched_it(environment: dict[str, str], expected: int) -> None:
    assert rank(environment) == expected


def test_the_world_size_is_found_whatever_launched_it() -> None:
    assert world_size({"WORLD_SIZE": "4"}) == 1
    assert world_size({"LOCAL_RANK": "0", "WORLD_SIZE": "4"}) == 4
    assert world_size({"PMI_RANK": "0", "PMI_SIZE": "3"}) == 3
