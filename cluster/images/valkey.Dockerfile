# Stands in for Docker Hub's image of the same name, with Debian's Valkey of the same major version.
FROM localhost/berth-debian:forky
RUN groupadd --gid 999 valkey && useradd --uid 999 --gid valkey --home-dir /data valkey \
 && apt-get -o Acquire::Check-Valid-Until=false update -q \
 && apt-get install -y -q --no-install-recommends valkey-server \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && mkdir -p /data && chown valkey:valkey /data \
 && printf '#!/bin/sh\nset -e\ncase "$1" in\n  -*|*.conf) set -- valkey-server "$@" ;;\nesac\n[ "$#" = 1 ] && [ "$1" = valkey-server ] && set -- valkey-server --protected-mode no\nexec "$@"\n' > /usr/local/bin/docker-entrypoint.sh \
 && chmod 755 /usr/local/bin/docker-entrypoint.sh \
 && ln -s /usr/bin/valkey-server /usr/bin/valkey-cli /usr/local/bin/ \
 && valkey-server --version
WORKDIR /data
EXPOSE 6379
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["valkey-server"]
