// Command addons bundles etcd and CoreDNS in one binary: called as etcd it is etcd, else it is CoreDNS.
package main

import (
	"os"
	"path/filepath"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if filepath.Base(os.Args[0]) == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	// The list in dnsserver names every plugin of a full build; only those imported above are there.
	dnsserver.Directives = []string{"errors", "health", "ready", "cache", "template", "hosts", "kubernetes"}
	coremain.Run()
}
