from datetime import timedelta

import wandb
from wandb import AlertLevel

run = wandb.init(project="digits")
previous = 10.0
for loss in (5.0, 5.0, 5.0, 4.0):
    wandb.log({"loss": loss})
    if loss == previous:
        wandb.alert("Plateau", f"loss is {loss}", level=AlertLevel.WARN, wait_duration=timedelta(minutes=5))
    previous = loss
run.alert(title="Done", text="trained", level="INFO", wait_duration=0)
