"""The table of settings, the values of a session, and the name spaces of SET."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acidsql
from acidsql.errors import ProgrammingError
from acidsql.settings import SETTINGS, Setting, Settings, Variables, find_setting

PACKAGE = Path(acidsql.__file__).parent


LOCKS = PACKAGE / "planner" / "steps" / "locks.py"
"""What EXPLAIN LOCKS says."""


def constants(*left_out: Path) -> Iterator[str]:
    """Every string constant of the package outside the table itself and the files ``left_out``."""
    for path in PACKAGE.rglob("*.py"):
        if PACKAGE / "settings" not in path.parents and path not in left_out:
            yield from (
                n.value
                for n in ast.walk(ast.parse(path.read_text()))
                if isinstance(n, ast.Constant) and isinstance(n.value, str)
            )


def test_values_that_programs_give() -> None:
    """Numbers and bools are what SET has as words; anything else is refused by its name."""
    settings = Settings({"acidsql.retries": 3, "acidsql.ansi": True, "spark.x": 1.5})
    assert settings.number("acidsql.retries") == 3
    assert settings.flag("acidsql.ansi")
    assert settings.text("spark.x") == "1.5"
    with pytest.raises(ProgrammingError, match=r'setting "acidsql.ansi" is given list'):
        Settings({"acidsql.ansi": []})  # type: ignore[dict-item]


# ---- the table


def test_honoured_is_what_the_code_reads() -> None:
    """A setting is said to have an effect if and only if some room of the house asks for it."""
    asked = set(constants())
    assert [
        s.name
        for s in SETTINGS
        if s.honoured != any(name in asked for name in (s.name, *s.aliases))
    ] == []


def test_what_the_code_reads_is_in_the_table() -> None:
    """No room asks for a setting under a name that SET cannot set."""
    asked = re.compile(r"""settings\.(?:get|flag|number|text)\(\s*"([^"]+)"\s*\)""")
    found = {name for path in PACKAGE.rglob("*.py") for name in asked.findall(path.read_text())}
    assert found
    assert [name for name in sorted(found) if find_setting(name) is None] == []


def test_every_name_is_there_once() -> None:
    """Names and aliases are all different."""
    names = [name for s in SETTINGS for name in (s.name, *s.aliases)]
    assert len(names) == len(set(names))


def test_defaults_are_values() -> None:
    """Each default is an allowed value, written as SET prints it."""
    defaults = {s.name: s.default for s in SETTINGS if s.default is not None}
    assert {name: Settings({name: text}).text(name) for name, text in defaults.items()} == defaults


# ---- kinds


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("hive.txn.xlock.write", "FALSE", False),
        ("hive.txn.xlock.write", " true ", True),
        ("hive.lock.numretries", "+5", 5),
        ("hive.locks.max.partitions", "-1", -1),
        ("hive.compactor.delta.pct.threshold", ".25", 0.25),
        ("hive.compactor.delta.pct.threshold", "1e-1", 0.1),
        ("acidsql.write.driver.max.bytes", "3 MB", 3 << 20),
        ("acidsql.write.driver.max.bytes", "17", 17),
        ("acidsql.write.path", "SMALL", "small"),
        ("hive.txn.timeout", "7", 7.0),  # Hive counts this one in seconds
        ("hive.txn.timeout", "10L", 10.0),
        ("hive.txn.timeout", "250ms", 0.25),
        ("hive.txn.timeout", "2 minutes", 120.0),
        ("hive.txn.timeout", "3 Days", 259200.0),
        ("hive.compactor.worker.sleep.time", "7", 0.007),  # this one in milliseconds
        ("hive.compactor.aborted.txn.time.threshold", "7", 25200.0),  # this one in hours
        ("hive.compactor.aborted.txn.time.threshold", "-1h", -3600.0),
        ("metastore.compactor.history.retention.timeout", "1", 86400.0),  # and this one in days
        ("hive.compactor.wait.timeout", "300000", 300_000),
        ("hive.txn.manager", "x.y.DummyTxnManager", "x.y.DummyTxnManager"),
    ],
)
def test_values_have_their_kind(name: str, text: str, value: object) -> None:
    """Texts become values by Hive's rules: a time without a unit is in the unit of its name, words
    know no case.
    """
    settings = Settings({name: text})
    assert settings.get(name) == value
    assert type(settings.get(name)) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hive.txn.xlock.write", "1"),
        ("hive.txn.xlock.write", ""),
        ("hive.lock.numretries", "1_000"),
        ("hive.lock.numretries", "٣"),
        ("hive.lock.numretries", "2147483648"),
        ("hive.merge.size.per.task", "9223372036854775808"),
        ("hive.compactor.delta.pct.threshold", "nan"),
        ("hive.compactor.delta.pct.threshold", "1_0"),
        ("hive.txn.timeout", "0"),
        ("hive.txn.timeout", "-1"),
        ("hive.txn.timeout", "1.5s"),
        ("hive.txn.timeout", "1 week"),
        ("hive.txn.timeout", "'10s'"),
        ("metastore.txn.timeout", "soon"),
        ("hive.txn.retrysnapshot.max.count", "0"),
        ("hive.txn.retrysnapshot.max.count", "21"),
        ("acidsql.write.driver.max.bytes", "64x"),
        ("acidsql.write.driver.max.bytes", "-1"),
    ],
)
def test_wrong_values_are_refused(name: str, text: str) -> None:
    """The error names the setting as it was called and says what is allowed; the old
    value stays.
    """
    settings = Settings()
    before = settings.get(name)
    with pytest.raises(ProgrammingError) as caught:
        settings.set(name, text)
    assert name in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Allowed: ")
    assert settings.get(name) == before
    assert settings.changed() == ()


@given(
    st.sampled_from(SETTINGS),
    st.text(max_size=12)
    | st.integers().map(str)
    | st.sampled_from(["5 min", "1d", "true", "nonstrict", "8k"]),
)
def test_what_set_prints_can_be_set(setting: Setting, text: str) -> None:
    """Whatever value is taken, the text SET prints for it means the same value."""
    settings = Settings()
    try:
        settings.set(setting.name, text)
    except ProgrammingError:
        return
    assert Settings({setting.name: settings.text(setting.name)}).get(setting.name) == settings.get(
        setting.name
    )


# ---- the values of a session


def test_unset_settings_have_their_default() -> None:
    """Hive's names begin with Hive's defaults; what has no default has no value."""
    settings = Settings()
    assert settings.flag("hive.txn.xlock.write") is True
    assert settings.number("metastore.txn.timeout") == 300.0
    assert settings.text("hive.compactor.aborted.txn.time.threshold") == "12h"
    assert settings.get("hive.mapred.mode") is None
    assert settings.text("hive.mapred.mode") == ""


def test_both_names_of_a_setting_are_one() -> None:
    """What is set under one name is read, listed and reset under the other."""
    settings = Settings({"metastore.txn.timeout": "60s"})
    assert settings.number("hive.txn.timeout") == 60.0
    assert settings.changed() == ("hive.txn.timeout",)
    settings.set("hive.txn.timeout", "61s")
    assert settings.text("metastore.txn.timeout") == "61s"
    settings.reset("metastore.txn.timeout", to_default=True)
    assert settings.number("hive.txn.timeout") == 300.0


def test_unknown_names_are_remembered() -> None:
    """hive.* and foreign names are kept as text; an unknown acidsql.* name, in any case, is refused
    with the nearest one.
    """
    settings = Settings()
    settings.set("hive.no.such.name", " x ")
    settings.set("spark.sql.shuffle.partitions", "3")
    assert settings.get("hive.no.such.name") == " x "
    assert dict(settings.items())["spark.sql.shuffle.partitions"] == "3"
    for name in ("acidsql.ansii", "ACIDSQL.ANSI"):
        with pytest.raises(ProgrammingError) as caught:
            settings.set(name, "true")
        assert caught.value.hint == 'did you mean "acidsql.ansi"?'


def test_typed_reading_is_strict() -> None:
    """Asking a text for a number, or a name that is not there for a switch, is an error and not a
    guess.
    """
    settings = Settings({"some.name": "5"})
    for wrong in (
        lambda: settings.number("some.name"),
        lambda: settings.flag("some.name"),
        lambda: settings.flag("no.name"),
    ):
        with pytest.raises(ProgrammingError):
            wrong()


def test_reset_goes_back_to_the_beginning() -> None:
    """RESET restores what the session was opened with, RESET -d the default of the table."""
    settings = Settings({"acidsql.write.path": "small", "x.y": "1"})
    settings.set("acidsql.write.path", "big")
    settings.set("x.y", "2")
    settings.set("z", "3")
    settings.reset()
    assert [(n, settings.text(n)) for n in settings.changed()] == [
        ("acidsql.write.path", "small"),
        ("x.y", "1"),
    ]
    settings.reset("acidsql.write.path", to_default=True)
    assert settings.text("acidsql.write.path") == "auto"
    settings.reset("acidsql.write.path")
    assert settings.text("acidsql.write.path") == "small"
    settings.reset("never.set")


def test_listeners_hear_of_changes_and_may_refuse() -> None:
    """A listener hears the setting's own name after each change; if it raises, the old value is
    back.
    """
    settings, heard = Settings(), []

    def listen(name: str) -> None:
        heard.append((name, settings.get(name)))
        if settings.get(name) == "bad":
            raise ProgrammingError("refused")

    settings.on_change(listen)
    settings.set("metastore.txn.timeout", "60s")
    settings.set("spark.x", "good")
    with pytest.raises(ProgrammingError):
        settings.set("spark.x", "bad")
    assert settings.get("spark.x") == "good"
    settings.reset("spark.x")
    settings.reset("spark.x")
    assert heard == [
        ("hive.txn.timeout", 60.0),
        ("spark.x", "good"),
        ("spark.x", "bad"),
        ("spark.x", None),
    ]


# ---- name spaces


@pytest.fixture
def variables() -> Variables:
    return Variables(Settings({"acidsql.write.path": "small"}), {})


def test_name_spaces_are_apart(variables: Variables) -> None:
    """hivevar:, hiveconf:, system: and env: keep their names; a bare name is a setting, else a
    variable.
    """
    for key, value in [
        ("hivevar:x", "1"),
        ("hiveconf:x", "2"),
        ("system:x", "3"),
        ("hivevar:y", "4"),
        ("a:b", "5"),
    ]:
        variables.set(key, value)
    assert [variables.show(k) for k in ("hivevar:x", "hiveconf:x", "system:x")] == [
        "hivevar:x=1",
        "hiveconf:x=2",
        "system:x=3",
    ]
    assert [variables.show(k) for k in ("x", "y", "z", "a:b")] == [
        "x=2",
        "y=4",
        "z is undefined",
        "a:b=5",
    ]
    spaces = variables.spaces()
    assert [spaces[s]["x"] for s in ("hivevar", "hiveconf", "system")] == ["1", "2", "3"]
    assert spaces["hiveconf"]["metastore.txn.timeout"] == "300s"
    assert "no.such.name" not in spaces["hiveconf"]


def test_the_environment_is_read_only(
    variables: Variables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SET env:X shows a variable of the environment and never sets one."""
    monkeypatch.setenv("OF_ACIDSQL", "here")
    assert variables.show("env:OF_ACIDSQL") == "env:OF_ACIDSQL=here"
    with pytest.raises(ProgrammingError, match="can not be set"):
        variables.set("env:OF_ACIDSQL", "there")
    assert variables.show("env:OF_ACIDSQL") == "env:OF_ACIDSQL=here"


def test_listings_show_settings_only(variables: Variables, monkeypatch: pytest.MonkeyPatch) -> None:
    """SET lists what was set, SET -v all that has a value; neither prints the environment or a
    secret.
    """
    monkeypatch.setenv("OF_ACIDSQL", "here")
    for key, value in [
        ("b", "1"),
        ("hivevar:a", "2"),
        ("fs.s3a.secret.key", "s3cr3t"),
        ("hivevar:DB_PASSWORD", "s3cr3t"),
    ]:
        variables.set(key, value)
    assert variables.listing() == ["acidsql.write.path=small", "b=1", "hivevar:a=2"]
    everything = variables.listing(verbose=True)
    assert {"b=1", "hive.txn.timeout=300s", "hivevar:a=2"} < set(everything)
    assert everything == sorted(everything, key=lambda line: line.partition("=")[0])
    assert not any(
        word in line for line in everything for word in ("s3cr3t", "OF_ACIDSQL", "hive.mapred.mode")
    )
    assert variables.show("hivevar:DB_PASSWORD") == "hivevar:DB_PASSWORD is a hidden config"
    assert variables.spaces()["hivevar"]["DB_PASSWORD"] == "s3cr3t"


def test_reset_takes_all_or_nothing(variables: Variables) -> None:
    """Where one of several names cannot be reset, none is."""
    variables.set("hive.lock.numretries", "7")
    for keys, to_default in [
        (("hive.lock.numretries", "hivevar:x"), False),
        (("hive.lock.numretries", "nosuch"), True),
        ((), True),
    ]:
        with pytest.raises(ProgrammingError):
            variables.reset(keys, to_default=to_default)
        assert variables.show("hive.lock.numretries") == "hive.lock.numretries=7"
    variables.reset(("hiveconf:hive.lock.numretries", "nosuch"))
    assert variables.listing() == ["acidsql.write.path=small"]
