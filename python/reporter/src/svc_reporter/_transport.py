"""HTTP to the service: one keep-alive connection, every fault told as `Unreachable`.

http.client (and ssl behind it) is imported when a Reporter opens: importing this package stays cheap for scripts
that never report. It is not left to the sending thread, because a process that is forked while another thread
imports a module waits for that module forever.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ._ids import now_ms, timestamp
from ._messages import Messages
from ._version import __version__

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Addresses of this machine, which are reached without a proxy."""
EPOCHS_TYPE = "application/vnd.svc.epochs+json;version=1"
"""Epochs of one job as columns (_columns.py)."""
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_THIS_MACHINE = re.compile(r"localhost|.+\.localhost|127(\.\d{1,3}){3}|::1", re.IGNORECASE)
_warnings = Messages()
"""Shared by all connections of the process: each address is warned about once."""
_AGENT = f"svc-reporter/{__version__} python/{sys.version_info[0]}.{sys.version_info[1]}"


class Unreachable(Exception):
    """No usable answer: refused, reset, timed out, cut off. Whether the server acted is unknown."""


@dataclass(frozen=True)
class Target:
    """Where the service lives: the parts of SVC_URL."""

    secure: bool
    host: str
    port: int
    prefix: str

    @staticmethod
    def parse(url: str) -> Target:
        """Raises ValueError with a sentence that names the fault."""
        text = url.strip()
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https"):
            raise ValueError(f"the service's address must begin with http:// or https://, got {text!r}")
        if not parts.hostname:
            raise ValueError(f"the service's address has no host: {text!r}")
        if parts.username or parts.password:
            raise ValueError("the service's address must not carry a user or password; use a token")
        if parts.query or parts.fragment:
            raise ValueError(f"the service's address must not carry a query or fragment: {text!r}")
        port = parts.port  # raises ValueError itself for a port that is none
        secure = parts.scheme == "https"
        return Target(secure, parts.hostname, port or (443 if secure else 80), parts.path.rstrip("/"))

    @property
    def shows_token(self) -> bool:
        """Plain HTTP to another machine: anyone on the way reads the token."""
        return not self.secure and not _THIS_MACHINE.fullmatch(self.host)

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.netloc}{self.prefix}"


_NEEDED_BY_THREADS = ("http.client", "email.utils", "urllib.request", "encodings.idna", "encodings.utf_16")
"""Modules and codecs that are otherwise imported at their first use."""


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Transport:
    """One connection, used by one thread; `abort` alone may be called from another."""

    def __init__(self, target: Target, token: str, timeout_s: float) -> None:
        for name in (*_NEEDED_BY_THREADS, *(("ssl",) if target.secure else ())):
            importlib.import_module(name)
        self.target = target
        self._token = token
        self.timeout_s = timeout_s
        self.names_senders = True
        """Whether the last 12 digits of the event ids that it sends name the process that made the event."""
        self.takes_columns = False
        """Whether the service said that it takes epochs as columns."""
        self.prefers_replica = False
        """Whether a replica of the database may answer; it does once it has all that was committed before."""
        self._connection: HTTPConnection | None = None
        self._aborted = False
        self._by_proxy = False

    def post(self, path: str, body: bytes, content_type: str = "application/json") -> Response:
        response = self.request("POST", path, body, content_type=content_type)
        if EPOCHS_TYPE in response.headers.get("accept-post", ""):
            self.takes_columns = True
        return response

    def get(self, path: str, accept: str = "application/json") -> Response:
        return self.request("GET", path, None, accept)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        accept: str = "application/json",
        *,
        content_type: str = "application/json",
    ) -> Response:
        """One request and its whole answer. Raises Unreachable.

        A kept connection that the server closed meanwhile is replaced once, at once: that is no failure of
        the server, and every event carries its idempotency key, so sending it again is safe.
        """
        reused = self._connection is not None
        try:
            return self._once(method, path, body, accept, content_type)
        except Unreachable as error:
            if not reused or self._aborted or not isinstance(error.__cause__, ConnectionError):
                raise
        return self._once(method, path, body, accept, content_type)

    def stream(self, path: str, accept: str) -> HTTPResponse:
        """A GET whose answer is read by the caller, for exports of any size. Raises Unreachable."""
        from http.client import HTTPException

        self.close()
        try:
            connection = self._connection = self._connect()
            connection.request("GET", self._path(path), headers=self._headers(accept))
            return connection.getresponse()
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise Unreachable(_reason(error)) from error

    def patience(self, seconds: float) -> None:
        """How long a read from the answer of `stream` waits from now on; then it raises OSError."""
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            sock.settimeout(seconds)

    def abort(self) -> None:
        """Cut a request under way in another thread, which then sees Unreachable. For the end of close()."""
        self._aborted = True
        connection = self._connection
        sock = getattr(connection, "sock", None)
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # already gone, which is what was wanted

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except OSError:
                return

    def _once(self, method: str, path: str, body: bytes | None, accept: str, content_type: str) -> Response:
        from http.client import HTTPException

        try:
            if self._aborted:
                raise Unreachable("closing")
            connection = self._connection
            if connection is None:
                connection = self._connection = self._connect()
                if self._aborted:  # while it was connecting, when there was no socket yet to cut
                    raise Unreachable("closing")
            connection.timeout = self.timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(self.timeout_s)
            headers = self._headers(accept)
            if body is not None:
                headers["Content-Type"] = content_type
            connection.request(method, self._path(path), body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(MAX_RESPONSE_BYTES + 1)
            if len(content) > MAX_RESPONSE_BYTES:
                raise Unreachable("the answer is larger than any answer of the service")
            if response.will_close:
                self.close()
            return Response(response.status, {k.lower(): v for k, v in response.getheaders()}, content)
        except Unreachable:
            self.close()
            raise
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise Unreachable(_reason(error)) from error

    def _headers(self, accept: str) -> dict[str, str]:
        # The time of sending lets the service know how far this host's clock is off.
        headers = {"Accept": accept, "User-Agent": _AGENT, "X-Svc-Sent-At": timestamp(now_ms())}
        if self.names_senders:
            headers["X-Svc-Sender"] = "event-id"
        if self.prefers_replica:
            headers["X-Svc-Read-From"] = "replica"
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _path(self, path: str) -> str:
        """The target of the request line: the whole URL through a plain HTTP proxy."""
        return f"{self.target}{path}" if self._by_proxy else self.target.prefix + path

    def _connect(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        target = self.target
        if self._token and target.shows_token:
            _warnings.log_once(
                logging.WARNING,
                f"plain HTTP {target}",
                f"{target} is not encrypted: anyone on the network between here and {target.host} can read the "
                "token and act with it. Serve it over https, and set SVC_URL to the https address",
            )
        proxy = _proxy_for(target)
        host, port = (proxy.host, proxy.port) if proxy else (target.host, target.port)
        connection: HTTPConnection
        if target.secure:
            connection = HTTPSConnection(host, port, timeout=self.timeout_s)
        else:
            connection = HTTPConnection(host, port, timeout=self.timeout_s)
        self._by_proxy = proxy is not None and not target.secure
        if proxy and target.secure:
            connection.set_tunnel(target.host, target.port)
        connection.connect()
        sock = connection.sock
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _proxy_for(target: Target) -> Target | None:
    """The proxy that the environment names for this address; clusters often allow nothing else out."""
    if target.host in LOOPBACK or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    address = getproxies().get("https" if target.secure else "http")
    if not address or proxy_bypass(target.netloc):
        return None
    try:
        return Target.parse(address if "://" in address else f"http://{address}")
    except ValueError:
        return None


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
