"""`init`: reads its arguments and starts a run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from .._capture.config import config_of
from .._capture.environment import wanted_parts
from .._delivery.settings import OFFLINE
from . import arguments, init_arguments
from . import mirror as _mirror
from . import resume as _resume
from .reporter import Reporter
from .run import Run, current_run

MAIN = "main"


def init(
    project: str | None = None,
    *,
    name: str | None = None,
    config: Any = None,
    tags: Iterable[str] | None = None,
    group: str | None = None,
    notes: str | None = None,
    experiment_type: str | None = None,
    n_total: int = 1,
    job: str = MAIN,
    step_unit: str = "step",
    steps: int | None = None,
    console: bool | None = None,
    environment: bool | Iterable[str] | None = None,
    quiet: bool | None = None,
    mode: str | None = None,
    id: str | None = None,
    resume: str | bool | None = None,
    reinit: str | bool | None = None,
    job_type: str | None = None,
    dir: Any = None,
    settings: Any = None,
    mirror: str | None = None,
    **more: Any,
) -> Run:
    """Start a run and print its address. `config` is a dictionary, an argparse namespace, a dataclass or a YAML file.

    `steps` is the planned length, in the unit of the steps: the service estimates the end from it.

    `environment` is True, False or the names of the parts to record (`libraries`, `gpus`, `git`, `diff`, `entry`,
    `cluster`). With `console=False` printed lines are not sent to the run's log; `quiet=True` prints nothing. Other
    arguments are those of `Reporter` (`url`, `token`, `batch_id`, `resources_s`, ...). If an earlier run of this
    process is still open, it is finished first; `reinit="create_new"` leaves it open, `"return_previous"` returns it.

    `mode` is `online`, `offline` (events stay on disk until `svc-reporter sync`) or `disabled`. `id` is the same as
    `batch_id`; `resume` is `allow`, `must`, `never` or `auto`. W&B's other keywords are accepted, and one line names
    those without an effect. Without an argument SVC_PROJECT and the variables of W&B count (WANDB_PROJECT, ...).

    `mirror` is `wandb`, `mlflow` or `tensorboard`: numbers and configuration also go there, while you migrate.

    In a process that joins a run (SVC_BATCH_ID), `name` names its job of that run.

    Raises ValueError and TypeError for invalid arguments, and nothing else.
    """
    given = {name: value for name, value in locals().items() if name not in ("more", "n_total", "job", "step_unit")}
    as_wandb = init_arguments.is_called_wandb()
    current = current_run()
    is_asked_again = project is None and name is None and config is None and not more
    if (
        reinit is None
        and current is not None
        and (is_asked_again or (as_wandb and not init_arguments.is_interactive()))
    ):
        reinit = "return_previous"  # a script that asks for its run again
    _mirror.checked(given.pop("mirror"))
    wanted = init_arguments.completed(given, more)
    if reinit in (False, "return_previous") and current is not None:
        if not as_wandb:  # W&B takes nothing from such a call
            current.config.update(config_of(config))
        return current
    details = arguments.details(*(wanted.get(what) for what in ("name", "group", "notes")))
    if not isinstance(step_unit, str) or not 1 <= len(step_unit.strip()) <= 64:
        raise ValueError("step_unit must be 1 to 64 characters")
    parts = wanted_parts(wanted.get("environment", True))
    values = config_of(wanted.get("config"))
    if as_wandb:
        values = {**init_arguments.config_defaults(), **values}
    if steps is not None:
        values = {**values, "steps": arguments.steps(steps)}
    made = _reporter_of(wanted, n_total)
    if made.trial is not None:
        values = {**values, **made.trial.params}
        job = made.trial.job_id if job == MAIN else job
        made.trial.reported = True
    elif made.has_joined and job == MAIN:
        job = _job_of_joined(made, wanted.get("name"))
    title = wanted.get("name")
    if current is not None and reinit != "create_new":
        current._finish(None, None, f"finished because {f'run {title}' if title else 'another run'} started")
    run = Run(made, values, name=title, job=job, step_unit=step_unit.strip(), quiet=bool(wanted.get("quiet")))
    run._describe(wanted, details)
    if as_wandb:
        run._axes.as_wandb = True
        run.summary.be_as_wandb(run._axes.summary_of)
    run._begin(details, parts, wanted.get("console", True) and reinit != "create_new", reinit != "create_new")
    if mirror is not None and not made._disabled:
        run._mirror = _mirror.open_mirror(mirror, run)
    return run


def _reporter_of(wanted: Mapping[str, Any], n_total: int) -> Reporter:
    """The `Reporter` of a run that begins, after the questions that `resume` asks."""
    reporter = {key: value for key, value in wanted.items() if key in init_arguments.OF_REPORTER}
    resumed = _resume.resumed_id(wanted, reporter)
    if resumed is not None:
        reporter["batch_id"] = resumed
    if wanted["mode"] == "offline":
        reporter["url"] = OFFLINE
    made = Reporter(wanted["project"], wanted["experiment_type"], n_total, tags=wanted.get("tags"), **reporter)
    if wanted["mode"] == "disabled":
        made._disabled = True
    _resume.check(made, wanted.get("resume"))
    return made


def _job_of_joined(reporter: Reporter, name: str | None) -> str:
    """The job of a process that joins a batch. It has the run's name: other processes report jobs of the batch too."""
    if name:
        return arguments.job_id(name)
    reporter.messages.log_once(
        logging.WARNING,
        "joined",
        f"this process joins run {reporter.batch_id} and reports its job {MAIN!r}. If several processes do, the later "
        "start takes it over: give each its own name=, which then names its job",
    )
    return MAIN
