"""Interrupts at any moment lose no event that was being recorded, and leave no count without its event."""

from __future__ import annotations

import json

import pytest

from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

HAMMERED = """
import json, random
from svc_reporter._process import interrupt as _interrupt
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
    assert len(epochs) == len(set(epochs))
    assert said["counted"] <= len(epochs) <= said["counted"] + said["interrupts"]
    assert set(said["returned"]) <= set(epochs)
    receipt = server.of("batch_done")[0]["data"]["delivery"]
    assert receipt["produced"] == len(server.events)
    assert receipt["dropped"] == receipt["rejected"] == 0


HANDLERS = """
def handlers():
    return {number.name: signal.getsignal(number) for number in signal.valid_signals()
            if isinstance(number, signal.Signals)}
before = handlers()
run = svc.init("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.1, resources_s=0)
run.log({"loss": 1.0})
assert handlers() == before, {name: (one, before[name]) for name, one in handlers().items() if one != before[name]}
assert all(handlers()[name] is before[name] for name in before)
"""


def test_a_program_sees_the_signal_handlers_that_it_would_see_without_a_run(server: FakeIngest) -> None:
    body = (
        HANDLERS
        + """
run.finish()
assert handlers() == before
mine = lambda *_: None
signal.signal(signal.SIGTERM, mine)
signal.signal(signal.SIGURG, mine)
with svc.init("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0):
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGURG) is mine
assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGURG) is mine
import pickle
assert pickle.loads(pickle.dumps(sys.exit)) is sys.exit and sys.exit.__name__ == "exit"
"""
    )
    process.run(body, {"URL": server.url})


def test_a_handler_that_a_program_sets_later_works_and_its_restored_default_too(server: FakeIngest) -> None:
    body = (
        HANDLERS
        + """
run.flush(10)
got = []
old = signal.signal(signal.SIGTERM, lambda *_: got.append(1))
assert old is signal.SIG_DFL
os.kill(os.getpid(), signal.SIGTERM)
assert got == [1]
signal.signal(signal.SIGTERM, old)
print("alive", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""
    )
    out, _ = process.run(body, {"URL": server.url, "SVC_WATCHDOG": "1"}, code=-15)
    assert out == "alive\n"
    until(lambda: bool(server.of("batch_failed")), 15)
    assert server.of("job_epoch")


def test_what_a_signal_handler_of_the_program_raises_is_not_swallowed(server: FakeIngest) -> None:
    body = """
def late(*_):
    raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
run = svc.init("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0)
run.log({"loss": 1.0})
class Text:
    def __str__(self):
        time.sleep(0.5)
        return "x"
    __repr__ = __str__
class Loss:
    def __float__(self):
        time.sleep(0.5)
        return 1.0
for call in (lambda: run.log({"loss": Loss()}), lambda: run.log({"loss": Text()}), lambda: run.text(Text())):
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        call()
        print("swallowed")
    except TimeoutError as error:
        print(error)
"""
    out, _ = process.run(body, {"URL": server.url})
    assert out == "late\n" * 3


def test_ctrl_c_at_any_moment_of_the_end_leaves_a_whole_run(server: FakeIngest) -> None:
    body = """
import json
ends = []
for number in range(30):
    run = svc.init("vision", batch_id=f"b{number}", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                   resources_s=0, environment=False, quiet=True)
    for step in range(50):
        run.log({"loss": step})
    killer = threading.Timer(number / 2_000, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        killer.start()
        run.finish()
        killer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        ends.append(number)
        run.finish()
        killer.join()
print(len(ends))
"""
    out, _ = process.run(body, {"URL": server.url})
    assert int(out) > 10
    ends = {event["batch_id"]: event for event in [*server.of("batch_done"), *server.of("batch_failed")]}
    for number in range(30):
        delivery = ends[f"b{number}"]["data"]["delivery"]
        assert delivery["produced"] == sum(event["batch_id"] == f"b{number}" for event in server.events)
        assert delivery["dropped"] == 0
        assert sum(e["batch_id"] == f"b{number}" for e in server.of("job_epoch")) == 50


@pytest.mark.parametrize(("name", "recorded"), [("SIGTERM", [0, 1]), ("SIGINT", [0])])
def test_a_signal_in_the_middle_of_a_recording_leaves_counts_that_are_true(
    server: FakeIngest, name: str, recorded: list[int]
) -> None:
    """SIGTERM waits for its end; KeyboardInterrupt is raised in it, as in any other code."""
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
    epochs = [event["data"]["epoch"] for event in server.of("job_epoch")]
    assert epochs[: len(recorded)] == recorded
    (end,) = server.of("batch_failed")
    assert end["data"]["delivery"]["produced"] == len(server.events)
    assert server.types()[-2:] == ["job_failed", "batch_failed"]
