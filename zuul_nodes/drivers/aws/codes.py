"""The meaning of AWS's error codes, in one table.

The source is Amazon's list, of which the driver's tests contain each code:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
S3, EBS direct, Systems Manager and STS have codes of their own.  The reason
why an instance has terminated by itself has the same codes.
"""

import enum
import re


class Kind(enum.Enum):
    """The meaning of a failure.

    QUOTA: the account has reached a limit, and can continue after it deletes
    something.  CAPACITY: a zone, a subnet or a host has no capacity.
    TEMPORARY: AWS cannot answer now.  PERMANENT: AWS names a mistake in the
    request.  NOT_HERE: likewise, but another zone or subnet may work.
    NOT_FOUND: the resource does not exist.  NOT_YET: the resource does not
    exist, or is too new to be known everywhere.  EXISTS: the resource exists
    already.  LOGIN: AWS does not accept the credentials.  EXPIRED: likewise,
    but the library may fetch new ones.  ATTEMPT: another attempt may succeed,
    but this is unknown.
    """

    QUOTA = enum.auto()
    CAPACITY = enum.auto()
    TEMPORARY = enum.auto()
    PERMANENT = enum.auto()
    NOT_HERE = enum.auto()
    NOT_FOUND = enum.auto()
    NOT_YET = enum.auto()
    EXISTS = enum.auto()
    LOGIN = enum.auto()
    EXPIRED = enum.auto()
    ATTEMPT = enum.auto()


# Kind -> codes, separated by white space.
_CODES = {
    # Limits of resources that nodes and images release when they are deleted.
    Kind.QUOTA: '''
        AddressLimitExceeded HostLimitExceeded InstanceLimitExceeded
        MaxIOPSLimitExceeded MaxSpotFleetRequestCountExceeded
        MaxSpotInstanceCountExceeded MaxTemplateLimitExceeded
        NetworkInterfaceLimitExceeded PendingSnapshotLimitExceeded
        ResourceCountLimitExceeded ResourceLimitExceeded
        SnapshotLimitExceeded VcpuLimitExceeded VolumeLimitExceeded
        ''',
    Kind.CAPACITY: '''
        InsufficientCapacityOnHost InsufficientFreeAddressesInSubnet
        ReservationCapacityExceeded SpotInstanceTermination
        SpotMaxPriceTooLow UnfulfillableCapacity
        ''',
    Kind.LOGIN: '''
        AuthFailure InvalidAccessKeyId InvalidClientTokenId
        InvalidIdentityToken MissingAuthenticationToken
        MissingAuthenticationTokenException SignatureDoesNotMatch
        UnrecognizedClientException
        ''',
    # The clock of this machine may be wrong as well.
    Kind.EXPIRED: '''
        ExpiredToken ExpiredTokenException InvalidSecurity.RequestHasExpired
        RequestExpired RequestTimeTooSkewed TokenRefreshRequired
        ''',
    Kind.TEMPORARY: '''
        BandwidthLimitExceeded ConcurrentCreateImageNoRebootLimitExceeded
        ConcurrentLimitExceededException ConcurrentSnapshotLimitExceeded
        ConcurrentTagAccess CreditSpecificationUpdateInProgress
        EC2ThrottledException IDPCommunicationError InternalError
        InternalFailure InternalServerError InternalServerException
        InvalidCapacityReservationState.PendingActivation PendingVerification
        PriorRequestNotComplete RequestLimitExceeded RequestThrottled
        RequestThrottledException RequestTimeout RequestTimeoutException
        RetryableError ServerInternal ServiceException ServiceUnavailable
        SlowDown SnapshotCreationPerVolumeRateExceeded Throttled
        ThrottledException Throttling ThrottlingException
        TooManyRequestsException Unavailable UpdateLimitExceeded
        ''',
    # Some have names like limits of the account, but are limits of the one
    # resource in the request: deleting other resources does not help.
    Kind.PERMANENT: '''
        ActiveVpcPeeringConnectionPerVpcLimitExceeded AsnConflict
        AttachmentLimitExceeded CannotDelete ClientInvalidParameterValue
        ClientVpnAuthorizationRuleLimitExceeded
        ClientVpnCertificateRevocationListLimitExceeded
        ClientVpnRouteLimitExceeded ClientVpnTerminateConnectionsLimitExceeded
        CustomerKeyHasBeenRevoked DeclarativePoliciesAccessDeniedException
        DeclarativePoliciesNotEnabledException DeleteConversionTaskError
        DiskImageSizeTooLarge DryRunOperation DuplicateSubnetsInSameZone
        FilterLimitExceeded Gateway.NotAttached InaccessibleStorageLocation
        InaccessibleStorageLocationException InstanceEventStartTimeCannotChange
        LegacySecurityGroup LimitPriceExceeded LogDestinationPermissionIssue
        MaxTemplateVersionLimitExceeded NetworkAclEntryLimitExceeded
        NetworkAclLimitExceeded NoSuchVersion NonEBSInstance NotExportable
        OutstandingVpcPeeringConnectionLimitExceeded
        PrivateIpAddressLimitExceeded RegionDisabledException
        RequestResourceCountExceeded ResourceCountExceeded RouteLimitExceeded
        RouteTableLimitExceeded RulesPerSecurityGroupLimitExceeded
        SecurityGroupLimitExceeded SecurityGroupsPerInstanceLimitExceeded
        SecurityGroupsPerInterfaceLimitExceeded SubnetLimitExceeded
        TagLimitExceeded TagPolicyViolation TooManyParts
        TrafficMirrorSessionsPerInterfaceLimitExceeded
        TrafficMirrorSessionsPerTargetLimitExceeded
        TrafficMirrorSourcesPerTargetLimitExceeded VPCIdNotSpecified
        VPCResourceNotSpecified ValidationError ValidationException
        VolumeIOPSLimit VpcPeeringConnectionsPerVpcLimitExceeded
        VpnGatewayAttachmentLimitExceeded ZonesMismatched
        ''',
    Kind.NOT_HERE: '''
        InvalidAvailabilityZone InvalidSubnet InvalidSubnetID.NotFound
        InvalidSubnetId.NotFound InvalidZone.NotFound Unsupported
        UnsupportedHostConfiguration VolumeTypeNotAvailableInZone
        ''',
    Kind.NOT_FOUND: '''
        InvalidConversionTaskId InvalidPlacementGroup.Unknown
        InvalidReservedInstancesId InvalidReservedInstancesOfferingId
        InvalidScheduledInstance InvalidTargetArn.Unknown
        InvalidTrafficMirrorTargetNoFound InvalidVpnConnectionID
        ''',
    # S3 answers HEAD requests with a status but no code.
    Kind.NOT_YET: '''
        404 InvalidAMIID.NotFound InvalidAMIID.Unavailable
        InvalidHostID.NotFound InvalidHostId.NotFound
        InvalidInstanceID.NotFound InvalidLaunchTemplateId.NotFound
        InvalidLaunchTemplateId.VersionNotFound
        InvalidLaunchTemplateName.NotFoundException InvalidSnapshot.NotFound
        InvalidVolume.NotFound
        ''',
    Kind.EXISTS: '''
        BucketAlreadyOwnedByYou
        ClientVpnEndpointAssociationExists
        DefaultSubnetAlreadyExistsInAvailabilityZone
        HostAlreadyCoveredByReservation
        InvalidClientVpnDuplicateAssociationException
        InvalidClientVpnDuplicateAuthorizationRule
        InvalidClientVpnDuplicateRoute InvalidOption.Conflict
        Resource.AlreadyAssigned Resource.AlreadyAssociated
        ''',
    # The first code is for disks that cannot be decrypted.  Without "Client."
    # it would be a temporary error of AWS.  Rejected credentials and missing
    # permissions are no mistake of the label, and AWS needs a while to know
    # changes of them everywhere.
    Kind.ATTEMPT: '''
        Client.InternalError AccessDenied AccessDeniedException AccountDisabled
        AllAccessDisabled Blocked BundlingInProgress DependencyViolation
        ExistingVpcEndpointConnections FleetNotInModifiableState
        IdempotentInstanceTerminated IdempotentParameterMismatch
        IncompatibleHostRequirements IncompleteSignature IncorrectInstanceState
        IncorrectModificationState IncorrectSpotRequestState IncorrectState
        IncorrectStateException InterfaceInUseByTrafficMirrorSession
        InterfaceInUseByTrafficMirrorTarget InvalidClientToken InvalidHostState
        InvalidInstanceState InvalidState InvalidToken
        NlbInUseByTrafficMirrorTargetException NotSignedUp OptInRequired
        ReservedInstancesUnavailable ScheduledInstanceSlotNotOpen
        ScheduledInstanceSlotUnavailable UnauthorizedOperation
        UnavailableHostRequirements
        ''',
}
CODES = {code: kind for kind, codes in _CODES.items()
         for code in codes.split()}
# Patterns for other codes; the first that matches applies.
FAMILIES = tuple((re.compile(pattern), kind) for pattern, kind in (
    (r'^Insufficient\w*Capacity$', Kind.CAPACITY),
    (r'AlreadyExists(Exception)?$|\.Duplicate$', Kind.EXISTS),
    # No resource has a malformed id.
    (r'NotFound(Exception)?$|DoesNotExist$|^NoSuch|I[dD]\.?Malformed$',
     Kind.NOT_FOUND),
    (r'InUse(Exception)?$', Kind.ATTEMPT),
    (r'QuotaExceeded(Exception)?$', Kind.QUOTA),
    (r'NotSupported$|NotPermitted$|Mismatch$|Malformed$'
     r'|^(Invalid|Malformed|Missing|Unknown\w|Unsupported)'
     r'|Unsupported(\.\w+)?$', Kind.PERMANENT),
    # A limit of a resource that nodes do not use, or a new limit.  Deletions
    # may not help, so the number of attempts is limited.
    (r'Exceeded(Exception)?$', Kind.ATTEMPT),
))
_BLAME = re.compile(r'^(Client|Server)\.')


def shorten(code):
    """:return: the code without "Client." or "Server.", if the table does not
        distinguish them."""
    return code if code in CODES else _BLAME.sub('', code)


def getKind(code):
    """
    :param str code: of an answer of AWS, or of the termination of an instance.
    :return: a :class:`Kind`; None if the table has no row for it.
    """
    code = shorten(code)
    if code in CODES:
        return CODES[code]
    return next((kind for pattern, kind in FAMILIES
                 if pattern.search(code)), None)
