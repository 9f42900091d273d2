"""The network cable of a host: what goes through it is cut off and comes back."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cable:
    """A port that leads to the service's. Cut, it resets what is open and refuses what is new."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.port = 0
        self.plug_in()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def plug_in(self) -> None:
        listener = self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = int(listener.getsockname()[1])
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            _end(listener)
        with self._lock:
            ends, self._open = self._open, set()
        for one in ends:
            _end(one)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._to, 10)
                far.settimeout(None)
            except OSError:
                return
            with self._lock:
                is_cut = self._listener is not listener
                if not is_cut:
                    self._open |= {near, far}
            if is_cut:
                _end(near)
                _end(far)
                return
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(65536):
                target.sendall(block)
        for one in (source, target):
            _end(one)
        with self._lock:
            self._open -= {source, target}


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
