"""What the error codes of AWS mean: one table.

It is made from Amazon's list, of which the driver's tests have each code:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
S3, EBS direct, Systems Manager and STS have codes of their own.  Instances
that end by themselves say why with the same codes.
"""

import enum
import re


class Kind(enum.Enum):
    """What a failure means.

    QUOTA: the account has as much as it may have; it may have more when some
    of it has gone.  CAPACITY: a zone, a subnet or a host has no room.
    TEMPORARY: AWS cannot answer now.  PERMANENT: AWS will answer the same
    again.  NOT_HERE: so it is, but another zone or subnet may do.
    NOT_FOUND: there is no such thing.  NOT_YET: there is no such thing, and
    it may be too new to be known everywhere.  EXISTS: there is such a thing
    already.  ATTEMPT: another attempt may succeed, and nothing says so.
    """

    QUOTA = enum.auto()
    CAPACITY = enum.auto()
    TEMPORARY = enum.auto()
    PERMANENT = enum.auto()
    NOT_HERE = enum.auto()
    NOT_FOUND = enum.auto()
    NOT_YET = enum.auto()
    EXISTS = enum.auto()
    ATTEMPT = enum.auto()


# Of each kind the codes, with blanks between them.
_CODES = {
    # What nodes and images use up, and give back when they go.
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
    # Of those whose credentials have expired, the library fetches new ones.
    Kind.TEMPORARY: '''
        BandwidthLimitExceeded ConcurrentCreateImageNoRebootLimitExceeded
        ConcurrentLimitExceededException ConcurrentSnapshotLimitExceeded
        ConcurrentTagAccess CreditSpecificationUpdateInProgress
        EC2ThrottledException ExpiredToken ExpiredTokenException
        IDPCommunicationError InternalError InternalFailure
        InternalServerError InternalServerException
        InvalidCapacityReservationState.PendingActivation
        InvalidSecurity.RequestHasExpired PendingVerification
        PriorRequestNotComplete RequestExpired RequestLimitExceeded
        RequestThrottled RequestThrottledException RequestTimeTooSkewed
        RequestTimeout RequestTimeoutException RetryableError ServerInternal
        ServiceException ServiceUnavailable SlowDown
        SnapshotCreationPerVolumeRateExceeded Throttled ThrottledException
        Throttling ThrottlingException TokenRefreshRequired
        TooManyRequestsException Unavailable UpdateLimitExceeded
        ''',
    # Some are called as limits of the account are, and are limits of the one
    # thing that was asked for: no other that goes makes room for it.
    Kind.PERMANENT: '''
        AccessDenied AccessDeniedException AccountDisabled
        ActiveVpcPeeringConnectionPerVpcLimitExceeded AllAccessDisabled
        AsnConflict AttachmentLimitExceeded AuthFailure Blocked
        CannotDelete ClientInvalidParameterValue
        ClientVpnAuthorizationRuleLimitExceeded
        ClientVpnCertificateRevocationListLimitExceeded
        ClientVpnRouteLimitExceeded ClientVpnTerminateConnectionsLimitExceeded
        CustomerKeyHasBeenRevoked DeclarativePoliciesAccessDeniedException
        DeclarativePoliciesNotEnabledException DeleteConversionTaskError
        DiskImageSizeTooLarge DryRunOperation DuplicateSubnetsInSameZone
        FilterLimitExceeded Gateway.NotAttached InaccessibleStorageLocation
        InaccessibleStorageLocationException IncompleteSignature
        InstanceEventStartTimeCannotChange LegacySecurityGroup
        LimitPriceExceeded LogDestinationPermissionIssue
        MaxTemplateVersionLimitExceeded NetworkAclEntryLimitExceeded
        NetworkAclLimitExceeded NoSuchVersion NonEBSInstance NotExportable
        NotSignedUp OptInRequired OutstandingVpcPeeringConnectionLimitExceeded
        PrivateIpAddressLimitExceeded RegionDisabledException
        RequestResourceCountExceeded ResourceCountExceeded RouteLimitExceeded
        RouteTableLimitExceeded RulesPerSecurityGroupLimitExceeded
        SecurityGroupLimitExceeded SecurityGroupsPerInstanceLimitExceeded
        SecurityGroupsPerInterfaceLimitExceeded SignatureDoesNotMatch
        SubnetLimitExceeded TagLimitExceeded TagPolicyViolation
        TooManyParts TrafficMirrorSessionsPerInterfaceLimitExceeded
        TrafficMirrorSessionsPerTargetLimitExceeded
        TrafficMirrorSourcesPerTargetLimitExceeded UnauthorizedOperation
        UnrecognizedClientException VPCIdNotSpecified VPCResourceNotSpecified
        ValidationError ValidationException VolumeIOPSLimit
        VpcPeeringConnectionsPerVpcLimitExceeded
        VpnGatewayAttachmentLimitExceeded ZonesMismatched
        ''',
    Kind.NOT_HERE: '''
        InvalidAvailabilityZone InvalidSubnet InvalidSubnetID.NotFound
        InvalidSubnetId.NotFound InvalidZone.NotFound Unsupported
        UnsupportedHostConfiguration VolumeTypeNotAvailableInZone
        ''',
    # What S3 is only asked to describe, it refuses with the status alone.
    Kind.NOT_FOUND: '''
        404 InvalidConversionTaskId InvalidPlacementGroup.Unknown
        InvalidReservedInstancesId InvalidReservedInstancesOfferingId
        InvalidScheduledInstance InvalidTargetArn.Unknown
        InvalidTrafficMirrorTargetNoFound InvalidVpnConnectionID
        ''',
    Kind.NOT_YET: '''
        InvalidAMIID.NotFound InvalidAMIID.Unavailable InvalidHostID.NotFound
        InvalidHostId.NotFound InvalidInstanceID.NotFound
        InvalidLaunchTemplateId.NotFound
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
    # The first is that of disks that cannot be decrypted: called as those of
    # AWS's own troubles, but for who is to blame.
    Kind.ATTEMPT: '''
        Client.InternalError BundlingInProgress DependencyViolation
        ExistingVpcEndpointConnections FleetNotInModifiableState
        IdempotentInstanceTerminated IdempotentParameterMismatch
        IncompatibleHostRequirements IncorrectInstanceState
        IncorrectModificationState IncorrectSpotRequestState IncorrectState
        IncorrectStateException InterfaceInUseByTrafficMirrorSession
        InterfaceInUseByTrafficMirrorTarget InvalidHostState
        InvalidInstanceState InvalidState
        NlbInUseByTrafficMirrorTargetException ReservedInstancesUnavailable
        ScheduledInstanceSlotNotOpen ScheduledInstanceSlotUnavailable
        UnavailableHostRequirements
        ''',
}
CODES = {code: kind for kind, codes in _CODES.items()
         for code in codes.split()}
# Of codes that are not there, by how they are called; the first counts.
FAMILIES = tuple((re.compile(pattern), kind) for pattern, kind in (
    (r'^Insufficient\w*Capacity$', Kind.CAPACITY),
    (r'AlreadyExists(Exception)?$|\.Duplicate$', Kind.EXISTS),
    # Nothing has an id that is none.
    (r'NotFound(Exception)?$|DoesNotExist$|^NoSuch|I[dD]\.?Malformed$',
     Kind.NOT_FOUND),
    (r'InUse(Exception)?$', Kind.ATTEMPT),
    (r'QuotaExceeded(Exception)?$', Kind.QUOTA),
    (r'NotSupported$|NotPermitted$|Mismatch$|Malformed$'
     r'|^(Invalid|Malformed|Missing|Unknown\w|Unsupported)'
     r'|Unsupported(\.\w+)?$', Kind.PERMANENT),
    # A limit of what nodes do not have, or one that is new.  Whether there
    # will be room is unknown, so there is an end to the attempts.
    (r'Exceeded(Exception)?$', Kind.ATTEMPT),
))
_BLAME = re.compile(r'^(Client|Server)\.')


def shorten(code):
    """:return: the code without who is to blame, unless that matters."""
    return code if code in CODES else _BLAME.sub('', code)


def getKind(code):
    """
    :param str code: of an answer of AWS, or of why an instance has ended.
    :return: a :class:`Kind`; None if the table does not say.
    """
    code = shorten(code)
    if code in CODES:
        return CODES[code]
    return next((kind for pattern, kind in FAMILIES
                 if pattern.search(code)), None)
