"""Images, audio, tables and the like: how they are recognised, copied and encoded; files that wait on disk."""

from __future__ import annotations

import importlib
import json
import struct
import sys
import time
import wave
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svc_reporter as svc
from svc_reporter._capture import encode
from svc_reporter._capture.media import Media, media_of
from svc_reporter._disk.file_store import FileStore, Kept
from svc_reporter._run.files import content_of

from .kit.fake_ingest import FakeIngest


class Keeper:
    """Keeps what a value stores, in memory."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []

    def __call__(self, content: bytes | Path, media_type: str, suffix: str) -> Kept:
        data = content if isinstance(content, bytes) else content.read_bytes()
        self.contents.append(data)
        return Kept(f"hash{len(self.contents)}", len(data))


def encoded(value: Media) -> tuple[dict[str, Any], list[bytes]]:
    keep = Keeper()
    return value.taken()(keep), keep.contents


def pixels_of(content: bytes) -> Any:
    """The pixels of a PNG as `_encode.png` writes it: 8 bit, each row as its difference from the one above."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, colour = struct.unpack(">IIBB", content[16:26])
    assert depth == 8
    at, data = 8, b""
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        name, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert zlib.crc32(name + body) == struct.unpack(">I", content[at + 8 + length : at + 12 + length])[0]
        data += body if name == b"IDAT" else b""
        at += 12 + length
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    lines = np.frombuffer(zlib.decompress(data), "uint8").reshape(height, width * channels + 1)
    assert set(lines[:, 0]) == {2}
    rows = np.cumsum(lines[:, 1:], axis=0, dtype="uint8")
    return rows.reshape(height, width) if channels == 1 else rows.reshape(height, width, channels)


BYTES: Any = np.arange(4 * 6 * 3, dtype="uint8").reshape(4, 6, 3) * 3


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (BYTES, BYTES),
        (BYTES[:, :, 0], BYTES[:, :, 0]),
        (np.moveaxis(BYTES, -1, 0), BYTES),
        (BYTES / 255, BYTES),
        (BYTES.astype("int64"), BYTES),
        (np.array([[True, False]]), np.array([[255, 0]])),
        (np.array([[-1.0, 0.0, 1.0]]), np.array([[0, 128, 255]])),
        (np.array([[np.nan, 1.0]]), np.array([[0, 255]])),
        (np.stack([BYTES[:2, :2, :1]] * 4), np.tile(BYTES[:2, :2, 0], (2, 2))),
    ],
    ids=["bytes", "grey", "channels first", "0 to 1", "integers", "bool", "-1 to 1", "NaN", "a batch as a grid"],
)
def test_an_array_becomes_an_image(given: Any, wanted: Any) -> None:
    fields, [content] = encoded(svc.Image(given, caption="c"))
    assert np.array_equal(pixels_of(content), wanted)
    assert (fields["_type"], fields["media_type"], fields["caption"]) == ("image", "image/png", "c")
    assert (fields["height"], fields["width"]) == wanted.shape[:2]
    assert fields["size"] == len(content)


def test_an_image_is_copied_when_it_is_logged() -> None:
    array = BYTES.copy()
    taken = svc.Image(array).taken()
    array[:] = 0
    keep = Keeper()
    taken(keep)
    assert np.array_equal(pixels_of(keep.contents[0]), BYTES)


def test_paths_and_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    _, [content] = encoded(svc.Image(BYTES))
    path = tmp_path / "named.txt"
    path.write_bytes(content)
    for given in (path, str(path), content, BytesIO(content)):
        fields, [kept] = encoded(svc.Image(given))
        assert kept == content
        assert (fields["media_type"], fields["width"]) == ("image/png", 6)
    with pytest.raises(FileNotFoundError):
        svc.Image("missing.png").taken()


def test_masks_and_boxes_of_an_image() -> None:
    image = svc.Image(
        BYTES,
        boxes={"truth": {"box_data": [{"position": {"minX": 0.1}, "class_id": 1}], "class_labels": {1: "cat"}}},
        masks={"m": {"mask_data": np.eye(4, 6, dtype=int), "class_labels": {0: "sky"}}},
    )
    fields, contents = encoded(image)
    mask = contents[0]
    assert fields["boxes"]["truth"]["class_labels"] == {"1": "cat"}
    assert fields["masks"]["m"] | {"sha256": "", "size": 0} == {
        "sha256": "",
        "size": 0,
        "media_type": "image/png",
        "width": 6,
        "height": 4,
        "class_labels": {"0": "sky"},
    }
    assert np.array_equal(pixels_of(mask), np.eye(4, 6))


def test_samples_become_a_wav() -> None:
    for samples in (np.sin(np.arange(8_000) / 10), np.sin(np.arange(8_000) / 10)[None], [0.0, 0.5, -0.5, 1.0] * 2_000):
        fields, [content] = encoded(svc.Audio(samples, 8_000, caption="tone"))
        with wave.open(BytesIO(content)) as file:
            assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (8_000, 8_000, 1)
        assert (fields["_type"], fields["duration_s"], fields["sample_rate"]) == ("audio", 1.0, 8_000)


@pytest.mark.parametrize("frame", ["pandas", "polars", "rows", "dictionaries", "columns"])
def test_a_table_of_every_kind(frame: str) -> None:
    columns = {"a": [1, 2], "b": ["x", None]}
    rows: list[list[Any]] = [[1, "x"], [2, None]]
    value: Any
    if frame in ("pandas", "polars"):
        value = svc.Table(importlib.import_module(frame).DataFrame(columns))
    elif frame == "rows":
        value = svc.Table(columns=["a", "b"], data=rows)
    elif frame == "dictionaries":
        value = svc.Table([{"a": 1, "b": "x"}, {"a": 2}])
    else:
        value = svc.Table(["a", "b"])
        for row in rows:
            value.add_data(*row)
    fields, [content] = encoded(value)
    found = json.loads(content)
    assert found["columns"] == ["a", "b"]
    assert [row[0] for row in found["data"]] == [1, 2]
    assert found["data"][0][1] == "x"
    assert (fields["_type"], fields["rows"], fields["columns"]) == ("table", 2, 2)


def test_a_cell_of_a_table_may_be_an_image_and_a_number_may_be_missing() -> None:
    table = svc.Table(columns=["image", "score"], data=[[svc.Image(BYTES), float("nan")]])
    table.add_column("name", ["one"])
    fields, [image, content] = encoded(table)
    [row] = json.loads(content)["data"]
    assert row[0]["_type"] == "image"
    assert row[0]["size"] == len(image)
    assert row[1:] == ["NaN", "one"]
    assert table.get_column("name") == ["one"]
    assert fields["rows"] == 1


def test_a_histogram_is_inline() -> None:
    fields, contents = encoded(svc.Histogram([1, 2, 2, 3, float("nan"), float("inf")], num_bins=2))
    assert fields == {"_type": "histogram", "bins": [1.0, 2.0, 3.0], "counts": [1, 3]}
    assert contents == []
    made = svc.Histogram(np_histogram=np.histogram([1, 2, 3], bins=4))
    assert len(made.bins) == len(made.histogram) + 1 == 5
    assert encoded(svc.Histogram([], num_bins=3))[0]["counts"] == [0, 0, 0]


def test_pages_texts_and_plots() -> None:
    fields, [page] = encoded(svc.Html("<b>bold</b>"))
    assert (fields["_type"], fields["media_type"], page) == ("html", "text/html", b"<b>bold</b>")
    assert encoded(svc.Text("words"))[1] == [b"words"]
    matrix = svc.plot.confusion_matrix(y_true=[0, 1, 1, 1], preds=[0, 1, 0, 1], class_names=["cat", "dog"])
    fields, [content] = encoded(matrix)
    found = json.loads(content)
    assert (fields["_type"], found["plot"]) == ("plot", "confusion_matrix")
    assert (found["labels"], found["matrix"]) == (["cat", "dog"], [[1, 0], [1, 2]])


def test_curves_have_the_area_that_sklearn_finds() -> None:
    metrics = importlib.import_module("sklearn.metrics")
    true = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0, 0] * 5)
    scores = np.linspace(0, 1, 50) * 0.5 + true * 0.3
    [series] = svc.plot.roc_curve(true, scores).plot["curves"]
    assert series["area"] == pytest.approx(metrics.roc_auc_score(true, scores), abs=1e-5)
    [series] = svc.plot.pr_curve(true, scores).plot["curves"]
    assert series["area"] == pytest.approx(metrics.average_precision_score(true, scores), abs=1e-5)
    both = svc.plot.roc_curve(true, np.stack([1 - scores, scores], 1), labels=["no", "yes"]).plot["curves"]
    assert [one["name"] for one in both] == ["no", "yes"]


def test_figures_frames_and_pictures_are_recognised() -> None:
    pandas = importlib.import_module("pandas")
    assert isinstance(media_of(pandas.DataFrame({"a": [1]})), svc.Table)
    found = media_of([svc.Image(BYTES), svc.Image(BYTES)])
    assert isinstance(found, list)
    for other in (1.0, "text", [1, 2], np.zeros(3), {"a": 1}, None, [svc.Image(BYTES), 1]):
        assert media_of(other) is None


def test_figures_of_matplotlib_and_plotly() -> None:
    pyplot = importlib.import_module("matplotlib.pyplot")
    plotly = importlib.import_module("plotly.graph_objects")
    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    for given in (figure, pyplot):
        found = media_of(given)
        assert isinstance(found, svc.Image)
        fields, [content] = encoded(found)
        assert pixels_of(content).shape == (50, 100, 4)
        assert fields["width"] == 100
    pyplot.close(figure)
    drawn = media_of(plotly.Figure(plotly.Scatter(x=[1], y=[2])))
    assert isinstance(drawn, Media)
    fields, [content] = encoded(drawn)
    assert (fields["_type"], json.loads(content)["data"][0]["type"]) == ("plot", "scatter")


def test_pictures_of_pillow_and_frames_of_a_video() -> None:
    pillow = importlib.import_module("PIL.Image")
    fields, [content] = encoded(svc.Image(pillow.new("RGB", (5, 4), (255, 0, 0))))
    assert (fields["width"], fields["height"]) == (5, 4)
    assert pillow.open(BytesIO(content)).getpixel((0, 0)) == (255, 0, 0)
    fields, [content] = encoded(svc.Video(np.random.randint(0, 255, (3, 3, 8, 10), dtype="uint8"), fps=5))
    assert pillow.open(BytesIO(content)).n_frames == 3
    assert (fields["_type"], fields["media_type"], fields["frames"]) == ("video", "image/gif", 3)


# --- in a run


QUIET: dict[str, Any] = {
    "stop_poll_s": 0,
    "heartbeat_s": 0,
    "resources_s": 0,
    "environment": False,
    "console": False,
    "quiet": True,
}


@pytest.fixture
def offline(own_world: Path) -> svc.Run:
    return svc.init("vision", mode="offline", id="away", **QUIET)


def events_in(spill: Path, kind: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (spill / "away.jsonl").read_bytes().splitlines()]
    return [event["data"] for event in events if event["event_type"] == kind]


def test_media_are_logged_beside_numbers_with_the_step_of_the_call(offline: svc.Run, spill: Path) -> None:
    offline.define_metric("val/*", step_metric="epoch")
    offline.log({"loss": 1.0, "samples": [svc.Image(BYTES), svc.Image(BYTES)], "val": {"w": svc.Histogram([1, 2])}})
    offline.log({"epoch": 7})
    offline.log({"val": {"x": svc.Image(BYTES)}}, commit=False)
    offline.log({"loss": 0.5})
    with offline.job("seed0") as job:
        job.epoch(3, acc=0.5, sample=svc.Image(BYTES))
    offline.finish()
    found = [(data.pop("epoch"), data) for data in events_in(spill, "job_epoch")]
    assert {(step, key) for step, data in found for key in data} == {
        (0, "loss"),
        (0, "samples"),
        (0, "val/w"),
        (1, "axis/epoch"),
        (7, "val/x"),
        (2, "loss"),
        (3, "acc"),
        (3, "sample"),
    }
    [samples] = [data["samples"] for _, data in found if "samples" in data]
    assert [one["_type"] for one in samples] == ["image", "image"]
    store = FileStore(None)
    waiting = store.waiting("away", own=True)
    assert {record.data["file_path"].rpartition("-")[0] for record in waiting} == {
        "media/samples/0-0",
        "media/samples/0-1",
        "media/val/x/7-0",
        "media/sample/3-0",
    }
    # Four times the same content, on disk once.
    assert len(list((spill / "files" / "content").iterdir())) == 1
    assert (offline.delivery.files, offline.delivery.files_sent) == (4, 0)


def test_a_value_that_cannot_be_encoded_costs_itself_and_one_line(
    offline: svc.Run, spill: Path, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for _ in range(2):
        offline.log(
            {"bad": svc.Image(np.zeros((2, 3, 4, 5, 6))), "video": svc.Video(np.zeros((2, 3, 4, 4))), "loss": 1}
        )
        offline.log({"good": svc.Image(BYTES), "missing": svc.Image("missing.png")})
    offline.finish()
    assert said().count("a value of bad is left out") == 1
    assert said().count("a value of video is left out: ModuleNotFoundError") == 1
    keys = {key for data in events_in(spill, "job_epoch") for key in data} - {"epoch"}
    assert keys == {"loss", "good"}
    assert offline.delivery.files_dropped == 6


def test_logging_an_image_costs_the_loop_little(offline: svc.Run) -> None:
    image = np.random.randint(0, 255, (512, 512, 3), dtype="uint8")
    costs = []
    for step in range(25):
        value = svc.Image(image)
        began = time.perf_counter()
        offline.log({"image": value}, step=step)
        costs.append(time.perf_counter() - began)
        time.sleep(0.02)
    # The quickest half: other processes of the machine take their turns, too.
    assert sorted(costs)[len(costs) // 2] < 0.005
    offline.finish()


def test_files_of_a_run_are_linked_and_copied(offline: svc.Run, spill: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "a.pt").write_bytes(b"first")
    (folder / "b.pt").write_bytes(b"second")
    assert len(offline.save(f"{folder}/*.pt", base_path=tmp_path)) == 2
    offline.save(str(folder / "a.pt"), base_path=tmp_path, policy="live")
    (folder / "a.pt").write_bytes(b"changed")
    artifact = offline.log_artifact(folder / "b.pt", name="net:best", type="model")
    with artifact_file(offline) as labels:
        labels.write("cat")
    Path(offline.dir, "notes.txt").write_text("of the run")
    offline.finish()
    records = FileStore(None).waiting("away", own=True)
    files = {record.data["file_path"]: record for record in records if record.data["kind"] == "file"}
    assert set(files) == {"checkpoints/a.pt", "checkpoints/b.pt", "notes.txt"}
    [a] = files["checkpoints/a.pt"].contents
    assert (spill / "files" / "content" / a["content"]).read_bytes() == b"changed"
    [net] = [record.data for record in records if record.data.get("name") == "net"]
    assert (net["type"], net["aliases"], artifact.state) == ("model", ["best"], "pending")
    [content] = net["files"]
    (folder / "b.pt").write_bytes(b"overwritten in place")
    assert (spill / "files" / "content" / content["content"]).read_bytes() == b"second"


def artifact_file(run: svc.Run) -> Any:
    artifact = svc.Artifact("labels", type="dataset", metadata={"classes": 1})
    return artifact.new_file("labels.txt")


def test_the_disk_that_waiting_files_may_take_is_bounded(
    offline: svc.Run, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offline.reporter.files.store.limit = 100
    offline.log({"small": svc.Text("x" * 60)})
    offline.log({"large": svc.Text("y" * 60)})
    offline.finish()
    assert "SVC_FILES_SPILL_BYTES" in said()
    assert offline.delivery.files_dropped == 1


def test_files_of_a_process_that_lives_are_left_to_it(offline: svc.Run) -> None:
    offline.log({"text": svc.Text("words")})
    offline.reporter.files.encode_rest(time.monotonic() + 5)
    store = FileStore(None)
    assert len(store.waiting("away", own=True)) == 1
    assert store.waiting() == []
    offline.finish()
    assert len(store.waiting()) == 1


def _file_of(content: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "file", "batch_id": "b", "file_path": "last.pt", "files": [{"path": "last.pt", **content}]}


def test_content_that_a_record_is_about_to_name_stays(spill: Path) -> None:
    own, other = FileStore(None), FileStore(None)
    sent = own.add(_file_of(content_of(own.put(b"same"))), "sent")
    later = [(store, store.put(b"same")) for store in (own, other)]
    own.settle([sent])
    records = [store.add(_file_of(content_of(kept)), kept.name) for store, kept in later]
    assert [store.content_path(kept.name).read_bytes() for store, kept in later] == [b"same", b"same"]
    own.settle(records)
    assert list((spill / "files" / "content").iterdir()) == []


def test_a_file_that_is_saved_again_while_its_hash_is_found_replaces_the_earlier_one(
    spill: Path, tmp_path: Path
) -> None:
    store = FileStore(None)
    source = tmp_path / "last.pt"
    source.write_bytes(b"first")
    name = store.add(_file_of(store.stage(source, link=False)), "last").path.stem
    [being_sent] = store.waiting(own=True)
    kept = store.hashed(being_sent.contents[0]["content"])
    being_sent.contents[0].update(sha256=kept.sha256, content=kept.name)
    source.write_bytes(b"second")
    store.add(_file_of(store.stage(source, link=False)), name)
    assert not store.rewrite(being_sent)
    assert store.settle([being_sent]) == []
    [waits] = store.waiting(own=True)
    [content] = (spill / "files" / "content").iterdir()
    assert (content.name, content.read_bytes()) == (waits.contents[0]["content"], b"second")


def test_a_disabled_run_takes_everything_and_keeps_nothing(server: FakeIngest, spill: Path, tmp_path: Path) -> None:
    run = svc.init("vision", mode="disabled", **QUIET)
    run.log({"image": svc.Image(BYTES), "loss": 1})
    file = tmp_path / "a.txt"
    file.write_text("x")
    run.save(str(file), policy="now")
    assert run.log_artifact(file, name="a").state == "draft"
    with pytest.raises(svc.CommError):
        run.use_artifact("a:latest")
    run.finish()
    assert not (spill / "files").exists()


def test_known_types_are_found_by_content() -> None:
    assert encode.known_type(b"RIFF\x00\x00\x00\x00WAVEfmt ") == ("audio/wav", ".wav")
    assert encode.known_type(b"\x00\x00\x00 ftypisom") == ("video/mp4", ".mp4")
    assert encode.known_type(b"<svg xmlns=") is None
