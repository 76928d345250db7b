# A real engine that needs no GPU, with a model of random weights.
FROM ghcr.io/ggml-org/llama.cpp:server
COPY tiny.gguf /models/tiny.gguf
USER 65532:65532
