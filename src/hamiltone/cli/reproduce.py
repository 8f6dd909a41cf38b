"""``hamiltone reproduce``: the paper's tables and figures beside ours."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.cli.options import check_count, spinner, wide_console

if TYPE_CHECKING:
    from hamiltone.paper.pages.section import Section


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="TABLE|FIGURE|all|pages ...", help="What to reproduce.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="VoiceBank+DEMAND; default: synthetic speech.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer utterances, trials and lengths.")] = False,
    pair: Annotated[str | None, typer.Option(metavar="NAME", help="Bundled pair; default: the best one.")] = None,
    results: Annotated[Path, typer.Option(metavar="DIR", help="Where to keep numbers and pictures.")] = Path("results"),
    docs: Annotated[Path, typer.Option(metavar="DIR", help="Where `pages` writes.")] = Path("docs"),
    utterances: Annotated[
        int | None,
        typer.Option(min=2, help="Utterances analysed; default: 64, quick 4. Fewer than 64 make a quick result."),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds of the timings of Tables 3 and 9, at least the 8 of the default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=3, help="Seeds of the ablation, for each variant.")] = 4,
    jobs: Annotated[int, typer.Option(help="Parallel trainings of the ablation, one thread each.")] = 1,
    recipe: Annotated[Path, typer.Option(metavar="FILE", help="Recipe of the ablation.")] = Path("recipes/twins.toml"),
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where the ablation trains.")] = Path("runs/ablation"),
) -> None:
    """Print the paper's numbers beside ours, with the difference and what makes them hard to compare.

    The names are table1 to table15, figure1 to figure6, theorems (Appendix C), gradient-settings (a sweep of what Table
    7 leaves open) and ablation (score rules trained alike over seeds: hours on two cores, so `all` does not
    include it; run the same command again to resume it). A single measurement, such as cost or text, can be named too.
    Results are kept as JSON, quick ones in a separate folder; a full result on synthetic speech never replaces one on
    recordings, nor the other way round: give another --results. Nothing is written outside --results (and --runs).
    Reports of hamiltone evaluate --out there go into Table 2, those in its folder dns into Table 3. Only pages writes
    below --docs: RESULTS.md, and the verdicts in findings.md.

    Example: hamiltone reproduce all --quick

    Example: hamiltone reproduce table4 table10 --data VoiceBank

    Example: hamiltone reproduce model-speed-15s --rounds 10

    Example: hamiltone reproduce ablation --data VoiceBank --jobs 2
    """
    from hamiltone.paper.measure import measure
    from hamiltone.paper.measure.study import Options
    from hamiltone.paper.pages import write_pages
    from hamiltone.paper.pages.items import ITEMS, expand, measurements

    check_count("--jobs", jobs)
    wanted = expand(name for name in names if name != "pages")
    given = ["hamiltone", "reproduce", *names]
    given += [*(["--data", data.name] if data else []), *(["--quick"] if quick else [])]
    given += ["--pair", pair] if pair else []
    given += ["--utterances", str(utterances)] if utterances else []
    given += ["--rounds", str(rounds)] if rounds else []
    if "ablation" in names:
        given += ["--seeds", str(seeds), "--jobs", str(jobs)]
        given += ["--recipe", recipe.name] if recipe != Options.recipe else []
    options = Options(data, quick, pair, results, recipe, runs, seeds, jobs, utterances, rounds, shlex.join(given))
    with spinner("starting") as say:
        new = {stored.name: stored for stored in measure(measurements(wanted), options, tick=say)}
    for name in (name for name in wanted if name in ITEMS):
        _print(name, ITEMS[name].title, ITEMS[name].view(new))
    if wanted:
        typer.echo(f"results are in {results}", err=True)
    if "pages" in names:
        for path in write_pages(results, docs):
            typer.echo(f"wrote {path}", err=True)


def _print(name: str, title: str, section: "Section") -> None:
    from rich.table import Table

    console = wide_console()
    table = Table(title=f"{name}: {title} ({section.status})", title_justify="left")
    for heading in ("", "", "paper", "ours", "95 % interval", "difference", "note"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours", "difference") else "left")
    previous = None
    for row in section.rows:
        group = "" if row.group == previous else row.group
        paper = f"{row.show(row.paper)} ({row.spread})" if row.spread else row.show(row.paper)
        difference = row.show(row.difference, sign=True)
        table.add_row(group, row.quantity, paper, row.show(row.ours), row.interval, difference, row.note)
        previous = row.group
    if section.rows:
        console.print(table)
    else:
        console.print(f"{name}: {title} ({section.status})")
    for text in (section.remark, section.picture and f"picture: {section.picture}"):
        if text:
            console.print(text, style="italic")
    console.print()
