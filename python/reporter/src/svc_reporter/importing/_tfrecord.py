"""Frames of TFRecord files, which TensorBoard writes its events in."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO

_CHECKED = 64 * 1024
"""Larger records are not checked by their sum, which takes 30 ns a byte."""
_MAX_RECORD = 1 << 30
_MASK = 0xA282EAD8


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def _pair_table() -> list[int]:
    """Of two bytes at once, which takes half the time."""
    firsts = ((_TABLE[pair & 0xFF] ^ (pair >> 8)) for pair in range(1 << 16))
    return [_TABLE[crc & 0xFF] ^ (crc >> 8) for crc in firsts]


_PAIRS = _pair_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C as TFRecord files have it."""
    crc, pairs = 0xFFFFFFFF, _PAIRS
    even = len(data) & ~1
    for pair in struct.unpack(f"<{even >> 1}H", data[:even]):
        crc = pairs[(crc ^ pair) & 0xFFFF] ^ (crc >> 16)
    for byte in data[even:]:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


@lru_cache(maxsize=1_000)
def _length(head: bytes) -> int:
    """The length of the record; -1 if its sum is wrong. Records of one tag have few lengths."""
    length, crc = struct.unpack("<QI", head)
    return int(length) if masked_crc(head[:8]) == crc and length <= _MAX_RECORD else -1


class Torn(ValueError):
    """The rest of a file cannot be read."""


def frames(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Records of a TFRecord file from its position on, with the end of each in the file; None if its sum is wrong.

    Ends before a partial one.

    Raises Torn where the length of a record is wrong, so that the next one cannot be found.
    """
    start = file.tell()
    while True:
        head = file.read(12)
        if len(head) < 12:
            file.seek(start)
            return
        length = _length(head)
        if length < 0:
            raise Torn(f"the record at byte {start:,} has no valid length")
        body = file.read(length + 4)
        if len(body) < length + 4:
            file.seek(start)
            return
        start += length + 16
        data = body[:length]
        if length <= _CHECKED and masked_crc(data) != int.from_bytes(body[length:], "little"):
            yield start, None
        else:
            yield start, data
