"""The errors of a test: a broken image, as opposed to anything else."""


class BrokenImage(Exception):
    """The image does not work."""


def describe(error):
    """
    :param error: any exception.
    :return: its message, in one line.
    """
    text = str(error) or type(error).__name__
    # An openstacksdk error with the response of the cloud.
    if status := getattr(error, 'status_code', None):
        text = f'the cloud answered {status}: {error.details}'
    return ' '.join(text.split())
