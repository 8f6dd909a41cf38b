import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QGRU, QLinear, fold
from hamiltone.nn.recurrent import gate_major


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def each(function, *rows: oracle.Row) -> oracle.Row:
    """A function of real numbers on every component of every quaternion."""
    return [
        tuple(function(*parts) for parts in zip(*quaternions, strict=True)) for quaternions in zip(*rows, strict=True)
    ]


def literal(unit: QGRU, x: Tensor, state: Tensor) -> list[oracle.Row]:
    """The equations of the docstring for one sequence ``(N, 4, in_dim)``, quaternion by quaternion."""
    input_layer, hidden_layer = unit.input[0], unit.hidden[0]
    (h,), outputs, dim = oracle.rows(state[None]), [], unit.dim
    for row in oracle.rows(x):
        said = oracle.linear(row, input_layer.weight, input_layer.bias)
        recalled = oracle.linear(h, hidden_layer.weight, hidden_layer.bias)
        r = each(lambda a, b: logistic(a + b), said[:dim], recalled[:dim])
        z = each(lambda a, b: logistic(a + b), said[dim : 2 * dim], recalled[dim : 2 * dim])
        n = each(lambda a, g, b: math.tanh(a + g * b), said[2 * dim :], r, recalled[2 * dim :])
        h = each(lambda g, new, old: (1 - g) * new + g * old, z, n, h)
        outputs.append(h)
    return outputs


def test_the_unit_computes_its_equations() -> None:
    unit, x, state = randomise_(QGRU(2, 3)).double(), torch.randn(1, 5, 4, 2).double(), torch.randn(1, 4, 3).double()
    y, last = unit(x, state)
    assert_close(y[0], oracle.tensor(literal(unit, x[0], state[0])))
    assert torch.equal(last, y[:, -1])


def test_pieces_with_their_state_give_what_the_whole_gives() -> None:
    unit, x = randomise_(QGRU(3, 5)), torch.randn(2, 11, 4, 3)
    whole, end = unit(x)
    pieces, state = [], None
    for piece in x.split([1, 4, 2, 4], dim=1):
        y, state = unit(piece, state)
        pieces.append(y)
    assert_close(torch.cat(pieces, 1), whole)
    assert_close(state, end)


def test_the_second_direction_reads_the_sequence_backwards() -> None:
    unit, x = randomise_(QGRU(3, 5, bidirectional=True)), torch.randn(2, 7, 4, 3)
    forth, back = QGRU(3, 5), QGRU(3, 5)
    for direction, single in enumerate((forth, back)):
        single.input[0], single.hidden[0] = unit.input[direction], unit.hidden[direction]
    expected = torch.cat([forth(x)[0], back(x.flip(1))[0].flip(1)], -1)
    assert_close(unit(x)[0], expected)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients_are_those_of_torchs_own_unit(bidirectional: bool) -> None:
    unit, x = randomise_(QGRU(3, 5, bidirectional=bidirectional)), torch.randn(2, 9, 4, 3, requires_grad=True)
    first = None if bidirectional else torch.randn(2, 4, 5, requires_grad=True)
    wanted = [x, *unit.parameters(), *([] if first is None else [first])]
    y, _ = unit(x, first)
    seen = torch.randn_like(y)
    ours = torch.autograd.grad((y * seen).sum(), wanted)
    state = torch.zeros(2, 2, 20) if first is None else first.flatten(1)[None]
    y, _ = torch.gru(x.flatten(2), state, unit.real_weights(), True, 1, 0.0, False, bidirectional, True)
    y = y.unflatten(2, (-1, 4, 5)).transpose(2, 3).flatten(3)
    for gradient, expected in zip(ours, torch.autograd.grad((y * seen).sum(), wanted), strict=True):
        assert_close(gradient, expected, rtol=1e-4, atol=1e-5)


def test_a_folded_unit_holds_real_weights_and_is_the_same_function() -> None:
    unit, x, state = randomise_(QGRU(3, 5)), torch.randn(2, 7, 4, 3), torch.randn(2, 4, 5)
    folded = fold(unit)
    assert not any(isinstance(module, QLinear) for module in folded.modules())
    with torch.no_grad():
        for ours, theirs in zip(folded(x, state), unit(x, state), strict=True):
            assert_close(ours, theirs)


def test_gates_are_reordered_from_component_by_component_to_gate_by_gate() -> None:
    assert gate_major(torch.arange(24)).view(3, 4, 2)[1, 2].tolist() == [2 * 6 + 1 * 2, 2 * 6 + 1 * 2 + 1]


@pytest.mark.parametrize(
    ("x", "state", "expected"),
    [
        (torch.zeros(2, 7, 4, 2), None, r"expected \(B, N, 4, 3\)"),
        (torch.zeros(7, 4, 3), None, r"expected \(B, N, 4, 3\)"),
        (torch.zeros(2, 7, 4, 3), torch.zeros(1, 4, 5), r"a state \(2, 4, 5\), got shape \(1, 4, 5\)"),
    ],
)
def test_other_shapes_are_refused(x: Tensor, state: Tensor | None, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        QGRU(3, 5)(x, state)


def test_both_directions_take_no_state() -> None:
    with pytest.raises(ValueError, match="no state in both directions"):
        QGRU(3, 5, bidirectional=True)(torch.zeros(2, 7, 4, 3), torch.zeros(2, 4, 5))


def test_a_unit_learns_to_remember() -> None:
    """What it heard first, after nine other things."""
    torch.manual_seed(0)
    model = nn.ModuleList([QGRU(2, 8), QLinear(8, 2)])
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(150):
        x = torch.randn(64, 10, 4, 2)
        loss = (model[1](model[0](x)[1]) - x[:, 0].sign()).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.75  # guessing gives 1
