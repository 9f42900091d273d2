"""A slow training to watch live.

Softmax regression in plain Python on the digits of scikit-learn if it is installed, else on generated data: ten noisy
8x8 images. It trains with three learning rates, one of them too high. Run it with:

    SVC_URL=http://127.0.0.1:8080 SVC_TOKEN=em_live_... python live_digits.py [seconds]
"""

from __future__ import annotations

import math
import random
import sys
import time

import svc_reporter as svc

CLASSES = 10
PIXELS = 64
RATES = (0.05, 0.5, 30.0)
EPOCHS = 40
BATCH = 32

Example = tuple[list[float], int]


def load() -> tuple[list[Example], str]:
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return make_digits(), "made-digits"
    digits = load_digits()
    rows = zip(digits.data.tolist(), digits.target.tolist(), strict=True)
    return [([v / 16 for v in pixels], label) for pixels, label in rows], "digits"


def make_digits() -> list[Example]:
    chance = random.Random(8)
    pictures = [[chance.random() for _ in range(PIXELS)] for _ in range(CLASSES)]
    return [
        ([min(1.0, max(0.0, v + chance.gauss(0, 0.35))) for v in pictures[label]], label)
        for label in (chance.randrange(CLASSES) for _ in range(900))
    ]


def softmax(weights: list[list[float]], pixels: list[float]) -> list[float]:
    scores = [row[-1] + sum(w * v for w, v in zip(row, pixels, strict=False)) for row in weights]
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    total = sum(powers)
    return [p / total for p in powers]


def evaluate(weights: list[list[float]], examples: list[Example]) -> tuple[float, float]:
    """Mean cross-entropy and accuracy."""
    loss, right = 0.0, 0
    for pixels, label in examples:
        chances = softmax(weights, pixels)
        loss -= math.log(max(chances[label], 1e-300))
        right += chances.index(max(chances)) == label
    return loss / len(examples), right / len(examples)


def train(weights: list[list[float]], examples: list[Example], rate: float) -> float:
    """One epoch of minibatch gradient descent in place; the norm of its last gradient."""
    norm = 0.0
    for start in range(0, len(examples), BATCH):
        batch = examples[start : start + BATCH]
        gradient = [[0.0] * (PIXELS + 1) for _ in range(CLASSES)]
        for pixels, label in batch:
            for k, chance in enumerate(softmax(weights, pixels)):
                error = chance - (k == label)
                row = gradient[k]
                for i, v in enumerate(pixels):
                    row[i] += error * v
                row[-1] += error
        step = rate / len(batch)
        norm = math.sqrt(sum(g * g for row in gradient for g in row)) / len(batch)
        for row, change in zip(weights, gradient, strict=True):
            for i, g in enumerate(change):
                row[i] -= step * g
    return norm


def main(seconds: float) -> None:
    examples, dataset = load()
    random.Random(1).shuffle(examples)
    examples = examples[:500]
    cut = len(examples) * 4 // 5
    learn, hold = examples[:cut], examples[cut:]
    pause = seconds / (len(RATES) * EPOCHS)
    with svc.Reporter(
        project="digits",
        experiment_type="sweep",
        n_total=len(RATES),
        tags=["demo", "live"],
        stop_poll_s=2,
        resources_s=5,
    ) as run:
        for rate in RATES:
            name = f"softmax-lr{rate}"
            with run.job(name, model="softmax", dataset=dataset, lr=rate, batch_size=BATCH, epochs=EPOCHS) as job:
                weights = [[0.0] * (PIXELS + 1) for _ in range(CLASSES)]
                best = 0.0
                for epoch in range(EPOCHS):
                    begun = time.monotonic()
                    norm = train(weights, learn, rate)
                    train_loss, _ = evaluate(weights, learn)
                    val_loss, acc = evaluate(weights, hold)
                    took = time.monotonic() - begun
                    job.epoch(epoch, train_loss=train_loss, val_loss=val_loss, lr=rate, acc=acc, grad_norm=norm)
                    if acc > best:
                        best = acc
                        job.log(f"epoch {epoch}: best accuracy so far, {acc:.3f}")
                    time.sleep(max(0.0, pause - took))
                job.done(metrics={"acc": acc, "best_acc": best})


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 120.0)
