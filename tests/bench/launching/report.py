"""What was measured, as a table and as JSON, and what was asked for."""

import dataclasses
import json
import statistics

FORMAT = '{:58} {:>17} {:>17} {:>8}  {}'
# Unit -> (what a value is multiplied with, how it is called).
UNITS = {'s': (1, 's'), 'ms': (1000, 'ms'), 'number': (1, '')}


@dataclasses.dataclass(frozen=True)
class Metric:
    """One line of the table.

    :ivar str key: what the scenario calls it.
    :ivar str title: what it is.
    :ivar str unit: of UNITS.
    :ivar limit: ours may be this at most, in seconds, or a number.
    :ivar quicker: theirs is to be this many times ours, at least.
    :ivar times: ours may be this many times theirs, at most.
    :ivar like: ours is to be the same as in this other scenario.
    """
    key: str
    title: str
    unit: str
    limit: float | None = None
    quicker: float | None = None
    times: float | None = None
    like: str | None = None

    def asked(self):
        """:return: what is asked for, in words."""
        if self.limit is not None:
            return f'at most {self.show(self.limit)}'
        if self.times is not None:
            return f'at most {self.times:.2f} times as long'
        if self.quicker == 1:
            return 'no worse'
        return f'{self.quicker:g} times less' if self.quicker else ''

    def isMet(self, theirs, ours):
        """:return: whether, or None if that can't be said."""
        if ours is None:
            return None
        if self.limit is not None:
            return ours <= self.limit
        if self.times is not None and theirs is not None:
            return ours <= theirs * self.times
        if self.quicker and theirs is not None:
            return ours * self.quicker <= theirs
        return None

    def show(self, value):
        factor, name = UNITS[self.unit]
        return f'{round3(value * factor)} {name}'.rstrip()


def round3(value):
    """:return: the number with three digits that matter, a string."""
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'


class Report:
    """
    :param dict settings: what the run was asked for.
    :param sides: what "theirs" and "ours" are here.
    :param bool inverse: whether the ratio is ours by theirs.
    :ivar dict values: scenario -> side -> metric -> a list of values, one
        for each time that it was measured.
    """

    def __init__(self, settings, sides=('theirs', 'ours'), inverse=False):
        self.settings = settings
        self.sides = sides
        self.inverse = inverse
        self.values = {}
        self.failures = []
        self.floor = {}

    def add(self, scenario, side, values):
        for key, value in values.items():
            self.values.setdefault(scenario.name, {}).setdefault(
                side, {}).setdefault(key, []).append(value)

    def fail(self, scenario, side, message):
        self.failures.append({'scenario': scenario.name, 'side': side,
                              'message': message})

    def get(self, scenario_name, side, key):
        """:return: the median, or None if it was not measured."""
        found = self.values.get(scenario_name, {}).get(side, {}).get(key)
        return statistics.median(found) if found else None

    def showSide(self, scenario, side, metric):
        found = self.values.get(scenario.name, {}).get(side, {}).get(
            metric.key)
        if not found:
            return 'failed' if any(
                failure['scenario'] == scenario.name
                and failure['side'] == side
                for failure in self.failures) else '-'
        text = metric.show(statistics.median(found))
        if len(found) > 1:
            factor = UNITS[metric.unit][0]
            text += (f' ({round3(min(found) * factor)}-'
                     f'{round3(max(found) * factor)})')
        return text

    def compare(self, scenario, metric):
        """:return: (the ratio, whether what is asked for is met), or None
            for what can't be said."""
        theirs, ours = pair = [self.get(scenario.name, side, metric.key)
                               for side in self.sides]
        if self.inverse:
            pair.reverse()
        ratio = pair[0] / pair[1] if pair[0] is not None and pair[1] else None
        return ratio, metric.isMet(theirs, ours)

    def makeTable(self, scenarios):
        """:return: yields lines to be read."""
        yield FORMAT.format('', *self.sides, 'ratio',
                            f'asked of {self.sides[1]}')
        for scenario in scenarios:
            yield scenario.title
            for metric in scenario.metrics:
                ratio, met = self.compare(scenario, metric)
                asked = metric.asked()
                if met is not None:
                    asked += ': yes' if met else ': NO'
                other = self.get(metric.like, self.sides[1], metric.key)
                ours = self.get(scenario.name, self.sides[1], metric.key)
                if metric.like and asked:
                    asked += '; '
                if metric.like:
                    asked += f'as with {metric.like}'
                if other and ours is not None:
                    asked += f': {round3(ours / other)} times that'
                yield FORMAT.format(
                    f'  {metric.title}',
                    *(self.showSide(scenario, side, metric)
                      for side in self.sides),
                    round3(ratio) if ratio else '-', asked).rstrip()
        yield from self.makeFloor()
        for failure in self.failures:
            yield 'FAILED: {side}, {scenario}: {message}'.format(
                **failure)

    def makeFloor(self):
        """:return: yields how far ours is from the floor."""
        if not self.floor:
            return
        floor = self.floor
        yield (f'The floor on this machine: a write takes '
               f'{floor["write"] * 1e3:.2f} ms')
        for title, value, scenario, key in (
                ('three round trips for a ready node', floor['ready'],
                 'ready', 'wall'),
                (f'the same for {self.settings["sizes"]["burst"]} at once',
                 floor['burst'], 'burst', 'wall'),
                ('and CPU of each', floor['cpu'], 'burst', 'cpu')):
            unit = 's' if value > 0.1 else 'ms'
            line = f'  {title}: {Metric("", "", unit).show(value)}'
            for side in self.sides:
                measured = self.get(scenario, side, key)
                if measured is not None:
                    line += f'; {side} {round3(measured / value)} times that'
            yield line

    def show(self, scenarios, form):
        """Print it.

        :param str form: ``json``, or ``text`` for people.
        """
        if form == 'json':
            print(json.dumps(self.toDict(scenarios), indent=2))
        else:
            for line in self.makeTable(scenarios):
                print(line)

    def toDict(self, scenarios):
        """:return: all of it, to be written as JSON."""
        result = []
        for scenario in scenarios:
            metrics = []
            for metric in scenario.metrics:
                ratio, met = self.compare(scenario, metric)
                metrics.append({
                    'key': metric.key, 'title': metric.title,
                    'asked': metric.asked(), 'ratio': ratio, 'met': met})
            result.append({
                'name': scenario.name, 'title': scenario.title,
                'metrics': metrics,
                'values': self.values.get(scenario.name, {})})
        return {'settings': self.settings, 'scenarios': result,
                'floor': self.floor, 'failures': self.failures}
