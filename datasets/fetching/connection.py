"""Asking a server of https or http, and what its answer says."""

from __future__ import annotations

import http.client
import re
import ssl
from functools import cache
from typing import IO, Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from pianobench import __version__
from pianobench.datasets.fetching.wanted import FetchError

_BUSY = (408, 425, 429)  # answers after which trying again may help, besides 5xx


class Unreachable(FetchError):
    """No whole answer comes: no network, a proxy that refuses, a server that is down or too slow."""


class Refused(FetchError):
    """The server answers, and not with a file."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what)
        self.code = code


class Interrupted(Exception):
    """This try has failed, the next may not."""


class Changed(Interrupted):
    """So has it, and what has come so far is of no use."""


def answer(url: str, headers: dict[str, str], timeout: float) -> Any:
    """The server's answer to GET, a success.

    Raises
    ------
    FetchError
        It refuses, or cannot be reached: another try is of no use.
    Interrupted
        It may be.
    """
    asked = request.Request(
        url, headers={"User-Agent": f"pianobench/{__version__}", "Accept-Encoding": "identity", **headers}
    )
    try:
        return opener().open(asked, timeout=timeout)
    except HTTPError as error:
        error.close()
        if error.code == 416:
            raise Changed("the server's file is shorter than what has come of it") from error
        if error.code in _BUSY or error.code >= 500:
            raise Interrupted(f"the server answers {error.code} {error.reason}") from error
        if error.code == 407:
            raise Unreachable(f"{url}: the proxy wants an account (407)") from error
        if 300 <= error.code < 400:
            raise FetchError(f"{url}: the server redirects without end") from error
        raise Refused(f"{url}: the server answers {error.code} {error.reason}", error.code) from error
    except URLError as error:
        if isinstance(error.reason, ConnectionResetError):
            raise Interrupted(f"{error.reason}") from error
        raise Unreachable(f"{urlsplit(url).hostname} cannot be reached: {why(error.reason)}") from error
    except (OSError, http.client.HTTPException) as error:
        raise Interrupted(why(error)) from error


def why(error: Any) -> str:
    """In a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not hold ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


class Redirects(request.HTTPRedirectHandler):
    """A few, and never from https on to anything else."""

    max_redirections = 5

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> request.Request | None:
        if urlsplit(newurl).scheme != "https" and (req.type, urlsplit(newurl).scheme) != ("http", "http"):
            raise FetchError(f"{req.full_url}: the server redirects to {newurl}, which nobody protects: refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def opener() -> request.OpenerDirector:
    """Of https and http alone: no files, no ftp, whatever an address or a redirection says."""
    made = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(context=_context()),
        Redirects(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
    ):
        made.add_handler(handler)
    return made


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def mark(response: Any) -> str:
    """What tells one version of the server's file from another: a strong ETag, else the date; empty without."""
    tag = str(response.headers.get("ETag") or "")
    return str(response.headers.get("Last-Modified") or "") if not tag or tag.startswith("W/") else tag


def length(response: Any) -> int | None:
    """Bytes of its body, if it says so."""
    text = response.headers.get("Content-Length") or ""
    return int(text) if re.fullmatch(r"\d{1,18}", text) else None


def content_range(response: Any) -> tuple[int, int | None]:
    """First byte of a part, −1 where that is unclear, and bytes of the whole file, if it says so."""
    found = re.fullmatch(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)", response.headers.get("Content-Range") or "")
    if found is None:
        return -1, None
    return int(found[1]), None if found[2] == "*" else int(found[2])
