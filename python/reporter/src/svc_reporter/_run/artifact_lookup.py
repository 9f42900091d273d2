"""Finds artifacts of the service with the token of a run, and opens their content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._delivery.transport import Transport, Unreachable
from .._shared.errors import QueryError
from ..errors import CommError

if TYPE_CHECKING:
    from ..query._artifact import StoredArtifact
    from .reporter import Reporter


def stored_artifact(reporter: Reporter, name: str) -> StoredArtifact:
    """Ask the service for a version. Raises CommError."""
    from ..query._artifact import StoredArtifact, parsed

    def run_of(batch_id: str) -> Any:
        from ..query import Api

        return Api(str(reporter._settings.target)).run(batch_id)  # with SVC_READ_TOKEN: the run's token may not read

    project, base, version = parsed(name, reporter.project)
    parts = (quote(part, safe="") for part in (project, base, version))
    info = asked(reporter, "/api/projects/{}/artifacts/{}/{}".format(*parts))
    return StoredArtifact(project, info, fetch_of(reporter), run_of)


def asked(reporter: Reporter, path: str) -> Any:
    """A GET with the token of the run. Raises CommError if the service does not answer it."""
    settings = reporter._settings
    if settings.target is None or not settings.token or reporter._disabled:
        raise CommError("no service is configured: set SVC_URL and SVC_TOKEN, and do not run offline")
    transport = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
    try:
        response = transport.get(path)
        document = json.loads(response.body)
    except (Unreachable, ValueError) as error:
        raise CommError(f"{settings.target} does not answer: {error}") from error
    finally:
        transport.close()
    if response.status != 200:
        raise CommError(f"{path}: {document.get('detail') or document.get('code') or response.status}")
    return document


def fetch_of(reporter: Reporter) -> Any:
    """Opens content of the service with the token of the run."""

    @contextmanager
    def fetch(url: str) -> Iterator[Any]:
        settings = reporter._settings
        if settings.target is None:
            raise QueryError("no service is configured")
        transport = Transport(settings.target, settings.token, 60.0)
        try:
            response = transport.stream(url, "*/*")
            if response.status != 200:
                raise QueryError(f"{url}: HTTP {response.status}", status=response.status)
            yield response
        except Unreachable as error:
            raise QueryError(f"{settings.target} does not answer: {error}") from error
        finally:
            transport.close()

    return fetch
