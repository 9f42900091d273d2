from dataclasses import asdict, dataclass, field

import wandb


@dataclass
class Optimizer:
    name: str = "sgd"
    lr: float = 0.1
    betas: tuple = (0.9, 0.999)


@dataclass
class Config:
    epochs: int = 2
    optimizer: Optimizer = field(default_factory=Optimizer)
    notes: str | None = None
    augment: bool = True


config = Config()
with wandb.init(project="digits", config=asdict(config), tags=["baseline", "dataclass"], notes="a dataclass") as run:
    for epoch in range(run.config["epochs"]):
        run.log({"epoch": epoch, "loss": 2.0 - epoch})
    run.config["finished"] = True
    print(run.tags, run.notes, run.config.augment, sorted(run.config.keys()))
