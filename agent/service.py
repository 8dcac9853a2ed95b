"""Runs the daemon as a service: signals, systemd's notifications, reloads; never waits for what hangs."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from agent.config import Config
from agent.configfile import Loaded
from agent.daemon import Daemon, World
from agent.log import log, start_logging


def run_service(
    config: Config, load: Callable[[], Loaded[Config]], path: Path, env: Mapping[str, str], stderr: TextIO
) -> int:
    """Run until SIGTERM or SIGINT; return the exit status."""
    start_logging(config.agent.log_level, stderr)
    few_arenas()
    stop, again = threading.Event(), threading.Event()
    wake = threading.Event()

    def on_signal(number: int, _frame: object) -> None:
        (again if number == signal.SIGHUP else stop).set()
        wake.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    daemon = Daemon(config, World(env=env, reexec=Reexec(env), resident=resident_bytes), load)
    try:
        daemon.start()
    except OSError as error:
        log.error("cannot start: %s", error)
        return 1
    calm_collector()
    log.info(
        "agent %s (life %s) runs with %d targets", daemon.spool.agent, daemon.spool.epoch, len(daemon.roster.loops)
    )
    notify(env, "READY=1")
    watch = config.agent.watch_seconds
    stamp = _stamp(path)
    while not stop.is_set():
        wake.wait(min(watch, 10.0) if watch else 10.0)
        wake.clear()
        newer = _stamp(path)
        if again.is_set() or (watch and newer != stamp and newer is not None):
            again.clear()
            stamp = newer
            notify(env, "RELOADING=1")
            daemon.reload()
            notify(env, "READY=1")
        if daemon.alive():
            notify(env, "WATCHDOG=1")
    notify(env, "STOPPING=1")
    log.info("stopping")
    daemon.stop()
    stderr.flush()
    if threading.active_count() > 1:
        os._exit(0)  # a thread inside a hung driver call can never be joined
    return 0


class Reexec:
    """Starts this program anew in the same process: only that loads a replaced driver library or gives memory back.

    Everything that matters is on disk. It happens at most once a minute, told by a variable that survives.
    """

    VARIABLE = "SLOSCOPE_REEXEC_AT"
    SECONDS = 60.0

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def __call__(self) -> None:
        now = time.time()
        if now - float(self._env.get(self.VARIABLE, "0")) < self.SECONDS:
            return
        log.warning("starting anew")
        os.environ[self.VARIABLE] = str(now)
        os.execv(sys.executable, [sys.executable, "-m", "agent", *sys.argv[1:]])  # noqa: S606 # the same program


def notify(env: Mapping[str, str], message: str) -> None:
    """Tell systemd, if it asked to be told: https://www.freedesktop.org/software/systemd/man/sd_notify.html"""
    path = env.get("NOTIFY_SOCKET")
    if not path:
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(message.encode(), address)
    except OSError as error:
        log.debug("systemd was not told %s: %s", message, error)


def resident_bytes() -> int:
    """Return this process's resident memory; 0 where the kernel does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def calm_collector() -> None:
    """Let Python look for reference cycles rarely: the agent makes none on its path, and a look costs milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def few_arenas() -> None:
    """Ask glibc for two memory arenas: by default each thread grows one of its own."""
    import ctypes

    arena_max = -8  # M_ARENA_MAX of malloc.h
    try:
        ctypes.CDLL(None).mallopt(arena_max, 2)
    except (OSError, AttributeError):
        log.debug("no mallopt here")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size
