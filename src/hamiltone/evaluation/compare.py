"""Two systems on the same files: their difference, with an interval and a test."""

import numpy as np

from hamiltone.errors import InputError
from hamiltone.evaluation.report import Report
from hamiltone.metrics import Difference, paired_difference


def compare(first: Report, second: Report) -> dict[str, Difference]:
    """For each metric of both reports, the mean of first - second over the files they share, with a 95 % interval.

    A metric for which no file has a score in both reports is left out.
    """
    ours, theirs = ({file.name: file.scores for file in report.files} for report in (first, second))
    names = sorted(ours.keys() & theirs.keys())
    differences = {}
    for metric in (metric for metric in first.metrics if metric in second.metrics):
        pairs = np.array([(ours[name][metric], theirs[name][metric]) for name in names]).reshape(-1, 2)
        if np.isfinite(pairs).all(1).any():
            differences[metric] = paired_difference(pairs[:, 0], pairs[:, 1], np.random.default_rng(0))
    if not differences:
        raise InputError("the two reports have no scored file in common; evaluate both on the same folders")
    return differences
