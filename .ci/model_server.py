"""A small model behind the OpenAI protocol, on loopback, for `real_model.py`; runs in a virtual environment that has xllamacpp.

python model_server.py MODEL.gguf      prints its base URL, then serves until its standard input ends
"""

from __future__ import annotations

import sys

import xllamacpp


def main(model: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model

    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.n_predict = 120
    params.cpuparams.n_threads = (
        1  # threads that wait for each other by spinning lose most on a busy machine
    )
    params.use_jinja = True
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    params.sampling.penalty_repeat = 1.1  # small models like to say the last thing again, for ever
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
