"""Authenticated GETs: pages of JSON, and streams for exports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from .._errors import QueryError
from .._settings import read_settings
from .._transport import Transport, Unreachable

if TYPE_CHECKING:
    from http.client import HTTPResponse

Filters = Mapping[str, str | int | Iterable[str] | None]
_PAGE = 500


class Client:
    """Raises QueryError for every refusal, and ValueError when there is no address to ask."""

    def __init__(self, url: str | None, token: str | None, timeout_s: float) -> None:
        settings = read_settings(url, token or os.environ.get("SVC_READ_TOKEN") or None)
        if settings.target is None:
            raise ValueError("no service to ask: give Api(url=...) or set SVC_URL")
        self._settings = settings
        self._timeout_s = timeout_s
        self._transport = Transport(settings.target, settings.token, timeout_s)

    def get(self, path: str, filters: Filters | None = None) -> Any:
        try:
            answer = self._transport.get(path + _query(filters))
        except Unreachable as error:
            raise QueryError(f"{self._transport.target} does not answer: {error}") from error
        if answer.status != 200:
            raise _refusal(answer.status, answer.body)
        return json.loads(answer.body)

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

    @contextmanager
    def stream(self, path: str, filters: Filters, accept: str) -> Iterator[HTTPResponse]:
        """An answer of any size, to be read by the caller, over a connection of its own.

        A reader may leave some of it unread (pyarrow leaves the end of an Arrow stream); the next request over the
        same connection would then find that rest where its own answer should begin.
        """
        settings = self._settings
        if settings.target is None:
            raise ValueError("no service to ask")
        transport = Transport(settings.target, settings.token, self._timeout_s)
        try:
            try:
                response = transport.stream(path + _query(filters), accept)
            except Unreachable as error:
                raise QueryError(f"{transport.target} does not answer: {error}") from error
            if response.status != 200:
                raise _refusal(response.status, response.read(100_000))
            yield response
        finally:
            transport.close()

    def close(self) -> None:
        self._transport.close()


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
        code, text = None, body[:200].decode("utf-8", "replace")
    hint = "; a reading token is needed: SVC_TOKEN, SVC_READ_TOKEN or Api(token=...)" if status == 401 else ""
    return QueryError(f"HTTP {status} {code or ''}: {text}{hint}", status=status, code=code)
