# Stands in for Docker Hub's image of the same name.
FROM scratch
COPY traefik /usr/local/bin/traefik
EXPOSE 80
ENTRYPOINT ["/usr/local/bin/traefik"]
