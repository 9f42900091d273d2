import numpy as np
import wandb

wandb.init(project="digits")
rng = np.random.default_rng(0)
for step in range(2):
    table = wandb.Table(columns=["id", "score"], data=[[i, i / 2] for i in range(4)])
    table.add_data(4, 2.0)
    assert table.get_column("id") == [0, 1, 2, 3, 4]
    wandb.log({"table": table, "hist": wandb.Histogram(rng.normal(size=100)), "loss": step})
