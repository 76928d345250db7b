#!/usr/bin/env bash
# Expected: an API server takes a CustomResourceDefinition by the schema of its fields, so a validation rule that asks only whether
#   there was an old object, `dyn(optional.none()) != dyn(oldSelf)`, costs next to nothing, on each version that knows the syntax.
# What happens: Kubernetes 1.32 estimates the comparison by the size of the whole object and refuses the definition ("estimated rule
#   cost exceeds budget by factor of more than 100x"); 1.33 takes it. `oldSelf.?metadata.?name.hasValue()` says the same, and
#   both take it.
# Versions: k8s.io/apiextensions-apiserver v0.32.9 and v0.33.5 (Go modules), the validation of the API server's own registry.
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
"spec":{"type":"object","properties":{"args":{"type":"array","items":{"type":"string"}}}}},
"x-kubernetes-validations":[{"optionalOldSelf":true,"rule":"RULE || self.metadata.name.size() <= 40"}]}}}]}}`

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	for _, rule := range []string{"dyn(optional.none()) != dyn(oldSelf)", "oldSelf.?metadata.?name.hasValue()"} {
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

for version in v0.32.9 v0.33.5; do
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
v0.32.9
dyn(optional.none()) != dyn(oldSelf): refused: estimated rule cost exceeds budget by factor of more than 100x
oldSelf.?metadata.?name.hasValue(): taken
v0.33.5
dyn(optional.none()) != dyn(oldSelf): taken
oldSelf.?metadata.?name.hasValue(): taken
SEEN
