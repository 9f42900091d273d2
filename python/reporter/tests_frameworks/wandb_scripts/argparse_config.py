import argparse

import wandb

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
wandb.init(project="digits", entity="team", config=args, save_code=True)
for epoch in range(wandb.config.epochs):
    wandb.log({"epoch": epoch, "train/loss": 1 / (epoch + 1), "lr": args.lr})
wandb.finish()
