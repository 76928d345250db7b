# A real S3 server over folders, each of which is a bucket. What it holds ends with the container.
FROM scratch
COPY versitygw /versitygw
COPY --chown=65532:65532 data /data
USER 65532:65532
ENTRYPOINT ["/versitygw"]
