// Command healthcheck prints how deployment tools judge Kubernetes objects: by kstatus, with which Flux, Helm and others wait, and by
// a health script of Argo CD, in its interpreter with the libraries that it loads for scripts of its ConfigMap. The standard
// input is {"script": "…", "objects": […]}; each line of the output is the verdict on one object.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type input struct {
	Script  string                      `json:"script"`
	Objects []unstructured.Unstructured `json:"objects"`
}

type verdict struct {
	KStatus string `json:"kstatus"`
	Message string `json:"message"`
	ArgoCD  health `json:"argocd"`
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	var given input
	must(json.NewDecoder(os.Stdin).Decode(&given))
	output := json.NewEncoder(os.Stdout)
	for _, object := range given.Objects {
		result, err := status.Compute(&object)
		must(err)
		must(output.Encode(verdict{result.Status.String(), result.Message, judge(given.Script, object)}))
	}
}

// Argo CD looks at the script only for objects that are not being deleted.
func judge(script string, object unstructured.Unstructured) health {
	if object.GetDeletionTimestamp() != nil {
		return health{"Progressing", "Pending deletion"}
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		must(state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	state.SetGlobal("obj", convert(state, object.Object))
	must(state.DoString(script))
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		log.Fatalf("the script returns a %s, not a table", state.Get(-1).Type())
	}
	return health{lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))}
}

func convert(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(convert(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, convert(state, item))
		}
		return table
	}
	return lua.LNil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
