"""What can be wrong: the image, or something else."""


class BrokenImage(Exception):
    """The image does not do what it should."""


def describe(error):
    """
    :param error: any exception.
    :return: what it says, in one line.
    """
    text = str(error) or type(error).__name__
    # openstacksdk's, of an answer that is a refusal.
    if status := getattr(error, 'status_code', None):
        text = f'the cloud answers {status}: {error.details}'
    return ' '.join(text.split())
