import wandb
from omegaconf import OmegaConf

cfg = OmegaConf.create(
    {"model": {"name": "unet", "depth": 4, "channels": [16, 32]}, "optim": {"lr": 0.01, "name": "adamw"}, "seed": 1}
)
wandb.init(project="digits", config=OmegaConf.to_container(cfg, resolve=True), name=f"{cfg.model.name}-{cfg.seed}")
wandb.config.update({"optim": {"lr": 0.02, "name": "adamw"}}, allow_val_change=True)
for step in range(3):
    wandb.log({"train": {"loss": 1.0 - step / 4, "lr": float(cfg.optim.lr)}})
print(wandb.config["model"]["channels"], wandb.config.seed, wandb.config.optim["lr"], wandb.run.name)
