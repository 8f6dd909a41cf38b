from dataclasses import replace

import pytest

from hamiltone.benchmark import classifier as module
from hamiltone.benchmark.classifier import CONFIGS, bench_classifier
from hamiltone.errors import InputError
from hamiltone.models import build


def test_every_attention_is_timed_in_every_kind_of_run(monkeypatch):
    small = {name: replace(config, layers=1, dim=4, feed_forward=4) for name, config in CONFIGS["sst2"].items()}
    monkeypatch.setitem(module.CONFIGS, "sst2", small)
    rows = list(bench_classifier("sst2", 2, words=5, seconds=0.01, rounds=(3, 3)))
    assert [(row.what, row.attention) for row in rows] == [
        (what, attention) for what in ("inference", "unfolded", "training") for attention in ("shared", "hamilton")
    ]
    for row in rows:
        assert 0 < row.ms_p10 <= row.ms <= row.ms_p90
        assert row.attention != "shared" or row.ratio == pytest.approx(1.0)


def test_rivals_have_the_same_number_of_parameters():
    for configs in CONFIGS.values():
        counts = [sum(p.numel() for p in build(config).parameters()) for config in configs.values()]
        assert max(counts) / min(counts) < 1.002


def test_an_unknown_classifier_is_refused():
    with pytest.raises(InputError, match="choose one of cifar100, sst2"):
        next(bench_classifier("imagenet", 2))
