import re
from dataclasses import replace
from pathlib import Path

import pytest

from evidence import MADE, RESULTS, ROOT, around, sweep, twins, whole_evidence
from hamiltone import markdown
from hamiltone.errors import InputError
from hamiltone.nn.rules import SCALES
from hamiltone.paper.claims import CLAIMS
from hamiltone.paper.judge import Verdict
from hamiltone.paper.measure.study import ROUNDS
from hamiltone.paper.pages import findings_blocks, results_page, verdict_table, write_pages
from hamiltone.paper.pages.gradient_views import in_words, sweep_list
from hamiltone.paper.pages.items import ITEMS, expand, measurements
from hamiltone.paper.pages.section import Section
from hamiltone.paper.pages.table_rows import row
from hamiltone.paper.pages.twin_views import by_verdict, quality_list
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import (
    METRICS,
    MODEL_SPEEDS,
    TYPES,
    LayerSpeed,
    LayerSpeeds,
    ModelSpeeds,
    Quality,
    SpeedCell,
    SystemScores,
)
from hamiltone.paper.store import Stored, read_results, write_result

PRINTED = Printed(3.83, 2, "± 6.58")


@pytest.fixture(scope="module")
def stored():
    return read_results(RESULTS)


def rows(name, evidence):
    return {(one.group, one.quantity): one for one in ITEMS[name].view(evidence).rows}


def test_a_row_shows_the_digits_of_the_paper():
    one = row("g", "q", PRINTED, around(0.047, 0.001), scale=100)
    assert (one.show(one.ours), one.interval, one.show(one.difference, sign=True)) == ("4.70", "4.60 to 4.80", "+0.87")
    assert row("g", "q", None, around(1.0, float("nan"))).interval == ""


def test_the_status_says_how_much_of_the_paper_is_covered():
    there, gap = row("g", "a", PRINTED, 1.0), row("g", "b", PRINTED)
    assert Section((there,)).status == "measured"
    assert Section((there, gap)).status == "in part"
    assert Section((gap,)).status == "not measured"
    assert Section(picture="x.png").status == "drawn"


def test_every_table_of_the_reference_has_a_view_and_every_view_its_measurements():
    tables = {name for name in reference() if name.startswith(("table", "figure"))}
    assert tables <= ITEMS.keys()
    assert {need for item in ITEMS.values() for need in item.needs} == TYPES.keys()


@pytest.mark.parametrize("name", ITEMS)
def test_a_view_keeps_the_papers_rows_without_any_result(name):
    section = ITEMS[name].view({})
    assert all(one.ours is None for one in section.rows)
    assert section.status == "not measured" and section.picture == ""


@pytest.mark.parametrize("name", ITEMS)
def test_a_view_takes_whole_results(name):
    section = ITEMS[name].view(whole_evidence())
    assert section.picture or any(one.ours is not None for one in section.rows)


def test_names_are_spelt_out_and_unknown_ones_refused():
    assert "table1" in expand(["all"]) and "ablation" not in expand(["all"])
    assert expand(["table4", "table10", "table4"]) == ["table4", "table10"]
    assert measurements(["table4", "table10"]) == ["agreement"]
    assert measurements(["cost", "table1"]) == ["cost"]
    with pytest.raises(InputError, match=r"table16.*table1"):
        expand(["table16"])


def test_tables_4_10_and_11_tell_the_same_agreement(stored):
    overall = rows("table4", stored)["agreement in %", "overall"].ours
    assert rows("table10", stored)["agreement in %", "overall"].ours == pytest.approx(overall)
    assert rows("table11", stored)["top-1", "agreement in %"].ours == pytest.approx(overall)


def test_heads_of_two_models_are_not_subtracted(stored):
    found = rows("table10", stored)
    assert all(one.difference is None for (_, name), one in found.items() if "head" in name)
    assert sum("ours:" in name for _, name in found) == 8


def test_table_13_has_every_attention_that_was_trained(stored):
    found = rows("table13", stored)
    assert all(found[name, "accuracy"].ours is not None for name in ("shared", "hamilton", "qtn"))
    assert {name for name, quantity in found if quantity == "accuracy"} == reference()["table13"].keys()


def test_table_5_takes_the_quality_of_speech_from_the_papers_model():
    def quality(system):
        systems = (SystemScores(system, 8, {"dnsmos_ovrl": around(2.5)}),)
        found = rows("table5", {"dns": Stored("dns", MADE, Quality(systems, {}))})
        return found["Speech (DNS-3, QTransformer)", "shared quality"].ours

    assert quality("dns3-qtransformer-shared") == 2.5
    assert quality("dns3-shared") is None  # that is the QConformer


def test_table_9_tells_what_padding_costs(stored):
    speeds = LayerSpeeds((LayerSpeed(512, {"shared": 1.0, "hamilton": 3.0, "hamilton, unpadded": 6.0}, around(3.0)),))
    found = rows("table9", {**stored, "layer-speed": Stored("layer-speed", MADE, speeds)})
    assert found["T = 512", "hamilton without padding, over with"].ours == 2.0
    assert found["T = 512", "shared MACs"].note == "equal in every printed digit"
    assert found["T = 1024", "speed-up"].ours is None


def test_table_3_has_the_four_cells_beside_the_papers_factors():
    cells = [
        SpeedCell("qconformer", rule, path, 15.3, 1.0, 0.9, 1.1)
        for rule in ("shared", "hamilton")
        for path in ("fused", "explicit")
    ]
    speeds = ModelSpeeds(tuple(cells), ())
    found = rows("table3", {"model-speed-15s": Stored("model-speed-15s", MADE, speeds)})
    assert found["qconformer: CPU, 15.3 s", "RTF, hamilton explicit"].paper == 0.610
    assert found["qconformer: CPU, 15.3 s", "RTF, shared fused"].paper == 0.259
    assert found["qtransformer: CPU", "RTF, shared"].ours is None


def test_the_sweep_lists_what_lands_within_five_percent():
    settings = sweep(0.88)
    printed = reference()["table7"]
    near = replace(settings.landings[3], shared=around(printed["shared"].value, 1e-5), hamilton=around(4.87e-4, 1e-6))
    landings = (*settings.landings[:3], near, *settings.landings[4:])
    evidence = {"gradient-settings": Stored("", MADE, replace(settings, landings=landings))}
    section = ITEMS["gradient-settings"].view(evidence)
    assert section.remark.startswith(f"1 of {len(landings)} settings")
    assert sum(one.group.startswith("within 5 % of Table 7") for one in section.rows) == 3


def test_the_ablation_shows_how_far_the_weights_have_moved():
    found = rows("ablation", {"ablation": Stored("ablation", MADE, twins())})
    assert found["hamilton: 1 heads, 4 maps", "W of query with its start"].ours == 0.5
    assert found["shared and Hamilton, different seeds", "correlation"].paper == 0.028


def test_the_page_names_commands_models_and_modes(stored):
    page = results_page(stored)
    assert "## Table 4: Agreement of components" in page and "compact-hamilton (hamilton, seed 0, step 1600" in page
    assert page.count("| full |") + page.count("| quick |") + page.count("| full, quick |") > 10
    assert not re.search(r"/(home|root|work|tmp)/", page)


def test_the_verdicts_are_a_table_of_all_claims(stored):
    lines = verdict_table(stored).splitlines()
    assert len(lines) == len(CLAIMS) + 2
    missing = sum(claim.measurement not in stored for claim in CLAIMS)
    assert sum("**not tested**" in line for line in lines) == missing


def test_the_pages_of_this_repository_say_what_its_results_say(stored):
    docs = ROOT / "docs"
    assert (docs / "RESULTS.md").read_text("utf-8") == results_page(stored), "run make pages"
    findings = (docs / "findings.md").read_text("utf-8")
    assert findings == markdown.fill_blocks(findings, findings_blocks(stored)), "run make pages"


def test_the_quality_of_variants_is_told_metric_by_metric():
    found = twins()
    hamilton = found.differences["hamilton"] | {"csig": around(0.0, 0.4), "cbak": around(0.3)}
    del hamilton["covl"]
    changed = replace(found, differences={**found.differences, "hamilton": hamilton})
    lines = quality_list({"ablation": Stored("ablation", MADE, changed)}).splitlines()
    assert lines[0] == (
        "- shared against `hamilton`: within the margins: pesq, stoi, sisdr; beyond the margins: cbak; "
        "undecided: csig; not tested: covl."
    )
    assert len(lines) == len(found.differences) + 1
    assert lines[-1].startswith("- 1 of the 23 intervals leaves out zero: shared - hamilton, cbak.")
    assert quality_list({}).startswith("- Not tested")


def test_the_readme_claims_what_was_measured(stored):
    """By which metrics two rules are level, and by which they are not, with either scale of the rival."""
    both = [by_verdict(stored["ablation"].result.differences[name]) for name in SCALES]
    level = [name for name in METRICS if all(name in one[Verdict.SUPPORTED] for one in both)]
    undecided = {name for one in both for name in one[Verdict.UNDECIDED]}
    assert level == ["pesq", "stoi", "sisdr"] and undecided == set(METRICS) - set(level)
    seeds = {len(one.runs) for one in stored["ablation"].result.variants}
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert seeds == {4} and "from four seeds are level by PESQ, STOI and SI-SDR; by the composite measures" in text
    assert "[docs/findings.md](docs/findings.md) has the measurements" in text


def test_the_words_of_the_findings_about_rounds_and_starts_are_true_of_the_results(stored):
    text = " ".join((ROOT / "docs" / "findings.md").read_text("utf-8").split())
    timed = [one.speedup for one in stored["layer-speed"].result.lengths]
    timed += [one.ratio for name in MODEL_SPEEDS for one in stored[name].result.ratios]
    fewer = any(one.groups < ROUNDS for one in timed)
    assert ("Some of the timings kept in results/ are older than this rule and have fewer rounds" in text) == fewer
    starts = [start.same_weights.matrix for start in stored["gradients"].result.start.values()]
    positive = all(number > 0 for matrix in starts for line in matrix for number in line)
    assert positive and "all six correlations are positive with either scale" in text


def test_a_page_that_somebody_else_wrote_is_not_replaced(tmp_path):
    (tmp_path / "RESULTS.md").write_text("# My own results")
    with pytest.raises(InputError, match="not written by hamiltone reproduce"):
        write_pages(RESULTS, tmp_path)
    assert (tmp_path / "RESULTS.md").read_text() == "# My own results"


def test_pages_are_written_only_where_asked(tmp_path, stored):
    write_result(tmp_path / "results", stored["cost"])
    docs = tmp_path / "docs"
    assert write_pages(tmp_path / "results", docs) == [docs / "RESULTS.md"]
    blocks = [f"<!-- generated by hamiltone reproduce: {name} -->\n<!-- end -->\n" for name in findings_blocks({})]
    (docs / "findings.md").write_text(f"a\n{''.join(blocks)}z\n")
    assert write_pages(tmp_path / "results", docs) == [docs / "RESULTS.md", docs / "findings.md"]
    text = (docs / "findings.md").read_text()
    assert (
        text.startswith("a\n")
        and text.endswith("<!-- end -->\nz\n")
        and "**supported**" in text
        and "Not tested" in text
    )


@pytest.mark.parametrize("page", ["RESULTS.md", "findings.md"])
def test_a_disk_that_fills_up_leaves_a_page_as_it_was(tmp_path, stored, monkeypatch, page):
    """Most of the findings is written by hand."""
    write_result(tmp_path / "results", stored["cost"])
    blocks = [f"<!-- generated by hamiltone reproduce: {name} -->\n<!-- end -->\n" for name in findings_blocks({})]
    (tmp_path / "findings.md").write_text(f"a\n{''.join(blocks)}z\n")
    write_pages(tmp_path / "results", tmp_path)
    before = (tmp_path / page).read_text()

    def write(path, content, *_):
        with path.open("wb") as file:
            data = content if isinstance(content, bytes) else content.encode()
            file.write(data[:10] if page in path.name else data)
        if page in path.name:
            raise OSError(28, "No space left on device")

    for name in ("write_text", "write_bytes"):
        monkeypatch.setattr(Path, name, write)
    with pytest.raises(InputError, match="No space left on device"):
        write_pages(tmp_path / "results", tmp_path)
    assert (tmp_path / page).read_text() == before


def test_findings_say_which_settings_of_the_sweep_land_near_table_7():
    settings, printed = sweep(0.88), reference()["table7"]
    near = replace(settings.landings[3], shared=around(printed["shared"].value, 1e-5), hamilton=around(4.87e-4, 1e-6))
    landings = (*settings.landings[:3], near, *settings.landings[4:])
    text = sweep_list({"gradient-settings": Stored("", MADE, replace(settings, landings=landings))})
    assert f"Within 5 % of both of Table 7's norms: {in_words(near)}." in text
    assert f"Nearest to both: {in_words(near)}; 1.72e-03 (1.71e-03 to 1.73e-03) and 4.87e-04 (4.86e-04" in text
    text = sweep_list({"gradient-settings": Stored("", MADE, settings)})
    assert "norms: no setting." in text and f"Within 5 % of the paper's 0.88: {in_words(settings.landings[0])};" in text
