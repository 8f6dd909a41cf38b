"""Make what the bare install needs from what needs torch: the bundled ONNX graphs, and the list of presets.

Run it after a bundled checkpoint or a preset has changed: ``make graphs``. A test compares both with their sources.
"""

import json

from hamiltone import weights
from hamiltone.export import export
from hamiltone.models.catalogue import catalogue

GRAPHS = {"compact": ("compact", False), "live": ("live", False), "live.window": ("live", True)}
"""The graphs of the bare install: the model of each, and whether to export a streaming model as a window graph."""


def main() -> None:
    """Write the graphs and the list."""
    for name, (model, window) in GRAPHS.items():
        target = weights.bundled()[model].with_name(f"{name}.onnx")
        done = export(model, target, window=window, overwrite=True)
        print(f"{name}: {done.size / 1024:.0f} KiB, gains differ from the model's by {done.difference:.1e} at most")
    weights.PRESETS_FILE.write_text(presets_text())


def presets_text() -> str:
    """The list of presets as JSON, one row per line."""
    rows = ",\n".join(json.dumps(row) for row in catalogue())
    return f"[\n{rows}\n]\n"


if __name__ == "__main__":
    main()
