"""`svc-reporter files ls|get|put` and `svc-reporter artifact ls|get|put`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._delivery.settings import Settings, read_settings
from .._shared.errors import QueryError

_PUT_S = 24 * 3600.0


def main(words: Sequence[str]) -> int:
    """Runs the command. Returns its exit code: 0 done, 1 nothing found, 2 wrong usage, 3 service or token."""
    options = _parser().parse_args(words)
    try:
        return int(options.run(options))
    except QueryError as error:
        print(f"svc-reporter {words[0]}: {error}", file=sys.stderr)
        return 1 if error.status == 404 else 3
    except (ValueError, OSError, KeyError) as error:
        print(f"svc-reporter {words[0]}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--url", help="the service's address (default: SVC_URL)")
    shared.add_argument("--token", help="a token (default: SVC_TOKEN)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    parser = argparse.ArgumentParser(prog="svc-reporter", description="Files and artifacts of runs.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    files = kinds.add_parser("files", help="files of a run").add_subparsers(dest="action", required=True)
    listed = files.add_parser("ls", parents=[shared], help="list the files of a run")
    listed.add_argument("batch")
    listed.add_argument("prefix", nargs="?")
    listed.set_defaults(run=_files_ls)
    got = files.add_parser("get", parents=[shared], help="download files of a run; unchanged ones are kept")
    got.add_argument("batch")
    got.add_argument("prefix", nargs="?")
    got.add_argument("--to", default=".", help="the folder (default: the working directory)")
    got.set_defaults(run=_files_get)
    put = files.add_parser("put", parents=[shared], help="add files to a run")
    put.add_argument("batch")
    put.add_argument("paths", nargs="+", type=Path)
    put.set_defaults(run=_files_put)
    artifact = kinds.add_parser("artifact", help="artifacts of a project").add_subparsers(dest="action", required=True)
    listed = artifact.add_parser("ls", parents=[shared], help="list the artifacts of a project, or files of one")
    listed.add_argument("name", help="a project, or project/name:version")
    listed.add_argument("--type")
    listed.set_defaults(run=_artifact_ls)
    got = artifact.add_parser("get", parents=[shared], help="download an artifact; unchanged files are kept")
    got.add_argument("name", help="project/name:version or alias")
    got.add_argument("--to", help="the folder (default: artifacts/<name>-<version>)")
    got.set_defaults(run=_artifact_get)
    put = artifact.add_parser("put", parents=[shared], help="store files as the next version of an artifact")
    put.add_argument("name", help="project/name, or project/name:alias")
    put.add_argument("paths", nargs="+", type=Path)
    put.add_argument("--type", default="dataset")
    put.set_defaults(run=_artifact_put)
    return parser


def _api(options: argparse.Namespace) -> Any:
    from ..query import Api

    return Api(options.url, options.token)


def _print(options: argparse.Namespace, rows: list[dict[str, Any]], *columns: str) -> int:
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        for row in rows:
            print("\t".join("" if row.get(column) is None else str(row[column]) for column in columns))
    return 0 if rows else 1


def _files_ls(options: argparse.Namespace) -> int:
    rows = [dict(one) for one in _api(options).batch(options.batch).files(options.prefix)]
    return _print(options, rows, "size", "media_type", "path")


def _files_get(options: argparse.Namespace) -> int:
    found = _api(options).batch(options.batch).files(options.prefix)
    rows = [{"path": str(one.download(options.to)), "size": one["size"]} for one in found]
    return _print(options, rows, "path")


def _artifact_ls(options: argparse.Namespace) -> int:
    api = _api(options)
    if "/" not in options.name:
        return _print(options, api.artifacts(options.name, type=options.type), "name", "type", "latest", "size")
    found = api.artifact(options.name)
    return _print(options, found.files(), "size", "sha256", "path")


def _artifact_get(options: argparse.Namespace) -> int:
    found = _api(options).artifact(options.name)
    folder = found.download(options.to)
    return _print(options, [{"artifact": found.qualified_name, "path": folder}], "path")


def _files_put(options: argparse.Namespace) -> int:
    from .._run.run_files import name_in_run

    store, settings = _store(options)
    records = []
    for path in _expanded(options.paths):
        name = name_in_run(path, None)
        kept = store.put(path)
        data = {"kind": "file", "batch_id": options.batch, "file_path": name}
        content = {"path": name, "sha256": kept.sha256, "size": kept.size, "content": kept.name}
        records.append(store.add({**data, "files": [content]}, _unique(options.batch, name)))
    return _sent(options, store, settings, records)


def _artifact_put(options: argparse.Namespace) -> int:
    from ..query._artifact import parsed

    store, settings = _store(options)
    path, _, alias = options.name.partition(":")
    project, name, _ = parsed(path, None)
    listed = []
    for given in options.paths:
        for source in _expanded([given]):
            kept = store.put(source)
            inner = source.relative_to(given).as_posix() if given.is_dir() else source.name
            listed.append({"path": inner, "sha256": kept.sha256, "size": kept.size, "content": kept.name})
    data = {"kind": "artifact", "project": project, "name": name, "type": options.type}
    data["aliases"] = [alias] if alias else []
    return _sent(options, store, settings, [store.add({**data, "files": listed}, _unique(project, name))])


def _store(options: argparse.Namespace) -> tuple[Any, Settings]:
    from .._disk.file_store import FileStore

    settings = read_settings(options.url, options.token)
    if settings.target is None or not settings.token:
        raise QueryError("; ".join(settings.complaints) or "no service is configured: set SVC_URL and SVC_TOKEN")
    return FileStore(settings.folder), settings


def _sent(options: argparse.Namespace, store: Any, settings: Settings, records: list[Any]) -> int:
    from .._delivery.transport import Transport
    from .._delivery.uploads import Halt, Uploads

    assert settings.target is not None
    deadline = time.monotonic() + _PUT_S
    transport = Transport(settings.target, settings.token, settings.tuning.request_timeout_s)
    uploads = Uploads(
        store,
        transport,
        may_go_on=lambda: time.monotonic() < deadline,
        say=lambda _topic, text: print(text, file=sys.stderr),
    )
    done = uploads.round(records)
    if done.halt is Halt.LATER:  # a batch that does not exist, or no room: nothing to wait for here
        store.settle(records)
    rows = [{"version": made.get("version"), "name": made.get("name")} for made in done.versions.values()]
    _print(
        options, rows or [{"files": done.files, "bytes": done.bytes}], *(("name", "version") if rows else ("files",))
    )
    if done.halt is not None:
        print(f"stopped: {done.why}", file=sys.stderr)
        return 1 if done.halt is Halt.LATER else 3
    return 2 if done.refused else 0


def _expanded(paths: Sequence[Path]) -> list[Path]:
    """Files, and those below folders. Raises FileNotFoundError for one that is not there."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(2, "there is no such file", str(path))
        found.extend(sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path])
    return found


def _unique(place: str, name: str) -> str:
    from .._disk.file_store import record_name

    return record_name(place, f"put {name} {time.time_ns()}")
