import wandb

wandb.init(project="digits")
for step in range(4):
    wandb.log({"loss": step * 0.5}, commit=False)
    wandb.log({"acc": step * 0.25})
wandb.log({"final": 1.0})
