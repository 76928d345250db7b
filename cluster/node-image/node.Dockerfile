# What `kind build node-image` made, without the pod network and the storage of the published image: the module proxy does not have
# the first, and the clusters here bring volumes of their own.
FROM localhost/berth-node-built
COPY nothing.yaml /kind/manifests/default-cni.yaml
COPY nothing.yaml /kind/manifests/default-storage.yaml
