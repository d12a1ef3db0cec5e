"""A server on this machine that misbehaves as told, for tests of what downloads."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Answer:
    """How a request is answered.

    Parameters
    ----------
    body : bytes
    status : int
    mark : str
        ETag; none if empty.
    date : str
        Last-Modified; none if empty.
    ranges : str
        "right"; "ignored"; "always": also where the client's mark is of another version.
    cut : int, optional
        The connection is closed after so many bytes of the answer.
    length : int, optional
        Content-Length as stated; None is the truth, −1 none at all.
    pause : float
        Seconds between bytes, one at a time.
    headers : dict
        Others.
    """

    body: bytes = b""
    status: int = 200
    mark: str = '"1"'
    date: str = ""
    ranges: str = "right"
    cut: int | None = None
    length: int | None = None
    pause: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


class Server:
    """Answers of each path in turn, the last one again and again; a path without any is 404."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()

    def says(self, path: str, *answers: Answer | bytes) -> str:
        """From now on; the address of the path."""
        self.answers[path] = [Answer(one) if isinstance(one, bytes) else one for one in answers]
        self.asked.clear()
        return self.url + path

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def next(self, path: str, headers: dict[str, str]) -> Answer:
        self.asked.append((path, headers))
        answers = self.answers.get(path) or [Answer(status=404)]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def serving() -> Iterator[Server]:
    """A server while the block runs."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                _answer(self, server)

        def log_message(self, format: str, *args: object) -> None:
            pass

    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{http_server.server_address[1]}")
    thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http_server.shutdown()
        http_server.server_close()
        thread.join()


def _answer(request: http.server.BaseHTTPRequestHandler, server: Server) -> None:
    answer = server.next(request.path, dict(request.headers))
    status, body, headers = answer.status, answer.body, dict(answer.headers)
    asked = request.headers.get("Range")
    same = request.headers.get("If-Range") in (answer.mark, answer.date)
    if asked and status == 200 and (answer.ranges == "always" or (answer.ranges == "right" and same)):
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        status, headers["Content-Range"] = 206, f"bytes {start}-{len(body) - 1}/{len(body)}"
        body = body[start:]
    request.send_response(status)
    for name, value in (("ETag", answer.mark), ("Last-Modified", answer.date), *headers.items()):
        if value:
            request.send_header(name, value)
    if answer.length != -1:
        request.send_header("Content-Length", str(len(body) if answer.length is None else answer.length))
    request.end_headers()
    body = body[: answer.cut]
    if not answer.pause:
        request.wfile.write(body)
    for byte in body if answer.pause else ():
        request.wfile.write(bytes([byte]))
        if server.over.wait(answer.pause):
            break
