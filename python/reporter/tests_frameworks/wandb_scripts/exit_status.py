import sys

import wandb


def main() -> int:
    wandb.init(project="digits", name="exits")
    for step in range(3):
        wandb.log({"loss": 3.0 - step})
        if step == 2:
            print("diverged", file=sys.stderr)
            return 3
    return 0


sys.exit(main())
