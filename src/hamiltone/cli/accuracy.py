"""``hamiltone accuracy``: the accuracy of classifiers on the split that training never saw."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hamiltone.cli.options import progress_bar


def accuracy(
    checkpoints: Annotated[list[Path], typer.Argument(metavar="CHECKPOINT ...", help="Trained classifiers.")],
    data: Annotated[Path, typer.Option(help="The images, or the folder of sentences, as for training.")],
    split: Annotated[str | None, typer.Option(help="The split; default: test of images, dev of sentences.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the accuracies as JSON.")] = False,
) -> None:
    """Score trained classifiers of images or text, with mean and deviation over the seeds of each attention.

    Training never looks at this split: it validates on part of the training data. So score once, at the end.

    Example: hamiltone accuracy runs/cifar100-*/best.safetensors --data cifar-100-binary.tar.gz

    Example: hamiltone accuracy runs/sst2-*/best.safetensors --data SST-2
    """
    from rich.console import Console
    from rich.table import Table

    from hamiltone.evaluation.accuracy import accuracy_of, aggregate

    scores = []
    with progress_bar("checkpoints") as progress:
        for done, checkpoint in enumerate(checkpoints, 1):
            scores.append(accuracy_of(checkpoint, data, split))
            progress(done, len(checkpoints))
    means = aggregate(scores)
    if as_json:
        rows = [asdict(row) | {"percent": row.percent} for row in scores]
        typer.echo(json.dumps({"scores": rows, "means": [asdict(mean) for mean in means]}, indent=2))
        return
    table = Table()
    for heading in ("checkpoint", "attention", "seed", "samples", "accuracy"):
        table.add_column(heading, justify="left" if heading in ("checkpoint", "attention") else "right")
    for row in scores:
        seed = "" if row.seed is None else str(row.seed)
        table.add_row(row.checkpoint, row.attention, seed, f"{row.count:,}", f"{row.percent:.2f} %")
    for mean in means:
        deviation = "" if mean.deviation is None else f" ± {mean.deviation:.2f}"
        table.add_row(f"mean of {mean.runs}", mean.attention, "", "", f"{mean.mean:.2f}{deviation} %")
    Console().print(table)
