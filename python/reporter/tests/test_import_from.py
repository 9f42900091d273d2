"""The rules of `svc-reporter import-from`, without another tool."""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from svc_reporter._cli import main
from svc_reporter._shared.tuning import DEFAULT
from svc_reporter.importing import _tfrecord, _wandb, _wandb_log
from svc_reporter.importing._channel import DerivedIds
from svc_reporter.importing._counts import Counts, Own, counts_of, difference, table
from svc_reporter.importing._csv import open_source, time_in
from svc_reporter.importing._records import (
    FINISHED,
    End,
    Facts,
    Fault,
    Found,
    Record,
    Row,
    Shown,
    Wanted,
    batch_id,
    project_name,
)
from svc_reporter.importing._values import Repeats, by_step, flat, number_in, numbered, series_name, typed
from svc_reporter.importing._writer import Writer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-05", 1e-05),
        ("True", True),
        ("1.10", "1.10"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("+1", "+1"),
        (" 1", " 1"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e5", "1e5"),
        ("", ""),
        ("adam", "adam"),
        ("99999999999999999999", "99999999999999999999"),
    ],
)
def test_a_text_is_a_number_only_if_it_reads_back_as_the_same_text(text: str, value: Any) -> None:
    found = typed(text)
    assert (type(found), found) == (type(value), value)


def test_cells_are_numbers_with_nan_and_infinities_and_nothing_else() -> None:
    assert [number_in(text) for text in ("1", "1.5", "", " 2 ", "inf", "-Infinity")] == [
        1,
        1.5,
        None,
        2,
        math.inf,
        -math.inf,
    ]
    assert math.isnan(number_in("NaN") or 0)
    for text in ("1_000", "x", "1,5"):
        with pytest.raises(ValueError, match=r"number|convert"):
            number_in(text)


def test_an_earlier_value_of_a_step_moves_to_a_series_of_its_own() -> None:
    repeats = Repeats()
    assert [repeats.take("loss", step, step / 10) for step in (0, 1, 2)] == [[], [], []]
    assert repeats.take("loss", 1, 5.0) == [("loss~1", 0.1)]
    assert repeats.take("loss", 1, 6.0) == [("loss~1", 5.0), ("loss~2", 0.1)]
    assert repeats.take("loss", -1, 0.0) == []


def test_points_without_steps_are_numbered_in_the_order_of_their_times() -> None:
    assert numbered([(0, 3, "c"), (0, 1, "a"), (0, 2, "b")]) == ([(0, 1, "a"), (1, 2, "b"), (2, 3, "c")], None)
    few = [(0, 1, "a"), (1, 2, "b"), (1, 3, "c")]
    assert numbered(few) == (few, None)
    many = [(step, 10 * step + at, at) for step in (1, 2) for at in range(10)]
    points, steps = numbered(many)
    assert [step for step, _, _ in points] == list(range(20))
    assert steps == [1] * 10 + [2] * 10


def test_series_are_merged_by_step_and_time() -> None:
    rows = list(by_step({"a": [(0, 5, 1.0), (1, 6, 2.0)], "b": [(0, 5, 3.0), (1, 7, 4.0)]}))
    assert rows == [(0, 5, {"a": 1.0, "b": 3.0}), (1, 6, {"a": 2.0}), (1, 7, {"b": 4.0})]


def test_names_are_those_of_the_service() -> None:
    assert series_name("epoch") == "axis/epoch"
    assert len(series_name("x" * 300)) == 128
    assert series_name("x" * 300) != series_name("x" * 301)
    assert dict(flat({"acc": {"top1": 1}, "image": {"_type": "image-file"}})) == {
        "acc/top1": 1,
        "image": {"_type": "image-file"},
    }
    names = [project_name(text) for text in ("My project/a", "größe", "///", "..")]
    assert names == ["My-project-a", "größe", "imported", "imported"]


def _found(records: list[Record], project: str = "p") -> Found:
    return Found("run 1", project, 1_000, lambda: iter(records))


def test_ids_depend_on_the_run_the_project_and_the_content_only() -> None:
    one, other = _found([]), _found([], "q")
    assert batch_id("csv", one) == batch_id("csv", _found([])) != batch_id("csv", other)
    assert batch_id("csv", one).startswith("csv-run-1-")
    ids, same = DerivedIds("b"), DerivedIds("b")
    ids.content = same.content = "x"
    assert ids.make(5) == same.make(5)
    assert len({ids.make(5), ids.make(6), DerivedIds("c").make(5)}) == 3
    same.content = "y"
    assert ids.make(5) != same.make(5)


class _Channel:
    """Takes events, as a real one does."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def put(self, event: Any) -> None:
        self.events.append(json.loads(event.line))

    def send_files(self) -> None: ...

    def flush(self) -> None: ...


def _written(records: list[Record]) -> tuple[Writer, list[dict[str, Any]]]:
    channel: Any = _Channel()
    writer = Writer(_found(records), "b", DEFAULT, channel)
    writer.take(records)
    return writer, channel.events


def test_a_run_becomes_a_start_merged_epochs_and_an_end_with_its_own_times() -> None:
    writer, events = _written(
        [
            Facts({"name": "n", "tags": ["a", "a"], "config": {"lr": 0.1, "api_key": "s3cret-value"}}),
            Row(0, 2_000, {"a": 1.0}),
            Row(0, 2_001, {"b": math.nan}),
            Row(1, 3_000, {"a": 2}),
            Facts({"config": {"late": True}, "summary": {"best": 1}}),
            End(4_000, FINISHED),
        ]
    )
    kinds = [event["event_type"] for event in events]
    assert kinds == ["batch_start", "job_start", "job_epoch", "job_epoch", "job_done", "batch_done"]
    assert events[0]["timestamp"] == "1970-01-01T00:00:01.000Z"
    assert events[0]["data"]["tags"] == ["a"]
    assert "s3cret" not in json.dumps(events)
    assert events[2]["data"] == {"a": 1.0, "b": "NaN", "epoch": 0}
    assert events[3]["data"] == {"a": 2, "epoch": 1}
    assert events[4]["data"] == {"elapsed_s": 3.0, "train_epochs": 2, "metrics": {"best": 1}}
    assert events[5]["data"]["config"]["late"] is True
    assert writer.counts == Counts(runs=1, config=3, tags=1, series=2, points=3)
    again = _written([Facts({"name": "n", "tags": ["a"]}), Row(0, 2_000, {"a": 1.0})])[1]
    assert again[2]["event_id"] == _written([Facts({"name": "n"}), Row(0, 2_000, {"a": 1.0})])[1][2]["event_id"]


def test_a_run_without_an_end_stays_open_and_a_killed_one_is_stopped() -> None:
    _, events = _written([Row(0, 2_000, {"a": 1.0}), End(3_000, "running")])
    assert [event["event_type"] for event in events] == ["batch_start", "job_start", "job_epoch"]
    _, events = _written([Row(0, 2_000, {"a": 1.0}), End(3_000, "stopped")])
    assert events[-1]["data"]["reason"] == "stop_requested"


def test_a_bad_record_costs_itself_only() -> None:
    writer, events = _written([Row(2**60, 1, {"a": 1.0}), Fault("line 3", "no number"), Row(0, 2_000, {"a": 1.0})])
    assert [(fault.where, fault.why) for fault in writer.faults][1] == ("line 3", "no number")
    assert (writer.unread, writer.counts.points, len(events)) == (2, 1, 3)


def test_the_table_names_what_differs() -> None:
    stored = {"config": 1, "tags": 0, "series": 3, "points": 12, "log_lines": 0, "files": 2, "media": 2}
    theirs = Counts(runs=1, config=1, series=2, points=11, media=2)
    ours = counts_of(stored, Own(series=1, points=2, media_files=2))
    assert difference(theirs, ours) == "points 11 / 10"
    lines = table(theirs, ours)
    assert [line for line in lines if "differs" in line] == ["points              11          10  differs"]
    assert all("ours" not in line for line in table(theirs, None))


def _framed(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    crc = _tfrecord.masked_crc
    return head + struct.pack("<I", crc(head)) + data + struct.pack("<I", crc(data))


def test_event_files_are_read_up_to_a_partial_record_and_past_a_damaged_one() -> None:
    assert _tfrecord.masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    damaged = bytearray(_framed(b"second"))
    damaged[13] ^= 1
    file = io.BytesIO(_framed(b"first") + bytes(damaged) + _framed(b"third") + _framed(b"fourth")[:-3])
    assert [data for _, data in _tfrecord.frames(file)] == [b"first", None, b"third"]
    file.seek(0)
    broken = io.BytesIO(_framed(b"first") + b"\1" * 40)
    with pytest.raises(_tfrecord.Torn, match="byte 21"):
        list(_tfrecord.frames(broken))


def _logged(*records: bytes) -> bytes:
    """A log of W&B: records in blocks of 32 KiB."""
    out = bytearray(b":W&B\xe1\xbe\x00")

    def chunk(kind: int, data: bytes) -> None:
        body = bytes([kind]) + data
        out.extend(struct.pack("<IH", zlib.crc32(body), len(data)) + body)

    for record in records:
        left = record
        first = True
        while first or left:
            room = 32_768 - len(out) % 32_768
            if room < 7:
                out.extend(bytes(room))
                continue
            part, left = left[: room - 7], left[room - 7 :]
            chunk((1 if first else 4) if not left else (2 if first else 3), part)
            first = False
    return bytes(out)


def test_logs_of_wandb_are_read_over_blocks_and_past_damage() -> None:
    big = bytes(range(256)) * 300
    whole = _logged(b"one", big, b"three", b"four")
    assert [frame.data for frame in _wandb_log.frames(io.BytesIO(whole))] == [b"one", big, b"three", b"four"]
    cut = [frame.data for frame in _wandb_log.frames(io.BytesIO(whole[:-2]))]
    assert cut == [b"one", big, b"three"]
    damaged = bytearray(whole)
    damaged[20] ^= 1  # in the second record: its first block is lost
    found = list(_wandb_log.frames(io.BytesIO(bytes(damaged))))
    assert [frame.data for frame in found if not frame.damage] == [b"one", b"three", b"four"]
    assert [bool(frame.damage) for frame in found][:2] == [False, True]
    with pytest.raises(ValueError, match="not a log"):
        list(_wandb_log.frames(io.BytesIO(b"something else")))


def _csv_records(path: Path, **more: Any) -> list[tuple[Found, list[Record]]]:
    found = [run for run in open_source(Wanted(str(path), **more)).runs() if isinstance(run, Found)]
    return [(run, list(run.records())) for run in found]


def test_csv_columns_become_series_constants_and_times(tmp_path: Path) -> None:
    file = tmp_path / "my run.csv"
    file.write_text(
        "step,time,loss,lr,version\n0,1700000000,1.5,0.1,v1\n1,1700000060,bad,0.1,v1\n2,1700000120,1.25,0.1,v1\n3,1700000120,,0.1,v1\n"
    )
    [(run, records)] = _csv_records(file)
    assert (run.project, run.title, run.start_ms, run.step_unit) == ("my-run", "my run", 1_700_000_000_000, "step")
    assert records[0] == Facts({"name": "my run", "group": None, "config": {"version": "v1"}})
    assert [record for record in records if isinstance(record, Fault)] == [
        Fault("line 3, loss", "could not convert string to float: 'bad'")
    ]
    rows = [record for record in records if isinstance(record, Row)]
    assert [row.values for row in rows] == [
        {"loss": 1.5, "lr": 0.1},
        {"lr": 0.1},
        {"loss": 1.25, "lr": 0.1},
        {"lr": 0.1},
    ]
    assert records[-1] == End(1_700_000_120_000, FINISHED)


def test_csv_rows_may_be_values_and_name_their_runs(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("run;metric;step;value\na;loss;0;1\na;acc;0;0.5\nb;loss;0;2\n")
    found = _csv_records(file, project="mine")
    assert [(run.title, run.project) for run, _ in found] == [("a", "mine"), ("b", "mine")]
    values = [[r.values for r in records if isinstance(r, Row)] for _, records in found]
    assert values == [[{"loss": 1}, {"acc": 0.5}], [{"loss": 2}]]


def test_times_of_csv_are_seconds_milliseconds_or_iso() -> None:
    texts = ("1700000000.5", "1700000000500", "2023-11-14T22:13:20.5Z", "2023-11-14 22:13:20.5", "12", "x")
    assert [time_in(text) for text in texts] == [1_700_000_000_500] * 4 + [None, None]


def test_a_dry_run_counts_without_a_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SVC_URL", raising=False)
    (tmp_path / "a.csv").write_text("step,loss\n0,1\n1,2\n")
    assert main(["import-from", "csv", str(tmp_path), "--dry-run", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "points               2" in said
    assert "nothing was sent" in said
    assert main(["import-from", "csv", str(tmp_path / "none"), "--dry-run"]) == 1
    assert "no such file" in capsys.readouterr().err
    assert main(["import-from", "csv", str(tmp_path), "--quiet"]) == 1
    assert "SVC_URL is not set" in capsys.readouterr().err


def test_media_of_a_step_that_come_again_keep_both() -> None:
    from svc_reporter._capture.media import Histogram

    value = Histogram(np_histogram=([1], [0, 1]))
    _, events = _written([Shown("h", 1, 2_000, value), Shown("h", 1, 2_001, [value, value])])
    shown = [event["data"] for event in events if event["event_type"] == "job_epoch"]
    assert [sorted(data) for data in shown] == [["epoch", "h"], ["epoch", "h~1"]]
    assert shown[1]["h~1"] == [shown[0]["h"]] * 2


def _of_summary(update: dict[tuple[str, ...], str], remove: tuple[str, ...] = ()) -> SimpleNamespace:
    """A record of W&B's summary."""
    items = [
        SimpleNamespace(key=path[0], nested_key=list(path) if len(path) > 1 else [], value_json=text)
        for path, text in update.items()
    ]
    return SimpleNamespace(update=items, remove=[SimpleNamespace(key=key, nested_key=[]) for key in remove])


def test_the_summary_of_wandb_has_the_last_value_of_each_key() -> None:
    summary = _wandb._Latest()
    summary.update(_of_summary({("loss",): "1.5", ("acc", "top1"): "0.1", ("gone", "a"): "1", ("bad",): "1 2"}))
    summary.update(_of_summary({("loss",): " 0.5", ("acc", "top5"): "0.2", ("text",): '"a"'}, remove=("gone",)))
    assert summary.values() == {"loss": 0.5, "acc": {"top1": 0.1, "top5": 0.2}, "text": "a"}
    summary.update(_of_summary({("acc",): '{"top1": 0.9}'}))
    assert summary.values()["acc"] == {"top1": 0.9}
