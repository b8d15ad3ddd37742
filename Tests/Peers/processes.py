"""What trials with processes of their own have in common: ports that stay theirs, and the ends of logs."""

import socket

# Bound and never listening: other processes may listen there, and nobody is given the port by chance.
_reservations = []


def free_port():
    """A port of 127.0.0.1 that is kept for this trial's processes until the trial ends.

    A port that was only found free may be another process's a moment later, or while a gateway is down between two
    runs: many trials run side by side. A socket that is bound with SO_REUSEADDR and does not listen keeps the port
    from being chosen, and lets a process that sets SO_REUSEADDR too listen there (socket(7)).
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
