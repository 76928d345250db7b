# Stands in for the engine's published image, with Debian's llama.cpp.
FROM localhost/berth-debian:forky
RUN apt-get -o Acquire::Check-Valid-Until=false update -q \
 && apt-get install -y -q --no-install-recommends llama.cpp-tools \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && mkdir -p /app && ln -s /usr/bin/llama-server /app/llama-server
ENTRYPOINT ["/app/llama-server"]
