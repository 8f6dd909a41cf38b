"""Scores of a system on folders of noisy and clean recordings: per file, means with intervals, comparisons.

`scoring` scores every file of a test set, `report` reads and writes the result, `compare` compares two of them.
`accuracy` is for classifiers.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.evaluation.compare import compare
from hamiltone.evaluation.report import Report, check_report_path, read_report, to_json, write_report
from hamiltone.evaluation.scoring import (
    DEFAULT_METRICS,
    FileScores,
    Folder,
    ModelName,
    System,
    Unprocessed,
    default_metrics,
    evaluate,
)

__all__ = [
    "DEFAULT_METRICS",
    "FileScores",
    "Folder",
    "ModelName",
    "Report",
    "System",
    "Unprocessed",
    "check_report_path",
    "compare",
    "default_metrics",
    "evaluate",
    "read_report",
    "to_json",
    "write_report",
]
