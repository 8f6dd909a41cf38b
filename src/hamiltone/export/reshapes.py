"""Moves reshapes out of the way: onnxruntime fuses a convolution with the next layer only if nothing is in between.

The component axis of feature maps, ``(B, 4, C, T, F)``, is merged before each convolution and split after it. Between
two convolutions most of these reshapes cancel, once they have moved past the element-wise layers.
"""

import onnx_ir as ir
from onnx_ir.passes.common import NameFixPass, RemoveUnusedNodesPass

_ALONE = {"Gelu", "LeakyRelu", "Relu", "Sigmoid", "Tanh"}
_PAIRED = {"Add", "Mul"}


def tidy(model: ir.Model) -> ir.Model:
    """Sink reshapes, and remove what is no longer used."""
    sink_reshapes(model)
    for step in (RemoveUnusedNodesPass(), NameFixPass()):
        model = step(model).model
    return model


def sink_reshapes(model: ir.Model) -> None:
    """Move reshapes down past element-wise layers, and drop those that undo each other."""
    graph, changed = model.graph, True
    while changed:
        changed = False
        for node in list(graph):
            if node.graph is not None:  # not removed in the meantime
                changed |= _drop(node) or _sink(graph, node)


def _drop(node: ir.Node) -> bool:
    """Let a reshape read the input of the reshape before it, and bypass one that changes nothing."""
    if node.op_type != "Reshape":
        return False
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if _same(source, result) and not result.is_graph_output():
        ir.convenience.replace_all_uses_with(result, source)
        _remove(node)
        return True
    before = _reshape_behind(source)
    if before is None or _copies_a_size(node):
        return False
    node.replace_input_with(0, before.inputs[0])
    _remove(before)
    return True


def _sink(graph: ir.Graph, node: ir.Node) -> bool:
    """Let a layer read the input of the reshape before it, and reshape its result instead."""
    count = 1 if node.op_type in _ALONE else 2 if node.op_type in _PAIRED else 0
    reshapes = [_reshape_behind(value) for value in node.inputs]
    result = node.outputs[0] if count else None
    if result is None or result.is_graph_output() or len(reshapes) != count:
        return False
    before = [reshape for reshape in reshapes if reshape is not None]
    sources = [reshape.inputs[0] for reshape in before]
    if len(before) != count or not all(_same(sources[0], source) for source in sources):
        return False
    if not all(_same(node.inputs[0], value) for value in node.inputs) or _copies_a_size(before[0]):
        return False
    shape = result.shape
    for i, source in enumerate(sources):
        node.replace_input_with(i, source)
    assert sources[0] is not None
    result.shape = sources[0].shape
    after = ir.node("Reshape", [result, before[0].inputs[1]], dict(before[0].attributes))
    after.outputs[0].shape, after.outputs[0].type = shape, result.type
    uses = [(user, i) for user, i in result.uses() if user is not after]
    for user, i in uses:
        user.replace_input_with(i, after.outputs[0])
    graph.insert_after(node, after)
    for reshape in before:
        _remove(reshape)
    return True


def _reshape_behind(value: ir.Value | None) -> ir.Node | None:
    node = None if value is None else value.producer()
    return node if node is not None and node.op_type == "Reshape" else None


def _copies_a_size(reshape: ir.Node) -> bool:
    """Whether the target shape of a reshape is unknown or has zeros, which copy sizes of its input."""
    allow = reshape.attributes.get_int("allowzero", 0)
    if allow:
        return False
    target = ir.convenience.get_const_tensor(reshape.inputs[1]) if reshape.inputs[1] is not None else None
    return target is None or bool((target.numpy() == 0).any())


def _same(first: ir.Value | None, second: ir.Value | None) -> bool:
    """Whether two values are known to have the same shape."""
    if first is None or second is None or first.shape is None or second.shape is None:
        return False
    if any(isinstance(size, ir.SymbolicDim) and size.value is None for size in first.shape):
        return False
    return list(first.shape) == list(second.shape)


def _remove(node: ir.Node) -> None:
    """Remove a node that is no longer used."""
    if node.graph is not None and not any(value.uses() or value.is_graph_output() for value in node.outputs):
        node.graph.remove(node, safe=True)
