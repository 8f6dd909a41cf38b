"""The server hands out the page and nothing else, and ends when it is told to."""

import gzip
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hamiltone import cli
from hamiltone.errors import InputError
from hamiltone.page import PageServer, page_files, write_page
from hamiltone.page.files import STATIC
from hamiltone.page.server import HOST


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    (tmp_path / "secret.txt").write_text("secret")
    contents = {
        "index.html": b"<p>page</p>" * 100,
        "a.js": b"1;" * 500,
        "r.wasm.gz": b"\x1f\x8b1",
        "models/m.onnx": b"m",
    }
    for name, content in contents.items():
        path = tmp_path / "page" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return {name: tmp_path / "page" / name for name in contents}


@pytest.fixture
def server(files) -> Iterator[PageServer]:
    with PageServer(files, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))  # how often it looks for the end
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(HOST, server.server_address[1], timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html?x=1", "text/html; charset=utf-8"),
        ("/a.js", "text/javascript; charset=utf-8"),
        ("/r.wasm.gz", "application/gzip"),
        ("/models/m.onnx", "application/octet-stream"),
    ],
)
def test_files_have_their_types_and_the_policy(server, path, kind):
    response, body = ask(server, path)
    assert response.status == 200 and response.headers["Content-Type"] == kind and body
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe-inline" not in policy and "http" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_text_is_compressed_for_who_can_read_it_and_what_is_packed_already_is_not(server):
    response, body = ask(server, "/", Accept_Encoding="gzip, br")
    assert response.headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == b"<p>page</p>" * 100
    assert ask(server, "/")[1] == b"<p>page</p>" * 100
    assert ask(server, "/", Accept_Encoding="br, gzip;q=0, deflate")[0].headers["Content-Encoding"] is None
    response, body = ask(server, "/r.wasm.gz", Accept_Encoding="gzip")
    assert response.headers["Content-Encoding"] is None and body == b"\x1f\x8b1"


def test_what_the_browser_has_is_not_sent_again(server):
    tag = ask(server, "/a.js")[0].headers["ETag"]
    response, body = ask(server, "/a.js", If_None_Match=tag)
    assert response.status == 304 and body == b""
    response, body = ask(server, "/a.js", "HEAD")
    assert response.status == 200 and response.headers["Content-Length"] == "1000" and body == b""


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/models", "/nothing", "/a.js/"]
)
def test_nothing_else_can_be_had(server, path):
    response, body = ask(server, path)
    assert response.status == 404 and b"secret" not in body


def test_an_address_that_is_none_is_answered(server):
    with socket.create_connection(server.server_address[:2], timeout=30) as client:
        client.sendall(b"GET http://[ HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 404 ")


def test_nothing_can_be_sent(server):
    assert ask(server, "/", "POST")[0].status == 501


def test_it_listens_on_this_computer_alone(server):
    assert server.server_address[0] == "127.0.0.1" and server.address.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_one_clear_line(server, files):
    with pytest.raises(InputError, match="choose another --port"):
        PageServer(files, server.server_address[1])
    with pytest.raises(InputError, match="choose another --port"):
        PageServer(files, 70_000)


def test_without_a_port_a_taken_one_is_passed_over(files, monkeypatch):
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        monkeypatch.setattr("hamiltone.page.server.PORT", other.getsockname()[1])
        with PageServer(files) as server:
            assert server.server_address[1] != other.getsockname()[1]


def test_a_page_without_its_models_is_one_clear_line(monkeypatch, tmp_path):
    monkeypatch.setattr("hamiltone.page.files.WEIGHTS", tmp_path)
    with pytest.raises(InputError, match=r"lacks parts of the page \(models/compact.onnx, models/live.onnx\)"):
        page_files()


@pytest.fixture
def static(tmp_path, monkeypatch) -> Path:
    """A copy of the built page, which the package takes for its own."""
    copy = tmp_path / "static"
    shutil.copytree(STATIC, copy)
    monkeypatch.setattr("hamiltone.page.files.STATIC", copy)
    return copy


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize(
    "pattern", ["assets/live.worker-*.js", "assets/worklet-*.js", "index.html", "*.gz", "build.json"]
)
@pytest.mark.parametrize(("harm", "words"), [(Path.unlink, "lacks parts of"), (cut, "damaged")])
def test_a_file_of_the_page_that_is_missing_or_cut_short_is_one_clear_line(static, pattern, harm, words):
    assert page_files()
    (path,) = static.glob(pattern)
    harm(path)
    with pytest.raises(InputError, match=f"{words}.*\\({re.escape(path.relative_to(static).as_posix())}\\); reinstall"):
        page_files()


@pytest.mark.parametrize("more", [[], ["--write", "public"]])
def test_the_command_refuses_a_damaged_page(static, capsys, monkeypatch, tmp_path, more):
    (path,) = static.glob("assets/recordings.worker-*.js")
    cut(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["hamiltone", "page", "--no-browser", "--port", "0", *more])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"parts of the page are damaged (assets/{path.name})" in line


def test_the_page_can_be_written_to_a_folder_once(tmp_path):
    size = write_page(tmp_path / "public" / "clean")
    written = [path for path in (tmp_path / "public" / "clean").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in written) == size
    places = {path.relative_to(tmp_path / "public" / "clean").as_posix() for path in written}
    assert places == set(page_files()) >= {"index.html", "models/compact.onnx", "models/live.onnx"}
    with pytest.raises(InputError, match="exists already"):
        write_page(tmp_path / "public" / "clean")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal_and_loads_nothing_heavy(number):
    program = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))
from hamiltone.__main__ import main
sys.argv = ["hamiltone", "page", "--no-browser", "--port", "0"]
main()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    address = line.split(" at ")[1].split()[0]
    connection = http.client.HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=30)
    connection.request("GET", "/")
    assert b"hamiltone" in connection.getresponse().read()
    connection.close()
    child.send_signal(number)
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 0 and output == "" and "Traceback" not in errors
    assert not {"torch", "numpy", "onnxruntime", "soundfile"} & set(errors.split())
