# What `kind build node-image` made, without the programs of the published image that the module proxy does not have or that are
# dear to build: the pod network, kindnet, and the provisioner of volumes.
FROM localhost/berth-node-built
COPY default-cni.yaml default-storage.yaml /kind/manifests/
RUN mkdir -m 777 -p /var/volumes/1 /var/volumes/2
