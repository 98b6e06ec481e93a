"""Where each of Ray's errors belongs; a test enumerates ``ray.exceptions`` and fails when one has no place here.

Known by name, so that this module needs no Ray. "Unknown outcome" is the rule: after any of them nobody can say whether
the call ran, so whatever the peer was doing is owed again and nothing is inferred from the error.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Place(StrEnum):
    """What an error of Ray means for a run."""

    PEER_LOST = "peer_lost"
    """A process or node is gone or out of reach; what it was doing is unknown and owed again."""
    CLUSTER_LOST = "cluster_lost"
    """The cluster itself cannot go on; the run ends and can be resumed."""
    RESOURCES = "resources"
    """Memory, disk or the object store is exhausted; the run ends and can be resumed."""
    SET_UP = "set_up"
    """The cluster or an actor could not be set up as asked; the configuration or the cluster has to change."""
    OUR_FAULT = "our_fault"
    """Only a mistake in this project leads here; an internal error."""


PLACES: Final[dict[str, Place]] = {
    "ActorAlreadyExistsError": Place.OUR_FAULT,
    "ActorDiedError": Place.PEER_LOST,
    "ActorHandleNotFoundError": Place.OUR_FAULT,
    "ActorPlacementGroupRemoved": Place.PEER_LOST,
    "ActorUnavailableError": Place.PEER_LOST,
    "ActorUnschedulableError": Place.PEER_LOST,
    "AsyncioActorExit": Place.PEER_LOST,
    "AuthenticationError": Place.SET_UP,
    "CrossLanguageError": Place.OUR_FAULT,
    "GetTimeoutError": Place.PEER_LOST,
    "LocalRayletDiedError": Place.CLUSTER_LOST,
    "NodeDiedError": Place.PEER_LOST,
    "ObjectFetchTimedOutError": Place.PEER_LOST,
    "ObjectFreedError": Place.PEER_LOST,
    "ObjectLostError": Place.PEER_LOST,
    "ObjectReconstructionFailedError": Place.PEER_LOST,
    "ObjectRefStreamEndOfStreamError": Place.PEER_LOST,
    "ObjectStoreFullError": Place.RESOURCES,
    "OufOfBandObjectRefSerializationException": Place.OUR_FAULT,
    "OutOfDiskError": Place.RESOURCES,
    "OutOfMemoryError": Place.RESOURCES,
    "OwnerDiedError": Place.PEER_LOST,
    "PendingCallsLimitExceeded": Place.OUR_FAULT,
    "PlasmaObjectNotAvailable": Place.PEER_LOST,
    "RayActorError": Place.PEER_LOST,
    "RayCgraphCapacityExceeded": Place.OUR_FAULT,
    "RayChannelError": Place.OUR_FAULT,
    "RayChannelTimeoutError": Place.OUR_FAULT,
    "RayDirectTransportError": Place.OUR_FAULT,
    "RayError": Place.PEER_LOST,
    "RaySystemError": Place.CLUSTER_LOST,
    "RayTaskError": Place.PEER_LOST,
    "ReferenceCountingAssertionError": Place.PEER_LOST,
    "RpcError": Place.CLUSTER_LOST,
    "RuntimeEnvSetupError": Place.SET_UP,
    "StreamingGeneratorReplayInconsistentError": Place.PEER_LOST,
    "TaskCancelledError": Place.PEER_LOST,
    "TaskPlacementGroupRemoved": Place.PEER_LOST,
    "TaskUnschedulableError": Place.SET_UP,
    "UnserializableException": Place.PEER_LOST,
    "UserCodeException": Place.PEER_LOST,
    "WorkerCrashedError": Place.PEER_LOST,
}


def place_of(error: BaseException) -> Place | None:
    """Where an error belongs, by the nearest of its classes; None where it is none of Ray's."""
    for kind in type(error).__mro__:
        if kind.__module__.partition(".")[0] == "ray" and kind.__name__ in PLACES:
            return PLACES[kind.__name__]
    return None


def creation_problem(error: BaseException) -> str | None:
    """Why an actor could not be made in its process, in one bounded line; None where its making did not fail."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines and "creation task" in lines[0] else None


def first_line(error: BaseException) -> str:
    """An error of Ray in one bounded line; the rest of its text is tracebacks of processes far away."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
