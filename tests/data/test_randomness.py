from hamiltone.data.randomness import epoch_order, generator


def first(seed: int, epoch: int, index: int) -> float:
    return generator(seed, epoch, index).random()


def test_equal_keys_give_equal_streams() -> None:
    assert generator(1, 2, 3).random(5).tolist() == generator(1, 2, 3).random(5).tolist()


def test_seed_epoch_and_index_each_change_the_stream() -> None:
    keys = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4), (3, 2, 1), (1, 23, 0), (12, 3, 0)]
    assert len({first(*key) for key in keys}) == len(keys)


def test_every_epoch_has_an_order_of_its_own() -> None:
    orders = [epoch_order(seed, epoch, 100) for seed in (0, 1) for epoch in (0, 1)]
    assert all(sorted(order) == list(range(100)) for order in orders)
    assert len(set(orders)) == 4


def test_the_order_of_an_epoch_is_independent_of_its_first_sample() -> None:
    """Seed sequences that differ by a trailing zero are the same one."""
    assert list(epoch_order(3, 4, 50)) != generator(3, 4, 0).permutation(50).tolist()
