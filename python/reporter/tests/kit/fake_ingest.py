"""A small ingest server written to contract §1, for faults that a healthy service does not show."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from svc_reporter._delivery.transport import EPOCHS_TYPE
from svc_reporter._delivery.validate import validate

Event = dict[str, Any]


def spelled_out(body: dict[str, Any]) -> list[Event]:
    """The events that columns are (contract §1)."""
    events: list[Event] = []
    for i, (event_id, timestamp, epoch) in enumerate(
        zip(body["event_ids"], body["timestamps"], body["epochs"], strict=True)
    ):
        values = {name: column[i] for name, column in body["series"].items() if column[i] is not None}
        shared = {key: body[key] for key in ("schema_version", "batch_id", "job_id", "source")}
        data = {"epoch": epoch, **values}
        events.append({**shared, "event_id": event_id, "event_type": "job_epoch", "timestamp": timestamp, "data": data})
    return events


class FakeIngest:
    """`events` in order of arrival without repeats; `requests` as (path, number of events)."""

    def __init__(self, token: str = "em_live_test", port: int = 0) -> None:
        self.token = token
        self.events: list[Event] = []
        self.ids: dict[str, int] = {}
        self.requests: list[tuple[str, int]] = []
        self.polls = 0
        self.stop_requested = False
        self.stop_answer: dict[str, Any] = {}
        """What else the answer about the stop flag says."""
        self.reply_headers: dict[str, str] = {}
        """Of every answer."""
        self.headers: list[dict[str, str]] = []
        """Of every POST."""
        self.answer: Callable[[str, int], tuple[int, dict[str, str]] | None] = lambda _path, _count: None
        """A status and headers to answer instead, for the request with this path and number of events."""
        self.refuse_item: Callable[[Event], dict[str, Any] | None] = lambda _event: None
        self.gets: dict[str, tuple[str, bytes]] = {}
        """Further GET answers: path with query → (media type, body)."""
        self.read_from: list[str | None] = []
        """Where each of those was to be read: `X-Svc-Read-From`."""
        self.ignores: dict[str, str] = {}
        """Metric name → reason for which it is left out of events."""
        self.deleted: set[str] = set()
        """Batches in the trash."""
        self.takes_columns = True
        self.in_columns = 0
        """Events that came as columns."""
        self.lock = threading.RLock()
        self.server = _Server(("127.0.0.1", port), _handler(self))
        self.port = int(self.server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def of(self, event_type: str) -> list[Event]:
        with self.lock:
            return [event for event in self.events if event["event_type"] == event_type]

    def types(self) -> list[str]:
        with self.lock:
            return [event["event_type"] for event in self.events]

    def take(self, event: Any) -> dict[str, Any]:
        if isinstance(event, dict) and event.get("schema_version") != "1.1":
            return _error(415, "unsupported_schema_version")
        event_id = event.get("event_id") if isinstance(event, dict) else None
        if event_id in self.ids:
            return {"db_id": self.ids[event_id], "deduplicated": True}
        problems = validate(event)
        if problems:
            return _error(422, "invalid_event_data", "; ".join(problems))
        refusal = self.refuse_item(event)
        if refusal is not None:
            return {"db_id": None, "deduplicated": False, "error": refusal}
        self.ids[event["event_id"]] = len(self.ids) + 1
        self.events.append(event)
        stored: dict[str, Any] = {"db_id": len(self.ids), "deduplicated": False}
        if event["batch_id"] in self.deleted:
            stored["deleted"] = True
        left_out = [{"key": key, "reason": why} for key, why in self.ignores.items() if key in event["data"]]
        return {**stored, "ignored": left_out} if left_out else stored


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that vanish in the middle of a request are the point of these tests."""


def _error(status: int, code: str, detail: str = "") -> dict[str, Any]:
    return {"db_id": None, "deduplicated": False, "error": {"status": status, "code": code, "detail": detail}}


def _handler(fake: FakeIngest) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            if self.path in fake.gets:
                kind, body = fake.gets[self.path]
                fake.read_from.append(self.headers.get("X-Svc-Read-From"))
                self.reply_bytes(200, body, kind)
            elif self.path.endswith("/stop-requested"):
                fake.polls += 1
                self.reply(200, {"stop_requested": fake.stop_requested, **fake.stop_answer})
            elif self.path in ("/livez", "/readyz"):
                self.reply(200, {"status": "ok"})
            else:
                self.reply(404, {"code": "not_found", "detail": self.path})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") != f"Bearer {fake.token}":
                self.reply(401, {"code": "bad_token", "detail": "no such token"})
                return
            if self.path.endswith("/files"):  # a service from before there were files
                self.reply(404, {"code": "not_found"})
                return
            document = json.loads(body)
            columns = self.headers.get("Content-Type") == EPOCHS_TYPE
            if columns and not fake.takes_columns:
                self.reply(415, {"code": "unsupported_media_type"})
                return
            if columns:
                document = spelled_out(document)
            with fake.lock:
                fake.in_columns += len(document) if columns else 0
                count = len(document) if isinstance(document, list) else 1
                fake.requests.append((self.path, count))
                fake.headers.append({name.lower(): value for name, value in self.headers.items()})
                canned = fake.answer(self.path, count)
                if canned is not None:
                    self.reply(canned[0], {"code": "canned", "detail": "as told"}, canned[1])
                elif self.path == "/api/events":
                    result = fake.take(document)
                    error = result.get("error")
                    self.reply(error["status"] if error else 200, error or result)
                elif self.path == "/api/events/batch" and isinstance(document, list) and count <= 500:
                    self.reply(200, {"results": [fake.take(event) for event in document]})
                else:
                    self.reply(413 if count > 500 else 404, {"code": "too_many_events"})

        def reply(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
            self.reply_bytes(status, json.dumps(document).encode(), "application/json", headers)

        def reply_bytes(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in {**fake.reply_headers, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler
