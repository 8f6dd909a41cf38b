"""The command line: one program, one verb per job, one file per verb; each parses, calls one function and prints.

The verbs are `enhance`, `live`, `page`, `corpus` (with `corpus_progress`), `evaluate`, `accuracy`, `export`, `train`,
`runs`, `presets`, `bench`, `analyse` and `reproduce`; `options` has what several of them share.
"""

import errno
import io
import sys
from contextlib import suppress
from typing import Annotated

import typer

from hamiltone import __version__
from hamiltone.cli import (
    accuracy,
    analyse,
    bench,
    corpus,
    enhance,
    evaluate,
    export,
    live,
    page,
    presets,
    reproduce,
    runs,
    train,
)
from hamiltone.cli.options import printable, use_rule
from hamiltone.errors import InputError

app = typer.Typer(
    name="hamiltone",
    help="Quaternion self-attention with shared scores: speech enhancement, classifiers, benchmarks and analyses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich takes long to import
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(analyse.app, name="analyse")
app.add_typer(bench.app, name="bench")
app.command()(accuracy.accuracy)
app.command()(corpus.corpus)
app.command()(enhance.enhance)
app.command()(evaluate.evaluate)
app.command()(export.export)
app.command()(live.live)
app.command()(page.page)
app.command()(presets.presets)
app.command()(reproduce.reproduce)
app.command()(runs.runs)
app.command()(train.train)


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hamiltone {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="PACKAGE.MODULE:NAME", help="Import a score rule that a checkpoint needs."),
    ] = None,
) -> None:
    for name in rule or ():
        if ":" not in name:
            raise InputError(f"--rule takes package.module:Name, got {name!r}")
        use_rule(name)


def main() -> None:
    """Run the command line: exit code 0 on success, 2 for an error the user can fix, 1 for a bug."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print a character that the terminal's encoding lacks as an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except InputError as error:
        typer.echo(printable(f"hamiltone: {error}"), err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno not in _FULL or error.filename:
            raise
        typer.echo(f"hamiltone: cannot write standard output: {error.strerror}", err=True)
        with suppress(OSError):
            sys.stdout.close()  # or Python reports the same error again at exit
        sys.exit(2)
