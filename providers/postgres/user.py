"""Who PostgreSQL runs as: it refuses to run as root, and it has to die with the process that started it."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Sequence
from typing import Final, NamedTuple

from spec.errors import ConfigError

UNPRIVILEGED: Final = ("nobody", "postgres")
"""Users that root starts a server as, the first one that there is."""

DEATH_SIGNAL: Final = "QUIT"
"""What a server gets when its parent ends: an immediate shutdown, which its own children follow."""


class ServerUser(NamedTuple):
    """The user of a server's processes."""

    uid: int
    gid: int
    changed: bool
    """Whether that is another user than ours."""

    def command(self, program: Sequence[str]) -> list[str]:
        """``program`` as this user, to be ended by the kernel when the thread that starts it ends.

        Args:
            program: the program and its arguments.
        """
        as_user = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"] if self.changed else []
        return [_setpriv(), *as_user, "--no-new-privs", f"--pdeathsig={DEATH_SIGNAL}", "--", *program]


def server_user() -> ServerUser:
    """Ourselves, or an unprivileged user where we are root.

    Raises:
        ConfigError: we are root and no such user has an entry in the list of users.
    """
    if os.geteuid() != 0:
        return ServerUser(os.geteuid(), os.getegid(), changed=False)
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(entry.pw_uid, entry.pw_gid, changed=True)
    raise ConfigError(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(UNPRIVILEGED)} on this machine",
        hint="add one of them, or run as another user than root",
    )


def _setpriv() -> str:
    found = shutil.which("setpriv")
    if found is None:
        raise ConfigError(
            "PostgreSQL cannot be started here: the program 'setpriv' is missing",
            hint="install the package 'util-linux'",
        )
    return found
