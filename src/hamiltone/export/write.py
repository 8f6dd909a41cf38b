"""From a checkpoint to an ONNX file: traced, checked against the model, then written."""

import hashlib
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import torch

import hamiltone
from hamiltone.atomic import write_bytes
from hamiltone.errors import InputError
from hamiltone.export.check import check_graph
from hamiltone.export.graph import StateGraph, WindowGraph, first_states
from hamiltone.models import bundled, folded, load_checkpoint
from hamiltone.models.checkpoint import Header
from hamiltone.models.configs import to_json
from hamiltone.models.enhancer import Enhancer
from hamiltone.runtime.description import GAIN, KEY, SPECTRUM, Description, GraphState
from hamiltone.weights import find_model

if TYPE_CHECKING:
    import onnx_ir as ir

_PACKAGES = ("onnx", "onnxscript", "onnxruntime")
_TRACED_FRAMES = 37
UNSTATED = "not stated"


@dataclass(frozen=True)
class Exported:
    """A written file: its description, its size in bytes and its largest difference from the model."""

    path: str
    description: Description
    size: int
    difference: float


def export(
    model: str | Path | None = None,
    out: str | Path | None = None,
    *,
    window: bool = False,
    licence: str = "",
    overwrite: bool = False,
) -> Exported:
    """Write a speech checkpoint, a bundled one by name or any other by file, as an ONNX file.

    A model that streams becomes a step graph unless `window` is set, any other model a graph of whole windows. Before
    the file is written, atomically, the graph is compared with the model (see `check_graph`). Without `out` it is named
    after the model, in the current folder. Weights that come with hamiltone are under Apache-2.0; give the `licence` of
    others.
    """
    source = find_checkpoint(model)
    target = check_target(Path(f"{source.stem}.onnx") if out is None else Path(out), source, overwrite)
    content, description, difference = make_graph(source, licence, window=window)
    write_bytes(target, content)
    return Exported(str(target), description, len(content), difference)


def find_checkpoint(model: str | Path | None) -> Path:
    """The file of a bundled model or of any other."""
    check_packages()
    return find_model(model)


def check_packages() -> None:
    """Raise an `InputError` if a package that export needs is missing."""
    if missing := [package for package in _PACKAGES if not find_spec(package)]:
        raise InputError(f'export needs {", ".join(missing)}: pip install "hamiltone[export]"')


def check_target(target: Path, source: Path, overwrite: bool) -> Path:
    """Raise an `InputError` if the target cannot be written or is the checkpoint, before the work is done."""
    if target.is_dir():
        raise InputError(f"{target} is a folder; give a file")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: no such folder")
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already; to replace it, give --overwrite")
    if os.path.realpath(target) == os.path.realpath(source):
        raise InputError(f"{target}: is the checkpoint itself; choose another output")
    return target


def make_graph(source: Path, licence: str = "", *, window: bool = False) -> tuple[bytes, Description, float]:
    """The content of the ONNX file for a checkpoint, its description, and its largest difference from the model."""
    model, header = load_checkpoint(source)
    real = folded(model)
    description = describe(model, header, source, licence, window=window)
    graph = _trace(real, description)
    graph.metadata_props[KEY] = description.to_json()
    content = _serialised(graph)
    return content, description, check_graph(content, model, real)


def describe(model: Enhancer, header: Header, source: Path, licence: str, *, window: bool = False) -> Description:
    """The description that the file carries."""
    stft, steps = model.stft, model.streams and not window
    ours = source in bundled().values()
    with torch.no_grad():
        states = {name: tuple(state.shape) for name, state in first_states(model).items()} if model.streams else {}
    return Description(
        kind="step" if steps else "window",
        sample_rate=model.sample_rate,
        n_fft=stft.n_fft,
        hop=stft.hop,
        latency=stft.n_fft if steps else None,  # a sample is final after the last frame that contains it
        licence=licence or ("Apache-2.0" if ours else UNSTATED),
        checkpoint=hashlib.sha256(source.read_bytes()).hexdigest(),
        version=hamiltone.__version__,
        preset=header.preset,
        config=to_json(header.config),
        states=tuple(GraphState(name, f"next_{name}", shape) for name, shape in states.items()),
    )


@torch.no_grad()
def _trace(model: Enhancer, description: Description) -> "ir.Model":
    from hamiltone.export.reshapes import tidy

    states, step = description.states, description.kind == "step"
    module = StateGraph(model) if model.streams else WindowGraph(model)
    frames = 1 if step else _TRACED_FRAMES
    axes = {1: torch.export.Dim("frames", min=2)}
    shapes = None if step else (axes, (None,) * len(states)) if states else (axes,)
    spectrum = torch.randn(1, frames, description.bins, 2)
    inputs = (spectrum, *(torch.zeros(state.shape) for state in states))
    with _quiet():
        program = torch.onnx.export(
            torch.export.export(
                module.eval(), inputs, dynamic_shapes=shapes, prefer_deferred_runtime_asserts_over_guards=True
            ),
            dynamo=True,
            input_names=[SPECTRUM, *(state.name for state in states)],
            output_names=[GAIN, *(state.next for state in states)],
            verbose=False,
        )
    assert program is not None
    return tidy(program.model)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's own messages."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _serialised(graph: "ir.Model") -> bytes:
    import onnx_ir as ir

    for node in graph.graph:
        node.metadata_props.clear()  # holds the source location
        node.doc_string = None
    proto = ir.to_proto(graph)
    del proto.graph.value_info[:]
    content: bytes = proto.SerializeToString()
    return content
