"""The dashboard, alerts and mapping that operators copy.

Each query parses, each name, label and value in it is one that launchers
send, and no metric is missing.
"""

import itertools
import pathlib
import re
import types

import promql_parser
from promql_parser import AggregateExpr, VectorSelector
import pytest
import yaml

from tests.fixtures.metricnames import getSeries
from tests.fixtures.monitoring import (
    MONITORING,
    VALUES,
    expand,
    getQueries,
    getTargets,
    readAlerts,
    readDashboard,
)
from zuul_nodes.launcher.metrics.exporter import BUCKETS
from zuul_nodes.launcher.metrics.names import METRICS, PLACEHOLDER

PAGE = (pathlib.Path(__file__).parents[3]
        / 'doc/source/howto/watch-site.rst')
TEMPLATE = re.compile(r'\$labels\.(\w+)')
LEGEND = re.compile(r'{{ *(\w+) *}}')


def parse(query):
    return promql_parser.parse(expand(query))


def find(expression, kind):
    """:return: a list of the parts of a query that are of a class."""
    parts = []
    promql_parser.walk(expression, parts.append)
    return [part for part in parts if isinstance(part, kind)]


def getLabels(node, known):
    return set().union(*(known.get(selector.name, ())
                         for selector in find(node, VectorSelector)))


def check(query, text=''):
    """:return: yields what is wrong with a query, and with a text that names
        labels of its result."""
    known = dict(itertools.chain.from_iterable(
        getSeries(metric) for metric in METRICS))
    try:
        expression = parse(query)
    except ValueError as error:
        yield str(error)
        return
    for selector in find(expression, VectorSelector):
        if selector.name not in known:
            yield f'launchers do not send {selector.name}'
            continue
        for matcher in selector.matchers.matchers:
            if matcher.name not in known[selector.name]:
                yield f'{selector.name} has no label {matcher.name}'
            elif values := VALUES.get((selector.name, matcher.name)):
                yield from (f'{matcher.name} is never {value}'
                            for value in matcher.value.split('|')
                            if value not in values)
    result = getLabels(expression, known)
    for aggregate in find(expression, AggregateExpr):
        labels = set(aggregate.modifier.labels if aggregate.modifier else ())
        yield from (f'there is no label {label} to aggregate by' for label
                    in labels - getLabels(aggregate.expr, known))
        result = result & labels if labels else set()
    named = {*TEMPLATE.findall(text), *LEGEND.findall(text)}
    yield from (f'the result has no label {label}'
                for label in named - result)


@pytest.mark.parametrize('query, text', list(getQueries()))
def test_query_asks_for_what_launchers_send(query, text):
    assert list(check(query, text)) == []


@pytest.mark.parametrize('query, text, problem', [
    ('sum(zuul_nodes_state', '', 'parenthesis'),
    ('rate(zuul_nodes_launch_events_total)', '', 'matrix'),
    ('zuul_node_state', '', 'do not send zuul_node_state'),
    ('1 + rate(zuul_nodes_launch[5m])', '', 'do not send zuul_nodes_launch'),
    ('zuul_nodes_state{stat="ready"}', '', 'has no label stat'),
    ('zuul_nodes_state{state="gone"}', '', 'never gone'),
    ('zuul_nodes_launch_events_total{result="success"}', '', 'never success'),
    ('zuul_nodeset_requests_state{state="ready"}', '', 'never ready'),
    ('sum by (le) (zuul_nodes_launch_seconds_sum)', '', 'no label le'),
    ('sum(max by (label) (zuul_nodes_state)) > 1', '', 'no label label'),
    ('sum(zuul_nodes_state)', '{{state}}', 'result has no label state'),
    ('zuul_provider_limit', '{{ $labels.stat }}', 'result has no label stat'),
])
def test_mistakes_in_a_query_are_found(query, text, problem):
    found, = check(query, text)
    assert problem in found


def test_each_metric_is_on_the_dashboard_or_has_an_alert():
    asked = {selector.name for query, _ in getQueries()
             for selector in find(parse(query), VectorSelector)}
    sent = {}
    for metric in METRICS:
        sent.setdefault(metric.name, set()).update(
            name for name, _ in getSeries(metric))
    assert [name for name, series in sent.items() if not series & asked] == []


def test_mapping_makes_what_launchers_export_themselves():
    mapping = yaml.safe_load((MONITORING / 'statsd-mapping.yaml').read_text())
    assert mapping['defaults'] == {
        'observer_type': 'histogram',
        'histogram_options': {'buckets': list(BUCKETS)}}
    rules = {rule['name']: rule for rule in mapping['mappings']}
    assert len(rules) == len(mapping['mappings'])
    assert rules == {metric.prometheus_name: {
        'match': PLACEHOLDER.sub('*', metric.name),
        'match_metric_type': metric.kind.replace('timer', 'observer'),
        'name': metric.prometheus_name,
        **({'labels': {label: f'${number}' for number, label
                       in enumerate(metric.labels, 1)}}
           if metric.labels else {}),
        **({'ttl': f'{metric.lifetime}s'} if metric.lifetime else {}),
    } for metric in METRICS}


def test_names_in_prometheus_have_one_meaning():
    series = [name for metric in METRICS
              for name, _ in getSeries(metric)]
    assert len(set(series)) == len(series) > 50


def test_panels_have_places_of_their_own():
    dashboard = readDashboard()
    ids = [panel['id'] for panel in dashboard['panels']]
    assert len(set(ids)) == len(ids)
    covered = set()
    for panel in dashboard['panels']:
        place = types.SimpleNamespace(**panel['gridPos'])
        cells = set(itertools.product(
            range(place.x, place.x + place.w),
            range(place.y, place.y + place.h)))
        assert place.x + place.w <= 24, panel['title']
        assert not cells & covered, panel['title']
        covered |= cells


def test_dashboard_defines_its_variables():
    defined = {f'${each["name"]}' for each
               in readDashboard()['templating']['list']}
    queries = ' '.join(target['expr'] for _, target in getTargets())
    assert set(re.findall(r'\$\w+', queries)) - {
        '$__rate_interval'} <= defined
    assert {source['datasource']['uid'] for pair in getTargets()
            for source in pair} == {'${datasource}'}
    query, = (each['query']['query'] for each
              in readDashboard()['templating']['list']
              if each['type'] == 'query')
    name, label = re.fullmatch(r'label_values\((\w+), (\w+)\)',
                               query).groups()
    assert not list(check(f'{name}{{{label}=""}}'))


def test_page_says_what_to_do_about_each_alert():
    """Under a heading with its name."""
    headings = re.findall(r'^(ZuulNodes\w+)\n[-~]+$', PAGE.read_text(),
                          re.MULTILINE)
    assert headings == [alert['alert'] for alert in readAlerts()]
