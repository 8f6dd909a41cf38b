"""Results beside what the paper prints: RESULTS.md and the verdicts of findings.md, written when asked to.

`items` lists every table and figure. Each becomes a `section` of `table_rows`, by `cost_views`, `speech_views`,
`classifier_views`, `agreement_views`, `gradient_views`, `figure_views` or, for the ablation, `twin_views`.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from hamiltone import markdown
from hamiltone.atomic import write_text
from hamiltone.errors import InputError
from hamiltone.paper.claims import CLAIMS, judge_claim
from hamiltone.paper.judge import Judgement
from hamiltone.paper.pages.gradient_views import sweep_list
from hamiltone.paper.pages.items import ITEMS
from hamiltone.paper.pages.section import Section
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.pages.twin_views import quality_list
from hamiltone.paper.store import Evidence, Made, read_results

_HEADING = "# Results\n\nThe paper's numbers beside ours. Written by `hamiltone reproduce pages`"
_INTRODUCTION = f"""{_HEADING} from the JSON files in results/; every number of
ours comes from the runs that its section names. Intervals are 95 %: over utterances, files and a hundred trials by the
bootstrap; over seeds of training, rounds of a timing and the few trials of the sweep by Student's t, over seeds and
files by both. A *quick* run has fewer utterances and trials; the full run of the same name takes its place on this
page. The verdicts on the paper's claims are in [findings.md](findings.md).
"""


def write_pages(results: Path, docs: Path) -> list[Path]:
    """Write RESULTS.md with its pictures and, if findings.md exists, its generated blocks; returns the pages."""
    evidence = read_results(results)
    page, findings = docs / "RESULTS.md", docs / "findings.md"
    if page.exists() and not page.read_text("utf-8", "replace").startswith(_HEADING):
        raise InputError(f"{page} was not written by hamiltone reproduce; give another --docs")
    texts = {page: results_page(evidence)}
    try:
        if findings.exists():
            texts[findings] = markdown.fill_blocks(findings.read_text("utf-8"), findings_blocks(evidence))
        docs.mkdir(parents=True, exist_ok=True)
        for picture in filter(None, (item.view(evidence).picture for item in ITEMS.values())):
            (docs / picture).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(results / picture, docs / picture)
    except OSError as error:
        raise InputError(f"cannot write below {docs}: {error.strerror}") from error
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def findings_blocks(evidence: Evidence) -> dict[str, str]:
    """The generated blocks of findings.md."""
    return {"verdicts": verdict_table(evidence), "sweep": sweep_list(evidence), "quality": quality_list(evidence)}


def results_page(evidence: Evidence) -> str:
    """The page as Markdown, with pictures beside it."""
    sections = {name: item.view(evidence) for name, item in ITEMS.items()}
    parts = [_section(name, section, evidence) for name, section in sections.items()]
    return "\n".join([_INTRODUCTION, _overview(sections, evidence), *parts])


def _overview(sections: dict[str, Section], evidence: Evidence) -> str:
    rows = [
        [f"[{_heading(name)}](#{_anchor(name)})", ITEMS[name].title, section.status, _mode(name, evidence)]
        for name, section in sections.items()
    ]
    return markdown.table(["what", "title", "status", "run"], rows)


def _mode(name: str, evidence: Evidence) -> str:
    modes = {"quick" if evidence[need].made.quick else "full" for need in ITEMS[name].needs if need in evidence}
    return ", ".join(sorted(modes))


def _heading(name: str) -> str:
    """``Table 4`` of ``table4``."""
    word = name.rstrip("0123456789")
    return f"{word.capitalize().replace('-', ' ')} {name[len(word) :]}".strip()


def _title(name: str) -> str:
    heading = _heading(name)
    return f"{heading}: {ITEMS[name].title}" if heading[-1].isdigit() else ITEMS[name].title


def _anchor(name: str) -> str:
    text = _title(name).lower()
    return "".join(c for c in text if c.isalnum() or c in " -_").replace(" ", "-")


def _section(name: str, section: Section, evidence: Evidence) -> str:
    item = ITEMS[name]
    lines = [f"## {_title(name)}", "", f"**{section.status.capitalize()}.** {section.remark}".rstrip()]
    if section.picture:
        lines += ["", f"![{item.title}]({section.picture})"]
    if section.rows:
        lines += ["", (_wide_table if section.wide else _long_table)(section.rows).rstrip()]
    if item.whole:
        commands = "; ".join(f"`{command}`" for command in item.whole)
        lines += ["", f"To make all of it: {commands}{f'; and {item.more}' if item.more else ''}."]
    facts = [f"<sub>{_made(need, evidence[need].made)}</sub>" for need in item.needs if need in evidence]
    return "\n".join([*lines, "", "<br>\n".join(facts), ""])


def _made(name: str, made: Made) -> str:
    """How a result came about, in one line."""
    models = ", ".join(
        f"{one.name} ({one.attention}, seed {one.seed}, step {one.step}, {one.digest})" for one in made.models
    )
    facts = [f"{name}: `{made.command}`", made.data, models, f"commit {made.commit}", f"{made.seconds:g} s"]
    facts += [f"{made.cpu}, {made.threads} threads, torch {made.torch}", "quick" if made.quick else ""]
    return " · ".join(fact for fact in facts if fact)


def _long_table(rows: Sequence[Row]) -> str:
    """A line for each number."""
    cells = []
    for one in rows:
        note = one.note if one.ours is not None else one.note or "not measured"
        cells.append([one.group, one.quantity, _paper(one), _ours(one), one.show(one.difference, sign=True), note])
    return markdown.table(["", "", "paper", "ours", "difference", ""], cells)


def _wide_table(rows: Sequence[Row]) -> str:
    """A line for each group; a cell holds the paper's number, and ours with the difference below it."""
    groups = list(dict.fromkeys(one.group for one in rows))
    fullest = max(groups, key=lambda group: sum(one.group == group for one in rows))  # it knows the order of columns
    ordered = sorted(rows, key=lambda one: one.group != fullest)
    quantities = list(dict.fromkeys(one.quantity for one in ordered))
    cells = {(one.group, one.quantity): _cell(one) for one in rows}
    lines = [[group, *(cells.get((group, name), "") for name in quantities)] for group in groups]
    note = "\n*First the paper's number, then* ours *in italics, and the difference.*"
    return markdown.table(["", *quantities], lines) + note


def _cell(one: Row) -> str:
    ours = f"*{_ours(one)}*" if one.ours is not None else ""
    difference = f"({one.show(one.difference, sign=True)})" if one.difference is not None else ""
    return "<br>".join(part for part in (_paper(one), ours, difference) if part)


def _paper(one: Row) -> str:
    return f"{one.show(one.paper)} ({one.spread})" if one.spread else one.show(one.paper)


def _ours(one: Row) -> str:
    return one.show(one.ours) + (f" ({one.interval})" if one.interval else "")


def verdict_table(evidence: Evidence) -> str:
    """The verdict on each claim, as Markdown."""
    rows = []
    for claim in CLAIMS:
        found, stored = judge_claim(claim, evidence), evidence.get(claim.measurement)
        source = claim.measurement + (", quick" if stored is not None and stored.made.quick else "")
        text = f"*{claim.text}*" if claim.control else claim.text
        verdict = f"**{found.verdict.value}**"
        rows.append([text, claim.place, claim.criterion, verdict, _numbers(found), claim.over, source])
    heads = ["claim", "paper", "we ask for", "verdict", "measured", "interval over", "from"]
    return markdown.table(heads, rows)


def _numbers(found: Judgement) -> str:
    """The numbers behind a verdict, with three digits."""
    shown = []
    for name, value in found.numbers:
        if isinstance(value, float):
            shown.append(f"{name} {value:.3g}")
        else:
            shown.append(f"{name} {_ours(row('', '', None, value, decimals=3))}")
    return "; ".join(shown)
