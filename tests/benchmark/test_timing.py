from hamiltone.benchmark.child import call_in_child, peak_growth_mb
from hamiltone.benchmark.machine import this_machine
from hamiltone.benchmark.timing import interleaved, median_ms


def test_methods_take_turns():
    order: list[str] = []
    times = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0.0, rounds=(3, 50))
    assert order == ["a", "b"] * 4  # a warm-up round and three that count
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_methods_that_are_warm_lose_no_round():
    order: list[str] = []
    times = interleaved({"a": lambda: order.append("a")}, seconds=0.0, rounds=(3, 50), warm_up=False)
    assert order == ["a"] * 3 and len(times["a"]) == 3


def test_the_median_is_in_milliseconds():
    assert median_ms([0.001, 0.002, 1.0]) == 2.0


def grow(megabytes: int) -> float:
    """Run in the child: hold that much memory for a moment."""
    return peak_growth_mb(lambda: bytearray(megabytes * 2**20), warm_up=lambda: None)


def test_memory_is_that_of_the_call_in_a_fresh_process(monkeypatch):
    from pathlib import Path

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    hog = bytearray(300 * 2**20)  # the parent's own memory must not count
    assert 40 <= call_in_child(grow, megabytes=50) <= 60
    del hog


def test_the_machine_is_named():
    machine = this_machine()
    assert machine.cpu and machine.threads >= 1 and machine.torch in str(machine)
