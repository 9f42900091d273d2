"""What a `Run` does with files: `save`, `log_artifact`, `use_artifact`, `log_code`, `watch`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._shared.plain import text_of
from .._shared.unsupported import say_unsupported

if TYPE_CHECKING:
    from .._capture.watch_model import Watching
    from .artifact import Artifact
    from .reporter import Reporter

_MAX_GLOBBED = 10_000
_CODE = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".cfg", ".sh", ".json", ".md")
_CODE_NAMES = ("requirements", "Dockerfile")
_NO_CODE = frozenset(("wandb", "svc-run", "node_modules", "__pycache__", "venv", "env", "dist", "build"))
_MAX_CODE_BYTES = 1024 * 1024


class RunFileCalls:
    """Base of `Run`."""

    _reporter: Reporter
    _finished: bool
    _job_id: str

    def _file_parts(self) -> None:
        """Called by `__init__` of `Run`."""
        self._at_end: list[tuple[str, Path, bool]] = []
        self._live: dict[str, tuple[int, int]] = {}
        self._watched: Watching | None = None

    def save(
        self,
        glob_str: Any = None,
        base_path: Any = None,
        policy: str = "end",
        glob: bool = True,
        **_more: Any,
    ) -> list[str]:
        """Keep files with the run: `run.save("checkpoints/*.pt")`. Returns the paths that match now.

        With `policy="end"` they are taken when the run ends, with `now` at once, with `live` at once and again at the
        end and at each further `save`, if they have changed. Paths are relative to `base_path`, else to the working
        directory.
        """
        if glob_str is None or self._finished:
            return []
        pattern = os.fspath(glob_str)
        base = Path(base_path) if base_path is not None else None
        found = self._matching(pattern, glob)
        if policy in ("now", "live"):
            for path in found:
                self._take_file(path, base, again=policy == "live")
        if policy != "now" and len(self._at_end) < 1_000:
            self._at_end.append((pattern, base or Path(), glob))
        if policy not in ("now", "live", "end"):
            say_unsupported(f"save(policy={policy!r})", "the files are taken at the end")
        return [str(path) for path in found]

    def _matching(self, pattern: str, glob: bool) -> list[Path]:
        import glob as globbing  # here, so that the import of the package stays fast

        try:
            names = globbing.glob(pattern, recursive=True) if glob else [pattern]
            found = [Path(name) for name in sorted(names)[:_MAX_GLOBBED]]
            inner = [file for folder in found if folder.is_dir() for file in sorted(folder.rglob("*"))[:_MAX_GLOBBED]]
            return [path for path in [*found, *inner] if path.is_file()]
        except (OSError, ValueError):
            return []

    def _take_file(self, path: Path, base: Path | None, *, again: bool = False) -> None:
        try:
            info = path.stat()
        except OSError:
            return
        name = name_in_run(path, base)
        state = (info.st_mtime_ns, info.st_size)
        if self._live.get(name) == state:
            return
        if self._reporter.files.add_file(path, name, link=not again):
            self._live[name] = state

    def _take_files_at_end(self) -> None:
        """Files of `save` that the run still has to take, and those in `run.dir`."""
        for pattern, base, glob in self._at_end:
            for path in self._matching(pattern, glob):
                self._take_file(path, base if str(base) != "." else None)
        folder = self.__dict__.get("_made_dir")
        if folder is not None:
            for path in self._matching(str(folder), False):
                self._take_file(path, Path(folder))

    # --- artifacts

    def log_artifact(
        self,
        artifact_or_path: Any,
        name: str | None = None,
        type: str | None = None,
        aliases: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        **_more: Any,
    ) -> Artifact:
        """Store a file, a folder or an `Artifact` as the next version of an artifact of the project.

        Returns at once; `artifact.wait()` waits until the service has it. Raises ValueError and OSError for a file that
        is not there.
        """
        from .artifact import artifact_of

        found, wanted = artifact_of(artifact_or_path, name, type, lambda: self._reporter.batch_id, aliases)
        if not self._finished:
            found.submit(self._reporter.files, self._reporter.project, [*wanted, *(tags or ())])
        return found

    def use_artifact(self, artifact_or_name: Any, type: str | None = None, *_args: Any, **_more: Any) -> Any:
        """A version of an artifact: `run.use_artifact("resnet:best").download()` returns its folder.

        The name may have a project in front, and a version or alias behind (`latest` without one). The service records
        that this run has used it. Raises CommError if the service has no such artifact, or does not answer.
        """
        from .artifact import Artifact
        from .artifact_lookup import stored_artifact

        if isinstance(artifact_or_name, Artifact):
            return artifact_or_name
        found = stored_artifact(self._reporter, text_of(artifact_or_name))
        self._reporter.files.add_use(found.project, found.source_name, found.version)
        return found

    def log_model(self, path: Any, name: str | None = None, aliases: Iterable[str] | None = None, **_more: Any) -> None:
        """`log_artifact` of type `model`."""
        self.log_artifact(path, name or f"run-{self._reporter.batch_id}-{Path(path).name}", "model", aliases)

    def use_model(self, name: str) -> str:
        """Download a model and return its path: of the file, if it has one, else of the folder."""
        found = self.use_artifact(name)
        folder = found.download()
        files = found.files()
        return str(Path(folder) / files[0]["path"]) if len(files) == 1 else str(folder)

    def upsert_artifact(self, artifact_or_path: Any, *args: Any, **more: Any) -> Artifact:
        return self.log_artifact(artifact_or_path, *args, **more)

    def finish_artifact(self, artifact_or_path: Any, *args: Any, **more: Any) -> Artifact:
        return self.log_artifact(artifact_or_path, *args, **more)

    def log_code(
        self,
        root: Any = ".",
        name: str | None = None,
        include_fn: Callable[..., bool] | None = None,
        exclude_fn: Callable[..., bool] | None = None,
        **_more: Any,
    ) -> Artifact | None:
        """Store the source files below a folder as an artifact of type `code`."""
        from .artifact import Artifact

        base = Path(root or ".")
        project = self._reporter.project
        artifact = Artifact(name or f"source-{project}"[:128], "code")
        for path in _code_below(base):
            if include_fn is not None and not _asked(include_fn, path, base):
                continue
            if include_fn is None and path.suffix not in _CODE and not path.name.startswith(_CODE_NAMES):
                continue
            if exclude_fn is not None and _asked(exclude_fn, path, base):
                continue
            artifact.add_file(path, path.relative_to(base).as_posix())
        if not artifact.entries or self._finished:
            return None
        artifact.submit(self._reporter.files, project, ())
        return artifact

    def restore(self, name: str, run_path: str | None = None, replace: bool = False, root: Any = None) -> Any:
        """Download a file of this run, or of `run_path`, and return it open for reading. None if there is none."""
        from .._delivery.download import download, safe_parts
        from .artifact_lookup import asked, fetch_of

        batch = text_of(run_path).rpartition("/")[2] if run_path else self._reporter.batch_id
        folder = Path(root) if root is not None else Path(str(getattr(self, "dir", ".")))
        target = folder.joinpath(*safe_parts(name))
        if target.exists() and not replace:
            return open(target, encoding="utf-8", errors="replace")
        try:
            query = f"?prefix={quote(name, safe='')}"
            listed = asked(self._reporter, f"/api/batches/{quote(batch, safe='')}/files{query}")["items"]
            one = next(one for one in listed if one["path"] == name)
            target.parent.mkdir(parents=True, exist_ok=True)
            download(str(one["url"]), target, fetch_of(self._reporter), sha256=str(one["sha256"]))
            return open(target, encoding="utf-8", errors="replace")
        except StopIteration:
            return None

    # --- gradients

    def watch(
        self,
        models: Any,
        criterion: Any = None,
        log: str | None = "gradients",
        log_freq: int = 1000,
        *_args: Any,
        **_more: Any,
    ) -> None:
        """Record histograms of a torch model's gradients and parameters, every `log_freq` steps."""
        from .._capture.watch_model import Watching

        try:
            if self._watched is None:
                self._watched = Watching()
            self._watched.add(models, log or "", max(1, int(log_freq)))
        except Exception as error:
            say_unsupported(f"watch of {type(models).__name__}", f"gradients are not recorded: {error}")

    def unwatch(self, models: Any = None) -> None:
        """End `watch`."""
        if self._watched is not None:
            self._watched.remove()
            self._watched = None


def name_in_run(path: Path, base: Path | None) -> str:
    """The path of a file in the run: below `base` or the working directory, else its name."""
    absolute = Path(os.path.abspath(path))
    for root in (base, Path.cwd()):
        if root is not None and absolute.is_relative_to(os.path.abspath(root)):
            return absolute.relative_to(os.path.abspath(root)).as_posix()
    return absolute.name


def _code_below(base: Path) -> Iterator[Path]:
    count = 0
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in _NO_CODE and not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            try:
                fits = path.is_file() and path.stat().st_size <= _MAX_CODE_BYTES
            except OSError:
                fits = False
            if fits and not name.startswith("."):
                count += 1
                if count > _MAX_GLOBBED:
                    return
                yield path


def _asked(function: Callable[..., bool], path: Path, base: Path) -> bool:
    """W&B's filters take the path, and some the root, too."""
    try:
        return bool(function(str(path), str(base)))
    except TypeError:
        return bool(function(str(path)))
