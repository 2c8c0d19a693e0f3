"""Convert the providers of clouds: sections, pools, and what pools offer."""

from zuul_nodes.cmd.migrate import nodeattributes, rules
from zuul_nodes.cmd.migrate.parts import CLOUD, ZUUL, Offer, Pool, Section
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.rules import Place
from zuul_nodes.cmd.migrate.site import iterateObjects
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin


class Clouds:
    """Collects the new objects.

    :param Report report:
    :ivar list sections, pools, offers:
    """

    def __init__(self, report):
        self._report = report
        self.sections = []
        self.pools = []
        self.offers = []

    def addProvider(self, provider, driver):
        """
        :param Provider provider: of Nodepool.
        :param Driver driver: the tables for it.
        """
        subject = f'provider {provider.name}'
        parts = driver.convert(driver.provider, provider.attributes, subject,
                               self._report, driver.pool)
        rules.addDefaults(parts, [
            each for each in driver.defaults
            if each.place is not Place.IMAGE_DEFAULTS])
        section = Section(
            provider.name, driver, provider.origin,
            parts[Place.SECTION], parts[Place.LABEL_DEFAULTS],
            parts[Place.IMAGE_DEFAULTS])
        self.sections.append(section)
        images = _Images(section, driver, self._report)
        images.addCloudImages(provider)
        images.addDiskimages(provider)
        for pool in provider.pools.values():
            self._addPool(provider, section, pool, images)
        images.leaveOutPaused()
        images.addDefaults()

    def _addPool(self, provider, section, pool, images):
        driver = section.driver
        name = (provider.name if len(provider.pools) == 1
                else f'{provider.name}-{pool["name"]}')
        full = Mapping()
        for each in driver.inherited:
            if each in provider.attributes:
                full.put(each, provider.attributes[each],
                         getOrigin(provider.attributes, each))
        full.take(pool)
        subject = f'pool {provider.name}/{pool["name"]}'
        parts = driver.convert(driver.pool, full, subject, self._report,
                               (*driver.label, *driver.provider))
        rules.addDefaults(parts, driver.pool_defaults)
        new = Pool(name, section, pool.origin, parts[Place.PROVIDER],
                   parts[Place.LIMITS], parts[Place.LABEL_DEFAULTS],
                   parts[Place.FLAVOR_DEFAULTS])
        nodeattributes.convert(pool, new, subject, self._report)
        self.pools.append(new)
        self._remarkDisabled(new, pool, subject)
        for label, origin in iterateObjects(
                pool.get('labels'), getOrigin(pool, 'labels'),
                f'"labels" of the {subject}'):
            if label['name'] in new.labels:
                self._report.add(
                    Kind.CHANGED, 'The label is twice in the pool; the last '
                    'one counts, as in Nodepool', origin,
                    f'label {label["name"]}')
                self.offers = [
                    offer for offer in self.offers if offer.pool is not new
                    or offer.label != label['name']]
            self._addLabel(new, pool, label, origin, images)

    def _remarkDisabled(self, new, pool, subject):
        number = next((new.limits[name] for name in (
            'instances', 'namespaces', 'pods') if name in new.limits), None)
        if number == 0:
            self._report.add(
                Kind.CHANGED, 'The pool is disabled in Nodepool; here it '
                'keeps its labels with a limit of 0, and requests that only '
                'it could serve wait', getOrigin(pool, 'max-servers'),
                subject)

    def _addLabel(self, new, pool, label, origin, images):
        driver = new.section.driver
        subject = f'label {label["name"]}'
        parts = driver.convert(driver.label, label, subject, self._report,
                               driver.pool)
        rules.addDefaults(parts, driver.label_defaults)
        if driver.complete:
            driver.complete(parts, label, pool)
        offer = Offer(label['name'], new, origin)
        if driver.has_images:
            offer.flavor = parts[Place.FLAVOR]
            offer.image = images.find(label, origin)
            if offer.image:
                for name, value in images.of_labels.get(
                        offer.image[1], {}).items():
                    parts[Place.LABEL].setdefault(name, value)
        parts[Place.LABEL].origin = origin
        new.labels[label['name']] = parts[Place.LABEL]
        self.offers.append(offer)


class _Images:
    """The images of one section.

    :ivar dict of_labels: name -> attributes for the labels of the image.
    """

    def __init__(self, section, driver, report):
        self._section = section
        self._driver = driver
        self._report = report
        self._paused = {}
        self._used = set()
        self.of_labels = {}

    def addCloudImages(self, provider):
        attributes = provider.attributes
        for image, origin in iterateObjects(
                attributes.get('cloud-images'),
                getOrigin(attributes, 'cloud-images'),
                f'"cloud-images" of the provider "{provider.name}"'):
            self._add(image, origin, CLOUD, self._driver.cloud_image)

    def addDiskimages(self, provider):
        for image, origin in provider.diskimages:
            self._add(image, origin, ZUUL, self._driver.diskimage)
            if image.get('pause'):
                self._paused[image['name']] = getOrigin(image, 'pause')

    def _add(self, image, origin, image_type, table):
        name = image['name']
        subject = f'image {name}'
        parts = self._driver.convert(table, image, subject, self._report)
        if image_type == CLOUD and self._driver.complete_image:
            self._driver.complete_image(parts, image)
        entry = parts[Place.IMAGE]
        entry.origin = origin
        if name in self._section.images:
            self._report.add(
                Kind.DECIDE, 'A cloud image and a disk image have the same '
                'name; the disk image is taken', origin, subject)
        self._section.images[name] = entry
        self._section.types[name] = image_type
        self.of_labels[name] = parts[Place.LABEL]

    def addDefaults(self):
        section = self._section
        has_uploads = ZUUL in section.types.values()
        for default in self._driver.defaults:
            if (default.place is Place.IMAGE_DEFAULTS
                    and default.name not in section.image_defaults
                    and (has_uploads if default.of_uploads
                         else any(default.name not in image for image
                                  in section.images.values()))):
                section.image_defaults.put(default.name, default.value)

    def find(self, label, origin):
        """:return: (type, name) of the image of a label, or None."""
        for key, image_type in (('diskimage', ZUUL), ('cloud-image', CLOUD)):
            name = label.get(key)
            if name is None:
                continue
            name = str(name)
            self._used.add(name)
            if name not in self._section.images:
                self._addMissing(name, image_type, label, origin)
            return self._section.types[name], name
        self._report.add(
            Kind.DECIDE, 'The label has neither "diskimage" nor '
            '"cloud-image"', origin, f'label {label["name"]}')
        return None

    def _addMissing(self, name, image_type, label, origin):
        key = 'diskimages' if image_type == ZUUL else 'cloud-images'
        self._report.add(
            Kind.DECIDE, f'The image is not in "{key}" of its provider; it '
            f'is added', origin, f'image {name}')
        self._add(Mapping({'name': name}), origin, image_type,
                  self._driver.diskimage if image_type == ZUUL
                  else self._driver.cloud_image)

    def leaveOutPaused(self):
        for name, origin in self._paused.items():
            if name in self._used:
                self._report.add(
                    Kind.CHANGED, 'Uploads of the image are paused in '
                    'Nodepool; here they go on, for labels use it. '
                    '"zuul-nodes images pause" pauses an image', origin,
                    f'image {name}')
            else:
                self._report.add(
                    Kind.LOST, 'Uploads of the image are paused in Nodepool, '
                    'and no label of the provider uses it: the section does '
                    'not have it', origin,
                    f'image {name}')
                del self._section.images[name]
                del self._section.types[name]
