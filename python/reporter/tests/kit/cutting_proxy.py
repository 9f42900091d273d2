"""A proxy that passes bytes on, and cuts a connection after so many of them."""

from __future__ import annotations

import socket
import struct
import threading
from urllib.parse import urlsplit


class CuttingProxy:
    """`cuts` are numbers of bytes to the service after which a connection is cut; one is used by each connection."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.cuts: list[int] = []
        self.sent = 0
        """Bytes that were passed on to the service."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        # Closing alone leaves the thread in accept(), which a signal restarts: by then its descriptor can be another
        # server's, and that server's next connection would be passed on to the service.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                service = socket.create_connection(self._upstream)
            except OSError:
                return
            left = self.cuts.pop(0) if self.cuts else None
            threading.Thread(target=self._pass, args=(client, service, left, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(service, client, None, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, left: int | None, counts: bool) -> None:
        try:
            while data := source.recv(65_536):
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                target.sendall(data)
                self.sent += len(data) if counts else 0
                if left == 0:
                    source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
            finally:
                end.close()
