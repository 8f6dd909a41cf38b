"""The files of the page: the built ones and the graphs of the bundled models."""

import hashlib
import json
import shutil
from pathlib import Path

from hamiltone.errors import InputError

STATIC = Path(__file__).parent / "static"
WEIGHTS = Path(__file__).parents[1] / "weights"
MODELS = ("compact", "live")
"""For recordings and for live sound."""


def page_files() -> dict[str, Path]:
    """The files of the page by their places in it, such as ``models/live.onnx``.

    A file that is missing, or not as it was built, raises an `InputError`.
    """
    hashes = _built()
    files = {place: STATIC / place for place in ("build.json", *hashes)}
    files |= {f"models/{name}.onnx": WEIGHTS / f"{name}.onnx" for name in MODELS}
    missing = [place for place, path in files.items() if not path.is_file()]
    if missing:
        raise InputError(f"this installation lacks parts of the page ({', '.join(missing)}); reinstall hamiltone")
    damaged = [place for place, expected in hashes.items() if _hash(files[place]) != expected]
    if damaged:
        raise InputError(f"parts of the page are damaged ({', '.join(damaged)}); reinstall hamiltone")
    return files


def _built() -> dict[str, str]:
    """The built files by their places, with their SHA-256, as the build wrote them down."""
    path = STATIC / "build.json"
    try:
        hashes: dict[str, str] = json.loads(path.read_bytes())["files"]
    except FileNotFoundError:
        raise InputError("this installation lacks parts of the page (build.json); reinstall hamiltone") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError("parts of the page are damaged (build.json); reinstall hamiltone") from None
    return hashes


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_page(folder: Path) -> int:
    """Copy the page to a folder that any web server can serve; returns the size in bytes."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists already; give a new or an empty folder")
    size = 0
    try:
        for place, path in page_files().items():
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            size += target.stat().st_size
    except OSError as error:
        raise InputError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    return size
