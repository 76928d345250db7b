{{/* Subresources that exist in RBAC only are what the console asks for before it reads or acts by itself. */}}
{{- define "berth.viewRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments, apikeys, webhookendpoints, storagecredentials, workspaces]
  verbs: [get, list, watch]
- apiGroups: [berth.dev]
  resources: [modeldeployments/requests, modeldeployments/usage, webhookendpoints/deliveries]
  verbs: [get]
{{- end }}

{{- define "berth.editRules" -}}
- apiGroups: [berth.dev]
  resources: [modeldeployments, apikeys, webhookendpoints, storagecredentials]
  verbs: [create, update, patch, delete, deletecollection]
- apiGroups: [berth.dev]
  resources: [modeldeployments/scale]
  verbs: [get, update, patch]
- apiGroups: [berth.dev]
  resources: [modeldeployments/playground, webhookendpoints/test, storagecredentials/keys]
  verbs: [create]
- apiGroups: [berth.dev]
  resources: [modeldeployments/requests]
  verbs: [delete]
- apiGroups: [berth.dev]
  resources: [workspaces/signingsecret]
  verbs: [update]
{{- end }}
