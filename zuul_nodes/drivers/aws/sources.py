"""Verify the sources of imports: objects in S3 and snapshots of volumes."""

import re

import botocore.exceptions

from zuul_nodes.drivers.aws import errors

# The ETag of an object that was uploaded in one part and is not encrypted, or
# is encrypted with S3's own keys.
MD5 = re.compile('[0-9a-f]{32}')
PLAIN = 'AES256'


def isVerified(endpoint, url, md5, sha256):
    """
    :param AwsEndpoint endpoint: that imports the object.
    :param str url: of an object.
    :return: false if the object is known to be missing or to differ from the
        artifact, or if checksums are required and cannot be verified.
    """
    if sha256 and not md5:
        return False
    is_required = endpoint.connection.driver.require_image_checksums
    try:
        found = look(endpoint, url)
    except botocore.exceptions.ClientError as error:
        # AWS may be able to read the object even if the launcher is not.
        endpoint.log.info('Unable to read %s: %s', url, error)
        return not (is_required or errors.isGone(error))
    if not md5:
        return True
    etag = found['ETag'].strip('"')
    if not MD5.fullmatch(etag) or found.get('SSECustomerAlgorithm') or (
            found.get('ServerSideEncryption', PLAIN) != PLAIN):
        endpoint.log.info('Unable to verify the md5 of %s: AWS reports none '
                          'for objects that are encrypted or were uploaded in '
                          'parts', url)
        return not is_required
    return etag == md5.lower()


def look(endpoint, url):
    """:return: the description of the resource at a URL."""
    with endpoint.non_mutating_rate_limiter:
        if not url.startswith('s3:'):
            return endpoint.ec2_client.describe_snapshots(
                SnapshotIds=[url.rpartition('/')[2]])
        bucket, _, key = url.partition('://')[2].partition('/')
        return endpoint.s3_client.head_object(
            Bucket=bucket, Key=key.lstrip('/'))
