import wandb

run = wandb.init(project="digits", config={"a": 1}, mode="disabled")
wandb.log({"loss": 1}, step=3)
wandb.config.b = 2
print(wandb.config.a, wandb.config["b"])
wandb.finish()
