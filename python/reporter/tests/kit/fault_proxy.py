"""A proxy that does to requests what networks and servers do on bad days."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal["pass", "reset", "drop_answer", "cut_answer", "hang", "status"]


@dataclass(frozen=True)
class Fault:
    kind: Kind = "pass"
    delay_s: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


PASS = Fault()
RESET_MID_BODY = Fault("reset")
DROP_ANSWER_AFTER_COMMIT = Fault("drop_answer")
CUT_ANSWER = Fault("cut_answer")
HANG = Fault("hang")


def status(code: int, **headers: str) -> Fault:
    return Fault("status", status=code, headers={name.replace("_", "-"): value for name, value in headers.items()})


def delay(seconds: float) -> Fault:
    return Fault(delay_s=seconds)


class FaultProxy:
    """Posts meet the faults of `script` one after another, then `always`; GETs pass. `refuse()` closes the port."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self.upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.script: deque[Fault] = deque()
        self.always = PASS
        self.posts = 0
        self.port = 0
        self._released = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.accept()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def accept(self) -> None:
        if self._server is None:
            self._server = _Server(("127.0.0.1", self.port), _handler(self))
            self.port = int(self._server.server_address[1])
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def refuse(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            for connection in list(server.connections):  # type: ignore[attr-defined]
                _reset(connection)

    def serves(self, server: object) -> bool:
        """Whether it has not refused connections since `server` was started."""
        return server is self._server

    def close(self) -> None:
        self._released.set()
        self.refuse()

    def next_fault(self) -> Fault:
        self.posts += 1
        return self.script.popleft() if self.script else self.always

    def hold(self) -> None:
        self._released.wait(60)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*args)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what this server is for."""


def _reset(connection: socket.socket) -> None:
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RD)
        connection.close()
    except OSError:
        return


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.server.connections.add(self.connection)  # type: ignore[attr-defined]

        def finish(self) -> None:
            self.server.connections.discard(self.connection)  # type: ignore[attr-defined]
            super().finish()

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            self.pass_on(None, PASS)

        def do_POST(self) -> None:
            if not proxy.serves(self.server):
                # The connection was reset, but what came before this thread noticed can still be read.
                self.close_connection = True
                _reset(self.connection)
                return
            fault = proxy.next_fault()
            length = int(self.headers.get("Content-Length", 0))
            if fault.kind == "reset":
                self.rfile.read(length // 2)
                self.close_connection = True
                _reset(self.connection)
                return
            body = self.rfile.read(length)
            time.sleep(fault.delay_s)
            if fault.kind == "hang":
                proxy.hold()
                self.close_connection = True
            elif fault.kind == "status":
                self.answer(fault.status, f"<html><h1>{fault.status}</h1></html>".encode(), fault.headers)
            else:
                self.pass_on(body, fault)

        def pass_on(self, body: bytes | None, fault: Fault) -> None:
            upstream = HTTPConnection(*proxy.upstream, timeout=30)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            path = self.path if self.path.startswith("/") else "/" + self.path.split("/", 3)[3]  # used as a web proxy
            upstream.request(self.command, path, body, headers)
            response = upstream.getresponse()
            content = response.read()
            kept = {k: v for k, v in response.getheaders() if k.lower() in ("content-type", "retry-after")}
            upstream.close()
            if fault.kind == "drop_answer":
                self.close_connection = True
                _reset(self.connection)
                return
            self.answer(response.status, content, kept, cut=fault.kind == "cut_answer")

        def answer(self, code: int, body: bytes, headers: dict[str, str], cut: bool = False) -> None:
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut else body)
            if cut:
                self.close_connection = True

    return Handler
