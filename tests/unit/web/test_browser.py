"""The page of a whole Zuul, in a browser."""

import os
import pathlib

import pytest

from tests.fixtures.browser import Browser
from tests.fixtures.ending import endWith
from tests.fixtures.waiting import waitFor

pytestmark = [pytest.mark.services, pytest.mark.seconds(120)]

TIMEOUT = 180
# A cloud whose nodes start and never answer, and an image without a job.
CLOUD = '''
- image:
    name: debian
    type: zuul

- image:
    name: stock
    type: cloud

- flavor:
    name: small

- label:
    name: cloud-small
    image: stock
    flavor: small
    min-ready: 2

- section:
    name: cloud
    connection: cloud
    images: [stock]
    flavors:
      - name: small
        cores: 4

- provider:
    name: cloud
    section: cloud
    resource-limits:
      instances: 5
    labels: [cloud-small]
'''


@pytest.fixture
def browser(request, tmp_path):
    return endWith(request, Browser(tmp_path))


@pytest.fixture
def site(makeSite):
    """A Zuul with a request that waits: nothing listens on its node."""
    site = makeSite()
    site.configure('connection cloud', driver='fake', cores=40,
                   path=str(site.settings.run / 'cloud'),
                   port=site.node.port)
    site.configure('launcher', tenant_limits='instances:4')
    site.startZooKeeper()
    site.startZuul()
    site.waitForZuul()
    site.pushNodes(site.nodes_file.read_text() + CLOUD)
    site.push()
    return site


def wait(predicate):
    waitFor(predicate, timeout=TIMEOUT)


def getRequests(browser):
    return browser.getText('#requests')


def test_the_page_follows_what_happens(site, browser):
    url = f'{site.settings.web_url}/zuul-nodes/'
    browser.open(url)
    # Of the tenants
    wait(lambda: 'quickstart' in browser.getText('#tenants'))
    browser.open(f'{url}t/quickstart')
    wait(lambda: 'no node is free' in getRequests(browser))
    row = browser.getText('#requests tbody tr').split('\t')
    assert row[1:5] == ['hello', 'post', 'debian-local', 'waits']
    wait(lambda: '8 of 40 in use' in str(browser.read()))
    wait(lambda: 'instances of this tenant' in str(browser.read()))
    checkScreenReader(browser)
    checkKeyboard(browser)
    checkFocus(browser)
    checkSchemes(browser)
    savePicture(browser)
    # The page is not loaded again.
    browser.evaluate('window.isTheSame = true')
    site.startNode()
    wait(lambda: getRequests(browser).endswith(
        'No request waits for nodes.'))
    assert browser.getText('#message') == ''
    assert browser.problems == []
    site.end('web')
    wait(lambda: 'Not up to date' in browser.getText('#message'))
    assert browser.evaluate('window.isTheSame')


def checkScreenReader(browser):
    read = browser.read()
    assert {(role, name) for role, name, _ in read} >= {
        ('RootWebArea', 'Nodes of quickstart'),
        ('heading', 'Nodes of the tenant quickstart'),
        ('heading', 'Waiting requests'), ('heading', 'Providers'),
        ('heading', 'local'), ('navigation', 'Sections'), ('main', ''),
        ('status', ''), ('button', 'Stop refreshing'),
        ('table', 'Limits of cloud'), ('columnheader', 'Others use'),
        ('columnheader', 'Why it waits'), ('rowheader', 'cores'),
        ('rowheader', 'debian-local')}
    assert {(name, value) for role, name, value in read
            if role == 'meter'} == {
        # Idle nodes count, too.
        ('instances of this tenant', '2'),
        ('instances of this provider', '2'),
        ('cores of endpoint cloud', '8')}
    assert 'no tenant builds it' in browser.getText('#images')


def checkKeyboard(browser):
    """All that can be used is reached with the tabulator, and is seen to
    be."""
    reached = []
    while True:
        browser.press('Tab')
        place, name, outline = browser.evaluate("""(() => {
            const element = document.activeElement;
            return [
                element.localName,
                element.getAttribute('aria-label') || element.innerText,
                getComputedStyle(element).outlineStyle];
        })()""")
        if place == 'body' or name in reached:
            break
        assert outline == 'solid', name
        reached.append(name)
    assert reached[:8] == [
        'Skip to the content', 'Waiting requests', 'Paused', 'Limits',
        'Providers', 'Images', 'Zuul', 'Stop refreshing']
    assert 'Limits of cloud' in reached
    browser.evaluate('document.getElementById("stop").focus()')
    for expected in ('true', 'false'):
        browser.press('Enter')
        assert browser.evaluate(
            'document.getElementById("stop").ariaPressed') == expected


def checkFocus(browser):
    """It stays where it is when the page refreshes."""
    browser.evaluate('document.querySelector("#requests .scroll").focus()')
    age = '#requests tbody td:nth-child(6)'
    former = browser.getText(age)
    wait(lambda: browser.getText(age) != former)
    assert browser.evaluate(
        'document.activeElement.parentElement.parentElement.id') == 'requests'


def checkSchemes(browser):
    colors = []
    for name in ('dark', 'light'):
        browser.setScheme(name)
        colors.append(browser.evaluate(
            'getComputedStyle(document.body).backgroundColor'))
    assert colors == ['rgb(21, 24, 27)', 'rgb(255, 255, 255)']


def savePicture(browser):
    """Write the picture of the documentation, if its place is told."""
    if path := os.environ.get('ZUUL_NODES_PICTURE'):
        browser.takePicture(pathlib.Path(path))
