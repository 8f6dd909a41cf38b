"""The files of the page: the built ones and the graphs of the bundled models."""

import shutil
from pathlib import Path

from hamiltone.errors import InputError

STATIC = Path(__file__).parent / "static"
WEIGHTS = Path(__file__).parents[1] / "weights"
MODELS = ("compact", "live")
"""For recordings and for live sound."""


def page_files() -> dict[str, Path]:
    """The files of the page by their places in it, such as ``models/live.onnx``."""
    files = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}
    files |= {f"models/{name}.onnx": WEIGHTS / f"{name}.onnx" for name in MODELS}
    missing = [place for place in ("index.html", *files) if place not in files or not files[place].is_file()]
    if missing:
        raise InputError(f"this installation lacks parts of the page ({', '.join(missing)}); reinstall hamiltone")
    return files


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
