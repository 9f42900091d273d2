"""The command line: registering, refusing, and being the only one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from svc_agent._environment import child_environment
from svc_agent._transport import check_url, is_loopback

from .kit.host import Host
from .kit.wait import until


def test_the_version_is_printed(host: Host) -> None:
    done = host.agent("--version")
    assert (done.returncode, re.fullmatch(r"svc-agent \d+\.\d+\.\d+\n", done.stdout) is not None) == (0, True)


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_on_systems_other_than_linux_it_is_refused_with_a_message(system: str) -> None:
    program = (
        f"import sys; sys.platform = {system!r}; sys.modules['fcntl'] = None\n"
        "from svc_agent.__main__ import main; raise SystemExit(main())"
    )
    source = Path(__file__).parents[1] / "src"
    done = subprocess.run(
        [sys.executable, "-c", program, "run"],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"svc-agent runs on Linux (on Windows in WSL), not on {system}: ")


@pytest.mark.parametrize("credential", ["session", "reporter"])
def test_registering_writes_four_keys_readable_by_the_user_alone(host: Host, credential: str) -> None:
    # The agent that the fixture registered counts as online for a while, unless it is revoked.
    host.service.ok("DELETE", f"/api/hosts/{host.token_file()['agent_id']}", host.person.session)
    os.umask(0)
    registered = host.register(getattr(host.person, credential))
    assert set(registered) == {"svc_url", "agent_id", "agent_token", "poll_interval_s"}
    assert registered["svc_url"] == host.service.url
    assert registered["agent_token"].startswith("ag_live_")
    assert registered["poll_interval_s"] == 10
    assert (host.folder / "token.json").stat().st_mode & 0o777 == 0o600
    assert host.folder.stat().st_mode & 0o777 == 0o700
    [shown] = host.service.ok("GET", "/api/hosts", host.person.session)["items"]
    assert (shown["hostname"], shown["online"]) == (host.name, True)


def test_a_token_that_the_service_does_not_know_is_said_in_one_line(host: Host) -> None:
    done = host.agent("register", "--svc-url", host.service.url, "--token", "em_live_nonsense")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "svc-agent register: the service does not accept the token; create one on the Tokens page\n"


@pytest.mark.parametrize("url", ["http://monitor.example.org", "http://10.0.0.1:8080", "http://localhost.example.org"])
def test_plain_http_to_another_host_is_refused_unless_overruled(host: Host, url: str) -> None:
    done = host.agent("register", "--svc-url", url, "--token", "em_live_x")
    assert done.returncode == 1
    assert "is not encrypted" in done.stderr
    assert "--insecure" in done.stderr
    assert check_url(url, insecure=True) == url


def test_a_token_file_that_names_plain_http_elsewhere_is_not_run_with(host: Host) -> None:
    path = host.folder / "token.json"
    path.write_text(path.read_text().replace("127.0.0.1", "monitor.example.org"))
    done = host.agent("run")
    assert (done.returncode, "is not encrypted" in done.stderr) == (1, True)


@pytest.mark.parametrize("url", ["", "monitor", "ftp://x", "https://user:secret@x", "https://x?a=b", "https://"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        check_url(url)


def test_this_host_is_known_by_all_its_names() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1", "a.localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "example.org", "127.0.0.1.example.org", "10.0.0.1"]))


def test_a_reporter_token_does_not_replace_an_agent_that_is_online(host: Host) -> None:
    done = host.agent(
        "register", "--svc-url", host.service.url, "--hostname", host.name, "--token", host.person.reporter
    )
    assert done.returncode == 1
    assert "is online" in done.stderr
    assert "session" in done.stderr


def test_the_help_lists_exactly_the_checks_of_allow_root(host: Host) -> None:
    text = " ".join(host.agent("run", "--help").stdout.split())
    assert "Only the directory in which a command starts is checked" in text
    assert "a command can still read and write elsewhere" in text


def test_one_agent_runs_with_one_folder(host: Host) -> None:
    host.run()
    until(lambda: (host.folder / "spool").exists(), "for the first to begin")
    second = host.agent("run")
    assert second.returncode == 1
    assert f"another svc-agent runs with {host.folder}; stop it" in second.stderr


def test_without_a_registration_it_prints_what_to_do(host: Host) -> None:
    (host.folder / "token.json").unlink()
    done = host.agent("run")
    assert (done.returncode, "run `svc-agent register` first" in done.stderr) == (1, True)


def test_a_copied_token_file_is_made_private_again(host: Host) -> None:
    (host.folder / "token.json").chmod(0o644)
    host.folder.chmod(0o755)
    host.run()
    until(lambda: (host.folder / "spool").exists(), "for it to begin")
    assert (host.folder / "token.json").stat().st_mode & 0o777 == 0o600
    assert host.folder.stat().st_mode & 0o777 == 0o700


def test_neither_a_path_of_the_service_nor_a_token_of_the_user_reaches_a_process() -> None:
    env = child_environment(
        {
            "PATH": "/bin",
            "SVC_TOKEN": "em_live_mine",
            "SVC_DATABASE_URL": "postgresql://x",
            "COPY": "token=em_live_0123456789",
            "OTHER_AGENT": "ag_live_0123456789",
        },
        variables={
            "PATH": "/evil",
            "LD_PRELOAD": "/evil.so",
            "SVC_TOKEN": "evil",
            "SVC_URL": "evil",
            "SVC_RERUN_OF": "b",
        },
        svc_url="https://monitor",
        reporter_token=None,
        agent_token="ag_live_secret",
    )
    assert env == {"PATH": "/bin", "SVC_RERUN_OF": "b", "SVC_URL": "https://monitor"}


def test_the_systemd_unit_leaves_processes_alone_and_does_not_repeat_after_77() -> None:
    unit = (Path(__file__).resolve().parents[1] / "systemd" / "svc-agent.service").read_text()
    for line in ("KillMode=process", "OOMPolicy=continue", "RestartPreventExitStatus=77"):
        assert f"\n{line}\n" in unit
