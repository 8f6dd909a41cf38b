from dataclasses import replace

import pytest

from hamiltone.analysis.gradients import Setting, study_norms
from hamiltone.analysis.settings import HEADS, INITS, LOSSES, sweep

SMALL = Setting(batch=2, length=8, dim=8, heads=4, trials=3)


def test_the_sweep_holds_every_choice_once():
    landings = sweep(SMALL)
    choices = [one.choice for one in landings]
    assert len(set(choices)) == len(choices) == len(LOSSES) * len(HEADS) * 2 * len(INITS) * 2 * 2
    assert all(one.ratio.has_interval for one in landings)


def test_our_own_setting_lands_where_table_7_does():
    (ours,) = [
        one
        for one in sweep(SMALL, heads=(4,), inits=("polar",))
        if one.choice.loss == "mean square"
        and one.choice.qk_norm
        and one.choice.output
        and one.choice.scale == "hamilton-tay"
    ]
    assert ours.ratio.mean == pytest.approx(study_norms(SMALL).ratio["hamilton-tay"].mean, rel=0.3)


def test_with_bounded_scores_the_smaller_scale_has_the_larger_ratio():
    landings = {one.choice: one.ratio.mean for one in sweep(SMALL, heads=(4,), inits=("polar",)) if one.choice.qk_norm}
    for choice, ratio in landings.items():
        if choice.scale == "hamilton":
            assert landings[replace(choice, scale="hamilton-tay")] > ratio
