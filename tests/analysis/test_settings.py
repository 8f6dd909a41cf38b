from dataclasses import replace

import pytest

from hamiltone.analysis.gradients import Setting, norms_at_start, study_norms
from hamiltone.analysis.settings import HEADS, INITS, LOSSES, sweep_settings

SMALL = Setting(batch=2, length=8, dim=8, heads=4, trials=3)


def test_the_sweep_holds_every_choice_once():
    landings = sweep_settings(SMALL)
    choices = [one.choice for one in landings]
    assert len(set(choices)) == len(choices) == len(LOSSES) * len(HEADS) * 2 * len(INITS) * 2 * 2
    assert all(one.ratio.has_interval for one in landings)


def test_our_own_setting_lands_where_table_7_does():
    (ours,) = [
        one
        for one in sweep_settings(SMALL, heads=(4,), inits=("polar",))
        if one.choice.loss == "mean square"
        and one.choice.qk_norm
        and one.choice.output
        and one.choice.scale == "hamilton-tay"
    ]
    assert ours.ratio.mean == pytest.approx(study_norms(norms_at_start(SMALL)).ratio["hamilton-tay"].mean, rel=0.3)


def test_the_scale_of_the_rival_does_not_touch_the_shared_norm():
    landings = {one.choice: one for one in sweep_settings(SMALL, heads=(4,), inits=("polar",))}
    for choice, one in landings.items():
        other = landings[replace(choice, scale="hamilton-tay")]
        assert other.shared == one.shared
        assert choice.scale == "hamilton-tay" or other.hamilton != one.hamilton
