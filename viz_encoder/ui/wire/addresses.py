"""Addresses of this computer: what others in the room type to reach it."""

import ipaddress
import socket
from collections.abc import Iterator

import psutil

EVERYWHERE = "0.0.0.0"
NOWHERE = "192.0.2.1"  # reserved for documentation (RFC 5737); nothing is sent
ONLY_HERE = ("docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "utun", "tun")


def room_addresses(host: str) -> tuple[str, ...]:
    """IPv4 addresses at which others may reach a server on this host, the likeliest first.

    For "0.0.0.0" those of all networks that this computer is in, but not those of its virtual
    machines; empty where it is in none, or the host is this computer alone.
    """
    if host != EVERYWHERE:
        return () if _is_alone(host) else (host,)
    found = sorted(_own(), key=lambda address: address != _outward())
    return tuple(dict.fromkeys(found))


def room_lines(host: str, port: int) -> Iterator[str]:
    """Lines for a teacher: the address for others, a seat's link, and open ports."""
    found = [f"http://{address}:{port}" for address in room_addresses(host)]
    if not found:
        yield (
            "Other computers cannot reach this one: it has no address on a network. Connect it to "
            "the room's network, then start this again."
        )
        return
    yield f"For other computers in the room: {found[0]}"
    if len(found) > 1:
        yield f"If that does not open there, try: {', '.join(found[1:])}"
    yield f"A seat's own link, such as seat 17: {found[0]}/?learn=1&seed=17"
    yield (
        "Open now: everyone on this network can use the page, as with --public: the built-in "
        "models, but no files, folders or downloads of this computer. Traffic is not encrypted. "
        "Stop the server after the lesson."
    )


def _own() -> Iterator[str]:
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for name, addresses in psutil.net_if_addrs().items():
        if name not in up or name.startswith(ONLY_HERE):
            continue
        for one in addresses:
            if one.family == socket.AF_INET and not _is_alone(one.address):
                yield one.address


def _is_alone(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address == "localhost"
    return parsed.is_loopback or parsed.is_link_local


def _outward() -> str:
    """The address that this computer would send from; "" where it is in no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect((NOWHERE, 9))
        except OSError:
            return ""
        name: str = one.getsockname()[0]
        return name
