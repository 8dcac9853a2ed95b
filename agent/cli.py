"""The command `sloscope-agent`: run, check, scrape, doctor; the product goes to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import click

from agent.config import Config
from agent.configfile import Loaded, load
from signals.errors import ConfigError, SloscopeError

F = TypeVar("F", bound=Callable[..., object])
USUAL_FILE = Path("/etc/sloscope/agent.yaml")
NO_FILE = "discovery: {processes: {enabled: true}}"
OUTPUTS = click.Choice(["table", "json", "csv"])


class Console:
    """Where a command writes and what it may read of its surroundings."""

    def __init__(self, stdout: TextIO, stderr: TextIO, env: Mapping[str, str]) -> None:
        self.stdout, self.stderr, self.env = stdout, stderr, env


def main(
    argv: Sequence[str] | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command; return its exit status (0 ok, 1 failure, 2 usage, 4 unreachable)."""
    import os

    console = Console(stdout or sys.stdout, stderr or sys.stderr, os.environ if env is None else env)
    try:
        found = cli.main(
            list(sys.argv[1:] if argv is None else argv), "sloscope-agent", standalone_mode=False, obj=console
        )
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show(console.stderr)
        return error.exit_code
    except click.Abort:
        return 1
    except SloscopeError as error:
        console.stderr.write(f"sloscope-agent: {error}\n")
        return error.exit_code
    except BrokenPipeError:
        return 1
    return found if isinstance(found, int) else 0


@click.group(context_settings={"auto_envvar_prefix": "SLOSCOPE", "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sloscope")
def cli() -> None:
    """Watch the engines, the GPUs and the host of one machine.

    \b
    sloscope-agent scrape http://127.0.0.1:8000      what an engine says, in canonical words
    sloscope-agent check --config agent.yaml         is the configuration right, do all targets answer
    sloscope-agent run --config agent.yaml           the daemon
    """


def config_option(command: F) -> F:
    """Add `--config`, whose variable is the same for every command."""
    return click.option(
        "--config",
        "path",
        type=click.Path(dir_okay=False, path_type=Path),
        default=USUAL_FILE,
        show_default=True,
        envvar="SLOSCOPE_CONFIG",
        show_envvar=True,
        help="Configuration file (YAML).",
    )(command)


@cli.command()
@config_option
@click.option("--print-config", is_flag=True, show_envvar=True, help="Print every setting and its source, and exit.")
@click.pass_obj
def run(console: Console, path: Path, print_config: bool) -> int:
    """Run the daemon until SIGTERM; SIGHUP reads the configuration again.

    Example: sloscope-agent run --config agent.yaml
    """
    loaded = read_config(path, console.env)
    if print_config:
        from agent.configshow import listing

        console.stdout.write(listing(loaded) + "\n")
        return 0
    from agent.service import run_service

    return run_service(loaded.config, lambda: read_config(path, console.env), path, console.env, console.stderr)


@cli.command()
@config_option
@click.option("-o", "--output", type=OUTPUTS, default="table", show_default=True, show_envvar=True)
@click.pass_obj
def check(console: Console, path: Path, output: str) -> int:
    """Check the configuration, ask every target and look at every request log once.

    Example: sloscope-agent check --config agent.yaml
    """
    from agent.inspect import check_logs, check_targets, write_rows

    config = read_config(path, console.env).config
    (rows, good), (logs, readable) = check_targets(config, console.env), check_logs(config)
    if not rows:
        console.stderr.write("the configuration is right; it names no target and none was found\n")
    write_rows([*rows, *logs], output, console.stdout)
    return 0 if good and readable else 1


@cli.command()
@click.argument("url")
@click.option("--engine", show_envvar=True, help="Engine kind; default: detected.")
@click.option("--model", show_envvar=True, help="Model of an engine whose page does not say.")
@click.option("--token-file", show_envvar=True, help="File with a bearer token.")
@click.option("--headers-file", show_envvar=True, help="File with further headers, one `Name: value` a line.")
@click.option("--timeout", default=10.0, show_default=True, show_envvar=True, help="Seconds.")
@click.option("--once", is_flag=True, hidden=True, help="The only way there is.")
@click.option("-o", "--output", type=OUTPUTS, default="table", show_default=True, show_envvar=True)
@click.pass_obj
def scrape(
    console: Console,
    url: str,
    engine: str | None,
    model: str | None,
    token_file: str | None,
    headers_file: str | None,
    timeout: float,
    once: bool,  # noqa: ARG001 # spelled by people who know other agents
    output: str,
) -> int:
    """Fetch one page and print it in canonical words.

    Example: sloscope-agent scrape http://127.0.0.1:8000 -o json
    """
    from agent.config import TargetConfig
    from agent.inspect import look, write_look

    url = url if "://" in url else f"http://{url}"
    config = TargetConfig(
        url,
        engine,
        model=model,
        timeout_seconds=timeout,
        token_file=token_file,
        headers_file=headers_file,
    )
    write_look(look(config), output, console.stdout)
    return 0


@cli.command()
@config_option
@click.option("-o", "--output", type=OUTPUTS, default="table", show_default=True, show_envvar=True)
@click.pass_obj
def doctor(console: Console, path: Path, output: str) -> int:
    """Say what is missing on this machine and how to mend it.

    Example: sloscope-agent doctor
    """
    from agent.doctor import examine
    from agent.inspect import write_rows

    rows = examine(read_config(path, console.env).config)
    write_rows([row.plain() for row in rows], output, console.stdout)
    return 0 if all(row.good for row in rows) else 1


def read_config(path: Path, env: Mapping[str, str]) -> Loaded[Config]:
    """Return the settings of a file. Raise ConfigError with every fault.

    Without the usual file the agent still runs: it looks for the engines of this machine itself.
    """
    from agent.configcheck import check as check_settings

    try:
        text = NO_FILE if path == USUAL_FILE and not path.exists() else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    loaded = load(Config, text, str(path), env)
    try:
        check_settings(loaded.config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message.splitlines()[0]}", error.faults) from error
    return loaded


def entry() -> None:
    """Run as a program."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
