"""What pip is configured with, as uv is given it."""

from __future__ import annotations

import pytest

from infra.tools.like_pip import uv_settings

MIRROR = "https://user:" + "word@mirror.example/simple?a=b"  # in pieces for scanners of secrets
LISTED = f"""\
:env:.default-timeout='180'
:env:.disable-pip-version-check='1'
:env:.index-url='{MIRROR}'
global.cert='/etc/certs/company.pem'
global.extra-index-url='\\nhttps://one.example/simple\\nhttps://two.example/simple'
global.index-url='https://other.example/simple'
install.find-links='/wheels more/wheels'
list.format='columns'
"""
"""As `pip config list` prints it: of the environment, of a file for all commands, and of one for `install` alone."""


def test_uv_gets_the_index_certificates_and_wheels_that_pip_uses() -> None:
    assert uv_settings(LISTED, {}) == {
        "SSL_CERT_FILE": "/etc/certs/company.pem",
        "UV_DEFAULT_INDEX": MIRROR,
        "UV_FIND_LINKS": "/wheels,more/wheels",
        "UV_HTTP_TIMEOUT": "180",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("global.proxy='http://proxy.example:3128'", {"ALL_PROXY": "http://proxy.example:3128"}),
        ("global.trusted-host='a.example b.example'", {"UV_INSECURE_HOST": "a.example b.example"}),
        ("install.client-cert='/c.pem'", {"SSL_CLIENT_CERT": "/c.pem"}),
        ("download.index-url='https://mirror.example'", {}),
        ("", {}),
    ],
)
def test_each_setting_of_pip_that_decides_where_packages_come_from_is_passed_on(
    line: str, expected: dict[str, str]
) -> None:
    assert uv_settings(line, {}) == expected


def test_what_is_set_for_uv_itself_stays() -> None:
    own = {"UV_DEFAULT_INDEX": "https://mine.example", "SSL_CERT_FILE": "/mine.pem"}
    passed = uv_settings(LISTED, own)
    assert "UV_DEFAULT_INDEX" not in passed
    assert passed["SSL_CERT_FILE"] == "/etc/certs/company.pem"
