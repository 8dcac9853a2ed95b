"""Starts llama.cpp's own HTTP server from the xllamacpp wheel; run by the interpreter that has it: MODEL PORT."""

from __future__ import annotations

import sys
import time

import xllamacpp

if __name__ == "__main__":
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames = ["127.0.0.1"]
    params.port = int(sys.argv[2])
    params.n_ctx = 2048
    params.n_parallel = 4
    params.endpoint_metrics = True
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)
