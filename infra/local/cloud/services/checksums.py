"""Checksums that Google's APIs state beside bytes.

Owns CRC32C (Castagnoli; RFC 3720, section 12.1) and the two ways it is written: base64 of the big-endian bytes
(Cloud Storage) and a decimal number as text (Secret Manager, KMS).
"""

from __future__ import annotations

import base64
import hashlib

_POLYNOMIAL = 0x82F63B78


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The CRC32C of `data` as an unsigned number."""
    table, value = _TABLE, 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def crc32c_base64(data: bytes) -> str:
    return base64.b64encode(crc32c(data).to_bytes(4, "big")).decode()


def md5_base64(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
