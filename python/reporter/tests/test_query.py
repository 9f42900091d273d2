"""svc_reporter.query against a service of canned answers; test_real_server.py asks the real one."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import math
import sys
import warnings
from datetime import datetime, timezone
from typing import Any

import pytest

from svc_reporter import QueryError
from svc_reporter.query import Api, Table, _table

from .kit.fake_ingest import FakeIngest

CSV = "\r\n".join(
    [
        "job_id,key,step,value,timestamp",
        "a,train_loss,0,0.5,2026-01-31T12:00:00.001Z",
        'a,"odd,key",0,NaN,2026-01-31T12:00:00.002Z',
        "a,train_loss,1,Infinity,2026-01-31T12:00:01.000Z",
        "b,train_loss,0,-Infinity,2026-01-31T12:00:00.000Z",
        "b,train_loss,1,,2026-01-31T12:00:01.000Z",
        "",
    ]
)


@pytest.fixture
def api(server: FakeIngest) -> Api:
    return Api(server.url, "em_read_x")


def _json(document: Any) -> tuple[str, bytes]:
    return "application/json", json.dumps(document).encode()


def test_batches_are_read_page_by_page_with_repeated_filters(server: FakeIngest, api: Api) -> None:
    first = "/api/batches?project=v+1&status=failed&status=lost&limit=500"
    server.gets[first] = _json({"items": [{"id": "b2"}], "next_cursor": "c/1"})
    server.gets[first + "&cursor=c%2F1"] = _json({"items": [{"id": "b1"}], "next_cursor": None})
    assert api.batches(project="v 1", status=["failed", "lost"]) == [{"id": "b2"}, {"id": "b1"}]
    server.gets["/api/batches?limit=1"] = _json({"items": [{"id": "b2"}], "next_cursor": "more"})
    assert api.batches(limit=1) == [{"id": "b2"}]
    server.gets["/api/batches/a%2Fb"] = _json({"id": "a/b"})
    assert api.batch("a/b") == {"id": "a/b"}
    assert set(server.read_from) == {"replica"}


def test_a_refusal_names_status_and_code(api: Api) -> None:
    with pytest.raises(QueryError, match="not_found") as caught:
        api.batch("none")
    assert caught.value.status == 404
    assert caught.value.code == "not_found"
    with pytest.raises(QueryError, match="does not respond"):
        Api("http://127.0.0.1:9").batches()
    with pytest.raises(ValueError, match="SVC_URL"):
        Api()


def test_an_answer_of_a_proxy_is_a_query_error_with_what_to_check(server: FakeIngest, api: Api) -> None:
    server.gets["/api/batches?limit=500"] = (
        "text/html",
        b"<html><title>Sign in</title>Company portal</html>",
    )
    with pytest.raises(QueryError, match=r"is SVC_URL right\? Sign in Company portal"):
        api.batches()


def test_batches_become_a_row_each_with_their_configuration_and_summary(server: FakeIngest, api: Api) -> None:
    done = {
        "id": "b1",
        "name": "first",
        "started_at": "2026-01-31T12:00:00Z",
        "owner": {"id": "u", "name": "ada"},
        "config": {"lr": 0.1, "model": {"depth": 2}},
        "summary": {"loss": {"last": "NaN", "min": 0.5}, "note": "good"},
        "env_snapshot": {"cwd": "/"},
    }
    killed = {"id": "b2", "name": None, "started_at": "2026-01-31T11:00:00Z", "config": None, "summary": None}
    server.gets["/api/batches?project=p&sort=min.loss&order=asc&limit=2"] = _json({"items": [done, killed]})
    frame = api.batches_frame(project="p", sort="min.loss", order="asc", limit=2, frame="pandas")
    assert list(frame["id"]) == ["b1", "b2"]
    first = frame.iloc[0]
    assert (first["name"], first["owner"], first["config.lr"], first["config.model.depth"]) == ("first", "ada", 0.1, 2)
    assert first["started_at"] == datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    assert math.isnan(first["summary.loss.last"])
    assert (first["summary.loss.min"], first["summary.note"]) == (0.5, "good")
    assert math.isnan(frame.iloc[1]["summary.loss.min"])
    assert "env_snapshot" not in frame.columns


def test_there_is_no_best_of_a_metric_that_no_batch_has(server: FakeIngest, api: Api) -> None:
    server.gets["/api/batches?sort=min.val_los&order=asc&limit=1"] = _json({"items": [{"id": "b1"}]})
    empty = "job_id,key,step,value,timestamp\r\n"
    server.gets["/api/batches/b1/metrics.csv?key=val_los"] = "text/csv", empty.encode()
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("error")
        patch.setitem(sys.modules, "pyarrow", None)
        assert api.best("val_los") is None


def test_jobs_become_a_row_each_with_params_and_metrics_as_columns(server: FakeIngest, api: Api) -> None:
    jobs = [
        {
            "batch_id": "b",
            "id": "a",
            "status": "completed",
            "params": {"lr": 0.1},
            "metrics": {"acc": "NaN"},
            "latest": {},
        },
        {"batch_id": "b", "id": "c", "status": "failed", "params": {}, "metrics": None, "latest": {"epoch": 3}},
    ]
    server.gets["/api/jobs?batch=b&limit=500"] = _json({"items": jobs, "next_cursor": None})
    table = api.jobs_frame("b", frame="table")
    assert table.columns == ["batch_id", "job_id", "status", "latest.epoch", "metric.acc", "param.lr"]
    assert table["job_id"] == ["a", "c"]
    assert math.isnan(table.records()[0]["metric.acc"])
    assert list(api.jobs_frame("b").columns) == table.columns


def test_histories_come_as_csv_where_there_is_no_pyarrow(
    server: FakeIngest, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return importlib_import(name)

    importlib_import = importlib.import_module
    monkeypatch.setattr("importlib.import_module", without)
    server.gets["/api/batches/b/metrics.csv"] = ("text/csv", CSV.encode())
    rows = api.metrics_frame("b", frame="table").records()
    when = datetime(2026, 1, 31, 12, 0, 0, 1_000, timezone.utc)
    first = {"batch_id": "b", "job_id": "a", "key": "train_loss", "step": 0, "value": 0.5, "timestamp": when}
    assert rows[0] == first
    assert rows[1]["key"] == "odd,key"
    assert math.isnan(rows[1]["value"])
    assert [row["value"] for row in rows[2:]] == [math.inf, -math.inf, None]
    wide = api.metrics_frame(["b"], wide=True, frame="table")
    assert wide.columns == ["batch_id", "job_id", "step", "odd,key", "train_loss"]
    assert len(wide) == 4
    assert wide["odd,key"][1:] == [None, None, None]


def _arrow(rows: list[tuple[str, int, str, float]]) -> bytes:
    pyarrow = importlib.import_module("pyarrow")
    importlib.import_module("pyarrow.ipc")
    columns = list(zip(*rows, strict=True))
    table = pyarrow.table(
        {
            "job_id": pyarrow.array(columns[0]).dictionary_encode(),
            "step": columns[1],
            "key": pyarrow.array(columns[2]).dictionary_encode(),
            "value": columns[3],
        }
    )
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("frame", ["pandas", "polars", "table"])
def test_histories_of_several_batches_come_as_arrow_and_become_any_frame(
    server: FakeIngest, api: Api, frame: _table.FrameKind
) -> None:
    query = "?key=acc&key=train_loss"
    kind = "application/vnd.apache.arrow.stream"
    server.gets[f"/api/batches/b1/metrics.arrow{query}"] = (kind, _arrow([("a", 0, "acc", 0.5), ("a", 1, "acc", 0.6)]))
    server.gets[f"/api/batches/b2/metrics.arrow{query}"] = (kind, _arrow([("c", 0, "train_loss", 1.5)]))
    found = api.metrics_frame(["b1", "b2"], ["acc", "train_loss"], frame=frame)
    assert len(found) == 3
    assert set(found.columns) == {"batch_id", "job_id", "step", "key", "value"}
    wide = api.metrics_frame(["b1", "b2"], ["acc", "train_loss"], wide=True, frame=frame)
    assert len(wide) == 3
    assert set(wide.columns) == {"batch_id", "job_id", "step", "acc", "train_loss"}


def test_a_key_without_points_is_warned_of(server: FakeIngest, api: Api) -> None:
    rows = _arrow([("a", 0, "train_loss", 1.5)])
    for query in ("?key=train_loss&key=val_los", "?key=train_loss"):
        server.gets[f"/api/batches/b/metrics.arrow{query}"] = ("application/vnd.apache.arrow.stream", rows)
    with pytest.warns(UserWarning, match="no points of 'val_los' in these batches"):
        assert len(api.metrics_frame("b", iter(["train_loss", "val_los"]))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(api.metrics_frame("b", "train_loss")) == 1


def test_no_batches_make_an_empty_frame(api: Api) -> None:
    assert len(api.metrics_frame([])) == 0


def test_a_missing_frame_library_raises_an_error_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("importlib.import_module", none)
    with pytest.raises(ImportError, match=r"svc-reporter\[polars\]"):
        Table({"a": [1]}).to_frame("polars")
    assert isinstance(Table({"a": [1]}).to_frame(), Table)
    assert list(Table({"a": [1, 2]})) == [{"a": 1}, {"a": 2}]
