"""This service, with its embedded PostgreSQL, and its reporter."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def serve(home: str, port: int) -> list[str]:
    """As `npm start` starts it."""
    words = json.loads((ROOT / "package.json").read_text())["scripts"]["start"].split()
    settings = [word for word in words if "=" in word and not word.startswith("--")]
    flags = [word for word in words if word.startswith("--")]
    own = [f"SVC_PORT={port}", f"SVC_DATA_DIR={home}/svc", "NODE_ENV=production"]
    return ["env", *settings, *own, "node", *flags, str(ROOT / "dist/cli/main.js"), "start"]


def call(url: str, path: str, token: str | None = None, body: object = None) -> bytes:
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url + path, headers=headers, data=json.dumps(body).encode() if body else None)
    answer: bytes = urllib.request.urlopen(request, timeout=60).read()
    return answer


def prepare(url: str) -> dict[str, str]:
    """Makes the first account and a token for the reporter, or signs in again."""
    account = {"email": "bench@example.com", "password": "a password of the bench"}
    try:
        session = json.loads(call(url, "/api/auth/register", body=account))["token"]
    except urllib.error.HTTPError:
        session = json.loads(call(url, "/api/auth/login", body=account))["token"]
    token = json.loads(call(url, "/api/tokens", session, {"name": "bench", "scope": "reporter"}))["token"]
    return {"SVC_URL": url, "SVC_TOKEN": token, "PEERS_SESSION": session}


def open_run():  # type: ignore[no-untyped-def]
    import svc_reporter

    run = svc_reporter.init("bench", quiet=True, console=False)
    return lambda values, step: run.log(values, step=step), run.finish


def count() -> int:
    url, session = os.environ["SVC_URL"], os.environ["PEERS_SESSION"]
    batch = json.loads(call(url, "/api/batches?project=bench", session))["items"][0]
    table = call(url, f"/api/batches/{batch['id']}/metrics.csv", session)
    return table.count(b"\n") - 1
