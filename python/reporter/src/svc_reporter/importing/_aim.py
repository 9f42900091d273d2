"""Repositories of Aim: a folder `.aim` with RocksDB files, read by Aim itself from a copy.

Aim rewrites the files of a run when it opens them, also to read. So each run is copied first, and removed after that.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .._capture.media import Audio, Histogram, Image, Media, Plotly, Text
from .._shared.plain import plain
from ._records import FINISHED, End, Facts, Fault, File, Found, Line, Record, Row, Shown, Source, Wanted
from ._records import project_name as named
from ._values import Point, by_step, numbered

_SYSTEM = "__system__"
_NUMBERS = ("float", "float64", "int", "number")
_OWN = {"aim.log_line": "logs", "aim.log_record": "log_records"}
_TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_HASH = re.compile(r"[0-9a-zA-Z_-]+")


def open_source(wanted: Wanted) -> Source:
    import aim  # noqa: F401 - an error about it comes first

    given = Path(wanted.path)
    root = given if given.name == ".aim" or not (given / ".aim").is_dir() else given / ".aim"
    if not root.exists():
        raise FileNotFoundError(2, "there is no such folder", str(root))
    if not (root / "meta" / "chunks").is_dir():
        raise ValueError(f"{root} is not a repository of Aim (a folder with .aim)")
    return _Aim(wanted, root)


class _Aim(Source):
    name = "aim"

    def __init__(self, wanted: Wanted, root: Path) -> None:
        from aim import Repo

        self._root = root
        self._project = named(wanted.project or root.resolve().parent.name)
        self._scratch = tempfile.TemporaryDirectory(prefix="svc-import-aim-")
        self.copy = Path(self._scratch.name) / ".aim"
        for part in ("meta/chunks", "seqs/chunks", "locks"):
            (self.copy / part).mkdir(parents=True)
        for path in root.iterdir():  # the database of names and tags, and the version of the format
            if path.is_file():
                shutil.copy2(path, self.copy / path.name)
        self.repo: Any = Repo.from_path(str(self.copy))
        self._hashes = sorted(path.name for path in (root / "meta" / "chunks").iterdir() if _HASH.fullmatch(path.name))
        self.total = len(self._hashes)

    def close(self) -> None:
        self.repo = None
        self._scratch.cleanup()

    def runs(self) -> Iterator[Found | Fault]:
        found: list[tuple[int, str, str]] = []
        for own in self._hashes:
            try:
                props = self.repo.request_props(own, True)
                found.append((round(props.creation_time * 1000), own, str(props.name or own)))
            except Exception as error:  # of Aim or its database, for one damaged run
                yield Fault(own, f"{type(error).__name__}: {error}")
        for start_ms, own, title in sorted(found):
            yield Found(own, self._project, start_ms, _Run(self, own, start_ms).records, title=title)
            self.read += 1

    def open(self, own: str) -> Any:
        """The run, from a copy of its files."""
        from aim import Run

        for part in ("meta", "seqs"):
            if (self._root / part / "chunks" / own).is_dir():
                shutil.copytree(self._root / part / "chunks" / own, self.copy / part / "chunks" / own)
        run: Any = Run(own, repo=self.repo, read_only=True)
        # Aim reads through an index of all runs, which it makes later or not at all; the run's own files are complete.
        run.meta_tree = self.repo.request_tree("meta", own, read_only=True).subtree("meta")
        run.meta_run_tree = run.meta_tree.subtree("chunks").subtree(own)
        run.meta_attrs_tree = run.meta_tree.subtree("attrs")
        run.meta_run_attrs_tree = run.meta_run_tree.subtree("attrs")
        return run

    def remove(self, own: str) -> None:
        for part in ("meta", "seqs"):
            shutil.rmtree(self.copy / part / "chunks" / own, ignore_errors=True)


class _Run:
    def __init__(self, source: _Aim, own: str, start_ms: int) -> None:
        self._source = source
        self._own = own
        self._start_ms = start_ms
        self._names: dict[str, tuple[str, str]] = {}

    def records(self) -> Iterator[Record]:
        self._names.clear()
        try:
            yield from self._read(self._source.open(self._own))
        finally:
            self._source.remove(self._own)

    def _read(self, run: Any) -> Iterator[Record]:
        yield Facts(self._facts(run))
        last = self._start_ms
        series: dict[str, list[Point]] = {}
        epochs: dict[int, tuple[int, Any]] = {}
        for name, context, kind in self._traces(run):
            try:
                if kind in _NUMBERS:
                    points = self._points(run, name, context, epochs)
                    last = max(last, max((ms for _, ms, _ in points), default=0))
                    series[self._name(name, context.to_dict())] = points
                else:
                    yield from self._objects(run, name, context, kind)
            except Exception as error:  # of Aim, for one damaged series
                yield Fault(name, f"{type(error).__name__}: {error}")
        yield from self._rows(series, epochs)
        yield from self._files(run)
        ended = _tree(run.meta_run_tree).get("end_time")
        if ended:
            yield End(max(last, round(ended * 1000)), FINISHED)

    def _facts(self, run: Any) -> dict[str, Any]:
        config = dict(_tree(run.meta_run_attrs_tree))
        system = config.pop("__system_params", None)
        facts: dict[str, Any] = {"name": run.name, "notes": run.description, "tags": list(run.tags)}
        facts["group"] = run.experiment if run.experiment != "default" else None
        if isinstance(system, Mapping):  # not its list of environment variables
            facts["command"] = " ".join(map(str, system.get("arguments") or ())) or None
            facts["commit"] = ((system.get("git_info") or {}).get("commit") or {}).get("hash")
        return {**facts, "config": {str(key): plain(value) for key, value in config.items()}}

    @staticmethod
    def _traces(run: Any) -> Iterator[tuple[str, Any, str]]:
        for index, names in dict(_tree(run.meta_run_tree).get("traces") or {}).items():
            context = run.idx_to_ctx(index)
            for name, info in names.items():
                yield str(name), context, str(info.get("dtype", "float"))

    def _points(self, run: Any, name: str, context: Any, epochs: dict[int, tuple[int, Any]]) -> list[Point]:
        found: list[Point] = []
        for step, (value, epoch, at) in _values(run, "metric", name, context):
            ms = self._ms(at)
            found.append((int(step), ms, value))
            if epoch is not None and epoch == epoch and not name.startswith(_SYSTEM):
                epochs.setdefault(int(step), (ms, epoch))
        return found

    def _rows(self, series: Mapping[str, list[Point]], epochs: Mapping[int, tuple[int, Any]]) -> Iterator[Record]:
        whole = {name: numbered(points)[0] for name, points in series.items()}
        for step, ms, values in by_step(whole):
            yield Row(step, ms, values)
        for step, (ms, epoch) in sorted(epochs.items()):
            yield Row(step, ms, {"epoch": epoch}, added=True)

    def _objects(self, run: Any, name: str, context: Any, kind: str) -> Iterator[Record]:
        from aim.sdk.sequences.sequence_type_map import SEQUENCE_TYPE_MAP

        sequence = SEQUENCE_TYPE_MAP.get(kind, _OWN.get(kind))
        if sequence is None:
            yield Fault(name, f"{kind} has no counterpart here")
            return
        shown = self._name(name, context.to_dict())
        for step, (value, *_epoch, at) in _values(run, sequence, name, context):
            ms = self._ms(at)
            if sequence == "logs":
                yield Line(ms, _TERMINAL_CODES.sub("", str(value.data)).rstrip("\r\n"), stream="stdout")
            elif sequence == "log_records":
                logged = value.storage.get("timestamp")
                yield Line(self._ms(logged), str(value.message), logging.getLevelName(value.level).lower())
            else:
                try:
                    media = [_media_of(one) for one in value] if isinstance(value, (list, tuple)) else _media_of(value)
                    yield Shown(shown, int(step), ms, media)
                except (ValueError, TypeError, KeyError, OSError) as error:
                    yield Fault(f"{name} at step {step}", f"{type(error).__name__}: {error}")

    def _files(self, run: Any) -> Iterator[Record]:
        for name, artifact in dict(_tree(run.meta_run_tree).get("artifacts") or {}).items():
            try:
                target = urlsplit(str(artifact.uri))
                if target.scheme == "file":
                    yield File(str(name), Path(url2pathname(target.path)))
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    yield File(str(name), Path(artifact.download(folder)))
            except Exception as error:  # of Aim's storages: no credentials, not there any more
                yield Fault(f"file {name}", f"{type(error).__name__}: {error}")

    def _name(self, name: str, context: Mapping[str, Any]) -> str:
        """`train/loss` for the context `{"subset": "train"}`; other contexts follow the name."""
        base = f"system/{name[len(_SYSTEM) :]}" if name.startswith(_SYSTEM) else name
        others = ", ".join(f"{key}={value}" for key, value in sorted(context.items()) if key != "subset")
        subset = str(context["subset"]) if "subset" in context else ""
        shown = (f"{subset}/{base}" if subset else base) + (f" {others}" if others else "")
        exact = (name, repr(sorted(context.items())))
        while self._names.setdefault(shown, exact) != exact:  # "train/loss" without a context
            shown += "~"
        return shown

    def _ms(self, seconds: Any) -> int:
        return round(float(seconds) * 1000) if seconds else self._start_ms


def _values(run: Any, sequence: str, name: str, context: Any) -> Iterator[tuple[Any, Any]]:
    """Step, and value, epoch and time."""
    found = run._get_sequence(sequence, name, context)
    if found is not None:
        yield from found.data.view(["val", "epoch", "time"]).items()


def _tree(tree: Any) -> Mapping[Any, Any]:
    """Its content; empty if nothing was written."""
    try:
        found = tree.collect()
    except (KeyError, StopIteration):
        return {}
    return found if isinstance(found, Mapping) else {}


def _media_of(value: Any) -> Media:
    kind = type(value).__name__
    if kind == "Image":
        return Image(value.to_pil_image(), caption=value.caption or None)
    if kind == "Audio":
        return Audio(value.get().getvalue(), caption=value.json().get("caption") or None)
    if kind == "Distribution":
        return Histogram(np_histogram=value.to_np_histogram())
    if kind == "Figure":
        return Plotly(_Figure(value.data))
    if kind == "Text":
        return Text(value.data)
    raise TypeError(f"{kind} has no counterpart here")


class _Figure:
    """A figure that is JSON already: no plotly is needed to keep it."""

    def __init__(self, data: Any) -> None:
        self._data = str(data)

    def to_json(self) -> str:
        return self._data
