"""Strict validation of numbers in the configuration.

To Python, and so to voluptuous, YAML's ``yes`` and ``no`` are 1 and 0.  The
bounds reject values that are invalid in every cloud, such as the port 65536 or
a time-out of years, in all drivers and whatever their schemas accept.
"""

import copy
from typing import Any, NamedTuple

import voluptuous as vs

from zuul_nodes.drivers.api.labels import MOST_SLOTS

DAY = 24 * 60 * 60
YEAR = 366 * DAY
LIMITS = 'resource-limits'


class Bound(NamedTuple):
    least: int
    most: int
    unit: str = ''

    def __str__(self) -> str:
        unit = self.unit and f' of {self.unit}'
        return f'a whole number{unit} from {self.least} to {self.most}'


TIMEOUT = Bound(0, 7 * DAY, 'seconds')
AGE = Bound(0, 10 * YEAR, 'seconds')
COUNT = Bound(0, 1_000_000)
# Attribute, in any object and at any depth -> its bound.
BOUNDS = {
    'boot-timeout': TIMEOUT,
    'connection-port': Bound(1, 65535),
    'import-timeout': TIMEOUT,
    'launch-attempts': Bound(0, 1000),
    'launch-timeout': TIMEOUT,
    'max-age': AGE,
    'max-nodes': COUNT,
    'max-parallel-jobs': Bound(1, MOST_SLOTS),
    'max-ready-age': AGE,
    'max-retain-count': Bound(1, 1000),
    'min-ready': COUNT,
    'min-retention-time': AGE,
    'port-cleanup-interval': AGE,
    'request-timeout': TIMEOUT,
    'retain-count': Bound(1, 1000),
    'slots': Bound(0, MOST_SLOTS),
    'snapshot-expiration': AGE,
    'snapshot-timeout': TIMEOUT,
    'volume-size': Bound(0, 1 << 20, 'GiB'),
}
# The bound of any limit.
AMOUNT = Bound(0, 2 ** 63)


def beStrict(schema: Any, bound: Bound | None = None) -> Any:
    """
    :param schema: of voluptuous.
    :param bound: of the numbers in it, if there is one.
    :return: the schema, but it rejects booleans as numbers and applies the
        bounds of attributes.
    """
    number_type = schema.type if isinstance(schema, vs.Coerce) else schema
    if number_type in (int, float):
        return _Number(schema, bound)
    if isinstance(schema, dict):
        return {key: beStrictOf(key, value, bound)
                for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return type(schema)(beStrict(each, bound) for each in schema)
    if isinstance(schema, vs.Schema):
        return vs.Schema(beStrict(schema.schema, bound),
                         required=schema.required, extra=schema.extra)
    for attribute in ('validators', 'schema'):
        if hasattr(schema, attribute):
            strict = copy.copy(schema)
            setattr(strict, attribute,
                    beStrict(getattr(schema, attribute), bound))
            return strict
    return schema


def beStrictOf(key: Any, schema: Any, bound: Bound | None = None) -> Any:
    """As :func:`beStrict`, for the value of a key.

    :param key: the name of an attribute, or its marker.
    """
    while isinstance(key, vs.Marker):
        key = key.schema
    if key == LIMITS:
        return beStrict(schema, AMOUNT)
    if isinstance(key, str) and key in BOUNDS:
        return _Bounded(schema, BOUNDS[key])
    return beStrict(schema, bound)


class _Number:

    def __init__(self, schema: Any, bound: Bound | None) -> None:
        self.schema = vs.Schema(schema)
        self.bound = bound

    def __call__(self, value: Any) -> Any:
        if isinstance(value, bool):
            raise vs.Invalid('expected a number')
        number = self.schema(value)
        if self.bound and not self.bound.least <= number <= self.bound.most:
            raise vs.Invalid(f'expected {self.bound}')
        return number


class _Bounded:
    """Bounds the numbers of a schema, which may accept other values too."""

    def __init__(self, schema: Any, bound: Bound) -> None:
        self.schema = vs.Schema(beStrict(schema))
        self.bound = bound

    def __call__(self, value: Any) -> Any:
        if type(value) is int and not (
                self.bound.least <= value <= self.bound.most):
            raise vs.Invalid(f'expected {self.bound}')
        try:
            return self.schema(value)
        except vs.Invalid:
            if type(value) is int:
                raise
            raise vs.Invalid(f'expected {self.bound}') from None
