"""A Unix socket that leads to another one, so that tests can have an engine's socket with any owner and mode."""

import os
import socket
import threading


class Relay:
    """A socket of its own, with a group and a mode, that leads to the real one."""

    def __init__(self, path, target, group, mode):
        self.target, self.path = target, path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        os.chown(path, -1, group)
        os.chmod(path, mode)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                engine.connect(self.target)
            except OSError:
                client.close()
                continue
            for one, other in [(client, engine), (engine, client)]:
                threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    @staticmethod
    def pump(one, other):
        # What one side has finished saying is passed on as just that: answers may still be under way.
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (one, other):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.close()
        os.unlink(self.path)
