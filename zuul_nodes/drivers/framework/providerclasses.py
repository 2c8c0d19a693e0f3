"""Which class the records of a driver's providers are read by.

A record in ZooKeeper has the name of its driver, and Zuul makes a provider
of the class that has this name in this process.  A driver of ours takes the
place of another one of its name; Zuul has no public way to that.
"""

from zuul.provider import BaseProvider


def setProviderClass(driver_name: str,
                     provider_class: type[BaseProvider]) -> None:
    """Have records read by a class from now on."""
    BaseProvider._subclasses[driver_name.encode()] = provider_class


def takeProviderClass(driver_name: str) -> type[BaseProvider] | None:
    """Have records read by none, so that another class can be given the
    name.

    :return: the class that they were read by, or None.
    """
    return BaseProvider._subclasses.pop(driver_name.encode(), None)


def yieldRecords(provider_class: type[BaseProvider]) -> None:
    """Have records of a class of Zuul's read by one of ours, which is about
    to be given its name.  Zuul's own class goes on working.

    :param provider_class: Zuul's.
    """
    takeProviderClass(provider_class._subclass_id.decode())
