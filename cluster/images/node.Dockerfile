# Stands in for Docker Hub's image of the same name: Debian, Node 24 and npm where that one has them.
FROM localhost/berth-debian:bookworm
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && mkdir -p /usr/local/etc \
 && echo 'cafile=/etc/ssl/certs/ca-certificates.crt' > /usr/local/etc/npmrc \
 && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node \
 && node --version && npm --version
CMD ["node"]
