"""Graphs in eight bits: weights of matrix products rounded to int8, and what that costs on real pairs."""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hamiltone.atomic import write_bytes
from hamiltone.errors import InputError
from hamiltone.evaluation import ModelName, Report, compare, evaluate
from hamiltone.export.write import Exported, check_target, find_checkpoint, make_graph
from hamiltone.metrics import Difference, check_metrics
from hamiltone.runtime.description import KEY, Description
from hamiltone.runtime.onnx_graph import OnnxGraph, import_onnxruntime

REPORTED = ("pesq", "stoi", "sisdr")
PRODUCTS = ("MatMul", "Gemm")


@dataclass(frozen=True)
class Cost:
    """What eight bits change in the mean of each metric, and the size of the file in float32 in bytes."""

    differences: dict[str, Difference]
    float_size: int


def export_int8(
    model: str | Path | None = None,
    out: str | Path | None = None,
    *,
    noisy: Path | None,
    clean: Path | None,
    licence: str = "",
    overwrite: bool = False,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Exported, Cost]:
    """Write a checkpoint as `export` does, with the weights of all matrix products in int8, and score it.

    Activations are quantised dynamically; convolutions and recurrent units stay in float32. The pairs in the two
    folders go through the float32 graph, which is checked against the model, and through the int8 one; `progress` is
    called with the number of finished files.
    """
    if noisy is None or clean is None:
        raise InputError("--int8 needs pairs to measure what it costs: give --noisy and --clean folders")
    source = find_checkpoint(model)
    check_metrics(REPORTED)
    target = check_target(Path(f"{source.stem}.int8.onnx") if out is None else Path(out), source, overwrite)
    content, description, difference = make_graph(source, licence)
    description = replace(description, precision="int8")
    small = quantised(content, description)
    with tempfile.TemporaryDirectory(prefix="hamiltone-") as folder:
        reports = []
        for number, (name, graph) in enumerate((("int8", small), ("float32", content))):
            path = Path(folder, f"{name}.onnx")
            path.write_bytes(graph)

            def advance(done: int, total: int, before: int = number) -> None:
                progress(before * total + done, 2 * total)

            files = evaluate(noisy, clean, ModelName(str(path)), metrics=REPORTED, workers=workers, progress=advance)
            reports.append(Report(name, REPORTED, tuple(files)))
    differences = compare(*reports)
    write_bytes(target, small)
    return Exported(str(target), description, len(small), difference), Cost(differences, len(content))


def quantised(content: bytes, description: Description) -> bytes:
    """The graph in int8, with its description; loaded once to check that it runs."""
    import onnx

    import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="hamiltone-") as folder:
        path = Path(folder, "int8.onnx")
        logger = logging.getLogger()
        before = logger.level
        logger.setLevel(logging.ERROR)  # it recommends a preprocessing step that would undo ours
        try:
            quantize_dynamic(
                onnx.load_from_string(content),
                path,
                op_types_to_quantize=list(PRODUCTS),
                per_channel=True,
                weight_type=QuantType.QInt8,
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )
        finally:
            logger.setLevel(before)
        proto = onnx.load(path)
    onnx.helper.set_model_props(proto, {KEY: description.to_json()})
    small: bytes = proto.SerializeToString()
    OnnxGraph(small, threads=1)
    return small
