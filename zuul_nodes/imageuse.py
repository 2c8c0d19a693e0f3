"""Whether nodes can be made of an upload: what launchers go by, and what
jobs and users are told."""


def isGood(upload):
    """
    :param ImageUpload upload:
    :return: whether it is in its cloud and validated.
    """
    return bool(upload.state == upload.State.READY and upload.validated
                and upload.external_id)


def isUsable(upload, image, provider):
    """
    :param ImageUpload upload:
    :param image: the provider's, of which the upload is.
    :return: whether the upload is where the provider makes its nodes.
    """
    # Zuul goes by the name alone, but a provider may have moved.
    return (upload.endpoint_name == provider.getEndpoint().canonical_name
            and upload.isPermittedForProvider(image, provider))
