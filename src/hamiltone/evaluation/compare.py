"""Two systems on the same files: the paired bootstrap of their difference."""

import numpy as np

from hamiltone.errors import InputError
from hamiltone.evaluation.report import Report
from hamiltone.metrics import Difference, paired_difference


def compare(first: Report, second: Report) -> dict[str, Difference]:
    """For each metric of both reports, the mean of first - second over the files they share, with a 95 % interval."""
    ours, theirs = ({file.name: file for file in report.files} for report in (first, second))
    names = sorted(ours.keys() & theirs.keys())
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if not names or not metrics:
        raise InputError("the two reports share no file or no metric; evaluate both on the same folders")
    return {
        metric: paired_difference(
            [ours[name].scores[metric] for name in names],
            [theirs[name].scores[metric] for name in names],
            np.random.default_rng(0),
        )
        for metric in metrics
    }
