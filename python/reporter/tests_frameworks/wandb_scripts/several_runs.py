import wandb

for seed in range(3):
    run = wandb.init(project="digits", group="seeds", name=f"seed-{seed}", config={"seed": seed}, reinit=True)
    for step in range(3):
        wandb.log({"loss": seed + step})
    wandb.finish()
