"""All commands of the shell. The help text is made from the table, so a command is documented or it
does not exist.
"""

from __future__ import annotations

from acidsql.cli.commands import asking, importing, looks, recalling
from acidsql.cli.commands.command import NAME, Command, refused
from acidsql.cli.commands.help import help_command
from acidsql.rendering.formats import FORMAT_NAMES

ON_OFF = ("on", "off")

COMMANDS: tuple[Command, ...] = (
    Command(
        name="help",
        argument="[STATEMENT]",
        doc='show this, or how a statement is written; also: "help select;"',
        run=help_command,
        aliases=("?", "h"),
        values="statement",
    ),
    Command(
        name="tables",
        argument="[PATTERN]",
        doc="list the tables of the current database",
        run=asking.tables,
        aliases=("dt",),
        values="table",
    ),
    Command(
        name="schema",
        argument="TABLE",
        doc="show the CREATE TABLE statement of a table",
        run=asking.schema,
        values="table",
    ),
    Command(
        name="describe",
        argument="[TABLE]",
        doc="show the columns of a table, or the tables",
        run=asking.describe,
        aliases=("d",),
        values="table",
    ),
    Command(
        name="locks",
        argument="[TABLE]",
        doc="show who holds and awaits locks",
        run=asking.locks,
        values="table",
    ),
    Command(
        name="explain",
        argument="[STATEMENT]",
        doc="show the plan of a statement, or of the last one",
        run=asking.explain,
        values="sql",
    ),
    Command(
        name="last",
        argument="[FORMAT]",
        doc="show the rows of the last query again, without running it",
        run=asking.last,
        values=FORMAT_NAMES,
    ),
    Command(
        name="right",
        argument="",
        doc="show the rows of the last query again: as many whole columns as fit, then the next",
        run=looks.right,
    ),
    Command(
        name="left",
        argument="",
        doc="go back to the columns before",
        run=looks.left,
    ),
    Command(
        name="mode",
        argument="[FORMAT]",
        doc=f"output format: {', '.join(FORMAT_NAMES)}",
        run=looks.mode,
        aliases=("outputformat",),
        values=FORMAT_NAMES,
    ),
    Command(
        name="vertical",
        argument="[on|off|auto]",
        doc="one line a column: always, never, or where rows are too wide",
        run=looks.vertical,
        aliases=("x",),
        values=(*ON_OFF, looks.AUTO),
    ),
    Command(
        name="header",
        argument="[on|off]",
        doc="column names above csv and tsv rows",
        run=looks.header,
        aliases=("headers",),
        values=ON_OFF,
    ),
    Command(
        name="null",
        argument="[TEXT]",
        doc="what is shown for NULL; '' is nothing",
        run=looks.null,
    ),
    Command(
        name="width",
        argument="N|auto",
        doc="cut table cells to N characters, 0 cuts nothing; auto fits tables to the screen",
        run=looks.width,
        values=(looks.AUTO,),
    ),
    Command(
        name="pager",
        argument="[COMMAND|on|off]",
        doc="what shows rows that the screen does not hold; on: that of $PAGER",
        run=looks.pager,
        values=("less", *ON_OFF),
    ),
    Command(
        name="timer",
        argument="[on|off]",
        doc="say how long each statement took",
        run=looks.timer,
        aliases=("timing",),
        values=ON_OFF,
    ),
    Command(
        name="output",
        argument="[FILE]",
        doc="write rows to a file; without one to the screen again",
        run=importing.output,
        aliases=("o",),
        values="file",
    ),
    Command(
        name="once",
        argument="FILE",
        doc="write the rows of the next statement to a file",
        run=importing.once,
        values="file",
    ),
    Command(
        name="read",
        argument="FILE",
        doc="run a script; also: source FILE;",
        run=importing.read,
        aliases=("source", "run", "i"),
        values="file",
    ),
    Command(
        name="import",
        argument="FILE TABLE",
        doc="insert the rows of a CSV file, into a new table if there is none",
        run=importing.import_file,
        values="file",
    ),
    Command(
        name="edit",
        argument="[N]",
        doc="open the last statement, or input N of the history, in $EDITOR and run it",
        run=recalling.edit,
        aliases=("e",),
    ),
    Command(
        name="history",
        argument="[N]",
        doc="show the last N inputs with their numbers",
        run=recalling.history,
        aliases=("s",),
    ),
    Command(
        name="save",
        argument="NAME [STATEMENT]",
        doc="keep a statement, or the last one, as a named query",
        run=recalling.save,
        values="query",
    ),
    Command(
        name="query",
        argument="[NAME [VARIABLE=VALUE ..]]",
        doc="run a named query, or list them; ${VARIABLE} in it has the VALUE",
        run=recalling.query,
        values="query",
    ),
    Command(
        name="forget",
        argument="NAME",
        doc="remove a named query",
        run=recalling.forget,
        values="query",
    ),
    Command(
        name="keys",
        argument="[emacs|vi]",
        doc="whose keys the prompt has",
        run=looks.keys,
        values=("emacs", "vi"),
    ),
    Command(
        name="sh",
        argument="COMMAND",
        doc="run a shell command",
        run=importing.sh,
        aliases=("!",),
        values="file",
    ),
    Command(
        name="quit",
        argument="",
        doc="leave; also: quit, exit",
        run=importing.quit_shell,
        aliases=("exit", "q"),
    ),
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def find_command(name: str) -> Command | None:
    """The command of this name, without a prefix; None if there is none."""
    return _BY_NAME.get(name.lower())


def read_command(text: str) -> tuple[Command, str]:
    """The command and its argument. ProgrammingError for a command there is not."""
    parts = NAME.match(text.rstrip().rstrip(";").rstrip())
    command = find_command(parts[1]) if parts else None
    if parts is None or command is None:
        raise refused(text, 'unknown command "{}"', hint="Type .help for a list.")
    return command, (parts[2] or "").strip()
