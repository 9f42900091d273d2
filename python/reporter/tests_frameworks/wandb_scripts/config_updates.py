import wandb

defaults = {"lr": 0.1, "layers": [4, 2], "optimizer": {"name": "sgd", "momentum": 0.9}}
wandb.init(project="digits", config=defaults)
config = wandb.config
config.update({"lr": 0.2}, allow_val_change=True)
config.extra = "x"
config["batch_size"] = 32
assert config.lr == 0.2 and config["layers"] == [4, 2] and config.get("missing", 1) == 1
assert config.optimizer["momentum"] == 0.9 and "extra" in config and "nothing" not in config
assert dict(config)["batch_size"] == 32 and set(config.keys()) >= {"lr", "extra"}
wandb.log({"lr": config.lr})
