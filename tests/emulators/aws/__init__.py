"""AWS, emulated: moto's server, and what it has not.

Moto is imported when it is needed: only some environments have it, and
launchers need it not.
"""

import collections
import contextlib
import dataclasses
import functools
import json
import logging
import threading
import typing
from unittest import mock
from xml.sax.saxutils import escape

import boto3

from tests.emulators.aws import strict

REGION = 'us-east-1'
CREDENTIALS = {'access_key_id': 'zuul', 'secret_access_key': 'secret'}
# Of ordinary instances, in virtual processors: on demand, and spot.
INSTANCE_QUOTA = 'L-1216C47A'
SPOT_QUOTA = 'L-34B43A08'
# Of gp3 volumes, in TiB.
VOLUME_QUOTA = 'L-7A658B76'
# Where images are imported from, and where they are on their way.
ARTIFACTS = 'artifacts'
UPLOADS = 'uploads'
ERROR = '''<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error></Errors>
<RequestID>0</RequestID></Response>'''
# What is the same in any call, and what is another one each time.
UNIMPORTANT = ('Action', 'Version', 'ClientToken')


@dataclasses.dataclass
class Fault:
    """
    :ivar str action: of EC2, such as ``RunInstances``.
    :ivar str code: of the error; None if nothing is done and all is said to
        be well.
    :ivar when: gets a function, name of a parameter -> its value, and says
        whether the call is one that fails.
    :ivar times: how often, None for always.
    :ivar bool late: whether it is done all the same, and the answer is lost.
    """

    action: str
    code: str | None
    message: str = 'injected'
    when: typing.Callable = lambda get: True
    times: int | None = None
    late: bool = False


class Aws:
    """A server on loopback, which runs in this process.

    :ivar Counter calls: action -> how often EC2 was asked for it.
    :ivar list requests: (action, function that gives parameters), of EC2.
    :ivar list paths: of requests to any service, in order.
    :ivar set denied: paths that AWS refuses to describe.
    :ivar dict quotas: code -> value, of EC2 and EBS.
    :ivar Imports imports: of images.
    """

    def __init__(self):
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.moto_server.werkzeug_app import MotoRequestHandler
        from moto.server import ThreadedMotoServer

        self.account = DEFAULT_ACCOUNT_ID
        self._stack = contextlib.ExitStack()
        # As with AWS, connections last.
        self._stack.enter_context(mock.patch.object(
            MotoRequestHandler, 'protocol_version', 'HTTP/1.1'))
        # There are hundreds of images.
        self._stack.enter_context(mock.patch.dict(
            'os.environ', MOTO_EC2_LOAD_DEFAULT_AMIS='false'))
        logging.getLogger('werkzeug').setLevel(logging.WARNING)
        self.paths = []
        self.denied = set()
        self.quotas = {}
        self.faults = []
        self._complete()
        server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)
        server.start()
        self._stack.callback(server.stop)
        self.url = 'http://{}:{}'.format(*server.get_host_and_port())
        self.s3 = self.getClient('s3')
        self.ec2 = self.getClient('ec2')
        self.reset()

    def reset(self):
        """Have it as new."""
        from moto.ec2.models import ec2_backends
        from moto.iam.models import iam_backends
        from moto.s3.models import s3_backends
        from moto.ssm.models import ssm_backends

        for backends in (
                ec2_backends, iam_backends, s3_backends, ssm_backends):
            backends[self.account].reset()
        self.backend = ec2_backends[self.account][REGION]
        self.storage = s3_backends[self.account]['aws']
        self.faults.clear()
        self.paths.clear()
        self.denied.clear()
        self.imports.reset()
        self.quotas.clear()
        self.quotas.update({
            INSTANCE_QUOTA: 1000.0, SPOT_QUOTA: 1000.0, VOLUME_QUOTA: 50.0})
        for name in (ARTIFACTS, UPLOADS):
            self.storage.create_bucket(name, REGION)
        self.calls = collections.Counter()
        self.requests = []
        # (action, token) -> what was asked for, and the answer.
        self._tokens = {}
        # AWS takes requests with the same token one after the other.
        self._tokens_locks = collections.defaultdict(threading.Lock)
        # What the next instance ends of.
        self._ending = None

    def end(self):
        self._stack.close()

    def getClient(self, service, region=REGION):
        return boto3.client(
            service, endpoint_url=self.url, region_name=region, **{
                f'aws_{name}': value for name, value in CREDENTIALS.items()})

    def getImage(self, name, **attributes):
        """:return: the id of an image of that name, of the account."""
        found = self.ec2.describe_images(Owners=['self'], Filters=[
            {'Name': 'name', 'Values': [name]}])['Images']
        return found[0]['ImageId'] if found else self.ec2.register_image(
            Name=name, **attributes)['ImageId']

    def inject(self, action, code, **kwargs):
        """Have calls fail, see :class:`Fault`."""
        self.faults.append(Fault(action, code, **kwargs))

    def listInstances(self):
        """:return: a list of moto's instances that are not terminated."""
        return [instance for reservation in list(
            self.backend.reservations.values())
            for instance in reservation.instances
            if instance.state != 'terminated']

    def list(self):
        """:return: a list of the ids of all that could leak."""
        # Not through the server, which would be busy with it.  Launch
        # templates are not made for nodes, but once for all of a label.
        return [
            *(instance.id for instance in self.listInstances()),
            *(host.id for host in list(self.backend.hosts.values())
              if host.state != 'released'),
            *self.backend.volumes.copy(), *self.backend.snapshots.copy(),
            *self.backend.amis.copy(),
            *list(self.storage.buckets[UPLOADS].keys)]

    def endNextInstance(self, code, message=''):
        """Have AWS itself terminate the next instance, as soon as it has
        said that it makes it."""
        self._ending = code, message

    def _end(self, answer):
        (code, message), self._ending = self._ending, None
        for instance in self.listInstances():
            if instance.id in answer:
                self.backend.terminate_instances([instance.id])
                instance.state_reason.code = code
                instance.state_reason.message = message

    # What moto has not

    def _complete(self):
        from moto.ec2.responses import EC2Response
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication
        from moto.servicequotas.responses import ServiceQuotasResponse

        from tests.emulators.aws.fleets import createFleet
        from tests.emulators.aws.imports import Imports

        self.imports = Imports()
        for cls, name, make in (
                (EC2Response, 'call_action', self._makeCall),
                (DomainDispatcherApplication, '__call__', self._makeCounter),
                (ServiceQuotasResponse, 'list_service_quotas',
                 self._makeServiceQuotas),
                (EC2Response, 'register_image', lambda _: registerImage),
                (EC2Response, 'create_fleet', lambda _: createFleet(self)),
                *((EC2Response, name, function)
                  for name, function in self.imports.makeActions())):
            self._stack.enter_context(mock.patch.object(
                cls, name, make(getattr(cls, name, None)), create=True))

    def _makeCounter(self, original):
        def call(application, environ, start_response):
            self.paths.append(environ['PATH_INFO'])
            if environ['PATH_INFO'] in self.denied and (
                    environ['REQUEST_METHOD'] == 'HEAD'):
                start_response('403 Forbidden', [])
                return []
            return original(application, environ, start_response)
        return call

    def _makeCall(self, original):
        def call(response):
            return self._call(response, functools.partial(original, response))
        return call

    def _call(self, response, act):
        action, get = response._get_action(), response._get_param
        self.calls[action] += 1
        self.requests.append((action, get))
        fault = next((
            fault for fault in self.faults if fault.action == action
            and fault.times != 0 and fault.when(get)), None)
        if fault:
            if fault.times:
                fault.times -= 1
            if fault.late:
                self._act(response, action, act)
            return (_fail(fault.code, fault.message) if fault.code
                    else (200, {}, f'<{action}Response/>'))
        return self._act(response, action, act)

    def _act(self, response, action, act):
        try:
            strict.check(action, response._get_params(), response.ec2_backend)
        except strict.Refusal as refusal:
            return _fail(refusal.code, refusal.message)
        token = response._get_param('ClientToken')
        if not token or response._get_param('DryRun'):
            return act()
        with self._tokens_locks[action, token]:
            return self._actOnce(response, action, token, act)

    def _actOnce(self, response, action, token, act):
        """Act, unless it has been asked for that before."""
        asked = sorted((key, value) for key, value
                       in response.querystring.items()
                       if key not in UNIMPORTANT)
        before = self._tokens.get((action, token))
        if before is None:
            answer = act()
            if answer[0] < 400:
                self._tokens[action, token] = asked, answer
                if action == 'RunInstances' and self._ending:
                    self._end(answer[2])
            return answer
        if before[0] != asked:
            return _fail('IdempotentParameterMismatch', 'another request')
        return before[1]

    def _makeServiceQuotas(self, _):
        def listServiceQuotas(response):
            service = json.loads(response.body)['ServiceCode']
            return json.dumps({'Quotas': [
                {'QuotaCode': code, 'Value': value}
                for code, value in self.quotas.items()
                if (code == VOLUME_QUOTA) == (service == 'ebs')]})
        return listServiceQuotas


def _fail(code, message):
    return 400, {}, ERROR.format(escape(code), escape(message))


def registerImage(response):
    """It is an image of the snapshot that is named, and has its root device
    and its tags; moto makes another snapshot, and forgets the others."""
    from moto.core.responses import ActionResult

    backend = response.ec2_backend
    image = backend.register_image(response._get_param('Name'))
    image.root_device_name = response._get_param(
        'RootDeviceName', image.root_device_name)
    image.add_tags(response._parse_tag_specification().get('image', {}))
    for mapping in response._get_param('BlockDeviceMappings', []):
        del backend.snapshots[image.ebs_snapshot.id]
        image.ebs_snapshot, = backend.describe_snapshots(
            [mapping['Ebs']['SnapshotId']])
    return ActionResult({'ImageId': image.id})
