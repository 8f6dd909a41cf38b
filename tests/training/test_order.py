from itertools import islice

import pytest

from hamiltone.errors import InputError
from hamiltone.training.config import Batches
from hamiltone.training.order import BatchOrder


def keys(batches: Batches, count: int, **position: object) -> list[list[tuple[int, int]]]:
    return list(islice(BatchOrder(10, batches, 0, **position), count))


def test_an_epoch_takes_no_sample_twice_and_epochs_differ():
    order = keys(Batches(size=4), 4)
    for epoch in (0, 1):
        seen = [key for batch in order[2 * epoch : 2 * epoch + 2] for key in batch]
        assert len(set(seen)) == 8
        assert {first for first, _ in seen} == {epoch}
    assert [index for _, index in order[0]] != [index for _, index in order[2]]


@pytest.mark.parametrize("start", range(5))
def test_an_order_can_be_entered_anywhere(start):
    assert keys(Batches(size=4), 3, start=start) == keys(Batches(size=4), 8)[start : start + 3]


def test_parts_and_processes_share_a_batch():
    whole = keys(Batches(size=8), 2)
    shares = [keys(Batches(size=8, accumulate=2), 4, share=(rank, 2)) for rank in (0, 1)]
    for step, batch in enumerate(whole):
        parts = [shares[rank][2 * step + part] for part in (0, 1) for rank in (0, 1)]
        assert [key for part in parts for key in part] == batch


def test_batches_that_cannot_be_cut_or_filled_are_refused():
    with pytest.raises(InputError, match=r"batches.size = 6 cannot be cut .* a multiple of 4"):
        BatchOrder(10, Batches(size=6, accumulate=2), 0, share=(0, 2))
    with pytest.raises(InputError, match="exceeds the 10 samples of an epoch"):
        BatchOrder(10, Batches(size=12), 0)


def test_samples_of_similar_length_share_a_batch_and_no_sample_is_lost():
    lengths = [n * 7 % 40 for n in range(40)]

    def batches(count: int, **position: object) -> list[list[tuple[int, int]]]:
        return list(islice(BatchOrder(40, Batches(size=4), 0, lengths=lengths, **position), count))

    epoch, following = batches(20)[:10], batches(20)[10:]
    assert sorted(index for batch in epoch for _, index in batch) == list(range(40))
    assert all(max(own) - min(own) == 3 for own in ([lengths[index] for _, index in batch] for batch in epoch))
    shortest = [min(lengths[index] for _, index in batch) for batch in epoch]
    assert shortest != sorted(shortest)
    assert shortest != [min(lengths[index] for _, index in batch) for batch in following]
    assert batches(3, start=12) == batches(20)[12:15]
