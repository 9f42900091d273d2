from datetime import timedelta

import wandb

run = wandb.init(project="digits")
wandb.termlog("starting")
wandb.termwarn("careful", repeat=False)
run.alert(title="low", text="accuracy", level=wandb.AlertLevel.WARN, wait_duration=timedelta(minutes=5))
wandb.alert("again", "text")
wandb.log({"acc": 0.1})
print(bool(run.id), run.disabled)
