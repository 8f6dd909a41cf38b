"""``hamiltone export``: speech models as ONNX files."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.cli.options import check_count, printable, progress_bar, spinner
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from hamiltone.export import Cost, Exported


def export(
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="A bundled model or a checkpoint.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: MODEL.onnx or MODEL.int8.onnx.")
    ] = None,
    window: Annotated[
        bool, typer.Option("--window", help="Take whole recordings, even if the model could stream: faster for files.")
    ] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Round the weights of matrix products to eight bits.")] = False,
    noisy: Annotated[Path | None, typer.Option(help="Folder of noisy files to score --int8 on.")] = None,
    clean: Annotated[Path | None, typer.Option(help="Folder of clean files of the same names.")] = None,
    licence: Annotated[str, typer.Option(help="Licence of the weights; that of bundled ones is known.")] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    workers: Annotated[int | None, typer.Option(help="Files scored at a time; default: one per core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a speech model as one ONNX file, which runs without torch.

    Spectra go in and gains come out, both as pairs of real and imaginary parts.
    A model that streams becomes a graph of one frame with its states as inputs
    and outputs; any other model takes recordings of any length. The file carries
    sample rate, STFT, latency, licence and the checkpoint's SHA-256. It is only
    written if onnxruntime agrees with torch to 1e-4.

    With --int8, PESQ, STOI and SI-SDR on your pairs show what the rounding costs.

    Example: hamiltone export compact -o compact.onnx

    Example: hamiltone export compact --int8 --noisy noisy_testset_wav --clean clean_testset_wav
    """
    check_count("--workers", workers)
    try:
        from hamiltone.export import export as write
        from hamiltone.export import export_int8
    except InputError:  # torch is missing, and then so are the others
        raise InputError('export needs torch, onnx and onnxscript: pip install "hamiltone[export]"') from None

    if not int8:
        if noisy is not None or clean is not None:
            raise InputError("--noisy and --clean are for --int8; leave them out, or add it")
        with spinner("tracing and checking the graph"):
            done, cost = write(model, out, window=window, licence=licence, overwrite=overwrite), None
    else:
        if window:
            raise InputError("--window and --int8 are mutually exclusive; give one")
        with progress_bar("files") as progress:
            done, cost = export_int8(
                model,
                out,
                noisy=noisy,
                clean=clean,
                licence=licence,
                overwrite=overwrite,
                workers=workers or os.cpu_count() or 1,
                progress=progress,
            )
    if as_json:
        typer.echo(json.dumps(asdict(done) | ({} if cost is None else {"cost": asdict(cost)}), indent=2))
        return
    for line in _lines(done, cost):
        typer.echo(printable(line))


def _lines(done: "Exported", cost: "Cost | None") -> list[str]:
    about = done.description
    kind = "one frame at a time" if about.kind == "step" else "whole windows"
    latency = "" if about.latency is None else f", latency {about.latency} samples"
    lines = [
        f"{done.path}: {done.size / 1024:.0f} KiB, {about.precision}, {kind} at {about.sample_rate} Hz, "
        f"n_fft {about.n_fft}, hop {about.hop}{latency}, licence {about.licence}",
        f"gains differ from the model's by {done.difference:.1e} at most"
        + (" before they are rounded" if cost else ""),
    ]
    if cost is not None:
        lines.append(f"eight bits take {done.size / cost.float_size:.0%} of the size of float32 and change")
        for name, value in cost.differences.items():
            lines.append(
                f"  {name} by {value.mean:+.4f} (95 % interval {value.low:+.4f} to {value.high:+.4f}, "
                f"{value.files} files)"
            )
    return lines
