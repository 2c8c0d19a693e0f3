"""Convert disk images: jobs that build, validate and delete them."""

from zuul_nodes.cmd.migrate import rules
from zuul_nodes.cmd.migrate.parts import ZUUL
from zuul_nodes.cmd.migrate.periods import getPipeline
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.rules import HANDLED, lost
from zuul_nodes.cmd.migrate.secrets import Placeholder
from zuul_nodes.cmd.migrate.site import isDefined
from zuul_nodes.cmd.migrate.tree import Mapping, Sequence, getOrigin

# Seconds; the defaults of Nodepool.
BUILD_TIMEOUT = 8 * 3600
REBUILD_AGE = 86400
SECRET = 'image_storage'
BUILD_JOB, DELETE_JOB = 'build-disk-image', 'delete-disk-image'
FORMATS = frozenset(('raw', 'qcow2', 'vhd', 'tar'))
# Directories of the builder; the role has its own for each build.
PLACES = ('TMPDIR', 'TMP_DIR', 'DIB_IMAGE_CACHE', 'DIB_LOCKFILES',
          'XDG_CACHE_HOME', 'ELEMENTS_PATH')
DIB_COMMAND = 'disk-image-create'
IN_STORAGE = lost('files are in object storage; the job for "image-delete" '
                  'deletes them when no provider needs them')
DISKIMAGE = {
    **{name: HANDLED for name in (
        'name', 'abstract', 'parent', 'elements', 'env-vars', 'release',
        'formats', 'rebuild-age', 'build-timeout', 'pause', 'username',
        'python-path', 'shell-type', 'dib-cmd', 'metadata')},
    'keep-formats': IN_STORAGE,
    'delete-after-upload': IN_STORAGE,
}


class Jobs:
    """The jobs of all disk images.

    :param Site site:
    :param Report report:
    :ivar list jobs: stanzas, as Mapping.
    :ivar dict pipelines: name of a pipeline -> list of names of jobs.
    :ivar dict periods: name of a timer pipeline -> its time.
    :ivar list secrets: stanzas, as Mapping.
    :ivar int timeout: of the job that takes the longest, in seconds.
    """

    def __init__(self, site, report):
        self._site = site
        self._report = report
        self.jobs = []
        self.pipelines = {'image-build': [], 'image-validate': [],
                          'image-delete': []}
        self.periods = {}
        self.secrets = []
        self.timeout = BUILD_TIMEOUT

    def add(self, types, labels, builders):
        """
        :param dict types: name of an image that is used -> its type.
        :param dict labels: name of an image -> name of a label.
        :param Builders builders: has the labels to build on.
        """
        for image in self._site.diskimages.values():
            rules.convert(DISKIMAGE, image, f'diskimage {image["name"]}',
                          self._report)
        names = [name for name, image_type in types.items()
                 if image_type == ZUUL]
        buildable = [name for name in self._site.diskimages if name in names
                     and isDefined(self._site.diskimages[name])]
        for name in names:
            if name not in buildable:
                self._report.add(
                    Kind.DECIDE, 'No file says how the image is built: name '
                    'the file of the builder, or write the job',
                    self._site.diskimages.get(name, Mapping()).origin,
                    f'image {name}')
        for name, image in self._site.diskimages.items():
            if name not in names and isDefined(image):
                self._report.add(
                    Kind.LOST, 'No provider has the disk image, so nothing '
                    'builds it', image.origin, f'diskimage {name}')
        if not buildable:
            return
        usual = builders.getMostFrequent(
            [self._site.diskimages[name] for name in buildable])
        self._addParents(builders.getLabel(usual))
        for name in buildable:
            self._report.add(
                Kind.DONE, 'A disk image became an image, and jobs that '
                'build, validate and delete it',
                self._site.diskimages[name].origin, f'diskimage {name}')
            image = self._site.diskimages[name]
            architecture = builders.getArchitecture(image)
            self._addImage(
                image, labels.get(name), None if architecture == usual
                else builders.getLabel(architecture))

    def _addParents(self, builder):
        storage = Mapping({
            'zuul_nodes_storage': 's3',
            'zuul_nodes_storage_bucket': 'REPLACE_ME_BUCKET',
            'zuul_nodes_storage_endpoint': 'https://REPLACE-ME.example.com',
            'zuul_nodes_storage_url':
                'https://REPLACE-ME.example.com/REPLACE_ME_BUCKET'})
        secrets = Sequence([Mapping({
            'name': 'zuul_nodes_credentials', 'secret': SECRET,
            'pass-to-parent': True})])
        build = Mapping({'name': BUILD_JOB,
                         'parent': 'zuul-nodes-build-image',
                         'abstract': True,
                         'timeout': BUILD_TIMEOUT,
                         'nodeset': makeNodeset('builder', builder)})
        variables = Mapping()
        elements, origin = self._site.getSetting('elements-dir')
        if elements:
            variables.put('zuul_nodes_elements_path', Sequence(
                ['{{ zuul.project.src_dir }}/elements']),
                origin.withoutComments())
            self._report.add(
                Kind.DECIDE, f'Put the content of "{elements}" into the '
                f'directory "elements" of the project of the jobs, or name '
                f'the project that has them in "required-projects"', origin)
        build['vars'] = Mapping({**variables, **storage})
        build['secrets'] = secrets
        self.jobs += [build, Mapping({
            'name': DELETE_JOB, 'parent': 'zuul-nodes-delete-image',
            'abstract': True, 'nodeset': Mapping({'nodes': []}),
            'vars': storage, 'secrets': secrets})]
        self.secrets.append(Mapping({'name': SECRET, 'data': Mapping({
            'access_key': 'REPLACE_ME_ACCESS_KEY',
            'secret_key': 'REPLACE_ME_SECRET_KEY'})}))
        self._report.add(
            Kind.DECIDE, f'Nodepool uploads images from the disk of the '
            f'builder; a job stores them first. Choose a storage in '
            f'"{BUILD_JOB}" and "{DELETE_JOB}", and complete the secret '
            f'"{SECRET}"')

    def _addImage(self, image, label, builder):
        """
        :param builder: another label to build on than that of most images.
        """
        name = image['name']
        job = Mapping(origin=image.origin.withoutComments())
        job['name'] = f'build-image-{name}'
        job['parent'] = BUILD_JOB
        job['image-build-name'] = name
        if builder:
            job['nodeset'] = makeNodeset('builder', builder)
        if isinstance(image.get('build-timeout'), int):
            job.put('timeout', image['build-timeout'],
                    getOrigin(image, 'build-timeout'))
            self.timeout = max(self.timeout, image['build-timeout'])
        job['vars'], secrets = self._makeVariables(image)
        if secrets:
            job['secrets'] = secrets
        self.jobs.append(job)
        built = self._getBuildPipelines(image)
        for pipeline in built:
            self.pipelines.setdefault(pipeline, []).append(job['name'])
        if label:
            validate = Mapping({
                'name': f'validate-image-{name}',
                'parent': 'zuul-nodes-validate-image',
                'image-build-name': name,
                'nodeset': makeNodeset('node', label)})
            self.jobs.append(validate)
            self.pipelines['image-validate'].append(validate['name'])
        delete = Mapping({'name': f'delete-image-{name}',
                          'parent': DELETE_JOB, 'image-build-name': name})
        self.jobs.append(delete)
        self.pipelines['image-delete'].append(delete['name'])

    def _getBuildPipelines(self, image):
        """:return: list of the pipelines that run the job."""
        subject = f'diskimage {image["name"]}'
        if image.get('pause'):
            self._report.add(
                Kind.DECIDE, 'Builds of the image are paused in Nodepool: no '
                'pipeline runs its job. A label that needs the image waits '
                'until one does', getOrigin(image, 'pause'), subject)
            return []
        origin = getOrigin(image, 'rebuild-age')
        pipeline, time, is_exact = getPipeline(
            image.get('rebuild-age', REBUILD_AGE))
        self.periods[pipeline] = time
        if not is_exact:
            self._report.add(
                Kind.CHANGED, f'"rebuild-age": a pipeline with the nearest '
                f'period, "{time}", builds the image', origin, subject)
        return ['image-build', pipeline]

    def _makeVariables(self, image):
        """:return: (variables of the job, its secrets)."""
        variables = Mapping()
        variables.put('zuul_nodes_elements', image['elements'],
                      getOrigin(image, 'elements'))
        self._remarkFormats(image)
        self._convertCommand(image, variables)
        environment = self._makeEnvironment(image)
        if any(isinstance(value, Placeholder)
               for value in environment.values()):
            # The secret takes the place of the whole variable.
            secret = f'environment_of_{image["name"]}'
            self.secrets.append(
                Mapping({'name': secret, 'data': environment}))
            return variables, Sequence([Mapping({
                'name': 'zuul_nodes_dib_environment', 'secret': secret,
                'pass-to-parent': True})])
        if environment:
            variables.put('zuul_nodes_dib_environment', environment,
                          getOrigin(image, 'env-vars'))
        return variables, None

    def _makeEnvironment(self, image):
        subject = f'diskimage {image["name"]}'
        environment = Mapping()
        if image.get('release') is not None:
            environment.put('DIB_RELEASE', str(image['release']),
                            getOrigin(image, 'release'))
        for name, value in image['env-vars'].items():
            origin = getOrigin(image['env-vars'], name)
            if name in PLACES:
                self._report.add(
                    Kind.LOST, f'"{name}" is a directory of the builder; each '
                    f'build has directories of its own', origin, subject)
            elif name == 'PATH':
                self._report.add(
                    Kind.DECIDE, '"PATH" is left out, for the programs of the '
                    'builder are not on the node; "zuul_nodes_dib_packages" '
                    'of the job installs packages', origin, subject)
            else:
                environment.put(name, value if isinstance(value, str)
                                else str(value), origin)
        return environment

    def _remarkFormats(self, image):
        formats = image.get('formats')
        origin = getOrigin(image, 'formats')
        subject = f'diskimage {image["name"]}'
        if not formats or not isinstance(formats, list):
            return
        self._report.add(
            Kind.CHANGED, '"formats": jobs build the formats that providers '
            'need. For others, set "zuul_nodes_formats" of the job', origin,
            subject)
        for each in map(str, formats):
            if each not in FORMATS:
                self._report.add(
                    Kind.LOST, f'"formats": the roles do not build '
                    f'"{each}"', origin, subject)
            elif each == 'vhd':
                self._report.add(
                    Kind.DECIDE, '"formats": the role makes "vhd" with '
                    'qemu-img, which Azure takes; Xen, as at Rackspace, needs '
                    'the "vhd" of vhd-util, which the role does not make',
                    origin, subject)

    def _convertCommand(self, image, variables):
        command = image.get('dib-cmd')
        if not command:
            return
        origin = getOrigin(image, 'dib-cmd')
        program, *arguments = str(command).split()
        if program == DIB_COMMAND and arguments:
            variables.put('zuul_nodes_dib_arguments', Sequence(arguments),
                          origin)
        elif program != DIB_COMMAND:
            self._report.add(
                Kind.DECIDE, '"dib-cmd": the job runs disk-image-create; what '
                'the command does besides has to go into the job', origin,
                f'diskimage {image["name"]}')

    def makeProject(self):
        """:return: the project stanza."""
        project = Mapping()
        for pipeline, jobs in self.pipelines.items():
            if jobs:
                project[pipeline] = Mapping({'jobs': Sequence(jobs)})
        return project


def makeNodeset(name, label):
    """:return: a nodeset of one node."""
    return Mapping({'nodes': Sequence([
        Mapping({'name': name, 'label': label})])})
