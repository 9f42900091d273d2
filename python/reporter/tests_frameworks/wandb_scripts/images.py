import numpy as np
import wandb
from PIL import Image

run = wandb.init(project="digits", config={"classes": {"0": "cat"}})
for step in range(2):
    array = np.full((10, 10, 3), step * 60, dtype=np.uint8)
    mask = np.zeros((10, 10), dtype=np.uint8)
    box = {"position": {"minX": 0.1, "maxX": 0.5, "minY": 0.1, "maxY": 0.5}, "class_id": 0, "box_caption": "cat"}
    boxed = wandb.Image(array, caption="boxed", boxes={"predictions": {"box_data": [box], "class_labels": {0: "cat"}}})
    masked = wandb.Image(array, masks={"truth": {"mask_data": mask, "class_labels": {0: "cat"}}})
    wandb.log({"boxed": boxed, "masked": masked}, commit=False)
    wandb.log({"samples": [wandb.Image(Image.new("RGB", (6, 6)), caption=str(i)) for i in range(3)]}, commit=False)
    wandb.log({"grey": wandb.Image(np.zeros((5, 5))), "loss": step})
wandb.finish()
