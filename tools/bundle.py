"""Make what the bare install needs from what needs torch: the bundled ONNX graphs, and the list of presets.

Run it after a bundled checkpoint, a preset or the table of rules has changed: ``make graphs``. A test compares both
with their sources. A graph that was made of the checkpoint as it is now is left alone; after a change of the exporter,
``python tools/bundle.py --all`` makes all of them again.
"""

import hashlib
import json
import sys

from hamiltone import weights
from hamiltone.export import export
from hamiltone.models.catalogue import catalogue
from hamiltone.runtime.onnx_graph import OnnxGraph

GRAPHS = {"compact": ("compact", False), "live": ("live", False), "live.window": ("live", True)}
"""The graphs of the bare install: the model of each, and whether to export a streaming model as a window graph."""


def main() -> None:
    """Write the graphs and the list."""
    for name, (model, window) in GRAPHS.items():
        checkpoint = weights.bundled()[model]
        target = checkpoint.with_name(f"{name}.onnx")
        digest = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
        current = target.exists() and OnnxGraph(target, threads=1).description.checkpoint == digest
        if current and "--all" not in sys.argv:
            print(f"{name}: is that of the checkpoint")
            continue
        done = export(model, target, window=window, overwrite=True)
        print(f"{name}: {done.size / 1024:.0f} KiB, gains differ from the model's by {done.difference:.1e} at most")
    weights.PRESETS_FILE.write_text(presets_text())


def presets_text() -> str:
    """The list of presets as JSON, one row per line."""
    rows = ",\n".join(json.dumps(row) for row in catalogue())
    return f"[\n{rows}\n]\n"


if __name__ == "__main__":
    main()
