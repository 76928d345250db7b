# Stands in for Docker Hub's image of the same name, with Debian's Redis (7.0, which has functions).
FROM localhost/berth-debian:bookworm
RUN groupadd --gid 999 redis && useradd --uid 999 --gid redis --home-dir /data redis \
 && apt-get update -q && apt-get install -y -q --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && mkdir -p /data && chown redis:redis /data \
 && printf '#!/bin/sh\nset -e\ncase "$1" in\n  -*|*.conf) set -- redis-server "$@" ;;\nesac\n[ "$#" = 1 ] && [ "$1" = redis-server ] && set -- redis-server --protected-mode no\nexec "$@"\n' > /usr/local/bin/docker-entrypoint.sh \
 && chmod 755 /usr/local/bin/docker-entrypoint.sh \
 && ln -s /usr/bin/redis-server /usr/bin/redis-cli /usr/local/bin/ \
 && redis-server --version
WORKDIR /data
EXPOSE 6379
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["redis-server"]
