import math

import pytest

from hamiltone.training.config import Budget, Schedule
from hamiltone.training.schedule import position, rate_factor


def test_the_position_is_that_of_the_budget_spent_most():
    budget = Budget(epochs=10, steps=500, minutes=2)
    assert position(budget, 100, step=100, elapsed=0.0) == 0.2
    assert position(budget, 100, step=100, elapsed=60.0) == 0.5
    assert position(Budget(epochs=10), 100, step=100, elapsed=1e9) == 0.1
    assert position(Budget(minutes=2), 100, step=10**9, elapsed=30.0) == 0.25
    assert position(Budget(steps=5), 100, step=7, elapsed=0.0) == 1.0


def test_the_rate_warms_up_and_follows_a_cosine_to_its_share():
    schedule = Schedule(warmup=10, final=0.1)
    assert [rate_factor(schedule, step, 0.0) for step in (0, 4, 9, 10)] == pytest.approx([0.1, 0.5, 1.0, 1.0])
    assert rate_factor(schedule, 100, 0.5) == pytest.approx(0.55)
    assert rate_factor(schedule, 100, 1.0) == pytest.approx(0.1)
    quarter = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 4))
    assert rate_factor(schedule, 100, 0.25) == pytest.approx(quarter)


def test_a_constant_rate_only_warms_up():
    schedule = Schedule(kind="constant", warmup=2)
    assert [rate_factor(schedule, step, 0.9) for step in range(3)] == [0.5, 1.0, 1.0]
