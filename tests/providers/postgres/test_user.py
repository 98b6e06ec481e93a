from __future__ import annotations

import os
import pwd
import shutil
from unittest.mock import patch

import pytest

from providers.postgres.user import ServerUser, server_user
from spec.errors import ConfigError


def test_root_starts_a_server_as_nobody() -> None:
    """As root the server's user is an unprivileged one with an entry in the list of users."""
    with patch.object(os, "geteuid", return_value=0):
        user = server_user()
    assert user == (pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid, True)


def test_anybody_else_starts_it_as_themselves() -> None:
    """Where we are not root the server is ours, and no change of user is tried."""
    with patch.object(os, "geteuid", return_value=1234), patch.object(os, "getegid", return_value=99):
        user = server_user()
    assert user == (1234, 99, False)
    assert not [word for word in user.command(["postgres"]) if "reuid" in word]


def test_the_command_ends_with_its_parent() -> None:
    """The program is started with the signal that it gets when its parent dies, and without a way to more rights."""
    command = ServerUser(65534, 65534, changed=True).command(["postgres", "-D", "x"])
    assert command[1:] == [
        *("--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--pdeathsig=QUIT"),
        *("--", "postgres", "-D", "x"),
    ]


def test_no_user_to_run_as_is_said() -> None:
    """Root on a machine without an unprivileged user gets one sentence, with the names that were tried."""
    with (
        patch.object(os, "geteuid", return_value=0),
        patch.object(pwd, "getpwnam", side_effect=KeyError),
        pytest.raises(ConfigError, match="nobody or postgres"),
    ):
        server_user()


def test_a_missing_setpriv_names_its_package() -> None:
    """Without ``setpriv`` the message names the package that has it."""
    with patch.object(shutil, "which", return_value=None), pytest.raises(ConfigError, match="util-linux"):
        ServerUser(1, 1, changed=False).command(["postgres"])
