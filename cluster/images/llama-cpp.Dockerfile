# A real engine that needs no GPU: Debian's llama.cpp, with a model of random weights.
FROM localhost/berth-debian:forky
RUN apt-get -o Acquire::Check-Valid-Until=false update -q \
 && apt-get install -y -q --no-install-recommends llama.cpp-tools \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && mkdir -p /app && ln -s /usr/bin/llama-server /app/llama-server
COPY tiny.gguf /models/tiny.gguf
USER 65532:65532
ENTRYPOINT ["/app/llama-server"]
