"""Frames of TFRecord files, which TensorBoard writes its events in."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

_CHECKED = 64 * 1024
"""Larger records are not checked by their sum, which takes 60 ns a byte."""
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


def masked_crc(data: bytes) -> int:
    """CRC-32C as TFRecord files have it."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


class Torn(ValueError):
    """The rest of a file cannot be read."""


def frames(file: BinaryIO) -> Iterator[bytes | None]:
    """The records of a TFRecord file from its position on; None for one with a wrong sum. Ends before a partial one.

    Raises Torn where the length of a record is wrong, so that the next one cannot be found.
    """
    while True:
        start = file.tell()
        head = file.read(12)
        if len(head) < 12:
            file.seek(start)
            return
        length, crc = struct.unpack("<QI", head)
        if masked_crc(head[:8]) != crc or length > _MAX_RECORD:
            raise Torn(f"the record at byte {start:,} has no valid length")
        body = file.read(length + 4)
        if len(body) < length + 4:
            file.seek(start)
            return
        data = body[:length]
        if length <= _CHECKED and masked_crc(data) != struct.unpack("<I", body[length:])[0]:
            yield None
        else:
            yield data
