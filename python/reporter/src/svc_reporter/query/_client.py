"""Authenticated GETs: pages of JSON, and streams for exports."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from .._delivery.responses import text_of
from .._delivery.settings import read_settings
from .._delivery.transport import Response, Transport, Unreachable
from .._shared.errors import QueryError

if TYPE_CHECKING:
    from http.client import HTTPResponse

Filters = Mapping[str, str | int | Iterable[str] | None]
_PAGE = 500


class Calls(Protocol):
    """Calls of `Api` that runs, sweeps and artifacts make on behalf of their user."""

    update: Any

    def run(self, path: str) -> Any: ...


class Client:
    """Raises QueryError if a request fails, and ValueError if no address is configured."""

    def __init__(self, url: str | None, token: str | None, timeout_s: float) -> None:
        settings = read_settings(url, token or os.environ.get("SVC_READ_TOKEN") or None)
        self._target, self._token = settings.target, settings.token
        self._timeout_s = timeout_s
        self._transport = self._connection()

    def _connection(self) -> Transport:
        if self._target is None:
            raise ValueError("no address of a service: give Api(url=...) or set SVC_URL")
        transport = Transport(self._target, self._token, self._timeout_s)
        transport.prefers_replica = True
        return transport

    def get(self, path: str, filters: Filters | None = None) -> Any:
        try:
            response = self._transport.get(path + _query(filters))
        except Unreachable as error:
            raise QueryError(f"{self._transport.target} does not respond: {error}") from error
        return self._document(response)

    def patch(self, path: str, changes: Mapping[str, Any]) -> Any:
        """PATCH with the changes; returns the response. Needs a session: the service rejects a token."""
        try:
            response = self._transport.request("PATCH", path, json.dumps(changes).encode())
        except Unreachable as error:
            raise QueryError(f"{self._transport.target} does not respond: {error}") from error
        return self._document(response)

    def _document(self, response: Response) -> Any:
        if response.status != 200:
            raise _refusal(response.status, response.body)
        try:
            return json.loads(response.body)
        except ValueError as error:
            target = self._transport.target
            raise QueryError(
                f"{target} answers no JSON, so it is not the service; is SVC_URL right? {text_of(response.body)}"
            ) from error

    def items(self, path: str, filters: Filters | None = None, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page."""
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(_PAGE, left)
            page = self.get(path, {**(filters or {}), "limit": size, "cursor": cursor})
            yield from page["items"]
            if left is not None:
                left -= len(page["items"])
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def events(self, path: str, filters: Filters, timeout_s: float | None) -> Events:
        """Server-sent events, for at most so many seconds."""
        return Events(self._connection(), path + _query(filters), timeout_s)

    @contextmanager
    def stream(self, path: str, filters: Filters, accept: str) -> Iterator[HTTPResponse]:
        """A response of any size for the caller to read, over a connection of its own.

        A reader may leave a part unread (pyarrow leaves the end of an Arrow stream); the next response over the same
        connection would then begin with that rest.
        """
        transport = self._connection()
        try:
            try:
                response = transport.stream(path + _query(filters), accept)
            except Unreachable as error:
                raise QueryError(f"{transport.target} does not respond: {error}") from error
            if response.status != 200:
                raise _refusal(response.status, response.read(100_000))
            yield response
        finally:
            transport.close()

    @contextmanager
    def content(self, url: str) -> Iterator[HTTPResponse]:
        """The content of a file at an address that the service gave."""
        with self.stream(url, {}, "*/*") as response:
            yield response

    def page(self, path: str) -> str:
        """The address of a page of the service."""
        return f"{str(self._transport.target).rstrip('/')}{path}"

    def close(self) -> None:
        self._transport.close()


class Events:
    """Server-sent events, each with those of the fields `id`, `event` and `data` that it has.

    Ends with the stream or at the time limit. A block without a message is an event too: it carries the cursor. Raises
    QueryError for a refusal, and for a stream that was cut.
    """

    def __init__(self, transport: Transport, path: str, timeout_s: float | None) -> None:
        self._transport = transport
        self._path = path
        self._until = None if timeout_s is None else time.monotonic() + timeout_s

    def __iter__(self) -> Iterator[dict[str, str]]:
        transport = self._transport
        try:
            response = transport.stream(self._path, "text/event-stream")
            if response.status != 200:
                raise _refusal(response.status, response.read(100_000))
            event: dict[str, str] = {}
            while True:
                if self._until is not None:
                    transport.set_read_timeout(max(0.01, self._until - time.monotonic()))
                raw = response.readline()
                line = raw.decode("utf-8").rstrip("\r\n")
                if raw == b"":
                    return
                if line == "":
                    yield event
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(":")
                    value = value.removeprefix(" ")
                    event[name] = f"{event[name]}\n{value}" if name in event else value
                if self.is_over():
                    return
        except (Unreachable, OSError, ValueError, HTTPException) as error:
            if not self.is_over():
                raise QueryError(f"the stream of {transport.target} was cut: {error}") from error
        finally:
            transport.close()

    def is_over(self) -> bool:
        """Whether the time limit is reached."""
        return self._until is not None and time.monotonic() >= self._until

    def end_in(self, seconds: float) -> None:
        """Continue to read for at most so many seconds."""
        until = time.monotonic() + seconds
        self._until = until if self._until is None else min(until, self._until)


def segment(text: str) -> str:
    """An id as one segment of a path."""
    return quote(text, safe="")


def _query(filters: Filters | None) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in (filters or {}).items():
        if value is None:
            continue
        if isinstance(value, (str, int)):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, str(each)) for each in value)
    return f"?{urlencode(pairs)}" if pairs else ""


def _refusal(status: int, body: bytes) -> QueryError:
    try:
        problem = json.loads(body)
        code = problem.get("code")
        text = problem.get("detail") or problem.get("title") or code
    except (ValueError, AttributeError):
        code, text = None, f"not from the service: {text_of(body)}"
    hint = "; a token of scope read is needed: SVC_TOKEN, SVC_READ_TOKEN or Api(token=...)" if status == 401 else ""
    return QueryError(f"HTTP {status}{f' {code}' if code else ''}: {text}{hint}", status=status, code=code)
