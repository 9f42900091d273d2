"""Sends files that wait on disk: declares them, uploads missing content by tus 1.0.0, and removes what is confirmed.

Used by the thread of a reporter, by the watchdog after it, and by `svc-reporter sync`. Content is sent in parts, and an
upload that was cut goes on at the offset that the service names. Never raises.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import quote

from .._disk.file_store import FileStore, Record
from .transport import Response, Transport, Unreachable

_GROUP = 200
"""Files of one request; the service takes 1,000."""
_PART_FIRST, _PART_LEAST, _PART_MOST = 1024 * 1024, 128 * 1024, 16 * 1024 * 1024
_SLOW_S, _FAST_S = 3.0, 0.7
_TIMEOUT_S = 60.0
_TUS = {"Tus-Resumable": "1.0.0"}
_PATCH_TYPE = "application/offset+octet-stream"
_MAX_WAIT_S = 60.0
_LATER = (403, 404, 507)
"""Refusals that may end: the token may not send, the batch has not arrived yet, the store is full."""


class Halt(Enum):
    """Why a round ended before all was sent."""

    UNREACHABLE = "unreachable"
    UNAUTHORISED = "unauthorised"
    INTERRUPTED = "interrupted"
    LATER = "not ready"
    """The service does not know a batch yet, has no room, or the token may not send."""


class _Halted(Exception):
    def __init__(self, why: Halt, text: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass
class Uploaded:
    """What a round did."""

    files: int = 0
    bytes: int = 0
    refused: int = 0
    is_too_old: bool = False
    """The service has no files: those that the reporter adds itself are forgotten, others wait for a newer one."""
    halt: Halt | None = None
    why: str = ""
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name of the record: what the service said of an artifact."""


class Uploads:
    """One connection, for one thread."""

    def __init__(
        self,
        store: FileStore,
        transport: Transport,
        *,
        may_go_on: Callable[[], bool],
        say: Callable[[str, str], None] = lambda _topic, _text: None,
    ) -> None:
        self._store = store
        self._transport = transport
        self._transport.timeout_s = _TIMEOUT_S
        self._may_go_on = may_go_on
        """Asked before each request; False ends the round."""
        self._say = say
        self._part = _PART_FIRST
        self._done = Uploaded()
        self._held_up: set[str | None] = set()
        """Batches of this round that wait for something."""

    def round(self, records: Sequence[Record]) -> Uploaded:
        """Send these records, as far as they can be claimed."""
        done = self._done = Uploaded()
        self._held_up.clear()
        try:
            files = [record for record in records if record.data["kind"] == "file"]
            for batch_id in dict.fromkeys(record.batch_id for record in files):
                own = [record for record in files if record.batch_id == batch_id]
                with self._alone(batch_id):
                    for at in range(0, len(own), _GROUP):
                        self._send_files(str(batch_id), own[at : at + _GROUP])
            for record in records:
                if record.data["kind"] in ("artifact", "use") and record.batch_id not in self._held_up:
                    with self._alone(record.batch_id), self._store.claimed(record) as claimed:
                        if claimed:
                            self._send_artifact(record) if record.data["kind"] == "artifact" else self._send_use(record)
        except _Halted as halted:
            done.halt, done.why = halted.why, str(halted)
        except Unreachable as error:
            done.halt, done.why = Halt.UNREACHABLE, str(error)
        except (OSError, ValueError, KeyError, TypeError) as error:
            done.halt, done.why = Halt.LATER, f"{type(error).__name__}: {error}"
            self._say("upload", f"files could not be sent, they stay on disk: {error!r}")
        return done

    @contextmanager
    def _alone(self, batch_id: str | None) -> Iterator[None]:
        """A refusal that may end holds up the rest of this batch, not the others."""
        try:
            yield
        except _Halted as halted:
            if halted.why is not Halt.LATER:
                raise
            self._held_up.add(batch_id)
            self._done.halt, self._done.why = halted.why, str(halted)

    # --- files of a batch

    def _send_files(self, batch_id: str, records: list[Record]) -> None:
        with ExitStack() as claims:
            mine = [record for record in records if claims.enter_context(self._store.claimed(record))]
            self._send_claimed(batch_id, [record for record in mine if self._complete(record)])

    def _send_claimed(self, batch_id: str, records: list[Record]) -> None:
        if not records:
            return
        listed = [_declared(record) for record in records]
        path = f"/api/batches/{quote(batch_id, safe='')}/files"
        response = self._request("POST", path, json.dumps({"files": listed}).encode())
        if response.status == 200:
            items = json.loads(response.body)["items"]
            for record, item in zip(records, items, strict=True):
                if item["state"] == "missing" and item["upload_url"]:
                    self._upload(str(item["upload_url"]), record, record.contents[0])
            self._settle(records)
        elif len(records) > 1 and response.status not in _LATER:
            for record in records:  # the service refuses all because of one
                self._send_claimed(batch_id, [record])
        else:
            self._refused(response, records)

    def _complete(self, record: Record) -> bool:
        """Find the hash of staged content. False if the content is gone."""
        changed = False
        for one in record.contents:
            try:
                if not one.get("sha256"):
                    kept = self._store.hashed(str(one["content"]))
                    one.update(sha256=kept.sha256, size=kept.size, content=kept.name)
                    changed = True
                elif not self._store.content_path(str(one["content"])).exists():
                    raise FileNotFoundError(2, "is gone", str(one["content"]))
            except OSError as error:
                if changed:
                    self._store.rewrite(record)
                gone = self._store.settle([record])
                if gone:  # else a later file has its place
                    self._say(f"gone {record.path.name}", f"{_title(record)} cannot be read any more: {error}")
                self._done.refused += sum(len(one.contents) for one in gone)
                return False
        if changed and not self._store.rewrite(record):
            self._store.settle([record])
            return False
        return True

    def _refused(self, response: Response, records: list[Record]) -> None:
        """A refusal that waiting may end halts the round; another one costs the file, with a line."""
        code, detail = _problem(response)
        if response.status == 404 and code == "not_found":  # no such address, rather than no such batch
            self._done.is_too_old = True
            own = [record for record in records if record.data.get("own")]
            self._done.refused += len(self._store.settle(own))
            records = [record for record in records if record not in own]
        if not records:
            return
        if response.status in _LATER:
            raise _Halted(Halt.LATER, f"HTTP {response.status} {code}: {detail}")
        for record in records:
            self._say(f"refused {code}", f"the service refused {_title(record)}: {detail or code or response.status}")
        self._done.refused += sum(len(record.contents) for record in self._store.settle(records))

    def _settle(self, records: list[Record]) -> None:
        settled = self._store.settle(records)
        self._done.files += sum(len(record.contents) for record in settled)
        self._done.bytes += sum(record.size for record in settled)

    # --- content

    def _upload(self, url: str, record: Record, one: dict[str, Any]) -> None:
        """Send content from the offset that the service has. Raises _Halted if it cannot be completed now."""
        path = self._store.content_path(str(one["content"]))
        size, offset = int(one["size"]), 0
        with open(path, "rb") as file:
            while offset < size:
                file.seek(offset)
                body = file.read(self._part)
                if not body:
                    raise OSError(5, "is shorter than it was", str(path))
                answered = self._patch(url, offset, body)
                if answered is None:  # the file has changed: the next round finds its hash again
                    del one["sha256"]
                    self._store.rewrite(record)
                    raise _Halted(Halt.LATER, f"{_title(record)} changed while it was sent")
                offset = answered

    def _patch(self, url: str, offset: int, body: bytes) -> int | None:
        """Send a part. Returns the offset that the service has then; None if the upload is void."""
        began = time.monotonic()
        headers = {**_TUS, "Upload-Offset": str(offset)}
        try:
            response = self._request("PATCH", url, body, headers)
        except Unreachable:
            self._part = max(_PART_LEAST, self._part // 2)
            self._transport.close()
            head = self._request("HEAD", url, None, _TUS)  # what arrived before the cut counts
            if head.status != 200:
                raise
            return int(head.headers["upload-offset"])
        took = time.monotonic() - began
        if response.status == 204:
            if took < _FAST_S and len(body) == self._part:
                self._part = min(_PART_MOST, self._part * 2)
            elif took > _SLOW_S:
                self._part = max(_PART_LEAST, self._part // 2)
            return int(response.headers.get("upload-offset", offset + len(body)))
        code, detail = _problem(response)
        if response.status == 409 and "upload-offset" in response.headers:
            return int(response.headers["upload-offset"])
        if response.status == 413 and not code and self._part > _PART_LEAST:
            self._part //= 2  # a proxy's limit of a request
            return offset
        if code == "content_mismatch":
            return None
        raise _Halted(Halt.LATER, f"HTTP {response.status} {code}: {detail}")

    # --- artifacts

    def _send_artifact(self, record: Record) -> None:
        if not self._complete(record):
            return
        data = record.data
        sent = {
            key: data[key] for key in ("name", "type", "metadata", "aliases", "batch_id", "job_id") if data.get(key)
        }
        sent["files"] = [{key: one[key] for key in ("path", "sha256", "size")} for one in record.contents]
        path = f"/api/projects/{quote(str(data['project']), safe='')}/artifacts"
        response = self._request("POST", path, json.dumps(sent).encode())
        if response.status not in (200, 201):
            self._refused(response, [record])
            return
        made = json.loads(response.body)
        by_hash = {one["sha256"]: one for one in record.contents}
        for upload in made.get("uploads") or ():
            if upload.get("upload_url"):
                self._upload(str(upload["upload_url"]), record, by_hash[upload["sha256"]])
        self._done.versions[record.path.stem] = made
        self._settle([record])

    def _send_use(self, record: Record) -> None:
        data = record.data
        parts = (quote(str(data[key]), safe="") for key in ("project", "name", "version"))
        path = "/api/projects/{}/artifacts/{}/{}/uses".format(*parts)
        sent = {key: data[key] for key in ("batch_id", "job_id") if data.get(key)}
        response = self._request("POST", path, json.dumps(sent).encode())
        if response.status in (200, 201):
            self._store.settle([record])
        else:
            self._refused(response, [record])

    # --- requests

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> Response:
        """One request, repeated while the service asks to wait. Raises Unreachable and _Halted."""
        for _ in range(20):
            if not self._may_go_on():
                raise _Halted(Halt.INTERRUPTED, "the process ends")
            kind = _PATCH_TYPE if method == "PATCH" else "application/json"
            response = self._transport.request(method, path, body, content_type=kind, headers=headers)
            if response.status == 401:
                raise _Halted(Halt.UNAUTHORISED, "the service does not accept the token")
            if response.status not in (423, 429, 503):
                if response.status >= 500 and response.status != 507:
                    raise Unreachable(f"HTTP {response.status}")
                return response
            if not self._wait(_retry_after(response)):
                raise _Halted(Halt.INTERRUPTED, "the process ends")
        raise _Halted(Halt.UNREACHABLE, "the service keeps asking to wait")

    def _wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._may_go_on():
                return False
            time.sleep(min(0.1, left))
        return True


def _declared(record: Record) -> dict[str, Any]:
    one = record.contents[0]
    found = {"path": record.data["file_path"], "sha256": one["sha256"], "size": one["size"]}
    return found | {key: record.data[key] for key in ("media_type", "job_id") if record.data.get(key)}


def _title(record: Record) -> str:
    return f"{record.data['kind']} {record.data.get('file_path') or record.data.get('name')}"


def _problem(response: Response) -> tuple[str, str]:
    """Code and detail of a refusal of the service; empty if it is not from the service."""
    try:
        document = json.loads(response.body)
        return str(document.get("code") or ""), str(document.get("detail") or document.get("title") or "")
    except (ValueError, AttributeError):
        return "", ""


def _retry_after(response: Response) -> float:
    try:
        return min(_MAX_WAIT_S, max(0.2, float(response.headers.get("retry-after", "1"))))
    except ValueError:
        return 1.0
