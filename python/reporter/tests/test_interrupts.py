"""Interrupts at any moment lose no event that was being recorded, and leave no count without its event."""

from __future__ import annotations

import json

import pytest

from .kit import process
from .kit.fake_ingest import FakeIngest

HAMMERED = """
import json, random
from svc_reporter import _interrupt
kind = os.environ["KIND"]
sys.setswitchinterval(0.0005)
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0,
                   heartbeat_s=0, queue_size=50_000, close_timeout_s=60)
main = threading.main_thread().ident
armed = over = False
sent = 0
gone = []
def hammer():
    # One interrupt for each time that the loop says it is inside its `try`: a second one could land in its `except`.
    global armed, sent
    rng = random.Random(7)
    while not over:
        time.sleep(rng.random() * 0.0002)
        if not armed:
            continue
        armed = False
        sent += 1
        if kind == "stop":
            _interrupt.interrupt("b")
        else:
            signal.pthread_kill(main, signal.SIGINT)
    gone.append(time.monotonic())
with run:
    job = run.job("a")
    job.begin()
    job.epoch(0, n=0.0)
    threading.Thread(target=hammer).start()
    step = interrupts = 0
    returned = []
    while not gone or (interrupts < sent and time.monotonic() < gone[0] + 5):
        try:
            while step < 30_000:
                armed = True
                step += 1
                job.epoch(step, n=1.0)
                returned.append(step)
            over = True
            time.sleep(0.001)
        except (KeyboardInterrupt, svc.StopRequested):
            interrupts += 1
    run._stop.seen = False
    counted = job._epochs
    job.done()
    print(json.dumps({"interrupts": interrupts, "returned": returned, "counted": counted}))
"""


@pytest.mark.parametrize("kind", ["stop", "ctrl-c"])
def test_every_step_that_was_recorded_is_sent_though_interrupts_come_at_random_moments(
    server: FakeIngest, kind: str
) -> None:
    out, _ = process.run(HAMMERED, {"URL": server.url, "KIND": kind}, timeout_s=120)
    said = json.loads(out.splitlines()[-1])
    assert said["interrupts"] >= 10
    epochs = [event["data"]["epoch"] for event in server.of("job_epoch")]
    assert len(epochs) == len(set(epochs)) == said["counted"]
    assert set(said["returned"]) <= set(epochs)
    receipt = server.of("batch_done")[0]["data"]["delivery"]
    assert receipt["produced"] == len(server.events)
    assert receipt["dropped"] == receipt["rejected"] == 0


def test_ctrl_c_is_pythons_own_again_after_the_last_run(server: FakeIngest) -> None:
    body = """
before = signal.getsignal(signal.SIGINT)
with svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0):
    pass
assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler
mine = lambda *_: None
signal.signal(signal.SIGINT, mine)
with svc.Reporter("vision", batch_id="c", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0):
    assert signal.getsignal(signal.SIGINT) is mine
"""
    process.run(body, {"URL": server.url})


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_in_the_middle_of_a_recording_takes_effect_after_it(server: FakeIngest, name: str) -> None:
    body = f"""
class Loss:
    def __float__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.05)
        return 2.0
with svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                  resources_s=0) as run:
    with run.job("a") as job:
        job.epoch(0, train_loss=1.0)
        job.epoch(1, train_loss=Loss())
        job.epoch(2, train_loss=3.0)
"""
    process.run(body, {"URL": server.url}, code=None)
    assert [event["data"]["epoch"] for event in server.of("job_epoch")] == [0, 1]
    (end,) = server.of("batch_failed")
    assert end["data"]["delivery"]["produced"] == len(server.events)
    assert server.types()[-2:] == ["job_failed", "batch_failed"]
