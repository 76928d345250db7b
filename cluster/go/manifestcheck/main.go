// Command manifestcheck prints what the Kubernetes version that it is built with refuses of the YAML on its standard input.
// CustomResourceDefinitions are prepared and validated as the API server does when one is created: their rules are compiled, and
// their cost is estimated. Of other objects it reports kinds, API versions and fields that this version does not know.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
)

var definitions = newDefinitions()

func newDefinitions() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}

var (
	codecs            = serializer.NewCodecFactory(kubernetes.Scheme, serializer.EnableStrict)
	definitionDecoder = serializer.NewCodecFactory(definitions, serializer.EnableStrict).
				UniversalDecoder(apiextensions.SchemeGroupVersion)
)

func main() {
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	checked, refused := 0, false
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if err == nil {
			err = check(document)
		}
		checked++
		if err != nil {
			fmt.Println(err)
			refused = true
		}
	}
	fmt.Printf("checked %d\n", checked)
	if refused {
		os.Exit(1)
	}
}

func check(document []byte) error {
	head := metav1.PartialObjectMetadata{}
	if err := yaml.Unmarshal(document, &head); err != nil {
		return err
	}
	var err error
	if head.Kind == "CustomResourceDefinition" {
		err = validate(document)
	} else {
		_, err = runtime.Decode(codecs.UniversalDeserializer(), document)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", head.Kind, head.Name, err)
	}
	return nil
}

func validate(document []byte) error {
	definition, err := runtime.Decode(definitionDecoder, document)
	if err != nil {
		return err
	}
	strategy := customresourcedefinition.NewStrategy(definitions)
	strategy.PrepareForCreate(context.Background(), definition)
	return strategy.Validate(context.Background(), definition).ToAggregate()
}
