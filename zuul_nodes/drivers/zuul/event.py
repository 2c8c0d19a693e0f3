"""The event that triggers jobs for an image."""

from zuul.driver.zuul import zuulmodel


class ZuulTriggerEvent(zuulmodel.ZuulTriggerEvent):
    """Zuul's event, with the artifact to delete.

    Zuul's class and this one can read each other's records.

    :ivar str image_build_uuid: the id of the artifact, in an event
        ``image-delete``.
    """

    def __init__(self):
        super().__init__()
        self.image_build_uuid = None

    def toDict(self):
        return {**super().toDict(),
                'image_build_uuid': self.image_build_uuid}

    def updateFromDict(self, d):
        super().updateFromDict(d)
        self.image_build_uuid = d.get('image_build_uuid')
