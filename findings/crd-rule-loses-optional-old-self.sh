#!/usr/bin/env bash
# Expected: an API server either checks a validation rule with `optionalOldSelf: true` when an object is created, or refuses its
#   CustomResourceDefinition.
# What happens: Kubernetes 1.29 has the field in its schema, but drops it in silence, since its feature gate is off by default. The rule
#   stays, and as it names oldSelf, it then counts as one for updates only: objects are created unchecked. 1.30 keeps the field.
# Versions: k8s.io/apiextensions-apiserver v0.29.6 and v0.30.14 (Go modules), the storage strategy of the API server's own registry.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT

cat >"$folder/main.go" <<'GO'
package main

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ships.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"ships","singular":"ship","kind":"Ship","listKind":"ShipList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
"x-kubernetes-validations":[{"optionalOldSelf":true,"rule":"oldSelf.?metadata.?name.hasValue() || self.metadata.name.size() <= 40"}]}}}]}}`

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	object, err := runtime.Decode(decoder, []byte(definition))
	if err != nil {
		panic(err)
	}
	strategy := customresourcedefinition.NewStrategy(scheme)
	strategy.PrepareForCreate(context.Background(), object)
	errs := strategy.Validate(context.Background(), object)
	spec := object.(*apiextensions.CustomResourceDefinition).Spec
	schema := spec.Validation
	if schema == nil {
		schema = spec.Versions[0].Schema
	}
	rules := schema.OpenAPIV3Schema.XValidations
	kept := rules[0].OptionalOldSelf != nil
	fmt.Printf("errors: %d, rules: %d, optionalOldSelf kept: %v\n", len(errs), len(rules), kept)
}
GO

for version in v0.29.6 v0.30.14; do
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
v0.29.6
errors: 0, rules: 1, optionalOldSelf kept: false
v0.30.14
errors: 0, rules: 1, optionalOldSelf kept: true
SEEN
