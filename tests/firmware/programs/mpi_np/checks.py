"""MPI-NP's firmware with one of its checks removed at a time: every limit that a request, a page entry
or a packet is held to. test_trespasses has an attempt for each.

A check is found in the source: a call of one of JUDGES, or a comparison with one of LIMITS. Removed, it
answers as if all were well.
"""

import ast

from lanai_firmware import nic
from lanai_firmware.programs import mpi_np

from ..mutants import expressions, functions_of, module_of, mutant_of, tree_of

MODULES = (
    "requests",
    "quick_sends",
    "sending",
    "pieces",
    "answering",
    "searching",
    "probing",
    "pulling",
    "claiming",
    "cursor",
    "window",
    "receives",
    "following",
    "incoming",
    "quick_receives",
    "envelopes",
)
LIMITS = {
    "page_entries",
    "receives_per_endpoint",
    "receive_count",
    "send_count",
    "inline_limit",
    "short_limit",
    "ranks",
    "channel_count",
    "quick_channels",
    "messages_per_channel",
    "left",
    "whole",
    "both",
    "total",
    "length",  # of a send: what was announced
}
PACKET_BYTES = "receive_dma.length()"
LIMIT_NAMES = {"PAGE", "block", "first", "left", "size"}  # the same where they are not members
EXEMPT = {
    ("answering.step", "cursor.left < left"): "the smaller of the two",
}
WHOSE = {"outside", "entry.peer", "receive.number"}  # memory, an announced message, who has asked
BARS = {"job.operation", "other.handle"}  # a send that may end, a message that is asked for already
JUDGES = {"allowed", "is_announced"}
MASK = "SLOTS - 1"  # keeps the number of the next slot among those of the endpoint
STATES = {"MESSAGE_TAKEN", "RECEIVE_FREE"}  # of what a request may name
WELL = {ast.Lt: True, ast.LtE: True, ast.Eq: True, ast.Gt: False, ast.GtE: False, ast.NotEq: False}


def answer_of(comparison):
    """Return the value of the comparison if all is well. A limit is an upper one, but `first` and the
    limit of PACKET_BYTES are lower ones. What one of BARS says keeps something out."""
    left = ast.unparse(comparison.left)
    lower = PACKET_BYTES in left or left in BARS or ast.unparse(comparison.comparators[0]) == "first"
    return WELL[type(comparison.ops[0])] is not lower


def is_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in JUDGES


def is_comparison(node):
    """With a limit on the right, in whatever sum it stands; or of one of WHOSE or BARS."""
    if not isinstance(node, ast.Compare):
        return False
    if ast.unparse(node.left) in WHOSE | BARS:
        return True
    if isinstance(node.ops[0], ast.NotEq) and ast.unparse(node.comparators[0]) in STATES:
        return True
    if isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    parts = list(ast.walk(node.comparators[0]))
    members = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return bool(members & LIMITS or names & LIMIT_NAMES) or PACKET_BYTES in ast.unparse(node.left)


def is_mask(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd) and ast.unparse(node.right) == MASK


def instead(node):
    """Return what stands in the place of a check."""
    if is_mask(node):
        return f"{ast.unparse(node.left)} & 255"
    return str(is_call(node) or answer_of(node))


def checks():
    """Every check of MODULES."""
    found = [
        mutant_of(function, node, instead(node))
        for name in MODULES
        for function in functions_of(module_of(name, mpi_np, nic))
        for node in expressions(tree_of(function))
        if is_call(node) or is_comparison(node) or is_mask(node)
    ]
    return [mutant for mutant in found if (mutant.place, mutant.expression) not in EXEMPT]
