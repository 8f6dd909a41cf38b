"""Benchmark rows as tables: on the terminal and as Markdown, from one description of the columns."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from hamiltone import markdown
from hamiltone.benchmark.machine import this_machine

Columns = Sequence[tuple[str, Callable[[Any], str]]]
LEFT = ("method", "preset", "model", "attention", "path", "what", "back end")

ATTENTION: Columns = (
    ("T", lambda row: str(row.length)),
    ("method", lambda row: row.method),
    ("path", lambda row: row.path),
    ("MACs", lambda row: f"{row.macs / 1e6:,.1f} M"),
    ("time", lambda row: f"{row.ms:,.1f} ms"),
    ("to shared", lambda row: f"{row.ratio:.2f}x"),
    ("peak memory", lambda row: f"{row.peak_mb:,.0f} MB"),
)

MODEL: Columns = (
    ("preset", lambda row: row.preset),
    ("attention", lambda row: row.attention),
    ("path", lambda row: row.path),
    ("folded", lambda row: "yes" if row.folded else "no"),
    ("audio", lambda row: f"{row.seconds:g} s"),
    ("RTF", lambda row: f"{row.rtf:.3f}"),
    ("10-90 %", lambda row: f"{row.rtf_p10:.3f}-{row.rtf_p90:.3f}"),
    ("peak memory", lambda row: f"{row.peak_mb:,.0f} MB"),
)

RUNTIME: Columns = (
    ("model", lambda row: row.model),
    ("what", lambda row: row.what),
    ("threads", lambda row: str(row.threads)),
    ("back end", lambda row: row.backend),
    ("RTF", lambda row: f"{row.rtf:.4f}"),
    ("10-90 %", lambda row: f"{row.rtf_p10:.4f}-{row.rtf_p90:.4f}"),
    ("to torch", lambda row: f"{row.ratio:.2f}x"),
    ("peak memory", lambda row: f"{row.peak_mb:,.0f} MB"),
)

FOLDER: Columns = (
    ("preset", lambda row: row.preset),
    ("attention", lambda row: row.attention),
    ("path", lambda row: row.path),
    ("files", lambda row: str(row.files)),
    ("audio", lambda row: f"{row.seconds:,.0f} s"),
    ("RTF", lambda row: f"{row.rtf:.3f}"),
)

CLASSIFIER: Columns = (
    ("model", lambda row: row.model),
    ("what", lambda row: row.what),
    ("attention", lambda row: row.attention),
    ("batch", lambda row: str(row.batch)),
    ("time", lambda row: f"{row.ms:,.2f} ms"),
    ("10-90 %", lambda row: f"{row.ms_p10:,.2f}-{row.ms_p90:,.2f}"),
    ("to shared", lambda row: f"{row.ratio:.2f}x"),
)


def terminal_table(columns: Columns, rows: Sequence[Any], section: str) -> Table:
    """Rows under the columns' names, for rich to print, with a rule wherever the field `section` of a row changes."""
    table = Table(caption=str(this_machine()), caption_justify="left")
    for name, _ in columns:
        table.add_column(name, justify="left" if name in LEFT else "right")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        last = following is None or getattr(following, section) != getattr(row, section)
        table.add_row(*(cell(row) for _, cell in columns), end_section=last)
    return table


def markdown_table(columns: Columns, rows: Sequence[Any]) -> str:
    """The same as a Markdown table."""
    return markdown.table([name for name, _ in columns], [[cell(row) for _, cell in columns] for row in rows])
