"""Common parts of trials that start processes: reserved ports, and the ends of logs."""

import socket

# Bound and never listening: the trial's processes can listen there, and the system assigns the port to no other.
_reservations = []


def free_port():
    """A port of 127.0.0.1 that is reserved for this trial's processes until the trial ends.

    Many trials run in parallel, so another process could take a free port a moment later, or while a gateway is down
    between two runs. A socket that is bound with SO_REUSEADDR and does not listen prevents that, but lets a process
    that also sets SO_REUSEADDR listen on the port (socket(7)).
    """
    reservation = socket.socket()
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reservation.bind(("127.0.0.1", 0))
    _reservations.append(reservation)
    return reservation.getsockname()[1]


def tail(path, lines=30):
    """The end of a log, for a message that outlives the folder of the trial."""
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            return "".join(f"\n  {line.rstrip()[:400]}" for line in log.readlines()[-lines:]) or "\n  (an empty log)"
    except OSError as error:
        return f"\n  ({error})"
