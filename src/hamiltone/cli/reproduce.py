"""``hamiltone reproduce``: the paper's tables and figures beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.cli.options import spinner, wide_console

if TYPE_CHECKING:
    from hamiltone.paper.result import Result


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="TABLE|FIGURE|all|pages ...", help="What to reproduce.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="VoiceBank+DEMAND; default: synthetic speech.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer utterances, trials and lengths; no training.")] = False,
    pair: Annotated[str | None, typer.Option(metavar="NAME", help="Bundled pair; default: the best there is.")] = None,
    results: Annotated[Path, typer.Option(metavar="DIR", help="Where to keep the numbers.")] = Path("results"),
    docs: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the pages.")] = Path("docs"),
) -> None:
    """Print the paper's numbers beside ours, with the difference and what keeps them from being comparable.

    The names are table1 to table15, figure1 to figure6, theorems (Appendix C), ablation (the released head split) and
    seeds (the analyses over seeds of training); the last two train toy models by recipes/toy.toml and are left out of
    a quick run. Each result is kept as JSON, and all that is kept goes into docs/RESULTS.md; pages only does the
    latter. Reports of hamiltone evaluate --json in the same folder go into Table 2.

    Example: hamiltone reproduce all --quick

    Example: hamiltone reproduce table4 table10 --data VoiceBank
    """
    from hamiltone.paper.registry import reproduce as make
    from hamiltone.paper.render import write_pages
    from hamiltone.paper.study import Options

    options = Options(data=data, quick=quick, pair=pair, results=results, docs=docs)
    wanted = [name for name in names if name != "pages"]
    with spinner("starting") as say:
        for result in make(wanted, options, tick=say):
            _print(result)
    for path in write_pages(results, docs):
        typer.echo(f"wrote {path}", err=True)


def _print(result: "Result") -> None:
    from rich.table import Table

    console = wide_console()
    table = Table(title=f"{result.name}: {result.title} ({result.status})", title_justify="left")
    for heading in ("", "", "paper", "ours", "95 % interval", "difference", "note"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours", "difference") else "left")
    previous = None
    for row in result.rows:
        group = "" if row.group == previous else row.group
        paper = f"{row.show(row.paper)} ({row.spread})" if row.spread else row.show(row.paper)
        difference = row.show(row.difference, sign=True)
        table.add_row(group, row.quantity, paper, row.show(row.ours), row.interval, difference, row.note)
        previous = row.group
    if result.rows:
        console.print(table)
    else:
        console.print(f"{result.name}: {result.title} ({result.status})")
    if result.why:
        console.print(result.why, style="italic")
    if result.status != "reproduced" and result.command:
        console.print(f"The whole would come from: {result.command}")
    console.print()
