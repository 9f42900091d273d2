"""A sweep of the service, as a worker sees it: its definition, its trials, and the next one for this worker."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from .._delivery.responses import text_of
from .._delivery.settings import read_settings
from .._delivery.transport import Transport, Unreachable
from .._process import ranks, watchdog
from .._run.trial import Trial
from .._shared.errors import QueryError
from .._shared.process import hostname
from .proposals import Study

_RETRY_S = (0.5, 1, 2, 4, 8, 15, 30)
_PAUSED_S = 5.0
_REFRESH_S = 1.0
"""How old the values of other trials may be for `should_stop`."""
_PAGE = 500
_TIMEOUT_S = 30.0
_LEASE_S = 90


class Sweep:
    """A sweep of the service. Get one by `svc.sweep(definition)` or `Sweep.of(id)`."""

    def __init__(self, document: Mapping[str, Any], service: Service) -> None:
        self.document = dict(document)
        self._service = service
        self._studies: dict[str, tuple[Study, int]] = {}
        self._refreshed = -_REFRESH_S
        self._asked = 0

    @staticmethod
    def of(sweep: Sweep | str, *, url: str | None = None, token: str | None = None) -> Sweep:
        """The sweep with this id, or this sweep. An id of W&B's form, `entity/project/id`, counts by its last part."""
        if isinstance(sweep, Sweep):
            return sweep
        service = Service(url, token)
        name = str(sweep).rstrip("/").rsplit("/", 1)[-1]
        return Sweep(service.get(f"/api/sweeps/{quote(name, safe='')}"), service)

    @property
    def id(self) -> str:
        return str(self.document["id"])

    @property
    def batch_id(self) -> str:
        return str(self.document["batch_id"])

    @property
    def project(self) -> str:
        return str(self.document["project"])

    @property
    def url(self) -> str:
        """The address of its page."""
        return f"{self._service.address}/b/{quote(self.batch_id, safe='')}"

    @property
    def address(self) -> str:
        """The address of the service."""
        return self._service.address

    def note_command(self, facts: Mapping[str, Any]) -> None:
        """Record by which command a worker was started. Raises QueryError."""
        self._service.post(f"/api/sweeps/{self.id}/commands", facts)

    def refresh(self) -> Sweep:
        """Read its state, trials by state and best trial again: `sweep.refresh().document["best"]`."""
        self.document = self._service.get(f"/api/sweeps/{self.id}")
        return self

    def trials(self) -> list[dict[str, Any]]:
        """All trials, oldest first."""
        return list(reversed(list(self._listed({}))))

    def state_of(self, trial: Trial) -> str | None:
        """The state of a trial that the service has not settled; None for others."""
        open_ones = self._listed({"changed_after": 2**53 - 1})
        return next((str(one["state"]) for one in open_ones if one["number"] == trial.number), None)

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<Sweep {self.id} at {self.url}>"

    def _listed(self, filters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            query = {**filters, "limit": _PAGE, **({"cursor": cursor} if cursor else {})}
            words = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
            page = self._service.get(f"/api/sweeps/{self.id}/trials?{words}")
            yield from page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return

    def _updated(self, use: str) -> Study:
        """The study that proposes or prunes, with the news since the last call."""
        study, seen = self._studies.get(use) or (Study(self.document, proposes=use == "propose"), 0)
        filters: dict[str, Any] = {"changed_after": seen}
        if use == "prune":
            filters["intermediate"] = "true"
        news = list(self._listed(filters))
        study.update(news)
        self._studies[use] = study, max([seen, *(int(trial["changed"]) for trial in news)])
        return study

    def reserve(self, *, wait: bool = True) -> Trial | None:
        """A trial for this worker; None if none is left. Waits while the sweep is paused."""
        self._asked += 1
        body: dict[str, Any] = {"worker": worker_name(), "reports_start": True, "ask_id": _ask_id(self._asked)}
        lease_s = lease_seconds()
        if lease_s:
            body["lease_s"] = lease_s
        if self.document["method"] not in ("grid", "random"):
            body["params"] = self._updated("propose").propose()
        refreshed = False
        while True:
            try:
                found = self._service.post(f"/api/sweeps/{self.id}/trials", body, paused_is_none=True)
            except QueryError as error:
                if error.status != 422 or "params" not in body or refreshed:
                    raise
                # Someone may have edited the space.
                refreshed = True
                self.refresh()
                self._studies.clear()
                body["params"] = self._updated("propose").propose()
                continue
            if found is not PAUSED:
                break
            if not wait:
                return None
            time.sleep(_PAUSED_S)
        if found is None:
            return None
        return Trial(
            self.id,
            self.batch_id,
            self.project,
            int(found["number"]),
            str(found["job_id"]),
            dict(found["params"]),
            str(self.document["metric"]["name"]),
            body["ask_id"] if lease_s else "",
            lease_s,
        )

    def hold(self, trial: Trial) -> watchdog.Hold | None:
        """Keep the trial for this worker for as long as this process lives."""
        return self._service.hold(trial)

    def release(self, trial: Trial, *, evicted: bool) -> None:
        """Give a trial back whose process has died, so that another worker gets it at once."""
        facts = trial.keeping()
        if facts is not None:
            try:
                self._service.post(facts["path"], {"ask_id": facts["ask_id"], "release": True, "evicted": evicted})
            except QueryError:
                return  # another worker has it, or the service is away and the lease will run out

    def is_worse(self, trial: Trial) -> bool:
        """Whether its early stopping gives up this trial."""
        if not self.document.get("early_stopping"):
            return False
        if time.monotonic() - self._refreshed >= _REFRESH_S:
            self._updated("prune")
            self._refreshed = time.monotonic()
        return self._studies["prune"][0].is_worse(trial.number, dict(trial.values))


PAUSED = object()


class Service:
    """Requests to the service, repeated while it cannot be reached: a worker waits, it does not fail."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        settings = read_settings(url, token)
        if settings.target is None:
            raise ValueError("no address of a service: set SVC_URL, or give url=")
        self.address = str(settings.target).rstrip("/")
        self._token = settings.token
        self._transport = Transport(settings.target, settings.token, _TIMEOUT_S)

    def hold(self, trial: Trial) -> watchdog.Hold | None:
        facts = trial.keeping()
        if facts is None:
            return None
        try:
            return watchdog.hold({**facts, "url": self.address, "token": self._token})
        except OSError:
            return None  # without a watchdog: the events of its job keep it

    def get(self, path: str) -> Any:
        return self._request("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any], *, paused_is_none: bool = False) -> Any:
        return self._request("POST", path, body, paused_is_none)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None, paused_is_none: bool = False) -> Any:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        for delay in (*_RETRY_S, None):
            try:
                response = self._transport.request(method, path, content)
            except Unreachable as error:
                if delay is None:
                    raise QueryError(f"{self.address} does not respond: {error}") from error
                time.sleep(delay)
                continue
            if response.status in (429, 502, 503, 504) and delay is not None:
                time.sleep(_seconds(response.headers.get("retry-after")) or delay)
                continue
            return self._result(response.status, response.body, paused_is_none)
        raise AssertionError("unreachable")

    def _result(self, status: int, body: bytes, paused_is_none: bool) -> Any:
        if status == 204:
            return None
        try:
            document = json.loads(body)
        except ValueError:
            document = {"detail": f"no JSON, so it is not the service; is SVC_URL right? {text_of(body)}"}
        if status in (200, 201):
            return document
        code = document.get("code") if isinstance(document, dict) else None
        if paused_is_none and code == "sweep_paused":
            return PAUSED
        text = document.get("detail") or document.get("title") if isinstance(document, dict) else None
        raise QueryError(f"HTTP {status} {code or ''}: {text}", status=status, code=code)


def _seconds(text: str | None) -> float:
    try:
        return min(60.0, float(text or 0))
    except ValueError:
        return 0.0


def lease_seconds() -> int:
    """After how many silent seconds another worker may get the trial; 0 without a lease.

    The watchdog renews it, a process of its own: code that keeps the interpreter busy for long loses no trial.
    """
    if not watchdog.is_wanted():
        return 0
    text = os.environ.get("SVC_TRIAL_LEASE_S", "").strip()
    seconds = int(text) if text.isdigit() else _LEASE_S
    return 0 if seconds == 0 else min(86_400, max(10, seconds))


def worker_name() -> str:
    """Names this worker for people: its machine, its process and its place in a cluster."""
    task = os.environ.get("SLURM_ARRAY_TASK_ID")
    job = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ.get("SLURM_JOB_ID")
    place = f" slurm {job}{f'_{task}' if task else ''}" if job else ""
    index = os.environ.get("JOB_COMPLETION_INDEX")
    if index and not place:
        place = f" k8s {index}"
    return f"{hostname() or socket.gethostname()}:{os.getpid()}{place}"[:256]


def _ask_id(nth: int) -> str:
    """Repeating a request with the same id returns the same trial. All ranks of one training have the same id."""
    if ranks.world_size() == 1:
        return uuid.uuid4().hex
    env = os.environ
    step = (env.get("SLURM_JOB_ID"), env.get("SLURM_STEP_ID"))
    if all(step) and env.get("SLURM_PROCID") is not None:
        launch = f"slurm {step} {env.get('SLURM_RESTART_COUNT', '')}"
    elif env.get("LOCAL_WORLD_SIZE", env.get("WORLD_SIZE")) == env.get("WORLD_SIZE"):
        # All ranks are children of one launcher on this machine.
        launch = f"{hostname()} {os.getppid()} {_began(os.getppid())} {env.get('TORCHELASTIC_RESTART_COUNT', '')}"
    else:
        raise RuntimeError(
            "several machines train together: call torch.distributed.init_process_group() before svc.ask(), or start "
            "the training with `svc-reporter sweep run`"
        )
    return hashlib.sha256(f"{launch} {nth}".encode()).hexdigest()[:32]


def _began(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[19].decode()
    except (OSError, IndexError):
        return ""
