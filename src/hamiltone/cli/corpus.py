"""``hamiltone corpus``: a whole corpus enhanced on Ray."""

import json
import os
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.cli.options import ModelOption, StrengthOption, printable
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from hamiltone.corpus import Summary


def corpus(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="A folder, a JSONL manifest or .tar shards.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUTPUT", help="A folder for the results.")],
    workers: Annotated[
        str | None, typer.Option(metavar="MIN,MAX", help="Processes, of one core each; default: 1 to all cores.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Join a running Ray cluster; default: Ray on this machine alone.")
    ] = None,
    model: ModelOption = None,
    strength: StrengthOption = 1.0,
    format: Annotated[str, typer.Option(help="Format of the results: flac or wav.")] = "flac",
    score: Annotated[bool, typer.Option("--score", help="Rate each clip with DNSMOS, before and after.")] = False,
    keep: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Rows of the manifest to keep: 'dnsmos_ovrl > 2.8'.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON at the end.")] = False,
) -> None:
    """Remove noise from a corpus: any number of clips, on all cores of one machine or many.

    INPUT is a folder of audio files, a manifest with a line of JSON per clip
    (audio_filepath and any other fields), or a .tar shard of WebDataset, or a
    folder of them. OUTPUT gets the enhanced audio and manifest.jsonl: the rows
    of the input in their order with all their fields, and what was measured.
    A clip that cannot be enhanced is a row of errors.jsonl. The originals are
    never touched.

    The same command resumes a run that was stopped or killed, retries what
    failed, and gives the same results as an uninterrupted run.

    Example: hamiltone corpus recordings/ -o cleaned/

    Example: hamiltone corpus train.jsonl -o cleaned/ --score --keep 'dnsmos_ovrl > 2.8 and seconds >= 1'

    Example: hamiltone corpus shards/ -o /shared/cleaned --address auto --workers 16,256
    """
    from hamiltone.cli.corpus_progress import progress_display
    from hamiltone.corpus.cluster import RayEngine
    from hamiltone.corpus.run import CorpusJob, run_corpus

    job = CorpusJob(source, out, model, strength, format, score, keep)
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),  # Ray reports there that workers died, whose clips are done again anyway
        RayEngine(_workers(workers), address) as engine,
        progress_display() as tick,
    ):
        summary = run_corpus(job, engine, tick)
    typer.echo(json.dumps(asdict(summary), indent=2) if as_json else _line(summary, out))
    if summary.errors == summary.clips:
        raise InputError(f"no clip could be enhanced; the reasons are in {out / 'errors.jsonl'}")


def _workers(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--workers takes MIN,MAX such as 2,8, or one number, got {text!r}")
    least, most = int(parts[0]), int(parts[-1])
    if not 1 <= least <= most:
        raise InputError(f"--workers takes MIN,MAX with 1 ≤ MIN ≤ MAX, got {text!r}")
    return least, most


def _line(summary: "Summary", out: Path) -> str:
    dropped = f", {summary.dropped} left out by --keep" if summary.dropped else ""
    line = f"{out}: {summary.enhanced} of {summary.clips} clips, {summary.hours:.2f} hours of audio{dropped}"
    return printable(f"{line}, {summary.errors} errors; {summary.new} clips in this run, in {summary.elapsed:.0f} s")
