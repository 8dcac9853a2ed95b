"""The entry point of `sloscope`: gathers the commands and turns errors into messages and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from signals.errors import SloscopeError, nearest

#: Command → module:object under collector.cli; loaded when the command is used, so that help stays quick.
COMMANDS = {
    "demo": "demo:demo",
    "serve": "serving:serve",
    "dashboard": "serving:dashboard",
    "import": "storing:import_",
    "sql": "reading:sql",
    "status": "reading:status",
    "request": "reading:request",
    "slo": "objectives:slo",
    "explain": "reading:explain",
    "forecast": "reading:forecast",
    "scale": "scaling:scale",
    "replay": "scaling:replay",
    "compare": "reading:compare",
    "cost": "objectives:cost",
    "plan": "planning:plan",
    "export": "exporting:export",
    "backup": "storing:backup",
    "migrate": "storing:migrate",
    "token": "operating:token",
    "doctor": "operating:doctor",
}


class Commands(click.Group):
    """A group whose commands are loaded by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's own signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        place = COMMANDS.get(cmd_name)
        if place is None:
            ctx.fail(f"no such command {cmd_name!r}{nearest(cmd_name, COMMANDS)}")
        module, _, name = place.partition(":")
        found: click.Command = getattr(import_module(f"collector.cli.{module}"), name)
        return found


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sloscope", prog_name="sloscope")
def cli() -> None:
    """Latency objectives, causes, forecasts and scaling for self-hosted LLM inference.

    Example: sloscope demo
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 ok, 1 failure, 2 usage, 3 objective violated or action pending, 4 unreachable."""
    try:
        result = cli.main(args=None if argv is None else list(argv), prog_name="sloscope", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("stopped", err=True)
        return 1
    except SloscopeError as error:
        click.echo(f"sloscope: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        click.echo(f"sloscope: {error.filename or 'input or output'}: {error.strerror or error}", err=True)
        return 1
    return result if isinstance(result, int) else 0
