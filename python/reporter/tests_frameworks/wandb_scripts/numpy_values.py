import numpy as np
import wandb

wandb.init(project="digits", config={"seed": np.int64(3)})
for step in range(3):
    wandb.log({"loss": np.float32(step) / 4, "acc": np.float64(0.5), "n": np.int64(step), "a0": np.array(1.5)})
