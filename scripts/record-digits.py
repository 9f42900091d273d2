"""Record a real training sweep as events: schemas/examples/recorded/digits-sweep.jsonl.

Trains eight small networks on scikit-learn's handwritten digits with a hand-written minibatch SGD and writes
down what happened, one event a line, exactly as a reporter would have sent it. `npm run demo` replays the file.

    python3 -m venv .venv && .venv/bin/pip install scikit-learn psutil
    .venv/bin/python scripts/record-digits.py [OUTPUT]

Six jobs train normally over learning rate, width and seed. Two go wrong the way real ones do:

  - `h64-lr0.02-steps` reads past the end of its learning-rate table and raises, so it ends in `job_failed`;
  - `h128-lr0.5-seed0` has a learning rate far too high, so its loss reaches Infinity and then NaN. Nothing stops
    it: it trains on to the end, as an unattended run does, and ends in `job_done`.

Losses, accuracies and gradient norms follow from the seeds. Times and resource samples are those of the machine
that ran the script, and event ids are random, so a second recording differs in them. Who and where (host, user,
working directory) are fixed neutral words: a recording names no real machine.
"""

import os

# Before numpy loads its BLAS: with several threads the order of additions, and so the losses, would differ by run.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import hashlib
import json
import math
import platform
import secrets
import sys
import threading
import time
import uuid
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import psutil
import sklearn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).resolve()
OUTPUT = HERE.parent.parent / "schemas" / "examples" / "recorded" / "digits-sweep.jsonl"
COMMAND = "python record-digits.py"
CWD = "/home/demo/digits"
HOST = "trainer"
EPOCHS = 40
WARM_UP_EPOCHS = 8
BATCH_SIZE = 16
MOMENTUM = 0.9
LEAK = np.float32(0.01)
SAMPLE_EVERY_S = 1.0  # a reporter samples every 30 s; this sweep is over in half a minute


@dataclass(frozen=True)
class Config:
    """What one job varies. `lr_steps`, when given, replaces warm-up and cosine decay: one entry for each six epochs."""

    hidden: int
    lr: float
    seed: int
    lr_steps: tuple = field(default=())

    @property
    def job_id(self):
        return f"h{self.hidden}-lr{self.lr:g}-" + ("steps" if self.lr_steps else f"seed{self.seed}")

    def lr_at(self, epoch):
        if self.lr_steps:
            return self.lr_steps[epoch // 6]
        warm_up = min(1.0, (epoch + 1) / WARM_UP_EPOCHS)
        return self.lr * warm_up * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))


SWEEP = [
    Config(hidden=32, lr=0.005, seed=0),
    Config(hidden=128, lr=0.001, seed=0),
    Config(hidden=128, lr=0.005, seed=0),
    Config(hidden=64, lr=0.02, seed=0, lr_steps=(0.02, 0.005, 0.001)),  # covers 18 of 40 epochs
    Config(hidden=128, lr=0.02, seed=0),
    Config(hidden=128, lr=0.02, seed=1),
    Config(hidden=128, lr=0.5, seed=0),
    Config(hidden=256, lr=0.005, seed=0),
]


class Recorder:
    """Collects events in the order in which they happen; the training loop and the sampler both write to it."""

    def __init__(self, batch_id, commit):
        self.events = []
        self._batch_id = batch_id
        self._source = {"project": "digits", "host": HOST, "user": "demo", "commit": commit, "command": COMMAND}
        self._lock = threading.Lock()
        self._last = (0, 0)

    def send(self, event_type, data, job_id=None):
        with self._lock:
            now_ms = time.time_ns() // 1_000_000
            self.events.append(
                {
                    "event_id": self._uuid7(now_ms),
                    "schema_version": "1.1",
                    "event_type": event_type,
                    "timestamp": utc(now_ms),
                    "batch_id": self._batch_id,
                    "job_id": job_id,
                    "source": self._source,
                    "data": as_json(data),
                }
            )

    def log(self, job_id, level, line):
        self.send("log_line", {"line": line, "level": level}, job_id)

    def _uuid7(self, now_ms):
        # RFC 9562 §6.2 method 1: a counter after the milliseconds, so that ids sort as the events happened.
        last_ms, count = self._last
        count = count + 1 if now_ms == last_ms else 0
        self._last = (now_ms, count)
        bits = now_ms << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(uuid.UUID(int=bits))


def utc(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_json(value):
    """Numbers to six significant digits; what JSON cannot say as the strings that the event schema takes."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return float(f"{value:.6g}")
    return value


def load():
    """Train and validation sets; the training images also shifted by one pixel each way, five for one."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    train, val, train_y, val_y = train_test_split(
        images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
    )
    shifted = [train] + [np.roll(train, step, axis) for axis in (1, 2) for step in (-1, 1)]
    return (np.concatenate(shifted).reshape(-1, 64), np.tile(train_y, 5), val.reshape(-1, 64), val_y)


class Network:
    """64 pixels, two hidden leaky-ReLU layers, ten classes; single precision, gradients by hand, nothing clipped."""

    def __init__(self, hidden, rng):
        sizes = [64, hidden, hidden, 10]
        self.weights, self.biases = [], []
        for rows, columns in zip(sizes, sizes[1:]):
            self.weights.append((rng.standard_normal((rows, columns)) * math.sqrt(2 / rows)).astype(np.float32))
            self.biases.append(np.zeros(columns, np.float32))
        self.parameters = self.weights + self.biases
        self.velocity = [np.zeros_like(p) for p in self.parameters]

    def forward(self, x):
        """The inputs of each layer, and the class probabilities."""
        inputs = [x]
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            z = inputs[-1] @ w + b
            inputs.append(np.where(z > 0, z, z * LEAK))
        scores = inputs[-1] @ self.weights[-1] + self.biases[-1]
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return inputs, e / e.sum(axis=1, keepdims=True)

    def step(self, x, y, lr):
        """One SGD step; returns the mean loss before it and the norm of its gradient."""
        inputs, p = self.forward(x)
        loss = cross_entropy(p, y)
        d = p.copy()
        d[np.arange(len(y)), y] -= 1
        d /= len(y)
        weight_grads, bias_grads = [], []
        for layer in (2, 1, 0):
            weight_grads.insert(0, inputs[layer].T @ d)
            bias_grads.insert(0, d.sum(axis=0))
            d = (d @ self.weights[layer].T) * np.where(inputs[layer] > 0, np.float32(1), LEAK)
        grads = weight_grads + bias_grads
        for p, v, g in zip(self.parameters, self.velocity, grads):
            v *= MOMENTUM
            v -= np.float32(lr) * g
            p += v
        return loss, math.sqrt(sum(float(np.vdot(g, g)) for g in grads))


def cross_entropy(p, y):
    # Deliberately not the log-sum-exp form: a class given probability 0 costs Infinity, as in many a real loop.
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def top_k(p, y, k):
    best = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return float((best == y[:, None]).any(axis=1).mean())


def train(config, data, recorder):
    """Trains one job and sends its events; an exception of the training becomes `job_failed`. True when it ended well."""
    train_x, train_y, val_x, val_y = data
    job_id = config.job_id
    params = {key: value for key, value in asdict(config).items() if key != "lr_steps"}
    params |= {"lr_schedule": "steps" if config.lr_steps else "cosine", "momentum": MOMENTUM, "batch_size": BATCH_SIZE}
    started = time.perf_counter()
    recorder.send("job_start", {"model": "mlp", "dataset": "digits", "epochs_planned": EPOCHS} | params, job_id)
    try:
        rng = np.random.default_rng(config.seed)
        network = Network(config.hidden, rng)
        count = sum(p.size for p in network.parameters)
        recorder.log(job_id, "info", f"{count} parameters, {len(train_y)} training and {len(val_y)} validation images")
        best, best_epoch, finite = math.inf, 0, True
        for epoch in range(EPOCHS):
            lr = config.lr_at(epoch)
            order = rng.permutation(len(train_y))
            losses, norms = [], []
            epoch_started = time.perf_counter()
            for start in range(0, len(order), BATCH_SIZE):
                rows = order[start : start + BATCH_SIZE]
                loss, norm = network.step(train_x[rows], train_y[rows], lr)
                losses.append(loss)
                norms.append(norm)
            batch_ms = (time.perf_counter() - epoch_started) * 1000 / len(losses)
            train_p, val_p = network.forward(train_x)[1], network.forward(val_x)[1]
            train_loss, val_loss = float(np.mean(losses)), cross_entropy(val_p, val_y)
            val_acc = top_k(val_p, val_y, 1)
            recorder.send(
                "job_epoch",
                {
                    "epoch": epoch,
                    "train_loss": train_loss,
                    "val_loss": val_loss,
                    "lr": lr,
                    "batch_time_ms": batch_ms,
                    "val_acc": val_acc,
                    "grad_norm": float(np.mean(norms)),
                    "acc": {"top1": top_k(train_p, train_y, 1), "top3": top_k(train_p, train_y, 3)},
                },
                job_id,
            )
            if val_loss < best:
                best, best_epoch = val_loss, epoch
            elif epoch - best_epoch == 10:
                recorder.log(job_id, "warn", f"epoch {epoch}: no better val_loss for 10 epochs, best {best:.4g}")
            if finite and not (math.isfinite(train_loss) and math.isfinite(val_loss)):
                finite = False
                recorder.log(job_id, "error", f"epoch {epoch}: loss is not finite, train {train_loss}, val {val_loss}")
            if epoch % 5 == 4:
                recorder.log(job_id, "info", f"epoch {epoch}: val_acc {val_acc:.4f}, val_loss {val_loss:.4g}")
            if epoch % 10 == 0:
                recorder.log(job_id, "debug", f"epoch {epoch}: lr {lr:.4g}, {batch_ms:.3f} ms a minibatch")
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        recorder.log(job_id, "critical", reason)
        recorder.send("job_failed", {"reason": reason, "elapsed_s": time.perf_counter() - started}, job_id)
        return False
    metrics = {"val_loss": val_loss, "val_acc": val_acc, "best_val_loss": best, "best_epoch": best_epoch}
    recorder.send(
        "job_done",
        {"metrics": metrics, "elapsed_s": time.perf_counter() - started, "train_epochs": EPOCHS},
        job_id,
    )
    return True


def sample(recorder, stop):
    """Sends processor, memory and disk once a second, in the two spellings of the event schema by turns."""
    process, mib, tick = psutil.Process(), 1024 * 1024, 0
    psutil.cpu_percent()
    while not stop.wait(SAMPLE_EVERY_S):
        cpu, rss = psutil.cpu_percent(), process.memory_info().rss / mib
        if tick % 2 == 0:
            disk = psutil.disk_usage(".").free / mib
            recorder.send("resource_snapshot", {"cpu_util_pct": cpu, "ram_mb": rss, "disk_free_mb": disk})
        else:
            recorder.send("resource_snapshot", {"cpu_pct": cpu, "rss_mb": rss, "gpus": []})  # there is no GPU here
        tick += 1


def main():
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    data = load()
    script = HERE.read_bytes()
    commit = hashlib.sha1(b"blob %d\0" % len(script) + script).hexdigest()[:7]  # as `git hash-object` names this file
    recorder = Recorder(f"digits-sweep-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}", commit)

    started = time.perf_counter()
    recorder.send(
        "batch_start",
        {
            "experiment_type": "sweep",
            "n_total": len(SWEEP),
            "command": COMMAND,
            "cwd": CWD,
            "env_snapshot": {"commit": commit, "command": COMMAND, "cwd": CWD, "hostname": HOST},
            "tags": ["digits", "mlp"],
            "versions": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scikit-learn": sklearn.__version__,
            },
        },
    )
    stop = threading.Event()
    sampler = threading.Thread(target=sample, args=(recorder, stop))
    sampler.start()
    try:
        with np.errstate(all="ignore"):  # the diverging job is meant to run on through overflow
            ended_well = [train(config, data, recorder) for config in SWEEP]
    finally:
        stop.set()
        sampler.join()
    recorder.send(
        "batch_done",
        {
            "n_done": sum(ended_well),
            "n_failed": len(SWEEP) - sum(ended_well),
            "total_elapsed_s": time.perf_counter() - started,
        },
    )

    lines = [json.dumps(event, separators=(",", ":"), allow_nan=False) for event in recorder.events]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} events, {output.stat().st_size / 1000:.0f} kB, {output}")


if __name__ == "__main__":
    main()
