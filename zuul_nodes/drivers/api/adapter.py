"""The one class that a driver's author writes for a new cloud."""

from zuul_nodes.drivers.api.model import Ability

# Which methods an ability stands for.
METHODS = {
    Ability.UNIQUE_NAMES: (),
    Ability.LIMITS: ('getLimits',),
    Ability.NEEDS: ('getNeeds',),
    Ability.IMAGES: ('uploadImage', 'listImages', 'deleteImage'),
    Ability.IMPORT: ('importImage', 'listImages', 'deleteImage'),
    Ability.COPY: ('copyImage', 'listImages', 'deleteImage'),
    Ability.DOWNLOAD: ('downloadUrl',),
    Ability.SNAPSHOTS: ('createSnapshot', 'listImages', 'deleteImage'),
    Ability.CONSOLE: ('getConsoleLog',),
    Ability.ZONES: ('listZones',),
    Ability.RESOURCES: ('listResources', 'deleteResource'),
}


class Adapter:
    """A cloud, as far as Zuul needs it.

    There is one object for each endpoint, whatever the number of providers
    that share it.  Any method may be called from several threads at once,
    and by several launchers.

    Each method is called at the connection's rate, is counted and timed,
    and is called again when it has failed.  The launcher that calls it may
    be killed at any moment, also after the cloud has acted: then the next
    one calls it again, with the same arguments.  So each method has to
    leave alone what is done already.

    No call to the cloud may go on for ever: give each :attr:`timeout`.
    Methods return as soon as the cloud has accepted what they ask for; they
    do not wait for the end, except those that make an image.

    :param connection: with the attributes that the driver declares for it.
    :param place: what tells endpoints of a connection apart: one argument
        for each name in the driver's ``endpoint_attributes``.
    :cvar abilities: a set of :class:`Ability`.  What is not in there is
        never asked for.
    :cvar image_formats: what may be uploaded or imported, the usual one
        first.
    :cvar resource_types: what types :meth:`listResources` knows.
    :cvar float list_interval: seconds between two lists of instances, at
        least, while nodes are waited for.
    :ivar float timeout: seconds that a call to the cloud may take.
    """

    abilities = frozenset()
    image_formats = ('raw',)
    resource_types = ()
    list_interval = 1.0

    def __init__(self, connection, **place):
        self.connection = connection
        self.place = place
        self.timeout = connection.api_timeout

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for ability in cls.abilities:
            for name in METHODS[ability]:
                if getattr(cls, name) is getattr(Adapter, name):
                    raise TypeError(f'{cls.__name__} declares the ability '
                                    f'"{ability}" and has no {name}')

    def start(self):
        """Connect, or whatever else has to be done once; in a launcher."""

    def stop(self):
        """Leave nothing open."""

    # Instances

    def createInstance(self, spec):
        """Ask the cloud for an instance.

        With :attr:`Ability.UNIQUE_NAMES`, it may be there already, of an
        earlier call: then that is the answer.  Without, a list of instances
        is looked at before.

        :param InstanceSpec spec:
        :return: an :class:`Instance`, most likely one that is building.
        :raises QuotaError, CapacityError, TemporaryError, PermanentError:
        """
        raise NotImplementedError

    def listInstances(self):
        """All instances, those of others too, which use up limits.

        One list serves all nodes that wait for the cloud.

        :return: yields :class:`Instance`; may leave out what is deleted.
        """
        raise NotImplementedError

    def deleteInstance(self, instance_id):
        """Ask the cloud to remove an instance and all that was made for
        it; nothing if there is no such instance, or it is being removed.
        """
        raise NotImplementedError

    # Quota

    def getLimits(self):
        """
        :return: resource -> the most of it that there may be, for all that
            :meth:`listInstances` tells of.  ``instances``, ``cores`` and
            ``ram`` (MiB) go by these names.  What is missing has no limit.
        """
        return {}

    def getNeeds(self, spec):
        """Asked seldom, and the answer is remembered by all launchers.

        :param InstanceSpec spec: without name, tags and zone.
        :return: resource -> how much of it such an instance takes.
        :raises PermanentError: there can be no such instance.  It is asked
            for nevertheless, so that who waits for it is told why.
        """
        return {'instances': 1}

    def listZones(self):
        """Asked seldom.

        :return: names of the zones where instances can be, if the provider
            does not say which.
        """
        return []

    # Images

    def uploadImage(self, spec, path):
        """Make an image of a file, and wait until it can be used.

        If it fails, it is tried again by another name; what is left of it
        is found by its tags.

        :param ImageSpec spec:
        :param str path: of the file, decompressed.
        :return: the image's id, a string.
        """
        raise NotImplementedError

    def canImport(self, spec, url):
        """Said without a call to the cloud, or with a short one: other
        uploads of the image wait for it.

        :return: whether the cloud can fetch an image from there, and its
            checksums are verified.  If not, it is downloaded and uploaded.
        """
        return True

    def importImage(self, spec, url):
        """Have the cloud fetch an image; otherwise as :meth:`uploadImage`.

        :raises GoneError: there is nothing at the URL any more.
        """
        raise NotImplementedError

    def copyImage(self, spec, image_id, source):
        """Have the cloud copy an image; otherwise as :meth:`uploadImage`.

        :param str image_id: of what is to be copied,
        :param Adapter source: and where that is.
        """
        raise NotImplementedError

    def listImages(self):
        """:return: yields a :class:`Resource` for each image that could be
            ours, also for one that is not complete."""
        return ()

    def deleteImage(self, image_id):
        """Remove an image; nothing if there is no such image."""
        raise NotImplementedError

    def downloadUrl(self, url, path):
        """Download what only the cloud's own library can get at.

        :param str path: of the file that is to be written.
        :return: whether this is such a URL; if so, the file is there.
        """
        return False

    def createSnapshot(self, instance_id, spec):
        """Make an image of an instance, and wait until it can be used.

        :param ImageSpec spec: the same as long as it is the same snapshot.
        :return: what an artifact has for its URL, a string.
        """
        raise NotImplementedError

    # Other

    def checkAccess(self):
        """Whether Zuul is let in, for ``zuul-nodes check``.  Needed if
        :meth:`listInstances` does more than to look.

        :return: what is wrong, a sentence, or an empty string.
        """
        list(self.listInstances())
        return ''

    def getChecks(self, spec):
        """What ``zuul-nodes check`` asks the cloud, beside its instances,
        zones and limits: whether there is what a configuration names.

        The cloud is called by the checks only, not by this; and nothing is
        changed by them.  It is called for each label and zone; what several
        of them name is asked once.

        :param InstanceSpec spec: without name, tags and zone; without
            ``image_id``, also if its image is one that Zuul makes.
        :return: yields a :class:`Check` for each thing that it names.
        """
        return ()

    def getConsoleLog(self, instance_id):
        """:return: what the instance has written to its console, or None.
        """
        return None

    def listResources(self):
        """:return: yields a :class:`Resource` for whatever could be ours,
            beside instances and images."""
        return ()

    def deleteResource(self, resource):
        """Remove something that nobody needs; nothing if it is gone.

        :param Resource resource: as it was listed.
        """
        raise NotImplementedError
