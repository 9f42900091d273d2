import numpy as np
import torch
import wandb

run = wandb.init(project="digits", config={"f": np.float32(0.5), "i": np.int64(3), "l": [1, "a", None], "none": None})
run.log({"nan": float("nan"), "inf": float("inf"), "minus": -np.inf, "flag": True, "int": np.int32(4)})
run.log({"tensor": torch.tensor(2.5), "zero": np.float64(0), "one": np.array([1.0]), "text": "a word"})
run.log({"nested": {"a": 1, "b": {"c": 2.0}}, "big": 2**40, "small": 1e-30})
run.log({"hist": wandb.Histogram(np_histogram=np.histogram([1, 2, 2, 3], bins=3)), "ok": False})
print(run.config["f"], run.config["i"], run.config["l"])
