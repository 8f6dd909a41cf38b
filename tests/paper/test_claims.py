import math
import random
from dataclasses import fields, is_dataclass, replace

import pytest

from evidence import MADE, RESULTS, around, changes, stretched, sweep, twins, whole_evidence
from hamiltone.analysis.statistics import Spread
from hamiltone.paper.claims import CLAIMS, judge_claim
from hamiltone.paper.judge import Verdict, above, below
from hamiltone.paper.results import TYPES
from hamiltone.paper.store import Stored, read_results

NO_INTERVAL = ("counted", "exact", "every layer of one model", "trials, in every setting")
"""What claims without an interval of their own are about; the last has one for each setting."""
BY_NAME = {claim.name: claim for claim in CLAIMS}


@pytest.fixture(scope="module")
def whole():
    return whole_evidence()


def verdict(name, evidence):
    return judge_claim(BY_NAME[name], evidence).verdict


def test_every_claim_has_a_name_of_its_own_and_is_about_a_measurement():
    assert len(BY_NAME) == len(CLAIMS)
    assert {claim.measurement for claim in CLAIMS} <= TYPES.keys()


def test_without_results_nothing_is_tested():
    assert {judge_claim(claim, {}).verdict for claim in CLAIMS} == {Verdict.NOT_TESTED}


def test_the_stored_results_pass_through_every_verdict():
    evidence = read_results(RESULTS)
    found = {claim.name: judge_claim(claim, evidence) for claim in CLAIMS}
    assert found["score-cost"].verdict is found["macs"].verdict is found["theorems"].verdict is Verdict.SUPPORTED
    assert found["bilinear"].verdict is Verdict.CONTRADICTED
    assert found["bundled-twins"].verdict is Verdict.CONTRADICTED
    assert dict(found["bundled-twins"].numbers)["csig"].mean == pytest.approx(-0.099, abs=1e-3)
    assert found["text"].verdict is found["images"].verdict is Verdict.UNDECIDED
    for claim in CLAIMS:
        one = found[claim.name]
        assert (one.verdict is Verdict.NOT_TESTED) == (not one.numbers)
        if claim.measurement not in evidence:
            assert one.verdict is Verdict.NOT_TESTED


def test_made_results_support_every_claim_that_has_no_stored_one(whole):
    made = ("layer-speed", "model-speed-15s", "gradient-settings", "ablation", "dns")
    assert {verdict(c.name, whole) for c in CLAIMS if c.measurement in made} == {Verdict.SUPPORTED}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_taken_out_leaves_the_verdict_or_makes_it_not_tested(whole, name):
    claim = BY_NAME[name]
    before = judge_claim(claim, whole).verdict
    assert before is not Verdict.NOT_TESTED
    seen = set()
    stored = whole[claim.measurement]
    taken = changes(stored.result)
    if len(taken) > 400:  # of the sweep some will do
        taken = random.Random(0).sample(taken, 400)
    for _, result in taken:
        seen.add(judge_claim(claim, {**whole, claim.measurement: replace(stored, result=result)}).verdict)
    assert seen <= {before, Verdict.NOT_TESTED}
    if name not in ("images", "text", "bilinear"):  # which rest on one number, or on any number of layers
        assert Verdict.NOT_TESTED in seen


@pytest.mark.parametrize("name", [name for name in BY_NAME if BY_NAME[name].over not in NO_INTERVAL])
def test_without_the_interval_that_a_verdict_shows_first_nothing_is_tested(whole, name):
    claim = BY_NAME[name]
    shown = [value for _, value in judge_claim(claim, whole).numbers if isinstance(value, Spread)]
    stored = whole[claim.measurement]
    for gap in ({"low": math.nan}, {"high": math.nan}, {"mean": math.nan}):
        gone = replace(stored, result=_exchanged(stored.result, shown[0], replace(shown[0], **gap)))
        assert judge_claim(claim, {**whole, claim.measurement: gone}).verdict is Verdict.NOT_TESTED


@pytest.mark.parametrize("name", ["coupling", "agreement", "distributions", "formulas-hamilton", "independent"])
@pytest.mark.parametrize("which", [0, 1])
def test_without_one_run_of_either_rule_trained_weights_are_not_tested(name, which):
    found = twins()
    one = found.variants[which]
    for runs in (one.runs[1:], ()):
        others = [other for other in found.variants if other is not one]
        gap = replace(found, variants=(replace(one, runs=runs), *others))
        assert verdict(name, {"ablation": Stored("ablation", MADE, gap)}) is Verdict.NOT_TESTED
    absent = replace(found, variants=tuple(others))
    assert verdict(name, {"ablation": Stored("ablation", MADE, absent)}) is Verdict.NOT_TESTED


def test_an_interval_whose_ends_have_changed_places_is_as_wide():
    turned = Spread(0.0, 0.1, 0.2, -0.2, 4)
    for judge in (above, below):
        assert judge(turned, 0.1) is judge(turned, -0.1) is Verdict.UNDECIDED


@pytest.mark.parametrize("name", ["images", "text"])
def test_a_difference_that_is_missing_or_has_no_interval_is_not_tested(whole, name):
    stored = whole[name]
    one_seed = replace(stored.result, difference=replace(stored.result.difference, low=float("nan")))
    for result in (replace(stored.result, difference=None), one_seed):
        assert verdict(name, {name: replace(stored, result=result)}) is Verdict.NOT_TESTED


def test_without_layers_nothing_is_known_about_them(whole):
    stored = whole["theorems"]
    empty = replace(stored, result=replace(stored.result, homogeneity=()))
    assert verdict("bilinear", {"theorems": empty}) is Verdict.NOT_TESTED


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("factor", [2.0, 10.0, 1000.0])
def test_a_wider_interval_never_decides_anything(whole, name, factor):
    claim = BY_NAME[name]
    for half in (0.001, 0.05, 0.5):
        for mean in (-0.5, 0.0, 0.04, 0.3):
            evidence = dict(whole)
            moved = stretched(_shifted(whole[claim.measurement].result, mean, half), 1.0)
            evidence[claim.measurement] = replace(whole[claim.measurement], result=moved)
            before = judge_claim(claim, evidence).verdict
            wide = replace(whole[claim.measurement], result=stretched(moved, factor))
            after = judge_claim(claim, {**evidence, claim.measurement: wide}).verdict
            assert after in (before, Verdict.UNDECIDED)


def _shifted(value, mean, half):
    """A result with all means moved and all intervals as wide as one wants."""
    return _each_spread(value, lambda one: around(one.mean + mean, half))


def _exchanged(value, old, new):
    """A result with one number in place of another."""
    return _each_spread(value, lambda one: new if one == old else one)


def _each_spread(value, change):
    if isinstance(value, Spread):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_spread(entry, change) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(_each_spread(entry, change) for entry in value)
    if is_dataclass(value):
        return replace(value, **{f.name: _each_spread(getattr(value, f.name), change) for f in fields(value)})
    return value


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, "supported"), (0.2, "contradicted"), (0.5, "undecided")])
def test_the_sweep_must_agree_with_itself(ratio, expected):
    evidence = {"gradient-settings": Stored("gradient-settings", MADE, sweep(ratio))}
    assert verdict("gradient-norms-hamilton", evidence).value == expected


def test_one_setting_that_lands_elsewhere_leaves_the_order_undecided():
    settings = sweep(1.0)
    first = replace(settings.landings[0], ratio=around(0.1))
    evidence = {"gradient-settings": Stored("", MADE, replace(settings, landings=(first, *settings.landings[1:])))}
    assert verdict(f"gradient-norms-{first.choice.scale}", evidence) is Verdict.UNDECIDED


@pytest.mark.parametrize("name", ["coupling", "agreement", "distributions", "formulas-hamilton", "independent"])
def test_weights_that_have_not_moved_cannot_tell_what_training_does(name):
    found = twins()
    runs = tuple(replace(run, query_correlation=0.95) for run in found.variants[1].runs)
    stuck = replace(found, variants=(found.variants[0], replace(found.variants[1], runs=runs), *found.variants[2:]))
    assert verdict(name, {"ablation": Stored("ablation", MADE, found)}) is Verdict.SUPPORTED
    assert verdict(name, {"ablation": Stored("ablation", MADE, stuck)}) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (around(0.0, 0.01), "supported"),
        (around(0.0, 0.4), "undecided"),
        (around(-0.1, 0.01), "contradicted"),
        (around(0.1, 0.01), "contradicted"),
    ],
)
def test_as_good_as_needs_an_interval_within_the_margin(difference, expected):
    found = twins()
    hamilton = {**found.differences["hamilton"], "pesq": difference}
    found = replace(found, differences={**found.differences, "hamilton": hamilton})
    assert verdict("as-good", {"ablation": Stored("ablation", MADE, found)}).value == expected
