"""Whether a metastore has an authorizer, such as Ranger's: what it forbids, filters and masks does
not reach us, who open files. Hive: MetaStorePreEventListener, MetaStoreFilterHook,
HiveAuthorizerFactory.

A metastore tells its settings. An authorizer that HiveServer2 alone has does not show there, and a
metastore's database, or what was written of it, tells no settings.
"""

from __future__ import annotations

from collections.abc import Callable

from acidsql.errors import NotSupportedError
from acidsql.settings import Settings

REFUSE = "acidsql.refuse.ranger"
_LISTENERS = "hive.metastore.pre.event.listeners"
_FILTER = "hive.metastore.filter.hook"
_MANAGER = "hive.security.authorization.manager"
_ENABLED = "hive.security.authorization.enabled"
_OWN = {
    "DefaultMetaStoreFilterHookImpl",
    "SQLStdHiveAuthorizerFactory",
    "DefaultHiveAuthorizationProvider",
}
"""What Hive has there by itself."""


def find_authorizer(configured: Callable[[str], str]) -> str | None:
    """A setting of a metastore by which somebody may refuse, with its value; None if there is none.
    ``configured`` gives its settings, "" for what is not set.

    Whatever listens before events is taken for one, since it may refuse them.
    """
    for name in (_LISTENERS, _FILTER, _MANAGER):
        classes = [one.strip() for one in configured(name).split(",")]
        for one in classes:
            if one and one.rpartition(".")[2] not in _OWN:
                return f"{name} is {one}"
    if configured(_ENABLED).strip().lower() == "true":
        return f"{_ENABLED} is true"
    return None


def refused_error(what: str, authorizer: str) -> NotSupportedError:
    """The error of tables of a metastore that has one."""
    return NotSupportedError(
        f"the tables of {what} are refused: it has an authorizer, whose policies do not reach"
        " acidsql",
        detail=authorizer,
        hint=f"Files are opened as acidsql's own user, unfiltered and unmasked. {REFUSE} refuses.",
    )


def check_tells(settings: Settings, what: str) -> None:
    """Raises NotSupportedError for a source that cannot tell of an authorizer, where tables of a
    metastore that has one are to be refused.
    """
    if settings.flag(REFUSE):
        raise NotSupportedError(
            f"the tables {what} are refused: it does not tell whether the metastore has an"
            " authorizer, whose policies do not reach acidsql",
            hint=f"The metastore's service tells: USING 'thrift://host:9083'. {REFUSE} refuses.",
        )
