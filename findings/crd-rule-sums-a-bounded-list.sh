#!/usr/bin/env bash
# Expected: a list of at most five objects, each with a number from 0 to 100, bounds the cost of a validation rule that adds the numbers up,
#   `self.map(share, share.weight).sum() <= 100`, as it bounds that of `self.all(share, share.weight <= 100)`.
# What happens: Kubernetes 1.29 knows no size of what `map` returns, takes the sum for unbounded and refuses the definition ("estimated rule
#   cost exceeds budget by factor of more than 100x"); 1.30 takes it. Members that are added one by one are taken by both.
# Versions: k8s.io/apiextensions-apiserver v0.29.15 and v0.30.14 (Go modules), the validation of the API server's own registry.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT

cat >"$folder/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ships.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"ships","singular":"ship","kind":"Ship","listKind":"ShipList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},
"spec":{"type":"object","properties":{"shares":{"type":"array","maxItems":5,"items":{"type":"object","required":["weight"],"properties":{
"weight":{"type":"integer","minimum":0,"maximum":100}}},"x-kubernetes-validations":[{"rule":"RULE"}]}}}}}}}]}}`

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	for _, rule := range []string{
		"self.map(share, share.weight).sum() <= 100",
		"(size(self) > 0 ? self[0].weight : 0) + (size(self) > 1 ? self[1].weight : 0) <= 100",
		"self.all(share, share.weight <= 100)",
	} {
		object, err := runtime.Decode(decoder, []byte(strings.Replace(definition, "RULE", rule, 1)))
		if err != nil {
			panic(err)
		}
		strategy := customresourcedefinition.NewStrategy(scheme)
		strategy.PrepareForCreate(context.Background(), object)
		verdict := "taken"
		if errs := strategy.Validate(context.Background(), object); len(errs) > 0 {
			verdict = "refused: " + errs[0].Detail
			if at := strings.Index(verdict, " (try"); at > 0 {
				verdict = verdict[:at]
			}
		}
		fmt.Printf("%s: %s\n", rule, verdict)
	}
}
GO

for version in v0.29.15 v0.30.14; do
  mkdir "$folder/$version"
  cp "$folder/main.go" "$folder/$version/"
  (
    cd "$folder/$version"
    go mod init example.com/rules >/dev/null 2>&1
    go get "k8s.io/apiextensions-apiserver@$version" "k8s.io/apimachinery@$version" >/dev/null 2>&1
    go mod tidy >/dev/null 2>&1
    echo "$version"
    go run .
  )
done | tee "$folder/seen"

diff "$folder/seen" - <<'SEEN'
v0.29.15
self.map(share, share.weight).sum() <= 100: refused: estimated rule cost exceeds budget by factor of more than 100x
(size(self) > 0 ? self[0].weight : 0) + (size(self) > 1 ? self[1].weight : 0) <= 100: taken
self.all(share, share.weight <= 100): taken
v0.30.14
self.map(share, share.weight).sum() <= 100: taken
(size(self) > 0 ? self[0].weight : 0) + (size(self) > 1 ? self[1].weight : 0) <= 100: taken
self.all(share, share.weight <= 100): taken
SEEN
