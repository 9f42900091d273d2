"""Copies of a Reporter: pickled, deep-copied, forked, in pools; and that no thread of it imports anything."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import svc_reporter as svc

from .kit import process
from .kit.fake_ingest import FakeIngest

# Processes that are started, killed and waited for.
pytestmark = pytest.mark.slow

Make = Callable[..., svc.Reporter]


def test_a_copy_within_the_process_is_the_reporter_itself(make: Make, server: FakeIngest) -> None:
    with make() as run, run.job("a") as job:
        assert copy.deepcopy(run) is run
        assert pickle.loads(pickle.dumps(run)) is run
        assert copy.deepcopy({"callbacks": [job]})["callbacks"][0] is job
    assert server.types() == ["batch_start", "job_start", "job_done", "batch_done"]


def test_the_token_is_in_no_pickle_that_may_become_a_file(make: Make) -> None:
    with make() as run:
        assert run.credential
        assert run.credential.encode() not in pickle.dumps(run)
        assert run.credential.encode() not in pickle.dumps(run.job("a"))


def test_a_reporter_unpickled_in_another_program_reports_nothing_and_logs_it_once(
    server: FakeIngest, tmp_path: object
) -> None:
    write = """
import pickle
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], stop_poll_s=0, resources_s=0)
with run:
    pickle.dump({"model": 1, "callback": run.job("a")}, open(sys.argv[1], "wb"))
"""
    read = """
import pickle
job = pickle.load(open(sys.argv[1], "rb"))["callback"]
for epoch in range(3):
    job.epoch(epoch, train_loss=1.0)
job.done()
"""
    file = f"{tmp_path}/model.pickle"
    environment = {"URL": server.url, "SVC_TOKEN": "em_live_test"}
    process.script(write, environment, file).communicate(timeout=30)
    reading = process.script(read, environment, file)
    _, err = reading.communicate(timeout=30)
    assert reading.returncode == 0, err
    assert server.types() == ["batch_start", "batch_done"]
    assert err.count("reports nothing here") == 1


POOL = """
import multiprocessing
def child(given):
    run, seed = given
    with run.job(f"seed{seed}", seed=seed) as job:
        job.epoch(0, train_loss=1.0)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with svc.Reporter("vision", n_total=3, batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                      resources_s=0) as run:
        run.flush(5)
        with context.Pool(2) as pool:
            pool.map(child, [(run, seed) for seed in range(3)])
            pool.close()
            pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_reporter_handed_to_a_pool_joins_its_batch_in_every_worker(server: FakeIngest, method: str) -> None:
    running = process.script(POOL, {"URL": server.url}, method)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert {event["batch_id"] for event in server.events} == {"b"}
    assert sorted(event["job_id"] for event in server.of("job_done")) == ["seed0", "seed1", "seed2"]
    assert server.types().count("batch_start") == server.types().count("batch_done") == 1


BATCH_ID = """
import multiprocessing
def child(batch_id):
    with svc.Reporter("vision", batch_id=batch_id, url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                      resources_s=0) as run:
        run.job(f"p{os.getpid()}").epoch(0, train_loss=1.0)
if __name__ == "__main__":
    with svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                      resources_s=0) as run:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.map(child, [run.batch_id])
"""


def test_a_pool_worker_that_was_given_the_batch_id_reports_without_an_environment_variable(server: FakeIngest) -> None:
    running = process.script(BATCH_ID, {"URL": server.url})
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert len(server.of("job_epoch")) == 1
    assert server.types().count("batch_start") == server.types().count("batch_done") == 1


def test_a_forked_worker_that_reports_nothing_logs_it_once(server: FakeIngest) -> None:
    body = """
run = svc.Reporter("vision", batch_id="b", url=os.environ["URL"], token="em_live_test", stop_poll_s=0, resources_s=0)
with run:
    run.job("a").begin()
    if os.fork() == 0:
        for epoch in range(5):
            run.job("b").epoch(epoch, train_loss=1.0)
        os._exit(0)
    os.wait()
"""
    running = process.script(body, {"URL": server.url})
    _, err = running.communicate(timeout=30)
    assert err.count("reports nothing here") == 1, err
    assert server.types() == ["batch_start", "job_start", "job_done", "batch_done"]


def test_no_thread_of_the_reporter_imports_a_module(server: FakeIngest) -> None:
    """A process that is forked while another thread imports a module waits for that module forever."""
    body = """
import threading
late = []
def watch(event, arguments):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        late.append(arguments[0])
sys.addaudithook(watch)
run = svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.05, heartbeat_s=0.05,
                   resources_s=0.05)
with run:
    with run.job("a", text="a\\ud800b") as job:
        for epoch in range(100):
            job.epoch(epoch, train_loss=1.0, note="x\\ud800")
        time.sleep(0.5)
        run.flush(5)
assert not late, late
"""
    running = process.script(body, {"URL": server.url.replace("127.0.0.1", "localhost")})
    _, err = running.communicate(timeout=30)
    assert running.returncode == 0, err


@pytest.mark.parametrize("reporters", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_forks_while_the_reporter_sends_and_connects_hang_never(server: FakeIngest, reporters: int) -> None:
    body = """
for round in range(int(os.environ["REPORTERS"])):
    run = svc.Reporter("vision", url=os.environ["URL"], token="em_live_test", stop_poll_s=0.01, resources_s=0.01)
    run.__enter__()
    job = run.job("a")
    for n in range(10):
        job.epoch(n, train_loss=1.0)
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            import http.client, ssl, email.utils, urllib.request
            "x".encode("idna")
            job.epoch(n, train_loss=1.0)
            with svc.Reporter("vision", batch_id="other", url=os.environ["URL"], token="em_live_test", stop_poll_s=0,
                              resources_s=0) as own:
                own.job("b").epoch(n)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status
    run.close()
"""
    process.run(body, {"URL": server.url, "REPORTERS": str(reporters)}, timeout_s=300)
    forks = 10 * reporters
    assert len([event for event in server.of("job_epoch") if event["batch_id"] != "other"]) == forks
    assert len([event for event in server.of("job_epoch") if event["batch_id"] == "other"]) == forks
