"""zuul-web shows the formats that jobs are told."""

from tests.fixtures.waiting import waitFor

JOB = 'pipeline/build/project/nodes/branch/main/freeze-job/build-'


def getFormats(web, image='debian'):
    status, answer = web.ask(JOB + image)
    assert status == 200
    return answer['zuul']['image']['formats']


def test_formats_of_all_tenants(loadTenant, makeScheduler, makeWeb):
    web = makeWeb(loadTenant())
    scheduler = makeScheduler(loadTenant())
    assert getFormats(web) == ['raw']
    other = loadTenant()
    image = other.layout.providers['rack'].images['debian']
    image.format = 'vhd'
    scheduler.publish(other, 'other')
    # It goes by what schedulers say: it may have another layout itself.
    web.addTenant(loadTenant().tenant, 'other')
    assert getFormats(web) == ['raw', 'vhd']
    assert getFormats(web, 'fedora') == []
    image.format = 'qcow2'
    scheduler.publish(other, 'other')
    waitFor(lambda: getFormats(web) == ['qcow2', 'raw'])


def test_a_tenant_of_which_no_scheduler_has_told(loadTenant, makeWeb):
    web = makeWeb(loadTenant())
    web.addTenant(loadTenant().tenant, 'other')
    assert getFormats(web) == ['raw']
    # It may want it, too.
    assert getFormats(web, 'fedora') is None
