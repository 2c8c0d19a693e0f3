"""Whether a provider can use an upload: what launchers go by, and what jobs
are told."""


def isUsable(upload, image, provider):
    """
    :param ImageUpload upload:
    :param image: the provider's, of which the upload is.
    :return: whether the upload is where the provider makes its nodes.
    """
    # Zuul goes by the name alone, but a provider may have moved.
    return (upload.endpoint_name == provider.getEndpoint().canonical_name
            and upload.isPermittedForProvider(image, provider))
