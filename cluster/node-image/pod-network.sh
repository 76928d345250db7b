#!/bin/sh
# Once Kubernetes has given this node its range of addresses: a bridge for them. Later starts find it configured.
set -eu
config=/etc/cni/net.d/10-bridge.conflist
range=
until [ -e "$config" ] || [ -n "$range" ]; do
  sleep 0.5
  range=$(kubectl --kubeconfig /etc/kubernetes/kubelet.conf get node "$(hostname)" -o 'jsonpath={.spec.podCIDR}' || true)
done
[ ! -e "$config" ] || exit 0
cat > "$config.part" <<JSON
{
  "cniVersion": "1.0.0",
  "name": "bridge",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{ "subnet": "$range" }]],
        "routes": [{ "dst": "0.0.0.0/0" }]
      }
    },
    { "type": "portmap", "capabilities": { "portMappings": true } }
  ]
}
JSON
mv "$config.part" "$config"
