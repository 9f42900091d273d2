"""`svc-reporter demo`: a small training in plain Python, to see a first run arrive."""

from __future__ import annotations

import math
import random
import time

STEPS = 60


def demo(url: str | None, token: str | None, *, seconds: float = 30.0) -> None:
    """Fit a line to noisy points by gradient descent and report each step.

    Raises what `svc_reporter.init` raises.
    """
    from .. import init  # the package imports its commands first

    draw = random.Random(7)
    slope, offset = 3.0, -1.0
    points = [(x, slope * x + offset + draw.gauss(0, 0.3)) for x in (draw.uniform(-1, 1) for _ in range(400))]
    train, held_out = points[:300], points[300:]
    w, b, lr = 0.0, 0.0, 0.05

    def loss(of: list[tuple[float, float]]) -> float:
        return sum((w * x + b - y) ** 2 for x, y in of) / len(of)

    config = {"lr": lr, "batch_size": 30, "steps": STEPS}
    with init(project="first-steps", name="hello", config=config, url=url, token=token) as run:
        for step in range(STEPS):
            for x, y in draw.sample(train, 30):
                error = w * x + b - y
                w, b = w - lr * error * x / 3, b - lr * error / 3
            run.log({"train_loss": loss(train), "val_loss": loss(held_out), "slope": w}, step=step)
            if step % 10 == 0:
                print(f"step {step}: val_loss {loss(held_out):.4f}, y = {w:.2f} x + {b:.2f}")
            time.sleep(seconds / STEPS)
        run.summary["slope"] = w
        run.summary["error"] = math.sqrt(loss(held_out))
