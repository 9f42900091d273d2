"""Sweeps: `ask`, `trial`, `should_stop` and `sweep` for any loop and any launcher (docs/sweeps.md).

The service keeps the sweep and hands each trial to one worker. A trial is a job: its results are what the run reports.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from .._process import ranks
from .._process.failure import is_early_end
from .._run import arguments
from .._run import trial as _trial
from .._run.init_arguments import project_name, project_of_environment
from .._run.run import Run, current_run
from .._run.start import init
from .._run.trial import Trial
from .._shared.errors import QueryError, StopRequested
from .._shared.unsupported import say
from .proposals import NeedsPackage
from .sweep import Service, Sweep
from .sweep_config import load, read_definition


class Params(dict[str, Any]):
    """The parameters of a trial, also as attributes: `params.lr`. It knows its `number`, `job_id` and `sweep_id`."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.params)
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        inside = {key[len(name) + 1 :]: value for key, value in self.items() if key.startswith(f"{name}.")}
        if inside:
            return _Group(inside)
        if name in ("number", "job_id", "batch_id", "sweep_id") and "_trial" in self.__dict__:
            return getattr(self.__dict__["_trial"], name)
        raise AttributeError(name)


class _Group(dict[str, Any]):
    """Nested parameters: `params.optimizer.lr` is `params["optimizer.lr"]`."""

    __getattr__ = Params.__getattr__


def _reserve_on_all_ranks(sweep: Sweep) -> Trial | None:
    """Rank 0 asks, and all ranks get the same trial."""
    group = ranks.process_group()
    if group is None or group.get_world_size() == 1:
        return sweep.reserve()
    words: list[Any] = [None]
    if group.get_rank() == 0:
        try:
            found = sweep.reserve()
            words = [found.as_text() if found is not None else ""]
        except Exception as error:
            words = [error]
    group.broadcast_object_list(words, src=0)
    if isinstance(words[0], Exception):
        raise words[0]
    return Trial(**json.loads(words[0])) if words[0] else None


_sweeps: dict[str, Sweep] = {}
"""The sweeps that this process works on; a process rarely has more than one."""


def _known(sweep: Sweep | str) -> Sweep:
    found = sweep if isinstance(sweep, Sweep) else _sweeps.get(str(sweep)) or Sweep.of(sweep)
    if len(_sweeps) >= 100:
        _sweeps.clear()
    _sweeps[found.id] = found
    return found


def ask(sweep: Sweep | str | None = None) -> Params | None:
    """The parameters of the next trial of the sweep, for this process; None if no trial is left.

    The next `init` reports this trial. In a process that `svc-reporter sweep run` started, `ask()` returns the trial
    that it was started for. Raises QueryError if the service refuses.
    """
    if sweep is None:
        trial = _trial.current()
        return None if trial is None else Params(trial)
    run = current_run()
    if run is not None:
        run.finish()
    _trial.end()
    known = _known(sweep)
    found = _reserve_on_all_ranks(known)
    if found is None:
        return None
    _trial.begin(found, known.hold(found))
    return Params(found)


@contextmanager
def trial(sweep: Sweep | str, **arguments: Any) -> Iterator[Run | None]:
    """The next trial of the sweep as a run: `with svc.trial(sweep) as run:`. The run is None if no trial is left.

    Arguments are those of `init`. An exception fails the trial, except one by which a tuner ends it early.
    """
    params = ask(sweep)
    if params is None:
        yield None
        return
    run = init(**arguments)
    try:
        with run:
            yield run
    finally:
        _trial.end()


def should_stop() -> bool:
    """Whether the current trial should end now: its sweep gives it up, or someone requested a stop of the run.

    With several ranks all must call it, and all get the same answer. A trial that is given up ends as `pruned`.
    """
    run = current_run()
    current = _trial.current()
    stop = run is not None and run.stop_requested
    if not stop and current is not None and ranks.rank() == 0:
        stop = current.pruned or _gives_up(current)
    if not ranks.any_rank(bool(stop)):
        return False
    if run is not None and run.stop_requested:
        run.reporter.honour_stop()
    elif current is not None:
        current.pruned = True
    return True


def _gives_up(current: Trial) -> bool:
    try:
        current.pruned = _known(current.sweep_id).is_worse(current)
    except NeedsPackage:
        raise
    except (QueryError, ValueError) as error:
        say(f"should_stop could not ask the service, so the trial goes on: {error}")
    return current.pruned


def create(config: Any, project: str | None = None, *, url: str | None = None, token: str | None = None) -> Sweep:
    """Create a sweep from a definition of this service, of W&B or of Hydra: a dictionary, or a YAML or JSON file."""
    given = load(config)
    definition = read_definition(given)
    wanted = project or given.get("project") or project_of_environment()
    if not wanted:
        raise ValueError("a sweep needs a project: give project=, or set SVC_PROJECT")
    name = arguments.project(project_name(str(wanted), "the sweep is created in", is_given=bool(project)))
    service = Service(url, token)
    try:
        document = service.post(f"/api/projects/{quote(name, safe='')}/sweeps", definition)
    except QueryError as error:
        if error.code not in ("project_not_found", "unknown_project"):
            raise
        text = f"project {name!r} does not exist, or you do not see it: create it on the page"
        raise QueryError(text, status=error.status, code=error.code) from error
    return Sweep(document, service)


def sweep(
    config: Any = None,
    function: Callable[[], Any] | None = None,
    *,
    project: str | None = None,
    count: int | None = None,
    sweep: Any = None,
    **more: Any,
) -> Sweep:
    """Create a sweep, and with `function` work on it: it is called once for each trial, at most `count` times.

    `config` may be the id of a sweep: then this process works on that one. In the function, `init` takes the trial's
    run, job and parameters; a function without `init` reports nothing but its end. Returns the sweep, which has
    an `id`. `sweep` is W&B's name for `config`.
    """
    config = sweep if config is None else config
    options = {key: more[key] for key in ("url", "token") if key in more}
    known = isinstance(config, Sweep) or (isinstance(config, str) and not os.path.exists(config))
    made = Sweep.of(config, **options) if known else create(config, project, **options)
    if not known:
        say(f"sweep {made.id}: {made.url}")
    if function is not None:
        work(made, function, count)
    return made


def agent(sweep_id: Any, function: Callable[[], Any] | None = None, *, count: int | None = None, **_more: Any) -> None:
    """W&B's name for working on a sweep that exists."""
    if function is None:
        raise ValueError("agent needs a function; for a script use `svc-reporter sweep run`")
    work(Sweep.of(sweep_id), function, count)


def work(made: Sweep, function: Callable[[], Any], count: int | None) -> int:
    """Call the function for trial after trial. Returns how many. A trial that raises is failed, and the next one comes.

    Ends when no trial is left, after `count` trials, and when someone requests a stop.
    """
    done = 0
    while count is None or done < count:
        params = ask(made)
        if params is None:
            break
        done += 1
        try:
            _call(function)
        except StopRequested:
            break
        finally:
            _trial.end()
    return done


def _call(function: Callable[[], Any]) -> None:
    """One trial. What the function leaves open ends with it, as failed if it raises."""
    failure: BaseException | None = None
    try:
        function()
    except Exception as error:
        failure = error
    except BaseException as error:
        end_run(error)
        raise
    end_run(failure)
    if failure is not None and not is_early_end(failure):
        say(f"the trial failed: {type(failure).__name__}: {failure}")


def end_run(failure: BaseException | None) -> None:
    run, current = current_run(), _trial.current()
    if run is None and current is not None and not current.reported:
        run = init(quiet=True, console=False, environment=False)
    if run is not None:
        run.finish(failure)
