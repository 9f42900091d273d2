import wandb

run = wandb.init(project="digits")
run.log({"loss": 2})
run.finish(exit_code=1)
