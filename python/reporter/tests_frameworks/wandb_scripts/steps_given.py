import wandb

run = wandb.init(project="digits", name="steps", reinit=True)
for step in range(0, 50, 10):
    wandb.log({"loss": 100 - step}, step=step)
    if step % 20 == 0:
        wandb.log({"val_loss": 90 - step}, step=step)
wandb.log({"test_acc": 0.5})
run.finish()
