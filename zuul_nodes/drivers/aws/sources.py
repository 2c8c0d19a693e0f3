"""What images are imported from: objects in S3, and snapshots of volumes."""

import re

import botocore.exceptions

from zuul_nodes.drivers.aws import errors

# What S3 has for the ETag of an object in one piece, which is not encrypted
# with other keys than those of S3 itself.
MD5 = re.compile('[0-9a-f]{32}')
PLAIN = 'AES256'


def isVerified(endpoint, url, md5, sha256):
    """
    :param AwsEndpoint endpoint: where it is asked for.
    :param str url: of an object.
    :return: whether it is not known to be gone, or another one than the
        artifact, and if checksums are required, known to be it.
    """
    if sha256 and not md5:
        return False
    is_required = endpoint.connection.driver.require_image_checksums
    try:
        found = look(endpoint, url)
    except botocore.exceptions.ClientError as error:
        # It need not be the launcher who may read it.
        endpoint.log.info('Unable to look at %s: %s', url, error)
        return not (is_required or errors.isGone(error))
    if not md5:
        return True
    etag = found['ETag'].strip('"')
    if not MD5.fullmatch(etag) or found.get('SSECustomerAlgorithm') or (
            found.get('ServerSideEncryption', PLAIN) != PLAIN):
        endpoint.log.info('The md5 of %s is not verified: AWS has none of '
                          'what is encrypted or was uploaded in parts', url)
        return not is_required
    return etag == md5.lower()


def look(endpoint, url):
    """:return: what AWS says of what is at a URL."""
    with endpoint.non_mutating_rate_limiter:
        if not url.startswith('s3:'):
            return endpoint.ec2_client.describe_snapshots(
                SnapshotIds=[url.rpartition('/')[2]])
        bucket, _, key = url.partition('://')[2].partition('/')
        return endpoint.s3_client.head_object(
            Bucket=bucket, Key=key.lstrip('/'))
