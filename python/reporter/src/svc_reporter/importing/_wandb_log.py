"""Frames of W&B's transaction log: those of LevelDB's log, blocks of 32 KiB with a sum for each record."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

_BLOCK = 32 * 1024
_HEAD = 7
_MAGIC = b":W&B"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class Frame:
    """A record of the log, or the damage that was found in its place."""

    def __init__(self, data: bytes, damage: str = "") -> None:
        self.data = data
        self.damage = damage


def frames(file: BinaryIO) -> Iterator[Frame]:
    """The records of a log. A damaged block costs its rest; reading goes on with the next block."""
    head = file.read(_HEAD)
    if head[:4] != _MAGIC:
        raise ValueError("is not a log of W&B")
    parts: list[bytes] = []
    while True:
        at = file.tell()
        left = _BLOCK - at % _BLOCK
        if left < _HEAD:
            file.seek(left, 1)
            continue
        head = file.read(_HEAD)
        if len(head) < _HEAD:
            return
        crc, length, kind = struct.unpack("<IHB", head)
        data = file.read(min(length, left - _HEAD))
        whole = kind in (_FULL, _FIRST, _MIDDLE, _LAST) and len(data) == length <= left - _HEAD
        if not whole or zlib.crc32(head[6:7] + data) & 0xFFFFFFFF != crc:
            parts = []
            if not head.strip(b"\0"):
                return  # space that was reserved and never written
            if at + left >= _size(file):
                return  # the last record was not written to its end: the run was cut off
            yield Frame(b"", f"the record at byte {at:,} is damaged")
            file.seek(at + left)
        elif kind == _FULL:
            parts = []
            yield Frame(data)
        elif kind == _FIRST:
            parts = [data]
        elif parts:
            parts.append(data)
            if kind == _LAST:
                yield Frame(b"".join(parts))
                parts = []


def _size(file: BinaryIO) -> int:
    at = file.tell()
    end = file.seek(0, 2)
    file.seek(at)
    return end
