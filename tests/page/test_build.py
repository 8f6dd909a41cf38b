"""The built page belongs to its sources, and asks nobody but its own server."""

import hashlib
import json
import re
import tomllib

import pytest

from browser import WEB
from hamiltone.page.files import STATIC, page_files
from hamiltone.page.server import _POLICY

SOURCES = (
    "index.html",
    "licences.txt",
    "package-lock.json",
    "public",
    "src",
    "stamp.ts",
    "tsconfig.json",
    "vite.config.ts",
)


def test_the_build_is_that_of_the_sources():
    """As web/stamp.ts does it."""
    stamp = hashlib.sha256()
    for source in SOURCES:
        path = WEB / source
        for file in sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]:
            stamp.update(file.relative_to(WEB).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    assert json.loads((STATIC / "build.json").read_text())["sources"] == stamp.hexdigest(), "run make web"


def test_the_build_lists_its_files():
    places = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert set(json.loads((STATIC / "build.json").read_text())["files"]) == places - {"build.json"}
    assert set(page_files()) == places | {"models/compact.onnx", "models/live.onnx"}


def test_the_page_says_what_it_may_load_and_that_is_its_own():
    html = (STATIC / "index.html").read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', html)
    assert f"{policy}; frame-ancestors 'none'" == _POLICY  # which only a header may say
    assert not re.findall(r'(?:src|href)="(?!\./|data:image)', html), "addresses are relative: it may lie anywhere"
    assert "<style" not in html and "style=" not in html and not re.search(r"<script(?![^>]*src=)", html)


def test_the_run_time_is_there_once_and_compressed():
    (runtime,) = [path for path in STATIC.rglob("*") if ".wasm" in path.name]
    assert runtime.read_bytes()[:2] == b"\x1f\x8b" and runtime.stat().st_size < 4_000_000


def test_the_lock_file_names_no_registry():
    lock = (WEB / "package-lock.json").read_text()
    assert '"resolved"' not in lock and "integrity" in lock


@pytest.mark.parametrize("folder", ["src/hamiltone/page/static", "web"])
def test_the_wheel_takes_the_build_and_not_the_sources(folder):
    config = tomllib.loads((WEB.parent / "pyproject.toml").read_text())
    packages = config["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert any(folder.startswith(package) for package in packages) == (folder != "web")
