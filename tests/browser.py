"""What the tests of the page need beside Python: node, its packages, and Chromium."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[1] / "web"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def missing(*, browser: bool) -> str:
    """In one line what is missing, or nothing."""
    if not shutil.which("node"):
        return "the page's tests need Node: apt install nodejs npm"
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        return "the page's tests need its packages: cd web && npm ci"
    if browser and not find_chromium():
        return "the page's tests need Chromium: apt install chromium"
    return ""


def needs(*, browser: bool) -> pytest.MarkDecorator:
    """A mark that skips tests where something is missing; with HAMILTONE_TEST_PAGE set, as in CI, that is an error."""
    reason = missing(browser=browser)
    if reason and os.environ.get("HAMILTONE_TEST_PAGE"):
        raise RuntimeError(reason)
    return pytest.mark.skipif(bool(reason), reason=reason)


def node(*arguments: str | Path, timeout: float = 1800) -> str:
    """Run a script of web/ and return what it prints."""
    done = subprocess.run(["node", *arguments], cwd=WEB, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_typescript(project: str) -> None:
    """Check the types of a project; of that of the tests, what it needs goes to web/build."""
    node(WEB / "node_modules" / "typescript" / "bin" / "tsc", "-p", project)


class Chromium:
    """A browser that runs cases of web/tests/cases.mjs on the page at an address, one after another.

    It is started at the first case, and again after one that failed.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self._folder = address, folder
        self._node: subprocess.Popen[str] | None = None

    def run(self, case: str) -> dict[str, Any]:
        """Run a case and return what it saw."""
        if self._node is None:
            command = ["node", "tests/browser.mjs", str(find_chromium()), self._address, str(self._folder)]
            self._node = subprocess.Popen(command, cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._node.stdin is not None and self._node.stdout is not None
        print(case, file=self._node.stdin, flush=True)
        result = json.loads(self._node.stdout.readline() or '{"error": "node has ended: see what it printed"}')
        if "error" in result:
            self.close()
            raise AssertionError(result["error"])
        seen = result["seen"]
        assert not seen.get("complaints"), f"the browser's console: {seen['complaints']}"
        assert not seen.get("requests"), f"asked for after the page has loaded: {seen['requests']}"
        return seen

    def close(self) -> None:
        """End the browser."""
        if self._node is not None:
            self._node.communicate(timeout=60)
            self._node = None
