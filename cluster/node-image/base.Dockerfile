# kind's own base for nodes, whose first stage is `localhost/berth-node-os`, with programs of Go modules and Debian. Debian 12:
# the systemd of later ones does not start where control groups are of version 1.
FROM localhost/berth-node-os
RUN clean-install runc containernetworking-plugins
COPY containerd containerd-shim-runc-v2 ctr crictl /usr/local/bin/
COPY kubenode /usr/bin/
COPY pod-network.sh /usr/local/bin/
COPY pod-network.service /etc/systemd/system/
# Without CAP_SYS_RESOURCE runc may not lower a score, and would end with an error that names a pipe.
RUN mkdir -p /opt/cni/bin /etc/cni/net.d && cp /usr/lib/cni/* /opt/cni/bin/ \
 && systemctl enable pod-network.service \
 && sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml \
 && ctr oci spec \
  | jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' \
  > /etc/containerd/cri-base.json \
 && containerd --version && runc --version && crictl --version
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
