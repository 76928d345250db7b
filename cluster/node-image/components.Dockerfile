# Everything that kubeadm starts in pods, under each of the names that it has there.
FROM localhost/berth-debian:bookworm
RUN apt-get update -q && apt-get install -y -q --no-install-recommends iptables \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY kubenode addons /usr/local/bin/
RUN cd /usr/local/bin \
 && for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do ln -s kubenode $name; done \
 && for name in etcd coredns; do ln -s addons $name; done
# Of the others, the pods name the command.
ENTRYPOINT ["/usr/local/bin/coredns"]
