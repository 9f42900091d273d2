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

`import svc_reporter as wandb` runs scripts for W&B unchanged: docs/from-wandb.md lists its names.
"""

from typing import TYPE_CHECKING

from ._delivery.delivery import Delivery
from ._run.job import Job
from ._run.log_handler import LogHandler
from ._run.reporter import Reporter
from ._run.run import Run
from ._run.start import init
from ._shared import moved
from ._shared.errors import QueryError, StopRequested
from ._version import __version__

if TYPE_CHECKING:
    from . import errors as errors
    from . import plot as plot
    from ._capture.config import Config
    from ._capture.media import Audio as Audio
    from ._capture.media import Histogram as Histogram
    from ._capture.media import Html as Html
    from ._capture.media import Image as Image
    from ._capture.media import Plotly as Plotly
    from ._capture.media import Table as Table
    from ._capture.media import Text as Text
    from ._capture.media import Video as Video
    from ._capture.objects import Molecule as Molecule
    from ._capture.objects import Object3D as Object3D
    from ._capture.summary import Summary
    from ._run.artifact import Artifact as Artifact
    from ._run.init_arguments import Settings as Settings
    from ._run.patch_tensorboard import patch_tensorboard as patch_tensorboard
    from ._sweeps.sweep import Sweep as Sweep
    from ._sweeps.sweeps import agent as agent
    from ._sweeps.sweeps import ask as ask
    from ._sweeps.sweeps import should_stop as should_stop
    from ._sweeps.sweeps import sweep as sweep
    from ._sweeps.sweeps import trial as trial
    from ._wandb.calls import AlertLevel as AlertLevel
    from ._wandb.calls import alert as alert
    from ._wandb.calls import define_metric as define_metric
    from ._wandb.calls import finish as finish
    from ._wandb.calls import log as log
    from ._wandb.calls import log_artifact as log_artifact
    from ._wandb.calls import log_code as log_code
    from ._wandb.calls import log_model as log_model
    from ._wandb.calls import login as login
    from ._wandb.calls import mark_preempting as mark_preempting
    from ._wandb.calls import plot_table as plot_table
    from ._wandb.calls import restore as restore
    from ._wandb.calls import save as save
    from ._wandb.calls import termerror as termerror
    from ._wandb.calls import termlog as termlog
    from ._wandb.calls import termwarn as termwarn
    from ._wandb.calls import unwatch as unwatch
    from ._wandb.calls import use_artifact as use_artifact
    from ._wandb.calls import use_model as use_model
    from ._wandb.calls import watch as watch
    from .errors import CommError as CommError
    from .errors import Error as Error
    from .errors import UsageError as UsageError
    from .query import Api as Api

    run: Run | None
    """The run that `init` started last in this process, and that has not ended."""
    config: Config
    summary: Summary

moved.keep_names()

__all__ = ["Delivery", "Job", "LogHandler", "QueryError", "Reporter", "Run", "StopRequested", "__version__", "init"]

_LAZY = {
    **dict.fromkeys(("AlertLevel", "alert", "define_metric", "ensure_configured"), "_wandb.calls"),
    "Settings": "_run.init_arguments",
    **dict.fromkeys(("finish", "log", "login", "mark_preempting", "require", "setup", "teardown"), "_wandb.calls"),
    **dict.fromkeys(("log_artifact", "log_code", "log_model", "plot_table", "restore", "save"), "_wandb.calls"),
    **dict.fromkeys(("unwatch", "use_artifact", "use_model", "watch"), "_wandb.calls"),
    **dict.fromkeys(("Audio", "Histogram", "Html", "Image", "Plotly", "Table", "Text", "Video"), "_capture.media"),
    **dict.fromkeys(("Molecule", "Object3D"), "_capture.objects"),
    "Artifact": "_run.artifact",
    **dict.fromkeys(("termerror", "termlog", "termsetup", "termwarn"), "_wandb.calls"),
    **dict.fromkeys(("AuthenticationError", "CommError", "Error", "UsageError"), "errors"),
    **dict.fromkeys(("agent", "ask", "should_stop", "sweep", "trial"), "_sweeps.sweeps"),
    "Sweep": "_sweeps.sweep",
    "Api": "query",
    "patch_tensorboard": "_run.patch_tensorboard",
    "Config": "_capture.config",
}
"""Names that are imported at their first use, by module, so that `import svc_reporter` stays fast."""
_SAME = {"join": "finish"}
"""Other names of W&B."""


if not TYPE_CHECKING:

    def __getattr__(name):
        """A name that is imported at its first use, the current run, or a stand-in for an unknown one."""
        if name.startswith("_"):  # what Python and its tools ask for
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._wandb.names import look_up

        return look_up(name)

    def __dir__():
        return sorted({*globals(), *_LAZY, *_SAME, "config", "run", "summary"})
