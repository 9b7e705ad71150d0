"""The hub's names, and its faults as plain sentences; nothing here asks the network."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as shown  # cut short: it may be of any length
from typing import Any

from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from viz_encoder.errors import CheckpointError

HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}/[\w.\-]{1,96}", re.ASCII)
# The oldest models have no organization: bert-base-uncased.
SHORT_ID = re.compile(r"[A-Za-z0-9](?:[\w.\-]{0,94}\w)?", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9][\w.\-]*(/[\w.\-]+)*", re.ASCII)
HTTP_FAULT: Any = HfHubHTTPError.__bases__[0]  # from the HTTP library of the Hub client
OF_THE_DISK = (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT)


class HubUnreachable(CheckpointError):
    """The hub did not answer; models in the local cache can still be opened."""


def is_hub_id(name: str) -> bool:
    """Whether it is written as the hub's names are: organization/name, or an old short one."""
    written = HUB_ID.fullmatch(name) or SHORT_ID.fullmatch(name)
    return written is not None and ".." not in name and "--" not in name


def require_revision(revision: str) -> None:
    """Refuse what is no branch, tag or commit, before it becomes part of a path or an address."""
    if revision and (not REVISION.fullmatch(revision) or ".." in revision or len(revision) > 200):
        raise CheckpointError(f"{shown(revision)} is not a branch, tag or commit on the hub.")


@contextmanager
def plainly_said(name: str, revision: str = "") -> Iterator[None]:
    """Say the hub's faults in our words.

    Raises:
        HubUnreachable: no network, no answer in time, too many requests, or a fault of the hub.
        CheckpointError: no such model or revision, or no access to it.
    """
    try:
        yield
    except CheckpointError:
        raise
    except Exception as fault:
        cause = fault.__cause__  # a download that finds nothing locally hides the hub's answer
        hidden = isinstance(fault, LocalEntryNotFoundError) and isinstance(cause, HfHubHTTPError)
        said = _said(name, revision, cause if hidden and cause is not None else fault)
        if said is None:
            raise
        raise said from fault


def _said(name: str, revision: str, fault: BaseException) -> CheckpointError | None:
    if isinstance(fault, GatedRepoError):
        return CheckpointError(
            f"{name} is given only to those who have agreed to its terms; agree to them on the "
            "hub, and log in here with `hf auth login`."
        )
    if isinstance(fault, RevisionNotFoundError):
        return CheckpointError(f"{name} has no revision {shown(revision)} on the hub.")
    if isinstance(fault, RepositoryNotFoundError):
        return CheckpointError(
            f"There is no folder {shown(name)} here, and the hub has no public model {name}; check "
            "its spelling: organization/name."
        )
    if isinstance(fault, HfHubHTTPError | HFValidationError):
        return _refusal(name, fault)
    if isinstance(fault, OSError) and fault.errno in OF_THE_DISK:
        return CheckpointError(
            f"{name} cannot be stored in the hub's local cache: {fault.strerror}. Set HF_HOME to "
            "a folder with room."
        )
    offline = isinstance(fault, OfflineModeIsEnabled)
    other = isinstance(fault, LocalEntryNotFoundError | EntryNotFoundError | HTTP_FAULT | OSError)
    if not offline and not other:
        return None
    return HubUnreachable(
        f"There is no folder {shown(name)} here, and {name} is not in the local cache and "
        f"{_why(fault)}, or give the path of a folder that holds the model."
    )


def _why(fault: BaseException) -> str:
    if isinstance(fault, OfflineModeIsEnabled):
        return "the hub is not asked, because HF_HUB_OFFLINE is set; unset it"
    if "Timeout" in type(fault).__name__:
        return "the hub did not answer in time; try again later"
    return "the hub cannot be reached from here; connect to the internet"


def _refusal(name: str, fault: Exception) -> CheckpointError:
    status = getattr(getattr(fault, "response", None), "status_code", 0)
    if status == 429:
        return HubUnreachable(
            f"The hub has had too many requests from here (429), and did not answer about {name}; "
            "try again in a few minutes, or log in with `hf auth login`."
        )
    if status >= 500:
        return HubUnreachable(
            f"The hub has a problem of its own ({status}), and did not answer about {name}; try "
            "again later."
        )
    said = " ".join(str(fault).split())[:200].rstrip(".")
    return CheckpointError(f"The hub did not give {name}: {said}.")
