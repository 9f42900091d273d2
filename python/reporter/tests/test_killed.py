"""A training that is killed, against the real service: what it reported half a second before is there, and it ends."""

from __future__ import annotations

import secrets
import time
from urllib.parse import quote

import pytest

from .kit import process
from .kit.real_server import RealServer
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

BODY = """
run = svc.init(
    project=os.environ["PROJECT"], name="night", console=False,
    url=os.environ["URL"], token=os.environ["TOKEN"],
)
print(run.id, flush=True)
for step in range(100_000):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
    os.write(1, f"{step} {time.time()}\\n".encode())
    time.sleep(0.005)
"""
PROMISED_S = 0.5
"""Contract §10 promises what was reported so long before; what is younger may be lost with the process."""


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5, 1.0, 2.0])
def test_a_kill_loses_no_step_that_was_reported_half_a_second_before(real_server: RealServer, seconds: float) -> None:
    project = f"killed-{secrets.token_hex(4)}"
    env = {"URL": real_server.url, "TOKEN": real_server.token, "PROJECT": project, "SVC_WATCHDOG": "1"}
    running = process.script(BODY, env)
    assert running.stdout is not None
    batch_id = running.stdout.readline().strip()
    time.sleep(seconds)
    killed = time.time()
    running.kill()
    out, err = running.communicate(timeout=20)
    assert batch_id, err
    # The kill may cut the last line anywhere.
    reported = [line.split() for line in out.splitlines(keepends=True) if line.endswith("\n")]
    last = max((int(step) for step, at in reported if float(at) < killed - PROMISED_S), default=-1)
    promised = list(range(last + 1))

    path = f"/api/batches/{quote(batch_id, safe='')}"
    batches = f"/api/batches?project={project}"  # a batch that is not there yet is no error of this list
    until(lambda: [one["status"] for one in real_server.call("GET", batches)["items"]] == ["failed"], 30)
    batch = real_server.call("GET", path)
    assert batch["name"] == "night"
    assert "SIGKILL" in batch["failure_reason"]
    (job,) = real_server.call("GET", f"{path}/jobs")["items"]
    assert job["status"] == "failed"

    def stored() -> list[int]:
        series = real_server.call("GET", f"{path}/metrics?keys=loss")["series"]
        return [int(step) for one in series for step in one["steps"]]

    if promised:
        until(lambda: stored()[: len(promised)] == promised, 20)
        assert len(promised) > 10 or seconds < 1
    steps = stored()
    assert steps == list(range(len(steps)))
    # How many steps were lost with the process is not known, so the receipt must not say that all are here.
    assert real_server.call("GET", f"{path}/delivery")["state"] in {"unknown", "incomplete"}
