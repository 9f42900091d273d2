"""Forks, DataLoader-like workers, pools, guests and ranks: one process reports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import svc_reporter as svc
from svc_reporter._disk import run_record

from .kit import process
from .kit.fake_ingest import FakeIngest
from .kit.wait import until

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]
OPEN = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0)
"""


def test_a_child_forked_while_other_threads_report_neither_hangs_nor_reports(server: FakeIngest) -> None:
    body = (
        OPEN
        + """
import logging
logging.getLogger().addHandler(svc.LogHandler(run))
with run:
    job = run.job("a")
    job.begin()
    done = threading.Event()
    def noise():
        n = 0
        while not done.is_set():
            job.epoch(n, train_loss=1.0)
            run.log("noise")
            n += 1
            time.sleep(0.001)  # a machine under load must be able to send it all before the end
    threads = [threading.Thread(target=noise) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            job.epoch(10**6, train_loss=1.0)
            run.log("from the child")
            logging.getLogger("x").warning("from the child")
            run.job("child", lr=1)
            with run.job("\\n") as inner:
                inner.epoch(1)
            run.flush(1)
            run.delivery.produced
            run.close()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status
    done.set()
    for thread in threads:
        thread.join()
    job.done()
"""
    )
    process.run(body, {"URL": server.url})
    assert not [e for e in server.events if "child" in str(e["job_id"]) or "child" in str(e["data"].get("line"))]
    assert not [e for e in server.of("job_epoch") if e["data"]["epoch"] == 10**6]
    assert server.types().count("batch_start") == server.types().count("batch_done") == 1
    assert server.events[-1]["event_type"] == "batch_done"


def test_a_forked_child_that_leaves_the_with_block_or_is_terminated_ends_nothing(server: FakeIngest) -> None:
    body = (
        OPEN
        + """
with run:
    run.job("a").begin()
    if os.fork() == 0:
        sys.exit(0)  # unwinds the with block and runs atexit in the child
    os.wait()
    pid = os.fork()
    if pid == 0:
        time.sleep(30)
    time.sleep(0.2)
    os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    assert status == signal.SIGTERM, status
    run.log("parent goes on")
"""
    )
    process.run(body, {"URL": server.url})
    assert server.types() == ["batch_start", "job_start", "log_line", "job_done", "batch_done"]


def test_a_signal_that_comes_right_after_a_fork_ends_the_child(server: FakeIngest) -> None:
    """A pool that is closed at once would else wait for a worker that never heard of its end."""
    body = (
        OPEN
        + """
def blocked():
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())
def counted_by_child():
    pid = os.fork()
    if pid == 0:
        os._exit(len(blocked()))
    return os.waitpid(pid, 0)[1] >> 8
with run:
    run.job("a").begin()
    for _ in range(100):
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        assert os.waitpid(pid, 0)[1] == signal.SIGTERM
    assert (blocked(), counted_by_child()) == (set(), 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # what the program blocks stays blocked
    assert (counted_by_child(), blocked()) == (1, {signal.SIGTERM})
"""
    )
    process.run(body, {"URL": server.url})
    assert server.types() == ["batch_start", "job_start", "job_done", "batch_done"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_process_that_imports_the_script_starts_no_run(server: FakeIngest, method: str) -> None:
    body = f"""
import multiprocessing
run = svc.init("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0, environment=False)
if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(*pool.map(abs, range(3)))
    run.log({{"loss": 1.0}})
"""
    out, err = process.run(body, {"URL": server.url})
    assert out.split() == ["0", "1", "2"]
    assert server.types().count("batch_start") == server.types().count("job_epoch") == 1
    assert server.events[-1]["event_type"] == "batch_done"
    assert err.count("svc: run ") == 2, err


def test_a_forked_child_does_not_say_that_the_run_ended(server: FakeIngest) -> None:
    body = """
run = svc.init("vision", name="mine", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0,
               environment=False)
if os.fork() == 0:
    raise SystemExit(3)
os.wait()
if os.fork() == 0:
    svc.init("vision", name="of the child", url=os.environ["URL"], token="em_live_test", quiet=True)
    os._exit(0)
os.wait()
if os.fork() == 0:
    with run:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os._exit(0)
os.wait()
print("the parent goes on", file=sys.stderr)
"""
    _, err = process.run(body, {"URL": server.url})
    assert [line.split(":")[1] for line in err.splitlines() if line.startswith("svc: run mine")] == [
        " run mine",
        " run mine ended with the script",
    ]
    assert err.index("the parent goes on") < err.index("ended with the script")


CHILDREN = """
import multiprocessing
def child(seed):
    with svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0) as mine:
        with mine.job(f"seed{seed}") as job:
            job.epoch(0, train_loss=1.0)
            job.done({"seed": seed})
    return mine.delivery.produced
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with svc.Reporter("vision", n_total=3, batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                      resources_s=0) as run:
        if sys.argv[2] == "attach":
            os.environ["SVC_BATCH_ID"] = run.batch_id
        run.flush(5)
        with context.Pool(3) as pool:
            print(*pool.map(child, range(3)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pool_processes_report_runs_of_their_own_or_join_by_svc_batch_id(server: FakeIngest, method: str) -> None:
    alone = process.script(CHILDREN, {"URL": server.url}, method, "alone")
    out, err = alone.communicate(timeout=60)
    assert out.split() == ["5"] * 3, err
    assert len({event["batch_id"] for event in server.events}) == 4
    assert server.types().count("batch_start") == server.types().count("batch_done") == 4
    server.events.clear()
    server.ids.clear()
    joined = process.script(CHILDREN, {"URL": server.url}, method, "attach")
    out, err = joined.communicate(timeout=60)
    assert out.split() == ["4"] * 3, err
    assert {event["batch_id"] for event in server.events} == {"b"}
    assert sorted(event["job_id"] for event in server.of("job_done")) == ["seed0", "seed1", "seed2"]
    assert server.types().count("batch_start") == server.types().count("batch_done") == 1
    assert server.events[0]["event_type"] == "batch_start"
    assert server.events[-1]["event_type"] == "batch_done"


def test_a_joined_child_that_never_closes_its_run_still_delivers_when_it_ends(server: FakeIngest) -> None:
    body = """
import multiprocessing
def child():
    run = svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0)
    run.job("a").epoch(0, train_loss=1.0)
if __name__ == "__main__":
    os.environ["SVC_BATCH_ID"] = "b"
    for method in ("fork", "spawn"):
        worker = multiprocessing.get_context(method).Process(target=child)
        worker.start()
        worker.join()
"""
    process.run(body, {"URL": server.url})
    assert server.types() == ["job_start", "job_epoch", "job_done", "batch_done"] * 2


def _owned(spill: Path) -> None:
    """The batch `shared` has an owner on this machine."""
    run_record.write_started(
        [spill], batch_id="shared", project="vision", url=None, host="here", command="python sweep.py", cwd="/"
    )


def test_a_process_started_with_svc_batch_id_joins_without_starting_or_ending_the_batch(
    make: Make, server: FakeIngest, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _owned(spill)
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    with make() as run:
        with run.job("a"):
            pass
    assert run.batch_id == "shared"
    assert server.types() == ["job_start", "job_done", "resource_snapshot"]
    receipt = server.events[-1]["data"]["delivery"]
    assert receipt["produced"] == 3
    assert {event["event_id"][-12:] for event in server.events} == {receipt["sender"]}
    assert run.delivery.complete


def test_a_process_that_joined_a_batch_and_reported_nothing_sends_no_receipt(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    with make():
        pass
    assert server.events == []


def test_a_process_that_joined_a_batch_counts_while_it_runs_and_is_quiet_where_it_reported_nothing_more(
    make: Make, server: FakeIngest, spill: Path, monkeypatch: pytest.MonkeyPatch, quick: Callable[..., None]
) -> None:
    _owned(spill)
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    quick(counts_s=0.05)
    counts = "resource_snapshot"
    with make() as run, run.job("a") as job:
        job.epoch(0, train_loss=1.0)
        until(lambda: any(e["data"]["delivery_so_far"]["produced"] >= 3 for e in server.of(counts)), 20)
        until(lambda: run.delivery.pending == 0, 20)
        known = run.delivery.produced
        time.sleep(0.5)
        assert run.delivery.produced - known <= 1
    produced = [event["data"]["delivery_so_far"]["produced"] for event in server.of(counts)[:-1]]
    assert produced == sorted(produced)
    assert server.of(counts)[-1]["data"]["delivery"]["produced"] == run.delivery.produced > produced[-1]


def test_a_flush_of_a_process_that_joined_a_batch_sends_its_counts(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    with make() as run, run.job("a") as job:
        job.epoch(0, train_loss=1.0)
        for _ in range(2):
            assert run.flush(20)
        assert server.types() == ["job_start", "job_epoch", "resource_snapshot"]
        assert server.events[-1]["data"]["delivery_so_far"]["produced"] == 3


def test_an_explicit_other_batch_id_owns_its_batch(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_BATCH_ID", "shared")
    with make(batch_id="mine"):
        pass
    assert [event["batch_id"] for event in server.events] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("env", "reports"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, False),
        ({"RANK": "0", "WORLD_SIZE": "2"}, True),
        ({"SLURM_PROCID": "3"}, False),
        ({"OMPI_COMM_WORLD_RANK": "1"}, False),
        ({"RANK": "0", "SLURM_PROCID": "1"}, True),
        ({"RANK": "", "SLURM_PROCID": "0"}, True),
        ({"RANK": "abc"}, True),
    ],
)
def test_ranks_above_0_are_silent(
    make: Make, server: FakeIngest, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], reports: bool
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with make() as run:
        with run.job("a") as job:
            job.epoch(0, train_loss=1.0)
            job.log("x")
        run.log("y")
        assert run.flush(5)
    assert bool(server.events) is reports
    assert (run.delivery.produced > 0) is reports


JOINED = """
run = svc.init("vision", name=sys.argv[1], url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0,
               environment=False)
run.log({"loss": 1.0})
print("ready", flush=True)
if sys.argv[2] == "fails":
    raise RuntimeError("no more data")
input() if sys.argv[2] == "waits" else None
"""


def test_of_processes_that_joined_a_batch_without_an_owner_the_last_one_ends_it(
    server: FakeIngest, tmp_path: Path
) -> None:
    env = {"URL": server.url, "SVC_BATCH_ID": "shared"}
    fifo = tmp_path / "wait"
    os.mkfifo(fifo)
    body = JOINED.replace("input()", f"open({str(fifo)!r}).read()")
    last = process.script(body, env, "last", "waits")
    assert last.stdout is not None
    assert last.stdout.readline() == "ready\n"
    process.script(body, env, "killed", "waits").kill()
    for name, how, code in (("first", "ends", 0), ("second", "fails", 1)):
        done = process.script(body, env, name, how)
        done.communicate(timeout=60)
        assert done.returncode == code
    assert "batch_done" not in server.types()
    fifo.write_text("")
    last.communicate(timeout=60)
    (end,) = [*server.of("batch_done"), *server.of("batch_failed")]
    assert (end["data"]["n_done"], end["data"]["n_failed"]) == (2, 1)
    assert server.types()[-1] == "batch_done"


EXPLICIT = """
import multiprocessing
def train(rank, name):
    run = svc.init("vision", name=name, url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0,
                   environment=False)
    run.log({"loss": float(rank)})
    if name == "fails":
        raise RuntimeError("no more data")
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    for name in ("ends", "fails"):
        child = context.Process(target=train, args=(0, name))
        child.start()
        child.join()
        print(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_init_in_the_function_of_a_child_process_reports_a_run_that_ends_with_it(
    server: FakeIngest, method: str
) -> None:
    running = process.script(EXPLICIT, {"URL": server.url}, method)
    out, err = running.communicate(timeout=60)
    assert out.split() == ["0", "1"], err
    assert server.types().count("batch_start") == 2
    assert [event["data"]["name"] for event in server.of("batch_start")] == ["ends", "fails"]
    assert len(server.of("batch_done")) == len(server.of("batch_failed")) == 1
    assert server.of("batch_failed")[0]["data"]["reason"] == "RuntimeError: no more data"
    assert len(server.of("job_epoch")) == 2
