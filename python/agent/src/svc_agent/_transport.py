"""Requests to the service: JSON over HTTPS; plain HTTP only to this host."""

from __future__ import annotations

import http.client
import ipaddress
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ._version import __version__

_TIMEOUT_S = 10.0
_MAX_BYTES = 16 * 1024 * 1024


class Unauthorized(Exception):
    """The token is invalid: it was revoked, or replaced by a new registration of this host."""


@dataclass(frozen=True)
class Response:
    """A response; `status` is 0 if there was none."""

    status: int
    body: Any
    detail: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status == 0 or self.status in (408, 425, 429) or self.status >= 500

    @property
    def code(self) -> str | None:
        return self.body.get("code") if isinstance(self.body, dict) else None


def check_url(url: str, insecure: bool = False) -> str:
    """The address, checked. Raises ValueError with a message if it is invalid, or unencrypted to another host."""
    parts = urllib.parse.urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no valid address: it must look like https://monitor.example.org")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("the service's address must not contain a user, password, query or fragment")
    if parts.scheme == "http" and not insecure and not is_loopback(parts.hostname):
        raise ValueError(
            f"{url} is not encrypted: others on the network could read the agent's token and run commands here. "
            "Use https, or --insecure to allow it"
        )
    return url.strip().rstrip("/")


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because it could send the token to another host."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


class Service:
    def __init__(self, url: str, token: str, timeout_s: float = _TIMEOUT_S) -> None:
        self._url = url
        self._token = token
        self._timeout_s = timeout_s
        host = urllib.parse.urlsplit(url).hostname or ""
        proxies = urllib.request.ProxyHandler({} if is_loopback(host) else None)
        self._opener = urllib.request.build_opener(proxies, _NoRedirects())

    def get(self, path: str) -> Response:
        return self._call("GET", path, None)

    def post(self, path: str, body: dict[str, Any] | None = None) -> Response:
        return self._call("POST", path, {} if body is None else body)

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Response:
        request = urllib.request.Request(self._url + path, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", "application/json")
        request.add_header("User-Agent", f"svc-agent/{__version__}")
        request.add_header("X-Svc-Sent-At", datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"))
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return _parse_response(response.status, response.read(_MAX_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                response = _parse_response(error.code, _rest(error))
            if response.status == 401:
                raise Unauthorized(response.detail) from None
            return response
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Response(0, None, f"{type(error).__name__}: {error}")


def _rest(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(_MAX_BYTES)
    except (OSError, http.client.HTTPException):
        return b""


def _parse_response(status: int, content: bytes) -> Response:
    body: Any = None
    if content:
        try:
            body = json.loads(content)
        except ValueError:
            pass
    detail = f"HTTP {status}"
    if isinstance(body, dict) and isinstance(body.get("detail"), str):
        detail += f", {body['detail']}"
    return Response(status, body, detail)
