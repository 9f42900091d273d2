import numpy as np
import pandas as pd
import wandb
from PIL import Image

run = wandb.init(project="digits")
table = wandb.Table(columns=["id", "image", "guess", "truth", "score"])
rng = np.random.default_rng(1)
for i in range(3):
    image = Image.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8))
    table.add_data(i, wandb.Image(image), f"g{i}", "t", i / 3)
run.log({"predictions": table, "accuracy": 0.5})
frame = pd.DataFrame({"name": ["a", "b"], "value": [1.5, 2.5]})
run.log({"frame": wandb.Table(dataframe=frame)})
print(len(table.data), table.columns)
