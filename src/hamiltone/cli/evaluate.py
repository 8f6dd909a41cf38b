"""``hamiltone evaluate``: scores on folders of noisy and clean recordings."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.cli.options import check_count, progress_bar, wide_console
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from hamiltone.evaluation import Report, System
    from hamiltone.metrics import Difference, Interval


_SHOWN = 20  # failures
_DEFAULT = "pesq,csig,cbak,covl,stoi,sisdr,ssnr"  # spelt out here, since the help imports nothing heavy
_MORE = "estoi,dnsmos_sig,dnsmos_bak,dnsmos_ovrl,dnsmos_p808"


def evaluate(
    noisy: Annotated[Path | None, typer.Option(help="Folder of noisy files.")] = None,
    clean: Annotated[Path | None, typer.Option(help="Folder of clean files of the same names, if any.")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="Model to score; default: bundled.")] = None,
    enhanced: Annotated[Path | None, typer.Option(help="Score these files of the same names instead.")] = None,
    unprocessed: Annotated[bool, typer.Option("--unprocessed", help="Score the noisy files themselves.")] = False,
    metrics: Annotated[str | None, typer.Option(help=f"Comma-separated; default: {_DEFAULT}. Also: {_MORE}.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Score only the beginning of each file.", min=0.1)] = None,
    workers: Annotated[int | None, typer.Option(help="Files scored at a time; default: one per core.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a report as JSON, and a CSV beside it.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="A.json B.json", help="Compare two reports, file by file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report or the comparison as JSON.")] = False,
) -> None:
    """Score a model, or any system's files, by PESQ, CSIG, CBAK, COVL, STOI, SI-SDR, segmental SNR and DNSMOS.

    The output is never aligned with the reference in sign, level or time. Files are scored at 16 kHz; those of another
    rate are resampled, and a line says so. A file on which a metric fails is left out of its mean, and the reason is
    listed. Means come with 95 % bootstrap intervals, differences also with a sign-flip test, exact up to 14 files.
    Without --clean the only score is DNSMOS (signal, background and overall by P.835, overall by P.808), which needs
    no reference.

    Example: hamiltone evaluate --noisy noisy_testset_wav --clean clean_testset_wav -o ours.json

    Example: hamiltone evaluate --noisy DNS/dev_testset --seconds 10

    Example: hamiltone evaluate --compare ours.json theirs.json
    """
    from hamiltone import evaluation
    from hamiltone.atomic import write_text

    check_count("--workers", workers)
    if out:
        evaluation.check_report_path(out, table=compare is None)
    if compare:
        if out and os.path.realpath(out) in map(os.path.realpath, compare):
            raise InputError(f"{out}: is one of the reports to compare; choose another output")
        first, second = (evaluation.read_report(path) for path in compare)
        differences = evaluation.compare(first, second)
        text = json.dumps({name: asdict(value) for name, value in differences.items()}, indent=1)
        if out:
            write_text(out, text)
        if as_json:
            typer.echo(text)
        else:
            _print_differences(str(compare[0]), str(compare[1]), differences)
        return
    if noisy is None:
        raise InputError("give a --noisy folder and, if there is one, a --clean folder, or --compare with two reports")
    listed = tuple(dict.fromkeys(name.strip() for name in metrics.split(","))) if metrics else None
    names = listed or evaluation.default_metrics(clean)
    system = _system(model, enhanced, unprocessed)
    with progress_bar("files") as progress:
        files = evaluation.evaluate(
            noisy,
            clean,
            system,
            metrics=names,
            seconds=seconds,
            workers=workers or os.cpu_count() or 1,
            progress=progress,
        )
    report = evaluation.Report(str(system), names, tuple(files), system.checkpoint)
    if out:
        evaluation.write_report(out, report)
    if as_json:
        typer.echo(json.dumps(evaluation.to_json(report), indent=1))
    else:
        _print(report)
    _warn(report)
    if report.is_empty():
        typer.echo("hamiltone: no file could be scored", err=True)
        raise typer.Exit(2)


def _system(model: str | None, enhanced: Path | None, unprocessed: bool) -> "System":
    from hamiltone.evaluation import Folder, ModelName, Unprocessed

    if sum((model is not None, enhanced is not None, unprocessed)) > 1:
        raise InputError("--model, --enhanced and --unprocessed are mutually exclusive; give one")
    if unprocessed:
        return Unprocessed()
    return ModelName(model) if enhanced is None else Folder(enhanced)


def _print(report: "Report") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    groups = report.by_snr()
    title = f"{report.system}: {len(report.files)} files"
    table = Table(title=title, caption="by input SNR on the right", box=SIMPLE_HEAD)  # no frame: it fits 80 columns
    for heading in ("metric", "mean", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "metric" else "right", no_wrap=True)
    for heading in groups:
        table.add_column(heading, justify="right")
    for name, value in report.summary().items():
        interval = "" if value is None else f"{value.low:.3f} to {value.high:.3f}"
        table.add_row(name, _mean(value), interval, *(_mean(part[name], 2) for part in groups.values()))
    wide_console().print(table)


def _warn(report: "Report") -> None:
    """Say on standard error what was resampled and what failed."""
    for rate, count in report.resampled().items():
        typer.echo(f"hamiltone: {count} files of {rate} Hz were resampled to 16000 Hz for scoring", err=True)
    failures = report.failures()
    for line in failures[:_SHOWN]:
        typer.echo(f"hamiltone: {line}", err=True)
    if len(failures) > _SHOWN:
        typer.echo(f"hamiltone: and {len(failures) - _SHOWN} more", err=True)


def _mean(value: "Interval | None", digits: int = 3) -> str:
    return "-" if value is None else f"{value.mean:.{digits}f}"


def _print_differences(first: str, second: str, differences: "dict[str, Difference]") -> None:
    from rich.table import Table

    table = Table(
        title=f"{first} - {second}",
        caption="mean difference over the same files; interval by paired bootstrap, p by sign flips",
    )
    for heading in ("metric", "difference", "95 % interval", "p", "files"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for name, value in differences.items():
        interval = f"{value.low:+.3f} to {value.high:+.3f}"
        table.add_row(name, f"{value.mean:+.3f}", interval, f"{value.p_value:.4f}", str(value.files))
    wide_console().print(table)
