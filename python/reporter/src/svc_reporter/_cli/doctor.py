"""`svc-reporter doctor`: checks the set-up, and prints advice for each error."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

from .._capture.git import git_state
from .._delivery.needed_version import is_older, upgrade_advice
from .._delivery.replay import in_order
from .._delivery.responses import is_of_service, reason_of
from .._delivery.settings import Settings, is_switched_off
from .._delivery.transport import CA_ADVICE, Response, Transport, Unreachable
from .._disk.own_files import own_folder
from .._disk.spill import REJECTED, earlier_folders, folders
from .._process import ranks
from .._shared.ids import now_ms
from .._shared.process import hostname
from .._version import __version__

Say = Callable[[str], None]
_SKEW_S = 60


class _Findings:
    def __init__(self, say: Say) -> None:
        self._say = say
        self.faults = 0

    def good(self, text: str) -> None:
        self._say(f"ok    {text}")

    def note(self, text: str) -> None:
        self._say(f"note  {text}")

    def fault(self, text: str, advice: str) -> None:
        self.faults += 1
        self._say(f"FAULT {text}")
        self._say(f"      → {advice}")


def examine(settings: Settings, say: Say) -> int:
    """Check the set-up and pass the findings to `say`. Returns the exit code: 1 if there is an error."""
    found = _Findings(say)
    found.good(f"svc-reporter {__version__}, Python {sys.version.split()[0]}, host {hostname()}")
    for complaint in settings.complaints:
        advice = "create a reporter token on the Tokens page of the service" if "TOKEN" in complaint else ""
        found.fault(complaint, advice or "export SVC_URL=http://host:port of the service")
    _process(found)
    if settings.target is not None and _network(found, settings):
        _service(found, settings)
    _folders(found, settings)
    _extras(found)
    return 1 if found.faults else 0


def _process(found: _Findings) -> None:
    rank = ranks.rank()
    if rank > 0:
        found.note(f"this process is rank {rank}: it reports nothing, only rank 0 reports")
    if is_switched_off():
        found.note("SVC_DISABLED is set: nothing is reported")
    if os.environ.get("SVC_BATCH_ID"):
        found.note(
            f"SVC_BATCH_ID is set: reporters join batch {os.environ['SVC_BATCH_ID']} without starting or ending it"
        )
    if os.environ.get("SVC_RERUN_JOBS"):
        found.note("SVC_RERUN_JOBS is set: only the jobs named there are reported")
    state = git_state(os.getcwd())
    if "commit" in state:
        found.good(f"git {state['commit']}{' with uncommitted changes' if state.get('dirty') else ''}")
    else:
        found.note("no git repository here: batches will have no commit")


def _network(found: _Findings, settings: Settings) -> bool:
    target = settings.target
    if target is None:
        return False
    if target.shows_token:
        found.note(f"{target} is not encrypted: the token travels in clear text")
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)}
    except OSError as error:
        found.fault(f"{target.host} has no address ({error})", "check the spelling of SVC_URL, and this machine's DNS")
        return False
    found.good(f"{target.host} is {', '.join(sorted(str(address) for address in addresses))}")
    return True


def _service(found: _Findings, settings: Settings) -> None:
    if settings.target is None:
        return
    transport = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
    try:
        alive = transport.get("/livez")
        _clock(found, alive)
        if not _is_json(alive, "status"):
            found.fault(f"{settings.target}/livez: {reason_of(alive)}", _advice_on_proxy(alive))
            return
        found.good(f"{settings.target} responds")
        ready = transport.get("/readyz")
        if ready.status != 200:
            found.fault(f"the service is not ready (HTTP {ready.status})", "its database may be down; see its log")
        if settings.token:
            _token(found, transport, settings.token)
    except Unreachable as error:
        advice = "is the service running, and can its port be reached from here?"
        if CA_ADVICE in str(error):
            advice = "this machine must trust the certificate."
        found.fault(f"{settings.target} does not respond: {error}", f"{advice} Until then events are kept on disk")
    finally:
        transport.close()


def _token(found: _Findings, transport: Transport, token: str) -> None:
    """Check the token by sending an empty array, which stores nothing."""
    response = transport.post("/api/events/batch", b"[]")
    needed = response.headers.get("x-svc-reporter-needed", "0")
    if is_older(__version__, needed):
        found.fault(
            f"svc-reporter {__version__} is older than the service needs", upgrade_advice(needed, transport.target)
        )
    if response.status == 200 and _is_json(response, "results"):
        found.good(f"the token …{token[-4:]} may report")
    elif response.status == 200 or not is_of_service(response.body):
        found.fault(f"ingest: {reason_of(response)}", _advice_on_proxy(response))
    elif response.status == 401:
        kind = "" if token.startswith(("em_live_", "ag_live_")) else "; reporter tokens begin with em_live_"
        found.fault("the token is not accepted", f"create a new one on the Tokens page of the service{kind}")
    elif response.status == 403:
        found.fault("the token may not report", "it needs the scope `reporter`")
    else:
        found.fault(f"ingest: {reason_of(response)}", "see the service's log")


def _clock(found: _Findings, response: Response) -> None:
    try:
        skew_s = now_ms() / 1000 - parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return
    if abs(skew_s) > _SKEW_S:
        ahead = "ahead of" if skew_s > 0 else "behind"
        found.fault(f"this clock is {abs(skew_s):.0f} s {ahead} the service's", "set the time (chrony, ntpd)")


def _folders(found: _Findings, settings: Settings) -> None:
    places = folders(settings.folder)
    for place in places:
        problem = _unwritable(place)
        if problem is None:
            found.good(f"spill folder {place}")
            break
        found.note(f"{place} cannot be written ({problem})")
    else:
        found.fault("events cannot be kept on disk", "set SVC_REPORTER_DIR to a writable folder")
    sources = [*places, *earlier_folders(settings.folder)]
    waiting = in_order(sources, settings.tuning)
    if waiting:
        size = sum(_size(path) for path in waiting)
        found.note(
            f"{len(waiting)} spill files wait ({size:,} bytes): the next reporter sends them, or `svc-reporter sync`"
        )
    refused = in_order([place / REJECTED for place in sources], settings.tuning)
    if refused:
        found.note(f"{len(refused)} files of rejected events: fix the cause, then run `svc-reporter sync --rejected`")


def _unwritable(place: Path) -> str | None:
    try:
        own_folder(place, create=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x" * 4096)
            file.flush()
    except OSError as error:
        return str(error)
    return None


def _extras(found: _Findings) -> None:
    if importlib.util.find_spec("pynvml") is None and os.path.exists("/proc/driver/nvidia/version"):
        found.fault("this machine has a GPU, but nvidia-ml-py is not installed", "pip install 'svc-reporter[gpu]'")
    if importlib.util.find_spec("psutil") is None and not os.path.exists("/proc/stat"):
        found.note("without psutil this system's CPU and memory are not sampled: pip install 'svc-reporter[system]'")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_json(response: Response, key: str) -> bool:
    """Whether this is a success of the service: a proxy or sign-in page may answer with 200, too."""
    try:
        return response.status == 200 and key in json.loads(response.body)
    except (ValueError, TypeError):
        return False


def _advice_on_proxy(response: Response) -> str:
    if response.status in (502, 503, 504):
        return "a proxy answers, but not the service behind it: is the service running?"
    return "is SVC_URL the service's address? Another server, a proxy or a sign-in page answers there"
