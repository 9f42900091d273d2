import os

import wandb

run = wandb.init(project="digits")
os.makedirs("out/deep", exist_ok=True)
for name in ("out/a.txt", "out/deep/b.txt", "out/c.bin", "top.txt"):
    with open(name, "w") as file:
        file.write(name)
wandb.save("out/*.txt")
wandb.save("top.txt", policy="now")
run.save("out/deep/b.txt", base_path="out", policy="end")
run.log({"files": 3})
run.log_code(".", include_fn=lambda path: path.endswith(".nothing"))
run.finish()
