"""The bundled models: checkpoints, ONNX graphs of some of them, and the list of presets. Finding them needs no torch.

``make graphs`` makes the graphs and the list.
"""

import json
from pathlib import Path
from typing import Any

from hamiltone.errors import InputError

DEFAULT = "compact"
_FOLDER = Path(__file__).parent
PRESETS_FILE = _FOLDER / "presets.json"


def bundled() -> dict[str, Path]:
    """The checkpoints that come with the package, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.safetensors"))}


def graphs() -> dict[str, Path]:
    """The ONNX graphs that come with the package, by the names of their checkpoints.

    A model that streams has two: one of steps, and one of whole windows, ``NAME.window``, which is faster for files.
    """
    return {path.stem: path for path in sorted(_FOLDER.glob("*.onnx"))}


def preset_rows() -> list[dict[str, Any]]:
    """The rows of ``hamiltone presets``, made by `hamiltone.models.catalogue`."""
    try:
        return json.loads(PRESETS_FILE.read_text())
    except (OSError, ValueError):
        raise InputError(f"{PRESETS_FILE} is damaged or missing; reinstall hamiltone") from None


def find_model(model: str | Path | None = None) -> Path:
    """The checkpoint behind a name or a file; None is the default."""
    name = DEFAULT if model is None else str(model)
    path = bundled().get(name, Path(name))
    if not path.exists() or path.is_dir():  # Path("") is the working directory
        untrained = name in {row["name"] for row in preset_rows()}
        hint = f"; {name!r} is an untrained preset, train it first" if untrained else ""
        raise InputError(f"there is no model {name!r}: give a file or one of {', '.join(bundled())}{hint}")
    return path
