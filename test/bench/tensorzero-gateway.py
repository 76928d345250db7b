"""TensorZero's gateway on a free port of loopback, which is written to a file: tensorzero-gateway.py CONFIG PORT_FILE"""

import os
import signal
import sys
from urllib.parse import urlparse

import tensorzero

config_file, port_file = sys.argv[1:]
gateway = tensorzero._start_http_gateway(
    config_file=config_file, clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
with open(port_file + ".part", "w") as file:
    file.write(str(urlparse(gateway.base_url).port))
os.replace(port_file + ".part", port_file)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
signal.pause()
