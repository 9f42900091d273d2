"""The commands of `svc-reporter` that read: ls, show, best, metrics, logs, failures, compare, diff, watch and open."""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._delivery.settings import read_settings
from .._shared.cli_text import cell, number, print_table, printable
from .._shared.errors import QueryError
from ..query import Api
from ..query._api import Goal
from ..query._client import segment
from . import read_options as options_of
from . import read_parts as parts
from .read_facts import job_facts, job_row, jobs_of, run_facts, status_of
from .read_parts import FOUND, NOTHING

USAGE, SERVICE = 2, 3

Options = argparse.Namespace


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--url", help="the service's address (default: SVC_URL)")
    shared.add_argument("--token", help="a read token (default: SVC_READ_TOKEN, else SVC_TOKEN)")
    shared.add_argument("--json", action="store_true", help="print JSON, complete and without rounding")
    for name, text, run, adapt in (
        ("ls", "list runs", _ls, options_of.ls_options),
        ("show", "show a run, or one of its jobs", _show, options_of.show_options),
        ("best", "find the run with the best value of a metric over all steps", _best, options_of.best_options),
        ("metrics", "print the values of metrics of a run", _metrics, options_of.metrics_options),
        ("logs", "print log lines of a run", _logs, options_of.logs_options),
        ("failures", "list failed jobs, newest first", _failures, options_of.failures_options),
        ("compare", "compare status and metrics of runs", _compare, options_of.compare_options),
        (
            "diff",
            "show where configuration, parameters and environment of two runs differ",
            _diff,
            options_of.diff_options,
        ),
        ("watch", "print what a run reports until it ends", _watch, options_of.watch_options),
        ("open", "open the page of a run or a project", _open, options_of.open_options),
    ):
        command = commands.add_parser(name, parents=[shared], help=text, description=text)
        adapt(command)
        command.set_defaults(read=run)


def run_read(options: Options) -> int:
    """Runs a command. Returns its exit code: 0 found, 1 nothing found, 2 wrong usage, 3 service or token."""
    name = f"svc-reporter {options.command}"
    try:
        api = Api(options.url, options.token, frame="table")
    except ValueError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE
    try:
        return int(options.read(api, options))
    except QueryError as error:
        print(f"{name}: {printable(str(error))}", file=sys.stderr)
        return NOTHING if error.status == 404 else USAGE if error.status == 422 else SERVICE
    except ValueError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return FOUND
    except BrokenPipeError:
        # The reader of the output has seen enough, as `head` has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    finally:
        api.close()


# --- commands


def _ls(api: Api, options: Options) -> int:
    columns = [f"{parts.goal(name)}.{parts.quoted(name)}" for name in options.metric]
    filters = {
        "project": options.project,
        "status": options.status,
        "where": parts.where(options.query),
        "sort": options.sort,
        "order": options.order,
        "columns": columns or None,
    }
    runs = parts.page(api, "/api/batches", filters, options.limit)
    if options.json:
        return parts.print_json(runs)
    rows = [
        {
            "RUN": run["id"],
            "NAME": run["name"],
            "PROJECT": run["project"],
            "STATUS": status_of(run),
            "STARTED": run["started_at"],
            "SECONDS": number(run["elapsed_s"]),
            "JOBS": jobs_of(run),
            **{name: parts.end(run, column) for name, column in zip(options.metric, columns, strict=True)},
        }
        for run in runs
    ]
    return parts.rows(rows, "no runs found")


def _show(api: Api, options: Options) -> int:
    if options.job is not None:
        job = parts.job(api, options.run, options.job)
        return parts.print_json(job) if options.json else parts.facts(job_facts(job), job.get("traceback"))
    run = api.batch(options.run)
    jobs = list(api._client.items(f"/api/batches/{segment(options.run)}/jobs", None, options.limit))
    if options.json:
        return parts.print_json({**run, "jobs": jobs})
    parts.facts(run_facts(run), run.get("traceback"))
    if jobs:
        print()
        print_table([job_row(job) for job in jobs])
    return FOUND


def _best(api: Api, options: Options) -> int:
    goal: Goal = options.goal or parts.goal(options.metric)
    found = api.best(options.metric, goal, project=options.project, where=parts.where(options.query))
    if found is None:
        return parts.nothing(f"no run has a value of {options.metric}")
    if options.json:
        return parts.print_json({"metric": options.metric, "goal": goal, **found._asdict()})
    return parts.facts(
        {
            "run": found.batch["id"],
            "name": found.batch["name"],
            "project": found.batch["project"],
            "status": found.batch["status"],
            "job": found.job_id,
            "step": found.step,
            options.metric: found.value,
        }
    )


def _metrics(api: Api, options: Options) -> int:
    api.batch(options.run)  # an unknown run is not found, rather than without points
    records = api.metrics_table(options.run, options.metric, jobs=options.job).records()
    if options.json:
        return parts.print_json(records)
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for record in records:
        place = (record["job_id"], record["step"])
        rows.setdefault(place, {"JOB": place[0], "STEP": place[1]})[record["key"]] = number(record["value"])
    ordered = list(rows.values())
    shown = ordered if options.all else ordered[-options.limit :]
    if len(shown) < len(ordered):
        print(f"{len(ordered) - len(shown):,} earlier rows are left out; --all shows them", file=sys.stderr)
    return parts.rows(shown, "no points found")


def _logs(api: Api, options: Options) -> int:
    wanted = {"job_id": options.job, "level": options.level, "q": options.grep}
    lines = api.logs(options.run, **wanted, tail=None if options.all else options.tail)
    found = False
    for line in lines:
        found = True
        if options.json:
            print(json.dumps(line), flush=True)
        else:
            print(f"{line['timestamp']} {line['level']:<8} {printable(line['job_id'])}: {printable(line['line'])}")
    return FOUND if found else parts.nothing("no lines found")


def _failures(api: Api, options: Options) -> int:
    filters: dict[str, Any] = {"status": "failed", "project": options.project}
    ended: list[dict[str, Any]] = []
    if options.run is not None:
        run = api.batch(options.run)
        ended = [run] if run["status"] in ("failed", "lost") else []
        filters["batch"] = options.run
    jobs = parts.page(api, "/api/jobs", filters, options.limit)
    if options.json:
        return parts.print_json(jobs + [{"batch_id": run["id"], **run} for run in ended])
    rows = [
        {"RUN": run["id"], "JOB": "(the run)", "ENDED": run["ended_at"], "REASON": run["failure_reason"]}
        for run in ended
    ]
    rows += [
        {"RUN": job["batch_id"], "JOB": job["id"], "ENDED": job["ended_at"], "REASON": job["failure_reason"]}
        for job in jobs
    ]
    return parts.rows(rows, "nothing failed")


def _compare(api: Api, options: Options) -> int:
    runs = [api.batch(run) for run in dict.fromkeys(options.runs)]
    jobs = {run["id"]: list(api._client.items(f"/api/batches/{segment(run['id'])}/jobs", None, 500)) for run in runs}
    known = sorted({key for of_run in jobs.values() for job in of_run for key in job["best"]})
    metrics = options.metric or known
    best = {run["id"]: {name: parts.best_of(jobs[run["id"]], name) for name in metrics} for run in runs}
    if options.json:
        return parts.print_json([{**run, "best": best[run["id"]]} for run in runs])
    facts: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
        ("name", lambda run: run["name"]),
        ("project", lambda run: run["project"]),
        ("status", status_of),
        ("seconds", lambda run: number(run["elapsed_s"])),
        ("jobs", jobs_of),
    ]
    rows = [{"": name, **{run["id"]: of(run) for run in runs}} for name, of in facts]
    rows += [{"": f"best {name}", **{run["id"]: number(best[run["id"]][name]) for run in runs}} for name in metrics]
    return parts.rows(rows, "nothing to compare")


def _diff(api: Api, options: Options) -> int:
    one, other = (parts.settings_of(api, run) for run in options.runs)
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if options.json:
        print(json.dumps({name: [one.get(name), other.get(name)] for name in names}, indent=2))
        return FOUND if names else NOTHING
    first, second = options.runs
    rows = [{"": name, first: cell(one.get(name)), f"{second} ": cell(other.get(name))} for name in names]
    return parts.rows(rows, "they do not differ")


def _watch(api: Api, options: Options) -> int:
    wanted = set(options.metric or ())
    api.batch(options.run)
    for message in api.follow(options.run, timeout_s=options.timeout):
        if options.json:
            print(json.dumps({"kind": message.kind, "type": message.type, **parts.plain(message.payload)}), flush=True)
            continue
        for line in _watched(message.payload, wanted):
            print(printable(line), flush=True)
    return FOUND


def _watched(payload: Mapping[str, Any], wanted: set[str]) -> Iterable[str]:
    batch = payload.get("batch")
    if isinstance(batch, Mapping):
        yield f"{batch.get('id')}: {status_of(batch)}, jobs {jobs_of(batch)}"
    for point in payload.get("points") or ():
        if not wanted or point.get("key") in wanted:
            step = point.get("step", point.get("epoch"))
            yield f"{point.get('job_id')} step {step}: {point.get('key')} = {number(point.get('value'))}"
    for line in payload.get("lines") or ():
        yield f"{line.get('timestamp')} {line.get('level')} {line.get('job_id')}: {line.get('line')}"


def _open(api: Api, options: Options) -> int:
    home = str(read_settings(options.url, options.token).target)
    if options.run is not None:
        api.batch(options.run)
        url = f"{home}/b/{segment(options.run)}"
    elif options.project is not None:
        api._client.get(f"/api/projects/{segment(options.project)}")
        url = f"{home}/p/{segment(options.project)}"
    else:
        url = f"{home}/"
    print(json.dumps({"url": url}) if options.json else url)
    if not options.json:
        webbrowser.open(url)
    return FOUND
