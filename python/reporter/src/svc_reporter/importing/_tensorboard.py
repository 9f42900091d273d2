"""Event files of TensorBoard: scalars, hparams, text, images, audio, histograms, PR curves as tensors.

The files are read record by record, so no value is sampled away, as TensorBoard's own loaders do. Only its protocol
buffers are used; its record reader takes 40 µs a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._capture.media import Audio, Histogram, Image, Text
from ._records import FAILED, FINISHED, RUNNING, End, Facts, Fault, Found, Idle, Record, Row, Shown, Source, Wanted
from ._records import project_name as named
from ._tfrecord import Torn, frames


class _Files:
    """The event files of one folder, in the order in which they were begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._offsets: dict[Path, int] = {}
        self._torn: set[Path] = set()

    def paths(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if "tfevents" in path.name and path.is_file())
        except OSError:
            return []

    def new(self) -> Iterator[tuple[int, bytes | Fault]]:
        """How many bytes were read, and each record that is there now and was not read yet."""
        for path in self.paths():
            if path in self._torn:
                continue
            with open(path, "rb") as file:
                at = self._offsets.get(path, 0)
                file.seek(at)
                try:
                    for end, data in frames(file):
                        size, at = end - at, end
                        self._offsets[path] = end
                        if data is None:
                            yield size, Fault(path.name, f"the record that ends at byte {end:,} is damaged")
                        else:
                            yield size, data
                except Torn as torn:
                    self._torn.add(path)
                    yield path.stat().st_size - at, Fault(path.name, f"{torn}; the rest of the file is left out")


def open_source(wanted: Wanted) -> Source:
    from tensorboard.compat.proto import event_pb2
    from tensorboard.plugins.hparams import plugin_data_pb2

    root = Path(wanted.path)
    if root.is_file():
        raise ValueError(f"{root} is a file: give the folder of the event files")
    if not root.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(root))
    return _TensorBoard(wanted, root, event_pb2.Event, plugin_data_pb2.HParamsPluginData)


class _TensorBoard(Source):
    name = "tensorboard"

    def __init__(self, wanted: Wanted, root: Path, event: Any, hparams: Any) -> None:
        self._wanted = wanted
        self._root = root
        self._event = event
        self._hparams = hparams
        self.follows = wanted.follow
        self._known: set[Path] = set()
        self._project = named(wanted.project or root.resolve().name)
        folders = self._new_folders()
        if not folders and not wanted.follow:
            raise ValueError(f"{root} has no event files (events.out.tfevents.…)")
        self.total = sum(path.stat().st_size for folder in folders for path in _Files(folder).paths())

    def _new_folders(self) -> list[Path]:
        folders = {path.parent for path in self._root.rglob("*tfevents*") if path.is_file()}
        return sorted(folders - self._known)

    def runs(self) -> Iterator[Found | Fault]:
        """The runs that no earlier call has returned."""
        for folder in self._new_folders():
            found = self._found(folder, self._project)
            if found is None and self.follows:
                continue  # its first record has not been written
            self._known.add(folder)
            yield Fault(str(folder), "no record could be read") if found is None else found

    def _found(self, folder: Path, project: str) -> Found | None:
        title = folder.relative_to(self._root).as_posix()
        title = self._root.resolve().name if title == "." else title
        files = _Files(folder)
        for _, data in files.new():
            event = None if isinstance(data, Fault) else self._parsed(data)
            if event is not None and event.summary.value:  # the first record is the version
                first = files.paths()[0].name
                start_ms = round(event.wall_time * 1000)
                reader = _Run(self, folder, title)
                return Found(f"{title}/{first}", project, start_ms, reader.records, title=title)
        return None

    def _parsed(self, data: bytes) -> Any:
        try:
            return self._event.FromString(data)
        except Exception:  # DecodeError; its class depends on the version of protobuf
            return None


class _Run:
    """Reads the records of one folder."""

    def __init__(self, source: _TensorBoard, folder: Path, title: str) -> None:
        self._source = source
        self._folder = folder
        self._title = title
        self._parsed = source._parsed

    def records(self) -> Iterator[Record]:
        """All records of the folder and its end; with `--follow` what is added, until the session says that it ends."""
        self.begin()
        group, _, _ = self._title.rpartition("/")
        yield Facts({"name": self._title, "group": group or None})
        yield from self.new()
        while self._source.follows and self._state not in (FINISHED, FAILED):
            yield Idle()
            yield from self.new()
        if self._state != RUNNING:
            yield End(self._last_ms, self._state or FINISHED, "TensorBoard: the session failed")

    def begin(self) -> None:
        self._files = _Files(self._folder)
        self._plugins: dict[str, str] = {}
        self._last_ms = 0
        self._state = ""

    def new(self) -> Iterator[Record]:
        for size, data in self._files.new():
            self._source.read += size
            if isinstance(data, Fault):
                yield data
                continue
            event = self._parsed(data)
            if event is None:
                yield Fault(self._title, "a record is not an event")
                continue
            ms = round(event.wall_time * 1000)
            self._last_ms = max(self._last_ms, ms)
            step = event.step
            for value in event.summary.value:
                if value.WhichOneof("value") == "simple_value":
                    yield Row(step, ms, {value.tag: value.simple_value})
                    continue
                try:
                    yield from self._value(value, step, ms)
                except (ValueError, TypeError, OSError, ImportError) as error:
                    yield Fault(f"{value.tag} at step {event.step}", f"{type(error).__name__}: {error}")

    def _value(self, value: Any, step: int, ms: int) -> Iterator[Record]:
        kind, tag = value.WhichOneof("value"), value.tag
        plugin = value.metadata.plugin_data.plugin_name
        if plugin:
            self._plugins.setdefault(tag, plugin)
        plugin = plugin or self._plugins.get(tag, "")
        if plugin == "hparams":
            yield from self._hparams(value.metadata.plugin_data.content)
        elif kind == "image":
            yield Shown(tag, step, ms, Image(value.image.encoded_image_string))
        elif kind == "audio":
            yield Shown(tag, step, ms, Audio(value.audio.encoded_audio_string))
        elif kind == "histo":
            yield Shown(tag, step, ms, _old_histogram(value.histo))
        elif kind == "tensor":
            yield from self._tensor(plugin, tag, value.tensor, step, ms)

    def _tensor(self, plugin: str, tag: str, tensor: Any, step: int, ms: int) -> Iterator[Record]:
        if plugin == "text":
            texts = [text.decode("utf-8", "replace") for text in tensor.string_val]
            shown: list[Any] = [Text(text) for text in texts]
            yield Shown(tag.removesuffix("/text_summary"), step, ms, shown[0] if len(shown) == 1 else shown)
        elif plugin == "images":  # width and height come first
            images: list[Any] = [Image(content) for content in tensor.string_val[2:]]
            yield Shown(tag, step, ms, images[0] if len(images) == 1 else images)
        elif plugin == "audio":  # sounds and their labels take turns
            count = 2 if len(tensor.tensor_shape.dim) > 1 else 1
            sounds: list[Any] = [Audio(content) for content in tensor.string_val[::count]]
            yield Shown(tag, step, ms, sounds[0] if len(sounds) == 1 else sounds)
        else:
            array = _array(tensor)
            if plugin == "histograms":
                yield Shown(tag, step, ms, _histogram(array))
            elif array.size == 1:
                yield Row(step, ms, {tag: array.reshape(-1)[0].item()})
            else:
                kind = plugin or "a tensor"
                yield Fault(f"{tag} at step {step}", f"{kind} of shape {array.shape} has no counterpart here")

    def _hparams(self, content: bytes) -> Iterator[Record]:
        found = self._source._hparams.FromString(content)
        kind = found.WhichOneof("data")
        if kind == "session_start_info":
            config = {}
            for name, value in found.session_start_info.hparams.items():
                which = value.WhichOneof("kind")
                one = getattr(value, which) if which and which != "null_value" else None
                config[name] = int(one) if isinstance(one, float) and one == int(one) and abs(one) < 2**53 else one
            group = found.session_start_info.group_name
            yield Facts({"config": config} | ({"group": group} if group else {}))
        elif kind == "session_end_info":
            self._state = {1: FINISHED, 2: FAILED, 3: RUNNING}.get(found.session_end_info.status, "")


def _array(tensor: Any) -> Any:
    from tensorboard.util.tensor_util import make_ndarray

    return make_ndarray(tensor)


def _histogram(rows: Any) -> Histogram:
    """Rows of left edge, right edge and count."""
    rows = rows.reshape(-1, 3)
    if not len(rows):
        raise ValueError("a histogram without bins")
    edges = [*rows[:, 0].tolist(), float(rows[-1, 1])]
    return Histogram(np_histogram=_joined(rows[:, 2].tolist(), edges))


def _old_histogram(histo: Any) -> Histogram:
    """Right edges and counts; the first edge is the least value, the last one the greatest."""
    limits, counts = list(histo.bucket_limit), list(histo.bucket)
    if not counts:
        raise ValueError("a histogram without bins")
    first = next((at for at, count in enumerate(counts) if count), 0)
    last = max((at for at, count in enumerate(counts) if count), default=len(counts) - 1)
    limits, counts = limits[first : last + 1], counts[first : last + 1]
    edges = [min(histo.min, limits[0]), *limits]
    edges[-1] = max(min(edges[-1], histo.max), edges[-2])
    return Histogram(np_histogram=_joined(counts, edges))


def _joined(counts: list[float], edges: list[float]) -> tuple[list[float], list[float]]:
    """At most 512 bins: neighbours are joined."""
    while len(counts) > Histogram.MAX_LENGTH:
        pairs = range(0, len(counts), 2)
        edges = [edges[at] for at in pairs] + [edges[-1]]
        counts = [sum(counts[at : at + 2]) for at in pairs]
    return counts, edges
