"""The declaration as Amaranth expressions, for the gateware's decoder."""

from functools import reduce
from operator import and_, or_

from amaranth import Cat, Const, Value

from .formats import Field, Format, Rule


def field_value(item: Field, word: Value) -> Value:
    """The field of `word`, scaled; signed if the field is."""
    parts = [word[part.low : part.high + 1] for part in reversed(item.slices)]
    value = Cat(Const(0, item.scale), *parts)
    return value.as_signed() if item.signed else value


def has_format(item: Format, word: Value) -> Value:
    """1 if `word` carries the fixed bits of the format."""
    return word.matches(
        "".join("-" if not item.mask >> bit & 1 else str(item.match >> bit & 1) for bit in range(31, -1, -1))
    )


def _coded(item: Field, word: Value) -> Value:
    return Cat(word[part.low : part.high + 1] for part in reversed(item.slices))


def _among(item: Field, allowed: frozenset[int], word: Value) -> Value:
    everything = range(1 << item.width)
    others = set(everything) - allowed
    coded = _coded(item, word)
    if len(others) < len(allowed):
        return ~coded.matches(*sorted(others)) if others else Const(1)
    return coded.matches(*sorted(allowed))


def rule_holds(item: Format, rule: Rule, word: Value) -> Value:
    """1 if one of the rule's alternatives does. Rules name narrow unsigned, unscaled fields
    only."""
    alternatives = [
        reduce(and_, (_among(item.by_name[name], allowed, word) for name, allowed in alternative.items()))
        for alternative in rule
    ]
    return reduce(or_, alternatives)


def is_defined(item: Format, word: Value) -> Value:
    """1 if `word` is a defined instruction of this format."""
    return reduce(and_, (rule_holds(item, rule, word) for rule in item.rules), has_format(item, word))
