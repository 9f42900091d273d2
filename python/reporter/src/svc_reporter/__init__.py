"""Reports training runs to the experiment monitoring service, and never harms the training.

import svc_reporter as svc

run = svc.init(project="vision", name="baseline", config={"lr": 3e-4})
for step, batch in enumerate(loader):
    run.log({"loss": loss}, step=step)

Or batch by batch and job by job:

with svc.Reporter(project="vision", experiment_type="sweep", n_total=2) as run:
    for seed in range(2):
        with run.job(f"seed{seed}", model="resnet18", lr=3e-4) as job:
            for epoch in range(90):
                job.epoch(epoch, train_loss=loss, val_loss=val)
            job.done(metrics={"acc": acc})

SVC_URL and SVC_TOKEN say where to and as whom. Everything public is named here; `_`-modules are not.
"""

from ._delivery import Delivery
from ._errors import QueryError, StopRequested
from ._job import Job
from ._log_handler import LogHandler
from ._reporter import Reporter
from ._run import Run, init
from ._version import __version__

__all__ = ["Delivery", "Job", "LogHandler", "QueryError", "Reporter", "Run", "StopRequested", "__version__", "init"]
