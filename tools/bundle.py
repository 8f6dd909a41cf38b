"""Make what runs without torch out of what needs it: the bundled ONNX graphs, and the list of presets.

Run it after a bundled checkpoint or a preset has changed: ``make graphs``. A test compares both with their sources.
"""

import json

from hamiltone import weights
from hamiltone.export import export
from hamiltone.models.catalogue import catalogue

GRAPHS = ("compact", "live")
"""The models that the bare install runs."""


def main() -> None:
    """Write them all."""
    for name in GRAPHS:
        target = weights.bundled()[name].with_suffix(".onnx")
        done = export(name, target, overwrite=True)
        print(f"{name}: {done.size / 1024:.0f} KiB, gains differ from the model's by {done.difference:.1e} at most")
    weights.PRESETS_FILE.write_text(presets_text())


def presets_text() -> str:
    """The list of presets, a row a line."""
    rows = ",\n".join(json.dumps(row) for row in catalogue())
    return f"[\n{rows}\n]\n"


if __name__ == "__main__":
    main()
