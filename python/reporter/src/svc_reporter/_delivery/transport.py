"""HTTP requests to the service over one keep-alive connection. Every network error is raised as `Unreachable`.

http.client and ssl are imported when a Reporter opens, so that importing this package is fast. The sending thread does
not import them: a process that is forked while another thread imports a module waits for that import forever.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .._shared.ids import now_ms, timestamp
from .._shared.messages import Messages
from .._shared.redact import redact_address
from .._version import __version__

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Host names of this machine; no proxy is used for them."""
EPOCHS_TYPE = "application/vnd.svc.epochs+json;version=1"
"""Content type of epochs of one job as columns (columns.py)."""
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_THIS_MACHINE = re.compile(r"localhost|.+\.localhost|127(\.\d{1,3}){3}|::1", re.IGNORECASE)
_warnings = Messages()
"""Shared by all connections of the process, so that there is one warning for each address."""
_AGENT = f"svc-reporter/{__version__} python/{sys.version_info[0]}.{sys.version_info[1]}"


class Unreachable(Exception):
    """No valid response: connection refused or reset, timeout, incomplete body. The server may have acted."""


@dataclass(frozen=True)
class Target:
    """The address of the service: the parts of SVC_URL."""

    secure: bool
    host: str
    port: int
    prefix: str

    @staticmethod
    def parse(url: str) -> Target:
        """Parse an address. Raises ValueError with a message for the user, without what may be secret."""
        text = url.strip()
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:  # its text has the part that may be a password
            raise ValueError("the service's address has no valid host and port; use http://host:port") from None
        shown = redact_address(text)
        if parts.scheme not in ("http", "https"):
            raise ValueError(f"the service's address must begin with http:// or https://, got {shown!r}")
        if not parts.hostname:
            raise ValueError(f"the service's address has no host: {shown!r}")
        if parts.username or parts.password:
            raise ValueError("the service's address must not contain a user or password; use a token")
        if parts.query or parts.fragment:
            raise ValueError(f"the service's address must not contain a query or fragment; use {shown}")
        secure = parts.scheme == "https"
        return Target(secure, parts.hostname, port or (443 if secure else 80), parts.path.rstrip("/"))

    @property
    def shows_token(self) -> bool:
        """Whether the token is sent over plain HTTP to another machine, where others can read it."""
        return not self.secure and not _THIS_MACHINE.fullmatch(self.host)

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.netloc}{self.prefix}"


_NEEDED_BY_THREADS = ("http.client", "email.utils", "urllib.request", "encodings.idna", "encodings.utf_16")
"""Modules and codecs that the standard library imports at their first use."""


CA_ADVICE = "If the certificate is of your own CA, set SSL_CERT_FILE to the CA's certificate (PEM)"


@dataclass(frozen=True)
class Response:
    """A complete HTTP response."""

    status: int
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes


class Transport:
    """One connection, to be used by one thread; only `abort` may be called from another."""

    def __init__(self, target: Target, token: str, timeout_s: float) -> None:
        for name in (*_NEEDED_BY_THREADS, *(("ssl",) if target.secure else ())):
            importlib.import_module(name)
        self.target = target
        self._token = token
        self.timeout_s = timeout_s
        self.names_senders = True
        """Whether the last 12 digits of the event ids identify the process that created the event."""
        self.takes_columns = False
        """Whether the service accepts epochs as columns, as its responses say."""
        self.prefers_replica = False
        """Whether the service may read from a replica of the database that has all earlier commits."""
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
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request and read the whole response. Raises Unreachable.

        If the server has closed the keep-alive connection, the request is sent again on a new one. That is safe because
        the event id is an idempotency key. A part of an upload is not: what arrived of it need not be sent again.
        """
        reused = self._connection is not None
        try:
            return self._once(method, path, body, accept, content_type, headers)
        except Unreachable as error:
            if not reused or method == "PATCH" or self._aborted or not isinstance(error.__cause__, ConnectionError):
                raise
        return self._once(method, path, body, accept, content_type, headers)

    def stream(self, path: str, accept: str) -> HTTPResponse:
        """Send a GET and return the response for the caller to read, for exports of any size. Raises Unreachable."""
        from http.client import HTTPException

        self.close()
        try:
            connection = self._connection = self._connect()
            connection.request("GET", self._path(path), headers=self._headers(accept))
            return connection.getresponse()
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise Unreachable(_reason(error)) from error

    def set_read_timeout(self, seconds: float) -> None:
        """Set the timeout of each further read from the response of `stream`; it raises OSError."""
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            sock.settimeout(seconds)

    def abort(self) -> None:
        """Abort the current request of another thread, which then raises Unreachable. For the end of close()."""
        self._aborted = True
        connection = self._connection
        sock = getattr(connection, "sock", None)
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # closed already

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except OSError:
                return

    def _once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        accept: str,
        content_type: str,
        more: Mapping[str, str] | None = None,
    ) -> Response:
        from http.client import HTTPException

        try:
            if self._aborted:
                raise Unreachable("closing")
            connection = self._connection
            if connection is None:
                connection = self._connection = self._connect()
                if self._aborted:  # `abort` was called while connecting, without a socket to shut down
                    raise Unreachable("closing")
            connection.timeout = self.timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(self.timeout_s)
            headers = self._headers(accept)
            if body is not None:
                headers["Content-Type"] = content_type
            headers.update(more or {})
            connection.request(method, self._path(path), body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(MAX_RESPONSE_BYTES + 1)
            if len(content) > MAX_RESPONSE_BYTES:
                raise Unreachable(f"the response has more than {MAX_RESPONSE_BYTES:,} bytes")
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
        # The time of sending tells the service the clock skew of this host.
        headers = {"Accept": accept, "User-Agent": _AGENT, "X-Svc-Sent-At": timestamp(now_ms())}
        if self.names_senders:
            headers["X-Svc-Sender"] = "event-id"
        if self.prefers_replica:
            headers["X-Svc-Read-From"] = "replica"
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _path(self, path: str) -> str:
        """The target of the request line; for a plain HTTP proxy that is the whole URL."""
        return f"{self.target}{path}" if self._by_proxy else self.target.prefix + path

    def _connect(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        target = self.target
        if self._token and target.shows_token:
            _warnings.log_once(
                logging.WARNING,
                f"plain HTTP {target}",
                f"{target} is not encrypted: others on the network between here and {target.host} can read the token "
                "and use it. Serve it over https, and set SVC_URL to the https address",
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
    """The proxy for this address from the environment variables; None if there is none."""
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
        return "timeout"
    text = str(error)
    if type(error).__name__ == "SSLCertVerificationError":  # without importing ssl
        text += f". {CA_ADVICE}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
