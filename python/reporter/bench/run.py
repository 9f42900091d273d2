"""What the reporter costs. One command, figures with their limits:

    python bench/run.py [--quick] [--json]

    call cost      job.epoch() in a loop that does a little work between calls, against a live server; in turn with it
                   json.dumps of the same values, which is what a machine takes for a call of that size
    import time    a fresh interpreter, byte code compiled
    epochs/s       end to end: produced, sent, acknowledged (the server is a minimal one in its own process)
    fast loop      100,000 steps of five values as fast as the interpreter makes them, until all are acknowledged: most
                   of them go through the disk, because they come faster than requests are answered
    exit time      close() with a server that refuses, and with one that hangs
    memory         resident set after a million events

The server here acknowledges and forgets, so that the client is what is measured. Exits 1 over a limit.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCE))

SERVER = r"""
import socket, sys, threading
def serve(connection):
    stream = connection.makefile("rb")
    while True:
        length = 0
        first = stream.readline()
        if not first:
            return
        while (line := stream.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = stream.read(length)
        if b" /api/events/batch " in first:
            columns = body.partition(b'"event_ids":[')[2].partition(b"]")[0]
            count = columns.count(b",") + 1 if columns else body.count(b'"event_id"')
            results = [b'{"db_id":1,"deduplicated":false}'] * count
            response = b'{"results":[' + b",".join(results) + b"]}"
        else:
            response = b'{"db_id":1,"deduplicated":false}'
        connection.sendall(b"HTTP/1.1 200 OK\r\nAccept-Post: application/vnd.svc.epochs+json;version=1\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(response) + response)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""

CALLS = r"""
import json, os, time, sys
import svc_reporter as svc
count, work = int(sys.argv[1]), float(sys.argv[2])
costs, plain = [], []
threads = {"stop_poll_s": 1, "heartbeat_s": 1, "resources_s": 1}
with svc.Reporter("bench", url=os.environ["URL"], token="em_live_bench", **threads) as run:
    with run.job("a") as job:
        clock = time.perf_counter_ns
        def train():
            until = clock() + work * 1e9
            while clock() < until:
                sum(range(50))
        for epoch in range(count):
            train()
            begin = clock()
            job.epoch(epoch, train_loss=0.5, val_loss=0.6, lr=1e-3, acc=0.9)
            costs.append(clock() - begin)
            train()
            begin = clock()
            json.dumps({"train_loss": 0.5, "val_loss": 0.6, "lr": 1e-3, "acc": 0.9})
            plain.append(clock() - begin)
def at(share, taken):
    return sorted(taken)[int(len(taken) * share)] / 1e3
print(json.dumps({"p50": at(0.5, costs), "p99": at(0.99, costs), "p999": at(0.999, costs),
                  "plain_p50": at(0.5, plain), "plain_p99": at(0.99, plain), "delivery": run.delivery.as_data()}))
"""

THROUGHPUT = r"""
import json, os, time, sys
import svc_reporter as svc
count = int(sys.argv[1])
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
with svc.Reporter("bench", url=os.environ["URL"], token="em_live_bench", stop_poll_s=0, resources_s=0) as run:
    with run.job("a") as job:
        job.epoch(0, train_loss=1.0)
        run.flush(10)
        before = rss()
        begin = time.perf_counter()
        for epoch in range(count):
            job.epoch(epoch, train_loss=0.5, val_loss=0.6, lr=1e-3, acc=0.9)
            if epoch % 2000 == 1999:
                while run.delivery.pending > 8000:
                    time.sleep(0.001)
        run.flush(600)
        took = time.perf_counter() - begin
print(json.dumps({"epochs_per_s": count / took, "rss_before": before, "rss_after": rss(),
                  "delivery": run.delivery.as_data()}))
"""

FAST_LOOP = r"""
import json, os, time, sys
import svc_reporter as svc
count = int(sys.argv[1])
run = svc.init("bench", url=os.environ["URL"], token="em_live_bench", quiet=True, environment=False, console=False)
run.log({"loss": 0.5, "val_loss": 0.6, "acc": 0.3, "lr": 1e-3, "batch_time_ms": 0.1}, step=0)
assert run.flush(20)
wall, processor = time.perf_counter(), time.process_time()
for step in range(1, count):
    run.log({"loss": 1 / step, "val_loss": 0.6 / step, "acc": 0.3, "lr": 1e-3, "batch_time_ms": step * 0.1}, step=step)
loop = time.perf_counter() - wall
assert run.flush(600) and run.delivery.complete, run.delivery
print(json.dumps({"loop_s": loop, "s": time.perf_counter() - wall, "cpu_s": time.process_time() - processor}))
run.finish()
"""

EXIT = r"""
import json, os, time, sys
import svc_reporter as svc
timeout = float(sys.argv[1])
run = svc.Reporter("bench", url=os.environ["URL"], token="em_live_bench", close_timeout_s=timeout)
with run.job("a") as job:
    for epoch in range(5000):
        job.epoch(epoch, train_loss=0.5)
begin = time.perf_counter()
run.close()
print(json.dumps({"took": time.perf_counter() - begin, "delivery": run.delivery.as_data()}))
"""


def script(text: str, url: str, *arguments: object) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SVC_")}
        env |= {"URL": url, "PYTHONPATH": str(SOURCE), "HOME": home}
        done = subprocess.run(
            [sys.executable, "-c", text, *map(str, arguments)], env=env, stdout=subprocess.PIPE, text=True, check=True
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def import_ms() -> float:
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        code = "import time; b = time.perf_counter(); import svc_reporter; print((time.perf_counter() - b) * 1e3)"
        runs = [
            float(subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=True).stdout)
            for _ in range(7)
        ]
    return sorted(runs[1:])[len(runs[1:]) // 2]


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    failed = False

    def report(name: str, value: float, unit: str, limit: float | None = None) -> None:
        nonlocal failed
        over = limit is not None and value > limit
        failed = failed or over
        if "--json" in sys.argv[1:]:
            print(json.dumps({"name": name, "value": value, "unit": unit, "limit": limit}), flush=True)
            return
        bound = "" if limit is None else f"  (limit {limit:g}{' EXCEEDED' if over else ''})"
        print(f"{name:<70}{value:>12,.2f} {unit}{bound}")

    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        report("import", import_ms(), "ms")
        for name, work in (("call, 1 ms of work between", 0.001), ("call, 50 µs of work between", 0.00005)):
            calls = script(CALLS, url, 2_000 if quick else 20_000, work)
            report(f"{name}, p50", calls["p50"], "µs")
            report(f"{name}, p99", calls["p99"], "µs", 50)
            report(f"{name}, p99.9", calls["p999"], "µs")
            instead = name.replace("call", "json.dumps of the same values")
            report(f"{instead}, p50", calls["plain_p50"], "µs")
            report(f"{instead}, p99", calls["plain_p99"], "µs")
        fast = script(FAST_LOOP, url, 20_000 if quick else 100_000)
        steps = "20,000" if quick else "100,000"
        report(f"{steps} steps x 5 values, the loop", fast["loop_s"], "s")
        report(f"{steps} steps x 5 values, until all is acknowledged", fast["s"], "s")
        report(f"{steps} steps x 5 values, processor time of the training's process", fast["cpu_s"], "s")
        flow = script(THROUGHPUT, url, 50_000 if quick else 1_000_000)
        report("epochs end to end", flow["epochs_per_s"], "/s")
        report("memory before", flow["rss_before"], "MiB")
        report("memory after a million events" if not quick else "memory after 50,000", flow["rss_after"], "MiB")
    finally:
        server.kill()
        server.wait()
    timeout_s = 2.0
    with socket.create_server(("127.0.0.1", 0)) as mute:
        begin = time.perf_counter()
        hang = script(EXIT, f"http://127.0.0.1:{mute.getsockname()[1]}", timeout_s)
        report("close() with a server that hangs", hang["took"], "s", timeout_s + 1)
    dead = script(EXIT, "http://127.0.0.1:9", timeout_s)
    report("close() with a server that refuses", dead["took"], "s", timeout_s + 1)
    assert time.perf_counter() - begin < 60
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
