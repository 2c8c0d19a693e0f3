"""The registry of the classes that read the records of providers.

A record in ZooKeeper has the name of its driver, and Zuul creates a provider
of the class that is registered in this process under that name.  Our drivers
replace other classes of the same name; Zuul has no public method for that.
"""

from zuul.provider import BaseProvider


def setProviderClass(driver_name: str,
                     provider_class: type[BaseProvider]) -> None:
    """Register the class that reads the records of a driver's providers."""
    BaseProvider._subclasses[driver_name.encode()] = provider_class


def takeProviderClass(driver_name: str) -> type[BaseProvider] | None:
    """Unregister the class of a driver, so that another class can be defined.

    :return: the class that was registered, or None.
    """
    return BaseProvider._subclasses.pop(driver_name.encode(), None)


def yieldRecords(provider_class: type[BaseProvider]) -> None:
    """Unregister a class of Zuul, before one of ours is defined in its place.

    Zuul's own class remains usable.

    :param provider_class: Zuul's.
    """
    takeProviderClass(provider_class._subclass_id.decode())
