import argparse

import wandb


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="gradient accumulation")
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--amp", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = parse()
    run = wandb.init(project="digits", config=vars(args), job_type="train")
    total = 0.0
    for step in range(args.steps):
        loss = 1 / (step + 1)
        total += loss
        run.log({"loss/micro": loss}, commit=False)
        if (step + 1) % args.accumulate == 0:
            run.log({"grad_norm": total / 2}, commit=False)
            run.log({"loss/train": total / args.accumulate, "lr": run.config.lr})
            total = 0.0
        print(step, run.step)
    run.finish()


if __name__ == "__main__":
    main()
