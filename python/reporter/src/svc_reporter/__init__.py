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

from ._delivery import Delivery
from ._errors import QueryError, StopRequested
from ._job import Job
from ._log_handler import LogHandler
from ._reporter import Reporter
from ._run import Run, init
from ._version import __version__

if TYPE_CHECKING:
    from . import errors as errors
    from . import plot as plot
    from ._artifact import Artifact as Artifact
    from ._calls import AlertLevel as AlertLevel
    from ._calls import Settings as Settings
    from ._calls import alert as alert
    from ._calls import define_metric as define_metric
    from ._calls import finish as finish
    from ._calls import log as log
    from ._calls import log_artifact as log_artifact
    from ._calls import log_code as log_code
    from ._calls import log_model as log_model
    from ._calls import login as login
    from ._calls import mark_preempting as mark_preempting
    from ._calls import plot_table as plot_table
    from ._calls import restore as restore
    from ._calls import save as save
    from ._calls import termerror as termerror
    from ._calls import termlog as termlog
    from ._calls import termwarn as termwarn
    from ._calls import unwatch as unwatch
    from ._calls import use_artifact as use_artifact
    from ._calls import use_model as use_model
    from ._calls import watch as watch
    from ._config import Config
    from ._media import Audio as Audio
    from ._media import Histogram as Histogram
    from ._media import Html as Html
    from ._media import Image as Image
    from ._media import Plotly as Plotly
    from ._media import Table as Table
    from ._media import Text as Text
    from ._media import Video as Video
    from ._objects import Molecule as Molecule
    from ._objects import Object3D as Object3D
    from ._patch_tensorboard import patch_tensorboard as patch_tensorboard
    from ._summary import Summary
    from ._sweep import Sweep as Sweep
    from ._sweeps import agent as agent
    from ._sweeps import ask as ask
    from ._sweeps import should_stop as should_stop
    from ._sweeps import sweep as sweep
    from ._sweeps import trial as trial
    from .errors import CommError as CommError
    from .errors import Error as Error
    from .errors import UsageError as UsageError
    from .query import Api as Api

    run: Run | None
    """The run that `init` started last in this process, and that has not ended."""
    config: Config
    summary: Summary

__all__ = ["Delivery", "Job", "LogHandler", "QueryError", "Reporter", "Run", "StopRequested", "__version__", "init"]

_LAZY = {
    **dict.fromkeys(("AlertLevel", "Settings", "alert", "define_metric", "ensure_configured"), "_calls"),
    **dict.fromkeys(("finish", "log", "login", "mark_preempting", "require", "setup", "teardown"), "_calls"),
    **dict.fromkeys(("log_artifact", "log_code", "log_model", "plot_table", "restore", "save"), "_calls"),
    **dict.fromkeys(("unwatch", "use_artifact", "use_model", "watch"), "_calls"),
    **dict.fromkeys(("Audio", "Histogram", "Html", "Image", "Plotly", "Table", "Text", "Video"), "_media"),
    **dict.fromkeys(("Molecule", "Object3D"), "_objects"),
    "Artifact": "_artifact",
    **dict.fromkeys(("termerror", "termlog", "termsetup", "termwarn"), "_calls"),
    **dict.fromkeys(("AuthenticationError", "CommError", "Error", "UsageError"), "errors"),
    **dict.fromkeys(("agent", "ask", "should_stop", "sweep", "trial"), "_sweeps"),
    "Sweep": "_sweep",
    "Api": "query",
    "patch_tensorboard": "_patch_tensorboard",
    "Config": "_config",
}
"""Names that are imported at their first use, by module, so that `import svc_reporter` stays fast."""
_SAME = {"join": "finish"}
"""Other names of W&B."""


if not TYPE_CHECKING:

    def __getattr__(name):
        """A name that is imported at its first use, the current run, or a stand-in for an unknown one."""
        if name.startswith("_"):  # what Python and its tools ask for
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._names import look_up

        return look_up(name)

    def __dir__():
        return sorted({*globals(), *_LAZY, *_SAME, "config", "run", "summary"})
