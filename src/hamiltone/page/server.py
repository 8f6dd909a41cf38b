"""A server for one page on this computer: it serves a fixed list of files and nothing else."""

import gzip
import hashlib
import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hamiltone.errors import InputError

HOST = "127.0.0.1"
PORT = 8016
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".onnx": "application/octet-stream",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
}
_PACKED = {".gz", ".onnx"}  # compressing them again gains nothing
_TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)  # unless it is refused by q=0
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",  # onnxruntime is WebAssembly
        "style-src 'self'",
        "img-src 'self' data:",  # the icon, which browsers otherwise fetch whenever they like
        "connect-src 'self'",
        "worker-src 'self'",
        "media-src 'self' blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Entry(NamedTuple):
    """A file ready to be sent: its content, plain and compressed (or None), its type, and a tag of its content."""

    plain: bytes
    packed: bytes | None
    kind: str
    tag: str


def _entry(path: Path) -> _Entry:
    content = path.read_bytes()
    packed = None if path.suffix in _PACKED else gzip.compress(content, mtime=0)
    kind = _TYPES.get(path.suffix, "application/octet-stream")
    return _Entry(content, packed, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


class PageServer(ThreadingHTTPServer):
    """Serves the files of a page at 127.0.0.1.

    Args:
        files: By their places; ``index.html`` is the page itself.
        port: 0 is any free port; None is `PORT`, or any free port if that is taken.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, files: dict[str, Path], port: int | None = None) -> None:
        self.entries = {f"/{PurePosixPath(place)}": _entry(path) for place, path in files.items()}
        self.entries["/"] = self.entries["/index.html"]
        try:
            super().__init__((HOST, PORT if port is None else port), _Handler)
        except (OSError, OverflowError) as error:
            if port is not None:
                reason = error.strerror if isinstance(error, OSError) else "it is not a valid port"
                raise InputError(f"cannot serve the page at port {port}: {reason}; choose another --port") from None
            super().__init__((HOST, 0), _Handler)

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore browsers that hang up in the middle of a response."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "hamiltone"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        try:
            entry = self.server.entries.get(unquote(urlsplit(self.path).path))
        except ValueError:  # such as http://[
            entry = None
        if entry is None:
            self._send(HTTPStatus.NOT_FOUND, b"There is no such file.\n", {"Content-Type": "text/plain"}, with_body)
            return
        headers = {"ETag": entry.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if self.headers.get("If-None-Match") == entry.tag:
            self._send(HTTPStatus.NOT_MODIFIED, b"", headers, False)
            return
        headers["Content-Type"], body = entry.kind, entry.plain
        if entry.packed is not None and _TAKES_GZIP.search(self.headers.get("Accept-Encoding", "")):
            headers["Content-Encoding"], body = "gzip", entry.packed
        self._send(HTTPStatus.OK, body, headers, with_body)

    def _send(self, status: HTTPStatus, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        self.send_response(status)
        for name, value in (_HEADERS | headers).items():
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal belongs to the user."""
