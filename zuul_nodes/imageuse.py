"""Conditions for launching nodes from an upload, the same for all services."""


def isGood(upload):
    """
    :param ImageUpload upload:
    :return: whether the upload is in its cloud and validated.
    """
    return bool(upload.state == upload.State.READY and upload.validated
                and upload.external_id)


def isUsable(upload, image, provider):
    """
    :param ImageUpload upload:
    :param image: the provider's image that the upload belongs to.
    :return: whether the provider can launch nodes from the upload.
    """
    # Zuul compares only names, but a provider may have moved.
    return (upload.endpoint_name == provider.getEndpoint().canonical_name
            and upload.isPermittedForProvider(image, provider))
