"""Which files and folders the reporter may use: only its own, so that it neither harms nor trusts those of others.

Every reader and writer below the reporter's folders uses `open_file` and `own_folder`. They refuse what another user
owns or may write to, links, and anything that is not a regular file: in a folder such as /tmp another user could plant
events, which would be sent with this user's token, or links to this user's files.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

_OTHERS_WRITE = 0o022
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a named pipe must not wait
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def open_file(path: Path, flags: int) -> int:
    """Open a file of this user, or create it with mode 0600. Returns its descriptor; raises OSError."""
    descriptor = os.open(path, flags | _FLAGS, 0o600)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise PermissionError(1, "is not a regular file", str(path))
        _check(info, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a file of this user. Raises OSError."""
    with open(open_file(path, os.O_RDONLY), "rb") as file:
        return file.read(limit)


def own_folder(folder: Path, *, create: bool = False) -> Path:
    """The folder, if it belongs to this user alone. With `create` it is made with mode 0700. Raises OSError.

    Write permission of other users is taken away. A link is followed only where no other user could have put it: a user
    may have moved the folder to a larger disk.
    """
    if create:
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            pass
    info = folder.lstat()
    if stat.S_ISLNK(info.st_mode):
        if _is_temporary(folder) or folder.parent.stat().st_mode & _OTHERS_WRITE:
            raise PermissionError(1, "is a symbolic link", str(folder))
        _check_owner(info, folder)
        info = folder.stat()
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(20, "is not a folder", str(folder))
    _check_owner(info, folder)
    if _has_owners() and info.st_mode & _OTHERS_WRITE:
        folder.chmod(stat.S_IMODE(info.st_mode) & ~_OTHERS_WRITE)
    return folder


def _check(info: os.stat_result, path: Path) -> None:
    _check_owner(info, path)
    if _has_owners() and info.st_mode & _OTHERS_WRITE:
        raise PermissionError(1, "can be written by other users", str(path))


def _check_owner(info: os.stat_result, path: Path) -> None:
    if _has_owners() and info.st_uid != os.getuid():
        raise PermissionError(1, "belongs to another user", str(path))


def _has_owners() -> bool:
    return hasattr(os, "getuid")  # not on Windows


def _is_temporary(folder: Path) -> bool:
    return str(folder).startswith(tempfile.gettempdir())
