"""Encodes copies of values as files: PNG, WAV, GIF, JSON. Needs no library but the one that a value comes from.

Each function copies its value and returns one that encodes the copy, in another thread. That thread must import
nothing: a process that is forked meanwhile would wait for the import forever.
"""

from __future__ import annotations

import importlib
import io
import math
import os
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Array = Any
_COMPRESSION = 3


class Encoded(NamedTuple):
    content: bytes | Path
    media_type: str
    suffix: str
    fields: dict[str, Any]


Encode = Callable[[], Encoded]

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", ".png"),
    (b"\xff\xd8\xff", "image/jpeg", ".jpg"),
    (b"GIF8", "image/gif", ".gif"),
    (b"fLaC", "audio/flac", ".flac"),
    (b"OggS", "audio/ogg", ".ogg"),
    (b"ID3", "audio/mpeg", ".mp3"),
    (b"\xff\xfb", "audio/mpeg", ".mp3"),
    (b"\xff\xf3", "audio/mpeg", ".mp3"),
    (b"\x1aE\xdf\xa3", "video/webm", ".webm"),
)


def known_type(head: bytes) -> tuple[str, str] | None:
    """Media type and suffix of content that a browser shows, by its first bytes."""
    for beginning, media_type, suffix in _BEGINNINGS:
        if head.startswith(beginning):
            return media_type, suffix
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp", ".webp"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "audio/wav", ".wav"
    if head[4:8] == b"ftyp":
        return ("image/avif", ".avif") if head[8:12] in (b"avif", b"avis") else ("video/mp4", ".mp4")
    return None


def given_file(value: Any) -> Encode | None:
    """Encodes a path or bytes: as they are."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        content = bytes(value)
    elif isinstance(value, io.BytesIO):
        content = value.getvalue()
    elif isinstance(value, (str, os.PathLike)):
        path = Path(value)
        with open(path, "rb") as file:
            content = file.read()
    else:
        return None
    found = known_type(content[:16])
    if found is None:
        return None if not isinstance(value, (str, os.PathLike)) else _by_pillow(content)
    return lambda: Encoded(content, *found, _size_of(content))


def _by_pillow(content: bytes) -> Encode:
    """Another format than browsers show, such as BMP or TIFF. Raises ImportError without Pillow."""
    from PIL import Image

    opened = Image.open(io.BytesIO(content))
    opened.load()
    return lambda: _pil_as_png(opened, None)


def _size_of(content: bytes) -> dict[str, Any]:
    if content.startswith(b"\x89PNG") and len(content) > 24:
        width, height = struct.unpack(">II", content[16:24])
        return {"width": width, "height": height}
    return {}


# --- images


def image(value: Any, mode: str | None, file_type: str | None) -> Encode:
    given = given_file(value)
    if given is not None:
        return given
    if hasattr(value, "save") and hasattr(value, "getbands"):  # PIL
        picture = value.copy()
        return lambda: _pil_as_png(picture, file_type)
    figure = figure_of(value)
    if figure is not None:
        pixels = _drawn(figure)
        return lambda: png(pixels)
    array, is_torch = copied(value)
    return lambda: png(pixels_of(as_numpy(array), channels_first=is_torch, mode=mode))


def mask(value: Any) -> Encode:
    """Numbers of classes, 0 to 255, as a grey image."""
    given = given_file(value)
    if given is not None:
        return given
    array, _ = copied(value)

    def encode() -> Encoded:
        numpy = sys.modules["numpy"]
        found = as_numpy(array).squeeze()
        return png(numpy.clip(found, 0, 255).astype("uint8"))

    return encode


def _pil_as_png(picture: Any, file_type: str | None) -> Encoded:
    out = io.BytesIO()
    fields = {"width": picture.width, "height": picture.height}
    if (file_type or "").lower() in ("jpg", "jpeg"):
        picture.convert("RGB").save(out, "JPEG", quality=90)
        return Encoded(out.getvalue(), "image/jpeg", ".jpg", fields)
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        picture = picture.convert("RGB")
    picture.save(out, "PNG", compress_level=_COMPRESSION)
    return Encoded(out.getvalue(), "image/png", ".png", fields)


def as_pil(value: Any) -> Any:
    """The image as PIL has it. Raises ImportError without Pillow."""
    from PIL import Image

    if hasattr(value, "getbands"):
        return value
    content = image(value, None, None)().content
    return Image.open(io.BytesIO(content) if isinstance(content, bytes) else content)


def figure_of(value: Any) -> Any:
    """The figure of matplotlib that a value is, belongs to, or is the current one of; None for anything else."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if value is pyplot and pyplot is not None:
        return pyplot.gcf()
    if not type(value).__module__.startswith("matplotlib."):
        return None
    found = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    return found if hasattr(found, "savefig") else None


def _drawn(figure: Any) -> Array:
    """The pixels of a figure. It is drawn at once, because the script may change it after the call."""
    backend: Any = importlib.import_module("matplotlib.backends.backend_agg")
    numpy = sys.modules["numpy"]
    before = figure.canvas
    canvas = backend.FigureCanvasAgg(figure)
    try:
        canvas.draw()
        return numpy.array(canvas.buffer_rgba(), copy=True)
    finally:
        figure.set_canvas(before)


def copied(value: Any) -> tuple[Any, bool]:
    """A copy of an array or tensor, and whether it is one of torch."""
    if type(value).__module__.startswith("torch") or hasattr(value, "detach"):
        return value.detach().clone(), True
    numpy: Any = importlib.import_module("numpy")
    return numpy.array(value, copy=True), False


def as_numpy(value: Any) -> Array:
    numpy = sys.modules["numpy"]
    if hasattr(value, "detach"):
        value = value.cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        return value.numpy()
    return numpy.asarray(value)


def pixels_of(array: Array, *, channels_first: bool, mode: str | None) -> Array:
    """Rows of pixels in bytes: grey, grey and alpha, RGB or RGBA."""
    numpy = sys.modules["numpy"]
    if array.ndim == 4:
        array, channels_first = _grid(array), True
    if array.ndim == 3:
        is_first = array.shape[0] in (1, 3, 4) and (channels_first or array.shape[2] not in (1, 3, 4))
        if is_first:
            array = numpy.moveaxis(array, 0, -1)
        if array.shape[2] == 1:
            array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (2, 3, 4)):
        raise ValueError(f"an array of shape {array.shape} is not an image")
    if mode == "BGR" and array.ndim == 3:
        array = array[:, :, ::-1]
    return as_bytes(array)


def as_bytes(array: Array) -> Array:
    numpy = sys.modules["numpy"]
    if array.dtype == numpy.uint8:
        return array
    if array.dtype == bool:
        return array.astype("uint8") * 255
    if array.dtype.kind in "iu":
        return numpy.clip(array, 0, 255).astype("uint8")
    values = numpy.nan_to_num(array.astype("float32"), nan=0.0, posinf=255.0, neginf=0.0)
    least, greatest = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if least < 0:
        low, high = (-1.0, 1.0) if least >= -1 and greatest <= 1 else (least, greatest)
        values = (values - low) / ((high - low) or 1.0) * 255
    elif greatest <= 1:
        values = values * 255
    return numpy.clip(values + 0.5, 0, 255).astype("uint8")


def _grid(array: Array) -> Array:
    """Several images of a batch in one, row by row."""
    numpy = sys.modules["numpy"]
    if array.shape[1] not in (1, 3, 4):
        array = numpy.moveaxis(array, -1, 1)
    count, channels, height, width = array.shape
    columns = math.ceil(math.sqrt(count)) or 1
    rows = math.ceil(count / columns) or 1
    out = numpy.zeros((channels, rows * height, columns * width), array.dtype)
    for at in range(count):
        top, left = at // columns * height, at % columns * width
        out[:, top : top + height, left : left + width] = array[at]
    return out


def png(pixels: Array) -> Encoded:
    """A PNG of bytes. Each row is stored as its difference from the one above, which compresses well."""
    numpy = sys.modules["numpy"]
    height, width = pixels.shape[:2]
    if not height or not width:
        raise ValueError("an image without pixels")
    colour = 0 if pixels.ndim == 2 else {2: 4, 3: 2, 4: 6}[pixels.shape[2]]
    rows = numpy.ascontiguousarray(pixels).reshape(height, -1)
    lines = numpy.empty((height, rows.shape[1] + 1), "uint8")
    lines[:, 0] = 2
    lines[0, 1:] = rows[0]
    numpy.subtract(rows[1:], rows[:-1], out=lines[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), _COMPRESSION)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b""))
    content = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return Encoded(content, "image/png", ".png", {"width": int(width), "height": int(height)})


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
