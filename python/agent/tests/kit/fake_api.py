"""A service that hands out given commands and remembers what the agent says."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeService:
    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        """The last part of the path, and the body."""
        self.heartbeat_status = 204
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def heard(self, what: str) -> list[dict[str, Any]]:
        return [body for last, body in self.said if last == what]


def _handler(fake: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            self._reply(200, {"jobs": fake.jobs})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            last = self.path.rsplit("/", 1)[1]
            fake.said.append((last, body))
            self._reply(fake.heartbeat_status if last == "heartbeat" else 200, {})

        def _reply(self, status: int, document: Any) -> None:
            content = b"" if status == 204 else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
