"""Addresses (URLs) as text: what they are called, and how they are shown without what is secret in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from gnomon.core.options import ADDRESS

HERE = ("file", "local")
"""Protocols of what lies on this machine."""
WEB = ("http", "https")
CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
"""Protocols in which a name before ``@`` is a container and no user."""
CUT = "***"
MARK = "/./"
"""Ends the folder that is fetched whole, in front of what is meant in it."""
LONGEST = 200
"""Bytes of a name."""

_WITHIN = re.compile(rf"({ADDRESS.pattern})((?:(?!::)[^\s'\"<>])*)")
_SECRET = re.compile(r"sig|token|secret|passw|credential|auth(?!or)|key|access|session|policy", re.IGNORECASE)
_PARAMETER = re.compile(r"(?<=[?&;#])[^?&;#]+")
_CIPHER = re.compile(r"(?=.*\d)[A-Za-z0-9+/=_%-]{32,}")


def is_address(text: str) -> bool:
    r"""Tell whether a text is an address and no path.

    >>> is_address("s3://bucket/a.csv"), is_address("data/a.csv"), is_address("C:\\a.csv")
    (True, False, False)
    """
    return ADDRESS.match(text) is not None


def protocol(url: str) -> str:
    """Return the protocol of an address, in small letters."""
    return url.partition("://")[0].lower()


def parted(text: str) -> tuple[str, str]:
    """Return the name and the address of ``NAME=ADDRESS`` or of a mere address; two empty texts for anything else.

    >>> parted("mine=s3://b/a.csv"), parted("https://h/a?b=c"), parted("mine=a.csv")
    (('mine', 's3://b/a.csv'), ('', 'https://h/a?b=c'), ('', ''))
    """
    if is_address(text):
        return "", text
    name, _, rest = text.partition("=")
    return (name, rest) if is_address(rest) else ("", "")


def halves(url: str) -> tuple[str, str]:
    """Return what is fetched, and the part of it that is meant.

    >>> halves("s3://b/day/./truth/a.json"), halves("s3://b/a.csv")
    (('s3://b/day/', 'truth/a.json'), ('s3://b/a.csv', ''))
    """
    folder, mark, inner = url.partition(MARK)
    return (f"{folder}/", inner) if mark and inner else (url, "")


def name_of(url: str) -> str:
    """Return the name that a copy gets: the last part of the path, with its suffixes.

    >>> name_of("https://host/a%20b.csv.gz?download=1"), name_of("s3://bucket/day3/"), name_of("https://host")
    ('a b.csv.gz', 'day3', 'host')
    """
    path = url.partition("://")[2].partition("::")[0]
    if protocol(url) in WEB:
        path = unquote(re.split(r"[?#]", path, maxsplit=1)[0])
    name = "".join(c if c.isprintable() else "_" for c in path.rstrip("/").rpartition("/")[2])
    kept = name.encode("utf-8", "replace")[-LONGEST:].decode("utf-8", "ignore")
    return kept if kept.strip(".") else "data"


def cleaned(text: str) -> str:
    """Return a text in which addresses carry no users, passwords, tokens or signatures.

    >>> cleaned("no answer from https://me:pw@host/a.csv?part=1&X-Amz-Signature=f00")
    'no answer from https://host/a.csv?part=1&X-Amz-Signature=***'
    >>> cleaned("abfs://data@account/a.csv"), cleaned("user@host: fine")
    ('abfs://data@account/a.csv', 'user@host: fine')
    """
    return _WITHIN.sub(_clean, text) if "://" in text else text


def _clean(found: re.Match[str]) -> str:
    scheme, rest = found[1], found[2]
    at = re.search(r"[/?#]|$", rest)
    cut = at.start() if at else len(rest)
    user, sign, host = rest[:cut].rpartition("@")
    harmless = protocol(scheme) in CONTAINERS and ":" not in user
    tail = _PARAMETER.sub(lambda part: _parameter(part[0]), rest[cut:])
    return f"{scheme}{user + sign if harmless else ''}{host}{tail}"


def _parameter(text: str) -> str:
    word = text.rstrip(".,:)")  # what follows it in a sentence
    name, equals, value = word.partition("=")
    if not equals:
        return text.replace(word, CUT) if _CIPHER.fullmatch(word) else text
    hidden = value and (_SECRET.search(name) or _CIPHER.fullmatch(value))
    return f"{name}={CUT}{text[len(word) :]}" if hidden else text


def texts(value: Any) -> Iterator[str]:
    """Give every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from texts(item)


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with every text in it changed; keys stay.

    >>> changed({"a": ["x", 1], "b": ("y",)}, str.upper)
    {'a': ['X', 1], 'b': ('Y',)}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: changed(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [changed(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def under(text: str, folder: str) -> bool:
    """Tell whether a text is a path, or a path below it."""
    return text == folder or text.startswith(f"{folder}/")
