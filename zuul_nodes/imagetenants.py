"""Which tenants may build, validate and delete the images of a project.

Tenants that share an image share the project that defines it, but each has
its own pipelines and its own parents of jobs.  Options in ``[launcher]`` of
zuul.conf tell which of them the operator trusts with the images of a project.
Schedulers refuse the results of other tenants, and launchers send them no
events.
"""

import collections
from collections.abc import Iterable, Mapping
import configparser
import dataclasses

from zuul_nodes.exceptions import UserError

SECTION = 'launcher'
# Event that requests the work -> the option that lists the tenants.
OPTIONS = {
    'image-build': 'image_build_tenants',
    'image-validate': 'image_validate_tenants',
    'image-delete': 'image_delete_tenants'}
EXPECTED = ('TENANT, and PROJECT=TENANT for the images of one project, '
            'separated by commas')


@dataclasses.dataclass(frozen=True)
class ImageTenants:
    """The tenants that an option allows.

    :ivar general: those for the images of every project.
    :ivar by_project: name of a project -> those for its images besides.
    """
    general: frozenset[str] = frozenset()
    by_project: Mapping[str, frozenset[str]] = dataclasses.field(
        default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> 'ImageTenants':
        """
        :param text: the value of the option.
        :raises ValueError: it is invalid.
        """
        general = set()
        by_project = collections.defaultdict(set)
        for entry in filter(None, map(str.strip, text.split(','))):
            # The name of a tenant may contain any characters.
            project, equals, tenant = map(str.strip, entry.partition('='))
            if not equals:
                general.add(entry)
            elif project and tenant:
                by_project[project].add(tenant)
            else:
                raise ValueError
        return cls(frozenset(general), {
            name: frozenset(tenants) for name, tenants in by_project.items()})

    def allows(self, tenant_name: str, project_name: str) -> bool:
        """
        :param project_name: canonical name of the project of an image.
        :return: whether the option allows the work to a tenant.  Without an
            entry that concerns the project, it allows it to all tenants.
        """
        # As in the tenant configuration, the name may lack the host.
        allowed = self.general.union(*(
            self.by_project.get(name, ()) for name in (
                project_name, project_name.partition('/')[2])))
        return not allowed or tenant_name in allowed


# Without options.
UNLIMITED: Mapping[str, ImageTenants] = dict.fromkeys(OPTIONS, ImageTenants())


def read(config: configparser.ConfigParser) -> Mapping[str, ImageTenants]:
    """Read the options in a service that is not a launcher.

    :param config: zuul.conf
    :return: event -> the tenants that may work on it.
    :raises UserError: an option is invalid.
    """
    found = {}
    for event, option in OPTIONS.items():
        text = config.get(SECTION, option, fallback='')
        try:
            found[event] = ImageTenants.parse(text)
        except ValueError:
            raise UserError(
                f'zuul.conf: "{option}" in [{SECTION}] is "{text}"; it must '
                f'be {EXPECTED}') from None
    return found


def explainDenied(event: str, tenant_names: Iterable[str],
                  reader: str | None = None) -> str:
    """
    :param event: that requests the work.
    :param tenant_names: of tenants that the option does not allow.
    :param reader: the tenant that reads the text, which names no other one;
        None for operators.
    :return: a clause to append to a message; empty if there is nothing to
        say to the reader.
    """
    names = sorted(tenant_names)
    if reader is not None:
        names = [name for name in names if name == reader]
    if not names:
        return ''
    tenants = 'tenant' if len(names) == 1 else 'tenants'
    return (f'; "{OPTIONS[event]}" in [{SECTION}] of zuul.conf does not list '
            f'the {tenants} {", ".join(names)} for its project')


def explain(event: str, tenant_name: str, project_name: str) -> str:
    """
    :param event: that requests the work.
    :param project_name: canonical name of the project of an image.
    :return: why a tenant may not do the work, and what would allow it.  The
        text names no other tenant.
    """
    return (f'The tenant "{tenant_name}" may not {event.partition("-")[2]} '
            f'images of the project {project_name}, because '
            f'"{OPTIONS[event]}" in [{SECTION}] of zuul.conf does not list '
            f'it; an operator can add "{project_name}={tenant_name}" there')
