import os
from typing import Any

import wandb


class Logger:
    def __init__(self, use_wandb: bool, **kwargs: Any) -> None:
        self.use_wandb = use_wandb
        self.step = 0
        if use_wandb and wandb.run is None:
            wandb.init(**kwargs)

    def scalars(self, prefix: str, **values: float) -> None:
        if self.use_wandb:
            wandb.log({f"{prefix}/{key}": value for key, value in values.items()}, step=self.step)

    def close(self) -> None:
        if wandb.run is not None:
            with open(os.path.join(wandb.run.dir, "final.txt"), "w") as file:
                file.write("done")
            wandb.finish()


logger = Logger(True, project="digits", group="loggers", resume="allow")
for _ in range(3):
    logger.scalars("train", loss=1.0 / (logger.step + 1), acc=logger.step / 10)
    if logger.step % 2 == 0:
        logger.scalars("val", loss=2.0)
    logger.step += 5
wandb.log({"test/acc": 0.25})
print(wandb.run.step, wandb.run.group)
logger.close()
print(wandb.run)
