import wandb

first = wandb.init(project="digits", name="generator", reinit="create_new")
second = wandb.init(project="digits", name="discriminator", reinit="create_new")
for step in range(3):
    first.log({"loss": 1.0 + step})
    second.log({"loss": 2.0 + step, "real": 0.5}, step=step * 2)
second.config.update({"side": "d"})
first.finish()
second.log({"end": 1})
second.finish()
