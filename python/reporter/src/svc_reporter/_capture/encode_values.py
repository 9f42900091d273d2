"""Encodes copies of values that are not images: WAV, GIF, JSON; counts of a histogram. The rules of `_encode` apply."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import wave
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from .._shared.plain import plain, text_of
from .encode import Array, Encode, Encoded, as_bytes, as_numpy, copied, given_file, pixels_of

_MAX_FRAMES = 2_000


# --- audio and video


def audio(value: Any, sample_rate: int | None) -> Encode:
    given = given_file(value)
    if given is not None:
        return given
    if not sample_rate:
        raise ValueError("samples need a sample_rate")
    rate = int(sample_rate)
    array, _ = copied(value)
    return lambda: _wav(as_numpy(array), rate)


def _wav(samples: Array, rate: int) -> Encoded:
    numpy = sys.modules["numpy"]
    if samples.ndim == 2 and samples.shape[0] <= 8 < samples.shape[1]:
        samples = samples.T  # channels first
    samples = samples.reshape(len(samples), -1)
    if samples.dtype.kind == "f":
        finite = numpy.nan_to_num(samples.astype("float32"))
        samples = (numpy.clip(finite, -1, 1) * 32_767).astype("<i2")
    else:
        samples = numpy.clip(samples, -32_768, 32_767).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    fields = {"sample_rate": rate, "duration_s": round(len(samples) / rate, 3), "channels": int(samples.shape[1])}
    return Encoded(out.getvalue(), "audio/wav", ".wav", fields)


def video(value: Any, fps: float) -> Encode:
    given = given_file(value)
    if given is not None:
        return given
    from PIL import GifImagePlugin, Image  # noqa: F401 - the thread that encodes must import nothing

    array, _ = copied(value)
    return lambda: _gif(as_numpy(array), fps)


def _gif(frames: Array, fps: float) -> Encoded:
    picture = sys.modules["PIL.Image"]
    if frames.ndim == 5:  # several videos: the first one
        frames = frames[0]
    if frames.ndim not in (3, 4) or not len(frames):
        raise ValueError(f"an array of shape {frames.shape} is not a video: time x channels x height x width")
    scaled = as_bytes(frames)
    pictures = []
    for frame in scaled[:_MAX_FRAMES]:
        pixels = pixels_of(frame, channels_first=True, mode=None)
        pictures.append(picture.fromarray(pixels).convert("RGB").quantize(256))
    out = io.BytesIO()
    pictures[0].save(out, "GIF", save_all=True, append_images=pictures[1:], duration=max(20, round(1000 / fps)), loop=0)
    fields = {"width": pictures[0].width, "height": pictures[0].height, "frames": len(pictures), "fps": fps}
    return Encoded(out.getvalue(), "image/gif", ".gif", fields)


# --- tables, histograms, text


def table(columns: list[str], rows: list[list[Any]]) -> Encoded:
    """`{"columns": [...], "data": [[...], ...]}`; NaN and infinities are texts, as in events."""
    clean = [[cell if type(cell) is not float or math.isfinite(cell) else plain(cell) for cell in row] for row in rows]
    return as_json({"columns": columns, "data": clean}, "application/json", ".table.json")


def as_json(value: Any, media_type: str, suffix: str) -> Encoded:
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Encoded(content.encode("utf-8", "replace"), media_type, suffix, {})


def histogram(values: Any, num_bins: int) -> Callable[[], dict[str, Any]]:
    if hasattr(values, "detach") or "numpy" in sys.modules:
        array, _ = copied(values)
        return lambda: _numpy_histogram(as_numpy(array), num_bins)
    numbers = [float(value) for value in islice(values, 1_000_000)]
    return lambda: plain_histogram(numbers, num_bins)


def _numpy_histogram(array: Array, num_bins: int) -> dict[str, Any]:
    numpy = sys.modules["numpy"]
    flat = array.reshape(-1).astype("float64")
    counts, edges = numpy.histogram(flat[numpy.isfinite(flat)], bins=num_bins)
    return histogram_of(counts.tolist(), edges.tolist())


def plain_histogram(numbers: list[float], num_bins: int) -> dict[str, Any]:
    finite = [number for number in numbers if math.isfinite(number)]
    least, greatest = min(finite, default=0.0), max(finite, default=1.0)
    if least == greatest:
        least, greatest = least - 0.5, greatest + 0.5
    width = (greatest - least) / num_bins
    counts = [0] * num_bins
    for number in finite:
        counts[min(num_bins - 1, int((number - least) / width))] += 1
    return histogram_of(counts, [least + width * at for at in range(num_bins)] + [greatest])


def histogram_of(counts: Sequence[Any], edges: Sequence[Any]) -> dict[str, Any]:
    if not 1 <= len(counts) <= 512 or len(edges) != len(counts) + 1:
        raise ValueError("a histogram has 1 to 512 counts, and one edge more")
    return {"_type": "histogram", "bins": list(edges), "counts": list(counts)}


def text_or_file(data: Any, suffixes: tuple[str, ...], *, is_text: bool) -> str:
    """The text of an open file, of the file of that name, or the value itself."""
    if hasattr(data, "read"):
        if hasattr(data, "seek"):
            data.seek(0)
        data = data.read()
    if isinstance(data, bytes):
        return data.decode("utf-8", "replace")
    is_path = isinstance(data, os.PathLike) or (isinstance(data, str) and data.lower().endswith(suffixes))
    if not is_text and is_path and len(str(data)) < 1_024:
        return Path(data).read_text("utf-8", "replace")
    return text_of(data)
