import sys

import wandb

wandb.init(project="digits")
wandb.log({"loss": 2})
sys.exit(3)
