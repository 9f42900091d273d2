import subprocess
import sys

import wandb

if len(sys.argv) > 1:
    rank = int(sys.argv[1])
    run = wandb.init(project="digits", group="ddp", job_type="worker", name=f"rank-{rank}", config={"rank": rank})
    for step in range(2):
        run.log({"loss": rank + step / 2, "rank": rank})
    run.finish()
else:
    children = [subprocess.Popen([sys.executable, __file__, str(rank)]) for rank in range(2)]
    sys.exit(max(child.wait() for child in children))
